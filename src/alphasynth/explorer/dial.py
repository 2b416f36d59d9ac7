"""`Dial`: a number of a mechanism as a slider, with the values that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Setting = Mapping[str, float]
EPSILON = "epsilon"
# Values of a slider that goes up by factors: so many in all, each rounded to three digits.
VALUES, DIGITS = 121, 3


@dataclass(frozen=True)
class Dial:
    """A number of a mechanism: its option's name, the paper's symbol, what it does, its values, where it starts."""

    name: str
    symbol: str
    words: str
    values: tuple[float, ...]
    start: float

    @classmethod
    def linear(cls, name: str, symbol: str, words: str, reach: tuple[float, float, float], start: float) -> Dial:
        """Values from low to high in steps, and the start among them.

        >>> Dial.linear("k", "k", "", (0.5, 1.0, 0.25), 0.9).values
        (0.5, 0.75, 0.9, 1.0)
        """
        low, high, step = reach
        values = {round(low + step * i, 6) for i in range(round((high - low) / step) + 1)} | {start}
        return cls(name, symbol, words, tuple(sorted(values)), start)

    @classmethod
    def factors(cls, name: str, symbol: str, words: str, reach: tuple[float, float], start: float) -> Dial:
        """Values from low to high by equal factors, rounded, and the start among them.

        >>> Dial.factors("radius", "r", "", (1.0, 100.0), 10.0).values[:3]
        (1.0, 1.04, 1.08)
        """
        values = {float(f"{value:.{DIGITS}g}") for value in np.geomspace(*reach, VALUES)} | {start}
        return cls(name, symbol, words, tuple(sorted(values)), start)

    def at(self, share: float) -> float:
        """The value at a share of the way from end to end: by factors, or where there is a 0 by steps.

        >>> Dial.factors("radius", "r", "", (1.0, 100.0), 10.0).at(0.5)
        10.0
        """
        low, high = self.values[0], self.values[-1]
        wanted = low * (high / low) ** share if low > 0 else low + share * (high - low)
        return min(self.values, key=lambda value: abs(value - wanted))


def start_of(dials: Sequence[Dial]) -> dict[str, float]:
    """The setting that a page opens at."""
    return {dial.name: dial.start for dial in dials}


def spread_settings(dials: Sequence[Dial], number: int) -> list[dict[str, float]]:
    """Settings all over the sliders, the same each time: corners at both ends, and a Halton sequence between them."""
    from scipy.stats.qmc import Halton

    between = Halton(len(dials), scramble=False).random(number)
    return [
        {dial.name: dial.at(share) for dial, share in zip(dials, shares, strict=True)}
        for shares in (np.zeros(len(dials)), np.ones(len(dials)), *between)
    ]
