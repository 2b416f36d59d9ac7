"""What a release says of the population by itself: means, shares and regressions with intervals; nothing confidential.

Which columns, levels and terms there are is read off what was declared and off the synthetic tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from alphasynth.evaluation.associations import LEAST_SQUARES, LOG_LINEAR, LOGISTIC, determined, fit_terms, is_regressed
from alphasynth.evaluation.intervals import Combined, Interval, combine
from alphasynth.evaluation.values import as_text, is_numeric, present, values_of
from alphasynth.tables.declared import Declared, written
from alphasynth.tables.gaps import stand_in
from alphasynth.tables.records import Records

MOST_SHOWN = 12  # levels of a column whose shares are told, the most frequent ones
MOST_COLUMNS, MOST_LEVELS, MOST_TERMS = 40, 30, 60  # of a regression's right-hand side

# Numbers of all designs together: so many take some ten seconds, and half a gigabyte.
MOST_NUMBERS = 10_000_000


@dataclass(frozen=True)
class Released:
    """Synthetic tables as they were published, and the public facts that their estimates rest on.

    `draws` says which table came from which draw, `spread` how draws scatter (as `combine` takes it), `n` how many
    confidential records there were.
    """

    tables: Sequence[Records] = field(repr=False)
    facts: Mapping[str, Declared] = field(repr=False)
    n: int
    draws: Sequence[int]
    spread: float | str | None

    @property
    def columns(self) -> list[str]:
        """Declared columns that are there."""
        return [name for name in self.tables[0].columns if name in self.facts]

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers that have a mean in every table."""
        return [name for name in self.columns if self._have(name) and self.is_amount(name)]

    @property
    def regressed(self) -> list[str]:
        """Columns that can be a regression's response."""
        held = [name for name in self.columns if self._have(name) and not self.facts[name].nominal]
        held = [name for name in held if not self.facts[name].dates]
        return [name for name in held if is_regressed(self.tables[0].columns[name])]

    def is_amount(self, name: str) -> bool:
        """Whether a column holds numbers, and not codes."""
        return is_numeric(self.tables[0].columns[name]) and not self.facts[name].nominal

    def _have(self, name: str) -> bool:
        return all(present(table, name).any() for table in self.tables)

    def combined(
        self, estimates: Sequence[float], variances: Sequence[float], least: float = -np.inf, most: float = np.inf
    ) -> Combined:
        """Estimates of all tables with the interval, which ends where no value can be."""
        sizes = [table.n for table in self.tables]
        found = combine(estimates, variances, sizes, self.n, self.draws, self.spread)
        if found.interval is None:
            return found
        return replace(found, interval=Interval(max(found.interval.low, least), min(found.interval.high, most)))


class Mean(NamedTuple):
    """The mean of a column, of the rows that have a value."""

    column: str
    found: Combined


class LevelShare(NamedTuple):
    """The share of rows at a level, of those that have a value; or, without a level, of all rows that have none."""

    column: str
    level: Any
    found: Combined


class Term(NamedTuple):
    """A term of a regression: a column's numbers, one of its levels, or where it has no value (`gap`)."""

    column: str
    level: Any = None
    gap: bool = False

    @property
    def name(self) -> str:
        """As it is shown."""
        if self.gap:
            return f"{self.column} is missing"
        return self.column if self.level is None else f"{self.column} = {written(self.level)}"

    def of(self, records: Records) -> np.ndarray:
        """Its column (distinct rows,) of the design."""
        if self.gap:
            return (~present(records, self.column)).astype(np.float64)
        column = records.columns[self.column]
        if self.level is None:
            return np.asarray(column, np.float64)
        distinct, place = _coded(column)
        return (distinct == _as_level(distinct, self.level)).astype(np.float64)[place]


class Regressed(NamedTuple):
    """A regression of a column on all others: its kind, its terms after the intercept, their estimates with it."""

    response: str
    kind: str
    terms: tuple[Term, ...]
    found: tuple[Combined, ...]


def means(of: Released) -> list[Mean]:
    """Means of all columns of numbers."""
    found = []
    for name in of.numbers:
        values = [values_of(table, name) for table in of.tables]
        least = 0.0 if min(each.values[0] for each in values) >= 0 else -np.inf
        variances = [each.sd**2 / each.n if each.n > 1 else np.nan for each in values]
        found.append(Mean(name, of.combined([each.mean for each in values], variances, least)))
    return found


def shares(of: Released) -> list[LevelShare]:
    """Shares of declared levels, of many the most frequent ones, and of gaps."""
    found = []
    for name in of.columns:
        facts, sizes = of.facts[name], [table.n for table in of.tables]
        known = [int(table.counts[present(table, name)].sum()) for table in of.tables]
        if facts.levels and all(known):
            counts = [_level_counts(table, name, facts.levels) for table in of.tables]
            total = {level: sum(each[level] for each in counts) for level in facts.levels}
            often = sorted((level for level in total if total[level]), key=lambda level: -total[level])
            for level in often[:MOST_SHOWN]:
                found.append(LevelShare(name, level, _share(of, [each[level] for each in counts], known)))
        if facts.missing is not None:
            gone = [n - there for n, there in zip(sizes, known, strict=True)]
            found.append(LevelShare(name, None, _share(of, gone, sizes)))
    return found


def _share(of: Released, some: Sequence[int], rows: Sequence[int]) -> Combined:
    """The share of some rows among others, by table."""
    parts = [one / n for one, n in zip(some, rows, strict=True)]
    variances = [p * (1 - p) / (n - 1) if n > 1 else np.nan for p, n in zip(parts, rows, strict=True)]
    return of.combined(parts, variances, 0.0, 1.0)


