"""Associations between pairs of columns, and regression coefficients, on distinct rows and counts."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from alphasynth.errors import InputError
from alphasynth.evaluation.values import as_text, is_numeric, plain, present
from alphasynth.models.formula import Formula, compute_terms, learn_terms
from alphasynth.models.terms import only_coded
from alphasynth.tables.records import Records

MOST_TERMS = 500
SPEARMAN, CRAMER, ETA = "Spearman's rho", "Cramér's V", "correlation ratio eta"


class Pair(NamedTuple):
    """Two columns and the measure that suits them."""

    one: str
    other: str
    measure: str


def pairs(records: Records) -> list[Pair]:
    """Every two columns: rank correlation of numbers, Cramér's V of categories, the correlation ratio of the two."""
    found = []
    for one, other in combinations(records.columns, 2):
        numeric = [is_numeric(records.columns[name]) for name in (one, other)]
        found.append(Pair(one, other, SPEARMAN if all(numeric) else ETA if any(numeric) else CRAMER))
    return found


def association(records: Records, pair: Pair) -> float:
    """The pair's association among rows that have both values; NaN where a column does not vary."""
    there = present(records, pair.one) & present(records, pair.other)
    x, y, counts = records.columns[pair.one][there], records.columns[pair.other][there], records.counts[there]
    if len(counts) < 2:
        return float("nan")
    if pair.measure == SPEARMAN:
        return _spearman(numbers_of(x), numbers_of(y), counts)
    if pair.measure == CRAMER:
        return _cramer(codes_of(x), codes_of(y), counts)
    numbers, codes = (x, y) if is_numeric(x) else (y, x)
    return _eta(numbers_of(numbers), codes_of(codes), counts)


def all_associations(records: Records, wanted: Sequence[Pair]) -> list[float]:
    """Those of many pairs, as `association` has each; ranks and codes of columns without gaps are made once."""
    whole = {name for name in records.columns if records.size > 1 and present(records, name).all()}

    @cache
    def ranked(name: str) -> tuple[np.ndarray, np.ndarray, float]:
        ranks = ranks_of(numbers_of(records.columns[name]), records.counts)
        apart = ranks - np.average(ranks, weights=records.counts)
        weighted = apart * records.counts
        return apart, weighted, float(apart @ weighted)

    @cache
    def coded(name: str) -> np.ndarray:
        return codes_of(records.columns[name])

    def one(pair: Pair) -> float:
        names = pair.one, pair.other
        if not whole.issuperset(names):
            return association(records, pair)
        if pair.measure == CRAMER:
            return _cramer(coded(pair.one), coded(pair.other), records.counts)
        if pair.measure == ETA:
            numbers, codes = names if is_numeric(records.columns[pair.one]) else names[::-1]
            return _eta(numbers_of(records.columns[numbers]), coded(codes), records.counts)
        (apart, _, own), (_, weighted, other) = ranked(pair.one), ranked(pair.other)
        return float(apart @ weighted / (own * other) ** 0.5) if own * other > 0 else float("nan")

    return [one(pair) for pair in wanted]


def numbers_of(column: Any) -> np.ndarray:
    """A column's numbers; of truth values, also as words, 0 and 1."""
    return np.asarray(column, np.float64) if is_numeric(column) else (as_text(column) == "true").astype(np.float64)


def is_regressed(column: Any) -> bool:
    """Whether a column can be a regression's response: numbers, or truth values."""
    return is_numeric(column) or np.asarray(column).dtype.kind == "b"


def codes_of(column: Any) -> np.ndarray:
    """The place of each line's level among the levels that occur."""
    return np.unique(as_text(column), return_inverse=True)[1]


