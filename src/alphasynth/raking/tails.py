"""Tails of a number's counts, where single blocks are lost in noise: the shape of what is next to them goes on."""

from __future__ import annotations

import numpy as np

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
