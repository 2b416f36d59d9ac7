"""`Values`: a numeric column as its distinct values and how often each occurs; its statistics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError, found
from alphasynth.tables.declared import Declared
from alphasynth.tables.frames import Frame, column_names, require, to_arrow
from alphasynth.tables.gaps import gap_counts, indicator_of, split_gaps
from alphasynth.tables.grouping import Stored
from alphasynth.tables.limits import days_of, in_days, is_text, undressed
from alphasynth.tables.records import Records

QUANTILES = (0.15, 0.9)  # the paper's


@dataclass(frozen=True, eq=False)
class Values:
    """Distinct values in ascending order and their counts; what holds of the column holds of these, exactly.

    >>> Values.of([3, 1, 3, 5]).quantile(0.5)
    3.0
    """

    values: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, values: Any, counts: Any = None) -> Values:
        """Values in any order, each standing for `counts` rows, or for one."""
        numbers = np.asarray(values, np.float64)
        if numbers.size == 0:
            raise InputError("a column must have values, found none")
        distinct, place = np.unique(numbers, return_inverse=True)
        weights = None if counts is None else np.asarray(counts)
        return cls(distinct, np.bincount(place, weights).astype(np.int64))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean."""
        return float(np.average(self.values, weights=self.counts))

    @property
    def sd(self) -> float:
        """Standard deviation, with n - 1; 0 of a single row."""
        squares = self.counts @ (self.values - self.mean) ** 2
        return float(np.sqrt(squares / max(self.n - 1, 1)))

    def quantile(self, share: float) -> float:
        """Quantile, interpolated between order statistics as NumPy and R do unless told otherwise (type 7)."""
        place = (self.n - 1) * share
        low = int(np.floor(place))
        below, above = self.at(np.array([low, min(low + 1, self.n - 1)]))
        return float(below + (place - low) * (above - below))

    def at(self, ranks: np.ndarray) -> np.ndarray:
        """Values of the rows with these ranks, from 0, in ascending order."""
        return self.values[np.searchsorted(np.cumsum(self.counts), ranks, "right")]

    def share_up_to(self, points: np.ndarray) -> np.ndarray:
        """Empirical distribution function at these points."""
        shares = np.concatenate([[0.0], np.cumsum(self.counts) / self.n])
        return shares[np.searchsorted(self.values, points, "right")]


@dataclass(frozen=True)
class Statistic:
    """A number that describes a column: its name, and which kind of thing it is."""

    name: str
    of: Callable[[Values], float] = field(repr=False, compare=False)
    share: float | None = None  # of a quantile

    @property
    def in_the_tails(self) -> bool:
        """Whether it depends on the tails, which vector weights draw in."""
        return self.name == "sd" or (self.share is not None and abs(self.share - 0.5) > 0.25)


def statistics(quantiles: Sequence[float] = QUANTILES) -> tuple[Statistic, ...]:
    """Mean, median, the quantiles asked for, sd.

    >>> [statistic.name for statistic in statistics()]
    ['mean', 'median', 'q15', 'q90', 'sd']
    """
    for share in quantiles:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            raise InputError(f"quantiles must lie between 0 and 1, found {found(share)}")
    shares = sorted(set(quantiles) - {0.5})
    return (
        Statistic("mean", lambda values: values.mean),
        _quantile("median", 0.5),
        *(_quantile(f"q{share * 100:.10g}", share) for share in shares),
        Statistic("sd", lambda values: values.sd),
    )


def _quantile(name: str, share: float) -> Statistic:
    return Statistic(name, lambda values: values.quantile(share), share)


