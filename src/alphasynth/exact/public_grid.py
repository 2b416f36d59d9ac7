"""`PublicGrid`: exact draws from a strict pseudo posterior whose parameters live on a finite public grid.

Each record's contribution is rounded to a whole number of quanta before it is added, so that the sums are exact and a
record moves each of them by at most QUANTA quanta, which are epsilon (`quanta`). The draw itself is exact too
(`exponential`). Sums are counted where they decide; elsewhere bounds will do (`clipped_sums`, `binned_sums`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import numpy as np

from alphasynth.errors import InputError, found, require_positive
from alphasynth.exact import binned_sums, clipped_sums
from alphasynth.exact.axes import MOST_PARAMETERS, Axis, Default, default_of, points, points_at, size_of
from alphasynth.exact.clipped_sums import Bounds
from alphasynth.exact.quanta import QUANTA, Costs, cost_of_row, prepare, total_cost
from alphasynth.inference.contribution import Bounded, bare
from alphasynth.inference.density import Target
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.sampler import Draws
from alphasynth.models.coefficient_priors import NormalPrior, ScaleMixturePrior
from alphasynth.models.model import Array, Columns, Model, Prior
from alphasynth.models.priors import LinearPrior, OrdinalPrior
from alphasynth.privacy import exponential
from alphasynth.privacy.randomness import Key, Stream

__all__ = [
    "QUANTA",
    "Axis",
    "PublicGrid",
    "coordinate_names",
    "cost_of_row",
    "points",
    "prepare",
    "prior_weights",
    "total_cost",
]
# Points of an axis that has no default, unless a step is given.
MOST_OWN_POINTS = 801
# The prior on the grid, in whole numbers: that of its highest point.
PRIOR_SCALE = 1 << 40
# Evaluations of a row at a point that sums are counted by before anything is drawn, and tiles that are at once.
MOST_WORK, TILES_AT_ONCE = 200_000_000, 8
# Bounds of log weights closer than this are left to the draws; of the rest, so much of their mass may stay uncounted.
NEAR_ENOUGH, LEFT_OUT = 1.0, 0.05
# Of bounds that are this far apart a draw would accept next to nothing: they are counted however long it takes.
FAR_APART = 4.0


@dataclass(frozen=True)
class PublicGrid:
    """Draw exactly, with cryptographic randomness, from a strict pseudo posterior of one to three parameters.

    `limits` holds (low, high) by parameter and `step` the distance of points, one for all or by parameter; both are
    public and must be chosen without a look at the table. "mean" and "phi" are positive and their step is a ratio less
    1 (0.01: points 1 % apart); coefficients, "beta[0]" and so on, have steps of their own unit.

    >>> PublicGrid(limits={"mean": (1.0, 1_000.0), "phi": (1.0, 100.0)}, step=0.01).step
    0.01
    """

    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    step: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are not low < high and steps that are not positive."""
        if not isinstance(self.limits, Mapping):
            raise InputError(f"limits must give (low, high) by parameter, found {found(self.limits)}")
        for name, pair in self.limits.items():
            ordered = isinstance(pair, tuple | list) and len(pair) == 2 and _finite(*pair) and pair[0] < pair[1]
            if not ordered or (name in ("mean", "phi") and pair[0] <= 0):
                rule = "low < high, above 0" if name in ("mean", "phi") else "low < high"
                raise InputError(f"limits of {name} must be {rule}, found {found(str(pair))}")
        steps = self.step.values() if isinstance(self.step, Mapping) else () if self.step is None else (self.step,)
        for step in steps:
            require_positive("step", step)

    def axes(self, model: Model, columns: Columns) -> tuple[Axis, ...]:
        """The grid of a model's parameters; raise `InputError` for more than three, or limits of unknown ones."""
        names = coordinate_names(model, columns)
        if len(names) > MOST_PARAMETERS:
            raise InputError(f"a public grid takes models of one to three parameters, found {len(names)}")
        given = {*self.limits, *(self.step if isinstance(self.step, Mapping) else ())}
        strange = sorted(given - set(names))
        if strange:
            raise InputError(
                f"limits and step must be of the parameters {', '.join(names)}, found {', '.join(strange)}"
            )
        axes = tuple(self._axis(name, default_of(bare(model), name, len(names))) for name in names)
        if size_of(axes) > exponential.MOST_POINTS:
            raise InputError(
                f"a public grid must have at most {exponential.MOST_POINTS:,} points, found {size_of(axes):,}; narrow "
                "the limits or widen the step"
            )
        return axes

    def _axis(self, name: str, default: Default | None) -> Axis:
        if default is None and name not in self.limits:
            raise InputError(f"limits must be given for {name}, which has no public default, found none")
        low, high = self.limits[name] if default is None or name in self.limits else default[:2]
        logarithmic = default.logarithmic if default else False
        points = default.points if default else MOST_OWN_POINTS
        step = self.step.get(name) if isinstance(self.step, Mapping) else self.step
        if step is not None:
            span = math.log(high / low) if logarithmic else high - low
            width = math.log1p(step) if logarithmic else step
            points = max(math.ceil(span / width) + 1, 2)
        return Axis(name, float(low), float(high), points, logarithmic)

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """Draw `num_draws` grid points, independently and exactly; there is one attempt, whatever `least` is."""
        model, data = target.model, target.data
        assert isinstance(model, Bounded), "exact draws need a strict contribution"
        axes = self.axes(model, data.columns)
        counts = np.asarray(data.weight)[: int(data.size)]
        columns = {name: np.asarray(column)[: len(counts)] for name, column in data.columns.items()}
        stream, prior, quantum = Stream(key), prior_weights(model, axes), Fraction(model.epsilon) / QUANTA
        shared = prepare(model, axes, columns)
        given: Bounds | None = None
        if clipped_sums.can_bound(model, columns):
            centre = target.start if np.ndim(target.start) == 1 else None
            given = clipped_sums.bounds(model, axes, columns, counts, centre)
        elif binned_sums.can_bin(model, columns):
            given = binned_sums.bounds(model, axes, shared, columns, counts)
        if given is not None:
            counted = Counted(Costs(model, axes, shared), columns, counts)
            at = counted.refine(prior, given, float(quantum))
            chosen = exponential.draw_between(stream, prior, *at, counted.at, quantum, num_draws)
        else:
            chosen = exponential.draw(stream, prior, total_cost(model, axes, columns, counts), quantum, num_draws)
        diagnostics = Diagnostics(sampler="PublicGrid", num_draws=num_draws, ess_bulk=float(num_draws))
        return Draws.of(model, points_at(axes, chosen), diagnostics)


