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

from alphasynth.errors import InputError
from alphasynth.raking.columns import Columns
from alphasynth.suggestions.ends import stretched
from alphasynth.suggestions.files import write_new
from alphasynth.suggestions.first_lines import check_header
from alphasynth.suggestions.identifiers import Identifier, identifier, of_unit, reasons, unit_among
from alphasynth.suggestions.numbers import FEW_WHOLE, numbers, with_decimals
from alphasynth.suggestions.panels import Seen, panels
from alphasynth.suggestions.values import MOST_LEVELS, Values, read_values
from alphasynth.tables.declared import FIRST_DAY, HEAPS, SKEWED, Declared, day_of
from alphasynth.tables.grouping import Stored
from alphasynth.tables.limits import as_floats, day_numbers
from alphasynth.tables.opening import codebook_of, is_text_file
from alphasynth.tables.statistical_files import of_codebook
from alphasynth.tables.text_cells import AS_DATES, COMMAS, have_commas, have_dates

EARLIEST, LATEST = (date(year, 12, 31).toordinal() - FIRST_DAY for year in (1, 9998))

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
GAPS = "it has gaps, and what tells persons apart may have none: fill them, or take such rows out of the table"


class _Seen(NamedTuple):
    """What might be declared of a column, why to look at it first, and whether as it may be an identifier."""

    facts: Declared
    doubt: str = ""
    known: bool = False


class _Found(NamedTuple):
    """What was found so far, by column: what is declared, why others are left out, identifiers, and doubts."""

    declared: dict[str, Declared]
    left_out: dict[str, str]
    identifiers: dict[str, Identifier]
    doubts: list[tuple[str, str]]

    def add(self, name: str, seen: _Seen | Identifier | str) -> None:
        """One more column."""
        if isinstance(seen, _Seen):
            self.declared[name] = seen.facts
            self.doubts.extend([(name, seen.doubt)] if seen.doubt else [])
        elif isinstance(seen, Identifier):
            self.identifiers[name] = seen
            self.left_out[name] = seen.why
        else:
            self.left_out[name] = seen

    def add_person(self, name: str, why: str, counts: np.ndarray) -> None:
        """A column that seems to tell persons apart by those beside it: text is left out, numbers are a doubt."""
        facts = self.declared.get(name)
        text = facts is None or any(isinstance(level, str) for level in facts.levels)
        person = of_unit(name, counts, sure=text, seen=why)
        if person.sure:
            self.declared.pop(name, None)
            self.add(name, person)
        else:
            self.doubts.append((name, person.why))


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
    found, held_back, beside = _Found({}, {}, {}, []), list[str](), list[Seen]()
    names, book = list(table.column_names), codebook_of(table)
    for name in dict.fromkeys(names):
        unnamed = "its name occurs twice" if names.count(name) > 1 else "" if name.strip() else UNNAMED
        values = unnamed or read_values(table, name)
        seen = values if isinstance(values, str) else _look(table, name, values, book.codes(name))
        found.add(name, seen)
        held_back += [] if unnamed else [name]
        if isinstance(values, Values):
            known = isinstance(seen, Identifier) or (isinstance(seen, _Seen) and seen.known)
            if isinstance(seen, Identifier) and seen.max_rows is not None and values.gaps:
                found.doubts.append((name, GAPS))
            beside.append(values.beside(name, known or seen == COMMAS or bool(book.codes(name))))
    for name, (why, counts) in panels(table, beside).items():
        found.add_person(name, why, counts)
    left_out, declared = tuple(found.left_out.items()), found.declared
    if not declared:
        raise InputError(f"a table must have a column that can be declared, found none{reasons(left_out)}")
    columns = Columns.of(declared, left_out=[name for name in held_back if name not in declared])
    alone = [name for name, one in found.identifiers.items() if one.called and one.max_rows is None]
    unit = unit_among(found.identifiers, alone)
    return ColumnsSuggestion(columns.with_response(response, ()), left_out, unit, tuple(found.doubts))


def write_columns(suggestion: ColumnsSuggestion, path: Path) -> None:
    """Write a new file, for its owner's eyes; raise `InputError` where there is one."""
    write_new(path, suggestion.columns.toml(), suggestion.left_out, suggestion.doubts)


def _look(table: Stored, name: str, values: Values, codes: Mapping[Any, str]) -> _Seen | Identifier | str:
    """What might be declared of a column, or why it is left out."""
    present, counts, gaps = values
    if is_text_file(table) and values.text and have_commas(present):
        return COMMAS
    dated = values.text and not codes and have_dates(present)
    if dated and len(present) > FEW_WHOLE:
        return AS_DATES
    known = None if dated or codes or not values.tell_apart else identifier(name, counts, values.text)
    if known is not None and known.sure:
        return known
    found = _of_codes(_facts(present, counts), present, codes)
    if isinstance(found, str):
        return found
    found = replace(found, nominal=_are_codes(name, found))
    facts = replace(found, missing="model" if gaps else None, read_off=(*_seen(found), "missing"))
    if counts.sum() < FEW_ROWS:
        return _Seen(facts, FEW)
    doubt = AS_DATES if dated else values.messy or stretched(facts, present, counts)
    return _Seen(facts, doubt or ("" if known is None else known.why), known is not None)


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
        found = numbers(np.asarray(as_floats(values)), counts)  # large ones rounded
        return found if isinstance(found, str) else with_decimals(found, values)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        return f"it holds {kind}, which are not numbers, dates or text"
    if len(values) > MOST_LEVELS:
        return f"it has more than {MOST_LEVELS:,} levels: merge them"
    return Declared(levels=tuple(sorted(values.to_pylist())))
