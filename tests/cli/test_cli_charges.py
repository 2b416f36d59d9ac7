"""What a run costs that fails: with a strict promise everything from its first noise on, and nothing before."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.errors import DiagnosticsError, InputError
from alphasynth.privacy.approximate import rho_of_row, rho_of_unit
from alphasynth.runs.interruption import Left
from command_line import run

pytestmark = pytest.mark.usefixtures("alone")

NO_ROWS = 'constraints = ["u == v"]\n[column.u]\nlimits = [0.0001, 100]\n[column.v]\nlimits = [0.0001, 100]\n'
RAKED = ("--mechanism", "Raked", "--epsilon", 2, "--m", 2, "--dataset", "people", "--quiet")


@pytest.fixture
def table():
    """Two columns that are equal in every row."""
    value = np.round(np.random.default_rng(1).uniform(1, 99, 200), 4)
    pd.DataFrame({"u": value, "v": value, "person": np.arange(200) // 2}).to_csv("t.csv", index=False)
    Path("columns.toml").write_text(NO_ROWS)
    return "t.csv"


def listed(capsys):
    capsys.readouterr()
    assert run("ledger", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    return [entry["state"] for entry in found["runs"]], found["datasets"]


def test_a_fit_that_fails_by_its_noise_is_paid_for_each_time(table, capsys, monkeypatch):
    def none_left(*_):
        raise InputError("constraints must leave rows that keep them all, found none")

    monkeypatch.setattr("alphasynth.raking.raked.kept_rows", none_left)  # after counts had their noise
    assert run("ledger", "set", "people", "--cap", 4, "--delta", 1e-6) == 0
    arguments = ("synthesize", table, "--columns", "columns.toml", *RAKED, "--delta", 1e-9)
    for _ in range(2):
        assert run(*arguments, "--out", "run") == 2
        said = capsys.readouterr().err
        assert "constraints must leave rows" in said
        assert said.rstrip().endswith(Left.SPENT.value)
        assert not Path("run").exists()
    assert run(*arguments, "--out", "run") == 2
    assert "cap of 4, of which 4 is spent or reserved" in capsys.readouterr().err
    states, (dataset,) = listed(capsys)
    assert states == ["lost", "lost"]
    assert (dataset["lost"], dataset["delta"], dataset["left"]) == (4, 2e-9, 0)
    assert dataset["rho"] == pytest.approx(2 * rho_of_row(2.0, 1e-9))


@pytest.mark.parametrize("wrong", ["value", "constraint", "declaration"])
def test_what_is_refused_before_any_noise_costs_nothing(table, capsys, wrong):
    if wrong == "value":
        Path("columns.toml").write_text(NO_ROWS.replace("100]\n[", "50]\n["))
    if wrong == "constraint":
        Path("columns.toml").write_text(NO_ROWS.replace("u == v", "u < v"))
    if wrong == "declaration":
        Path("columns.toml").write_text(NO_ROWS.replace("[0.0001, 100]\n[", "[100, 0]\n["))
    assert run("synthesize", table, "--columns", "columns.toml", *RAKED, "--out", "run") == 2
    assert Left.SPENT.value not in capsys.readouterr().err
    if Path("alphasynth-ledger.sqlite").exists():
        states, datasets = listed(capsys)
        assert set(states) <= {"cleared"}
        assert sum(each["lost"] + each["released"] + each["reserved"] for each in datasets) == 0


@pytest.mark.parametrize(
    ("mechanism", "place", "spent"),
    [
        ("Censored", "mechanisms.mechanism.fit_chain", True),
        ("Scored", "mechanisms.scored_fit.fit_table", True),
        ("LW", "mechanisms.mechanism.fit_chain", False),
    ],
)
def test_draws_that_cannot_be_used_are_paid_for_where_the_promise_is_strict(
    capsys, monkeypatch, mechanism, place, spent
):
    """Of an estimated one nothing is promised of what failed; rows that it never wrote cost nothing."""
    pd.DataFrame({"y": np.arange(40) % 7}).to_csv("y.csv", index=False)

    def fails(*args, **kwargs):
        raise DiagnosticsError("draws must be good, found others", None)

    monkeypatch.setattr(f"alphasynth.{place}", fails)
    options = ("--formula", "y ~ 1", "--family", "poisson", "--mechanism", mechanism, "--epsilon", 2, "--m", 1)
    assert run("synthesize", "y.csv", *options, "--out", "run", "--quiet") == 1
    assert (Left.SPENT.value in capsys.readouterr().err) == spent
    states, (dataset,) = listed(capsys)
    assert states == ["lost" if spent else "cleared"]
    assert dataset["lost"] == (2 if spent else 0)


def test_the_charge_stands_when_the_first_noise_is_drawn(table, monkeypatch, capsys):
    """Not after it: who is killed meanwhile has paid."""
    seen = []

    def looks(*args, **kwargs):
        seen.append(listed(capsys)[1][0]["reserved"])
        raise InputError("that is all")

    monkeypatch.setattr("alphasynth.raking.sums.Confidential.counts", looks)
    assert run("synthesize", table, "--columns", "columns.toml", *RAKED, "--out", "run") == 2
    assert seen == [2]
    assert listed(capsys)[0] == ["lost"]


@pytest.mark.parametrize("unit", [(), ("--unit", "person", "--max-rows", 2)], ids=["row", "person"])
def test_what_was_charged_first_is_what_is_stated_in_the_end(table, capsys, unit):
    Path("columns.toml").write_text(NO_ROWS.split("\n", 1)[1])
    options = ("synthesize", table, "--columns", "columns.toml", *RAKED, "--delta", 1e-9, *unit)
    assert run(*options, "--out", "run") == 0
    stated = json.loads(Path("run/release/guarantee.json").read_text())
    states, (dataset,) = listed(capsys)
    assert states == ["released"]
    assert dataset["released"] == stated["epsilon"]
    rows = 2 if unit else 1
    assert stated["rho"] == rho_of_unit(rho_of_row(2.0, 1e-9, rows), rows) == dataset["rho"]
