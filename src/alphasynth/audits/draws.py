"""The draw audit: the loss towards every neighbour from the draws at hand, in any dimension and without a refit.

The neighbour's weights are made by the same rules from the same draws; where that does not give the run's own weights
again for its own database, the audit cannot tell. Budget weights are made from one draw, given which no weight moves:
the losses of that draw and of one after it add up. h(theta) is the difference that the neighbour's weights and the
record itself make to the log density. Two normals stand for the two posteriors: that of the draws, and one moved and
scaled as h says (fitted by least squares on the place and the squared distance from the mean). Where h only moves it,
the loss is that of Gaussian differential privacy at the standard deviation of h. A diagnostic and never a certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.audits.neighbours import Neighbour, recounted
from alphasynth.inference.contribution import Bounded, weighted
from alphasynth.inference.density import log_liks_outside, outside, over_blocks
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms.chain import Chain, JointFit
from alphasynth.mechanisms.fit import Problem, in_64_bit
from alphasynth.mechanisms.lipschitz import extreme_log_liks, larger
from alphasynth.mechanisms.mechanism import Trail, budget_weights, by_formula
from alphasynth.mechanisms.rule import Rule, aim_of
from alphasynth.models.model import Array, Columns, Model, Rows, capacity
from alphasynth.privacy.accounting import epsilon_of, part_of, total
from alphasynth.privacy.divergence import AUDIT_DELTA, gaussian_epsilon, spherical_epsilon
from alphasynth.tables.records import Records

# Neighbours that pass through the rows together; of a large table fewer, so that their changes fit in memory, and of a
# huge one fewer draws.
AT_ONCE, FEWER_AT_ONCE, LARGE = 64, 8, 1 << 18
FEWER_DRAWS, HUGE = 250, 1 << 20
DRAWS_PER_COORDINATE = 4  # at least, for a covariance of the draws
# A posterior that a neighbour scales by less than this counts as of the same spread; one it all but flattens, as this.
SAME_SPREAD, LEAST_PRECISION = 3e-3, 1e-6
FAITHFUL = 0.01  # weights made again may be off by this share of the largest one: searches stop within 0.002


@dataclass(frozen=True, eq=False)
class Replay:
    """A run's weights as a function of the database, its draws staying as they are (confidential).

    `extended` are the records with canaries, `chain` is bound to them; `largest` is F of every round by distinct row.
    `given` has the weights that follow from the draw of budget weights, and `released` the chain drawn from.
    `factor` is how far a searched number made again is off the run's own, which had a refit at every trial.
    """

    trail: Trail
    extended: Records
    chain: Chain
    target: float | None
    largest: tuple[np.ndarray, ...] = field(repr=False)
    released: Chain
    given: np.ndarray | None = field(default=None, repr=False)
    factor: float = 1.0

    @classmethod
    @in_64_bit
    def of(cls, trail: Trail, extended: Records, bind: Callable[[Records], Chain], target: float | None) -> Replay:
        """The replay of a run; `bind` makes the chain of records. Of the run's own records F is known."""
        chain = bind(extended)
        known = len(trail.fits[0].largest_distinct)
        largest = tuple(np.concatenate([fit.largest_distinct, _largest_of(chain, fit, known)]) for fit in trail.fits)
        if trail.guide is None:
            again = cls(trail, extended, chain, target, largest, chain)
            return replace(again, factor=again._missed()) if trail.rules else again
        released, given = budget_weights(chain, trail.rules[-1], trail.guide.u)
        return cls(trail, extended, chain, target, largest, released, given)

    @property
    def faithful(self) -> bool:
        """Whether the replay gives the weights that the run used."""
        used = self.trail.fits[-1].alpha_distinct
        again = self.alpha(self.extended.counts)[: len(used)]
        return bool(np.abs(again - used).max() <= FAITHFUL * used.max())

    def _missed(self) -> float:
        """What the replay's weights must be multiplied by to be the run's, where both lie between 0 and 1."""
        used = self.trail.fits[-1].alpha_distinct
        again = self.alpha(self.extended.counts)[: len(used)]
        if not self._searched(self.trail.rules[-1]) or used.shape != again.shape:
            return 1.0
        between = (used > 0) & (used < 1) & (again > 0) & (again < 1)
        return float(np.median(used[between] / again[between])) if between.any() else 1.0

    def _searched(self, rule: Rule) -> bool:
        """Whether the run searched for the rule's number."""
        return rule.dial in {search.dial for search in self.trail.searches}

    def alpha(self, counts: np.ndarray) -> np.ndarray:
        """Final weights by distinct row of `extended`, of the database with these counts; 0 where it has no record."""
        keep = counts > 0
        if self.given is not None:
            return np.where(keep, self.given, 0.0)
        records = recounted(self.extended, counts)
        alpha = np.ones(records.size)
        for number, rule in enumerate(self.trail.rules, start=1):
            before = self._fit(number - 1, records, keep, alpha)
            after = self.largest[number][keep]
            alpha = self._next(rule, records, before, after, number == len(self.trail.rules))
        spread = np.zeros(len(counts))
        spread[keep] = alpha
        return spread

    def claim(self, counts: np.ndarray, alpha: np.ndarray) -> float:
        """Twice the Lipschitz bound of the database with these counts and weights, on the last round's draws.

        Where the bound is aimed at a target, a refit would not exceed it; budget weights claim the target itself.
        """
        if self.given is not None:
            return epsilon_of(self.trail.delta)
        claim = epsilon_of(float(weighted(np.where(counts > 0, alpha, 0.0), self.largest[-1]).max()))
        return claim if self.target is None else min(claim, epsilon_of(self.target))

    def _fit(self, number: int, records: Records, keep: np.ndarray, alpha: np.ndarray) -> JointFit:
        """A round's draws with other records, weights and F."""
        fit = self.trail.fits[number]
        return JointFit(records, fit.names, fit.columns, alpha.copy(), self.largest[number][keep])

    def _next(self, rule: Rule, records: Records, before: JointFit, after: np.ndarray, is_last: bool) -> np.ndarray:
        """The rule's weights; where its number was searched, brought to the bound that the search would aim at."""
        alpha = rule(records, before)
        if not self._searched(rule):
            return alpha
        reached = float(weighted(alpha, after).max())
        target = self.target if is_last else None
        aim = aim_of(rule, before, target, lambda other: float(weighted(other(records, before), after).max()))
        if aim is None:
            return alpha
        factor = self.factor if is_last else 1.0
        if by_formula(rule):  # of the neighbour's own bounds
            return np.clip(rule.turned(rule.guess(before, aim.bound))(records, before) * factor, 0.0, 1.0)
        return np.clip(alpha * factor * (aim.bound / reached if reached > 0 else 1.0), 0.0, 1.0)


