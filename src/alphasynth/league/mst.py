"""A marginal-based differentially private synthesizer to compare with: MST on top of the inference library mbi.

A part of `peers.py`, which runs in interpreters that have no alphasynth: it imports nothing of ours.

MST is the mechanism of McKenna, Miklau and Sheldon, "Winning the NIST Contest" (2021), written here from the paper:

1. (epsilon, delta) becomes a zero-concentrated budget rho, split in three equal parts.
2. The first part measures every one-way marginal with Gaussian noise. Values whose noisy count is below three standard
   deviations of that noise are merged into one for the rest of the way (the paper's domain compression).
3. The second part chooses a spanning tree of the columns, one edge at a time, by the exponential mechanism on the L1
   distance between a two-way marginal and the product of the two fitted one-way marginals.
4. The third part measures the two-way marginals of that tree with Gaussian noise.
5. mbi fits the maximum-entropy model to all the measurements; rows are drawn from it clique by clique.

Neighbouring tables differ by one row added or removed, so a row counts once in each marginal (sensitivity 1). The
columns' bins are public. The number of rows drawn comes from the noisy marginals, so that it is private too. The noise
comes from numpy's generator in floating point: good for a comparison, not for a release.

Needs ``pip install "mbi>=2.0"`` (Apache 2.0), imported where it is used. No row is drawn by mbi itself: the sampler of
its version 1.1.0 conditions on the wrong cliques, and that of 2.0.0 uses numpy's global random state.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

RARE = 3.0
"""Values with a noisy count below so many standard deviations of the noise are merged."""

FIRST_ITERATIONS = 500
"""Steps of mirror descent in the fit to the one-way marginals alone."""

ITERATIONS = 2000
"""Steps of mirror descent in the last fit."""

Vector = NDArray[np.float64]
Codes = NDArray[np.int64]
Edge = tuple[int, int]


@dataclass(frozen=True)
class Measured:
    """A noisy marginal: its columns, its cells (the last column running fastest), and each cell's deviation."""

    columns: tuple[int, ...]
    noisy: Vector
    sigma: Vector


def delta_of(rho: float, epsilon: float) -> float:
    """The smallest delta with which rho-zCDP is known to imply (epsilon, delta) (Canonne, Kamath, Steinke 2020)."""

    def log_delta(log_excess: float) -> float:
        """The bound's logarithm at the order 1 + exp(log_excess)."""
        excess = math.exp(log_excess)
        order = 1 + excess
        return excess * (order * rho - epsilon) + order * math.log1p(-1 / order) - math.log(excess)

    best = minimize_scalar(log_delta, bounds=(-5.0, 12.0), method="bounded", options={"xatol": 1e-10})
    return min(1.0, math.exp(min(0.0, float(best.fun))))


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho for which rho-zCDP gives (epsilon, delta), by bisection."""
    low, high = 0.0, epsilon + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low


def count(codes: list[Codes], sizes: list[int], columns: tuple[int, ...]) -> Vector:
    """The marginal of some columns: how many rows lie in every cell, one axis for each column."""
    shape = tuple(sizes[c] for c in columns)
    cells = np.ravel_multi_index(tuple(codes[c] for c in columns), shape)
    return np.bincount(cells, minlength=math.prod(shape)).astype(float).reshape(shape)


def merge_rare(noisy: Vector, threshold: float) -> Codes:
    """Where every value goes when those with small noisy counts become one, the last; as they are if fewer than two."""
    rare = noisy < threshold
    if rare.sum() < 2 or rare.all():
        return np.arange(noisy.size)
    place = np.cumsum(~rare) - 1
    return np.where(rare, place[-1] + 1, place).astype(np.int64)


def split_rare(codes: Codes, place: Codes, noisy: Vector, rng: np.random.Generator) -> Codes:
    """Undo :func:`merge_rare`: a merged value becomes one of its members, by their noisy counts (free of budget)."""
    back = np.empty_like(codes)
    for code in np.unique(codes):
        members = np.flatnonzero(place == code)
        weights = np.maximum(noisy[members], 0.0) + 1e-9
        rows = codes == code
        back[rows] = rng.choice(members, size=int(rows.sum()), p=weights / weights.sum())
    return back


def choose(scores: Vector, step: float, rng: np.random.Generator) -> int:
    """The exponential mechanism on scores of sensitivity 1, which costs step^2 / 8 of rho."""
    logits = 0.5 * step * scores
    weights = np.exp(logits - logits.max())
    return int(rng.choice(scores.size, p=weights / weights.sum()))


def choose_tree(scores: dict[Edge, float], columns: int, rho: float, rng: np.random.Generator) -> list[Edge]:
    """A spanning tree: Kruskal's algorithm, every step an exponential mechanism among the edges closing no cycle."""
    step = math.sqrt(8 * rho / max(columns - 1, 1))
    part = list(range(columns))
    tree: list[Edge] = []
    for _ in range(columns - 1):
        open_edges = [edge for edge in scores if part[edge[0]] != part[edge[1]]]
        left, right = open_edges[choose(np.array([scores[edge] for edge in open_edges]), step, rng)]
        tree.append((left, right))
        part = [part[left] if p == part[right] else p for p in part]
    return tree


