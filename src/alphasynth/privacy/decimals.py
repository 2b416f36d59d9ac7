"""Exact sums as decimals: what is spent is never shown below what it is, what is left never above."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

PLACES = 10**4
DIGITS = 17  # of a small number; all that a float has


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


def shown_small(value: Fraction) -> str:
    """A small number, such as a delta, as it was written down; with more digits than a float has, never below it.

    >>> shown_small(Fraction("1e-9")), shown_small(Fraction("2.5e-6") * 3), shown_small(Fraction("0.001"))
    ('1e-9', '7.5e-6', '0.001')
    """
    return _small(value, ROUND_CEILING)


def shown_small_left(cap: Fraction, before: Fraction) -> str:
    """What is left of a small number under a cap, never more than it is.

    >>> shown_small_left(Fraction("1e-6"), Fraction("2e-7")), shown_small_left(Fraction(0), Fraction(1))
    ('8e-7', '0')
    """
    return _small(max(cap - before, Fraction(0)), ROUND_FLOOR)


def _small(value: Fraction, rounding: str) -> str:
    context = Context(prec=DIGITS, rounding=rounding)
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    short = number.normalize(context)
    return f"{short:e}" if number and short.adjusted() < -3 else f"{short:f}"


def _decimal(number: int) -> str:
    """So many of the smallest places that are shown, in digits; whole numbers alone, so that nothing is rounded."""
    whole, rest = divmod(number, PLACES)
    return f"{whole}.{rest:04}".rstrip("0").rstrip(".")
