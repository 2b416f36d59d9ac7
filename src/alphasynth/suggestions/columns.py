"""Columns for a whole table, from a look at each column alone: a start, to be checked and edited by hand.

All of it was read off the table and is marked so. Limits are rounded outward to coarse numbers, or to whole years,
which one row rarely moves; a far one still can, so somebody must say that they are public.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from alphasynth.errors import ColumnTypeError, InputError
from alphasynth.raking.columns import Columns
from alphasynth.suggestions.ends import TIMES_USUAL, stretched
from alphasynth.suggestions.files import write_new
from alphasynth.suggestions.first_lines import check_header
from alphasynth.suggestions.identifiers import Identifier, identifier, reasons, unit_among
from alphasynth.tables.declared import FIRST_DAY, HEAPS, SKEWED, Declared, day_of
from alphasynth.tables.engine import MISSING
from alphasynth.tables.gaps import missing
from alphasynth.tables.grouping import Stored
from alphasynth.tables.limits import as_floats, day_numbers, fewest_decimals, last_bit_of, outward
from alphasynth.tables.opening import codebook_of, is_text_file
from alphasynth.tables.statistical_files import of_codebook
from alphasynth.tables.text_cells import AS_DATES, COMMAS, have_commas, have_dates

LARGEST_WHOLE = 2**53  # larger ones are not told apart as 64-bit floats, in which all numbers are looked at
# Whole numbers and others with at most this many values are levels; text with more levels than this is left out.
FEW_WHOLE, FEW_OTHERS, MOST_LEVELS = 20, 64, 1_000
EARLIEST, LATEST = (date(year, 12, 31).toordinal() - FIRST_DAY for year in (1, 9998))
# How dates are written in text files; a time may follow.
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+)?$"
# A number is skewed where its mean lies within this part of its limits, from the lower one on.
NEAR_LOWER = 0.2
# Numbers are heaped that at least this part of the records have, and many times as many as the median number.
HEAPED = 0.02


# A column that is called so holds codes where it holds whole numbers; two of them are as good either way.
CALLED = frozenset(
    """
    area branch canton category cause city code country county department dept diagnosis district division ethnic
    ethnicity group icd industry job kind marital occupation party province race region religion sector state type
    """.split()  # noqa: SIM905 - a list of so many words would take a line for each
)
TWO = 2
# Of a table with fewer rows all that is read off it tells of single ones.
FEW_ROWS, FEW = 20, "so few rows: what was read off the table tells of single ones"


UNNAMED = "it has no name in the header"


class _Seen(NamedTuple):
    """What might be declared of a column, and why to look at it first, if there is a reason."""

    facts: Declared
    doubt: str = ""


@dataclass(frozen=True)
class ColumnsSuggestion:
    """Columns (confidential until they were checked), and those that are left out, with reasons.

    `unit` is one of these that seems to tell persons with several rows apart, and how many they have at most. `doubts`
    are what to look at first, by column.
    """

    columns: Columns
    left_out: tuple[tuple[str, str], ...] = ()
    unit: tuple[str, int] | None = None
    doubts: tuple[tuple[str, str], ...] = ()


def suggest_columns(table: Stored, response: Sequence[str] = ()) -> ColumnsSuggestion:
    """What might be declared of every column of a table; raise `InputError` where there is none that can be.

    A `response` is a column that matters most.

    >>> import pandas as pd
    >>> from tempfile import TemporaryDirectory
    >>> from alphasynth.tables.opening import open_table
    >>> with TemporaryDirectory() as folder:
    ...     pd.DataFrame({"age": [18, 45, 60, 71] * 20}).to_csv(f"{folder}/people.csv", index=False)
    ...     suggest_columns(open_table(f"{folder}/people.csv")).columns.names
    ('age',)
    """
    check_header(table)
    declared, left_out, held_back = dict[str, Declared](), list[tuple[str, str]](), list[str]()
    units, doubts = dict[str, Identifier](), list[tuple[str, str]]()
    names, book = list(table.column_names), codebook_of(table)
    for name in dict.fromkeys(names):
        unnamed = "its name occurs twice" if names.count(name) > 1 else "" if name.strip() else UNNAMED
        seen = unnamed or _look(table, name, book.codes(name))
        if isinstance(seen, _Seen):
            declared[name] = seen.facts
            doubts += [(name, seen.doubt)] if seen.doubt else []
            continue
        if isinstance(seen, Identifier):
            units[name] = seen
            seen = seen.why
        left_out.append((name, seen))
        held_back += [] if unnamed else [name]
    if not declared:
        raise InputError(f"a table must have a column that can be declared, found none{reasons(left_out)}")
    columns = Columns.of(declared, left_out=held_back).with_response(response, ())
    return ColumnsSuggestion(columns, tuple(left_out), unit_among(units), tuple(doubts))


def write_columns(suggestion: ColumnsSuggestion, path: Path) -> None:
    """Write a new file, for its owner's eyes; raise `InputError` where there is one."""
    write_new(path, suggestion.columns.toml(), suggestion.left_out, suggestion.doubts)


