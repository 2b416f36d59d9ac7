"""The first line of a text file or a sheet: names of columns, or a record?"""

from __future__ import annotations

from collections.abc import Collection

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.errors import InputError
from alphasynth.privacy.accounting import counted
from alphasynth.tables.csv_files import Csv
from alphasynth.tables.engine import FileTable, quoted, translated
from alphasynth.tables.text_cells import is_value
from alphasynth.tables.workbooks import Sheet


def check_header(table: object, declared: Collection[str] = ()) -> None:
    """Refuse a text file, or a sheet, whose first line looks like a record: its values would be columns' names.

    It does where a name is written like a number or a date, or is a value of its own column, or is none but of the
    first column (as of a row's numbers) and of one without values. Somebody may say that it holds names (`header`),
    or have declared columns of such names.
    """
    source = table.source if isinstance(table, FileTable) else None
    if not isinstance(source, Csv | Sheet) or source.header:
        return
    assert isinstance(table, FileTable)
    with translated(source):
        alike = _alike_csv(table.engine, source) if isinstance(source, Csv) else _alike_sheet(source)
    number = sum(
        is_value(name) or same for name, same in zip(source.column_names, alike, strict=True) if name not in declared
    )
    if number:
        what = source.path.name if isinstance(source, Csv) else source.name
        raise InputError(
            f"the first line of {what} must hold the columns' names, found what looks like a record ({number:,} of "
            f"{counted(len(alike), 'field')} written like a number or a date, or like values below, or empty): add a "
            "line of names above it, or say --header if these are the names"
        )


def _alike_csv(engine: duckdb.DuckDBPyConnection, source: Csv) -> list[bool]:
    """Whether each column of a text file holds its own name; of one without a name, whether it holds anything."""
    alike = [
        f"coalesce(bool_or(trim(c{i}) {'=' if name.strip() or i == 0 else '<>'} {quoted(name.strip())}), false)"
        for i, name in enumerate(source.column_names)
    ]
    (found,) = engine.execute(f"SELECT {', '.join(alike)} FROM {source.relation}").fetchall()
    return [
        same and bool(i or name.strip()) for i, (name, same) in enumerate(zip(source.column_names, found, strict=True))
    ]


def _alike_sheet(source: Sheet) -> list[bool]:
    """Whether each column of text of a sheet holds its own name."""
    columns = zip(source.column_names, source.data.columns, strict=True)
    return [pa.types.is_string(c.type) and bool(pc.any(pc.equal(c, name)).as_py()) for name, c in columns]
