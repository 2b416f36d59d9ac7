"""CSV and TSV files: their dialect and column types, decided from the whole file and never by a guess of the engine."""

from __future__ import annotations

import csv
import glob
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from alphasynth.errors import InputError, found, gathering
from alphasynth.privacy.accounting import counted
from alphasynth.tables.compressed import inner_suffix, opened
from alphasynth.tables.engine import Column, Reading, quoted
from alphasynth.tables.line_lengths import PADDED, ends_empty, longer_rows
from alphasynth.tables.text_cells import (
    COMMAS,
    NUMBER,
    WITH_COMMAS,
    Kind,
    Marks,
    missing_words,
    unguarded,
    unguarded_sql,
)

DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "latin-1": "latin-1", "iso-8859-1": "latin-1", "utf-16": "utf-16"}
LONGEST_HEADER = 16_000_000  # bytes; 10,000 columns with long names take one
MOST_SETS = 20  # columns whose distinct values are gathered at once
CODE = r"[+-]?0[0-9]+.*"  # 007 is a code, not a 7


@dataclass(frozen=True)
class TextFormat:
    """How a text file is to be read; the delimiter is found where it is not told.

    With `verbatim` released columns keep their text, and what was `guarded` from spreadsheets is read as it was before.
    With `decimal_comma` a comma stands before decimals, and `thousands` is what stands between thousands, if anything.
    `header` says that the first line holds names, though it may look like a record.

    >>> TextFormat(";").delimiter, TextFormat().encoding
    (';', 'utf-8')
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    verbatim: bool = False
    guarded: bool = False
    decimal_comma: bool = False
    thousands: str | None = None
    header: bool = False


AS_IT_IS = TextFormat()


@dataclass(frozen=True)
class Csv:
    """A text table with a header line. With `verbatim`, released columns keep the text they have in the file.

    What was `guarded` from spreadsheets when it was written is read as it was before. Columns that have a kind among
    `kinds` are read as that, others in the type that all their values have.
    """

    path: Path
    column_names: tuple[str, ...]
    delimiter: str
    encoding: str
    line_end: str
    blank_lines: int  # before the header
    verbatim: bool
    guarded: bool = False
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    marks: Marks = Marks()
    header: bool = False
    names_are_public = False  # the first line of a file without a header is a record

    @classmethod
    def open(cls, path: Path, text: TextFormat = AS_IT_IS) -> Csv:
        """Read the header; the delimiter is the one that cuts it into most fields, unless given."""
        delimiter, encoding, marks = text.delimiter, text.encoding, Marks.of(text.decimal_comma, text.thousands)
        if encoding.lower() not in ENCODINGS:
            raise InputError(f"encoding must be utf-8, latin-1 or utf-16, found {found(encoding)}")
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise InputError(f"delimiter must be one character and no quote, found {found(delimiter)}")
        with opened(path) as file:
            mark = file.read(2)
        if mark == b"\xfe\xff":
            raise InputError(f"{path.name} must be utf-8, latin-1 or little-endian utf-16, found big-endian utf-16")
        blank, header = _head(path, ENCODINGS[encoding.lower()])
        if not header.strip():
            raise InputError(f"{path.name} must have a header line, found an empty file")
        likely = sorted(DELIMITERS, key=lambda mark: mark != "\t") if inner_suffix(path) == ".tsv" else DELIMITERS
        fields = {mark: _fields(header, mark) for mark in ((delimiter,) if delimiter else likely)}
        chosen = max(fields, key=lambda mark: len(fields[mark]))
        if not fields[chosen]:
            raise InputError(f"{path.name} must have a header line of column names, found quotes that do not close")
        end = next((end for end in ("\r\n", "\n", "\r") if header.endswith(end)), "\n")
        names = tuple(unguarded(name) if text.guarded else name for name in fields[chosen])
        known = ENCODINGS[encoding.lower()]
        return cls(path, names, chosen, known, end, blank, text.verbatim, text.guarded, marks=marks, header=text.header)

    @property
    def relation(self) -> str:
        """SQL that reads the file: columns c0, c1, ... of text; raise `InputError` for lines of unequal length.

        The engine drops empty fields at the end of a line that has more of them than the header, whatever they shift.
        """
        width, version = len(self.column_names), self._version
        if ends_empty(self.path, version, f"{self.delimiter}{self.line_end[0]}", self.encoding):
            more = longer_rows(self._scan(width), self._scan(width + 1, PADDED), width, version)
            if more.rows and (more.rows < more.of or not self.column_names[-1].strip()):
                raise InputError(
                    f"{self.path.name}{more.where} must have {counted(width, 'field')} like the header, found more, of "
                    "which the last is empty (where a number holds the delimiter, put it in quotes)"
                )
        source = self._scan(width)
        # A blank line is a missing value to the engine, an empty field in quotes an empty text.
        return f"(SELECT c0 FROM {source} WHERE c0 IS NOT NULL)" if width == 1 else source

    @property
    def _version(self) -> tuple[int, int]:
        """What changes when the file does."""
        seen = self.path.stat()
        return seen.st_size, seen.st_mtime_ns

    def _scan(self, width: int, more: str = "") -> str:
        """SQL that reads so many columns."""
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
        options = f"auto_detect=false, header=true, quote='\"', escape='\"', skip={self.blank_lines}"
        options += f", allow_quoted_nulls=false, hive_partitioning=false{more}"  # a folder called y=5 is no column
        return (
            f"read_csv({quoted(glob.escape(str(self.path)))}, {options}, delim={quoted(self.delimiter)}, "
            f"new_line={quoted(repr(self.line_end)[1:-1])}, encoding={quoted(self.encoding)}, columns={{{columns}}})"
        )

    def read(self, engine: duckdb.DuckDBPyConnection, names: Sequence[str], relation: str | None = None) -> Reading:
        """What reads the named columns, and their types: whole numbers, numbers or text, whatever holds throughout.

        `relation` is what holds the text, if it is no longer the file.
        """
        source = self.relation if relation is None else relation
        places = {name: f"c{self.column_names.index(name)}" for name in names}
        typed = self._by_kind(engine, source, {name: c for name, c in places.items() if name in self.kinds})
        columns = [column for name, column in places.items() if name not in self.kinds]
        counts = ", ".join(_count_kinds(column, self.marks) for column in columns)
        rows = source if len(columns) > MOST_SETS else _distinct(source, columns)
        (tallied,) = engine.execute(f"SELECT {counts} FROM {rows}").fetchall() if columns else [()]
        tallies = [Tally(*tallied[i : i + 4]) for i in range(0, len(tallied), 4)]
        for column, tally in zip(columns, tallies, strict=True):
            typed[column] = _column(column, tally, self)
        return Reading(source, {name: typed[column] for name, column in places.items()})

    def _by_kind(self, engine: duckdb.DuckDBPyConnection, source: str, places: Mapping[str, str]) -> dict[str, Column]:
        """Columns of kinds that are known, by their place; raise `InputError` for a value of another kind."""
        made = {name: self.kinds[name].sql(column, self.guarded, self.marks) for name, column in places.items()}
        strange = {name: self.kinds[name].strange(column, self.marks) for name, column in places.items()}
        asked = {name: sql for name, sql in strange.items() if sql is not None}
        if asked:
            counts = ", ".join(f"coalesce(bool_or({sql}), false)" for sql in asked.values())
            rows = source if len(asked) > MOST_SETS else _distinct(source, [places[name] for name in asked])
            (found,) = engine.execute(f"SELECT {counts} FROM {rows}").fetchall()
            with gathering() as problems:
                others = {name for name, other in zip(asked, found, strict=True) if other}
                problems.rest = tuple(name for name in places if name not in others)
                for name in [name for name in places if name in others]:
                    hint = f" ({COMMAS})" if self.has_commas(engine, source, places[name]) else ""
                    problems.say(f"column {name!r} must hold {self.kinds[name].words}, as declared, found others{hint}")
        typed = {name: self.kinds[name].type for name in places}
        return {
            column: Column(made[name], made[name], typed[name], typed[name], None, self.told_by(column))
            for name, column in places.items()
        }

    def told_by(self, column: str) -> str:
        """SQL of what tells a value from others: numbers as they are usually written, else the text."""
        return column if self.marks == Marks() else f"coalesce({self.marks.sql(f'trim({column})')}, {column})"

    def has_commas(self, engine: duckdb.DuckDBPyConnection, source: str, column: str) -> bool:
        """Whether a column holds nothing but numbers of which some have commas, and nobody said what these are."""
        if self.marks.thousands is not None:
            return False
        alike = f"bool_and(regexp_full_match(trim({column}), {quoted(WITH_COMMAS)})), bool_or(contains({column}, ','))"
        named = f"trim({column}) NOT IN ('', {missing_words()})"
        return all(engine.execute(f"SELECT {alike} FROM {source} WHERE {named}").fetchall()[0])

    def explain(self, error: Exception) -> str:
        """Why a line cannot be read, without the line."""
        message = str(error)
        line = re.search(r"CSV Error on Line: (\d+)", message)
        where = f"{self.path.name}, line {int(line[1]):,}," if line else self.path.name
        fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
        if fields:
            return f"{where} must have {int(fields[1]):,} fields like the header, found {int(fields[2]):,}"
        if "unterminated quote" in message:
            return f"{where} must close its quotes and end the field there, found a quote that does not"
        if "unicode" in message.lower() or "utf-8" in message.lower():
            return _wrong_encoding(where, self.encoding)
        if "Maximum line size" in message:
            return f"{where} must be shorter than 2 MB, found a longer line (a quote that never closes?)"
        if "state machine" in message:
            return f"{where} must end its lines in one way throughout, found several (or quotes out of place)"
        return f"{where} must be a delimited text file, found what cannot be read as one"


def _head(path: Path, encoding: str) -> tuple[int, str]:
    """Number of blank lines before the header, and the header line; lines go on inside quotes."""
    # newline="" keeps what ends a line as it stands.
    known = "utf-8-sig" if encoding == "utf-8" else encoding
    with opened(path) as bytes_of, io.TextIOWrapper(bytes_of, encoding=known, newline="") as file:
        try:
            blank, line = 0, file.readline(LONGEST_HEADER)
            while line and not line.strip("\r\n"):
                blank, line = blank + 1, file.readline(LONGEST_HEADER)
            while line.count('"') % 2 and len(line) < LONGEST_HEADER and (more := file.readline(LONGEST_HEADER)):
                line += more
        except (UnicodeError, EOFError):
            raise InputError(_wrong_encoding(path.name, encoding)) from None
    return blank, line


def _wrong_encoding(where: str, encoding: str) -> str:
    other = "latin-1" if encoding == "utf-8" else "utf-8"
    return f"{where} must be {encoding}, found bytes that are not; name the encoding if it is another ({other}?)"


def _fields(line: str, delimiter: str) -> list[str]:
    """Names in the header; none where its quotes do not close."""
    try:
        return next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _distinct(source: str, columns: Sequence[str]) -> str:
    """SQL of each column's distinct values, the other columns missing: fewer to judge, in one pass over the file."""
    sets = ", ".join(f"({column})" for column in columns)
    return f"(SELECT {', '.join(columns)} FROM {source} GROUP BY GROUPING SETS ({sets}))"


