"""What might be declared of a column of numbers: levels, or limits that are round, heaps and decimals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from alphasynth.suggestions.ends import TIMES_USUAL
from alphasynth.tables.declared import Declared
from alphasynth.tables.limits import as_floats, away_from_zero, fewest_decimals, last_bit_of, outward

LARGEST_WHOLE = 2**53  # larger ones are not told apart as 64-bit floats, in which all numbers are looked at
# Whole numbers and others with at most this many values are levels.
FEW_WHOLE, FEW_OTHERS = 20, 64
# A number is skewed where its mean lies within this part of its limits, from the lower one on.
NEAR_LOWER = 0.2
# Numbers are heaped that at least this part of the records have, and many times as many as the median number: of all,
# and of so many on each side, among which a run of small counts does not stand out.
HEAPED, BESIDE = 0.02, 3
# Limits beyond the ends of a column.
Outside = Callable[[float, float], tuple[float, float]]


def with_decimals(found: Declared, values: pa.ChunkedArray) -> Declared:
    """With the digits that numbers within limits have after the point, where these are few."""
    if found.limits is None or found.whole:
        return found
    decimals = fewest_decimals(np.asarray(as_floats(values)), last_bit_of(values.type))
    facts = replace(found, decimals=decimals or None)
    return replace(facts, heaps=tuple(facts.rounded(np.array(found.heaps)).tolist()))


def numbers(values: np.ndarray, counts: np.ndarray) -> Declared | str:
    """Levels of numbers with few values; else limits, and whether most are near the lower one."""
    if not np.isfinite(values).all():
        return "it has infinite values"
    whole = bool((values == np.floor(values)).all() and np.abs(values).max() <= LARGEST_WHOLE)
    if whole and len(values) == counts.sum() > 20 and np.ptp(values) == len(values) - 1:
        return "every value differs and none is left out: a row number?"
    if len(values) <= (FEW_WHOLE if whole else FEW_OTHERS):
        if np.abs(values).max() >= LARGEST_WHOLE:
            return (
                f"it has few numbers, of {LARGEST_WHOLE:,} and more, which floats do not tell apart: make text of them"
            )
        return Declared(levels=tuple(int(v) if whole else v for v in sorted(values.tolist())))
    many = counts >= max(HEAPED * counts.sum(), TIMES_USUAL * float(np.median(counts)))
    ends = set(values[many].tolist())
    limits = _limits(values, ends, outward)
    share = (np.average(values, weights=counts) - limits[0]) / (limits[1] - limits[0])
    heaps = tuple(sorted(values[many & _stands_out(values, counts) & (values != 0)].tolist()))
    skewed = bool(share < NEAR_LOWER)
    limits = limits if skewed else _limits(values, ends, away_from_zero)  # a skewed one may well have zeros
    return Declared(limits=limits, whole=whole, skewed=skewed, heaps=heaps)


def _limits(values: np.ndarray, heaps: set[float], outside: Outside) -> tuple[float, float]:
    """Coarse limits beyond a column's own; an end that many records have, as of shares or top codes, is one already."""
    low, high = float(values.min()), float(values.max())
    below, above = outside(low, high)
    return (low if low in heaps else below, high if high in heaps else above)


def _stands_out(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Which numbers have many times as many records as those beside them.

    >>> counts = np.array([9, 50, 60, 40, 30, 20, 12, 8, 5, 3, 40, 2, 1])
    >>> np.flatnonzero(_stands_out(np.arange(13), counts)).tolist()
    [10]
    """
    order = np.argsort(values)
    sides = np.pad(counts[order].astype(float), BESIDE, constant_values=np.nan)
    around = np.lib.stride_tricks.sliding_window_view(sides, 2 * BESIDE + 1)
    found = np.empty(len(values), bool)
    found[order] = counts[order] >= TIMES_USUAL * np.nanmedian(around, axis=1)
    return found
