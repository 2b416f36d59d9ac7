"""The files that tables come in, told by their suffix: text, Parquet, Arrow, SAS, SPSS, Stata; and DuckDB databases."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from alphasynth.errors import ColumnTypeError, InputError
from alphasynth.tables.engine import Column, Reading, quoted
from alphasynth.tables.statistical_files import Labels, read_columns, read_labels, read_names


def typed(
    schema: pa.Schema, names: Sequence[str], levels: Callable[[str], pa.Array] | None = None
) -> dict[str, Column]:
    """Columns c0, c1, ... of a relation, each in the type that its file gives it, with its `levels` if categorical."""
    columns = {}
    for name in names:
        number = schema.names.index(name)
        kind = _without_views(schema.field(number).type)
        if pa.types.is_decimal256(kind) or pa.types.is_float16(kind) or pa.types.is_duration(kind):
            raise ColumnTypeError(
                f"column {name!r} must be of a type that is read exactly, found {kind}; convert it first"
            )
        known = levels(name) if levels is not None and pa.types.is_dictionary(kind) else None
        columns[name] = Column(f"c{number}", f"c{number}", kind, kind, known)
    return columns


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Text and bytes in the layout that every tool reads."""
    if pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(kind) else kind


def first_levels(column: pa.ChunkedArray) -> pa.Array:
    """Levels of a categorical column as its first chunk has them."""
    if column.num_chunks and isinstance(column.chunk(0), pa.DictionaryArray):
        return column.chunk(0).dictionary
    return pa.array([], pa.string())


def numbered(size: int) -> str:
    """Alias t(c0, c1, ...): columns go by their place, since names may be doubled or differ in case alone."""
    return f"t({', '.join(f'c{i}' for i in range(size))})"


@dataclass(frozen=True)
class Parquet:
    """A Parquet file."""

    path: Path
    schema: pa.Schema
    names_are_public = True

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
        # Hive partitions off: in a folder called y=5 every y would be 5.
        source = f"read_parquet({quoted(glob.escape(str(self.path)))}, hive_partitioning=false)"
        return Reading(f"{source} AS {numbered(len(self.schema.names))}", typed(self.schema, names, self._levels))

    def _levels(self, name: str) -> pa.Array:
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path) as file:
            groups = [i for i in range(file.num_row_groups) if file.metadata.row_group(i).num_rows]
            table = file.read_row_group(groups[0], columns=[name]) if groups else pa.table({})
        return first_levels(table.column(0) if table.num_columns else pa.chunked_array([], pa.string()))

    def explain(self, error: duckdb.Error) -> str:
        """One sentence."""
        return f"{self.path.name} must be a whole Parquet file, found one that cannot be read ({type(error).__name__})"


@dataclass(frozen=True, eq=False)
class Arrow:
    """An Arrow IPC (Feather) file, or a table in memory."""

    name: str
    data: Any = field(repr=False)  # a pyarrow Dataset or Table
    names_are_public = True

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
        columns = typed(self.data.schema, names, self._levels)
        return Reading(f"arrow_data AS {numbered(len(self.column_names))}", columns)

    def _levels(self, name: str) -> pa.Array:
        whole = isinstance(self.data, pa.Table)
        return first_levels(self.data.column(name) if whole else self.data.head(1, columns=[name]).column(0))

    def explain(self, error: duckdb.Error) -> str:
        """One sentence."""
        return f"{self.name} must be a whole Arrow file, found one that cannot be read ({type(error).__name__})"


@dataclass(frozen=True)
class Statistical:
    """A SAS, SPSS or Stata file; the columns in use are read into memory."""

    path: Path
    column_names: tuple[str, ...]
    names_are_public = True

    @classmethod
    def open(cls, path: Path) -> Statistical:
        """Read the column names."""
        return cls(path, read_names(path))

    @property
    def labels(self) -> Labels:
        """What the file says of its columns beside their values."""
        return read_labels(self.path)

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
    names_are_public = True

    @classmethod
    def open(cls, engine: duckdb.DuckDBPyConnection, path: Path, table: str) -> DuckDb:
        """Attach the database and look the table up."""
        try:
            engine.execute(f"ATTACH {quoted(path)} AS stored (READ_ONLY)")
            engine.execute("USE stored")
        except duckdb.Error as error:
            raise InputError(
                f"{path.name} must be a DuckDB database that no one else is writing, found one that cannot be opened "
                f"({type(error).__name__})"
            ) from None
        for parts in ([table], table.split(".")):  # a name may have a dot in it, or a schema before one
            name = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
            try:
                return cls(name, engine.sql(f"SELECT * FROM stored.{name} LIMIT 0").to_arrow_table().schema)
            except duckdb.Error:
                continue
        raise InputError(f"table {table!r} is not in the database")

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
