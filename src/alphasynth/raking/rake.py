"""Raking: weights of a pool's rows that come near to noisy sums and stay as near to the pool as these allow.

Weights w minimise sum w log(w / q) - w + sum (y - A w)^2 / (2 s), where q are the pool's weights, A w the sums that the
weights make and y the noisy ones of variance s G: G says how much further than sampling error the truth may lie from
the pool, and is estimated (empirical Bayes). The weights are q exp(-A' mu): one number mu for each sum, found by turns,
for a table all at once, cell by cell, and for moments by a Newton step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

# A Newton step moves no logarithm of a weight by more; steps within a cell's own equation, and when they have settled.
FARTHEST, INNER, SETTLED = 2.0, 30, 1e-9
# More moments than these are fitted without a curvature; turns of conjugate gradients at the most, what they may leave,
# and the share of rows that tells how far a step goes.
MANY, TURNS, NEARLY, BUT_FOR_FEW = 700, 8, 0.1, 0.99
# How far from what the pool says sums may go that were not measured, in variances.
NEARLY_HELD = 0.01
# Below so many times the sampling variance, noise lets all moments be held, even those that agree with the pool.
LOUD = 4.0
# How much further than sampling error truths may lie from the pool, in variances; passes to learn how often.
FURTHER, PASSES = np.array([0.0, 0.5, 2.0, 8.0, 32.0, 128.0, 512.0, 2048.0]), 40

Step = Callable[[np.ndarray], np.ndarray]


def kept_of(apart: np.ndarray, square: np.ndarray, noise: float) -> np.ndarray:
    """What part of each difference (D,) from the pool is kept, given its sampling variances (D,): empirical Bayes.

    True differences have one of `FURTHER` times the sampling variance; how often, all of them tell together.

    >>> kept = kept_of(np.array([0.1, -0.2, 0.1, 30.0]), np.ones(4), 1.0)
    >>> bool(kept[:3].max() < 0.2), bool(kept[3] > 0.95)
    (True, True)
    """
    usual = FURTHER * square[:, None]
    log_like = -0.5 * apart[:, None] ** 2 / (usual + noise) - 0.5 * np.log(usual + noise)
    like = np.exp(log_like - log_like.max(axis=1, keepdims=True))
    often = np.full(len(FURTHER), 1 / len(FURTHER))
    for _ in range(PASSES):
        speaks_for = like * often
        speaks_for /= speaks_for.sum(axis=1, keepdims=True)
        often = (speaks_for.sum(axis=0) + 1 / len(FURTHER)) / (len(apart) + 1)
    return (speaks_for * usual / (usual + noise)).sum(axis=1)


@dataclass(eq=False)
class TableTerm:
    """A table's noisy counts (cells,), the cell (rows,) of each row, the noise's variance, and where the fit stands."""

    place: np.ndarray = field(repr=False)
    noisy: np.ndarray = field(repr=False)
    noise: float
    variance: float
    tilt: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, place: np.ndarray, noisy: np.ndarray, variance: float) -> TableTerm:
        """A term at the start."""
        return cls(place, noisy, variance, variance, np.zeros(len(noisy)))

    def loosened(self, weights: np.ndarray) -> None:
        """Let the fit go as far from the pool as the noisy counts say the truth lies."""
        fitted = self.sums(weights)
        gain = (((self.noisy - fitted) ** 2).sum() - len(fitted) * self.variance) / max(fitted.sum(), 1e-300)
        self.variance /= max(gain, 1.0)

    def slope(self, weights: np.ndarray) -> np.ndarray:
        """What there is to do (cells,); nothing where no row is."""
        fitted = self.sums(weights)
        return np.where(fitted > 0, self.noisy - fitted - self.variance * self.tilt, 0.0)

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Counts (cells,) that the weights make."""
        return np.bincount(self.place, weights, minlength=len(self.noisy))

    def changes(self, move: np.ndarray) -> np.ndarray:
        """What a move (cells,) of the tilt does to logarithms of weights (rows,)."""
        return move[self.place]

    def alone(self, weights: np.ndarray) -> Step:
        """What move (cells,) a slope calls for if nothing else moves."""
        size = self.sums(weights) + self.variance
        return lambda slope: slope / size

    def step(self, log_weights: np.ndarray) -> float:
        """Move the table's cells to where they belong given all else, in place; how far they went."""
        fitted = self.sums(np.exp(log_weights))
        move = np.zeros_like(fitted)
        for _ in range(INNER):
            moved = fitted * np.exp(move)
            newton = (self.noisy - moved - self.variance * (self.tilt + move)) / (moved + self.variance)
            move += np.clip(newton, -1.0, 1.0)
            if np.abs(newton).max() < SETTLED:
                break
        move = np.where(fitted > 0, move, 0.0)
        self.tilt += move
        log_weights += move[self.place]
        return float(np.abs(move * fitted).max() / max(fitted.mean(), 1e-300))


