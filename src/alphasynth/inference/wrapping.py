"""Models around another one: records without a value add nothing, or log-likelihoods stay within limits."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from alphasynth.models.model import (
    TAKES_PART,
    Array,
    ColumnFamily,
    Columns,
    Model,
    Theta,
    prior_inside,
    simulate_inside,
)

LOW, HIGH = "low", "high"  # columns of the limits


@dataclass(frozen=True)
class Clipped:
    """A model whose log-likelihood is clipped to [low, high] of each line, as budget weights set them; NaN is `low`."""

    model: Model
    prior, simulate = property(prior_inside), simulate_inside

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """f by row, within its limits."""
        low, high = columns[LOW], columns[HIGH]
        value = self.model.log_lik(theta, columns)
        inside = (value > low) & (value < high)
        # The inner `where` keeps derivatives finite where the value is not.
        return jnp.where(inside, jnp.where(inside, value, 0.0), jnp.where(value >= high, high, low))


@dataclass(frozen=True)
class PartlyHeld:
    """A model of a column that not all records hold: those without a value add nothing, whatever the parameters are."""

    model: ColumnFamily
    prior, simulate = property(prior_inside), simulate_inside

    def coordinates(self, covariates: bool) -> list[str]:
        """The model's own."""
        return self.model.coordinates(covariates)

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """f by row; 0 where there is no value."""
        return jnp.where(columns[TAKES_PART] > 0, self.model.log_lik(theta, columns), 0.0)