def read_records(
    table: Frame | Stored | Records,
    columns: Sequence[str],
    gaps: Mapping[str, Declared] | None = None,
    dates: Collection[str] = (),
) -> Records:
    """Distinct rows of the columns of a frame or stored table, with counts; raise `InputError`.

    Columns among `gaps` may have missing values: an indicator tells them, and a public value stands in. Dates and times
    are read as days' numbers, and so is text of the columns `dates`.
    """
    if isinstance(table, Records):
        return table
    if not isinstance(table, Stored):
        require(column_names(table), columns, "to be compared")
        days, dated = in_days(to_arrow(table, columns), dates)
        return replace(Records.from_arrow(split_gaps(days, gaps or {})), dates=dated)
    require(list(table.column_names), columns, "to be compared", table.names_are_public)
    grouped = table.group(columns, ())
    days, dated = in_days(grouped.columns, dates)
    lines = replace(grouped, columns=split_gaps(days, gaps or {}))
    several = bool(dated) and len(lines.counts) > 1  # times of one day are one line
    return replace(Records.from_grouped(lines) if several else Records.from_distinct(lines), dates=dated)


def together(tables: Sequence[Values]) -> Values:
    """The values of several tables put together."""
    return Values.of(np.concatenate([t.values for t in tables]), np.concatenate([t.counts for t in tables]))


def is_numeric(column: Any) -> bool:
    """Whether a column of records holds numbers."""
    return getattr(column.dtype, "kind", "O") in "iuf"


def conform(original: Records, table: Records) -> Records:
    """A synthetic table with columns as the confidential one's: numbers, or text for all else; raise `InputError`.

    Files do not keep every type: text codes come back from a text file as numbers, truth values in other words.
    """
    columns = {name: _conform(name, column, table.columns[name]) for name, column in original.columns.items()}
    return Records(original.response, columns, table.counts, table.index, original.dates)


def _conform(name: str, original: Any, column: Any) -> np.ndarray:
    if is_numeric(original):
        if not is_numeric(column) and set(np.char.lower(as_text(column))) <= {"true", "false"}:
            return (np.char.lower(as_text(column)) == "true").astype(np.float64)  # declared so of zeros and ones
        if not is_numeric(column):
            raise InputError(f"column {name!r} must hold numbers like the confidential one, found something else")
        return np.asarray(column, np.float64)
    text = as_text(column)
    if getattr(original.dtype, "kind", "O") == "b":
        return np.array([TRUTH.get(word, word) for word in np.char.lower(text)], str)
    spelt = {word.lower(): word for word in np.unique(as_text(original)).tolist()}
    if set(spelt) <= {"true", "false"}:  # text files write these as they like
        return np.array([spelt.get(word.lower(), word) for word in text.tolist()], str)
    return text


# How files write truth values.
TRUTH = {"1": "true", "0": "false", "t": "true", "f": "false"}


def as_text(column: Any) -> np.ndarray:
    """Categories, truth values and codes as text; whole numbers without a point."""
    if (values := np.asarray(column)).dtype.kind == "b":
        return np.where(values, "true", "false")
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    return values.astype(str)


def plain(column: Any) -> np.ndarray:
    """Numbers as they are, everything else as text."""
    return np.asarray(column, np.float64) if is_numeric(column) else as_text(column)


class Shared(NamedTuple):
    """What tables are compared on: columns, those that have gaps in some table as `read_records` takes them, dates.

    Columns that are `left_out` some table does not have, or has none that can be compared.
    """

    names: tuple[str, ...]
    gaps: Mapping[str, Declared]
    dates: frozenset[str]
    left_out: tuple[str, ...] = ()

    def read(self, table: Frame | Stored | Records) -> Records:
        """The table's distinct rows on these columns; raise `InputError`."""
        return read_records(table, self.names, self.gaps, self.dates)


