"""Columns for a whole table, from a look at each column alone: a start, to be checked and edited by hand.

All of it was read off the table and is marked so. Limits are rounded outward to coarse numbers, or to whole years,
which one row rarely moves; a far one still can, so somebody must say that they are public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from alphasynth.errors import ColumnTypeError, InputError
from alphasynth.models.suggestion import write_new
from alphasynth.raking.columns import Columns
from alphasynth.tables.declared import FIRST_DAY, HEAPS, SKEWED, Declared, day_of
from alphasynth.tables.engine import MISSING
from alphasynth.tables.gaps import missing
from alphasynth.tables.grouping import Stored
from alphasynth.tables.limits import fewest_decimals, last_bit_of, outward
from alphasynth.tables.opening import codebook_of, is_text_file
from alphasynth.tables.statistical_files import of_codebook
from alphasynth.tables.text_cells import COMMAS, have_commas

# Whole numbers and others with at most this many values are levels; text with more levels than this is left out.
FEW_WHOLE, FEW_OTHERS, MOST_LEVELS = 20, 64, 1_000
# How dates are written in text files; a time may follow.
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+)?$"
# A number is skewed where its mean lies within this part of its limits, from the lower one on.
NEAR_LOWER = 0.2
# Numbers are heaped that at least this part of the records have, and so many times as many as the median number.
HEAPED, TIMES_USUAL = 0.02, 4.0


@dataclass(frozen=True)
class ColumnsSuggestion:
    """Columns (confidential until they were checked), and those that are left out, with reasons."""

    columns: Columns
    left_out: tuple[tuple[str, str], ...] = ()


def suggest_columns(table: Stored) -> ColumnsSuggestion:
    """What might be declared of every column of a table; raise `InputError` where there is none that can be.

    >>> import pandas as pd
    >>> from tempfile import TemporaryDirectory
    >>> from alphasynth.tables.opening import open_table
    >>> with TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [18, 45, 60, 71] * 20}).to_csv(f"{folder}/people.csv", index=False)
    ...     suggest_columns(open_table(f"{folder}/people.csv")).columns.names
    ('age',)
    """
    declared, left_out, held_back = dict[str, Declared](), list[tuple[str, str]](), list[str]()
    names, book = list(table.column_names), codebook_of(table)
    for name in dict.fromkeys(names):
        seen = "its name occurs twice" if names.count(name) > 1 else _look(table, name, book.codes(name))
        if isinstance(seen, Declared):
            declared[name] = seen
        else:
            left_out.append((name, seen))
            held_back += [name] if names.count(name) == 1 else []
    if not declared:
        raise InputError("a table must have a column that can be declared, found none")
    return ColumnsSuggestion(Columns.of(declared, left_out=held_back), tuple(left_out))


def write_columns(suggestion: ColumnsSuggestion, path: Path) -> None:
    """Write a new file, for its owner's eyes; raise `InputError` where there is one."""
    lines = "".join(f"# left out: {name} ({why})\n" for name, why in suggestion.left_out)
    write_new(path, suggestion.columns.toml() + ("\n" + lines if lines else ""))


def _look(table: Stored, name: str, codes: Mapping[Any, str]) -> Declared | str:
    """What might be declared of a column, or why it is left out."""
    try:
        grouped = table.group([name], ())
    except ColumnTypeError:
        return "it is of a type that cannot be read exactly: convert it"
    values, counts = grouped.columns.column(0), grouped.counts
    if is_text_file(table) and pa.types.is_string(values.type):
        values = _of_text(values)
    gone = np.asarray(missing(values))
    gaps = bool(gone.any())
    present, counts = values.filter(pa.array(~gone)), counts[~gone]
    if len(present) == 0:
        return "it has no values"
    kind = present.type.value_type if pa.types.is_dictionary(present.type) else present.type
    if is_text_file(table) and pa.types.is_string(kind) and have_commas(present.cast(kind)):
        return COMMAS
    found = _of_codes(_facts(present.cast(kind), counts), present.cast(kind), codes)
    if isinstance(found, str):
        return found
    return replace(found, missing="model" if gaps else None, read_off=(*_seen(found), "missing"))


