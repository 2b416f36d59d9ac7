"""All arithmetic of epsilon: sums, parts and conversions in exact fractions, and how numbers are written.

What is stated is never below the exact number, and what is given out never adds up to more than there is. A number that
a person wrote down (a policy's epsilon, a cap) counts as the decimal that was written: 0.1 is a tenth, though the float
that holds it is a little more (`written`). A number that was computed counts as the float that it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

DELTA = 1e-6  # public; where an epsilon is stated beside the pure one, the delta that it goes with
ORDERS, APART = 2_001, 32  # for a conversion: each gives a bound, and the least is looked for, in two steps


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


def total(parts: Iterable[float]) -> float:
    """What several parts cost together, never below the exact sum.

    >>> total([0.1, 0.2]) >= Fraction(0.1) + Fraction(0.2)
    True
    """
    return at_least(sum(map(Fraction, parts), Fraction(0)))


def written(number: float | str) -> Fraction:
    """The decimal that was written down, exactly.

    >>> written(0.1), written("2.50")
    (Fraction(1, 10), Fraction(5, 2))
    """
    return Fraction(number if isinstance(number, str) else repr(float(number)))


def within(policy_epsilon: float) -> float:
    """The largest float that is at most a policy's epsilon, as a number and as it was written: what may be spent.

    >>> within(4.0), Fraction(within(0.1)) <= Fraction(1, 10)
    (4.0, True)
    """
    most = min(Fraction(policy_epsilon), written(policy_epsilon))
    return policy_epsilon if Fraction(policy_epsilon) <= most else math.nextafter(policy_epsilon, 0.0)


def covering(exact: Fraction) -> float:
    """The least float that, written down, is not below an exact number; infinite where none is as large.

    >>> covering(Fraction(3, 10)), covering(Fraction(1, 3)), covering(Fraction(10) ** 400)
    (0.3, 0.33333333333333337, inf)
    """
    try:
        value = float(exact)
    except OverflowError:
        return math.inf
    while math.isfinite(value) and written(value) < exact:
        value = math.nextafter(value, math.inf)
    return value


def of_unit(policy_epsilon: float, max_rows: int) -> float:
    """A policy's epsilon times the rows of a unit, in decimals: the policy's number is the one that was written down.

    Where no float is written like the product, the next one above; infinite where none is as large.

    >>> of_unit(0.1, 3), of_unit(1e308, 100)
    (0.3, inf)
    """
    return covering(max_rows * written(policy_epsilon))


def replacing(policy_epsilon: float, max_rows: int) -> float:
    """What a policy's epsilon comes to where a unit of so many rows is replaced: removed, and another one added.

    >>> replacing(0.1, 3)
    0.6
    """
    return of_unit(policy_epsilon, 2 * max_rows)


def epsilon_of(bound: float) -> float:
    """Epsilon of one draw under a Lipschitz bound: twice Delta, which floating point doubles exactly.

    >>> epsilon_of(2.5)
    5.0
    """
    return 2 * bound


def bound_of(epsilon_per_draw: float) -> float:
    """The Lipschitz bound Delta under which one draw costs at most this epsilon: half of it.

    >>> bound_of(5.0)
    2.5
    """
    half = epsilon_per_draw / 2
    return half if 2 * Fraction(half) <= Fraction(epsilon_per_draw) else math.nextafter(half, 0.0)


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


def first_parts(bound: float, m: int, shares: Sequence[float]) -> tuple[float, ...]:
    """What the first draws may cost that budget weights are made from, one for each column: half of the budget in all.

    The m draws that follow have a range of at most `bound` each, and these have m times the bound together.

    >>> first_parts(1.0, 3, (0.5, 0.5))
    (1.5, 1.5)
    """
    whole = m * bound
    return split(whole if Fraction(whole) <= m * Fraction(bound) else math.nextafter(whole, 0.0), 1, shares)


def in_two_parts(epsilon: float, m: int, share: float) -> tuple[float, float]:
    """What a first draw costs, a share of all, and then each of m draws; together at most m times epsilon, exactly.

    >>> in_two_parts(1.0, 2, 0.5)
    (1.0, 0.5)
    """
    first = share * m * epsilon
    second = per_draw(m * epsilon - first, m)
    while Fraction(first) + m * Fraction(second) > m * Fraction(epsilon):
        second = math.nextafter(second, 0.0)
    return first, second


def start_and_rounds(epsilon: float, start: float, shares: Sequence[float]) -> tuple[float, tuple[float, ...]]:
    """What a start costs, a share of epsilon, and what each round does, by its share of the rest; at most epsilon.

    >>> start_and_rounds(1.0, 0.5, (0.5, 0.5))
    (0.5, (0.25, 0.25))
    """
    first, *rounds = split(epsilon, 1, (start, *((1 - start) * share for share in shares)))
    return first, tuple(rounds)


def part_of(part: float, whole: float) -> float:
    """The share of a cost that one part of it has, never below the exact one.

    >>> part_of(1.0, 4.0)
    0.25
    """
    return at_least(Fraction(part) / Fraction(whole))


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
    # A simpler bound's; this one's is near. Not so near 1 that no float lies between.
    best = 1 + max(math.sqrt(math.log(1 / delta) / rho), 1e-9)

    def bound(number: int) -> float:
        a = 1 + (best - 1) * 8 ** (2 * number / (ORDERS - 1) - 1)
        return rho * a + (math.log(1 / delta) - math.log(a)) / (a - 1) + math.log1p(-1 / a)

    near = min(range(0, ORDERS, APART), key=bound)  # it falls and then rises; any is one that is kept
    found = min(map(bound, range(max(near - APART, 0), min(near + APART + 1, ORDERS))))
    return max(found, 0.0) * (1 + 1e-12)


def rho_within(policy_epsilon: float, delta: float) -> float:
    """The largest rho of zero-concentrated privacy, to twelve digits, that keeps a policy's epsilon at its delta.

    >>> rho = rho_within(4.0, 1e-9)
    >>> 0.2 < rho < 0.21, epsilon_at(rho, 1e-9) <= 4.0
    (True, True)
    """
    most, low, high = within(policy_epsilon), 0.0, within(policy_epsilon)
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_at(middle, delta) <= most else (low, middle)
    return low


def epsilon_beside(rho: float, pure: float) -> float:
    """The epsilon that is stated at the public delta beside a pure one: that of rho, or the pure one if it is less.

    >>> epsilon_beside(2.0, 1.0)
    1.0
    """
    return min(pure, epsilon_at(rho))


def spent(epsilons: Iterable[str]) -> Fraction:
    """What runs have spent together: the exact sum of decimals as they were written down.

    >>> spent(["0.1"] * 10) == 1
    True
    """
    return sum(map(written, epsilons), Fraction(0))


def exceeds(before: Fraction, epsilon: float, cap: Fraction) -> bool:
    """Whether a run of this epsilon, after what was spent before, would take a data set above its cap.

    >>> exceeds(Fraction(9, 10), 0.1, Fraction(1)), exceeds(Fraction(1), 0.1, Fraction(1))
    (False, True)
    """
    return before + written(epsilon) > cap


def noted(epsilon: float) -> float:
    """A computed epsilon as a ledger notes it: written down, it is not below the number.

    >>> noted(2.5), written(noted(0.1)) >= Fraction(0.1)
    (2.5, True)
    """
    return covering(Fraction(epsilon)) if math.isfinite(epsilon) else epsilon