def ranks_of(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Mean rank of each line's rows among all rows."""
    _, place = np.unique(values, return_inverse=True)
    tied = np.bincount(place, counts)
    return (np.cumsum(tied) - (tied - 1) / 2)[place]


def _spearman(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> float:
    covariance = np.cov(ranks_of(x, counts), ranks_of(y, counts), fweights=counts)
    spread = covariance[0, 0] * covariance[1, 1]
    return float(covariance[0, 1] / spread**0.5) if spread > 0 else float("nan")


def _cramer(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> float:
    from scipy.stats.contingency import association as scipy_association

    table = np.zeros((x.max() + 1, y.max() + 1), np.int64)
    np.add.at(table, (x, y), counts)
    return float(scipy_association(table, method="cramer")) if min(table.shape) > 1 else float("nan")


def _eta(values: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> float:
    """Root of the share of the variance that lies between the categories."""
    totals = np.bincount(codes, counts)
    means = np.bincount(codes, counts * values) / totals
    mean = np.average(values, weights=counts)
    around = counts @ (values - mean) ** 2
    return float(np.sqrt(totals @ (means - mean) ** 2 / around)) if around > 0 and len(totals) > 1 else float("nan")


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression of one column on others: which kind, and for each table its coefficients and their variances.

    `robust` are variances that hold where the model's do not, by what each row's residual moves.
    """

    formula: str
    kind: str
    terms: tuple[str, ...]
    coefficients: np.ndarray = field(repr=False)  # (tables, terms), the confidential table first
    variances: np.ndarray = field(repr=False)
    robust: np.ndarray = field(repr=False)


def regress(formula: str, confidential: Records, tables: list[Records]) -> Regression:
    """The same regression on the confidential table and on each synthetic one.

    Logistic for a response of truth values or of 0 and 1, log-linear with a free dispersion (quasi-Poisson) for counts,
    least squares otherwise, as the confidential response decides; "negative binomial: y ~ x" and its like say which.
    Rows without a response take no part. Raises `InputError` where it cannot be fitted.
    """
    asked, parsed = _parse(formula)
    all_tables = [confidential, *tables]
    response = confidential.columns.get(parsed.response)
    if response is None or not is_regressed(response):
        raise InputError(f"the response of a regression must be a numeric column, found {parsed.response!r}")
    missing = [n for n in (parsed.response, *parsed.covariates) if any(n not in t.columns for t in all_tables)]
    if missing:
        raise InputError(f"a regression must use columns that are compared, found {missing[0]!r}")
    frames = _frames(parsed.covariates, only_coded(parsed.factors.values()), all_tables)
    # What terms learn (a mean to centre by) they learn from the confidential records, and all tables use it.
    spec, first = learn_terms(parsed, frames[0], confidential.counts)
    terms = tuple(spec.column_names)
    if len(terms) > MOST_TERMS:
        raise InputError(f"a regression must have at most {MOST_TERMS} terms, found {len(terms):,}")
    # One table's at a time: of a wide table each takes much memory.
    others = (np.asarray(compute_terms(spec, frame), np.float64) for frame in frames[1:])
    matrices = chain([first], others)
    kind = asked or _kind(numbers_of(response)[present(confidential, parsed.response)])
    fits = [fit_terms(kind, records, parsed.response, X) for records, X in zip(all_tables, matrices, strict=True)]
    return Regression(parsed.text, kind, terms, *(np.array(part) for part in zip(*fits, strict=True)))


LOGISTIC, LOG_LINEAR, LEAST_SQUARES = "logistic", "log-linear (quasi-Poisson)", "least squares"
NEGATIVE_BINOMIAL = "negative binomial"
KINDS = (LOGISTIC, LOG_LINEAR, LEAST_SQUARES, NEGATIVE_BINOMIAL)


def _parse(formula: str) -> tuple[str | None, Formula]:
    """The kind of regression that stands before a colon, if one does, and the formula."""
    word, colon, rest = formula.partition(": ")
    kind = word.strip() if colon and word.strip() in KINDS else None
    try:
        return kind, Formula.parse(rest if kind else formula)
    except InputError as error:
        raise InputError(f"a regression's {error}") from None


def _frames(names: Sequence[str], coded: Collection[str], all_tables: Sequence[Records]) -> list[Any]:
    """The covariates of each table; categories and codes have one order in all, those that every table has first.

    The first one is what the others are measured against, so it must be there in every table.
    """
    import pandas as pd

    frames: list[dict[str, Any]] = [{} for _ in all_tables]
    for name in names:
        columns: list[Any] = [plain(records.columns[name]) for records in all_tables]
        if name in coded or columns[0].dtype.kind != "f":
            if all(c.dtype.kind == "f" and (np.abs(c) < 2**31).all() and (c % 1 == 0).all() for c in columns):
                columns = [column.astype(np.int32) for column in columns]  # a term is C(g)[T.2], not C(g)[T.2.0]
            everywhere = set.intersection(*(set(column.tolist()) for column in columns))
            levels = sorted(
                set().union(*(set(column.tolist()) for column in columns)), key=lambda x: (x not in everywhere, x)
            )
            columns = [pd.Categorical(column, categories=levels) for column in columns]
        for frame, column in zip(frames, columns, strict=True):
            frame[name] = column
    sizes = [records.size for records in all_tables]
    return [pd.DataFrame(frame, index=range(size)) for frame, size in zip(frames, sizes, strict=True)]


def _kind(response: np.ndarray) -> str:
    if len(response) and (response == np.floor(response)).all() and (response >= 0).all():
        return LOGISTIC if response.max() <= 1 else LOG_LINEAR
    return LEAST_SQUARES


def fit_terms(kind: str, records: Records, response: str, X: np.ndarray) -> np.ndarray:
    """Coefficients of a design (distinct rows, terms), their variances and robust ones, (3, terms).

    NaN for those that a table does not determine. Rows without a response take no part.
    """
    there = present(records, response)
    return _fit(kind, numbers_of(records.columns[response])[there], X[there], records.counts[there])


def _fit(kind: str, y: np.ndarray, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
    import statsmodels.tools.sm_exceptions  # noqa: F401 # which sets filters of warnings as it is imported: before ours

    found = np.full((3, X.shape[1]), np.nan)
    if not len(y):
        return found
    if kind != LEAST_SQUARES and ((y < 0).any() or (kind == LOGISTIC and (y > 1).any())):
        return found  # no mean of such a model can be these values
    largest = np.abs(X).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    scaled = X / scale
    kept = determined(scaled, counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separation and the like: what comes of it shows in the variances
        try:
            fitted = _fitted(kind, y, scaled[:, kept], counts.astype(np.float64))
        except (ValueError, np.linalg.LinAlgError):
            return found
        robust = _robust(fitted, y, scaled[:, kept], counts)
    found[:, kept] = fitted.params, np.diag(fitted.cov_params()), robust
    return found / np.stack([scale, scale**2, scale**2])


def _robust(fitted: Any, y: np.ndarray, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The sandwich: inverse information around the sum of squared scores."""
    mean, family = fitted.mu, fitted.model.family
    score = X * ((y - mean) / (family.link.deriv(mean) * family.variance(mean)))[:, None]
    bread = fitted.cov_params() / fitted.scale
    return np.diag(bread @ (score.T @ (counts[:, None] * score)) @ bread)


def _fitted(kind: str, y: np.ndarray, X: np.ndarray, counts: np.ndarray) -> Any:
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    if kind == NEGATIVE_BINOMIAL:
        return _negative_binomial(y, X, counts)
    chosen = {LOGISTIC: families.Binomial, LEAST_SQUARES: families.Gaussian}.get(kind, families.Poisson)
    model = GLM(y, X, family=chosen(), freq_weights=counts)
    # Columns are independent and scaled, so QR is as exact as an SVD and takes a fraction of its time.
    return model.fit(scale=1.0 if kind == LOGISTIC else "X2", wls_method="qr")


# Dispersions 1 / phi that a negative binomial regression is searched over.
DISPERSIONS = (1e-4, 1e3)


def _negative_binomial(y: np.ndarray, X: np.ndarray, counts: np.ndarray) -> Any:
    """The fit at the most likely dispersion, found by a search of one number; coefficients do not depend on it much."""
    from scipy.optimize import minimize_scalar
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    def fitted(log_dispersion: float, start: np.ndarray | None = None) -> Any:
        family = families.NegativeBinomial(alpha=float(np.exp(log_dispersion)))
        return GLM(y, X, family=family, freq_weights=counts).fit(scale=1.0, start_params=start)

    start = fitted(0.0).params
    ends = tuple(np.log(DISPERSIONS))
    found = minimize_scalar(lambda a: -fitted(a, start).llf, bounds=ends, method="bounded", options={"xatol": 1e-4})
    return fitted(float(found.x), start)


def determined(X: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Which columns are no combination of those before them."""
    root = np.sqrt(counts)[:, None] * X
    lengths = np.linalg.norm(root, axis=0)
    triangle = np.linalg.qr(root / np.where(lengths > 0, lengths, 1.0), mode="r")
    pivots = np.zeros(X.shape[1])
    pivots[: len(triangle)] = np.abs(np.diag(triangle))
    return pivots > 1e-9
