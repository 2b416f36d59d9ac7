"""The samplers: one contract for all, and posteriors against RStan and quadrature."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from alphasynth import exact, inference
from alphasynth.errors import DiagnosticsError, InputError, SamplerWarning
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.contribution import Censored
from alphasynth.inference.density import Data, Target
from alphasynth.inference.diagnostics import Diagnostics, ess
from alphasynth.inference.grid import Grid
from alphasynth.inference.laplace import ATTEMPTS, BURN_IN, Laplace, Noise, propose_and_accept, spreads
from alphasynth.inference.mode import Mode
from alphasynth.inference.nuts import Nuts
from alphasynth.inference.sampler import Draws, Sampler
from alphasynth.inference.stan_sampler import StanSampler
from alphasynth.mechanisms.fit import fit
from alphasynth.models.coefficient_priors import LkjPrior, NormalPrior, ScaleMixturePrior
from alphasynth.models.families import bind_design
from alphasynth.models.formula import Formula
from alphasynth.models.own_model import OwnModel
from engines import has_module, need

SAMPLERS = {
    "Laplace": Laplace(),
    "Nuts": Nuts(),
    "Grid": Grid(),
    "PublicGrid": PublicGrid({"mean": (20.0, 500.0), "phi": (1.0, 100.0)}, 0.05),
    "Automatic": Automatic(),
    "StanSampler": StanSampler(),
}
FAST = [name for name in SAMPLERS if name != "StanSampler"]  # which compiles its program


def test_every_sampler_is_in_the_table():
    """Whatever class of inference/ or exact/ draws from a target is a sampler."""
    folders = [inference, exact]
    modules = [
        import_module(f"{home.__name__}.{found.name}") for home in folders for found in iter_modules(home.__path__)
    ]
    classes = {made for module in modules for made in vars(module).values() if isinstance(made, type)}
    draws = [made for made in classes if "draw" in vars(made) and made is not Sampler]
    samplers = {made.__name__ for made in draws if "target" in signature(made.draw).parameters}
    assert samplers == set(SAMPLERS) == {type(sampler).__name__ for sampler in SAMPLERS.values()}


def mean_sd_and_errors(draws, chains):
    """Mean and sd of draws with their Monte Carlo standard errors, from the effective sizes of x and (x - mean)^2."""
    mean, sd = draws.mean(), draws.std()
    square = (draws - mean) ** 2
    size, size_square = (ess(x.reshape(chains, -1, 1))[0] for x in (draws, square))
    return mean, sd, sd / np.sqrt(size), square.std() / np.sqrt(size_square) / (2 * sd)


@pytest.mark.parametrize("sampler", ["Laplace", "Nuts", "Grid"])
@pytest.mark.parametrize("label", ["Unweighted", "LW", "LW_final"])
def test_posteriors_agree_with_rstan_and_quadrature(
    sampler, label, make_problem, mixture, mixture_alpha, posteriors, key
):
    alpha = np.ones(1000) if label == "Unweighted" else mixture_alpha[f"alpha_{label}"].to_numpy()
    problem = make_problem(mixture, alpha=alpha, sampler=SAMPLERS[sampler], num_draws=4000)
    theta = fit(key, problem, problem.records.collapse(alpha)).draws.theta
    for name, values in {"mu": np.exp(theta["beta"][:, 0]), "phi": theta["phi"]}.items():
        mean, sd, error_mean, error_sd = mean_sd_and_errors(values, chains=4)
        exact, stan = (posteriors[label][source][name] for source in ("quadrature", "rstan"))
        # Quadrature's figures are rounded to three decimals.
        assert abs(mean - exact["mean"]) < 4 * error_mean + 0.0005
        assert abs(sd - exact["sd"]) < 4 * error_sd + 0.0005
        assert abs(mean - stan["mean"]) < 4 * np.hypot(error_mean, stan["mcse_mean"]) + 0.0005
        assert abs(sd - stan["sd"]) < 4 * np.hypot(error_sd, stan["mcse_sd"]) + 0.0005


@pytest.mark.parametrize("sampler", [*FAST, pytest.param("StanSampler", marks=pytest.mark.slow)])
def test_the_contract(sampler, make_problem, mixture, key):
    """Any number of draws, the right shapes, the same draws for the same key, diagnostics that pass."""
    problem = make_problem(mixture, sampler=SAMPLERS[sampler], num_draws=1001)
    if sampler == "PublicGrid":  # which draws from strict contributions alone
        model, rows = bind_design(
            Formula.parse("y ~ 1"),
            "negative_binomial",
            problem.records,
            np.ones((problem.records.size, 1)),
            strict=True,
        )
        problem = replace(problem, model=Censored().bounded(model, 4.0), rows=rows)
    if sampler == "StanSampler":  # which draws from Stan programs alone
        need(has_module("stan", "httpstan"), "no Stan (pip install 'alphasynth[stan]')")
        model, rows = OwnModel.from_stan("negative_binomial").bind(Formula.parse("y ~ 1"), problem.records)
        problem = replace(problem, model=model, rows=rows)
    one, again = (fit(key, problem, np.ones(problem.records.size)) for _ in range(2))
    other = fit(np.random.SeedSequence(5), problem, np.ones(problem.records.size))
    assert one.draws.theta["beta"].shape == (1001, 1)
    assert one.draws.theta["phi"].shape == (1001,)
    assert one.draws.u.shape == (1001, problem.model.prior.size)
    assert np.array_equal(one.draws.u, again.draws.u)
    assert not np.array_equal(one.draws.u, other.draws.u)
    assert one.draws.diagnostics.failures() == []
    assert one.draws.diagnostics.num_draws == 1001


def test_lipschitz_bound_is_rstans(make_problem, mixture, mixture_alpha, posteriors, key):
    """RStan's ten blocks of 1,000 draws span their range; two more blocks fall at most a twentieth outside it."""
    for label in ("Unweighted", "LW", "LW_final"):
        alpha = np.ones(1000) if label == "Unweighted" else mixture_alpha[f"alpha_{label}"].to_numpy()
        problem = make_problem(mixture, alpha=alpha)
        low, high = posteriors[label]["lipschitz_overall_over_ten_blocks_of_1000_draws"]
        assert 0.95 * low < fit(key, problem, problem.records.collapse(alpha)).lipschitz.overall < 1.05 * high


