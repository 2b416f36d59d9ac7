"""The ledger on the command line: caps that hold, whatever one tries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alphasynth.runs.ledger import Ledger
from alphasynth.tables.engine import FileTable
from command_line import run, synthesize
from ledgers import append_all_but_a_release

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.slow
def test_the_ledger_refuses_before_anything_is_computed(table, capsys, monkeypatch):
    assert run("ledger", "set", "visits", "--cap", 10) == 0
    assert synthesize(table, "--epsilon", 8, "--dataset", "visits", out="one") == 0

    def computed(*args, **kwargs):
        raise AssertionError("something was computed")

    group = FileTable.group
    monkeypatch.setattr(FileTable, "group", computed)
    for more, message in [
        (["--epsilon", 8, "--dataset", "visits"], "cap of 10, of which 8 is spent or reserved"),
        (["--dataset", "visits"], "must state its budget (--epsilon)"),
        (["--epsilon", 1], "must name its data set (--dataset)"),
        (["--epsilon", 1, "--dataset", "other"], "in the ledger as data set 'visits'"),
        (["--epsilon", 1, "--unit", "sex", "--max-rows", 3, "--dataset", "visits"], "a run of epsilon 3 would exceed"),
    ]:
        assert synthesize(table, *more, out="two") == 2
        assert message in capsys.readouterr().err
        assert not Path("two").exists()
    monkeypatch.setattr(FileTable, "group", group)
    assert synthesize(table, "--epsilon", 2, "--dataset", "visits", out="two") == 0


def test_the_ledger_shows_what_was_spent(table, capsys):
    assert run("ledger") == 2
    assert "must exist" in capsys.readouterr().err
    assert run("ledger", "set", "visits", "--cap", 10) == 0
    assert synthesize(table, "--epsilon", 1.5, "--dataset", "visits", "--seed", 1) == 0
    capsys.readouterr()
    assert run("ledger") == 0
    shown = capsys.readouterr().out
    assert "visits" in shown
    assert "8.5" in shown
    assert run("ledger", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["datasets"] == [
        {
            "dataset": "visits",
            "scope": "instance",
            "released": 1.5,
            "lost": 0.0,
            "reserved": 0.0,
            "cap": 10.0,
            "left": 8.5,
            "delta": 0.0,
            "cap_delta": 0.0,
            "left_delta": 0.0,
            "rho": None,
            "epsilon_concentrated": None,
            "units": ["one row"],
        }
    ]
    name = listed["runs"][0]["run"]
    assert run("ledger", "clear", "nobody") == 2
    assert "run must be one that the ledger holds" in capsys.readouterr().err
    assert run("ledger", "clear", name) == 0  # seeded, so not for release
    assert synthesize(table, "--epsilon", 1.5, "--dataset", "visits", out="real") == 0
    capsys.readouterr()
    run("ledger", "--json")
    listed = json.loads(capsys.readouterr().out)
    assert listed["datasets"][0]["released"] == 1.5
    assert run("ledger", "clear", listed["runs"][1]["run"]) == 2
    assert "stays spent" in capsys.readouterr().err


def test_a_ledger_here_counts_for_runs_elsewhere(table, capsys, tmp_path):
    (tmp_path / "runs").mkdir()
    assert run("ledger", "set", "visits", "--cap", 1) == 0
    assert synthesize(table, "--epsilon", 8, "--dataset", "visits", out="runs/one") == 2
    assert "cap of 1" in capsys.readouterr().err
    assert synthesize(table, "--epsilon", 1, "--dataset", "visits", "--ledger", "runs/mine", out="runs/one") == 0
    assert run("ledger", "set", "visits", "--cap", 1, "--ledger", "runs/alphasynth-ledger.sqlite") == 0
    assert synthesize(table, "--epsilon", 1, "--dataset", "visits", out="runs/two") == 2
    assert "name one with --ledger" in capsys.readouterr().err


def test_a_run_repeated_from_elsewhere_keeps_its_ledger(table, tmp_path, monkeypatch, capsys):
    for name in ("here", "there", "runs"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run("ledger", "set", "visits", "--cap", 5) == 0
    assert synthesize(tmp_path / table, "--epsilon", 4, "--dataset", "visits", out="../runs/one") == 0
    monkeypatch.chdir(tmp_path / "there")
    assert run("synthesize", "--config", "../runs/one/confidential/run.toml") == 2
    assert "cap of 5, of which 4 is spent" in capsys.readouterr().err


def test_a_published_run_cannot_be_cleared(table, capsys, monkeypatch):
    """Though it died before the ledger had noted its release."""
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "append", append_all_but_a_release)
        assert synthesize(table, "--epsilon", 8) == 0
    ledger = Ledger.open(Path("alphasynth-ledger.sqlite"))
    with ledger.transaction() as connection:
        (entry,) = ledger.entries(connection)
    assert entry.state == "writing"
    assert run("ledger", "clear", entry.run) == 2
    assert "stays spent" in capsys.readouterr().err


@pytest.mark.parametrize("epsilon", [[], ["--epsilon", 4]], ids=["no budget", "budget"])
@pytest.mark.parametrize("stage", ["audit", "simulation", "confidential files"])
def test_what_fails_before_the_first_byte_costs_nothing_and_after_it_everything(
    table, capsys, monkeypatch, stage, epsilon
):
    """The draw audit and the first rows come before it."""

    def fails(*args, **kwargs):
        raise OSError(5, "the disk is on fire")

    place = {"audit": "_audited", "simulation": "Synthesizer.simulations", "confidential files": "write_confidential"}
    monkeypatch.setattr(f"alphasynth.runs.run.{place[stage]}", fails)
    assert synthesize(table, *epsilon) == 1
    spent = stage == "confidential files"
    words = "rows were written for it: its epsilon counts as spent" if spent else "nothing was written"
    assert words in capsys.readouterr().err
    assert not Path("run").exists()
    assert not list(Path().glob(".alphasynth-*"))
    run("ledger", "--json")
    listed = json.loads(capsys.readouterr().out)
    assert listed["runs"][0]["state"] == ("lost" if spent else "cleared")
    (dataset,) = listed["datasets"]
    assert (dataset["lost"] > 0) == spent
    assert dataset["released"] == dataset["reserved"] == 0
    if spent:
        assert not epsilon or dataset["lost"] == 4
        assert run("ledger") == 0
        assert "begun, folder lost" in capsys.readouterr().out
        assert run("ledger", "clear", listed["runs"][0]["run"]) == 2
        assert "and stays spent" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["stata", "spss", "xport"])
def test_values_that_a_format_cannot_hold_cost_nothing(table, capsys, monkeypatch, name):
    monkeypatch.setattr("alphasynth.tables.statistical_files.LARGEST_WHOLE", 3)
    assert synthesize(table, "--epsilon", 4, "--format", name) == 2
    assert "must hold whole numbers of up to 2^53" in capsys.readouterr().err
    run("ledger", "--json")
    assert json.loads(capsys.readouterr().out)["runs"][0]["state"] == "cleared"


@pytest.mark.parametrize("epsilon", ["1e-400", "0.0", "nan", "inf", "1" + 400 * "0", "-0.1"])
def test_an_epsilon_that_is_no_number_of_ours_reserves_nothing(table, capsys, epsilon):
    """Among them one too small for a float, which reads as 0, and a whole number too large for one."""
    Path("odd.toml").write_text(f"epsilon = {epsilon}\n")
    assert synthesize(table, "--config", "odd.toml") == 2
    assert "--epsilon must be positive and finite" in capsys.readouterr().err
    assert not Path("alphasynth-ledger.sqlite").exists()


def test_a_ledger_named_before_the_command_is_the_one(capsys):
    assert run("ledger", "--ledger", "mine.sqlite", "set", "visits", "--cap", 5) == 0
    assert [path.name for path in Path().iterdir()] == ["mine.sqlite"]
