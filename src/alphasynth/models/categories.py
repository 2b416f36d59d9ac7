"""Models of categories: Bernoulli, categorical (multinomial logit) and ordinal (proportional odds)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.errors import InputError
from alphasynth.models.coefficient_priors import CoefficientPrior
from alphasynth.models.model import Array, Columns, Theta, linear
from alphasynth.models.priors import LinearPrior, OrdinalPrior, linear_coordinates
from alphasynth.tables.declared import Declared, codes_of

# More coefficients than this take minutes and more to draw: (levels - 1) times the terms of the formula.
MOST_COEFFICIENTS = 100


def read_codes(model: object, name: str, values: Any, declared: Declared, strict: bool) -> Columns:
    """What models of levels read of the response: codes."""
    return {"y": codes_of(name, values, declared)}


def certain(model: object, columns: Columns) -> np.ndarray:
    """f*, the largest log-likelihood of a level: 0, of a probability of 1."""
    return np.zeros(len(columns["y"]))


@dataclass(frozen=True)
class Bernoulli:
    """Two levels: the logit of the second one's probability is X beta."""

    prior: LinearPrior
    coordinates, read, peak = linear_coordinates, read_codes, certain

    @classmethod
    def of(cls, name: str, declared: Declared, coefficients: CoefficientPrior, K: int) -> Bernoulli:
        """The model of a column with two levels."""
        if len(declared.levels) != 2:
            raise InputError(f"column {name!r} must have two levels for bernoulli, found {len(declared.levels)}")
        return cls(LinearPrior(coefficients, K))

    def public_starts(self) -> np.ndarray:
        """Where a climb begins that must know nothing of the table: levels that are equally likely."""
        return np.zeros((1, self.prior.size))

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: the logit of the share, and no effects."""
        return self.prior.start(at_intercept(X, logit(np.average(columns["y"], weights=counts))))

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | theta) by row."""
        eta = linear(theta["beta"], columns)
        return columns["y"] * eta - jnp.logaddexp(0.0, eta)

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """Sum over both levels of p^power."""
        eta = linear(theta["beta"], columns)
        return jnp.exp(-power * jnp.logaddexp(0.0, -eta)) + jnp.exp(-power * jnp.logaddexp(0.0, eta))

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Codes of new records' levels."""
        eta = np.broadcast_to(np.asarray(linear(np.asarray(theta["beta"]), columns)), rows)
        return (rng.random(rows) < 1 / (1 + np.exp(-np.clip(eta, -700, 700)))).astype(np.float64)


@dataclass(frozen=True)
class Categorical:
    """L levels: log p(level) - log p(first level) = X beta[level], so L - 1 sets of K coefficients."""

    prior: LinearPrior
    K: int
    levels: int
    coordinates, read, peak = linear_coordinates, read_codes, certain

    @classmethod
    def of(cls, name: str, declared: Declared, coefficients: CoefficientPrior, K: int) -> Categorical:
        """The model of a column with at least two levels; raise `InputError` for too many coefficients."""
        levels = _at_least(2, "two levels", name, declared)
        size = (levels - 1) * K
        if size > MOST_COEFFICIENTS:
            fewer = f"drop terms from its formula ('{name} ~ 1' takes {levels - 1})"
            if levels - 1 > MOST_COEFFICIENTS:
                fewer = "declare it public, or leave it out"
            raise InputError(
                f"column {name!r} must take at most {MOST_COEFFICIENTS} coefficients, found {size:,} ({levels - 1} for "
                f"each of {K} terms): merge rare levels, or {fewer}"
            )
        return cls(LinearPrior(coefficients, size), K, levels)

    def public_starts(self) -> np.ndarray:
        """Where a climb begins that must know nothing of the table: levels that are equally likely."""
        return np.zeros((1, self.prior.size))

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: the logarithms of the shares, and no effects."""
        shares = np.log(np.bincount(columns["y"].astype(int), counts, minlength=self.levels) + 0.5)
        return self.prior.start(np.concatenate([at_intercept(X, share - shares[0]) for share in shares[1:]]))

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | theta) by row."""
        log_p = self._log_p(theta, columns)
        codes = columns["y"].astype(int)[:, None]
        return jnp.take_along_axis(jnp.broadcast_to(log_p, (len(codes), self.levels)), codes, axis=1)[:, 0]

    def _log_p(self, theta: Theta, columns: Columns) -> Array:
        """Log probabilities (rows or 1, levels)."""
        beta = theta["beta"].reshape(self.levels - 1, self.K)
        eta = columns["X"] @ beta.T if "X" in columns else beta[:, 0][None]
        whole = jnp.concatenate([jnp.zeros((len(eta), 1)), eta], axis=1)
        return jax.nn.log_softmax(whole, axis=1)

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """Sum over the levels of p^power."""
        total = jnp.sum(jnp.exp(power * self._log_p(theta, columns)), axis=1)
        return total if "X" in columns else total[0]

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Codes of new records' levels."""
        log_p = np.asarray(self._log_p({"beta": jnp.asarray(theta["beta"])}, columns))
        return _draw_codes(rng, np.cumsum(np.exp(log_p), axis=1), rows)


