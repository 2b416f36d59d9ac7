"""Value labels of SPSS and Stata: in suggestions, beside codes on pages, and never in place of a code."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.models.table_model import TableModel
from alphasynth.raking.columns import Columns
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.suggestions.model import suggest_model
from alphasynth.tables.declared import Declared
from alphasynth.tables.opening import open_table
from command_line import run

EVIL = 'no & <script>alert(1)</script> "never" = ü'
LABELS = {
    "q": {1: "yes", 2: EVIL, 3: "unsure", 9: "refused"},
    "s": {"a": "Alpha", "b": "Beta", "c": "Gamma"},
    "job": {code: f"job {code}" for code in range(100, 140)},
    "age": {98: "98 or older", 99: "unknown"},
    "few": {1: "one"},
}


@pytest.fixture
def survey(alone):
    rng, n = np.random.default_rng(0), 300
    frame = pd.DataFrame(
        {
            "q": rng.choice([1.0, 2.0, 9.0], n),
            "s": rng.choice(["a", "b"], n),
            "job": rng.choice(np.arange(100.0, 130.0), n),
            "age": rng.integers(18.0, 90.0, n).astype(float),
            "few": rng.choice([1.0, 2.0, 3.0], n),
        }
    )
    missing = {"q": [{"lo": 9, "hi": 9}]}
    pyreadstat.write_sav(frame, "t.sav", variable_value_labels=LABELS, missing_ranges=missing)
    numbers = {name: codes for name, codes in LABELS.items() if name != "s"}
    pyreadstat.write_dta(frame, "t.dta", variable_value_labels=numbers, missing_user_values={"q": ["a"]})
    return frame


def test_codes_of_the_codebook_are_levels_whether_they_occur_or_not(survey):
    declared = suggest_columns(open_table("t.sav")).columns.declared
    assert declared["q"].levels == (1, 2, 3)  # 9 is a missing value
    assert declared["q"].labels == ((1, "yes"), (2, EVIL), (3, "unsure"))
    assert declared["q"].missing == "model"
    assert declared["s"].levels == ("a", "b", "c")
    assert declared["job"].levels == tuple(range(100, 140))
    assert declared["few"].levels == (1, 2, 3)
    assert declared["few"].labels == ((1, "one"),)
    assert "labels" in declared["few"].read_off


def test_numbers_of_which_few_codes_have_words_stay_numbers(survey):
    declared = suggest_columns(open_table("t.sav")).columns.declared
    assert (declared["age"].limits, declared["age"].labels) == ((10.0, 100.0), ())


def test_stata_too(survey):
    declared = suggest_columns(open_table("t.dta")).columns.declared
    assert declared["q"].levels == (1, 2, 3, 9)
    assert declared["job"].labels[39] == (139, "job 139")
    model = suggest_model(open_table("t.dta")).model
    assert (model.column("q").family, model.declared["q"].labels[0]) == ("categorical", (1, "yes"))


def test_files_come_back_as_they_were(survey):
    columns = suggest_columns(open_table("t.sav")).columns
    assert Columns.parse(tomllib.loads(columns.toml())) == columns
    model = suggest_model(open_table("t.sav")).model
    assert TableModel.parse(tomllib.loads(model.toml())) == model


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"limits": [0, 1], "labels": {"1": "a"}}, "labels of 'x' must be of its levels, found one of another"),
        ({"levels": [1, 2], "labels": {"3": "a"}}, "labels of 'x' must be of its levels, found one of another"),
        ({"levels": [1, 2], "labels": {"1": 5}}, "labels of 'x' must be a text for each of its levels"),
        ({"levels": [1, 2], "labels": ["a", "b"]}, "labels of 'x' must be a text for each of its levels"),
    ],
)
def test_other_labels_are_refused(facts, message):
    with pytest.raises(InputError, match=message):
        Columns.of({"x": facts})


def test_codes_may_be_what_they_are_or_text():
    one = Declared.of("x", {"levels": [1, 2.5], "labels": {1: "a", 2.5: "b"}})
    assert one == Declared.of("x", {"levels": [1, 2.5], "labels": {"2.5": "b", "1": "a"}})
    assert Declared.of("x", {"levels": [False, True], "labels": {"true": "yes"}}).labels == ((True, "yes"),)


def test_pages_show_words_and_tables_hold_codes(survey, capsys):
    assert run("inspect", "t.sav", "--suggest", "columns.toml") == 0
    options = ["--columns", "columns.toml", "--epsilon", "4", "--seed", "1", "--quiet", "--out", "run"]
    assert run("synthesize", "t.sav", *options, "--confirm-public", "q.levels,q.missing") == 2
    capsys.readouterr()
    assert run("synthesize", "t.sav", *options, "--confirm-public", "all") == 0, capsys.readouterr().err
    made, meta = pyreadstat.read_sav("run/release/synthetic_01.sav")
    assert set(made["q"].dropna()) <= {1.0, 2.0, 3.0}
    assert meta.variable_value_labels["q"] == {1.0: "yes", 2.0: EVIL, 3.0: "unsure"}
    public, confidential = (Path(f"run/{folder}/report.html").read_text() for folder in ("release", "confidential"))
    assert "1 = yes" in public
    assert "a (Alpha)" in confidential
    assert "1 (yes)" in confidential
    for shown in (public, confidential):
        assert "<script>alert" not in shown
    stated = json.loads(Path("run/release/guarantee.json").read_text())
    assert stated["declared_public"]["q"]["labels"] == {"1": "yes", "2": EVIL, "3": "unsure"}
    assert "labels" in stated["confirmed_public"]["q"]
    assert run("report", "run") == 0
    assert Path("run/confidential/report.html").read_text() == confidential


def test_an_evaluation_shows_words(survey, capsys):
    survey[:200].to_csv("made.csv", index=False)
    assert run("evaluate", "t.sav", "made.csv", "--columns", "s,few") == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    assert "a (Alpha)" in shown


def test_labels_in_python():
    frame = pd.DataFrame({"x": [1, 2] * 50})
    facts = {"x": {"levels": [1, 2], "labels": {1: "yes"}}}
    made = syn.Synthesizer(facts, mechanism="Raked", epsilon=4, m=1, seed=1).fit(frame)
    assert set(made.sample()[0]["x"]) <= {1, 2}
    assert made.guarantee_.public().declared_public["x"]["labels"] == {"1": "yes"}
