"""What is compared: a statistic, a pair, a coefficient, a share, in the confidential table and in synthetic ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from alphasynth.evaluation.associations import Pair
from alphasynth.evaluation.chance import in_errors
from alphasynth.evaluation.intervals import (
    RESAMPLES,
    Combined,
    Interval,
    average,
    combine,
    overlap,
    percentile_interval,
    resample,
)
from alphasynth.evaluation.values import Statistic, Values


@dataclass(frozen=True, eq=False)
class Estimates:
    """A statistic of one column in m synthetic tables.

    `averaged` is the averaged interval, `combined` the one that counts the scatter between draws. `resampled` holds the
    statistic's bootstrap resamples, (tables, resamples).
    """

    column: str
    statistic: Statistic
    averaged: Interval
    combined: Combined
    resampled: np.ndarray = field(repr=False)

    @property
    def error(self) -> float:
        """Standard error of the estimate: that of its interval, or where one draw has none, of sampling rows."""
        variance = self.combined.variance
        return variance**0.5 if variance else float(self.resampled.std(axis=1).mean())


def estimates(
    rng: np.random.Generator,
    column: str,
    wanted: Sequence[Statistic],
    tables: Sequence[Values],
    n: int,
    draws: Sequence[int] | None = None,
    scalar: float | str | None = None,
    sizes: Sequence[int] | None = None,
    resamples: int = RESAMPLES,
) -> list[Estimates]:
    """Statistics of a synthetic column with both intervals; n is the confidential table's number of rows.

    `sizes` are those of the synthetic tables where the column has gaps, which are no values of it.
    """
    resampled = np.stack([resample(rng, table, wanted, resamples) for table in tables])
    rows = np.array([table.n for table in tables])
    wider = np.where(rows > 1, rows / np.maximum(rows - 1, 1), np.nan)  # a resample scatters less than a sample
    least = min(float(table.values[0]) for table in tables)
    found = []
    for i, statistic in enumerate(wanted):
        lines = resampled[:, i]
        points, variances = [statistic.of(table) for table in tables], (lines.var(axis=1, ddof=1) * wider).tolist()
        averaged = average([percentile_interval(line) for line in lines])
        combined = combine(points, variances, rows.tolist() if sizes is None else sizes, n, draws, scalar)
        if combined.interval is not None and least >= 0:  # no statistic of such a column is below 0
            combined = replace(combined, interval=Interval(max(combined.interval.low, 0.0), combined.interval.high))
        found.append(Estimates(column, statistic, averaged, combined, lines))
    return found


@dataclass(frozen=True, eq=False)
class Comparison:
    """A statistic in the confidential table (confidential) and in the synthetic ones.

    `apart` is their difference in standard errors of it, and `size` how large it is: of a mean or a standard deviation
    in standard deviations of the column, of a quantile in shares of rows. With `day` it is a day's number.
    """

    value: float
    interval: Interval
    synthetic: Estimates
    resampled: np.ndarray = field(repr=False)
    apart: float = float("nan")
    size: float = float("nan")
    day: bool = False

    @property
    def error(self) -> float:
        """Standard error of the confidential value."""
        return float(self.resampled.std(ddof=1))

    @property
    def difference_error(self) -> float:
        """About the standard error of their difference."""
        return math.hypot(self.error, self.synthetic.error)

    @property
    def overlap_averaged(self) -> float:
        """Overlap of the confidential interval with the averaged one."""
        return overlap(self.interval, self.synthetic.averaged)

    @property
    def overlap_combined(self) -> float | None:
        """Overlap of the confidential interval with the combined one."""
        interval = self.synthetic.combined.interval
        return None if interval is None else overlap(self.interval, interval)


@dataclass(frozen=True)
class Associated:
    """A pair's association in the confidential table, and in the synthetic ones: mean and range.

    `error` is the standard error of their difference, `apart` the difference in it.
    """

    pair: Pair
    confidential: float
    synthetic: float
    lowest: float
    highest: float
    error: float = float("nan")
    apart: float = float("nan")


@dataclass(frozen=True)
class Coefficient:
    """A regression coefficient in the confidential table, and from the synthetic ones.

    `between` is the standard error of their difference.
    """

    regression: str
    kind: str
    term: str
    value: float
    error: float
    synthetic: Combined
    between: float = float("nan")

    @property
    def apart(self) -> float:
        """Distance of the two in standard errors of their difference."""
        return in_errors(self.value, self.synthetic.estimate, self.between)


@dataclass(frozen=True)
class Share:
    """The share of rows at one level of a column, in the confidential table and in the synthetic ones (mean).

    `error` is the standard error of their difference, `interval` the combined one of the synthetic share.
    """

    column: str
    level: str
    confidential: float
    synthetic: float
    error: float = float("nan")
    interval: Interval | None = None

    @property
    def apart(self) -> float:
        """Distance of the two in standard errors of their difference."""
        return in_errors(self.confidential, self.synthetic, self.error)


@dataclass(frozen=True)
class Weighted:
    """A statistic weighted by a column of survey weights: in the confidential table, and in the synthetic ones."""

    column: str
    statistic: str
    confidential: float
    synthetic: float
