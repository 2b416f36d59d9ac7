"""`synthesize`: tables of synthetic rows from draws of parameters; `Release`, the only thing that may leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.fit import Problem, in_64_bit
from alphasynth.frames import Frame, build, column_names, kind_of, like, select, take
from alphasynth.guarantee import PublicGuarantee
from alphasynth.sampler import Draws, Key, child

# Covariate rows are gathered for this many new records at a time: 10 million of them would not fit otherwise.
ROWS_AT_A_TIME = 1_000_000


@dataclass(frozen=True, eq=False)
class Release:
    """What may leave: synthetic tables and the public part of the guarantee."""

    tables: tuple[Frame, ...] = field(repr=False)
    guarantee: PublicGuarantee


@dataclass(frozen=True, eq=False)
class Layout:
    """What a synthetic table looks like: its kind, its columns in order, and the values of those declared public."""

    kind: str
    response: str
    names: tuple[str, ...]
    public: Mapping[str, Any] = field(repr=False)
    empty_response: Any = field(repr=False)

    @classmethod
    def of(cls, table: Frame, response: str, public: Sequence[str]) -> Layout:
        """Layout of the table's response and public columns, in the table's own column order and types."""
        names = tuple(name for name in column_names(table) if name == response or name in public)
        nothing = take(select(table, [response])[response], np.zeros(0, np.int64))
        return cls(kind_of(table), response, names, select(table, public), nothing)

    def table(self, values: np.ndarray, rows: np.ndarray | None) -> Frame:
        """Frame of synthetic values beside the public columns' rows (all of them, in order, where `rows` is None)."""
        columns = {
            name: like(self.empty_response, values)
            if name == self.response
            else (self.public[name] if rows is None else take(self.public[name], rows))
            for name in self.names
        }
        return build(self.kind, columns)


def pick(key: Key, draws: Draws, m: int) -> Draws:
    """m of the draws, at random and without replacement."""
    if not 1 <= m <= draws.num_draws:
        raise InputError(f"m must lie between 1 and the number of draws, {draws.num_draws:,}, found {m}")
    return draws.take(np.random.default_rng(key).choice(draws.num_draws, m, replace=False))


@in_64_bit
def synthesize(
    key: Key, problem: Problem, picked: Draws, layout: Layout, rows: int | None = None, tables_per_draw: int = 1
) -> list[Frame]:
    """`tables_per_draw` tables for each picked draw, draw by draw.

    Each has as many rows as the confidential table and its public columns in their order; with another number of `rows`
    the public columns' rows are drawn with replacement.
    """
    tables = []
    for number in range(picked.num_draws):
        theta = {name: value[number] for name, value in picked.theta.items()}
        for copy in range(tables_per_draw):
            rng = np.random.default_rng(child(key, number, copy))
            resampled = rng.integers(problem.records.n, size=rows) if rows is not None and layout.public else None
            values = _simulate(rng, problem, theta, rows or problem.records.n, resampled)
            tables.append(layout.table(values, resampled))
    return tables


def _simulate(
    rng: np.random.Generator, problem: Problem, theta: dict[str, Any], size: int, resampled: np.ndarray | None
) -> np.ndarray:
    """Response values (size,) for the records of the table in order, or for those at `resampled`."""
    covariates = {name: column for name, column in problem.rows.columns.items() if name == "X"}
    parts = []
    for first in range(0, size, ROWS_AT_A_TIME):
        chunk = slice(first, min(first + ROWS_AT_A_TIME, size))
        columns = {}
        if covariates:
            # Without public columns to draw rows of, the design is a column of ones: any record's will do.
            table_rows = (
                np.arange(chunk.start, chunk.stop) % problem.records.n if resampled is None else resampled[chunk]
            )
            lines = problem.rows.of[problem.records.index[table_rows]]
            columns = {name: column[lines] for name, column in covariates.items()}
        parts.append(problem.model.simulate(rng, theta, columns, chunk.stop - chunk.start))
    return np.concatenate(parts)