@dataclass(eq=False)
class MomentTerm:
    """Noisy sums (D,) of rows' vectors (rows, D), the noise's variance, and where the fit stands.

    The last `held` were not measured: they are what the pool says, and are to stay near that. The curvature is computed
    once: it costs D times a step, and an old one is good enough for conjugate gradients.
    """

    vectors: np.ndarray = field(repr=False)
    noisy: np.ndarray = field(repr=False)
    noise: float
    variance: np.ndarray = field(repr=False)
    tilt: np.ndarray = field(repr=False)
    square: np.ndarray = field(repr=False)
    held: int = 0
    curvature: tuple[np.ndarray, bool] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, vectors: np.ndarray, noisy: np.ndarray, variance: float) -> MomentTerm:
        """A term at the start."""
        return cls(vectors, noisy, variance, np.full(len(noisy), variance), np.zeros(len(noisy)), np.ones(len(noisy)))

    @property
    def measured(self) -> int:
        """How many of the sums were."""
        return len(self.noisy) - self.held

    def loosened(self, weights: np.ndarray) -> None:
        """Let the fit go as far from the pool as the noisy sums say the truth lies."""
        square = np.einsum("ij,ij,i->j", self.vectors, self.vectors, weights.astype(self.vectors.dtype))
        square = np.maximum(square.astype(np.float64), 1.0)  # of whole numbers, even if no row of the pool has any
        apart, usual = (self.noisy - self.sums(weights))[: self.measured], square[: self.measured]
        kept = np.clip(kept_of(apart, usual, self.noise), 1e-6, 1 - 1e-9)
        mixed = usual * (1 - kept) / kept
        if self.noise <= LOUD * np.median(usual):
            gain = ((apart**2).sum() - len(apart) * self.noise) / usual.sum()
            mixed = np.minimum(mixed, self.noise / max(gain, 1.0))
        self.variance, self.square = np.append(mixed, NEARLY_HELD * square[self.measured :]), square

    def step(self, log_weights: np.ndarray) -> float:
        """A Newton step for all moments, in place; how far it went, in logarithms of weights."""
        return newton_step(log_weights, [self])

    def slope(self, weights: np.ndarray) -> np.ndarray:
        """What there is to do (D,)."""
        return self.noisy - self.sums(weights) - self.variance * self.tilt

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """What the weights make, in the vectors' own precision: a wider copy of them would not fit."""
        return (weights.astype(self.vectors.dtype) @ self.vectors).astype(np.float64)

    def changes(self, move: np.ndarray) -> np.ndarray:
        """What a move (D,) of the tilt does to logarithms of weights (rows,)."""
        return np.asarray(self.vectors @ move.astype(self.vectors.dtype))

    def alone(self, weights: np.ndarray) -> Step:
        """What move (D,) a slope calls for if nothing else moves, nearly: many moments are taken to be uncorrelated."""
        from scipy.linalg import cho_factor, cho_solve

        if len(self.noisy) > MANY:
            size = self.square + self.variance
            return lambda slope: slope / size
        if self.curvature is None:
            scaled = self.vectors * np.sqrt(weights)[:, None].astype(self.vectors.dtype)
            curvature = (scaled.T @ scaled).astype(np.float64)
            curvature[np.diag_indices_from(curvature)] += self.variance
            self.curvature = cho_factor(curvature)
        known = self.curvature
        return lambda slope: np.asarray(cho_solve(known, slope))


Term = TableTerm | MomentTerm


def rake(log_weights: np.ndarray, terms: list[Term], sweeps: int, tolerance: float = 1e-3) -> int:
    """Fit all terms by turns, in place, until none moves by more than the tolerance; how many turns it took."""
    for done in range(sweeps):
        if max(term.step(log_weights) for term in terms) < tolerance:
            return done + 1
    return sweeps


def rake_together(
    log_weights: np.ndarray, tables: Sequence[Term], moments: MomentTerm, sweeps: int, tolerance: float = 1e-2
) -> int:
    """The same for tables and moments, with steps of all of them together after each turn: far fewer turns."""
    moments.curvature = None
    for done in range(sweeps):
        moved = max(term.step(log_weights) for term in tables)
        if max(moved, newton_step(log_weights, [*tables, moments])) < tolerance:
            return done + 1
    return sweeps


def newton_step(log_weights: np.ndarray, terms: Sequence[Term]) -> float:
    """A Newton step for all terms together, in place; how far it went, in logarithms of weights.

    By conjugate gradients: terms by themselves have steps of their own, and are all but uncorrelated with others, so
    that few turns are enough; where they lead away, since sums contradict each other, the nearest of them counts.
    """
    weights = np.exp(log_weights)
    left, alone = [term.slope(weights) for term in terms], [term.alone(weights) for term in terms]
    moves = [np.zeros_like(each) for each in left]
    towards = [step(each) for step, each in zip(alone, left, strict=True)]
    long = _product(left, towards)
    enough, nearest, best = long * NEARLY**2, long, [move.copy() for move in moves]
    for _ in range(TURNS):
        rows = weights * sum(term.changes(each) for term, each in zip(terms, towards, strict=True))
        along = [term.sums(rows) + term.variance * each for term, each in zip(terms, towards, strict=True)]
        far = long / max(_product(towards, along), 1e-300)
        for move, each, slope, other in zip(moves, towards, left, along, strict=True):
            move += far * each
            slope -= far * other
        better = [step(each) for step, each in zip(alone, left, strict=True)]
        before, long = long, _product(left, better)
        if long < nearest:
            nearest, best = long, [move.copy() for move in moves]
        if long <= enough:
            break
        towards = [each + long / before * other for each, other in zip(better, towards, strict=True)]
    change = sum(term.changes(each) for term, each in zip(terms, best, strict=True))
    # A few rows have so much of many moments that a step as short as they call for would go nowhere.
    moved = float(np.quantile(np.abs(change), BUT_FOR_FEW))
    part = min(1.0, FARTHEST / max(moved, 1e-300))
    for term, move in zip(terms, best, strict=True):
        term.tilt += part * move
    log_weights += np.clip(part * change, -FARTHEST, FARTHEST)
    return moved


def _product(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> float:
    return float(sum(one @ other for one, other in zip(left, right, strict=True)))
