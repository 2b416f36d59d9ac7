"""Discrete Gaussian and Laplace noise by the array, sampled exactly (Canonne, Kamath and Steinke 2020).

Discrete Gaussian noise z has probability proportional to exp(-z^2 / (2 variance)). Added to whole-number sums that one
unit moves by at most r in Euclidean length, it costs r^2 / (2 variance) of rho in zero-concentrated privacy, exactly.

Floating point only decides where it cannot be wrong: a random number of 64 bits is compared with a probability that is
known to lie between two floats, and where it falls between them the exact comparison of `exponential` decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from alphasynth.privacy.exponential import BITS, accept_exp
from alphasynth.privacy.randomness import Stream

# Share by which a probability computed in floating point may be off for another reason than its exponent: far more
# than exponentials and products are.
ROOM = 2.0**-40
# By which an exponent's own float may be off, relative to the numbers that it is made from: rounding is 2^-53.
LOOSE = 2.0**-48
# An exponent, by its number.
Exponents = Callable[[int], Fraction]


def discrete_gaussian(stream: Stream, variance: Fraction, number: int) -> np.ndarray:
    """Independent whole numbers (number,), each z with probability proportional to exp(-z^2 / (2 variance)).

    >>> noise = discrete_gaussian(Stream(np.random.SeedSequence(1)), Fraction(9), 1_000)
    >>> bool(2.5 < noise.std() < 3.5)
    True
    """
    assert variance > 0, "a variance is positive"
    scale = math.isqrt(math.floor(variance)) + 1
    made = np.empty(0, np.int64)
    while len(made) < number:
        # More than are needed, since about a third is not taken.
        proposed = discrete_laplace_all(stream, scale, 2 * (number - len(made)) + 8)
        made = np.concatenate([made, proposed[_taken(stream, proposed, variance, scale)]])
    return made[:number]


def discrete_laplace_all(stream: Stream, scale: int, number: int) -> np.ndarray:
    """Independent whole numbers (number,), each z with probability proportional to exp(-|z| / scale).

    >>> noise = discrete_laplace_all(Stream(np.random.SeedSequence(1)), 3, 1_000)
    >>> bool(3 < noise.std() < 5.5)
    True
    """
    made = np.empty(0, np.int64)
    while len(made) < number:
        tried = 2 * (number - len(made)) + 8
        rest = _remainders(stream, scale, tried)
        size = rest + scale * _geometric(stream, len(rest))
        negative = (stream.words(len(size)) >> np.uint64(63)).astype(bool)
        size = np.where(negative, -size, size)[~(negative & (size == 0))]  # 0 must not come twice as often
        made = np.concatenate([made, size])
    return made[:number]


def _remainders(stream: Stream, scale: int, number: int) -> np.ndarray:
    """Whole numbers u below the scale, fewer than asked for, each with probability proportional to exp(-u / scale)."""
    tried = below_all(stream, scale, number)
    return tried[accept_exp_all(stream, tried / scale, LOOSE, lambda i: Fraction(-int(tried[i]), scale))]


def below_all(stream: Stream, bound: int, number: int) -> np.ndarray:
    """Independent whole numbers (number,) from 0 to bound - 1, each as likely."""
    assert 0 < bound < 1 << 62, "a bound fits in a word"
    shift = np.uint64(64 - max((bound - 1).bit_length(), 1))
    made = np.empty(0, np.int64)
    while len(made) < number:
        drawn = (stream.words(2 * (number - len(made))) >> shift).astype(np.int64)
        made = np.concatenate([made, drawn[drawn < bound]])
    return made[:number]


def accept_exp_all(stream: Stream, size: np.ndarray, off: np.ndarray | float, exact: Exponents) -> np.ndarray:
    """Whether each of many events happens, with probability exp(-size); exactly.

    `size` (number,) are floats within `off` of the true exponents, which `exact` gives one by one, below 0.
    """
    bits = stream.words(len(size))
    drawn, near = bits * 2.0**-64, np.exp(-size)
    slack = near * (ROOM + np.expm1(np.minimum(2 * np.broadcast_to(off, size.shape), 1.0))) + 2.0**-60
    happens = drawn < near - slack
    for i in np.flatnonzero(np.abs(drawn - near) <= slack):
        happens[i] = accept_exp(stream, exact(int(i)), number=int(bits[i]), bits=BITS)
    return happens


def _taken(stream: Stream, proposed: np.ndarray, variance: Fraction, scale: int) -> np.ndarray:
    """Whether each Laplace number is taken as a Gaussian one: with exp(-(|z| - variance / scale)^2 / (2 variance))."""

    def exact(i: int) -> Fraction:
        return -((abs(int(proposed[i])) - variance / scale) ** 2) / (2 * variance)

    spread = float(variance)
    apart = np.abs(proposed) - spread / scale
    off = LOOSE * (np.abs(proposed) + spread / scale) * np.abs(apart) / spread + LOOSE * apart**2 / spread
    return accept_exp_all(stream, apart**2 / (2 * spread), off, exact)


def _geometric(stream: Stream, number: int) -> np.ndarray:
    """How many events of probability exp(-1) happen in a row, (number,)."""
    count, going = np.zeros(number, np.int64), np.arange(number)
    while len(going):
        going = going[accept_exp_all(stream, np.ones(len(going)), 0.0, lambda _: Fraction(-1))]
        count[going] += 1
    return count
