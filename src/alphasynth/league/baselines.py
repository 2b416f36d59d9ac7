"""What a user would otherwise pick: a histogram perturbed by Laplace noise, ours and OpenDP's, properly post-processed.

Both are strict: adding or removing a row changes one bin by one. The bins, and the number of rows, are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from alphasynth.errors import InputError, require_whole
from alphasynth.privacy.accounting import within
from alphasynth.privacy.exponential import accept_exp
from alphasynth.privacy.randomness import Key, Stream, child

SINGLE = 20  # counts up to here have bins of their own; beyond, bins grow by RATIO
RATIO = 1.1
LARGEST = 10_000  # public, like the default limit of a mean on the public grid


def public_edges(largest: int = LARGEST) -> np.ndarray:
    """Edges of bins from 0 to a public largest count: bin b holds edges[b] <= y < edges[b + 1].

    >>> public_edges(25).tolist()[-4:]
    [20, 22, 24, 26]
    """
    edges = list(range(SINGLE + 1))
    while edges[-1] <= require_whole("largest", largest):
        edges.append(min(max(math.floor(edges[-1] * RATIO), edges[-1] + 1), largest + 1))
        if edges[-1] == largest + 1:
            break
    return np.array(edges)


class Noise(Protocol):
    """Adds noise to counts by bin, of which one record moves one by one."""

    def __call__(self, key: Key, totals: np.ndarray, epsilon: float) -> np.ndarray:
        """Noisy counts."""
        ...


def laplace(key: Key, totals: np.ndarray, epsilon: float) -> np.ndarray:
    """Discrete Laplace noise of scale 1 / epsilon, drawn exactly."""
    stream = Stream(key)
    return totals + np.array([discrete_laplace(stream, Fraction(epsilon)) for _ in totals])


def opendp_laplace(key: Key, totals: np.ndarray, epsilon: float) -> np.ndarray:
    """OpenDP's own Laplace mechanism, an independent implementation; its randomness cannot be fixed by a key."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise InputError("the baseline OpenDP needs the package opendp: pip install 'alphasynth[opendp]'") from None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int), size=len(totals)), dp.l1_distance(T=int)
    measurement = dp.binary_search_chain(lambda scale: dp.m.make_laplace(*space, scale=scale), 1, epsilon)
    return np.asarray(measurement(totals.tolist()))


NOISES: dict[str, Noise] = {"Histogram": laplace, "OpenDP": opendp_laplace}


@dataclass(frozen=True)
class Histogram:
    """Counts by public bin with noise (strict), post-processed.

    The noisy counts are moved to the nearest ones (least squares) that are not negative and add up to the public number
    of rows. A row's value is uniform within its bin; counts above the public `largest` count as that. Tables made from
    one histogram cost nothing more.
    """

    label: str = "Histogram"
    largest: int = LARGEST

    def tables(self, key: Key, values: np.ndarray, counts: np.ndarray, epsilon: float, m: int) -> list[np.ndarray]:
        """m tables of as many rows as there are records, at an epsilon in all."""
        edges = public_edges(self.largest)
        bins = np.searchsorted(edges, np.clip(values, 0, self.largest), side="right") - 1
        totals = np.bincount(bins, counts, minlength=len(edges) - 1).astype(np.int64)
        rows = int(counts.sum())
        expected = project(NOISES[self.label](child(key, 0), totals, within(epsilon)), rows)
        rng = np.random.default_rng(child(key, 1))
        return [_simulate(rng, edges, expected) for _ in range(m)]


def discrete_laplace(stream: Stream, epsilon: Fraction) -> int:
    """A whole number k with probability proportional to exp(-epsilon |k|): the difference of two geometric ones."""
    return _geometric(stream, epsilon) - _geometric(stream, epsilon)


def _geometric(stream: Stream, epsilon: Fraction) -> int:
    number = 0
    while accept_exp(stream, -epsilon):
        number += 1
    return number


def project(noisy: np.ndarray, total: int) -> np.ndarray:
    """The nearest counts >= 0 that add up to a total (Euclidean projection onto the simplex).

    >>> project(np.array([5.0, -1.0, 3.0]), 6).tolist()
    [4.0, 0.0, 2.0]
    """
    falling = np.sort(noisy.astype(np.float64))[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    return np.maximum(noisy - excess[kept], 0.0)


def _simulate(rng: np.random.Generator, edges: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Rows: as many in each bin as expected, rounded so that they add up, uniform within the bin."""
    ends = np.floor(np.cumsum(expected) + rng.random()).astype(np.int64)
    ends[-1] = round(float(expected.sum()))
    rows = np.diff(np.concatenate([[0], np.minimum(ends, ends[-1])]))
    return rng.integers(np.repeat(edges[:-1], rows), np.repeat(edges[1:], rows))
