"""Synthetic tables to files, chunk by chunk, in the format of the input or another."""

from __future__ import annotations

import csv
import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from alphasynth.catalogue import FORMATS
from alphasynth.engine import quoted
from alphasynth.statistical_files import Labels
from alphasynth.statistical_files import write as write_statistical
from alphasynth.synthesize import Simulation

OF_SUFFIX = {suffix: name for name, suffix in FORMATS.items()} | {
    ".txt": "csv",
    ".pq": "parquet",
    ".ipc": "arrow",
    ".sas7bdat": "xport",
    ".zsav": "spss",
    ".por": "spss",
}


def write_table(simulation: Simulation, path: Path, delimiter: str = ",", labels: Labels | None = None) -> None:
    """Simulate a table into a file, in the format that its suffix names.

    Counts keep the input's integer type if they all fit, else they take 64 bits: where that turns out on the way, the
    same table is simulated again from the start.
    """
    chunks = _Uniform(simulation)
    _write(chunks, path, delimiter, labels)
    if chunks.outgrown:
        path.unlink()
        layout = replace(simulation.layout, empty_response=pa.array([], pa.int64()))
        _write(_Uniform(replace(simulation, layout=layout)), path, delimiter, labels)


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


def _write(chunks: _Uniform, path: Path, delimiter: str, labels: Labels | None) -> None:
    schema = chunks.first.schema
    if path.suffix in (".csv", ".tsv"):
        _write_text(pa.RecordBatchReader.from_batches(schema, iter(chunks)), path, delimiter)
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(path, schema) as parquet:
            for batch in chunks:
                parquet.write_batch(batch)
    elif path.suffix in (".arrow", ".feather"):
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as arrow:
            for batch in chunks:
                arrow.write_batch(batch)
    else:
        write_statistical(pa.Table.from_batches(chunks, schema), path, labels)


def _write_text(reader: pa.RecordBatchReader, path: Path, delimiter: str) -> None:
    """Text written by DuckDB, which quotes what needs quotes and nothing else; names go by their case to us only."""
    names = reader.schema.names
    if len({name.casefold() for name in names}) < len(names):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(names)
            for batch in reader:
                writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        return
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as engine:
        engine.register("synthetic", reader)
        try:
            engine.execute(f"COPY synthetic TO {quoted(path)} (FORMAT csv, HEADER, DELIMITER {quoted(delimiter)})")
        except duckdb.IOException:
            raise OSError(errno.EIO, f"{path.name} cannot be written; is the disk full?") from None
