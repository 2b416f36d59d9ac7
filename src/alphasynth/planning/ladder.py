"""Runs on stand-ins at a ladder of budgets, and curves through them: noise in standard errors, item by item.

Noise beside sampling error depends on the budget and the number of rows through one number alone: rho times the rows,
or a pure epsilon times their root. So runs have few rows and much budget, in place of many rows and little.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from alphasynth.errors import StrictWarning
from alphasynth.planning.distances import Item, Reference
from alphasynth.planning.stand_in import resampled, stand_in
from alphasynth.privacy.accounting import epsilon_at
from alphasynth.privacy.strict_terms import NoisySums
from alphasynth.raking.columns import Columns
from alphasynth.synthesis.one_thread import one_thread
from alphasynth.synthesis.raked import RakedSynthesizer

# Rows of a stand-in, so many for noise of at least one: at little noise whole numbers do not show it.
FEWEST, MOST = 2_500, 20_000
# Runs at each rung: many of a narrow table, few of a wide one, whose items tell of each other.
MOST_RUNS, FEWEST_RUNS, ALL = 12, 4, 120
# The delta of runs: noise depends on rho alone, whatever epsilon and delta that was.
DELTA = 1e-9
# Turns that curves are fitted in.
TURNS = 30


class Rung(NamedTuple):
    """A budget for a table of `rows` rows: rho, or a pure epsilon."""

    budget: float
    rows: int
    pure: bool

    @property
    def height(self) -> float:
        """The logarithm of what noise depends on."""
        return math.log(self.budget * (math.sqrt(self.rows) if self.pure else self.rows))

    def with_rows(self, rows: int) -> Rung:
        """The budget that means as much to a table of other rows."""
        more = self.rows / rows
        return Rung(self.budget * (math.sqrt(more) if self.pure else more), rows, self.pure)


class Climbed(NamedTuple):
    """What one run shows of so many rows: by how many standard errors each item is off, those, what was measured."""

    rows: int
    distances: dict[Item, float]
    errors: dict[Item, float]
    measured: tuple[NoisySums, ...]


@dataclass(frozen=True, eq=False)
class Curve:
    """Logarithms (items, rungs) of noise in standard errors at the rungs' heights (rungs,)."""

    heights: np.ndarray = field(repr=False)
    noise: np.ndarray = field(repr=False)

    def at(self, height: float) -> np.ndarray:
        """Noise (items,) in standard errors; beyond the ladder, that of its ends."""
        return np.exp([np.interp(height, self.heights, line) for line in self.noise])


@one_thread()
def climb(columns: Columns, like: pa.Table | None, rung: Rung, number: int) -> Climbed:
    """One run on one stand-in."""
    rng = np.random.default_rng([number, rung.rows, rung.pure])
    table = stand_in(columns, rng, rung.rows) if like is None else resampled(like, rng, rung.rows)
    epsilon = rung.budget if rung.pure else epsilon_at(rung.budget, DELTA)
    # What was read off a table somebody has confirmed, or there would be no plan.
    synthesizer = RakedSynthesizer(
        columns, m=1, epsilon=epsilon, delta=None if rung.pure else DELTA, confirm_public="all", seed=number
    )
    with warnings.catch_warnings():  # of a stand-in's noise, which the plan is there to tell
        warnings.simplefilter("ignore", StrictWarning)
        synthesizer.fit(table)
    (made,) = synthesizer.sample()
    reference = Reference.of(columns, table)
    strict = synthesizer.guarantee_.strict
    assert strict is not None
    return Climbed(rung.rows, reference.distances(made), reference.errors, strict.measured)


def rows_for(columns: int, rung: Rung) -> int:
    """Rows of stand-ins: few, but so many that noise of counts has a deviation of about one."""
    enough = rung.budget * rung.rows / columns if not rung.pure else (rung.budget / columns) ** 2 * rung.rows
    return min(rung.rows, max(FEWEST, min(math.ceil(enough), MOST)))


def runs_of(columns: int) -> int:
    """Runs at each rung."""
    return min(MOST_RUNS, max(FEWEST_RUNS, ALL // columns))


def climb_all(
    columns: Columns, like: pa.Table | None, rungs: Sequence[Rung], processes: int, tell: Callable[[int, int], None]
) -> list[list[Climbed]]:
    """All runs, rung by rung."""
    runs = runs_of(len(columns.names))
    rescaled = [rung.with_rows(rows_for(len(columns.names), rung)) for rung in rungs]
    work = [(rung, number) for rung in rescaled for number in range(runs)]
    found = []
    for each in _results(partial(_climb, columns, like), work, processes):
        found.append(each)
        tell(len(found), len(work))
    return [found[at : at + runs] for at in range(0, len(found), runs)]


def _climb(columns: Columns, like: pa.Table | None, job: tuple[Rung, int]) -> Climbed:
    return climb(columns, like, *job)


def _results(
    task: Callable[[tuple[Rung, int]], Climbed], work: Sequence[tuple[Rung, int]], processes: int
) -> Iterator[Climbed]:
    """Results in order."""
    if processes == 1:
        yield from map(task, work)
        return
    with _quiet_tracker(), ProcessPoolExecutor(processes, get_context("spawn"), _end_together) as pool:
        yield from pool.map(task, work, chunksize=4)


def _end_together() -> None:
    """Have this process end when the one that started it does: a signal leaves no time to tell it."""
    parent = parent_process()
    assert parent is not None, "it is a worker's"

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def _quiet_tracker() -> Iterator[None]:
    """Where a signal ends this process, the one that tidies up after it has nothing to say."""
    before = os.environ.get("PYTHONWARNINGS")
    ignore = "ignore::UserWarning:multiprocessing.resource_tracker"
    os.environ["PYTHONWARNINGS"] = f"{before},{ignore}" if before else ignore
    try:
        yield
    finally:
        os.environ.pop("PYTHONWARNINGS")
        os.environ.update({} if before is None else {"PYTHONWARNINGS": before})


def smoothed(items: Sequence[Item], heights: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Logarithms (items, rungs) of noise, from mean squares (items, rungs), which scatter as few runs do.

    Items of a kind share a curve; each has a level and a slope of its own beside it. A gamma regression with a
    logarithmic link: mean squares are then unbiased, where logarithms of them would not be.
    """
    kinds = np.unique([item.kind for item in items], return_inverse=True)[1]
    across = (heights - heights.mean()) / max(float(heights.std()), 1e-12)
    shared = np.zeros((kinds.max() + 1, len(heights)))
    own = np.zeros((len(items), 2))
    for _ in range(TURNS):
        for kind in range(len(shared)):
            of = kinds == kind
            expected = np.exp(shared[kind] + own[of, :1] + own[of, 1:] * across)
            shared[kind] += np.log(np.maximum((squares[of] / expected).mean(axis=0), 1e-12))
        # Newton steps of a level and a slope, which are uncorrelated since `across` is centred.
        ratio = squares / np.exp(shared[kinds] + own[:, :1] + own[:, 1:] * across)
        own[:, 0] += np.log(np.maximum(ratio.mean(axis=1), 1e-12))
        ratio = squares / np.exp(shared[kinds] + own[:, :1] + own[:, 1:] * across)
        own[:, 1] += np.clip(((ratio - 1) * across).mean(axis=1), -0.5, 0.5)
    return (shared[kinds] + own[:, :1] + own[:, 1:] * across) / 2
