"""`Confidential` gives away noisy sums and private choices, and nothing else; `Noisy` is what passes to the public."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from alphasynth.errors import StrictWarning
from alphasynth.privacy.randomness import Stream
from alphasynth.privacy.spending import Sensitivity, Spending
from alphasynth.raking.features import Moments

# What a fit's counts, of which differences are taken, may add up to: 64 bits hold any sum of these and of a table's.
MOST = 2.0**60
# A mean weight of fewer deviations of its noise is hidden by that.
HIDDEN = 3.0
LIGHT = (
    f"the mean weight must be well above its noise, found it within {HIDDEN:g} deviations of 0: tables are mostly "
    "noise; declare a largest weight that is nearer to usual ones, or a larger epsilon"
)


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


class Exact(Protocol):
    """Exact sums over the records of a confidential table, in whole numbers, wherever the table is (confidential).

    A record counts once, or as often as its weight says.
    """

    @property
    def n(self) -> int:
        """How many records there are."""
        ...

    @property
    def weights(self) -> tuple[int, int]:
        """How often they count, all together, and the sum of the weights' squares."""
        ...

    def counts(self, margins: Sequence[Margin]) -> list[np.ndarray]:
        """Counts (cells,) of each table."""
        ...

    def moments(self, moments: Moments) -> np.ndarray:
        """Sums (D,) of records' cut vectors."""
        ...


@dataclass(frozen=True)
class Weights:
    """No record has a weight above `largest`; `part` of the budget tells what weights and their squares sum to.

    Squares are on the same scale, that of the largest being `largest`.
    """

    largest: int
    part: Fraction


@dataclass(frozen=True, eq=False)
class Confidential:
    """A confidential table, of which nothing but noisy sums comes out; how many rows a unit of privacy may have.

    With weights a record counts as often as its weight says, and everything is told per row: `each` is what a row
    weighs on average, a noisy number, `unsure` the variance of the number of rows that it makes, and `squares` the
    noisy sum of the weights' squares.
    """

    _exact: Exact = field(repr=False)
    _stream: Stream = field(repr=False)
    _spending: Spending
    n: int
    rows_of_unit: int = 1
    _weights: Weights | None = field(default=None, repr=False)
    each: float = 1.0
    unsure: float = 0.0
    squares: float = 0.0
    _scored: dict[Margin, tuple[np.ndarray, int]] = field(default_factory=dict, repr=False)

    def weighed(self, weights: Weights) -> Confidential:
        """With weights, once it was measured what they sum to."""
        exact, moves = np.array(self._exact.weights), Sensitivity.of_counts(2, self.rows_of_unit * weights.largest)
        sums, variance = self._spending.noisy(self._stream, exact, moves, "weights", weights.part)
        each = max(float(sums[0]), 1.0) / self.n
        made = replace(self, _weights=weights, each=each, squares=float(sums[1]), _scored={})
        return replace(made, unsure=variance / each**2)

    def told(self, rows: Sequence[Noisy]) -> Confidential:
        """The same, where noisy numbers of all rows tell what one weighs on average better than was known."""
        if self._weights is None:
            return self
        known = [Noisy(np.array([float(self.n)]), self.unsure), *rows]
        precision = sum(1 / each.variance for each in known)
        number = sum(float(each.sums[0]) / each.variance for each in known) / precision
        if number * math.sqrt(precision) < HIDDEN:
            warnings.warn(LIGHT, StrictWarning, stacklevel=2)
        part = max(number, 1.0) / self.n
        return replace(self, each=self.each * part, unsure=1 / precision / part**2, _scored={})

    @property
    def design_effect(self) -> float:
        """How many times its variance weights make an estimate's, about: 1 without, and no more than they can."""
        if self._weights is None:
            return 1.0
        mean = self.each / self._weights.largest
        found = self.squares / self._weights.largest / (self.n * mean**2)
        return min(max(found, 1.0), max(1 / mean, 1.0))

    @property
    def most(self) -> int:
        """How much a unit counts at the most."""
        return self.rows_of_unit * (1 if self._weights is None else self._weights.largest)

    def _part(self, part: Fraction) -> Fraction:
        """A part of what is left of the budget when weights have had theirs."""
        return part if self._weights is None else part * (1 - self._weights.part)

    def counts(self, margins: Sequence[Margin], name: str, part: Fraction) -> list[Noisy]:
        """Noisy counts of several tables together, for a part of the budget."""
        exact = self._exact.counts(margins)
        moves = Sensitivity.of_counts(len(margins), self.most)
        sums, variance = self._spending.noisy(self._stream, np.concatenate(exact), moves, name, self._part(part))
        ends = np.cumsum([margin.size for margin in margins])[:-1]
        return [self._told(each, variance) for each in np.split(sums, ends)]

    def worst(self, margins: Sequence[Margin], fitted: Sequence[np.ndarray], name: str, part: Fraction) -> int:
        """Which of several tables a fit is far from, beyond what sampling alone does: a private choice.

        Far is the sum of absolute differences, which one row moves by 1, or by its weight.
        """
        exact = self._exact.counts(margins)
        scores = [self._far(*each) for each in zip(margins, exact, fitted, strict=True)]
        return self._spending.choose(self._stream, np.array(scores), self.most, name, self._part(part))

    def _far(self, margin: Margin, exact: np.ndarray, fitted: np.ndarray) -> int:
        """Differences in whole numbers: a float that had to be rounded could move by more than a row's weight.

        They are taken once of each fit: a choice among the same tables again costs nothing.
        """
        known = self._scored.get(margin)
        if known is None or known[0] is not fitted:
            fit = np.clip(np.nan_to_num(fitted), 0.0, MOST / len(fitted) / self.each)
            apart = int(np.abs(exact - np.rint(fit * self.each).astype(np.int64)).sum())
            known = fitted, apart - int(np.sqrt(fit * 2 / np.pi).sum() * self.each)
            self._scored[margin] = known
        return known[1]

    def moments(self, moments: Moments, name: str, part: Fraction) -> Noisy:
        """Noisy sums (D,) of records' cut vectors."""
        exact = self._exact.moments(moments)
        moves = self._moves(moments.length, moments.size)
        sums, variance = self._spending.noisy(self._stream, exact, moves, name, self._part(part))
        return self._told(sums, variance)

    def deviation(self, length: int, size: int, part: Fraction) -> float:
        """The deviation of the noise that so many sums of vectors of this length would have: public numbers alone."""
        return math.sqrt(self._spending.variance(self._moves(length, size), self._part(part))) / self.each

    def _moves(self, length: int, size: int) -> Sensitivity:
        """How far a unit moves sums of vectors; absolute values of one's entries add up to at most length sqrt(D)."""
        whole = self.most * length
        return Sensitivity(whole**2, math.isqrt(whole**2 * size) + 1)

    def _told(self, sums: np.ndarray, variance: float) -> Noisy:
        """Sums that were measured, per row."""
        return Noisy(sums / self.each, variance / self.each**2)
