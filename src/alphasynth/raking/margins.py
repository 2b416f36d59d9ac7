"""One column's distribution from noisy counts of its cells: nothing below 0, what is even but for noise made even."""

from __future__ import annotations

import math

import numpy as np

# Standard deviations of the noise from which on two halves of a stretch of cells are held to differ.
APART = 3.0
# Where stretches are cut in two; by what part of their mean halves may differ, and how often, at first; passes.
CUTS = (0.5, 0.35, 0.65, 0.42, 0.58, 0.25, 0.75)
SIZES, FIRST_GUESS, PASSES = np.array([0.0, 0.05, 0.15, 0.4, 1.0]), np.array([1.0, 0.5, 0.5, 0.5, 0.5]), 3


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

    How much stretches differ is learnt from all of them. The average over several ways to cut, so that none shows.

    >>> shrunk(np.array([10.0, 12.0, 90.0, 88.0]), 0.01, 200.0).round().tolist()
    [10.0, 12.0, 90.0, 88.0]
    """
    return np.mean([_shrunk_by(noisy, deviation, n, cut) for cut in CUTS], axis=0)


def _shrunk_by(noisy: np.ndarray, deviation: float, n: float, cut: float) -> np.ndarray:
    """Empirical Bayes: halves differ by a multiple of their mean, of a size that is one of `SIZES`."""
    sums, likely = np.concatenate([[0.0], np.cumsum(noisy)]), FIRST_GUESS / FIRST_GUESS.sum()
    found = np.zeros(len(noisy))
    for _ in range(PASSES):
        seen = FIRST_GUESS.copy()
        waiting = [(0, len(noisy), n / len(noisy))]
        while waiting:
            first, end, mean = waiting.pop()
            if end - first == 1:
                found[first] = mean
                continue
            middle = first + min(max(round((end - first) * cut), 1), end - first - 1)
            left, right = middle - first, end - middle
            apart = (sums[middle] - sums[first]) / left - (sums[end] - sums[middle]) / right
            noise, usual = deviation**2 * (1 / left + 1 / right), (2 * mean * SIZES) ** 2
            speaks_for = likely * np.exp(-0.5 * apart**2 / (noise + usual)) / np.sqrt(noise + usual) + 1e-300
            speaks_for /= speaks_for.sum()
            seen += speaks_for
            apart *= float((speaks_for * usual / (noise + usual)).sum())
            apart = min(max(apart, -mean * (left + right) / right), mean * (left + right) / left)
            waiting.append((first, middle, max(mean + apart * right / (left + right), 0.0)))
            waiting.append((middle, end, max(mean - apart * left / (left + right), 0.0)))
        likely = seen / seen.sum()
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
