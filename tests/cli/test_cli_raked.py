"""Whole tables from the command line: inspect, synthesize, report, what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.raking.columns import Columns
from alphasynth.runs.results import read_release
from command_line import read

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def visits():
    rng, n = np.random.default_rng(3), 400
    pd.DataFrame(
        {
            "person": np.arange(n) // 2,
            "sex": rng.choice(["f", "m"], n),
            "visits": rng.negative_binomial(1, 0.2, n),
            "born": pd.Timestamp("1950-05-05") + pd.to_timedelta(rng.integers(0, 9000, n), "D"),
            "income": np.where(rng.random(n) < 0.1, np.nan, np.round(rng.gamma(2, 900, n), 2)),
        }
    ).to_parquet("visits.parquet")
    return "visits.parquet"


def run(*words):
    return run_command(list(map(str, words)))


def synthesize(table, *more, out="run"):
    return run(
        *("synthesize", table, "--columns", "columns.toml", "--mechanism", "Raked", "--epsilon", 4, "--m", 2),
        *("--out", out, *more),
    )


def test_from_a_file_to_pages_and_again(visits, capsys):
    assert run("inspect", visits, "--suggest", "columns.toml") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "--columns columns.toml --epsilon 2 " in shown, "of a row; a person has two"
    assert "--unit person --max-rows 2" in shown
    assert set(Columns.read(Path("columns.toml")).names) == {"sex", "visits", "born", "income"}
    assert synthesize(visits, "--delta", "1e-6") != 0
    assert "must rest on what somebody declared public" in capsys.readouterr().err
    assert not Path("run").exists()
    assert synthesize(visits, "--delta", "1e-6", "--confirm-public", "all", "--response", "visits") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "epsilon 4 at delta 1e-6 for any number of tables over 400 records" in shown
    stated = read("run/release/guarantee.json")
    assert (stated["policy_epsilon"], stated["policy_delta"], stated["scope"]) == (4.0, 1e-6, "strict")
    assert stated["confirmed_public"]["sex"] == ["levels", "missing"]
    release = read_release(Path("run/release"))
    assert sum(each.cost for each in release.guarantee.measured) == pytest.approx(release.guarantee.rho)
    tables = [pd.read_parquet(path) for path in sorted(Path("run/release").glob("*.parquet"))]
    assert [len(table) for table in tables] == [400, 400]
    assert str(tables[0]["visits"].dtype) == "int64"
    public, confidential = (Path(f"run/{name}/report.html").read_text() for name in ("release", "confidential"))
    assert "What was measured of the confidential table" in public
    assert "4 at delta 1e-6" in public
    assert "What was measured of the confidential table" in confidential
    before = confidential
    assert run("report", "run") == 0
    assert Path("run/confidential/report.html").read_text() == before
    kept = tomllib.loads(Path("run/confidential/run.toml").read_text())
    assert (kept["delta"], kept["response"]) == (1e-6, ["visits"])
    capsys.readouterr()
    assert run("synthesize", "--config", "run/confidential/run.toml") == 0
    assert run("ledger", "--json") == 0


def test_nothing_of_a_record_is_in_the_release(visits):
    run("inspect", visits, "--suggest", "columns.toml")
    assert synthesize(visits, "--confirm-public", "all", "--format", "csv") == 0
    files = {path.name for path in Path("run/release").iterdir()}
    assert files == {"synthetic_01.csv", "synthetic_02.csv", "guarantee.json", "report.html"}
    assert {path.name for path in Path("run/confidential").iterdir()} == {
        *("records.parquet", "columns.toml", "run.toml", "summary.json", "report.html")
    }


def test_units_take_part_with_a_cap_on_rows(visits, capsys):
    run("inspect", visits, "--suggest", "columns.toml")
    words = ["--confirm-public", "all", "--delta", "1e-6", "--unit", "person", "--max-rows", "1"]
    assert synthesize(visits, *words) == 0
    assert read("run/release/guarantee.json")["n"] == 200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mechanism", "Raked"], "must have its columns declared (--columns)"),
        (["--columns", "columns.toml", "--mechanism", "LW"], "--columns must have --mechanism Raked, found 'LW'"),
        (["--columns", "columns.toml", "--mechanism", "Raked", "--formula", "y ~ 1"], "found --formula beside it"),
        (["--columns", "none.toml", "--mechanism", "Raked"], "the columns file must be readable"),
        (["--columns", "columns.toml", "--mechanism", "Raked", "--scale", "2"], "scale must be left out with Raked"),
    ],
)
def test_what_does_not_go_together_is_refused(words, message, visits, capsys):
    run("inspect", visits, "--suggest", "columns.toml")
    assert run("synthesize", visits, *words, "--epsilon", "1", "--m", "1", "--out", "run") != 0
    assert message in capsys.readouterr().err
    assert not Path("run").exists()


def test_a_model_file_is_not_a_columns_file(visits, capsys):
    run("inspect", visits, "--suggest", "model.toml")
    Path("columns.toml").write_text(Path("model.toml").read_text())
    assert synthesize(visits) != 0
    assert "found a model's [[column]]" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["visits.toml", "my-columns.toml", "models/visits.toml"])
def test_any_name_without_model_in_it_gets_declared_columns(name, visits, capsys):
    Path(name).parent.mkdir(exist_ok=True)
    assert run("inspect", visits, "--suggest", name) == 0
    assert f"--columns {name}" in capsys.readouterr().out
    run("inspect", visits, "--suggest", "columns.toml")
    assert Path(name).read_text() == Path("columns.toml").read_text()


def test_public_columns_belong_to_a_model(visits, capsys):
    assert run("inspect", visits, "--suggest", "visits.toml", "--public", "age") == 2
    assert "--public must go with a model, found declared columns" in capsys.readouterr().err
    assert not Path("visits.toml").exists()
