"""The obvious way: a mechanism where none is named, three questions, help that can be read."""

from __future__ import annotations

import io
import json
import re
import shlex
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

from alphasynth.cli.app import app
from alphasynth.cli.choose import PERSONS, Promise, What, Who, advise
from alphasynth.cli.short_help import SHOWN
from alphasynth.runs.interruption import INTERRUPTED
from alphasynth.synthesis.choice import chosen
from command_line import run, visits

POISSON = ["--formula", "visits ~ 1", "--family", "poisson"]
LISTED = re.compile(r"^│ (?:\*  | {0,3})--([\w-]+)", re.MULTILINE)


def guarantee(folder="run"):
    return json.loads(Path(f"{folder}/release/guarantee.json").read_text())


def test_one_column_is_drawn_exactly(table, capsys):
    assert run("synthesize", table, *POISSON, "--epsilon", "4", "--no-report", "--out", "run") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Mechanism: Censored, since there is one column without covariates: its draws are exact" in shown
    stated = guarantee()
    assert (stated["mechanism"], stated["scope"], stated["m"], stated["epsilon"]) == ("Censored", "strict", 1, 4)
    assert len(list(Path("run/release").glob("synthetic*"))) == 1


def test_a_column_with_covariates_has_noisy_scores(table, capsys):
    options = ["--formula", "visits ~ age", "--family", "poisson", "--public", "age"]
    assert run("synthesize", table, *options, "--epsilon", "4", "--no-report", "--out", "run") == 0
    assert "Mechanism: Scored, since the column has covariates" in " ".join(capsys.readouterr().out.split())
    assert (guarantee()["mechanism"], guarantee()["scope"]) == ("Scored", "strict")


def test_declared_columns_are_raked(alone, capsys):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.integers(18, 80, 300)})
    people.to_csv("people.csv", index=False)
    Path("columns.toml").write_text(
        '[column.sex]\nlevels = ["f", "m"]\n[column.age]\nlimits = [18, 80]\nwhole = true\n'
    )
    assert run("synthesize", "people.csv", "--columns", "columns.toml", "--epsilon", "4", "--out", "run") == 0
    assert "Mechanism: Raked, since columns of a whole table are declared" in " ".join(capsys.readouterr().out.split())
    assert guarantee()["mechanism"] == "Raked"


@pytest.mark.parametrize(
    ("given", "mechanism"),
    [
        ({"formula": "y ~ 1", "family": "categorical", "levels": ["y=a|b|c|d"]}, "Censored"),
        ({"formula": "y ~ 1", "family": "categorical", "levels": ["y=a|b|c|d|e"]}, "Scored"),
        ({"formula": ["y ~ 1"], "family": ["ordinal"]}, "Scored"),
        ({"formula": ("a ~ 1", "b ~ a"), "family": "poisson"}, "Scored"),
        ({"model": "model.toml"}, "Scored"),
        ({"formula": "`a ~ b` ~ 1", "family": "poisson"}, "Scored"),  # strict, whatever the name
    ],
)
def test_public_facts_alone_decide(given, mechanism):
    assert chosen(given).mechanism == mechanism


def test_a_name_counts_first_and_is_not_explained(table, capsys):
    options = [*POISSON, "--mechanism", "SW", "--alpha", "0.5", "--draws", "200", "--no-report", "--out", "run"]
    assert run("synthesize", table, *options) == 0
    assert "Mechanism:" not in capsys.readouterr().out
    assert run("synthesize", "--config", "run/confidential/run.toml", "--out", "again") == 0
    assert "Mechanism:" not in capsys.readouterr().out
    assert guarantee("again")["mechanism"] == "SW"


def test_without_epsilon_or_mechanism_there_is_nothing_to_promise(table, capsys):
    assert run("synthesize", table, *POISSON, "--out", "run") == 2
    assert "a run needs --epsilon, the policy's budget" in capsys.readouterr().err
    assert run("synthesize", table, "--epsilon", "4", "--out", "run") == 2
    assert "inspect TABLE --suggest columns.toml writes a start" in capsys.readouterr().err
    assert not Path("run").exists()


