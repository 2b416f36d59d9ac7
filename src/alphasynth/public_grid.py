"""`PublicGrid`: exact draws from a strict pseudo posterior whose parameters live on a finite public grid.

Each record's contribution is rounded to a whole number of quanta before it is added, so that the sums are exact and a
record moves each of them by at most QUANTA quanta, which are epsilon. The draw itself is exact too (`exponential`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth import exponential
from alphasynth.contribution import Bounded
from alphasynth.density import Target
from alphasynth.diagnostics import Diagnostics
from alphasynth.errors import InputError, found, require_positive
from alphasynth.model import Array, Columns, Model, Theta
from alphasynth.randomness import Stream
from alphasynth.sampler import Draws, Key

# Parts that epsilon is divided into; a record's contribution is a whole number of them.
QUANTA = 1 << 20
# The prior on the grid, in whole numbers: that of its highest point.
PRIOR_SCALE = 1 << 40


class Default(NamedTuple):
    """Public limits and number of points of an axis unless told; logarithmic axes have equal ratios between points."""

    low: float
    high: float
    points: int
    logarithmic: bool


# Documented and public: they depend on no table.
DEFAULTS = {
    "mean": Default(0.1, 1_000_000.0, 2_401, True),
    "phi": Default(0.1, 1_000.0, 401, True),
    "beta": Default(-10.0, 10.0, 801, False),
}


@dataclass(frozen=True)
class Axis:
    """One parameter's values on the grid: from low to high by equal steps, or equal ratios where it is positive."""

    name: str
    low: float
    high: float
    points: int
    logarithmic: bool

    @property
    def u(self) -> np.ndarray:
        """Values in the sampler's coordinates (points,)."""
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        return np.linspace(low, high, self.points)

    @property
    def step(self) -> float:
        """Distance between points in those coordinates: on a logarithmic axis, a ratio less 1."""
        return float(self.u[1] - self.u[0])

    def __str__(self) -> str:
        """In words that a reader of a release needs to make the grid again."""
        scale = "logarithmic" if self.logarithmic else "linear"
        return f"{self.name} from {self.low!r} to {self.high!r}, {self.points} points, {scale}"


@dataclass(frozen=True)
class PublicGrid:
    """Draw exactly, with cryptographic randomness, from a strict pseudo posterior of one or two parameters.

    `limits` holds (low, high) by parameter and `step` the distance of points, one for all or by parameter; both are
    public and must be chosen without a look at the table. "mean" and "phi" are positive and their step is a ratio less
    1 (0.01: points 1 % apart); coefficients, "beta[0]" and so on, have steps of their own unit.
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
        """The grid of a model's parameters; raise `InputError` for more than two, or limits of unknown ones."""
        names = coordinate_names(model, columns)
        if len(names) > 2:
            raise InputError(f"a public grid takes models of one or two parameters, found {len(names)}")
        given = {*self.limits, *(self.step if isinstance(self.step, Mapping) else ())}
        strange = sorted(given - set(names))
        if strange:
            raise InputError(
                f"limits and step must be of the parameters {', '.join(names)}, found {', '.join(strange)}"
            )
        axes = tuple(self._axis(name) for name in names)
        if math.prod(axis.points for axis in axes) > exponential.MOST_POINTS:
            raise InputError(
                f"a public grid must have at most {exponential.MOST_POINTS:,} points, found "
                f"{math.prod(axis.points for axis in axes):,}; narrow the limits or widen the step"
            )
        return axes

    def _axis(self, name: str) -> Axis:
        default = DEFAULTS.get(name.partition("[")[0])
        if default is None and name not in self.limits:
            raise InputError(f"limits must be given for {name}, which has no public default, found none")
        low, high = self.limits[name] if default is None or name in self.limits else default[:2]
        logarithmic = default.logarithmic if default else False
        points = default.points if default else DEFAULTS["beta"].points
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
        cost = total_cost(model, axes, data.columns, np.asarray(data.weight)[: int(data.size)])
        chosen = exponential.draw(
            Stream(key), prior_weights(model, axes), cost, Fraction(model.epsilon) / QUANTA, num_draws
        )
        diagnostics = Diagnostics(sampler="PublicGrid", num_draws=num_draws, ess_bulk=float(num_draws))
        return Draws.of(model, points(axes)[chosen], diagnostics)


