"""A regression of one column on all others, in the confidential table and in a synthetic one: how far apart they are.

Text is dummies of its frequent levels, a gap being one; a number with gaps is filled by its mean, with an indicator
beside. A response of numbers is regressed itself, or its logarithm; one of text, each of its levels but the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from alphasynth.raking.cells import Cells

# Levels that have a coefficient, the most frequent ones; the others are what these are measured against.
MOST_LEVELS = 30
NEARLY_NOTHING = 1e-10  # of the largest: what is a combination of other columns


class Numbers(NamedTuple):
    """A column's numbers (n,), of text the level's, 0 where there is a gap; and where gaps are."""

    values: np.ndarray
    gone: np.ndarray

    @property
    def present(self) -> np.ndarray:
        """Those that are no gaps."""
        return self.values[~self.gone]


class Term(NamedTuple):
    """A term of the design: a level of a column, its indicator of gaps, or its numbers in units of `scale`."""

    column: str
    level: int | None = None
    scale: float = 1.0

    def of(self, seen: Mapping[str, Numbers]) -> np.ndarray:
        """Its column (n,) of the design."""
        values, gone = seen[self.column]
        if self.level == GAP:
            return gone.astype(float)
        if self.level is not None:
            return ((values == self.level) & ~gone).astype(float)
        middle = float(np.mean(values[~gone])) if not gone.all() else 0.0
        return np.where(gone, middle, values) / self.scale


GAP = -1


@dataclass(frozen=True, eq=False)
class Regression:
    """The terms of a regression and its coefficients in the confidential table, with standard errors (confidential).

    `coefficients` and `errors` are (terms, responses), without the intercept; a response of text has one for each of
    `levels`.
    """

    response: str
    logged: bool
    levels: tuple[int, ...]
    terms: tuple[Term, ...]
    coefficients: np.ndarray = field(repr=False)
    errors: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, cells: Sequence[Cells], seen: Mapping[str, Numbers], response: str, logged: bool) -> Regression:
        """Fit it to the confidential table; terms that are constant or combinations of others are left out."""
        kept = ~seen[response].gone
        there = {name: Numbers(values[kept], gone[kept]) for name, (values, gone) in seen.items()}
        nominal = {each.name: each.nominal for each in cells}
        levels = tuple(_frequent(there[response])) if nominal[response] else ()
        terms = [t for c in cells if c.name != response for t in _terms(c.name, c.nominal, there[c.name])]
        made = cls(response, logged, levels, tuple(terms), np.zeros((0, 0)), np.zeros((0, 0)))
        design = made._design(there)
        terms = [terms[i] for i in _independent(design)]
        made = cls(response, logged, levels, tuple(terms), np.zeros((0, 0)), np.zeros((0, 0)))
        return cls(response, logged, levels, tuple(terms), *_fit(made._design(there), made._outcome(there)))

    def apart(self, seen: Mapping[str, Numbers]) -> float:
        """Mean distance from a synthetic table's coefficients, in standard errors; nan where it cannot be told."""
        found = self.distances(seen)
        return math.nan if found is None or np.isnan(found).all() else float(np.nanmean(found))

    def distances(self, seen: Mapping[str, Numbers]) -> np.ndarray | None:
        """Distances (terms, responses) from a synthetic table's coefficients, in standard errors; nan without one.

        None where the table has no such regression.
        """
        kept = ~seen[self.response].gone
        there = {name: Numbers(values[kept], gone[kept]) for name, (values, gone) in seen.items()}
        if not kept.any() or not self.errors.size:
            return None
        found, _ = _fit(self._design(there), self._outcome(there))
        return np.abs(found - self.coefficients) / np.where(self.errors > 0, self.errors, math.nan)

    def _design(self, seen: Mapping[str, Numbers]) -> np.ndarray:
        """An intercept, then the terms."""
        rows = len(seen[self.response].values)
        return np.column_stack([np.ones(rows), *(term.of(seen) for term in self.terms)])

    def _outcome(self, seen: Mapping[str, Numbers]) -> np.ndarray:
        values = seen[self.response].values
        if self.levels:
            return (values[:, None] == np.array(self.levels)).astype(float)
        return (np.log1p(values) if self.logged else values)[:, None]


def _terms(name: str, nominal: bool, numbers: Numbers) -> list[Term]:
    """Terms of a column as the confidential table has it."""
    gap = [Term(name, GAP)] * bool(numbers.gone.any() and not numbers.gone.all())
    if nominal:
        return [*(Term(name, level) for level in _frequent(numbers)), *gap]
    scale = float(np.std(numbers.present, ddof=1)) if len(numbers.present) > 1 else 0.0
    return [*([Term(name, None, scale)] * bool(scale > 0)), *gap]


def _frequent(numbers: Numbers) -> list[int]:
    """Levels but the most frequent one, or of many only frequent ones, by their number."""
    levels, counts = np.unique(numbers.present.astype(np.int64), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return sorted(levels[order[1:]][:MOST_LEVELS].tolist())


def _independent(design: np.ndarray) -> list[int]:
    """Terms, by number, that are no combinations of others and of the intercept."""
    from scipy.linalg import qr

    if not design.shape[1] - 1:
        return []
    centred = design[:, 1:] - design[:, 1:].mean(axis=0)
    _, triangle, order = qr(centred, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    return sorted(order[: len(pivots)][pivots > NEARLY_NOTHING * max(pivots[0], 1.0)].tolist())


def _fit(design: np.ndarray, outcome: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least squares: coefficients (terms, responses) but the intercept's, and standard errors."""
    inverse = np.linalg.pinv(design, rcond=NEARLY_NOTHING)
    coefficients = inverse @ outcome
    free = len(design) - design.shape[1]
    squares = ((outcome - design @ coefficients) ** 2).sum(axis=0)
    variance = squares / free if free > 0 else np.full(outcome.shape[1], math.nan)
    errors = np.sqrt((inverse**2).sum(axis=1)[:, None] * variance)
    return coefficients[1:], errors[1:]
