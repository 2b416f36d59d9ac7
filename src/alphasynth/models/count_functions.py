"""Functions of counts that no library has as fast or as exact: rising factorials, sums of powers of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from scipy.special import gammaln, xlogy

from alphasynth.models.model import Array


def log_positive(log_zero: Array) -> Array:
    """log(1 - p0); where p0 rounds to 1, as near to 0 as numbers go."""
    return jnp.log(jnp.maximum(-jnp.expm1(log_zero), 1e-300))


def gammaln_of(y: Array) -> Array:
    """Log y!, for counts that are no column."""
    return log_rising(jnp.ones_like(y), y)


def count_peak(y: np.ndarray) -> np.ndarray:
    """Largest log-likelihood that any Poisson or negative binomial gives to a count: y log y - y - log y!.

    >>> count_peak(np.array([0.0, 1.0])).tolist()
    [0.0, -1.0]
    """
    return xlogy(y, y) - y - gammaln(y + 1)


# Counts below this are summed one by one, those above by quadrature in log y.
ONE_BY_ONE, NODES = 32, 96


# Standard deviations from the mean, and means of the tail's exponential decline, beyond which a pmf is no more.
FARTHEST, LONGEST = 12.0, 45.0


def count_power_sum(
    log_pmf: Callable[[Array], Array], mean: Array, sd: Array, power: float, smallest: int = 0
) -> Array:
    """Sum over counts y from the smallest of p(y)^power, to about six digits, in as many evaluations for any mean.

    The sum over y >= ONE_BY_ONE is an integral by Gauss and Legendre in log y over the stretch that holds the mass,
    with Euler and Maclaurin's first correction at its lower end.
    """
    start = ONE_BY_ONE - 0.5
    low = jnp.maximum(start, mean - FARTHEST * sd)
    # A count's tail declines at least like exp(-y mean / sd^2).
    high = jnp.maximum(start + 1, mean + FARTHEST * sd + LONGEST * sd**2 / jnp.maximum(mean, 1e-300) / power)
    reach = jnp.log(high / low) / 2

    def raised(y: Array) -> Array:
        return jnp.exp(power * log_pmf(y))

    def one_more(total: Array, y: Array) -> tuple[Array, None]:
        return total + raised(jnp.broadcast_to(y, jnp.shape(mean))), None

    def one_node(total: Array, node: tuple[Array, ...]) -> tuple[Array, None]:
        y = low * jnp.exp(reach * (node[0] + 1))
        return total + node[1] * reach * y * raised(y), None

    nodes = tuple(jnp.asarray(part) for part in np.polynomial.legendre.leggauss(NODES))
    first = jax.lax.scan(one_more, jnp.zeros_like(mean), jnp.arange(smallest, ONE_BY_ONE, dtype=float))[0]
    rest = jax.lax.scan(one_node, jnp.zeros_like(mean), nodes)[0]
    slope = raised(jnp.full_like(mean, ONE_BY_ONE)) - raised(jnp.full_like(mean, ONE_BY_ONE - 1))
    return first + rest + jnp.where(low == start, slope, 0.0) / 24


SHIFT = 8


# Stirling's series for log gamma at z >= SHIFT: seven terms leave less than 1e-14.
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


@jax.custom_jvp
def log_rising(phi: Array, y: Array) -> Array:
    """log gamma(phi + y) - log gamma(phi), without the cancellation that log gammas suffer as phi grows.

    Both arguments are shifted up by SHIFT, where Stirling's series holds; the shift is paid back as one logarithm of a
    product. Twice as fast as log gamma, since only two logarithms are taken per entry.
    """
    low, high = phi + SHIFT, phi + SHIFT + y
    shifted = (high - 0.5) * jnp.log1p(y / low) + y * (jnp.log(low) - 1) + _stirling(high) - _stirling(low)
    bounded = jnp.minimum(phi, 1e30)  # the quotient below is 1 from here on, and its parts stay finite
    above, below = bounded + y, bounded
    for j in range(1, SHIFT):
        above, below = above * (bounded + y + j), below * (bounded + j)
    return shifted - jnp.log(above / below)


def _log_rising_jvp(primals: tuple[Array, Array], tangents: tuple[Any, Any]) -> tuple[Array, Array]:
    """Slopes, written out: those of products of many factors, differentiated twice, take seconds to compile."""
    (phi, y), (along_phi, along_y) = primals, tangents
    value = log_rising(phi, y)
    change = jnp.zeros_like(value)
    if not isinstance(along_phi, SymbolicZero):
        change = change + digamma_rising(phi, y) * along_phi
    if not isinstance(along_y, SymbolicZero):
        change = change + jax.scipy.special.digamma(phi + y) * along_y
    return value, change


log_rising.defjvp(_log_rising_jvp, symbolic_zeros=True)


def digamma_rising(phi: Array, y: Array) -> Array:
    """digamma(phi + y) - digamma(phi), shifted like `log_rising`; no two large numbers are taken from each other."""
    low, high = phi + SHIFT, phi + SHIFT + y
    bounded = jnp.minimum(phi, 1e30)
    paid_back = sum(y / ((bounded + j) * (bounded + y + j)) for j in range(SHIFT))
    return jnp.log1p(y / low) + _stirling_slope(high) - _stirling_slope(low) + paid_back


def _stirling_slope(z: Array) -> Array:
    """What digamma is above log z."""
    inverse = 1 / z
    square, series = inverse * inverse, 0.0
    for k, term in reversed(tuple(enumerate(STIRLING))):
        series = series * square - (2 * k + 1) * term
    return (series * inverse - 0.5) * inverse


def _stirling(z: Array) -> Array:
    inverse = 1 / z
    square, series = inverse * inverse, 0.0
    for term in reversed(STIRLING):
        series = series * square + term
    return series * inverse
