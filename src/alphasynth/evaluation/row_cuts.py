"""Cells of columns of which nothing is declared: where the confidential rows say (confidential)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from alphasynth.evaluation.pairs import MISSING, Cut, Differences, compare_cuts, join, spoken
from alphasynth.evaluation.values import as_text, is_numeric, present
from alphasynth.raking.cells import BLOCKS
from alphasynth.tables.gaps import indicator_of
from alphasynth.tables.records import Records

VALUES = "values"  # of a column that has none in the confidential table
# Labels, ends, and the groups of each table.
_Parts = tuple[tuple[str, ...], np.ndarray, list[np.ndarray]]


def differences_of_rows(records: Records, tables: Sequence[Records], public: Sequence[str] = ()) -> Differences:
    """Compare all columns and pairs on cells that the confidential records make: levels, and quantiles of numbers.

    Columns that are `public`, the same in all tables, are compared only together with others.
    """
    indicators = {indicator_of(name) for name in records.columns}
    names = [name for name in records.columns if name not in indicators]
    return compare_cuts([cut_rows(name, [records, *tables]) for name in names], records, tables, public)


def cut_rows(name: str, tables: Sequence[Records]) -> Cut:
    """A column of each table, cut where the first one's rows say: into levels, values, or parts of about as many rows.

    >>> table = Records("x", {"x": np.array([1.0, 2.0])}, np.array([3, 1]), None)
    >>> cut_rows("x", [table]).labels
    ('1', '2')
    """
    columns = [table.columns[name] for table in tables]
    gone = [~present(table, name) for table in tables]
    numeric = is_numeric(columns[0])
    labels, ends, codes = (_cut_numbers if numeric else _cut_levels)(columns, gone, tables[0].counts)
    dates = numeric and name in tables[0].dates and bool(np.isfinite(ends).all())
    labels = tuple(spoken(low, high, dates) for low, high in ends) if dates else labels
    if any(gaps.any() for gaps in gone):
        labels, ends = (*labels, MISSING), np.concatenate([ends, [[np.nan, np.nan]]])
        codes = [np.where(gaps, len(labels) - 1, each) for gaps, each in zip(gone, codes, strict=True)]
    found = Cut(name, tuple(labels), ends, tuple(codes), dates)
    shares = np.bincount(found.codes[0], tables[0].counts, minlength=len(labels))
    return found if numeric else join(found, shares, BLOCKS)


def _cut_levels(columns: Sequence[Any], gone: Sequence[np.ndarray], _: np.ndarray) -> _Parts:
    words = [as_text(column) for column in columns]
    levels = np.unique(np.concatenate([each[~gaps] for each, gaps in zip(words, gone, strict=True)]))
    codes = [np.searchsorted(levels, each) for each in words]
    return tuple(levels.tolist()), np.full((len(levels), 2), np.nan), codes


def _cut_numbers(columns: Sequence[Any], gone: Sequence[np.ndarray], counts: np.ndarray) -> _Parts:
    """Values one by one where they are few, or else parts of the confidential rows; the outer ones go on beyond."""
    every = [np.asarray(column, np.float64) for column in columns]
    own, rows = every[0][~gone[0]], counts[~gone[0]]
    if not len(own):
        return (VALUES,), np.full((1, 2), np.nan), [np.zeros(len(each), np.int64) for each in every]
    distinct, place = np.unique(own, return_inverse=True)
    if len(distinct) <= BLOCKS:
        starts, between = np.arange(len(distinct)), (distinct[1:] + distinct[:-1]) / 2
    else:
        starts = _starts(np.bincount(place, rows))
        between = distinct[starts[1:]]
    ends = np.stack([distinct[starts], distinct[np.append(starts[1:], len(distinct)) - 1]], axis=1)
    codes = [np.searchsorted(between, each, side="right") for each in every]
    return tuple(spoken(low, high) for low, high in ends), ends, codes


def _starts(rows: np.ndarray) -> np.ndarray:
    """Which values parts of about as many rows begin with; a value that fills a part has it for itself."""
    reached = np.cumsum(rows)
    places = np.searchsorted(reached, reached[-1] * np.arange(BLOCKS) / BLOCKS, side="right")
    starts, times = np.unique(places, return_counts=True)
    after = starts[times > 1] + 1
    return np.unique(np.concatenate([starts, after[after < len(rows)]]))
