"""Spreadsheets: a sheet of a workbook, read whole, each column in the one kind that all its cells have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from alphasynth.errors import InputError
from alphasynth.tables.engine import MISSING, Reading
from alphasynth.tables.files import Arrow

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# Rows that are Python's objects at once; a sheet of a million rows would take gigabytes of them.
ROWS_AT_A_TIME = 20_000
LARGEST_WHOLE = 2**53  # a spreadsheet's numbers are 64-bit floats
# Types of Arrow that cells of these types of Python make; others, and several together, are text.
KINDS = {
    frozenset({bool}): pa.bool_(),
    frozenset({date}): pa.date32(),
    frozenset({datetime}): pa.timestamp("us"),
    frozenset({date, datetime}): pa.timestamp("us"),
    frozenset({time}): pa.time64("us"),
}
Row = list[Any]


@dataclass(frozen=True, eq=False)
class Sheet:
    """A sheet of a workbook, whose first line names its columns."""

    name: str
    data: pa.Table = field(repr=False)
    header: bool = False  # somebody says that the first line holds names, though it may look like a record
    names_are_public = False  # the first line of a sheet without names is a record

    @classmethod
    def open(cls, path: Path, sheet: str | None = None, header: bool = False) -> Sheet:
        """Read a sheet, the only one where none is named; raise `InputError`."""
        import python_calamine as calamine

        try:
            workbook = calamine.CalamineWorkbook.from_path(path)
            names = [one.name for one in workbook.sheets_metadata if _holds_cells(one)]
            name = _chosen(path, names, sheet)
            found = workbook.get_sheet_by_name(name)
        except calamine.PasswordError:
            raise InputError(f"{path.name} must have no password, found one that has; save it without") from None
        except (calamine.CalamineError, OSError):
            raise InputError(f"{path.name} must be a workbook, found what cannot be read as one") from None
        others = ", ".join(repr(one) for one in names if one != name)
        table = _table(name, found, f"; there are {others}" if others else "")
        return cls(f"sheet {name!r} of {path.name}", table, header)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.data.column_names)

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Reading:
        """Read from memory."""
        return Arrow(self.name, self.data).read(engine, names)

    def explain(self, error: Exception) -> str:
        """One sentence."""
        return f"{self.name} cannot be grouped ({type(error).__name__})"


def _holds_cells(sheet: Any) -> bool:
    """Whether it is no chart and no program."""
    return str(sheet.typ).endswith("WorkSheet")


def _chosen(path: Path, names: Sequence[str], sheet: str | None) -> str:
    if sheet is None and len(names) == 1:
        return names[0]
    if sheet is None or sheet not in names:
        found = f"{len(names):,} sheets" if sheet is None else f"no sheet {sheet!r}"
        raise InputError(
            f"a table in a workbook must be addressed as {path.name}::SHEET, found {found}; there are "
            f"{', '.join(map(repr, names)) or 'none'}"
        )
    return sheet


def _table(name: str, sheet: Any, others: str) -> pa.Table:
    """The cells of a sheet below its header; raise `InputError` where there are none, with the `others` in words."""
    rows = _lines(sheet)
    header = next(rows, None)
    if header is None:
        raise InputError(f"sheet {name!r} must have a line of column names, found an empty sheet{others}")
    types, whole = _kinds(rows, len(header))
    if not any(types):
        raise InputError(f"sheet {name!r} must hold values below its line of column names, found none{others}")
    used = [i for i, seen in enumerate(types) if seen or header[i] != ""]
    unnamed = sum(header[i] == "" for i in used)
    if unnamed:
        raise InputError(
            f"the first line of sheet {name!r} must name every column, found {unnamed:,} of {len(used):,} without a "
            "name (a title above the names, or merged cells?)"
        )
    kinds = [_kind(types[i], whole[i]) for i in used]
    rows = _lines(sheet)
    next(rows)
    parts: list[list[pa.Array]] = [[] for _ in used]
    while chunk := list(islice(rows, ROWS_AT_A_TIME)):
        for place, i in enumerate(used):
            parts[place].append(_array([row[i] for row in chunk], kinds[place]))
    columns = [pa.chunked_array(part, kind) for part, kind in zip(parts, kinds, strict=True)]
    return pa.Table.from_arrays(columns, names=[_text(header[i]) for i in used])


def _lines(sheet: Any) -> Iterator[Row]:
    """Rows that hold anything."""
    return (row for row in sheet.iter_rows() if any(cell != "" for cell in row))


def _kinds(rows: Iterator[Row], width: int) -> tuple[list[set[type]], list[bool]]:
    """Types of each column's cells, words for a missing value left out, and whether its numbers are whole."""
    types: list[set[type]] = [set() for _ in range(width)]
    whole, words = [True] * width, [False] * width
    for row in rows:
        for i, cell in enumerate(row):
            kind = type(cell)
            if kind is float:
                whole[i] = whole[i] and cell.is_integer() and abs(cell) <= LARGEST_WHOLE
            elif kind is str and (cell == "" or cell.strip() in MISSING):
                words[i] = words[i] or cell != ""
                continue
            types[i].add(float if kind is int else kind)
    for seen, word in zip(types, words, strict=True):
        if word and not seen:  # of such words alone
            seen.add(str)
    return types, whole


def _kind(types: set[type], whole: bool) -> pa.DataType:
    if types == {float}:
        return pa.int64() if whole else pa.float64()
    return KINDS.get(frozenset(types), pa.string())


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Cells as a column of a kind; what is empty is missing, and so are words for that but in text."""
    if pa.types.is_string(kind):
        return pa.array([None if cell == "" else _text(cell) for cell in cells], kind)
    plain = [None if isinstance(cell, str) else cell for cell in cells]
    if pa.types.is_integer(kind):
        return pa.array([None if cell is None else int(cell) for cell in plain], kind)
    if pa.types.is_timestamp(kind):
        plain = [datetime(c.year, c.month, c.day) if type(c) is date else c for c in plain]
    return pa.array(plain, kind)


def _text(cell: Any) -> str:
    """A cell as text.

    >>> _text(2019.0), _text(0.5), _text(True), _text(date(2024, 1, 31))
    ('2019', '0.5', 'true', '2024-01-31')
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= LARGEST_WHOLE:
        return str(int(cell))
    return str(cell) if isinstance(cell, str | int | float | date | time | timedelta) else ""
