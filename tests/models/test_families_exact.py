"""Every family against SciPy's distributions: log-likelihood, f*, simulator; and what each refuses."""

from __future__ import annotations

from itertools import pairwise

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.optimize import minimize

from alphasynth.errors import InputError
from alphasynth.models.coefficient_priors import NormalPrior
from alphasynth.models.continuous import LARGEST_SHAPE, SMALLEST_SD
from alphasynth.models.families import FAMILIES, has_own_zeros
from alphasynth.models.model import ColumnFamily, Decoding, PowerSums
from alphasynth.tables.declared import Declared
from bound_families import DECLARED, LEVELS, LIMITS, TWO, bound

COUNTS = [name for name in FAMILIES if "poisson" in name or "negative" in name]
VALUES = {
    **dict.fromkeys(["bernoulli"], np.array(["f", "m"])),
    **dict.fromkeys(["categorical", "ordinal"], np.array(["a", "b", "c", "d"])),
    **dict.fromkeys(["normal", "log_normal", "gamma"], np.array([1.5, 8.0, 20.0, 49.0])),
    **dict.fromkeys(["two_part_normal", "two_part_log_normal", "two_part_gamma"], np.array([0.0, 1.5, 8.0, 49.0])),
    **dict.fromkeys(COUNTS, np.array([0.0, 1.0, 2.0, 5.0, 30.0])),
    **dict.fromkeys([name for name in COUNTS if "truncated" in name], np.array([1.0, 2.0, 5.0, 30.0])),
}


@pytest.fixture(autouse=True)
def _in_64_bit():
    with jax.enable_x64(True):
        yield


def _theta(model, seed=0, scale=0.4):
    u = scale * np.random.default_rng(seed).standard_normal(model.prior.size)
    return u, {k: np.asarray(v) for k, v in model.prior.constrain(u).items()}


def _scaled(theta, declared, logarithmic):
    low, high = np.log(declared.limits) if logarithmic else declared.limits
    centre, half = (low + high) / 2, (high - low) / 2
    return centre + half * theta["beta"][0], half * theta["sd"]


