"""Sampling variances of associations, by their influence functions: what a single row moves them by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from alphasynth.evaluation.associations import CRAMER, SPEARMAN, Pair, codes_of, numbers_of, ranks_of
from alphasynth.evaluation.values import is_numeric, present
from alphasynth.tables.records import Records


class Sampling(NamedTuple):
    """How an association scatters in samples: its variance, and what chance adds to its square.

    Cramér's V and the correlation ratio are never below 0, so that chance makes them larger: the more so, the more
    levels and the fewer rows there are.
    """

    variance: float
    added: float


UNKNOWN = Sampling(float("nan"), float("nan"))


def samplings(records: Records, wanted: Sequence[Pair], values: Sequence[float]) -> list[Sampling]:
    """Of every pair, whose association in these records is among `values`; not known where that is not."""
    whole = {name for name in records.columns if present(records, name).all()}
    every = np.ones(records.size, bool)

    @cache
    def there(name: str) -> np.ndarray:
        return every if name in whole else present(records, name)

    @cache
    def standard(name: str) -> np.ndarray:
        return _standardised(ranks_of(numbers_of(records.columns[name]), records.counts), records.counts)

    @cache
    def coded(name: str) -> np.ndarray:
        return codes_of(records.columns[name])

    def one(pair: Pair, value: float) -> Sampling:
        if not math.isfinite(value):
            return UNKNOWN
        kept = there(pair.one) & there(pair.other)
        counts = records.counts[kept]
        if pair.measure == SPEARMAN:
            if whole.issuperset((pair.one, pair.other)):
                return _of_ranks(standard(pair.one), standard(pair.other), counts, value)
            x, y = (ranks_of(numbers_of(records.columns[n])[kept], counts) for n in (pair.one, pair.other))
            return _of_ranks(_standardised(x, counts), _standardised(y, counts), counts, value)
        if pair.measure == CRAMER:
            return _of_cells(coded(pair.one)[kept], coded(pair.other)[kept], counts, value)
        numbers, codes = (pair.one, pair.other) if is_numeric(records.columns[pair.one]) else (pair.other, pair.one)
        return _of_groups(numbers_of(records.columns[numbers])[kept], coded(codes)[kept], counts, value)

    return [one(pair, value) for pair, value in zip(wanted, values, strict=True)]


def difference_error(own: Sampling, others: Sequence[Sampling]) -> float:
    """Standard error of the difference of an association in one table from its mean in others."""
    known = [other.variance for other in others if math.isfinite(other.variance)]
    return math.sqrt(own.variance + float(np.mean(known)) / len(known)) if known else float("nan")


def expected(value: float, own: Sampling, others: Sequence[Sampling]) -> tuple[float, float]:
    """From where to where a sample's association is expected, before it scatters: chance adds to it, or has done so."""
    added = [other.added for other in others if math.isfinite(other.added)]
    if not added or not own.added:
        return value, value
    return math.sqrt(max(value**2 - own.added, 0.0)), math.sqrt(value**2 + float(np.mean(added)))


def _standardised(ranks: np.ndarray, counts: np.ndarray) -> np.ndarray:
    apart = ranks - np.average(ranks, weights=counts)
    spread = math.sqrt(np.average(apart**2, weights=counts))
    return apart / spread if spread > 0 else apart


def _of_ranks(x: np.ndarray, y: np.ndarray, counts: np.ndarray, rho: float) -> Sampling:
    """Of a correlation of standardised ranks: a row moves it by x y - rho (x^2 + y^2) / 2.

    At least (1 - rho^2)^2 / n, as of normal values: of a value that few rows have, these few tell too little.
    """
    moved = x * y - rho / 2 * (x**2 + y**2)
    return Sampling(max(_variance(moved, counts), (1 - rho**2) ** 2 / int(counts.sum())), 0.0)


def _of_groups(values: np.ndarray, codes: np.ndarray, counts: np.ndarray, eta: float) -> Sampling:
    """Of a correlation ratio: a row moves its square by ((1 - eta^2) (y - mean)^2 - (y - its mean)^2) / variance."""
    totals = np.bincount(codes, counts)
    means = np.bincount(codes, counts * values) / np.maximum(totals, 1)
    around = (values - np.average(values, weights=counts)) ** 2
    moved = ((1 - eta**2) * around - (values - means[codes]) ** 2) / np.average(around, weights=counts)
    n = int(counts.sum())
    return _of_square(_variance(moved, counts), eta, (int((totals > 0).sum()) - 1) / n, 1 / n)


def _of_cells(x: np.ndarray, y: np.ndarray, counts: np.ndarray, cramer: float) -> Sampling:
    """Of Cramér's V, whose square is phi^2 over the smaller number of levels less 1.

    With a = p(i, j) / (p(i) p(j)), a row in a cell moves phi^2 by 2 a less the mean of a in its row and in its column.
    """
    table = np.zeros((int(x.max()) + 1, int(y.max()) + 1))
    np.add.at(table, (x, y), counts)
    table = table[np.ix_(table.any(axis=1), table.any(axis=0))]
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1, keepdims=True), shares.sum(axis=0, keepdims=True)
    ratio = shares / (rows * columns)
    moved = 2 * ratio - (ratio**2 * columns).sum(axis=1, keepdims=True) - (ratio**2 * rows).sum(axis=0, keepdims=True)
    smaller, larger = sorted(size - 1 for size in table.shape)
    scale = table.sum() * smaller
    return _of_square(float((shares * moved**2).sum()) / (scale * smaller), cramer, larger * smaller / scale, 1 / scale)


def _of_square(variance: float, root: float, added: float, near_nothing: float) -> Sampling:
    """Of the root of a number with this variance; as far as chance made it, it has that of one normal deviate too."""
    away = variance / (4 * root**2) if root > 0 else 0.0
    by_chance = added / (added + root**2)
    return Sampling(away + by_chance * near_nothing, added)


def _variance(moved: np.ndarray, counts: np.ndarray) -> float:
    n = int(counts.sum())
    return float(np.average(moved**2, weights=counts)) / max(n - 1, 1)
