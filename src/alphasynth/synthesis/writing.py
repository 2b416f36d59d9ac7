"""Synthetic tables to files, chunk by chunk, in the format of the input or another."""

from __future__ import annotations

import csv
import errno
import io
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa

from alphasynth.catalogue import FORMATS
from alphasynth.synthesis.simulation import Simulation
from alphasynth.tables.csv_files import DELIMITERS
from alphasynth.tables.engine import quoted
from alphasynth.tables.statistical_files import FAMILIES as STATISTICAL
from alphasynth.tables.statistical_files import Labels, prepared
from alphasynth.tables.text_cells import guarded, guarded_column
from alphasynth.tables.workbooks import WORKBOOKS

TEXT = (".csv", ".tsv")
OF_SUFFIX = {suffix: name for name, suffix in FORMATS.items()} | {
    ".txt": "csv",
    ".pq": "parquet",
    ".ipc": "arrow",
    ".sas7bdat": "xport",
    ".zsav": "spss",
    ".por": "spss",
    **dict.fromkeys(WORKBOOKS, "csv"),
}


def nothing() -> None:
    """Do nothing before the first byte."""


@dataclass(frozen=True)
class Style:
    """How files look, beside their format: text files with what `safe` guards from spreadsheets; labels of others.

    `settled`: types come from declarations, so that none is chosen by what the values need. In text a `decimal` comma
    or point stands before the decimals of numbers.
    """

    delimiter: str = ","
    decimal: str = "."
    safe: bool = True
    labels: Labels | None = None
    settled: bool = False


def write_table(
    simulation: Simulation, path: Path, style: Style | None = None, begin: Callable[[], None] = nothing
) -> None:
    """Simulate a table into a file, in the format that its suffix names.

    `begin` is called before the first byte is written, when rows have been made and found fit for the format. Counts
    keep the input's integer type if they all fit, else they take 64 bits: where that turns out on the way, the same
    table is simulated again from the start.
    """
    style = replace(style or Style(), settled=simulation.layout.by_declaration)
    chunks = _Uniform(simulation)
    _write(chunks, path, style, begin)
    if chunks.outgrown:
        path.unlink()
        wider = {name: _widest(empty) for name, empty in simulation.layout.empty.items()}
        layout = replace(simulation.layout, empty=wider)
        _write(_Uniform(replace(simulation, layout=layout)), path, style, nothing)


def _widest(empty: pa.Array) -> pa.Array:
    return pa.array([], pa.int64()) if pa.types.is_integer(empty.type) else empty


class _Uniform:
    """Chunks of one schema, that of the first; ends early, `outgrown`, where a later chunk does not fit it."""

    def __init__(self, simulation: Simulation) -> None:
        self.chunks = simulation.chunks()
        self.first = next(self.chunks)
        self.outgrown = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        schema = self.first.schema
        yield from self.first.to_batches()
        for chunk in self.chunks:
            try:
                yield from (chunk if chunk.schema == schema else chunk.cast(schema)).to_batches()
            except pa.ArrowInvalid:
                self.outgrown = True
                return


def _write(chunks: _Uniform, path: Path, style: Style, begin: Callable[[], None]) -> None:
    schema = chunks.first.schema
    if path.suffix in STATISTICAL:  # made whole in memory, and checked there
        write = prepared(pa.Table.from_batches(chunks, schema), path, style.labels, style.settled)
        begin()
        write()
        return
    begin()
    if path.suffix in TEXT:
        _write_text(pa.RecordBatchReader.from_batches(schema, iter(chunks)), path, style)
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(path, schema) as parquet:
            for batch in chunks:
                parquet.write_batch(batch)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as arrow:
            for batch in chunks:
                arrow.write_batch(batch)


def _write_text(reader: pa.RecordBatchReader, path: Path, style: Style) -> None:
    """Text written by DuckDB, which quotes what needs quotes and nothing else.

    It would rename columns whose names differ in case alone, so the header is ours; where a name holds what could be
    taken for a delimiter all are quoted, so that none is. Times with a zone are written in theirs, with its offset:
    DuckDB would write them in the zone of this machine.
    """
    names = [guarded(name) if style.safe else name for name in reader.schema.names]
    head = io.StringIO(newline="")
    doubtful = any(mark in name for name in names for mark in DELIMITERS)
    quoting: Literal[0, 1] = csv.QUOTE_ALL if doubtful else csv.QUOTE_MINIMAL
    csv.writer(head, delimiter=style.delimiter, lineterminator="\n", quoting=quoting).writerow(names)
    body = path.with_suffix(".body")
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as engine:
        engine.register("synthetic", _numbered(reader, style.safe))
        try:
            engine.execute(
                f"COPY (SELECT {_cells(reader.schema, style.decimal)} FROM synthetic) TO {quoted(body)} "
                f"(FORMAT csv, HEADER false, DELIMITER {quoted(style.delimiter)})"
            )
        except duckdb.IOException:
            raise OSError(errno.EIO, f"{path.name} cannot be written; is the disk full?") from None
    with path.open("wb") as file, body.open("rb") as rows:
        file.write(head.getvalue().encode())
        shutil.copyfileobj(rows, file, 1 << 20)
    body.unlink()


def _cells(schema: pa.Schema, decimal: str) -> str:
    """SQL of columns c0, c1, ..., numbers with a comma before their decimals where that is asked for."""
    if decimal == ".":
        return "*"
    fractions = [pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in schema.types]
    return ", ".join(
        f"replace(CAST(c{i} AS VARCHAR), '.', '{decimal}') AS c{i}" if has else f"c{i}"
        for i, has in enumerate(fractions)
    )


def _numbered(reader: pa.RecordBatchReader, safe: bool) -> pa.RecordBatchReader:
    """The same batches with columns c0, c1, ..., times with a zone as text, and if need be text guarded."""
    kinds = [pa.string() if getattr(kind, "tz", None) else kind for kind in reader.schema.types]
    schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(kinds)])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = [column.cast(kind) for column, kind in zip(batch.columns, kinds, strict=True)]
            columns = [guarded_column(column) for column in columns] if safe else columns
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
