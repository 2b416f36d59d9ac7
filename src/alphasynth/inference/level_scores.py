"""Scores of families whose values are levels."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from alphasynth.inference.score_family import Family, Residuals, as_they_are, only_beta
from alphasynth.models.model import Columns

SMALLEST_GAP = 1e-3  # between cut points
STEEPEST = 1 / -math.expm1(-SMALLEST_GAP)  # s'(a) / (s(a) - s(b)) of the logistic function, at that gap at most


def _bernoulli(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """Whether it is the second level, less its probability."""
    return [columns["y"] - expit(eta[0])], []


# The logit of the second level's probability is the predictor.
BERNOULLI = Family(1, 0, _bernoulli, only_beta, as_they_are)


def categorical(levels: int) -> Family:
    """Logits against the first level: a predictor for each of the others."""
    return Family(levels - 1, 0, _categorical, only_beta, as_they_are)


def _categorical(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """Whether it is the level, less the level's probability."""
    grown = [np.exp(each) for each in eta]
    total = np.ones_like(grown[0])
    for each in grown:
        total = total + each
    return [(columns["y"] == level + 1) - each / total for level, each in enumerate(grown)], []


def ordinal(levels: int) -> Family:
    """The logit of P(level <= j) is cut[j], a further parameter, less the predictor, which has no intercept."""
    return Family(1, levels - 1, _ordinal, _ordinal_coordinates, as_they_are)


def _ordinal(columns: Columns, eta: list[np.ndarray], extra: np.ndarray) -> Residuals:
    """Of the logistic function s, (s(b) + s(a) - 1) by predictor; by cut point, what it adds to the two levels."""
    code = columns["y"].astype(np.int64)
    ends = np.concatenate([[-np.inf], in_order(extra), [np.inf]])
    below, above = expit(ends[code] - eta[0]), expit(ends[code + 1] - eta[0])
    inside = np.maximum(above - below, 1e-300)
    upper = np.minimum(above * (1 - above) / inside, STEEPEST)
    lower = np.minimum(below * (1 - below) / inside, STEEPEST)
    cuts = [np.where(code == j, upper, 0.0) - np.where(code == j + 1, lower, 0.0) for j in range(len(extra))]
    return [above + below - 1], cuts


def _ordinal_coordinates(beta: np.ndarray, extra: np.ndarray) -> np.ndarray:
    """First cut point, logarithms of the gaps, beta; cut points that crossed are put in order."""
    cuts = in_order(extra)
    return np.concatenate([cuts[:1], np.log(np.diff(cuts)), beta[0]])


def in_order(cuts: np.ndarray) -> np.ndarray:
    """Cut points that rise by at least SMALLEST_GAP; those that do so already are as they were.

    >>> in_order(np.array([0.0, 2.0, 1.0])).tolist()
    [0.0, 1.0, 2.0]
    """
    if (np.diff(cuts) >= SMALLEST_GAP).all():
        return cuts
    rising = np.sort(cuts)
    return rising[0] + np.concatenate([[0.0], np.cumsum(np.maximum(np.diff(rising), SMALLEST_GAP))])
