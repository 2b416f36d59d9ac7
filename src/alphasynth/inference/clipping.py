"""`Clipped`: a model whose log-likelihood stays within limits of each record's own, which budget weights set."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from alphasynth.models.model import Array, Columns, Model, Theta, prior_inside, simulate_inside

LOW, HIGH = "low", "high"  # columns of the limits


@dataclass(frozen=True)
class Clipped:
    """A model whose log-likelihood is clipped to [low, high] of each line; what is not a number is at `low`."""

    model: Model
    prior, simulate = property(prior_inside), simulate_inside

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """f by row, within its limits."""
        low, high = columns[LOW], columns[HIGH]
        value = self.model.log_lik(theta, columns)
        inside = (value > low) & (value < high)
        # The inner `where` keeps derivatives finite where the value is not.
        return jnp.where(inside, jnp.where(inside, value, 0.0), jnp.where(value >= high, high, low))
