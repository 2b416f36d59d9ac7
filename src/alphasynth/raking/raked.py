"""A whole table from private counts of columns and pairs, private moments of all pairs, and raking.

One-way counts, a tree of pairs that were chosen privately, moments of all pairs, more pairs where the fit is worst: all
that passes from the table are sums with noise and choices among pairs. What follows is made from these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from alphasynth.raking.cells import Cells
from alphasynth.raking.constraints import Constraint
from alphasynth.raking.features import CONTRASTS, SCALE, Moments, features_of
from alphasynth.raking.one_way import OneWay, one_way, with_moments
from alphasynth.raking.pool import draw_given, draw_tree, pair_table
from alphasynth.raking.rake import MomentTerm, TableTerm, Term, rake, redrawn
from alphasynth.raking.rows import Wanted, choose_rows, drawn_evenly
from alphasynth.raking.settings import Raked
from alphasynth.raking.sums import Confidential, Margin, Noisy
from alphasynth.raking.values import kept_rows

# Variance of the number of rows, which is public.
KNOWN = 1e-6
# A record's vector is so many times the root of its number of entries long, about, in standard deviations; noise of
# more than so many standard errors of a moment calls for fewer moments.
USUAL_LENGTH, MOST_NOISE = 2.5, 1.2
# Moments of a wide table are of a lower degree and of fewer levels, until there are no more than these.
MOST_MOMENTS = 1_500
# Noise of more than so many calls for fewer tables too. A standard deviation of a moment, in the units of vectors.
MUCH_NOISE, UNIT = 3.0, 2 * SCALE**2
TINY = 1e-9
# Turns of all terms at the end, and then of the columns' counts alone, which are known best.
LAST, FINISH = 40, 4
# Pairs that rows are made to agree with, measured or not, at the most.
MOST_PAIRS = 100
# How much more a column's counts matter than a pair's, when rows are made to agree with both.
OF_COLUMNS = 8.0
# Columns' counts are held as tightly as the tightest of moments, but for a few.
MOST_OF_ALL = 0.9


@dataclass(frozen=True, eq=False)
class Fitted:
    """A weighted pool: the fine cells (rows,) of each column, logarithms of weights (rows,) that add up to n.

    `terms` are what the weights were fitted to, `margins` the tables that rows are to agree with.
    """

    codes: list[np.ndarray] = field(repr=False)
    log_weights: np.ndarray = field(repr=False)
    terms: list[Term] = field(repr=False)
    margins: list[Margin] = field(repr=False)

    @property
    def moments(self) -> MomentTerm:
        """The term of all pairs' moments."""
        return next(term for term in self.terms if isinstance(term, MomentTerm))

    @property
    def weights(self) -> np.ndarray:
        """Weights (rows,) of the pool's rows."""
        return np.exp(self.log_weights)


def fit(
    rng: np.random.Generator,
    table: Confidential,
    columns: Sequence[Cells],
    settings: Raked,
    constraints: Sequence[Constraint] = (),
) -> Fitted:
    """Measure a confidential table and fit a weighted pool to what was measured; no row of it breaks a constraint."""
    parts = settings.parts(columns, _scarce(table, columns, settings))
    one = one_way(table, columns, parts)
    pairs = [Margin((a, b), (one[a].cells, one[b].cells)) for a, b in itertools.combinations(range(len(columns)), 2)]
    choice = parts.choices / max(len(columns) - 1 + parts.pairs_more, 1)
    tree = choose_tree(table, pairs, one, choice)
    measured = list(zip(tree, table.counts(tree, "tree", parts.tree), strict=True)) if tree else []
    codes = draw_pool(rng, columns, one, measured, settings.pool_rows(table.n, len(columns)))
    codes = kept_rows(constraints, columns, codes)
    log_weights = np.full(len(codes[0]), math.log(table.n / len(codes[0])))
    moments = _moments(table, columns, one, codes, settings, parts.moments)
    blocks = [Margin((j,), (cells.block,)) for j, cells in enumerate(columns)]
    terms: list[Term] = [TableTerm.of(np.zeros(len(codes[0]), np.int64), np.array([float(table.n)]), KNOWN)]
    counts = [
        Noisy(np.bincount(cells.block, each.fine), each.noisy.variance)
        for cells, each in zip(columns, one, strict=True)
    ]
    known = [*zip(blocks, counts, strict=True), *measured]
    terms += [TableTerm.of(margin.place(codes), noisy.sums, noisy.variance) for margin, noisy in known]
    noisy = table.moments(moments, "moments", parts.moments)
    moment_term = MomentTerm.of(_vectors(moments, codes), noisy.sums, noisy.variance)
    terms.append(moment_term)
    tables = [term for term in terms[1:] if isinstance(term, TableTerm)]
    for term in tables:
        term.loosened(np.exp(log_weights))
    moment_term.loosened(np.exp(log_weights), moments.alone)
    # What is known best must not give way to what the pool is far from: columns' counts are held as tightly as moments.
    of_moments = float(np.quantile(moment_term.noise / moment_term.variance, MOST_OF_ALL))
    loosest = max(of_moments, *(term.noise / term.variance for term in tables))
    for term in tables[: len(columns)]:
        term.variance = term.noise / loosest
    rake(log_weights, terms, 8)
    left = [pair for pair in pairs if pair not in tree]
    for _ in range(parts.pairs_more):
        fitted = [np.bincount(m.place(codes), np.exp(log_weights), m.size) for m in left]
        worst = left.pop(table.worst(left, fitted, "choice", choice))
        (noisy,) = table.counts([worst], "more", parts.more / parts.pairs_more)
        term = TableTerm.of(worst.place(codes), noisy.sums, noisy.variance)
        term.loosened(np.exp(log_weights))
        terms.append(term)
        rake(log_weights, terms, 2)
    rake(log_weights, terms, LAST)
    _improve(tables, columns, codes, np.exp(log_weights), (moments, moment_term))
    rake(log_weights, terms[: 1 + len(columns)], FINISH)
    # Rows are to agree with all pairs of a narrow table, and with those of a wide one that were measured.
    rest = set(left)
    agree = pairs if len(pairs) <= MOST_PAIRS else [pair for pair in pairs if pair not in rest]
    return Fitted(codes, log_weights, terms, [*blocks, *agree])


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
        tables[a, b] = pair_table(counts, noisy.variance, one[a].margin, one[b].margin)
    cells = draw_tree(rng, tables, [each.margin for each in one], rows)
    return [draw_given(rng, _within(each), cell) for each, cell in zip(one, cells, strict=True)]


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
    important = [number for number, cells in enumerate(columns) if cells.name in settings.response]
    smaller = [*((degree, CONTRASTS) for degree in range(settings.degree, 0, -1)), (1, 2), (1, 1)]
    for degree, contrasts in smaller:
        features = [features_of(c, o.fine / o.fine.sum(), degree, contrasts) for c, o in zip(columns, one, strict=True)]
        found = Moments.of(features, important)
        length = math.ceil(USUAL_LENGTH * UNIT * math.sqrt(found.size))
        loud = table.deviation(length, found.size, part) > MOST_NOISE * UNIT * math.sqrt(table.n)
        if found.size <= MOST_MOMENTS and not (loud and degree > 1):
            break
    return replace(found, length=max(math.ceil(np.quantile(found.lengths(codes), settings.quantile)), 1))


