"""The density audit: the exact loss between a database and its neighbours, for models of one or two parameters.

The whole mechanism runs again on every neighbour, with quadrature in place of draws: the maximum over draws becomes the
maximum over the set of highest density that holds 99.9 %, which agrees with 1,000 draws to a few per cent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from alphasynth.density import Target
from alphasynth.diagnostics import Diagnostics
from alphasynth.divergence import AUDIT_DELTA, epsilon_between
from alphasynth.errors import InputError
from alphasynth.fit import Problem, in_64_bit
from alphasynth.grid import Grid, Weighed, scores
from alphasynth.mechanism import Mechanism, run
from alphasynth.sampler import Draws, Key

HIGHEST_DENSITY = 0.999
# Points of the pipeline's grids and of the set that stands for draws; points of the grid that the loss is summed on.
COARSE, SET, FINE = 101, 2_048, 161


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
    """The distribution that a mechanism draws from on one database (confidential), and its claim per draw."""

    target: Target
    at: Weighed
    claim: float


@in_64_bit
def output(problem: Problem, mechanism: Mechanism, target: float | None) -> Output:
    """Run a mechanism by quadrature; raise `InputError` for models of more than two parameters."""
    if problem.model.prior.size > 2:
        raise InputError(
            f"the density audit takes models of one or two parameters, found {problem.model.prior.size}; use the draw "
            "audit"
        )
    problem = replace(problem, sampler=HighestDensity(), num_draws=SET)
    last = run(np.random.SeedSequence(0), problem, mechanism, target).fits[-1]
    drawn = Target.of(problem.model, problem.rows, problem.rows.total(last.alpha_distinct * last.records.counts))
    return Output(drawn, Grid(FINE).weigh(drawn), 2 * last.lipschitz.overall)


@in_64_bit
def loss_between(one: Output, other: Output, delta: float = AUDIT_DELTA) -> float:
    """Epsilon at delta between two databases' outputs, the larger of both directions."""
    return max(_one_way(one, other, delta), _one_way(other, one, delta))


def _one_way(one: Output, other: Output, delta: float) -> float:
    """P's own grid holds all of P; Q's density is computed there and divided by Q's own integral."""
    held = one.at.probability > 0
    log_p = np.log(one.at.probability[held])
    mine, theirs = (
        np.asarray(scores(each.target.model, one.at.u, each.target.data))[held] - each.at.log_total
        for each in (one, other)
    )
    return epsilon_between(mine - np.where(np.isnan(theirs), -np.inf, theirs), log_p, delta)
