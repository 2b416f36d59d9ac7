"""One-way counts: what is known of each column by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from alphasynth.raking.cells import Cells
from alphasynth.raking.margins import even_where_alike, joined, nearest_counts, shrunk, with_tails
from alphasynth.raking.settings import Parts
from alphasynth.raking.sums import Confidential, Margin, Noisy

# Numbers in so many blocks or more are smoothed.
MANY = 12
# Blocks that are small are joined where pairs are counted: below this share of the rows, or so many deviations.
SMALL, FEW_DEVIATIONS, FEW_BLOCKS = 1 / 200, 2.0, 8
# Smoothed counts may have a feature's mean wrong by so many of its deviations; steps of tilts, how far each may go in
# logarithms, and when they have settled.
UNSURE, STEPS, FARTHEST, SETTLED = 0.3, 30, 2.0, 1e-6
# How much better than smoothed counts the estimate knows sums of features, where those may be a little off.
TRUST = 4.0


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


def one_way(table: Confidential, columns: Sequence[Cells], parts: Parts) -> tuple[Confidential, list[OneWay]]:
    """One-way counts of all columns: of blocks, and with less of the budget of fine cells.

    And the table once more: each column's counts add up to the number of rows, which says what one weighs.
    """
    blocks = [Margin((j,), (cells.block,)) for j, cells in enumerate(columns)]
    shares = [math.isqrt(100 * cells.blocks) for cells in columns]
    noisy = [
        table.counts([each], "blocks", parts.blocks * Fraction(share, sum(shares)))[0]
        for each, share in zip(blocks, shares, strict=True)
    ]
    before = table.each
    table = table.told([Noisy(each.sums.sum(keepdims=True), len(each.sums) * each.variance) for each in noisy])
    part = before / table.each
    noisy = [Noisy(part * each.sums, part**2 * each.variance) for each in noisy]
    finer = [j for j, cells in enumerate(columns) if cells.size > cells.blocks]
    margins = [Margin((j,), (np.arange(columns[j].size),)) for j in finer]
    fine = dict(zip(finer, table.counts(margins, "cells", parts.cells), strict=True)) if finer else {}
    found = []
    for j, (cells, each) in enumerate(zip(columns, noisy, strict=True)):
        counts = block_counts(cells, each, table.n)
        least = max(table.n * SMALL, FEW_DEVIATIONS * math.sqrt(each.variance))
        to = joined(counts, least, not cells.nominal) if cells.blocks > FEW_BLOCKS else np.arange(cells.blocks)
        if j in fine:
            deviation = math.sqrt(fine[j].variance)
            inside = [
                even_where_alike(fine[j].sums[cells.block == k], deviation, count) for k, count in enumerate(counts)
            ]
            counts = np.concatenate(inside)
        found.append(OneWay(each, counts, to[cells.block]))
    return table, found


def block_counts(cells: Cells, noisy: Noisy, n: int) -> np.ndarray:
    """Counts of blocks; numbers are even where they differ by noise alone, which keeps noise out of long tails."""
    counts = nearest_counts(noisy.sums, n)
    numbers = cells.blocks - cells.gap
    if cells.nominal or numbers < MANY:
        return counts
    deviation = math.sqrt(noisy.variance)
    spread = ~np.isin(np.arange(numbers), cells.apart)  # what is heaped is not like what is near it
    sums = noisy.sums[:numbers][spread]
    inside = shrunk(sums, deviation, counts[:numbers][spread].sum())
    counts[np.flatnonzero(spread)] = with_tails(inside, sums, deviation, cells.widths[spread], cells.unit is not None)
    return counts


@dataclass(frozen=True, eq=False)
class Estimate:
    """Counts (blocks,) as they may be, below 0 too, and their covariance (blocks, blocks)."""

    counts: np.ndarray = field(repr=False)
    covariance: np.ndarray = field(repr=False)


def estimated(noisy: Noisy, to: np.ndarray, of_pairs: Sequence[Noisy], n: int) -> Estimate:
    """The best linear estimate of counts that add up to n, from noisy ones and from what counts of pairs add up to.

    These are counts of the cells that blocks lie in, `to` (blocks,): each pair that a column is in says a little of it.
    """
    counts, covariance = noisy.sums, noisy.variance * np.eye(len(noisy.sums))
    if of_pairs:
        precision = sum(1 / each.variance for each in of_pairs)
        together = sum((each.sums / each.variance for each in of_pairs), np.zeros(int(to.max()) + 1)) / precision
        part = noisy.variance / (np.bincount(to) * noisy.variance + 1 / precision)
        counts = counts + (part * (together - np.bincount(to, counts)))[to]
        covariance = covariance - noisy.variance * part[to] * (to == to[:, None])
    towards = covariance.sum(axis=1)
    total = max(float(towards.sum()), 1e-300)
    counts = counts + towards * (n - counts.sum()) / total
    return Estimate(counts, covariance - np.outer(towards, towards) / total)


def settled(cells: Cells, known: Estimate, features: np.ndarray, sums: Noisy, n: int, unbiased: bool) -> np.ndarray:
    """Counts (blocks,) from an estimate and from noisy sums of features (features, blocks) of theirs, each as it knows.

    The best linear estimate of both is unbiased and may be negative; it is smoothed and made positive, which moves its
    means, and then tilted until features sum to what that estimate says; nearly so where it need not be `unbiased`,
    since smoothing takes noise off these sums as well.
    """
    spread = features @ known.covariance
    told = spread @ features.T
    gain = np.linalg.solve(told + np.diag(np.broadcast_to(sums.variance, len(features))), spread).T
    best = known.counts + gain @ (sums.sums - features @ known.counts)
    left = told - told @ gain.T @ features.T if len(features) else told
    variance = float(np.diag(known.covariance).mean() - np.einsum("ij,ji->", gain, spread) / len(best))
    made = block_counts(cells, Noisy(best, max(variance, 0.0)), n)
    unsure = (left + left.T) / 2 / (UNSURE**2 * n) + (0.0 if unbiased else n / TRUST) * np.eye(len(left))
    return tilted(made, features, features @ best, unsure)


def tilted(counts: np.ndarray, features: np.ndarray, sums: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Counts times exp(tilt of their features), adding up to what they did, such that sums - made = variance @ tilt."""
    there = counts > 0
    if not there.all():
        made = np.zeros_like(counts)
        made[there] = tilted(counts[there], features[:, there], sums, variance) if there.any() else 0.0
        return made
    tilt, n, made = np.zeros(len(features)), counts.sum(), counts
    for _ in range(STEPS if len(features) else 0):
        around = features - (features @ made / n)[:, None]
        slope = sums - features @ made - variance @ tilt
        move = np.linalg.lstsq((around * made) @ around.T + variance, slope, rcond=1e-12)[0]
        change = move @ features
        part = min(1.0, FARTHEST / max(float(np.ptp(change)), 1e-300))
        tilt += part * move
        power = tilt @ features
        made = counts * np.exp(power - power.max())
        made *= n / made.sum()
        if np.abs(part * change).max() < SETTLED:
            break
    return made
