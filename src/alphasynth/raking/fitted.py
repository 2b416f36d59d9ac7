"""`Fitted`: a pool of rows weighted by what was measured, what it may have been, and rows from it: all of it public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from alphasynth.raking.cells import Cells
from alphasynth.raking.features import SCALE, Moments
from alphasynth.raking.held import gaps_and_squares
from alphasynth.raking.one_way import OneWay, estimated, settled
from alphasynth.raking.rake import MomentTerm, TableTerm, Term, rake, rake_together
from alphasynth.raking.rows import Wanted, choose_rows, drawn_evenly
from alphasynth.raking.sums import Margin, Noisy

# Variance of the number of rows, which is public, and of columns' counts, which are known best: as good as none.
KNOWN = 1e-6
TINY = 1e-9
# Turns of all terms where sums are drawn again; of all but pairs' counts at the end, at the most, before and after
# columns' counts are settled anew; of columns' counts alone.
AGAIN, FINISH, COUNTS = 3, (4, 2), 1
# How much more a column's counts matter than a pair's, when rows are made to agree with both.
OF_COLUMNS = 8.0
# Where sums are drawn again, a moment's mean over rows may be off the pool's by the root of this, in deviations.
OPEN = 0.25


@dataclass(frozen=True, eq=False)
class Fitted:
    """A weighted pool: the fine cells (rows,) of each column, logarithms of weights (rows,) that add up to n.

    `terms` are what the weights were fitted to: the number of rows, counts of the columns' blocks, then all else.
    `margins` are the tables that rows are to agree with; `one`, `features` and `sums` what was measured of columns,
    `pairs` of which pairs counts were, and `vectors` (rows, D) the rows' features. An `unbiased` fit follows what was
    measured even where that is noise. Of survey weights, `each` is what a row weighs on average, and the
    `design_effect` how many times its variance they make an estimate's.
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
    pairs: list[Margin] = field(repr=False)
    unbiased: bool = False
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

    def settle(self) -> None:
        """Let columns' counts agree with the moments of single columns too, by how well each is known, in place."""
        alone = self.features.alone
        weights = self.weights
        # What is cut off records' vectors is taken to be what is cut off the pool's.
        cut = (weights.astype(np.float32) @ self.vectors[:, alone]).astype(np.float64)
        left, unit, first = self.sums.sums[alone] - cut, self.features.scale[alone] * SCALE**2, 0
        tables = zip(self.of_columns, self.columns, self.one, self.codes, self.features.tables, strict=True)
        for column, (term, cells, one, code, table) in enumerate(tables):
            of, features = slice(first, first + len(table)), table / SCALE
            first += len(table)
            fine = np.bincount(code, weights, minlength=cells.size) + TINY
            inside = np.array([np.bincount(cells.block, fine * each) for each in features]).reshape(-1, cells.blocks)
            sums = Noisy(left[of] / unit[of] + features @ fine, self.sums.variance / unit[of] ** 2)
            to = one.cells[np.flatnonzero(np.diff(cells.block, prepend=-1))]
            known = estimated(one.noisy, to, self._of_pairs_with(column), self.n)
            made = settled(cells, known, inside / np.bincount(cells.block, fine), sums, self.n, self.unbiased)
            term.noisy = in_pool(made, term.place, self.n)

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

    def finish(self) -> None:
        """Turns of the columns' counts and moments, in place: means, shares and regressions hang on these alone."""
        known = self.terms[: 1 + len(self.columns)]
        for turns in FINISH:
            self.settle()
            rake_together(self.log_weights, known, self.moments, turns)
        rake(self.log_weights, known, COUNTS)


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
    vectors = np.concatenate([chunk.astype(np.float32) for chunk in moments.chunks(codes)])
    terms.append(_moment_term(columns, one, codes, moments, vectors, noisy))
    measured = [margin for margin, _ in pairs]
    return Fitted(codes, log_weights, terms, blocks, columns, one, moments, vectors, noisy, measured)