def _oracle(name, theta, declared, y):
    """Log density or probability of one value, by SciPy."""
    inner = name.removeprefix("zero_inflated_").removeprefix("hurdle_").removeprefix("two_part_")
    inner = inner.removeprefix("zero_truncated_")
    if inner == "bernoulli":
        return stats.bernoulli.logpmf(TWO.levels.index(y), 1 / (1 + np.exp(-theta["beta"][0])))
    if inner == "categorical":
        weights = np.exp(np.concatenate([[0.0], theta["beta"]]))
        return np.log(weights[LEVELS.levels.index(y)] / weights.sum())
    if inner == "ordinal":
        below = np.concatenate([[0.0], 1 / (1 + np.exp(-theta["cuts"])), [1.0]])
        return np.log(np.diff(below)[LEVELS.levels.index(y)])
    if inner in ("normal", "log_normal"):
        mean, sd = _scaled(theta, declared, inner == "log_normal")
        own = stats.norm(mean, sd) if inner == "normal" else stats.lognorm(sd, scale=np.exp(mean))
        value = own.logpdf(y) if y else 0.0
    elif inner == "gamma":
        mean = np.exp(theta["beta"][0]) * declared.limits[1]
        value = stats.gamma(theta["shape"], scale=mean / theta["shape"]).logpdf(y) if y else 0.0
    else:
        mean = np.exp(theta["beta"][0])
        phi = theta.get("phi")
        own = stats.poisson(mean) if inner == "poisson" else stats.nbinom(phi, phi / (phi + mean))
        value, zero = own.logpmf(y), own.pmf(0)
        share = 1 / (1 + np.exp(-theta["gamma"][0])) if "gamma" in theta else None
        if name.startswith("zero_inflated"):
            return np.log(share * (y == 0) + (1 - share) * np.exp(value))
        if name.startswith("zero_truncated"):
            return value - np.log(1 - zero) if y else -np.inf
        if name.startswith("hurdle"):
            return np.log(1 - share) if y == 0 else np.log(share) + value - np.log(1 - zero)
        return value
    if name.startswith("two_part"):
        share = 1 / (1 + np.exp(-theta["gamma"][0]))
        return np.log(1 - share) if y == 0 else np.log(share) + value
    return value


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_log_likelihoods_are_scipys(name, seed):
    model, declared = bound(name)
    _, theta = _theta(model, seed)
    columns = model.read("y", VALUES[name], declared, True)
    expected = [_oracle(name, theta, declared, y) for y in VALUES[name].tolist()]
    np.testing.assert_allclose(np.asarray(model.log_lik(theta, columns)), expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", FAMILIES)
def test_covariates_enter_row_by_row(name):
    """A design matrix with equal rows is no design matrix; with a second column, its effect is a shift."""
    model, declared = bound(name, 2)
    _, theta = _theta(model, 3)
    columns = model.read("y", VALUES[name], declared, True)
    size = len(VALUES[name])
    X = np.column_stack([np.ones(size), np.linspace(-1, 1, size)])
    together = np.asarray(model.log_lik(theta, {**columns, "X": X}))
    for i in range(size):
        alone = {key: column[i : i + 1] for key, column in {**columns, "X": X}.items()}
        assert np.asarray(model.log_lik(theta, alone))[0] == pytest.approx(together[i], rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_f_star_is_the_largest_log_likelihood(name):
    """No parameters give more, and some come near."""
    model, declared = bound(name)
    columns = model.read("y", VALUES[name], declared, True)
    peak = model.peak(columns)
    loss = jax.jit(lambda u, row: -model.log_lik(model.prior.constrain(u), row)[0])
    slope = jax.jit(jax.grad(loss))
    for i in range(len(VALUES[name])):
        row = {key: column[i : i + 1] for key, column in columns.items()}
        best = -np.inf
        for seed in range(4):
            start = np.random.default_rng(seed).standard_normal(model.prior.size)
            limits = [(-25.0, 25.0)] * model.prior.size
            found = minimize(
                lambda u, row=row: float(loss(u, row)),
                start,
                jac=lambda u, row=row: np.nan_to_num(np.asarray(slope(u, row))),
                bounds=limits,
            )
            best = max(best, -float(found.fun))
        assert best <= peak[i] + 1e-6
        assert best >= peak[i] - 0.02


@pytest.mark.parametrize("name", FAMILIES)
def test_simulated_values_follow_the_density(name):
    """Shares of values or of intervals, within five standard errors of what the log-likelihood says."""
    model, declared = bound(name)
    _, theta = _theta(model, 5)
    rows = 40_000
    y = np.asarray(model.simulate(np.random.default_rng(7), theta, {}, rows), float)
    if name in ("bernoulli", "categorical", "ordinal"):
        shares = np.bincount(y.astype(int), minlength=len(declared.levels)) / rows
        expected = np.exp([_oracle(name, theta, declared, level) for level in declared.levels])
    elif name in COUNTS:
        shares = np.array([(y == k).mean() for k in range(6)])
        expected = np.exp([_oracle(name, theta, declared, float(k)) for k in range(6)])
    else:
        values = model.decode("y", y, declared)
        edges = np.quantile(values[values > 0], [0.1, 0.3, 0.6, 0.9])
        shares = np.array([((values > a) & (values <= b)).mean() for a, b in pairwise(edges)])
        density = lambda x: np.exp(_oracle(name, theta, declared, x))  # noqa: E731
        expected = [integrate.quad(density, a, b)[0] for a, b in pairwise(edges)]
        if name.startswith("two_part"):
            zero = np.exp(_oracle(name, theta, declared, 0.0))
            assert (values == 0).mean() == pytest.approx(zero, abs=5 * np.sqrt(zero * (1 - zero) / rows))
    for share, p in zip(shares, expected, strict=True):
        assert share == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / rows) + 1e-9)


@pytest.mark.parametrize(
    ("mean", "phi"), [(0.01, 0.5), (0.5, 1e-6), (2.0, 0.05), (2.0, 3.0), (40.0, 0.01), (40.0, 1e6), (1e-7, 2.0)]
)
def test_negative_binomials_above_zero(mean, phi):
    """Shares of small counts, and the mean, whatever the chance of a count above 0 is."""
    model, _ = bound("negative_binomial")
    rows = 40_000
    theta = {"beta": np.array([np.log(mean)]), "phi": np.array(phi)}
    y = model.simulate_positive(np.random.default_rng(3), theta, {}, rows)
    exact = stats.nbinom(phi, phi / (phi + mean))
    above = -np.expm1(phi * np.log(phi / (phi + mean)))
    assert y.min() >= 1
    for k in range(1, 6):
        p = exact.pmf(k) / above
        assert np.mean(y == k) == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / rows) + 1e-9)


