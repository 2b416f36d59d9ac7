"""Columns with gaps: where they are, how many, and a column with gaps as an indicator and a column without."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.errors import InputError, gathering
from alphasynth.tables.declared import Declared
from alphasynth.tables.limits import as_floats


def gap_counts(columns: pa.Table, counts: np.ndarray | None) -> dict[str, int]:
    """Number of records with a gap, by column that has any."""
    found = {}
    for name in columns.column_names:
        mask = np.asarray(missing(columns.column(name)))
        number = int(mask.sum() if counts is None else counts[mask].sum())
        if number:
            found[name] = number
    return found


def missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Where a column has no value; what is not a number is none."""
    return pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))


def indicator_of(name: str) -> str:
    """The name of a column's indicator of gaps."""
    return f"{name} is missing"


def stand_in(declared: Declared) -> Any:
    """The public value that stands in for a gap: the first level, the least whole number within limits, or 0.

    Where no whole number lies within, the lower limit.
    """
    if declared.levels:
        return declared.levels[0]
    if declared.limits is None:
        return 0
    low, high = declared.limits
    return math.ceil(low) if math.ceil(low) <= high else low


def split_gaps(columns: pa.Table, facts: Mapping[str, Declared]) -> pa.Table:
    """Columns with modelled or public gaps filled by a public value, and their indicators beside them."""
    made: dict[str, Any] = {}
    indicators: dict[str, Any] = {}
    with gathering() as problems:
        for name in columns.column_names:
            made[name] = column = columns.column(name)
            declared = facts.get(name, Declared())
            if declared.missing in ("model", "public"):
                indicators[indicator_of(name)] = missing(column)
                with problems:
                    made[name] = _filled(name, column, declared)
    return pa.table(made | indicators)


def _filled(name: str, column: pa.ChunkedArray, declared: Declared) -> pa.ChunkedArray:
    """A public value stands in for what is missing: the first level or the lower limit, else 0 or no text."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    plain = column.cast(kind)
    if pa.types.is_floating(kind):
        plain = pc.if_else(pc.is_nan(plain), None, plain)
    if plain.null_count == len(plain):  # of gaps alone a file does not tell the type
        return pa.chunked_array([pa.repeat(stand_in(declared), len(plain))])
    if pa.types.is_decimal(kind):
        kind, plain = pa.float64(), as_floats(plain)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    value = "" if text and not declared.levels else stand_in(declared)
    if isinstance(value, str) != text:
        raise InputError(f"column {name!r} must have levels of its own type where it has gaps, found others")
    if pa.types.is_integer(kind) and not _held_by(kind, value):
        kind, plain = pa.float64(), plain.cast(pa.float64())
    return pc.fill_null(plain, pa.scalar(value).cast(kind))


def _held_by(kind: pa.DataType, value: Any) -> bool:
    """Whether a type of whole numbers can hold a number."""
    try:
        pa.scalar(value).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