def coordinate_names(model: Model, columns: Columns) -> list[str]:
    """What the sampler's coordinates are called: mean and phi of counts, coefficients, or u[0], u[1] of own models."""
    inner = model.model if isinstance(model, Bounded) else model
    names = getattr(inner, "coordinates", None)
    return names("X" in columns) if names else [f"u[{i}]" for i in range(model.prior.size)]


def points(axes: tuple[Axis, ...]) -> np.ndarray:
    """All points of the grid (points, D), the last axis running fastest."""
    return np.stack(np.meshgrid(*(axis.u for axis in axes), indexing="ij"), axis=-1).reshape(-1, len(axes))


def prior_weights(model: Model, axes: tuple[Axis, ...]) -> np.ndarray:
    """The prior on the grid in whole numbers from 1 on (points,): public, so that its rounding costs nothing."""
    log_prior = np.asarray(_log_prior(model, points(axes)))
    return np.maximum(np.rint(PRIOR_SCALE * np.exp(log_prior - log_prior.max())), 1).astype(np.int64)


@partial(jax.jit, static_argnames="model")
def _log_prior(model: Model, u: Array) -> Array:
    return jax.vmap(model.prior.log_density)(u)


def total_cost(model: Bounded, axes: tuple[Axis, ...], columns: Columns, counts: np.ndarray) -> np.ndarray:
    """Minus the sum of the records' contributions at every point, in quanta: whole numbers (points,).

    Rows pass one by one through the same compiled program: what a row adds cannot depend on its place in the table.
    """
    total = np.zeros(math.prod(axis.points for axis in axes), np.int64)
    prepared = prepare(model, axes, columns)
    for i in np.flatnonzero(counts):
        assert counts[i] == int(counts[i]), "a strict contribution takes no weights"
        total += int(counts[i]) * cost_of_row(
            model, axes, prepared, {name: c[i : i + 1] for name, c in columns.items()}
        )
    return total


# Between points this near in log mean and log phi a cubic spline follows a sum of powers to six digits.
SMOOTH_STEP = 0.05


def prepare(model: Bounded, axes: tuple[Axis, ...], columns: Columns) -> Theta:
    """What all rows share at every point, beside the parameters; empty where nothing is.

    Computed on a wider grid and interpolated: it is public and smooth.
    """
    if not hasattr(model.contribution, "prepare") or "X" in columns:
        return {}
    from scipy.interpolate import make_interp_spline

    wide = tuple(
        replace(axis, points=max(min(axis.points, math.ceil(np.ptp(axis.u) / SMOOTH_STEP) + 1), 4)) for axis in axes
    )
    shared = {}
    for name, values in _prepare(model, points(wide)).items():
        table = np.log(np.asarray(values)).reshape([axis.points for axis in wide])
        for place, (given, wanted) in enumerate(zip(wide, axes, strict=True)):
            table = make_interp_spline(given.u, table, axis=place)(wanted.u)
        shared[name] = np.exp(table).ravel()
    return shared


@partial(jax.jit, static_argnames="model")
def _prepare(model: Bounded, u: Array) -> Theta:
    contribution: Any = model.contribution
    return jax.vmap(lambda at: contribution.prepare(model.model, model.prior.constrain(at)))(u)


def cost_of_row(model: Bounded, axes: tuple[Axis, ...], prepared: Theta, row: Columns) -> np.ndarray:
    """Minus one row's contribution at every point (points,), in quanta from 0 to QUANTA."""
    shape = tuple(axis.points for axis in axes)
    shared = {name: np.asarray(value).reshape(shape) for name, value in prepared.items()}
    return np.asarray(_cost_of_row(model, tuple(axis.u for axis in axes), shared, row)).ravel()


@partial(jax.jit, static_argnames="model")
def _cost_of_row(model: Bounded, axes: tuple[Array, ...], shared: Theta, row: Columns) -> Array:
    def at(u: tuple[Array, ...], more: Theta) -> Array:
        theta = {**model.prior.constrain(jnp.stack(u)), **more}
        return jnp.reshape(model.log_lik(theta, row), ())

    # Axis by axis: what depends on one coordinate alone is computed once for all values of the other.
    def along(first: Array, more: Theta) -> Array:
        if len(axes) == 1:
            return at((first,), more)
        return jax.vmap(lambda second, most: at((first, second), most))(axes[1], more)

    value = jax.vmap(along)(axes[0], shared)
    return jnp.clip(jnp.rint(-value * (QUANTA / model.epsilon)), 0, QUANTA).astype(jnp.int64)


def _finite(*values: Any) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values)
