"""The built-in count models: Poisson and negative binomial (mean mu, dispersion phi) with log mu = X beta."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from alphasynth.errors import InputError
from alphasynth.models.coefficient_priors import CoefficientPrior
from alphasynth.models.count_functions import count_peak, count_power_sum, gammaln_of, log_positive, log_rising
from alphasynth.models.model import Array, Columns, Theta, linear
from alphasynth.models.priors import HalfCauchyPrior, LinearPrior
from alphasynth.tables.declared import Declared

# A larger count is an error or wants a coarser unit: its log-likelihood is a difference of terms of 1e9 and more.
LARGEST_COUNT = 100_000_000
# What to do with a column that holds no counts.
OTHERWISE = " (alphasynth inspect TABLE --suggest columns.toml declares any column, for Raked)"
# NumPy's Poisson generator refuses larger means; only draws from an all but empty posterior come near.
LARGEST_RATE = 1e18


@dataclass(frozen=True)
class Counts:
    """What the models of counts share."""

    prior: LinearPrior

    @classmethod
    def with_coefficients(cls, coefficients: CoefficientPrior, K: int) -> Self:
        """The model with K coefficients of the given prior."""
        return cls(LinearPrior(coefficients, K))

    @classmethod
    def of(cls, name: str, declared: Declared, coefficients: CoefficientPrior, K: int) -> Self:
        """The model of a column; nothing need be declared of it."""
        return cls.with_coefficients(coefficients, K)

    def read(self, name: str, values: Any, declared: Declared, strict: bool) -> Columns:
        """What the model reads of the response; raise `InputError` for what is no count."""
        return count_columns(check_counts(name, values, zeros=strict))

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: rough moments."""
        return self.prior.start(*_moments(columns["y"], X, counts))

    def public_starts(self) -> np.ndarray:
        """Where climbs begin that must know nothing of the table (scales, starts, D): log means, no effects.

        They lie side by side at each of several dispersions, the closer the less a count scatters about its mean.
        """
        scales = {0.0: 0.05} if self.prior.dispersion is None else {-1.5: 0.5, 0.5: 0.5, 2.5: 0.25, 5.0: 0.25}
        return spread(self.prior, {log_phi: np.arange(-3.0, 18.0, step) for log_phi, step in scales.items()})

    def coordinates(self, covariates: bool) -> list[str]:
        """Names of the sampler's coordinates: the mean or the coefficients, what else their prior samples, and phi."""
        names = self.prior.coordinate_names
        return names if covariates else ["mean", *names[self.prior.K :]]

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, the largest log-likelihood of each row's count: that at mu = y, in the Poisson limit."""
        return count_peak(columns["y"])


