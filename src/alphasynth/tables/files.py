"""The files that tables come in, told by their suffix: text, Parquet, Arrow, SAS, SPSS, Stata; and DuckDB databases."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pyarrow as pa

from alphasynth.errors import ColumnTypeError, InputError
from alphasynth.tables.driver_errors import UNREADABLE, look_through
from alphasynth.tables.engine import Column, Reading, quoted
from alphasynth.tables.statistical_files import Labels, read_columns, read_labels, read_names

PARQUET = (".parquet", ".pq")
# What stands for a missing value in a key of a folder's name.
NO_KEY = "__HIVE_DEFAULT_PARTITION__"


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


def parts_of(path: Path) -> tuple[Path, ...]:
    """A file by itself, or the Parquet files of a folder and of those in it, by name; none that begins with . or _."""
    if not path.is_dir():
        return (path,)
    found = sorted(part for part in path.rglob("*") if part.suffix.lower() in PARQUET and part.is_file())
    return tuple(part for part in found if not any(name[0] in "._" for name in part.relative_to(path).parts))


def keys_of(path: Path, parts: Sequence[Path]) -> dict[str, pa.DataType]:
    """Keys in the names of a folder's folders, year=2024, by name and in order: whole numbers, dates or text."""
    pairs = [[name.partition("=") for name in part.relative_to(path).parts[:-1]] for part in parts]
    names = [[unquote(name) for name, _, _ in pair] for pair in pairs]
    if not all(mark for pair in pairs for _, mark, _ in pair) or any(each != names[0] for each in names):
        raise InputError(
            f"folders in {path.name!r} must be named by the same keys in the same order (year=2024/month=1) with "
            "--hive, found others"
        )
    if not names[0] or len(set(names[0])) < len(names[0]):
        found = "one twice" if names[0] else "none"
        raise InputError(f"folders in {path.name!r} must be named by keys (year=2024) with --hive, found {found}")
    return {name: _key_kind({unquote(pair[i][2]) for pair in pairs}) for i, name in enumerate(names[0])}


def _key_kind(values: set[str]) -> pa.DataType:
    """The type that all values of a key have; 007 is a code."""
    known = values - {NO_KEY}
    if known and all(re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", value) for value in known):
        return pa.int64()
    return pa.date32() if known and all(map(_is_day, known)) else pa.string()


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@dataclass(frozen=True)
class Parquet:
    """A Parquet file, or a folder of parts of one table; `keys` are columns that its folders' names hold."""

    path: Path
    schema: pa.Schema
    keys: tuple[str, ...] = ()
    names_are_public = True

    @classmethod
    def open(cls, path: Path, hive: bool = False) -> Parquet:
        """Read the schema, which all parts must share; with `hive` keys in folders' names are columns too."""
        import pyarrow.parquet as pq

        parts = parts_of(path)
        if not parts:
            raise InputError(f"a folder must hold Parquet files, found none in {path.name!r}")
        try:
            schemas = [pq.read_schema(part).remove_metadata() for part in parts]
        except UNREADABLE:
            raise InputError(f"{path.name} must be a Parquet file, found what cannot be read as one") from None
        if any(schema != schemas[0] for schema in schemas):
            raise InputError(
                f"Parquet files of a folder must have the same columns and types, found others in {path.name!r}"
            )
        schema = pq.read_schema(parts[0])
        keys = keys_of(path, parts) if hive else {}
        both = next((name for name in keys if name in schema.names), None)
        if both is not None:
            raise InputError(f"keys in folders' names must not be columns of the files too, found {both!r} among both")
        for name, kind in keys.items():
            schema = schema.append(pa.field(name, kind))
        return cls(path, schema, tuple(keys))

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.schema.names)

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Reading:
        """Read by DuckDB itself: only the columns in use, a group of rows at a time."""
        # Hive partitions off: in a folder called y=5 every y would be 5.
        listed = ", ".join(quoted(glob.escape(str(part))) for part in parts_of(self.path))
        options, inside = "hive_partitioning=false", len(self.schema.names) - len(self.keys)
        if not self.keys:
            relation = f"read_parquet([{listed}], {options}) AS {numbered(inside)}"
        else:
            part = max((*self.schema.names, ""), key=len) + "_part"  # the name of no column
            columns = ["*", *(self._key(place) for place in range(len(self.keys)))]
            source = f"read_parquet([{listed}], {options}, filename={quoted(part)})"
            own = ", ".join([*(f"c{i}" for i in range(inside)), "part"])
            relation = f"(SELECT {', '.join(columns)} FROM {source} AS t({own}))"
        return Reading(relation, typed(self.schema, names, self._levels))

    def _key(self, place: int) -> str:
        """SQL of a key, from the path of the part that a row is in: the engine's own guesses at types and names."""
        number = len(self.schema.names) - len(self.keys) + place
        inside = f"substr(part, {len(str(self.path)) + 2})"
        value = f"url_decode(regexp_replace(split_part({inside}, '/', {place + 1}), '^[^=]*=', ''))"
        kind = {pa.int64(): "BIGINT", pa.date32(): "DATE"}.get(self.schema.field(number).type, "VARCHAR")
        return f"CAST(nullif({value}, {quoted(NO_KEY)}) AS {kind}) AS c{number}"

    def _levels(self, name: str) -> pa.Array:
        import pyarrow.parquet as pq

        with pq.ParquetFile(parts_of(self.path)[0]) as file:
            groups = [i for i in range(file.num_row_groups) if file.metadata.row_group(i).num_rows]
            table = file.read_row_group(groups[0], columns=[name]) if groups else pa.table({})
        return first_levels(table.column(0) if table.num_columns else pa.chunked_array([], pa.string()))

    def explain(self, error: Exception) -> str:
        """One sentence."""
        return f"{self.path.name} must be a whole Parquet file, found one that cannot be read ({type(error).__name__})"


