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
from alphasynth.raking.moments import all_moments
from alphasynth.raking.one_way import OneWay, one_way, settled
from alphasynth.raking.pool import draw_given, draw_tree, pair_table
from alphasynth.raking.rake import MomentTerm, TableTerm, Term, rake
from alphasynth.raking.rows import Wanted, choose_rows, drawn_evenly
from alphasynth.raking.settings import Raked
from alphasynth.raking.sums import Confidential, Margin, Noisy
from alphasynth.raking.values import kept_rows

# Variance of the number of rows, which is public, and of columns' counts, which are known best: as good as none.
KNOWN = 1e-6
# A record's vector is so many times the root of its number of entries long, about, in standard deviations; noise of
# more than so many standard errors of a moment calls for fewer moments.
USUAL_LENGTH, MOST_NOISE = 2.5, 1.2
# Moments of a wide table are of a lower degree and of fewer levels, until there are no more than these.
MOST_MOMENTS = 1_500
# Noise of more than so many calls for fewer tables too. A standard deviation of a moment, in the units of vectors.
MUCH_NOISE, UNIT = 3.0, SCALE**2
TINY = 1e-9
# Turns of all terms at the end, and then of the columns' counts alone, which are known best.
LAST, FINISH = 40, 4
# Turns of all terms where sums are drawn again.
AGAIN = 8
# Pairs that rows are made to agree with, measured or not, at the most.
MOST_PAIRS = 100
# How much more a column's counts matter than a pair's, when rows are made to agree with both.
OF_COLUMNS = 8.0
# Where sums are drawn again, a moment's mean over rows may be off the pool's by such a root of this, and more.
OPEN = 0.25


@dataclass(frozen=True, eq=False)
class Fitted:
    """A weighted pool: the fine cells (rows,) of each column, logarithms of weights (rows,) that add up to n.

    `terms` are what the weights were fitted to: the number of rows, counts of the columns' blocks, then all else.
    `margins` are the tables that rows are to agree with; `one`, `features` and `sums` what was measured of columns.
    """

    codes: list[np.ndarray] = field(repr=False)
    log_weights: np.ndarray = field(repr=False)
    terms: list[Term] = field(repr=False)
    margins: list[Margin] = field(repr=False)
    columns: Sequence[Cells] = field(repr=False)
    one: Sequence[OneWay] = field(repr=False)
    features: Moments = field(repr=False)
    vectors: np.ndarray = field(repr=False)
    sums: Noisy = field(repr=False)
    spread: bool = False

    @property
    def n(self) -> int:
        """Rows of the table."""
        return round(float(self.terms[0].noisy[0]))

    @property
    def moments(self) -> MomentTerm:
        """The term of all pairs' moments."""
        return next(term for term in self.terms if isinstance(term, MomentTerm))

    @property
    def of_columns(self) -> list[TableTerm]:
        """The terms of columns' counts."""
        return [term for term in self.terms[1 : 1 + len(self.columns)] if isinstance(term, TableTerm)]

    @property
    def weights(self) -> np.ndarray:
        """Weights (rows,) of the pool's rows."""
        return np.exp(self.log_weights)

    def settle(self) -> None:
        """Let columns' counts agree with the moments of single columns too, by how well each is known, in place."""
        alone = self.features.alone
        weights = self.weights
        # What is cut off records' vectors is taken to be what is cut off the pool's.
        cut = (weights.astype(np.float32) @ self.vectors[:, alone]).astype(np.float64)
        left, unit, first = self.sums.sums[alone] - cut, self.features.scale[alone] * SCALE**2, 0
        tables = zip(self.of_columns, self.columns, self.one, self.codes, self.features.tables, strict=True)
        for term, cells, one, code, table in tables:
            of, features = slice(first, first + len(table)), table / SCALE
            first += len(table)
            fine = np.bincount(code, weights, minlength=cells.size) + TINY
            inside = np.array([np.bincount(cells.block, fine * each) for each in features]).reshape(-1, cells.blocks)
            sums = Noisy(left[of] / unit[of] + features @ fine, self.sums.variance / unit[of] ** 2)
            term.noisy = settled(cells, one.noisy, inside / np.bincount(cells.block, fine), sums, self.n, self.spread)

    def rake(self, sweeps: int) -> None:
        """Fit all terms by turns, in place."""
        rake(self.log_weights, self.terms, sweeps)

    def finish(self) -> None:
        """Turns of all terms, and then of the columns' counts alone, in place."""
        self.rake(LAST)
        self.settle()
        rake(self.log_weights, self.terms[: 1 + len(self.columns)], FINISH)


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
    moments = _moments(table, columns, one, codes, settings, parts.moments)
    noisy = table.moments(moments, "moments", parts.moments)
    fitted = _start(table.n, columns, one, codes, measured, moments, noisy)
    fitted.settle()
    fitted.rake(8)
    chosen = set(tree)
    left = [pair for pair in pairs if pair not in chosen]
    for _ in range(parts.pairs_more):
        made = [np.bincount(m.place(codes), fitted.weights, m.size) for m in left]
        worst = left.pop(table.worst(left, made, "choice", choice))
        (noisy,) = table.counts([worst], "more", parts.more / parts.pairs_more)
        fitted.terms.append(_table_term(worst, noisy, codes, fitted.weights))
        fitted.rake(2)
    fitted.finish()
    # Rows are to agree with all pairs of a narrow table, and with those of a wide one that were measured.
    rest = set(left)
    agree = pairs if len(pairs) <= MOST_PAIRS else [pair for pair in pairs if pair not in rest]
    return replace(fitted, margins=[*fitted.margins, *agree])


