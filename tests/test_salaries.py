"""Salaries of section 4: the stand-in has the published figures, and the survey's own file is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth_studies.salaries import stand_in_table
from command_line import read, run


@pytest.mark.parametrize("number", range(0, 200, 7))
def test_stand_ins_have_the_published_figures(number):
    salaries = stand_in_table(number)["salary"]
    assert len(salaries) == 1_000
    assert (salaries.mean(), salaries.median()) == (107_609, 95_000)
    assert (salaries.min(), salaries.max()) == (0, 509_000)
    assert round(salaries.std()) == 69_718
    assert (salaries % 1_000 == 0).all()


def test_stand_ins_differ():
    assert not stand_in_table(0).equals(stand_in_table(1))
    assert stand_in_table(0).equals(stand_in_table(0))


def test_the_surveys_own_file(alone, capsys):
    """Skips are dropped, 1,000 salaries are drawn without replacement, and nothing is marked as a stand-in."""
    rng = np.random.default_rng(5)
    salaries = np.clip(1_000 * np.round(95 * rng.lognormal(0, 0.6, 1_500)), 0, 509_000).astype(int)
    salaries[:3] = [0, 509_000, 500_000]
    pd.DataFrame({"REFID": range(2_000), "salaryp": [*salaries, *[9_999_998] * 500]}).to_csv("sdr.csv", index=False)
    assert run("study", "salary", "--size", "toy", "--table", "sdr.csv", "--out", "out") == 0
    results = read("out/results.json")
    assert not results["stand_in"]
    assert results["mark"] == ""
    assert results["sample"]["n"] == 1_000
    assert results["sample"]["highest"] <= 509_000
    page = Path("out/report.html").read_text()
    assert "simulated stand-in" not in page.lower().replace("stand-ins", "")
    assert "skips dropped" in page


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"SALARY": [1]}, "must have one column SALARYP, found 0"),
        ({"SALARYP": ["a", "b"]}, "must hold numbers, found a column that is not numeric"),
        ({"SALARYP": [9_999_998] * 2_000}, "must hold at least 1,000 salaries, found 0"),
    ],
)
def test_another_file_is_refused(table, sentence, alone, capsys):
    pd.DataFrame(table).to_csv("sdr.csv", index=False)
    assert run("study", "salary", "--size", "toy", "--table", "sdr.csv", "--out", "out") == 2
    assert sentence in capsys.readouterr().err
    assert [path.name for path in Path.cwd().iterdir()] == ["sdr.csv"]