def _largest_of(chain: Chain, fit: JointFit, known: int) -> np.ndarray:
    """F of the distinct rows after those known: canaries."""
    number = chain.records.size - known
    if number == 0:
        return np.zeros(0)
    highest, lowest = np.zeros(number), np.zeros(number)
    for block, column in zip(chain.blocks, fit.columns, strict=True):
        lines = block.rows.of[known:]
        few = Rows.pad({name: c[lines] for name, c in block.rows.columns.items()}, lines, block.rows.start)
        top, bottom = extreme_log_liks(block.model, column.draws, few)
        highest, lowest = highest + top, lowest + bottom
    return np.nan_to_num(larger(highest, lowest), nan=np.inf)


@dataclass(frozen=True)
class Found:
    """What an audit found of one neighbour (confidential): the loss, and the larger of both databases' claims."""

    name: str
    loss: float
    claim: float


def audit_draws(replay: Replay, neighbours: Sequence[Neighbour], delta: float = AUDIT_DELTA) -> list[Found]:
    """Estimated loss towards each neighbour."""
    counts = replay.extended.counts
    own = replay.alpha(counts)
    claim = replay.claim(counts, own)
    found = []
    wide = _at_once(_size(replay.chain))
    columns = [column.draws for column in replay.trail.fits[-1].columns]
    fewest = min(draws.num_draws for draws in columns)
    few = min(fewest, FEWER_DRAWS) if _size(replay.chain) > HUGE else fewest
    columns = [draws.take(np.arange(few)) for draws in columns]
    u = np.concatenate([draws.u for draws in columns], axis=1)
    for first in range(0, len(neighbours), wide):
        some = neighbours[first : first + wide]
        theirs = [replay.alpha(neighbour.counts) for neighbour in some]
        changes = [counts * own - n.counts * alpha for n, alpha in zip(some, theirs, strict=True)]
        change = np.stack(changes, axis=1)
        # The columns' parameters are drawn apart, so that draws of the same number make a draw of all of them.
        h = sum(differences(block, d, change) for block, d in zip(replay.released.blocks, columns, strict=True))
        lost = losses(u, np.asarray(h), delta)
        if replay.given is not None:
            lost = _both_parts(replay, some, _within(lost, np.asarray(h)), few, delta)
        for neighbour, alpha, loss in zip(some, theirs, lost, strict=True):
            larger = max(claim, replay.claim(neighbour.counts, alpha))
            found.append(Found(neighbour.name, loss, larger))
    return found


