"""`synthesize`: tables of synthetic rows from draws of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError
from alphasynth.fit import Problem, in_64_bit
from alphasynth.frames import Frame, build, column_names, kind_of, like, select, take
from alphasynth.grouping import Grouped
from alphasynth.sampler import Draws, Key, child

# New records are simulated this many at a time: what is gathered for 10 million of them at once would not fit.
ROWS_AT_A_TIME = 1_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """What a synthetic table looks like: its kind, its columns in order, and the values of those declared public.

    `public` has one entry per table row, or per line that `index` gives for each table row.
    """

    kind: str
    response: str
    names: tuple[str, ...]
    public: Mapping[str, Any] = field(repr=False)
    empty_response: Any = field(repr=False)
    index: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def of(cls, table: Frame, response: str, public: Sequence[str]) -> Layout:
        """Layout with the table's own column order and types."""
        names = tuple(name for name in column_names(table) if name == response or name in public)
        nothing = take(select(table, [response])[response], np.zeros(0, np.int64))
        return cls(kind_of(table), response, names, select(table, public), nothing)

    @classmethod
    def of_grouped(cls, grouped: Grouped, response: str, order: Sequence[str]) -> Layout:
        """Layout of Arrow tables with the column order of a stored table and the types it has there."""
        public = {name: grouped.public.column(name) for name in grouped.public.column_names}
        names = tuple(name for name in order if name == response or name in public)
        return cls("pyarrow", response, names, public, pa.array([], grouped.response_type), grouped.index)

    def table(self, values: np.ndarray, rows: np.ndarray | None) -> Frame:
        """Frame of synthetic values beside the public columns' rows (all of them, in order, where `rows` is None)."""
        at = rows
        if self.index is not None:
            at = self.index if rows is None else self.index[rows]
        columns = {
            name: like(self.empty_response, values)
            if name == self.response
            else (self.public[name] if at is None else take(self.public[name], at))
            for name in self.names
        }
        return build(self.kind, columns)


def new_values(rng: np.random.Generator, problem: Problem, draws: Draws, number: int) -> np.ndarray:
    """Response values of one new record beside each record (n,), in no order that matters, from one of the draws."""
    theta = {name: value[number] for name, value in draws.theta.items()}
    columns = {}
    if "X" in problem.rows.columns:
        times = problem.rows.total(problem.records.counts)[: problem.rows.size].astype(np.int64)
        columns = {"X": np.repeat(np.asarray(problem.rows.distinct["X"]), times, axis=0)}
    return problem.model.simulate(rng, theta, columns, problem.records.n)


def pick(key: Key, draws: Draws, m: int) -> np.ndarray:
    """Numbers of m of the draws, at random and without replacement."""
    if not 1 <= m <= draws.num_draws:
        raise InputError(f"m must lie between 1 and the number of draws, {draws.num_draws:,}, found {m}")
    return np.random.default_rng(key).choice(draws.num_draws, m, replace=False)


@dataclass(frozen=True, eq=False)
class Simulation:
    """One synthetic table, whole or in chunks; the same rows come each time, as its key decides them (confidential).

    It has as many rows as the confidential table and its public columns in their order; with another number of `rows`
    the public columns' rows are drawn with replacement.
    """

    key: Key
    problem: Problem
    theta: Mapping[str, Any] = field(repr=False)
    layout: Layout
    rows: int | None = None

    def table(self) -> Frame:
        """The table in one piece."""
        values, beside = zip(*self._parts(), strict=True)
        return self.layout.table(np.concatenate(values), None if self.rows is None else np.concatenate(beside))

    def chunks(self) -> Iterator[Frame]:
        """The table in pieces of at most a million rows."""
        for values, beside in self._parts():
            yield self.layout.table(values, beside)

    def _parts(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """New values, and the table rows whose public columns stand beside them."""
        n, size = self.problem.records.n, self.rows or self.problem.records.n
        rng = np.random.default_rng(self.key)
        resampled = rng.integers(n, size=self.rows) if self.rows is not None and self.layout.public else None
        for first in range(0, size, ROWS_AT_A_TIME):
            last = min(first + ROWS_AT_A_TIME, size)
            # Without public columns it does not matter which rows these are.
            beside = np.arange(first, last) % n if resampled is None else resampled[first:last]
            yield self._simulate(rng, beside), beside

    @in_64_bit
    def _simulate(self, rng: np.random.Generator, beside: np.ndarray) -> np.ndarray:
        """Response values of new records beside these rows of the table."""
        problem = self.problem
        columns = {}
        if "X" in problem.rows.columns:
            # Without an order of rows there are no covariates: the design is a column of ones.
            index = problem.records.index
            lines = np.zeros(len(beside), np.int64) if index is None else problem.rows.of[index[beside]]
            columns = {"X": problem.rows.columns["X"][lines]}
        return problem.model.simulate(rng, dict(self.theta), columns, len(beside))


def synthesize(
    key: Key, problem: Problem, picked: Draws, layout: Layout, rows: int | None = None, tables_per_draw: int = 1
) -> list[Simulation]:
    """`tables_per_draw` tables for each picked draw, draw by draw, ready to be simulated."""
    return [
        Simulation(
            child(key, number, copy),
            problem,
            {name: value[number] for name, value in picked.theta.items()},
            layout,
            rows,
        )
        for number in range(picked.num_draws)
        for copy in range(tables_per_draw)
    ]
