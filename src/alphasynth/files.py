"""The files that tables come in, told by their suffix: text, Parquet, Arrow, SAS, SPSS, Stata; and DuckDB databases."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from alphasynth.engine import Column, Reading, quoted
from alphasynth.errors import InputError
from alphasynth.statistical_files import read_columns, read_names


def typed(schema: pa.Schema, names: Sequence[str]) -> dict[str, Column]:
    """Columns c0, c1, ... of a relation, each in the type that its file gives it."""
    numbers = {name: schema.names.index(name) for name in names}
    return {name: Column(f"c{i}", f"c{i}", schema.field(i).type, schema.field(i).type) for name, i in numbers.items()}


def numbered(size: int) -> str:
    """Alias t(c0, c1, ...): columns go by their place, since names may be doubled or differ in case alone."""
    return f"t({', '.join(f'c{i}' for i in range(size))})"


@dataclass(frozen=True)
class Parquet:
    """A Parquet file."""

    path: Path
    schema: pa.Schema

    @classmethod
    def open(cls, path: Path) -> Parquet:
        """Read the schema."""
        import pyarrow.parquet as pq

        try:
            return cls(path, pq.read_schema(path))
        except (pa.ArrowException, OSError):
            raise InputError(f"{path.name} must be a Parquet file, found what cannot be read as one") from None

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.schema.names)

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Reading:
        """Read by DuckDB itself: only the columns in use, a group of rows at a time."""
        relation = f"read_parquet({quoted(glob.escape(str(self.path)))}) AS {numbered(len(self.schema.names))}"
        return Reading(relation, typed(self.schema, names))

    def explain(self, error: duckdb.Error) -> str:
        """One sentence."""
        return f"{self.path.name} must be a whole Parquet file, found one that cannot be read ({type(error).__name__})"


@dataclass(frozen=True, eq=False)
class Arrow:
    """An Arrow IPC (Feather) file, or a table in memory."""

    name: str
    data: Any = field(repr=False)  # a pyarrow Dataset or Table

    @classmethod
    def open(cls, path: Path) -> Arrow:
        """Open the file; nothing of it is read before it is asked for."""
        import pyarrow.dataset as ds

        try:
            return cls(path.name, ds.dataset(path, format="ipc"))
        except (pa.ArrowException, OSError):
            pass
        try:
            with pa.memory_map(str(path)) as file:
                return cls(path.name, pa.ipc.open_stream(file).read_all())
        except (pa.ArrowException, OSError):
            raise InputError(
                f"{path.name} must be an Arrow or Feather file, found what cannot be read as one"
            ) from None

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.data.schema.names)

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Reading:
        """Read through Arrow's own scanner, which hands DuckDB the columns in use batch by batch."""
        engine.register("arrow_data", self.data)
        return Reading(f"arrow_data AS {numbered(len(self.column_names))}", typed(self.data.schema, names))

    def explain(self, error: duckdb.Error) -> str:
        """One sentence."""
        return f"{self.name} must be a whole Arrow file, found one that cannot be read ({type(error).__name__})"


@dataclass(frozen=True)
class Statistical:
    """A SAS, SPSS or Stata file; the columns in use are read into memory."""

    path: Path
    column_names: tuple[str, ...]

    @classmethod
    def open(cls, path: Path) -> Statistical:
        """Read the column names."""
        return cls(path, read_names(path))

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Reading:
        """Read the columns in use."""
        return Arrow(self.path.name, read_columns(self.path, names)).read(engine, names)

    def explain(self, error: duckdb.Error) -> str:
        """One sentence."""
        return f"{self.path.name} cannot be grouped ({type(error).__name__})"


@dataclass(frozen=True)
class DuckDb:
    """A table or view of a DuckDB database file, opened read-only."""

    table: str
    schema: pa.Schema

    @classmethod
    def open(cls, engine: duckdb.DuckDBPyConnection, path: Path, table: str) -> DuckDb:
        """Attach the database and look the table up."""
        name = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
        try:
            engine.execute(f"ATTACH {quoted(path)} AS stored (READ_ONLY)")
            engine.execute("USE stored")
        except duckdb.Error as error:
            raise InputError(
                f"{path.name} must be a DuckDB database that no one else is writing, found one that cannot be opened "
                f"({type(error).__name__})"
            ) from None
        try:
            return cls(name, engine.sql(f"SELECT * FROM stored.{name} LIMIT 0").to_arrow_table().schema)
        except duckdb.Error:
            raise InputError(f"table {table!r} is not in the database") from None

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.schema.names)

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Reading:
        """Read where it lies."""
        return Reading(f"stored.{self.table} AS {numbered(len(self.schema.names))}", typed(self.schema, names))

    def explain(self, error: duckdb.Error) -> str:
        """One sentence."""
        return f"table {self.table} cannot be grouped ({type(error).__name__})"
