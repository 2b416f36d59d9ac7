"""`Declared`: what a user declares public about a column, before a look at the table: levels, limits, whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.tables.limits import MOST_DECIMALS, of_steps, steps_within

# What gaps in a column are: modelled first by an indicator, rows to leave out, or public row by row.
GAPS = ("model", "drop", "public")
FACTS = ("levels", "labels", "limits", "whole", "decimals", "missing")
# What may be declared of a column of a whole table beside.
SKEWED, HEAPS = "skewed", "heaps"
OF_WHOLE_TABLES = (*FACTS, SKEWED, HEAPS)
# Lists, in files, what was read off the confidential table: public only once somebody says so.
READ_OFF = "read_off_the_table"
FIRST_DAY = date(1970, 1, 1).toordinal()
# What a model file says of its marks.
MARKED = """\
# read_off_the_table lists what was read off the confidential table, and is public only once somebody says so: check it,
# then take its name out of the list. Missing, listed without a line of its own: no gaps were seen. At the top stand
# columns that were left out for what they hold. A strict mechanism refuses what is still listed, unless told
# --confirm-public NAME,... or all.
"""


@dataclass(frozen=True)
class Declared:
    """Public facts of a column, which its synthetic values keep.

    `levels` are its categories in their order and `labels` words for some of them, `limits` its smallest and largest
    value, `whole` says that it holds whole numbers, `decimals` how many digits its synthetic numbers have after the
    point at most (0 is whole), `missing` what its gaps are. Of a column of a whole table, `skewed` says that most of
    its numbers are near the lower limit, `heaps` are numbers within its limits that many records have, and limits may
    be dates: the column then holds `dates`, by their day's number from 1970 on.
    `read_off` are those of them that were read off the table and that nobody has confirmed: that a column has no gap,
    or a fraction, is such a fact too.

    >>> Declared.of("age", {"limits": [0, 110], "whole": True}).limits
    (0.0, 110.0)
    """

    levels: tuple[Any, ...] = ()
    limits: tuple[float, float] | None = None
    whole: bool = False
    missing: str | None = None
    read_off: tuple[str, ...] = ()
    skewed: bool = False
    dates: bool = False
    heaps: tuple[float, ...] = ()
    decimals: int | None = None
    labels: tuple[tuple[Any, str], ...] = ()

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any], known: Sequence[str] = FACTS) -> Declared:
        """What a file or a call declares of a column, of these facts; raise `InputError`."""
        strange = [word for word in given if word not in (*known, READ_OFF)]
        if strange:
            raise InputError(f"what is declared of {name!r} must be one of {', '.join(known)}, found {strange[0]!r}")
        given = {fact: _plain(value) for fact, value in given.items()}
        limits, levels = given.get("limits"), given.get("levels", ())
        days = _days(limits) if SKEWED in known else None
        decimals = _decimals(name, given.get("decimals"), given.get("whole", days is not None))
        levels = tuple(levels) if isinstance(levels, list | tuple) else (levels,)
        return cls(
            levels=levels,
            limits=None if limits is None else _pair(name, limits if days is None else days),
            whole=decimals == 0 or given.get("whole", days is not None),
            missing=given.get("missing"),
            read_off=marks_of(f"{name!r}", given.get(READ_OFF, ()), known),
            skewed=given.get(SKEWED, False),
            dates=days is not None,
            heaps=_heaps(name, given.get(HEAPS, ())),
            decimals=decimals or None,
            labels=_labels(name, levels, given.get("labels", {})),
        )._checked(name)

    def _checked(self, name: str) -> Declared:
        if any(self.limits is None or not self.limits[0] <= heap <= self.limits[1] for heap in self.heaps):
            raise InputError(f"heaps of {name!r} must lie within its limits, found others")
        if self.whole and any(heap != math.floor(heap) for heap in self.heaps):
            raise InputError(f"heaps of {name!r} must be whole numbers, as it is, found others")
        self._check_decimals(name)
        for fact in ("whole", SKEWED):
            if not isinstance(getattr(self, fact), bool):
                raise InputError(f"{fact} of {name!r} must be true or false, found {found(getattr(self, fact))}")
        if self.missing is not None and self.missing not in GAPS:
            raise InputError(f"missing of {name!r} must be one of {', '.join(GAPS)}, found {found(self.missing)}")
        if any(not isinstance(level, str | int | float | bool) for level in self.levels):
            raise InputError(f"levels of {name!r} must be text, numbers or true and false, found others")
        if len({type(level) is str for level in self.levels}) > 1:
            raise InputError(f"levels of {name!r} must be all text or all numbers, found both")
        if len(set(self.levels)) < len(self.levels):
            raise InputError(f"levels of {name!r} must differ, found one twice")
        return self

    def _check_decimals(self, name: str) -> None:
        """Refuse decimals of what has none, and limits or heaps that no number of so many decimals keeps."""
        if self.decimals is None:
            return
        if self.levels:
            raise InputError(f"decimals of {name!r} must be left out where it has levels, which stay as they are")
        if self.limits is not None and self._ends()[0] > self._ends()[1]:
            raise InputError(
                f"limits of {name!r} must have a number of {self.decimals} decimals between them, as declared, found "
                "none"
            )
        if any(self.rounded(np.array([heap]))[0] != heap for heap in self.heaps):
            raise InputError(f"heaps of {name!r} must have at most {self.decimals} decimals, as declared, found others")

    def _ends(self) -> tuple[float, float]:
        """The smallest and the largest number of so many decimals within the limits."""
        assert self.limits is not None
        assert self.decimals is not None
        steps = np.array(steps_within(np.array(self.limits[0]), np.array(self.limits[1]), self.decimals))
        low, high = of_steps(steps, self.decimals).tolist()
        return low, high

    def rounded(self, values: np.ndarray) -> np.ndarray:
        """Numbers of no more decimals than declared, the nearest ones.

        >>> Declared(decimals=2).rounded(np.array([0.1 + 0.2, 2 / 3])).tolist()
        [0.3, 0.67]
        """
        if self.decimals is None or values.dtype.kind != "f":
            return values
        return of_steps(np.rint(values * 10.0**self.decimals), self.decimals)

    def plain(self) -> dict[str, Any]:
        """What was declared, for a file."""
        facts: dict[str, Any] = {"levels": list(self.levels)}
        facts["labels"] = {written(level): word for level, word in self.labels} or None
        facts["limits"] = None if self.limits is None else self._limits()
        facts |= {"whole": self.whole and not self.dates, "decimals": self.decimals, SKEWED: self.skewed}
        facts |= {HEAPS: list(self.heaps), "missing": self.missing, READ_OFF: list(self.read_off)}
        said = {name: value for name, value in facts.items() if value not in ([], None, False)}
        # A fraction that was seen is stated, so that there is a line to check.
        return {"whole": False, **said} if "whole" in self.read_off and not self.whole else said

    def _limits(self) -> list[Any]:
        """Limits as they are written: days by their date."""
        assert self.limits is not None
        return [str(day_of(end)) for end in self.limits] if self.dates else list(self.limits)

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Which numbers lie beyond the limits."""
        if self.limits is None:
            return np.zeros(len(values), bool)
        return ~((values >= self.limits[0]) & (values <= self.limits[1]))

    def within(self, values: np.ndarray) -> np.ndarray:
        """Numbers brought to the nearest limit, or the nearest number within that is whole or of its decimals."""
        if self.limits is None:
            return values
        low, high = self.limits if self.decimals is None else self._ends()
        if self.whole or values.dtype.kind in "iu":
            low, high = math.ceil(low), math.floor(high)
        return np.clip(values, low, high)


