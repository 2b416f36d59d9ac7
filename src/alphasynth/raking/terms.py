"""What raking fits weights to: a table's noisy counts and noisy moments, and how far from the pool each may lead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

# Steps within a cell's own equation, and when they have settled.
INNER, SETTLED = 30, 1e-9
# More moments than these are fitted without a curvature.
MANY = 700
# How far from what the pool says sums may go that were not measured, in variances.
NEARLY_HELD = 0.01
# Below so many times the sampling variance, noise lets all moments be held, even those that agree with the pool.
LOUD = 4.0
# How much further than sampling error truths may lie from the pool, in variances; passes to learn how often.
FURTHER, PASSES = np.array([0.0, 0.5, 2.0, 8.0, 32.0, 128.0, 512.0, 2048.0]), 40

# What is added to a curvature whose entries on the diagonal are 1; more where sums that are nearly the same, or few
# digits, need it.
RIDGE = (1e-5, 1e-3, 1e-1)

Step = Callable[[np.ndarray], np.ndarray]


def solving(curvature: np.ndarray, ridges: Sequence[float] = RIDGE) -> Step:
    """What move a slope calls for under a curvature, in place; where nothing else does, by its diagonal alone.

    >>> solving(np.array([[4.0, 0.0], [0.0, 16.0]]), (0.0,))(np.ones(2)).tolist()
    [0.25, 0.0625]
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    diagonal = np.diag_indices_from(curvature)
    scale = 1 / np.sqrt(np.maximum(curvature[diagonal], 1e-12))
    curvature *= scale * scale[:, None]
    for ridge in ridges:
        curvature[diagonal] = 1.0 + ridge
        with suppress(LinAlgError):
            factor = cho_factor(curvature, lower=True, check_finite=False)
            return lambda slope: np.asarray(scale * cho_solve(factor, scale * slope, check_finite=False))
    return lambda slope: scale**2 * slope


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
    curvature: Step | None = field(default=None, repr=False)

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
        if len(self.noisy) > MANY:
            size = self.square + self.variance
            return lambda slope: slope / size
        if self.curvature is None:
            scaled = self.vectors * np.sqrt(weights)[:, None].astype(self.vectors.dtype)
            curvature = (scaled.T @ scaled).astype(np.float64)
            curvature[np.diag_indices_from(curvature)] += self.variance
            self.curvature = solving(curvature, (0.0, *RIDGE))
        return self.curvature


Term = TableTerm | MomentTerm
