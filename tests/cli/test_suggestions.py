"""What a suggestion says: which column comes last, which columns are identifiers, and the command that goes on."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.errors import InputError
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.suggestions.identifiers import identifier
from alphasynth.suggestions.model import suggest_model
from alphasynth.tables.opening import open_table


def run(*arguments) -> int:
    return run_command([str(argument) for argument in arguments])


@pytest.fixture
def panel(tmp_path, monkeypatch) -> Path:
    """Sixty persons, five rows each, with a column of every kind."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(1), 300
    table = pd.DataFrame(
        {
            "person_id": np.repeat(np.arange(1000, 1600, 10), 5),
            "visits": rng.negative_binomial(1, 0.2, n),
            "income": np.round(rng.lognormal(8, 1, n), 2),
            "age": rng.integers(180, 900, n) / 10,
            "town": rng.choice([f"town {i}" for i in range(12)], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    table.to_parquet("panel.parquet")
    return tmp_path


def test_outcomes_come_last_and_the_tables_own_order_counts(panel):
    stored = open_table("panel.parquet")
    assert suggest_model(stored).model.names == ("sex", "town", "age", "visits", "income")
    model = suggest_model(stored, response=["age", "sex"]).model
    assert model.names == ("town", "visits", "income", "age", "sex")
    assert set(model.column("sex").formula.covariates) == {"visits", "income", "age"}, "a town has too many levels"


def test_a_response_depends_on_all_others_however_many(tmp_path):
    rng = np.random.default_rng(1)
    wide = pd.DataFrame({f"x{i}": rng.choice(["a", "b"], 6_000) for i in range(20)} | {"y": rng.normal(0, 1, 6_000)})
    wide.to_parquet(tmp_path / "wide.parquet")
    stored = open_table(tmp_path / "wide.parquet")
    assert len(suggest_model(stored).model.column("y").formula.covariates) == 12
    assert len(suggest_model(stored, response=["y"]).model.column("y").formula.covariates) == 20
    assert suggest_model(stored, response=["x3"]).model.names[-1] == "x3"


def test_a_response_on_the_command_line(panel, capsys):
    assert run("inspect", "panel.parquet", "--suggest", "model.toml") == 0
    assert "Last comes 'income', which may depend on all before it; --response NAME" in capsys.readouterr().out
    assert run("inspect", "panel.parquet", "--suggest", "model-2.toml", "--response", "age,visits") == 0
    assert "Last comes 'visits'" in capsys.readouterr().out
    assert run("inspect", "panel.parquet", "--suggest", "columns.toml", "--response", "visits") == 0
    assert tomllib.loads(Path("columns.toml").read_text())["response"] == ["visits"]
    assert "What matters most: visits" in capsys.readouterr().out
    assert run("inspect", "panel.parquet", "--response", "visits") == 2
    assert "--response must go with --suggest" in capsys.readouterr().err


def test_a_response_that_cannot_be_one(panel, capsys):
    stored = open_table("panel.parquet")
    with pytest.raises(InputError, match="must be columns of the table that are not public, found 'wage'"):
        suggest_model(stored, response=["wage"])
    with pytest.raises(InputError, match="not public, found 'sex'"):
        suggest_model(stored, public=["sex"], response=["sex"])
    with pytest.raises(InputError, match="found 'person_id', which cannot: an identifier"):
        suggest_model(stored, response=["person_id"])
    assert run("inspect", "panel.parquet", "--suggest", "columns.toml", "--response", "person_id") == 2
    assert "response must be declared columns, found 'person_id'" in capsys.readouterr().err
    assert not Path("columns.toml").exists()


@pytest.mark.parametrize("name", ["columns.toml", "model.toml"])
def test_the_command_that_goes_on_runs_as_it_is_printed(panel, capsys, name):
    """With the unit of a panel, and with what the file is read by."""
    pd.read_parquet("panel.parquet").drop(columns=["town", "age"]).to_csv("a panel.csv", sep=";", index=False)
    assert run("inspect", "a panel.csv", "--delimiter", ";", "--suggest", name) == 0
    printed = capsys.readouterr().out
    assert (
        "left out: person_id (an identifier? its values have up to 5 rows each; where one is a person, add" in printed
    )
    command = shlex.split(printed.splitlines()[-1])
    assert command[:5] == ["alphasynth", "synthesize", "a panel.csv", "--delimiter", ";"]
    assert command[-6:] == ["--unit", "person_id", "--max-rows", "5", "--out", "RUN"]
    assert run(*command[1:]) == 0
    assert Path("RUN/release/guarantee.json").exists()


@pytest.mark.parametrize(
    ("name", "counts", "text", "why"),
    [
        ("x", np.ones(30), True, "every value differs"),
        ("x", np.ones(30), False, None),  # salaries of few people
        ("person_id", np.ones(30), False, "every value differs"),
        ("personId", np.ones(30), False, "every value differs"),
        ("paid", np.ones(30), False, None),
        ("x", np.r_[np.ones(95), 2, 200], True, "most of its values stand in one row each"),
        ("x", np.r_[np.ones(50), np.full(50, 4)], True, None),
        ("x", np.full(30, 5), False, "an identifier? its values have up to 5 rows"),
        ("x", np.full(20, 5), False, None),  # so few tell nobody apart
        ("x", np.full(52, 200), False, None),  # weeks
        ("id", np.arange(1, 31) % 9 + 1, False, "an identifier? its values have up to 9 rows"),
        ("x", np.full(30, 5), True, "an identifier? its values have up to 5 rows each; where one is a person, add"),
        ("patient", np.arange(1, 31) % 9 + 1, False, "an identifier? its values have up to 9 rows"),
        ("Respondent_Nr", np.ones(30), False, "every value differs"),
        ("persons", np.arange(1, 31) % 9 + 1, False, None),  # how many they are
        ("age", np.random.default_rng(1).poisson(7, 70) + 1, False, None),
    ],
)
def test_what_seems_to_be_an_identifier(name, counts, text, why):
    found = identifier(name, counts, text)
    assert found is None if why is None else found.why.startswith(why)


def test_declared_columns_leave_identifiers_out(panel):
    suggestion = suggest_columns(open_table("panel.parquet"))
    assert suggestion.columns.names == ("visits", "income", "age", "town", "sex")
    assert suggestion.columns.left_out == ("person_id",)
    assert suggestion.unit == ("person_id", 5)


def test_limits_that_a_few_far_values_stretch_are_pointed_at(tmp_path, monkeypatch, capsys):
    """Two groups at 0 and at a million, and one value of a thousand million: all others lie in one cell."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    near = np.r_[rng.normal(0, 10, 200), rng.normal(1e6, 10, 199)].round(2)
    pd.DataFrame({"v": np.r_[near, 1e9], "near": np.r_[near, 5.0]}).to_csv("groups.csv", index=False)
    assert run("inspect", "groups.csv", "--suggest", "columns.toml") == 0
    said = "look at: v (most values lie in one cell of its limits: are a few far off?"
    assert said in capsys.readouterr().out
    assert said.replace("look at:", "# look at:") in Path("columns.toml").read_text()
    assert [name for name, _ in suggest_columns(open_table("groups.csv")).doubts] == ["v"]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-5.0, 100.0)])
def test_an_end_that_many_records_have_is_a_limit(tmp_path, low, high):
    """A share is 1 at the most, and a top code is one; an end of a single record is not told."""
    rng = np.random.default_rng(2)
    inside = rng.uniform(low + 0.01 * (high - low), high - 0.01 * (high - low), 300).round(3)
    pd.DataFrame({"top": np.r_[inside, [low, high] * 40], "far": np.r_[inside, [low - 0.5, high], inside[:78]]}).to_csv(
        tmp_path / "shares.csv", index=False
    )
    declared = suggest_columns(open_table(tmp_path / "shares.csv")).columns.declared
    assert declared["top"].limits == (low, high)
    below, above = declared["far"].limits
    assert below < low - 0.5
    assert above > high


def test_a_table_of_which_nothing_is_left_is_told_why(tmp_path):
    (tmp_path / "salaries.csv").write_text("salary\n" + '"40,200"\n"46,600"\n' * 20)
    for suggest in (suggest_columns, suggest_model):
        with pytest.raises(InputError, match=r"found none: salary \(numbers with commas\? --decimal-comma or"):
            suggest(open_table(tmp_path / "salaries.csv"))


def test_numbers_that_are_no_counts_are_told_what_suits_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"salary": [40200.5, 46600.0] * 20}).to_csv("salaries.csv", index=False)
    run(
        "synthesize", "salaries.csv", "--formula", "salary ~ 1", "--family", "poisson", "--epsilon", "4", "--out", "run"
    )
    assert "found fractions (alphasynth inspect TABLE --suggest columns.toml declares" in capsys.readouterr().err


def test_a_table_of_a_few_rows_is_pointed_at(tmp_path, monkeypatch, capsys):
    """Levels of one row are that row."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": [3], "b": ["x"]}).to_csv("row.csv", index=False)
    assert run("inspect", "row.csv", "--suggest", "columns.toml") == 0
    assert "look at: b (so few rows: what was read off the table tells of single ones)" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["whom", "patient no"])
def test_text_with_a_few_rows_of_each_value_is_left_out(panel, name):
    """Names of persons, whatever their column is called: nobody publishes them by confirming all."""
    table = pd.read_parquet("panel.parquet").rename(columns={"person_id": name})
    table.assign(**{name: [f"P{each}" for each in table[name]]}).to_csv("persons.csv", index=False)
    suggestion = suggest_columns(open_table("persons.csv"))
    assert name not in suggestion.columns.names
    assert suggestion.unit == (name, 5)
    assert "P1000" not in suggestion.columns.toml()
    assert name not in suggest_model(open_table("persons.csv")).model.names


def test_counts_of_numbers_alone_do_not_leave_a_column_out(panel, capsys):
    pd.read_parquet("panel.parquet").rename(columns={"person_id": "whom"}).to_parquet("whom.parquet")
    suggestion = suggest_columns(open_table("whom.parquet"))
    assert "whom" in suggestion.columns.names
    assert suggestion.unit is None
    assert "whom" in suggest_model(open_table("whom.parquet")).model.names
    assert run("inspect", "whom.parquet", "--suggest", "columns.toml") == 0
    said = "look at: whom (an identifier? its values have up to 5 rows each; where one is a person, take it out and add"
    assert said in capsys.readouterr().out
