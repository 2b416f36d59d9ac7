"""A number of a mechanism turned: what the table says beside single runs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from command_line import run

TWIN = ["--twin", "mean=20,phi=8,rows=200"]
MODEL = ["--formula", "y ~ 1", "--family", "negative_binomial", "--draws", "200"]


def tuned(*arguments):
    assert run("tune", *MODEL, "--repeats", "2", "--quiet", *arguments, "--out", "tuned") == 0
    return json.loads(Path("tuned/results.json").read_text())


def test_a_larger_scale_has_a_larger_bound_and_the_same_random_numbers(alone):
    results = tuned("--mechanism", "LW", "--sweep", "scale=0.5,1", *TWIN)
    half, whole = results["settings"]
    assert not results["confidential"]
    assert max(half["deltas"]) < min(whole["deltas"])
    assert half["mean_alpha"] == pytest.approx(whole["mean_alpha"] / 2, rel=1e-6)
    assert whole["delta"] == pytest.approx(np.mean(whole["deltas"]))


def test_on_the_table_itself_the_numbers_are_a_runs(alone, capsys):
    """Delta of a repeat is that of the very run; the page and the words say that this spends privacy."""
    pd.DataFrame({"y": np.random.default_rng(0).poisson(9, 150)}).to_csv("t.csv", index=False)
    options = ["--formula", "y ~ 1", "--family", "poisson", "--mechanism", "CW", "--relative", "--repeats", "1"]
    assert run("tune", "t.csv", *options, "--sweep", "radius=0.2", "--on-table", "--out", "tuned") == 0
    assert "spends privacy" in capsys.readouterr().out
    (setting,) = json.loads(Path("tuned/results.json").read_text())["settings"]
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="CW", radius=0.2, relative=True, m=1, seed=1)
    made.fit(pd.read_csv("t.csv"))
    assert setting["mean_alpha"] == pytest.approx(made.alpha_.mean(), rel=1e-9)
    assert "CONFIDENTIAL" in Path("tuned/report.html").read_text()


def test_a_radius_begins_at_the_public_limits(alone):
    results = tuned("--mechanism", "CW", "--sweep", "radius", "--range", "y=0:400", *TWIN)
    assert [setting["value"] for setting in results["settings"]] == [5.0, 10.0, 20.0, 40.0, 80.0]


def test_a_twin_is_the_default_and_takes_no_more_than_the_number_of_rows(alone, capsys):
    """Two tables of as many rows and other values give the same; the words say what is a stand-in."""
    found = []
    for mean in (3, 900):
        pd.DataFrame({"y": np.random.default_rng(mean).poisson(mean, 150)}).to_csv(f"{mean}.csv", index=False)
        arguments = [f"{mean}.csv", *MODEL, "--repeats", "1", "--mechanism", "CW", "--sweep", "radius=5,20"]
        assert run("tune", *arguments, "--out", f"of-{mean}") == 0
        found.append(json.loads(Path(f"of-{mean}/results.json").read_text()))
        said = " ".join(capsys.readouterr().out.split())
        assert "of TABLE nothing but the number of its rows was used" in said
        assert "mean 100 and phi 12 are stand-ins" in said
    assert found[0] == found[1]
    assert found[0]["twin"] == {"mean": 100.0, "phi": 12.0, "rows": 150.0}
    assert found[0]["dial"] == "radius"
    assert not found[0]["confidential"]


def test_broken_claims_are_called_so(alone, capsys):
    """LW at a small scale on few rows: its audited loss is above the claim."""
    arguments = ["--mechanism", "LW", "--sweep", "scale=0.25", "--twin", "mean=100,phi=5,rows=1000", "--repeats", "1"]
    assert run("tune", *MODEL, *arguments, "--out", "tuned") == 0
    (setting,) = json.loads(Path("tuned/results.json").read_text())["settings"]
    broken = setting["loss"] > 2 * setting["delta"]
    assert ("broken" in capsys.readouterr().out) == broken
    assert broken


def test_every_setting_is_a_point_with_its_name(alone):
    tuned("--mechanism", "LW", "--sweep", "scale=0.5,1", *TWIN)
    drawn = pd.read_csv("tuned/figures/utility_against_delta.csv")
    assert set(drawn["series"]) == {"scale 0.5", "scale 1"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--mechanism", "LW", "--sweep", "scale", *TWIN, "--on-table"], "found both"),
        (["--mechanism", "LW", "--sweep", "scale", "--on-table"], "--on-table must have a TABLE"),
        (["--mechanism", "LW", "--sweep", "radius=1", *TWIN], r"LW takes \(scale, shift\), found 'radius'"),
        (["--mechanism", "Censored", "--sweep", "cut=1", *TWIN], "Censored takes"),
        (["--mechanism", "SW", *TWIN], "must have a scale, shift, radius or k to turn, found 'SW'"),
        (["--mechanism", "LW", "--sweep", "foo=1", *TWIN], r"LW takes \(scale, shift\), found 'foo'"),
        (["--mechanism", "LW", "--sweep", "scale=1,1", *TWIN], "each value once"),
        (["--mechanism", "CW", "--sweep", "radius=1", "--radius", "3", *TWIN], "--radius must be left out"),
        (["--mechanism", "LW", "--twin", "mean=2,phi=1,rows=1e9"], "rows from 2 to 10,000,000, found 1,000,000,000"),
        (["--mechanism", "LW", "--twin", "mean=2,phi=1,rows=1"], "rows from 2 to 10,000,000, found 1"),
        (["--mechanism", "CW"], r"--sweep must have values.*\(--range NAME=LOW:HIGH\).*a stand-in suits no table"),
        (["--mechanism", "LW", "--twin", "sd=3"], "--twin of negative_binomial takes mean, phi and rows, found sd"),
        (["--mechanism", "LW", "--sweep", "scale=a", *TWIN], "NAME=NUMBER"),
        (["--mechanism", "LW", "--sweep", "scale=-1", *TWIN], "scale must be at least 0"),
    ],
)
def test_what_cannot_be_tuned_gets_one_sentence(alone, capsys, arguments, sentence):
    import re

    assert run("tune", *MODEL, *arguments, "--out", "tuned") == 2
    assert re.search(sentence, capsys.readouterr().err)
