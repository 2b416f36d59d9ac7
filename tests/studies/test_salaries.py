"""Salaries of section 4: the stand-in has the published figures, and the survey's own file is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth_studies.salaries import stand_in_table, survey_table
from alphasynth_studies.salary import in_thousands, without_zeros
from alphasynth_studies.scans.units import against_mixture
from alphasynth_studies.synthesizers import measured, synthesize_all
from alphasynth_studies.tables import mixture_table
from command_line import read, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", range(0, 200, 7))
def test_stand_ins_have_the_published_figures(number):
    salaries = stand_in_table(number)["salary"]
    assert len(salaries) == 1_000
    assert (salaries.mean(), salaries.median()) == (107_609, 95_000)
    assert (salaries.min(), salaries.max()) == (0, 509_000)
    assert round(salaries.std()) == 69_718
    assert (salaries % 1_000 == 0).all()


def test_samples_of_the_survey(tmp_path):
    """Without replacement; another sample for another number, the same for the same."""
    path = tmp_path / "sdr.csv"
    pd.DataFrame({"SALARYP": [*range(1_200), *[9_999_998] * 50]}).to_csv(path, index=False)
    first, second = (survey_table(number, str(path))["salary"] for number in (0, 1))
    assert first.nunique() == second.nunique() == 1_000
    assert set(first) != set(second)
    assert max(first.max(), second.max()) < 1_200
    assert first.equals(survey_table(0, str(path))["salary"])


def test_variants_of_salaries():
    table = pd.DataFrame({"salary": [0, 1_000, 95_000, 509_000]})
    assert in_thousands(0, lambda number: table)["salary"].tolist() == [0, 1, 95, 509]
    assert without_zeros(0, lambda number: table)["salary"].tolist() == [1_000, 95_000, 509_000]


def test_salaries_are_compared_with_the_mixture():
    """The larger error and the larger share of small weights, whichever side they are on."""
    one = measured(synthesize_all(mixture_table(0, 100), 2, None, 1))
    cw = one.paper["CW"]
    far = {name: one.values[name] + 99.0 for name in cw.estimates}
    worse = replace(one, paper={**one.paper, "CW": replace(cw, small=cw.small + 0.1, estimates=far)})
    names = ("more_scaled_error", "more_relative_error", "more_small_weights")
    assert [against_mixture("CW", [worse, worse], [one])[name] for name in names] == [1, 1, 1]
    assert [against_mixture("CW", [one], [worse, worse])[name] for name in names] == [0, 0, 0]
    assert against_mixture("CW", [worse], [one])["small_weights"] == pytest.approx(cw.small + 0.1)


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
    assert "a stand-in cannot settle" not in page


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"SALARY": [1]}, "must have one column SALARYP, found 0"),
        ({"SALARYP": ["a", "b"]}, "must hold numbers, found a column that is not numeric"),
        ({"SALARYP": [9_999_998] * 2_000}, "must hold at least 1,000 salaries, found 0"),
        ({"SALARYP": [*[50_000] * 2_000, 9_999_999]}, "must hold whole dollars up to 509,000"),
        ({"SALARYP": [*[50_000] * 2_000, 50_000.5]}, "must hold whole dollars up to 509,000"),
    ],
)
def test_another_file_is_refused(table, sentence, alone, capsys):
    pd.DataFrame(table).to_csv("sdr.csv", index=False)
    assert run("study", "salary", "--size", "toy", "--table", "sdr.csv", "--out", "out") == 2
    assert sentence in capsys.readouterr().err
    assert [path.name for path in Path.cwd().iterdir()] == ["sdr.csv"]
