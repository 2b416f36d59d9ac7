"""The first line of a text file or a sheet: a record there would be published as the names of columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.errors import InputError
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.suggestions.first_lines import check_header
from alphasynth.suggestions.model import suggest_model
from alphasynth.tables.csv_files import TextFormat
from alphasynth.tables.opening import open_table
from alphasynth.tables.text_cells import is_value
from workbook import write_workbook

SAID = "must hold the columns' names, found what looks like a record"


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def rows(n=60):
    rng = np.random.default_rng(1)
    return [
        f"{age},{x:.4f},{y}" for age, x, y in zip(rng.integers(18, 60, n), rng.normal(0, 1, n), "xy" * n, strict=False)
    ]


def refused(path: Path) -> str:
    with pytest.raises(InputError, match=SAID) as caught:
        check_header(open_table(path))
    return str(caught.value)


def test_a_record_as_header_is_refused_at_every_door(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(Path("bare.csv"), "22,-1.0320,y", *rows())
    for suggest in (suggest_columns, suggest_model):
        with pytest.raises(InputError, match=SAID):
            suggest(open_table("bare.csv"))
    for name in ("columns.toml", "model.toml"):
        assert run_command(["inspect", "bare.csv", "--suggest", name]) == 2
        assert not Path(name).exists()
    Path("columns.toml").write_text('[column."22"]\nlimits = [0, 110]\nwhole = true\n')
    run = ["synthesize", "bare.csv", "--columns", "columns.toml", "--epsilon", "4", "--out", "run"]
    assert run_command(run) == 2
    said = capsys.readouterr().err
    assert said.count(SAID) == 3
    assert said.count("(3 of 3 fields") == 2
    assert "(2 of 3 fields" in said  # one of them was declared
    assert "1.03" not in said
    assert not Path("run").exists()


def test_somebody_says_that_they_are_the_names(tmp_path, monkeypatch, capsys):
    """The option is in the command that a suggestion prints, and that runs."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"town": ["a", "b"] * 40, "2019": range(80), "2020": range(80, 0, -1)}).to_csv(
        "years.csv", index=False
    )
    assert "(2 of 3 fields" in refused(Path("years.csv"))
    check_header(open_table("years.csv", text=TextFormat(header=True)))
    assert run_command(["inspect", "years.csv", "--header", "--suggest", "columns.toml"]) == 0
    assert "alphasynth synthesize years.csv --header --columns" in capsys.readouterr().out


def test_declared_names_are_no_record(tmp_path, monkeypatch, capsys):
    """Whatever their own columns hold: who declares a column knows its name."""
    monkeypatch.chdir(tmp_path)
    written(Path("own.csv"), "smoker,2019,visits", *["smoker,3,1", "never,4,0"] * 40)
    assert "(2 of 3 fields" in refused(Path("own.csv"))
    declared = '[column.smoker]\nlevels = ["smoker", "never"]\n[column.visits]\nlimits = [0, 9]\n'
    run = ["synthesize", "own.csv", "--columns", "c.toml", "--epsilon", "4", "--no-report", "--out"]
    Path("c.toml").write_text(declared)
    assert run_command([*run, "few"]) == 2
    assert "(1 of 3 fields" in capsys.readouterr().err
    Path("c.toml").write_text(f"{declared}[column.2019]\nlimits = [0, 9]\n")
    assert run_command([*run, "all"]) == 0
    one = ["--formula", "visits ~ 1", "--family", "poisson", "--public", "smoker,2019"]
    assert run_command(["synthesize", "own.csv", *one, *run[4:], "one"]) == 0


@pytest.mark.parametrize(
    "lines",
    [
        ("f,north", "m,south", "f,south", "m,north"),  # values of their own columns
        ("Smith,2024-12-31", "Jones,2024-11-30"),
        ("Smith,31.12.2024", "Jones,30.11.2024"),
        ("Smith,", "Jones,north"),  # the record has a gap
        ("Smith,NA", "Jones,north"),
        ("name,age", "Smith,3", "name,age", "Jones,4"),  # two files, one after the other
    ],
)
def test_what_looks_like_a_record(tmp_path, lines):
    refused(written(tmp_path / "t.csv", *lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("sex,q1,x.1,2nd,année", "f,1,2,3,4"),
        (",sex", "0,f", "1,m"),  # numbers of rows
        ("sex,age,", "f,3,", "m,4,"),  # each line ends in a delimiter
        ("sex", "f", "m"),
    ],
)
def test_what_does_not(tmp_path, lines):
    assert check_header(open_table(written(tmp_path / "t.csv", *lines))) is None


def test_a_column_without_a_name_is_left_out_and_never_declared(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": [30, 40] * 40}).to_csv("t.csv")
    suggestion = suggest_columns(open_table("t.csv"))
    assert suggestion.columns.names == ("age",)
    assert suggestion.left_out == (("", "it has no name in the header"),)
    Path("c.toml").write_text('[column.""]\nlimits = [0, 110]\n')
    assert run_command(["synthesize", "t.csv", "--columns", "c.toml", "--epsilon", "4", "--out", "run"]) == 2
    assert "a column must have a name, found one without" in capsys.readouterr().err


def test_a_sheet_without_names(tmp_path):
    book = tmp_path / "t.xlsx"
    write_workbook(book, {"people": [["f", "north"], ["m", "south"], ["f", "south"]]})
    assert "sheet 'people' of t.xlsx" in refused(book)
    check_header(open_table(book, text=TextFormat(header=True)))


@pytest.mark.parametrize("name", ["3", "-1.5e3", "1,234", "2024-01", "Q1 2024", "12:30", "3 Mar 2020", "null", " 7 "])
def test_names_that_are_values(name):
    assert is_value(name) == (name != "Q1 2024")


@pytest.mark.parametrize("name", ["may", "march", "x1", "1st", "q1", "age 18", "w2020", "v1.2.3", "c_12", "dec"])
def test_names_that_are_none(name):
    assert not is_value(name)
