"""Any table of declared columns, and its neighbours: the rows of one unit, or one row, not counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.tables.grouping import Unit

UNIT, WEIGHT = "unit", "weight"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that take part, as an engine would stream them: at most so many of each unit."""

    table: pa.Table = field(repr=False)
    unit: Unit | None = None
    names_are_public: bool = True

    @property
    def column_names(self) -> list[str]:
        return self.table.column_names

    def stream(self, names) -> Iterator[pa.RecordBatch]:
        yield from self.table.select(list(names)).to_batches(max_chunksize=5)

    def sample(self, names, rows) -> pa.Table:
        return self.table.select(list(names)).slice(0, rows)

    @property
    def adds_up_itself(self) -> bool:
        return False

    def add_up(self, names, adding):
        return adding(self.stream(names))


def _levels(draw, number: int, rows: int, gap: bool):
    words = [f"level {i}" for i in range(number)]
    values = draw(st.lists(st.sampled_from([*words, *([None] * gap)]), min_size=rows, max_size=rows))
    return {"levels": words}, pa.array(values, pa.string())


def _numbers(draw, rows: int, gap: bool):
    low, wide = draw(st.sampled_from([-50, 0, 3])), draw(st.sampled_from([1, 7, 300, 1_000_000]))
    whole, skewed = draw(st.booleans()), draw(st.booleans())
    of = st.integers(low, low + wide) if whole else st.floats(low, low + wide, allow_subnormal=False)
    ends = st.sampled_from([low, low + wide])  # where vectors are longest
    values = draw(st.lists(of | ends | (st.none() if gap else ends), min_size=rows, max_size=rows))
    facts = {"limits": [low, low + wide], "whole": whole, "skewed": skewed}
    if draw(st.booleans()):
        facts["heaps"] = [low + 1]
    if not whole and draw(st.booleans()):
        facts["decimals"] = draw(st.integers(1, 3))
    return facts, pa.array([None if v is None else float(v) for v in values], pa.float64())


def _dates(draw, rows: int, gap: bool):
    days = draw(
        st.lists(st.integers(14_610, 16_435) | (st.none() if gap else st.just(15_000)), min_size=rows, max_size=rows)
    )
    return {"limits": ["2010-01-01", "2014-12-31"]}, pa.array(days, pa.int32()).cast(pa.date32())


@st.composite
def tables(draw, most_rows: int = 14, most_columns: int = 4):
    """Declared columns, rows of any values that were declared, and the unit of privacy."""
    rows, declared, values = draw(st.integers(1, most_rows)), {}, {}
    for number in range(draw(st.integers(1, most_columns))):
        gap, kind = draw(st.booleans()), draw(st.sampled_from(["levels", "many levels", "numbers", "dates", "codes"]))
        if kind in ("levels", "many levels"):
            facts, column = _levels(draw, draw(st.integers(1, 4)) if kind == "levels" else 40, rows, gap)
        elif kind == "codes":
            facts = {"levels": [1, 2, 7], "nominal": draw(st.booleans())}
            column = pa.array(draw(st.lists(st.sampled_from([1, 2, 7, *([None] * gap)]), min_size=rows, max_size=rows)))
            column = column.cast(pa.int64())
        else:
            facts, column = (_numbers if kind == "numbers" else _dates)(draw, rows, gap)
        declared[f"c{number}"], values[f"c{number}"] = {**facts, **({"missing": "model"} if gap else {})}, column
    weight = None
    if draw(st.booleans()):
        weight = {"column": WEIGHT, "largest": draw(st.sampled_from([1.0, 0.3, 1e6]))}
        values[WEIGHT] = pa.array(draw(st.lists(st.floats(0, 2e6), min_size=rows, max_size=rows)))
    of, unit = None, draw(st.sampled_from([None, Unit(UNIT, 2), Unit(UNIT, 3)]))
    if unit is not None:
        of = np.sort(np.arange(rows) // unit.max_rows)
        values[UNIT] = pa.array(of)
    columns = syn.Columns.of(declared, weight=weight)
    response = draw(st.lists(st.sampled_from(columns.names), max_size=2, unique=True))
    others = [name for name in columns.names if name not in response]
    # What nothing would be multiplied by is refused.
    crossed = [f"{others[0]}:{others[1]}"] if len(others) > 1 and (response or len(others) > 2) else []
    columns = columns.with_response(response, crossed if draw(st.booleans()) else [])
    return columns, pa.table(values), unit


def neighbours(rows: pa.Table, unit: Unit | None, most: int = 3) -> Iterator[pa.Table]:
    """Tables without one of the units, the first few and the last; a table without any row is none."""
    of = np.arange(rows.num_rows) if unit is None else rows.column(UNIT).to_numpy()
    for one in [*np.unique(of)[: most - 1], of[-1]]:
        if (of != one).any():
            yield rows.filter(pa.array(of != one))
