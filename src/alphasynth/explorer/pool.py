"""`Pool`: draws of several fits, weighted to stand for a fit that was not made, and what so many draws would come to.

Every draw counts as one of the mixture of all fits (multiple importance sampling with the balance heuristic), whose
normalising constants are estimated from the draws themselves. The prior is the same in all of them and cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import jax
import numpy as np

from alphasynth.inference.contribution import weighted
from alphasynth.inference.diagnostics import khat
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.models.model import Array, Columns, Model, Rows

# In place of a log-likelihood that is not finite: no draw with a record like that has any weight.
IMPOSSIBLE = np.float32(-1e30)
# Estimates of normalising constants are at rest when none moves by more.
AT_REST, MOST_ROUNDS = 1e-6, 5_000
# The largest of more draws than this part of the stored ones' worth is biased; of far fewer it has far to go. With a
# quarter of 300 or more, and exponential or normal tails, the bias is at most about a third of a run's own scatter.
PART = 4


@dataclass(frozen=True, eq=False)
class Terms:
    """What each row adds at a draw (confidential): alpha (f - centre), clipped to [low, high]; one entry per row."""

    alpha: np.ndarray = field(repr=False)
    centre: np.ndarray | float = 0.0
    low: np.ndarray | float = -np.inf
    high: np.ndarray | float = np.inf

    def kept(self, counts: np.ndarray) -> float:
        """What the weights come to, in records."""
        return float(self.alpha @ counts)

    def added(self, log_lik: np.ndarray) -> np.ndarray:
        """What each row adds (S, rows) to the log density at each draw."""
        return np.clip(weighted(self.alpha, log_lik - self.centre), self.low, self.high)


@dataclass(frozen=True, eq=False)
class Pool:
    """Draws (confidential): f (S, rows) as the page has it, counts by row, and the log density of the mixture (S,).

    `least` is the least that the weights of a fit come to, in records. Draws of narrow fits cannot tell how far they
    are from standing for a wide one, and neither can their k-hat.
    """

    log_lik: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)
    mixture: np.ndarray = field(repr=False)
    least: float = 0.0

    @classmethod
    def of(cls, log_liks: Sequence[np.ndarray], counts: np.ndarray, terms: Sequence[Terms]) -> Pool:
        """The pool of several fits, each with its draws' f (S_k, rows) and what rows added in it."""
        log_lik = np.concatenate(log_liks)
        targets = np.array([each.added(log_lik) @ counts for each in terms])
        mixture = log_mixture(targets, np.array([len(each) for each in log_liks]))
        return cls(log_lik, counts, mixture, min(each.kept(counts) for each in terms))

    def log_ratios(self, terms: Terms) -> np.ndarray:
        """Log importance ratios (S,), up to a constant, for a fit in which rows add this."""
        return terms.added(self.log_lik) @ self.counts - self.mixture

    def standing(self, terms: Terms) -> Standing:
        """How the draws stand for a fit in which rows add this."""
        return Standing.of(self.log_ratios(terms))

    @cached_property
    def order(self) -> np.ndarray:
        """The draws (S, rows) by |f| of each row, in ascending order."""
        return np.argsort(np.abs(self.log_lik), axis=0)

    def expected_largest(self, standing: Standing, num_draws: int) -> np.ndarray:
        """F by row, the largest |f| that so many draws of a fit are expected to show."""
        return expected_largest(np.abs(self.log_lik), standing.shares, num_draws, self.order)


@dataclass(frozen=True, eq=False)
class Standing:
    """How draws stand for a fit: their shares (S,), which sum to 1, and the Pareto k-hat of their ratios."""

    shares: np.ndarray = field(repr=False)
    khat: float

    @classmethod
    def of(cls, log_ratios: np.ndarray) -> Standing:
        """Shares in proportion to the ratios.

        >>> Standing.of(np.zeros(4)).shares.tolist(), Standing.of(np.zeros(4)).effective
        ([0.25, 0.25, 0.25, 0.25], 4.0)
        """
        ratios = np.exp(log_ratios - log_ratios.max())
        return cls(ratios / ratios.sum(), khat(log_ratios))

    @property
    def effective(self) -> float:
        """How many independent draws would tell as much."""
        return float(1 / np.sum(self.shares**2))


