"""What a column's counts may be, given noisy sums of them: a posterior, whose draws are never negative.

Shares of blocks are widths * exp(t), t a normal vector a priori. Of numbers it is a curve that bends down at both ends,
a smooth departure from that and one of each block by itself; of levels the last alone. How smooth and how large, the
noisy sums tell: settings are weighed by their evidence. Noise that leads below 0 in a tail so says that it is short,
where noise cut at 0 would make it long, and tables drawn from it differ as much as is unknown.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from alphasynth.raking import wide
from alphasynth.raking.cells import Cells
from alphasynth.raking.margins import Estimate, nearest_counts
from alphasynth.raking.sums import Noisy
from alphasynth.raking.wide import ARRIVED, HELD, OF_A_MEAN, STEPS, STUCK, UNLIKELY, Prior, Wide, sliced, without_sum

# Settings: how far apart numbers are alike, in deviations of the column, by how much they depart from a curve together,
# and each by itself, in logarithms; of levels, how much these differ.
LENGTHS, TOGETHER, EACH, LEVELS = (0.7, 2.0), (0.3, 1.0, 3.0), (0.03, 0.15, 0.6, 2.5), (1.0, 2.0, 4.0)
# What the curve is made of: a slope, a square and a root of squares, about so much of each, give or take so much.
ABOUT, GIVE_OR_TAKE = np.array([0.0, -0.25, -0.5]), np.array([1.0, 0.25, 0.5])
# How many times as many rows, in logarithms, a value that is apart has as one that is not, or as few.
APART = 3.0
# Rarely a column ends where blocks are no longer surely more than empty: beyond is so much less than a curve says, in
# logarithms, give or take as much.
CLIFF, RARELY = -3.0, 0.1
# A block is heaped where it has more rows than any of the four beside it, by so many deviations, or fewer.
CLEAR = 4.0
# Numbers have an order from so many blocks on, more than so many have few settings, and more than these one, or of
# levels none: time grows with their third power. From so many on steps are others (`Wide`).
FEWEST, MANY_LEVELS, WIDE, VERY_WIDE, MANY = 4, 12, 64, 256, 512
# Slices of a draw; counts of no more than so many deviations are few. Of many blocks, where slices find their way
# slowly, draws start from the mode and a normal that is less wide.
SLICES, FEW = 30, 4.0
# How much more is known of the sum of counts than of a count.
SURE = 1e3


class Counts(Protocol):
    """What a column's counts may be."""

    def draw(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """So many draws (number, blocks)."""

    def mean(self, rng: np.random.Generator) -> np.ndarray:
        """What they are on average, (blocks,)."""


@dataclass(frozen=True, eq=False)
class Cut:
    """Of very many blocks, and of one: an estimate and its noise, cut at 0."""

    known: Estimate
    n: int

    def draw(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """So many draws (number, blocks)."""
        deviation = np.sqrt(np.maximum(np.diag(self.known.covariance), 0.0))
        noise = rng.normal(size=(number, len(deviation))) * deviation
        return np.array([nearest_counts(each, self.n) for each in self.known.counts + noise])

    def mean(self, rng: np.random.Generator) -> np.ndarray:
        """The nearest counts to the estimate."""
        return nearest_counts(self.known.counts, self.n)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Of n rows' counts, by setting: sums as one precise estimate, and a prior.

    A prior's root (blocks, blocks) makes departures of a vector whose numbers are independent.
    """

    n: int
    estimate: np.ndarray = field(repr=False)
    precision: np.ndarray = field(repr=False)
    prior: Prior = field(repr=False)

    def counts(self, of: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Counts (number, blocks) of vectors (number, blocks) under these settings (number,)."""
        power = self.prior.usual[of] + np.matmul(self.prior.roots[of], at[..., None])[..., 0]
        made = np.exp(power - power.max(axis=-1, keepdims=True))
        return np.asarray(self.n * made / made.sum(axis=-1, keepdims=True))

    def far(self, at: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Minus the logarithm of the density (...,) at vectors that make these counts, but for a constant."""
        off = counts - self.estimate
        return 0.5 * ((at**2).sum(axis=-1) + ((off @ self.precision) * off).sum(axis=-1))

    def moves(self, of: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Counts (number, blocks), and how they move (number, blocks, blocks) with the vectors' numbers."""
        counts, roots = self.counts(of, at), self.prior.roots[of]
        return counts, counts[:, :, None] * (roots - (counts[:, None] @ roots) / self.n)

    def slopes(self, of: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slope (number, blocks) of that, and its curvature where counts are nearly linear."""
        counts, moves = self.moves(of, at)
        towards = self.precision @ moves
        slope = at + ((counts - self.estimate)[:, None] @ towards)[:, 0]
        return slope, np.eye(at.shape[1]) + moves.transpose(0, 2, 1) @ towards

    def modes(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest vector under each setting and its evidence, by Newton steps from these vectors.

        Steps that lead away are held back and tried again.
        """
        at, hold, left = at.copy(), np.full(len(at), HELD), np.arange(len(at))
        far = self.far(at, self.counts(left, at))
        for _ in range(STEPS):
            slope, curvature = self.slopes(left, at[left])
            diagonal = np.einsum("kii->ki", curvature)
            diagonal *= 1 + hold[left, None]
            new = at[left] - np.linalg.solve(curvature, slope[..., None])[..., 0]
            nearer = self.far(new, self.counts(left, new))
            good, gain = nearer < far[left], far[left] - nearer
            at[left[good]], far[left[good]] = new[good], nearer[good]
            hold[left] = np.where(good, hold[left] / 5, np.maximum(8 * hold[left], HELD))
            left = left[np.where(good, gain > ARRIVED, hold[left] < STUCK)]
            if not len(left):
                break
        curvature = self.slopes(np.arange(len(at)), at)[1]
        return at, np.log(self.prior.often) - far - 0.5 * np.linalg.slogdet(curvature)[1]


@dataclass(frozen=True, eq=False)
class Likely:
    """A posterior, the likeliest vector of each setting, and those that are likely: how they spread, and how likely."""

    posterior: Posterior
    kept: np.ndarray = field(repr=False)
    modes: np.ndarray = field(repr=False)
    spread: np.ndarray = field(repr=False)
    often: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, posterior: Posterior, start: np.ndarray) -> Likely:
        """With the modes found from these vectors (settings, blocks)."""
        at, evidence = posterior.modes(start)
        often = np.exp(evidence - evidence.max())
        kept = often > UNLIKELY
        # Few rows may be next to none, far down in logarithms: there the normal must be wider than at the mode.
        few = wide.FEW if at.shape[1] > WIDE else FEW
        counts, moves = posterior.moves(np.flatnonzero(kept), at[kept])
        part = counts / (counts + few / np.sqrt(np.diag(posterior.precision)))
        moves *= part[:, :, None]
        near = np.eye(at.shape[1]) + moves.transpose(0, 2, 1) @ posterior.precision @ moves
        spread = np.linalg.inv(np.linalg.cholesky(near)).transpose(0, 2, 1)
        return cls(posterior, np.flatnonzero(kept), at, spread, often[kept] / often[kept].sum())

    def mean(self, rng: np.random.Generator) -> np.ndarray:
        """What they are on average, (blocks,), but for a little."""
        return np.asarray(self.draw(rng, OF_A_MEAN).mean(axis=0))

    def draw(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """So many draws (number, blocks): elliptical slices, starting from a normal around a setting's mode."""
        setting = np.sort(rng.choice(len(self.often), number, p=self.often))
        many = self.modes.shape[1] > WIDE
        now = np.zeros((number, self.modes.shape[1])) if many else rng.normal(size=(number, self.modes.shape[1]))
        return sliced(rng, now, lambda which, at: self._density(setting[which], at), wide.SLICES if many else SLICES)

    def _density(self, setting: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Counts (number, blocks) of vectors about modes, and the logarithm of their density over the normal's."""
        of = self.kept[setting]
        at = self.modes[of] + np.matmul(self.spread[setting], now[..., None])[..., 0]
        counts = self.posterior.counts(of, at)
        return counts, 0.5 * (now**2).sum(axis=1) - self.posterior.far(at, counts)


def likely_counts(
    cells: Cells,
    known: Estimate,
    features: np.ndarray,
    sums: Noisy,
    n: int,
    guess: np.ndarray,
    before: Counts | None = None,
) -> Counts:
    """What counts (blocks,) may be, by an estimate of them, noisy sums of features (features, blocks) and a guess.

    The guess says where numbers lie and how far apart: the unit of what is smooth. What was found `before`, of less,
    is where to begin.
    """
    if cells.blocks == 1 or (cells.blocks > MANY and cells.nominal):
        return Cut(known, n)
    very = cells.blocks > VERY_WIDE
    precision = without_sum(known.covariance) if very else _pseudo_inverse(known.covariance)
    precise = features / np.broadcast_to(sums.variance, len(features))[:, None]
    together, told = precision + precise.T @ features, precision @ known.counts + precise.T @ sums.sums
    # All counts here add up to n: what is said of that moves the estimate, and no density.
    sure = SURE * float(np.diag(together).mean())
    sums_of = told + sure * n
    best = np.linalg.solve(together + sure, sums_of) if very else np.linalg.lstsq(together + sure, sums_of, 1e-12)[0]
    deviation = math.sqrt(max(float(np.diag(known.covariance).mean()), 0.0))
    made = prior(cells, guess, stand_out(best, deviation), beyond(best, deviation))
    precision, begin = (together + together.T) / 2, np.log(np.maximum(best, deviation / 2 + n * 1e-9) / n)
    if very:
        begin = before.modes if isinstance(before, Wide) else np.tile(begin, (len(made.often), 1))
        return Wide.of(n, best, precision, made, begin)
    posterior = Posterior(n, best, precision, made)
    if isinstance(before, Likely):
        return Likely.of(posterior, before.modes)
    return Likely.of(posterior, np.linalg.solve(made.roots, (begin - made.usual)[..., None])[..., 0])


def _pseudo_inverse(covariance: np.ndarray) -> np.ndarray:
    return np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)


def stand_out(counts: np.ndarray, deviation: float) -> np.ndarray:
    """Which blocks (blocks,) have so many rows, or so few, that those beside them say nothing of them.

    >>> stand_out(np.array([90.0, 40.0, 42.0, 44.0, 200.0, 47.0, 45.0]), 5.0).tolist()
    [True, False, False, False, True, False, False]
    """
    beside = np.stack([np.roll(counts, by) for by in (-2, -1, 1, 2)])
    place = np.arange(len(counts))
    for row, by in zip(beside, (-2, -1, 1, 2), strict=True):
        row[(place - by < 0) | (place - by >= len(counts))] = np.nan
    low, high = np.nanmin(beside, axis=0), np.nanmax(beside, axis=0)
    return np.asarray((counts > high + CLEAR * deviation) | (counts < low - CLEAR * deviation))


def beyond(counts: np.ndarray, deviation: float) -> np.ndarray:
    """Which blocks (2, blocks) lie before the first one that is surely not empty, and which after the last.

    >>> beyond(np.array([3.0, 90.0, 1.0, 40.0, -2.0]), 5.0).astype(int).tolist()
    [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    """
    clear = counts > CLEAR * deviation
    return np.array([~np.logical_or.accumulate(clear), ~np.logical_or.accumulate(clear[::-1])[::-1]])


def prior(cells: Cells, guess: np.ndarray, out: np.ndarray, tails: np.ndarray) -> Prior:
    """What is likely of any column, but where numbers lie and how far apart (guess), what stands out, and tails."""
    numbers = cells.blocks - cells.gap
    even = np.full(cells.blocks, -math.log(cells.blocks))
    levels = [(even, size * np.eye(cells.blocks), 1.0) for size in LEVELS]
    if cells.nominal or numbers < FEWEST:
        return Prior(*map(np.array, zip(*levels, strict=True)))
    apart = np.isin(np.arange(cells.blocks), cells.apart)
    apart[numbers:] = True
    widths = np.append(cells.widths, np.ones(int(cells.gap)))
    widths[apart] = widths[~apart].mean() if not apart.all() else 1.0
    place = _places(cells, guess[:numbers] * ~apart[:numbers])
    curve = np.stack([place, place**2, np.sqrt(1 + place**2) - 1], axis=1)
    curve = np.append(curve, np.zeros((int(cells.gap), 3)), axis=0) * ~apart[:, None]
    usual = np.log(widths / widths.sum()) + curve @ ABOUT
    always = (curve * GIVE_OR_TAKE**2) @ curve.T + np.diag(APART**2 * (apart | out) + 1e-8)
    beside, together = np.abs(place[:, None] - place), np.outer(~apart[:numbers], ~apart[:numbers])
    tails, few, many = tails & ~apart, numbers <= MANY_LEVELS, cells.blocks > WIDE
    found = []
    lengths, sizes = (LENGTHS[:1], TOGETHER[1:2]) if many else (LENGTHS, TOGETHER)
    for length, size, each in itertools.product(lengths, sizes, EACH[2:3] if cells.blocks > MANY else EACH):
        far = math.sqrt(5) * beside / length
        covariance = always + each**2 * np.diag(~apart)
        covariance[:numbers, :numbers] += size**2 * (1 + far + far**2 / 3) * np.exp(-far) * together
        found.append((usual, np.linalg.cholesky(covariance), 1.0))
        if not few and cells.blocks <= MANY:
            ended = usual + CLIFF * tails.sum(axis=0)
            found.append((ended, np.linalg.cholesky(covariance + CLIFF**2 * tails.T.astype(float) @ tails), RARELY))
    return Prior(*map(np.array, zip(*found, *(levels if few else ()), strict=True)))


def _places(cells: Cells, guess: np.ndarray) -> np.ndarray:
    """Where blocks of numbers lie, (numbers,), in deviations from the mean of a guess (numbers,)."""
    block = cells.block[: len(cells.lower)]
    value = np.bincount(block, cells.value) / np.bincount(block)
    share = np.maximum(guess, 0.0) + 1e-9
    share /= share.sum()
    mean = share @ value
    deviation = math.sqrt(share @ (value - mean) ** 2)
    return np.asarray((value - mean) / max(deviation, float(np.median(np.diff(value)))))
