"""Rows of a table on the way: column after column, each from the synthetic values of those before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.inference.contribution import bare
from alphasynth.mechanisms.binding import BoundTable, covariates
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.families import has_own_zeros
from alphasynth.models.formula import compute_terms
from alphasynth.models.model import Decoding, Model, Theta
from alphasynth.tables.gaps import stand_in

# Values beyond declared limits are drawn again so many times, and then brought to the nearest limit.
TRIES = 50


@dataclass(frozen=True, eq=False)
class Grown:
    """Rows of a table on the way: public columns, and the synthetic ones made so far.

    `lines` are the distinct rows of the records that the public columns come from.
    """

    bound: BoundTable
    made: Mapping[str, Any] = field(repr=False)
    lines: np.ndarray = field(repr=False)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def design(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Terms of a column's formula (rows, K), one row where there are no covariates; where it has values (rows,)."""
        column = self.bound.model.columns[number]
        X = self._columns(number).get("X", np.ones((1, 1)))
        there = np.ones(self.size, bool)
        for name, wanted in column.where:
            there &= np.asarray(self.made[name]).astype(bool) == wanted
        return X, there

    def next(self, number: int, theta: Mapping[str, Any], rng: np.random.Generator) -> Grown:
        """With one more column, from parameters of its model."""
        column, block = self.bound.model.columns[number], self.bound.chain.blocks[number]
        values = new_values(rng, column, bare(block.model), dict(theta), self._columns(number), self.size)
        for name, wanted in reversed(column.where):
            # What stands in for a gap is what stood in for it in the table; what is not above 0 is 0.
            other = stand_in(column.declared) if name == column.gap else 0
            values = np.where(np.asarray(self.made[name]).astype(bool) == wanted, values, other)
        return Grown(self.bound, {**self.made, column.name: values}, self.lines)

    def _columns(self, number: int) -> dict[str, Any]:
        """What a column's model reads of new rows: its terms, if any; of public columns alone as they were bound."""
        column, rows = self.bound.model.columns[number], self.bound.chain.blocks[number].rows
        if "X" not in rows.columns:
            return {}
        if _reads_new(self.bound, column):
            return {"X": self._terms(column, self.bound.specs[number])}
        return {"X": rows.columns["X"][rows.of[self.lines]]}

    def _terms(self, column: ColumnModel, spec: Any) -> np.ndarray:
        frame = covariates(column.formula, self.made, self.bound.model.declared)
        try:
            return np.asarray(compute_terms(spec, frame), np.float64)
        except InputError:
            raise InputError(
                f"terms of {column.formula.text!r} must be finite for synthetic values too, found some at which they "
                "are not; declare limits of its columns, or use terms such as np.log1p"
            ) from None


def grown(bound: BoundTable, lines: np.ndarray) -> Grown:
    """Rows with nothing but the public columns of these distinct rows of the records, as far as they are read."""
    records, model = bound.chain.records, bound.model
    read = {*model.helpers, *(name for c in model.columns if _reads_new(bound, c) for name in c.formula.covariates)}
    return Grown(bound, {name: records.columns[name][lines] for name in bound.inputs if name in read}, lines)


def _reads_new(bound: BoundTable, column: ColumnModel) -> bool:
    """Whether a column's terms read synthetic values: those of public columns alone were computed before."""
    return any(name in bound.model.names for name in column.formula.covariates)


def lines_beside(bound: BoundTable, rows: np.ndarray) -> np.ndarray:
    """The distinct rows of these rows of the table; which they are does not matter without public columns."""
    return bound.chain.records.rows_in_order[rows] if bound.inputs else np.zeros(len(rows), np.int64)


def new_values(
    rng: np.random.Generator, column: ColumnModel, model: Model, theta: Theta, design: dict[str, Any], rows: int
) -> np.ndarray:
    """New values of one column that keep what is declared of it."""
    y = model.simulate(rng, theta, design, rows)
    values = _decoded(column, model, y)
    if column.traits.levels or column.declared.limits is None:
        return values
    beyond = _beyond(column, values, y)
    for _ in range(TRIES):
        again = np.flatnonzero(beyond)
        if len(again) == 0:
            return values
        part = {name: value[again] for name, value in design.items()}
        y = model.simulate(rng, theta, part, len(again))
        values[again] = _decoded(column, model, y)
        beyond[again] = _beyond(column, values[again], y)
    values[beyond] = column.declared.within(values[beyond])
    return values


def _beyond(column: ColumnModel, values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which values break the declared limits; the zero of a model with zeros of their own does not."""
    zero = np.isnan(y) if y.dtype.kind == "f" else y == 0
    return column.declared.outside(values) & ~(zero & has_own_zeros(column.family))


def _decoded(column: ColumnModel, model: Model, y: np.ndarray) -> np.ndarray:
    """Values in the column's own terms: labels, numbers in their unit, whole where that is declared."""
    declared = column.declared
    if column.traits.levels:
        return np.asarray(declared.levels)[np.asarray(y).astype(np.int64)]
    values = model.decode(column.name, y, declared) if isinstance(model, Decoding) else y
    values = np.asarray(values)
    if declared.whole and values.dtype.kind == "f":
        if has_own_zeros(column.family):  # what is above 0 does not become 0
            values = np.where(~np.isnan(y) & (values > 0), np.maximum(values, 1.0), values)
        return np.rint(values).astype(np.int64) if (np.abs(values) < 2**62).all() else np.rint(values)
    if declared.decimals is not None and has_own_zeros(column.family) and values.dtype.kind == "f":
        values = np.where(~np.isnan(y) & (values > 0), np.maximum(values, 10.0**-declared.decimals), values)
    return declared.rounded(values)
