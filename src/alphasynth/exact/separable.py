"""Log-likelihoods as few sums: what a clipped sum over sorted values needs of a family.

With x = PEAK - f, the censored distance of a value from its centre, every family here has

    x(v) = c_0 + sum over j of c_j B_j(v) - own(v),

c at a point of the grid, B of the values alone, `own` of the values and of the dispersion (negative binomial: the
logarithm of the rising factorial). x has one valley in v (or, turned over, -x has), whose bottom is where `rise`, the
part of its derivative that depends on v, crosses a level that depends on the point:

    Poisson     v log(v / mu) - v + mu: convex.
    normal      convex, log-normal the same in logarithms; gamma: y / mean - log y, convex in y.
    negative    x' = log v - psi(v + phi) + log(1 + phi / mu). s(v) = psi(v + phi) - log v falls for ever where
    binomial    phi >= 1/2, since psi'(z) < 1 / (z - 1/2); else s' changes its sign once, since z - 1 / psi'(z) rises
                from 0 to 1/2 (psi'^2 + psi'' > 0), and from there s rises to 0 from below. The level is above 0.
    above 0     the same and a constant of the point from FEWEST on, where the peaks differ by less than exp(-FEWEST).
    second      f_first - f: psi(v + phi_first) - psi(v + phi) is monotone, so x is convex or concave; the others are
    stage       quadratic in v (normal), c y + d log y (gamma) or linear (Poisson).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from alphasynth.models.continuous import HALF_LOG_TWO_PI, Gamma, Normal
from alphasynth.models.count_functions import STIRLING, log_positive, log_rising
from alphasynth.models.counts import NegativeBinomial, Poisson
from alphasynth.models.model import PEAK, Array, Columns, Model, Theta
from alphasynth.models.two_part import ZeroTruncated

# Counts below this are added one by one where their peaks are those of counts above 0.
FEWEST = 64
SHIFT = 8


@dataclass(frozen=True, eq=False)
class Line:
    """x along the values at points that share a dispersion: coefficients (1 + J, points), own (V,), rise and level."""

    coefficients: np.ndarray
    own: np.ndarray | None
    rise: np.ndarray
    level: np.ndarray
    turned: bool


@dataclass(frozen=True, eq=False)
class Separable:
    """A family's parts over sorted values (confidential): `basis` (J, V) and how large the terms of x get (V,)."""

    model: Any
    columns: Columns
    basis: np.ndarray
    size: np.ndarray
    first: Theta | None

    @property
    def one_by_one(self) -> int:
        """How many of the first values are added one by one."""
        if not isinstance(self.model, ZeroTruncated) or self.first is not None:
            return 0
        return int(np.searchsorted(self.columns["y"], FEWEST))

    @property
    def likeliest(self) -> tuple[float, float]:
        """Values of the first coordinate beyond which every value gets the less likely, the farther.

        A mean is likeliest to be the value itself; that of counts above 0, which is before they were cut, at most that.
        """
        y = self.columns["y"][[0, -1]]
        if isinstance(self.model, Normal):
            return float(y[0]), float(y[1])
        with np.errstate(divide="ignore"):
            low, high = np.log(y)
        return (-np.inf if isinstance(self.model, ZeroTruncated) else float(low)), float(high)

    def line(self, theta: Theta) -> Line:
        """x at parameters that share a dispersion."""
        inner = self.model.inner if isinstance(self.model, ZeroTruncated) else self.model
        if isinstance(inner, NegativeBinomial):
            line = _negative_binomial(self.columns, theta, self.first)
        else:
            line = {Poisson: _poisson, Normal: _normal, Gamma: _gamma}[type(inner)](self.columns, theta, self.first)
        if isinstance(self.model, ZeroTruncated):
            eta = np.asarray(theta["beta"])[:, 0]
            zero = -np.exp(eta) if isinstance(inner, Poisson) else -theta["phi"] * np.log1p(np.exp(eta) / theta["phi"])
            line.coefficients[0] += np.asarray(log_positive(zero))
        return line


def is_separable(model: Model, columns: Columns) -> bool:
    """Whether a family's log-likelihood is of this form here."""
    return isinstance(model, Poisson | NegativeBinomial | Normal | Gamma | ZeroTruncated) and "X" not in columns


