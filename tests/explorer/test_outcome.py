"""Settings that nobody fitted, by stored draws: what a real run finds there, within Monte Carlo error."""

from __future__ import annotations

import numpy as np
import pytest

from alphasynth.explorer.by_epsilon import ByBudget
from alphasynth.explorer.dial import start_of
from alphasynth.explorer.explored import Bounds
from alphasynth.explorer.outcome import Outcome, outcome_at
from alphasynth.explorer.simulated import numbers_scale
from alphasynth.mechanisms.chain import JointFit, fit_chain
from alphasynth.mechanisms.mechanism import Trail, budget_weights
from alphasynth.mechanisms.rules import BW
from alphasynth.synthesis.outcome import Carried, carry_out, new_rows
from alphasynth.synthesizer import Synthesizer
from explorer.explored_runs import ASKED, BASE, make

RUNS, TABLES = 4, 100
WEIGHTED = ("Unweighted", "LW", "CW", "SW", "LW_final", "CW_final")


@pytest.fixture(scope="module")
def made(mixture):
    kept = {}

    def once(mechanism):
        if mechanism not in kept:
            kept[mechanism] = make(mechanism, mixture)
        return kept[mechanism]

    return once


def real(mechanism, made, setting, number):
    """A real run at a setting; of budget weights with the page's guide, which a run would draw anew."""
    key = np.random.SeedSequence([77, number])
    if isinstance(made.explored, ByBudget):
        rule = BW(setting["cap"], setting["epsilon"] / made.synthesizer.m / 2)
        chain, alpha = budget_weights(made.explored.bound.chain, rule, made.explored.guide)
        fitted: JointFit = fit_chain(key, chain, alpha)
        return Carried(made.explored.bound, Trail(mechanism, (fitted,), (rule,)))
    options = {**ASKED[mechanism][0], **setting}
    name = "SW" if mechanism == "Unweighted" else mechanism
    synthesizer = Synthesizer("y ~ 1", mechanism=name, **{**BASE, **options})
    return carry_out(key, synthesizer, synthesizer.model, made.records)


def statistics_of(carried, number):
    """Mean and sd of tables from draws of a run, far from each other."""
    found = []
    for place in np.linspace(0, carried.trail.fits[-1].columns[0].draws.num_draws - 1, TABLES).astype(int):
        y = new_rows(np.random.SeedSequence([5, number, int(place)]), carried, int(place))["y"]
        found.append((y.mean(), y.std(ddof=1)))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ASKED)
def test_three_settings_are_what_real_runs_find(mechanism, made):
    page = made(mechanism)
    for setting in ASKED[mechanism][1]:
        found = outcome_at(setting, page.explored, page.ladder.pool, page.simulated)
        assert found.stands
        runs = [real(mechanism, page, setting, number) for number in range(1 if mechanism == "Censored" else RUNS)]
        tables = np.concatenate([statistics_of(carried, number) for number, carried in enumerate(runs)])
        of = dict(zip(page.simulated.names, found.measures, strict=True))
        for place, name in enumerate(("mean", "sd")):
            own = tables[:, place]
            # Both means have Monte Carlo errors, and the page says its own. Where rules make weights from the largest
            # of some draws, runs have weights of their own, and so has the page: it is like one more run.
            by_run = own.reshape(len(runs), -1).mean(axis=1)
            between = by_run.std(ddof=1) * np.sqrt(1 + 1 / RUNS) if mechanism in WEIGHTED else 0.0
            error = np.hypot(max(own.std() / np.sqrt(len(own)), between), of[name].error)
            assert abs(of[name].mean - own.mean()) < 4 * error, (setting, name)
            # An sd of so many tables, or of draws worth so many, has a relative error of 1 / sqrt(2 number).
            share = np.sqrt(0.5 / len(own) + 0.5 / found.effective)
            assert abs(of[name].sd / own.std() - 1) < 4 * share, (setting, name)
        if mechanism in WEIGHTED:
            deltas = np.array([carried.trail.delta for carried in runs])
            alphas = np.array([carried.trail.fits[-1].mean_alpha for carried in runs])
            # A run's Delta is a largest of 1,000 draws, made from weights that are themselves of an unweighted fit:
            # it scatters by its sd from run to run. So does what the page starts from, and what it finds by draws
            # that are worth fewer: sqrt(1,000 / worth) times as much. The sd of four is known to a factor of 2.
            scatter = 2 * max(deltas.std(ddof=1), 1e-3) * np.sqrt(1 / RUNS + 1 + 1_000 / found.effective)
            assert abs(found.bounds.overall - deltas.mean()) < 4 * scatter
            assert abs(found.mean_weight - alphas.mean()) < 0.02
            assert found.bounds.epsilon == pytest.approx(2 * page.synthesizer.m * found.bounds.overall)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ASKED)
