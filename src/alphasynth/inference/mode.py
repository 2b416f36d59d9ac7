"""Newton's method to the mode of a pseudo posterior under the smoothed prior, and the shape of the density there."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.inference.density import Data, derivatives, log_density, taking_part
from alphasynth.models.model import Array, Model

MOST_STEPS = 200
# Stop when a full step would change the log density by less than this: the proposal needs no better centre.
TOLERANCE = 1e-6
# Directions in which the density is not concave, or flatter than this share of its steepest one, are made so.
FLATTEST = 1e-10
# Of several modes: from how many starts of a scale they are looked for, how many are kept, from how many standard
# deviations on they count as two, and how much less of the logarithm of its mass one may hold.
MOST_CLIMBS, MOST_MODES, ALIKE, NEXT_TO_NOTHING = 4, 6, 2.0, 12.0


class Mode(NamedTuple):
    """Where a density peaks, u (D,), and the factor L (D, D) of its inverse negative Hessian L L'."""

    u: Array
    factor: Array


class _Climb(NamedTuple):
    u: Array
    value: Array
    gradient: Array
    hessian: Array
    damping: Array
    steps: Array
    gain: Array


@partial(jax.jit, static_argnames="model")
def find_mode(model: Model, start: Array, data: Data) -> Mode:
    """Climb from `start` by damped Newton steps; each step is taken only if it leads up."""
    data = taking_part(data)

    def climb(at: _Climb) -> _Climb:
        first = at.steps < 0  # nothing is known yet but where to begin
        factor = inverse_factor(at.hessian, at.damping)
        step = factor @ (factor.T @ at.gradient)
        u = jnp.where(first, at.u, at.u + step)
        value, gradient, hessian = derivatives(model, u, data)
        finite = jnp.isfinite(value) & jnp.isfinite(gradient).all() & jnp.isfinite(hessian).all()
        up = finite & (first | (value >= at.value))
        # After a step up trust the curvature more; after a refused one shorten the next.
        damping = jnp.where(up, jnp.where(at.damping < 1e-6, 0.0, at.damping * 0.1), jnp.maximum(at.damping * 10, 1e-3))
        u, value, gradient, hessian = jax.tree.map(
            lambda new, old: jnp.where(up, new, old), (u, value, gradient, hessian), at[:4]
        )
        gain = jnp.where(first, jnp.inf, 0.5 * at.gradient @ step)
        return _Climb(u, value, gradient, hessian, damping, at.steps + 1, gain)

    def unfinished(at: _Climb) -> Array:
        settled = (at.gain < TOLERANCE) & (at.damping < 1)
        stuck = at.damping > 1e12
        return (at.steps < MOST_STEPS) & ~settled & ~stuck

    # The derivatives stand in the loop alone: a second copy of them would take as long again to compile.
    unknown = jnp.full((len(start), len(start)), jnp.nan)
    begin = _Climb(
        start, unknown[0, 0], unknown[0], unknown, damping=jnp.array(0.0), steps=jnp.array(-1), gain=jnp.array(jnp.inf)
    )
    end = jax.lax.while_loop(unfinished, climb, begin)
    return Mode(end.u, inverse_factor(end.hessian, jnp.array(0.0)))


def scales(*groups: np.ndarray) -> np.ndarray:
    """Starts of several groups, each (starts, D) or (scales, starts, D), as (scales, starts, D).

    Shorter ones are filled up with their last start.

    >>> scales(np.zeros((1, 2)), np.ones((2, 3, 2))).shape
    (3, 3, 2)
    """
    whole = [group if group.ndim == 3 else group[None] for group in groups]
    longest = max(group.shape[1] for group in whole)
    filled = [np.pad(group, ((0, 0), (0, longest - group.shape[1]), (0, 0)), mode="edge") for group in whole]
    return np.concatenate(filled)


def find_modes(model: Model, starts: Array, data: Data) -> list[Mode]:
    """Modes that climbs from the most promising starts lead to, those alike told once, the highest first.

    Starts (scales, starts, D), or (starts, D) of one scale, lie side by side within a scale: those are promising at
    which the density is no lower than at their neighbours. Modes that hold next to nothing are left out.
    """
    whole = scales(np.asarray(starts))
    if whole.shape[:2] == (1, 1):
        return [find_mode(model, whole[0, 0], data)]
    chosen = [start for scale in whole for start in _promising(model, scale, data)]
    modes = [find_mode(model, start, data) for start in chosen]
    heights = np.asarray(_density(model, jnp.stack([mode.u for mode in modes]), data))
    widths = [np.log(np.diag(np.asarray(mode.factor))).sum() for mode in modes]
    masses = [height + width for height, width in zip(heights, widths, strict=True)]
    kept: list[Mode] = []
    for i in np.argsort([-mass for mass in masses], kind="stable"):
        apart = [np.linalg.solve(np.asarray(mode.factor), np.asarray(modes[i].u - mode.u)) for mode in kept]
        if masses[i] >= max(masses) - NEXT_TO_NOTHING and all(np.linalg.norm(z) > ALIKE for z in apart):
            kept.append(modes[i])
    return kept[:MOST_MODES]


def _promising(model: Model, starts: np.ndarray, data: Data) -> np.ndarray:
    """Starts (starts, D) of one scale at which the density is no lower than at their neighbours, the highest few."""
    values = np.asarray(_density(model, starts, data))
    values = np.where(np.isnan(values), -np.inf, values)
    around = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((values >= around[:-2]) & ((values > around[2:]) | np.isneginf(around[2:])))
    return starts[peaks[np.argsort(-values[peaks], kind="stable")][:MOST_CLIMBS]]


@partial(jax.jit, static_argnames="model")
def _density(model: Model, u: Array, data: Data) -> Array:
    return log_density(model, u, data)


def inverse_factor(hessian: Array, damping: Array) -> Array:
    """Lower factor L of the inverse L L' of the negative Hessian, made positive definite and damped.

    Coordinates are first scaled by their own curvature (Marquardt), so that units of covariates do not matter.
    """
    scale = 1 / jnp.sqrt(jnp.maximum(jnp.abs(jnp.diag(hessian)), 1e-12))
    values, vectors = jnp.linalg.eigh(-hessian * scale[:, None] * scale[None, :])
    values = jnp.abs(values)
    values = jnp.maximum(values, FLATTEST * jnp.max(values)) + damping
    # The lower triangular factor, not the eigenvectors', whose signs are arbitrary: common random numbers must stay so.
    return scale[:, None] * jnp.linalg.cholesky((vectors / values) @ vectors.T)
