"""Means, shares and regressions of a whole table, from its release alone, and the program that computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth.evaluation.digits import WithError
from alphasynth.evaluation.intervals import Combined
from alphasynth.evaluation.released import (
    MOST_SHOWN,
    LevelShare,
    Regressed,
    Released,
    declared_numbers,
    declared_regression,
    fills,
    means,
    regression,
    shares,
)
from alphasynth.pages import page, whole_table
from alphasynth.pages.measures import ends_of
from alphasynth.pages.released.program import program
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.statements import declared_facts
from alphasynth.tables.declared import Declared, written
from alphasynth.tables.records import Records

INTERVAL = "95 % interval"
MISSING = "(missing, of all rows)"
OF_VALUES = "Shares of levels, of the rows that have a value"
NOTE = (
    "A level is measured against the one of its column that is not listed, numbers by one unit of theirs, and what is "
    "missing is a term of its own. Rows without the response are left out."
)
OF_LARGE = "The table is large: means, shares and regressions are left to the program below."
LEFT = "The tables are large: the regression of {} on the other columns is left to the program below."
ALL_OF_THEM = "In Python: means, shares, regressions"


def blocks_of(release: Release, tables: Sequence[Records], shown: str) -> list[page.Block]:
    """Tables of estimates, and the program; `shown` is the column that the page shows where none is a response."""
    facts = declared_facts(release.guarantee)
    if not facts or not whole_table.at_hand(release):
        return _of_large(release, facts, shown)
    of = released(release, tables)
    responses = [name for name in release.guarantee.response if name in of.regressed]
    responses = responses or [name for name in [shown] if name in of.regressed]
    regressions = [found for found in (regression(of, name) for name in responses) if found is not None]
    found = [_means(of), _shares(of), *(block for one in regressions for block in _regression(one))]
    lines = program(release, facts, of.numbers, fills(facts), regressions)
    return [*(block for block in found if block is not None), page.heading(ALL_OF_THEM), page.code(lines)]


def _of_large(release: Release, facts: Mapping[str, Declared], shown: str) -> list[page.Block]:
    """Of a large table one column is at hand: a program for who reads all of it."""
    can = [n for n, each in facts.items() if each.limits or not isinstance(each.levels[0], str)]
    can = [name for name in can if not facts[name].dates]
    responses = [name for name in release.guarantee.response if name in can]
    responses = responses or [name for name in [shown] if name in can]
    regressions = [declared_regression(facts, name) for name in responses]
    lines = program(release, facts, declared_numbers(facts), fills(facts), regressions)
    return [page.note(OF_LARGE), page.heading(ALL_OF_THEM), page.code(lines)]


def released(release: Release, tables: Sequence[Records]) -> Released:
    """A release as its estimates are made of it."""
    guarantee = release.guarantee
    return Released(tables, declared_facts(guarantee), guarantee.n, release.draws, guarantee.spread)


def _means(of: Released) -> page.Block | None:
    lines = [(each.column, *_cells(each.found, of.facts[each.column].dates)) for each in means(of)]
    return _table("Means of columns", ("column", "mean"), lines)


def _shares(of: Released) -> page.Block | None:
    lines = [(each.column, _level(of, each), *_cells(each.found)) for each in shares(of)]
    most = f"; of columns with more than {MOST_SHOWN} levels, the most frequent ones"
    many = any(len(facts.levels) > MOST_SHOWN for facts in of.facts.values())
    gaps = any(facts.missing is not None for facts in of.facts.values())
    return _table(
        f"{OF_VALUES if gaps else 'Shares of levels'}{most if many else ''}", ("column", "level", "share"), lines
    )


def _level(of: Released, share: LevelShare) -> str:
    """A level with its word, if it has one."""
    if share.level is None:
        return MISSING
    words = {written(code): word for code, word in of.facts[share.column].labels}
    level = written(share.level)
    return f"{level} ({words[level]})" if level in words else level


def _regression(found: Regressed) -> list[page.Block]:
    if not found.found:
        return [page.note(LEFT.format(found.response))]
    names = ["Intercept", *(term.name for term in found.terms)]
    lines = [(name, *_cells(each)) for name, each in zip(names, found.found, strict=True)]
    caption = f"Regression of {found.response} on the other columns, {found.kind}"
    table = _table(caption, ("term", "coefficient"), lines)
    return [] if table is None else [table, page.note(NOTE)]


def _cells(found: Combined, day: bool = False) -> tuple[object, ...]:
    error = found.variance**0.5 if found.variance else None
    return WithError(found.estimate, error, day), ends_of(found.interval, day)


def _table(caption: str, heads: Sequence[str], lines: Sequence[tuple[Any, ...]]) -> page.Block | None:
    """A table; of a single draw without the column of intervals."""
    if not lines:
        return None
    if all(line[-1] is None for line in lines):
        return page.table(caption, heads, [line[:-1] for line in lines])
    return page.table(caption, (*heads, INTERVAL), lines)
