"""Who takes part in the league of whole tables: ours, peers in interpreters of their own, and a bootstrap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from alphasynth.league.bins import Bins, told
from alphasynth.league.peers import PEERS
from alphasynth.league.regressions import Numbers
from alphasynth.league.run_peer import Order, run_peer
from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns
from alphasynth.synthesis.raked import RakedSynthesizer
from alphasynth.tables.declared import Declared

OURS, OURS_WITH_RESPONSE, BOOTSTRAP = "Raked", "Raked with response", "bootstrap"


class Took(NamedTuple):
    """CPU and wall seconds of a synthesis, and the version of who made it, where that is not ours."""

    cpu: float
    wall: float
    version: str = ""


class Entrant(Protocol):
    """Makes a synthetic table."""

    @property
    def label(self) -> str:
        """What it is called."""
        ...

    @property
    def private(self) -> bool:
        """Whether it keeps the epsilon and delta of the league."""
        ...

    def make(self, epsilon: float, seed: int) -> tuple[pa.Table, Took]:
        """A table, and what it took; raise `PeerError`."""
        ...


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The table's rows, drawn again: no privacy, and what chance alone does to every measure."""

    table: pa.Table = field(repr=False)
    label: str = BOOTSTRAP
    private: bool = False

    def make(self, epsilon: float, seed: int) -> tuple[pa.Table, Took]:
        """As many rows as there are; of epsilon it makes nothing, and no synthesis takes time."""
        rows = np.random.default_rng(seed).integers(len(self.table), size=len(self.table))
        return self.table.take(rows), Took(math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class Ours:
    """`Raked`: `front` gives the synthesizer of one table at an epsilon, with a seed."""

    label: str
    front: Callable[[float, int], RakedSynthesizer] = field(repr=False)
    table: pa.Table = field(repr=False)
    private: bool = True

    def make(self, epsilon: float, seed: int) -> tuple[pa.Table, Took]:
        """What a release would have."""
        begin = _now()
        (made,) = self.front(epsilon, seed).fit(self.table).sample()
        return made, _since(begin)


@dataclass(frozen=True, eq=False)
class Rival:
    """A peer, which sees the blocks (n,) of our cells and nothing else; its rows become values as all peers' do.

    What it is handed lies in `place` until it is done.
    """

    peer: str
    python: str
    columns: Columns
    blocks: list[np.ndarray] = field(repr=False)
    delta: float
    limit: int
    place: Path
    private: bool = True

    @property
    def label(self) -> str:
        """What it is called."""
        return PEERS[self.peer].label

    def make(self, epsilon: float, seed: int) -> tuple[pa.Table, Took]:
        """Its rows, with values of the declared kinds."""
        cells = self.columns.cells()
        order = Order(self.peer, self.python, epsilon, self.delta, seed, self.limit)
        made = run_peer(order, self.blocks, [column.blocks for column in cells], self.place)
        filled = {
            column.name: column_of(column, self.columns.declared[column.name], _values(column, each, made.rng))
            for column, each in zip(cells, made.codes, strict=True)
        }
        return pa.table(filled), Took(made.cpu, made.wall, made.version)


def _values(cells: Cells, blocks: np.ndarray, rng: np.random.Generator) -> Numbers:
    return Numbers(*Bins.of(told(cells)).decode(blocks, rng))


def column_of(cells: Cells, facts: Declared, numbers: Numbers) -> pa.Array:
    """A column of values as they are declared, from numbers: levels of text, dates, gaps."""
    if cells.text:
        levels = np.array(cells.levels, object)
        return pa.array(levels[numbers.values.astype(np.int64)], pa.string(), mask=numbers.gone)
    if facts.dates:
        return pa.array(numbers.values.astype(np.int32), mask=numbers.gone).cast(pa.date32())
    return pa.array(numbers.values, mask=numbers.gone)


def _now() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _since(begin: tuple[float, float]) -> Took:
    now = _now()
    return Took(now[0] - begin[0], now[1] - begin[1])
