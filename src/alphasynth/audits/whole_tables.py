"""The black-box audit of whole tables made from noisy sums: can tables tell whether one row was counted?

The row is the table's rarest. The neighbour is the same table, with its number of rows held, in which that row is not
counted. What is released may have as many rows as one likes, so that the distinguisher is given many: they tell more.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pyarrow as pa

from alphasynth.audits.black_box import AT_ONCE, FEWEST_TRIALS, MOST_PAIRS, Tell, judge
from alphasynth.audits.finding import Finding
from alphasynth.errors import InputError
from alphasynth.privacy.randomness import Key, child
from alphasynth.raking.columns import Columns
from alphasynth.raking.reading import read_codes
from alphasynth.synthesis.raked import RakedSynthesizer
from alphasynth.tables.frames import Frame, to_arrow
from alphasynth.tables.grouping import Streamed
from alphasynth.tables.opening import as_declared

# Rows of the tables that are told apart, at least.
ROWS = 400


def audit_whole_table(
    key: Key,
    synthesizer: RakedSynthesizer,
    table: Frame | Streamed,
    trials: int = 400,
    tell: Tell = lambda doing, done, steps: None,
) -> Finding:
    """Run the whole pipeline `trials` times with the rarest row and as often without it, and tell the tables apart."""
    if trials < FEWEST_TRIALS:
        raise InputError(f"trials must be at least {FEWEST_TRIALS}, found {trials}")
    if isinstance(table, Streamed) and table.unit is not None:
        raise InputError("the audit of a whole table must have rows for units of privacy, found another unit")
    columns, rows = synthesizer.columns, _rows(synthesizer, table)
    if rows.num_rows < 2:
        raise InputError("an audit needs a neighbour to compare with, found a table too small to have one")
    row = _rarest(columns, rows)
    others = rows.filter(pa.array(np.arange(rows.num_rows) != row))
    target = rows.slice(row, 1)
    sides = [
        _features(columns, target, _made(child(key, side), synthesizer, each, rows.num_rows, (side, trials), tell))
        for side, each in enumerate((rows, others))
    ]
    delta = 0.0 if synthesizer.delta is None else synthesizer.delta
    seen = judge(sides[0], sides[1], delta)
    name = f"not counted: the rarest of {rows.num_rows:,} rows"
    return Finding("black-box", synthesizer.scope, synthesizer.epsilon, seen.bound, delta, 1, name, seen.ceiling)


def _rows(synthesizer: RakedSynthesizer, table: Frame | Streamed) -> pa.Table:
    """The confidential rows on the columns that are read."""
    columns = synthesizer.columns
    names = [*columns.names, *([] if columns.weight is None else [columns.weight.column])]
    if not isinstance(table, Streamed):
        return to_arrow(table, names)
    synthesizer.check_columns(list(table.column_names), table.names_are_public)
    rows = as_declared(table, synthesizer.columns.read_as).stream(names)
    return pa.Table.from_batches(list(rows)).rename_columns(names)


def _rarest(columns: Columns, rows: pa.Table) -> int:
    """The row whose cells fewest others share: the sum over columns of the logarithm of how many do."""
    codes, _ = read_codes(columns, rows.to_batches())
    blocks = [cells.block[code] for cells, code in zip(columns.cells(), codes, strict=True)]
    return int(np.argmin(sum(np.log(np.bincount(each)[each]) for each in blocks)))


def _made(
    key: Key, synthesizer: RakedSynthesizer, rows: pa.Table, n: int, side: tuple[int, int], tell: Tell
) -> list[pa.Table]:
    """A table from each of many runs."""
    made, (number, trials) = [], side
    for i in range(trials):
        if i % AT_ONCE == 0:
            done = number * trials + i
            tell(f"black-box audit: run {done + 1:,} of {2 * trials:,}", done, 2 * trials)
        one = copy(synthesizer)
        one.m = one.tables_per_draw = 1
        one.seed, one.rows = int(child(key, i).generate_state(1, np.uint64)[0]), max(n, ROWS)
        made += one.holding(n).fit(rows).sample()
    return made


def _features(columns: Columns, target: pa.Table, made: list[pa.Table]) -> np.ndarray:
    """Shares (tables, features) of rows that are in the target's cells: by column, by pair and in all; and means."""
    public = replace(columns, weight=None)
    cells, found = columns.cells(), []
    own = [cut.block[code] for cut, code in zip(cells, read_codes(columns, target.to_batches()).codes, strict=True)]
    for table in made:
        codes, _ = read_codes(public, table.select(list(columns.names)).to_batches())
        same = np.array([cut.block[code] == each for cut, code, each in zip(cells, codes, own, strict=True)])
        pairs = [(a & b).mean() for i, a in enumerate(same) for b in same[:i]][:MOST_PAIRS]
        middle = [code.mean() / cut.size for cut, code in zip(cells, codes, strict=True)]
        found.append([*same.mean(axis=1), *pairs, *middle, same.all(axis=0).mean()])
    return np.array(found)
