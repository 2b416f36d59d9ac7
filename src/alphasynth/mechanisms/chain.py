"""A chain of column models over the same records: blocks fitted apart and in parallel, and one joint bound.

A record's log-likelihood is the sum over its columns, and the columns' parameters are drawn apart; so its bound is
taken over all combinations of the blocks' draws: the largest sum is the sum of the largest, the smallest that of the
smallest.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple, TypeVar

import numpy as np

from alphasynth.errors import DiagnosticsError
from alphasynth.inference.contribution import weighted
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms.fit import Fit, Problem, fit, freeze
from alphasynth.mechanisms.lipschitz import Lipschitz, larger
from alphasynth.privacy.randomness import Key, child
from alphasynth.tables.records import Records

Made = TypeVar("Made")


class Working(NamedTuple):
    """A column whose draws are being made: its name, how many parameters it has, since when; all of it public."""

    column: str
    size: int
    since: float


_WORKING: dict[int, Working] = {}


@contextmanager
def working_on(column: str, block: Problem) -> Iterator[None]:
    """Say which column this thread is at, for whoever shows what a run is doing."""
    thread = threading.get_ident()
    _WORKING[thread] = Working(column, block.model.prior.size, time.monotonic())
    try:
        yield
    except DiagnosticsError as error:
        size = block.model.prior.size
        change = "drop terms from its formula, merge rare levels, or give it more of the budget"
        raise DiagnosticsError(f"column {column!r} ({size:,} coefficients): {error}: {change}", error.draws) from None
    finally:
        del _WORKING[thread]


def under_way() -> list[Working]:
    """The columns that are being worked on, the one begun first in front."""
    return sorted(_WORKING.copy().values(), key=lambda one: one.since)


@dataclass(frozen=True, eq=False)
class Chain:
    """Column models of one table (confidential): blocks over the same records, by the names of their columns.

    `shares` are the public parts of the budget that the blocks have; they sum to 1.
    """

    names: tuple[str, ...]
    blocks: tuple[Problem, ...]
    shares: tuple[float, ...]

    @classmethod
    def of_one(cls, block: Problem) -> Chain:
        """A single column is a chain of one block, which has all of the budget."""
        return cls((block.records.response,), (block,), (1.0,))

    @property
    def records(self) -> Records:
        """The distinct rows on every column in use."""
        return self.blocks[0].records

    @property
    def one(self) -> Problem:
        """The block of a chain of one."""
        (block,) = self.blocks
        return block


@dataclass(frozen=True, eq=False)
class JointFit:
    """A round of a chain (confidential): one fit per block, and F of the whole record.

    `alpha_distinct` has one weight per distinct row, or one per distinct row and column.
    """

    records: Records
    names: tuple[str, ...]
    columns: tuple[Fit, ...]
    alpha_distinct: np.ndarray = field(repr=False)
    largest_distinct: np.ndarray = field(repr=False)

    @classmethod
    def of_one(cls, name: str, column: Fit) -> JointFit:
        """The fit of a single column, as that of a chain of one."""
        return cls(column.records, (name,), (column,), column.alpha_distinct, column.largest_distinct)

    def __post_init__(self) -> None:
        """Freeze the arrays that the privacy numbers come from."""
        freeze(self.alpha_distinct, self.largest_distinct)

    @property
    def alpha(self) -> np.ndarray:
        """Weights (n,), or (n, columns), in the table's own row order."""
        return self.records.expand(self.alpha_distinct)

    @property
    def mean_alpha(self) -> float:
        """Mean weight over records, and over columns where each has its own."""
        by_row = self.alpha_distinct.reshape(self.records.size, -1).mean(axis=1)
        return float(np.average(by_row, weights=self.records.counts))

    @property
    def draws(self) -> Draws:
        """The draws of a single column."""
        (column,) = self.columns
        return column.draws

    @property
    def attempts(self) -> tuple[int, ...]:
        """The samplers' attempts whose draws these are, by block."""
        return tuple(column.attempts[0] for column in self.columns)

    @property
    def lipschitz(self) -> Lipschitz:
        """Delta by record, the largest |sum over columns of alpha f| over all combinations of draws, and overall."""
        if self.alpha_distinct.ndim == 1:
            return Lipschitz(self.records, weighted(self.alpha_distinct, self.largest_distinct))
        return Lipschitz(self.records, joint_largest(self.columns, self.alpha_distinct))


def joint_largest(columns: Sequence[Fit], alpha: np.ndarray | None = None) -> np.ndarray:
    """max(sum of the largest f, minus the sum of the smallest f) by distinct row, f weighted where alpha is given."""
    highest, lowest = np.zeros(columns[0].records.size), np.zeros(columns[0].records.size)
    for number, column in enumerate(columns):
        assert column.extremes is not None, "a fit keeps the extremes"
        top, bottom = column.extremes
        if alpha is not None:
            top, bottom = weighted(alpha[:, number], top), weighted(alpha[:, number], bottom)
        highest, lowest = highest + top, lowest + bottom
    # Where one column is not finite, neither is the sum, whatever the others are.
    known = np.isfinite(highest) & np.isfinite(lowest)
    return np.where(known, larger(np.where(known, highest, 0.0), np.where(known, lowest, 0.0)), np.inf)


def fit_chain(key: Key, chain: Chain, alpha: np.ndarray, least: tuple[int, ...] = ()) -> JointFit:
    """Fit every block with weights by distinct row, or by distinct row and column.

    `least` is the first of the samplers' attempts, by block, whose draws are taken. A record that the only block of a
    chain cannot hold takes weight 0.
    """
    keys = block_keys(key, chain.names)

    def one(number: int) -> Fit:
        weights = alpha if alpha.ndim == 1 else np.ascontiguousarray(alpha[:, number])
        with working_on(chain.names[number], chain.blocks[number]):
            return fit(keys[number], chain.blocks[number], weights, least[number] if least else 0)

    columns = tuple(in_parallel(one, len(chain.blocks)))
    used = columns[0].alpha_distinct.reshape(alpha.shape) if len(columns) == 1 else alpha.copy()
    return JointFit(chain.records, chain.names, columns, used, joint_largest(columns))


def in_parallel(work: Callable[[int], Made], number: int) -> list[Made]:
    """Results of `work(i)`, several at a time: the compiled programs let other threads run."""
    workers = min(number, os.cpu_count() or 1)
    if workers == 1:
        return [work(i) for i in range(number)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, range(number)))


def block_keys(key: Key, names: Sequence[str]) -> list[Key]:
    """A key for each block, derived from its column's name alone; a chain of one has the key of a single column."""
    if len(names) == 1:
        return [key]
    return [child(key, *column_number(name)) for name in names]


def column_number(name: str) -> tuple[int, int]:
    """Two numbers of 32 bits that stand for a column's name."""
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:], "big")
