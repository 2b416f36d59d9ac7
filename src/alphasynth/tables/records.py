"""`Records`: the distinct rows of a table's named columns, their counts, and the way back to the table's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.errors import InputError, gathering
from alphasynth.tables.frames import Frame, column_names, require, to_arrow
from alphasynth.tables.grouping import Grouped
from alphasynth.tables.limits import as_floats

WITH_GAPS = (
    " (missing = model makes gaps of a synthesized column, --missing NAME=model; alphasynth inspect TABLE --suggest "
    "columns.toml declares all columns, gaps too)"
)
LARGEST_GROUP = 2**62  # group numbers beyond would not fit into 64 bits


@dataclass(frozen=True, eq=False)
class Records:
    """A database x with equal rows told once (confidential).

    Equal rows have equal log-likelihoods, so all that follows is computed on `size` distinct rows and their counts,
    which is exact. `columns` and `counts` have one entry per distinct row; `index` gives each table row's distinct row,
    and is None where the rows were counted without keeping their order. `response` names the column to synthesize, and
    `dates` those that are compared as days' numbers from 1970 on.

    >>> import pandas as pd
    >>> records = Records.from_table(pd.DataFrame({"y": [7, 3, 7]}), ["y"])
    >>> records.n, records.size, records.expand(records.counts).tolist()
    (3, 2, [2, 1, 2])
    """

    response: str
    columns: Mapping[str, Any] = field(repr=False)
    counts: np.ndarray = field(repr=False)
    index: np.ndarray | None = field(repr=False)
    dates: frozenset[str] = field(default=frozenset(), repr=False)
    _places: dict[str, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    @property
    def n(self) -> int:
        """Number of table rows."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    @classmethod
    def from_table(cls, table: Frame, names: Sequence[str]) -> Records:
        """Group the named columns of a pandas, polars or pyarrow frame; the first one is the response.

        Raises `InputError` on what no model can read: fewer than two records, missing or infinite values.
        """
        require(column_names(table), names, "named in the formula, in `within` or as weights")
        return cls._of(to_arrow(table, names), None)

    @classmethod
    def from_arrow(cls, columns: pa.Table) -> Records:
        """Group the rows of an Arrow table on all of its columns; raise `InputError` as `from_table` does."""
        return cls._of(columns, None)

    @classmethod
    def from_grouped(cls, grouped: Grouped) -> Records:
        """The records of a table that was grouped where it is stored; raise `InputError` as `from_table` does."""
        records = cls._of(grouped.columns, grouped.counts)
        index = None if grouped.index is None else records.rows_in_order[grouped.index]
        return replace(records, index=index)

    @classmethod
    def from_distinct(cls, grouped: Grouped) -> Records:
        """The records of a table that was grouped on just the columns that the model reads: its lines are distinct."""
        order = pc.sort_indices(grouped.columns, [(name, "ascending") for name in grouped.columns.column_names])
        lines, counts = grouped.columns.take(order), grouped.counts[order.to_numpy()]
        if not len(counts):
            raise InputError("a table to be compared must hold rows, found none")
        columns = {}
        for name in lines.column_names:
            codes, levels = _check_column(name, lines.column(name), counts)
            columns[name] = _restore(codes.to_numpy(), levels)
        place = np.empty(len(counts), np.int64)
        place[order.to_numpy()] = np.arange(len(counts))
        return cls(lines.column_names[0], columns, counts, None if grouped.index is None else place[grouped.index])

    @classmethod
    def _of(cls, arrow: pa.Table, counts: np.ndarray | None) -> Records:
        """Records of rows that each stand for `counts` rows of the table, or for one."""
        n = arrow.num_rows if counts is None else int(counts.sum())
        if n < 2:
            found = "an empty table" if n == 0 else "one record"
            raise InputError(f"table must hold at least two records, found {found}")
        levels: dict[str, np.ndarray | None] = {}
        codes: dict[str, pa.ChunkedArray] = {}
        with gathering() as problems:
            for name in arrow.column_names:
                with problems:
                    codes[name], levels[name] = _check_column(name, arrow.column(name), counts)
        distinct, totals, index = _group(codes, counts)
        columns = {name: _restore(distinct[name], levels[name]) for name in codes}
        return cls(arrow.column_names[0], columns, totals, index)

    @property
    def rows_in_order(self) -> np.ndarray:
        """Distinct row of each table row; raise `InputError` where the rows' order was not kept."""
        if self.index is None:
            raise InputError("values by record need the order of the rows, which was not kept when they were counted")
        return self.index

    def expand(self, values: np.ndarray) -> np.ndarray:
        """Values by distinct row -> values by record, in the table's own row order."""
        return values[self.rows_in_order]

    def collapse(self, values: np.ndarray) -> np.ndarray:
        """Values by record -> values by distinct row, which must be equal within each (`split` makes them so)."""
        collapsed = np.empty(self.size, values.dtype)
        collapsed[self.rows_in_order] = values
        if not np.array_equal(collapsed[self.rows_in_order], values):
            raise InputError("values by record must be equal within distinct rows, found rows where they differ")
        return collapsed

    def split(self, values: np.ndarray) -> Records:
        """Finer records: rows are distinct in the columns and in these values by record as well."""
        pairs = {"row": pa.chunked_array([self.rows_in_order]), "value": pa.chunked_array([values])}
        distinct, counts, index = _group(pairs, None)
        rows = distinct["row"]
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Records(self.response, columns, counts, index)

    def group(self, names: Sequence[str]) -> np.ndarray:
        """Group number of each distinct row, equal where the named columns are; groups are numbered in sorted order."""
        number, groups = np.zeros(self.size, np.int64), 1
        for name in names:
            codes = self._codes(name)
            levels = int(codes.max()) + 1
            if groups * levels > LARGEST_GROUP:  # numbers in use alone, so that the next ones have room
                distinct, number = np.unique(number, return_inverse=True)
                groups = len(distinct)
                if groups == self.size:  # every row is a group of its own, whatever the other columns hold
                    return number
            number, groups = number * levels + codes, groups * levels
        return np.unique(number, return_inverse=True)[1]

    def _codes(self, name: str) -> np.ndarray:
        """Place of each distinct row's value among the column's own, in sorted order or in that of its categories."""
        if name not in self._places:
            column = self.columns[name]
            codes = column.codes if hasattr(column, "codes") else np.unique(column, return_inverse=True)[1]
            self._places[name] = codes.astype(np.int64)
        return self._places[name]


