"""`synthesize`: tables of synthetic rows from draws of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError
from alphasynth.inference.sampler import Draws
from alphasynth.privacy.randomness import Key, child
from alphasynth.tables.frames import Frame, build, column_names, kind_of, like, select, take
from alphasynth.tables.grouping import Grouped

# New records are simulated this many at a time: what is gathered for 10 million of them at once would not fit.
ROWS_AT_A_TIME = 1_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """What a synthetic table looks like: its kind, its columns in order, and the values of those declared public.

    `public` has one entry per table row, or per line that `index` gives for each table row; `empty` holds the
    synthesized columns without a row, which is their type: the table's own, or one made `by_declaration`.
    """

    kind: str
    names: tuple[str, ...]
    public: Mapping[str, Any] = field(repr=False)
    empty: Mapping[str, Any] = field(repr=False)
    index: np.ndarray | None = field(default=None, repr=False)
    by_declaration: bool = False

    @classmethod
    def of(cls, table: Frame, responses: Sequence[str], public: Sequence[str]) -> Layout:
        """Layout with the table's own column order and types."""
        names = tuple(name for name in column_names(table) if name in responses or name in public)
        nothing = {name: take(column, np.zeros(0, np.int64)) for name, column in select(table, responses).items()}
        return cls(kind_of(table), names, select(table, public), nothing)

    @classmethod
    def of_grouped(cls, grouped: Grouped, responses: Sequence[str], order: Sequence[str]) -> Layout:
        """Layout of Arrow tables with the column order of a stored table and the types it has there."""
        public = {name: grouped.public.column(name) for name in grouped.public.column_names}
        names = tuple(name for name in order if name in responses or name in public)
        nothing = {name: pa.array([], grouped.types[name]) for name in responses}
        return cls("pyarrow", names, public, nothing, grouped.index)

    def table(self, values: Mapping[str, Filled], rows: np.ndarray | None) -> Frame:
        """Frame of synthetic values beside the public columns' rows (all of them, in order, where `rows` is None)."""
        at = rows
        if self.index is not None:
            at = self.index if rows is None else self.index[rows]
        columns = {
            name: like(self.empty[name], values[name].values, values[name].missing, values[name].levels)
            if name in values
            else (self.public[name] if at is None else take(self.public[name], at))
            for name in self.names
        }
        return build(self.kind, columns)


class Filled(NamedTuple):
    """A synthetic column: its values, where it has gaps, and the levels of categories."""

    values: np.ndarray
    missing: np.ndarray | None = None
    levels: tuple[Any, ...] = ()

    def then(self, other: Filled) -> Filled:
        """With another's rows after one's own."""
        values = np.concatenate([self.values, other.values])
        if self.missing is None or other.missing is None:
            return Filled(values, None, self.levels)
        return Filled(values, np.concatenate([self.missing, other.missing]), self.levels)


class Maker(Protocol):
    """Makes new rows from one draw of parameters."""

    @property
    def n(self) -> int:
        """Rows of the confidential table."""
        ...

    def begin(self, key: Key, rng: np.random.Generator) -> Callable[[np.ndarray], dict[str, Filled]]:
        """What makes the synthesized columns of new records beside these rows of the table, chunk after chunk."""
        ...


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
    maker: Maker
    layout: Layout
    rows: int | None = None

    def table(self) -> Frame:
        """The table in one piece."""
        parts, beside = zip(*self._parts(), strict=True)
        whole = {name: reduce(Filled.then, (part[name] for part in parts)) for name in parts[0]}
        return self.layout.table(whole, None if self.rows is None else np.concatenate(beside))

    def chunks(self) -> Iterator[Frame]:
        """The table in pieces of at most a million rows."""
        for values, beside in self._parts():
            yield self.layout.table(values, beside)

    def _parts(self) -> Iterator[tuple[dict[str, Filled], np.ndarray]]:
        """New values, and the table rows whose public columns stand beside them."""
        n, size = self.maker.n, self.rows or self.maker.n
        rng = np.random.default_rng(self.key)
        resampled = rng.integers(n, size=self.rows) if self.rows is not None and self.layout.public else None
        make = self.maker.begin(self.key, rng)
        for first in range(0, size, ROWS_AT_A_TIME):
            last = min(first + ROWS_AT_A_TIME, size)
            # Without public columns it does not matter which rows these are.
            beside = np.arange(first, last) % n if resampled is None else resampled[first:last]
            yield make(beside), beside


def synthesize(
    key: Key, makers: Sequence[Maker], layout: Layout, rows: int | None = None, tables_per_draw: int = 1
) -> list[Simulation]:
    """`tables_per_draw` tables for each picked draw's maker, draw by draw, ready to be simulated."""
    return [
        Simulation(child(key, number, copy), maker, layout, rows)
        for number, maker in enumerate(makers)
        for copy in range(tables_per_draw)
    ]


def thetas(picked: Draws) -> list[dict[str, Any]]:
    """Parameters by name of each picked draw."""
    return [{name: value[number] for name, value in picked.theta.items()} for number in range(picked.num_draws)]