def separate(model: Any, columns: Columns, extremes: Theta, first: Theta | None) -> Separable:
    """A family's parts over columns sorted by y; `extremes` are the largest parameters of the grid, by name.

    `size` bounds the sum of the sizes of all terms that x is computed from, in the program that costs are counted by
    and here, wherever x is not cut: the one term that is not bounded by its coefficients is at most the others' sum.
    """
    inner = model.inner if isinstance(model, ZeroTruncated) else model
    y, peak = columns["y"], columns[PEAK]
    beta = float(np.abs(extremes["beta"]).max())
    if isinstance(inner, Normal):
        basis = np.stack([peak - columns["log_unit"], y, y**2])
        sd = extremes["sd"]
        size = (np.abs(y) + beta) ** 2 / sd.min() ** 2 + np.abs(np.log(sd)).max() + np.abs(columns["log_unit"]) + 1
    elif isinstance(inner, Gamma):
        log_y, unit = columns["log_y"], columns["log_unit"]
        basis = np.stack([peak - unit + log_y, log_y, y])
        shape = extremes["shape"]
        most = shape.max() * (np.abs(np.log(shape)).max() + beta + np.abs(log_y))
        size = most + np.abs(gammaln(shape)).max() + np.abs(unit) + np.abs(log_y)
    else:
        factorial = columns["log_factorial"]
        basis = np.stack([peak + factorial, y])
        size = np.abs(factorial) + y * (beta + 3) + 1
        if isinstance(inner, NegativeBinomial):
            phi = extremes["phi"]
            widest = np.log(phi.max() + SHIFT) + 2 * np.abs(np.log(phi)).max() + np.log1p(y) + 3
            size = size + y * widest + SHIFT * np.log1p(y / min(phi.min(), 1.0))
    return Separable(model, columns, basis, 2 * (size + np.abs(peak)), first)


def _negative_binomial(columns: Columns, theta: Theta, first: Theta | None) -> Line:
    y, phi, log_phi = columns["y"], float(theta["phi"]), np.log(float(theta["phi"]))
    log_odds = np.asarray(theta["beta"])[:, 0] - log_phi
    log_total, log_rest = np.logaddexp(0.0, log_odds), np.logaddexp(0.0, -log_odds)
    own, psi = (np.asarray(part) for part in _rising(y, phi))
    coefficients = np.stack([phi * log_total, np.ones_like(log_total), log_rest])
    if first is None:
        with np.errstate(divide="ignore"):
            return Line(coefficients, own, np.log(y) - psi, -log_rest, turned=False)
    phi_first = float(first["phi"])
    psi_first = np.asarray(_rising(y, phi_first)[1])
    level = np.logaddexp(0.0, np.log(phi_first) - float(first["beta"][0])) - log_rest
    return Line(coefficients, own, psi_first - psi, level, turned=phi_first > phi)


def _poisson(columns: Columns, theta: Theta, first: Theta | None) -> Line:
    eta = np.asarray(theta["beta"])[:, 0]
    coefficients = np.stack([np.exp(eta), np.ones_like(eta), -eta])
    if first is None:
        with np.errstate(divide="ignore"):
            return Line(coefficients, None, np.log(columns["y"]), eta, turned=False)
    return Line(coefficients, None, np.zeros_like(columns["y"]), eta - float(first["beta"][0]), turned=False)


def _normal(columns: Columns, theta: Theta, first: Theta | None) -> Line:
    mean, sd = np.asarray(theta["beta"])[:, 0], float(theta["sd"])
    precision = 1 / sd**2
    level = mean * precision
    constant = mean**2 * precision / 2 + np.log(sd) + HALF_LOG_TWO_PI
    coefficients = np.stack([constant, np.ones_like(mean), -level, np.full_like(mean, precision / 2)])
    more = 0.0 if first is None else 1 / float(first["sd"]) ** 2
    if first is not None:
        level = level - float(first["beta"][0]) * more
    return Line(coefficients, None, columns["y"] * (precision - more), level, turned=more > precision)


def _gamma(columns: Columns, theta: Theta, first: Theta | None) -> Line:
    eta, shape = np.asarray(theta["beta"])[:, 0], float(theta["shape"])
    rate = shape * np.exp(np.minimum(-eta, 700.0))  # a finite number, beyond which all is cut
    constant = shape * (eta - np.log(shape)) + gammaln(shape)
    coefficients = np.stack([constant, np.ones_like(eta), np.full_like(eta, -shape), rate])
    other, other_rate = 0.0, 0.0
    if first is not None:
        other = float(first["shape"])
        other_rate = other * np.exp(-float(first["beta"][0]))
    return Line(coefficients, None, (other - shape) / columns["y"], other_rate - rate, turned=other > shape)


@jax.jit
def _rising(y: Array, phi: Array) -> tuple[Array, Array]:
    """log gamma(phi + y) - log gamma(phi), and psi(phi + y) by its recurrence and asymptotic series."""
    z = y + phi + SHIFT
    inverse, square = 1 / z, 1 / (z * z)
    series = 0.0
    # Derivative of Stirling's series: term k is (1 - 2 k) STIRLING[k - 1] / z^(2 k).
    for k in range(len(STIRLING), 0, -1):
        series = (series + (1 - 2 * k) * STIRLING[k - 1]) * square
    below = sum(1 / (y + phi + j) for j in range(SHIFT))
    return log_rising(phi, y), jnp.log(z) - inverse / 2 + series - below
