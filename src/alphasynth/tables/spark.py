"""Sums over the rows of a Spark table, added up on the executors: each part's first, then parts, slice by slice."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError, gathering
from alphasynth.tables.driver_errors import translated
from alphasynth.tables.grouping import Adding

# Sums that travel in one piece: pieces are added up beside each other, and a part's fit into any batch.
SLICE = 65_536
PIECES, REFUSED = "slice int, sums binary, refused string", -1
LOCAL = "local"


def add_up_on_executors(rows: Any, adding: Adding) -> np.ndarray:
    """Sums over the rows of a pyspark DataFrame; raise `InputError`, in the sentences that parts were refused with."""
    _use_own_python(rows.sparkSession)

    def part(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _sums_of_part(adding, batches)

    pieces = rows.mapInArrow(part, PIECES).groupBy("slice").applyInArrow(_together, PIECES).toArrow()
    refused = pieces.column("refused").drop_null().to_pylist()
    with gathering() as problems:
        for sentence in sorted({sentence for part in refused for sentence in part.split("\n")}):
            problems.say(sentence)
    in_order = sorted(zip(pieces.column("slice").to_pylist(), pieces.column("sums").to_pylist(), strict=True))
    return np.concatenate([np.frombuffer(sums, np.int64) for _, sums in in_order])


def _use_own_python(session: Any) -> None:
    """Executors of a session on this machine run the Python that runs here, where alphasynth is installed."""
    context = session.sparkContext
    if context.master.startswith(LOCAL):
        context.pythonExec = sys.executable


def _sums_of_part(adding: Adding, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """A part's sums in pieces, or why its rows are refused: Spark would quote a traceback, and values in it."""
    try:
        with translated("the table must be readable"):
            sums = adding(batches)
    except InputError as error:
        return _pieces([REFUSED], [b""], ["\n".join(error.sentences)])
    cut = [sums[first : first + SLICE].tobytes() for first in range(0, len(sums), SLICE)]
    return _pieces(list(range(len(cut))), cut, [None] * len(cut))


def _together(pieces: pa.Table) -> pa.Table:
    """Pieces of one slice, of several parts, as one."""
    number, refused = pieces.column("slice")[0].as_py(), pieces.column("refused").drop_null().to_pylist()
    sums = [np.frombuffer(piece, np.int64) for piece in pieces.column("sums").to_pylist()]
    added = np.sum(sums, axis=0, dtype=np.int64).tobytes()
    return pa.Table.from_batches([_pieces([number], [added], ["\n".join(sorted(set(refused))) or None])])


def _pieces(numbers: list[int], sums: list[bytes], refused: list[str | None]) -> pa.RecordBatch:
    columns = [pa.array(numbers, pa.int32()), pa.array(sums, pa.binary()), pa.array(refused, pa.string())]
    return pa.RecordBatch.from_arrays(columns, ["slice", "sums", "refused"])
