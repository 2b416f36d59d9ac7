"""Columns that tell persons with several rows apart, seen by the columns beside them, whatever they are called.

No two rows of a person are of one year; and what a person is, sex or where they were born, is the same in all their
rows. Both happen by chance too, so it is compared with what chance would make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from alphasynth.suggestions.identifiers import FEWEST_UNITS
from alphasynth.suggestions.names import called_group, called_time
from alphasynth.tables.grouping import Stored

# Columns that are looked at, and those beside them, which have so few values; larger tables are not looked at.
MOST_UNITS, MOST_BESIDE, MOST_TIMES, MOST_ROWS = 8, 16, 100, 1_000_000
# So many pairs of rows would be alike, or would differ, by chance; of them this part may.
BY_CHANCE, ALLOWED = 10.0, 0.02
# Along sorted values a column changes at least this part of the times that chance makes: else it is a step of them, as
# groups of ages are of age and regions of postcodes.
CHANGES = 0.5


class Seen(NamedTuple):
    """A column: how many values it has, in how many rows, and whether it may tell persons apart."""

    name: str
    values: int
    rows: int
    apart: bool


def panels(table: Stored, columns: Sequence[Seen]) -> dict[str, tuple[str, np.ndarray]]:
    """The columns that seem to tell persons apart, why, and how many rows (persons,) each of their values has."""
    rows = max((column.rows for column in columns), default=0)
    units = [c for c in columns if c.apart and FEWEST_UNITS < c.values < c.rows]
    units = [c for c in units if not (called_time(c.name) or called_group(c.name))]
    units = sorted(units, key=lambda column: -column.values)[:MOST_UNITS]
    beside = [c for c in columns if 1 < c.values <= MOST_TIMES]
    beside = sorted(beside, key=lambda column: (not called_time(column.name), column.values))[:MOST_BESIDE]
    if not units or not beside or rows > MOST_ROWS:
        return {}
    names = list(dict.fromkeys(column.name for column in (*units, *beside)))
    grouped = table.group(names, ())
    codes = {name: _codes(grouped.columns.column(i)) for i, name in enumerate(names)}
    found = dict[str, tuple[str, np.ndarray]]()
    for unit in units:
        others = [c for c in beside if c.name != unit.name]
        lines = _Lines(codes[unit.name], grouped.counts)
        why = _by_time(lines, codes, unit, others) or _by_constants(lines, codes, [c.name for c in others])
        if why:
            found[unit.name] = (why, lines.sizes)
    return found


def _by_time(lines: _Lines, codes: dict[str, np.ndarray], unit: Seen, others: Sequence[Seen]) -> str:
    """That no two rows share a value and a time, where chance would make many."""
    times = [c.name for c in others if called_time(c.name) or c.values < unit.values]
    found = next((name for name in times if lines.differ_in(codes[name])), None)
    return "" if found is None else f", no two of them with one value of {found!r}"


def _by_constants(lines: _Lines, codes: dict[str, np.ndarray], others: Sequence[str]) -> str:
    """That two columns, of which neither follows from the other, are the same in all rows of a value."""
    same = [name for name in others if lines.agree_in(codes[name])]
    for i, one in enumerate(same):
        for other in same[i + 1 :]:
            pair = codes[one], codes[other]
            if not any(_Lines(a, lines.counts).agree_in(b, in_steps=True) for a, b in (pair, pair[::-1])):
                return f", which share one value of {one!r} and of {other!r}"
    return ""


class _Lines:
    """Lines of a table and how many rows each stands for, by the person (lines,) that they seem to be of."""

    def __init__(self, unit: np.ndarray, counts: np.ndarray) -> None:
        self.unit, self.counts = unit, counts
        self.sizes = np.bincount(unit[unit >= 0], counts[unit >= 0])

    def _alike(self, beside: np.ndarray) -> tuple[float, float, float]:
        """Pairs of rows of one person that are alike beside, how many would be by chance, and how many there are."""
        known = (self.unit >= 0) & (beside >= 0)
        share = np.bincount(beside[known], self.counts[known])
        both = self.unit[known].astype(np.int64) * len(share) + beside[known]
        found = _pairs(np.bincount(np.unique(both, return_inverse=True)[1], self.counts[known]))
        pairs = _pairs(np.bincount(self.unit[known], self.counts[known]))
        return found, pairs * float(((share / max(share.sum(), 1.0)) ** 2).sum()), pairs

    def differ_in(self, beside: np.ndarray) -> bool:
        """Whether rows of one person differ beside, where many would be alike by chance."""
        found, chance, _ = self._alike(beside)
        return chance >= BY_CHANCE and found <= ALLOWED * chance

    def agree_in(self, beside: np.ndarray, in_steps: bool = False) -> bool:
        """Whether rows of one person are alike beside, where many would differ by chance; and not `in_steps` alone."""
        found, by_chance, pairs = self._alike(beside)
        if pairs - by_chance < BY_CHANCE or pairs - found > ALLOWED * (pairs - by_chance):
            return False
        return in_steps or not self._is_step(beside)

    def _is_step(self, beside: np.ndarray) -> bool:
        """Whether it changes seldom along the sorted values."""
        values, first = np.unique(self.unit, return_index=True)
        each = beside[first[values >= 0]]
        share = np.bincount(each[each >= 0]) / max((each >= 0).sum(), 1)
        changes = (np.diff(each) != 0).sum()
        return bool(changes < CHANGES * (1 - (share**2).sum()) * (len(each) - 1))


def _pairs(counts: np.ndarray) -> float:
    """Pairs of rows within groups of so many."""
    return float((counts * (counts - 1) / 2).sum())


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    """Places of values among the sorted ones, -1 of gaps."""
    import pyarrow.compute as pc

    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    coded = plain.combine_chunks().dictionary_encode()
    order = np.asarray(pc.sort_indices(coded.dictionary))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    indices = np.asarray(coded.indices.fill_null(-1))
    return np.where(indices < 0, -1, np.append(place, -1)[indices])
