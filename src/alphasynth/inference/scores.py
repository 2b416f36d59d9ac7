"""Scores: how a record's log-likelihood changes with the parameters, family by family, computed from its own row alone.

Parameters w are beta (predictors, terms), then what else a family has (a log dispersion, cut points). A record's score
is its residual times its terms for each predictor, then one entry for each further parameter. Everything here is
elementwise over whole blocks of one size: what a row's score is does not depend on where in the table it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import digamma

from alphasynth.errors import InputError
from alphasynth.inference.level_scores import BERNOULLI, categorical, ordinal
from alphasynth.inference.score_family import Family, Residuals, as_they_are, only_beta
from alphasynth.models.categories import Bernoulli, Categorical, Ordinal
from alphasynth.models.continuous import LARGEST_SHAPE, SMALLEST_SD, Gamma, Normal
from alphasynth.models.counts import NegativeBinomial, Poisson, count_columns
from alphasynth.models.model import Columns
from alphasynth.models.two_part import ZeroTruncated

# Predictors beyond this are far from any table that a model is for, and their exponentials would overflow.
FARTHEST = 40.0
# Log dispersions are kept within what their family can have, and of counts within what can be told apart.
LOG_PHI = (math.log(1e-3), math.log(1e5))
TINIEST = 1e-6  # part of an sd or a shape above its limit, where a draw lies at the limit


def _normal(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """z / sd, and z^2 - 1."""
    sd = math.exp(extra[0])
    z = (columns["y"] - eta[0]) / sd
    return [z / sd], [z * z - 1]


def _normal_coordinates(beta: np.ndarray, extra: np.ndarray) -> np.ndarray:
    """Beta, and the logarithm of what the sd has above its smallest."""
    above = max(math.exp(min(extra[0], 5.0)) - SMALLEST_SD, TINIEST)
    return np.append(beta[0], math.log(above))


# The mean of a scaled value is the predictor; the further parameter is log sd.
NORMAL = Family(1, 1, _normal, _normal_coordinates, as_they_are)


def _gamma(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """Shape times (y / mean - 1), and the derivative by log shape."""
    shape = math.exp(extra[0])
    ratio = columns["y"] * np.exp(-eta[0])
    by_shape = shape * (extra[0] + 1 - float(digamma(shape)) - eta[0] + columns["log_y"] - ratio)
    return [shape * (ratio - 1)], [by_shape]


def _gamma_coordinates(beta: np.ndarray, extra: np.ndarray) -> np.ndarray:
    """Beta, and minus the logarithm of what 1 / shape has above its smallest."""
    above = max(math.exp(min(-extra[0], 20.0)) - 1 / LARGEST_SHAPE, TINIEST)
    return np.append(beta[0], -math.log(above))


def _with_logarithms(y: np.ndarray) -> Columns:
    """Shares of the upper limit, and their logarithms."""
    return {"y": y, "log_y": np.log(y)}


# The log mean, as a share of the upper limit, is the predictor; the further parameter is log shape.
GAMMA = Family(1, 1, _gamma, _gamma_coordinates, _with_logarithms)


def _counts(y: np.ndarray) -> Columns:
    """Counts."""
    return count_columns(np.asarray(y, np.float64))


def _poisson(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """The count less its mean."""
    return [columns["y"] - np.exp(eta[0])], []


# The log mean is the predictor.
POISSON = Family(1, 0, _poisson, only_beta, _counts)


def _phi(extra: np.ndarray) -> float:
    """The dispersion of counts, within what can be told apart."""
    return math.exp(min(max(extra[0], LOG_PHI[0]), LOG_PHI[1]))


def _negative_binomial(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """(y - mu) / (1 + mu / phi), and the derivative by log phi."""
    phi = _phi(extra)
    y, mu = columns["y"], np.exp(eta[0])
    rising = digamma(y + phi) - float(digamma(phi))
    by_phi = phi * (rising - np.log1p(mu / phi) + (mu - y) / (phi + mu))
    return [(y - mu) / (1 + mu / phi)], [by_phi]


def _negative_binomial_coordinates(beta: np.ndarray, extra: np.ndarray) -> np.ndarray:
    """Beta and log phi."""
    return np.append(beta[0], min(max(extra[0], LOG_PHI[0]), LOG_PHI[1]))


# The log mean is the predictor; the further parameter is log phi.
NEGATIVE_BINOMIAL = Family(1, 1, _negative_binomial, _negative_binomial_coordinates, _counts)


def _truncated_poisson(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """With L = log p(0), those of all counts plus L' p(0) / (1 - p(0))."""
    (by_predictor,), _ = _poisson(columns, eta, extra)
    mu = np.exp(eta[0])
    return [by_predictor - mu / np.expm1(mu)], []


