"""Cells of text files: how numbers are written, and text that a spreadsheet would take for a formula.

An apostrophe goes before such text, and off again.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.errors import InputError, found
from alphasynth.tables.engine import MISSING, quoted

# A number as people write it, which is no formula though it has a sign; DuckDB would also read 1_000.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
# Digits with points and commas between are none either, whatever these stand for.
_ALONE = rf"[ \t\r\n]*({NUMBER}|[+-]?[0-9][0-9.,]*)[ \t\r\n]*"
# How a formula begins: with a sign, also one of full width, or with white space that spreadsheets skip. Apostrophes
# before it count, so that taking one off always undoes putting one on.
_FORMULA = "^'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"
# What may stand between thousands, and the characters that do: spaces of text are not all one character.
THOUSANDS = {".": "[.]", ",": "[,]", " ": "[ \u00a0\u202f]", "'": "['\u2019]"}
# Numbers with commas, whatever these stand for, and what to say of a column that has them.
WITH_COMMAS = r"[+-]?[0-9][0-9.' ]*(,[0-9]+)*|[+-]?,[0-9]+"
COMMAS = "numbers with commas? --decimal-comma or --thousands says what these are"
# What guarantee.json calls this, where it was done, and what it says; and what stands before decimals, if no point.
CSV_CELLS, CSV_DECIMAL = "csv_cells", "csv_decimal"
WORDS = (
    "text and column names that begin like a spreadsheet's formula (=, +, -, @, a tab or a line break, and are no "
    "number) have an apostrophe before them; so have those that begin with apostrophes and then so"
)


class Marks(NamedTuple):
    """How numbers of a text file are written: what stands before their decimals, and between their thousands."""

    decimal: str = "."
    thousands: str | None = None

    @classmethod
    def of(cls, decimal_comma: bool, thousands: str | None) -> Marks:
        """The marks that were told; raise `InputError`."""
        decimal = "," if decimal_comma else "."
        if thousands is not None and (thousands not in THOUSANDS or thousands == decimal):
            raise InputError(
                f"thousands must be one of {' '.join(map(repr, THOUSANDS))} and not what stands before decimals, found "
                f"{found(thousands)}"
            )
        return cls(decimal, thousands)

    def sql(self, text: str) -> str:
        """DuckDB's SQL of a number as it is usually written; nothing where the text is none."""
        if self == Marks():
            return text
        whole, between = "[0-9]+", "" if self.thousands is None else THOUSANDS[self.thousands]
        if between:
            whole += f"|[0-9]{{1,3}}({between}[0-9]{{3}})+"
        number = f"[+-]?(({whole})([{self.decimal}][0-9]*)?|[{self.decimal}][0-9]+)([eE][+-]?[0-9]+)?"
        plain = f"regexp_replace({text}, {quoted(between)}, '', 'g')" if between else text
        made = f"replace({plain}, '{self.decimal}', '.')"
        return f"CASE WHEN regexp_full_match({text}, {quoted(number)}) THEN {made} END"


class Kind(NamedTuple):
    """What a column of text is declared to hold, in words; its type; SQL that makes a value of text, or nothing.

    `levels` are those of text: words for a missing value are gaps unless they are among them.
    """

    words: str
    type: pa.DataType
    made: str = ""
    levels: tuple[str, ...] = ()

    def sql(self, column: str, guarded: bool, marks: Marks) -> str:
        """What reads a column."""
        if not self.made:
            text = unguarded_sql(column) if guarded else column
            words = ", ".join(quoted(word) for word in ("", *MISSING) if word not in self.levels)
            return f"CASE WHEN {text} IN ({words}) THEN NULL ELSE {text} END" if words else text
        return self._made_of(column, marks)

    def strange(self, column: str, marks: Marks) -> str | None:
        """SQL of whether a value is of another kind; None where none can be."""
        if not self.made:
            return None
        return f"trim({column}) NOT IN ('', {missing_words()}) AND ({self._made_of(column, marks)}) IS NULL"

    def _made_of(self, column: str, marks: Marks) -> str:
        text = f"trim({column})"
        return self.made.format(f"({marks.sql(text)})" if self.words in (NUMBERS.words, WHOLE.words) else text)


_AS_NUMBER = f"CASE WHEN regexp_full_match({{0}}, {quoted(NUMBER)}) THEN TRY_CAST({{0}} AS DOUBLE) END"
NUMBERS = Kind("numbers", pa.float64(), _AS_NUMBER)
WHOLE = Kind(
    "whole numbers",
    pa.int64(),
    f"CASE WHEN ({_AS_NUMBER}) = floor({_AS_NUMBER}) THEN TRY_CAST({{0}} AS BIGINT) END",
)
DATES = Kind("dates (2024-12-31)", pa.date32(), "TRY_CAST(TRY_CAST({0} AS TIMESTAMP) AS DATE)")
TRUTHS = Kind(
    "true or false",
    pa.bool_(),
    "CASE WHEN lower({0}) IN ('true', '1') THEN true WHEN lower({0}) IN ('false', '0') THEN false END",
)


