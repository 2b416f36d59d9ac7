"""Priors of the families: coefficients beta with scales of their own, dispersions, cut points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import jax.numpy as jnp
import numpy as np

from alphasynth.errors import require_positive
from alphasynth.models.coefficient_priors import CoefficientPrior, LkjPrior, without_spike
from alphasynth.models.model import Array, Theta


@dataclass(frozen=True)
class HalfCauchyPrior:
    """The dispersion's prior in the paper's Stan script: 1/phi ~ half-Cauchy(0, scale), in the coordinate log phi."""

    scale: float = 5.0
    coordinate = "phi"

    def __post_init__(self) -> None:
        """Refuse a scale that is not positive."""
        require_positive("scale", self.scale)

    def log_density(self, log_phi: Array) -> Array:
        """Log density at log phi, the Jacobian included."""
        log_reciprocal = -log_phi - math.log(self.scale)
        return math.log(2 / (math.pi * self.scale)) - jnp.logaddexp(0.0, 2 * log_reciprocal) - log_phi

    def constrain(self, log_phi: Array) -> Theta:
        """Phi."""
        return {"phi": jnp.exp(log_phi)}


@dataclass(frozen=True)
class SdPrior:
    """Standard deviation: `smallest` plus a half-t(3, 0, 1), in the logarithm of that part.

    `smallest` bounds the density, without which a strict mechanism has no f*.
    """

    smallest: float
    coordinate = "log_sd"

    def log_density(self, u: Array) -> Array:
        """Log density at u, the Jacobian included."""
        return math.log(4 / (math.pi * math.sqrt(3))) - 2 * jnp.log1p(jnp.exp(2 * u) / 3) + u

    def constrain(self, u: Array) -> Theta:
        """The sd."""
        return {"sd": self.smallest + jnp.exp(u)}


@dataclass(frozen=True)
class ShapePrior:
    """Shape of a gamma distribution: 1 / shape = 1 / `largest` + a half-Cauchy(0, scale), in minus that part's log."""

    largest: float
    scale: float = 5.0
    coordinate = "log_shape"

    def log_density(self, u: Array) -> Array:
        """Log density at u, the Jacobian included."""
        return HalfCauchyPrior(self.scale).log_density(u)

    def constrain(self, u: Array) -> Theta:
        """The shape."""
        return {"shape": 1 / (1 / self.largest + jnp.exp(-u))}


@dataclass(frozen=True)
class LinearPrior:
    """Prior of a family with a linear predictor: K coefficients, then a dispersion where the family has one."""

    coefficients: CoefficientPrior
    K: int
    dispersion: HalfCauchyPrior | SdPrior | ShapePrior | None = None

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.coefficients.size(self.K) + (self.dispersion is not None)

    def log_density(self, u: Array) -> Array:
        """Log prior density at u (size,), the Jacobian included."""
        if self.dispersion is None:
            return self.coefficients.log_density(u, self.K)
        return self.coefficients.log_density(u[:-1], self.K) + self.dispersion.log_density(u[-1])

    def constrain(self, u: Array) -> Theta:
        """Beta (K,), the dispersion () where there is one, and what else the coefficients' prior samples."""
        if self.dispersion is None:
            return self.coefficients.constrain(u, self.K)
        return {**self.coefficients.constrain(u[:-1], self.K), **self.dispersion.constrain(u[-1])}

    @property
    def coefficient_names(self) -> list[str]:
        """Names of the coefficients' coordinates, and of what else their prior samples."""
        more = self.coefficients.size(self.K) - self.K
        return [f"beta[{k}]" for k in range(self.K)] + [f"u[{self.K + i}]" for i in range(more)]

    @property
    def coordinate_names(self) -> list[str]:
        """Names of all coordinates: the coefficients', and the dispersion's where there is one."""
        return self.coefficient_names + ([] if self.dispersion is None else [self.dispersion.coordinate])

    def smoothed(self) -> LinearPrior:
        """The same prior, but scale mixtures without the spike at 0 that their small scales make.

        On the spike Newton's method finds a mode far narrower than the posterior.
        """
        return replace(self, coefficients=without_spike(self.coefficients))

    def start(self, beta: np.ndarray, dispersion: float = 0.0) -> np.ndarray:
        """Coordinates at given coefficients and dispersion's coordinate; scales of their size, no correlation."""
        u = np.zeros(self.size)
        u[: self.K] = beta
        if isinstance(self.coefficients, LkjPrior):
            u[self.K : 2 * self.K] = np.log(np.maximum(np.abs(beta), 0.1))
        if self.dispersion is not None:
            u[-1] = dispersion
        return u


class Linear(Protocol):
    """A model whose parameters are a linear predictor's coefficients, and a dispersion where it has one."""

    @property
    def prior(self) -> LinearPrior:
        """Their prior."""
        ...


def linear_coordinates(model: Linear, covariates: bool) -> list[str]:
    """Names of the sampler's coordinates; of several levels, K for the second, K for the third, and so on."""
    return model.prior.coordinate_names


CUT_SCALE, GAP_SCALE = 3.0, 1.5  # sds of an ordinal model's first cut point and of its gaps' logarithms


@dataclass(frozen=True)
class OrdinalPrior:
    """Prior of a proportional-odds model: the first of `cuts` cut points, the logarithms of the gaps, K coefficients.

    First cut point N(0, 3^2), gaps' logarithms N(0, 1.5^2).
    """

    coefficients: CoefficientPrior
    K: int
    cuts: int

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.cuts + (self.coefficients.size(self.K) if self.K else 0)

    def log_density(self, u: Array) -> Array:
        """Log prior density at u (size,), the Jacobian included."""
        scales = jnp.where(jnp.arange(self.cuts) == 0, CUT_SCALE, GAP_SCALE)
        constant = math.log(CUT_SCALE) + (self.cuts - 1) * math.log(GAP_SCALE) + self.cuts * math.log(2 * math.pi) / 2
        total = -0.5 * jnp.sum((u[: self.cuts] / scales) ** 2) - constant
        return total + (self.coefficients.log_density(u[self.cuts :], self.K) if self.K else 0.0)

    def constrain(self, u: Array) -> Theta:
        """Cut points (cuts,), rising, and beta (K,)."""
        steps = jnp.concatenate([u[:1], jnp.exp(u[1 : self.cuts])])
        more = self.coefficients.constrain(u[self.cuts :], self.K) if self.K else {}
        return {**more, "cuts": jnp.cumsum(steps)}

    def smoothed(self) -> OrdinalPrior:
        """The same prior without spikes."""
        return replace(self, coefficients=without_spike(self.coefficients))


@dataclass(frozen=True)
class PairPrior:
    """Prior of a model in two parts: coefficients gamma (K,) of the zeros, then another prior's coordinates."""

    zero: LinearPrior
    other: LinearPrior

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.zero.size + self.other.size

    def log_density(self, u: Array) -> Array:
        """Log prior density at u (size,), the Jacobian included."""
        return self.zero.log_density(u[: self.zero.size]) + self.other.log_density(u[self.zero.size :])

    def constrain(self, u: Array) -> Theta:
        """Gamma (K,) and the other part's parameters."""
        gamma = self.zero.constrain(u[: self.zero.size])["beta"]
        return {**self.other.constrain(u[self.zero.size :]), "gamma": gamma}

    def smoothed(self) -> PairPrior:
        """The same prior without spikes."""
        return PairPrior(self.zero.smoothed(), self.other.smoothed())