def _level_counts(records: Records, name: str, levels: Sequence[Any]) -> dict[Any, int]:
    """How many rows are at each declared level."""
    there, (distinct, place) = present(records, name), _coded(records.columns[name])
    counts = np.bincount(place[there], records.counts[there], minlength=len(distinct))
    found = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    return {level: int(found.get(_as_level(distinct, level), 0)) for level in levels}


def _coded(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """What a column holds, numbers or text, and the place of each distinct row's among these."""
    if hasattr(column, "codes"):  # few levels are put into words, not all rows'
        return as_text(column.categories), np.asarray(column.codes)
    found = np.asarray(column, np.float64) if is_numeric(column) else as_text(column)
    distinct, place = np.unique(found, return_inverse=True)
    return distinct, place


def _as_level(distinct: np.ndarray, level: Any) -> Any:
    """A declared level as it stands among what a column holds."""
    return float(level) if distinct.dtype.kind == "f" else written(level)


def regression(of: Released, response: str) -> Regressed | None:
    """The response on all other columns; None where nothing is told apart. Of large tables it is not estimated.

    Logistic for 0 and 1, log-linear with a free dispersion for whole numbers that are declared to be at least 0, least
    squares otherwise. Text of very many levels is left out, and so are terms that are combinations of those before.
    """
    kind, terms = kind_of(of.facts[response]), _terms(of, response)
    if sum(table.size for table in of.tables) * (1 + len(terms)) > MOST_NUMBERS:
        return Regressed(response, kind, tuple(terms), ())
    kept = np.logical_and.reduce([_told_apart(table, _design(table, terms), response) for table in of.tables])
    terms = [term for term, keep in zip(terms, kept[1:], strict=True) if keep]
    if not terms:
        return None
    # One table's design at a time: of a wide table each takes much memory.
    fits = [fit_terms(kind, table, response, _design(table, terms)) for table in of.tables]
    found = [of.combined([fit[0, i] for fit in fits], [fit[1, i] for fit in fits]) for i in range(1 + len(terms))]
    return Regressed(response, kind, tuple(terms), tuple(found))


def _design(records: Records, terms: Sequence[Term]) -> np.ndarray:
    """An intercept, then the terms (distinct rows, 1 + terms)."""
    return np.column_stack([np.ones(records.size), *(term.of(records) for term in terms)])


def declared_regression(facts: Mapping[str, Declared], response: str) -> Regressed:
    """The same without a look at the tables: terms of all declared levels but the first, and nothing estimated."""
    found: list[Term] = []
    for name in [name for name in facts if name != response][:MOST_COLUMNS]:
        levels = sorted(facts[name].levels, key=written)
        own = [Term(name)]
        if levels and not _of_numbers(facts[name]):
            own = [Term(name, level) for level in levels[1:]] if len(levels) <= MOST_LEVELS else []
        own += [Term(name, gap=True)] if facts[name].missing is not None else []
        if len(found) + len(own) <= MOST_TERMS:
            found += own
    return Regressed(response, kind_of(facts[response]), tuple(found), ())


def declared_numbers(facts: Mapping[str, Declared]) -> list[str]:
    """Columns that are declared to hold numbers."""
    return [name for name, each in facts.items() if _of_numbers(each)]


def _of_numbers(facts: Declared) -> bool:
    return not facts.nominal and not any(isinstance(level, str | bool) for level in facts.levels)


def kind_of(facts: Declared) -> str:
    """Which kind of regression suits a response, by what is declared of it.

    >>> kind_of(Declared(limits=(0.0, 9.0), whole=True)), kind_of(Declared(levels=(False, True)))
    ('log-linear (quasi-Poisson)', 'logistic')
    """
    ends = [float(end) for end in facts.levels or facts.limits or (-1.0,)]
    if set(ends) <= {0.0, 1.0} and (facts.levels or facts.whole):
        return LOGISTIC
    whole = all(end.is_integer() for end in ends) if facts.levels else facts.whole
    return LOG_LINEAR if whole and min(ends) >= 0 else LEAST_SQUARES


def _told_apart(records: Records, design: np.ndarray, response: str) -> np.ndarray:
    """Terms (with the intercept) that are no combination of those before, where there is a response."""
    there = present(records, response)
    scale = np.abs(design[there]).max(axis=0)
    return determined(design[there] / np.where(scale > 0, scale, 1.0), records.counts[there])


def _terms(of: Released, response: str) -> list[Term]:
    """Terms of all other columns, as many as there is room for."""
    found: list[Term] = []
    for name in [name for name in of.columns if name != response][:MOST_COLUMNS]:
        own = [Term(name)] if of.is_amount(name) else _levels(of, name)
        own += [Term(name, gap=True)] if of.facts[name].missing is not None else []
        if len(found) + len(own) <= MOST_TERMS:
            found += own
    return found


def _levels(of: Released, name: str) -> list[Term]:
    """Levels that occur, but for the first that every table has: what the others are measured against."""
    counts = [_level_counts(table, name, of.facts[name].levels) for table in of.tables]
    rows = [{level for level, count in each.items() if count} for each in counts]
    levels = sorted(set.union(*rows), key=written)
    if not 1 < len(levels) <= MOST_LEVELS:
        return []
    base = next((level for level in levels if all(level in seen for seen in rows)), levels[0])
    return [Term(name, level) for level in levels if level != base]


def fills(facts: Mapping[str, Declared]) -> dict[str, Any]:
    """The public value that stands in for a gap of each column that may have some, beside its indicator."""
    return {name: stand_in(each) for name, each in facts.items() if each.missing is not None}