@dataclass(frozen=True, eq=False)
class Counted:
    """Whole-number sums of a table's rows (confidential), tile by tile of the grid, as they are asked for."""

    costs: Costs
    columns: Columns = field(repr=False)
    counts: np.ndarray = field(repr=False)
    known: dict[int, np.ndarray] = field(default_factory=dict, repr=False)

    def at(self, numbers: np.ndarray) -> np.ndarray:
        """Sums at points by their numbers, in quanta."""
        tiles, places = self.costs.tile_of(numbers)
        self._count(tiles)
        return np.array([self.known[tile][place] for tile, place in zip(tiles.tolist(), places, strict=True)])

    def _count(self, tiles: np.ndarray) -> None:
        new = np.setdiff1d(tiles, list(self.known))
        if len(new):
            found = self.costs.of_tiles(new, self.columns, self.counts)
            self.known.update(zip(new.tolist(), found, strict=True))

    def refine(self, prior: np.ndarray, given: Bounds, quantum: float) -> Bounds:
        """Bounds with sums in their place in the tiles that hold most of the weight, where bounds are far apart."""
        low, high = given
        if ((high - low) * quantum <= NEAR_ENOUGH).all():
            return given
        log_prior = np.log(prior.astype(np.float64))
        tile, _ = self.costs.tile_of(np.arange(len(low)))
        rows = max(int(np.count_nonzero(self.counts)), 1)
        left = max(MOST_WORK // (rows * self.costs.side ** len(self.costs.axes)), TILES_AT_ONCE)
        while True:
            log_weight = log_prior - (low - low.min()) * quantum
            weight = np.exp(log_weight - log_weight.max())
            apart = (high - low) * quantum
            open_weight = np.bincount(tile, weight * (apart > NEAR_ENOUGH), self.costs.tiles)
            if open_weight.sum() <= LEFT_OUT * weight.sum():
                break
            heaviest = np.argsort(open_weight)[::-1][:TILES_AT_ONCE]
            chosen = np.flatnonzero(np.isin(tile, heaviest[open_weight[heaviest] > 0]))
            if left <= 0 and apart[chosen].max() <= FAR_APART:
                break
            low[chosen] = high[chosen] = self.at(chosen)
            left -= len(heaviest)
        return Bounds(low, high)


def coordinate_names(model: Model, columns: Columns) -> list[str]:
    """What the sampler's coordinates are called: mean and phi of counts, coefficients, or u[0], u[1] of own models."""
    inner = model.model if isinstance(model, Bounded) else model
    names = getattr(inner, "coordinates", None)
    return names("X" in columns) if names else [f"u[{i}]" for i in range(model.prior.size)]


def prior_weights(model: Model, axes: tuple[Axis, ...]) -> np.ndarray:
    """The prior on the grid in whole numbers from 1 on (points,): public, so that its rounding costs nothing."""
    log_prior = _log_prior_on(model.prior, axes)
    return np.maximum(np.rint(PRIOR_SCALE * np.exp(log_prior - log_prior.max())), 1).astype(np.int64)


def _log_prior_on(prior: Prior, axes: tuple[Axis, ...]) -> np.ndarray:
    """Log prior at every point; where coordinates are independent, one axis after the other."""
    if not _is_independent(prior):
        return np.asarray(_log_prior(prior, points(axes)))
    total = np.zeros([axis.points for axis in axes])
    middle = np.array([axis.u[axis.points // 2] for axis in axes])
    for place, axis in enumerate(axes):
        u = np.tile(middle, (axis.points, 1))
        u[:, place] = axis.u
        shape = [axis.points if d == place else 1 for d in range(len(axes))]
        total = total + np.asarray(_log_prior(prior, u)).reshape(shape)
    return total.ravel()


def _is_independent(prior: Prior) -> bool:
    if not isinstance(prior, LinearPrior | OrdinalPrior):
        return False
    return isinstance(prior.coefficients, NormalPrior | ScaleMixturePrior)


@partial(jax.jit, static_argnames="prior")
def _log_prior(prior: Prior, u: Array) -> Array:
    return jax.vmap(prior.log_density)(u)


def _finite(*values: Any) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values)
