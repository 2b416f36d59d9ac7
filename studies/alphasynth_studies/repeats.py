"""The same measurements on many tables, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import pandas as pd

from alphasynth_studies.study import SEED, Asked
from alphasynth_studies.synthesizers import Detail, Measured, measured, synthesize_all

TableOf = Callable[[int], pd.DataFrame]


def detail_of(table_of: TableOf, m: int, number: int) -> Detail:
    """All synthesizers on table `number`."""
    return synthesize_all(table_of(number), m, SEED + number)


def _measure(table_of: TableOf, m: int, number: int) -> Measured:
    return measured(detail_of(table_of, m, number))


def measure_all(asked: Asked, table_of: TableOf, m: int, repeats: int) -> list[Measured]:
    """What the synthesizers make of tables 0, 1, ...; `table_of` must be a function that other processes can import."""
    work = partial(_measure, table_of, m)
    if asked.processes == 1 or repeats < 2 * asked.processes:
        return list(_told(asked, map(work, range(repeats)), repeats))
    with ProcessPoolExecutor(asked.processes, get_context("spawn"), initializer=_start) as pool:
        return list(_told(asked, pool.map(work, range(repeats)), repeats))


def _start() -> None:
    """Every process compiles the same programs: one does it for all."""
    from contextlib import suppress

    from alphasynth.compilation import use_compilation_cache

    with suppress(OSError):
        use_compilation_cache()


def _told(asked: Asked, found: Iterator[Measured], repeats: int) -> Iterator[Measured]:
    for number, one in enumerate(found, start=1):
        asked.tell(f"table {number:,} of {repeats:,}")
        yield one