@pytest.mark.slow
def test_regression_agrees_between_samplers(make_problem, regression, key):
    """Default prior for K > 1 on `Laplace` and `Nuts`; means within four combined standard errors."""
    outcome = {}
    for name in ("Laplace", "Nuts"):
        problem = make_problem(regression, "visits ~ age + C(sex)", sampler=SAMPLERS[name], num_draws=2000)
        draws = fit(key, problem, np.ones(problem.records.size)).draws
        values = np.column_stack([draws.theta["beta"], draws.theta["phi"]])
        outcome[name] = [mean_sd_and_errors(column, chains=4) for column in values.T]
    for one, other in zip(outcome["Laplace"], outcome["Nuts"], strict=True):
        assert abs(one[0] - other[0]) < 4 * np.hypot(one[2], other[2])
        assert abs(one[1] - other[1]) < 4 * np.hypot(one[3], other[3])


@pytest.mark.slow
def test_the_lkj_prior_runs_on_nuts_and_equals_its_integral_at_one_coefficient(make_problem, mixture, posteriors, key):
    problem = make_problem(mixture, sampler=Nuts(), prior=LkjPrior(), num_draws=2000)
    theta = fit(key, problem, np.ones(problem.records.size)).draws.theta
    mean, _, error, _ = mean_sd_and_errors(np.exp(theta["beta"][:, 0]), chains=4)
    assert abs(mean - posteriors["Unweighted"]["quadrature"]["mu"]["mean"]) < 4 * error + 0.0005


