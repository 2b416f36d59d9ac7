"""`stand_in`: rows made up from what is declared of their columns, and from nothing else; or drawn from public ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import ndtr, ndtri

from alphasynth.league.entrants import column_of
from alphasynth.league.regressions import Numbers
from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns
from alphasynth.raking.values import draw_values, kept_rows


class Shape(NamedTuple):
    """A bell's middle and deviation, as parts of the way between a column's limits."""

    middle: float
    spread: float


# Limits that people know to be public lie well outside of most values; those of skewed numbers, on their own scale,
# even more so. Levels that are numbers fill their range.
OF_NUMBERS, OF_SKEWED, OF_LEVELS = Shape(0.4, 0.15), Shape(0.45, 0.14), Shape(0.45, 0.2)
# Levels of text: the second has so many times the rows of the first, as a power of its place.
FALLING = 0.5
# The part of rows that declared heaps have, all together; gaps, where some may be.
HEAPED, GAPS = 1 / 3, 0.05
# How far a column goes along with what all have in common, and how far a response does: correlations are products.
ALIKE, OF_RESPONSE = 0.25, 0.35
# Survey weights, as parts of the largest; a row of weight k / STEPS counts as k rows of the smallest.
STEPS = 4


def stand_in(columns: Columns, rng: np.random.Generator, rows: int) -> pa.Table:
    """A table of so many rows that keeps declarations and constraints; its shape is ours, whatever the data's is."""
    cells, common = columns.cells(), rng.normal(size=rows)
    codes = [_codes(rng, each, common, OF_RESPONSE if each.name in columns.response else ALIKE) for each in cells]
    kept = kept_rows(rng, columns.constraints, cells, codes)
    if len(kept[0]) != rows:
        again = rng.integers(len(kept[0]), size=rows)
        kept = [column[again] for column in kept]
    drawn, _ = draw_values(rng, columns.constraints, cells, kept)
    declared = columns.declared
    made = {c.name: column_of(c, declared[c.name], Numbers(*each)) for c, each in zip(cells, drawn, strict=True)}
    if columns.weight is not None:
        made[columns.weight.column] = pa.array(rng.integers(1, STEPS + 1, rows) * columns.weight.largest / STEPS)
    return pa.table(made)


def resampled(table: pa.Table, rng: np.random.Generator, rows: int) -> pa.Table:
    """So many rows of a public table, with replacement."""
    return table.take(pa.array(rng.integers(table.num_rows, size=rows)))


def _codes(rng: np.random.Generator, cells: Cells, common: np.ndarray, along: float) -> np.ndarray:
    """Fine cells (rows,) of a column that goes along with what all have in common."""
    rows = len(common)
    # Strictly between 0 and 1, so that a bell has an end.
    place = np.clip(ndtr(along * common + np.sqrt(1 - along**2) * rng.normal(size=rows)), 1e-12, 1 - 1e-12)
    numbers = cells.size - cells.gap
    if cells.nominal:
        shares = np.cumsum(1 / np.arange(1, numbers + 1) ** FALLING)
        codes = np.searchsorted(shares / shares[-1], place)
    else:
        codes = _bell(cells, OF_LEVELS if cells.levels else OF_SKEWED if cells.unit is not None else OF_NUMBERS, place)
        heaps = np.flatnonzero(np.isin(cells.block[:numbers], cells.apart) & (cells.lower != 0))
        if len(heaps):
            codes = np.where(rng.random(rows) < HEAPED, rng.choice(heaps, rows), codes)
    return np.where(rng.random(rows) < GAPS, numbers, codes) if cells.gap else codes


def _bell(cells: Cells, shape: Shape, place: np.ndarray) -> np.ndarray:
    """Cells (rows,) of a bell that is cut off at the limits, from places (rows,) in it between 0 and 1."""
    low, high = (ndtr((end - shape.middle) / shape.spread) for end in (0.0, 1.0))
    part = shape.middle + shape.spread * ndtri(low + place * (high - low))
    value = cells.value
    middles = (value[1:] + value[:-1]) / 2
    return np.searchsorted(middles, value[0] + part * (value[-1] - value[0]))
