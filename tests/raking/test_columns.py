"""Declared columns of whole tables: files, suggestions, what is refused."""

from __future__ import annotations

import tomllib
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.raking.columns import Columns
from alphasynth.suggestions.columns import suggest_columns, write_columns
from alphasynth.tables.opening import open_table

FULL = {
    "sex": {"levels": ["f", "m"], "missing": "model"},
    "age": {"limits": [0, 110], "whole": True},
    "income": {"limits": [0, 1e6], "skewed": True, "heaps": [450, 1000.5]},
    "born": {"limits": ["1900-01-01", "2020-12-31"]},
    "odd name.x": {"levels": [0.5, 1.5]},
}


def test_a_file_comes_back_as_it_was(tmp_path):
    columns = Columns.of(FULL, ["income <= 5e5", "sex == 'f' => age >= 3"], weight={"column": "w", "largest": 9.5})
    (tmp_path / "columns.toml").write_text(columns.toml())
    assert Columns.read(tmp_path / "columns.toml") == columns
    more = columns.with_response(["income", "age", "income"], ["age : sex"])
    assert (more.response, more.interactions, more.crossed) == (("income", "age"), ("age : sex",), (("age", "sex"),))
    assert Columns.parse(tomllib.loads(more.toml())) == more
    assert columns.declared["born"].dates
    assert columns.declared["born"].limits == ((date(1900, 1, 1) - date(1970, 1, 1)).days, 18_627.0)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=40, unique=True), st.text(min_size=1))
def test_any_names_and_levels_come_back(levels, name):
    columns = Columns.of({name: {"levels": levels}})
    assert Columns.parse(tomllib.loads(columns.toml())) == columns


def test_dates_of_toml_are_dates():
    text = "[column.day]\nlimits = [2001-01-01, 2002-12-31]\n"
    assert Columns.parse(tomllib.loads(text)) == Columns.of({"day": {"limits": ["2001-01-01", "2002-12-31"]}})


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({}, "at least one column declared, found none"),
        ({"x": {}}, "'x' must have levels or limits declared, found neither"),
        ({"x": {"limits": [1, 0]}}, "limits of 'x' must be two numbers"),
        ({"x": {"limits": ["2001-01-01", 3]}}, "limits of 'x' must be two numbers"),
        ({"x": {"limits": [0.2, 0.8], "whole": True}}, "whole number between them, found none"),
        ({"x": {"levels": ["a"], "skewed": True}}, "levels or limits, found levels with facts of numbers beside"),
        ({"x": {"limits": [0, 1], "heaps": [2]}}, "heaps of 'x' must lie within its limits"),
        ({"x": {"levels": ["a"], "heaps": [2]}}, "heaps of 'x' must lie within its limits"),
        ({"x": {"limits": [0, 9], "whole": True, "heaps": [2.5]}}, "heaps of 'x' must be whole numbers"),
        ({"x": {"limits": [0, 9], "heaps": "many"}}, "heaps of 'x' must be a list of numbers, found 'many'"),
        ({"x": {"limits": [0, 1], "missing": "drop"}}, "missing of 'x' must be \"model\" in a whole table"),
        ({"x": {"limits": [0, 1], "skewed": "yes"}}, "skewed of 'x' must be true or false, found 'yes'"),
        ({"x": {"limits": [0, 1.7e308]}}, "limits of 'x' must lie within 1e+100 of zero, found one of 1.7e+308"),
        ({"x": {"limits": [-2e100, 0], "skewed": True}}, "limits of 'x' must lie within 1e+100 of zero"),
        ({"x": {"limits": [1, 1 + 1e-15]}}, "tell its 256 cells apart, found too little from 1.0 to 1.0000"),
        ({"x": {"limits": [1, 1 + 1e-15], "skewed": True}}, "numbers tell its 256 cells apart"),
        ({"x": {"limits": [0, 1e-320]}}, "limits and heaps of 'x' must be so far apart that numbers tell its"),
        (
            {"x": {"limits": [10**17, 10**17 + 10], "whole": True}},
            "limits of 'x' must lie below 9,007,199,254,740,992",
        ),
        ({"x": {"limits": [-(2**53), 0], "whole": True}}, "limits of 'x' must lie below 9,007,199,254,740,992"),
        ({"x": {"levels": [2**53, 2**53 + 1, 2**53 + 2]}}, "levels of 'x' must be numbers below 9,007,199,254,740,992"),
        ({"x": {"levels": [1.7e308, 0.0]}}, "levels of 'x' must be numbers below 9,007,199,254,740,992"),
        ({"x": {"limits": [7, 7]}}, "low < high (a column of one number has levels = [7]), found '[7, 7]'"),
        (
            {"x": {"limits": ["2020-01-01", "2020-01-01"]}},
            "limits of 'x' must be two dates, low < high, found \"['2020-01-01', '2020-01-01']\"",
        ),
        (
            {"x": {"limits": [0, 1], "range": 3}},
            "whole, decimals, missing, skewed, heaps, nominal, found 'range'",
        ),
    ],
)
def test_what_is_too_little_or_strange_is_refused(declared, message):
    with pytest.raises(InputError) as error:
        Columns.of(declared)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "declared",
    [
        {"levels": [2**53 - 1, -(2**53) + 1]},
        {"limits": [2**53 - 1_000, 2**53 - 1], "whole": True},
        {"limits": [-1e100, 1e100]},
        {"limits": [1e15, 1e15 + 1_000]},
        {"limits": [0, 1e-90], "skewed": True},
    ],
)
def test_what_floats_hold_is_accepted(declared):
    """And every number between has a cell."""
    (cells,) = Columns.of({"x": declared}).cells()
    values = np.linspace(cells.lower[0], cells.upper[-1], 200)
    values = cells.lower if cells.levels else np.floor(values) if cells.whole else values
    assert (cells.lower[cells.codes(values, np.zeros(len(values), bool))] <= values).all()


