"""`PoolMaker`: new rows of a whole table from a raked pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from alphasynth.privacy.randomness import Key
from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns
from alphasynth.raking.fitted import Fitted, nearest, redraw, sampled
from alphasynth.raking.values import draw_values
from alphasynth.synthesis.one_thread import one_thread
from alphasynth.synthesis.simulation import Filled


@dataclass(frozen=True, eq=False)
class PoolMaker:
    """New rows from a raked pool; of a draw of what the noisy sums may have been, where tables are `spread`."""

    key: Key
    fitted: Fitted = field(repr=False)
    columns: Columns
    n: int
    rows: int
    spread: bool

    @one_thread()
    def begin(self, key: Key, rng: np.random.Generator) -> Callable[[np.ndarray], dict[str, Filled]]:
        """What makes rows chunk after chunk: it needs their number alone."""
        own = redraw(np.random.default_rng(self.key), self.fitted) if self.spread else self.fitted
        chosen = iter(sampled(rng, own, self.rows) if self.spread else nearest(rng, own, self.rows))
        return lambda beside: self._make(rng, np.fromiter(chosen, np.int64, len(beside)))

    def _make(self, rng: np.random.Generator, chosen: np.ndarray) -> dict[str, Filled]:
        columns, codes = self.columns.cells(), [column[chosen] for column in self.fitted.codes]
        drawn, rows = draw_values(rng, self.columns.constraints, columns, codes)
        made = zip(columns, self.columns.declared.values(), codes, drawn, strict=True)
        return {cells.name: _filled(cells, facts.dates, each[rows], *values) for cells, facts, each, values in made}


def _filled(cells: Cells, dates: bool, codes: np.ndarray, values: np.ndarray, gone: np.ndarray) -> Filled:
    """A synthetic column; levels as they were declared."""
    if cells.levels:
        # Of text, the levels themselves: an array of characters would copy each of them for every row.
        levels = np.array(cells.levels, object if cells.text else None)
        values = levels[np.where(gone, 0, codes).astype(np.int64)]
    elif dates:
        values = values.astype("datetime64[D]")
    return Filled(values, gone if cells.gap else None, cells.levels)
