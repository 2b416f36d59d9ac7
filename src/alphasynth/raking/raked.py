"""A whole table from private counts of columns and pairs, private moments of all pairs, and raking.

One-way counts, a tree of pairs that were chosen privately, moments of all pairs, more pairs where the fit is worst: all
that passes from the table are sums with noise and choices among pairs. What follows is made from these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from alphasynth.constraints.comparisons import Constraint
from alphasynth.raking.cells import Cells
from alphasynth.raking.features import CONTRASTS, RARE, SCALE, Moments, features_of
from alphasynth.raking.fitted import TINY, Fitted, start
from alphasynth.raking.likely import likely_counts
from alphasynth.raking.margins import OneWay, estimated, expected_where_alike, joined, nearest_counts, within_blocks
from alphasynth.raking.moments import all_moments
from alphasynth.raking.pool import Side, draw_given, draw_tree, pair_table
from alphasynth.raking.settings import Parts, Raked
from alphasynth.raking.sums import Confidential, Margin, Noisy
from alphasynth.raking.values import kept_rows

# A record's vector is so many times its usual length at the most, about; noise of more than so many standard errors
# calls for fewer moments.
USUAL_LENGTH, MOST_NOISE = 2.5, 1.2
# Moments of a wide table are of a lower degree and of fewer levels, until there are no more than these.
MOST_MOMENTS = 1_500
# Noise of more than so many calls for fewer tables too. A standard deviation of a moment, in the units of vectors.
MUCH_NOISE, UNIT = 3.0, SCALE**2
# So many gaps or zeros are enough to be a feature, however rare: noise does not hide them.
FEW = 100
# Turns of all terms before more pairs are chosen, after each, and at the end.
FIRST, BETWEEN, LAST = 8, 2, 40
# Blocks that are small are joined where pairs are counted: below this share of the rows, or so many deviations.
SMALL, FEW_DEVIATIONS, FEW_BLOCKS = 1 / 200, 2.0, 8
# Pairs that rows are made to agree with, measured or not, at the most.
MOST_PAIRS = 100


def fit(
    rng: np.random.Generator,
    table: Confidential,
    columns: Sequence[Cells],
    settings: Raked,
    constraints: Sequence[Constraint] = (),
) -> Fitted:
    """Measure a confidential table and fit a weighted pool to what was measured; no row of it breaks a constraint."""
    parts = settings.parts(columns, _scarce(table, columns, settings))
    table, one = one_way(rng, table, columns, parts)
    pairs = [Margin((a, b), (one[a].cells, one[b].cells)) for a, b in itertools.combinations(range(len(columns)), 2)]
    choice = parts.choices / max(len(columns) - 1 + parts.pairs_more, 1)
    tree = choose_tree(table, pairs, one, choice)
    measured = list(zip(tree, table.counts(tree, "tree", parts.tree), strict=True)) if tree else []
    codes = draw_pool(rng, columns, one, measured, settings.pool_rows(table.n, len(columns)))
    codes = kept_rows(rng, constraints, columns, codes)
    moments = _moments(table, columns, one, codes, settings, parts.moments)
    noisy = table.moments(moments, "moments", parts.moments)
    begun = partial(_begun, rng, table.n, columns, one, measured, moments, noisy)
    # Weights of a first pool know what columns have to do with each other better than counts of pairs alone did.
    codes = kept_rows(rng, constraints, columns, draw_again(rng, begun(codes), tree))
    fitted = begun(codes)
    chosen = set(tree)
    left = [pair for pair in pairs if pair not in chosen]
    for _ in range(parts.pairs_more):
        made = [np.bincount(m.place(codes), fitted.weights, m.size) for m in left]
        worst = left.pop(table.worst(left, made, "choice", choice))
        (noisy,) = table.counts([worst], "more", parts.more / parts.pairs_more)
        fitted.add(worst, noisy)
        fitted.rake(BETWEEN)
    fitted.rake(LAST)
    fitted.finish(rng)
    # Rows are to agree with all pairs of a narrow table, and with those of a wide one that were measured.
    rest = set(left)
    agree = pairs if len(pairs) <= MOST_PAIRS else [pair for pair in pairs if pair not in rest]
    margins = [*fitted.margins, *agree]
    return replace(fitted, margins=margins, each=table.each, design_effect=table.design_effect)


def one_way(
    rng: np.random.Generator, table: Confidential, columns: Sequence[Cells], parts: Parts
) -> tuple[Confidential, list[OneWay]]:
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
        counts = _block_counts(rng, cells, each, table.n)
        least = max(table.n * SMALL, FEW_DEVIATIONS * math.sqrt(each.variance))
        to = joined(counts, least, not cells.nominal) if cells.blocks > FEW_BLOCKS else np.arange(cells.blocks)
        if j in fine:
            deviation = math.sqrt(fine[j].variance)
            expected, begin = within_blocks(cells, counts), np.flatnonzero(np.diff(cells.block)) + 1
            both = zip(np.split(fine[j].sums, begin), np.split(expected, begin), strict=True)
            inside = [expected_where_alike(found, deviation, each) for found, each in both]
            counts = np.concatenate(inside)
        found.append(OneWay(each, counts, to[cells.block]))
    return table, found


def _block_counts(rng: np.random.Generator, cells: Cells, noisy: Noisy, n: int) -> np.ndarray:
    """Counts of blocks, by what is known before there are any moments."""
    known, nothing = estimated(noisy, np.arange(cells.blocks), [], n), np.zeros((0, cells.blocks))
    return likely_counts(cells, known, nothing, Noisy(np.zeros(0), 1.0), n, nearest_counts(known.counts, n)).mean(rng)


def choose_tree(table: Confidential, pairs: Sequence[Margin], one: Sequence[OneWay], part: Fraction) -> list[Margin]:
    """Pairs that span all columns, those chosen that are farthest from independence: private choices."""
    group, tree, alone = list(range(len(one))), list[Margin](), [each.margin for each in one]
    fitted = {pair: np.outer(*(alone[column] for column in pair.columns)).ravel() / table.n for pair in pairs}
    while len(tree) < len(one) - 1:
        open_pairs = [pair for pair in pairs if group[pair.columns[0]] != group[pair.columns[1]]]
        chosen = open_pairs[table.worst(open_pairs, [fitted[pair] for pair in open_pairs], "choice", part)]
        tree.append(chosen)
        a, b = (group[column] for column in chosen.columns)
        group = [a if each == b else each for each in group]
    return tree


def draw_pool(
    rng: np.random.Generator,
    columns: Sequence[Cells],
    one: Sequence[OneWay],
    measured: Sequence[tuple[Margin, Noisy]],
    rows: int,
) -> list[np.ndarray]:
    """Fine cells (rows,) of every column: cells along the tree, fine ones within them by the column alone."""
    tables = {}
    for margin, noisy in measured:
        a, b = margin.columns
        counts = noisy.sums.reshape(margin.shape)
        tables[a, b] = pair_table(counts, noisy.variance, *(Side.of(columns[j], one[j]) for j in (a, b)))
    cells = draw_tree(rng, tables, [each.margin for each in one], rows)
    return [draw_given(rng, _within(each), cell) for each, cell in zip(one, cells, strict=True)]


def _begun(
    rng: np.random.Generator,
    n: int,
    columns: Sequence[Cells],
    one: Sequence[OneWay],
    measured: Sequence[tuple[Margin, Noisy]],
    moments: Moments,
    noisy: Noisy,
    codes: list[np.ndarray],
) -> Fitted:
    """A pool of rows in these cells, raked to what was measured before more pairs are chosen."""
    fitted = start(n, columns, one, codes, measured, moments, noisy)
    fitted.settle(rng)
    fitted.rake(FIRST)
    return fitted


def draw_again(rng: np.random.Generator, fitted: Fitted, tree: Sequence[Margin]) -> list[np.ndarray]:
    """Fine cells (rows,) of every column of a new pool, along the same tree, by the tables that weights make."""
    codes, weights = fitted.codes, fitted.weights
    tables = {
        (a, b): np.bincount(pair.place(codes), weights, pair.size).reshape(pair.shape) + TINY
        for pair in tree
        for a, b in [pair.columns]
    }
    columns = zip(fitted.columns, fitted.one, codes, strict=True)
    one = [replace(each, fine=np.bincount(code, weights, cells.size) + TINY) for cells, each, code in columns]
    drawn = draw_tree(rng, tables, [each.margin for each in one], len(weights))
    return [draw_given(rng, _within(each), cell) for each, cell in zip(one, drawn, strict=True)]


def _within(one: OneWay) -> np.ndarray:
    """Counts of fine cells by the cell that they are in, (cells, fine cells); a cell is never empty."""
    inside = one.cells == np.arange(one.cells.max() + 1)[:, None]
    return inside * (one.fine + TINY)


def _scarce(table: Confidential, columns: Sequence[Cells], settings: Raked) -> bool:
    """Whether moments of the lowest degree have noise of many standard errors: public numbers alone tell."""
    size = len(columns) * (len(columns) + 3) // 2
    length = math.ceil(USUAL_LENGTH * UNIT * math.sqrt(size))
    deviation = table.deviation(length, size, settings.parts(columns).moments)
    return deviation > MUCH_NOISE * UNIT * math.sqrt(table.n)


def _moments(
    table: Confidential,
    columns: Sequence[Cells],
    one: Sequence[OneWay],
    codes: Sequence[np.ndarray],
    settings: Raked,
    part: Fraction,
) -> Moments:
    """Moments whose vectors are cut where few rows of the pool are; of a degree that noise allows."""
    names = [cells.name for cells in columns]
    important = [names.index(name) for name in settings.response]
    interactions = [(names.index(a), names.index(b)) for a, b in settings.interactions]
    smaller = [*((degree, CONTRASTS) for degree in range(settings.degree, 0, -1)), (1, 2), (1, 1)]
    shares, rare = [each.fine / each.fine.sum() for each in one], min(RARE, FEW / table.n)
    for degree, contrasts in smaller:
        each = zip(columns, shares, strict=True)
        features = [features_of(*column, degree, contrasts, rare, bool(important)) for column in each]
        found = all_moments(features, codes, important, interactions, settings.response_share)
        length, error = USUAL_LENGTH * found.usual_length, found.scale.max() * SCALE**2 * math.sqrt(table.n)
        loud = table.deviation(math.ceil(length), found.size, part) > MOST_NOISE * error
        if found.size <= MOST_MOMENTS and not (loud and degree > 1):
            break
    whole = settings.whole_if_loud if loud else settings.whole
    return replace(found, length=max(math.ceil(np.quantile(found.lengths(codes), whole)), 1), degree=degree)
