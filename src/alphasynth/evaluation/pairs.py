"""Columns and pairs of whole tables: total variation between confidential and synthetic cells, beside chance alone.

The total variation of two tables on some cells is half the sum of the absolute differences of their shares of rows: the
least share of rows that would have to move to another cell to make them equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from alphasynth.evaluation.digits import date_words
from alphasynth.evaluation.values import as_text, is_numeric, present
from alphasynth.raking.cells import Cells
from alphasynth.tables.declared import Declared
from alphasynth.tables.records import Records

MOST_GROUPS = 10  # of a column that is one of a pair
MISSING, OTHERS = "missing", "others"


@dataclass(frozen=True, eq=False)
class Cut:
    """A column cut into groups: their labels, and the numbers (groups, 2) that each goes from and to, NaN without any.

    `codes` are the groups (distinct rows,) of the confidential table, then of each synthetic one (confidential). The
    numbers of `dates` are days'.
    """

    name: str
    labels: tuple[str, ...]
    ends: np.ndarray = field(repr=False)
    codes: tuple[np.ndarray, ...] = field(repr=False)
    dates: bool = False


@dataclass(frozen=True, eq=False)
class Difference:
    """Shares of rows in the cells of a column (cells,) or of a pair (rows, columns), synthetic ones as means of tables.

    `variation` is the mean total variation of the synthetic tables, `chance` about what two samples of one population
    would have, and `error` about its standard deviation between such samples (confidential).
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    confidential: np.ndarray = field(repr=False)
    synthetic: np.ndarray = field(repr=False)
    variation: float
    chance: float
    error: float = float("nan")


@dataclass(frozen=True, eq=False)
class Differences:
    """Every column, on its blocks, and every pair, on groups of blocks; the largest variations first (confidential)."""

    columns: tuple[Difference, ...]
    pairs: tuple[Difference, ...]


def differences(declared: Mapping[str, Declared], records: Records, tables: Sequence[Records]) -> Differences:
    """Compare all declared columns and pairs that the records hold, on cells that declarations make."""
    named = {name: facts for name, facts in declared.items() if name in records.columns}
    return compare_cuts(
        [cut(Cells.of(n, facts, facts.skewed), [records, *tables], facts.dates) for n, facts in named.items()],
        records,
        tables,
    )


def compare_cuts(
    blocks: Sequence[Cut], records: Records, tables: Sequence[Records], public: Sequence[str] = ()
) -> Differences:
    """Compare columns and pairs on these cells; `public` columns, the same in all tables, only together with others."""
    weights = [np.asarray(table.counts, np.float64) for table in (records, *tables)]
    columns = [_differ((one,), weights) for one in blocks]
    groups = [join(c, (d.confidential + d.synthetic) / 2) for c, d in zip(blocks, columns, strict=True)]
    pairs = [_differ(pair, weights) for pair in combinations(groups, 2) if not {p.name for p in pair} <= set(public)]
    return Differences(_largest_first([one for one in columns if one.names[0] not in public]), _largest_first(pairs))


def _largest_first(found: Sequence[Difference]) -> tuple[Difference, ...]:
    return tuple(sorted(found, key=lambda one: -one.variation))


def cut(cells: Cells, tables: Sequence[Records], dates: bool = False) -> Cut:
    """A column of each table, cut into its blocks; numbers of `dates` are days'."""
    ends = np.full((cells.blocks, 2), np.nan)
    if cells.text:
        labels = [str(level) for level in cells.levels]
    else:
        numbers = cells.block[: len(cells.lower)]
        first = np.searchsorted(numbers, np.arange(numbers[-1] + 1))
        last = np.searchsorted(numbers, np.arange(numbers[-1] + 1), "right") - 1
        ends[: len(first)] = np.stack([cells.lower[first], cells.upper[last]], axis=1)
        labels = [spoken(low, high, dates) for low, high in ends[: len(first)]]
    named = (*labels, *([MISSING] if cells.gap else []))
    return Cut(cells.name, named, ends, tuple(cells.block[_codes(cells, table)] for table in tables), dates)


def _codes(cells: Cells, table: Records) -> np.ndarray:
    """The cell of each distinct row; what files do to the last digit puts no value beyond the cells."""
    column, most = table.columns[cells.name], cells.size - 1 - cells.gap
    if cells.text:
        levels, place = np.unique(as_text(column), return_inverse=True)
        known = {str(level): i for i, level in enumerate(cells.levels)}
        codes = np.array([known.get(level, most) for level in levels.tolist()])[place]
    elif cells.levels:
        between = (cells.lower[1:] + cells.lower[:-1]) / 2
        codes = np.searchsorted(between, numbers_or_truth(column))
    else:
        codes = np.clip(np.searchsorted(cells.lower, numbers_or_truth(column), side="right") - 1, 0, most)
    return codes if not cells.gap else np.where(present(table, cells.name), codes, cells.size - 1)


