"""Risk, measured on released tables: empirical figures for the data's holder, and no guarantee of anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from alphasynth.errors import InputError
from alphasynth.evaluation.values import as_text, conform, is_numeric, read_records
from alphasynth.tables.frames import Frame
from alphasynth.tables.grouping import Stored
from alphasynth.tables.nearness import count_inside
from alphasynth.tables.records import Records


@dataclass(frozen=True, eq=False)
class IdentificationRisk:
    """CW's risk on released tables: how much a record's value stands out among the rows of a table that come near it.

    For each record the share of a table's rows outside the ball around its value, and 0 where no row at all is inside:
    such a table says nothing of the record. `by_distinct` has one entry per distinct record, averaged over tables;
    `before` is the same on the confidential table itself, where the record's own row is always inside, and what a
    verbatim copy scores. `inside` is the share of tables with a row in the ball (confidential).
    """

    records: Records = field(repr=False)
    radius: float
    relative: bool
    by_distinct: np.ndarray = field(repr=False)
    before: np.ndarray = field(repr=False)
    inside: np.ndarray = field(repr=False)
    unique: int = 0  # records that share the known columns' values with no other

    @property
    def by_record(self) -> np.ndarray:
        """Risk (n,) in the table's own row order."""
        return self.records.expand(self.by_distinct)

    @property
    def mean(self) -> float:
        """Mean over records."""
        return float(np.average(self.by_distinct, weights=self.records.counts))

    @property
    def mean_before(self) -> float:
        """Mean over records, on the confidential table."""
        return float(np.average(self.before, weights=self.records.counts))

    @property
    def alone(self) -> int:
        """Number of records that no synthetic row comes near, in any of the tables."""
        return int(self.records.counts[self.inside == 0].sum())


def identification_risk(
    confidential: Frame | Stored | Records,
    tables: Sequence[Frame | Stored | Records],
    *,
    column: str,
    radius: float,
    relative: bool = True,
    known: Sequence[str] = (),
) -> IdentificationRisk:
    """Risk by record of a numeric column on the tables, averaged over them (empirical, and no guarantee).

    A record is compared with rows that share its values of the `known` columns.

    >>> import pandas as pd
    >>> table, synthetic = pd.DataFrame({"y": [100, 50]}), pd.DataFrame({"y": [95, 105, 200, 80]})
    >>> identification_risk(table, [synthetic], column="y", radius=0.1).by_record.tolist()
    [0.5, 0.0]
    """
    check_radius(radius)
    records = read_records(confidential, [column, *known])
    if not tables or not is_numeric(records.columns[column]):
        raise InputError(f"column {column!r} must hold numbers, and there must be a table beside, found otherwise")
    others = [conform(records, read_records(table, [column, *known])) for table in tables]
    outside = np.array([_outside(records, table, column, radius, relative, known) for table in others])
    risks, inside = np.where(outside < 1, outside, 0.0), outside < 1
    before = _outside(records, records, column, radius, relative, known)
    members = np.bincount(records.group(known), records.counts) if known else np.zeros(1)
    unique = int((members == 1).sum())
    return IdentificationRisk(records, radius, relative, risks.mean(axis=0), before, inside.mean(axis=0), unique)


def check_radius(radius: float) -> None:
    """Refuse a radius that is not positive."""
    if isinstance(radius, bool) or not isinstance(radius, int | float) or not 0 < radius < np.inf:
        raise InputError(f"radius must be positive and finite, found {radius!r}")


def _outside(
    target: Records, table: Records, column: str, radius: float, relative: bool, known: Sequence[str]
) -> np.ndarray:
    """For each distinct record of `target`, the share of its group's rows in `table` outside its ball; 1 of none."""
    own, others = (np.asarray(records.columns[column], np.float64) for records in (target, table))
    groups = _groups([target, table], known)
    inside = _count_inside(own, others, table.counts, groups, _reach(own, radius, relative))
    members = np.bincount(groups[1], table.counts, minlength=groups[0].max() + 1)[groups[0]]
    return 1 - np.divide(inside, members, out=np.zeros(len(own)), where=members > 0)


def _reach(values: np.ndarray, radius: float, relative: bool) -> np.ndarray:
    return radius * np.abs(values) if relative else np.full(len(values), float(radius))


def _count_inside(
    own: np.ndarray, others: np.ndarray, counts: np.ndarray, groups: Sequence[np.ndarray], reach: np.ndarray
) -> np.ndarray:
    """For each own value the number of rows of `others` in its ball: its own rows take part with count 0."""
    merged = np.concatenate([own, others])
    weights = np.concatenate([np.zeros(len(own), np.int64), counts])
    reaches = np.concatenate([reach, np.zeros(len(others))])
    return count_inside(merged, weights, np.concatenate(groups), reaches)[: len(own)]


