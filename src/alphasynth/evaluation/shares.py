"""Shares of the levels of a column: of text, and of numbers that may be codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alphasynth.evaluation.chance import share_error
from alphasynth.evaluation.compared import Share
from alphasynth.evaluation.values import as_text, is_numeric, present
from alphasynth.tables.records import Records

FEW_VALUES = 12  # of a column of numbers, whose shares are then compared
MOST_SHOWN = 20  # levels of a column whose shares are compared; the rest are put together


def has_few_values(records: Records, name: str) -> bool:
    """Whether a numeric column may be a code: it has few values, each in several rows."""
    values = np.unique(np.asarray(records.columns[name])[present(records, name)])
    return 1 < len(values) <= FEW_VALUES and records.n >= 5 * len(values)


def shares_of(name: str, records: Records, tables: Sequence[Records]) -> list[Share]:
    """Shares of a column's levels, the commonest first, of the rows that have a value."""
    own = level_shares(records, name)
    others = [level_shares(table, name) for table in tables]
    levels = dict.fromkeys([*own, *(level for other in others for level in other)])
    found = [(v, own.get(v, 0.0), float(np.mean([o.get(v, 0.0) for o in others]))) for v in levels]
    n, rows = _rows_of(records, name), sum(_rows_of(table, name) for table in tables)
    # Which levels are shown, rows of all tables together say: the commonest of one table would be rarer in any other.
    found.sort(key=lambda each: -(each[1] * n + each[2] * rows))
    shown, rest = sorted(found[:MOST_SHOWN], key=lambda each: -each[1]), found[MOST_SHOWN:]
    found = [*shown, *([(f"{len(rest)} others", sum(s[1] for s in rest), sum(s[2] for s in rest))] if rest else [])]
    return [Share(name, level, one, other, share_error(one, n, other, rows)) for level, one, other in found]


def _rows_of(records: Records, name: str) -> int:
    """How many rows have a value."""
    return int(records.counts[present(records, name)].sum())


def level_shares(records: Records, name: str) -> dict[str, float]:
    """The share of each level that occurs."""
    there, column = present(records, name), records.columns[name]
    if is_numeric(column):  # few numbers are put into words, not all rows'
        distinct, place = np.unique(np.asarray(column), return_inverse=True)
        counts = np.bincount(place[there], records.counts[there], minlength=len(distinct))
        shown = np.flatnonzero(counts)
        return dict(
            zip(as_text(distinct)[shown].tolist(), (counts[shown] / max(counts.sum(), 1)).tolist(), strict=True)
        )
    levels, place = np.unique(as_text(column)[there], return_inverse=True)
    counts = np.bincount(place, records.counts[there], minlength=len(levels))
    return dict(zip(levels.tolist(), (counts / max(counts.sum(), 1)).tolist(), strict=True))