def in_pool(counts: np.ndarray, place: np.ndarray, n: int) -> np.ndarray:
    """Counts (cells,) of cells that rows of the pool are in, by each row's `place` (rows,), n in all.

    Those of other cells no weights can make: columns would add up to different numbers of rows, which steps of all
    together follow without end.

    >>> in_pool(np.array([6.0, 2.0, 4.0]), np.array([0, 0, 2]), 20)
    array([12.,  0.,  8.])
    """
    held = np.where(np.bincount(place, minlength=len(counts)) > 0, counts, 0.0)
    return held * (n / held.sum()) if held.sum() > 0 else counts


def _moment_term(
    columns: Sequence[Cells],
    one: Sequence[OneWay],
    codes: Sequence[np.ndarray],
    moments: Moments,
    vectors: np.ndarray,
    noisy: Noisy,
) -> MomentTerm:
    """The term of all pairs' moments, with what is held beside them."""
    of_pairs, n = int((~moments.alone).sum()), sum(each.fine.sum() for each in one) / len(one)
    if not of_pairs:
        return MomentTerm.of(vectors[:, :0], noisy.sums[:0], noisy.variance)
    weights, measured = np.full(len(vectors), n / len(vectors)), vectors[:, :of_pairs]
    shares = [each.fine / each.fine.sum() for each in one]
    beside = gaps_and_squares(columns, shares, codes, moments, noisy.sums / n) if moments.degree == 1 else None
    if beside is None:
        term = MomentTerm.of(measured, noisy.sums[:of_pairs], noisy.variance)
    else:
        both = np.concatenate([measured, beside], axis=1)
        sums = np.append(noisy.sums[:of_pairs], weights @ beside)
        term = replace(MomentTerm.of(both, sums, noisy.variance), held=beside.shape[1])
    term.loosened(weights)
    return term


def table_term(margin: Margin, noisy: Noisy, codes: Sequence[np.ndarray], weights: np.ndarray) -> TableTerm:
    """Noisy counts of a table as a term, held as far from the pool as they say."""
    term = TableTerm.of(margin.place(codes), noisy.sums, noisy.variance)
    term.loosened(weights)
    return term


def redraw(rng: np.random.Generator, fitted: Fitted) -> Fitted:
    """The pool as it may have come out: raked to sums that differ from the noisy ones as these do from the true ones.

    With rows drawn at random from it, a table is off the fit as the fit is off the truth, by noise and by sampling.
    """
    sums = _noisier(rng, fitted.sums)
    one = [replace(each, noisy=_noisier(rng, each.noisy)) for each in fitted.one]
    noise = sums.sums - fitted.sums.sums
    terms = [_redrawn(rng, term, noise, fitted.n) for term in fitted.terms]
    log_weights = fitted.log_weights.copy()
    again = replace(fitted, log_weights=log_weights, terms=terms, one=one, sums=sums, unbiased=True)
    again.rake(AGAIN)
    again.finish()
    return again


def _noisier(rng: np.random.Generator, noisy: Noisy) -> Noisy:
    """Sums with as much noise once more."""
    return replace(noisy, sums=noisy.sums + rng.normal(0.0, math.sqrt(noisy.variance), len(noisy.sums)))


def _redrawn(rng: np.random.Generator, term: Term, noise: np.ndarray, n: int) -> Term:
    """A term with sums as they may have been; those of moments have this noise, and the fit follows them."""
    if isinstance(term, TableTerm):
        more = rng.normal(0.0, math.sqrt(term.noise), len(term.noisy)) if term.noise > KNOWN else 0.0
        return replace(term, noisy=term.noisy + more, tilt=term.tilt.copy())
    # The posterior of a sum that is known in part has the variance kept * noise. A fit keeps that part of what it is
    # given, so that it must be given noise / kept.
    measured = term.measured
    variance = np.append(np.minimum(term.variance[:measured], term.noise / (OPEN * n)), term.variance[measured:])
    more = np.append(noise[:measured], np.zeros(term.held))
    noisy = term.noisy + more * np.sqrt(1 + variance / term.square)
    return replace(term, noisy=noisy, variance=variance, tilt=term.tilt.copy(), curvature=None)


def sample_rows(rng: np.random.Generator, fitted: Fitted, rows: int) -> list[np.ndarray]:
    """Fine cells (rows,) of every column of a synthetic table, drawn at random."""
    chosen = sampled(rng, fitted, rows)
    return [column[chosen] for column in fitted.codes]


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
