"""Rows of a confidential table as fine cells of its declared columns, in as few bytes as they take; all is checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from alphasynth.errors import Gathering, InputError, gathering
from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns, SurveyWeight
from alphasynth.raking.values import keeping
from alphasynth.tables.declared import Declared
from alphasynth.tables.gaps import missing
from alphasynth.tables.limits import as_floats, day_numbers

NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)

NO_ROWS = "the table must have at least one row, found none"
# Weights are whole numbers from 0 to this, which stands for the largest: fine enough for those of which it is many
# times the usual one. Sums stay exact: of counts over 2^23 rows in floats, of vectors over 2^26 rows in 64 bits.
HEAVIEST = 1 << 20


class Read(NamedTuple):
    """Fine cells (n,) of every column, in order, and weights (n,), if there are any (confidential)."""

    codes: tuple[np.ndarray, ...]
    weights: np.ndarray | None


def read_codes(columns: Columns, batches: Iterable[pa.RecordBatch]) -> Read:
    """Fine cells of every column, all rows together; raise `InputError`."""
    return joined(list(read_parts(columns, batches)))


def joined(parts: Sequence[Read]) -> Read:
    """Parts as one; raise `InputError` where there is no row."""
    if not any(len(part.codes[0]) for part in parts):
        raise InputError(NO_ROWS)
    codes = tuple(np.concatenate(each) for each in zip(*(part.codes for part in parts), strict=True))
    weights = [part.weights for part in parts if part.weights is not None]
    return Read(codes, np.concatenate(weights) if weights else None)


def read_parts(columns: Columns, batches: Iterable[pa.RecordBatch]) -> Iterator[Read]:
    """Fine cells of every column, batch by batch, the weight last in each; raise `InputError` for other values."""
    cells, facts = columns.cells(), list(columns.declared.values())
    wrong = [Gathering() for _ in (*cells, "weight", "constraints")]
    for batch in batches:
        codes, values, weights = list[np.ndarray](), dict[str, tuple[np.ndarray, np.ndarray]](), None
        for column, fact, held, problems in zip(cells, facts, batch.columns[: len(cells)], wrong, strict=False):
            with problems:
                values[column.name] = found = _values(column, fact, held, problems)
                codes.append(column.codes(*found).astype(np.min_scalar_type(column.size)))
        with wrong[-2]:
            weights = None if columns.weight is None else _weights(columns.weight, batch.columns[-1])
        known = [each for each in columns.constraints if each.names <= values.keys()]
        if known and not keeping(known, [each for each in cells if each.name in values], list(values.values())).all():
            wrong[-1].say("constraints must hold in every row of the table, found rows that break one")
        if not any(wrong):
            yield Read(tuple(codes), weights)
    with gathering() as problems:  # the rows to the end, so that what is said does not depend on their order
        for each in wrong:
            with problems:
                each.refuse()


def _weights(weight: SurveyWeight, column: pa.Array) -> np.ndarray:
    """Weights as parts of the largest, in whole numbers; larger ones count as that."""
    facts = Declared(limits=(0.0, math.inf))
    numbers = _numbers(weight.column, facts, column)
    if np.asarray(missing(column)).any() or not (numbers >= 0).all() or not np.isfinite(numbers).all():
        raise InputError(f"column {weight.column!r}, the weight, must hold numbers of at least 0, found others or gaps")
    return np.rint(np.minimum(numbers / weight.largest, 1.0) * HEAVIEST).astype(np.int64)


def squares(weights: np.ndarray) -> np.ndarray:
    """Squares of weights (n,) on the same scale: whole numbers from 0 to that of the largest, which is 1."""
    return (weights**2 + HEAVIEST // 2) // HEAVIEST


def _values(cells: Cells, declared: Declared, column: pa.Array, problems: Gathering) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, or places among levels of text, with 0 for gaps; and where gaps are."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    gone = np.asarray(missing(column))
    if gone.all():
        return np.zeros(len(column)), gone
    if cells.text:
        return _places(cells, column, gone), gone
    numbers = _numbers(cells.name, declared, column)
    present = numbers[~gone]
    if not np.isfinite(present).all():
        raise InputError(f"column {cells.name!r} must be finite, found infinite values")
    if declared.whole and (present != np.floor(present)).any():
        problems.say(f"column {cells.name!r} must hold whole numbers, as declared, found others")
    if declared.decimals is not None:  # within limits as stored: rounding must not lead out of them
        numbers = np.where(declared.outside(numbers), numbers, declared.within(declared.rounded(numbers)))
    return np.where(gone, 0.0, numbers), gone


def _numbers(name: str, declared: Declared, column: pa.Array) -> np.ndarray:
    """A column's numbers; of dates their days' numbers from 1970 on."""
    kind = column.type
    if declared.dates:
        if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            raise InputError(f"column {name!r} must hold dates, as declared, found {kind}")
        column = day_numbers(column)
    elif not any(test(kind) for test in NUMBERS):
        raise InputError(f"column {name!r} must hold numbers, as declared, found {kind}")
    return np.asarray(as_floats(column).fill_null(0.0))


def _places(cells: Cells, column: pa.Array, gone: np.ndarray) -> np.ndarray:
    """Places among levels of text."""
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise InputError(f"column {cells.name!r} must hold text, as its declared levels do, found {kind}")
    import pyarrow.compute as pc

    places = pc.index_in(column.cast(pa.string()), pa.array(list(cells.levels), pa.string()))
    unknown = np.asarray(places.is_null()) & ~gone
    if unknown.any():
        raise InputError(f"column {cells.name!r} must hold its declared levels and no others, found others")
    return np.asarray(places.fill_null(0))
