"""How near a synthetic whole table is to the confidential one: cells, propensities, a regression, tails of a response.

All measures are of what is declared: gaps are a cell, a level or an indicator of their own, dates are days' numbers.
Smaller is better; S2 and CART of the very distribution are 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.evaluation.propensity import propensities
from alphasynth.evaluation.values import conform, read_records
from alphasynth.league.regressions import Numbers, Regression
from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns
from alphasynth.tables.declared import Declared
from alphasynth.tables.gaps import missing
from alphasynth.tables.limits import as_floats, day_numbers
from alphasynth.tables.records import Records

STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "mean %": lambda values: float(np.mean(values)),
    "sd %": lambda values: float(np.std(values)),
    "q99 %": lambda values: float(np.quantile(values, 0.99)),
}
MEASURES = {
    "TV1": "mean total variation over columns, on the blocks of their declared cells",
    "TV2": "the same over pairs of columns",
    "TV3": "the same over triples of columns",
    "S2": "S_pMSE of a logistic model with all two-way products, of rows' being synthetic: 1 is perfect",
    "CART": "S_pMSE of a tree",
    "coef": "mean distance of coefficients, of a regression of the response on all other columns, in standard errors",
    "mean %": "per cent by which the response's mean is off",
    "sd %": "the same of its standard deviation",
    "q99 %": "the same of its 99th percentile",
}
OF_RESPONSES = ("coef", *STATISTICS)
# Columns, pairs or triples that are looked at, of more a random part; cells that are all counted, of more those held.
MOST_SETS, MOST_CELLS = 2_000, 4_000_000


def values_of(cells: Cells, facts: Declared, column: pa.ChunkedArray) -> Numbers:
    """Numbers (n,), of dates their days', of text the level's, and where gaps are, of values that were declared.

    >>> facts = Declared(levels=("f", "m"), missing="model")
    >>> values_of(Cells.of("sex", facts), facts, pa.chunked_array([["m", None]]))
    Numbers(values=array([1., 0.]), gone=array([False,  True]))
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    gone = np.asarray(missing(column))
    if gone.all():
        return Numbers(np.zeros(len(column)), gone)
    if cells.text:
        column = pc.index_in(column.cast(pa.string()), pa.array(list(cells.levels), pa.string()))
    elif facts.dates:
        column = day_numbers(column)
    numbers = np.asarray(as_floats(column).fill_null(0.0))
    return Numbers(np.where(gone, 0.0, numbers), gone)


def logged(columns: Columns, name: str) -> bool:
    """Whether a response's logarithm is taken: of numbers that cannot be below 0."""
    cells = next(cells for cells in columns.cells() if cells.name == name)
    return not cells.nominal and not columns.declared[name].dates and bool(cells.lower[0] >= 0)


