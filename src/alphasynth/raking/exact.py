"""Exact sums over a table's records: `Held`, of cells in memory, and `Passes`, over a table that stays where it is.

Two passes are enough. The first counts fine cells of each column and blocks of all pairs: these are public beforehand,
and cells that pairs use are unions of blocks. The second sums moments, whose features come from the first one's counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError, gathering
from alphasynth.raking.columns import Columns
from alphasynth.raking.features import Moments
from alphasynth.raking.moments import exact_sums
from alphasynth.raking.reading import NO_ROWS, Read, joined, read_parts, squares
from alphasynth.raking.sums import Exact, Margin
from alphasynth.tables.grouping import Adding, Streamed

# Rows whose cells are looked up at a time: what they take stays near the processor.
ROWS = 32_768
# Bytes of cells that are held; the rows of a larger table pass by.
MOST_HELD = 1_000_000_000
# Counts of all pairs' blocks that the first pass makes, at the most; with more there is a pass for pairs alone.
MOST_COUNTS = 20_000_000
CHANGED = "the table must not change while it is read, found that it did"


def count(margins: Sequence[Margin], read: Read) -> list[np.ndarray]:
    """Counts (cells,) of tables, in whole numbers; a row counts once, or as often as its weight says."""
    shapes = [margin.shape for margin in margins]
    found = [np.zeros(margin.size, np.int64) for margin in margins]
    lookups = {(j, id(cells)): cells for m in margins for j, cells in zip(m.columns, m.cells, strict=True)}
    for first in range(0, len(read.codes[0]), ROWS):
        rows = slice(first, first + ROWS)
        weights = None if read.weights is None else read.weights[rows]
        at = {key: np.asarray(cells, np.intp)[read.codes[key[0]][rows]] for key, cells in lookups.items()}
        for margin, shape, counts in zip(margins, shapes, found, strict=True):
            place, *others = (at[j, id(cells)] for j, cells in zip(margin.columns, margin.cells, strict=True))
            for other, size in zip(others, shape[1:], strict=True):
                place = place * size + other
            # Floats hold the weights' sums exactly: none reaches 2^53.
            counts += np.bincount(place, weights, len(counts)).astype(np.int64)
    return found


@dataclass(frozen=True, eq=False)
class Held:
    """Sums of cells (n,) and weights (n,) in memory (confidential); a table's counts are made once, when asked for."""

    _records: Read = field(repr=False)
    _made: dict[Margin, np.ndarray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, codes: Sequence[np.ndarray], weights: np.ndarray | None = None) -> Held:
        """Of cells and weights."""
        return cls(Read(tuple(codes), weights))

    @classmethod
    def gathered(cls, columns: Columns, batches: Iterable[pa.RecordBatch], most: float = MOST_HELD) -> Held | None:
        """Of a table's rows; None where they would take more bytes. Raise `InputError` for what was not declared."""
        parts, size = list[Read](), 0
        for part in read_parts(columns, batches):
            size += sum(column.nbytes for column in (*part.codes, part.weights) if column is not None)
            if size > most:
                return None
            parts.append(part)
        return cls(joined(parts))

    @property
    def n(self) -> int:
        """How many records there are."""
        return len(self._records.codes[0])

    @property
    def weights(self) -> tuple[int, int]:
        """How often they count, all together, and the sum of the weights' squares."""
        weights = self._records.weights
        return (self.n, self.n) if weights is None else (int(weights.sum()), int(squares(weights).sum()))

    def counts(self, margins: Sequence[Margin]) -> list[np.ndarray]:
        """Counts (cells,) of each table."""
        new = [margin for margin in margins if margin not in self._made]
        self._made.update(zip(new, count(new, self._records), strict=True))
        return [self._made[margin] for margin in margins]

    def moments(self, moments: Moments) -> np.ndarray:
        """Sums (D,) of records' cut vectors."""
        return exact_sums(moments, self._records.codes, self._records.weights)


@dataclass(frozen=True, eq=False)
class Pass:
    """What a pass adds up, wherever rows are: their number and weight, counts of tables, sums of moments."""

    columns: Columns
    margins: tuple[Margin, ...] = field(default=(), repr=False)
    moments: Moments | None = field(default=None, repr=False)

    @property
    def sizes(self) -> list[int]:
        """How many numbers each of these is."""
        return [3, *(margin.size for margin in self.margins), 0 if self.moments is None else self.moments.size]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> np.ndarray:
        """Sums over the rows of some batches."""
        found = np.zeros(sum(self.sizes), np.int64)
        for read in read_parts(self.columns, batches):
            held = Held(read)
            moments = [] if self.moments is None else [held.moments(self.moments)]
            found += np.concatenate([[held.n, *held.weights], *held.counts(self.margins), *moments])
        return found


