"""Numbers with decimal commas, and marks between thousands: read where somebody says so, and never guessed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.tables.csv_files import TextFormat
from alphasynth.tables.declared import Declared
from alphasynth.tables.opening import as_declared, open_table
from alphasynth.tables.text_cells import Marks, guarded, unguarded
from command_line import run

COMMA = TextFormat(decimal_comma=True)


def numbers(texts, text, folder):
    """A column's values, and its type."""
    (folder / "t.csv").write_text("x;k\n" + "".join(f'"{cell}";1\n' for cell in texts))
    grouped = open_table(folder / "t.csv", text=text).group(["x"], ())
    return sorted(grouped.columns.column(0).to_pylist(), key=str), grouped.types["x"]


@pytest.mark.parametrize(
    ("texts", "text", "values", "kind"),
    [
        (["3,14", "-0,5", "2"], TextFormat(), ["-0,5", "2", "3,14"], pa.string()),
        (["3,14", "-0,5", "2"], COMMA, [-0.5, 2.0, 3.14], pa.float64()),
        (["3,0", "+2", "1,"], COMMA, [1, 2, 3], pa.int64()),
        ([",5", "1,5e2"], COMMA, [0.5, 150.0], pa.float64()),
        (["3.14", "2,5"], COMMA, ["2,5", "3.14"], pa.string()),  # a point is no decimal, nor anything else
        (["1.234,5", "2"], COMMA, ["1.234,5", "2"], pa.string()),
        (["007", "1,5"], COMMA, ["007", "1,5"], pa.string()),  # a code
        (["1.234,5", "2"], TextFormat(decimal_comma=True, thousands="."), [1234.5, 2.0], pa.float64()),
        (["1.234", "22"], TextFormat(decimal_comma=True, thousands="."), [1234, 22], pa.int64()),
        (["12.34", "1"], TextFormat(decimal_comma=True, thousands="."), ["1", "12.34"], pa.string()),
        (["1.2345", "1"], TextFormat(decimal_comma=True, thousands="."), ["1", "1.2345"], pa.string()),
        (["1,234.5", "2"], TextFormat(thousands=","), [1234.5, 2.0], pa.float64()),
        (
            ["1\u00a0234,5", "1 000\u202f000"],
            TextFormat(decimal_comma=True, thousands=" "),
            [1000000.0, 1234.5],
            pa.float64(),
        ),
        (["1'234.5", "1’000"], TextFormat(thousands="'"), [1000.0, 1234.5], pa.float64()),
    ],
)
def test_what_a_text_is(texts, text, values, kind, tmp_path):
    assert numbers(texts, text, tmp_path) == (values, kind)


@given(st.floats(-1e9, 1e9).filter(lambda x: "e" not in repr(x)))
def test_every_number_is_read_as_it_was_written(number):
    """Against Python's own reading."""
    written = f"{number:,}".replace(",", "_").replace(".", ",").replace("_", ".")
    sql = Marks(",", ".").sql("cell")
    ((text,),) = duckdb.sql(f"SELECT {sql} FROM (SELECT '{written}' AS cell)").fetchall()
    assert float(text) == number


@pytest.mark.parametrize("thousands", [",", "x", "", ".."])
def test_other_marks_are_refused(thousands, tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(InputError, match="thousands must be one of"):
        open_table(tmp_path / "t.csv", text=TextFormat(decimal_comma=True, thousands=thousands))


def test_gaps_are_gaps(tmp_path):
    assert numbers(["1,5", "NA", ""], COMMA, tmp_path) == ([1.5, None], pa.float64())


def test_declared_numbers_are_read_and_others_named(tmp_path):
    (tmp_path / "t.csv").write_text("x;n\n1,5;3,0\n2,25;1\n")
    facts = {"x": Declared(limits=(0.0, 9.0)), "n": Declared(limits=(0.0, 9.0), whole=True)}
    (batch,) = as_declared(open_table(tmp_path / "t.csv", text=COMMA), facts).stream(["x", "n"])
    assert [column.to_pylist() for column in batch.columns] == [[1.5, 2.25], [3, 1]]
    with pytest.raises(InputError, match=r"'x' must hold numbers, as declared, found others \(numbers with commas\?"):
        list(as_declared(open_table(tmp_path / "t.csv"), facts).stream(["x"]))
    (tmp_path / "t.csv").write_text("x;n\n1,5;3\nmany;1\n")
    with pytest.raises(InputError, match=r"'x' must hold numbers, as declared, found others$"):
        list(as_declared(open_table(tmp_path / "t.csv"), facts).stream(["x"]))


def test_one_unit_however_its_number_is_written(tmp_path):
    (tmp_path / "t.csv").write_text("p;y\n1;1\n1,0;2\n2;3\n")
    table = open_table(tmp_path / "t.csv", text=COMMA, unit="p", max_rows=1, seed=1)
    assert table.group(["y"], ()).counts.sum() == 2


@pytest.fixture
def survey(alone):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"pay": rng.gamma(3, 500, 300).round(2), "size": rng.normal(1.7, 0.1, 300).round(2)})
    frame["visits"], frame["change"] = rng.poisson(4, 300), rng.normal(0, 1, 300).round(1)
    frame.to_csv("t.csv", sep=";", decimal=",", index=False)
    return frame


