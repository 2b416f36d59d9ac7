"""`Grid`: independent draws from the density on a fine grid, for one or two parameters; the oracle of the samplers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from alphasynth.errors import InputError, require_whole
from alphasynth.inference.density import Data, Target, log_density
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.mode import find_modes
from alphasynth.inference.sampler import Draws
from alphasynth.models.model import Array, Model
from alphasynth.privacy.randomness import Key

# Points whose log density is this far below the largest hold no mass that a draw could find.
DEPTH = 40.0
MOST_RESIZINGS = 20


class Weighed(NamedTuple):
    """Points u (points^D, D), their probabilities, the mass at the rim, the spacing, and the log of the integral.

    `value` is the log density at the points.
    """

    u: np.ndarray
    probability: np.ndarray
    edge_mass: float
    spacing: float
    log_total: float
    value: np.ndarray


@dataclass(frozen=True)
class Grid:
    """Draw independently from the density on `points` per coordinate that span all but exp(-40) of its height.

    Spacing is a few hundredths of a posterior standard deviation, so means and standard deviations are exact to digits
    that no table shows.

    >>> Grid(points=501)
    Grid(points=501)
    """

    points: int = 301

    def __post_init__(self) -> None:
        """Refuse a grid too coarse to be an oracle."""
        require_whole("points", self.points, 51)

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """Draw `num_draws` grid points, independently; there is one attempt, whatever `least` is."""
        at = self.weigh(target)
        chosen = np.random.default_rng(key).choice(len(at.u), num_draws, p=at.probability)
        diagnostics = Diagnostics(
            sampler="Grid", num_draws=num_draws, ess_bulk=float(num_draws), edge_mass=at.edge_mass, spacing=at.spacing
        )
        return Draws.of(target.model, at.u[chosen], diagnostics)

    def weigh(self, target: Target) -> Weighed:
        """The density on the grid."""
        size = target.model.prior.size
        if size > 2:
            raise InputError(f"Grid takes models of one or two parameters, found {size}; use Laplace or Nuts")
        mode = find_modes(target.model, np.atleast_2d(target.start), target.data)[0]
        centre, factor = np.asarray(mode.u), np.asarray(mode.factor)
        low, high = np.full(size, -12.0), np.full(size, 12.0)
        for _ in range(MOST_RESIZINGS):
            z = self._lattice(low, high)
            value = np.asarray(scores(target.model, centre + z @ factor.T, target.data))
            value = np.where(np.isnan(value), -np.inf, value)
            wanted = self._span(z, value)
            if (
                (wanted[0] >= low).all()
                and (wanted[1] <= high).all()
                and (wanted[1] - wanted[0] > 0.5 * (high - low)).all()
            ):
                break
            low, high = wanted
        weight = np.exp(value - value.max())
        probability = weight / weight.sum()
        rim = ((z == z.min(axis=0)) | (z == z.max(axis=0))).any(axis=1)
        spread = np.sqrt(probability @ (z - probability @ z) ** 2)
        step = (z.max(axis=0) - z.min(axis=0)) / (self.points - 1)
        with np.errstate(divide="ignore"):
            spacing = float((step / spread).max())
        cell = float(np.log(step).sum() + np.linalg.slogdet(factor)[1])
        log_total = float(value.max() + np.log(weight.sum()) + cell)
        u, edge_mass = centre + z @ factor.T, float(probability[rim].sum())
        return Weighed(u, probability, edge_mass, spacing, log_total, value)

    def _span(self, z: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Box of the points within DEPTH of the highest, one step wider; twice as wide where they reach the rim."""
        low, high = z.min(axis=0), z.max(axis=0)
        step = (high - low) / (self.points - 1)
        inside = z[value > value.max() - DEPTH]
        first, last = inside.min(axis=0), inside.max(axis=0)
        return (
            np.where(first <= low, low - (high - low) / 2, first - step),
            np.where(last >= high, high + (high - low) / 2, last + step),
        )

    def _lattice(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        axes = [np.linspace(a, b, self.points) for a, b in zip(low, high, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


@partial(jax.jit, static_argnames="model")
def scores(model: Model, u: Array, data: Data) -> Array:
    """Log density up to a constant at points u (T, D)."""
    return log_density(model, u, data)
