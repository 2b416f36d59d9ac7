"""Exact sums as decimals: what is spent is never shown below what it is, what is left never above."""

from __future__ import annotations

from fractions import Fraction

PLACES = 10**4


def shown(value: Fraction) -> str:
    """A sum as a decimal of four places, never below it.

    >>> shown(Fraction("0.1") * 3), shown(Fraction(10)), shown(Fraction("11.123456"))
    ('0.3', '10', '11.1235')
    """
    return _decimal(-(-value * PLACES // 1))


def shown_left(cap: Fraction, before: Fraction) -> str:
    """What is left under a cap as a decimal of four places, never more than it is.

    >>> shown_left(Fraction(1), Fraction(1, 3)), shown_left(Fraction(1), Fraction(2))
    ('0.6666', '0')
    """
    return _decimal(max((cap - before) * PLACES // 1, 0))


def _decimal(number: int) -> str:
    """So many of the smallest places that are shown, in digits; whole numbers alone, so that nothing is rounded."""
    whole, rest = divmod(number, PLACES)
    return f"{whole}.{rest:04}".rstrip("0").rstrip(".")
