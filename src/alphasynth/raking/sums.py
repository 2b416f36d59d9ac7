"""`Confidential` gives away noisy sums and private choices, and nothing else; `Noisy` is what passes to the public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from alphasynth.privacy.randomness import Stream
from alphasynth.privacy.spending import Sensitivity, Spending
from alphasynth.raking.features import Moments


@dataclass(frozen=True, eq=False)
class Margin:
    """A table of counts: its columns by number, and for each of them the table's cell (fine cells,) of a fine one."""

    columns: tuple[int, ...]
    cells: tuple[np.ndarray, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each column."""
        return tuple(int(cells.max()) + 1 for cells in self.cells)

    @property
    def size(self) -> int:
        """Cells in all."""
        return int(np.prod(self.shape))

    def place(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """The cell (rows,) of each row, given the fine cells (rows,) of all columns."""
        at = [cells[codes[column]] for column, cells in zip(self.columns, self.cells, strict=True)]
        return np.ravel_multi_index(at, self.shape)


@dataclass(frozen=True, eq=False)
class Noisy:
    """Sums with noise of a known variance: public."""

    sums: np.ndarray = field(repr=False)
    variance: float


@dataclass(frozen=True, eq=False)
class Confidential:
    """The fine cells (n,) of each column of a confidential table, and how many rows a unit of privacy may have."""

    _codes: tuple[np.ndarray, ...] = field(repr=False)
    _stream: Stream = field(repr=False)
    _spending: Spending
    n: int
    rows_of_unit: int = 1
    _counted: dict[Margin, np.ndarray] = field(default_factory=dict, repr=False)

    def counts(self, margins: Sequence[Margin], name: str, part: Fraction) -> list[Noisy]:
        """Noisy counts of several tables together, for a part of the budget."""
        exact = [self._exact(margin) for margin in margins]
        moves = Sensitivity.of_counts(len(margins), self.rows_of_unit)
        sums, variance = self._spending.noisy(self._stream, np.concatenate(exact), moves, name, part)
        ends = np.cumsum([margin.size for margin in margins])[:-1]
        return [Noisy(each.astype(float), variance) for each in np.split(sums, ends)]

    def worst(self, margins: Sequence[Margin], fitted: Sequence[np.ndarray], name: str, part: Fraction) -> int:
        """Which of several tables a fit is far from, beyond what sampling alone does: a private choice.

        Far is the sum of absolute differences, which one row moves by 1.
        """
        scores = [
            int(np.abs(self._exact(margin) - np.rint(fit)).sum()) - int(np.sqrt(np.maximum(fit, 0.0) * 2 / np.pi).sum())
            for margin, fit in zip(margins, fitted, strict=True)
        ]
        return self._spending.choose(self._stream, np.array(scores), self.rows_of_unit, name, part)

    def moments(self, moments: Moments, name: str, part: Fraction) -> Noisy:
        """Noisy sums (D,) of records' cut vectors."""
        exact = np.zeros(moments.size, np.int64)
        for vectors in moments.chunks(self._codes):
            exact += vectors.sum(axis=0)
        moves = self._moves(moments.length, moments.size)
        sums, variance = self._spending.noisy(self._stream, exact, moves, name, part)
        return Noisy(sums.astype(float), variance)

    def deviation(self, length: int, size: int, part: Fraction) -> float:
        """The deviation of the noise that so many sums of vectors of this length would have: public numbers alone."""
        return math.sqrt(self._spending.variance(self._moves(length, size), part))

    def _moves(self, length: int, size: int) -> Sensitivity:
        """How far a unit moves sums of vectors; absolute values of one's entries add up to at most length sqrt(D)."""
        whole = self.rows_of_unit * length
        return Sensitivity(whole**2, math.isqrt(whole**2 * size) + 1)

    def _exact(self, margin: Margin) -> np.ndarray:
        """Counts as they are, counted once."""
        if margin not in self._counted:
            self._counted[margin] = np.bincount(margin.place(self._codes), minlength=margin.size)
        return self._counted[margin]