@dataclass(frozen=True, eq=False)
class Passes:
    """Sums of a table that stays where it is, in passes; `add` adds up what a pass makes of all of its rows."""

    columns: Columns
    add: Callable[[Adding], np.ndarray] = field(repr=False)
    n: int
    weights: tuple[int, int]
    _fine: list[np.ndarray] = field(repr=False)
    _pairs: dict[tuple[int, ...], np.ndarray] = field(repr=False)
    _made: dict[Margin, np.ndarray] = field(default_factory=dict, repr=False)

    @classmethod
    def begin(cls, columns: Columns, add: Callable[[Adding], np.ndarray], most: int = MOST_COUNTS) -> Passes:
        """After the first pass; raise `InputError` for what was not declared."""
        cells = columns.cells()
        margins = [Margin((j,), (np.arange(each.size),)) for j, each in enumerate(cells)]
        pairs = [Margin((a, b), (cells[a].block, cells[b].block)) for a, b in _pairs_of(len(cells))]
        margins += pairs if sum(pair.size for pair in pairs) <= most else []
        asked = Pass(columns, tuple(margins))
        (n, *weights), *found = _split(add(asked), asked.sizes)
        if not n:
            raise InputError(NO_ROWS)
        ends = zip(margins[len(cells) :], found[len(cells) :], strict=False)
        tables = {margin.columns: counts.reshape(margin.shape) for margin, counts in ends}
        return cls(columns, add, int(n), (int(weights[0]), int(weights[1])), found[: len(cells)], tables)

    def counts(self, margins: Sequence[Margin]) -> list[np.ndarray]:
        """Counts (cells,) of each table: from the first pass, or else all together from another."""
        new = [margin for margin in margins if margin not in self._made]
        known = {margin: self._known(margin) for margin in new}
        asked = Pass(self.columns, tuple(margin for margin, counts in known.items() if counts is None))
        known |= dict(zip(asked.margins, self._again(asked), strict=False)) if asked.margins else {}
        self._made.update({margin: counts for margin, counts in known.items() if counts is not None})
        return [self._made[margin] for margin in margins]

    def moments(self, moments: Moments) -> np.ndarray:
        """Sums (D,) of records' cut vectors: another pass."""
        return self._again(Pass(self.columns, (), moments))[-1]

    def _again(self, asked: Pass) -> list[np.ndarray]:
        seen, *found = _split(self.add(asked), asked.sizes)
        if tuple(seen) != (self.n, *self.weights):
            raise InputError(CHANGED)
        return found

    def _known(self, margin: Margin) -> np.ndarray | None:
        """Counts of a table that are sums of the first pass's; None where they are not."""
        if len(margin.columns) == 1:
            return _summed(self._fine[margin.columns[0]], margin, margin.cells)
        if margin.columns not in self._pairs:
            return None
        blocks = [self.columns.cells()[j].block for j in margin.columns]
        to = [cells[np.unique(block, return_index=True)[1]] for cells, block in zip(margin.cells, blocks, strict=True)]
        same = [(each[block] == cells).all() for each, block, cells in zip(to, blocks, margin.cells, strict=True)]
        return _summed(self._pairs[margin.columns], margin, to) if all(same) else None


def exact_of(columns: Columns, table: Streamed, names: Sequence[str]) -> Exact:
    """Sums of a stored table: of its cells in memory, or in passes where it is large, or has its engine elsewhere.

    Raise `InputError` for what was not declared; columns beside one that cannot be read are checked too.
    """
    try:
        return _exact_of(columns, table, names)
    except InputError as error:
        _check_others(columns.only(error.rest or ()), table, error)
        raise


def _check_others(columns: Columns, table: Streamed, error: InputError) -> None:
    """Say what else is wrong, with what was found already, of columns that can be read."""
    with gathering() as problems:
        problems.add(error)
        for _ in read_parts(columns, table.stream(columns.names)) if columns.declared else ():
            pass


def _exact_of(columns: Columns, table: Streamed, names: Sequence[str]) -> Exact:
    if not table.adds_up_itself:
        held = Held.gathered(columns, table.stream(names))
        if held is not None:
            return held
    return Passes.begin(columns, lambda adding: table.add_up(names, adding))


def _pairs_of(columns: int) -> Iterator[tuple[int, int]]:
    return itertools.combinations(range(columns), 2)


def _split(sums: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    return np.split(sums, np.cumsum(sizes)[:-1])


def _summed(counts: np.ndarray, margin: Margin, to: Sequence[np.ndarray]) -> np.ndarray:
    """Counts of larger cells from those of smaller ones; `to` says in which one each lies."""
    found = np.zeros(margin.shape, np.int64)
    np.add.at(found, np.ix_(*to), counts)
    return found.ravel()
