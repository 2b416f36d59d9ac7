"""Draws of parameters that are released, weights from a file, and audits of one draw."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import alphasynth as syn
from alphasynth.cli.entry import run_command
from command_line import OPTIONS, run

MADE = ["--seed", "1", "--draws", "200", "--no-report"]


@pytest.mark.parametrize(
    "options",
    [
        ["--mechanism", "LW_final", "--k", "0.95"],
        ["--mechanism", "Censored", "--epsilon", "4"],
        ["--formula", "visits ~ age", "--public", "age", "--mechanism", "LW"],
    ],
)
def test_the_draws_released_are_those_of_the_tables(table, options):
    assert run("synthesize", table, *OPTIONS, *MADE, *options, "--m", "2", "--parameters", "--out", "run") == 0
    released = pd.read_csv("run/release/parameters.csv")
    kept = pq.read_table("run/confidential/draws.parquet").to_pandas()
    kept = kept[kept["released"]]
    assert released["draw"].tolist() == [1, 2]
    names = [name for name in released.columns if name != "draw"]
    assert {"phi"} < set(names)
    for name in names:
        assert sorted(released[name]) == pytest.approx(sorted(kept[name]), rel=1e-15)
    stated = json.loads(Path("run/release/guarantee.json").read_text())["parameters"]
    assert stated["columns"] == names
    assert stated["file"] == "parameters.csv"


def test_which_column_is_which_term_is_said(table):
    """In guarantee.json and on the public page, which names the file; also where the page is made again."""
    options = ["--formula", "visits ~ age", "--public", "age", "--mechanism", "LW", "--m", "1", "--parameters"]
    assert run("synthesize", table, *OPTIONS, "--seed", "1", "--draws", "200", *options, "--out", "run") == 0
    stated = json.loads(Path("run/release/guarantee.json").read_text())["parameters"]
    assert stated["terms"] == {"beta[0]": "Intercept", "beta[1]": "age"}
    assert run("report", "run") == 0
    page = Path("run/release/report.html").read_text()
    assert "parameters.csv holds the draws of parameters" in page
    assert re.search(r"beta\[1\]\s*</t[dh]>\s*<td[^>]*>\s*age", page)


def test_levels_that_were_read_off_the_table_are_no_names(alone):
    """A term of a synthesized column may have levels in its name that nobody declared."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"b": rng.choice(["u", "v"], 100), "x": rng.poisson(3, 100), "y": rng.poisson(4, 100)})
    made = syn.Synthesizer(
        ["b ~ 1", "y ~ b + x"],
        family=["bernoulli", "poisson"],
        mechanism="SW",
        alpha=0.5,
        m=1,
        num_draws=200,
        seed=1,
        public=["x"],
    ).fit(data)
    assert made.terms_[0] == ("Intercept",)
    assert made.terms_[1] == ("Intercept", None, "x")


def test_names_of_parameters_are_safe_in_a_spreadsheet(alone):
    """Those of a chain begin with their column's, which may look like a formula."""
    rng = np.random.default_rng(0)
    pd.DataFrame({"=cmd": rng.poisson(4, 100), "b": rng.poisson(4, 100)}).to_csv("t.csv", index=False)
    formulas = ["--formula", "`=cmd` ~ 1", "--formula", "b ~ 1", "--family", "poisson", "--mechanism", "SW"]
    # Not by `run`, which takes the last formula alone.
    assert run_command(["synthesize", "t.csv", *formulas, "--alpha", "0.5", *MADE, "--parameters", "--out", "run"]) == 0
    assert pd.read_csv("run/release/parameters.csv").columns.tolist() == ["draw", "'=cmd: beta[0]", "b: beta[0]"]


def test_no_parameters_unless_asked(table):
    assert run("synthesize", table, *OPTIONS, *MADE, "--out", "run") == 0
    assert "parameters" not in json.loads(Path("run/release/guarantee.json").read_text())
    assert not list(Path("run/release").glob("parameters*"))


def test_weights_of_a_file_are_used_row_by_row(table):
    rows = len(pd.read_csv(table))
    alpha = np.random.default_rng(0).uniform(0.2, 0.9, rows)
    pd.DataFrame({"alpha": alpha}).to_csv("weights.csv", index=False)
    given = ["--mechanism", "Given", "--given", "weights.csv", "--by-row"]
    assert run("synthesize", table, *OPTIONS, *MADE, *given, "--out", "run") == 0
    kept = pq.read_table("run/confidential/rows.parquet").to_pandas().sort_values("row")
    np.testing.assert_allclose(kept["alpha"], alpha, rtol=1e-12)


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda: pd.DataFrame({"alpha": [0.5]}).to_csv("weights.csv", index=False), "one weight per record, found 1"),
        (lambda: pd.DataFrame({"alpha": np.full(300, 2)}).to_csv("weights.csv", index=False), r"in \[0, 1\]"),
        (lambda: pd.DataFrame({"a": [0.5], "b": [1]}).to_csv("weights.csv", index=False), "must have a column 'alpha'"),
        (lambda: None, "--given must be a file"),
    ],
)
def test_weights_that_are_none_get_one_sentence(table, capsys, write, sentence):
    import re

    write()
    given = ["--mechanism", "Given", "--given", "weights.csv"]
    assert run("synthesize", table, *OPTIONS, *MADE, *given, "--out", "run") == 2
    assert re.search(sentence, capsys.readouterr().err)


def test_raked_tables_have_no_parameters(alone, capsys):
    pd.DataFrame({"a": [1, 2, 3] * 10}).to_csv("t.csv", index=False)
    Path("columns.toml").write_text("[column.a]\nlimits = [0, 5]\nwhole = true\n")
    options = ["--columns", "columns.toml", "--mechanism", "Raked", "--epsilon", "1", "--m", "1"]
    assert run("synthesize", "t.csv", *options, "--parameters", "--out", "run") == 2
    assert "--parameters must have a mechanism that draws parameters" in capsys.readouterr().err


def test_an_audit_is_of_one_draw(table, capsys):
    options = ["--formula", "visits ~ 1", "--family", "poisson", "--mechanism", "SW", "--alpha", "0.1"]
    assert run("audit", table, *options, "--audits", "draw", "--seed", "1", "--draws", "200", "--json") in (0, 3, 4)
    assert json.loads(capsys.readouterr().out)["audits"]
