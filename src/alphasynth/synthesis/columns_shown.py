"""Small figures of a table's columns for notebooks: shares of equal steps of numbers, or of levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.notebook import markup, sketches
from alphasynth.tables.frames import Frame, to_arrow
from alphasynth.tables.limits import as_floats, day_numbers

STEPS, MOST_LEVELS, MOST_COLUMNS = 20, 12, 6


class Counted(NamedTuple):
    """Values of a column and how many rows have each: numbers (of `dates`, days from 1970), or words; gaps apart."""

    values: np.ndarray
    counts: np.ndarray
    gaps: int = 0
    dates: bool = False

    @property
    def numeric(self) -> bool:
        """Whether they are numbers, which can be put into steps."""
        return self.values.dtype.kind in "iuf"

    @property
    def rows(self) -> int:
        """Rows, those without a value among them."""
        return int(self.counts.sum()) + self.gaps


def counted(column: pa.ChunkedArray) -> Counted:
    """A column of a table, its values counted: numbers and dates as numbers, all else as words."""
    gone = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    there = column.filter(pc.invert(gone))
    if pa.types.is_dictionary(there.type):
        there = there.cast(there.type.value_type)
    dates = pa.types.is_timestamp(there.type) or pa.types.is_date(there.type)
    if dates:
        there = day_numbers(there)
    if pa.types.is_decimal(there.type):
        there = as_floats(there)
    numeric = pa.types.is_integer(there.type) or pa.types.is_floating(there.type)
    values, counts = np.unique(there.to_numpy() if numeric else _words(there), return_counts=True)
    return Counted(values, counts, pc.sum(gone).as_py() or 0, dates)


def _words(column: pa.ChunkedArray) -> np.ndarray:
    return np.array([str(value) for value in column.to_pylist()], dtype=str)


def column_sketch(name: str, own: Counted | None, new: Counted | None) -> markup.Html:
    """A column of the confidential table, of a synthetic one, or of both on one scale."""
    both = [one for one in (own, new) if one is not None]
    there = [one for one in both if len(one.values)]
    gaps = [f"{sketches.percent(one.gaps / one.rows)} gaps" for one in both if one.gaps]
    if not there:
        return sketches.captioned(name, markup.Html(""), ", ".join(gaps) or "no rows")
    steps, words = _steps(there) if all(one.numeric for one in there) else _levels(there)
    shares = [() if one is None else _shares(one, steps) for one in (own, new)]
    figure = sketches.bars(f"shares of {name}, {words}", *shares)
    return sketches.captioned(name, figure, "; ".join([words, " and ".join(gaps)] if gaps else [words]))


def _steps(there: Sequence[Counted]) -> tuple[np.ndarray, str]:
    """Edges of equal steps from the smallest value to the largest, and both in words."""
    low = float(min(one.values[0] for one in there))
    high = float(max(one.values[-1] for one in there))
    whole = all(one.values.dtype.kind in "iu" for one in there)
    ends = [str(np.datetime64(int(end), "D")) if there[0].dates else _number(end) for end in (low, high)]
    words = " to ".join(dict.fromkeys(ends))
    if whole and high - low < STEPS:  # a step for each
        return np.arange(low, high + 2) - 0.5, words
    return np.linspace(low, high if high > low else low + 1.0, STEPS + 1), words


def _number(value: float) -> str:
    """In few digits; years have no comma in them.

    >>> _number(2021.0), _number(187463.0), _number(0.123456789)
    ('2021', '187,463', '0.123457')
    """
    return f"{value:.6g}" if abs(value) < 10_000 else f"{value:,.6g}"


def _levels(there: Sequence[Counted]) -> tuple[np.ndarray, str]:
    """The commonest levels of the first table, and their number in words."""
    first = there[0]
    order = np.argsort(-first.counts, kind="stable")[:MOST_LEVELS]
    levels = first.values[order].astype(str)
    more = len(first.values) - len(levels)
    listed = ", ".join(level if len(level) <= 20 else level[:19] + "…" for level in levels[:4])
    rest = more + max(len(levels) - 4, 0)
    return levels, listed + (f" and {rest:,} more" if rest else "")


def _shares(one: Counted, steps: np.ndarray) -> list[float]:
    """Shares of the rows in each step, or at each level."""
    if steps.dtype.kind == "f":
        found = np.histogram(one.values, steps, weights=one.counts)[0]
    else:
        by_level = dict(zip(one.values.astype(str).tolist(), one.counts.tolist(), strict=True))
        found = np.array([by_level.get(level, 0) for level in steps.tolist()])
    return (found / max(one.rows, 1)).tolist()


def table_sketches(table: Frame, names: Sequence[str]) -> markup.Html:
    """The first columns of a synthetic table, one beside another."""
    arrow = to_arrow(table, list(names[:MOST_COLUMNS]))
    made = [column_sketch(name, None, counted(arrow.column(name))) for name in arrow.column_names]
    more = len(names) - MOST_COLUMNS
    return markup.beside(*made, *([markup.note(f"and {more:,} more columns")] if more > 0 else []))