def round_counts(expected: Vector, rng: np.random.Generator) -> Codes:
    """Whole counts with the given expectations and (whole) sum, each within 1 of its expectation (systematic)."""
    steps = np.floor(np.append(0.0, np.cumsum(expected)) + rng.random() + 1e-9)
    steps[-1] = steps[0] + np.round(expected.sum())
    counts: Codes = np.diff(np.minimum(steps, steps[-1])).astype(np.int64)
    return counts


def draw(probabilities: Vector, rows: int, rng: np.random.Generator) -> Codes:
    """As many codes as there are rows, in random order, their counts as near to the probabilities as can be."""
    counts = round_counts(rows * probabilities / probabilities.sum(), rng)
    codes: Codes = np.repeat(np.arange(counts.size), counts)
    rng.shuffle(codes)
    return codes


def load_mbi() -> Any:
    """Import mbi without its two warnings at import (32 bits, compilation cache), which do not concern us."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mbi
    return mbi


def fit(sizes: list[int], measured: list[Measured], total: float, iterations: int) -> Any:
    """The maximum-entropy model of mbi for noisy marginals and a number of rows."""
    import jax

    mbi = load_mbi()
    names = [f"c{i}" for i in range(len(sizes))]
    with jax.enable_x64(True):
        # mbi has one deviation for a marginal: every cell in units of its own deviation, and deviation 1.
        measurements = [
            mbi.LinearMeasurement(
                one.noisy / one.sigma, tuple(names[c] for c in one.columns), 1.0, mbi.WeightedQuery(1 / one.sigma)
            )
            for one in measured
        ]
        domain = mbi.Domain(names, sizes)
        return mbi.estimation.MirrorDescent().estimate(domain, measurements, known_total=total, iters=iterations)


def marginal(model: Any, columns: tuple[int, ...]) -> Vector:
    """A marginal of a fitted model, one axis for each column in the order asked for."""
    import jax

    with jax.enable_x64(True):
        return np.asarray(model.project(tuple(f"c{c}" for c in columns)).datavector(flatten=False), dtype=float)


def walk(model: Any, rows: int, rng: np.random.Generator) -> list[Codes]:
    """Draw rows from a fitted model: its junction tree's cliques one after the other, from a root outwards.

    The columns that a clique adds are drawn jointly, given those of its columns that have been drawn already. These all
    lie in the clique before it, beyond which it depends on nothing: this is the fitted model exactly, but for the
    rounding of counts.
    """
    tree, _ = load_mbi().junction_tree.make_junction_tree(model.domain, model.cliques)
    drawn: dict[int, Codes] = {}
    seen: set[tuple[str, ...]] = set()
    for root in tree.nodes:
        waiting = [] if root in seen else [root]
        while waiting:
            clique = waiting.pop()
            seen.add(clique)
            waiting += [other for other in tree.neighbors(clique) if other not in seen]
            numbers = [int(name[1:]) for name in clique]
            old, new = [c for c in numbers if c in drawn], [c for c in numbers if c not in drawn]
            table = marginal(model, (*old, *new))
            shape, rest = table.shape[: len(old)], table.shape[len(old) :]
            table = np.maximum(table.reshape(math.prod(shape), math.prod(rest)), 1e-12)
            group = np.ravel_multi_index(tuple(drawn[c] for c in old), shape) if old else np.zeros(rows, dtype=np.int64)
            order = np.argsort(group, kind="stable")
            cells = np.empty(rows, dtype=np.int64)
            for here in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
                cells[here] = draw(table[group[here[0]]], here.size, rng)
            drawn.update(zip(new, np.unravel_index(cells, rest) if new else (), strict=True))
    return [drawn[c] for c in range(len(model.domain))]


@dataclass(frozen=True)
class Start:
    """The columns after their one-way marginals have been measured and their rare values merged."""

    codes: list[Codes]
    sizes: list[int]
    measured: list[Measured]
    total: float
    places: list[Codes]
    ones: list[Vector]

    @property
    def rows(self) -> int:
        """The number of rows to draw."""
        return round(self.total)

    def undo(self, drawn: list[Codes], rng: np.random.Generator) -> list[Codes]:
        """Codes in the columns' own domain."""
        return [split_rare(*column, rng) for column in zip(drawn, self.places, self.ones, strict=True)]


