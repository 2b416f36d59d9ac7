"""`Cells`: how a declared column is cut, from public facts alone: fine cells, and blocks of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from alphasynth.errors import InputError, gathering
from alphasynth.tables.declared import Declared
from alphasynth.tables.limits import of_steps, steps_within

# Numbers are cut into so many blocks at the most, each of so many fine cells.
BLOCKS, INSIDE = 32, 8
# Whole numbers within limits that are at most so far apart are told one by one.
ONE_BY_ONE = 255
# A skewed column is even in log(1 + x / unit), counted from its lower limit; the unit is so small a part of its range.
UNIT = 1_000.0


@dataclass(frozen=True, eq=False)
class Cells:
    """Fine cells of a column, in order, and the block (cells,) of each; the last one holds its gaps, if it has any.

    A cell of numbers goes from `lower` to `upper`, both (numbers,); a cell of levels is a level, and those of text have
    no number. With a `unit` cells are even in log(1 + x / unit). Blocks that are `apart` hold one number each, which
    many records may have: zero, and what is declared to be heaped. Numbers that are drawn have at most so many
    `decimals`. Numbers that are `coded` are levels without an order, as text is.
    """

    name: str
    block: np.ndarray = field(repr=False)
    lower: np.ndarray = field(repr=False)
    upper: np.ndarray = field(repr=False)
    levels: tuple[object, ...] = ()
    gap: bool = False
    whole: bool = False
    unit: float | None = None
    apart: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    decimals: int | None = None
    coded: bool = False

    @classmethod
    def of(cls, name: str, declared: Declared, skewed: bool = False) -> Cells:
        """Cells of a column, from what was declared of it; raise `InputError` where that is too little.

        Those of a `skewed` column are narrow near its lower limit.
        """
        if declared.levels:
            return cls._of_levels(name, declared)
        if declared.limits is None:
            raise InputError(f"column {name!r} must have levels or limits declared, found neither")
        return cls._of_numbers(name, declared, skewed)

    @classmethod
    def _of_levels(cls, name: str, declared: Declared) -> Cells:
        text = isinstance(declared.levels[0], str)
        levels = declared.levels if text else tuple(sorted(declared.levels))
        numbers = np.zeros(0) if text else np.asarray(levels, float)
        gap = declared.missing == "model"
        return cls(name, np.arange(len(levels) + gap), numbers, numbers, levels, gap, coded=declared.nominal)

    @classmethod
    def _of_numbers(cls, name: str, declared: Declared, skewed: bool) -> Cells:
        assert declared.limits is not None
        low, high = declared.limits
        unit = (high - low) / UNIT if skewed else None
        if declared.whole:
            low, high = math.ceil(low), math.floor(high)
            if high - low <= ONE_BY_ONE:
                each = np.arange(low, high + 1, dtype=float)
                even = np.log1p(each - low) if skewed else each - low
                blocks = np.unique(np.floor(even / (even[-1] or 1.0) * (BLOCKS - 1)), return_inverse=True)[1]
                return cls._of_cut(name, declared, _Cut(each, each, blocks), 1.0 if skewed else None)
        if low == high:
            return cls._of_cut(name, declared, _Cut(np.array([low]), np.array([high]), np.zeros(1, int)), None)
        even = np.linspace(0.0, math.log1p((high - low) / unit) if unit else high - low, BLOCKS * INSIDE + 1)
        edges = low + (np.expm1(even) * unit if unit else even)
        edges[-1] = high
        if not declared.whole:
            blocks = np.repeat(np.arange(BLOCKS), INSIDE)
            return cls._of_cut(name, declared, _Cut(edges[:-1], edges[1:], blocks), unit)
        edges = np.unique(np.append(np.ceil(edges[:-1]), high + 1.0))
        blocks = np.arange(len(edges) - 1) * BLOCKS // (len(edges) - 1)
        return cls._of_cut(name, declared, _Cut(edges[:-1], edges[1:] - 1, blocks), unit)

    @classmethod
    def _of_cut(cls, name: str, declared: Declared, cut: _Cut, unit: float | None) -> Cells:
        """With zero, and what is declared to be heaped, apart."""
        cut = cut.apart((0.0, *declared.heaps), declared.whole)
        points = np.isin(cut.lower, (0.0, *declared.heaps)) & (cut.lower == cut.upper)
        gap = declared.missing == "model"
        block = np.append(cut.block, cut.block[-1] + 1) if gap else cut.block
        apart = np.unique(cut.block[points])
        return cls(name, block, cut.lower, cut.upper, (), gap, declared.whole, unit, apart, declared.decimals)

    @property
    def size(self) -> int:
        """How many fine cells there are."""
        return len(self.block)

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return int(self.block[-1]) + 1

    @property
    def text(self) -> bool:
        """Whether its cells are levels without a number."""
        return len(self.lower) == 0

    @property
    def nominal(self) -> bool:
        """Whether its cells are levels without an order: text, and numbers that are codes."""
        return self.text or self.coded

    @property
    def value(self) -> np.ndarray:
        """The number that each cell but the gaps' stands for, on the scale on which cells are even."""
        middle = (self.lower + self.upper) / 2
        return np.log1p((middle - self.lower[0]) / self.unit) if self.unit is not None else middle

    @property
    def fine_widths(self) -> np.ndarray:
        """Widths (numbers,) of cells, on the scale on which they are even; of zero's and heaps' next to nothing."""
        if self.levels:
            return np.ones(len(self.lower) or len(self.levels))
        ends = self.upper + self.whole - self.lower[0]
        return np.diff(np.log1p(ends / self.unit) if self.unit is not None else ends, prepend=0.0)

    @property
    def widths(self) -> np.ndarray:
        """Widths (blocks of numbers,) of blocks, on the same scale."""
        return np.bincount(self.block[: len(self.block) - self.gap], self.fine_widths)

    def codes(self, values: np.ndarray, gone: np.ndarray) -> np.ndarray:
        """The cell (n,) of each value; those that are `gone` (n,) lie in the gaps'. Raise `InputError`.

        Values are numbers, or of levels the places among them.
        """
        with gathering() as problems:
            if gone.any() and not self.gap:
                problems.say(f"column {self.name!r} must have no gaps, or missing = 'model' declared, found gaps")
            if self.levels:
                place = values if self.text else np.searchsorted(self.lower, values)
                if not self.text and (self.lower[np.clip(place, 0, len(self.lower) - 1)] != values)[~gone].any():
                    problems.say(f"column {self.name!r} must hold its declared levels and no others, found others")
            else:
                place = np.searchsorted(self.lower, values, side="right") - 1
                within = (values >= self.lower[0]) & (values <= self.upper[-1])
                if not within[~gone].all():
                    problems.say(f"column {self.name!r} must lie within its declared limits, found values beyond")
        return np.where(gone, self.size - 1, np.clip(place, 0, self.size - 1 - self.gap)).astype(np.int64)

    def draw(self, rng: np.random.Generator, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A value (n,) within each of these cells, a place among the levels where they are text; and which are gaps."""
        gone = (codes == self.size - 1) & self.gap
        inside = np.where(gone, 0, codes)
        if self.text:
            return inside, gone
        low, high = self.lower[inside], self.upper[inside]
        if self.levels or (low == high).all():
            return low, gone
        share = rng.random(len(codes))
        if self.whole:
            return np.floor(low + share * (high - low + 1)), gone
        if self.decimals is not None:
            return self._of_decimals(inside, share, self.decimals), gone
        return self._between(low, high, share), gone

    def _between(self, low: np.ndarray, high: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The numbers that lie so far from `low` to `high`, on the scale on which cells are even."""
        if self.unit is None:
            return low + share * (high - low)
        start = self.lower[0] - self.unit
        return start + (low - start) * ((high - start) / (low - start)) ** share

    def _of_decimals(self, inside: np.ndarray, share: np.ndarray, decimals: int) -> np.ndarray:
        """A number of so many decimals in each of these cells; where a cell has none, the nearest one within limits."""
        first, last = steps_within(self.lower, self.upper, decimals)
        shared = np.append(self.upper[:-1] == self.lower[1:], False)  # the next cell begins there, and holds that
        last = np.where(shared & (of_steps(last, decimals) == self.upper), last - 1, last)
        nearest = np.rint((self.lower + self.upper) / 2 * 10.0**decimals)
        nearest, none = np.clip(nearest, first[0], last[-1]), first > last
        first, last = np.where(none, nearest, first)[inside], np.where(none, nearest, last)[inside]
        ends = of_steps(first, decimals), of_steps(last + 1, decimals)
        steps = np.clip(np.floor(self._between(*ends, share) * 10.0**decimals), first, last)
        return of_steps(steps, decimals)


class _Cut(NamedTuple):
    """Cells of numbers from `lower` to `upper`, and the block of each."""

    lower: np.ndarray
    upper: np.ndarray
    block: np.ndarray

    def apart(self, points: Sequence[float], whole: bool) -> _Cut:
        """With each of these numbers in a cell and a block of its own: many records may have just that."""
        cut = self
        for point in points:
            cut = cut._with(point, whole)
        return cut

    def _with(self, point: float, whole: bool) -> _Cut:
        held = np.flatnonzero((self.lower <= point) & (self.upper >= point))
        if not len(held):
            return self
        at, lower, upper = held[-1], self.lower, self.upper.copy()
        before, after = (point - 1, point + 1) if whole else (np.nextafter(point, -np.inf), np.nextafter(point, np.inf))
        pieces = [(lower[at], before)] * bool(lower[at] < point) + [(point, point)]
        pieces += [(after, upper[at])] * bool(upper[at] > point)
        if not whole and at and upper[at - 1] == point:  # a cell that ends where the point's begins
            upper[at - 1] = before
        lower = np.concatenate([lower[:at], [low for low, _ in pieces], lower[at + 1 :]])
        upper = np.concatenate([upper[:at], [high for _, high in pieces], upper[at + 1 :]])
        block = np.concatenate([self.block[:at], np.full(len(pieces), self.block[at]), self.block[at + 1 :]])
        sides = np.column_stack([block, np.sign(lower - point) + np.sign(upper - point)])  # below, at it, above
        return _Cut(lower, upper, np.unique(sides, axis=0, return_inverse=True)[1].ravel())
