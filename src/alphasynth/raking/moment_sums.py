"""Exact sums of records' cut vectors without a vector for each: matrix products of features, in whole numbers.

Where no record is cut the sum of all products of two features is a matrix product. Floats hold it exactly: no entry of
any sum over a chunk reaches 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alphasynth.raking.features import Moments

# Records at a time; numbers in the vectors of those that are cut, at a time.
ROWS, NUMBERS = 16_384, 4_000_000


def exact_sums(moments: Moments, codes: Sequence[np.ndarray], weights: np.ndarray | None = None) -> np.ndarray:
    """Sums (D,) of the vectors of records whose columns lie in these cells; each counts as often as its weight says."""
    found = np.zeros(moments.size, np.int64)
    for first in range(0, len(codes[0]), ROWS):
        part = [column[first : first + ROWS] for column in codes]
        found += _sums(moments, part, None if weights is None else weights[first : first + ROWS])
    return found


def _sums(moments: Moments, codes: Sequence[np.ndarray], weights: np.ndarray | None) -> np.ndarray:
    features = moments.features(codes)
    cut = squares(moments, features) > float(moments.length) ** 2
    whole = features[:, ~cut]
    counted = whole if weights is None else whole * weights[~cut]
    sums = (counted @ whole.T)[moments.left, moments.right].astype(np.int64) * moments.scale
    rows, step = np.flatnonzero(cut), max(NUMBERS // moments.size, 1)
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        vectors = moments.vectors([column[some] for column in codes])
        sums += vectors.sum(axis=0) if weights is None else weights[some].astype(np.int64) @ vectors
    return sums


def squares(moments: Moments, features: np.ndarray) -> np.ndarray:
    """Squared lengths (rows,) of the vectors of records with these features (features, rows), before they are cut."""
    size = len(features)
    weight = np.zeros((size, size))
    weight[moments.left, moments.right] = moments.scale.astype(np.float64) ** 2
    square = features**2
    return np.einsum("ij,ij->j", weight @ square, square)
