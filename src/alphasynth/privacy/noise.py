"""Whole-number noise, sampled exactly: what is added to sums of bounded whole numbers that a strict promise rests on.

Discrete Laplace noise z has probability proportional to exp(-|z| / scale). Added to a sum that one record moves by at
most `reach` (in absolute values over all entries together), with scale reach / epsilon, it keeps epsilon exactly: no
probability is rounded, no floating point comes near it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from alphasynth.privacy.exponential import accept_exp
from alphasynth.privacy.randomness import Stream


def discrete_laplace(stream: Stream, scale: Fraction) -> int:
    """A whole number z with probability proportional to exp(-|z| / scale) (Canonne, Kamath and Steinke 2020).

    >>> abs(discrete_laplace(Stream(np.random.SeedSequence(1)), Fraction(3))) < 1_000
    True
    """
    assert scale > 0, "a scale is positive"
    top, bottom = scale.numerator, scale.denominator
    while True:
        # u + top * v is geometric with ratio exp(-1 / top): its remainder first, then its whole parts.
        u = stream.below(top)
        if not accept_exp(stream, Fraction(-u, top)):
            continue
        v = 0
        while accept_exp(stream, Fraction(-1)):
            v += 1
        size = (u + top * v) // bottom
        negative = stream.bits(1) == 1
        if negative and size == 0:  # 0 must not come twice as often
            continue
        return -size if negative else size


def with_noise(stream: Stream, sums: np.ndarray, reach: int, epsilon: float) -> np.ndarray:
    """Whole-number sums (D,) with noise that keeps epsilon, where one record moves them by at most `reach` in all.

    That is, the absolute values of what it adds, summed over the entries, are at most `reach`.
    """
    scale = reach / Fraction(epsilon)
    return np.array([int(value) + discrete_laplace(stream, scale) for value in sums], object)