def _groups(tables: Sequence[Records], names: Sequence[str]) -> list[np.ndarray]:
    """Group number of each distinct row, the same in all tables where the named columns are equal."""
    sizes = np.cumsum([table.size for table in tables])[:-1]
    number = np.zeros(sum(table.size for table in tables), np.int64)
    for name in names:
        columns = [table.columns[name] for table in tables]
        numeric = all(is_numeric(column) for column in columns)
        merged = np.concatenate([np.asarray(column) if numeric else as_text(column) for column in columns])
        codes = np.unique(merged, return_inverse=True)[1]
        number = np.unique(number * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    return np.split(number, sizes)


@dataclass(frozen=True, eq=False)
class Aligned:
    """Values of two tables, row by row: row i of `synthetic` was made for record i (confidential).

    `group` numbers what an intruder knows of each row beside its value.
    """

    confidential: np.ndarray = field(repr=False)
    synthetic: np.ndarray = field(repr=False)
    group: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse columns of different lengths."""
        if not len(self.confidential) == len(self.synthetic) == len(self.group):
            raise InputError(
                f"aligned tables must have as many rows, found {len(self.confidential):,} and {len(self.synthetic):,}"
            )

    @cached_property
    def distinct(self) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], ...]:
        """Of either table the distinct values within groups: value, group, number of rows, and the line of each row."""
        sides = []
        for values in (self.confidential, self.synthetic):
            distinct, codes = np.unique(values, return_inverse=True)
            lines, of, counts = np.unique(self.group * len(distinct) + codes, return_inverse=True, return_counts=True)
            sides.append((distinct[lines % len(distinct)], lines // len(distinct), counts, of))
        return tuple(sides)


@dataclass(frozen=True)
class MatchRates:
    """What an intruder who looks for each record gets from a table whose rows are aligned with the records.

    The intruder knows a record's group, and its value to within the radius. `expected` is the mean over records of 1/c
    where the record's own row is among the c rows that match, and 0 where it is not; `true_rate` the share of records
    with a single match, their own row; `false_rate` the share of single matches that are another's row (None: there
    are none); `unique` the share of records with a single match.
    """

    expected: float
    true_rate: float
    false_rate: float | None
    unique: float


def match_rates(rows: Aligned, radius: float, relative: bool = True) -> MatchRates:
    """Match rates of one table.

    >>> rows = Aligned(np.array([10.0, 20.0]), np.array([10.5, 90.0]), np.zeros(2, int))
    >>> match_rates(rows, radius=0.1)
    MatchRates(expected=0.5, true_rate=0.5, false_rate=0.0, unique=0.5)
    """
    check_radius(radius)
    (own, group, _, of), (others, groups, counts, _) = rows.distinct
    inside = _count_inside(own, others, counts, [group, groups], _reach(own, radius, relative))
    matches = inside[of]
    hit = np.abs(rows.synthetic - rows.confidential) <= _reach(rows.confidential, radius, relative)
    single = matches == 1
    expected = np.divide(hit, matches, out=np.zeros(len(hit)), where=matches > 0)
    false_rate = float(1 - hit[single].mean()) if single.any() else None
    return MatchRates(float(expected.mean()), float((hit & single).mean()), false_rate, float(single.mean()))


def mean_rates(rates: Sequence[MatchRates]) -> MatchRates:
    """Rates averaged over tables."""
    false = [rate.false_rate for rate in rates if rate.false_rate is not None]
    return MatchRates(
        float(np.mean([rate.expected for rate in rates])),
        float(np.mean([rate.true_rate for rate in rates])),
        float(np.mean(false)) if false else None,
        float(np.mean([rate.unique for rate in rates])),
    )


def paired_rates(
    confidential: Records, table: Records, known: Sequence[str], radius: float, relative: bool = True
) -> MatchRates | None:
    """Match rates of a table made by a model of the known columns, which it has as they are; None where it has not.

    Rows of such a table that share the known columns' values are exchangeable, so a record's own row is any of its
    group's, with equal chances: these are the rates' expected values, and no order of rows is needed.
    """
    check_radius(radius)
    # Tables that differ in one of the columns differ in all of them together: most are told by the first.
    if any(_same_groups(confidential, table, [name]) is None for name in known):
        return None
    same = _same_groups(confidential, table, known)
    if same is None:
        return None
    group, groups, sizes = same
    own, others = (np.asarray(r.columns[confidential.response], np.float64) for r in (confidential, table))
    matches = _count_inside(own, others, table.counts, [group, groups], _reach(own, radius, relative))
    share, chance = confidential.counts / confidential.n, 1 / sizes[group]
    expected, single = share @ (chance * (matches > 0)), float(share @ (matches == 1))
    true_rate = float(share @ (chance * (matches == 1)))
    return MatchRates(float(expected), true_rate, 1 - true_rate / single if single > 0 else None, single)


def _same_groups(
    confidential: Records, table: Records, known: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Groups of the rows of both tables and their sizes, where these are the same in both; or else None."""
    group, groups = _groups([confidential, table], known)
    top = int(max(group.max(), groups.max())) + 1
    sizes = np.bincount(group, confidential.counts, top)
    return (group, groups, sizes) if np.array_equal(sizes, np.bincount(groups, table.counts, top)) else None