# How dates and times are written in text, ISO 8601 and not: 2024-12-31, 31.12.2024, 12/31/24, 31 Dec 2024, 2024-W52,
# 2024-Q4, 2024-12, 2024 Dec, 12/2024 and 23:59.
_YEAR, _MONTHS = "(1[5-9]|20|21)[0-9]{2}", "(jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*[.]?"
_DAYS = (
    rf"{_YEAR}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}",
    r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{2}|[0-9]{4})",
    rf"([0-9]{{1,2}}[. -]*)?{_MONTHS}[. ,-]*([0-9]{{1,2}},? +)?([0-9]{{2}}|[0-9]{{4}})",
    rf"{_YEAR}[- ]?[wq][0-9]{{1,2}}(-?[1-7])?",
    rf"{_YEAR}[- ]{_MONTHS}",
    rf"{_YEAR}[-/][0-9]{{1,2}}",
    rf"[0-9]{{1,2}}[-/.]{_YEAR}",
)
_TIME = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?[ap]m)?(z| ?[+-][0-9]{2}:?[0-9]{2})?"
_DATED = rf"(?i)^[ \t]*(({'|'.join(_DAYS)})([t ,]+{_TIME})?|{_TIME})[ \t]*$"
# Of text that seems to be dates this part of the values are written like one; what to say of it.
MOSTLY = 0.9
SOME = 0.1
PARTLY = "dates or times beside other text? write dates as 2024-12-31, all alike, and make gaps of what is none"
AS_DATES = "dates or times as text? write dates as 2024-12-31, and times as numbers"


def have_dates(texts: pa.ChunkedArray) -> bool:
    """Whether nearly all texts are written like dates, weeks, months or times.

    >>> have_dates(pa.chunked_array([["2.2.2019", "1998 Q1"]])), have_dates(pa.chunked_array([["01:30", "a", "b"]]))
    (True, False)
    """
    return _dated(texts) >= MOSTLY


def have_some_dates(texts: pa.ChunkedArray) -> bool:
    """Whether some texts are written like dates or times, and others are not.

    >>> have_some_dates(pa.chunked_array([["2.2.2019", "never", "unknown"]]))
    True
    """
    return SOME <= _dated(texts) < MOSTLY


def _dated(texts: pa.ChunkedArray) -> float:
    """The part of texts that are written like dates, weeks, months or times."""
    return pc.sum(pc.match_substring_regex(texts, _DATED)).as_py() / len(texts) if len(texts) else 0.0


def is_value(name: str) -> bool:
    """Whether what should be a column's name is written like a number, a date, or a word for a missing value.

    >>> is_value("-1.0320"), is_value("2.2.2019"), is_value("visits"), is_value("q1")
    (True, True, False, False)
    """
    return name.strip() in MISSING or bool(re.fullmatch(_ALONE, name) or re.match(_DATED, name))


def missing_words() -> str:
    """SQL of the words for a missing value."""
    return ", ".join(quoted(word) for word in MISSING)


def have_commas(texts: pa.ChunkedArray) -> bool:
    """Whether all texts are numbers with commas, or without but beside some that have them.

    >>> have_commas(pa.chunked_array([["3,14", "2"]])), have_commas(pa.chunked_array([["3", "2"]]))
    (True, False)
    """
    alike = pc.match_substring_regex(pc.utf8_trim_whitespace(texts), f"^(?:{WITH_COMMAS})$")
    return bool(len(texts) and pc.all(alike).as_py() and pc.any(pc.match_substring(texts, ",")).as_py())


def guarded(value: Any) -> Any:
    """A cell as it is written: text that begins like a formula with an apostrophe before it, all else as it is.

    >>> guarded("=1+1"), guarded("-5"), guarded("'=a"), guarded("O'Hara"), guarded(-5)
    ("'=1+1", '-5', "''=a", "O'Hara", -5)
    """
    risky = isinstance(value, str) and re.match(_FORMULA, value) and not re.fullmatch(_ALONE, value)
    return f"'{value}" if risky else value


def unguarded(text: str) -> str:
    """The text that was guarded.

    >>> unguarded("'=1+1"), unguarded("''=a"), unguarded("'a")
    ('=1+1', "'=a", "'a")
    """
    return text[1:] if text.startswith("'") and re.match(_FORMULA, text) else text


def unguarded_sql(column: str) -> str:
    """DuckDB's SQL of the same for a column."""
    begins = _FORMULA.replace("^'", "^'('", 1).replace("'", "''")
    return f"regexp_replace({column}, '{begins})', '\\1')"


def guarded_column(column: pa.Array) -> pa.Array:
    """A column of a file as it is written: its text guarded, or the levels of its categories."""
    if pa.types.is_dictionary(column.type):
        levels = guarded_column(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, levels, ordered=column.type.ordered)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    begins = pc.match_substring_regex(column, _FORMULA)
    risky = pc.and_(begins, pc.invert(pc.match_substring_regex(column, f"^(?:{_ALONE})$")))
    parts = (pa.scalar("'", column.type), column, pa.scalar("", column.type))
    return pc.if_else(risky, pc.binary_join_element_wise(*parts), column)