class Tally(NamedTuple):
    """How many values a column has, and how many of them are whole numbers, numbers, and words for a missing value.

    They may be of distinct values: what matters is which numbers are equal and which are 0.
    """

    values: int
    whole: int
    number: int
    missing: int


def _count_kinds(column: str, marks: Marks) -> str:
    """SQL of a tally: which of a column's values are whole numbers, however written, which numbers, which missing."""
    cell, text = f"trim({column})", f"({marks.sql(f'trim({column})')})"
    # Whole numbers too long for 64 bits are codes as well: a float would take two of them for one.
    long = f"(regexp_full_match({text}, '[+-]?[0-9]+') AND TRY_CAST({text} AS BIGINT) IS NULL)"
    code = f"(regexp_full_match({text}, {quoted(CODE)}) OR {long})"
    number = f"(regexp_full_match({text}, {quoted(NUMBER)}) AND NOT {code})"
    real = f"TRY_CAST({text} AS DOUBLE)"
    whole = f"{number} AND TRY_CAST({text} AS BIGINT) IS NOT NULL AND {real} = floor({real})"
    kinds = (f"{cell} <> ''", whole, number, f"{cell} IN ({missing_words()})")
    return ", ".join(f"count(*) FILTER (WHERE {kind})" for kind in kinds)


def _column(column: str, tally: Tally, file: Csv) -> Column:
    """SQL that reads a column in the type that all its values have; what has marks between thousands is no text."""
    verbatim, unit = file.verbatim and file.marks.thousands is None, file.told_by(column)
    numeric = tally.values - tally.missing
    kinds = ((tally.whole, "BIGINT", pa.int64()), (tally.number, "DOUBLE", pa.float64()))
    for number, name, kind in kinds:
        if number == numeric > 0:
            read = f"TRY_CAST(({file.marks.sql(f'trim({column})')}) AS {name})"
            if tally.missing:
                read = f"CASE WHEN trim({column}) IN ({missing_words()}) THEN NULL ELSE {read} END"
            return Column(read, column if verbatim else read, kind, pa.string() if verbatim else kind, None, unit)
    text = unguarded_sql(column) if file.guarded else column
    return Column(f"nullif({text}, '')", text, pa.string(), pa.string(), None, unit)
