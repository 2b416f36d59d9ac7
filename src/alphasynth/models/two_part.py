"""Models in two parts: zero-inflated counts, and hurdles (zero, or a positive count or value)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln, lambertw, xlogy

from alphasynth.errors import InputError
from alphasynth.models.categories import at_intercept, logit
from alphasynth.models.coefficient_priors import CoefficientPrior
from alphasynth.models.count_functions import log_positive
from alphasynth.models.counts import Counts, NegativeBinomial, Poisson
from alphasynth.models.model import Array, Columns, Decoding, Densities, Theta, linear
from alphasynth.models.priors import LinearPrior, PairPrior
from alphasynth.tables.declared import Declared


@dataclass(frozen=True)
class ZeroInflated:
    """Counts of an inner family, some of them turned to 0: the logit of that share is X gamma."""

    inner: Poisson | NegativeBinomial
    prior: PairPrior

    @classmethod
    def around(cls, inner: Poisson | NegativeBinomial, coefficients: CoefficientPrior, K: int) -> ZeroInflated:
        """The model around an inner one of as many terms."""
        return cls(inner, PairPrior(LinearPrior(coefficients, K), inner.prior))

    def coordinates(self, covariates: bool) -> list[str]:
        """Names of the sampler's coordinates."""
        return _coordinates(self.prior, self.inner.coordinates(covariates))

    def read(self, name: str, values: Any, declared: Declared, strict: bool) -> Columns:
        """What the inner family reads of the response."""
        return self.inner.read(name, values, declared, strict)

    def public_starts(self) -> np.ndarray:
        """Where climbs begin that must know nothing of the table: the inner family's, and zeros as likely as not."""
        inner = self.inner.public_starts()
        return np.concatenate([np.zeros((*inner.shape[:-1], self.prior.zero.size)), inner], axis=-1)

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: the inner family's start, and half of the zeros put down to the inflation."""
        share = np.average(columns["y"] == 0, weights=counts) / 2
        return np.concatenate([at_intercept(X, logit(share)), self.inner.start(columns, X, counts)])

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | theta) by row."""
        eta = linear(theta["gamma"], columns)
        turned, kept = -jnp.logaddexp(0.0, -eta), -jnp.logaddexp(0.0, eta)
        zero = jnp.logaddexp(turned, kept + self.inner.log_zero(theta, columns))
        return jnp.where(columns["y"] == 0, zero, kept + self.inner.log_lik(theta, columns))

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, the largest log-likelihood: the inner family's, since no inflation is the most that a count can have."""
        return self.inner.peak(columns)

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """Sum over all counts of p^power."""
        eta = linear(theta["gamma"], columns)
        turned, kept = -jnp.logaddexp(0.0, -eta), -jnp.logaddexp(0.0, eta)
        log_zero = self.inner.log_zero(theta, columns)
        zero = jnp.exp(power * jnp.logaddexp(turned, kept + log_zero))
        positive = self.inner.power_sum(theta, columns, power) - jnp.exp(power * log_zero)
        return zero + jnp.exp(power * kept) * jnp.maximum(positive, 0.0)

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Counts of new records."""
        kept = rng.random(rows) >= _share(theta, columns)
        return np.where(kept, self.inner.simulate(rng, theta, columns, rows), 0)


@dataclass(frozen=True)
class Hurdle:
    """Zero, or a positive value of an inner family; the logit of the share of positive values is X gamma.

    Of an inner family of counts, its distribution given that a count is above 0; of a continuous one, itself (the
    two-part model of semi-continuous values).
    """

    inner: Any
    prior: PairPrior

    @classmethod
    def around(cls, inner: Any, coefficients: CoefficientPrior, K: int) -> Hurdle:
        """The model around an inner one of as many terms."""
        return cls(inner, PairPrior(LinearPrior(coefficients, K), inner.prior))

    @property
    def is_count(self) -> bool:
        """Whether the positive values are counts."""
        return isinstance(self.inner, Counts)

    def coordinates(self, covariates: bool) -> list[str]:
        """Names of the sampler's coordinates."""
        return _coordinates(self.prior, self.inner.coordinates(covariates))

    def read(self, name: str, values: Any, declared: Declared, strict: bool) -> Columns:
        """What the inner family reads of the positive values, and which these are."""
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
            raise InputError(f"column {name!r} must hold numbers, found a column that is not numeric")
        numbers = values.astype(np.float64)
        positive = numbers != 0
        if not self.is_count:  # a value within the limits stands in for 0, and takes no part
            numbers = np.where(positive, numbers, math.ceil(declared.limits[0]) if declared.limits else 1.0)
        return {**self.inner.read(name, numbers, declared, strict), "positive": positive.astype(np.float64)}

    def decode(self, name: str, y: np.ndarray, declared: Declared) -> np.ndarray:
        """Values in their own unit; not a number stands for 0."""
        decoded = self.inner.decode(name, y, declared) if isinstance(self.inner, Decoding) else y
        return np.where(np.isnan(y), 0.0, decoded)

    def public_starts(self) -> np.ndarray:
        """Where climbs begin that must know nothing of the table: the inner family's, and zeros as likely as not."""
        inner = self.inner.public_starts()
        return np.concatenate([np.zeros((*inner.shape[:-1], self.prior.zero.size)), inner], axis=-1)

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: the share of positive values, and the inner family's start on them."""
        positive = columns["positive"] > 0
        gamma = at_intercept(X, logit(np.average(columns["positive"], weights=counts)))
        part = {name: column[positive] for name, column in columns.items()} if positive.any() else columns
        these = positive if positive.any() else np.ones(len(positive), bool)
        return np.concatenate([gamma, self.inner.start(part, X[these], counts[these])])

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | theta) by row."""
        return self._above_or_zero(theta, columns, self.inner.log_lik)

    def log_scaled(self, theta: Theta, columns: Columns) -> Array:
        """Log p of a zero, log density of a positive value on the scale that its power is integrated on."""
        inner = self.inner.log_scaled if isinstance(self.inner, Densities) else self.inner.log_lik
        return self._above_or_zero(theta, columns, inner)

    def _above_or_zero(self, theta: Theta, columns: Columns, inner: Callable[[Theta, Columns], Array]) -> Array:
        eta = linear(theta["gamma"], columns)
        positive = columns["positive"] > 0
        value = inner(theta, columns)
        if self.is_count:
            value = value - log_positive(self.inner.log_zero(theta, columns))
        # The inner `where` keeps derivatives of what takes no part out of the sum.
        above = -jnp.logaddexp(0.0, -eta) + jnp.where(positive, value, 0.0)
        return jnp.where(positive, above, -jnp.logaddexp(0.0, eta))

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, the largest log-likelihood: 0 of a zero, of a positive value what its own part can have."""
        top = truncated_peak(columns["y"]) if self.is_count else self.inner.peak(columns)
        return np.where(columns["positive"] > 0, top, 0.0)

    @property
    def largest_density(self) -> float:
        """Of a zero or a count its probability, at most 1; of other values what their own part can have."""
        return 1.0 if self.is_count else max(1.0, float(self.inner.largest_density))

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """p^power of a zero, and the sum or the integral of p^power over positive values."""
        eta = linear(theta["gamma"], columns)
        above = (True,) if self.is_count else ()
        positive = self.inner.power_sum(theta, columns, power, *above)
        return jnp.exp(-power * jnp.logaddexp(0.0, eta)) + jnp.exp(-power * jnp.logaddexp(0.0, -eta)) * positive

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Values of new records, as the inner family gives them: a zero is 0 of counts, else not a number."""
        positive = rng.random(rows) < _share(theta, columns)
        if self.is_count:
            return np.where(positive, self.inner.simulate_positive(rng, theta, columns, rows), 0)
        return np.where(positive, self.inner.simulate(rng, theta, columns, rows), np.nan)


@dataclass(frozen=True)
class ZeroTruncated:
    """Counts of an inner family given that they are above 0: the positive part of a hurdle."""

    inner: Poisson | NegativeBinomial

    @classmethod
    def around(cls, inner: Poisson | NegativeBinomial, coefficients: CoefficientPrior, K: int) -> ZeroTruncated:
        """The model around an inner one, whose parameters it has."""
        return cls(inner)

    @property
    def prior(self) -> LinearPrior:
        """The inner family's."""
        return self.inner.prior

    def coordinates(self, covariates: bool) -> list[str]:
        """Names of the sampler's coordinates: the inner family's."""
        return self.inner.coordinates(covariates)

    def read(self, name: str, values: Any, declared: Declared, strict: bool) -> Columns:
        """What the inner family reads of the response; raise `InputError` for counts of 0."""
        columns = self.inner.read(name, values, declared, strict)
        if (columns["y"] == 0).any():
            raise InputError(f"column {name!r} must hold counts above 0 for this family, found zeros")
        return columns

    def public_starts(self) -> np.ndarray:
        """Where climbs begin that must know nothing of the table: the inner family's."""
        return self.inner.public_starts()

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: the inner family's start."""
        return self.inner.start(columns, X, counts)

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | theta, y > 0) by row."""
        return self.inner.log_lik(theta, columns) - log_positive(self.inner.log_zero(theta, columns))

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, the largest log-likelihood."""
        return truncated_peak(columns["y"])

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """Sum over all counts above 0 of p^power."""
        return self.inner.power_sum(theta, columns, power, above_zero=True)

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Counts of new records."""
        return self.inner.simulate_positive(rng, theta, columns, rows)


def truncated_peak(y: np.ndarray) -> np.ndarray:
    """Largest log-likelihood that a Poisson or negative binomial above 0 gives to a count of at least 1.

    It is the Poisson's with mean mu / (1 - exp(-mu)) = y; 0 at y = 1, where mu goes to 0.

    >>> truncated_peak(np.array([1.0, 2.0])).round(4).tolist()
    [0.0, -1.1276]
    """
    least_two = np.maximum(y, 2.0)
    mu = least_two + np.real(lambertw(-least_two * np.exp(-least_two)))
    value = xlogy(least_two, mu) - mu - gammaln(least_two + 1) - np.log(-np.expm1(-mu))
    return np.where(y < 2, 0.0, value)


def _share(theta: Theta, columns: Columns) -> np.ndarray:
    eta = np.asarray(linear(np.asarray(theta["gamma"]), columns))
    return 1 / (1 + np.exp(-np.clip(eta, -700, 700)))


def _coordinates(prior: PairPrior, inner: list[str]) -> list[str]:
    return [*(f"gamma[{i}]" for i in range(prior.zero.size)), *inner]
