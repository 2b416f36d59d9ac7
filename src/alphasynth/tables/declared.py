"""`Declared`: what a user declares public about a column, before a look at the table: levels, limits, whole numbers."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found, gathering
from alphasynth.tables.limits import MOST_DECIMALS, is_number, of_steps, pair_of, steps_within

# What gaps in a column are: modelled first by an indicator, rows to leave out, or public row by row.
GAPS = ("model", "drop", "public")
FACTS = ("levels", "labels", "limits", "whole", "decimals", "missing")
# What may be declared of a column of a whole table beside.
SKEWED, HEAPS, NOMINAL = "skewed", "heaps", "nominal"
OF_WHOLE_TABLES = (*FACTS, SKEWED, HEAPS, NOMINAL)
# Lists, in files, what was read off the confidential table: public only once somebody says so.
READ_OFF = "read_off_the_table"
FIRST_DAY = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Declared:
    """Public facts of a column, which its synthetic values keep.

    `levels` are its categories in their order and `labels` words for some of them, `limits` its smallest and largest
    value, `whole` says that it holds whole numbers, `decimals` how many digits its synthetic numbers have after the
    point at most (0 is whole), `missing` what its gaps are. Of a column of a whole table, `skewed` says that most of
    its numbers are near the lower limit, `nominal` that levels are codes of no order, `heaps` are numbers within its
    limits that many records have, and limits may be dates: the column holds `dates` then, by days from 1970 on.
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
    nominal: bool = False

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any], known: Sequence[str] = FACTS) -> Declared:
        """What a file or a call declares of a column, of these facts; raise `InputError`."""
        given = {fact: _plain(value) for fact, value in given.items()}
        limits, levels = given.get("limits"), given.get("levels", ())
        days = _days(limits) if SKEWED in known else None
        limits = limits if days is None else days
        levels = tuple(levels) if isinstance(levels, list | tuple) else (levels,)
        whole, missing = given.get("whole", days is not None), given.get("missing")
        skewed, nominal = (given.get(fact, False) for fact in (SKEWED, NOMINAL))
        with gathering() as problems:
            for word in [each for each in given if each not in (*known, READ_OFF)]:
                problems.say(f"what is declared of {name!r} must be one of {', '.join(known)}, found {word!r}")
            with problems:
                decimals = _decimals(name, given.get("decimals"), whole)
            with problems:
                pair = None if limits is None else pair_of(name, limits, None if days is None else given["limits"])
            with problems:
                marks = marks_of(f"{name!r}", given.get(READ_OFF, ()), known)
            with problems:
                heaps = _heaps(name, given.get(HEAPS, ()))
            with problems:
                labels = _labels(name, levels, given.get("labels", {}))
            for fact, value in (("whole", whole), (SKEWED, skewed), (NOMINAL, nominal)):
                if not isinstance(value, bool):
                    problems.say(f"{fact} of {name!r} must be true or false, found {found(value)}")
            if missing is not None and missing not in GAPS:
                problems.say(f"missing of {name!r} must be one of {', '.join(GAPS)}, found {found(missing)}")
            with problems:
                _check_levels(name, levels)
        whole, dates = decimals == 0 or whole, days is not None
        facts = (levels, pair, whole, missing, marks, skewed, dates, heaps, decimals or None, labels, nominal)
        return cls(*facts)._checked(name)

    def _checked(self, name: str) -> Declared:
        """Refuse facts that do not go together."""
        with gathering() as problems:
            if any(self.limits is None or not self.limits[0] <= heap <= self.limits[1] for heap in self.heaps):
                problems.say(f"heaps of {name!r} must lie within its limits, found others")
            if self.nominal and not (self.levels and all(isinstance(x, str) or x == int(x) for x in self.levels)):
                problems.say(f"{NOMINAL} of {name!r} must be left out where it has no levels, or fractions among them")
            if self.whole and any(heap != math.floor(heap) for heap in self.heaps):
                problems.say(f"heaps of {name!r} must be whole numbers, as it is, found others")
            with problems:
                self._check_decimals(name)
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
        facts |= {HEAPS: list(self.heaps), NOMINAL: self.nominal, "missing": self.missing}
        facts[READ_OFF] = list(self.read_off)
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


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The content of a file in which facts are declared; raise `InputError`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the {what} file must be readable, found {error.strerror} at {str(path)!r}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        where = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError(f"the {what} file must be TOML, found what is not in {path.name}: {where}") from None


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


def _check_levels(name: str, levels: tuple[Any, ...]) -> None:
    if any(not isinstance(level, str | int | float | bool) for level in levels):
        raise InputError(f"levels of {name!r} must be text, numbers or true and false, found others")
    if not all(isinstance(level, str) or _in_64_bits(level) for level in levels):
        raise InputError(f"levels of {name!r} must be finite, and whole ones fit 64 bits, found others")
    if len({type(level) is str for level in levels}) > 1:
        raise InputError(f"levels of {name!r} must be all text or all numbers, found both")
    if len(set(levels)) < len(levels):
        raise InputError(f"levels of {name!r} must differ, found one twice")


def _heaps(name: str, given: Any) -> tuple[float, ...]:
    if not isinstance(given, list | tuple) or not all(is_number(each) for each in given):
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


def _in_64_bits(number: float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else -(2**63) <= number < 2**63


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
