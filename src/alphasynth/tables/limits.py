"""Round numbers beyond a column's own: limits that one row rarely moves."""

from __future__ import annotations

import math
from fractions import Fraction

# Limits are multiples of a step of 1, 2 or 5 times a power of ten: the least that is at least this part of the range.
STEPS = 5


def round_number(size: float, down: bool) -> float:
    """The nearest of 1, 2 and 5 times a power of ten below a positive number or above, and never the number itself.

    >>> round_number(0.0123, True), round_number(77.0, False), round_number(20.0, True)
    (0.01, 100.0, 10.0)
    """
    exact, power = Fraction(repr(size)), math.floor(math.log10(size))
    near = [digit * Fraction(10) ** (power + shift) for shift in (-1, 0, 1) for digit in (1, 2, 5)]
    return float(max(n for n in near if n < exact) if down else min(n for n in near if n > exact))


def outward(low: float, high: float) -> tuple[float, float]:
    """Multiples of a round step beyond both ends of a range, so that no limit is a record's own; 0 is nobody's.

    >>> outward(18.0, 94.0), outward(0.0, 0.97), outward(-31.4, 1234.5)
    ((0.0, 100.0), (0.0, 1.0), (-500.0, 1500.0))
    """
    ends = Fraction(repr(low)), Fraction(repr(high))
    step = Fraction(repr(round_number(math.nextafter((high - low) / STEPS, 0), False)))
    below, above = math.ceil(ends[0] / step) - 1, math.floor(ends[1] / step) + 1
    return (0.0 if low == 0 else float(below * step), 0.0 if high == 0 else float(above * step))
