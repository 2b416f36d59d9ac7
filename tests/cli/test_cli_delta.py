"""Delta from the command line to the pages and the ledger."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.privacy.accounting import epsilon_at, of_unit, rho_within
from alphasynth.runs.results import read_release
from command_line import read

pytestmark = pytest.mark.usefixtures("alone")
CHAIN = [
    *("--formula", "a ~ 1", "--formula", "b ~ 1", "--family", "bernoulli"),
    *("--levels", "a=0|1", "--levels", "b=0|1", "--mechanism", "Censored"),
]


@pytest.fixture
def pairs():
    rng = np.random.default_rng(3)
    columns = {"person": np.arange(300) // 2, "a": rng.integers(0, 2, 300), "b": rng.integers(0, 2, 300)}
    pd.DataFrame(columns).to_csv("pairs.csv", index=False)
    return "pairs.csv"


def synthesize(table, *more, out="run"):
    words = ["synthesize", table, *CHAIN, "--epsilon", "8", "--m", "20", "--out", out, "--dataset", "pairs", *more]
    return run_command(list(map(str, words)))


def test_a_chain_with_a_delta_says_so_everywhere(pairs, capsys):
    assert run_command(["ledger", "set", "pairs", "--cap", "20", "--delta", "1e-6"]) == 0
    assert "capped at epsilon 20 and delta 1e-6" in capsys.readouterr().out
    assert synthesize(pairs, "--delta", "1e-9", "--unit", "person", "--max-rows", "2") == 0
    assert "epsilon 16 at delta 1e-9 for all rows that share" in " ".join(capsys.readouterr().out.split())
    stated = read("run/release/guarantee.json")
    assert (stated["epsilon"], stated["policy_epsilon"], stated["policy_delta"]) == (16.0, 8.0, 1e-9)
    assert (stated["delta"], stated["epsilon_at_delta"], stated["scope"]) == (1e-9, None, "strict")
    assert stated["rho"] <= rho_within(of_unit(8.0, 2), 1e-9)
    assert stated["rho"] == pytest.approx(rho_within(of_unit(8.0, 2), 1e-9), rel=1e-9)
    assert stated["epsilon_replace"] == pytest.approx(epsilon_at(4 * stated["rho"], 1e-9))
    assert stated["budget"] == "the epsilon and delta stated are the policy's"
    assert "policy_delta" in stated["public_inputs"]
    assert read_release(Path("run/release")).guarantee.policy_delta == 1e-9
    parts = [part["epsilon"] for one in stated["contribution"] for part in one["parts"]]
    assert min(parts) > 8 / 2 / 20, "more than a pure epsilon has for each part"
    summary = read("run/confidential/summary.json")
    assert (summary["policy_delta"], summary["delta_spent"]) == (1e-9, 1e-9)
    assert 15.99 < summary["epsilon_unit"] <= 16
    assert summary["epsilon_total"] <= 8
    assert tomllib.loads(Path("run/confidential/run.toml").read_text())["delta"] == 1e-9
    public, confidential = (Path(f"run/{name}/report.html").read_text() for name in ("release", "confidential"))
    assert "16 at delta 1e-9" in public
    assert "(epsilon, delta)-differential privacy for one row" in public
    assert "epsilon when a unit is replaced" in public
    assert "of the policy&#39;s 8 at delta 1e-9 in all, for one row" in confidential
    _goes_on_in_the_ledger(pairs, capsys, stated["rho"])


def _goes_on_in_the_ledger(pairs, capsys, rho):
    assert synthesize(pairs, "--delta", "2e-6", "--epsilon", "1", out="more") == 2
    assert "cap of delta 1e-6, of which 1e-9 is spent or reserved: a run of delta 2e-6" in capsys.readouterr().err
    pure = ["--epsilon", "1", "--mechanism", "Scored", "--quiet"]
    assert synthesize(pairs, *pure, out="pure") == 2
    assert "a run whose unit is one row cannot be added" in capsys.readouterr().err
    assert synthesize(pairs, *pure, "--unit", "person", "--max-rows", "1", out="pure") == 0
    capsys.readouterr()
    assert run_command(["ledger", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    (strict,) = listed["datasets"]
    assert (strict["released"], strict["delta"], strict["cap_delta"]) == (17.0, 1e-9, 1e-6)
    assert strict["left_delta"] == pytest.approx(9.99e-7)
    assert strict["rho"] == pytest.approx(rho + 0.5)
    assert strict["epsilon_concentrated"] is None or strict["epsilon_concentrated"] < 17
    assert [one["delta"] for one in listed["runs"]] == [1e-9, 0.0]
    assert run_command(["ledger"]) == 0
    shown = capsys.readouterr().out
    assert "by rho" in shown
    assert "9.99e-7" in shown


def test_a_delta_that_buys_nothing_is_not_spent(pairs, capsys):
    assert run_command(["ledger", "set", "pairs", "--cap", "20"]) == 0
    assert synthesize(pairs, "--delta", "1e-9", "--m", "1", "--no-report") == 0
    assert "--delta is not spent" in capsys.readouterr().out
    stated = read("run/release/guarantee.json")
    assert (stated["policy_delta"], stated["delta"], stated["epsilon_replace"]) == (None, 1e-6, 16.0)
    now = read_release(Path("run/release")).guarantee
    del stated["policy_delta"]  # as in files of before
    Path("run/release/guarantee.json").write_text(json.dumps(stated))
    assert read_release(Path("run/release")).guarantee == now
    assert synthesize(pairs, "--delta", "1e-9", out="more") == 2
    assert "alphasynth ledger set 'pairs' --cap 20 --delta DELTA" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--delta", "0"], "delta must be positive and finite"),
        (["--delta", "0.01"], "delta must be from 1e-100 to 0.001, found 0.01"),
        (["--delta", "1e-200"], "delta must be from 1e-100 to 0.001"),
        (["--delta", "1e-9", "--mechanism", "LW"], "delta must have a strict mechanism, since others promise none"),
        (["--delta", "1e-9", "--mechanism", "Scored"], "delta must be left out with Scored"),
    ],
)
def test_what_no_one_can_promise_is_refused(pairs, more, message, capsys):
    assert synthesize(pairs, *more) == 2
    assert message in capsys.readouterr().err
    assert not Path("run").exists()


def test_a_delta_of_one_row_is_refused(capsys):
    pd.DataFrame({"a": [0, 1] * 600, "b": [1, 0] * 600}).to_csv("long.csv", index=False)
    assert synthesize("long.csv", "--delta", "0.0009") == 2
    assert "below one in the number of rows, which is public and 1,200 here" in capsys.readouterr().err


def test_the_page_of_noisy_sums_states_epsilon_in_all(pairs):
    assert synthesize(pairs, "--epsilon", "1", "--mechanism", "Scored", "--m", "2", "--quiet") == 0
    page = Path("run/confidential/report.html").read_text()
    assert "epsilon in all, for any number of draws" in page
    assert "epsilon per draw</" not in page