def test_a_column_with_commas_is_pointed_at(survey, capsys):
    assert run("inspect", "t.csv") == 0
    shown = capsys.readouterr().out
    assert shown.count("numbers with commas? --decimal-comma") == 3
    assert run("inspect", "t.csv", "--decimal-comma") == 0
    assert "commas" not in capsys.readouterr().out
    for suggest in (["columns.toml"], ["model.toml", "--public", "visits"]):
        assert run("inspect", "t.csv", "--suggest", *suggest) == (0 if suggest == ["columns.toml"] else 2)
        assert suggest != ["columns.toml"] or "left out: pay (numbers with commas?" in capsys.readouterr().out


def test_a_suggestion_reads_them_where_told(survey):
    declared = suggest_columns(open_table("t.csv", text=COMMA)).columns.declared
    assert (declared["pay"].decimals, declared["visits"].levels[:2]) == (2, (0, 1))
    assert all(isinstance(level, float) for level in declared["change"].levels)


def test_synthetic_tables_are_written_likewise_and_read_again(survey, capsys):
    assert run("inspect", "t.csv", "--decimal-comma", "--suggest", "columns.toml") == 0
    options = ["--columns", "columns.toml", "--confirm-public", "all", "--epsilon", "4", "--seed", "1", "--quiet"]
    assert run("synthesize", "t.csv", "--decimal-comma", *options, "--out", "run") == 0, capsys.readouterr().err
    path = Path("run/release/synthetic_01.csv")
    with path.open(newline="") as file:
        lines = list(csv.reader(file, delimiter=";"))
    assert lines[0] == list(survey.columns)
    assert any("," in line[0] for line in lines)
    assert not any("." in cell for line in lines[1:] for cell in line)
    made = pd.read_csv(path, sep=";", decimal=",")
    assert (made.dtypes == survey.dtypes).all()
    assert json.loads(Path("run/release/guarantee.json").read_text())["csv_decimal"] == ","
    page = Path("run/release/report.html").read_text()
    assert "read_csv(path, sep=&#39;;&#39;, decimal=&#39;,&#39;" in page
    before = Path("run/confidential/report.html").read_text()
    assert run("report", "run") == 0, capsys.readouterr().err
    assert Path("run/confidential/report.html").read_text() == before
    assert run("evaluate", "t.csv", str(path), "--decimal-comma", "--json") == 0, capsys.readouterr().err
    assert run("synthesize", "--config", "run/confidential/run.toml", "--quiet", "--no-report") == 0
    assert Path("run-2/release/synthetic_01.csv").read_bytes() == path.read_bytes()


def test_another_format_has_points(survey, capsys):
    run("inspect", "t.csv", "--decimal-comma", "--suggest", "columns.toml")
    options = ["--columns", "columns.toml", "--confirm-public", "all", "--epsilon", "4", "--seed", "1", "--quiet"]
    assert (
        run("synthesize", "t.csv", "--decimal-comma", *options, "--format", "csv", "--no-report", "--out", "run") == 0
    )
    made = pd.read_csv("run/release/synthetic_01.csv")
    assert (made.dtypes == survey.dtypes).all()
    assert "csv_decimal" not in json.loads(Path("run/release/guarantee.json").read_text())


def test_public_columns_keep_their_text_but_for_thousands(alone, capsys):
    rng = np.random.default_rng(1)
    rows = [f"{y};-3,10;1.500,0" for y in rng.poisson(5, 60)]
    Path("t.csv").write_text("y;a;b\n" + "\n".join(rows) + "\n")
    options = ["--formula", "y ~ 1", "--family", "poisson", "--mechanism", "SW", "--alpha", "0.5", "--public", "a,b"]
    more = ["--draws", "200", "--seed", "1", "--no-report", "--quiet", "--decimal-comma"]
    assert run("synthesize", "t.csv", *options, *more, "--out", "one") == 0, capsys.readouterr().err
    assert Path("one/release/synthetic_01.csv").read_text().splitlines()[1].endswith(";-3,10;1.500,0")
    assert run("synthesize", "t.csv", *options, *more, "--thousands", ".", "--out", "two") == 0
    assert Path("two/release/synthetic_01.csv").read_text().splitlines()[1].endswith(";-3,1;1500")


@pytest.mark.parametrize("text", ["-3,14", "+1.234,5", "-1,2,3"])
def test_numbers_of_any_kind_are_no_formulas(text):
    assert guarded(text) == text
    assert unguarded(guarded(f"'{text}")) == f"'{text}"
    assert guarded(f"{text}+A1") != f"{text}+A1"
