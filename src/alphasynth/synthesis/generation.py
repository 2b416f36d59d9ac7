"""New rows of a whole table from one draw of every column's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import block_keys
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.mechanisms.growth import grown, lines_beside
from alphasynth.models.column_model import ColumnModel
from alphasynth.privacy.randomness import Key
from alphasynth.synthesis.simulation import Filled


@dataclass(frozen=True, eq=False)
class TableMaker:
    """New rows from one draw of every block's parameters (confidential)."""

    bound: BoundTable
    thetas: tuple[Mapping[str, Any], ...] = field(repr=False)

    @property
    def n(self) -> int:
        """Rows of the confidential table."""
        return self.bound.chain.records.n

    def begin(self, key: Key, rng: np.random.Generator) -> Callable[[np.ndarray], dict[str, Filled]]:
        """What makes the synthesized columns of new records beside these rows of the table, chunk after chunk."""
        rngs = self.generators(key, rng)
        return lambda beside: self.make(rngs, lines_beside(self.bound, beside))

    def generators(self, key: Key, rng: np.random.Generator) -> list[np.random.Generator]:
        """Columns have random numbers of their own, by name; a single one those of the table."""
        names = self.bound.model.names
        return [rng] if len(names) == 1 else [np.random.default_rng(each) for each in block_keys(key, names)]

    @in_64_bit
    def make(self, rngs: list[np.random.Generator], lines: np.ndarray) -> dict[str, Filled]:
        """Synthesized columns of new records beside these distinct rows; indicators are worked into gaps."""
        rows = grown(self.bound, lines)
        for number, (theta, rng) in enumerate(zip(self.thetas, rngs, strict=True)):
            rows = rows.next(number, theta, rng)
        model = self.bound.model
        return {c.name: self._filled(c, rows.made) for c in model.columns if c.name not in model.helpers}

    def _filled(self, column: ColumnModel, made: Mapping[str, Any]) -> Filled:
        missing = None if column.gap is None else np.asarray(made[column.gap]).astype(bool)
        return Filled(made[column.name], missing, column.declared.levels)