@pytest.mark.parametrize(("mean", "phi"), [(1e18, 0.01), (1e6, 1e-8), (1e18, 1e4), (1e30, 1.0)])
def test_wild_negative_binomials_above_zero_come_to_an_end(mean, phi):
    model, _ = bound("negative_binomial")
    theta = {"beta": np.array([np.log(mean)]), "phi": np.array(phi)}
    assert model.simulate_positive(np.random.default_rng(3), theta, {}, 1_000).min() >= 1


@pytest.mark.parametrize("name", [*COUNTS, "bernoulli", "categorical", "ordinal"])
def test_power_sums_are_sums(name):
    model, declared = bound(name)
    _, theta = _theta(model, 2)
    values = np.arange("truncated" in name, 4_000.0) if name in COUNTS else np.array(declared.levels)
    log_lik = np.asarray(model.log_lik(theta, model.read("y", values, declared, True)))
    assert float(model.power_sum(theta, {}, 1.5)) == pytest.approx(np.exp(1.5 * log_lik).sum(), rel=1e-5)


def test_power_sums_of_rare_positive_counts():
    """Where almost all counts are 0, those above 0 are 1."""
    for name in ("hurdle_poisson", "hurdle_negative_binomial"):
        model, _ = bound(name)
        theta = {"gamma": np.zeros(1), "beta": np.array([-25.0]), "phi": np.array(0.7)}
        assert float(model.power_sum(theta, {}, 1.5)) == pytest.approx(2 * 0.5**1.5, rel=1e-9), name


CONTINUOUS = [name for name in FAMILIES if DECLARED.get(name) is LIMITS]


@pytest.mark.parametrize("name", CONTINUOUS)
def test_power_sums_are_integrals(name):
    """Of the density on the scale of the limits, or of logarithms: density of the value times dx / ds."""
    model, declared = bound(name)
    _, theta = _theta(model, 2)
    low, high = np.log(declared.limits) if "log_normal" in name else declared.limits
    centre, half = (0.0, 1.0) if "gamma" in name else ((low + high) / 2, (high - low) / 2)
    logarithmic = "log_normal" in name or "gamma" in name

    def powered(s):
        x = np.exp(centre + half * s) if logarithmic else centre + half * s
        return np.exp(1.5 * (_oracle(name, theta, declared, x) + np.log(half * (x if logarithmic else 1.0))))

    zero = np.exp(1.5 * _oracle(name, theta, declared, 0.0)) if name.startswith("two_part") else 0.0
    integral = integrate.quad(powered, -30.0, 30.0, limit=1_000)[0]
    assert float(model.power_sum(theta, {}, 1.5)) == pytest.approx(integral + zero, rel=1e-6)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_no_density_is_larger_than_the_largest(name):
    """And it is attained, so no smaller number would do."""
    model, declared = bound(name)
    columns = model.read("y", VALUES[name], declared, True)
    positive = np.where(columns.get("positive", np.ones(len(VALUES[name]))) > 0)[0]
    sharp = {"sd": np.array(SMALLEST_SD), "shape": np.array(LARGEST_SHAPE), "gamma": np.array([40.0])}
    for row in positive:
        one = {key: column[row : row + 1] for key, column in columns.items()}
        mean = np.log(one["y"]) if "gamma" in name else one["y"]
        at_top = np.exp(np.asarray(model.log_scaled({**sharp, "beta": mean}, one)))
        np.testing.assert_allclose(at_top, model.largest_density, rtol=1e-9)
    for seed in range(20):
        _, theta = _theta(model, seed, scale=3.0)
        assert np.exp(np.asarray(model.log_scaled(theta, columns))).max() <= model.largest_density


@pytest.mark.parametrize("name", FAMILIES)
def test_values_come_back_from_their_codes(name):
    model, declared = bound(name)
    columns = model.read("y", VALUES[name], declared, True)
    if hasattr(model, "decode"):
        y = np.where(columns.get("positive", 1.0) > 0, columns["y"], np.nan)
        np.testing.assert_allclose(model.decode("y", y, declared), VALUES[name], rtol=1e-12)
    else:
        assert (
            columns["y"].tolist() == [float(declared.levels.index(v)) for v in VALUES[name].tolist()]
            if (declared.levels)
            else columns["y"].tolist() == VALUES[name].tolist()
        )


