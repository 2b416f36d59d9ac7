"""Bounds of many databases at once, against the library's own path and against brute force."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from alphasynth.errors import InputError
from alphasynth.evaluation.values import Values
from alphasynth.inference.grid import Grid
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.mechanism import run
from alphasynth.mechanisms.named import named_mechanism
from alphasynth.models.coefficient_priors import ScaleMixturePrior
from alphasynth.models.counts import NegativeBinomial, Poisson
from alphasynth.privacy.randomness import child
from alphasynth_studies import local_bounds as lb
from alphasynth_studies.many_databases import extremes
from alphasynth_studies.synthesizers import LW, Setting
from alphasynth_studies.tables import mixture_log_pmf, mixture_table, poisson_log_pmf

pytestmark = pytest.mark.slow

MODELS = {
    "poisson": Poisson.with_coefficients(ScaleMixturePrior(), 1),
    "negative_binomial": NegativeBinomial.with_coefficients(ScaleMixturePrior(), 1),
}
REPEATS = 24


def _counts(column):
    return np.bincount(column, minlength=lb.VALUES)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(2)
    return {
        "poisson": pd.DataFrame({"y": rng.poisson(100, 300)}),
        "negative_binomial": mixture_table(3, 300),
    }


@pytest.mark.parametrize(("family", "setting"), [*((family, LW) for family in MODELS), ("poisson", Setting(0.8, 0.1))])
def test_bounds_are_the_librarys(family, setting, tables, make_problem, key):
    """One database many times over, by the compiled program and by the library with independent draws on a grid.

    Each Delta is a maximum over 1,000 draws and scatters from key to key; both means are compared within five standard
    errors of their difference; the scatters, which differ by what autocorrelation of draws costs, within a factor 2.
    """
    table = tables[family]
    counts = np.tile(_counts(table["y"]), (REPEATS, 1))
    found = lb.local_bounds(lb.Clock(), 5, MODELS[family], counts, 2, [setting])
    ours = found.delta
    chain = Chain.of_one(make_problem(table, family=family, sampler=Grid()))
    mechanism = named_mechanism("LW_final", scale=setting.scale, shift=setting.shift, k=0.95)
    trails = [run(child(key, i), chain, mechanism) for i in range(REPEATS)]
    theirs = np.array([[fit.lipschitz.overall for fit in trail.fits] for trail in trails])
    least = np.mean([[fit.largest_distinct.min() for fit in trail.fits] for trail in trails], axis=0)
    assert found.smallest.mean(axis=0) == pytest.approx(least, rel=0.01)  # at the mode, where a maximum hardly scatters
    error = np.sqrt((ours.var(axis=0, ddof=1) + theirs.var(axis=0, ddof=1)) / REPEATS)
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 5 * error).all()
    assert (error < 0.03 * theirs.mean(axis=0)).all()  # the comparison says something
    ratio = ours.std(axis=0) / theirs.std(axis=0)
    assert ((ratio > 0.5) & (ratio < 2)).all()


def test_draws_have_the_posteriors_mean_and_sd(tables, make_problem, key):
    """Draws of log mu in each round, against the grid's; 24 databases of 20 draws, taken 50 apart: near independent."""
    table = tables["negative_binomial"]
    counts = np.tile(_counts(table["y"]), (REPEATS, 1))
    draws = lb.local_bounds(lb.Clock(), 6, MODELS["negative_binomial"], counts, 20).draws
    trail = run(key, Chain.of_one(make_problem(table, sampler=Grid())), named_mechanism("LW_final", k=0.95))
    for number, fit in enumerate(trail.fits):
        ours, exact = draws[:, number, :, 0].ravel(), fit.draws.u[:, 0]
        # 480 and 1,000 draws: five standard errors of the difference of means, and of the ratio of sds.
        assert abs(ours.mean() - exact.mean()) < 5 * exact.std() * np.sqrt(1 / 480 + 1 / 1_000)
        assert ours.std() / exact.std() == pytest.approx(1, abs=5 * np.sqrt(0.5 / 480 + 0.5 / 1_000))


