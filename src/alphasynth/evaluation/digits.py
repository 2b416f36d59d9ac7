"""Numbers with the digits that their error allows: as many decimals as two significant digits of it have."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

MOST_DECIMALS, MOST_LETTERS = 6, 15  # of a number that is written out


class WithError(NamedTuple):
    """An estimate and its standard error, which says how many digits of it mean something; None where none is known.

    With `day` it is a day's number from 1970 on, and told as a date.
    """

    value: float
    error: float | None = None
    day: bool = False


class Days(NamedTuple):
    """From one day's number to another, told as dates."""

    low: float
    high: float


def decimals_of(error: float) -> int:
    """Decimals that two significant digits of an error have, below 0 where it is 100 or more.

    >>> decimals_of(0.94), decimals_of(0.0996), decimals_of(1234.0)
    (2, 2, -2)
    """
    exponent = math.floor(math.log10(error))
    rounds_up = round(error / 10.0**exponent, 1) >= 10  # 0.0996 has the two digits 0.10
    return 1 - exponent - rounds_up


def told(value: float, error: float | None = None, day: bool = False) -> str:
    """An estimate for people, with the digits that its standard error allows; without one, with four.

    >>> told(100.2345, 0.94), told(45678.0, 1234.0), told(0.61803, 0.02), told(2.0), told(366.4, 2.0, day=True)
    ('100.23', '45,700', '0.618', '2', '1971-01-02')
    """
    if day:
        return date_words(value)
    known = error is not None and math.isfinite(error) and error > 0 and math.isfinite(value)
    if not known or error is None or error < 1e-300:
        return short(value)
    decimals = decimals_of(error)
    size = math.floor(math.log10(abs(value))) + 1 if value else 0
    if decimals > MOST_DECIMALS or size > MOST_LETTERS:
        return f"{value:.{min(max(size + decimals, 1), 17)}g}" if value else "0"
    rounded = round(value, decimals) + 0.0  # no minus before a zero
    return f"{rounded:,.{max(decimals, 0)}f}"


def date_words(value: float) -> str:
    """The date of a day's number from 1970 on, the nearest one.

    >>> date_words(-0.6), date_words(18993.4)
    ('1969-12-31', '2022-01-01')
    """
    return str(np.datetime64(round(value), "D")) if math.isfinite(value) else ""


def short(value: float) -> str:
    """A number for a label.

    >>> short(1234.5678), short(0.000123456), short(2.0), short(1e7)
    ('1,235', '0.0001235', '2', '10,000,000')
    """
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.4}"
