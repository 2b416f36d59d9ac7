"""What is declared of columns, as notebooks show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth.notebook.markup import CONFIDENTIAL, Html, card, facts, note, table

MOST_LISTED, MOST_COLUMNS = 8, 40
UNCONFIRMED = "Read off the table, and public only once somebody says so"


def declared_table(declared: Mapping[str, Mapping[str, Any]], unsaid: str) -> Html:
    """A line per column: its facts in words, without the list called `unsaid`."""
    rows = [(name, in_words({k: v for k, v in said.items() if k != unsaid})) for name, said in declared.items()]
    more = [(f"and {len(rows) - MOST_COLUMNS:,} more", "")] if len(rows) > MOST_COLUMNS else []
    return table(("column", "declared public"), [*rows[:MOST_COLUMNS], *more])


def in_words(said: Mapping[str, Any]) -> str:
    """Facts of one column in words.

    >>> in_words({"limits": [0, 110], "whole": True, "missing": "model"})
    '0 to 110, whole, missing: model'
    >>> in_words({"levels": ["f", "m"]})
    '2 levels: f, m'
    """
    return ", ".join(_fact(name, value) for name, value in said.items())


def _fact(name: str, value: Any) -> str:
    if value is True:
        return name
    if name == "limits":
        return " to ".join(f"{end:,.10g}" if isinstance(end, float | int) else str(end) for end in value)
    if isinstance(value, list | tuple):
        word = f"{len(value):,} {name.removesuffix('s')}{'' if len(value) == 1 else 's'}"
        return f"{word}: {listed(value)}"
    return f"{name}: {value}"


def listed(values: Sequence[object]) -> str:
    """Values one after another; of many the first few.

    >>> listed(range(10))
    '0, 1, 2, 3, 4, 5, 6, 7 and 2 more'
    """
    more = len(values) - MOST_LISTED
    few = (f"{value:.10g}" if isinstance(value, float) else str(value) for value in values[:MOST_LISTED])
    return ", ".join(few) + (f" and {more:,} more" if more > 0 else "")


def columns_card(
    declared: Mapping[str, Mapping[str, Any]],
    beside: Mapping[str, Sequence[object]],
    unsaid: str,
    read_off: Mapping[str, Sequence[str]],
) -> str:
    """Declared columns, what is said beside them, and what nobody has confirmed."""
    marks = [f"{name} ({', '.join(found)})" for name, found in read_off.items()]
    warned = note(f"{UNCONFIRMED}: {listed(marks)}.") if marks else None
    more = facts({name: listed(values) for name, values in beside.items() if values})
    return card("Columns", warned, declared_table(declared, unsaid), more, mark=CONFIDENTIAL if marks else "")