def _within(lost: Sequence[float], h: np.ndarray) -> list[float]:
    """Losses, at most what h ranges over: clipped contributions leave posteriors that are not near a normal."""
    return np.minimum(lost, np.ptp(h, axis=0)).tolist()


def _both_parts(
    replay: Replay, some: Sequence[Neighbour], second: Sequence[float], few: int, delta: float
) -> list[float]:
    """Losses of budget weights, with that of the draw they are made from as far as one draw released has part in it."""
    assert replay.trail.guide is not None, "budget weights"
    guides = [block.guide for block in replay.chain.blocks if block.guide is not None]
    draws = [each.take(np.arange(min(few, each.num_draws))) for each in replay.trail.guide.draws]
    change = np.stack([replay.extended.counts - n.counts for n in some], axis=1).astype(np.float64)
    h = sum(differences(guide, each, change) for guide, each in zip(guides, draws, strict=True))
    cost = total(guide.model.epsilon for guide in guides if isinstance(guide.model, Bounded))
    u = np.concatenate([each.u for each in draws], axis=1)
    first = _within(losses(u, np.asarray(h), delta), np.asarray(h))
    part = part_of(replay.trail.delta, cost)
    return [part * one + other for one, other in zip(first, second, strict=True)]


def losses(u: np.ndarray, h: np.ndarray, delta: float = AUDIT_DELTA) -> list[float]:
    """Epsilon at delta towards each neighbour (neighbours,), from draws u (S, D) and h there (S, neighbours)."""
    if u.shape[1] * DRAWS_PER_COORDINATE > len(u):  # too few draws to tell the shape: the move alone
        return [gaussian_epsilon(float(mu), delta) for mu in h.std(axis=0)]
    centred = u - u.mean(axis=0)
    z = np.linalg.solve(np.linalg.cholesky(np.atleast_2d(np.cov(u, rowvar=False))), centred.T).T
    features = np.column_stack([np.ones(len(z)), z, 0.5 * (z**2).sum(axis=1)])
    fitted = np.linalg.lstsq(features, h, rcond=None)[0]
    moves, scalings = fitted[1:-1], fitted[-1]
    found = []
    for mu, move, scaling in zip(h.std(axis=0), moves.T, scalings, strict=True):
        loss = gaussian_epsilon(float(mu), delta)
        if abs(scaling) > SAME_SPREAD:
            precision = max(1 + float(scaling), LEAST_PRECISION)
            shift = float(np.linalg.norm(move)) / precision
            loss = max(loss, spherical_epsilon(shift, precision, z.shape[1], delta))
        found.append(loss)
    return found


def _size(chain: Chain) -> int:
    return max(block.rows.size for block in chain.blocks)


def _at_once(size: int) -> int:
    return AT_ONCE if size <= LARGE else FEWER_AT_ONCE


@in_64_bit
def differences(problem: Problem, draws: Draws, changes: np.ndarray) -> np.ndarray:
    """h (S, neighbours) at the draws, for changes of weight (distinct rows, neighbours)."""
    rows = problem.rows
    by_line = np.zeros((capacity(rows.size), _at_once(rows.size)))
    np.add.at(by_line[:, : changes.shape[1]], rows.of, changes)
    if outside(problem.model) is not None:
        takes_part = (by_line[: rows.size] != 0).any(axis=1)
        f = np.where(takes_part, log_liks_outside(problem.model, draws.u, rows.distinct), 0.0)
        return f @ by_line[: rows.size, : changes.shape[1]]
    h = np.asarray(_differences(problem.model, draws.u, rows.columns, by_line, np.int64(rows.size)))
    return h[:, : changes.shape[1]]


@partial(jax.jit, static_argnames="model")
def _differences(model: Model, draws: Array, columns: Columns, changes: Array, size: Array) -> Array:
    """h (S, neighbours): the sum over rows of change times log-likelihood; rows that change nowhere take no part."""

    def step(block: tuple[Columns, Array], first: Array, total: Array) -> Array:
        values, change = block
        log_lik = jax.vmap(lambda u: model.log_lik(model.prior.constrain(u), values))(draws)
        takes_part = (change != 0).any(axis=1)
        return total + jnp.where(takes_part, log_lik, 0.0) @ change

    return over_blocks((columns, changes), size, step, jnp.zeros((len(draws), changes.shape[1])))
