"""Priors of the families: coefficients beta with scales of their own, dispersions, cut points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from alphasynth.errors import InputError, found, require_positive
from alphasynth.models.model import Array, Theta


class CoefficientPrior(Protocol):
    """A prior of K coefficients, in coordinates without limits; the first K coordinates are beta itself."""

    def size(self, K: int) -> int:
        """Number of coordinates."""
        ...

    def log_density(self, u: Array, K: int) -> Array:
        """Log density at u, the Jacobian included."""
        ...

    def constrain(self, u: Array, K: int) -> Theta:
        """Beta (K,) and whatever else the prior samples, by name."""
        ...


@dataclass(frozen=True)
class NormalPrior:
    """Coefficients N(0, scale^2), independent."""

    scale: float = 2.5

    def __post_init__(self) -> None:
        """Refuse a scale that is not positive."""
        require_positive("scale", self.scale)

    def size(self, K: int) -> int:
        """K: the coefficients."""
        return K

    def log_density(self, u: Array, K: int) -> Array:
        """Sum of normal log densities."""
        return -0.5 * jnp.sum((u / self.scale) ** 2) - K * math.log(self.scale * math.sqrt(2 * math.pi))

    def constrain(self, u: Array, K: int) -> Theta:
        """Coefficients as they are."""
        return {"beta": u}


@dataclass(frozen=True)
class ScaleMixturePrior:
    """The paper's Stan script's prior with correlation fixed at identity and the scales integrated out by quadrature.

    beta_k ~ N(0, sigma_k^2), sigma_k ~ half-t(3, 0, 1). The integral starts at `smallest_scale`: from 0 on, the
    marginal density would be infinite at beta_k = 0 (no mass worth naming, but no mode either).
    """

    smallest_scale: float = 0.01

    def __post_init__(self) -> None:
        """Refuse a smallest scale that leaves nothing to integrate."""
        _require_share("smallest_scale", self.smallest_scale)

    def size(self, K: int) -> int:
        """K: the scales are integrated out."""
        return K

    def log_density(self, u: Array, K: int) -> Array:
        """Sum of log scale-mixture densities."""
        half_precision, weight = _scale_nodes(self.smallest_scale)
        square = u[:, None] ** 2
        # Relative to the widest scale, whose term is never below its weight: the logarithm is of no zero.
        mixture = jnp.sum(weight * jnp.exp(-square * (half_precision - half_precision[-1])), axis=-1)
        return jnp.sum(jnp.log(mixture) - square[:, 0] * half_precision[-1])

    def constrain(self, u: Array, K: int) -> Theta:
        """Coefficients as they are."""
        return {"beta": u}


# Gauss-Legendre nodes in log sigma up to the largest scale: log densities are right to 1e-4 for |beta| up to 20.
SCALE_NODES, LARGEST_SCALE = 48, 300.0


SMOOTH_SCALE = 0.5  # smallest scale in the prior that proposals are shaped by


@lru_cache
def _scale_nodes(smallest: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes 1 / (2 sigma^2) and weights of the integral over sigma; their normal densities' constants are in."""
    nodes, weights = np.polynomial.legendre.leggauss(SCALE_NODES)
    low, high = math.log(smallest), math.log(LARGEST_SCALE)
    sigma = np.exp(low + (high - low) * (nodes + 1) / 2)
    half_t3 = 4 / (math.pi * math.sqrt(3)) / (1 + sigma**2 / 3) ** 2  # half-t density, 3 degrees of freedom
    return 0.5 / sigma**2, weights * (high - low) / 2 * half_t3 / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class LkjPrior:
    """The paper's Stan script's prior whole: beta ~ N(0, diag(sigma) Omega diag(sigma)), scales and Omega sampled.

    sigma_k ~ half-t(3, 0, 1) from `smallest_scale` up, as in `ScaleMixturePrior` (below lies a funnel that no sampler
    follows), Omega ~ LKJ(concentration). For `Nuts`: the scales make a posterior that one curvature does not describe.
    """

    concentration: float = 6.0
    smallest_scale: float = 0.01

    def __post_init__(self) -> None:
        """Refuse a concentration that is not positive and a smallest scale outside (0, 1)."""
        require_positive("concentration", self.concentration)
        _require_share("smallest_scale", self.smallest_scale)

    def size(self, K: int) -> int:
        """K coefficients, K log scales and the coordinates of the correlation's Cholesky factor."""
        return 2 * K + K * (K - 1) // 2

    def log_density(self, u: Array, K: int) -> Array:
        """Joint log density of coefficients, scales and correlation."""
        import numpyro.distributions as dist

        sigma, factor, log_jacobian = self._scales(u, K)
        half_t3 = math.log(4 / (math.pi * math.sqrt(3))) - 2 * jnp.log1p(sigma**2 / 3)
        beta = dist.MultivariateNormal(jnp.zeros(K), scale_tril=sigma[:, None] * factor)
        total = jnp.sum(half_t3) + beta.log_prob(u[:K]) + log_jacobian
        return total + (dist.LKJCholesky(K, self.concentration).log_prob(factor) if K > 1 else 0.0)

    def constrain(self, u: Array, K: int) -> Theta:
        """Coefficients, scales and the correlation matrix."""
        sigma, factor, _ = self._scales(u, K)
        return {"beta": u[:K], "sigma": sigma, "correlation": factor @ factor.T}

    def _scales(self, u: Array, K: int) -> tuple[Array, Array, Array]:
        from numpyro.distributions.transforms import CorrCholeskyTransform

        sigma = self.smallest_scale + jnp.exp(u[K : 2 * K])
        if K == 1:
            return sigma, jnp.ones((1, 1)), jnp.sum(u[K : 2 * K])
        transform: Any = CorrCholeskyTransform()
        factor = transform(u[2 * K :])
        return sigma, factor, jnp.sum(u[K : 2 * K]) + transform.log_abs_det_jacobian(u[2 * K :], factor)


@dataclass(frozen=True)
class HalfCauchyPrior:
    """The dispersion's prior in the paper's Stan script: 1/phi ~ half-Cauchy(0, scale), in the coordinate log phi."""

    scale: float = 5.0

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

    def smoothed(self) -> LinearPrior:
        """The same prior, but scale mixtures without the spike at 0 that their small scales make.

        On the spike Newton's method finds a mode far narrower than the posterior.
        """
        return replace(self, coefficients=_without_spike(self.coefficients))

    def start(self, beta: np.ndarray, dispersion: float = 0.0) -> np.ndarray:
        """Coordinates at given coefficients and dispersion's coordinate; scales of their size, no correlation."""
        u = np.zeros(self.size)
        u[: self.K] = beta
        if isinstance(self.coefficients, LkjPrior):
            u[self.K : 2 * self.K] = np.log(np.maximum(np.abs(beta), 0.1))
        if self.dispersion is not None:
            u[-1] = dispersion
        return u


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
        return replace(self, coefficients=_without_spike(self.coefficients))


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


def _without_spike(coefficients: CoefficientPrior) -> CoefficientPrior:
    return ScaleMixturePrior(SMOOTH_SCALE) if isinstance(coefficients, ScaleMixturePrior) else coefficients


def _require_share(name: str, value: object) -> None:
    if not isinstance(value, float) or not 0 < value < 1:
        raise InputError(f"{name} must lie between 0 and 1, found {found(value)}")
