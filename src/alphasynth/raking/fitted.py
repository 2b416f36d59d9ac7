"""`Fitted`: a pool of rows weighted by what was measured, what it may have been, and rows from it: all of it public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from alphasynth.raking.cells import Cells
from alphasynth.raking.features import SCALE, Moments
from alphasynth.raking.held import gaps_and_squares
from alphasynth.raking.likely import Counts, likely_counts
from alphasynth.raking.margins import OneWay, estimated, in_pool
from alphasynth.raking.rake import rake, rake_together
from alphasynth.raking.rows import Wanted, choose_rows, drawn_evenly
from alphasynth.raking.sums import Margin, Noisy
from alphasynth.raking.terms import MomentTerm, TableTerm, Term

# Variance of the number of rows, which is public, and of columns' counts, which are known best: as good as none.
KNOWN = 1e-6
TINY = 1e-9
# Turns of all terms where sums are drawn again; of all but pairs' counts at the end, at the most, before and after
# columns' counts are settled anew; of columns' counts alone.
AGAIN, FINISH, COUNTS = 3, (6, 4), 1
# Where sums are drawn again, so many turns, unless it takes more numbers than these in all: few are enough but where
# columns go together so much that moments lead far.
MOST_AGAIN, NUMBERS_AGAIN = 20, 60_000_000
# How much more a column's counts matter than a pair's, when rows are made to agree with both.
OF_COLUMNS = 8.0
# Where sums are drawn again, a moment's mean over rows may be off the pool's by the root of this, in deviations; not of
# products with powers of a number, which are many and known less well: their noise would lead to a few rows.
OPEN = 0.25


@dataclass(frozen=True, eq=False)
class Fitted:
    """A weighted pool: the fine cells (rows,) of each column, logarithms of weights (rows,) that add up to n.

    `terms` are what the weights were fitted to: the number of rows, counts of the columns' blocks, then all else.
    `margins` are the tables that rows are to agree with; `one`, `features` and `sums` what was measured of columns,
    `pairs` of which pairs counts were, and `vectors` (rows, D) the rows' features before they are cut, of which `kept`
    (rows,) is the part that is left of records'; `likely` is what columns' counts may be. Of survey weights, `each` is
    what a row weighs on average, and the `design_effect` how many times its variance they make an estimate's.
    """

    codes: list[np.ndarray] = field(repr=False)
    log_weights: np.ndarray = field(repr=False)
    terms: list[Term] = field(repr=False)
    margins: list[Margin] = field(repr=False)
    columns: Sequence[Cells] = field(repr=False)
    one: Sequence[OneWay] = field(repr=False)
    features: Moments = field(repr=False)
    vectors: np.ndarray = field(repr=False)
    kept: np.ndarray = field(repr=False)
    sums: Noisy = field(repr=False)
    pairs: list[Margin] = field(repr=False)
    likely: list[Counts] = field(default_factory=list, repr=False)
    each: float = 1.0
    design_effect: float = 1.0

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
    def of_pairs(self) -> list[TableTerm]:
        """The terms of pairs' counts."""
        return [term for term in self.terms[1 + len(self.columns) :] if isinstance(term, TableTerm)]

    @property
    def weights(self) -> np.ndarray:
        """Weights (rows,) of the pool's rows."""
        return np.exp(self.log_weights)

    def settle(self, rng: np.random.Generator) -> None:
        """Let columns' counts agree with the moments of single columns too, by how well each is known, in place."""
        self.likely[:] = self._likely()
        self.hold([counts.mean(rng) for counts in self.likely])

    def recut(self) -> None:
        """Take what is cut off records' vectors to be what is cut off those of the weighted pool, in place."""
        moments = self.moments
        of = slice(moments.measured)
        moments.noisy[of] = self.sums.sums[of] + cut_off(self.weights, self.kept, self.vectors[:, of])

    def hold(self, counts: Sequence[np.ndarray]) -> None:
        """Let columns' counts (blocks,) be these, and moments of single columns what they say, in place.

        Where cells lie within a block is as it was: noise in moments of pairs would lead rows to a block's ends.
        """
        for term, each in zip(self.of_columns, counts, strict=True):
            term.noisy = in_pool(each, term.place, self.n)
        alone = [means @ term.noisy for means, term in zip(self._within_blocks(), self.of_columns, strict=True)]
        unit, moments = self.features.scale[self.features.alone] * SCALE**2, self.moments
        if moments.held and sum(map(len, alone)):
            moments.noisy[moments.measured : moments.measured + len(unit)] = unit * np.concatenate(alone)

    def _within_blocks(self) -> list[np.ndarray]:
        """Each column's features on average over the rows of a block, (features, blocks)."""
        found = []
        for cells, one, table in zip(self.columns, self.one, self.features.tables, strict=True):
            fine = one.fine + TINY
            inside = [np.bincount(cells.block, fine * each) for each in table / SCALE]
            found.append(np.array(inside).reshape(-1, cells.blocks) / np.bincount(cells.block, fine))
        return found

    def _likely(self) -> list[Counts]:
        """What each column's counts may be, by all that was measured of them."""
        alone, weights, found = self.features.alone, self.weights, list[Counts]()
        made = cut_off(weights, 1 - self.kept, self.vectors[:, alone])  # if records' vectors are cut as the pool's are
        left, unit, first = self.sums.sums[alone] - made, self.features.scale[alone] * SCALE**2, 0
        before: Sequence[Counts | None] = self.likely or [None] * len(self.columns)
        tables = zip(self.columns, self.one, self.codes, self.features.tables, before, strict=True)
        for column, (cells, one, code, table, less) in enumerate(tables):
            of, features = slice(first, first + len(table)), table / SCALE
            first += len(table)
            fine = np.bincount(code, weights, minlength=cells.size) + TINY
            blocks = np.bincount(cells.block, fine)
            inside = np.array([np.bincount(cells.block, fine * each) for each in features]).reshape(-1, cells.blocks)
            sums = Noisy(left[of] / unit[of] + features @ fine, self.sums.variance / unit[of] ** 2)
            to = one.cells[np.flatnonzero(np.diff(cells.block, prepend=-1))]
            known = estimated(one.noisy, to, self._of_pairs_with(column), self.n)
            found.append(likely_counts(cells, known, inside / blocks, sums, self.n, blocks, less))
        return found

    def _of_pairs_with(self, column: int) -> list[Noisy]:
        """Noisy counts (cells,) of a column's cells, by each pair that it is in."""
        found = []
        for margin, term in zip(self.pairs, self.of_pairs, strict=True):
            if column in margin.columns:
                other = 1 - margin.columns.index(column)
                counts = term.noisy.reshape(margin.shape).sum(axis=other)
                found.append(Noisy(counts, term.noise * margin.shape[other]))
        return found

    def add(self, pair: Margin, noisy: Noisy) -> None:
        """One more pair's noisy counts, in place."""
        self.terms.append(table_term(pair, noisy, self.codes, self.weights))
        self.pairs.append(pair)

    def rake(self, sweeps: int) -> None:
        """Fit all terms by turns, in place."""
        rake(self.log_weights, self.terms, sweeps)

    def finish(self, rng: np.random.Generator) -> None:
        """Turns of the columns' counts and moments, in place: means, shares and regressions hang on these alone."""
        for turns in FINISH:
            self.settle(rng)
            self.meet(turns)
        self.count()

    def count(self) -> None:
        """Columns' counts as they are to be, in place: of those that contradict each other the later ones."""
        terms = self.terms[: 1 + len(self.columns)]
        for term in terms:
            term.tilt = np.zeros_like(term.tilt)
        rake(self.log_weights, terms, COUNTS)

    def meet(self, turns: int) -> None:
        """Turns of the columns' counts and moments together, in place; before each, what is cut off is told anew."""
        tables = self.terms[: 1 + len(self.columns)]
        rake_together(self.log_weights, tables, self.moments, turns, before=self.recut)


