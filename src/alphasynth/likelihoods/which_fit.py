"""Of which fit a matrix is, as far as can be told: what contradicts the weights that its fit is said to have had.

Of weights that came with the F that they were made from (`made_from`, unweighted) more can be told than of others.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from alphasynth.errors import InputError, OrderWarning

MADE_FROM = "log_lik must be of the fit that had these weights, found the matrix that the weights were made from"
SHARED = (
    "log_lik must be of the fit that had these weights, found F of some records to the last digit as it was where the "
    "weights were made: draws of that fit are among these"
)
MULTIPLIED = "log_lik must not be multiplied by the weights unless weighted=True (--weighted) says so, found "
ALL_ZERO = f"{MULTIPLIED}entries that are all 0 where the weight is 0; leave such records out if that is what they are"
FOLLOW = f"{MULTIPLIED}that the largest by record follow the weights times F of the fit before, and not that F"
NOT_MULTIPLIED = "log_lik must be multiplied by the weights where weighted=True (--weighted) says so, found "
SOME_NOT_ZERO = f"{NOT_MULTIPLIED}entries other than 0 where the weight is 0"
FOLLOW_NOT = f"{NOT_MULTIPLIED}that the largest by record follow F of the fit before, and not the weights times that F"
OTHER_ORDER = (
    "log_lik must have its records in the order of the weights: F by record hardly goes along with the F that the "
    "weights were made from"
)

FEWEST = 5  # records with different F from which a line or a proportion is no accident
SAME = 1e-12  # F of a weighted matrix is a quotient, and a file may have rounded it
ON_A_LINE = 1e-9  # weights that lie so near a straight line in F were made from that F
# No other fit shares F to nine digits. Of F with fewer, as in files that round, some are equal by chance.
NINE_DIGITS, MOST_BY_CHANCE, FEWEST_SHARED = 9, 0.3, 3
# What F follows is judged of so many records and draws at least: of fewer, F of one fit says little of another's.
RECORDS, DRAWS = 50, 10
# Below 0.8 scalar weights tell F apart; nearer to 1 fewer draws make F as much smaller.
SCALAR = 0.8
ALONG = 0.3  # rank correlation; of F in another order it lies about 0, of two fits near 1


@dataclass(frozen=True, eq=False)
class Compared:
    """A matrix beside the weights of its fit (confidential): largest |entry| by record as given, and F made of it.

    `varies` says which records' entries are not the same in all draws. `parts` are the F of chains in files of their
    own. `made_from` is the F that the weights were made from, where that is known.
    """

    alpha: np.ndarray = field(repr=False)
    entries: np.ndarray = field(repr=False)
    largest: np.ndarray = field(repr=False)
    varies: np.ndarray = field(repr=False)
    draws: int
    weighted: bool
    made_from: np.ndarray | None = field(repr=False)
    parts: tuple[np.ndarray, ...] = field(default=(), repr=False)

    def check(self) -> None:
        """Raise `InputError` for what contradicts the weights; an `OrderWarning` where records may be out of order."""
        self._check_zeros()
        if not self.weighted:
            check_not_on_a_line(self.alpha, self.largest)
        if self.made_from is None:
            return
        for largest in (self.largest, *self.parts):
            _check_other(largest, self.made_from, self.varies)
        self._check_multiplied(self.made_from)
        if self.draws >= DRAWS:
            _check_order(self.largest, self.made_from)

    def _check_zeros(self) -> None:
        """Where the weight is 0, entries are 0 where they are multiplied by it, and hardly ever where they are not."""
        at_zero = self.entries[self.alpha == 0]
        if self.weighted and (at_zero != 0).any():
            raise InputError(SOME_NOT_ZERO)
        if not self.weighted and at_zero.size and (at_zero == 0).all():
            raise InputError(ALL_ZERO)

    def _check_multiplied(self, made_from: np.ndarray) -> None:
        """Refuse entries that follow alpha F where F is asked for, and the other way round."""
        known = (self.alpha > 0) & _positive(made_from) & _positive(self.entries)
        if known.sum() < RECORDS or self.draws < DRAWS:
            return
        alpha = np.log(self.alpha[known])
        rise = np.log(self.entries[known]) - np.log(made_from[known])
        looks = _looks_multiplied(alpha, rise)
        if looks is not None and looks is not self.weighted:
            raise InputError(FOLLOW if looks else FOLLOW_NOT)


def _positive(values: np.ndarray) -> np.ndarray:
    return np.isfinite(values) & (values > 0)


def _looks_multiplied(alpha: np.ndarray, rise: np.ndarray) -> bool | None:
    """Whether entries follow alpha F clearly better than F, or F clearly better, from logarithms; None where neither.

    `rise` is that of entries over F of the fit before. Fewer draws make all F smaller, so that of weights that differ
    only what goes along with them counts. A weighted fit suits records of small weight less: their F rises.
    """
    if len(np.unique(alpha)) < FEWEST:
        before, after = float(np.mean(rise**2)), float(np.mean((rise - alpha) ** 2))
        if np.ptp(alpha) > ON_A_LINE or alpha[0] > np.log(SCALAR):
            return None
        return True if 9 * after < before else False if 9 * before < after else None
    along, moved = alpha - alpha.mean(), rise - rise.mean()
    squares, rest = float(along @ along), float(moved @ moved)
    slope = float(along @ moved) / squares
    if slope > 0.5 and slope * np.sqrt(squares) > 0.8 * np.sqrt(rest):  # the second is their correlation
        return True
    return False if slope < 0.1 and 9 * rest < float(((moved - along) ** 2).sum()) else None


def _check_other(largest: np.ndarray, made_from: np.ndarray, varies: np.ndarray) -> None:
    """Refuse the F that the weights were made from, of all records or of some: draws are of the fit before.

    Records whose entries are the same in all draws have the same F in every fit, and a number at which a program cuts
    its entries is one number: what counts is how many different F are shared.
    """
    known = _positive(largest) & _positive(made_from) & varies
    if not known.any():
        return
    before = made_from[known]
    same = np.abs(largest[known] - before) <= SAME * before
    if same.all():
        raise InputError(MADE_FROM)
    shared, several = np.unique(before[same]), np.unique(before)
    if (~_is_short(shared)).sum() >= FEWEST_SHARED or len(shared) > max(FEWEST, MOST_BY_CHANCE * len(several)):
        raise InputError(SHARED)


def _is_short(values: np.ndarray) -> np.ndarray:
    """Whether numbers have nine digits at most, or are those of single precision."""
    scaled = values * 10.0 ** (NINE_DIGITS - 1 - np.floor(np.log10(values)))
    return (np.abs(scaled - np.rint(scaled)) < 1e-5) | (values.astype(np.float32) == values)


def _check_order(largest: np.ndarray, made_from: np.ndarray) -> None:
    """Warn where F by record hardly goes along with F of the fit before, in ranks."""
    from scipy.stats import rankdata

    known = np.isfinite(largest) & np.isfinite(made_from)
    ranks = [rankdata(values[known]) for values in (largest, made_from)]
    if known.sum() < RECORDS or min(len(np.unique(rank)) for rank in ranks) < FEWEST:
        return
    if np.corrcoef(*ranks)[0, 1] < ALONG:
        warnings.warn(OTHER_ORDER, OrderWarning, stacklevel=4)


def check_not_on_a_line(alpha: np.ndarray, largest: np.ndarray) -> None:
    """Refuse the matrix that weights were made from where nothing is known of it: by what the weights are.

    LW's are a straight line in F, which falls; re-weighting's are in proportion to 1 / F. No other fit's F does that.
    """
    between = (alpha > 0) & (alpha < 1) & np.isfinite(largest)
    x, y = largest[between], alpha[between]
    if len(np.unique(x)) < FEWEST or np.ptp(y) <= ON_A_LINE:
        return
    low, high = np.argmin(x), np.argmax(x)
    line = y[low] + (y[high] - y[low]) * (x - x[low]) / (x[high] - x[low])
    falls = y[low] > y[high] and np.abs(line - y).max() <= ON_A_LINE
    if falls or np.ptp(x * y) <= ON_A_LINE * (x * y).max():
        raise InputError(MADE_FROM)
