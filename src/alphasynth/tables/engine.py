"""DuckDB as the engine of files: groups the columns in use out of core and lets only distinct rows and counts out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import duckdb
import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError
from alphasynth.tables.grouping import ROWS_AT_A_TIME, Adding, Grouped, Unit
from alphasynth.tables.public_columns import as_type, refuse_sorted, sorted_by_public

# Words that stand for a missing value, in a column of numbers and in one that tells units of privacy apart.
MISSING = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", ".")

MEMORY = "the distinct rows must fit in memory and the spill folder, found more than that"


class Column(NamedTuple):
    """SQL that reads a column for the model, SQL that reads it for the release, and the type of each.

    `levels` are those of a categorical column in the order that the file has them; `text` is SQL of what stands in the
    file, where that is text and types are made of it.
    """

    read: str
    released: str
    type: pa.DataType
    released_type: pa.DataType
    levels: pa.Array | None = None
    text: str | None = None


class Reading(NamedTuple):
    """SQL of a relation, and the columns in use of it, by name."""

    relation: str
    columns: Mapping[str, Column]


class Source(Protocol):
    """What a file holds and how DuckDB reads it."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns, in the file's order."""
        ...

    @property
    def names_are_public(self) -> bool:
        """Whether messages may list them."""
        ...

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Reading:
        """What reads the named columns."""
        ...

    def explain(self, error: Exception) -> str:
        """Why it cannot be read, in one sentence; the engine's own words quote values."""
        ...


def connect() -> duckdb.DuckDBPyConnection:
    """An engine of one's own, which fails rather than spill to disk until it is told where."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": "",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "memory_limit": f"{max(_memory() // 4, 500_000_000)}B",
    }
    return duckdb.connect(":memory:", config=config)


def _memory() -> int:
    """The memory in bytes that this machine or container may use."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.is_file() else "max"
    return min(machine, int(text)) if text.isdigit() else machine


def quoted(text: str | Path) -> str:
    """SQL string."""
    return "'" + str(text).replace("'", "''") + "'"


