"""Rows of a synthetic table: drawn from the raked pool, then exchanged until their counts are those of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alphasynth.raking.pool import spaced

# Exchanges are tried for so many rows at a time, a part of all at first, among so many times as many and no fewer than
# so many; half as many after so many tries that did not help.
FIRST_PART, AMONG, FEWEST, TRIES, ROUNDS = 20, 8, 64, 3, 400
Sums = tuple[list[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Wanted:
    """What rows of a pool are to agree with: cells (pool,) of tables, of which some matter more; vectors (pool, D)."""

    places: Sequence[np.ndarray]
    matter: Sequence[float]
    vectors: np.ndarray

    def sums(self, weights: np.ndarray) -> Sums:
        """What weights (pool,) make of each."""
        counts = [np.bincount(place, weights, int(place.max()) + 1) for place in self.places]
        return counts, (weights.astype(self.vectors.dtype) @ self.vectors).astype(np.float64)

    def of_rows(self, rows: np.ndarray, like: Sums) -> Sums:
        """What these rows make of each."""
        counts = [np.bincount(place[rows], minlength=len(c)) for place, c in zip(self.places, like[0], strict=True)]
        return counts, self.vectors[rows].sum(axis=0, dtype=np.float64)

    def worth(self, off: Sums, rows: np.ndarray) -> np.ndarray:
        """How much rows of the pool are wanting, (rows,)."""
        tables = zip(self.places, off[0], self.matter, strict=True)
        found = self.vectors[rows] @ off[1].astype(self.vectors.dtype)
        return sum((much * left[place[rows]] for place, left, much in tables), found.astype(np.float64))

    def far(self, off: Sums) -> float:
        """How far rows are from what is wanted."""
        tables = zip(off[0], self.matter, strict=True)
        return float(sum(much * (left**2).sum() for left, much in tables) + (off[1] ** 2).sum())


def choose_rows(rng: np.random.Generator, weights: np.ndarray, rows: int, wanted: Wanted) -> np.ndarray:
    """Numbers (rows,) of the pool's rows, drawn by their weights, whose sums are near to what the weights make."""
    chosen = drawn_evenly(rng, weights, rows)
    aim = wanted.sums(weights * (rows / weights.sum()))
    off = _less(aim, wanted.of_rows(chosen, aim))
    steps, batch, failed = np.cumsum(weights), max(rows // FIRST_PART, 1), 0
    for _ in range(ROUNDS):
        size = max(AMONG * batch, FEWEST)
        new = np.searchsorted(steps, rng.random(size) * steps[-1], side="right")
        old = rng.choice(rows, min(size, rows), replace=False)
        gain, loss = wanted.worth(off, new), wanted.worth(off, chosen[old])
        few = min(batch, len(old))
        new, old = new[np.argsort(-gain)[:few]], old[np.argsort(loss)[:few]]
        moved = _less(_less(off, wanted.of_rows(new, aim)), wanted.of_rows(chosen[old], aim), -1)
        if wanted.far(moved) < wanted.far(off):
            off, failed = moved, 0
            chosen[old] = new
        elif (failed := failed + 1) == TRIES:
            batch, failed = batch // 2, 0
            if batch == 0:
                break
    return chosen


def drawn_evenly(rng: np.random.Generator, weights: np.ndarray, rows: int) -> np.ndarray:
    """Numbers (rows,) of the pool's rows in random order, each as often as its weight says but for less than 1."""
    order = rng.permutation(len(weights))
    return rng.permutation(order[spaced(rng, weights[order], rows)])


def _less(one: Sums, other: Sums, sign: int = 1) -> Sums:
    return [a - sign * b for a, b in zip(one[0], other[0], strict=True)], one[1] - sign * other[1]