@dataclass(frozen=True)
class Poisson(Counts):
    """Counts with variance mu."""

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | mu) by row."""
        eta = linear(theta["beta"], columns)
        return columns["y"] * eta - jnp.exp(eta) - columns["log_factorial"]

    def power_sum(self, theta: Theta, columns: Columns, power: float, above_zero: bool = False) -> Array:
        """Sum over all counts of p^power; `above_zero`, of counts given that they are."""
        eta = linear(theta["beta"], columns)
        less = log_positive(self.log_zero(theta, columns)) if above_zero else 0.0
        sd = jnp.exp(eta / 2)
        return count_power_sum(
            lambda y: y * eta - jnp.exp(eta) - gammaln_of(y) - less, jnp.exp(eta), sd, power, int(above_zero)
        )

    def log_zero(self, theta: Theta, columns: Columns) -> Array:
        """Log p(0 | mu) by row."""
        return -jnp.exp(linear(theta["beta"], columns))

    def simulate_positive(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Counts of new records given that they are above 0: the time of the first event, then the others."""
        mean = np.minimum(np.exp(linear(theta["beta"], columns)), LARGEST_RATE)
        first = -np.log1p(rng.random(rows) * np.expm1(-mean))
        return 1 + rng.poisson(np.maximum(mean - first, 0.0))

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Counts of new records."""
        return rng.poisson(np.minimum(np.exp(linear(theta["beta"], columns)), LARGEST_RATE), rows)


@dataclass(frozen=True)
class NegativeBinomial(Counts):
    """Counts with variance mu + mu^2 / phi."""

    @classmethod
    def with_coefficients(cls, coefficients: CoefficientPrior, K: int) -> Self:
        """The model with K coefficients of the given prior, and the paper's prior of phi."""
        return cls(LinearPrior(coefficients, K, HalfCauchyPrior()))

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | mu, phi) by row; right to rounding for any phi, the Poisson limit included."""
        return _log_negative_binomial(
            linear(theta["beta"], columns), theta["phi"], columns["y"], columns["log_factorial"]
        )

    def power_sum(self, theta: Theta, columns: Columns, power: float, above_zero: bool = False) -> Array:
        """Sum over all counts of p^power; `above_zero`, of counts given that they are."""
        eta, phi = linear(theta["beta"], columns), theta["phi"]
        mean = jnp.exp(eta)
        sd = jnp.sqrt(mean + mean**2 / phi)
        less = log_positive(self.log_zero(theta, columns)) if above_zero else 0.0
        return count_power_sum(
            lambda y: _log_negative_binomial(eta, phi, y, gammaln_of(y)) - less, mean, sd, power, int(above_zero)
        )

    def log_zero(self, theta: Theta, columns: Columns) -> Array:
        """Log p(0 | mu, phi) by row."""
        eta, phi = linear(theta["beta"], columns), theta["phi"]
        return -phi * jnp.logaddexp(0.0, eta - jnp.log(phi))

    def simulate_positive(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Counts of new records given that they are above 0.

        Where most are, drawn again until they are. Else as a sum of logarithmic counts, of which there is a Poisson
        number: that is above 0 by the time of its first event.
        """
        mean = np.broadcast_to(np.minimum(np.exp(np.asarray(linear(theta["beta"], columns))), LARGEST_RATE), rows)
        phi = float(theta["phi"])
        rate = phi * np.log1p(mean / phi)  # -log p(0)
        counts = np.zeros(rows, np.int64)
        while (again := np.flatnonzero((rate > math.log(2)) & (counts == 0))).size:
            counts[again] = rng.poisson(np.minimum(rng.gamma(phi, mean[again] / phi), LARGEST_RATE))
        rare = np.flatnonzero(rate <= math.log(2))
        first_event = -np.log1p(rng.random(rare.size) * np.expm1(-rate[rare]))
        left = 1 + rng.poisson(np.maximum(rate[rare] - first_event, 0.0))
        share = np.clip(mean[rare] / (mean[rare] + phi), 1e-300, 1 - 1e-15)
        while (some := np.flatnonzero(left > 0)).size:
            counts[rare[some]] += rng.logseries(share[some])
            left[some] -= 1
        return counts

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Counts of new records: Poisson with gamma-distributed means."""
        mean = np.minimum(np.exp(linear(theta["beta"], columns)), LARGEST_RATE)
        phi = float(theta["phi"])
        return rng.poisson(np.minimum(rng.gamma(phi, mean / phi, rows), LARGEST_RATE))


def _log_negative_binomial(eta: Array, phi: Array, y: Array, log_factorial: Array) -> Array:
    log_odds = eta - jnp.log(phi)
    log_total = jnp.logaddexp(0.0, log_odds)  # log((mu + phi) / phi)
    return log_rising(phi, y) - log_factorial - phi * log_total + y * (log_odds - log_total)


def spread(prior: LinearPrior, scales: Mapping[float, np.ndarray]) -> np.ndarray:
    """Starts (scales, starts, D): predictors without effects, side by side, for each dispersion's coordinate.

    Shorter rows of starts are filled up with their last one.
    """
    longest = max(len(places) for places in scales.values())
    rows = [
        [prior.start(first(prior.K, place), at) for place in np.pad(places, (0, longest - len(places)), mode="edge")]
        for at, places in scales.items()
    ]
    return np.array(rows)


def first(K: int, value: float) -> np.ndarray:
    """K coefficients, all 0 but the first."""
    return np.concatenate([[value], np.zeros(K - 1)])


def count_columns(y: np.ndarray) -> dict[str, np.ndarray]:
    """What a count model reads of counts."""
    return {"y": y, "log_factorial": gammaln(y + 1)}


def check_counts(name: str, values: np.ndarray, zeros: bool = False) -> np.ndarray:
    """Counts in float64; raise `InputError` unless they are whole numbers from 0 to LARGEST_COUNT.

    Unless `zeros` allows it they must not all be 0, where a posterior would lean on its prior alone.
    """
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        raise InputError(f"column {name!r} must hold counts, found a column that is not numeric{OTHERWISE}")
    y = values.astype(np.float64)
    if (y < 0).any():
        raise InputError(f"column {name!r} must hold counts of at least 0, found negative values")
    if (y != np.floor(y)).any():
        raise InputError(f"column {name!r} must hold whole numbers, found fractions{OTHERWISE}")
    if (y > LARGEST_COUNT).any():
        raise InputError(
            f"column {name!r} must hold counts of at most {LARGEST_COUNT:,}, found larger ones; use a coarser unit"
        )
    if not (zeros or y.any()):
        raise InputError(f"column {name!r} must hold a count above 0, found nothing but zeros")
    return y


def _moments(y: np.ndarray, X: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, float]:
    """Rough coefficients and log dispersion: where Newton's method starts."""
    root = np.sqrt(counts)
    beta = np.linalg.lstsq(root[:, None] * X, root * np.log(y + 0.5), rcond=None)[0]
    mean = np.average(y, weights=counts)
    variance = np.average((y - mean) ** 2, weights=counts)
    phi = mean**2 / (variance - mean) if variance > mean else np.inf
    return beta, float(np.log(np.clip(phi, 0.1, 1e3)))
