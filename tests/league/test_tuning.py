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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--mechanism", "LW", "--sweep", "scale"], "found neither"),
        (["--mechanism", "LW", "--sweep", "scale", *TWIN, "--on-table"], "found both"),
        (["--mechanism", "LW", "--sweep", "scale", "--on-table"], "--on-table must have a TABLE"),
        (["--mechanism", "LW", "--sweep", "radius=1", *TWIN], r"LW takes \(scale, shift\), found 'radius'"),
        (["--mechanism", "Censored", "--sweep", "cut=1", *TWIN], "Censored takes"),
        (["--mechanism", "CW", "--sweep", "radius", *TWIN], "--sweep must have values"),
        (["--mechanism", "LW", "--sweep", "scale=a", *TWIN], "NAME=NUMBER"),
        (["--mechanism", "LW", "--sweep", "scale=-1", *TWIN], "scale must be at least 0"),
    ],
)
def test_what_cannot_be_tuned_gets_one_sentence(alone, capsys, arguments, sentence):
    import re

    assert run("tune", *MODEL, *arguments, "--out", "tuned") == 2
    assert re.search(sentence, capsys.readouterr().err)
