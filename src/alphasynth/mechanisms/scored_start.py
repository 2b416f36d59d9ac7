"""Where rounds of scores start: an exact private draw of a column by itself, and how far from it the truth may lie.

Numbers: one draw from the exact grid of the family without covariates. Categories: their counts with exact noise.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from alphasynth.exact.public_grid import QUANTA, PublicGrid, total_cost
from alphasynth.inference.contribution import Bounded, Censored
from alphasynth.inference.density import Target
from alphasynth.inference.scores import Parameters
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.mechanisms.scored import Scorable
from alphasynth.models.categories import Bernoulli, Categorical, Ordinal, logit
from alphasynth.models.coefficient_priors import ScaleMixturePrior
from alphasynth.models.continuous import Normal
from alphasynth.models.model import PEAK, Columns, Rows
from alphasynth.models.priors import LinearPrior
from alphasynth.models.two_part import ZeroTruncated
from alphasynth.privacy.noise import with_noise
from alphasynth.privacy.randomness import Key, Stream

CUT = 8.0
# Standard deviations, all public, of what is not known at a start: coefficients of standardised terms on a log or a
# logit scale (of a normal family, in its sd), log dispersions, cut points.
COEFFICIENT, DISPERSION, CUT_POINT = 1.0, 1.0, 0.7
MOST_DISPERSION = 2.0


class Start(NamedTuple):
    """Predictors without effects (predictors,), further parameters, and the standard deviations of both."""

    predictor: np.ndarray
    extra: np.ndarray
    predictor_sd: np.ndarray
    extra_sd: np.ndarray
    unit: float


class Sums(NamedTuple):
    """What a start takes from the records, as whole numbers (confidential), and how far one record moves each."""

    sums: np.ndarray
    reach: int


@in_64_bit
def start_sums(model: Any, records: Scorable, epsilon: float) -> Sums:
    """Counts of levels, or costs at every point of the public grid: for audits, which make no draw."""
    if isinstance(model, Bernoulli | Categorical | Ordinal):
        return Sums(_counts(model, records), 1)
    target = _alone(model, records, epsilon)
    assert isinstance(target.model, Bounded)
    axes = PublicGrid().axes(target.model, target.data.columns)
    size = int(target.data.size)
    columns = {name: column[:size] for name, column in target.data.columns.items()}
    return Sums(total_cost(target.model, axes, columns, np.asarray(target.data.weight)[:size]), QUANTA)


def start(key: Key, model: Any, records: Scorable, epsilon: float, n: float) -> Start:
    """A start that costs epsilon; `n` is the public number of records to speak of."""
    if isinstance(model, Bernoulli | Categorical | Ordinal):
        return _of_levels(key, model, records, epsilon)
    return _of_numbers(key, model, records, epsilon, n)


def _of_levels(key: Key, model: Any, records: Scorable, epsilon: float) -> Start:
    """Logits of noisy counts; one record moves one count by one."""
    noisy = with_noise(Stream(key), _counts(model, records), 1, epsilon).astype(np.float64)
    least = math.sqrt(2) / epsilon  # the noise's standard deviation: what is below it is not told apart
    raised = np.maximum(noisy, least)
    error = least / raised
    if isinstance(model, Ordinal):
        cuts = logit(np.cumsum(raised)[:-1] / raised.sum())
        nothing = np.zeros(1)
        return Start(nothing, cuts, nothing, np.hypot(CUT_POINT, np.maximum(error[1:], error[:-1])), COEFFICIENT)
    predictor = np.log(raised[1:] / raised[0])
    return Start(predictor, np.zeros(0), np.hypot(COEFFICIENT, np.hypot(error[1:], error[0])), np.zeros(0), COEFFICIENT)


def _counts(model: Any, records: Scorable) -> np.ndarray:
    levels = 2 if isinstance(model, Bernoulli) else model.levels
    return np.bincount(records.columns["y"].astype(np.int64), records.counts, minlength=levels).astype(np.int64)


def _alone(model: Any, records: Scorable, epsilon: float) -> Target:
    """The records under the same family without covariates, each bounded by epsilon."""
    prior = LinearPrior(ScaleMixturePrior(), 1, model.prior.dispersion)
    inner = replace(model.inner, prior=prior) if isinstance(model, ZeroTruncated) else None
    alone = replace(model, prior=prior) if inner is None else replace(model, inner=inner)
    rows, counts = _by_value(alone, records)
    weight = np.pad(counts.astype(np.float64), (0, len(rows.columns["y"]) - len(counts)))
    return Target.of(Censored(CUT).bounded(alone, epsilon), rows, weight)


@in_64_bit
def _of_numbers(key: Key, model: Any, records: Scorable, epsilon: float, n: float) -> Start:
    """One exact draw on the public grid of the same family without covariates."""
    theta = PublicGrid().draw(key, _alone(model, records, epsilon), 1).theta
    location = float(theta["beta"][0, 0])
    speaking = max(n * min(1.0, epsilon / CUT), 1e-3)  # records, each times what it is tempered by
    extra = np.array([math.log(float(theta[name][0])) for name in ("phi", "sd", "shape") if name in theta])
    unit = math.exp(extra[0]) if isinstance(model, Normal) else COEFFICIENT
    spread = np.full(len(extra), min(math.hypot(DISPERSION, 2 / math.sqrt(speaking)), MOST_DISPERSION))
    return Start(np.array([location]), extra, np.array([math.hypot(unit, 1.5 / math.sqrt(speaking))]), spread, unit)


def _by_value(model: Any, records: Scorable) -> tuple[Rows, np.ndarray]:
    """One line per distinct value of the records that take part, and their counts."""
    part = records.counts > 0
    if not part.any():  # then one line stands there, and counts for nothing
        part = np.arange(len(part)) == 0
    y, first, of = np.unique(records.columns["y"][part], return_index=True, return_inverse=True)
    columns: Columns = {name: column[part][first] for name, column in records.columns.items() if name != PEAK}
    rows = Rows.pad(columns, np.arange(len(y)), model.public_starts())
    return rows.for_strict(model.peak(columns)), np.bincount(of, records.counts[part]).astype(np.int64)


def placed(parameters: Parameters, began: Start, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters w (D,) at a start, and the public covariance (D, D) of what is not known about them.

    `X` (terms, M) are public or synthetic rows: slopes are unknown in proportion to their terms' spread.
    """
    family, terms = parameters.family, parameters.terms
    beta = np.zeros((family.predictors, terms))
    mean, sd = X.mean(axis=1), X.std(axis=1)
    constant = np.flatnonzero(sd <= 1e-12 * np.abs(mean))
    whole = [k for k in constant if mean[k] != 0][:1]  # the intercept
    width = np.where(sd > 1e-12 * np.abs(mean), sd, 1.0)
    transform = np.diag(1 / width)
    for k in whole:
        beta[:, k] = began.predictor / mean[k]
        transform[k] = -mean / (width * mean[k])
        transform[k, k] = 1 / mean[k]
    covariance = np.zeros((parameters.size, parameters.size))
    for place, intercept_sd in enumerate(began.predictor_sd):
        sds = np.full(terms, began.unit)
        sds[whole] = intercept_sd
        part = slice(place * terms, (place + 1) * terms)
        covariance[part, part] = transform @ np.diag(sds**2) @ transform.T
    split = family.predictors * terms
    covariance[split:, split:] = np.diag(began.extra_sd**2)
    return np.concatenate([beta.ravel(), began.extra]), covariance
