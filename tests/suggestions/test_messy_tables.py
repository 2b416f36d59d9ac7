"""Tables as they come: commas in numbers, levels that are alike, dates in several forms."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.suggestions.values import ALIKE
from alphasynth.tables.opening import open_table
from alphasynth.tables.text_cells import PARTLY

UNSURE = " (where they stand before decimals, --decimal-comma)"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def semicolons(name: str, pay: list[str]) -> None:
    pd.DataFrame({"pay": pay * 10, "sex": ["f", "m"] * (5 * len(pay)), "age": np.arange(10 * len(pay)) % 8}).to_csv(
        name, sep=";", index=False
    )


@pytest.mark.parametrize(
    ("pay", "options", "more"),
    [
        (["3,14", "2,5", "7", "1,125"], "--decimal-comma", ""),
        (["1.234,5", "2,75", "3,25", "4"], "--decimal-comma --thousands .", ""),
        (["1,234", "12,500", "1,234,567", "7"], "--thousands ,", UNSURE),
    ],
)
@pytest.mark.parametrize("name", ["columns.toml", "a model.toml"])
def test_commas_have_a_command_that_reads_them(folder, capsys, pay, options, more, name):
    """In place of one that makes tables of the rest; and the file must go first."""
    semicolons("semi.csv", pay)
    asked = ["--response", "age"] if name == "columns.toml" else ["--response", "age", "--public", "sex"]
    assert run_command(["inspect", "semi.csv", "--delimiter", ";", "--suggest", name, *asked]) == 0
    said = capsys.readouterr().out
    assert f"{name} is of the columns without commas alone. Delete it, and say what the commas are{more}:" in said
    assert "alphasynth synthesize" not in said
    again = shlex.split(said.splitlines()[-1])
    assert again[:3] == ["alphasynth", "inspect", "semi.csv"]
    assert options in " ".join(again)
    assert run_command(again[1:]) == 2
    assert f"found one at '{name}': delete it or take another name" in capsys.readouterr().err
    Path(name).unlink()
    assert run_command(again[1:]) == 0
    said = capsys.readouterr().out
    assert "left out" not in said
    command = shlex.split(said.splitlines()[-1])
    assert command[:5] == ["alphasynth", "synthesize", "semi.csv", "--delimiter", ";"]
    assert set(options.split()) <= set(command)


def test_commas_that_stay_whatever_is_said_end_in_a_command(folder, capsys):
    semicolons("semi.csv", ["3,14", "1.234,5", "2", "4"])
    assert run_command(["inspect", "semi.csv", "--decimal-comma", "--thousands", ".", "--suggest", "columns.toml"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("alphasynth synthesize")


def doubts(folder, values):
    pd.DataFrame({"x": values, "y": np.arange(len(values)) % 5}).to_csv(folder / "t.csv", index=False)
    return dict(suggest_columns(open_table(folder / "t.csv")).doubts)


@pytest.mark.parametrize("levels", [["f", "F ", "m"], ["f", "F"], ["New  York", "New York", "Bonn"], [" a", "a"]])
def test_levels_that_are_alike_but_for_capitals_or_blanks(tmp_path, levels):
    assert doubts(tmp_path, levels * 40) == {"x": ALIKE}


def test_levels_that_differ(tmp_path):
    assert doubts(tmp_path, ["f", "m", "f m", "fm"] * 40) == {}


def test_dates_beside_other_text(tmp_path):
    assert doubts(tmp_path, ["2024-12-31", "31.12.2024", "never", "not yet"] * 40) == {"x": PARTLY}
    assert doubts(tmp_path, ["A 1/2", "B 3/4", "12 Main St"] * 40) == {}
