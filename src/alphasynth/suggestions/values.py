"""`Values`: what a column holds, each value once and how often, as suggestions look at it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from alphasynth.errors import ColumnTypeError
from alphasynth.suggestions.panels import Seen
from alphasynth.tables.engine import MISSING
from alphasynth.tables.gaps import missing
from alphasynth.tables.grouping import Stored
from alphasynth.tables.limits import as_floats
from alphasynth.tables.opening import is_text_file
from alphasynth.tables.text_cells import PARTLY, have_dates, have_some_dates

# How dates are written in text files; a time may follow.
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+)?$"

MOST_LEVELS = 1_000  # text with more is left out
ALIKE = "values that differ in capitals or blanks alone are levels of their own: write them alike in the table"


class Values(NamedTuple):
    """The values of a column, each with its count, and whether it has gaps."""

    present: pa.ChunkedArray
    counts: np.ndarray
    gaps: bool

    @classmethod
    def of(cls, present: pa.ChunkedArray, counts: np.ndarray, gaps: bool) -> Values:
        """Values that are not missing; categories are what they stand for."""
        kind = present.type.value_type if pa.types.is_dictionary(present.type) else present.type
        return cls(present.cast(kind), counts, gaps)

    @property
    def text(self) -> bool:
        """Whether they are text."""
        return pa.types.is_string(self.present.type) or pa.types.is_large_string(self.present.type)

    @property
    def tell_apart(self) -> bool:
        """Whether they are text or whole numbers, as identifiers are."""
        kind = self.present.type
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            floats = np.asarray(as_floats(self.present))
            return bool((floats == np.floor(floats)).all())
        return pa.types.is_integer(kind) or self.text

    @property
    def messy(self) -> str:
        """What is to be said of text that is written in several ways; nothing of other values."""
        if not self.text:
            return ""
        texts = self.present.to_pylist() if len(self.present) <= MOST_LEVELS else []
        alike = len({" ".join(text.split()).casefold() for text in texts}) < len(texts)
        return ALIKE if alike else PARTLY if have_some_dates(self.present) else ""

    def beside(self, name: str, known: bool) -> Seen:
        """The column as it stands beside others; what is `known` for what it is, is no more looked at."""
        apart = not known and self.tell_apart and not (self.text and have_dates(self.present))
        return Seen(name, len(self.present), int(self.counts.sum()), apart)


def read_values(table: Stored, name: str) -> Values | str:
    """What a column holds, or why nothing can be said of it."""
    try:
        grouped = table.group([name], ())
    except ColumnTypeError:
        return "it is of a type that cannot be read exactly: convert it"
    values, counts = grouped.columns.column(0), grouped.counts
    if is_text_file(table) and pa.types.is_string(values.type):
        values = _of_text(values)
    gone = np.asarray(missing(values))
    present, counts = values.filter(pa.array(~gone)), counts[~gone]
    if len(present) == 0:
        return "it has no values"
    return Values.of(present, counts, bool(gone.any()))


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
