"""What a table holds, column by column: types, distinct values, and a family that suits; for its holder's eyes only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from alphasynth.databases import DatabaseTable
from alphasynth.databases import translated as database_translated
from alphasynth.engine import FileTable, translated

# Columns looked at in one query; a table may have ten thousand.
COLUMNS_AT_A_TIME = 100
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


def inspect_table(table: FileTable | DatabaseTable) -> Profile:
    """Profile every column, in the engine that holds the table."""
    names = table.column_names
    rows, columns = 0, []
    for first in range(0, len(names), COLUMNS_AT_A_TIME):
        part = [name for name in names[first : first + COLUMNS_AT_A_TIME] if names.count(name) == 1]
        look = _look_in_file if isinstance(table, FileTable) else _look_in_database
        rows, types, moments = look(table, part)  # type: ignore[arg-type]
        columns += [_profile(name, kind, rows, held) for name, kind, held in zip(part, types, moments, strict=True)]
    whole = len(names) <= COLUMNS_AT_A_TIME and len(set(names)) == len(names)
    return Profile(rows, _distinct_rows(table) if whole else None, tuple(columns))


def _distinct_rows(table: FileTable | DatabaseTable) -> int:
    if isinstance(table, DatabaseTable):
        with database_translated("the table must be readable"):
            return int(table.expression.distinct().count().to_pyarrow().as_py())
    with translated(table.source):
        reading = table.source.read(table.engine, table.column_names)
        columns = ", ".join(column.read for column in reading.columns.values())
        ((number,),) = table.engine.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT {columns} FROM {reading.relation})"
        ).fetchall()
        return int(number)


def _profile(name: str, kind: str, rows: int, held: Moments) -> ColumnProfile:
    family, why = suggest(held)
    return ColumnProfile(name, kind, rows - held.values, held.distinct, family, why)


def suggest(held: Moments) -> tuple[str | None, str]:
    """A family for a column with these moments, and why.

    >>> suggest(Moments(1000, 30, 0.0, True, 100.0, 900.0))
    ('negative_binomial', 'counts that vary more than their mean')
    """
    if held.mean is None or held.variance is None or held.smallest is None:
        return None, "not numbers"
    if not held.whole or held.smallest < 0:
        return None, "not counts" if held.whole else "not whole numbers"
    if held.distinct < 2:
        return None, "one value"
    if held.distinct == held.values > 20:
        return None, "every value differs: an identifier?"
    if held.variance <= POISSON * held.mean:
        return "poisson", "counts that vary no more than their mean"
    return "negative_binomial", "counts that vary more than their mean"


def _look_in_file(table: FileTable, names: Sequence[str]) -> tuple[int, list[str], list[Moments]]:
    import pyarrow as pa

    with translated(table.source):
        reading = table.source.read(table.engine, names)
        columns = [reading.columns[name] for name in names]
        numeric = [
            pa.types.is_integer(c.type) or pa.types.is_floating(c.type) or pa.types.is_decimal(c.type) for c in columns
        ]
        parts = ["count(*)"]
        for column, number in zip(columns, numeric, strict=True):
            x = f"nullif(CAST({column.read} AS DOUBLE), 'nan'::DOUBLE)" if number else column.read
            parts += [f"count({x})", f"count(DISTINCT {x})"]
            parts += (
                [f"min({x})", f"bool_and({x} = floor({x}))", f"avg({x})", f"coalesce(var_pop({x}), 0)"]
                if number
                else []
            )
        ((rows, *values),) = table.engine.execute(f"SELECT {', '.join(parts)} FROM {reading.relation}").fetchall()
    moments = []
    for number in numeric:
        size = 6 if number else 2
        moments.append(Moments(*values[:size]))
        values = values[size:]
    return rows, [str(column.type) for column in columns], moments


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