@pytest.mark.parametrize(
    ("response", "interactions", "refused"),
    [
        (["y"], ["a:y"], True),
        (["y", "a"], ["a:y"], True),
        (["y", "z"], ["a:y"], False),
        (["y"], ["a:z"], False),
        ([], ["a:y"], False),
    ],
)
def test_interactions_that_nothing_would_measure_are_refused(response, interactions, refused):
    columns = Columns.of({name: {"limits": [0, 1]} for name in ("a", "y", "z")})
    if not refused:
        assert columns.with_response(response, interactions).interactions == tuple(interactions)
        return
    with pytest.raises(InputError, match="with a response that is none of the two, found no other beside 'a:y'"):
        columns.with_response(response, interactions)


def test_an_interaction_of_all_columns_is_refused():
    with pytest.raises(InputError, match="with a column that is none of the two, found no other beside 'a:y'"):
        Columns.of({name: {"limits": [0, 1]} for name in ("a", "y")}).with_response([], ["a:y"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[column]]\nformula = 'y ~ 1'", r"found a model's \[\[column\]\]"),
        ("columns = 3", "found 'columns'"),
        ("column = 3", "found something else"),
        ("weight = 'w'\n[column.a]\nlimits = [0, 1]", "weight must be"),
        ("weight = {column = 'w'}\n[column.a]\nlimits = [0, 1]", "weight must be"),
        ("weight = {column = 'a', largest = 3}\n[column.a]\nlimits = [0, 1]", "must not be among the columns"),
        ("weight = {column = 'w', largest = 0}\n[column.a]\nlimits = [0, 1]", "the largest weight must be positive"),
        ("constraints = 'a < b'\n[column.a]\nlimits = [0, 1]", "must be a list of texts"),
        (
            "responce = ['a']\nweigth = 1\n[column.a]\nlimits = [0, 1]",
            "constraints, response, interactions, weight where wanted, found 'responce', 'weigth'",
        ),
    ],
)
def test_other_files_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        Columns.parse(tomllib.loads(text))


def test_skewed_is_not_of_models():
    with pytest.raises(InputError, match="of levels, labels, limits, whole, decimals, missing, found 'skewed'"):
        syn.Declared.of("x", {"skewed": True})


@pytest.fixture
def table(tmp_path):
    rng, n = np.random.default_rng(1), 400
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "name": [f"person {i}" for i in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "size": rng.choice([1.5, 2.0, 2.5], n),
            "cost": np.round(np.exp(rng.normal(3, 1.5, n)), 2),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 70, n)),
            "seen": pd.Timestamp("2011-03-05") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
            "yes": rng.random(n) < 0.5,
            "empty": np.full(n, np.nan),
        }
    )
    frame.to_parquet(tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


def test_a_suggestion_looks_at_columns_alone(table, tmp_path):
    found = suggest_columns(open_table(table))
    declared = found.columns.declared
    assert dict(found.left_out).keys() == {"id", "name", "empty"}
    assert found.columns.left_out == ("id", "name", "empty")
    assert declared["sex"].levels == ("f", "m")
    assert declared["yes"].levels == (False, True)
    assert declared["size"].levels == (1.5, 2.0, 2.5)
    assert declared["cost"].skewed
    assert declared["age"] == syn.Declared(
        limits=(10.0, 70.0), whole=True, missing="model", read_off=("limits", "whole", "skewed", "heaps", "missing")
    )
    assert declared["seen"].plain()["limits"] == ["2011-01-01", "2013-12-31"]
    write_columns(found, tmp_path / "columns.toml")
    assert (tmp_path / "columns.toml").stat().st_mode & 0o077 == 0
    assert Columns.read(tmp_path / "columns.toml") == found.columns
    with pytest.raises(InputError, match="must go to a new file"):
        write_columns(found, tmp_path / "columns.toml")


def test_what_was_read_off_is_refused_until_confirmed(table):
    columns = suggest_columns(open_table(table)).columns
    with pytest.raises(InputError, match="what somebody declared public"):
        syn.Synthesizer(columns, mechanism="Raked", epsilon=1, m=1)
    syn.Synthesizer(columns, mechanism="Raked", epsilon=1, m=1, confirm_public="all")
    syn.Synthesizer(columns, mechanism="Raked", epsilon=1, m=1, confirm_public=[*columns.names, *columns.left_out])
    with pytest.raises(InputError, match=r"found 'sex' unconfirmed"):
        syn.Synthesizer(
            columns,
            mechanism="Raked",
            epsilon=1,
            m=1,
            confirm_public=["sex.levels", *(name for name in [*columns.names, *columns.left_out] if name != "sex")],
        )
