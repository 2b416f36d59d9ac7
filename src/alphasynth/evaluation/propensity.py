"""pMSE and S_pMSE: how well a model tells synthetic rows from confidential ones, against a table from the true model.

The propensity p of a row of the merged table is the modelled probability that it is synthetic, c the share of rows
that are, N the number of rows, and pMSE the mean of (p - c)^2: 0 where the model sees no difference.

It is not 0 for a perfect synthesizer either, since its rows are a sample. If the synthetic rows came from the very
distribution of the confidential rows, and that were known, a logistic model with k parameters would have an expected
pMSE of (k - 1) (1 - c)^2 c / N. S_pMSE is pMSE over that null: about 1 for rows drawn from the fitted distribution with
its parameters plugged in (a bootstrap of the confidential table, say). Rows from a posterior draw scatter more, and
score about 1 + rows/n / alpha in what the model sees, alpha being a scalar weight (2 where alpha is 1 and rows = n); a
score far above says that the two can be told apart by more than chance.

A tree has no such formula. Its null is the mean pMSE after shuffling which rows are synthetic, times 1 - c: shuffling
makes two samples that both scatter, and only the synthetic one should (for a logistic model that factor gives the
formula above exactly).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from alphasynth.evaluation.chance import chi_square_in_errors, in_errors
from alphasynth.evaluation.values import plain
from alphasynth.tables.records import Records

# Of a table with more distinct rows than this, so many rows at random take part: the tree is grown over and over.
MOST_ROWS = 10_000
MOST_TERMS = 250  # products
MOST_LEVELS = 30  # of a column; rarer ones are taken together
SHUFFLES = 50  # in all, over the tables
SMALLEST_LEAF = 0.01  # share of the merged rows
# With more terms than this part of the rows a logistic model fits chance, and its chi-square is none.
MOST_TERMS_PER_ROW = 0.05
# A ridge that moves no coefficient to speak of, and keeps those finite that would separate the tables.
NEARLY_NO_PENALTY = 1e4


@dataclass(frozen=True)
class Propensity:
    """pMSE of a propensity model, the null it is compared with, and their ratio; averages over the tables.

    `samples` is the pMSE that two samples of one population would have, `error` its standard deviation by chance, and
    `apart` how far the tables' own is above it in such errors; not known of a model with very many terms.
    """

    model: str
    pmse: float
    null: float
    rows: int
    samples: float = float("nan")
    error: float = float("nan")
    apart: float = float("nan")

    @property
    def standardised(self) -> float:
        """S_pMSE."""
        return self.pmse / self.null if self.null > 0 else float("nan")

    @property
    def score_error(self) -> float:
        """Standard deviation of S_pMSE by chance."""
        return self.error / self.null if self.null > 0 else float("nan")


def propensities(rng: np.random.Generator, confidential: Records, tables: Sequence[Records]) -> list[Propensity]:
    """pMSE and S_pMSE of each table by a logistic model and by a tree, averaged over the tables."""
    merged = [_Merged.of(rng, confidential, table) for table in tables]
    logistic = [_logistic(m) for m in merged]
    shuffles = -(-SHUFFLES // len(tables))
    grown = [(m.pmse(_grow(m, m.synthetic)), _shuffled(rng, m, shuffles)) for m in merged]
    return [_by_formula(merged, logistic), _by_shuffling(merged, grown)]


def _by_formula(merged: Sequence[_Merged], fits: Sequence[tuple[float, float, str]]) -> Propensity:
    """What logistic models say: over what two samples have, pMSE is a chi-square over its degrees of freedom."""
    pmse, null = (float(np.mean([fit[i] for fit in fits])) for i in (0, 1))
    samples = float(np.mean([fit[1] / m.chance for fit, m in zip(fits, merged, strict=True)]))
    freedom = float(np.mean([m.terms(fit[1]) for fit, m in zip(fits, merged, strict=True)]))
    model, rows = f"logistic, {fits[0][2]}", merged[0].total
    if not 0 < freedom <= MOST_TERMS_PER_ROW * rows:
        return Propensity(model, pmse, null, rows)
    error = samples * (2 / freedom) ** 0.5
    return Propensity(model, pmse, null, rows, samples, error, chi_square_in_errors(pmse / samples, freedom))


def _by_shuffling(merged: Sequence[_Merged], grown: Sequence[tuple[float, np.ndarray]]) -> Propensity:
    """What trees say: shuffling makes two samples of one population."""
    pmse = float(np.mean([found for found, _ in grown]))
    null = float(np.mean([m.chance * shuffled.mean() for (_, shuffled), m in zip(grown, merged, strict=True)]))
    shuffles = np.concatenate([shuffled for _, shuffled in grown])
    samples, error = float(shuffles.mean()), float(shuffles.std(ddof=1)) if len(shuffles) > 1 else float("nan")
    apart = in_errors(samples, pmse, error) if pmse > samples else 0.0
    return Propensity("tree", pmse, null, merged[0].total, samples, error, apart)


@dataclass(frozen=True, eq=False)
class _Merged:
    """Distinct rows of two tables put together, and how many rows of each they stand for."""

    columns: list[np.ndarray]
    confidential: np.ndarray
    synthetic: np.ndarray
    part: float  # share of the confidential rows that take part

    @classmethod
    def of(cls, rng: np.random.Generator, confidential: Records, table: Records) -> _Merged:
        import pandas as pd

        parts = [_thinned(rng, records) for records in (confidential, table)]
        names = list(confidential.columns)
        frames = []
        for side, (records, counts) in enumerate(parts):
            kept = counts > 0
            # Columns go by number: a name of the user's could be one of ours.
            frame = pd.DataFrame({i: plain(records.columns[name])[kept] for i, name in enumerate(names)})
            frames.append(frame.assign(side=side, count=counts[kept]))
        counted = pd.concat(frames).pivot_table(
            index=list(range(len(names))), columns="side", values="count", aggfunc="sum", fill_value=0
        )
        columns = [counted.index.get_level_values(i).to_numpy() for i in range(len(names))]
        part = float(parts[0][1].sum() / confidential.n)
        return cls(columns, counted[0].to_numpy(np.int64), counted[1].to_numpy(np.int64), part)

    @property
    def counts(self) -> np.ndarray:
        return self.confidential + self.synthetic

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def share(self) -> float:
        return float(self.synthetic.sum() / self.counts.sum())

    @property
    def chance(self) -> float:
        """The part of two random samples' scatter that a perfect synthesizer has: only its own rows are random.

        1 - c of it, and more where the confidential rows are themselves a sample of the table.
        """
        return (1 - self.share) + (1 - self.part) * self.share

    def terms(self, null: float) -> float:
        """How many terms a logistic model with this null has."""
        return null * self.total / (self.share * (1 - self.share) * self.chance)

    @cached_property
    def points(self) -> np.ndarray:
        """Rows as a tree takes them: numbers, and codes of categories."""
        codes = [c if c.dtype.kind == "f" else np.unique(c, return_inverse=True)[1] for c in self.columns]
        return np.stack(codes, axis=1).astype(np.float32)

    def pmse(self, p: np.ndarray) -> float:
        return float(np.average((p - self.share) ** 2, weights=self.counts))

    def fit(self, model: Any, features: np.ndarray, synthetic: np.ndarray) -> np.ndarray:
        """Propensities by line, of a model fitted to which rows are synthetic; their share, where nothing varies."""
        if not features.shape[1]:
            return np.full(len(features), self.share)
        twice, labels = np.concatenate([features, features]), np.repeat([0, 1], len(features))
        weights = np.concatenate([self.counts - synthetic, synthetic])
        drawn = weights > 0
        return model.fit(twice[drawn], labels[drawn], sample_weight=weights[drawn]).predict_proba(features)[:, 1]


def _thinned(rng: np.random.Generator, records: Records) -> tuple[Records, np.ndarray]:
    if records.size <= MOST_ROWS:
        return records, records.counts
    return records, rng.multivariate_hypergeometric(records.counts, min(MOST_ROWS, records.n), method="marginals")


def _logistic(merged: _Merged) -> tuple[float, float, str]:
    """pMSE of a logistic model, its null, and which terms are in it."""
    from sklearn.linear_model import LogisticRegression

    features, terms = _features(merged.columns)
    features = _independent(features, merged.counts)
    model = LogisticRegression(C=NEARLY_NO_PENALTY, solver="newton-cholesky", max_iter=1_000, tol=1e-8)
    c = merged.share
    null = features.shape[1] * c * (1 - c) * merged.chance / merged.total
    return merged.pmse(merged.fit(model, features, merged.synthetic)), null, terms


def _features(columns: list[np.ndarray]) -> tuple[np.ndarray, str]:
    """Main effects and products of every two columns (a numeric one with itself too), as far as there is room."""
    blocks = [_dummies(column) for column in columns]
    pairs = [
        (blocks[i], blocks[j])
        for i in range(len(blocks))
        for j in range(i, len(blocks))
        if i < j or columns[i].dtype.kind == "f"
    ]
    pairs.sort(key=lambda pair: pair[0].shape[1] * pair[1].shape[1])
    sizes = np.cumsum([a.shape[1] * b.shape[1] for a, b in pairs])
    taken = [pair for pair, size in zip(pairs, sizes, strict=True) if size <= MOST_TERMS]
    products = [(a[:, :, None] * b[:, None, :]).reshape(len(a), -1) for a, b in taken]
    some = "" if len(taken) == len(pairs) else "some "
    words = f"main effects and {some}two-way products" if taken else "main effects"
    return np.concatenate([*blocks, *products], axis=1), words


def _dummies(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind == "f":
        spread = column.std()
        return ((column - column.mean()) / (spread if spread > 0 else 1.0))[:, None]
    levels, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]  # the rest together are what these are measured against
    shown = np.sort(frequent) if len(levels) > MOST_LEVELS else np.arange(1, len(levels))
    return np.asarray(codes[:, None] == shown, np.float64)


def _independent(features: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Columns that are no combination of others and of the intercept; centred and scaled."""
    from scipy.linalg import qr

    centred = features - np.average(features, axis=0, weights=counts)
    spread = np.sqrt(np.average(centred**2, axis=0, weights=counts))
    scaled = centred[:, spread > 0] / spread[spread > 0]
    if not scaled.shape[1]:
        return scaled
    # Pivots are those of the tall matrix: its triangle has the same lengths and angles, and far fewer rows.
    (tall,) = qr(np.sqrt(counts)[:, None] * scaled, mode="r", overwrite_a=True, check_finite=False)
    _, triangle, order = qr(tall[: scaled.shape[1]], mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    return scaled[:, np.sort(order[: int((pivots > 1e-8 * pivots[0]).sum())])]


def _grow(merged: _Merged, synthetic: np.ndarray) -> np.ndarray:
    """Propensities by line from a tree grown to which rows are synthetic."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(min_weight_fraction_leaf=SMALLEST_LEAF, random_state=0)
    return merged.fit(tree, merged.points, synthetic)


def _shuffled(rng: np.random.Generator, merged: _Merged, times: int) -> np.ndarray:
    """The tree's pMSE (times,) after shuffling which rows are synthetic; its null is their mean times `chance`."""
    number = int(merged.synthetic.sum())
    shuffles = rng.multivariate_hypergeometric(merged.counts, number, times, method="marginals")
    return np.array([merged.pmse(_grow(merged, synthetic)) for synthetic in shuffles])
