"""What a suggestion points at: dates and times that are text, which are no persons, and codes for missing values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.suggestions.ends import CODE
from alphasynth.suggestions.model import suggest_model
from alphasynth.tables.opening import open_table
from alphasynth.tables.text_cells import AS_DATES, have_dates

DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=7 * i) for i in range(60)]
WRITTEN = {
    "slashes": [f"{d:%d/%m/%Y}" for d in DAYS],
    "american": [f"{d:%m/%d/%y}" for d in DAYS],
    "points": [f"{d.day}.{d.month}.{d.year}" for d in DAYS],
    "weeks": [f"{d:%G-W%V}" for d in DAYS],
    "words": [f"{d:%d %b %Y}" for d in DAYS],
    "months": [f"{y}-{m:02}" for y in range(2015, 2020) for m in range(1, 13)],
    "times": [f"{i // 4:02}:{i % 4 * 15:02}" for i in range(60)],
    "moments": [f"{d:%d.%m.%Y} 12:30" for d in DAYS],
}


def stored(folder: Path, **columns):
    pd.DataFrame(columns).to_csv(folder / "t.csv", index=False)
    return open_table(folder / "t.csv")


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("even", [True, False])
def test_dates_as_text_are_no_unit_and_no_levels(tmp_path, kind, even):
    """As many rows of each as an identifier of persons would have, and fewer or more."""
    rng = np.random.default_rng(1)
    dates = np.repeat(WRITTEN[kind], 4) if even else rng.choice(WRITTEN[kind], 240, p=np.arange(1, 61) / 1830)
    table = stored(tmp_path, when=dates, town=["a", "b"] * 120)
    suggestion = suggest_columns(table)
    assert suggestion.unit is None
    assert suggestion.columns.names == ("town",)
    assert suggestion.left_out == (("when", AS_DATES),)
    model = suggest_model(table)
    assert model.unit is None
    assert model.left_out == (("when", AS_DATES),)


def test_the_printed_command_has_the_column_that_is_called_an_identifier(tmp_path, monkeypatch, capsys):
    """Not the first with a few rows of each value: dates, and places."""
    monkeypatch.chdir(tmp_path)
    places = [f"place {i}" for i in range(60)]
    stored(
        tmp_path,
        when=np.repeat(WRITTEN["points"], 4),
        place=places * 4,
        pid=np.repeat(np.arange(100, 180), 3),
        sex=["f", "m"] * 120,
    )
    for name in ("columns.toml", "model.toml"):
        assert run_command(["inspect", "t.csv", "--suggest", name]) == 0
        assert "--unit pid --max-rows 3" in capsys.readouterr().out.splitlines()[-1]


def test_a_few_dates_are_levels_and_are_pointed_at(tmp_path):
    table = stored(tmp_path, quarter=np.repeat(["31.03.2020", "30.06.2020", "30.09.2020", "31.12.2020"], 20))
    suggestion = suggest_columns(table)
    assert suggestion.columns.names == ("quarter",)
    assert suggestion.doubts == (("quarter", AS_DATES),)


@pytest.mark.parametrize(
    "texts", [["12 Main St", "3 May Lane"], ["A1/2", "B3/4"], ["v1.2", "v1.3"], ["a:b", "12:3"], ["007-1"]]
)
def test_other_text_is_none(texts):
    assert not have_dates(pa.chunked_array([texts]))


def salaries(n=400):
    return np.random.default_rng(1).lognormal(10.5, 0.4, n).round()


def codes(values, code, n=40):
    return np.r_[values, np.full(n, code)]


@pytest.mark.parametrize(
    "values",
    [
        codes(salaries(), -999),
        codes(salaries(), 9_999_999),
        codes(codes(salaries(), -999), -998),
        codes(np.random.default_rng(1).normal(0, 300, 400).round(1), -9999),
        codes(np.arange(18, 91).repeat(5), 99),  # ages
        codes(np.arange(18, 91).repeat(5), -1),
        codes(np.random.default_rng(1).uniform(0, 3, 400).round(3), 8),
    ],
)
def test_a_code_for_a_missing_value_is_pointed_at(tmp_path, monkeypatch, capsys, values):
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, v=values)
    assert run_command(["inspect", "t.csv", "--suggest", "columns.toml"]) == 0
    said = capsys.readouterr().out
    assert f"look at: v ({CODE})" in said
    assert f"# look at: v ({CODE})" in Path("columns.toml").read_text()


@pytest.mark.parametrize(
    "values",
    [
        salaries(),
        codes(salaries(), 0),  # of whom earn nothing
        codes(np.minimum(salaries(), 50_000), 50_000),  # a top code
        codes(np.random.default_rng(1).uniform(0, 1, 400).round(3), 1),
        codes(np.random.default_rng(1).normal(0, 300, 400).round(1), 100),
        codes(np.random.default_rng(1).integers(0, 61, 400), 40),  # hours
        np.r_[salaries(), 9e6],  # one record, of which another line tells
    ],
)
def test_what_is_no_code(tmp_path, values):
    assert CODE not in dict(suggest_columns(stored(tmp_path, v=values)).doubts).values()
