"""The built-in count models: Poisson and negative binomial (mean mu, dispersion phi) with log mu = X beta."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from alphasynth.errors import InputError
from alphasynth.formula import Formula, design_matrix
from alphasynth.model import Array, Columns, Rows, Theta
from alphasynth.priors import CoefficientPrior, CountPrior, HalfCauchyPrior, ScaleMixturePrior
from alphasynth.records import Records

# A larger count is an error or wants a coarser unit: its log-likelihood is a difference of terms of 1e9 and more.
LARGEST_COUNT = 100_000_000
# NumPy's Poisson generator refuses larger means; only draws from an all but empty posterior come near.
LARGEST_RATE = 1e18


@dataclass(frozen=True)
class Poisson:
    """Counts with variance mu."""

    prior: CountPrior

    @classmethod
    def with_coefficients(cls, coefficients: CoefficientPrior, K: int) -> Poisson:
        """The model with K coefficients of the given prior."""
        return cls(CountPrior(coefficients, K))

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | mu) by row."""
        eta = _log_mean(theta, columns)
        return columns["y"] * eta - jnp.exp(eta) - columns["log_factorial"]

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Counts of new records."""
        return rng.poisson(np.minimum(np.exp(_log_mean(theta, columns)), LARGEST_RATE), rows)


@dataclass(frozen=True)
class NegativeBinomial:
    """Counts with variance mu + mu^2 / phi."""

    prior: CountPrior

    @classmethod
    def with_coefficients(cls, coefficients: CoefficientPrior, K: int) -> NegativeBinomial:
        """The model with K coefficients of the given prior, and the paper's prior of phi."""
        return cls(CountPrior(coefficients, K, HalfCauchyPrior()))

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | mu, phi) by row; right to rounding for any phi, the Poisson limit included."""
        y, phi = columns["y"], theta["phi"]
        log_odds = _log_mean(theta, columns) - jnp.log(phi)
        log_total = jnp.logaddexp(0.0, log_odds)  # log((mu + phi) / phi)
        return log_rising(phi, y) - columns["log_factorial"] - phi * log_total + y * (log_odds - log_total)

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Counts of new records: Poisson with gamma-distributed means."""
        mean = np.minimum(np.exp(_log_mean(theta, columns)), LARGEST_RATE)
        phi = float(theta["phi"])
        return rng.poisson(np.minimum(rng.gamma(phi, mean / phi, rows), LARGEST_RATE))


FAMILIES: dict[str, type[Poisson] | type[NegativeBinomial]] = {
    "poisson": Poisson,
    "negative_binomial": NegativeBinomial,
}


def _log_mean(theta: Theta, columns: Columns) -> Array:
    return columns["X"] @ theta["beta"] if "X" in columns else theta["beta"][0]


SHIFT = 8
# Stirling's series for log gamma at z >= SHIFT: seven terms leave less than 1e-14.
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


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


def _stirling(z: Array) -> Array:
    inverse = 1 / z
    square, series = inverse * inverse, 0.0
    for term in reversed(STIRLING):
        series = series * square + term
    return series * inverse


def bind_counts(
    formula: Formula,
    family: type[Poisson] | type[NegativeBinomial],
    records: Records,
    coefficients: CoefficientPrior | None = None,
) -> tuple[Poisson | NegativeBinomial, Rows]:
    """Count model of the formula's response, and what it reads of the records; `InputError` for what is no count."""
    of = records.group((formula.response, *formula.covariates))
    _, first = np.unique(of, return_index=True)
    counts = np.bincount(of, records.counts).astype(np.int64)
    y = check_counts(formula.response, records.columns[formula.response])[first]
    X = design_matrix(formula, {name: records.columns[name][first] for name in formula.covariates}, counts)
    model = family.with_coefficients(coefficients or ScaleMixturePrior(), X.shape[1])
    columns = {"y": y, "log_factorial": gammaln(y + 1)}
    if not formula.intercept_only:
        columns["X"] = X
    return model, Rows.pad(columns, of, model.prior.start(*_moments(y, X, counts)))


def check_counts(name: str, values: np.ndarray) -> np.ndarray:
    """Counts in float64; raise `InputError` unless they are whole numbers from 0 to LARGEST_COUNT, not all 0."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        raise InputError(f"column {name!r} must hold counts, found a column that is not numeric")
    y = values.astype(np.float64)
    if (y < 0).any():
        raise InputError(f"column {name!r} must hold counts of at least 0, found negative values")
    if (y != np.floor(y)).any():
        raise InputError(f"column {name!r} must hold whole numbers, found fractions")
    if (y > LARGEST_COUNT).any():
        raise InputError(
            f"column {name!r} must hold counts of at most {LARGEST_COUNT:,}, found larger ones; use a coarser unit"
        )
    if not y.any():
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
