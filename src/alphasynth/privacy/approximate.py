"""Arithmetic of (epsilon, delta): the rho that a policy allows, ranges whose squares add up to it, what it comes to.

A draw whose loss has a range of e costs e^2 / 8 of rho in zero-concentrated privacy, and rho adds up. As everywhere,
what is stated is never below the exact number, and what is given out never adds up to more than there is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache

from alphasynth.privacy.accounting import at_least, epsilon_at, of_unit, rho_within, within

# A policy's delta: with more a promise would allow to publish one row in a thousand as it is, and less is nothing.
SMALLEST_DELTA, LARGEST_DELTA = 1e-100, 1e-3


def at_most(exact: Fraction) -> float:
    """The number as a float that is not above it.

    >>> at_most(Fraction(1, 3)) <= Fraction(1, 3)
    True
    """
    value = float(exact)
    return value if Fraction(value) <= exact else math.nextafter(value, 0.0)


@cache
def rho_of_row(policy_epsilon: float, delta: float, max_rows: int = 1) -> float:
    """The largest rho of one row that keeps a policy's epsilon and delta, for the row and for a unit of several.

    A unit of g rows has g^2 times a row's rho, and g times the policy's epsilon at the same delta.

    >>> rho = rho_of_row(4.0, 1e-9, 3)
    >>> epsilon_at(rho, 1e-9) <= 4.0, epsilon_at(9 * rho, 1e-9) <= 12.0
    (True, True)
    """
    alone, unit = rho_within(policy_epsilon, within(delta)), of_unit(policy_epsilon, max_rows)
    if max_rows == 1 or not math.isfinite(unit):
        return alone
    return min(alone, at_most(Fraction(rho_within(unit, within(delta))) / max_rows**2))


def rho_of_unit(rho: float, max_rows: int) -> float:
    """Rho of a unit of so many rows, from a row's: the square of their number times as much; never rounded down.

    >>> rho_of_unit(0.25, 3)
    2.25
    """
    return at_least(max_rows**2 * Fraction(rho))


def rho_of_ranges(ranges: Iterable[float], m: int = 1) -> Fraction:
    """Rho, exactly, of m draws of parts whose losses have these ranges.

    >>> rho_of_ranges([2.0, 4.0], 2)
    Fraction(5, 1)
    """
    return m * sum((Fraction(one) ** 2 for one in ranges), Fraction(0)) / 8


def split_squares(rho: float, m: int, shares: Sequence[float]) -> tuple[float, ...]:
    """Ranges of each part of each of m draws, in these proportions, that cost at most rho together, exactly.

    >>> split_squares(1.0, 2, (1.0,))
    (2.0,)
    """
    scale = math.sqrt(8 * rho / (m * math.fsum(share**2 for share in shares)))
    parts = [scale * share for share in shares]
    while rho_of_ranges(parts, m) > Fraction(rho):
        parts = [math.nextafter(part, 0.0) for part in parts]
    return tuple(parts)


def in_two_squares(epsilon: float, m: int, share: float) -> tuple[float, float]:
    """Ranges of a first draw, which has a share of rho, and then of m draws; rho is at most that of m of epsilon.

    >>> in_two_squares(1.0, 1, 0.25)[0]
    0.5
    """
    whole = m * Fraction(epsilon) ** 2
    first = math.sqrt(share * m) * epsilon
    rest = max(whole - Fraction(first) ** 2, Fraction(0)) / m
    second = math.sqrt(float(rest))
    while Fraction(second) ** 2 > rest:
        second = math.nextafter(second, 0.0)
    return first, second


def each_with_first(first: float, second: float, m: int) -> float:
    """What one of m draws costs with its part of a first one, in pure epsilons; never rounded down.

    >>> each_with_first(1.0, 0.5, 2)
    1.0
    """
    return at_least(Fraction(first) / m + Fraction(second))


def replaced_at(rho: float, delta: float) -> float:
    """The epsilon at this delta where a unit is replaced, removed and another added: four times its rho.

    >>> replaced_at(0.2, 1e-9) == epsilon_at(0.8, 1e-9)
    True
    """
    return epsilon_at(at_least(4 * Fraction(rho)), within(delta))


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """Rho that a pure epsilon has at most: half of its square.

    >>> rho_of_pure(Fraction(2))
    Fraction(2, 1)
    """
    return epsilon**2 / 2


def together_at(rho: Fraction, delta: Fraction, plain: Fraction) -> float | None:
    """The epsilon that so much rho comes to at so much delta, where that is below a plain sum; else None.

    >>> together_at(Fraction(1, 10), Fraction(1, 10**6), Fraction(1)) is None
    True
    >>> 2 < together_at(Fraction(1, 10), Fraction(1, 10**6), Fraction(4)) < 3
    True
    """
    if not 0 < delta < 1 or rho == 0:
        return None
    epsilon = epsilon_at(at_least(rho), at_most(delta))
    return epsilon if Fraction(epsilon) < plain else None
