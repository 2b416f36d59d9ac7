"""Axes of public grids: the values of each parameter, and documented defaults that depend on no table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from alphasynth.models.categories import Bernoulli, Categorical, Ordinal
from alphasynth.models.continuous import Gamma, Normal
from alphasynth.models.counts import Poisson
from alphasynth.models.model import Model
from alphasynth.models.two_part import ZeroTruncated


class Default(NamedTuple):
    """Public limits and number of points of an axis unless told; logarithmic axes have equal ratios between points."""

    low: float
    high: float
    points: int
    logarithmic: bool = False


# Documented and public: they depend on no table. Of a parameter's name what stands before a bracket counts.
DEFAULTS = {
    "mean": Default(0.1, 1_000_000.0, 2_401, True),
    "phi": Default(0.1, 1_000.0, 401, True),
    "beta": Default(-10.0, 10.0, 801),
}
# Families whose parameters mean something else, that have one alone and more points of it, or three and fewer.
BY_FAMILY: dict[tuple[type, int], dict[str, Default]] = {
    (Poisson, 1): {"mean": Default(0.1, 1_000_000.0, 96_001, True)},
    (Bernoulli, 1): {"beta": Default(-10.0, 10.0, 20_001)},
    # On the scale of the declared limits, -1 to 1; log_sd is the logarithm of what the sd is above its smallest.
    (Normal, 2): {"beta": Default(-1.1, 1.1, 2_201), "log_sd": Default(-6.0, 1.0, 1_001)},
    # The logarithm of the mean as a share of the upper limit; log_shape rises to the largest shape.
    (Gamma, 2): {"beta": Default(-12.0, 0.5, 2_501), "log_shape": Default(-3.0, 9.0, 801)},
    # The first cut point, and the logarithms of the gaps between cut points.
    (Ordinal, 2): {"cut[0]": Default(-10.0, 10.0, 801), "cut[1]": Default(-6.0, 3.0, 601)},
    (Categorical, 3): {"beta": Default(-8.0, 8.0, 161)},
    (Ordinal, 3): {"cut[0]": Default(-8.0, 8.0, 161), "cut": Default(-5.0, 3.0, 161)},
}
# At these ends of their axes the families themselves end: nothing lies beyond.
NATURAL_ENDS = {"log_sd": "low", "log_shape": "high"}
MOST_PARAMETERS = 3


def default_of(model: Model, name: str, parameters: int) -> Default | None:
    """The public default of a parameter's axis in a model of so many; None where it has none."""
    inner = model.inner if isinstance(model, ZeroTruncated) else model
    own, stem = BY_FAMILY.get((type(inner), parameters), {}), name.partition("[")[0]
    return own.get(name) or own.get(stem) or (DEFAULTS.get(stem) if parameters <= 2 else None)


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


def size_of(axes: tuple[Axis, ...]) -> int:
    """Number of points of the grid."""
    return math.prod(axis.points for axis in axes)


def points(axes: tuple[Axis, ...]) -> np.ndarray:
    """All points of the grid (points, D), the last axis running fastest."""
    return np.stack(np.meshgrid(*(axis.u for axis in axes), indexing="ij"), axis=-1).reshape(-1, len(axes))


def points_at(axes: tuple[Axis, ...], numbers: np.ndarray) -> np.ndarray:
    """Some points of the grid (len(numbers), D)."""
    places = np.unravel_index(numbers, [axis.points for axis in axes])
    return np.stack([axis.u[place] for axis, place in zip(axes, places, strict=True)], axis=-1)