def _improve(
    terms: Sequence[TableTerm],
    columns: Sequence[Cells],
    codes: Sequence[np.ndarray],
    weights: np.ndarray,
    measured: tuple[Moments, MomentTerm],
) -> None:
    """Let columns' counts agree with the moments of single columns too, by how well each is known, in place."""
    moments, term_of_all = measured
    # What is cut off records' vectors is taken to be what is cut off the pool's.
    left = (term_of_all.noisy - term_of_all.sums(weights))[moments.alone]
    scale, first = moments.scale[moments.alone] * SCALE, 0
    for term, cells, code, table in zip(terms, columns, codes, moments.tables, strict=False):
        of = slice(first, first + len(table))
        first += len(table)
        features, fine = table * scale[of, None], np.bincount(code, weights, minlength=cells.size) + TINY
        inside = np.array([np.bincount(cells.block, fine * each) for each in features]).reshape(-1, cells.blocks)
        means = inside / np.bincount(cells.block, fine)
        term.noisy = with_moments(term.noisy, term.noise, means, left[of] + features @ fine, term_of_all.noise)


def _vectors(moments: Moments, codes: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([chunk.astype(np.float32) for chunk in moments.chunks(codes)])


def redraw(rng: np.random.Generator, fitted: Fitted) -> Fitted:
    """The pool as it may have come out: raked to sums that differ from the noisy ones as these do from the true ones.

    With rows drawn at random from it, a table is off the fit as the fit is off the truth, by noise and by sampling.
    """
    terms = [fitted.terms[0], *(redrawn(rng, term) for term in fitted.terms[1:])]
    log_weights = fitted.log_weights.copy()
    rake(log_weights, terms, 6)
    return replace(fitted, log_weights=log_weights, terms=terms)


def sample_rows(rng: np.random.Generator, fitted: Fitted, rows: int) -> list[np.ndarray]:
    """Fine cells (rows,) of every column of a synthetic table, drawn at random."""
    chosen = sampled(rng, fitted, rows)
    return [column[chosen] for column in fitted.codes]


def draw_rows(rng: np.random.Generator, fitted: Fitted, rows: int) -> list[np.ndarray]:
    """Fine cells (rows,) of every column of the one table that is nearest to the fit."""
    chosen = nearest(rng, fitted, rows)
    return [column[chosen] for column in fitted.codes]


def sampled(rng: np.random.Generator, fitted: Fitted, rows: int) -> np.ndarray:
    """Numbers (rows,) of rows of the pool, drawn at random."""
    steps = np.cumsum(fitted.weights)
    return np.searchsorted(steps, rng.random(rows) * steps[-1], side="right")


def nearest(rng: np.random.Generator, fitted: Fitted, rows: int) -> np.ndarray:
    """Numbers (rows,) of rows of the pool, such that the table is nearest to the fit.

    Where there are more of them than rows in the pool, each as often as its weight says is near enough.
    """
    if rows > len(fitted.log_weights):
        return drawn_evenly(rng, fitted.weights, rows)
    places = [margin.place(fitted.codes) for margin in fitted.margins]
    matter = [OF_COLUMNS if len(margin.columns) == 1 else 1.0 for margin in fitted.margins]
    wanted = Wanted(places, matter, fitted.moments.vectors * np.float32(1 / UNIT))
    return choose_rows(rng, fitted.weights, rows, wanted)
