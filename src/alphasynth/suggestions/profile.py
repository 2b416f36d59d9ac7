"""What a table holds, column by column: types, distinct values, and a family that suits; for its holder's eyes only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa

from alphasynth.tables.csv_files import Csv
from alphasynth.tables.databases import DatabaseTable
from alphasynth.tables.driver_errors import translated as database_translated
from alphasynth.tables.engine import Column, FileTable, translated
from alphasynth.tables.text_cells import COMMAS

# Columns looked at together; a table may have ten thousand, and the engine's plans grow faster than that.
COLUMNS_AT_A_TIME = 50
# Columns of a table whose distinct rows are counted.
WIDEST = 100
# Bytes of a text file that is held in memory for that.
LARGEST_TEXT = 200_000_000
# Counts whose variance is within this factor of their mean are called Poisson.
POISSON = 1.2


@dataclass(frozen=True)
class ColumnProfile:
    """A column (confidential: it was computed from the records). `distinct` leaves missing values out."""

    name: str
    type: str
    missing: int
    distinct: int
    family: str | None
    why: str


@dataclass(frozen=True)
class Profile:
    """A table: its rows, how many of them differ (None for a very wide table), and its columns."""

    rows: int
    distinct_rows: int | None
    columns: tuple[ColumnProfile, ...]


@dataclass(frozen=True)
class Moments:
    """What decides a family: number of values, distinct ones, smallest, whether all are whole, mean, variance."""

    values: int
    distinct: int
    smallest: float | None = None
    whole: bool = False
    mean: float | None = None
    variance: float | None = None
    commas: bool = False  # text that may be numbers


def inspect_table(table: FileTable | DatabaseTable) -> Profile:
    """Profile every column, in the engine that holds the table."""
    names = table.column_names
    text = _text(table)
    rows, columns = 0, []
    doubled = {name for name, number in Counter(names).items() if number > 1}
    for first in range(0, len(names), COLUMNS_AT_A_TIME):
        part = [name for name in names[first : first + COLUMNS_AT_A_TIME] if name not in doubled]
        if not part:
            continue
        if isinstance(table, DatabaseTable):
            rows, types, moments = _look_in_database(table, part)
        else:
            rows, types, moments = _look_in_file(table, part, text)
        columns += [_profile(name, kind, rows, found) for name, kind, found in zip(part, types, moments, strict=True)]
    columns += [ColumnProfile(name, "", 0, 0, None, "stands twice: rename one") for name in sorted(doubled)]
    whole = len(names) <= WIDEST and not doubled
    return Profile(rows, _distinct_rows(table) if whole else None, tuple(columns))


def _text(table: FileTable | DatabaseTable) -> pa.Table | None:
    """The cells of a small text file, which would else be parsed again for each column."""
    if isinstance(table, DatabaseTable) or not isinstance(table.source, Csv):
        return None
    if table.source.path.stat().st_size > LARGEST_TEXT:
        return None
    with translated(table.source):
        return table.engine.sql(f"SELECT * FROM {table.source.relation}").to_arrow_table()


def _distinct_rows(table: FileTable | DatabaseTable) -> int | None:
    if isinstance(table, DatabaseTable):
        with database_translated("the table must be readable"):
            return int(table.expression.distinct().count().to_pyarrow().as_py())
    with translated(table.source):
        reading = table.source.read(table.engine, table.column_names)
        columns = ", ".join(column.read for column in reading.columns.values())
        try:
            ((number,),) = table.engine.execute(
                f"SELECT count(*) FROM (SELECT DISTINCT {columns} FROM {reading.relation})"
            ).fetchall()
        except duckdb.OutOfMemoryException:
            return None
        return int(number)


def _profile(name: str, kind: str, rows: int, moments: Moments) -> ColumnProfile:
    family, why = suggest(moments)
    return ColumnProfile(name, kind, rows - moments.values, moments.distinct, family, why)


def suggest(moments: Moments) -> tuple[str | None, str]:
    """A family for a column with these moments, and why.

    >>> suggest(Moments(1000, 30, 0.0, True, 100.0, 900.0))
    ('negative_binomial', 'counts that vary more than their mean')
    """
    if moments.commas:
        return None, COMMAS
    if moments.mean is None or moments.variance is None or moments.smallest is None:
        return None, "not numbers"
    if not moments.whole or moments.smallest < 0:
        return None, "not counts" if moments.whole else "not whole numbers"
    if moments.distinct < 2:
        return None, "one value"
    if moments.distinct == moments.values > 20:
        return None, "every value differs: an identifier?"
    if moments.variance <= POISSON * moments.mean:
        return "poisson", "counts that vary no more than their mean"
    return "negative_binomial", "counts that vary more than their mean"


def _look_in_file(
    table: FileTable, names: Sequence[str], text: pa.Table | None
) -> tuple[int, list[str], list[Moments]]:
    """Column by column: a query with many distinct counts at once would hold all their values in memory at once."""
    engine, source = table.engine, table.source
    with translated(source):
        if text is not None and isinstance(source, Csv):
            engine.register("cells", text.select([f"c{source.column_names.index(name)}" for name in names]))
            reading = source.read(engine, names, "cells")
        else:
            reading = source.read(engine, names)
        ((rows,),) = engine.execute(f"SELECT count(*) FROM {reading.relation}").fetchall()
        columns = [reading.columns[name] for name in names]
        moments = [_moments(engine, column, reading.relation) for column in columns]
        if isinstance(source, Csv):
            places = [f"c{source.column_names.index(name)}" for name in names]
            commas = [
                pa.types.is_string(column.type) and source.has_commas(engine, reading.relation, place)
                for column, place in zip(columns, places, strict=True)
            ]
            moments = [replace(found, commas=has) for found, has in zip(moments, commas, strict=True)]
    return rows, [str(column.type) for column in columns], moments


def _moments(engine: duckdb.DuckDBPyConnection, column: Column, relation: str) -> Moments:
    kind = column.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    x = f"nullif(CAST({column.read} AS DOUBLE), 'nan'::DOUBLE)" if numeric else column.read
    parts = "coalesce(sum(n), 0)::BIGINT, count(*)"
    if numeric:
        mean = "sum(n * x) / sum(n)"
        parts += f", min(x), bool_and(x = floor(x)), {mean}, greatest(sum(n * x * x) / sum(n) - ({mean}) * ({mean}), 0)"
    groups = f"SELECT {x} AS x, count(*) AS n FROM {relation} GROUP BY x"
    (found,) = engine.execute(f"SELECT {parts} FROM ({groups}) WHERE x IS NOT NULL").fetchall()
    return Moments(*found)


def _look_in_database(table: DatabaseTable, names: Sequence[str]) -> tuple[int, list[str], list[Moments]]:
    schema = table.expression.schema()
    parts: dict[str, Any] = {"rows": table.expression.count()}
    for i, name in enumerate(names):
        column = table.expression[name]
        parts |= {f"values{i}": column.count(), f"distinct{i}": column.nunique()}
        if schema[name].is_numeric():
            x = column.cast("float64")
            parts |= {f"smallest{i}": x.min(), f"whole{i}": (x == x.floor()).all()}
            parts |= {f"mean{i}": x.mean(), f"variance{i}": x.var(how="pop")}
    with database_translated("the table must be readable"):
        values = table.expression.aggregate(**parts).to_pyarrow().to_pylist()[0]
    fields = ("values", "distinct", "smallest", "whole", "mean", "variance")
    moments = [
        Moments(**{field: values[f"{field}{i}"] for field in fields if f"{field}{i}" in values})
        for i in range(len(names))
    ]
    return values["rows"], [str(schema[name]) for name in names], moments
