"""Models of continuous values within declared limits: normal, log-normal and gamma.

Values are read on a scale that the limits make (from -1 to 1, or as a share of the upper limit), so that priors suit
any unit; log-likelihoods are those of the values in their own unit. The limits bound the spread from below, too: a
density without a largest value would have no f*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from alphasynth.errors import InputError
from alphasynth.models.coefficient_priors import CoefficientPrior
from alphasynth.models.counts import spread
from alphasynth.models.model import Array, Columns, Theta, linear
from alphasynth.models.priors import LinearPrior, SdPrior, ShapePrior, linear_coordinates
from alphasynth.tables.declared import Declared

# Smallest sd on the scale from -1 to 1: a fortieth of the way from limit to limit.
SMALLEST_SD = 0.05
# Largest shape of a gamma distribution: its sd is at least a twentieth of its mean.
LARGEST_SHAPE = 400.0
HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2


@dataclass(frozen=True)
class Normal:
    """Values whose scaled mean is X beta; `logarithmic`, their logarithms (log-normal)."""

    prior: LinearPrior
    logarithmic: bool = False
    coordinates = linear_coordinates

    @classmethod
    def of(cls, name: str, declared: Declared, coefficients: CoefficientPrior, K: int) -> Normal:
        """The model of a column with limits."""
        _limits(name, declared)
        return cls(LinearPrior(coefficients, K, SdPrior(SMALLEST_SD)))

    def read(self, name: str, values: Any, declared: Declared, strict: bool) -> Columns:
        """Scaled values, and the logarithm of the density's change of unit."""
        y = _numbers(name, values, declared)
        centre, half = scale_of(name, declared, self.logarithmic)
        scaled = np.log(y) if self.logarithmic else y
        jacobian = -math.log(half) - (scaled if self.logarithmic else np.zeros(len(y)))
        return {"y": (scaled - centre) / half, "log_unit": jacobian}

    def decode(self, name: str, y: np.ndarray, declared: Declared) -> np.ndarray:
        """Values in their own unit."""
        centre, half = scale_of(name, declared, self.logarithmic)
        values = centre + half * y
        return np.exp(np.minimum(values, 700.0)) if self.logarithmic else values

    def public_starts(self) -> np.ndarray:
        """Where climbs begin that must know nothing of the table: means from limit to limit, at each of several sds."""
        return spread(self.prior, {math.log(sd): np.linspace(-1.0, 1.0, round(4 / sd) + 1) for sd in (0.1, 0.3, 1.0)})

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: least squares."""
        root = np.sqrt(counts)
        beta = np.linalg.lstsq(root[:, None] * X, root * columns["y"], rcond=None)[0]
        sd = math.sqrt(np.average((columns["y"] - X @ beta) ** 2, weights=counts))
        return self.prior.start(beta, math.log(max(sd - SMALLEST_SD, 1e-3)))

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log density by row, in the values' own unit."""
        return self.log_scaled(theta, columns) + columns["log_unit"]

    def log_scaled(self, theta: Theta, columns: Columns) -> Array:
        """Log density by row on the scale of the limits."""
        z = (columns["y"] - linear(theta["beta"], columns)) / theta["sd"]
        return -0.5 * z**2 - jnp.log(theta["sd"]) - HALF_LOG_TWO_PI

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, the largest log density: at the mean and the smallest sd."""
        return columns["log_unit"] + math.log(self.largest_density)

    @property
    def largest_density(self) -> float:
        """Largest density on the scale of the limits."""
        return math.exp(-HALF_LOG_TWO_PI) / SMALLEST_SD

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """Integral of the density's power, on the scale of the limits."""
        eta = linear(theta["beta"], columns)
        value = jnp.exp((1 - power) * (jnp.log(theta["sd"]) + HALF_LOG_TWO_PI)) / math.sqrt(power)
        return jnp.broadcast_to(value, jnp.shape(eta))

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Scaled values of new records."""
        return rng.normal(np.asarray(linear(np.asarray(theta["beta"]), columns)), float(theta["sd"]), rows)


@dataclass(frozen=True)
class Gamma:
    """Positive values with mean exp(X beta) times the upper limit, and sd mean / sqrt(shape)."""

    prior: LinearPrior
    coordinates = linear_coordinates

    @classmethod
    def of(cls, name: str, declared: Declared, coefficients: CoefficientPrior, K: int) -> Gamma:
        """The model of a column with limits."""
        _positive_limits(name, declared)
        return cls(LinearPrior(coefficients, K, ShapePrior(LARGEST_SHAPE)))

    def read(self, name: str, values: Any, declared: Declared, strict: bool) -> Columns:
        """Values as shares of the upper limit, their logarithms, and that of the change of unit."""
        y = _numbers(name, values, declared)
        if (y <= 0).any():
            raise InputError(f"column {name!r} must hold values above 0 for this family, found others")
        upper = _positive_limits(name, declared)[1]
        share = y / upper
        return {"y": share, "log_y": np.log(share), "log_unit": np.full(len(y), -math.log(upper))}

    def decode(self, name: str, y: np.ndarray, declared: Declared) -> np.ndarray:
        """Values in their own unit."""
        return y * _positive_limits(name, declared)[1]

    def public_starts(self) -> np.ndarray:
        """Where climbs begin that must know nothing of the table: means from the upper limit down, widely spread."""
        return spread(self.prior, {at: np.arange(-12.0, 0.5, 0.25) for at in (-1.5, 0.5, 2.5, 4.5)})

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: moments."""
        root = np.sqrt(counts)
        beta = np.linalg.lstsq(root[:, None] * X, root * columns["log_y"], rcond=None)[0]
        mean = np.average(columns["y"], weights=counts)
        share = np.average((columns["y"] - mean) ** 2, weights=counts) / mean**2
        return self.prior.start(beta, -math.log(min(max(share, 1e-3), 1e3)))

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log density by row, in the values' own unit."""
        return self.log_scaled(theta, columns) - columns["log_y"] + columns["log_unit"]

    def log_scaled(self, theta: Theta, columns: Columns) -> Array:
        """Log density by row of the values' logarithms: bounded, where that of the values is not."""
        eta, shape = linear(theta["beta"], columns), theta["shape"]
        kernel = shape * (jnp.log(shape) - eta + columns["log_y"]) - shape * columns["y"] * jnp.exp(-eta)
        return kernel - gammaln(shape)

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, the largest log density: at the mean and the largest shape."""
        return math.log(self.largest_density) - columns["log_y"] + columns["log_unit"]

    @property
    def largest_density(self) -> float:
        """Largest density of the values' logarithms."""
        return math.exp(LARGEST_SHAPE * (math.log(LARGEST_SHAPE) - 1) - math.lgamma(LARGEST_SHAPE))

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """Integral of the power of the density of the values' logarithms."""
        eta, shape = linear(theta["beta"], columns), theta["shape"]
        value = gammaln(power * shape) - power * gammaln(shape) - power * shape * math.log(power)
        return jnp.broadcast_to(jnp.exp(value), jnp.shape(eta))

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Values of new records, as shares of the upper limit."""
        eta, shape = np.asarray(linear(np.asarray(theta["beta"]), columns)), float(theta["shape"])
        mean = np.exp(np.clip(eta, -700, 700))
        return np.maximum(rng.gamma(shape, np.broadcast_to(mean / shape, rows)), np.finfo(float).tiny)


def log_normal(name: str, declared: Declared, coefficients: CoefficientPrior, K: int) -> Normal:
    """The log-normal model of a column with positive limits."""
    _positive_limits(name, declared)
    return Normal(LinearPrior(coefficients, K, SdPrior(SMALLEST_SD)), logarithmic=True)


def _limits(name: str, declared: Declared) -> tuple[float, float]:
    if declared.limits is None:
        raise InputError(
            f"column {name!r} must have limits declared public for a continuous family, found none (limits in "
            f"model.toml, or --range {name}=LOW:HIGH)"
        )
    return declared.limits


def _positive_limits(name: str, declared: Declared) -> tuple[float, float]:
    low, high = _limits(name, declared)
    if low <= 0:
        raise InputError(f"the lower limit of {name!r} must be above 0 for this family, found {low:g}")
    return low, high


def scale_of(name: str, declared: Declared, logarithmic: bool) -> tuple[float, float]:
    """Centre and half the width of the limits, or of their logarithms."""
    low, high = _limits(name, declared)
    if logarithmic:
        low, high = math.log(low), math.log(high)
    return (low + high) / 2, (high - low) / 2


def _numbers(name: str, values: Any, declared: Declared) -> np.ndarray:
    """Numbers within the limits; raise `InputError`."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        raise InputError(f"column {name!r} must hold numbers, found a column that is not numeric")
    y = values.astype(np.float64)
    if declared.outside(y).any():
        raise InputError(f"column {name!r} must lie within its declared limits, found values beyond")
    if declared.whole and (y != np.floor(y)).any():
        raise InputError(f"column {name!r} must hold whole numbers, as was declared, found fractions")
    return y
