"""One-way counts: what is known of each column by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from alphasynth.raking.cells import Cells
from alphasynth.raking.margins import even_where_alike, joined, nearest_counts, shrunk
from alphasynth.raking.settings import Parts
from alphasynth.raking.sums import Confidential, Margin, Noisy
from alphasynth.raking.tails import with_tails

# Numbers in so many blocks or more are smoothed.
MANY = 12
# Blocks that are small are joined where pairs are counted: below this share of the rows, or so many deviations.
SMALL, FEW_DEVIATIONS, FEW_BLOCKS = 1 / 200, 2.0, 8


@dataclass(frozen=True, eq=False)
class OneWay:
    """What is known of one column: noisy counts of blocks, the counts of its fine cells, the cells that pairs use."""

    noisy: Noisy
    fine: np.ndarray = field(repr=False)
    cells: np.ndarray = field(repr=False)

    @property
    def margin(self) -> np.ndarray:
        """Counts of the cells that pairs use."""
        return np.bincount(self.cells, self.fine)


def one_way(table: Confidential, columns: Sequence[Cells], parts: Parts) -> list[OneWay]:
    """One-way counts of all columns: of blocks, and with less of the budget of fine cells."""
    blocks = [Margin((j,), (cells.block,)) for j, cells in enumerate(columns)]
    shares = [math.isqrt(100 * cells.blocks) for cells in columns]
    noisy = [
        table.counts([each], "blocks", parts.blocks * Fraction(share, sum(shares)))[0]
        for each, share in zip(blocks, shares, strict=True)
    ]
    finer = [j for j, cells in enumerate(columns) if cells.size > cells.blocks]
    margins = [Margin((j,), (np.arange(columns[j].size),)) for j in finer]
    fine = dict(zip(finer, table.counts(margins, "cells", parts.cells), strict=True)) if finer else {}
    found = []
    for j, (cells, each) in enumerate(zip(columns, noisy, strict=True)):
        counts = _counts(cells, each, table.n)
        least = max(table.n * SMALL, FEW_DEVIATIONS * math.sqrt(each.variance))
        to = joined(counts, least, not cells.nominal) if cells.blocks > FEW_BLOCKS else np.arange(cells.blocks)
        if j in fine:
            deviation = math.sqrt(fine[j].variance)
            inside = [
                even_where_alike(fine[j].sums[cells.block == k], deviation, count) for k, count in enumerate(counts)
            ]
            counts = np.concatenate(inside)
        found.append(OneWay(each, counts, to[cells.block]))
    return found


def _counts(cells: Cells, noisy: Noisy, n: int) -> np.ndarray:
    """Counts of blocks; numbers are even where they differ by noise alone, which keeps noise out of long tails."""
    counts = nearest_counts(noisy.sums, n)
    numbers = cells.blocks - cells.gap
    if cells.nominal or numbers < MANY:
        return counts
    deviation = math.sqrt(noisy.variance)
    spread = ~np.isin(np.arange(numbers), cells.apart)  # what is heaped is not like what is near it
    sums = noisy.sums[:numbers][spread]
    inside = shrunk(sums, deviation, counts[:numbers][spread].sum())
    counts[np.flatnonzero(spread)] = with_tails(inside, sums, deviation, cells.widths[spread])
    return counts


def with_moments(
    counts: np.ndarray, variance: float, features: np.ndarray, sums: np.ndarray, noise: float
) -> np.ndarray:
    """Counts (blocks,) of this variance, moved to where noisy sums of their features (features, blocks) say as well.

    Counts near 0 move less; all add up to what they did.
    """
    free = variance * counts / (counts + math.sqrt(variance) + 1e-300)
    rows = np.vstack([features, np.ones(len(counts))])
    left = np.append(sums - features @ counts, 0.0)
    joint = (rows * free) @ rows.T + np.diag(np.append(np.full(len(features), noise), 1e-6))
    return nearest_counts(counts + free * (np.linalg.solve(joint, left) @ rows), float(counts.sum()))