def test_a_page_opens_where_the_run_is(mechanism, made):
    page = made(mechanism)
    found = outcome_at(start_of(page.explored.dials), page.explored, page.ladder.pool, page.simulated)
    assert found.stands
    assert found.khat <= 0.7
    # A run's Delta is the largest of 1,000 draws; over 12 runs of SW, whose bound is an outlier's, its sd is 1.3 %.
    assert found.bounds.epsilon == pytest.approx(page.start.epsilon, rel=0.06)
    assert len(page.ladder.u) == len(page.ladder.pool.mixture) == 4_000


@pytest.mark.slow
def test_bounds_of_the_strict_kinds_are_what_epsilon_allows(made):
    page = made("Censored")
    setting = {"epsilon": 8.0, "cut": 8.0}
    bounds = outcome_at(setting, page.explored, page.ladder.pool, page.simulated).bounds
    assert bounds.overall == 4.0
    assert bounds.by_row.max() <= 4.0
    assert bounds.weights.max() == pytest.approx(0.5)
    page = made("BW")
    bounds = outcome_at({"epsilon": 16.0, "cap": 0.4}, page.explored, page.ladder.pool, page.simulated).bounds
    assert bounds.overall == 4.0
    assert bounds.weights.max() <= 0.4


@pytest.mark.slow
def test_draws_that_do_not_stand_are_told(made):
    """Where next to nothing of the likelihood is left no fit was made, and the widest one's draws are too few."""
    page = made("SW")
    assert outcome_at({"alpha": 0.02}, page.explored, page.ladder.pool, page.simulated).stands
    assert not outcome_at({"alpha": 1e-4}, page.explored, page.ladder.pool, page.simulated).stands


@pytest.mark.parametrize(
    ("khat", "effective", "kept", "stands"),
    [(0.7, 50.0, 0.7, True), (0.71, 900.0, 1.0, False), (0.1, 49.0, 1.0, False), (0.1, 900.0, 0.6, False)],
)
def test_draws_stand_within_all_three_limits(khat, effective, kept, stands):
    bounds = Bounds(np.ones(1), np.ones(1), 1.0, 2.0)
    assert Outcome(bounds, 1.0, khat, effective, kept, np.ones(1), ()).stands == stands


def test_bins_of_counts_say_which_they_hold_and_none_is_below_zero():
    counts = np.array([0, 0, 1, 2, 3, 7])
    scale = numbers_scale(counts, None)
    assert scale.bins[:3] == ("up to 0", "1", "2")
    assert len(scale.bins) == len(scale.edges) + 1 == len(scale.share(counts, None))
    assert scale.share(counts, None)[:4].tolist() == pytest.approx([2 / 6, 1 / 6, 1 / 6, 1 / 6])
    assert scale.share(np.array([-1, 0, 1, 9]), None)[[0, 1, -1]].tolist() == [0.5, 0.25, 0.25]
    wide = numbers_scale(np.arange(0, 3_000), None)
    assert wide.bins[1].endswith(f" to {wide.edges[1] - 1:g}")
    pay = numbers_scale(np.array([0.5, 1.5, 2.5, 3.5]), None)
    assert pay.bins[0].startswith("below ")
