"""`Reference`: how far estimates of a synthetic table are from a stand-in's own, in standard errors, item by item."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from alphasynth.league.measures import cells_of, logged, values_of
from alphasynth.league.regressions import Numbers, Regression
from alphasynth.planning.stand_in import STEPS
from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns

MARGIN, SHARE, MEAN, PAIR, COEFFICIENT = "margin", "share", "mean", "pair", "coefficient"
KINDS = {
    MARGIN: "the column's whole distribution: total variation on the blocks of its cells",
    SHARE: "shares of the column's levels, gaps among them: root mean square over the levels",
    MEAN: "the column's mean",
    PAIR: "correlations of two columns, each level of text by itself: root mean square over them",
    COEFFICIENT: "the response's regression on all other columns, per standard deviation of this one",
}
# Levels of text whose correlations count, the first ones; pairs that are looked at, of more a random part.
MOST_LEVELS, MOST_PAIRS = 6, 400


class Item(NamedTuple):
    """One thing that a user of the table may estimate."""

    kind: str
    name: str


class _Seen(NamedTuple):
    """A table as estimates see it: numbers and fine cells (n,) of each column."""

    numbers: dict[str, Numbers]
    codes: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Reference:
    """A stand-in of `rows` rows as estimates see it; where rows have weights, each as often as its weight says."""

    columns: Columns
    seen: _Seen = field(repr=False)
    rows: float

    @classmethod
    def of(cls, columns: Columns, table: pa.Table) -> Reference:
        """Of a stand-in; rows that count unevenly tell as much as fewer that count alike (the design effect)."""
        seen, rows = _see(columns, table), float(table.num_rows)
        if columns.weight is None:
            return cls(columns, seen, rows)
        weights = np.minimum(table[columns.weight.column].to_numpy() / columns.weight.largest, 1.0)
        often = np.maximum(np.rint(weights * STEPS), 1).astype(np.int64)
        numbers = {name: Numbers(*(np.repeat(each, often) for each in both)) for name, both in seen.numbers.items()}
        repeated = _Seen(numbers, [np.repeat(each, often) for each in seen.codes])
        return cls(columns, repeated, float(often.sum()) ** 2 / float((often**2).sum()))

    @cached_property
    def cells(self) -> list[Cells]:
        """Cells of each column."""
        return self.columns.cells()

    @cached_property
    def _regressions(self) -> list[Regression]:
        of = (self.cells, self.seen.numbers)
        return [Regression.of(*of, name, logged(self.columns, name)) for name in self.columns.response]

    @cached_property
    def errors(self) -> dict[Item, float]:
        """The standard error of each item, in its own unit: what a sample of so many rows leaves open."""
        found = {}
        for cells, codes in zip(self.cells, self.seen.codes, strict=True):
            blocks = _shares(cells.block[codes], cells.blocks)
            open_ = np.sqrt(blocks * (1 - blocks) / self.rows)
            found[Item(MARGIN, cells.name)] = float(open_.sum()) * math.sqrt(2 / math.pi) / 2
            if _has_levels(cells):
                levels = _levels(cells, codes)
                found[Item(SHARE, cells.name)] = math.sqrt(float((levels * (1 - levels)).mean()) / self.rows)
            if not cells.nominal and not self.columns.declared[cells.name].dates:
                present = self.seen.numbers[cells.name].present
                there = len(present) / len(codes) * self.rows
                found[Item(MEAN, cells.name)] = float(present.std()) / math.sqrt(there) if there else 0.0
        found |= {item: 1 / math.sqrt(self.rows) for item in self._pairs}
        # A regression counts rows as often as they weigh.
        wider = math.sqrt(len(self.seen.codes[0]) / self.rows)
        for regression in self._regressions:
            for item, at in _of_columns(regression).items():
                found[item] = wider * _root_mean_square(regression.errors[at])
        return {item: error for item, error in found.items() if error > 0}

    @cached_property
    def _pairs(self) -> dict[Item, tuple[int, int]]:
        pairs = list(itertools.combinations(range(len(self.cells)), 2))
        if len(pairs) > MOST_PAIRS:
            pairs = [pairs[i] for i in sorted(np.random.default_rng(0).choice(len(pairs), MOST_PAIRS, replace=False))]
        return {Item(PAIR, f"{self.cells[a].name} × {self.cells[b].name}"): (a, b) for a, b in pairs}

    @cached_property
    def _own(self) -> dict[Item, np.ndarray]:
        return self._estimates(self.seen)

    def distances(self, made: pa.Table) -> dict[Item, float]:
        """By how many standard errors a synthetic table is off, item by item: root mean squares."""
        seen = _see(self.columns, made)
        theirs, found = self._estimates(seen), {}
        for item, own in self._own.items():
            if item in self.errors:
                apart = np.abs(theirs[item] - own)
                off = float(apart.sum()) / 2 if item.kind == MARGIN else _root_mean_square(apart)
                found[item] = off / self.errors[item]
        for regression in self._regressions:
            off_by = regression.distances(seen.numbers)
            if off_by is not None:
                wider = math.sqrt(len(self.seen.codes[0]) / self.rows)
                of_columns = _of_columns(regression).items()
                found |= {item: _root_mean_square(off_by[at]) / wider for item, at in of_columns if item in self.errors}
        return found

    def _estimates(self, seen: _Seen) -> dict[Item, np.ndarray]:
        """All but the regressions': shares, means and correlations."""
        found = {}
        for cells, codes in zip(self.cells, seen.codes, strict=True):
            found[Item(MARGIN, cells.name)] = _shares(cells.block[codes], cells.blocks)
            if _has_levels(cells):
                found[Item(SHARE, cells.name)] = _levels(cells, codes)
            if not cells.nominal:
                present = seen.numbers[cells.name].present
                found[Item(MEAN, cells.name)] = np.array([present.mean() if len(present) else 0.0])
        scaled = [_scaled(cells, codes) for cells, codes in zip(self.cells, seen.codes, strict=True)]
        rows = len(seen.codes[0])
        return found | {item: scaled[a] @ scaled[b].T / rows for item, (a, b) in self._pairs.items()}