def _check_column(
    name: str, column: pa.ChunkedArray, counts: np.ndarray | None
) -> tuple[pa.ChunkedArray, np.ndarray | None]:
    """Column as values DuckDB groups, and its levels if it is categorical; refuse what is missing or not finite."""
    kind = column.type
    missing = _number(pc.is_null(column, nan_is_null=pa.types.is_floating(kind)), counts)
    if missing:
        raise InputError(f"column {name!r} must have no missing values, found {missing:,}{WITH_GAPS}")
    if pa.types.is_floating(kind):
        infinite = _number(pc.is_inf(column), counts)
        if infinite:
            raise InputError(f"column {name!r} must be finite, found {infinite:,} infinite values")
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return as_floats(column), None
    if pa.types.is_dictionary(kind):
        return _check_categories(name, column)
    if not _is_plain(kind):
        raise InputError(f"column {name!r} must hold numbers, booleans, text or categories, found {kind}")
    return column, None


def _number(mask: pa.ChunkedArray, counts: np.ndarray | None) -> int:
    """Number of table rows for which the mask holds."""
    if counts is None:
        return pc.sum(mask).as_py() or 0
    return int(counts[np.asarray(mask)].sum())


def _is_plain(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string)
    return any(test(kind) for test in (*tests, pa.types.is_large_string, pa.types.is_string_view))


def _check_categories(name: str, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, np.ndarray]:
    """Codes and levels of a categorical column; its levels may themselves be missing or doubled in an Arrow table."""
    if not _is_plain(column.type.value_type):
        raise InputError(f"column {name!r} must have categories of numbers or text, found {column.type.value_type}")
    whole = column.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    if len(whole.dictionary.unique()) < len(whole.dictionary) or whole.dictionary.null_count:
        whole = whole.dictionary_decode()
        _check_column(name, pa.chunked_array([whole]), None)
        whole = whole.dictionary_encode()
    return pa.chunked_array([whole.indices]), whole.dictionary.to_numpy(zero_copy_only=False)


def _group(
    columns: Mapping[str, pa.ChunkedArray], weights: np.ndarray | None
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """GROUP BY all columns -> distinct rows in sorted order, their counts, and the distinct row of each row."""
    numbered = {f"c{i}": column for i, column in enumerate(columns.values())}
    names = ", ".join(numbered)
    rows = pa.table(numbered if weights is None else {**numbered, "weight": weights})
    total = "count(*)" if weights is None else "sum(weight)::BIGINT"
    # An empty temp_directory: what does not fit in memory fails rather than spill confidential rows to disk.
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as engine:
        engine.register("rows", rows)
        engine.execute(
            f"CREATE TEMP TABLE groups AS SELECT *, row_number() OVER (ORDER BY {names}) - 1 AS id "
            f"FROM (SELECT {names}, {total} AS count FROM rows GROUP BY {names})"
        )
        groups = engine.sql("SELECT * FROM groups ORDER BY id").to_arrow_table()
        index = np.empty(rows.num_rows, np.int32)
        located = engine.sql(
            f"SELECT position, id FROM (SELECT {names}, row_number() OVER () - 1 AS position FROM rows) "
            f"JOIN groups USING ({names})"
        )
        for batch in located.to_arrow_reader(1_000_000):
            index[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
    distinct = [groups.column(name).to_numpy() for name in numbered]
    return dict(zip(columns, distinct, strict=True)), groups.column("count").to_numpy(), index


def _restore(values: np.ndarray, levels: np.ndarray | None) -> Any:
    """Distinct values as read, or as a pandas categorical in the order of the levels that occur."""
    if levels is None:
        return values
    import pandas as pd

    return pd.Categorical.from_codes(values, categories=pd.Index(levels)).remove_unused_categories()
