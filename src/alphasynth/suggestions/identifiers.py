"""Columns that seem to tell rows or persons apart, by their names and by how many rows their values have."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from alphasynth.suggestions.names import called_group, called_identifier, called_time

# Fewer values tell nobody apart. Where a column is not called so, a person has from so many to so many rows on average,
# and nearly as many as others: variance over mean of what is spread by chance is about 1.
FEWEST_UNITS, ROWS_OF_UNIT, EVEN = 20, (1.5, 20.0), 0.5
# Text of which this part of the values stand in one row each is free text, if it is no identifier.
MOST = 0.8
# Of a person take part as many rows at most as this part of the persons have: one with very many costs all others.
KEPT = 0.95
EVERY_DIFFERS = "every value differs: an identifier?"


class Identifier(NamedTuple):
    """Why a column seems to tell rows or persons apart; of persons with several rows, how many of one may take part.

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
    mean, called = counts.mean(), called_identifier(name)
    if len(counts) <= FEWEST_UNITS:
        return None
    if mean == 1 and (called or text):
        return Identifier(EVERY_DIFFERS, called=called)
    if called:
        return of_unit(name, counts, sure=True, called=True)
    if text and (counts == 1).mean() >= MOST:
        return Identifier("most of its values stand in one row each: an identifier, or free text?")
    even = counts.var() <= EVEN * mean and counts.max() <= ROWS_OF_UNIT[1]
    if not (ROWS_OF_UNIT[0] <= mean <= ROWS_OF_UNIT[1] and even) or called_time(name):
        return None
    return of_unit(name, counts, sure=text)


def of_unit(name: str, counts: np.ndarray, sure: bool, called: bool = False, seen: str = "") -> Identifier:
    """A column whose values seem to be persons with several rows, of these counts, in words; `seen` is why else.

    >>> of_unit("pid", np.array([2, 2, 1]), sure=True).why.partition("; ")[2]
    'where one is a person, add --unit pid --max-rows 2, which makes epsilon 2 times as large'
    """
    most = max_rows(counts)
    add = f"add --unit {shlex.quote(name)} --max-rows {most}"
    person = f"where one is a person, {add if sure else f'take it out and {add}'}"
    times = f", which makes epsilon {most} times as large" if most > 1 else ""
    rows = f"up to {int(counts.max()):,} rows each{seen}"
    return Identifier(f"an identifier? its values have {rows}; {person}{times}", most, sure, called)


def max_rows(counts: np.ndarray) -> int:
    """How many rows of each person may take part: so many that nearly all persons keep theirs.

    >>> max_rows(np.full(50, 5)), max_rows(np.array([2] * 99 + [500])), max_rows(np.array([1] * 7 + [2] * 3))
    (5, 2, 2)
    """
    return int(np.quantile(counts, KEPT, method="inverted_cdf"))


def unit_among(found: Mapping[str, Identifier], alone: Collection[str] = ()) -> tuple[str, int] | None:
    """The column that tells persons with several rows apart, one that is called so before others; and their most rows.

    A school is a person's no more than a town is, but where its name says identifier and nothing tells rows apart:
    `alone` are columns that do, by their names.

    >>> found = {"zip": Identifier("", 9), "pid": Identifier("", 4, called=True)}
    >>> unit_among(found), unit_among({})
    (('pid', 4), None)
    """
    rows_are_told_apart = any(not called_group(name) for name in alone)
    units = [
        (not one.called, called_group(name), name, one.max_rows)
        for name, one in found.items()
        if one.max_rows is not None and not (called_group(name) and (rows_are_told_apart or not one.called))
    ]
    return next(((name, most) for *_, name, most in sorted(units, key=lambda unit: unit[:2])), None)


def reasons(left_out: Sequence[tuple[str, str]], most: int = 3) -> str:
    """Why columns were left out, the first few, where nothing else is left.

    >>> reasons([("name", "it has one value")])
    ': name (it has one value)'
    """
    more = f" and {len(left_out) - most} more" if len(left_out) > most else ""
    listed = ", ".join(f"{name} ({why})" for name, why in left_out[:most])
    return f": {listed}{more}" if left_out else ""
