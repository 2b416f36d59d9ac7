"""How far apart two output distributions are: epsilon at a delta, from densities, from draws, and from trials."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

AUDIT_DELTA = 1e-5  # of audits of estimated claims; a strict claim is audited at 0
REACH = 10.0  # standard deviations beyond which a normal holds no mass worth naming
CONFIDENCE = 0.95  # of a black-box bound, shared by its two proportions


def pure_loss(log_p: np.ndarray, log_q: np.ndarray) -> float:
    """Largest |log p - log q| over points (T,) that hold all of both, given up to constants: epsilon at delta 0.

    >>> round(pure_loss(np.log([0.5, 0.5]), np.log([0.25, 0.75])), 4)
    0.6931
    """
    difference = log_p - log_q
    # Each side is divided by its own sum; only the difference of their logarithms matters.
    shift = _log_sum(log_p) - _log_sum(log_q)
    return float(max(difference.max() - shift, shift - difference.min()))


def _log_sum(values: np.ndarray) -> float:
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum()))


def epsilon_between(loss: np.ndarray, log_p: np.ndarray, delta: float = AUDIT_DELTA) -> float:
    """Smallest epsilon >= 0 with P(A) <= e^epsilon Q(A) + delta for all A, from loss = log p - log q where P lives.

    `log_p` are the points' log probabilities under P (T,), which sum to 1. By bisection of the hockey-stick divergence,
    the sum of p (1 - e^(epsilon - loss)) over points where the loss exceeds epsilon; rounded up.
    """
    p = np.exp(log_p)

    def excess(epsilon: float) -> float:
        above = loss > epsilon
        return float(np.sum(p[above] * -np.expm1(epsilon - loss[above])))

    if excess(0.0) <= delta:
        return 0.0
    endless = np.isposinf(loss)
    if float(p[endless].sum()) > delta:
        return math.inf
    low, high = 0.0, float(loss[~endless].max())
    while high - low > 1e-9 * max(high, 1.0):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > delta else (low, middle)
    return high


def gaussian_epsilon(mu: float, delta: float = AUDIT_DELTA) -> float:
    """Epsilon at delta of two normals of sd 1 that lie mu apart (Gaussian differential privacy).

    >>> round(gaussian_epsilon(1.0), 3)
    4.377
    """
    from scipy.special import log_ndtr

    def excess(epsilon: float) -> float:
        first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        return float(math.exp(first) * -math.expm1(min(second - first, 0.0)))

    if mu <= 0 or excess(0.0) <= delta:
        return 0.0
    low, high = 0.0, mu * mu / 2 + 10 * mu
    while high - low > 1e-9 * max(high, 1.0):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > delta else (low, middle)
    return high


def spherical_epsilon(shift: float, precision: float, size: int, delta: float = AUDIT_DELTA) -> float:
    """Epsilon at delta between N(0, I) and N(m, I / precision) in `size` dimensions, |m| = shift; both ways.

    The log ratio depends on the place along m and on the distance from that line, so two sums do.

    >>> abs(spherical_epsilon(1.0, 1.0, 3) / gaussian_epsilon(1.0) - 1) < 1e-3
    True
    """
    # Seen from N(m, I / precision), in its own units, the other one is N(m', I precision).
    ways = ((shift, precision), (shift * math.sqrt(precision), 1 / precision))
    return max(_one_way(*way, size, delta) for way in ways)


def _one_way(shift: float, precision: float, size: int, delta: float) -> float:
    along = np.linspace(-REACH, REACH, 401)
    log_p = -0.5 * along**2
    square = (along - shift) ** 2 * precision - along**2
    if size > 1:
        middle = math.sqrt(size - 1)
        beside = np.linspace(max(middle - REACH, 0), middle + REACH, 202)[1:]
        log_p = (log_p[:, None] + (size - 2) * np.log(beside) - 0.5 * beside**2).ravel()
        square = (square[:, None] + (precision - 1) * beside**2).ravel()
    log_p = log_p - log_p.max()
    log_p -= math.log(np.exp(log_p).sum())
    return epsilon_between(0.5 * square - 0.5 * size * math.log(precision), log_p, delta)


class Trials(NamedTuple):
    """How a distinguisher did on trials it had not seen: how often it said "with", where that was true and false."""

    hits: int
    false_alarms: int
    number: int  # of each kind


def black_box_bound(trials: Trials, delta: float = 0.0) -> float:
    """Lower bound on epsilon at delta, right with probability CONFIDENCE, from Clopper and Pearson's intervals.

    A mechanism with privacy (epsilon, delta) has P(hit) <= e^epsilon P(false alarm) + delta.
    """
    hit, alarm = _lowest(trials.hits, trials.number), 1 - _lowest(trials.number - trials.false_alarms, trials.number)
    return max(math.log((hit - delta) / alarm), 0.0) if hit > delta else 0.0


def ceiling(trials: int, delta: float = 0.0) -> float:
    """The largest lower bound that so many trials of each kind can show, whatever the mechanism does.

    >>> [round(ceiling(trials), 1) for trials in (1_000, 10_000, 100_000)]
    [5.6, 7.9, 10.2]
    """
    return black_box_bound(Trials(trials, 0, trials), delta)


def _lowest(successes: int, trials: int) -> float:
    """Clopper and Pearson's lower limit; each of two limits may be wrong with half of what CONFIDENCE leaves."""
    from scipy.stats import beta

    return float(beta.ppf((1 - CONFIDENCE) / 2, successes, trials - successes + 1)) if successes else 0.0
