"""Shares of the levels of a column: of text, and of numbers that may be codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alphasynth.evaluation.chance import share_error
from alphasynth.evaluation.compared import Share
from alphasynth.evaluation.digits import date_words
from alphasynth.evaluation.intervals import Interval, combine
from alphasynth.evaluation.values import as_text, is_numeric, present
from alphasynth.tables.records import Records

FEW_VALUES = 12  # of a column of numbers, whose shares are then compared
MOST_SHOWN = 20  # levels of a column whose shares are compared; the rest are put together


def has_few_values(records: Records, name: str) -> bool:
    """Whether a numeric column may be a code: it has few values, each in several rows."""
    values = np.unique(np.asarray(records.columns[name])[present(records, name)])
    return 1 < len(values) <= FEW_VALUES and records.n >= 5 * len(values)


def shares_of(
    name: str,
    records: Records,
    tables: Sequence[Records],
    draws: Sequence[int] | None = None,
    scalar: float | str | None = None,
) -> list[Share]:
    """Shares of a column's levels, the commonest first, of the rows that have a value.

    `draws` and `scalar` say how the tables were drawn, as `combine` takes them.
    """
    own = level_shares(records, name)
    others = [level_shares(table, name) for table in tables]
    levels = dict.fromkeys([*own, *(level for other in others for level in other)])
    found = [(v, own.get(v, 0.0), np.array([other.get(v, 0.0) for other in others])) for v in levels]
    n, rows = _rows_of(records, name), sum(_rows_of(table, name) for table in tables)
    # Which levels are shown, rows of all tables together say: the commonest of one table would be rarer in any other.
    found.sort(key=lambda each: -(each[1] * n + each[2].mean() * rows))
    shown, rest = sorted(found[:MOST_SHOWN], key=lambda each: -each[1]), found[MOST_SHOWN:]
    if rest:
        shown.append((f"{len(rest)} others", sum(each[1] for each in rest), np.sum([each[2] for each in rest], axis=0)))
    sizes = [(_rows_of(table, name), table.n) for table in tables]
    made = []
    for level, one, by_table in shown:
        other = float(by_table.mean())
        interval = _interval(by_table, sizes, records.n, draws, scalar)
        made.append(Share(name, level, one, other, share_error(one, n, other, rows), interval))
    return made


def _interval(
    shares: np.ndarray,
    sizes: Sequence[tuple[int, int]],
    n: int,
    draws: Sequence[int] | None,
    scalar: float | str | None,
) -> Interval | None:
    """The combined interval of a share, between 0 and 1; `sizes` are rows with a value, and all, of each table."""
    variances = [
        p * (1 - p) / (known - 1) if known > 1 else np.nan for p, (known, _) in zip(shares, sizes, strict=True)
    ]
    found = combine(shares.tolist(), variances, [rows for _, rows in sizes], n, draws, scalar).interval
    return None if found is None else Interval(max(found.low, 0.0), min(found.high, 1.0))


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
        words = map(date_words, distinct[shown]) if name in records.dates else as_text(distinct)[shown].tolist()
        return dict(zip(words, (counts[shown] / max(counts.sum(), 1)).tolist(), strict=True))
    levels, place = np.unique(as_text(column)[there], return_inverse=True)
    counts = np.bincount(place, records.counts[there], minlength=len(levels))
    return dict(zip(levels.tolist(), (counts / max(counts.sum(), 1)).tolist(), strict=True))
