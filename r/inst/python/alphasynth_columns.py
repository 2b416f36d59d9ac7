"""Columns, matrices and the order of rows on their way from R and back: all go over as bytes.

No NumPy array crosses the border as one: which NumPy versions reticulate can convert depends on its own version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from alphasynth.tables.grouping import Grouped
from alphasynth.tables.public_columns import refuse_sorted, sorted_by_public


def arrow(columns: list[dict[str, Any]]) -> pa.Table:
    """A table from R's columns: eight bytes of each number, four of each whole number, code, day or truth value."""
    return pa.table([_column(one) for one in columns], names=[one["name"] for one in columns])


def _column(one: dict[str, Any]) -> pa.Array:
    values = np.frombuffer(one["bytes"], np.float64 if one["kind"] == "double" else np.int32)
    gone = np.isnan(values) if one["kind"] == "double" else values == np.iinfo(np.int32).min
    mask = gone if gone.any() else None
    if one["kind"] in ("factor", "character"):
        codes = pa.array(values - 1, pa.int32(), mask=mask)
        made = pa.DictionaryArray.from_arrays(codes, pa.array(one["levels"], pa.string()), ordered=one["ordered"])
        return made if one["kind"] == "factor" else made.cast(pa.string())
    if one["kind"] == "logical":
        return pa.array(values == 1, mask=mask)
    return pa.array(values, pa.date32() if one["kind"] == "Date" else None, mask=mask)


# R's NA among numbers is a NaN with these bits, which it tells from any other NaN.
NA = np.uint64(0x7FF00000000007A2)


def with_na(values: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Numbers with R's NA where they are gone."""
    return np.where(gone, NA, np.ascontiguousarray(values, np.float64).view(np.uint64)).view(np.float64)


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """R's columns from a synthetic table; text and categories as codes and the levels that they may have."""
    return [_plain(name, table.column(name).combine_chunks()) for name in table.column_names]


def _plain(name: str, column: pa.Array) -> dict[str, Any]:
    kind, levels = column.type, None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        levels, column = [str(level) for level in column.dictionary.to_pylist()], column.indices
        word = "factor" if pa.types.is_dictionary(kind) else "character"
    elif pa.types.is_boolean(kind):
        word, column = "logical", column.cast(pa.int32())
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        word, column = "Date", column.cast(pa.date32()).cast(pa.int32())
    else:
        word = "integer" if pa.types.is_integer(kind) else "double"
    gone = np.asarray(column.is_null())
    if word == "double":
        values = with_na(column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False), gone)
    else:
        whole = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        if np.abs(whole).max(initial=0) <= np.iinfo(np.int32).max:
            values = np.where(gone, np.iinfo(np.int32).min, whole + (levels is not None)).astype(np.int32)
        else:  # R's integers have 32 bits
            word, values = "double", with_na(whole, gone)
    return {"name": name, "kind": word, "bytes": bytearray(values.tobytes()), "levels": levels}


def numbers(values: Any) -> bytearray:
    """An array as R reads it: eight bytes each, column by column."""
    return bytearray(np.asarray(values, np.float64).tobytes(order="F"))


def matrix(rows: int, columns: int, parts: list[bytearray]) -> np.ndarray:
    """R's matrix from the bytes of its columns, in parts."""
    whole = np.empty((rows, columns), order="F")
    start = 0
    for part in parts:
        block = np.frombuffer(part, np.float64).reshape((rows, -1), order="F")
        whole[:, start : start + block.shape[1]] = block
        start += block.shape[1]
    return whole


def _rows(table: pa.Table, names: Sequence[str], public: Sequence[str], index: np.ndarray | None = None) -> Grouped:
    """A frame's rows as a stored table's are, a line for each of them; factors to be read as R sorts them."""
    read = {name: _sortable(table.column(name)) for name in names}
    return Grouped(pa.table(read), table.select(public), np.ones(len(table), np.int64), index, {})


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    whole = column.combine_chunks()
    return pa.chunked_array([whole.indices]) if pa.types.is_dictionary(whole.type) else column


def check_order(table: pa.Table, used: Sequence[str], public: Sequence[str]) -> None:
    """Refuse rows in the order of a confidential column, as the command line does, where they are released in it."""
    if public and {*used, *public} <= set(table.column_names):  # what is not there is refused later
        refuse_sorted(_rows(table, used, public, np.arange(len(table))))


def in_public_order(table: pa.Table, public: Sequence[str]) -> pa.Table:
    """Rows sorted by their public columns. Of rows that these make equal, synthetic values tell no order."""
    return table.take(sorted_by_public(_rows(table, (), public)).index) if public else table
