"""The pool: many rows drawn from a tree of pairs, each pair's table fitted to its noisy counts; raking weighs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alphasynth.raking.rake import TableTerm, rake

Edge = tuple[int, int]
# Variance of margins that a pair's table must keep: as good as none.
KEPT = 1e-3
# Turns of its counts and its margins.
TURNS = 4
# A table's cells that nothing speaks for are as likely as this many rows.
HARDLY = 1e-6


def pair_table(noisy: np.ndarray, variance: float, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A table (left, right) with given margins, as near to independence as its noisy counts (left, right) allow."""
    start = np.outer(left, right) / left.sum() + HARDLY
    rows, columns = (each.ravel() for each in np.indices(start.shape))
    log_cells = np.log(start).ravel()
    counts = TableTerm.of(np.arange(start.size), noisy.ravel(), variance)
    counts.loosened(start.ravel())
    for _ in range(TURNS):
        rake(log_cells, [counts], 1)
        rake(log_cells, [TableTerm.of(rows, left, KEPT), TableTerm.of(columns, right, KEPT)], 20)
    return np.exp(log_cells).reshape(start.shape)


def draw_tree(
    rng: np.random.Generator, tables: Mapping[Edge, np.ndarray], margins: Sequence[np.ndarray], rows: int
) -> list[np.ndarray]:
    """Cells (rows,) of every column, drawn along a tree of pairs; counts are as near to what is expected as can be.

    A column that no pair reaches from the first one is drawn by its margin alone.
    """
    drawn: dict[int, np.ndarray] = {}
    beside: dict[int, list[tuple[int, np.ndarray]]] = {column: [] for column in range(len(margins))}
    for (a, b), table in tables.items():
        beside[a].append((b, table))
        beside[b].append((a, table.T))
    for root in range(len(margins)):
        waiting = [] if root in drawn else [root]
        if waiting:
            drawn[root] = systematic(rng, margins[root], rows)
        while waiting:
            here = waiting.pop()
            for other, table in beside[here]:
                if other not in drawn:
                    drawn[other] = draw_given(rng, table, drawn[here])
                    waiting.append(other)
    return [drawn[column] for column in range(len(margins))]


def draw_given(rng: np.random.Generator, table: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Cells (rows,) of a table's second column, for rows in these cells of its first."""
    drawn = np.zeros(len(given), np.int64)
    order = np.argsort(given, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(given[order])) + 1):
        if len(rows):
            drawn[rows] = systematic(rng, table[given[rows[0]]], len(rows))
    return drawn


def systematic(rng: np.random.Generator, expected: np.ndarray, rows: int) -> np.ndarray:
    """Cells (rows,) in random order, each as often as expected but for less than 1."""
    drawn = spaced(rng, expected, rows)
    rng.shuffle(drawn)
    return drawn


def spaced(rng: np.random.Generator, expected: np.ndarray, rows: int) -> np.ndarray:
    """Cells (rows,) in their order, each as often as expected but for less than 1."""
    ends = np.cumsum(expected / expected.sum()) * rows + rng.random()
    steps = np.minimum(np.floor(ends).astype(np.int64), rows)
    steps[-1] = rows
    return np.repeat(np.arange(len(expected)), np.diff(steps, prepend=0))