def _of_codes(found: Declared | str, values: pa.ChunkedArray, codes: Mapping[Any, str]) -> Declared | str:
    """With the codebook's levels and labels, where it names what the column holds."""
    if not codes or (isinstance(found, Declared) and found.dates) or pa.types.is_boolean(values.type):
        return found
    few = isinstance(found, Declared) and bool(found.levels)
    return of_codebook(codes, values.to_pylist(), few, MOST_LEVELS) or found


def _seen(found: Declared) -> tuple[str, ...]:
    """What was read off the table: that a number is not skewed, or has many decimals, is such a fact too."""
    if found.levels:
        return ("levels", "labels") if found.labels else ("levels",)
    if found.dates:
        return ("limits",)
    return ("limits", "whole", *(() if found.whole else ("decimals",)), SKEWED, HEAPS)


def _of_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """What stands in a text file: words for a missing value are gaps, and dates are dates where all values are."""
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(values)
    values = pc.if_else(pc.is_in(trimmed, pa.array(MISSING)), None, values)
    days = pc.if_else(values.is_valid(), pc.utf8_slice_codeunits(trimmed, 0, 10), None)
    if values.null_count == len(values) or not pc.all(
        pc.match_substring_regex(trimmed, DATE).filter(values.is_valid())
    ):
        return values
    try:
        return days.cast(pa.date32())
    except pa.ArrowInvalid:  # 2021-02-30
        return values


def _facts(values: pa.ChunkedArray, counts: np.ndarray) -> Declared | str:
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        days = np.asarray(values.cast(pa.date32()).cast(pa.int32()))
        first, last = (day_of(float(end)).year for end in (days.min(), days.max()))
        ends = (date(first, 1, 1).toordinal() - FIRST_DAY, date(last, 12, 31).toordinal() - FIRST_DAY)
        return Declared(limits=(float(ends[0]), float(ends[1])), whole=True, dates=True)
    if pa.types.is_boolean(kind):
        return Declared(levels=(False, True))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = _numbers(np.asarray(values.cast(pa.float64(), safe=False)), counts)  # large ones rounded
        return numbers if isinstance(numbers, str) else _with_decimals(numbers, values)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        return f"it holds {kind}, which are not numbers, dates or text"
    if len(values) == counts.sum() > 20:
        return "every value differs: an identifier?"
    if len(values) > MOST_LEVELS:
        return f"it has more than {MOST_LEVELS:,} levels: merge them"
    return Declared(levels=tuple(sorted(values.to_pylist())))


def _with_decimals(found: Declared, values: pa.ChunkedArray) -> Declared:
    """With the digits that numbers within limits have after the point, where these are few."""
    if found.limits is None or found.whole:
        return found
    decimals = fewest_decimals(np.asarray(values.cast(pa.float64())), last_bit_of(values.type))
    facts = replace(found, decimals=decimals or None)
    return replace(facts, heaps=tuple(facts.rounded(np.array(found.heaps)).tolist()))


def _numbers(values: np.ndarray, counts: np.ndarray) -> Declared | str:
    """Levels of numbers with few values; else limits, and whether most are near the lower one."""
    if not np.isfinite(values).all():
        return "it has infinite values"
    whole = bool((values == np.floor(values)).all())
    if whole and len(values) == counts.sum() > 20 and np.ptp(values) == len(values) - 1:
        return "every value differs and none is left out: a row number?"
    if len(values) <= (FEW_WHOLE if whole else FEW_OTHERS):
        return Declared(levels=tuple(int(v) if whole else v for v in sorted(values.tolist())))
    limits = outward(float(values.min()), float(values.max()))
    share = (np.average(values, weights=counts) - limits[0]) / (limits[1] - limits[0])
    heaped = counts >= max(HEAPED * counts.sum(), TIMES_USUAL * float(np.median(counts)))
    heaps = tuple(sorted(values[heaped & (values != 0)].tolist()))
    return Declared(limits=limits, whole=whole, skewed=bool(share < NEAR_LOWER), heaps=heaps)