def _look(table: Stored, name: str, codes: Mapping[Any, str]) -> _Seen | Identifier | str:
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
    present = present.cast(kind)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    dated = text and not codes and have_dates(present)
    if dated and len(present) > FEW_WHOLE:
        return AS_DATES
    known = None if dated or codes or not _tells_apart(present) else identifier(name, counts, text)
    if known is not None and known.sure:
        return known
    found = _of_codes(_facts(present, counts), present, codes)
    if isinstance(found, str):
        return found
    found = replace(found, nominal=_are_codes(name, found))
    facts = replace(found, missing="model" if gaps else None, read_off=(*_seen(found), "missing"))
    if counts.sum() < FEW_ROWS:
        return _Seen(facts, FEW)
    doubt = AS_DATES if dated else stretched(facts, present, counts)
    return _Seen(facts, doubt or ("" if known is None else known.why))


def _tells_apart(values: pa.ChunkedArray) -> bool:
    """Whether values are text or whole numbers, as identifiers are."""
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        numbers = np.asarray(as_floats(values))
        return bool((numbers == np.floor(numbers)).all())
    return pa.types.is_integer(values.type) or pa.types.is_string(values.type) or pa.types.is_large_string(values.type)


def _are_codes(name: str, found: Declared) -> bool:
    """Whether levels are numbers that stand for something: they have words, or the column is called so."""
    whole = all(isinstance(level, int | float) and level == int(level) for level in found.levels)
    words = re.sub("([a-z])([A-Z])", r"\1 \2", name).lower()
    called = bool(CALLED & set(re.split("[^a-z]+", words)))
    return whole and len(found.levels) > TWO and (len(found.labels) > TWO or called)


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
        days = np.asarray(day_numbers(values))
        if days.min() < EARLIEST or days.max() > LATEST:
            return "it holds dates beyond the years 1 to 9999"
        first, last = (day_of(float(end)).year for end in (days.min(), days.max()))
        ends = (date(first, 1, 1).toordinal() - FIRST_DAY, date(last, 12, 31).toordinal() - FIRST_DAY)
        return Declared(limits=(float(ends[0]), float(ends[1])), whole=True, dates=True)
    if pa.types.is_boolean(kind):
        return Declared(levels=(False, True))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = _numbers(np.asarray(as_floats(values)), counts)  # large ones rounded
        return numbers if isinstance(numbers, str) else _with_decimals(numbers, values)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        return f"it holds {kind}, which are not numbers, dates or text"
    if len(values) > MOST_LEVELS:
        return f"it has more than {MOST_LEVELS:,} levels: merge them"
    return Declared(levels=tuple(sorted(values.to_pylist())))


def _with_decimals(found: Declared, values: pa.ChunkedArray) -> Declared:
    """With the digits that numbers within limits have after the point, where these are few."""
    if found.limits is None or found.whole:
        return found
    decimals = fewest_decimals(np.asarray(as_floats(values)), last_bit_of(values.type))
    facts = replace(found, decimals=decimals or None)
    return replace(facts, heaps=tuple(facts.rounded(np.array(found.heaps)).tolist()))


def _numbers(values: np.ndarray, counts: np.ndarray) -> Declared | str:
    """Levels of numbers with few values; else limits, and whether most are near the lower one."""
    if not np.isfinite(values).all():
        return "it has infinite values"
    whole = bool((values == np.floor(values)).all() and np.abs(values).max() <= LARGEST_WHOLE)
    if whole and len(values) == counts.sum() > 20 and np.ptp(values) == len(values) - 1:
        return "every value differs and none is left out: a row number?"
    if len(values) <= (FEW_WHOLE if whole else FEW_OTHERS):
        if np.abs(values).max() >= LARGEST_WHOLE:
            return (
                f"it has few numbers, of {LARGEST_WHOLE:,} and more, which floats do not tell apart: make text of them"
            )
        return Declared(levels=tuple(int(v) if whole else v for v in sorted(values.tolist())))
    heaped = counts >= max(HEAPED * counts.sum(), TIMES_USUAL * float(np.median(counts)))
    limits = _limits(values, set(values[heaped].tolist()))
    share = (np.average(values, weights=counts) - limits[0]) / (limits[1] - limits[0])
    heaps = tuple(sorted(values[heaped & (values != 0)].tolist()))
    return Declared(limits=limits, whole=whole, skewed=bool(share < NEAR_LOWER), heaps=heaps)


def _limits(values: np.ndarray, heaps: set[float]) -> tuple[float, float]:
    """Coarse limits beyond a column's own; an end that many records have, as of shares or top codes, is one already."""
    low, high = float(values.min()), float(values.max())
    below, above = outward(low, high)
    return (low if low in heaps else below, high if high in heaps else above)
