"""Low-order features of columns, and moments of all pairs: whole numbers, a record's vector cut to a public length.

Features are made from private distributions of single columns, which makes them public: polynomials of a number that
are orthonormal under its distribution, contrasts of levels, an indicator of gaps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from alphasynth.raking.cells import Cells

# Features are multiples of 1 / SCALE, and no further from 0 than FARTHEST.
SCALE, FARTHEST = 16, 8.0
# Levels with a contrast of their own, at the most: the most frequent ones.
CONTRASTS = 6
# Powers of a number that are measured at least, if not in pairs: its sd is what pairs need first.
ALONE = 2
# What is left of a feature without those before it, below which it says nothing new.
NOTHING_NEW = 1e-3
CHUNK = 8_192


@dataclass(frozen=True, eq=False)
class Features:
    """Features (features, cells) of a column, in whole numbers; the first `in_pairs` are multiplied by others'."""

    table: np.ndarray = field(repr=False)
    in_pairs: int


def features_of(cells: Cells, share: np.ndarray, degree: int, contrasts: int = CONTRASTS) -> Features:
    """Features of a column whose cells have these shares, up to a degree in pairs: multiples of 1 / SCALE.

    A skewed number's logarithm has them, and so has the number itself, up to its square, which decides its sd.
    """
    candidates = [np.ones(cells.size)]
    if cells.gap:
        candidates.append((np.arange(cells.size) == cells.size - 1).astype(float))
    alone: list[np.ndarray] = []
    if cells.nominal:
        frequent = np.argsort(-share[: cells.size - cells.gap], kind="stable")[:contrasts]
        candidates += [(np.arange(cells.size) == level).astype(float) for level in frequent]
    else:
        value = np.append(cells.value, np.zeros(int(cells.gap)))
        there = np.arange(cells.size) < len(cells.value)
        spread = np.ptp(cells.value) or 1.0
        powers = [np.where(there, (value / spread) ** power, 0.0) for power in range(1, max(degree, ALONE) + 1)]
        candidates, alone = candidates + powers[:degree], powers[degree:]
    in_pairs = len(_orthonormal(candidates, share))
    if cells.unit is not None:
        middle = np.append((cells.lower + cells.upper) / 2 - cells.lower[0], np.zeros(int(cells.gap)))
        alone += [(middle / middle.max()) ** power for power in (1, 2)]
    candidates += alone
    found = np.clip(_orthonormal(candidates, share), -FARTHEST, FARTHEST)
    return Features(np.rint(found * SCALE).astype(np.int64), in_pairs)


def _orthonormal(candidates: Sequence[np.ndarray], share: np.ndarray) -> np.ndarray:
    """Functions (functions, cells) of mean 0, variance 1 and no correlation; the first candidate is constant."""
    made: list[np.ndarray] = []
    for candidate in candidates:
        size = math.sqrt(share @ candidate**2)
        left = candidate
        for _ in range(2):  # twice is enough
            for each in made:
                left = left - (share @ (left * each)) * each
        length = math.sqrt(share @ left**2)
        if size > 0 and length > NOTHING_NEW * size:
            made.append(left / length)
    return np.array(made[1:]).reshape(len(made) - 1, len(share))


def _number(tables: Sequence[np.ndarray]) -> list[int]:
    """The number of each feature within its column."""
    return [number for table in tables for number in range(len(table))]


@dataclass(frozen=True, eq=False)
class Moments:
    """Features of all columns, and of all pairs of columns their products; a record's vector has a length of `length`.

    `tables` has the features (features, cells) of each column, `left` and `right` (D,) those that are multiplied, by
    their number in a row of all; a feature alone is multiplied by one. `scale` (D,) weighs entries: what has more is
    measured better. All are whole numbers.
    """

    tables: tuple[np.ndarray, ...] = field(repr=False)
    left: np.ndarray = field(repr=False)
    right: np.ndarray = field(repr=False)
    scale: np.ndarray = field(repr=False)
    length: int

    @classmethod
    def of(cls, columns: Sequence[Features], important: Sequence[int] = (), length: int = 1 << 40) -> Moments:
        """Moments of all pairs; those of `important` columns are measured twice as well."""
        tables = [column.table for column in columns]
        owner = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        paired = [i for i, j in enumerate(_number(tables)) if j < columns[owner[i]].in_pairs]
        pairs = [(i, j) for i, j in itertools.combinations(paired, 2) if owner[i] != owner[j]]
        alone = [(i, len(owner)) for i in range(len(owner))] or [(0, 0)]  # without any, one: how many rows there are
        left, right = np.array(pairs + alone, np.int64).reshape(-1, 2).T
        matters = np.isin(np.append(owner, -1), list(important))
        scale = np.where(matters[left] | matters[right] | (len(important) == 0), 2, 1)
        return cls(tuple(tables), left, right, scale, length)

    @property
    def size(self) -> int:
        """How many moments there are."""
        return len(self.left)

    @property
    def alone(self) -> np.ndarray:
        """Which moments (D,) are of one column."""
        return self.right == sum(len(table) for table in self.tables)

    def uncut(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Vectors (rows, D) of records whose columns lie in these cells, in whole numbers."""
        features = [table[:, column] for table, column in zip(self.tables, codes, strict=True)]
        rows = np.concatenate([*features, np.full((1, len(codes[0])), SCALE)]).T
        return rows[:, self.left] * rows[:, self.right] * self.scale

    def vectors(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Vectors (rows, D) cut to the public length: whole numbers, none longer."""
        whole = self.uncut(codes)
        square = (whole**2).sum(axis=1)
        factor = np.minimum(1.0, self.length / np.sqrt(np.maximum(square, 1))) * (1 - 2.0**-40)
        cut = np.where((square > self.length**2)[:, None], np.trunc(whole * factor[:, None]).astype(np.int64), whole)
        assert ((cut**2).sum(axis=1) <= self.length**2).all(), "no record's vector is longer than the public length"
        return cut

    def chunks(self, codes: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """Vectors of so many records at a time."""
        for first in range(0, len(codes[0]), CHUNK):
            yield self.vectors([column[first : first + CHUNK] for column in codes])

    def lengths(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Lengths (rows,) of records' vectors before they are cut."""
        parts = [
            np.sqrt((self.uncut([c[first : first + CHUNK] for c in codes]) ** 2).sum(axis=1))
            for first in range(0, len(codes[0]), CHUNK)
        ]
        return np.concatenate(parts)