def test_draws_for_tables_are_taken_from_all_chains(tables):
    """m draws at equal distances among the 1,000, which stand chain after chain."""
    counts = _counts(tables["poisson"]["y"])[None]
    whole = lb.local_bounds(lb.Clock(), 7, MODELS["poisson"], counts, 1_000).draws
    few = lb.local_bounds(lb.Clock(), 7, MODELS["poisson"], counts, 8).draws
    assert whole.shape == (1, 3, 1_000, 1)
    assert np.allclose(few, whole[:, :, ::125], rtol=1e-9)


def test_each_database_may_have_a_setting_of_its_own(tables):
    """The rows of three databases at c = 1, 0.5, 1: Unweighted alike, LW's bounds half as large in the middle."""
    counts = np.tile(_counts(tables["poisson"]["y"]), (3, 1))
    delta = lb.local_bounds(lb.Clock(), 8, MODELS["poisson"], counts, 2, [LW, Setting(0.5, 0.0), LW]).delta
    # A maximum over 1,000 draws scatters by a per cent or two, and half the weight widens the posterior a little.
    assert delta[:, 0] == pytest.approx([delta[0, 0]] * 3, rel=0.1)
    assert delta[:, 1] / delta[0, 1] == pytest.approx([1, 0.5, 1], rel=0.08)


def test_noise_is_that_of_the_proposals():
    """A burn-in and 250 draws for each of four chains; t with 6 degrees of freedom, thresholds log uniform."""
    import jax

    with jax.enable_x64(True):
        noise = [lb._noise(jax.random.key(i), 2) for i in range(20)]
    assert noise[0].t.shape == (64 + 250, 4, 2)
    t, log_uniform = (np.concatenate([np.asarray(n[i]).ravel() for n in noise]) for i in (0, 1))
    assert stats.kstest(t[::2], stats.t(6).cdf).pvalue > 1e-6
    assert stats.kstest(np.exp(log_uniform), stats.uniform.cdf).pvalue > 1e-6


def test_a_database_does_not_depend_on_its_chunk(monkeypatch):
    counts = lb.simulate(lb.Clock(), 1, mixture_log_pmf(lb.VALUES), 5, 100)
    whole = lb.local_bounds(lb.Clock(), 2, MODELS["negative_binomial"], counts, 3)
    monkeypatch.setattr(lb, "CHUNK", {"cpu": 2, "gpu": 2})
    parts = lb.local_bounds(lb.Clock(), 2, MODELS["negative_binomial"], counts, 3)
    for one, other in zip(whole, parts, strict=True):
        assert one.shape == other.shape
    # Keys are split for as many databases as fill the last chunk, so that only the first five agree if all do.
    assert np.allclose(whole.delta, parts.delta, rtol=1e-6)


def test_simulated_databases_have_their_distribution():
    """Pooled counts of 200 databases of 500 records against the probabilities, by chi-square."""
    log_pmf = mixture_log_pmf(lb.VALUES)
    counts = lb.simulate(lb.Clock(), 3, log_pmf, 200, 500)
    assert (counts.sum(axis=1) == 500).all()
    expected = np.exp(log_pmf) * 100_000
    bins = np.minimum((np.cumsum(expected) / 1_000).astype(int), 99)
    observed, wanted = np.bincount(bins, counts.sum(axis=0)), np.bincount(bins, expected)
    keep = wanted > 0
    assert stats.chisquare(observed[keep], wanted[keep] * observed.sum() / wanted.sum()).pvalue > 1e-6
    assert len({tuple(line) for line in counts}) == 200


def test_probabilities_are_scipys():
    pmf = np.exp(mixture_log_pmf(400))
    brute = sum(
        share * stats.nbinom.pmf(np.arange(400), phi, phi / (phi + 100)) for share, phi in ((0.2, 5), (0.8, 20))
    )
    assert np.allclose(pmf, brute, rtol=1e-12)
    assert np.exp(poisson_log_pmf(400)).sum() == pytest.approx(1)