def marks_of(of: str, given: object, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Names in a list of what was read off the table, in a file's words; raise `InputError`."""
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        raise InputError(f"{READ_OFF} of {of} must be a list of names, found {found(given)}")
    strange = [name for name in given if known and name not in known]
    if strange:
        raise InputError(f"{READ_OFF} of {of} must be among {', '.join(known)}, found {strange[0]!r}")
    return tuple(dict.fromkeys(given))


def _plain(value: Any) -> Any:
    """Arrays and ranges as lists, NumPy's numbers as Python's."""
    if isinstance(value, range):
        return list(value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _pair(name: str, value: Any) -> tuple[float, float]:
    numbers = isinstance(value, list | tuple) and len(value) == 2 and all(_is_number(end) for end in value)
    if not numbers or not value[0] < value[1] or not math.isfinite(value[1] - value[0]):
        raise InputError(f"limits of {name!r} must be two numbers, low < high, found {found(str(value))}")
    return float(value[0]), float(value[1])


def _heaps(name: str, given: Any) -> tuple[float, ...]:
    if not isinstance(given, list | tuple) or not all(_is_number(each) for each in given):
        raise InputError(f"heaps of {name!r} must be a list of numbers, found {found(given)}")
    return tuple(sorted({float(each) for each in given}))


def _decimals(name: str, given: Any, whole: Any) -> int | None:
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= MOST_DECIMALS:
        raise InputError(f"decimals of {name!r} must be a whole number from 0 to {MOST_DECIMALS}, found {found(given)}")
    if given and whole is True:
        raise InputError(f"decimals of {name!r} must be left out, or 0, where it is whole, found {given}")
    return given


def _labels(name: str, levels: tuple[Any, ...], given: Any) -> tuple[tuple[Any, str], ...]:
    """Words for levels, in their order; of numbers and truth values the keys may be text, as they are in files."""
    if not isinstance(given, Mapping) or not all(isinstance(word, str) for word in given.values()):
        raise InputError(f"labels of {name!r} must be a text for each of its levels, {{1 = 'yes'}}, found others")
    places = {written(level): level for level in levels}
    words = {written(code): word for code, word in given.items()}
    if not set(words) <= set(places):
        raise InputError(f"labels of {name!r} must be of its levels, found one of another")
    return tuple((level, words[key]) for key, level in places.items() if key in words)


def written(level: Any) -> str:
    """A level as it stands before its label in a file.

    >>> written(1.0), written(True), written("a")
    ('1', 'true', 'a')
    """
    if isinstance(level, bool):
        return str(level).lower()
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def day_of(number: float) -> date:
    """A date by its day's number from 1970 on.

    >>> day_of(366.0)
    datetime.date(1971, 1, 2)
    """
    return date.fromordinal(FIRST_DAY + int(number))


def _days(limits: Any) -> list[int] | None:
    """The numbers of two days, where both limits are dates or text that reads like one."""
    if not isinstance(limits, list | tuple) or not limits:
        return None
    try:
        found = [each if isinstance(each, date) else date.fromisoformat(each) for each in limits]
    except (TypeError, ValueError):
        return None
    return [day.toordinal() - FIRST_DAY for day in found]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def codes_of(name: str, values: Any, declared: Declared) -> np.ndarray:
    """Place of each value among the levels, as floats; raise `InputError` where a value is none of them."""
    plain = as_levels(values)
    levels = [_comparable(level) for level in declared.levels]
    place = {level: i for i, level in enumerate(levels)}
    distinct, inverse = np.unique(plain, return_inverse=True)
    codes = [place.get(_comparable(value), -1) for value in distinct.tolist()]
    if -1 in codes:
        raise InputError(f"column {name!r} must hold its declared levels and no others, found others")
    return np.asarray(codes, np.float64)[inverse]


def as_levels(values: Any) -> np.ndarray:
    """A column's values as an array of text, numbers or booleans."""
    return np.asarray(values.astype(values.categories.dtype) if hasattr(values, "categories") else values)


def _comparable(level: Any) -> Any:
    return level if isinstance(level, str) else float(level)


def observed_levels(values: Any) -> tuple[Any, ...]:
    """The levels that occur: in their own order where a column has one, else sorted."""
    if hasattr(values, "categories"):
        occurring = values.remove_unused_categories()
        return tuple(occurring.categories.tolist())
    return tuple(np.unique(as_levels(values)).tolist())
