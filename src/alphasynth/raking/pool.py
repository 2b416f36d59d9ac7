"""The pool: many rows drawn from a tree of pairs, each pair's table fitted to its noisy counts; raking weighs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from alphasynth.raking.cells import Cells
from alphasynth.raking.margins import OneWay
from alphasynth.raking.rake import rake, step
from alphasynth.raking.terms import MomentTerm, TableTerm, Term

Edge = tuple[int, int]
# Variance of margins that a pair's table must keep: as good as none.
KEPT = 1e-3
# Turns of its counts and its margins; of products of scores and margins, at the most, and when they have settled.
TURNS, TURNS_OF_SCORES, SETTLED = 4, 30, 1e-2
# A table's cells that nothing speaks for are as likely as this many rows.
HARDLY = 1e-6
# A table has so many times as many cells as products of scores, or does without these.
FEW = 4


class Side(NamedTuple):
    """A pair's column: counts (cells,) of its cells, and scores (scores, cells) by which they go along with another's.

    Scores have a mean of 0 by these counts.
    """

    margin: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, cells: Cells, one: OneWay) -> Side:
        """Of numbers the deviation that a normal would have, and its square; of levels and of gaps one of their own."""
        margin, size = one.margin, int(one.cells.max()) + 1
        numbers = 0 if cells.nominal else int(one.cells[len(cells.value) - 1]) + 1
        made = [*np.eye(size)[max(numbers, 1) :]]
        if numbers:
            share = np.maximum(margin[:numbers], HARDLY)
            normal = ndtri((np.cumsum(share) - share / 2) / share.sum())
            made += [np.append(power, np.zeros(size - numbers)) for power in (normal, normal**2)]
        scores = np.array(made).reshape(-1, size)
        return cls(margin, scores - (scores @ margin / margin.sum())[:, None])


def pair_table(noisy: np.ndarray, variance: float, left: Side, right: Side) -> np.ndarray:
    """A table (left, right) with given margins, as near to independence as its noisy counts (left, right) allow.

    Products of scores come first: noise of single cells hides what two columns of numbers have to do with each other,
    and noise of a sum over all of them does not.
    """
    start = np.outer(left.margin, right.margin) / left.margin.sum() + HARDLY
    rows, columns = (each.ravel() for each in np.indices(start.shape))
    log_cells = np.log(start).ravel()
    margins: list[Term] = [TableTerm.of(rows, left.margin, KEPT), TableTerm.of(columns, right.margin, KEPT)]
    products = np.einsum("ai,bj->ijab", left.scores, right.scores).reshape(start.size, -1)
    if 0 < products.shape[1] <= start.size // FEW:
        even = np.linalg.qr(products)[0]  # noise of their sums is as that of the cells, and independent
        together = MomentTerm.of(even, even.T @ noisy.ravel(), variance)
        together.loosened(np.exp(log_cells))
        for _ in range(TURNS_OF_SCORES):
            together.curvature = None
            if step(log_cells, together) < SETTLED:
                break
            rake(log_cells, margins, 20)
    counts = TableTerm.of(np.arange(start.size), noisy.ravel(), variance)
    counts.loosened(np.exp(log_cells))
    for _ in range(TURNS):
        rake(log_cells, [counts], 1)
        rake(log_cells, margins, 20)
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