def shared(tables: Sequence[Frame | Stored | Records], columns: Sequence[str] | None) -> Shared:
    """What tables share: the columns named, or else all that every table has and that can be compared."""
    names = shared_columns(tables, columns)
    read = [_arrow(table, names) for table in tables]
    gaps = [name for held, counts in read if held is not None for name in gap_counts(held, counts)]
    kinds = {name: {_kind(t, held, name) for t, (held, _) in zip(tables, read, strict=True)} for name in names}
    dates = frozenset(name for name, found in kinds.items() if found & {DAYS, TEXT_DAYS} and found <= OF_DAYS)
    kept = [n for n, found in kinds.items() if not found & {STRANGE} and (n in dates or DAYS not in found)]
    if columns or not kept:
        unlike = [name for name in names if DAYS in kinds[name] and name not in dates]
        if unlike:
            raise InputError(f"column {unlike[0]!r} must hold dates in all tables or in none, found both")
        kept = names
    left = [] if columns else [str(n) for table in tables for n in _listed(table) if n not in kept]
    facts = {name: Declared(missing="model") for name in kept if name in gaps}
    return Shared(tuple(kept), facts, dates, tuple(dict.fromkeys(left)))


def shared_columns(tables: Sequence[Any], columns: Sequence[str] | None) -> list[str]:
    """Columns to compare: those named, or all that every table has, in the first one's order."""
    if columns:
        return list(dict.fromkeys(columns))
    listed = [_listed(table) for table in tables]
    found = [name for name in listed[0] if all(name in names for names in listed)]
    if not found:
        raise InputError("the tables must share a column, found none")
    if not all(isinstance(name, str) for name in found):
        raise InputError("columns must have names of text, found others")
    return found


def _listed(table: Frame | Stored | Records) -> list[Any]:
    """A table's columns."""
    if isinstance(table, Records):
        return list(table.columns)
    return list(table.column_names) if isinstance(table, Stored) else column_names(table)


def _arrow(table: Frame | Stored | Records, names: Sequence[str]) -> tuple[pa.Table | None, np.ndarray | None]:
    """Columns of a table and how many rows each line is; None of what is read already, or is refused when it is."""
    if isinstance(table, Records) or any(_listed(table).count(name) != 1 for name in names):
        return None, None
    if isinstance(table, Stored):
        return (grouped := table.group(names, ())).columns, grouped.counts
    return to_arrow(table, names), None


# What a column holds: dates, text that reads like them, gaps alone, what cannot be compared, the rest.
DAYS, TEXT_DAYS, NOTHING, STRANGE, OTHER = "days", "days as text", "nothing", "strange", "other"
OF_DAYS = {DAYS, TEXT_DAYS, NOTHING}
UNCOMPARED = (pa.types.is_temporal, pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)


def _kind(table: Frame | Stored | Records, held: pa.Table | None, name: str) -> str:
    """Which of these a column is."""
    if held is None:
        return DAYS if isinstance(table, Records) and name in table.dates else OTHER
    column, kind = undressed(held.column(name))
    if len(column) == column.null_count:
        return NOTHING
    if days_of(column, of_text=True) is not None:
        return TEXT_DAYS if is_text(kind) else DAYS
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return STRANGE if any(test(kind) for test in UNCOMPARED) else OTHER


def weighted_statistics(values: np.ndarray, weights: np.ndarray, quantiles: Sequence[float]) -> dict[str, float]:
    """Mean, quantiles and sd of values with weights above 0.

    >>> weighted_statistics(np.array([1.0, 2.0]), np.array([3.0, 1.0]), [0.5])["mean"]
    1.25
    """
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    total = weights.sum()
    mean = float(values @ weights / total)
    reached = np.cumsum(weights) / total
    places = {("median" if q == 0.5 else f"q{q * 100:.10g}"): q for q in (0.5, *sorted(set(quantiles) - {0.5}))}
    found = {name: float(values[np.searchsorted(reached, q - 1e-12)]) for name, q in places.items()}
    return {"mean": mean, **found, "sd": float(np.sqrt(weights @ (values - mean) ** 2 / total))}


def values_of(records: Records, column: str) -> Values:
    """One numeric column of the records, without its gaps where an indicator tells them."""
    there = present(records, column)
    return Values.of(np.asarray(records.columns[column])[there], records.counts[there])


def present(records: Records, column: str) -> np.ndarray:
    """Which distinct rows have a value in a column."""
    indicator = records.columns.get(indicator_of(column))
    if indicator is None:
        return np.ones(records.size, bool)
    return ~np.isin(as_text(indicator), ("true", "1"))
