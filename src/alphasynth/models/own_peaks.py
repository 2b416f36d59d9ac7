"""How large a record's log-likelihood can be under a model of the user's own: climbed to, from the record alone."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.errors import InputError
from alphasynth.models.model import Array, Columns, Prior, Theta

# Points tried, about the origin of the coordinates, for one where the log-likelihood is finite.
STARTS, START_SPREAD = 64, 2.0
CLIMB = 100  # steps to a row's own largest log-likelihood
BOUNDED_RISE = 1.0  # what three times as many steps may add
UNBOUNDED = (
    "{who} a model whose log-likelihood is bounded: give its scale a smallest value (an sd that is some constant plus "
    "a parameter, say), found one that rises without end"
)


class Climbed(Protocol):
    """What a climb needs of a model; hashable."""

    @property
    def prior(self) -> Prior:
        """Coordinates without limits."""
        ...

    @property
    def K(self) -> int:
        """Columns of the design matrix."""
        ...

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """f by row."""
        ...


@partial(jax.jit, static_argnames=("model", "steps"))
def climb(model: Climbed, row: Columns, steps: int = CLIMB) -> Array:
    """Largest log-likelihood of one row: from the best of fixed points up by Newton's method, damped; finite or -inf.

    A row by itself, so that what comes out cannot depend on another. It need not be the supremum: any function of the
    own row will do, and one that is too low only spares the row less.
    """

    def log_lik(u: Array) -> Array:
        value = jnp.sum(model.log_lik(model.prior.constrain(u), row))
        return jnp.where(jnp.isnan(value) | (value == jnp.inf), -jnp.inf, value)

    points = jnp.asarray(starts(model.prior.size))
    values = jax.vmap(log_lik)(points)
    best = points[jnp.argmax(values)]

    def step(_: int, at: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        u, value, damping = at
        gradient, hessian = jax.grad(log_lik)(u), jax.hessian(log_lik)(u)
        curvature, axes = jnp.linalg.eigh(-jnp.where(jnp.isfinite(hessian), hessian, 0.0))
        move = axes @ ((axes.T @ gradient) / (jnp.abs(curvature) + damping))
        candidate = u + move / jnp.maximum(1.0, jnp.linalg.norm(move))  # at most one unit: a climb may have no top
        reached = log_lik(candidate)
        up = reached > value
        return (
            jnp.where(up, candidate, u),
            jnp.where(up, reached, value),
            jnp.where(up, damping / 10, jnp.minimum(damping * 10, 1e12)),
        )

    return jax.lax.fori_loop(0, steps, step, (best, values.max(), jnp.array(1e-3)))[1]


def check_bounded(model: Climbed, who: str) -> None:
    """Refuse models whose log-likelihood has no upper bound: centred there, every record would be cut everywhere.

    Tried on two values that have nothing to do with a table, 0 and 1: does the climb go on where it should have ended?
    """
    for value in (0.0, 1.0):
        row = {"y": jnp.full(1, value), "X": jnp.ones((1, model.K))}
        near, far = (float(climb(model, row, steps)) for steps in (CLIMB, 4 * CLIMB))
        if far - near > BOUNDED_RISE:
            raise InputError(UNBOUNDED.format(who=who))


def starts(size: int) -> np.ndarray:
    """Fixed points about the origin of the coordinates."""
    rng = np.random.default_rng(0)
    return np.concatenate([np.zeros((1, size)), START_SPREAD * rng.standard_normal((STARTS, size))])
