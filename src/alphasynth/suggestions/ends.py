"""What one number does to the limits of a column: codes for missing values, and a few values far off, stretch them."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from alphasynth.raking.cells import Cells
from alphasynth.tables.declared import Declared
from alphasynth.tables.limits import as_floats

# So few values may lie in one cell with most records: little is lost.
SEVERAL = 5
FAR = "most values lie in one cell of its limits: are a few far off? narrow the limits, and cut the table to them"
# Codes for missing values are numbers at an end that so many records have at least, and so many times as many as have
# the median number. All others lie on the other side of zero, or further from the code than this part of their own
# range; or the code is written in nines or eights, and they are further from it than any two of them from each other.
REPEATED, TIMES_USUAL, APART = 4, 4.0, 0.5
NINES = re.compile(r"-?(9+|8+|9+[678])([.]0)?")
CODE = "many rows have one number far from all others at an end: a code for a missing value? make it a gap, or a level"


def stretched(facts: Declared, values: pa.ChunkedArray, counts: np.ndarray) -> str:
    """What is to be said of limits of numbers that a code or a few far values stretch; nothing of others."""
    if facts.limits is None or facts.dates:
        return ""
    numbers = np.asarray(as_floats(values))
    if _begins_with_codes(numbers, counts) or _begins_with_codes(-numbers, counts):
        return CODE
    return FAR if _far(facts, numbers, counts) else ""


def _begins_with_codes(numbers: np.ndarray, counts: np.ndarray) -> bool:
    """Whether the least of the numbers seem to be codes: one or more that many records have, apart from the others."""
    order = np.argsort(numbers)
    numbers, many = numbers[order], counts[order] >= max(REPEATED, TIMES_USUAL * float(np.median(counts)))
    ends = range(1, min(int(np.argmin(many)), len(numbers) - SEVERAL) + 1)
    return any(_apart(numbers[:end], numbers[end:]) for end in ends)


def _apart(codes: np.ndarray, others: np.ndarray) -> bool:
    """Whether the first numbers lie apart from the others; zero is no code."""
    gap, beyond_zero = others[0] - codes[-1], codes[-1] < 0 <= others[0]
    of_nines = NINES.fullmatch(repr(float(codes[0]))) is not None
    apart = beyond_zero or gap > APART * np.ptp(others) or (of_nines and gap > np.diff(others).max())
    return bool(apart and not (codes == 0).any())


def _far(facts: Declared, numbers: np.ndarray, counts: np.ndarray) -> bool:
    """Whether most records lie in one cell of a column of numbers, and differ there: nothing of that would be kept."""
    cells = Cells.of("", facts, facts.skewed)
    codes = cells.codes(facts.within(facts.rounded(numbers)), np.zeros(len(numbers), bool))
    fullest = int(np.argmax(np.bincount(codes, counts)))
    inside = codes == fullest
    return bool(counts[inside].sum() > counts.sum() / 2 and inside.sum() > SEVERAL)