def numbers_or_truth(column: Any) -> np.ndarray:
    """A column's numbers, ones and zeros of truth values."""
    return np.asarray(column, np.float64) if is_numeric(column) else (as_text(column) == "true").astype(np.float64)


def spoken(low: float, high: float, dates: bool = False) -> str:
    """A cell of numbers, or of days, which goes to the next one's first.

    >>> spoken(3.0, 3.0), spoken(0.0, 0.25), spoken(7078.4, 40000.0), spoken(0.0, 31.0, dates=True)
    ('3', '0 to 0.25', '7078 to 40000', 'from 1970-01-01')
    """
    if dates:
        return date_words(low) if low == high else f"from {date_words(low)}"
    return _end(low, 5) if low == high else f"{_end(low, 4)} to {_end(high, 4)}"


def _end(value: float, digits: int) -> str:
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.{digits}g}"


def join(cut: Cut, shares: np.ndarray, most: int = MOST_GROUPS) -> Cut:
    """A column in at most so many groups: neighbours joined to about equal shares, of levels the rarest together."""
    if len(cut.labels) <= most:
        return cut
    numbered = np.isfinite(cut.ends[:, 0])
    if not numbered.any():
        kept = np.sort(np.argsort(-shares, kind="stable")[: most - 1])
        place = np.full(len(shares), most - 1)
        place[kept] = np.arange(most - 1)
        labels = (*(cut.labels[i] for i in kept), OTHERS)
        return Cut(cut.name, labels, np.full((most, 2), np.nan), tuple(place[codes] for codes in cut.codes))
    own = shares[numbered]
    middle = (np.cumsum(own) - own / 2) / (own.sum() or 1.0)
    room = most - int((~numbered).sum())
    place = np.unique(np.minimum(np.floor(middle * room), room - 1), return_inverse=True)[1]
    first, last = (np.searchsorted(place, np.arange(place[-1] + 1), side) for side in ("left", "right"))
    ends = np.stack([cut.ends[first, 0], cut.ends[last - 1, 1]], axis=1)
    labels = (*(spoken(low, high, cut.dates) for low, high in ends), *cut.labels[len(own) :])
    beside = place[-1] + 1 + np.arange(len(shares) - len(own))
    joined = np.concatenate([place, beside])
    ends = np.concatenate([ends, cut.ends[len(own) :]])
    return Cut(cut.name, labels, ends, tuple(joined[codes] for codes in cut.codes), cut.dates)


def _differ(cuts: Sequence[Cut], weights: Sequence[np.ndarray]) -> Difference:
    """Shares in the cells of one column or of two, in each table."""
    sizes = tuple(len(each.labels) for each in cuts)
    cells = int(np.prod(sizes))
    shares = []
    for table, counts in enumerate(weights):
        codes = cuts[0].codes[table] if len(cuts) == 1 else cuts[0].codes[table] * sizes[1] + cuts[1].codes[table]
        shares.append(np.bincount(codes, counts, minlength=cells) / counts.sum())
    own, others = shares[0], np.stack(shares[1:])
    rows = [float(counts.sum()) for counts in weights]
    return Difference(
        tuple(each.name for each in cuts),
        tuple(each.labels for each in cuts),
        own.reshape(sizes),
        others.mean(axis=0).reshape(sizes),
        float(np.abs(others - own).sum(axis=1).mean() / 2),
        chance_variation(own, rows[0], float(np.mean(rows[1:]))),
        _chance_error(own, rows[0], float(np.mean(rows[1:]))),
    )


def _chance_error(shares: np.ndarray, n: float, rows: float) -> float:
    """Standard deviation of the total variation of two such samples: half a sum of nearly independent |differences|."""
    return float(np.sqrt((shares * (1 - shares)).sum() * (1 / n + 1 / rows) * (1 - 2 / np.pi)) / 2)


def chance_variation(shares: np.ndarray, n: float, rows: float) -> float:
    """About the mean total variation of two samples, of n and of `rows` rows, from one population of these shares.

    Counts of a cell with share p in two samples of n rows are about Poisson with mean a = n p, and |X - Y| of two such
    has mean 2 a exp(-2 a) (I0(2 a) + I1(2 a)). For binomial counts the variance is 1 - p of that, so the mean is taken
    times its root, p or 1 - p being the smaller one. Where n p is large the sum is that of sqrt(p (1 - p) / (pi n)).
    Samples of other sizes go by their harmonic mean.

    >>> round(chance_variation(np.array([0.5, 0.5]), 1000, 1000), 4), round((1 / (np.pi * 1000)) ** 0.5, 4)
    (0.0178, 0.0178)
    """
    from scipy.special import ive

    smaller, size = np.minimum(shares, 1 - shares), 2 / (1 / n + 1 / rows)
    rate = size * smaller
    apart = 2 * rate * (ive(0, 2 * rate) + ive(1, 2 * rate)) * np.sqrt(1 - smaller)
    return float(apart.sum() / size / 2)
