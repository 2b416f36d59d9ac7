"""Budget weights on Stan programs: beside quadrature and our own sampler, what is public of them, and refusals."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import norm, poisson

import alphasynth as syn
from alphasynth.errors import DiagnosticsError, InputError
from alphasynth.inference import laplace, stan_sampler
from alphasynth.inference.wrapping import HIGH, LOW
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.mechanisms.mechanism import budget_weights
from alphasynth.models.model import PEAK
from engines import has_module, need

pytestmark = pytest.mark.slow
NAMES = {"n": "rows", "y": "counts", "weights": "alpha", "log_lik": "f", "y_rep": "fresh"}
FOLDER = Path(__file__).parent
RNG = np.random.default_rng(3)
TABLES = {
    "one group": RNG.poisson(6, 200),
    "a far record": np.append(RNG.poisson(6, 60), 900),
    "two groups": np.concatenate([RNG.poisson(3, 14), RNG.poisson(60, 16)]),
}


@pytest.fixture(scope="module", autouse=True)
def _stan():
    need(has_module("stan", "httpstan"), "no Stan (pip install 'alphasynth[stan]')")
    need(shutil.which("g++"), "no g++")


def poisson_model(prior_sd=5.0):
    return syn.OwnModel.from_stan(FOLDER / "poisson.stan", {"fault": 0, "prior_sd": prior_sd}, NAMES)


def normal_model(prior=0, smallest=0.5):
    return syn.OwnModel.from_stan(FOLDER / "normal.stan", {"prior": prior, "smallest": smallest})


def fit(table, model=None, epsilon=4.0, seed=1, **options):
    given = {"mechanism": "BW", "m": 1, "num_draws": 400, **options}
    return syn.Synthesizer("y ~ 1", family=model or poisson_model(), epsilon=epsilon, seed=seed, **given).fit(table)


def by_quadrature(log_density):
    """Mean and sd on an even grid over all of the prior for which the program makes new rows."""
    at = np.linspace(-45, np.log(2.0**30), 20_001)
    value = log_density(at)
    share = np.exp(value - logsumexp(value))
    mean = share @ at
    return mean, np.sqrt(share @ (at - mean) ** 2)


def check_draws(draws, mean, sd):
    """Of log_mean: the mean within 4.5 standard errors, by the effective size; the sd likewise, by the kurtosis."""
    values, size = draws.theta["log_mean"], draws.diagnostics.ess_bulk
    assert abs(values.mean() - mean) < 4.5 * sd / np.sqrt(size)
    kurtosis = np.mean((values - values.mean()) ** 4) / values.var() ** 2
    assert abs(np.log(values.std() / sd)) < 4.5 * np.sqrt((kurtosis - 1) / 4 / size)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_both_parts_are_what_quadrature_says(name, epsilon):
    """Their formulas written out once more, with SciPy's Poisson; of thousands of draws several digits are right."""
    y = TABLES[name]
    made = fit(pd.DataFrame({"y": y}), epsilon=epsilon, num_draws=10_000)
    guide, trail = made.subject_.chain.one.guide, made.trail_
    assert guide.model.epsilon == pytest.approx(epsilon / 2)
    top = poisson.logpmf(y, np.maximum(y, 1e-9))  # f*, which the climb ends just below
    peak = made.subject_.records.expand(guide.rows.columns[PEAK][guide.rows.of])
    np.testing.assert_allclose(peak, top, atol=0.02)

    def first(at):
        g = np.clip(min(1, epsilon / 2 / 8) * (poisson.logpmf(y[:, None], np.exp(at)) - peak[:, None]), -epsilon / 2, 0)
        return norm.logpdf(at, 0, 5) + g.sum(axis=0)

    check_draws(trail.guide.draws[0], *by_quadrature(first))
    centre = poisson.logpmf(y, np.exp(trail.guide.u[0][0]))
    largest = np.abs(centre) + 2
    half = np.minimum(2, largest / 2)
    alpha = np.minimum(1, epsilon / 2 / largest)
    np.testing.assert_allclose(made.alpha_, alpha, rtol=1e-9)

    def second(at):
        f = poisson.logpmf(y[:, None], np.exp(at))
        return norm.logpdf(at, 0, 5) + alpha @ np.clip(f, (centre - half)[:, None], (centre + half)[:, None])

    check_draws(made.trail_.fits[-1].draws, *by_quadrature(second))
    assert made.guarantee_.epsilon_total == pytest.approx(epsilon)
    assert 2 * made.lipschitz_.overall <= epsilon * (1 + 1e-12)


@pytest.fixture(scope="module")
def runs(mixture):
    """On the reference table, by Stan and by our own sampler."""
    families = (syn.OwnModel.from_stan("negative_binomial"), "negative_binomial")
    return [fit(mixture, family, 8.0, num_draws=2_000) for family in families]


def check_alike(one, other):
    """Means and spreads within 4.5 standard errors, from both effective sizes (4 comparisons, 3 in 10^5)."""
    sizes = [draws.diagnostics.ess_bulk for draws in (one, other)]
    for name, link in (("beta", lambda x: x.reshape(-1)), ("phi", np.log)):
        a, b = (link(np.asarray(draws.theta[name])) for draws in (one, other))
        assert abs(a.mean() - b.mean()) < 4.5 * np.hypot(a.std() / np.sqrt(sizes[0]), b.std() / np.sqrt(sizes[1]))
        assert abs(np.log(a.std() / b.std())) < 4.5 * np.sqrt(0.5 / sizes[0] + 0.5 / sizes[1])


