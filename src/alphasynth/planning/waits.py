"""What a chain will take before it starts, from public facts: families, levels, formulas, the mechanism.

Seconds of the processor are rough, from a few runs (docs/decisions/029-waits.md): nearly all of them are compilation,
and where a formula has many coefficients, draws that fail and are made again. Rows do not enter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from alphasynth.models.column_model import ColumnModel
from alphasynth.models.table_model import TableModel
from alphasynth.tables.declared import Declared

# Seconds of a run, of a column and of each of its coefficients; from so many coefficients on they grow as a square.
START, COLUMN, COEFFICIENT, MANY, SQUARE = 8.0, 1.0, 0.05, 24, 0.03
# Of the paper's mechanisms, whose draws may go over to another sampler; what counts as long.
OTHERS, LONG = 2.0, 60.0
# Mechanisms that fit clipped contributions, by independent proposals alone, or noisy sums.
CLIPPED = ("BW", "Censored", "Recentred", "BetaDivergence", "Scored")


class Wait(NamedTuple):
    """Seconds of the processor that a run is expected to take, and of its slowest column the name and coefficients."""

    seconds: float
    column: str
    coefficients: int

    @property
    def words(self) -> str:
        """What to expect and what to change; empty where there is nothing to wait for."""
        if self.seconds <= LONG:
            return ""
        minutes = math.ceil(self.seconds / 60)
        return (
            f"this will take about {minutes} minutes of the processor, or be refused: what makes it slow is column "
            f"{self.column!r} with {self.coefficients:,} coefficients; drop terms from its formula or merge levels"
        )


def expected(model: TableModel, mechanism: str) -> Wait:
    """What a chain is expected to take.

    >>> expected(TableModel.of([ColumnModel.of("visits ~ age", "poisson")]), "BW").words
    ''
    """
    declared = {column.name: column.declared for column in model.columns}
    sizes = {column.name: coefficients(column, declared) for column in model.columns}
    factor = 1.0 if mechanism in CLIPPED else OTHERS
    seconds = START + factor * sum(_seconds(size) for size in sizes.values())
    slowest = max(sizes, key=lambda name: sizes[name])
    return Wait(seconds, slowest, sizes[slowest])


def _seconds(size: int) -> float:
    return COLUMN + COEFFICIENT * size + SQUARE * max(size - MANY, 0) ** 2


def coefficients(column: ColumnModel, declared: Mapping[str, Declared]) -> int:
    """Coefficients that a column's formula takes, by what is declared; a factor of unknown levels counts as one.

    >>> size = ColumnModel.of("size ~ age", "categorical", declared={"levels": ["s", "m", "l"]})
    >>> coefficients(size, {})
    4
    """
    terms = sum(math.prod(_width(factor, declared) for factor in term) for term in column.formula.terms)
    sets = len(column.declared.levels) - 1 if column.family == "categorical" else 1
    return terms * max(sets, 1)


def _width(factor: str, declared: Mapping[str, Declared]) -> int:
    name = factor.removeprefix("C(").split(",")[0].removesuffix(")").strip("` ")
    levels = declared[name].levels if name in declared else ()
    in_levels = factor.startswith("C(") or (bool(levels) and isinstance(levels[0], str))
    return max(len(levels) - 1, 1) if in_levels else 1
