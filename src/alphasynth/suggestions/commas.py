"""Columns of numbers with commas, which a suggestion leaves out: how they would be read."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from alphasynth.suggestions.values import Values, read_values
from alphasynth.tables.grouping import Stored
from alphasynth.tables.text_cells import COMMAS

# Commas between thousands have three digits after each, and one before decimals is the last.
THOUSANDS, POINTS = r"^[^,]*(,[0-9]{3})*$", r"[.][0-9]{3},"


def read_with(table: Stored, left_out: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The options by which numbers with commas seem to be read; none where none were left out.

    Commas that all have three digits after them seem to stand between thousands, though nothing is sure of them.
    """
    values = [read_values(table, name) for name, why in left_out if why == COMMAS]
    texts = [pc.utf8_trim_whitespace(found.present) for found in values if isinstance(found, Values)]
    if not texts:
        return ()
    if all(pc.all(pc.match_substring_regex(each, THOUSANDS)).as_py() for each in texts):
        return ("--thousands", ",")
    points = any(pc.any(pc.match_substring_regex(each, POINTS)).as_py() for each in texts)
    return ("--decimal-comma", *(("--thousands", ".") if points else ()))
