"""How much wider than its curvature at the mode says a density is, below and above, along each axis."""

from __future__ import annotations

import jax.numpy as jnp

from alphasynth.inference.density import Data, log_density
from alphasynth.inference.mode import Mode
from alphasynth.models.model import Array, Model

# Steps along each axis of a proposal, in its standard deviations, at which the target is looked at for its spread on
# either side; and the narrowest and widest that this may be.
STEPS, NARROWEST, WIDEST = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0), 0.5, 20.0


def spreads(model: Model, data: Data, mode: Mode) -> tuple[Array, Array]:
    """How much wider than the curvature at the mode says the target is, below and above, along each axis (D,).

    A normal density that has fallen as far as the target has after a step is so much wider; the widest counts.
    """
    size, steps = len(mode.u), jnp.asarray(STEPS)
    signed = jnp.stack([-steps, steps])[:, :, None, None] * jnp.eye(size)  # (2, steps, D, D)
    at = log_density(model, mode.u + signed.reshape(-1, size) @ mode.factor.T, data).reshape(2, len(STEPS), size)
    fallen = log_density(model, mode.u[None], data)[0] - at
    wider = steps[:, None] / jnp.sqrt(2 * jnp.maximum(jnp.where(jnp.isnan(fallen), jnp.inf, fallen), 1e-3))
    below, above = jnp.clip(jnp.max(wider, axis=1), NARROWEST, WIDEST)
    return below, above
