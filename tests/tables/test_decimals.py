"""Declared decimals: synthetic numbers have no more digits after the point, by every mechanism and in every format."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.models.table_model import TableModel
from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.suggestions.model import suggest_model
from alphasynth.tables.declared import OF_WHOLE_TABLES, Declared
from alphasynth.tables.limits import fewest_decimals, of_steps, steps_within
from alphasynth.tables.opening import open_table
from command_line import run


def digits(values):
    """The most digits after the point that numbers print with."""
    shown = [Decimal(repr(float(value))).normalize() for value in np.asarray(values).tolist()]
    return max(max(-value.as_tuple().exponent, 0) for value in shown)


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
def test_steps_are_the_numbers_that_print_so(steps, decimals):
    (made,) = of_steps(np.array([float(steps)]), decimals).tolist()
    assert made == float(f"{steps}e-{decimals}")
    assert str(made)[:2] != "-0" or made < 0


@given(st.floats(-1e6, 1e6), st.floats(0, 1e4), st.integers(0, 6))
def test_steps_within_are_those_and_no_others(low, width, decimals):
    """Against exact arithmetic."""
    high = low + width
    first, last = (int(end) for end in steps_within(np.array(low), np.array(high), decimals))
    inside = [k for k in range(first - 2, first + 3) if float(Decimal(k).scaleb(-decimals)) >= low]
    assert min(inside) == first
    assert max(k for k in range(last - 2, last + 3) if float(Decimal(k).scaleb(-decimals)) <= high) == last


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1))
def test_the_fewest_decimals_are_found(values):
    found = fewest_decimals(np.array([float(value) for value in values]))
    assert found == max(max(-value.normalize().as_tuple().exponent, 0) for value in values)
    narrow = np.array([float(value) for value in values], np.float32)
    assert (fewest_decimals(narrow.astype(float), 2.0**-23) or 0) <= found


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"limits": [0, 1], "decimals": -1}, "decimals of 'x' must be a whole number from 0 to 15, found -1"),
        ({"limits": [0, 1], "decimals": 1.5}, "decimals of 'x' must be a whole number from 0 to 15, found 1.5"),
        ({"limits": [0, 1], "decimals": True}, "decimals of 'x' must be a whole number from 0 to 15, found True"),
        ({"limits": [0, 1], "decimals": 2, "whole": True}, "must be left out, or 0, where it is whole, found 2"),
        ({"levels": [0.5, 1], "decimals": 1}, "must be left out where it has levels"),
        ({"limits": [0.11, 0.19], "decimals": 1}, "must have a number of 1 decimals between them, as declared"),
        ({"limits": [0, 9], "decimals": 1, "heaps": [2.25]}, "heaps of 'x' must have at most 1 decimals"),
        ({"limits": ["2001-01-01", "2002-01-01"], "decimals": 1}, "must be left out, or 0, where it is whole, found 1"),
    ],
)
def test_what_cannot_be_is_refused(facts, message):
    with pytest.raises(InputError) as refused:
        Columns.of({"x": facts})
    assert message in str(refused.value)


def test_no_decimals_are_whole_numbers():
    assert Declared.of("x", {"limits": [0, 9], "decimals": 0}) == Declared.of("x", {"limits": [0, 9], "whole": True})


def test_a_file_comes_back_as_it_was():
    columns = Columns.of({"x": {"limits": [0, 9], "decimals": 2, "heaps": [0.3]}})
    assert Columns.parse(tomllib.loads(columns.toml())) == columns


CELLS = [
    {"limits": [0, 10], "decimals": 2},
    {"limits": [-5.005, 1e6], "decimals": 2, "skewed": True, "heaps": [450, 1000.5]},
    {"limits": [0.005, 0.997], "decimals": 1},
    {"limits": [-3, 3], "decimals": 1, "missing": "model"},
    {"limits": [0.25, 0.35], "decimals": 1},
    {"limits": [0, 1e6], "decimals": 15},
]


@pytest.mark.parametrize("facts", CELLS)
def test_numbers_drawn_keep_limits_and_decimals_and_cells_that_have_some(facts):
    rng = np.random.default_rng(1)
    declared = Declared.of("x", facts, OF_WHOLE_TABLES)
    cells = Cells.of("x", declared, declared.skewed)
    codes = rng.integers(0, cells.size - cells.gap, 5_000)
    values, gone = cells.draw(rng, codes)
    assert not gone.any()
    assert not declared.outside(values).any()
    assert digits(values) <= declared.decimals
    first, last = steps_within(cells.lower, cells.upper, declared.decimals)
    inner = np.flatnonzero(last - first >= 1)  # at least one of two is no edge that the next cell has
    kept = np.isin(codes, inner)
    assert (cells.codes(values[kept], gone[kept]) == codes[kept]).all()


def test_a_cells_numbers_are_equally_likely():
    """Eleven numbers of one decimal in a block of 0 to 1.05, without its upper edge."""
    cells = Cells.of("x", Declared(limits=(0.0, 256 * 1.05), decimals=1))
    values, _ = cells.draw(np.random.default_rng(2), np.full(110_000, 5))
    numbers, counts = np.unique(values, return_counts=True)
    assert ((numbers >= cells.lower[5]) & (numbers < cells.upper[5])).all()
    expected = len(values) / len(numbers)
    # Standard errors of binomial counts: five of them are exceeded once in 3 million.
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(4), 400
    pay = np.where(rng.random(n) < 0.2, 0.0, np.exp(rng.normal(3, 1, n)).round(2))
    return pd.DataFrame({"pay": pay, "size": rng.normal(1.7, 0.1, n).round(3), "y": rng.poisson(3, n)})


def test_suggestions_propose_them(people, tmp_path):
    people.to_parquet(tmp_path / "t.parquet")
    people.astype({"pay": "float32", "size": "float32"}).to_parquet(tmp_path / "narrow.parquet")
    for name in ("t", "narrow"):
        table = open_table(tmp_path / f"{name}.parquet")
        columns = suggest_columns(table).columns
        assert (columns.declared["pay"].decimals, columns.declared["size"].decimals) == (2, 3)
        assert "decimals" in columns.declared["pay"].read_off
        assert Columns.parse(tomllib.loads(columns.toml())) == columns
        model = suggest_model(table).model
        assert (model.declared["pay"].decimals, model.declared["size"].decimals) == (2, 3)
        assert TableModel.parse(tomllib.loads(model.toml())) == model
    exact = people.assign(size=people["size"] / 3)
    exact.to_parquet(tmp_path / "exact.parquet")
    columns = suggest_columns(open_table(tmp_path / "exact.parquet")).columns
    assert columns.declared["size"].decimals is None
    assert "decimals" in columns.declared["size"].read_off  # that there are many is a fact, too


COLUMNS = {
    "pay": {"limits": [0, 1000], "decimals": 2, "skewed": True},
    "size": {"limits": [1.205, 2.2], "decimals": 2},
    "y": {"limits": [0, 50], "decimals": 0},
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_of_whole_tables_keep_them(people, kind):
    frame = people if kind == "pandas" else pa.Table.from_pandas(people)
    if kind == "polars":
        frame = pytest.importorskip("polars").from_arrow(frame)
    made = syn.Synthesizer(COLUMNS, mechanism="Raked", epsilon=4, m=1, seed=1).fit(frame).sample()[0]
    assert digits(np.asarray(made["pay"])) <= 2
    size = np.asarray(made["size"])  # the table has three digits, and is read all the same
    assert digits(size) <= 2
    assert 1.21 <= size.min() <= size.max() <= 2.2


@pytest.mark.parametrize("narrow", ["float64", "float32"])
def test_heaps_are_found_however_numbers_are_stored(narrow):
    rng = np.random.default_rng(3)
    values = np.where(rng.random(2_000) < 0.5, 0.1, rng.integers(0, 1_000, 2_000) / 100)
    frame = pd.DataFrame({"x": values.astype(narrow)})
    facts = {"x": {"limits": [0, 10], "decimals": 2, "heaps": [0.1]}}
    made = syn.Synthesizer(facts, mechanism="Raked", epsilon=50, m=1, seed=1).fit(frame).sample()[0]
    assert abs((made["x"] == 0.1).mean() - (values == 0.1).mean()) < 0.02


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("mechanism", ["LW", "Scored"])
@pytest.mark.parametrize(
    ("name", "family", "limits"),
    [("size", "normal", [1.205, 2.2]), ("pay", "two_part_log_normal", [0.001, 1000]), ("size", "gamma", [0.1, 3])],
)
def test_models_keep_them(people, mechanism, name, family, limits):
    aim = {"epsilon": 50.0} if mechanism == "Scored" else {}
    declared = {name: {"limits": limits, "decimals": 1}}
    made = syn.Synthesizer(
        f"{name} ~ 1", family=family, declared=declared, mechanism=mechanism, m=1, num_draws=100, seed=1, **aim
    )
    values = made.fit(people).sample()[0][name].to_numpy()
    assert digits(values) <= 1
    positive = values[values != 0] if family.startswith("two_part") else values
    assert limits[0] <= positive.min() <= positive.max() <= limits[1]
    assert family.startswith("two_part") == (values == 0).any()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_keep_them(people, suffix, alone, capsys):
    people.to_csv("t.csv", index=False)
    options = ["--formula", "size ~ 1", "--family", "normal", "--range", "size=1:3", "--decimals", "size=2"]
    more = ["--epsilon", "20", "--seed", "1", "--format", suffix, "--no-report", "--quiet", "--out", "run"]
    assert run("synthesize", "t.csv", *options, *more) == 0, capsys.readouterr().err
    path = f"run/release/synthetic_01.{suffix}"
    made = pd.read_csv(path, dtype=str) if suffix == "csv" else pd.read_parquet(path).astype(str)
    assert made["size"].str.fullmatch(r"[0-9]+(\.[0-9]{1,2})?").all()
    assert "decimals" in Path("run/release/guarantee.json").read_text()


@pytest.mark.parametrize("word", ["size", "size=", "size=two", "size=-1"])
def test_an_option_with_a_mistake_gets_one_sentence(people, word, alone, capsys):
    people.to_csv("t.csv", index=False)
    options = ["--formula", "size ~ 1", "--family", "normal", "--range", "size=1:3", "--epsilon", "1"]
    assert run("synthesize", "t.csv", *options, "--decimals", word, "--out", "run") == 2
    assert "--decimals must be NAME=NUMBER, such as income=2" in capsys.readouterr().err
