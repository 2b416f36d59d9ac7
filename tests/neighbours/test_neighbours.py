"""Every mechanism under a strict or an instance claim, on the nasty tables and their neighbours."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from alphasynth.audits.audit import audit_run
from alphasynth.audits.black_box import audit_black_box
from alphasynth.audits.densities import loss_between, output
from alphasynth.audits.finding import KEPT
from alphasynth.exact.public_grid import QUANTA, PublicGrid, prior_weights, total_cost
from alphasynth.inference.contribution import bare
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms.scored import QUANTA as SCORE_QUANTA
from alphasynth.mechanisms.scored import contributions
from alphasynth.mechanisms.scored_fit import scorable
from alphasynth.mechanisms.scored_start import start_sums
from alphasynth.privacy.divergence import pure_loss
from alphasynth.synthesizer import Synthesizer
from neighbours.nasty import ALL, ALONE, COUNTS

EPSILON = 1.0
# Coarse grids: a loss is that of the contributions, whatever points they are looked at.
STEPS = {"mean": 0.4, "phi": 1.0, "beta": 0.4, "log_sd": 0.8, "log_shape": 1.0, "cut": 0.8}
pytestmark = pytest.mark.filterwarnings("ignore::alphasynth.errors.StrictWarning")  # little to go by


@pytest.fixture(autouse=True)
def _in_64_bit():
    with jax.enable_x64(True):
        yield


def named(pairs):
    return pytest.mark.parametrize("pair", pairs, ids=[pair.name for pair in pairs])


def asked(pair, mechanism, epsilon=EPSILON, **more):
    return Synthesizer(
        list(pair.formulas),
        family=list(pair.families),
        declared=pair.declared,
        mechanism=mechanism,
        epsilon=epsilon,
        m=1,
        public=list(pair.public),
        seed=1,
        **more,
    )


def log_weights(problem):
    """Log probabilities, up to a constant, of a coarse grid's points, from the whole numbers that are drawn from."""
    model, rows = problem.model, problem.rows
    names = bare(model).coordinates(False)
    axes = PublicGrid({}, {name: STEPS[name.partition("[")[0]] for name in names}).axes(model, {})
    cost = total_cost(model, axes, rows.distinct, rows.total(problem.records.counts)[: rows.size])
    return np.log(prior_weights(model, axes)) - (cost - cost.min()) * (model.epsilon / QUANTA), axes


def both(one, other):
    """Loss of one exact draw between two databases."""
    p, q = log_weights(one)[0], log_weights(other)[0]
    return pure_loss(p - np.logaddexp.reduce(p), q - np.logaddexp.reduce(q))


@pytest.mark.slow
@named(ALONE)
@pytest.mark.parametrize("mechanism", ["Censored", "Recentred", "BetaDivergence"])
def test_exact_draws_keep_epsilon(pair, mechanism):
    made = asked(pair, mechanism, 4.0 if mechanism == "Recentred" else EPSILON)
    assert made.scope == "strict"
    blocks = [made.bind(made.read(table)).blocks for table in (pair.table, pair.other)]
    lost = claimed = 0.0
    for one, other in zip(*blocks, strict=True):
        assert isinstance(one.sampler, PublicGrid)
        loss, claim = both(one, other), one.model.epsilon
        if one.second is not None:
            axes = log_weights(one)[1]
            middle = np.array([[axis.u[len(axis.u) // 2] for axis in axes]])
            first = Draws.of(one.model, middle, Diagnostics("PublicGrid", 1))
            seconds = one.after(first), other.after(first)
            loss, claim = loss + both(*seconds), one.second.in_all
        lost, claimed = lost + loss, claimed + claim
    assert lost <= claimed * (1 + 1e-9)
    assert claimed <= made.epsilon * (1 + 1e-12)


@pytest.mark.slow
@named(ALL)
def test_noisy_scores_keep_epsilon(pair):
    """Sums of the two databases, at all that was public by then, differ by what one record may add, and no more."""
    made = asked(pair, "Scored").fit(pair.table)
    assert made.guarantee_.scope == "strict"
    blocks = [made.bind(made.read(table)).blocks for table in (pair.table, pair.other)]
    spent = 0.0
    for one, other, path in zip(*blocks, made._outcome.paths, strict=True):
        records = [scorable(block, bare(block.model)) for block in (one, other)]
        begun = [start_sums(bare(one.model), each, path.plan.start) for each in records]
        assert np.abs(begun[1].sums - begun[0].sums).max() <= begun[0].reach
        spent += path.plan.start
        for step in path.match.steps:
            sums = [contributions(path.parameters, step, each) @ each.counts.astype(np.int64) for each in records]
            moved = int(np.abs(sums[1] - sums[0]).sum())
            assert moved <= SCORE_QUANTA
            spent += step.epsilon
    assert spent <= EPSILON * (1 + 1e-12)


PLAIN_COUNTS = ("poisson", "negative_binomial")
WITH_DENSITIES = [pair for pair in COUNTS if pair.families[0] in PLAIN_COUNTS and pair.table["y"].any()]


@pytest.mark.slow
@named(WITH_DENSITIES)
def test_budget_weights_keep_their_claim(pair):
    made = asked(pair, "BW", 4.0)
    one, other = (
        output(made.bind(made.read(table)), made.mechanism, made.target) for table in (pair.table, pair.other)
    )
    assert loss_between(one, other) <= max(one.claim, other.claim)


RULES = {
    "LW": {},
    "LW_final": {},
    "CW": {"radius": 0.3, "relative": True},
    "CW_final": {"radius": 0.3, "relative": True},
    "SW": {"epsilon": 4.0},
}


@pytest.mark.slow
@named(WITH_DENSITIES)
@pytest.mark.parametrize("mechanism", RULES)
def test_a_run_does_not_call_a_broken_claim_kept(pair, mechanism):
    """The paper's claims break on such tables, as their promises say; a run's own audit must not say otherwise."""
    family = pair.families[0]
    made = Synthesizer(pair.formulas[0], family=family, mechanism=mechanism, m=1, seed=1, **RULES[mechanism])
    made.fit(pair.table)
    one, other = (
        output(made.bind(made.read(table)), made.mechanism, made.target) for table in (pair.table, pair.other)
    )
    broken = loss_between(one, other) > max(one.claim, other.claim)
    assert not (broken and audit_run(made.subject_).verdict == KEPT)
    if pair.name == "ties" and mechanism in ("LW", "LW_final", "SW"):
        assert broken, "a claim that is known to break"


TOLD_APART = [pair for pair in ALL if pair.name in ("two groups of counts, even", "one level alone")]


@pytest.mark.slow
@named(TOLD_APART)
@pytest.mark.parametrize("mechanism", ["Censored", "Scored"])
def test_whole_pipelines_are_not_told_apart(pair, mechanism):
    """40 runs on either side, tables and nothing else seen: a chain that one record sends elsewhere shows 1.6.

    The bound holds with probability 0.95, so a fixed seed is part of the test.
    """
    made = asked(pair, mechanism, 0.5).fit(pair.table)
    one, other = (made.read(table) for table in (pair.other, pair.table))
    seen = audit_black_box(np.random.SeedSequence(7), made.sampled, one, other, 40, 0.0)
    assert seen.ceiling > 1.5
    assert seen.bound <= 0.5
