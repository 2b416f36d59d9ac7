"""Comparisons of columns and numbers, and constraints made of them; judged by spans of numbers, (rows,) at a time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

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

    @property
    def sides(self) -> tuple[str | float, str | float]:
        """Both of them."""
        return self.left, self.right

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

    @property
    def names(self) -> set[str]:
        """The columns that it is about."""
        return {side for each in (*self.given, *self.then) for side in each.sides if isinstance(side, str)}

    def applies(self, spans: Mapping[str, Span]) -> np.ndarray:
        """Rows in which it is surely asked for, whatever numbers within their spans they get."""
        return np.logical_and.reduce([each.holds(spans, surely=True) for each in self.given] or [np.array(True)])

    def broken(self, spans: Mapping[str, Span]) -> np.ndarray:
        """Rows that cannot keep it, whatever numbers within their spans they get."""
        possible = [each.holds(spans, surely=False) for each in self.then]
        return np.asarray(self.applies(spans) & ~np.logical_and.reduce(possible))


def alike(pairs: Sequence[tuple[str | float, str | float]]) -> list[list[str | float]]:
    """Columns and numbers that equalities, one after another, make all the same.

    >>> alike([("a", "b"), ("b", "d"), ("c", 3.0)])
    [['a', 'b', 'd'], ['c', 3.0]]
    """
    groups: list[list[str | float]] = []
    for one, other in pairs:
        own = [group for group in groups if one in group or other in group]
        merged = dict.fromkeys([*(side for group in own for side in group), one, other])
        groups = [*(group for group in groups if group not in own), list(merged)]
    return groups


def _span(side: str | float, spans: Mapping[str, Span]) -> Span:
    if isinstance(side, str):
        return spans[side]
    number = np.array(side)
    return Span(number, number, np.array(False))