def _see(columns: Columns, table: pa.Table) -> _Seen:
    cells, facts = columns.cells(), columns.declared
    numbers = {each.name: values_of(each, facts[each.name], table[each.name]) for each in cells}
    return _Seen(numbers, [cells_of(each, numbers[each.name]) for each in cells])


def _has_levels(cells: Cells) -> bool:
    return bool(cells.levels) or cells.gap


def _levels(cells: Cells, codes: np.ndarray) -> np.ndarray:
    """Shares of levels; of numbers with gaps, that of the gaps."""
    shares = _shares(codes, cells.size)
    return shares if cells.levels else shares[-1:]


def _shares(codes: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(codes, minlength=size) / len(codes)


def _scaled(cells: Cells, codes: np.ndarray) -> np.ndarray:
    """Numbers (1, n) of a column, gaps in the middle, or the first levels of text (levels, n); in deviations."""
    if cells.nominal:
        rows = (codes == np.arange(min(cells.size, MOST_LEVELS))[:, None]).astype(float)
    else:
        gone = codes >= len(cells.value)
        values = cells.value[np.where(gone, 0, codes)]
        rows = np.where(gone, values[~gone].mean() if (~gone).any() else 0.0, values)[None, :]
    rows = rows - rows.mean(axis=1, keepdims=True)
    deviations = rows.std(axis=1, keepdims=True)
    return rows / np.where(deviations > 0, deviations, 1.0)


def _of_columns(regression: Regression) -> dict[Item, list[int]]:
    """Numbers of a regression's terms, by the column that they are of."""
    found: dict[Item, list[int]] = {}
    for at, term in enumerate(regression.terms):
        found.setdefault(Item(COEFFICIENT, f"{regression.response} ~ {term.column}"), []).append(at)
    return found


def _root_mean_square(values: np.ndarray | Sequence[float]) -> float:
    return math.sqrt(float(np.mean(np.square(values))))
