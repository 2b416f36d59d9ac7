"""The exponential mechanism on a finite set, exactly: no probability is ever rounded.

Point t has probability proportional to w(t) = prior(t) exp(-K(t) quantum), with whole numbers prior(t) >= 1 and
K(t) >= 0 and a rational quantum. Floating point only proposes: whole numbers W(t) at or above c w(t), for some common
factor c, are drawn from by exact integer arithmetic, and a proposal is accepted with probability c w(t) / W(t),
compared bit by bit with a random number, in as many digits as it takes. What is accepted has the distribution w.

`draw_between` knows K only to lie between bounds, and asks for it where they do not decide: ceilings are made of the
lower bounds, a proposal whose random number is below or above what either bound says is judged without K.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np

from alphasynth.errors import PrivacyFault
from alphasynth.privacy.randomness import Stream

SCALE = 1 << 40  # W of the likeliest point; a grid of 4 million points keeps the sum of W within 64 bits
# W is above c w by this share: far more than what floating-point logarithms and exponentials are off.
ROOM = 2.0**-20
MOST_POINTS = 1 << 22
# Bits of the random number that a probability is compared with, at first and whenever they do not decide.
BITS = 64
AT_MOST_ONE = "a probability must be at most 1: W must be at or above c w"


def draw(stream: Stream, prior: np.ndarray, cost: np.ndarray, quantum: Fraction, number: int) -> np.ndarray:
    """Numbers (number,) of points drawn independently; `prior` and `cost` (K) hold whole numbers (points,).

    Raise `PrivacyFault`.
    """
    _require(len(prior) <= MOST_POINTS, "the sum of W must fit in 64 bits")
    cost = cost - cost.min()  # a common factor
    ceiling, top = _ceilings(prior, cost, quantum)
    sums = np.cumsum(ceiling)
    drawn = np.empty(number, np.int64)
    for i in range(number):
        while True:
            t = int(np.searchsorted(sums, stream.below(int(sums[-1])), side="right"))
            exponent = -int(cost[t]) * quantum - Fraction(top)
            if accept_exp(stream, exponent, Fraction(SCALE * int(prior[t]), int(ceiling[t]))):
                break
        drawn[i] = t
    return drawn


# K of points, by their numbers.
Exact = Callable[[np.ndarray], np.ndarray]


def draw_between(
    stream: Stream, prior: np.ndarray, low: np.ndarray, high: np.ndarray, exact: Exact, quantum: Fraction, number: int
) -> np.ndarray:
    """As `draw`, where K lies between `low` and `high` (points,); `exact` gives it for points that it is asked of.

    All draws go on together, so that `exact` is asked a few times, of many points. Raise `PrivacyFault`.
    """
    _require(len(prior) <= MOST_POINTS, "the sum of W must fit in 64 bits")
    base = int(low.min())  # a common factor
    ceiling, top = _ceilings(prior, low - base, quantum)
    sums = np.cumsum(ceiling)
    drawn = np.full(number, -1, np.int64)
    while (pending := np.flatnonzero(drawn < 0)).size:
        undecided = []
        for i in pending.tolist():
            t = int(np.searchsorted(sums, stream.below(int(sums[-1])), side="right"))
            factor, bits = Fraction(SCALE * int(prior[t]), int(ceiling[t])), stream.bits(BITS)
            least, most = ((base - Fraction(end)) * quantum - Fraction(top) for end in (float(high[t]), float(low[t])))
            _require(factor * _enclose(most, 50)[0] <= 1, AT_MOST_ONE)
            if bits + 1 <= factor * _enclose(least, 50)[0] * (1 << BITS):
                drawn[i] = t
            elif bits < factor * _enclose(most, 50)[1] * (1 << BITS):
                undecided.append((i, t, factor, bits))
        if undecided:
            costs = exact(np.array([t for _, t, _, _ in undecided]))
            for (i, t, factor, bits), cost in zip(undecided, costs, strict=True):
                _require(low[t] <= cost <= high[t], "K must lie between its bounds")
                if accept_exp(stream, (base - int(cost)) * quantum - Fraction(top), factor, bits, BITS):
                    drawn[i] = t
    return drawn


def _require(holds: bool | np.bool_, rule: str) -> None:
    """Raise `PrivacyFault` where what makes draws exact does not hold."""
    if not holds:
        raise PrivacyFault(f"{rule}, found otherwise")


def _ceilings(prior: np.ndarray, cost: np.ndarray, quantum: Fraction) -> tuple[np.ndarray, float]:
    """W by point, for costs at or below K less a common number, and the logarithm of what its factor takes off."""
    log_weight = np.log(prior.astype(np.float64)) - cost * float(quantum)
    top = float(log_weight.max())
    ceiling = np.ceil(SCALE * np.exp(log_weight - top) * (1 + ROOM)).astype(np.int64)
    return np.maximum(ceiling, 1), top


def accept_exp(
    stream: Stream, exponent: Fraction, factor: Fraction = Fraction(1), number: int = 0, bits: int = 0
) -> bool:
    """True with probability factor * exp(exponent), which must be at most 1, exactly.

    The first `bits` bits of the random number that decides may have been drawn already: `number`.
    """
    digits = 30
    while True:
        number, bits = (number << BITS) | stream.bits(BITS), bits + BITS
        digits += 20
        low, high = _enclose(exponent, digits)
        _require(factor * low <= 1, AT_MOST_ONE)
        if number + 1 <= factor * low * (1 << bits):
            return True
        if number >= factor * high * (1 << bits):
            return False


def _enclose(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Numbers below and above exp(exponent), apart by a few units in the last of so many digits.

    Decimal's division and exponential are correctly rounded; exp of the rounded exponent is off by the rounding too.
    """
    if exponent < -10 * digits:  # below 10^(-4 digits), and not worth its digits unless the bits run out
        return Fraction(0), Fraction(1, 10 ** (4 * digits))
    with decimal.localcontext(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX):
        rounded = Decimal(exponent.numerator) / Decimal(exponent.denominator)
        value = Fraction(rounded.exp())
    # |rounded - exponent| is at most half a unit in its last digit; exp multiplies by at most 1 + twice that.
    slack = abs(exponent) * Fraction(1, 10 ** (digits - 1)) * 2 + Fraction(1, 10 ** (digits - 1))
    return value * (1 - slack), value * (1 + slack)
