"""Intervals of 95 %: of bootstrap resamples, averaged over tables, and by a rule that combines m synthetic tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from alphasynth.errors import InputError
from alphasynth.evaluation.values import Statistic, Values
from alphasynth.privacy.guarantee import SPREAD

LEVEL = 0.95
REACH = 1.959963984540054  # standard errors to each side of a 95 % interval
RESAMPLES = 1_000
# Above so many distinct values, moments are resampled by bins; each end of the column keeps bins of one value.
MOST_BINS, SINGLE_AT_EACH_END = 1_024, 64
# Short columns with few rows to a value are resampled row by row, which is faster there and exact.
ROWS_PER_VALUE, MOST_ROWS = 8, 4_096


class Interval(NamedTuple):
    """From `low` to `high`."""

    low: float
    high: float


def resample(
    rng: np.random.Generator, values: Values, statistics: Sequence[Statistic], resamples: int = RESAMPLES
) -> np.ndarray:
    """Statistics in bootstrap resamples of the column (statistics, resamples), without making the resamples' rows.

    Each line is right on its own; quantiles come from other resamples than mean and sd.
    """
    moments = dict(zip(("mean", "sd"), _resample_moments(rng, values, resamples), strict=True))
    return np.stack(
        [
            moments[statistic.name]
            if statistic.share is None
            else _resample_quantile(rng, values, statistic.share, resamples)
            for statistic in statistics
        ]
    )


def _resample_quantile(rng: np.random.Generator, values: Values, share: float, resamples: int) -> np.ndarray:
    """Exact: the k-th smallest of n uniforms is Beta(k, n + 1 - k), and the next one a minimum of those above it."""
    n = values.n
    place = (n - 1) * share
    k = int(np.floor(place)) + 1
    low = rng.beta(k, n + 1 - k, resamples)
    high = low if k == n else 1 - (1 - low) * rng.random(resamples) ** (1 / (n - k))
    below, above = (values.at(np.minimum(np.floor(n * u), n - 1)) for u in (low, high))
    return below + (place - np.floor(place)) * (above - below)


def _resample_moments(rng: np.random.Generator, values: Values, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of resamples: how often each bin is drawn, times its mean, plus the scatter within bins.

    Exact where each bin is one value; otherwise the sum over a bin of n' rows is taken as normal, with its first two
    moments right.
    """
    n, centre = values.n, values.mean
    x = values.values - centre
    if n <= min(ROWS_PER_VALUE * len(x), MOST_ROWS):
        rows = np.repeat(x, values.counts)[rng.integers(n, size=(resamples, n), dtype=np.int32)]
        mean = rows.mean(axis=1)
        squares = np.einsum("ij,ij->i", rows, rows)
        return centre + mean, np.sqrt(np.maximum(squares - n * mean**2, 0) / max(n - 1, 1))
    powers, counts = np.stack([x, x**2], axis=1), values.counts
    starts = _bins(counts)
    size = np.add.reduceat(counts, starts)
    means = np.add.reduceat(counts[:, None] * powers, starts) / size[:, None]
    drawn = rng.multinomial(n, size / n, resamples)
    totals = drawn @ means
    if len(starts) < len(x):
        apart = powers - np.repeat(means, np.diff([*starts, len(x)]), axis=0)
        covariance = (counts[:, None] * apart).T @ apart
        totals = totals + rng.multivariate_normal(np.zeros(2), covariance, resamples, method="eigh")
    mean = totals[:, 0] / n
    squares = np.maximum(totals[:, 1] - n * mean**2, 0)
    return centre + mean, np.sqrt(squares / max(n - 1, 1))


def _bins(counts: np.ndarray) -> np.ndarray:
    """First place of each bin: one bin a value, or, of very many, bins of about equal counts between the extremes."""
    size = len(counts)
    if size <= MOST_BINS:
        return np.arange(size)
    ends = np.concatenate([np.arange(SINGLE_AT_EACH_END), np.arange(size - SINGLE_AT_EACH_END, size)])
    middle = np.cumsum(counts)
    shares = np.linspace(0, middle[-1], MOST_BINS - 2 * SINGLE_AT_EACH_END)
    return np.unique(np.concatenate([[0], ends, np.clip(np.searchsorted(middle, shares), 0, size - 1)]))


