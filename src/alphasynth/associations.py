"""Associations between pairs of columns, and regression coefficients, on distinct rows and counts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from alphasynth.errors import InputError
from alphasynth.formula import Formula
from alphasynth.records import Records
from alphasynth.values import as_text, is_numeric, plain

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
    """The pair's association; NaN where a column does not vary."""
    x, y, counts = records.columns[pair.one], records.columns[pair.other], records.counts
    if pair.measure == SPEARMAN:
        return _spearman(_numbers(x), _numbers(y), counts)
    if pair.measure == CRAMER:
        return _cramer(_codes(x), _codes(y), counts)
    numbers, codes = (x, y) if is_numeric(x) else (y, x)
    return _eta(_numbers(numbers), _codes(codes), counts)


def _numbers(column: Any) -> np.ndarray:
    return np.asarray(column, np.float64)


def _codes(column: Any) -> np.ndarray:
    return np.unique(as_text(column), return_inverse=True)[1]


def _ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Mean rank of each line's rows among all rows."""
    _, place = np.unique(values, return_inverse=True)
    tied = np.bincount(place, counts)
    return (np.cumsum(tied) - (tied - 1) / 2)[place]


def _spearman(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> float:
    covariance = np.cov(_ranks(x, counts), _ranks(y, counts), fweights=counts)
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
    """A regression of one column on others: which kind, and for each table its coefficients and their variances."""

    formula: str
    kind: str
    terms: tuple[str, ...]
    coefficients: np.ndarray = field(repr=False)  # (tables, terms), the confidential table first
    variances: np.ndarray = field(repr=False)


def regress(formula: str, confidential: Records, tables: list[Records]) -> Regression:
    """The same regression on the confidential table and on each synthetic one.

    Logistic for a response of two values 0 and 1, log-linear with a free dispersion (quasi-Poisson) for counts, least
    squares otherwise, as the confidential response decides. Raises `InputError` where it cannot be fitted.
    """
    import pandas as pd

    parsed = Formula.parse(formula)
    held = [confidential, *tables]
    response = confidential.columns.get(parsed.response)
    if response is None or not is_numeric(response):
        raise InputError(f"the response of a regression must be a numeric column, found {parsed.response!r}")
    names = [parsed.response, *parsed.covariates]
    missing = [name for name in names if any(name not in records.columns for records in held)]
    if missing:
        raise InputError(f"a regression must use columns that are compared, found {missing[0]!r}")
    frames = [pd.DataFrame({name: plain(records.columns[name]) for name in names}) for records in held]
    # One matrix for all: a category that a table lacks has a column all the same.
    X = _matrix(parsed, pd.concat(frames, ignore_index=True))
    kind = _kind(_numbers(response))
    ends = np.cumsum([0, *(records.size for records in held)])
    fits = [
        _fit(kind, frame[parsed.response].to_numpy(), X.iloc[first:last], records.counts)
        for frame, records, first, last in zip(frames, held, ends[:-1], ends[1:], strict=True)
    ]
    coefficients, variances = (np.array(part) for part in zip(*fits, strict=True))
    return Regression(parsed.text, kind, tuple(X.columns), coefficients, variances)


def _matrix(formula: Formula, rows: Any) -> Any:
    import formulaic

    try:
        return formula.terms.get_model_matrix(rows, context={}, output="pandas", na_action="ignore").astype(np.float64)
    except formulaic.errors.FormulaicError as error:
        reason = str(error).split("\n")[0].split(" [")[0].rstrip(".")  # what follows may quote a value
        raise InputError(f"the regression's terms cannot be computed: {reason}") from None


def _kind(response: np.ndarray) -> str:
    if (response == np.floor(response)).all() and (response >= 0).all():
        return "logistic" if response.max() <= 1 else "log-linear (quasi-Poisson)"
    return "least squares"


def _fit(kind: str, y: np.ndarray, X: Any, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and their variances; NaN for those that a table does not determine."""
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    chosen = {"logistic": families.Binomial, "least squares": families.Gaussian}.get(kind, families.Poisson)
    values = X.to_numpy()
    held = np.abs(values).max(axis=0) > 0
    coefficients, variances = np.full((2, len(held)), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separation and the like: what comes of it shows in the variances
        try:
            fitted = GLM(y, values[:, held], family=chosen(), freq_weights=counts.astype(np.float64)).fit(
                scale=1.0 if kind == "logistic" else "X2"
            )
        except (ValueError, np.linalg.LinAlgError):  # no mean of such a model can be these values
            return coefficients, variances
    coefficients[held], variances[held] = fitted.params, np.diag(fitted.cov_params())
    return coefficients, variances