def begin(codes: list[Codes], sizes: list[int], sigma: float, rare: float, rng: np.random.Generator) -> Start:
    """Measure every one-way marginal with noise of deviation sigma, and merge the values that are rare by it."""
    ones = [count(codes, sizes, (c,)) + rng.normal(0, sigma, size) for c, size in enumerate(sizes)]
    places = [merge_rare(one, rare * sigma) for one in ones]
    measured = [
        Measured((c,), np.bincount(place, ones[c]).astype(float), sigma * np.sqrt(np.bincount(place)))
        for c, place in enumerate(places)
    ]
    # Each one-way marginal sums to the number of rows, with a variance in proportion to its number of cells.
    total = max(1.0, float(np.average([one.sum() for one in ones], weights=[1 / one.size for one in ones])))
    merged = [place[column] for place, column in zip(places, codes, strict=True)]
    return Start(merged, [int(place.max()) + 1 for place in places], measured, total, places, ones)


def measure(start: Start, columns: tuple[int, ...], sigma: float, rng: np.random.Generator) -> Measured:
    """A marginal with Gaussian noise, which costs 1 / (2 sigma^2) of rho."""
    noisy = count(start.codes, start.sizes, columns).ravel()
    return Measured(columns, noisy + rng.normal(0, sigma, noisy.size), np.full(noisy.size, sigma))


def mst(codes: list[Codes], sizes: list[int], rho: float, rng: np.random.Generator, rare: float = RARE) -> list[Codes]:
    """MST on columns of whole numbers 0, ..., size - 1; ``rare`` = -inf leaves the domain as it is."""
    columns, third = len(codes), rho / 3
    start = begin(codes, sizes, math.sqrt(columns / (2 * third)), rare, rng)
    model = fit(start.sizes, start.measured, start.total, FIRST_ITERATIONS)
    single = [marginal(model, (c,)) for c in range(columns)]
    if columns == 1:
        return start.undo([draw(single[0], start.rows, rng)], rng)

    scores = {
        (a, b): float(
            np.abs(count(start.codes, start.sizes, (a, b)) - np.outer(single[a], single[b]) / start.total).sum()
        )
        for a, b in itertools.combinations(range(columns), 2)
    }
    tree = choose_tree(scores, columns, third, rng)
    sigma = math.sqrt((columns - 1) / (2 * third))
    measured = start.measured + [measure(start, edge, sigma, rng) for edge in tree]
    model = fit(start.sizes, measured, start.total, ITERATIONS)
    return start.undo(walk(model, start.rows, rng), rng)