def percentile_interval(resampled: np.ndarray) -> Interval:
    """The middle 95 % of a statistic's resamples."""
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


def average(intervals: Sequence[Interval]) -> Interval:
    """End points averaged over the m tables: our reading of the paper's Supp 3, which does not say how its are made."""
    low, high = np.mean(intervals, axis=0)
    return Interval(float(low), float(high))


@dataclass(frozen=True)
class Combined:
    """An estimate from m synthetic tables, its variance T, and the interval; no variance from a single draw."""

    estimate: float
    variance: float | None
    freedom: float | None
    interval: Interval | None


def combine(
    estimates: Sequence[float],
    variances: Sequence[float],
    rows: int | Sequence[int],
    n: int,
    draws: Sequence[int] | None = None,
    scalar: float | str | None = None,
) -> Combined:
    """Combine the estimates of m synthetic tables of `rows` rows each (or as many as listed), made from n records.

    T = W rows/n + B/m: what the n records leave open, W being the tables' own mean variance, and the scatter B between
    draws. Tables of one draw (`draws` says which table came from which) are averaged first. The reference distribution
    is Student's t; its degrees of freedom, (m - 1) (T / (B/m))^2, are those of B/m scaled by its part in T. From one
    draw B is not known: with the public `scalar` by which a mechanism tempers every record it is W rows/n / scalar + W
    over the draw's tables; without it there is no interval. Right under a scalar weight; no rule repairs the bias of
    vector weights.

    Where draws are spread by the noise that their middle is off by (`scalar` is "spread"), a table's estimate is off as
    the middle is, by noise and by sampling rows: T = V + B/m, V = B - W over a draw's tables + W rows/n, which is
    (1 + 1/m) B for tables of n rows.

    >>> combine([10, 12], [1, 3], rows=100, n=200).variance
    2.0
    """
    from scipy import stats

    q, number = np.asarray(estimates, np.float64), np.asarray(draws if draws is not None else range(len(estimates)))
    if not len(q) == len(variances) == len(number) or len(q) == 0:
        raise InputError("estimates, variances and draws must be as many, at least one, found other numbers of them")
    if not (scalar is None or scalar == SPREAD or (isinstance(scalar, float | int) and 0 < scalar <= 1)):
        raise InputError(f"scalar must be above 0 and at most 1, found {scalar!r}")
    of, tables = np.unique(number, return_inverse=True, return_counts=True)[1:]
    by_draw = np.bincount(of, q) / tables
    m, estimate = len(tables), float(by_draw.mean())
    sampling = float(np.mean(np.asarray(variances, np.float64) * rows)) / n
    if not np.isfinite(sampling):  # of a table of one row no variance is known
        return Combined(estimate, None, None, None)
    if m == 1:
        if scalar is None or isinstance(scalar, str):
            return Combined(estimate, None, None, None)
        between, freedom = sampling / scalar + float(np.mean(variances)) / len(q), np.inf
    else:
        between = float(by_draw.var(ddof=1))
        freedom = np.inf
    variance, uncertain = sampling + between / m, between / m
    if scalar == SPREAD:
        # W rows/n - W over a draw's tables, which of tables of n rows is 0 and nothing that rounding leaves.
        more = float(np.mean(np.asarray(variances, np.float64) * (np.asarray(rows) / n - m / len(q))))
        # No floor under the difference: B is as often too small as too large, and Student's t has room for both.
        variance, uncertain = max(between + more, 0.0) + between / m, (1 + 1 / m) * between
    if m > 1 and between > 0:
        freedom = (m - 1) * (variance / uncertain) ** 2
    reach = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * variance**0.5
    return Combined(estimate, variance, float(freedom), Interval(estimate - reach, estimate + reach))


def overlap(one: Interval, other: Interval) -> float:
    """How much two intervals share, on average of their lengths; 1 where equal, negative by the gap where apart.

    >>> overlap(Interval(0, 10), Interval(5, 10)), overlap(Interval(0, 1), Interval(2, 3))
    (0.75, -1.0)
    """
    shared = min(one.high, other.high) - max(one.low, other.low)
    lengths = [interval.high - interval.low for interval in (one, other)]
    # Of an interval that is a point, all or nothing lies in the other.
    parts = [shared / length if length > 0 else float(shared >= 0) for length in lengths]
    return sum(parts) / 2
