"""How many records lie within a radius of each, counted in one pass over the sorted values."""

from __future__ import annotations

import numpy as np


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