@pytest.mark.parametrize(
    ("name", "values", "declared", "words"),
    [
        ("bernoulli", np.array(["f", "x"]), TWO, "declared levels and no others"),
        ("bernoulli", np.array(["a"]), LEVELS, "two levels for bernoulli, found 4"),
        ("categorical", np.array(["a"]), Declared(levels=("a",)), "at least two levels, found 1"),
        ("ordinal", np.array(["f"]), TWO, "at least three levels for ordinal, found 2"),
        ("normal", np.array([1.0]), Declared(), "limits declared public"),
        ("normal", np.array([51.0]), LIMITS, "within its declared limits, found values beyond"),
        ("normal", np.array(["a"]), LIMITS, "must hold numbers"),
        ("gamma", np.array([1.0]), Declared(limits=(0.0, 5.0)), "lower limit of 'y' must be above 0"),
        ("log_normal", np.array([1.0]), Declared(limits=(-1.0, 5.0)), "lower limit of 'y' must be above 0"),
        ("two_part_gamma", np.array([-1.0, 0.0]), LIMITS, "within its declared limits"),
        ("hurdle_poisson", np.array([-1.0, 0.0]), Declared(), "counts of at least 0"),
        ("zero_truncated_poisson", np.array([0.0, 1.0]), Declared(), "counts above 0"),
        ("two_part_normal", np.array(["a"]), LIMITS, "must hold numbers"),
    ],
)
def test_what_a_family_cannot_hold_is_refused(name, values, declared, words):
    with pytest.raises(InputError, match=words):
        FAMILIES[name].model("y", declared, NormalPrior(), 1).read("y", values, declared, True)


def test_too_many_categories_are_refused_with_what_to_do():
    many, some = (Declared(levels=tuple(f"code {i}" for i in range(number))) for number in (300, 80))
    with pytest.raises(InputError, match=r"at most 100 coefficients, found 299 .*merge rare levels, or declare it"):
        FAMILIES["categorical"].model("y", many, NormalPrior(), 1)
    assert FAMILIES["categorical"].model("y", some, NormalPrior(), 1).prior.size == 79
    with pytest.raises(InputError, match=r"found 790 .*drop terms from its formula \('y ~ 1' takes 79\)"):
        FAMILIES["categorical"].model("y", some, NormalPrior(), 10)


def test_spreads_have_a_smallest_value():
    """Without it a strict mechanism has no f*: at its own value a density could be as large as one likes."""
    for name, key, limit in [("normal", "sd", SMALLEST_SD), ("gamma", "shape", LARGEST_SHAPE)]:
        model, _ = bound(name)
        value = float(model.prior.constrain(np.array([0.0, -60.0 if key == "sd" else 60.0]))[key])
        assert value == pytest.approx(limit)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"limits": [3, 1]}, "low < high"),
        ({"limits": [1, float("inf")]}, "low < high"),
        ({"levels": ["a", "a"]}, "must differ"),
        ({"levels": ["a", 1]}, "all text or all numbers"),
        ({"levels": [[1]]}, "text, numbers or true and false"),
        ({"missing": "maybe"}, "model, drop, public"),
        ({"whole": 1}, "true or false"),
        ({"limit": [0, 1]}, "one of levels, labels, limits, whole, decimals, missing"),
    ],
)
def test_declarations_are_checked(given, words):
    with pytest.raises(InputError, match=words):
        Declared.of("y", given)


def test_levels_are_found_in_any_storage():
    from alphasynth.tables.declared import codes_of

    values = pd.Categorical(["b", "a", "b"], categories=["b", "a"])
    assert codes_of("y", values, Declared(levels=("a", "b"))).tolist() == [1.0, 0.0, 1.0]
    assert codes_of("y", np.array([True, False]), Declared(levels=(False, True))).tolist() == [1.0, 0.0]
    assert codes_of("y", np.array([2.5, 0.0]), Declared(levels=(0, 2.5))).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_what_the_protocols_say(name):
    model, _ = bound(name, K=2)
    assert isinstance(model, ColumnFamily)
    assert isinstance(model, PowerSums)
    assert isinstance(model, Decoding) or FAMILIES[name].levels or FAMILIES[name].whole
    assert FAMILIES[name].whole == ("poisson" in name or "negative_binomial" in name)
    assert has_own_zeros(name) == name.startswith(("two_part_", "hurdle_", "zero_inflated_"))
