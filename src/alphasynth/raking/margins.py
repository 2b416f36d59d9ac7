"""One column's distribution from noisy counts of its cells: nothing below 0, what is even but for noise made even.

And tails, where single blocks are lost in noise: the shape of what is next to them goes on.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

# Standard deviations of the noise from which on two halves of a stretch of cells are held to differ.
APART = 3.0
# Where stretches are cut in two; by what part of their mean halves may differ, and how often, at first; passes.
CUTS = (0.5, 0.35, 0.65, 0.42, 0.58, 0.25, 0.75)
SIZES, FIRST_GUESS, PASSES = np.array([0.0, 0.05, 0.15, 0.4, 1.0]), np.array([1.0, 0.5, 0.5, 0.5, 0.5]), 3
# Blocks of fewer rows than so many deviations of the noise are a tail's, from the first or last of all inwards,
# as long as it has less than this part of the rows.
CLEAR, SMALL = 3.0, 0.1
# A shape is fitted to so many blocks next to the tail at the most, and for each degree at least; a tail falls at least
# so fast from one block to the next, in logarithms, and fast where there is no shape.
NEXT_TO, LEAST, LEAST_FALL, FAST = 10, {1: 2, 2: 5}, 0.15, 0.7
# A skewed number's density falls at least like this power of it.
OF_SKEWED = 2.0
# A shape may be wrong by this part of it: as a whole, and block by block.
WRONG = 0.7


def nearest_counts(noisy: np.ndarray, n: float) -> np.ndarray:
    """The nearest numbers (cells,) to noisy counts that are not negative and add up to n.

    >>> nearest_counts(np.array([5.0, 3.0, -2.0]), 6).tolist()
    [4.0, 2.0, 0.0]
    """
    falling = np.sort(noisy)[::-1]
    excess = (np.cumsum(falling) - n) / np.arange(1, len(noisy) + 1)
    return np.maximum(noisy - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def even_where_alike(noisy: np.ndarray, deviation: float, n: float, apart: float = APART) -> np.ndarray:
    """Counts (cells,) of cells in order that add up to n, even over stretches whose halves differ by noise alone.

    Stretches are halved again and again; where no halves within one are `apart` by so many deviations, it is even.

    >>> even_where_alike(np.array([10.0, 12.0, 90.0, 88.0]), 3.0, 200.0).tolist()
    [11.0, 11.0, 89.0, 89.0]
    """
    if len(noisy) == 1 or n <= 0:
        return np.full(len(noisy), n / len(noisy))
    middle = len(noisy) // 2
    left, right = noisy[:middle], noisy[middle:]
    if not _differs(noisy, deviation, apart):
        return np.full(len(noisy), n / len(noisy))
    share = left.sum() + (n - noisy.sum()) * middle / len(noisy)
    if not _halves_differ(noisy, deviation, apart):
        share = n * middle / len(noisy)
    share = min(max(share, 0.0), n)
    return np.concatenate(
        [even_where_alike(left, deviation, share, apart), even_where_alike(right, deviation, n - share, apart)]
    )


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


def shrunk(noisy: np.ndarray, deviation: float, n: float) -> np.ndarray:
    """Counts (cells,) of cells in order that add up to n: what halves of stretches differ by, less of it the noisier.

    Empirical Bayes: halves differ by a multiple of their mean, of a size that is one of `SIZES`; how often of which,
    all stretches tell. The average over several ways to cut, so that none shows.

    >>> shrunk(np.array([10.0, 12.0, 90.0, 88.0]), 0.01, 200.0).round().tolist()
    [10.0, 12.0, 90.0, 88.0]
    """
    sums, ways = np.concatenate([[0.0], np.cumsum(noisy)]), len(CUTS)
    likely = np.tile(FIRST_GUESS / FIRST_GUESS.sum(), (ways, 1))
    for _ in range(PASSES):
        seen, found = np.tile(FIRST_GUESS, (ways, 1)), np.full((ways, len(noisy)), n / len(noisy))
        for way, first, middle, end, inside in _halves(len(noisy)):
            left, right, mean = middle - first, end - middle, found[way, first]
            apart = (sums[middle] - sums[first]) / left - (sums[end] - sums[middle]) / right
            usual = (2 * mean[:, None] * SIZES) ** 2
            both = usual + deviation**2 * (1 / left + 1 / right)[:, None]
            speaks_for = likely[way] * np.exp(-0.5 * apart[:, None] ** 2 / both) / np.sqrt(both) + 1e-300
            speaks_for /= speaks_for.sum(axis=1, keepdims=True)
            np.add.at(seen, way, speaks_for)
            apart *= (speaks_for * usual / both).sum(axis=1)
            apart = np.clip(apart / (left + right), -mean / right, mean / left)
            halves = np.maximum([mean + apart * right, mean - apart * left], 0.0)
            found.ravel()[inside] = np.repeat(halves.T.ravel(), np.stack([left, right], axis=1).ravel())
        likely = seen / seen.sum(axis=1, keepdims=True)
    return np.asarray(found.mean(axis=0))


@cache
def _halves(cells: int) -> list[tuple[np.ndarray, ...]]:
    """All stretches of more than one cell, by level: the way to cut, first cells, middles, ends, and cells inside."""
    found, stretches = [], [(way, 0, cells) for way in range(len(CUTS))]
    while stretches := [(way, a, b) for way, a, b in stretches if b - a > 1]:
        halved = [(way, a, a + min(max(round((b - a) * CUTS[way]), 1), b - a - 1), b) for way, a, b in stretches]
        inside = np.concatenate([way * cells + np.arange(a, b) for way, a, b in stretches])
        found.append((*np.array(halved).T, inside))
        stretches = [part for way, a, at, b in halved for part in ((way, a, at), (way, at, b))]
    return found


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


def with_tails(
    counts: np.ndarray, noisy: np.ndarray, deviation: float, widths: np.ndarray, skewed: bool = False
) -> np.ndarray:
    """Counts (blocks,) of blocks of these widths whose tails at both ends follow the shape of what is next to them.

    Widths of a `skewed` column are of logarithms, and its tail falls so fast that the number has a variance.

    >>> true = np.array([500.0, 300, 150, 60, 20, 6, 0, 0, 0, 0])
    >>> with_tails(np.maximum(true, 7), true + 7, 12.0, np.ones(10)).round().tolist()
    [498.0, 298.0, 148.0, 58.0, 28.0, 16.0, 9.0, 6.0, 3.0, 2.0]
    """
    clear = counts >= CLEAR * deviation
    before = counts.sum()
    for turned in (slice(None), slice(None, None, -1)):
        counts = _upper(counts[turned], noisy[turned], deviation, widths[turned], skewed)[turned]
    return np.maximum(counts + clear * (before - counts.sum()) / max(clear.sum(), 1), 0.0)


def _upper(counts: np.ndarray, noisy: np.ndarray, deviation: float, widths: np.ndarray, skewed: bool) -> np.ndarray:
    beyond = np.append(np.cumsum(counts[::-1])[::-1][1:], 0.0)
    clear = np.flatnonzero((counts >= CLEAR * deviation) | (beyond >= SMALL * counts.sum()))
    if not len(clear) or clear[-1] == len(counts) - 1:
        return counts
    start = int(clear[-1]) + 1
    least = np.maximum(LEAST_FALL, OF_SKEWED * widths[start:] * skewed)
    shape = _shape(counts[:start], deviation, widths[:start], least) * widths[start:]
    # How much there is in all, then block by block: what the shape says and what was counted, by how well each knows.
    expected, found = shape.sum(), noisy[start:].sum()
    known = (WRONG * expected) ** 2 / ((WRONG * expected) ** 2 + len(shape) * deviation**2)
    shape = shape * max(1 + known * (found / expected - 1), 0.05)
    known_each = (WRONG * shape) ** 2 / ((WRONG * shape) ** 2 + deviation**2)
    each = np.maximum(shape + known_each * (noisy[start:] - shape), 0.0)
    # Nothing is below 0, which must not make a tail longer than it is.
    return np.append(counts[:start], each * (shape.sum() / max(each.sum(), shape.sum(), 1e-300)))


def _shape(counts: np.ndarray, deviation: float, widths: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Rows for a unit of width in blocks beyond these: between a straight line and a parabola, in logarithms.

    The first has too much in a tail, mostly, and the second too little; each block falls by at `least` so much.
    """
    first = max(int(np.argmax(counts / widths)), len(counts) - NEXT_TO)
    near, at = np.maximum(counts[first:], deviation / 2), np.arange(first - len(counts) + 1, 1.0)
    heights, weights = np.log(near / widths[first:]), near / np.sqrt(near + deviation**2)
    fitted = [np.polyfit(at, heights, degree, w=weights) for degree in (1, 2) if len(near) >= LEAST[degree]]
    curves = [np.polyval(each, np.arange(0.0, len(least) + 1)) for each in fitted if len(each) == 2 or each[0] <= 0]
    tops = [curve[0] for curve in curves] or [heights[-1]]
    steps = [np.maximum(-np.diff(curve), least) for curve in curves] or [np.maximum(FAST, least)]
    return np.asarray(np.exp(np.mean(tops) - np.cumsum(np.mean(steps, axis=0))))
