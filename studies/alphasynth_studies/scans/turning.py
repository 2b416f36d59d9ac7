"""When a verdict turns between settings, or between units of salaries: one rule for both.

A remark about one table has three verdicts, by the share of tables that have it. It turns if its verdict at another
setting is not that at ours, on all our tables, and the two shares differ by more than chance: by two standard errors of
the difference of two shares of so many tables. Of a number or a claim chance is in the verdict itself (undecided lies
between): it turns if it holds at one setting and does not at another.
"""

from __future__ import annotations

from collections.abc import Iterable

from alphasynth_studies.expected import FAILS, HOLDS, of_one_table

ERRORS = 2  # standard errors
RULE = (
    "A remark turns if its verdict (holds, not unusual, does not hold) at another setting is not that at ours, and the "
    "shares of tables at the two, of those on which both were tried, differ by more than two standard errors; a claim "
    "or a number turns if it holds at one and does not hold at another, undecided being neither"
)


def remark_turns(verdict: str, ours: float, other: float, tables: int) -> bool:
    """Whether a remark turns: its verdict at ours, and shares of so many tables at ours and at another setting.

    >>> [remark_turns("holds", 1.0, 0.8, tables) for tables in (40, 10)]
    [True, False]
    >>> remark_turns("not unusual", 0.9, 0.4, 40)
    False
    """
    together = (ours + other) / 2
    error = (2 * together * (1 - together) / tables) ** 0.5
    return of_one_table(other) != verdict and abs(ours - other) > ERRORS * error


def opposed(verdicts: Iterable[str]) -> bool:
    """Whether a number or a claim holds at one setting and does not hold at another."""
    return {HOLDS, FAILS} <= set(verdicts)
