"""Grouping is exact: whatever the columns, the distinct rows and counts are those of the table."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.tables.records import Records

ROW = st.tuples(
    st.integers(0, 5),
    st.sampled_from([0.0, 0.5, 1e300, -1e-300, 3.0]),
    st.sampled_from(["", "a", "A", "é", "a,b", "q\"'", "x\ny"]),
    st.booleans(),
)
KINDS = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
}


@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.lists(ROW, min_size=2, max_size=40))
@settings(deadline=None, max_examples=40)
def test_distinct_rows_and_counts_are_those_of_the_table(kind, rows):
    names = ["y", "a number", 'odd "name"', "flag"]
    table = KINDS[kind]({name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)})
    records = Records.from_table(table, names)
    distinct = list(zip(*(np.asarray(records.columns[name]).tolist() for name in names), strict=True))
    assert dict(zip(distinct, records.counts.tolist(), strict=True)) == Counter(rows)
    assert [distinct[i] for i in records.index] == rows


def test_row_order_is_kept_over_many_batches():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 1000, 2_500_000)
    records = Records.from_table(pa.table({"y": pa.chunked_array([y[:7], y[7:1_300_001], y[1_300_001:]])}), ["y"])
    assert np.array_equal(records.expand(records.columns["y"]), y)
    assert np.array_equal(records.counts, np.bincount(y))


def test_large_integers_stay_apart():
    records = Records.from_table(pd.DataFrame({"y": [2**53, 2**53 + 1, 2**53]}), ["y"])
    assert records.counts.tolist() == [2, 1]


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.25, 1.0])), min_size=2, max_size=30),
)
@settings(deadline=None, max_examples=40)
def test_split_tells_records_with_different_values_apart(rows):
    y, alpha = (np.array(column) for column in zip(*rows, strict=True))
    records = Records.from_table(pd.DataFrame({"y": y}), ["y"]).split(alpha.astype(float))
    assert np.array_equal(records.expand(records.collapse(alpha)), alpha)
    assert np.array_equal(records.expand(records.columns["y"]), y)
    assert records.size == len(set(rows))


def test_collapse_refuses_values_that_differ_within_a_row():
    records = Records.from_table(pd.DataFrame({"y": [1, 1, 2]}), ["y"])
    with pytest.raises(InputError, match="equal within distinct rows"):
        records.collapse(np.array([0.1, 0.2, 0.3]))


def test_categories_keep_their_order_and_lose_unused_levels():
    levels = pd.CategoricalDtype(["low", "mid", "high", "never"])
    table = pd.DataFrame({"y": [1, 2, 3], "c": pd.Series(["high", "low", "mid"], dtype=levels)})
    column = Records.from_table(table, ["y", "c"]).columns["c"]
    assert column.categories.tolist() == ["low", "mid", "high"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, None, 3.0], "no missing values, found 1"),
        ([1.0, float("nan"), 3.0], "no missing values, found 1"),
        ([None, None, None], "no missing values, found 3"),
        ([1.0, float("inf"), 3.0], "must be finite, found 1 infinite"),
        ([pd.Timestamp("2020-01-01")] * 3, "must hold numbers"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_no_model_can_read_are_refused(kind, column, message):
    with pytest.raises(InputError, match=f"column 'y' .*{message}"):
        Records.from_table(KINDS[kind]({"y": column}), ["y"])


def test_a_mixed_column_is_refused_without_its_values():
    for values in ([1, "secret", 3], [1, 10**30], ["\ud800secret", "b"]):
        with pytest.raises(InputError, match="must hold one type") as error:
            Records.from_table(pd.DataFrame({"y": pd.Series(values, dtype=object)}), ["y"])
        assert "secret" not in str(error.value)
        assert error.value.__cause__ is None


def test_half_floats_and_decimals_are_numbers():
    halves = pd.DataFrame({"y": np.array([1, 2, 2], np.float16)})
    decimals = pa.table({"y": pa.array([1, 2, 2]).cast(pa.decimal128(21, 1))})
    for table in (halves, decimals):
        assert Records.from_table(table, ["y"]).columns["y"].tolist() == [1.0, 2.0]


def test_categories_that_arrow_lets_be_odd():
    codes = pa.array([0, 1, 2], pa.int8())
    doubled = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "a"]))
    records = Records.from_table(pa.table({"y": [1, 1, 1], "c": doubled}), ["y", "c"])
    assert sorted(records.counts.tolist()) == [1, 2]
    missing = pa.DictionaryArray.from_arrays(codes, pa.array(["a", None, "b"]))
    with pytest.raises(InputError, match="no missing values, found 1"):
        Records.from_table(pa.table({"y": [1, 2, 3], "c": missing}), ["y", "c"])
    intervals = pd.DataFrame({"y": [1, 2, 3], "c": pd.cut(pd.Series([1.0, 2.0, 3.0]), 2)})
    with pytest.raises(InputError, match="column 'c' must"):
        Records.from_table(intervals, ["y", "c"])


@pytest.mark.parametrize(("rows", "found"), [(0, "an empty table"), (1, "one record")])
def test_too_few_records_are_refused(rows, found):
    with pytest.raises(InputError, match=f"at least two records, found {found}"):
        Records.from_table(pd.DataFrame({"y": np.arange(rows)}), ["y"])


def test_unknown_and_doubled_columns_are_refused():
    doubled = pd.DataFrame([[1, 2], [3, 4]], columns=["y", "y"])
    with pytest.raises(InputError, match=r"'y' .* more than once"):
        Records.from_table(doubled, ["y"])
    with pytest.raises(InputError, match=r"'z' .* is not in the table; its columns are 'y'"):
        Records.from_table(pd.DataFrame({"y": [1, 2]}), ["z"])


def test_what_is_no_frame_is_refused():
    with pytest.raises(InputError, match=r"pandas\.DataFrame, polars\.DataFrame or pyarrow\.Table, found dict"):
        Records.from_table({"y": [1, 2]}, ["y"])


def test_nothing_confidential_in_the_representation():
    assert repr(Records.from_table(pd.DataFrame({"y": [123456, 654321]}), ["y"])) == "Records(response='y')"


@given(
    columns=st.lists(st.lists(st.integers(0, 3), min_size=30, max_size=30), min_size=1, max_size=6),
    largest=st.sampled_from([1, 5, 40, 2**62]),
)
@settings(deadline=None, max_examples=60)
def test_groups_are_those_of_pandas_in_sorted_order(columns, largest):
    """However little room the groups' numbers have, so that they must be numbered anew on the way."""
    table = pd.DataFrame({f"c{i}": column for i, column in enumerate(columns)} | {"own": range(30)})
    records = Records.from_table(table, [*table])
    names = [*table][:-1]
    expected = table.groupby(names).ngroup().to_numpy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alphasynth.tables.records.LARGEST_GROUP", largest)
        np.testing.assert_array_equal(records.expand(records.group(names)), expected)
        own = table.groupby(["own", *names]).ngroup().to_numpy()  # every row is a group after the first column
        np.testing.assert_array_equal(records.expand(records.group(["own", *names])), own)


def test_groups_of_many_columns_of_many_values_do_not_overflow():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{i}": rng.integers(0, 900, 2_000) for i in range(9)})
    records = Records.from_table(table, [*table])
    expected = table.groupby([*table]).ngroup().to_numpy()
    np.testing.assert_array_equal(records.expand(records.group([*table])), expected)
