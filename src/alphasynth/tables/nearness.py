"""How many records lie within a radius of each, counted in one pass over the sorted values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from alphasynth.errors import InputError


def numbers_of(column: Any) -> tuple[np.ndarray, bool]:
    """A column as numbers, and whether they are codes of categories."""
    if hasattr(column, "codes"):
        return np.asarray(column.codes, np.float64), True
    if column.dtype.kind not in "iuf":
        return np.unique(column, return_inverse=True)[1].astype(np.float64), True
    return np.asarray(column, np.float64), False


def count_inside(y: np.ndarray, counts: np.ndarray, group: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """For each i the number of records j of its group with |y_j - y_i| <= radius_i, in O(n log n).

    Bisection by the very comparison |y_j - y_i| <= radius_i, which is monotone on either side of y_i in floating point
    too: a search for y_i - radius_i and y_i + radius_i would round differently.
    """
    order = np.lexsort((y, group))
    values, members = y[order], group[order]
    number = np.arange(len(y))
    first = np.searchsorted(members, members, "left")
    last = np.searchsorted(members, members, "right") - 1
    limit = radius[order]

    def farthest(end: np.ndarray) -> np.ndarray:
        """Position of the record farthest towards `end` that is inside, by bisection between it and oneself."""
        inside, outside = number.copy(), end + np.sign(end - number)
        while (np.abs(outside - inside) > 1).any():
            middle = inside + np.sign(outside - inside) * (np.abs(outside - inside) // 2)
            hit = np.abs(values[middle] - values) <= limit
            inside, outside = np.where(hit, middle, inside), np.where(hit, outside, middle)
        return inside

    before = np.concatenate([[0], np.cumsum(counts[order])])
    result = np.empty(len(y), np.int64)
    result[order] = before[farthest(last) + 1] - before[farthest(first)]
    return result


# More distinct rows than this take minutes to compare two by two.
MOST_COMPARED, AT_A_TIME = 40_000, 256


def count_inside_all(
    columns: Sequence[np.ndarray], counts: np.ndarray, group: np.ndarray, radii: Sequence[np.ndarray]
) -> np.ndarray:
    """Records of the same group within the radius of each distinct row in every column (a box), itself included."""
    return _compare_all(counts, group, lambda rows: _in_boxes(columns, radii, rows))


def _in_boxes(columns: Sequence[np.ndarray], radii: Sequence[np.ndarray], rows: slice) -> np.ndarray:
    inside = np.ones((len(columns[0][rows]), len(columns[0])), bool)
    for y, radius in zip(columns, radii, strict=True):
        inside &= np.abs(y[None, :] - y[rows, None]) <= radius[rows, None]
    return inside


def count_near(
    columns: Sequence[tuple[np.ndarray, bool]], counts: np.ndarray, group: np.ndarray, radius: float
) -> np.ndarray:
    """Records of the same group within a Gower distance of each distinct row, itself included.

    Columns come with whether they hold codes of categories; those that do not vary count for nothing.
    """

    def near(rows: slice) -> np.ndarray:
        distance = np.zeros((len(counts[rows]), len(counts)))
        for y, is_category in columns:
            apart = np.abs(y[None, :] - y[rows, None])
            distance += (apart > 0) if is_category else apart / (np.ptp(y) or 1.0)
        return distance / len(columns) <= radius * (1 + 1e-12)

    return _compare_all(counts, group, near)


def _compare_all(counts: np.ndarray, group: np.ndarray, inside: Callable[[slice], np.ndarray]) -> np.ndarray:
    if len(counts) > MOST_COMPARED:
        raise InputError(
            f"count weights of several columns compare every two distinct rows, of which there must be at most "
            f"{MOST_COMPARED:,}, found more; use LW or BW, or weights per column"
        )
    found = np.empty(len(counts), np.int64)
    for first in range(0, len(counts), AT_A_TIME):
        rows = slice(first, min(first + AT_A_TIME, len(counts)))
        found[rows] = (inside(rows) & (group[rows, None] == group[None, :])) @ counts
    return found