@pytest.mark.slow
def test_the_lkj_prior_runs_on_nuts_with_several_coefficients(make_problem, regression, key):
    problem = make_problem(regression, "visits ~ age + C(sex)", sampler=Nuts(), prior=LkjPrior())
    draws = fit(key, problem, np.ones(problem.records.size)).draws
    assert draws.theta["correlation"].shape == (1000, 4, 4)
    assert draws.theta["sigma"].shape == (1000, 4)
    assert 0.015 < draws.theta["beta"][:, 1].mean() < 0.025  # simulated with 0.02


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_the_lkj_prior_copes_with_coefficients_near_zero(make_problem, seed):
    """Where a coefficient may be 0 its scale may be small too: a funnel, cut off at the smallest scale."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(18, 80, 500), "sex": rng.choice(["f", "m"], 500)})
    table["y"] = rng.poisson(rng.gamma(2, np.exp(0.5 + 0.02 * table["age"]) / 2))
    problem = make_problem(table, "y ~ age + C(sex)", sampler=Nuts(), prior=LkjPrior())
    draws = fit(np.random.SeedSequence(seed), problem, np.ones(problem.records.size)).draws
    assert draws.diagnostics.divergences <= 5
    assert draws.theta["sigma"].min() > 0.01


@pytest.mark.slow
def test_attempts_can_be_fixed_from_outside(make_problem, mixture, key):
    """A search asks for draws from one attempt on; the numbers tell which it was."""
    problem = make_problem(mixture)
    target = Target.of(problem.model, problem.rows, problem.rows.total(problem.records.counts.astype(float)))
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplerWarning)
        for least, sampler in (
            (0, "Laplace"),
            (1, "Laplace"),
            (2, "Laplace"),
            (3, "Laplace"),
            (100, "Nuts"),
            (101, "Nuts"),
        ):
            diagnostics = Automatic().draw(key, target, 1000, least).diagnostics
            assert (diagnostics.attempt, diagnostics.sampler) == (least, sampler)
            assert diagnostics.failures() == []


@pytest.mark.parametrize("prior", [NormalPrior(2.5), ScaleMixturePrior()])
def test_each_prior_runs_on_laplace(make_problem, regression, key, prior):
    problem = make_problem(regression, "visits ~ age + C(sex)", prior=prior, family="poisson")
    assert fit(key, problem, np.ones(problem.records.size)).draws.diagnostics.sampler == "Laplace"


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(len(ATTEMPTS)))
def test_every_attempt_draws_from_a_skewed_posterior(make_problem, key, attempt):
    """Counts less spread than a Poisson's: phi has no upper end."""
    problem = make_problem(pd.DataFrame({"y": [5] * 40 + [4, 6] * 5}), num_draws=4000)
    exact = fit(key, replace(problem, sampler=Grid()), np.ones(problem.records.size)).draws.theta
    drawn = fit(key, problem, np.ones(problem.records.size), least=attempt).draws
    assert (drawn.diagnostics.sampler, drawn.diagnostics.attempt) == ("Laplace", attempt)
    ours = drawn.theta
    for name in ("beta", "phi"):
        one, other = (np.log(t[name].ravel()) for t in (ours, exact))
        mean, _, error, _ = mean_sd_and_errors(one, chains=4)
        assert abs(mean - other.mean()) < 4 * np.hypot(error, other.std() / np.sqrt(4000))


class Funnel:
    """Neal's funnel, which no single curvature describes. A model without data: its log-likelihood is 0."""

    class prior:
        size = 9

        @staticmethod
        def log_density(u):
            return -0.5 * (u[0] / 3) ** 2 - jnp.sum(0.5 * u[1:] ** 2 * jnp.exp(-u[0]) + 0.5 * u[0])

        @staticmethod
        def constrain(u):
            return {"u": u}

        @staticmethod
        def smoothed():
            return Funnel.prior

    @staticmethod
    def log_lik(theta, columns):
        return jnp.zeros_like(columns["y"])


class SplitNormal(Funnel):
    """Normal on either side of its mode, with sds of its own, along the axes of a factor."""

    mode = Mode(np.array([1.0, -3.0]), np.array([[2.0, 0.0], [0.7, 0.5]]))

    class prior(Funnel.prior):
        size = 2

        @staticmethod
        def log_density(u):
            z = jnp.linalg.solve(SplitNormal.mode.factor, u - SplitNormal.mode.u)
            return -0.5 * jnp.sum((z / jnp.where(z < 0, jnp.array([1.0, 3.0]), jnp.array([2.5, 0.7]))) ** 2)


def test_spreads_are_those_on_either_side_of_the_mode():
    data = Data({"y": np.zeros(1024)}, np.zeros(1024), np.int64(1))
    with jax.enable_x64(True):
        below, above = spreads(SplitNormal, data, SplitNormal.mode)
    np.testing.assert_allclose(below, [1.0, 3.0], rtol=1e-9)
    np.testing.assert_allclose(above, [2.5, 0.7], rtol=1e-9)


class Box(Funnel):
    """Flat on the middle hundredth of the mass of a t with two degrees of freedom, and nothing beyond it."""

    # The distribution function is 1/2 + x / (2 sqrt(2 + x^2)): a share p lies within p sqrt(2 / (1 - p^2)) of 0.
    half = 0.01 * np.sqrt(2 / (1 - 0.01**2))

    class prior(Funnel.prior):
        size = 1

        @staticmethod
        def log_density(u):
            return jnp.where(jnp.abs(u[0]) < Box.half, 0.0, -jnp.inf)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", ATTEMPTS[2:], ids=lambda attempt: f"thin {attempt.thin}")
