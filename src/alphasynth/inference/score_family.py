"""`Family`: what the scores of a family of models are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from alphasynth.models.model import Columns

# Derivatives by predictor and by further parameter, each by row.
Residuals = tuple[list[np.ndarray], list[np.ndarray]]


@dataclass(frozen=True)
class Family:
    """Scores of a family with so many linear `predictors`, and parameters beside the coefficients (`extras`).

    `residuals` takes columns, the predictors by row and the further parameters; `coordinates` takes beta (predictors,
    terms) and the further parameters, and gives the sampler's coordinates u (D,), brought within what the family
    allows; `read` gives what scores read of simulated values.
    """

    predictors: int
    extras: int
    residuals: Callable[[Columns, list[np.ndarray], np.ndarray], Residuals]
    coordinates: Callable[[np.ndarray, np.ndarray], np.ndarray]
    read: Callable[[np.ndarray], Columns]


def as_they_are(y: np.ndarray) -> Columns:
    """Simulated values without more: scaled values, or codes of levels."""
    return {"y": y}


def only_beta(beta: np.ndarray, extra: np.ndarray) -> np.ndarray:
    """Coordinates of a family without further parameters: beta, predictor by predictor."""
    return beta.ravel()
