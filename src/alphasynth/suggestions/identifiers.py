"""Columns that seem to tell rows or persons apart."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

# Names that identifiers have; fewer values tell nobody apart. A person has from so many to so many rows on average, and
# nearly as many as others: variance over mean of what is spread by chance is about 1.
IDENTIFIER = re.compile(
    r"(?i:(^|[^a-z])(id|uid|uuid|guid|key|identifier|ssn)([^a-z]|$)|^(p|hh|case)id$"
    r"|^(person|patient|subject|respondent|participant|customer|client|member|employee|student|pupil|household)"
    r"([ _.-]?(no|nr|num|number|code))?$)|[a-z](Id|ID)$"
)
FEWEST_UNITS, ROWS_OF_UNIT, EVEN = 20, (1.5, 20.0), 0.5
# No person is called so: panels have as many rows of each.
TIME = re.compile(
    r"(?i:(^|[^a-z])(date|day|week|month|quarter|year|time|period|wave|round)s?([^a-z]|$))|[a-z](Date|Time)$"
)
# Text of which this part of the values stand in one row each is free text, if it is no identifier.
MOST = 0.8


class Identifier(NamedTuple):
    """Why a column seems to tell rows or persons apart; of persons with several rows, how many one has at most.

    It is `sure` but of whole numbers where nothing but their counts says so, as of weeks; `called` so by its name.
    """

    why: str
    max_rows: int | None = None
    sure: bool = True
    called: bool = False


def identifier(name: str, counts: np.ndarray, text: bool) -> Identifier | None:
    """Whether a column of whole numbers, or of text, with these counts of its values seems to be an identifier.

    >>> identifier("person_id", np.full(100, 5), text=False).max_rows
    5
    """
    mean, called = counts.mean(), IDENTIFIER.search(name) is not None
    if len(counts) <= FEWEST_UNITS:
        return None
    if mean == 1 and (called or text):
        return Identifier("every value differs: an identifier?")
    if (counts == 1).mean() >= MOST and (called or text):
        return Identifier("most of its values stand in one row each: an identifier, or free text?")
    even = counts.var() <= EVEN * mean and counts.max() <= ROWS_OF_UNIT[1]
    if not (ROWS_OF_UNIT[0] <= mean <= ROWS_OF_UNIT[1] and (called or even)) or (TIME.search(name) and not called):
        return None
    most = int(counts.max())
    add = f"add --unit {shlex.quote(name)} --max-rows {most}"
    sure = called or text
    person = f"where one is a person, {add if sure else f'take it out and {add}'}"
    why = f"an identifier? its values have up to {most} rows each; {person}, which makes epsilon {most} times as large"
    return Identifier(why, most, sure, called)


def unit_among(found: Mapping[str, Identifier]) -> tuple[str, int] | None:
    """The column that tells persons with several rows apart, one that is called so before others; and their most rows.

    >>> found = {"zip": Identifier("", 9), "pid": Identifier("", 4, called=True)}
    >>> unit_among(found), unit_among({})
    (('pid', 4), None)
    """
    units = [(not one.called, name, one.max_rows) for name, one in found.items() if one.max_rows is not None]
    return next(((name, most) for _, name, most in sorted(units, key=lambda unit: unit[0])), None)


def reasons(left_out: Sequence[tuple[str, str]], most: int = 3) -> str:
    """Why columns were left out, the first few, where nothing else is left.

    >>> reasons([("name", "it has one value")])
    ': name (it has one value)'
    """
    more = f" and {len(left_out) - most} more" if len(left_out) > most else ""
    listed = ", ".join(f"{name} ({why})" for name, why in left_out[:most])
    return f": {listed}{more}" if left_out else ""
