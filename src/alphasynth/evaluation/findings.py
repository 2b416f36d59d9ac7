"""`Finding`: one number in the confidential table and in synthetic ones, and how far apart; by limits stated here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# A number holds where it is no farther away than an interval of 95 % goes.
HOLDS = 2.0
# So often would two samples of one population, which differ by chance alone, have any number off.
CHANCE = 0.01
# What is smaller does not matter, whatever its standard error: standard deviations of the column for means and standard
# deviations, shares of rows for quantiles and shares, units of an association, parts of a coefficient.
SMALL = 0.01
# What is larger is named even where chance alone may be why: a user sees the number, not its standard error.
LARGE = 0.2
# With fewer rows on either side, chance and difference cannot be told apart.
FEWEST_ROWS = 20
# With fewer rows to a term a regression follows the rows that it has, and its standard errors are none.
FEWEST_ROWS_PER_TERM = 10
# A count of so many rows has a standard error of a tenth of it; numbers about smaller groups are mostly chance.
SMALL_GROUP = 100

CENTRE, TAIL, SHARE, PAIR, COEFFICIENT, TOLD_APART = "centre", "tail", "share", "pair", "coefficient", "told apart"


@dataclass(frozen=True)
class Finding:
    """A number in both (confidential): its kind, what it is and of which columns, how far apart, how large that is.

    `apart` is in standard errors of the difference, `error` is one of these, and `size` has the unit of the limit of
    what does not matter. With `day` both numbers are days' numbers.
    """

    kind: str
    what: str
    of: tuple[str, ...]
    confidential: float
    synthetic: float
    error: float
    apart: float
    size: float
    day: bool = False

    @property
    def holds(self) -> bool:
        """Whether it is near enough."""
        return self.apart <= HOLDS or self.size <= SMALL

    @property
    def is_large(self) -> bool:
        """Whether it is far away in its own unit; coefficients near 0 always are, and scores have none."""
        return self.kind in (CENTRE, TAIL, SHARE, PAIR) and self.size > LARGE

    def is_off(self, beyond: float) -> bool:
        """Whether it is farther away than chance goes, by an amount that matters."""
        return self.apart > beyond and self.size > SMALL


class Facts(NamedTuple):
    """What decides beside the numbers: rows, whether there are intervals, whether records had weights of their own.

    And columns that were not compared.
    """

    n: int
    rows: int
    intervals: bool = True
    vector: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def too_few(self) -> bool:
        """Whether there are too few rows to say anything."""
        return min(self.n, self.rows) < FEWEST_ROWS
