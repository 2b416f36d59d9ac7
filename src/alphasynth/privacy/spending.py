"""`Spending`: a budget in exact fractions, the noise that each part of it buys, and what was spent on what."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from alphasynth.errors import InputError, PrivacyFault
from alphasynth.privacy.exponential import draw
from alphasynth.privacy.gaussian import discrete_gaussian, discrete_laplace_all
from alphasynth.privacy.randomness import Stream

# Noise of a larger variance would not be sure to fit in 64 bits.
MOST_VARIANCE = 1 << 104


@dataclass(frozen=True)
class Sensitivity:
    """How far one unit moves a vector of whole-number sums: squared Euclidean length, and absolute values in all."""

    square: int
    absolute: int

    @classmethod
    def of_counts(cls, tables: int, rows: int) -> Sensitivity:
        """Of the counts of so many tables, in each of which every row of a unit counts once.

        >>> Sensitivity.of_counts(3, 2)
        Sensitivity(square=12, absolute=6)
        """
        return cls(tables * rows**2, tables * rows)


@dataclass(frozen=True)
class Measured:
    """What was measured together: its name, how many sums, how far a unit moves them, the noise's variance, the cost.

    A choice among several has no sums and no noise.
    """

    name: str
    cost: Fraction
    sums: int = 0
    sensitivity: Sensitivity | None = None
    variance: Fraction | None = None


@dataclass
class Spending:
    """A budget, rho of zero-concentrated privacy or a pure epsilon, and what was spent of it, part by part."""

    total: Fraction
    pure: bool
    measured: list[Measured] = field(default_factory=list)

    @property
    def spent(self) -> list[tuple[str, Fraction]]:
        """What each part cost."""
        return [(each.name, each.cost) for each in self.measured]

    def take(self, name: str, part: Fraction, measured: Measured | None = None) -> Fraction:
        """Spend a part of the total; it is noted before anything is measured. Raise `PrivacyFault`."""
        cost = self.total * part
        if cost <= 0:
            raise PrivacyFault(f"what is measured must cost something, found {name!r} for nothing")
        if sum((each for _, each in self.spent), cost) > self.total:
            raise PrivacyFault(f"no more must be spent than there is, found {name!r} beyond that")
        self.measured.append(Measured(name, cost) if measured is None else replace(measured, cost=cost))
        return cost

    def variance(self, sensitivity: Sensitivity, part: Fraction) -> Fraction:
        """The noise's variance that a part of the budget buys."""
        cost = self.total * part
        if self.pure:
            return Fraction(2 * math.ceil(sensitivity.absolute / cost) ** 2)
        return sensitivity.square / (2 * cost)

    def noisy(
        self, stream: Stream, sums: np.ndarray, sensitivity: Sensitivity, name: str, part: Fraction
    ) -> tuple[np.ndarray, float]:
        """Whole-number sums with exactly sampled noise, and the noise's variance; raise `InputError`."""
        variance = self.variance(sensitivity, part)
        if variance > MOST_VARIANCE:
            raise InputError("epsilon must be larger for noise that fits in 64 bits, found one that is too small")
        cost = self.take(name, part, Measured(name, Fraction(0), len(sums), sensitivity, variance))
        if self.pure:
            noise = discrete_laplace_all(stream, math.ceil(sensitivity.absolute / cost), len(sums))
        else:
            noise = discrete_gaussian(stream, variance, len(sums))
        return sums + noise, float(variance)

    def check_spent(self) -> None:
        """Raise `PrivacyFault` unless all of the budget is spent, which is what is stated."""
        if sum(cost for _, cost in self.spent) != self.total:
            raise PrivacyFault("all of the budget must be spent and no more, found another sum")

    def choose(self, stream: Stream, scores: np.ndarray, rows: int, name: str, part: Fraction) -> int:
        """The number of one of several whole-number scores, larger ones the likelier: the exponential mechanism.

        A unit moves a score by at most `rows`, up or down. A choice has a range of epsilon: epsilon^2 / 8 of rho.
        """
        cost = self.take(name, part)
        epsilon = cost if self.pure else _root_below(8 * cost)
        worth = np.asarray(scores.max() - scores, np.int64)
        return int(draw(stream, np.ones(len(scores), np.int64), worth, epsilon / (2 * rows), 1)[0])


def _root_below(square: Fraction) -> Fraction:
    """A fraction at most the square root.

    >>> _root_below(Fraction(4)) <= 2
    True
    """
    scale = 1 << 60
    return Fraction(math.isqrt(math.floor(square * scale**2)), scale)
