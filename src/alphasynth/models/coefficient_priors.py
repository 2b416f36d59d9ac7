"""Priors of coefficients: normal, the paper's with scales integrated out, and the paper's whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np

from alphasynth.errors import InputError, found, require_positive
from alphasynth.models.model import Array, Theta


@runtime_checkable
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
    """Coefficients N(0, scale^2), independent.

    >>> NormalPrior(scale=1.0).size(3)
    3
    """

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

    >>> ScaleMixturePrior().size(3)
    3
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

    >>> LkjPrior(concentration=2.0).size(3)  # coefficients, scales and correlations
    9
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


def without_spike(coefficients: CoefficientPrior) -> CoefficientPrior:
    """The same prior, but a scale mixture without the spike at 0 that its small scales make."""
    return ScaleMixturePrior(SMOOTH_SCALE) if isinstance(coefficients, ScaleMixturePrior) else coefficients


def _require_share(name: str, value: object) -> None:
    if not isinstance(value, float) or not 0 < value < 1:
        raise InputError(f"{name} must lie between 0 and 1, found {found(value)}")