@dataclass(frozen=True)
class Ordinal:
    """L ordered levels: the logit of P(level <= j) is cut[j] - X beta, without an intercept (proportional odds)."""

    prior: OrdinalPrior
    levels: int
    read, peak = read_codes, certain

    @classmethod
    def of(cls, name: str, declared: Declared, coefficients: CoefficientPrior, K: int) -> Ordinal:
        """The model of a column with at least three levels; the design's first column is its intercept."""
        levels = _at_least(3, "three levels for ordinal", name, declared)
        if levels - 1 + K - 1 > MOST_COEFFICIENTS:
            raise InputError(
                f"column {name!r} must take at most {MOST_COEFFICIENTS} parameters, found {levels + K - 2:,}: merge "
                "levels, or model it as a number"
            )
        return cls(OrdinalPrior(coefficients, K - 1, levels - 1), levels)

    def coordinates(self, covariates: bool) -> list[str]:
        """Names of the sampler's coordinates."""
        more = self.prior.size - self.prior.cuts
        return [f"cut[{i}]" for i in range(self.prior.cuts)] + [f"beta[{i}]" for i in range(more)]

    def public_starts(self) -> np.ndarray:
        """Where a climb begins that must know nothing of the table: levels that are equally likely."""
        return self.start({"y": np.arange(self.levels)}, np.ones((1, 1)), np.ones(self.levels))[None]

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb begins: the logits of the cumulated shares, and no effects."""
        shares = np.bincount(columns["y"].astype(int), counts, minlength=self.levels) + 0.5
        cuts = logit(np.cumsum(shares)[:-1] / shares.sum())
        u = np.zeros(self.prior.size)
        u[: self.prior.cuts] = np.concatenate([cuts[:1], np.log(np.maximum(np.diff(cuts), 1e-3))])
        return u

    def _eta(self, theta: Theta, columns: Columns) -> Array:
        return columns["X"][:, 1:] @ theta["beta"] if self.prior.K and "X" in columns else jnp.zeros(())

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Log p(y | theta) by row."""
        codes, eta = columns["y"].astype(int), self._eta(theta, columns)
        last = self.levels - 1
        upper = jnp.where(codes < last, theta["cuts"][jnp.minimum(codes, last - 1)] - eta, 0.0)
        lower = jnp.where(codes > 0, theta["cuts"][jnp.maximum(codes - 1, 0)] - eta, 0.0)
        inner = (codes > 0) & (codes < last)
        # log(s(b) - s(a)) = log s(b) + log s(-a) + log(1 - exp(a - b)), s the logistic function
        between = jnp.where(inner, jnp.log(-jnp.expm1(jnp.where(inner, lower - upper, -1.0))), 0.0)
        below = jnp.where(codes < last, -jnp.logaddexp(0.0, -upper), 0.0)
        above = jnp.where(codes > 0, -jnp.logaddexp(0.0, lower), 0.0)
        return below + above + between

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """Sum over the levels of p^power."""
        rows = len(columns["X"]) if "X" in columns else 1
        parts = [
            jnp.exp(power * self.log_lik(theta, {**columns, "y": jnp.full(rows, float(level))}))
            for level in range(self.levels)
        ]
        total = sum(parts, jnp.zeros(rows))
        return total if "X" in columns else total[0]

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Codes of new records' levels."""
        eta = np.asarray(self._eta({name: np.asarray(value) for name, value in theta.items()}, columns))
        below = 1 / (1 + np.exp(-np.clip(np.asarray(theta["cuts"]) - eta.reshape(-1, 1), -700, 700)))
        return _draw_codes(rng, np.column_stack([below, np.ones(len(below))]), rows)


def _at_least(least: int, words: str, name: str, declared: Declared) -> int:
    """How many levels a column has; raise `InputError` for too few."""
    levels = len(declared.levels)
    if levels < least:
        raise InputError(f"column {name!r} must have at least {words}, found {levels}")
    return levels


def _draw_codes(rng: np.random.Generator, cumulated: np.ndarray, rows: int) -> np.ndarray:
    """Codes from cumulated probabilities (rows or 1, levels)."""
    above = rng.random(rows)[:, None] >= cumulated[:, :-1]
    return above.sum(axis=1).astype(np.float64)


def at_intercept(X: np.ndarray, value: float) -> np.ndarray:
    """Coefficients whose predictor is nearest to one value in every row."""
    return np.linalg.lstsq(X, np.full(len(X), value), rcond=None)[0]


def logit(share: Any) -> Any:
    """Logit of shares, those at 0 and 1 moved inside by a millionth."""
    clipped = np.clip(share, 1e-6, 1 - 1e-6)
    return np.log(clipped / (1 - clipped))
