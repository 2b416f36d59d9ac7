"""How far two tables differ by chance: differences in standard errors, as two samples of one population have them.

Two samples of n and of N rows differ by a standard error of sqrt(V/n + V/N), V/n being the sampling variance of one.
A bootstrap of the confidential table differs by less (it has no sampling error of the first kind), a posterior draw of
the right model by as much: so both are within chance, and what is not is off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from alphasynth.evaluation.values import Values

ROUNDING = 1e-9  # differences of this part of a number are of arithmetic


def in_errors(one: float, other: float, error: float) -> float:
    """The difference of two numbers in standard errors of it; infinite where there is a difference and no error.

    >>> in_errors(10.0, 13.0, 1.5), in_errors(5.0, 5.0, 0.0), in_errors(5.0, 6.0, 0.0)
    (2.0, 0.0, inf)
    """
    if not math.isfinite(one) or not math.isfinite(other) or math.isnan(error):
        return float("nan")
    if abs(one - other) <= ROUNDING * max(abs(one), abs(other)):
        return 0.0
    return abs(one - other) / error if error > 0 else float("inf")


def resampled_error(own: np.ndarray, n: int, others: np.ndarray, rows: Sequence[int]) -> float:
    """Standard error of the difference of a statistic, from its bootstrap resamples in each table.

    `own` are (resamples,) of a table of n rows, `others` (tables, resamples) of tables whose mean is the other number.
    """
    variances = [float(line.var(ddof=1)) * _wider(size) for line, size in zip((own, *others), (n, *rows), strict=True)]
    return math.sqrt(variances[0] + float(np.mean(variances[1:])) / len(rows))


def _wider(rows: int) -> float:
    """A resample scatters less than a sample."""
    return rows / (rows - 1) if rows > 1 else 1.0


def quantile_gap(share: float, value: float, others: Sequence[Values]) -> float:
    """By how much of their rows synthetic tables miss a quantile; 0 where it is theirs too.

    Shares of rows below it and up to it hold its own share between them. So a quantile that jumps from one count to the
    next is as far off as the rows are that make it jump.

    >>> quantile_gap(0.5, 3.0, [Values.of([1, 3, 3, 4])]), quantile_gap(0.5, 3.0, [Values.of([1, 2, 2, 3])])
    (0.0, 0.25)
    """
    point = np.array([value])
    below = float(np.mean([other.share_up_to(np.nextafter(point, -np.inf))[0] for other in others]))
    up_to = float(np.mean([other.share_up_to(point)[0] for other in others]))
    return max(below - share, share - up_to, 0.0)


def share_error(share: float, n: float, other: float, rows: float) -> float:
    """Standard error of the difference of two shares, of n and of `rows` rows, as if they were one.

    >>> round(share_error(0.5, 100, 0.5, 100), 4)
    0.0707
    """
    if not n or not rows:
        return float("nan")
    both = (share * n + other * rows) / (n + rows)
    return math.sqrt(max(both * (1 - both), 0.0) * (1 / n + 1 / rows))


def chi_square_in_errors(ratio: float, freedom: float) -> float:
    """A chi-square over its degrees of freedom as a normal deviate (Wilson and Hilferty): about 0 by chance.

    >>> round(chi_square_in_errors(1.0, 100), 2), round(chi_square_in_errors(3.841, 1), 1)
    (0.05, 1.7)
    """
    spread = 2 / (9 * freedom)
    return float((ratio ** (1 / 3) - (1 - spread)) / math.sqrt(spread))
