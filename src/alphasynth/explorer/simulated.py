"""A synthetic table for every stored draw: its histogram and its statistics, beside the confidential ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from alphasynth.evaluation.distances import distances
from alphasynth.evaluation.values import Values, as_text, is_numeric, statistics
from alphasynth.explorer.explored import Explored
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.sampler import Draws
from alphasynth.privacy.randomness import Key, child
from alphasynth.synthesis.generation import TableMaker
from alphasynth.synthesis.simulation import thetas

MOST_SIMULATED = 10_000  # rows of a table; of larger ones so many stand for all
BINS, SHOWN = 30, (0.005, 0.995)  # bins between these quantiles, and one more on either side
WASSERSTEIN, VARIATION = "Wasserstein distance", "total variation distance"
MOST_LEVELS = 30


@dataclass(frozen=True, eq=False)
class Simulated:
    """The confidential distribution and those of tables from the stored draws (confidential), over the same bins.

    `shares` are (S, bins), `measures` (S, statistics); of a distance the confidential value is 0.
    """

    bins: tuple[str, ...]
    edges: tuple[float, ...]
    confidential: np.ndarray = field(repr=False)
    shares: np.ndarray = field(repr=False)
    names: tuple[str, ...]
    own: tuple[float, ...] = field(repr=False)
    measures: np.ndarray = field(repr=False)
    rows: int


@dataclass(frozen=True, eq=False)
class Scale:
    """How a column is looked at: its bins, and what is measured of a table's column."""

    bins: tuple[str, ...]
    edges: tuple[float, ...]
    names: tuple[str, ...]
    share: Callable[[np.ndarray, np.ndarray | None], np.ndarray]
    measure: Callable[[np.ndarray, np.ndarray | None], list[float]]


def simulate(key: Key, explored: Explored, u: np.ndarray) -> Simulated:
    """Make a table from every draw u (S, D), as a run would, and measure it."""
    chain = explored.bound.chain
    records, column = chain.records, chain.records.columns[chain.names[0]]
    scale = numbers_scale(column, records.counts) if is_numeric(column) else levels_scale(column, records.counts)
    lines = np.repeat(np.arange(records.size), records.counts)
    if len(lines) > MOST_SIMULATED:
        lines = np.random.default_rng(child(key, 0)).choice(lines, MOST_SIMULATED, replace=False)
    drawn = thetas(Draws.of(chain.one.model, u, Diagnostics("ladder", len(u))))
    shares, measures = [], []
    for number, theta in enumerate(drawn):
        rng = np.random.default_rng(child(key, 1, number))
        made = TableMaker(explored.bound, (theta,)).make([rng], lines)[chain.names[0]].values
        shares.append(scale.share(made, None))
        measures.append(scale.measure(made, None))
    return Simulated(
        scale.bins,
        scale.edges,
        scale.share(column, records.counts),
        np.array(shares),
        scale.names,
        tuple(scale.measure(column, records.counts)),
        np.array(measures),
        len(lines),
    )


def numbers_scale(column: Any, counts: np.ndarray) -> Scale:
    """Bins and statistics of numbers; bins hold whole numbers where the column does."""
    own = Values.of(column, counts)
    edges = edges_of(own)
    whole = bool((own.values == np.floor(own.values)).all())
    if own.values[0] >= edges[0] and len(edges) > 2:  # nothing is below: the first bin is that of the least values
        edges = edges[1:]
    wanted = statistics()

    def share(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        place = np.searchsorted(edges, np.asarray(values, np.float64), "right")
        total = np.bincount(place, weights, len(edges) + 1)
        return total / total.sum()

    def measure(values: np.ndarray, weights: np.ndarray | None) -> list[float]:
        found = Values.of(values, weights)
        return [*(each.of(found) for each in wanted), distances(own, found).wasserstein]

    inside = [_bin(low, high, whole) for low, high in pairwise(edges.tolist())]
    first = f"up to {edges[0] - 1:g}" if whole else f"below {edges[0]:g}"
    bins = (first, *inside, f"{edges[-1]:g} and above")
    return Scale(bins, tuple(edges.tolist()), (*(s.name for s in wanted), WASSERSTEIN), share, measure)


def _bin(low: float, high: float, whole: bool) -> str:
    """A bin in words: of whole numbers the last one that it holds."""
    last = high - 1 if whole else high
    return f"{low:g}" if last == low else f"{low:g} to {last:g}"


def edges_of(own: Values) -> np.ndarray:
    """Edges of bins, each holding what is at its lower edge: whole numbers where all values are.

    >>> edges_of(Values.of([1, 2, 2, 3])).tolist()
    [1.0, 2.0, 3.0]
    """
    low, high = (own.quantile(share) for share in SHOWN)
    if (own.values == np.floor(own.values)).all():
        step = max(1.0, np.ceil((high - low) / BINS))
        return np.arange(np.floor(low), np.floor(high) + 2 * step, step)
    return np.linspace(low, high, BINS + 1) if high > low else np.array([low, np.nextafter(low, np.inf)])


def levels_scale(column: Any, counts: np.ndarray) -> Scale:
    """Shares of levels, the most frequent ones by themselves."""
    text = as_text(column)
    levels, place = np.unique(text, return_inverse=True)
    often = np.argsort(-np.bincount(place, counts), kind="stable")[:MOST_LEVELS]
    names = tuple(levels[np.sort(often)].tolist())

    def share(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        at = np.searchsorted(names, words := as_text(values))
        known = np.array(names, dtype=object)[np.minimum(at, len(names) - 1)] == words
        total = np.bincount(np.where(known, at, len(names)), weights, len(names) + 1)
        return total / total.sum()

    own = share(column, counts)

    def measure(values: np.ndarray, weights: np.ndarray | None) -> list[float]:
        found = share(values, weights)
        return [*found[:-1].tolist(), float(np.abs(found - own).sum() / 2)]

    return Scale((*names, "other"), (), (*(f"share of {name}" for name in names), VARIATION), share, measure)