def log_mixture(targets: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Log density (S,) of the mixture that draws came from, given each fit's log density (K, S) up to a constant.

    The draws of each fit stand together, in the fits' order. The constants are those under which every fit's density
    integrates to 1 on all draws, found by going round.

    >>> np.ptp(log_mixture(np.zeros((2, 4)), np.array([2, 2]))).tolist()
    0.0
    """
    own = np.repeat(np.arange(len(sizes)), sizes)
    # By their mean on their own draws the constants are known but for a few units, so that no exponential overflows.
    centred = targets - np.array([[targets[k, own == k].mean()] for k in range(len(sizes))])
    top = centred.max(axis=0)
    density, constants = np.exp(centred - top), np.ones(len(sizes))
    for _ in range(MOST_ROUNDS):
        mixture = (sizes / constants) @ density
        found = density @ (1 / mixture)
        moved = np.abs(np.log(found / found[0]) - np.log(constants / constants[0])).max()
        constants = found / found[0]
        if moved <= AT_REST:
            break
    return np.log((sizes / constants) @ density) + top


def expected_largest(
    values: np.ndarray, shares: np.ndarray, num_draws: int, order: np.ndarray | None = None
) -> np.ndarray:
    """Expected largest of `num_draws` draws of values (S, ...) that have these shares, by column; `order` sorts them.

    It is what a run's bound, the largest over its draws, comes to on average. Stored draws that are worth fewer than
    that do not reach as far: of a quarter of what they are worth (a power of two) the largest is taken from them, and
    from there on it grows with the logarithm of the number, as between the last two powers.
    """
    order = np.argsort(values, axis=0) if order is None else order
    many = reliable(shares, num_draws)
    largest = largest_among(values, shares, many, order)
    growth = (largest - largest_among(values, shares, many / 2, order)) / math.log(2)
    return largest + growth * math.log(num_draws / many)


def reliable(shares: np.ndarray, num_draws: int) -> int:
    """Of how many draws the largest can be taken from stored ones: a quarter of their worth, as a power of two.

    >>> reliable(np.full(1_000, 0.001), 4_000), reliable(np.full(1_000, 0.001), 100)
    (128, 64)
    """
    worth = (1 - 1e-9) / float(np.sum(shares**2))  # a power of two itself must not depend on the last digit
    return int(2 ** max(math.floor(math.log2(min(num_draws, worth / PART))), 1))


def largest_among(values: np.ndarray, shares: np.ndarray, number: float, order: np.ndarray) -> np.ndarray:
    """Expected largest of so many draws among values (S, ...) that have these shares, and no others.

    >>> largest_among(np.array([1.0, 3.0]), np.array([0.5, 0.5]), 2, np.array([0, 1])).tolist()
    2.5
    """
    reached = np.minimum(np.cumsum(shares[order], axis=0), 1.0)
    reached[-1] = 1.0
    chance = np.diff(reached**number, axis=0, prepend=0.0)
    return (np.take_along_axis(values, order, axis=0) * chance).sum(axis=0)


@in_64_bit
def log_liks(model: Model, u: np.ndarray, rows: Rows) -> np.ndarray:
    """f (S, distinct rows of the records) at draws u (S, D), in 32 bits, as the page holds it."""
    f = np.asarray(_log_liks(model, u, rows.columns))[:, : rows.size]
    with np.errstate(over="ignore"):
        rounded = f.astype(np.float32)
    return np.where(np.isfinite(rounded), rounded, IMPOSSIBLE)[:, rows.of]


@partial(jax.jit, static_argnames="model")
def _log_liks(model: Model, u: Array, columns: Columns) -> Array:
    return jax.vmap(lambda each: model.log_lik(model.prior.constrain(each), columns))(u)
