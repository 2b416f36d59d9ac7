"""Rows of a synthetic table: drawn from the raked pool, then exchanged until their counts are those of the weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alphasynth.raking.pool import spaced

# Exchanges are tried for so many rows at a time, a part of all at first, among so many times as many.
FIRST_PART, AMONG, ROUNDS, FEWEST = 20, 8, 300, 1


def choose_rows(
    rng: np.random.Generator, weights: np.ndarray, rows: int, places: Sequence[np.ndarray], matter: Sequence[float]
) -> np.ndarray:
    """Numbers (rows,) of the pool's rows, drawn by their weights, whose counts are near to what the weights make.

    `places` are the cells (pool,) of several tables and `matter` how much each of them counts.
    """
    chosen = _drawn(rng, weights, rows)
    sizes = [int(place.max()) + 1 for place in places]
    factor = rows / weights.sum()
    wanted = [np.bincount(place, weights, size) * factor for place, size in zip(places, sizes, strict=True)]
    off = [want - np.bincount(place[chosen], minlength=len(want)) for place, want in zip(places, wanted, strict=True)]
    steps, batch, each = np.cumsum(weights), max(rows // FIRST_PART, 1), sum(matter)
    for _ in range(ROUNDS):
        if batch < FEWEST:
            break
        new = np.searchsorted(steps, rng.random(AMONG * batch) * steps[-1], side="right")
        old = rng.choice(rows, min(AMONG * batch, rows), replace=False)
        gain, loss = _worth(places, off, matter, new), _worth(places, off, matter, chosen[old])
        best, worst = np.argsort(-gain)[:batch], np.argsort(loss)[:batch]
        size = min(len(best), len(worst))
        better = gain[best[:size]] - loss[worst[:size]] > each
        new, old = new[best[:size][better]], old[worst[:size][better]]
        moved = [
            left - np.bincount(place[new], minlength=len(left)) + np.bincount(place[chosen[old]], minlength=len(left))
            for place, left in zip(places, off, strict=True)
        ]
        if len(new) and _far(moved, matter) < _far(off, matter):
            off = moved
            chosen[old] = new
        else:
            batch //= 2
    return chosen


def _drawn(rng: np.random.Generator, weights: np.ndarray, rows: int) -> np.ndarray:
    order = rng.permutation(len(weights))
    return order[spaced(rng, weights[order], rows)]


def _worth(
    places: Sequence[np.ndarray], off: Sequence[np.ndarray], matter: Sequence[float], rows: np.ndarray
) -> np.ndarray:
    """How much rows of the pool are wanting, (rows,)."""
    return sum(much * left[place[rows]] for place, left, much in zip(places, off, matter, strict=True))


def _far(off: Sequence[np.ndarray], matter: Sequence[float]) -> float:
    return float(sum(much * (left**2).sum() for left, much in zip(off, matter, strict=True)))
