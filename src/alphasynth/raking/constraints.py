"""Declared constraints between columns, `married => age >= 15` or `part <= whole`: they hold in every synthetic row."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import numpy as np

from alphasynth.errors import InputError
from alphasynth.tables.declared import FIRST_DAY, Declared

_NAME = r"`[^`]+`|[^\W\d][\w.]*"
_SIDE = rf"(?:{_NAME}|'[^']*'|\"[^\"]*\"|-?\.?\d[\d.eE+-]*)"
_COMPARISON = re.compile(rf"\s*({_SIDE})\s*(<=|>=|==|!=|<|>)\s*({_SIDE})\s*")
_ALONE = re.compile(rf"\s*({_NAME})\s*")
COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}


class Span(NamedTuple):
    """The least and the largest number (rows,) that a side may be, and where it is a gap."""

    least: np.ndarray
    most: np.ndarray
    gone: np.ndarray


@dataclass(frozen=True)
class Comparison:
    """Two sides, a column's name or a number each, and how they compare; of text, places among the levels."""

    left: str | float
    how: str
    right: str | float

    def holds(self, spans: Mapping[str, Span], surely: bool) -> np.ndarray:
        """Where it holds for some numbers within the spans, or `surely`, for all; a gap compares as both."""
        one, other = _span(self.left, spans), _span(self.right, spans)
        gone = one.gone | other.gone
        apart = (one.most < other.least) | (one.least > other.most)
        alike = (one.least == one.most) & (other.least == other.most) & (one.least == other.least)
        if self.how == "==":
            found = alike if surely else ~apart
        elif self.how == "!=":
            found = apart if surely else ~alike
        else:
            low, high = (one.most, other.least) if surely == (self.how[0] == "<") else (one.least, other.most)
            found = COMPARE[self.how](low, high)
        return found & ~gone if surely else found | gone


@dataclass(frozen=True)
class Constraint:
    """Where all of `given` hold, all of `then` hold too."""

    text: str
    given: tuple[Comparison, ...] = field(repr=False)
    then: tuple[Comparison, ...] = field(repr=False)

    def broken(self, spans: Mapping[str, Span]) -> np.ndarray:
        """Rows that cannot keep it, whatever numbers within their spans they get."""
        given = np.logical_and.reduce([each.holds(spans, surely=True) for each in self.given] or [np.array(True)])
        possible = [each.holds(spans, surely=False) for each in self.then]
        return np.asarray(given & ~np.logical_and.reduce(possible))


def parse_constraint(text: str, declared: Mapping[str, Declared]) -> Constraint:
    """A constraint in words; raise `InputError`.

    >>> parse_constraint("age >= 15", {"age": Declared(limits=(0.0, 110.0))}).then
    (Comparison(left='age', how='>=', right=15.0),)
    """
    given, arrow, then = text.rpartition("=>") if "=>" in text else ("", "", text)
    if arrow and not given.strip():
        raise _strange(text)
    return Constraint(text, _all(given, text, declared) if arrow else (), _all(then, text, declared))


def _all(words: str, text: str, declared: Mapping[str, Declared]) -> tuple[Comparison, ...]:
    return tuple(_comparison(part, text, declared) for part in re.split(r"\band\b", words))


def _comparison(words: str, text: str, declared: Mapping[str, Declared]) -> Comparison:
    alone = _ALONE.fullmatch(words)
    if alone:
        name = _name(alone[1], text, declared)
        levels = {float(level) for level in declared[name].levels if not isinstance(level, str)}
        if levels != {0.0, 1.0}:
            raise InputError(f"constraint {text!r} must compare {name!r} with something, since it is not true or false")
        return Comparison(name, "==", 1.0)
    match = _COMPARISON.fullmatch(words)
    if match is None:
        raise _strange(text)
    left, right = (_side(side, text, declared) for side in (match[1], match[3]))
    names = [side for side in (left, right) if isinstance(side, str) and not isinstance(side, _Word)]
    if not names:
        raise InputError(f"constraint {text!r} must name a column on one of its sides, found none")
    of_text = any(levels and isinstance(levels[0], str) for levels in (declared[name].levels for name in names))
    quoted = isinstance(left, _Word) or isinstance(right, _Word)
    if of_text and (match[2] not in ("==", "!=") or not quoted):
        raise InputError(f"constraint {text!r} must set text equal to one of its levels or not, found otherwise")
    if quoted and not (of_text or declared[names[0]].dates):
        raise InputError(f"constraint {text!r} must compare numbers with numbers, found text")
    sides = [_number(side, names[0], declared, text) for side in (left, right)]
    return Comparison(sides[0], match[2], sides[1])


def _strange(text: str) -> InputError:
    return InputError(
        f'constraint {text!r} must read like "married => age >= 15" or "part <= whole" (comparisons with <, <=, >, '
        ">=, ==, !=, joined by `and`), found otherwise"
    )


def _name(word: str, text: str, declared: Mapping[str, Declared]) -> str:
    name = word.strip("`")
    if name not in declared:
        raise InputError(f"constraint {text!r} must name declared columns, found {name!r}")
    return name


class _Word(str):
    """Text in quotes: a level or a date."""

    __slots__ = ()


def _side(word: str, text: str, declared: Mapping[str, Declared]) -> str | float:
    if word[0] in "'\"":
        return _Word(word[1:-1])
    if word[0] in "-." or word[0].isdigit():
        try:
            return float(word)
        except ValueError:
            raise _strange(text) from None
    return _name(word, text, declared)


def _number(side: str | float, name: str, declared: Mapping[str, Declared], text: str) -> str | float:
    """A side as a column's name or a number: a level's place, a date's day."""
    if not isinstance(side, _Word):
        return side
    facts = declared[name]
    if facts.dates:
        try:
            return float(date.fromisoformat(side).toordinal() - FIRST_DAY)
        except ValueError:
            raise InputError(
                f"constraint {text!r} must have a date such as '2001-12-31', found {str(side)!r}"
            ) from None
    if side not in facts.levels:
        raise InputError(f"constraint {text!r} must name a declared level of {name!r}, found {str(side)!r}")
    return float(facts.levels.index(side))


def _span(side: str | float, spans: Mapping[str, Span]) -> Span:
    if isinstance(side, str):
        return spans[side]
    number = np.array(side)
    return Span(number, number, np.array(False))