def test_the_start_is_forgotten_before_the_first_draw_is_kept(attempt):
    """One proposal in a hundred is taken; the chains begin at whatever was proposed first, nearly all outside the box.

    The first kept state is the last of (BURN_IN + 1) thin steps, so a chain is still outside the box, at its start,
    with probability p = 0.99^((BURN_IN + 1) thin): 0.0054 at a thinning of 8, 7e-19 at one of 64. Of 2,000 chains
    that many are, give or take 4 binomial standard deviations. With 64 steps in all it would be half of them, and a
    quarter.
    """
    chains, steps = 2000, (BURN_IN + 2) * attempt.thin
    rng = np.random.default_rng(20261116)
    t = rng.standard_t(attempt.degrees, (steps, chains, 1))
    noise = Noise(t, -rng.standard_exponential((steps, chains)), np.zeros((steps, chains)))
    data = Data({"y": np.zeros(1024)}, np.zeros(1024), np.int64(1))
    with jax.enable_x64(True):
        kept, taken, _ = propose_and_accept(Box, data, Mode(np.zeros(1), np.eye(1)), noise, attempt)
    assert abs(np.mean(taken) - 0.01) < 4 * np.sqrt(0.01 * 0.99 / np.size(taken))
    unforgotten = 0.99 ** ((BURN_IN + 1) * attempt.thin)
    outside = int(np.sum(np.abs(np.asarray(kept)[:, 0, 0]) >= Box.half))
    assert abs(outside - chains * unforgotten) <= 4 * np.sqrt(chains * unforgotten * (1 - unforgotten))


@pytest.fixture
def funnel():
    return Target(Funnel, Data({"y": np.zeros(1024)}, np.zeros(1024), np.int64(1)), np.full(9, 0.5))


def test_a_funnel_fails_laplaces_diagnostics(funnel, key):
    with jax.enable_x64(True):
        draws = Laplace().draw(key, funnel, 1000)
    assert draws.diagnostics.failures()
    with pytest.raises(DiagnosticsError, match="Laplace draws must pass their diagnostics before use") as error:
        draws.check()
    assert error.value.draws is draws


class Fixed:
    """A sampler that returns given draws."""

    def __init__(self, **diagnostics):
        self.diagnostics = Diagnostics(**{"sampler": "Fixed", "num_draws": 1000, **diagnostics})

    def draw(self, key, target, num_draws, least=0):
        return Draws(np.zeros((1000, 9)), {}, self.diagnostics)


def test_automatic_goes_over_to_the_second_sampler_and_says_so(funnel, key):
    with jax.enable_x64(True), pytest.warns(SamplerWarning, match="Laplace draws failed their diagnostics; Fixed took"):
        draws = Automatic(Laplace(), Fixed(rhat=1.0)).draw(key, funnel, 1000)
    assert draws.diagnostics.sampler == "Fixed"
    assert draws.diagnostics.note.startswith("Laplace draws failed their diagnostics (")
    assert draws.diagnostics.note.endswith("; Fixed took over")


def test_automatic_stays_with_the_first_sampler_while_it_passes(make_problem, mixture, key):
    problem = make_problem(mixture, sampler=Automatic(Laplace(), Fixed(rhat=9.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(key, problem, np.ones(problem.records.size)).draws.diagnostics.note == ""


def test_nothing_is_fitted_from_draws_that_fail(make_problem, mixture, key):
    problem = make_problem(mixture, sampler=Fixed(rhat=2.0))
    with pytest.raises(DiagnosticsError, match=r"R-hat 2, at most 1\.050") as error:
        fit(key, problem, np.ones(problem.records.size))
    assert error.value.draws.num_draws == 1000


def test_a_grid_too_coarse_for_its_target_fails(make_problem, key):
    problem = make_problem(pd.DataFrame({"y": [0] * 999 + [100_000]}), sampler=Grid())
    with pytest.raises(DiagnosticsError, match="spacing"):
        fit(key, problem, np.ones(problem.records.size))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Laplace(num_chains=1), "num_chains must be a whole number of at least 2, found 1"),
        (lambda: Nuts(num_warmup=0), "num_warmup must be a whole number of at least 1, found 0"),
        (lambda: Nuts(num_chains="four"), "num_chains must be a whole number of at least 2, found 'four'"),
        (lambda: Grid(points=10), "points must be a whole number of at least 51, found 10"),
    ],
)
def test_settings_no_sampler_can_run_with_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_grid_refuses_more_than_two_parameters(make_problem, regression, key):
    problem = make_problem(regression, "visits ~ age", sampler=Grid())
    with pytest.raises(InputError, match="one or two parameters, found 3"):
        fit(key, problem, np.ones(problem.records.size))


def test_too_few_draws_are_refused(make_problem, mixture):
    with pytest.raises(InputError, match="num_draws must be a whole number of at least 100, found 99"):
        make_problem(mixture, num_draws=99)
