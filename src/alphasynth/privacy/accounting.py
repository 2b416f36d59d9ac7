"""Arithmetic of epsilon: sums and conversions that are never below the exact number, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

DELTA = 1e-6  # public; where an epsilon is stated beside the pure one, the delta that it goes with
ORDERS = 2_001  # tried in a conversion; each gives a bound, and the least of them is taken


def round_up(value: float, digits: int = 4) -> str:
    """Decimal with at least `digits` significant digits that is never below the value.

    >>> round_up(11.10001), round_up(0.5), round_up(219.99991)
    ('11.11', '0.5', '220')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(value)
    places = max(digits - 1 - exact.adjusted(), 0)
    text = f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_CEILING):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def times(number: int, value: float) -> float:
    """The product, never below the exact one.

    >>> times(3, 0.1), times(1, 0.1)
    (0.30000000000000004, 0.1)
    """
    product = number * value
    if math.isfinite(product) and Fraction(product) < number * Fraction(value):
        product = math.nextafter(product, math.inf)
    return product


def at_least(exact: Fraction) -> float:
    """The number as a float that is not below it.

    >>> at_least(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    value = float(exact)
    return value if Fraction(value) >= exact else math.nextafter(value, math.inf)


def of_unit(policy_epsilon: float, max_rows: int) -> float:
    """A policy's epsilon times the rows of a unit, in decimals: the policy's number is the one that was written down.

    Where no float is written like the product, the next one above.

    >>> of_unit(0.1, 3)
    0.3
    """
    product = float(max_rows * Decimal(repr(policy_epsilon)))
    if math.isfinite(product) and Fraction(repr(product)) < max_rows * Fraction(repr(policy_epsilon)):
        product = math.nextafter(product, math.inf)
    return product


def as_written(policy_epsilon: float) -> str:
    """A policy's number as it was written down, in plain decimals.

    >>> as_written(0.1), as_written(8.0), as_written(1e-05)
    ('0.1', '8', '0.00001')
    """
    text = f"{Decimal(repr(policy_epsilon)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "draw"), counted(1_000, "draw")
    ('1 draw', '1,000 draws')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def per_draw(epsilon: float, m: int) -> float:
    """The largest float whose m-fold is at most epsilon: what each of m draws may cost.

    >>> per_draw(4.0, 3) * 3 <= 4.0
    True
    """
    share = epsilon / m
    while m * Fraction(share) > Fraction(epsilon):
        share = math.nextafter(share, 0.0)
    return share


def split(epsilon: float, m: int, shares: Sequence[float]) -> tuple[float, ...]:
    """What each part of each of m draws may cost, in these proportions; all of them together at most epsilon, exactly.

    >>> sum(split(1.0, 1, (0.1, 0.2, 0.7))) <= 1.0
    True
    """
    parts = [per_draw(epsilon, m) * share for share in shares]
    while m * sum(map(Fraction, parts), Fraction(0)) > Fraction(epsilon):
        parts = [math.nextafter(part, 0.0) for part in parts]
    return tuple(parts)


def concentrated(epsilon_per_draw: float, m: int, rows: int = 1) -> float:
    """Rho of zero-concentrated privacy for m draws whose loss has a range of epsilon each: m epsilon^2 / 8.

    For a unit of several rows the range is that many times epsilon. Never below the exact number.

    >>> concentrated(4.0, 1)
    2.0
    """
    return at_least(m * (rows * Fraction(epsilon_per_draw)) ** 2 / 8)


def epsilon_at(rho: float, delta: float = DELTA) -> float:
    """An epsilon that rho-zCDP keeps at this delta (Canonne, Kamath and Steinke 2020): every order above 1 gives one.

    >>> 9 < epsilon_at(2.0) < 12
    True
    """
    best = 1 + math.sqrt(math.log(1 / delta) / rho)  # of a simpler bound; this one's is near
    orders = (1 + (best - 1) * 8 ** (2 * i / (ORDERS - 1) - 1) for i in range(ORDERS))
    bounds = (rho * a + (math.log(1 / delta) - math.log(a)) / (a - 1) + math.log1p(-1 / a) for a in orders)
    return max(min(bounds), 0.0) * (1 + 1e-12)