@dataclass(frozen=True, eq=False)
class FileTable:
    """A stored table that DuckDB reads: a file, or a table of a DuckDB database.

    With a `unit`, at most `max_rows` rows of each unit take part, chosen at random by the `key`. Rows are released in
    the table's order, or sorted by their public columns if `sort_rows`. `in_order` keeps the order even where nothing
    is released row by row.
    """

    source: Source
    engine: duckdb.DuckDBPyConnection = field(repr=False)
    unit: Unit | None = None
    in_order: bool = False
    sort_rows: bool = False
    key: str = field(default="", repr=False)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns, in the table's order."""
        return self.source.column_names

    @property
    def names_are_public(self) -> bool:
        """Whether messages may list the columns: the first line of a text file without a header is a record."""
        return self.source.names_are_public

    def spill_to(self, folder: Path) -> None:
        """Let the engine put what does not fit in memory into this folder."""
        self.engine.execute(f"SET temp_directory = {quoted(folder)}")

    def group(self, names: Sequence[str], public: Sequence[str]) -> Grouped:
        """Group the columns that the model reads and those to be released, out of core; raise `InputError`."""
        units = [] if self.unit is None else [self.unit.column]
        with translated(self.source):
            reading = self.source.read(self.engine, list(dict.fromkeys((*names, *public, *units))))
            read = [reading.columns[name].read for name in names]
            released = [reading.columns[name].released for name in public]
            self._check_unit(reading)
            expressions = [*read, *released]
            lines = self._group(self._rows(reading, expressions, ""), len(expressions))
            index, kept = None, None
            if self.in_order or (public and not self.sort_rows):
                index, kept = self._locate(reading, expressions, lines)
        columns = [lines.column(f"k{i}") for i in range(lines.num_columns - 2)]
        counts = lines.column("count").to_numpy()
        released_columns = {
            name: _released(reading.columns[name], column, not self.sort_rows)
            for name, column in zip(public, columns[len(read) :], strict=True)
        }
        grouped = Grouped(
            columns=pa.table(dict(zip(names, columns, strict=False))),
            public=pa.table(released_columns),
            counts=counts,
            index=index,
            types={name: reading.columns[name].type for name in names},
            rows=kept,
            unit=self.unit,
        )
        if public and not self.sort_rows:
            refuse_sorted(grouped)
        return sorted_by_public(grouped) if public and self.sort_rows else grouped

    def stream(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows that take part, on these columns, so many at a time; raise `InputError`."""
        with translated(self.source):
            yield from self.engine.sql(self._chosen(names)).to_arrow_reader(ROWS_AT_A_TIME)

    def count(self, name: str) -> int:
        """How many rows take part, read by one column; raise `InputError`."""
        with translated(self.source):
            return self._scalar(f"SELECT count(*) FROM ({self._chosen([name])})")

    def sample(self, names: Sequence[str], rows: int) -> pa.Table:
        """So many of the rows that take part, at random, or all there are, on these columns; raise `InputError`."""
        with translated(self.source):
            found = self.engine.sql(f"{self._chosen(names)} USING SAMPLE reservoir({rows} ROWS)").to_arrow_table()
        return found.rename_columns(list(names))

    def _chosen(self, names: Sequence[str]) -> str:
        """SQL of the rows that take part, on these columns, named k0, k1, ..."""
        units = [] if self.unit is None else [self.unit.column]
        reading = self.source.read(self.engine, list(dict.fromkeys((*names, *units))))
        self._check_unit(reading)
        expressions = [reading.columns[name].read for name in names]
        chosen = ", ".join(f"k{i}" for i in range(len(names)))
        return f"SELECT {chosen} FROM ({self._rows(reading, expressions, '')})"

    @property
    def adds_up_itself(self) -> bool:
        """It does not: rows are at hand, and come out as fast as they can be added up."""
        return False

    def add_up(self, names: Sequence[str], adding: Adding) -> np.ndarray:
        """Sums over the rows that take part, which come out so many at a time; raise `InputError`."""
        return adding(self.stream(names))

    def _check_unit(self, reading: Reading) -> None:
        if self.unit is None:
            return
        unit = _unit_of(reading.columns[self.unit.column])
        if self._scalar(f"SELECT count(*) - count({unit}) FROM {reading.relation}"):
            raise InputError(
                f"column {self.unit.column!r}, the unit of privacy, must have no missing values, found some"
            )

    def _scalar(self, query: str) -> int:
        ((value,),) = self.engine.execute(query).fetchall()
        return int(value)

    def _rows(self, reading: Reading, expressions: Sequence[str], position: str) -> str:
        """SQL of the rows that take part: columns k0, k1, ... and, where asked for, their position in the table."""
        keys = ", ".join(f"{expression} AS k{i}" for i, expression in enumerate(expressions))
        if self.unit is None:
            return f"SELECT {keys}{position} FROM {reading.relation}"
        unit = _unit_of(reading.columns[self.unit.column])
        names = ", ".join(f"k{i}" for i in range(len(expressions)))
        # A unit's rows are numbered in the order of their values, and random numbers are drawn by that number: the
        # choice reads nothing of other units, and a value that stands twice counts twice.
        numbered = (
            f"SELECT *, row_number() OVER (PARTITION BY unit ORDER BY {names}) AS number FROM "
            f"(SELECT {keys}, {unit} AS unit{position} FROM {reading.relation})"
        )
        drawn = f"md5(concat_ws(':', {quoted(self.key)}, number, unit))"
        return (
            f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY unit ORDER BY {drawn}) AS place "
            f"FROM ({numbered})) WHERE place <= {self.unit.max_rows}"
        )

    def _group(self, rows: str, size: int) -> pa.Table:
        names = ", ".join(f"k{i}" for i in range(size))
        self.engine.execute("DROP TABLE IF EXISTS lines")
        self.engine.execute(
            f"CREATE TEMP TABLE lines AS SELECT *, row_number() OVER () - 1 AS id FROM "
            f"(SELECT {names}, count(*) AS count FROM ({rows}) GROUP BY {names})"
        )
        return self.engine.sql("SELECT * FROM lines ORDER BY id").to_arrow_table()

    def _locate(
        self, reading: Reading, expressions: Sequence[str], lines: pa.Table
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Line of each row that takes part, in the table's order, and those rows' numbers where not all do."""
        rows = self._rows(reading, expressions, ", row_number() OVER () - 1 AS position")
        same = " AND ".join(f"r.k{i} IS NOT DISTINCT FROM lines.k{i}" for i in range(len(expressions)))
        located = self.engine.sql(f"SELECT r.position, lines.id FROM ({rows}) r JOIN lines ON {same}")
        index = np.full(self._scalar(f"SELECT count(*) FROM {reading.relation}"), -1, np.int32)
        for batch in located.to_arrow_reader(ROWS_AT_A_TIME):
            index[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
        kept = np.flatnonzero(index >= 0)
        if len(kept) != lines.column("count").to_numpy().sum() or (self.unit is None and len(kept) != len(index)):
            raise InputError("the table must not change while it is read, found that it did")
        return (index, None) if self.unit is None else (index[kept], kept)


def _released(column: Column, values: pa.ChunkedArray, known_order: bool) -> pa.ChunkedArray:
    return as_type(values, column.released_type, column.levels, known_order)


def _unit_of(column: Column) -> str:
    """SQL that tells units apart: spaces around text do not, and what stands for a missing value is one.

    Of a text file each value by itself: in the type that all have together, a single one could make two units one.
    """
    if column.text is not None:
        return _named(f"regexp_replace(trim({column.text}), '^[+]?(-?[0-9]+)([.]0*)?$', '\\1')")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(kind):
        return f"nullif(CAST({column.read} AS DOUBLE), 'nan'::DOUBLE)"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _named(f"trim(CAST({column.read} AS VARCHAR))")
    return column.read


def _named(text: str) -> str:
    """SQL of a text, which is missing where it is empty or a word for that."""
    return f"CASE WHEN {text} IN ('', {', '.join(quoted(word) for word in MISSING)}) THEN NULL ELSE {text} END"


@contextmanager
def translated(source: Source) -> Iterator[None]:
    """What the engine says, in our words: its own messages quote values.

    Where rows come out in chunks it is Arrow that says it, with an error that has the engine's message and no number.
    """
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the machine's
        if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory Error" in str(error):
            raise InputError(MEMORY) from None
        raise InputError(source.explain(error)) from None