def test_statistics_of_synthetic_tables_are_those_of_simulated_rows():
    """The same draws, by the program and by the model's own simulator; means over 200 tables each, five s.e. apart."""
    model = MODELS["negative_binomial"]
    u = np.log([100.0, 12.0])
    draws = np.tile(u, (10, 1, 20, 1))
    shares = (0.5, 0.15, 0.9)
    ours = lb.synthetic_statistics(lb.Clock(), 4, model, draws, 300, shares)
    assert ours.shape == (10, 1, 4)
    rng = np.random.default_rng(8)
    theta = {"beta": u[:1], "phi": 12.0}
    rows = [Values.of(model.simulate(rng, theta, {}, 300)) for _ in range(200)]
    theirs = np.array([[v.mean, *(v.quantile(share) for share in shares)] for v in rows])
    error = theirs.std(axis=0, ddof=1) * np.sqrt(2 / 200)
    assert (np.abs(ours.mean(axis=(0, 1)) - theirs.mean(axis=0)) < 5 * error).all()
    # A database's number is a mean over 20 tables. An sd from 10 of them has a standard error of 24 %; four of those.
    assert ours.std(axis=0, ddof=1)[0] == pytest.approx(theirs.std(axis=0, ddof=1) / 20**0.5, rel=0.95)


@pytest.mark.parametrize("n", [1, 2, 77, 100])
def test_quantiles_are_numpys(n):
    y = np.sort(np.random.default_rng(n).poisson(50, n)).astype(float)
    shares = (0.0, 0.15, 0.5, 0.9, 1.0)
    assert lb.quantiles(y, shares) == pytest.approx(np.quantile(y, shares))


def test_statistics_of_databases_are_numpys():
    column = np.random.default_rng(9).poisson(50, 77)
    found = lb.statistics_of(_counts(column)[None], (0.5, 0.15, 0.9))[0]
    assert found == pytest.approx([column.mean(), *np.quantile(column, [0.5, 0.15, 0.9])])


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(("delta", "acceptance"), [(5.0, 0.39), (np.inf, 0.9)])
def test_draws_that_do_not_mix_are_refused(number, delta, acceptance):
    """In whichever round they fail."""
    good = lb.Bounds(np.full((4, 3), 5.0), np.full((4, 3), 3.0), np.full((4, 3), 0.9), np.zeros((4, 3, 2, 1)))
    counts = np.tile(_counts(np.arange(90, 110)), (4, 1))
    assert lb.local_bounds(lambda *args, **more: good, 1, MODELS["poisson"], counts, 2).delta.shape == (4, 3)
    bad = lb.Bounds(*(part.copy() for part in good))
    bad.delta[2, number], bad.acceptance[2, number] = delta, acceptance
    with pytest.raises(InputError, match=r"must have a finite bound and an acceptance of 0\.4"):
        lb.local_bounds(lambda *args, **more: bad, 1, MODELS["poisson"], counts, 2)


def test_a_database_of_too_many_values_is_refused():
    with pytest.raises(InputError, match="at most 512 distinct values"):
        lb.local_bounds(lb.Clock(), 1, MODELS["poisson"], np.ones((1, lb.VALUES), int), 2)


def test_tables_beyond_the_last_value_are_refused():
    draws = np.full((1, 1, 1, 1), np.log(2_000.0))
    with pytest.raises(InputError, match="must lie below 1,024"):
        lb.synthetic_statistics(lb.Clock(), 1, MODELS["poisson"], draws, 50, (0.5,))


@pytest.mark.parametrize(("largest", "smallest"), [(15.8, 4.3), (9.5, 3.3), (6.0, 4.0)])
def test_the_formula_of_extremes_is_the_largest_of_all_records(largest, smallest):
    """Brute force over F: LW's bound is F times 1 - (F - m) / (M - m)."""
    F = np.linspace(smallest, largest, 100_001)
    brute = np.max(F * (1 - (F - smallest) / (largest - smallest)))
    other = 2 * brute  # a second database, so that there is a correlation
    bounds = lb.Bounds(
        np.array([[largest, brute, 0], [2 * largest, other, 0]]), np.array([[smallest] * 3, [2 * smallest] * 3]), 0, 0
    )
    found = extremes(bounds)
    assert found["median_ratio"] == pytest.approx(1, abs=1e-6)
    assert found["correlation"] == pytest.approx(1)
