"""Round numbers: limits beyond a column's own, which one row rarely moves, and numbers of so many decimals.

And columns as 64-bit floats: what each value is, whatever the others are, and which numbers these tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.errors import InputError, found

# Limits are multiples of a step of 1, 2 or 5 times a power of ten: the least that is at least this part of the range.
STEPS = 5
# Decimals that can be declared, and those that are looked for; a float holds no more digits than the first.
MOST_DECIMALS, LOOKED_FOR = 15, 6
# What a stored number may differ from its decimals by, in parts of the last bit that its type holds.
LAST_BITS = 4
# A date, or a date and a time, as text.
ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
ZONED = r"(Z|[T ].*[+-]\d{2}:?\d{2})$"
# From here on floats do not tell whole numbers apart; squares of numbers beyond the other overflow, summed.
FIRST_UNSURE, HUGE = 1 << 53, 1e100


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
    step = _step(low, high)
    below, above = math.ceil(ends[0] / step) - 1, math.floor(ends[1] / step) + 1
    return (0.0 if low == 0 else float(below * step), 0.0 if high == 0 else float(above * step))


def away_from_zero(low: float, high: float) -> tuple[float, float]:
    """The same limits, but not 0 where all numbers are well above it, or below: by a step that is a little finer.

    >>> away_from_zero(18.0, 94.0), away_from_zero(9.9, 48.0), away_from_zero(1.5, 94.0), away_from_zero(-94.0, -18.0)
    ((10.0, 100.0), (5.0, 50.0), (0.0, 100.0), (-100.0, -10.0))
    """
    below, above = outward(low, high)
    if high < 0:
        first, last = away_from_zero(-high, -low)
        return -last, -first
    if low <= 0 or below != 0:
        return below, above
    step = _step(low, high)
    finer = (step / 2, Fraction(repr(round_number(float(step / 2), True))))
    tried = [(math.ceil(Fraction(repr(low)) / each) - 1) * each for each in finer]
    return float(next((limit for limit in tried if limit > 0), Fraction(0))), above


def _step(low: float, high: float) -> Fraction:
    """The round step of a range."""
    return Fraction(repr(round_number(math.nextafter((high - low) / STEPS, 0), False)))


def fewest_decimals(values: np.ndarray, last_bit: float = 2.0**-52) -> int | None:
    """The fewest digits after the point that all numbers have; None where that is more than one looks for.

    `last_bit` is that of the numbers' type, since few decimals are stored exactly.

    >>> fewest_decimals(np.array([0.1 + 0.2, 12.0, -3.25])), fewest_decimals(np.array([1 / 3]))
    (2, None)
    """
    for decimals in range(LOOKED_FOR + 1):
        steps = values * 10.0**decimals
        near = np.abs(steps) * last_bit * LAST_BITS
        if (near < 0.25).all() and (np.abs(steps - np.rint(steps)) <= near).all():
            return decimals
    return None


def last_bit_of(kind: pa.DataType) -> float:
    """The last bit of a type's numbers, as a part of them."""
    return 2.0**-23 if pa.types.is_float32(kind) else 2.0**-52


