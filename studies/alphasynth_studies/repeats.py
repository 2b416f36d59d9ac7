"""The same measurements on many tables, in several processes."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Protocol, TypeVar

import jax
import pandas as pd

from alphasynth.synthesis.compilation import use_compilation_cache
from alphasynth_studies.study import SEED, Asked
from alphasynth_studies.synthesizers import Detail, Measured, measured, synthesize_all

T = TypeVar("T", covariant=True)
TableOf = Callable[[int], pd.DataFrame]


@dataclass(frozen=True)
class Plan:
    """What is done to each table: `table_of` must be a function that other processes can import.

    Without an epsilon there are none at one epsilon.
    """

    table_of: TableOf
    m: int
    epsilon: float | None

    def detail(self, number: int) -> Detail:
        """All synthesizers on table `number`."""
        return synthesize_all(self.table_of(number), self.m, self.epsilon, SEED + number)

    def measure(self, number: int) -> Measured:
        """Their numbers."""
        return measured(self.detail(number))


class Measures(Protocol[T]):
    """What measures a table by its number."""

    def measure(self, number: int) -> T:
        """The numbers of table `number`."""
        ...


def measure_all(asked: Asked, plan: Measures[T], repeats: int) -> list[T]:
    """What comes of tables 0, 1, ..., in that order."""
    if asked.processes == 1 or repeats < 2 * asked.processes:
        return list(_told(asked, map(plan.measure, range(repeats)), repeats))
    # If a signal ends this process, the one that cleans up after it must not add words of its own.
    os.environ.setdefault("PYTHONWARNINGS", "ignore::UserWarning:multiprocessing.resource_tracker")
    with ProcessPoolExecutor(asked.processes, get_context("spawn"), _start, (os.getpid(),)) as pool:
        with _ignoring_interrupts():  # processes start here and inherit it: Ctrl-C is their parent's to answer
            found = pool.map(plan.measure, range(repeats))
        return list(_told(asked, found, repeats))


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(parent: int) -> None:
    """A process of the pool: it ends with its parent, says nothing, and shares compiled programs."""
    warnings.simplefilter("ignore")  # draws that cannot be used are an error and not a warning
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    # Several processes would each take a GPU's whole memory.
    jax.config.update("jax_platforms", "cpu")  # type: ignore[no-untyped-call]
    with suppress(OSError):
        use_compilation_cache()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _told(asked: Asked, found: Iterator[T], repeats: int) -> Iterator[T]:
    for number, one in enumerate(found, start=1):
        asked.tell(f"table {number:,} of {repeats:,}", number, repeats)
        yield one