def _truncated_negative_binomial(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """As of `_truncated_poisson`, and likewise by log phi."""
    (by_predictor,), (more,) = _negative_binomial(columns, eta, extra)
    phi, mu = _phi(extra), np.exp(eta[0])
    rising = np.log1p(mu / phi)
    odds = 1 / np.expm1(phi * rising)
    by_eta, by_phi = -mu / (1 + mu / phi), phi * (mu / (phi + mu) - rising)
    return [by_predictor + by_eta * odds], [more + by_phi * odds]


# Counts given that they are above 0: derivatives less those of log(1 - p(0)).
TRUNCATED_POISSON = replace(POISSON, residuals=_truncated_poisson)
TRUNCATED_NEGATIVE_BINOMIAL = replace(NEGATIVE_BINOMIAL, residuals=_truncated_negative_binomial)


def family_of(model: Any) -> Family:
    """The scores of a model; raise `InputError` for one that has none."""
    if isinstance(model, ZeroTruncated):
        return TRUNCATED_POISSON if isinstance(model.inner, Poisson) else TRUNCATED_NEGATIVE_BINOMIAL
    if isinstance(model, Categorical):
        return categorical(model.levels)
    if isinstance(model, Ordinal):
        return ordinal(model.levels)
    if type(model) not in FAMILIES:
        raise InputError(
            "Scored must have a column of a built-in family (one in two parts as two columns), found another model"
        )
    return FAMILIES[type(model)]


# Families whose scores are the same for every model of the family.
FAMILIES: dict[type, Family] = {
    Bernoulli: BERNOULLI,
    Normal: NORMAL,
    Gamma: GAMMA,
    Poisson: POISSON,
    NegativeBinomial: NEGATIVE_BINOMIAL,
}


@dataclass(frozen=True)
class Parameters:
    """How parameters w (D,) are laid out: beta (predictors, terms), then further ones."""

    family: Family
    terms: int

    @property
    def size(self) -> int:
        """D."""
        return self.family.predictors * self.terms + self.family.extras

    def parts(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Beta and the further parameters."""
        split = self.family.predictors * self.terms
        return w[:split].reshape(self.family.predictors, self.terms), w[split:]

    def coordinates(self, w: np.ndarray) -> np.ndarray:
        """The sampler's coordinates of parameters (S, D)."""
        return np.stack([self.family.coordinates(*self.parts(one)) for one in w])

    def scores(self, w: np.ndarray, columns: Columns, X: np.ndarray) -> list[np.ndarray]:
        """Score by row, entry by entry; X (terms, rows). Elementwise, term after term: no sum depends on other rows."""
        beta, extra = self.parts(w)
        eta = []
        for coefficients in beta:
            total = np.zeros(X.shape[1])
            for value, term in zip(coefficients, X, strict=True):
                total = total + value * term
            eta.append(np.clip(total, -FARTHEST, FARTHEST))
        by_predictor, more = self.family.residuals(columns, eta, extra)
        return [term * residual for residual in by_predictor for term in X] + more
