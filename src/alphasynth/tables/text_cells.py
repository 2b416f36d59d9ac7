"""Cells of text files that a spreadsheet would take for formulas: an apostrophe goes before them, and off again."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# A number as people write it, which is no formula though it has a sign; DuckDB would also read 1_000.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_ALONE = rf"[ \t\r\n]*{NUMBER}[ \t\r\n]*"
# How a formula begins: with a sign, also one of full width, or with white space that spreadsheets skip. Apostrophes
# before it count, so that taking one off always undoes putting one on.
_FORMULA = "^'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"
# What guarantee.json calls this, where it was done, and what it says.
CSV_CELLS = "csv_cells"
WORDS = (
    "text and column names that begin like a spreadsheet's formula (=, +, -, @, a tab or a line break, and are no "
    "number) have an apostrophe before them; so have those that begin with apostrophes and then so"
)


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