@dataclass(frozen=True, eq=False)
class Arrow:
    """An Arrow IPC (Feather) file, or a table in memory. What is in a `file` is looked through before it is scanned."""

    name: str
    data: Any = field(repr=False)  # a pyarrow Dataset or Table
    file: Path | None = None
    sound: set[int] = field(default_factory=set, repr=False)  # columns that were looked through
    names_are_public = True

    @classmethod
    def open(cls, path: Path) -> Arrow:
        """Open the file; nothing of it is read before it is asked for."""
        import pyarrow.dataset as ds

        for read in (partial(ds.dataset, path, format="ipc"), partial(_stream, path)):
            try:
                opened = cls(path.name, read(), path)
                assert isinstance(opened.column_names, tuple), "names that are no text are met here"
                return opened
            except UNREADABLE:
                continue
        raise InputError(f"{path.name} must be an Arrow or Feather file, found what cannot be read as one")

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.data.schema.names)

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Reading:
        """Read through Arrow's own scanner, which hands DuckDB the columns in use batch by batch."""
        places = {self.data.schema.names.index(name) for name in names} - self.sound
        if self.file is not None and places:
            look_through(self.file, self.data if isinstance(self.data, pa.Table) else None, sorted(places))
            self.sound.update(places)
        engine.register("arrow_data", self.data)
        columns = typed(self.data.schema, names, self._levels)
        return Reading(f"arrow_data AS {numbered(len(self.column_names))}", columns)

    def _levels(self, name: str) -> pa.Array:
        whole = isinstance(self.data, pa.Table)
        return first_levels(self.data.column(name) if whole else self.data.head(1, columns=[name]).column(0))

    def explain(self, error: Exception) -> str:
        """One sentence."""
        return f"{self.name} must be a whole Arrow file, found one that cannot be read ({type(error).__name__})"


def _stream(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_stream(file).read_all()


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

    def explain(self, error: Exception) -> str:
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

    def explain(self, error: Exception) -> str:
        """One sentence."""
        return f"table {self.table} cannot be grouped ({type(error).__name__})"