def test_help_shows_what_people_need_in_groups(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert run("synthesize", "--help") == 0
    short = capsys.readouterr().out
    assert len(LISTED.findall(short)) == 1 + len(SHOWN["synthesize"]) <= 11, "ten, and --help"
    assert all(f"─ {group} ─" in short for group in set(SHOWN["synthesize"].values()))
    assert "--help-all" in short
    assert run("synthesize", "--help-all") == 0
    whole = capsys.readouterr().out
    assert "--tables-per-draw" in whole
    assert "--tables-per-draw" not in short
    assert run("synthesize", "--help") == 0
    assert capsys.readouterr().out == short


def test_help_shows_all_that_printed_commands_use(tmp_path, capsys, monkeypatch):
    """Those of the README, and those that `inspect` prints, whatever it was told."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    visits = {"id": np.arange(90) // 3, "sex": ["f", "m"] * 45, "age": ["3,5", "4,5", "6"] * 30}
    pd.DataFrame(visits).to_csv("t.csv", sep=";", index=False)
    used = (Path(__file__).parents[2] / "README.md").read_text().replace("`", "\n")
    used = "\n".join(line for line in used.splitlines() if line.startswith(("alphasynth synthesize", "--")))
    for name, more in {"columns.toml": ["--response", "age"], "model.toml": ["--public", "sex"]}.items():
        told = ["--delimiter", ";", "--encoding", "utf-8", "--decimal-comma", "--thousands", ".", "--header"]
        assert run("inspect", "t.csv", "--suggest", name, *told, *more) == 0
        used += "\n" + capsys.readouterr().out.splitlines()[-1]
    assert "--max-rows" in used
    assert run("synthesize", "--help") == 0
    assert set(re.findall(r"--[a-z][a-z-]+", used)) <= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))


def test_help_leaves_the_command_as_it_was():
    command = typer.main.get_command(app).commands["synthesize"]
    before = [dict(vars(parameter)) for parameter in command.params]
    with command._shortened():
        assert [dict(vars(parameter)) for parameter in command.params] != before
    assert [dict(vars(parameter)) for parameter in command.params] == before


@pytest.mark.parametrize("command", SHOWN)
def test_what_help_shows_are_options(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert run(command, "--help") == 0
    shown = set(LISTED.findall(capsys.readouterr().out)) - {"help"}
    assert shown == {name.replace("_", "-") for name in SHOWN[command]}


@pytest.mark.slow
@pytest.mark.parametrize(("who", "what", "promise"), list(product(Who, What, Promise)))
def test_every_advice_is_a_command_that_runs(alone, who, what, promise):
    """As it is printed, but for a family in place of FAMILY; an estimate is never advised for publication."""
    rng = np.random.default_rng(1)
    age, sex = rng.integers(18, 80, 200), rng.choice(["f", "m"], 200)
    made = pd.DataFrame({"AGE": age, "SEX": sex, "COLUMN": rng.negative_binomial(3, 0.2, 200)})
    made.to_csv("my table.csv", index=False)
    advice = advise(who, what, promise, "my table.csv")
    for command in advice.commands:
        words = shlex.split(command.replace("FAMILY", "negative_binomial"))
        assert words[0] == "alphasynth"
        assert run(*words[1:]) == 0, command
    strict = guarantee()["scope"] == "strict"
    assert strict or promise is Promise.THIS
    assert guarantee()["m"] == (5 if what is What.TABLE else 1)
    warned = any("Do not publish" in sentence for sentence in advice.words)
    assert warned == (who is Who.ANYONE and not strict)


@pytest.mark.parametrize(("who", "what", "promise"), list(product(Who, What, Promise)))
def test_every_advice_says_whose_rows_they_are_and_what_stands_for_yours(who, what, promise):
    advice = advise(who, what, promise, "t.csv")
    assert PERSONS in advice.words
    named = set(re.findall("[A-Z]{3,}", " ".join(advice.commands)))
    assert all(any(name in words for words in advice.words) for name in named)
    assert ("FAMILY" in named) == (what is not What.TABLE)
    assert any("--confirm-public all" in command for command in advice.commands) == (what is What.TABLE)


def test_the_end_of_the_input_is_an_interruption(alone, capsys, monkeypatch):
    monkeypatch.setattr("alphasynth.cli.choose.can_ask", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run("choose") == INTERRUPTED
    assert capsys.readouterr().err.strip() == "alphasynth: interrupted; nothing was written"


def test_an_answer_that_there_is_not(alone, capsys):
    assert run("choose", "--who", "me") == 2
    assert capsys.readouterr().err == "alphasynth: --who must be one of anyone, partners, inside, found 'me'\n"


def test_the_example_of_help_runs(alone, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    visits(200).drop(columns="name").to_parquet("visits.parquet")
    assert run("inspect", "visits.parquet", "--suggest", "columns.toml") == 0
    assert run("synthesize", "--help") == 0
    shown = capsys.readouterr().out
    command = re.search("Example: alphasynth (synthesize .* --out run)", shown)
    assert run(*shlex.split(command[1])) == 0


def test_three_questions(alone, capsys, monkeypatch):
    answers = iter(["7", "1", "table", "every-table"])
    monkeypatch.setattr("alphasynth.cli.choose.can_ask", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda question: next(answers))
    assert run("choose", "visits.csv") == 0
    shown = capsys.readouterr().out
    assert "A number from 1 to 3" in shown
    assert "alphasynth inspect visits.csv --suggest columns.toml" in shown


def test_where_nobody_can_be_asked_options_answer(alone, capsys, monkeypatch):
    monkeypatch.setattr("alphasynth.cli.choose.can_ask", lambda: False)
    assert run("choose") == 2
    assert "--who must be one of anyone, partners, inside" in capsys.readouterr().err