def _start(
    n: int,
    columns: Sequence[Cells],
    one: Sequence[OneWay],
    codes: list[np.ndarray],
    pairs: Sequence[tuple[Margin, Noisy]],
    moments: Moments,
    noisy: Noisy,
) -> Fitted:
    """The pool before it is raked, and all terms that it is to be raked to."""
    log_weights = np.full(len(codes[0]), math.log(n / len(codes[0])))
    blocks = [Margin((j,), (cells.block,)) for j, cells in enumerate(columns)]
    terms: list[Term] = [TableTerm.of(np.zeros(len(codes[0]), np.int64), np.array([float(n)]), KNOWN)]
    for margin, cells, each in zip(blocks, columns, one, strict=True):
        terms.append(TableTerm.of(margin.place(codes), np.bincount(cells.block, each.fine), KNOWN))
    terms += [_table_term(margin, each, codes, np.exp(log_weights)) for margin, each in pairs]
    vectors = np.concatenate([chunk.astype(np.float32) for chunk in moments.chunks(codes)])
    of_pairs = int((~moments.alone).sum())  # those of single columns come last
    term = MomentTerm.of(vectors[:, :of_pairs], noisy.sums[:of_pairs], noisy.variance)
    if of_pairs:
        term.loosened(np.exp(log_weights))
    terms.append(term)
    return Fitted(codes, log_weights, terms, blocks, columns, one, moments, vectors, noisy)


def _table_term(margin: Margin, noisy: Noisy, codes: Sequence[np.ndarray], weights: np.ndarray) -> TableTerm:
    term = TableTerm.of(margin.place(codes), noisy.sums, noisy.variance)
    term.loosened(weights)
    return term


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
    names = [cells.name for cells in columns]
    important = [names.index(name) for name in settings.response]
    interactions = [(names.index(a), names.index(b)) for a, b in settings.interactions]
    smaller = [*((degree, CONTRASTS) for degree in range(settings.degree, 0, -1)), (1, 2), (1, 1)]
    for degree, contrasts in smaller:
        features = [features_of(c, o.fine / o.fine.sum(), degree, contrasts) for c, o in zip(columns, one, strict=True)]
        found = all_moments(features, codes, important, interactions, float(settings.share))
        length, error = USUAL_LENGTH * found.usual_length, found.scale.max() * SCALE**2 * math.sqrt(table.n)
        loud = table.deviation(math.ceil(length), found.size, part) > MOST_NOISE * error
        if found.size <= MOST_MOMENTS and not (loud and degree > 1):
            break
    return replace(found, length=max(math.ceil(np.quantile(found.lengths(codes), settings.quantile)), 1))


def redraw(rng: np.random.Generator, fitted: Fitted) -> Fitted:
    """The pool as it may have come out: raked to sums that differ from the noisy ones as these do from the true ones.

    With rows drawn at random from it, a table is off the fit as the fit is off the truth, by noise and by sampling.
    """
    noise = rng.normal(0.0, math.sqrt(fitted.sums.variance), len(fitted.sums.sums))
    sums = replace(fitted.sums, sums=fitted.sums.sums + noise)
    one = [
        replace(each, noisy=replace(each.noisy, sums=each.noisy.sums + rng.normal(0.0, math.sqrt(each.noisy.variance), len(each.noisy.sums))))
        for each in fitted.one
    ]
    of_pairs = len(fitted.moments.noisy)
    terms = [_redrawn(rng, term, noise[:of_pairs], fitted.n) for term in fitted.terms]
    again = replace(fitted, log_weights=fitted.log_weights.copy(), terms=terms, one=one, sums=sums, spread=True)
    again.settle()
    again.rake(AGAIN)
    again.settle()
    rake(again.log_weights, again.terms[: 1 + len(again.columns)], FINISH)
    return again


def _redrawn(rng: np.random.Generator, term: Term, noise: np.ndarray, n: int) -> Term:
    if isinstance(term, MomentTerm):
        variance = np.minimum(term.variance, term.noise / (OPEN * n))
        kept = term.square / (term.square + variance)
        return replace(term, noisy=term.noisy + noise / np.sqrt(kept), variance=variance, tilt=term.tilt.copy(), curvature=None, steepness=np.inf)
    if term.noise <= KNOWN:
        return replace(term, tilt=term.tilt.copy())
    return replace(term, noisy=term.noisy + rng.normal(0.0, term.noise**0.5, len(term.noisy)), tilt=term.tilt.copy())


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
    scale = (fitted.features.scale * SCALE**2).astype(np.float32)
    wanted = Wanted(places, matter, fitted.vectors / scale)
    return choose_rows(rng, fitted.weights, rows, wanted)