class _Seen(NamedTuple):
    """A table as measures see it: numbers of each column, and the block (n,) of each of its rows."""

    values: dict[str, Numbers]
    blocks: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Judge:
    """What synthetic tables are measured against, and which columns are responses (confidential)."""

    columns: Columns
    table: pa.Table = field(repr=False)
    responses: tuple[str, ...] = ()

    @cached_property
    def _cells(self) -> list[Cells]:
        return self.columns.cells()

    def _see(self, table: pa.Table) -> _Seen:
        facts = self.columns.declared
        values = {cells.name: values_of(cells, facts[cells.name], table[cells.name]) for cells in self._cells}
        return _Seen(values, [cells.block[cells_of(cells, values[cells.name])] for cells in self._cells])

    @cached_property
    def _own(self) -> _Seen:
        return self._see(self.table)

    @cached_property
    def _records(self) -> Records:
        return self._recorded(self._own)

    def _recorded(self, seen: _Seen) -> Records:
        """Numbers and text, with indicators of gaps where there may be some."""
        columns = {cells.name: _told(cells, seen.values[cells.name]) for cells in self._cells}
        return read_records(pa.table(columns), list(columns), self.columns.declared)

    @cached_property
    def _regressions(self) -> list[Regression]:
        return [
            Regression.of(self._cells, self._own.values, name, logged(self.columns, name)) for name in self.responses
        ]

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, those of responses where there are any."""
        return tuple(name for name in MEASURES if self.responses or name not in OF_RESPONSES)

    def score(self, made: pa.Table) -> dict[str, float]:
        """All measures of one synthetic table."""
        seen = self._see(made)
        others = conform(self._records, self._recorded(seen))
        logistic, tree = propensities(np.random.default_rng(0), self._records, [others])
        sizes = [cells.blocks for cells in self._cells]
        found = variations(sizes, self._own.blocks, seen.blocks)
        found |= {"S2": logistic.standardised, "CART": tree.standardised}
        if self.responses:
            found["coef"] = _mean([each.apart(seen.values) for each in self._regressions])
            found |= self._statistics(seen)
        return found

    def _statistics(self, seen: _Seen) -> dict[str, float]:
        """Per cent by which statistics of numeric responses are off, their mean over responses."""
        facts = {cells.name: cells for cells in self._cells}
        names = [n for n in self.responses if not facts[n].nominal and not self.columns.declared[n].dates]
        pairs = [(self._own.values[name].present, seen.values[name].present) for name in names]
        return {name: _mean([_off(of, *pair) for pair in pairs]) for name, of in STATISTICS.items()}


def cells_of(cells: Cells, numbers: Numbers) -> np.ndarray:
    """Fine cells; the last digit of a number that was drawn puts it beyond none."""
    if cells.text:
        return cells.codes(numbers.values.astype(np.int64), numbers.gone)
    values = numbers.values if cells.levels else np.clip(numbers.values, cells.lower[0], cells.upper[-1])
    return cells.codes(values, numbers.gone)


def _told(cells: Cells, numbers: Numbers) -> pa.Array:
    if not cells.text:
        return pa.array(numbers.values, mask=numbers.gone)
    levels = np.array(cells.levels, object)
    return pa.array(levels[numbers.values.astype(np.int64)], pa.string(), mask=numbers.gone)


def _off(of: Callable[[np.ndarray], float], own: np.ndarray, made: np.ndarray) -> float:
    """Per cent by which a statistic is off; nothing where it is 0 or there are no values."""
    if not len(own) or not len(made) or of(own) == 0:
        return math.nan
    return 100 * abs(of(made) / of(own) - 1)


def _mean(values: Sequence[float]) -> float:
    """The mean of those that are there."""
    held = [value for value in values if math.isfinite(value)]
    return float(np.mean(held)) if held else math.nan


def variations(sizes: Sequence[int], own: Sequence[np.ndarray], made: Sequence[np.ndarray]) -> dict[str, float]:
    """Mean total variation over all columns, pairs and triples of blocks (n,) by column; of very many, a random part.

    >>> variations([2], [np.array([0, 1])], [np.array([0, 0])])["TV1"]
    0.5
    """
    found = {}
    for k in (1, 2, 3):
        sets = list(itertools.combinations(range(len(sizes)), k))
        if len(sets) > MOST_SETS:
            sets = [sets[i] for i in np.random.default_rng(0).choice(len(sets), MOST_SETS, replace=False)]
        each = [_variation([sizes[c] for c in at], [own[c] for c in at], [made[c] for c in at]) for at in sets]
        found[f"TV{k}"] = float(np.mean(each)) if each else math.nan
    return found


def _variation(shape: Sequence[int], own: Sequence[np.ndarray], made: Sequence[np.ndarray]) -> float:
    places = [np.ravel_multi_index([*frame], [*shape]) for frame in (own, made)]
    cells = math.prod(shape)
    if cells > MOST_CELLS:
        held, joined = np.unique(np.concatenate(places), return_inverse=True)
        places, cells = np.split(joined, [len(places[0])]), len(held)
    shares = [np.bincount(place, minlength=cells) / len(place) for place in places]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
