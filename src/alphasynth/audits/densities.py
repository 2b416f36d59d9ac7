"""The density audit: the exact loss between a database and its neighbours, for models of one or two parameters.

The whole mechanism runs again on every neighbour, with quadrature in place of draws: the maximum over draws becomes the
maximum over the set of highest density that holds 99.9 %, which agrees with 1,000 draws to a few per cent. Budget
weights are drawn in two parts, whose losses add up; the second is taken at several first draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from alphasynth.audits.quadrature import weigh_far
from alphasynth.errors import InputError
from alphasynth.inference.contribution import Bounded
from alphasynth.inference.density import Target
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.grid import Grid, Weighed, scores
from alphasynth.inference.sampler import Draws
from alphasynth.inference.wrapping import Clipped
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import Problem, in_64_bit
from alphasynth.mechanisms.mechanism import Mechanism, budget_weights, run, settled
from alphasynth.mechanisms.rules import BW
from alphasynth.privacy.accounting import epsilon_of, part_of
from alphasynth.privacy.divergence import AUDIT_DELTA, epsilon_between
from alphasynth.privacy.randomness import Key

HIGHEST_DENSITY = 0.999
# Points of the pipeline's grids and of the set that stands for draws; points of the grid that the loss is summed on.
COARSE, SET, FINE = 101, 2_048, 161
PLACES = 3  # first draws, beside the most probable one, that second parts are compared at


@dataclass(frozen=True)
class HighestDensity:
    """In place of draws: the points of a grid that lie in the smallest set with 99.9 % of the probability."""

    grid: Grid = Grid(COARSE)

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """The set's points, the first of them repeated up to `num_draws`; nothing here is random."""
        at = self.grid.weigh(target)
        order = np.argsort(-at.probability, kind="stable")
        inside = order[: int(np.searchsorted(np.cumsum(at.probability[order]), HIGHEST_DENSITY)) + 1]
        inside = inside[-num_draws:]  # the rim counts, where a log-likelihood is farthest from its peak
        padded = np.concatenate([inside, np.full(num_draws - len(inside), inside[0])])
        return Draws.of(target.model, at.u[padded], Diagnostics(sampler="HighestDensity", num_draws=num_draws))


@dataclass(frozen=True, eq=False)
class Output:
    """The distribution that a mechanism draws from on one database (confidential), and its claim per draw.

    Of budget weights it is that of the first draw, which costs `part` of its loss for each draw released; `then` has
    the distribution that follows one.
    """

    target: Target
    weigh: Callable[[Target], Weighed] = field(repr=False)
    claim: float
    part: float = 1.0
    then: Callable[[np.ndarray], Output] | None = field(default=None, repr=False)

    @cached_property
    @in_64_bit
    def at(self) -> Weighed:
        """The distribution on points of its own, made where it is asked for."""
        return self.weigh(self.target)


@in_64_bit
def output(chain: Chain, mechanism: Mechanism, target: float | None) -> Output:
    """Run a mechanism on a chain of one by quadrature; raise `InputError` for models of more than two parameters."""
    problem = chain.one
    if problem.model.prior.size > 2:
        raise InputError(
            f"the density audit takes models of one or two parameters, found {problem.model.prior.size}; use the draw "
            "audit"
        )
    if mechanism.rules and isinstance(mechanism.rules[-1], BW):
        assert target is not None, "budget weights have one"
        return _in_two_parts(chain, settled(mechanism.rules[-1], target, chain), target)
    weighed = replace(chain, blocks=(replace(problem, sampler=HighestDensity(), num_draws=SET),))
    last = run(np.random.SeedSequence(0), weighed, mechanism, target).fits[-1]
    drawn = Target.of(problem.model, problem.rows, problem.rows.total(last.alpha_distinct * last.records.counts))
    return Output(drawn, Grid(FINE).weigh, epsilon_of(last.lipschitz.overall))


def _in_two_parts(chain: Chain, rule: BW, bound: float) -> Output:
    """Budget weights: the first draw, of which each draw released has its part, and what follows it."""
    guide = chain.one.guide
    assert guide is not None, "bound with the mechanism"
    assert isinstance(guide.model, Bounded), "made by guide_of"

    def then(u: np.ndarray) -> Output:
        allowed, alpha = budget_weights(chain, rule, [u])
        return _weighed(allowed.one, alpha, bound)

    first = _weighed(guide, np.ones(chain.records.size), bound)
    return replace(first, claim=epsilon_of(bound), part=part_of(bound, guide.model.epsilon), then=then)


def _weighed(problem: Problem, alpha: np.ndarray, claim: float) -> Output:
    alpha = np.where(problem.rows.finite[problem.rows.of], alpha, 0.0)
    drawn = Target.of(problem.model, problem.rows, problem.rows.total(alpha * problem.records.counts))
    return Output(drawn, weigh_far, claim)


@in_64_bit
def loss_between(one: Output, other: Output, delta: float = AUDIT_DELTA) -> float:
    """Epsilon at delta between two databases' outputs, the larger of both directions.

    Of two parts each has half of delta, and the second counts at the worst of several first draws.
    """
    if one.then is None or other.then is None:
        return max(_one_way(one, other, delta), _one_way(other, one, delta))
    first = max(_one_way(one, other, delta / 2), _one_way(other, one, delta / 2))
    second = [loss_between(one.then(u), other.then(u), delta / 2) for u in _places(one.at)]
    return one.part * first + max(second)


def _places(at: Weighed) -> np.ndarray:
    """First draws to go on from: the most probable one, and some at random."""
    some = np.random.default_rng(0).choice(len(at.u), PLACES, p=at.probability)
    return at.u[[int(np.argmax(at.probability)), *some.tolist()]]


def _one_way(one: Output, other: Output, delta: float) -> float:
    """P's own grid holds all of P; Q's density is computed there and divided by Q's own integral.

    Where contributions are bounded the grid holds all of Q too, and Q's integral is taken there: on two grids, wide
    densities with kinks would be summed with two errors.
    """
    some = one.at.probability > 0
    log_p = np.log(one.at.probability[some])
    mine = one.at.value[some]
    theirs = np.asarray(scores(other.target.model, one.at.u, other.target.data))[some]
    loss = mine - np.where(np.isnan(theirs), -np.inf, theirs)
    if isinstance(one.target.model, Bounded | Clipped):
        return epsilon_between(loss + logsumexp(log_p - loss), log_p, delta)
    return epsilon_between(loss - one.at.log_total + other.at.log_total, log_p, delta)
