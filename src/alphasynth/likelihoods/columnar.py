"""Matrices in Parquet and Arrow files: a column per record, or one column that holds a list per draw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from alphasynth.errors import InputError
from alphasynth.likelihoods.matrix import AT_ONCE, Block
from alphasynth.likelihoods.names import chosen

BUFFER = 1 << 20  # bytes read at a time of a column
MOST_COLUMNS = 20_000  # read at a time: each costs kilobytes beside its numbers


@dataclass(frozen=True, eq=False)
class ParquetColumns:
    """Columns of a Parquet file, some columns of one row group at a time."""

    file: pq.ParquetFile = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.file.metadata.num_rows, len(self.columns)

    def blocks(self) -> Iterator[Block]:
        """Row group by row group."""
        first = 0
        for group in range(self.file.metadata.num_row_groups):
            rows = self.file.metadata.row_group(group).num_rows
            wide = min(MOST_COLUMNS, max(1, AT_ONCE // max(rows, 1)))
            for start in range(0, len(self.columns), wide):
                names = list(self.columns[start : start + wide])
                part = self.file.read_row_group(group, columns=names, use_threads=False)
                yield Block(first, start, numbers(part.select(names)))
            first += rows


@dataclass(frozen=True, eq=False)
class ArrowFile:
    """Columns of an Arrow file, batch by batch; mapped anew for each, so that what was read does not stay in memory."""

    path: Path
    columns: tuple[str, ...] = field(repr=False)
    rows: tuple[int, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return sum(self.rows), len(self.columns)

    def blocks(self) -> Iterator[Block]:
        """Some rows of some columns of a batch at a time."""
        first = 0
        for number, rows in enumerate(self.rows):
            with pa.memory_map(str(self.path)) as mapped:
                batch = pa.Table.from_batches([pa.ipc.open_file(mapped).get_batch(number)])
                for block in ArrowColumns(batch, self.columns).blocks():
                    yield Block(first + block.draw, block.record, block.values)
            first += rows


@dataclass(frozen=True, eq=False)
class ArrowColumns:
    """Columns of Arrow batches in memory."""

    batches: pa.Table = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.batches.num_rows, len(self.columns)

    def blocks(self) -> Iterator[Block]:
        """Some rows of some columns at a time."""
        rows = max(1, min(self.batches.num_rows, AT_ONCE // max(1, min(len(self.columns), 64))))
        wide = max(1, AT_ONCE // rows)
        for start in range(0, len(self.columns), wide):
            some = self.batches.select(list(self.columns[start : start + wide]))
            for first in range(0, self.batches.num_rows, rows):
                yield Block(first, start, numbers(some.slice(first, rows)))


@dataclass(frozen=True, eq=False)
class ParquetLists:
    """One column of a Parquet file that holds a list of n numbers for each draw."""

    file: pq.ParquetFile = field(repr=False)
    column: str
    n: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and numbers in a list."""
        return self.file.metadata.num_rows, self.n

    def blocks(self) -> Iterator[Block]:
        """Some rows at a time."""
        first = 0
        for batch in self.file.iter_batches(max(1, AT_ONCE // self.n), columns=[self.column], use_threads=False):
            yield Block(first, 0, _lists(batch.column(0), self.n))
            first += len(batch)


def open_parquet(path: Path, name: str) -> ParquetColumns | ParquetLists:
    """A Parquet file's matrix."""
    try:
        # With a buffer pages are read one after another; without, a whole column of a row group, which may be the file.
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER)
    except pa.ArrowInvalid:
        raise InputError(f"log_lik must be a Parquet file, found another kind in {path.name!r}") from None
    schema = file.schema_arrow
    if len(schema) == 1 and _is_list(schema.field(0).type):
        start = next(file.iter_batches(1, columns=[schema.field(0).name]), None)
        n = 0 if start is None or not start.column(0)[0].is_valid else len(start.column(0)[0])
        return ParquetLists(file, schema.field(0).name, n)
    return ParquetColumns(file, _numeric(schema, name))


def open_arrow(path: Path, name: str) -> ArrowFile:
    """The matrix of an Arrow or Feather file."""
    try:
        with pa.memory_map(str(path)) as mapped:
            reader = pa.ipc.open_file(mapped)
            rows = tuple(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))
            return ArrowFile(path, _numeric(reader.schema, name), rows)
    except pa.ArrowInvalid:
        kind = "a stream" if _is_stream(path) else "another kind"
        raise InputError(
            f"log_lik must be an Arrow file, which can be read in parts, found {kind} in {path.name!r}"
        ) from None


def _is_stream(path: Path) -> bool:
    """Whether it is Arrow's other format, which is read from its beginning only."""
    try:
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped):
            return True
    except (pa.ArrowInvalid, OSError):
        return False


def of_table(table: pa.Table, name: str) -> ArrowColumns:
    """The matrix of an Arrow table."""
    return ArrowColumns(table, _numeric(table.schema, name))


def numbers(table: pa.Table) -> np.ndarray:
    """Columns side by side as float64; gaps are refused."""
    if any(column.null_count for column in table.columns):
        raise InputError("log_lik must hold numbers, found entries that are missing")
    return np.stack([column.to_numpy().astype(np.float64, copy=False) for column in table.columns], axis=1)


def _numeric(schema: pa.Schema, name: str) -> tuple[str, ...]:
    names, kinds = schema.names, schema.types  # each asked for once: both are lists made anew
    if len(set(names)) != len(names):
        raise InputError("columns of log_lik must have names of their own, found some twice")
    places = chosen(names, name)
    columns = [names[i] for i in places]
    for column, kind in zip(columns, (kinds[i] for i in places), strict=True):
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise InputError(f"log_lik must hold numbers, found column {column!r} of {kind} values")
    return tuple(columns)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _lists(column: pa.Array, n: int) -> np.ndarray:
    flat = column.flatten()
    lengths = column.value_lengths() if not pa.types.is_fixed_size_list(column.type) else None
    same = lengths is None or all(length == n for length in lengths.to_pylist())
    if column.null_count or not same or len(flat) != len(column) * n:
        raise InputError(f"each draw of log_lik must have {n:,} numbers, as the first has, found another length")
    if flat.null_count:
        raise InputError("log_lik must hold numbers, found entries that are missing")
    return flat.to_numpy(zero_copy_only=False).astype(np.float64, copy=False).reshape(len(column), n)