def steps_within(low: np.ndarray, high: np.ndarray, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last whole number of steps of 10^-decimals from `low` to `high`; the first is larger where none is.

    >>> [each.tolist() for each in steps_within(np.array([0.3, 0.301]), np.array([0.52, 0.309]), 2)]
    [[30.0, 31.0], [52.0, 30.0]]
    """
    first, last = np.floor(low * 10.0**decimals) - 1, np.ceil(high * 10.0**decimals) + 1
    for _ in range(3):  # compared as the numbers that they make: a product is rounded
        first = np.where(of_steps(first, decimals) < low, first + 1, first)
        last = np.where(of_steps(last, decimals) > high, last - 1, last)
    return first, last


def of_steps(steps: np.ndarray, decimals: int) -> np.ndarray:
    """The numbers that so many steps of 10^-decimals make: the floats nearest to them, which print as short.

    >>> of_steps(np.array([30.0]), 2).tolist()
    [0.3]
    """
    return (steps + 0.0) / 10.0**decimals  # and no -0


def as_floats(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Numbers as the floats nearest to them, large whole ones too; gaps stay.

    Decimals by way of their digits: Arrow's own way is off by a last bit for many, by how many digits the type has,
    which one value of a frame may decide for all others.

    >>> from decimal import Decimal
    >>> as_floats(pa.array([Decimal("0.3"), Decimal("0.123456789012345678901")])).to_pylist()
    [0.3, 0.12345678901234568]
    """
    return (column.cast(pa.string()) if pa.types.is_decimal(column.type) else column).cast(pa.float64(), safe=False)


def day_numbers(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Days' numbers from 1970 on, of dates and times; of times with a zone the day that it is in UTC.

    Neither the machine's zone nor that of the first value of a frame has a say in it.
    """
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    return column.cast(pa.date32(), safe=False).cast(pa.int32())


def days_of_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray | None:
    """Days' numbers of text that is dates all of it (2024-12-31, also with a time); None where some is not, or none is.

    >>> days_of_text(pa.array(["1970-01-02", None, "1970-01-03 23:59"])).to_pylist(), days_of_text(pa.array(["May"]))
    ([1, None, 2], None)
    """
    column = column.cast(pa.string())
    if len(column) == column.null_count or not pc.all(pc.match_substring_regex(column, ISO)).as_py():
        return None
    zoned = pc.match_substring_regex(column, ZONED)
    try:
        if not pc.any(zoned).as_py():
            return pc.utf8_slice_codeunits(column, 0, 10).cast(pa.date32()).cast(pa.int32())
        if not pc.all(zoned).as_py():
            return None
        whole = pc.replace_substring_regex(column, r"\.\d+", "")
        return day_numbers(whole.cast(pa.timestamp("s", "UTC")))
    except pa.ArrowInvalid:  # of digits that are no day
        return None


def in_days(columns: pa.Table, of_text: Collection[str] = ()) -> tuple[pa.Table, frozenset[str]]:
    """Columns with days' numbers for dates and times, and which ones these are.

    >>> in_days(pa.table({"day": ["1970-01-02"], "x": [7]}), ["day"])[1]
    frozenset({'day'})
    """
    dated = set()
    for place, name in enumerate(columns.column_names):
        days = days_of(columns.column(name), name in of_text)
        if days is not None:
            dated.add(name)
            columns = columns.set_column(place, name, days)
    return columns, frozenset(dated)


def days_of(column: pa.ChunkedArray, of_text: bool) -> pa.ChunkedArray | None:
    """Days' numbers of dates, times and, where wanted, text that is dates; None of anything else."""
    column, kind = undressed(column)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return day_numbers(column)
    return days_of_text(column) if of_text and is_text(kind) else None


def undressed(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.DataType]:
    """A column, of categories their values where these may be dates, and its type."""
    kind = column.type
    if pa.types.is_dictionary(kind) and (is_text(kind.value_type) or pa.types.is_temporal(kind.value_type)):
        return column.cast(kind.value_type), kind.value_type
    return column, kind


def is_text(kind: pa.DataType) -> bool:
    """Whether a type of Arrow's is text."""
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def is_number(value: object) -> bool:
    """Whether it is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def pair_of(name: str, value: Any, dates: Sequence[object] | None = None) -> tuple[float, float]:
    """Limits as two numbers, the first one less; of days' numbers, the `dates` as they were given."""
    numbers = isinstance(value, list | tuple) and len(value) == 2 and all(is_number(end) for end in value)
    if numbers and value[0] < value[1]:
        return float(value[0]), float(value[1])
    rule = f"limits of {name!r} must be two {'numbers' if dates is None else 'dates'}, low < high"
    if numbers and dates is None and value[0] == value[1]:
        rule += f" (a column of one number has levels = [{value[0]}])"
    raise InputError(f"{rule}, found {found(str(value if dates is None else [str(each) for each in dates]))}")


def check_floats(name: str, levels: Sequence[object], limits: tuple[float, float] | None, whole: bool) -> None:
    """Refuse numbers that floats do not hold one by one, or of which they hold no sums of squares."""
    if any(isinstance(level, int | float) and abs(level) >= FIRST_UNSURE for level in levels):
        rule = f"levels of {name!r} must be numbers below {FIRST_UNSURE:,}, beyond which they are not told apart"
        raise InputError(f"{rule}, found larger ones; as text they may have any length")
    farthest = max(map(abs, limits or (0.0,)))
    if whole and farthest >= FIRST_UNSURE:
        rule = f"limits of {name!r} must lie below {FIRST_UNSURE:,}, beyond which whole numbers are not told apart"
        raise InputError(f"{rule}, found one of {farthest:,.0f}")
    if farthest > HUGE:
        raise InputError(f"limits of {name!r} must lie within {HUGE:g} of zero, found one of {farthest:g}")


def check_cells(name: str, lower: np.ndarray, upper: np.ndarray) -> None:
    """Refuse cells of numbers, from `lower` to `upper` (cells,), that floats do not tell apart."""
    wide = len(lower) < 2 or np.diff(lower).max() > 1 / HUGE
    if (np.diff(lower) > 0).all() and (lower <= upper).all() and wide:
        return
    rule = f"limits and heaps of {name!r} must be so far apart that numbers tell its {len(lower)} cells apart"
    raise InputError(f"{rule}, found too little from {float(lower[0])!r} to {float(upper[-1])!r}")