def start(
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
        place = margin.place(codes)
        terms.append(TableTerm.of(place, in_pool(np.bincount(cells.block, each.fine), place, n), KNOWN))
    terms += [table_term(margin, each, codes, np.exp(log_weights)) for margin, each in pairs]
    vectors, kept = map(np.concatenate, zip(*moments.chunks(codes), strict=True))
    terms.append(_moment_term(columns, one, codes, moments, vectors, kept, noisy))
    measured = [margin for margin, _ in pairs]
    return Fitted(codes, log_weights, terms, blocks, columns, one, moments, vectors, kept, noisy, measured)


def _moment_term(
    columns: Sequence[Cells],
    one: Sequence[OneWay],
    codes: Sequence[np.ndarray],
    moments: Moments,
    vectors: np.ndarray,
    kept: np.ndarray,
    noisy: Noisy,
) -> MomentTerm:
    """The term of all pairs' moments, with what is held beside them."""
    of_pairs, n = int((~moments.alone).sum()), sum(each.fine.sum() for each in one) / len(one)
    if not of_pairs:
        return MomentTerm.of(vectors[:, :0], noisy.sums[:0], noisy.variance)
    weights, shares = np.full(len(vectors), n / len(vectors)), [each.fine / each.fine.sum() for each in one]
    beside = gaps_and_squares(columns, shares, codes, moments, noisy.sums / n) if moments.degree == 1 else None
    both = vectors if beside is None else np.concatenate([vectors, beside], axis=1)
    measured = noisy.sums[:of_pairs] + cut_off(weights, kept, vectors[:, :of_pairs])
    sums = np.append(measured, weights @ both[:, of_pairs:])
    term = replace(MomentTerm.of(both, sums, noisy.variance), held=both.shape[1] - of_pairs)
    term.loosened(weights)
    return term


def cut_off(weights: np.ndarray, kept: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """What rows' vectors (rows, D) have more, together, than the part that is kept (rows,)."""
    rows = np.flatnonzero(kept < 1)
    return ((weights * (1 - kept))[rows].astype(np.float32) @ vectors[rows]).astype(np.float64)


def table_term(margin: Margin, noisy: Noisy, codes: Sequence[np.ndarray], weights: np.ndarray) -> TableTerm:
    """Noisy counts of a table as a term, held as far from the pool as they say."""
    term = TableTerm.of(margin.place(codes), noisy.sums, noisy.variance)
    term.loosened(weights)
    return term


def redraw(rng: np.random.Generator, fitted: Fitted) -> Fitted:
    """The pool as it may have come out: raked to a draw of columns' counts, and to sums with as much noise once more.

    With rows drawn at random from it, a table is off the fit as the fit is off the truth, by noise and by sampling.
    """
    noise = rng.normal(0.0, math.sqrt(fitted.sums.variance), len(fitted.sums.sums))
    terms = [_redrawn(rng, term, noise, fitted) for term in fitted.terms]
    again = replace(fitted, log_weights=fitted.log_weights.copy(), terms=terms)
    sums, more = fitted.sums.sums.copy(), again.moments.noisy - fitted.moments.noisy
    sums[: again.moments.measured] += more[: again.moments.measured]
    again = replace(again, sums=Noisy(sums, fitted.sums.variance))
    again.hold([counts.draw(rng, 1)[0] for counts in fitted.likely])
    again.rake(AGAIN)
    again.meet(max(min(NUMBERS_AGAIN // max(fitted.vectors.size, 1), MOST_AGAIN), sum(FINISH)))
    again.count()
    return again


def _redrawn(rng: np.random.Generator, term: Term, noise: np.ndarray, fitted: Fitted) -> Term:
    """A term with sums as they may have been; those of moments have this noise, and the fit follows them."""
    if isinstance(term, TableTerm):
        more = rng.normal(0.0, math.sqrt(term.noise), len(term.noisy)) if term.noise > KNOWN else 0.0
        return replace(term, noisy=term.noisy + more, tilt=term.tilt.copy())
    # The posterior of a sum that is known in part has the variance kept * noise. A fit keeps that part of what it is
    # given, so that it must be given noise / kept.
    measured, variance = term.measured, term.variance.copy()
    followed = np.flatnonzero(~fitted.features.powers[:measured])
    variance[followed] = np.minimum(variance[followed], term.noise / (OPEN * fitted.n))
    more = np.append(noise[:measured], np.zeros(term.held))
    noisy = term.noisy + more * np.sqrt(1 + variance / term.square)
    return replace(term, noisy=noisy, variance=variance, tilt=term.tilt.copy(), curvature=None)


def draw_rows(rng: np.random.Generator, fitted: Fitted, rows: int) -> list[np.ndarray]:
    """Fine cells (rows,) of every column of the one table that is nearest to the fit."""
    chosen = nearest(rng, fitted, rows)
    return [column[chosen] for column in fitted.codes]


def sampled(rng: np.random.Generator, fitted: Fitted, rows: int) -> np.ndarray:
    """Numbers (rows,) of rows of the pool, drawn at random, scattering as a sample with that design effect does."""
    weights, more = fitted.weights, fitted.design_effect - 1
    if more > 0:
        weights = more * rng.gamma(weights / more) + TINY * weights
    steps = np.cumsum(weights)
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
