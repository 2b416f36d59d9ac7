"""What noisy counts say of one column by itself: cells that are alike, cells that pairs use, the best estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from alphasynth.raking.cells import Cells
from alphasynth.raking.sums import Noisy

# Standard deviations of the noise from which on two halves of a stretch of cells are held to differ.
APART = 3.0
# No fewer rows than these are in a block, where it says how density goes on.
HARDLY = 1e-3
# A cell of one number is no narrower than this part of all.
NARROW = 1e-9


@dataclass(frozen=True, eq=False)
class OneWay:
    """What is known of one column: noisy counts of blocks, the counts of its fine cells, the cells that pairs use."""

    noisy: Noisy
    fine: np.ndarray = field(repr=False)
    cells: np.ndarray = field(repr=False)

    @property
    def margin(self) -> np.ndarray:
        """Counts of the cells that pairs use."""
        return np.bincount(self.cells, self.fine)


def nearest_counts(noisy: np.ndarray, n: float) -> np.ndarray:
    """The nearest numbers (cells,) to noisy counts that are not negative and add up to n.

    >>> nearest_counts(np.array([5.0, 3.0, -2.0]), 6).tolist()
    [4.0, 2.0, 0.0]
    """
    falling = np.sort(noisy)[::-1]
    excess = (np.cumsum(falling) - n) / np.arange(1, len(noisy) + 1)
    return np.maximum(noisy - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def in_pool(counts: np.ndarray, place: np.ndarray, n: int) -> np.ndarray:
    """Counts (cells,) of cells that rows of the pool are in, by each row's `place` (rows,), n in all.

    Those of other cells no weights can make: columns would add up to different numbers of rows, which steps of all
    together follow without end.

    >>> in_pool(np.array([6.0, 2.0, 4.0]), np.array([0, 0, 2]), 20)
    array([12.,  0.,  8.])
    """
    held = np.where(np.bincount(place, minlength=len(counts)) > 0, counts, 0.0)
    return held * (n / held.sum()) if held.sum() > 0 else counts


def within_blocks(cells: Cells, counts: np.ndarray) -> np.ndarray:
    """Counts (cells,) of fine cells within blocks of these counts (blocks,): density goes on as from block to block.

    Its logarithm is a line within a block, as steep as lines to the blocks before and after say together: level where
    one rises and one falls, and hardly steeper than the flatter one, so that a cliff beside a block leaves it level.
    Where all blocks of numbers are as wide as half a deviation, even ones would make a variance 2 % too large.
    """
    numbers = len(cells.block) - cells.gap
    block, widths = cells.block[:numbers], cells.fine_widths
    widths = np.maximum(widths, NARROW * widths.sum())
    share = np.append(widths, np.ones(int(cells.gap)))
    smooth = np.setdiff1d(np.arange(cells.blocks - cells.gap), cells.apart)
    if not cells.levels and len(smooth) > 2:
        middle = np.cumsum(widths) - widths / 2
        of_block = np.bincount(block, widths)
        centre = np.bincount(block, widths * middle) / np.maximum(of_block, 1e-300)
        height = np.log(np.maximum(counts[smooth], HARDLY) / of_block[smooth])
        rise = np.diff(height) / np.diff(centre[smooth])
        before, after = np.append(rise[1], rise), np.append(rise, rise[-2])
        same = before * after > 0
        slope = np.zeros(cells.blocks)
        slope[smooth] = np.where(same, 2 * before * after / np.where(same, before + after, 1.0), 0.0)
        share[:numbers] *= np.exp(slope[block] * (middle - centre[block]))
    whole = np.bincount(cells.block, share)
    return share * (counts / np.maximum(whole, 1e-300))[cells.block]


def expected_where_alike(noisy: np.ndarray, deviation: float, expected: np.ndarray, apart: float = APART) -> np.ndarray:
    """Counts (cells,) of cells in order: as `expected` over stretches whose halves are off that by noise alone.

    Stretches are halved again and again; where no halves within one are `apart` by so many deviations from what is
    expected of them, it is as expected. Counts add up to what the expected ones do.

    >>> expected_where_alike(np.array([10.0, 12.0, 90.0, 88.0]), 3.0, np.full(4, 50.0)).tolist()
    [11.0, 11.0, 89.0, 89.0]
    """
    n = float(expected.sum())
    if len(noisy) == 1 or n <= 0 or not _differs(noisy - expected, deviation, apart):
        return expected
    middle = len(noisy) // 2
    left, right = expected[:middle], expected[middle:]
    share = left.sum()
    if _halves_differ(noisy - expected, deviation, apart):
        share = noisy[:middle].sum() + (n - noisy.sum()) * middle / len(noisy)
    share = min(max(share, 0.0), n)
    return np.concatenate(
        [
            expected_where_alike(noisy[:middle], deviation, _of_size(left, share), apart),
            expected_where_alike(noisy[middle:], deviation, _of_size(right, n - share), apart),
        ]
    )


def _of_size(counts: np.ndarray, n: float) -> np.ndarray:
    """Counts (cells,) in the same proportions that add up to n."""
    return counts * (n / counts.sum()) if counts.sum() > 0 else np.full(len(counts), n / len(counts))


def _differs(noisy: np.ndarray, deviation: float, apart: float) -> bool:
    """Whether the halves of this stretch differ, or those of any within."""
    if len(noisy) == 1:
        return False
    middle = len(noisy) // 2
    return (
        _halves_differ(noisy, deviation, apart)
        or _differs(noisy[:middle], deviation, apart)
        or _differs(noisy[middle:], deviation, apart)
    )


def _halves_differ(noisy: np.ndarray, deviation: float, apart: float) -> bool:
    middle = len(noisy) // 2
    left, right = noisy[:middle], noisy[middle:]
    return bool(abs(left.mean() - right.mean()) > apart * deviation * math.sqrt(1 / len(left) + 1 / len(right)))


def joined(counts: np.ndarray, least: float, ordered: bool) -> np.ndarray:
    """The cell that each block goes to in counts of pairs: small ones are joined, neighbours where they have an order.

    >>> joined(np.array([50.0, 1.0, 2.0, 40.0, 3.0]), 5.0, True).tolist()
    [0, 1, 1, 1, 1]
    >>> joined(np.array([50.0, 1.0, 2.0, 40.0, 3.0]), 5.0, False).tolist()
    [0, 2, 2, 1, 2]
    """
    if not ordered:
        small = counts < least
        if small.sum() < 2 or small.all():
            return np.arange(len(counts))
        place = np.cumsum(~small) - 1
        return np.where(small, place[-1] + 1, place)
    cells, cell, filled = np.zeros(len(counts), np.int64), 0, 0.0
    for i, count in enumerate(counts):
        if i and filled >= least and counts[i:].sum() >= least:
            cell, filled = cell + 1, 0.0
        cells[i] = cell
        filled += count
    return cells


@dataclass(frozen=True, eq=False)
class Estimate:
    """Counts (blocks,) as they may be, below 0 too, and their covariance (blocks, blocks)."""

    counts: np.ndarray = field(repr=False)
    covariance: np.ndarray = field(repr=False)


def estimated(noisy: Noisy, to: np.ndarray, of_pairs: Sequence[Noisy], n: int) -> Estimate:
    """The best linear estimate of counts that add up to n, from noisy ones and from what counts of pairs add up to.

    These are counts of the cells that blocks lie in, `to` (blocks,): each pair that a column is in says a little of it.
    """
    counts, covariance = noisy.sums, noisy.variance * np.eye(len(noisy.sums))
    if of_pairs:
        precision = sum(1 / each.variance for each in of_pairs)
        together = sum((each.sums / each.variance for each in of_pairs), np.zeros(int(to.max()) + 1)) / precision
        part = noisy.variance / (np.bincount(to) * noisy.variance + 1 / precision)
        counts = counts + (part * (together - np.bincount(to, counts)))[to]
        covariance = covariance - noisy.variance * part[to] * (to == to[:, None])
    towards = covariance.sum(axis=1)
    total = max(float(towards.sum()), 1e-300)
    counts = counts + towards * (n - counts.sum()) / total
    return Estimate(counts, covariance - np.outer(towards, towards) / total)