def test_the_draw_that_weights_are_made_from_is_our_own_samplers(runs):
    check_alike(*(run.trail_.guide.draws[0] for run in runs))


@in_64_bit
def test_given_that_draw_weights_and_draws_are_our_own_samplers(runs):
    """Both are given the same first draw, of ours: what weights are made from is then the same to the last digits."""
    stans, ours = (run.subject_.chain for run in runs)
    rule = runs[1].trail_.rules[-1]
    drawn = runs[1].trail_.guide.draws[0]
    one = int(np.flatnonzero((drawn.u == runs[1].trail_.guide.u[0]).all(axis=1))[0])
    beta, phi = np.asarray(drawn.theta["beta"])[one].reshape(-1), float(np.asarray(drawn.theta["phi"])[one])
    model = stans.one.model
    theta = {"beta": beta.tolist(), "scale": [1.0], "correlation": [[1.0]], "reciprocal_phi": 1 / phi, "phi": phi}
    u = model.program.ask("unconstrain", model.data(model.no_rows(2), np.zeros(2)), [theta])[0]
    (their_chain, theirs), (our_chain, own) = (
        budget_weights(stans, rule, [u]),
        budget_weights(ours, rule, drawn.u[[one]]),
    )
    np.testing.assert_allclose(theirs, own, rtol=1e-7)
    for limit in (LOW, HIGH):
        limits = [c.one.rows.columns[limit][c.one.rows.of] for c in (their_chain, our_chain)]
        np.testing.assert_allclose(limits[0], limits[1], rtol=1e-7)
    draws = [
        problem.sampler.draw(
            np.random.SeedSequence(4),
            laplace.Target.of(problem.model, problem.rows, problem.rows.total(alpha * problem.records.counts)),
            2_000,
        ).check()
        for problem, alpha in ((their_chain.one, theirs), (our_chain.one, own))
    ]
    check_alike(*draws)


def test_the_claim_is_the_same(runs):
    theirs, ours = runs
    assert theirs.guarantee_.epsilon_per_draw == ours.guarantee_.epsilon_per_draw
    assert theirs.trail_.delta == ours.trail_.delta
    assert theirs.guarantee_.scope == ours.guarantee_.scope == "instance"
    assert len(theirs.sample()[0]) == 1_000


def test_audits_are_in_two_parts(runs):
    (finding,) = runs[0].audit_("draw")
    (ours,) = runs[1].audit_("draw")
    assert finding.claim == ours.claim == pytest.approx(8.0)
    assert finding.kept
    assert 0 < finding.loss < 8
    with pytest.raises(InputError, match="audit"):
        runs[0].audit_("density")


def test_seeds_reproduce():
    table = pd.DataFrame({"y": TABLES["one group"]})
    one, again, other = (fit(table, seed=seed).trail_ for seed in (1, 1, 2))
    assert np.array_equal(one.guide.u[0], again.guide.u[0])
    assert np.array_equal(one.fits[-1].draws.u, again.fits[-1].draws.u)
    assert not np.array_equal(one.fits[-1].draws.u, other.fits[-1].draws.u)


def test_what_is_centred_at_knows_the_own_record_alone():
    """To the last bit: another record more, or another value of it, changes no f* and no point that climbs begin at."""

    def bound(values):
        chain = fit(pd.DataFrame({"y": values})).subject_.chain
        rows = chain.one.guide.rows
        return chain.one.model.public_starts(), dict(zip(rows.distinct["y"], rows.distinct[PEAK], strict=True))

    y = np.array([0, 3, 5, 5, 8, 9, 4, 4, 2, 7, 6, 10])
    starts, peaks = bound(y)
    for other in (np.append(y, 1_000), np.append(y[1:], 30), y[1:]):
        again, others = bound(other)
        assert np.array_equal(starts, again)
        for value in set(peaks) & set(others):
            assert peaks[value] == others[value]


def test_a_prior_without_draws_is_refused():
    table = pd.DataFrame({"y": RNG.normal(3, 1, 40)})
    for prior in (2, 3):
        with pytest.raises(InputError, match="proper prior") as refused:
            fit(table, normal_model(prior))
        assert "\n" not in str(refused.value)
    assert fit(table, normal_model(prior=1)).trail_.guide is not None  # long tails are proper


def test_densities_are_bounded_or_refused():
    """Of continuous responses f* needs a smallest sd; then both parts are drawn, and the sd of new rows is about 1."""
    y = np.random.default_rng(5).normal(3, 1, 400)
    table = pd.DataFrame({"y": np.round(y, 2)})
    with pytest.raises(InputError, match="rises without end"):
        fit(table, normal_model(smallest=0.0))
    made = fit(table, normal_model(smallest=0.5), epsilon=8.0)
    sizes = made.trail_.fits[-1].draws.diagnostics.ess_bulk
    draws = made.trail_.fits[-1].draws.theta["mu"]
    # Clipping is about symmetric: the mean is that of the table, within its own error and that of the draws.
    assert abs(draws.mean() - y.mean()) < 4.5 * np.hypot(y.std() / np.sqrt(len(y)), draws.std() / np.sqrt(sizes))


def test_draws_that_have_not_converged_are_refused(monkeypatch):
    """A population that went elsewhere, and no second attempt."""
    monkeypatch.setattr(stan_sampler, "gathered", lambda rng, target, points: points[:50] * 1e-3 - 30)
    monkeypatch.setattr(laplace, "THINNING", (1,))
    monkeypatch.setattr(laplace, "WALKS", ((2, 1),))
    with pytest.raises(DiagnosticsError, match="must pass their diagnostics"):
        fit(pd.DataFrame({"y": TABLES["one group"]}))
