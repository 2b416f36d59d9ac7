"""Everything that is wrong is said at once: one sentence each, in a stable order; a single one as it always was."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import alphasynth as syn
from alphasynth.cli.entry import run_command
from alphasynth.errors import ColumnTypeError, Gathering, InputError, InputErrors, gathering
from alphasynth.models.table_model import TableModel
from alphasynth.raking.columns import Columns
from alphasynth.raking.exact import Passes
from alphasynth.tables.opening import open_table
from alphasynth.tables.spark import _pieces, _together

MODEL = """
colour = "blue"

[[column]]
formula = "sex ~ 1"
family = "bernouli"

[[column]]
formula = "age ~ sex +"
family = "normal"

[[column]]
formula = "visits ~ age"
family = "poisson"
budget = -2

[[column]]
formula = "income ~ 1"
family = "normal"

[declared_public.income]
limits = [9, 1]
"""
SAID_OF_MODEL = [
    "a model file must hold [[column]] and [declared_public], found 'colour'",
    "family of 'sex' must be one of",
    "formula 'age ~ sex +' cannot be read",
    "budget of 'visits' must be positive and finite, found -2",
    "limits of 'income' must be two numbers, low < high",
]
COLUMNS = """
constraints = ["age > 3", "height < 2"]
response = ["weight"]

[column.sex]
levels = ["f", "f"]

[column.age]
limits = [0, 110]
whole = "yes"

[column.income]
missing = "drop"
limits = [0, 9]

[column.visits]
"""
SAID_OF_COLUMNS = [
    "levels of 'sex' must differ, found one twice",
    "whole of 'age' must be true or false, found 'yes'",
    "missing of 'income' must be \"model\" in a whole table",
    "column 'visits' must have levels or limits declared, found neither",
    "constraint 'height < 2' must name declared columns, found 'height'",
    "response of the columns file must be declared columns, found 'weight'",
]


def sentences(refused) -> list[str]:
    """What a call is refused with."""
    with pytest.raises(InputError) as caught:
        refused()
    return list(caught.value.sentences)


def begins(said: list[str], expected: list[str]) -> bool:
    return len(said) == len(expected) and all(a.startswith(b) for a, b in zip(said, expected, strict=True))


def people(n=300) -> pd.DataFrame:
    """A table that breaks its declarations in three columns: an unknown level, values beyond limits, gaps."""
    rng = np.random.default_rng(1)
    sex, age = rng.choice(["f", "m", "unheard-of"], n), rng.integers(18, 200, n)
    income = np.where(rng.random(n) < 0.1, np.nan, 731.5)
    return pd.DataFrame({"sex": sex, "age": age, "income": income, "visits": rng.poisson(3, n)})


DECLARED = {
    "sex": {"levels": ["f", "m"]},
    "age": {"limits": [0, 110], "whole": True},
    "income": {"limits": [0, 1000]},
    "visits": {"limits": [0, 50], "whole": True},
}
BROKEN = [
    "column 'sex' must hold its declared levels and no others, found others",
    "column 'age' must lie within its declared limits, found values beyond",
    "column 'income' must have no gaps, or missing = 'model' declared, found gaps",
]


def raked():
    return syn.Synthesizer(DECLARED, mechanism="Raked", epsilon=4, delta=1e-9, m=1)


def chain():
    formulas, families = ["sex ~ 1", "age ~ sex", "income ~ sex + age", "visits ~ sex"], ["normal", "normal", "poisson"]
    declared = {name: facts for name, facts in DECLARED.items() if name != "visits"}
    options = {"declared": declared, "mechanism": "Scored", "epsilon": 4, "m": 1}
    return syn.Synthesizer(formulas, family=["bernoulli", *families], **options)


def test_a_model_file():
    assert begins(sentences(lambda: TableModel.parse(tomllib.loads(MODEL))), SAID_OF_MODEL)


def test_a_columns_file():
    assert begins(sentences(lambda: Columns.parse(tomllib.loads(COLUMNS))), SAID_OF_COLUMNS)


def test_what_stands_on_something_wrong_is_not_said():
    """A declaration of a column whose formula cannot be read; a constraint on one whose facts cannot."""
    model = (
        '[[column]]\nformula = "`odd name` ~ age +"\nfamily = "normal"\n[declared_public."odd name"]\nlimits = [0, 1]'
    )
    assert begins(sentences(lambda: TableModel.parse(tomllib.loads(model))), ["formula '`odd name` ~ age +' cannot"])
    columns = 'constraints = ["`my age` > 3"]\n[column."my age"]\nlimits = [3, 1]\n[column.b]\nlimits = [0, 1]'
    assert begins(sentences(lambda: Columns.parse(tomllib.loads(columns))), ["limits of 'my age' must be two numbers"])


def test_what_nobody_confirmed_and_what_is_not_in_the_table_is_said_with_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people().drop(columns="visits").to_parquet("people.parquet")
    marked = '\n[[column]]\nformula = "edu ~ 1"\nfamily = "categorical"\nread_off_the_table = ["family"]\n'
    (tmp_path / "model.toml").write_text(MODEL.replace("\n[declared_public", f"{marked}\n[declared_public", 1))
    run = ["synthesize", "people.parquet", "--model", "model.toml", "--mechanism", "Scored", "--epsilon", "4"]
    assert run_command([*run, "--m", "1", "--out", "run"]) == 2
    first, *said = capsys.readouterr().err.splitlines()
    assert first == "alphasynth: 9 things are wrong:"
    more = [
        "a strict mechanism must rest on",
        "a strict mechanism must not learn the levels of 'edu'",
        "column 'edu' (n",
        "column 'visits' (n",
    ]
    assert begins(said, [f"- {sentence}" for sentence in (*SAID_OF_MODEL, *more)])
    assert not (tmp_path / "run").exists()


def test_a_columns_file_beside_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people().to_parquet("people.parquet")
    fine = '[column.edu]\nlevels = ["a"]\nread_off_the_table = ["levels"]\n'
    (tmp_path / "columns.toml").write_text(f"{COLUMNS}\n{fine}")
    run = ["synthesize", "people.parquet", "--columns", "columns.toml", "--mechanism", "Raked", "--epsilon", "4"]
    assert run_command([*run, "--m", "1", "--out", "run"]) == 2
    said = [line.replace("--", "") for line in capsys.readouterr().err.splitlines()[1:]]  # options by their names
    more = ["a strict mechanism must rest on", "column 'edu' (declared) is not in the table"]
    assert begins(said, [f"- {sentence}" for sentence in (*SAID_OF_COLUMNS, *more)])


OF_SETTINGS = ["--m must be a whole number", "--rows must be a whole number", "--epsilon must be positive and finite"]


def refused_run(capsys, table, *options) -> list[str]:
    """What a run with three settings that suit nothing is refused with, sorted."""
    wrong = ["--epsilon", "-4", "--m", "0", "--rows", "0", "--out", "run"]
    assert run_command(["synthesize", table, *options, *wrong]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("- ")]
    return sorted(line.removeprefix("- ") for line in lines)


def all_begin(said: list[str], expected: list[str]) -> bool:
    return begins(said, sorted(expected))


def test_settings_beside_what_is_wrong_with_a_model(tmp_path, monkeypatch, capsys):
    """A budget, a family, unknown columns of those too; and a model that needs more to be declared."""
    monkeypatch.chdir(tmp_path)
    people().to_parquet("people.parquet")
    broken = '[[column]]\nformula = "age ~ nobody"\nfamily = "normal"\nbudget = -1\n'
    broken += '[[column]]\nformula = "visits ~ noone"\nfamily = "poison"\n'
    Path("broken.toml").write_text(broken)
    of_model = ["budget of 'age' must be positive", "family of 'visits' must be one of"]
    unknown = [f"column '{name}' (named in the formula" for name in ("nobody", "noone")]
    said = refused_run(capsys, "people.parquet", "--model", "broken.toml", "--mechanism", "Scored")
    assert all_begin(said, [*of_model, *OF_SETTINGS, *unknown])
    less = '[[column]]\nformula = "age ~ 1"\nfamily = "gamma"\n[[column]]\nformula = "sex ~ 1"\nfamily = "bernoulli"\n'
    Path("less.toml").write_text(less)
    of_facts = [
        "column 'age' must have limits declared public",
        "a strict mechanism must not learn the levels of 'sex'",
    ]
    said = refused_run(capsys, "people.parquet", "--model", "less.toml", "--mechanism", "Scored")
    assert all_begin(said, [*of_facts, *OF_SETTINGS])


def test_settings_and_values_beside_what_is_wrong_with_a_columns_file(tmp_path, monkeypatch, capsys):
    """Values of columns whose declarations are sound are looked at; the table's names of all."""
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    columns = 'constraints = ["age >= nobody", "age <", "visits > 100"]\n[column.sex]\nlevels = ["f", "f"]\n'
    columns += "[column.age]\nlimits = [9, 1]\n[column.income]\nlimits = [0, 1000]\n[column.visits]\nlimits = [0, 50]\n"
    Path("columns.toml").write_text(columns)
    of_columns = ["levels of 'sex' must differ", "limits of 'age' must be two numbers", "constraint 'age <' must read"]
    of_columns += ["constraint 'age >= nobody' must name declared columns, found 'nobody'"]
    of_table = ["column 'income' must have no gaps"]
    said = refused_run(capsys, "people.csv", "--columns", "columns.toml")
    assert all_begin(said, [*of_columns, *OF_SETTINGS, *of_table])
    sound = '[column.sex]\nlevels = ["f", "m"]\n[column.visits]\nlimits = [0, 50]\n'
    Path("sound.toml").write_text(f'constraints = ["visits > 40"]\n{sound}')
    of_table = [BROKEN[0], "constraints must hold in every row of the table"]
    assert all_begin(refused_run(capsys, "people.csv", "--columns", "sound.toml"), [*OF_SETTINGS, *of_table])


def test_settings_beside_files_that_are_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for option in (["--columns", "c.toml"], ["--model", "m.toml", "--mechanism", "Scored"]):
        said = refused_run(capsys, "none.csv", *option)
        kind = option[0].strip("-")
        missing = [f"the {kind} file must be readable", "table must be a file or URL::table, found none"]
        assert all_begin(said, [*OF_SETTINGS, *missing])


@pytest.mark.parametrize("kind", ["frame", "parquet", "csv"])
def test_a_table_that_breaks_what_is_declared(tmp_path, kind):
    table = people()
    if kind != "frame":
        path = tmp_path / f"people.{kind}"
        table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
    said = sentences(lambda: raked().fit(table if kind == "frame" else open_table(path)))
    assert said == BROKEN
    strict = "column 'income' has gaps, and a strict mechanism must be told so beforehand: declare missing = \"model\""
    said = sentences(lambda: chain().fit(table if kind == "frame" else open_table(path)))
    assert begins(said, [strict, *BROKEN[:2]])
    assert "unheard-of" not in str(said)
    assert "731" not in str(said)


def test_columns_beside_one_of_another_kind_are_checked(tmp_path):
    people().assign(visits="many").to_csv(tmp_path / "people.csv", index=False)
    said = sentences(lambda: raked().fit(open_table(tmp_path / "people.csv")))
    assert said == ["column 'visits' must hold whole numbers, as declared, found others", *BROKEN]


def test_all_rows_are_looked_at_whatever_their_order():
    table, columns = people(), raked().columns
    for rows in (table.sort_values("sex"), table.sort_values("age"), table[::-1]):
        batches = [batch for start in range(0, 300, 20) for batch in _batches(rows[start : start + 20])]
        assert sentences(lambda b=batches: Passes.begin(columns, lambda adding: adding(b))) == BROKEN


def _batches(rows: pd.DataFrame):
    return pa.Table.from_pandas(rows, preserve_index=False).to_batches()


def test_a_column_is_not_blamed_for_one_that_it_reads():
    """A level that is unknown makes terms that have no value: only the column itself is at fault."""
    table = people().assign(age=30, income=5.0, visits=-1)
    assert begins(sentences(lambda: chain().fit(table)), [BROKEN[0], "column 'visits' must hold counts of at least 0"])


def test_options_of_a_synthesizer():
    def asked(**options):
        return syn.Synthesizer("y ~ 1", **{"family": "poisson", "mechanism": "LW", "m": 1, **options})

    said = ["family must be an OwnModel", "mechanism must be one of", "m must be a whole", "seed must be a whole"]
    assert begins(sentences(lambda: asked(family="gumbel", mechanism="XW", m=0, seed=-1)), said)
    said = ["delta must have a strict mechanism", "limits and step are of a strict", "column 'y' is to be synthesized"]
    assert begins(sentences(lambda: asked(delta=1e-9, limits={"mean": (1, 2)}, public=["y"])), said)
    columns = {"a": {"limits": [0, 1]}}
    said = ["radius must be left out with Raked", "mechanism 'Raked' needs an epsilon", "rows must be a whole"]
    assert begins(sentences(lambda: syn.Synthesizer(columns, mechanism="Raked", m=1, rows=0, radius=1)), said)


def test_declarations_that_are_missing_are_said_before_a_table_is_read():
    model = TableModel.of([syn.ColumnModel.of("a ~ 1", "categorical"), syn.ColumnModel.of("b ~ 1", "log_normal")])
    said = ["a strict mechanism must not learn the levels of 'a'", "column 'b' must have limits declared public"]
    assert begins(sentences(lambda: syn.Synthesizer(model, mechanism="Scored", epsilon=1, m=1)), said)


def test_parts_on_executors_are_refused_together():
    pieces = [_pieces([-1], [b""], ["b is wrong\nc is wrong"]), _pieces([-1], [b""], ["a is wrong\nb is wrong"])]
    (refused,) = _together(pa.Table.from_batches(pieces)).column("refused").to_pylist()
    assert set(refused.split("\n")) == {"a is wrong", "b is wrong", "c is wrong"}


def test_a_gathering_says_each_thing_once_and_keeps_a_single_error_as_it_was():
    alone, problems = ColumnTypeError("only one"), Gathering()
    problems.add(alone)
    problems.say("only one")
    with pytest.raises(ColumnTypeError) as caught:
        problems.refuse()
    assert caught.value is alone
    problems = Gathering()
    for sentence in ("b", "a", "b"):
        problems.say(sentence)
    with pytest.raises(InputErrors, match="2 things are wrong:\n- b\n- a") as several:
        problems.refuse()
    assert pickle.loads(pickle.dumps(several.value)).sentences == ("b", "a")


def test_a_fault_of_ours_is_not_gathered():
    def faulty():
        with gathering() as problems, problems:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        faulty()


def said_by(capsys, *options) -> list[str]:
    """What a run is refused with."""
    assert run_command(["synthesize", "t.csv", "--out", "run", *options]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    return [line.removeprefix("- ") for line in lines[1:]] or [lines[0].removeprefix("alphasynth: ")]


@pytest.mark.parametrize("what", [["--columns", "columns.toml"], ["--formula", "visits ~ 1", "--family", "poisson"]])
def test_numbers_beside_a_mechanism_that_there_is_not(tmp_path, monkeypatch, capsys, what):
    monkeypatch.chdir(tmp_path)
    wrong = ["--mechanism", "Rakedd", "--format", "pdf", "--epsilon", "-4", "--delta", "2", "--m", "0"]
    expected = ["--mechanism must be one of", "--format must be one of", "--m must be", "--epsilon must be"]
    assert begins(said_by(capsys, *what, *wrong), [*expected, "--delta must be"])


def test_keys_of_files_go_by_their_names_and_not_by_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"sex": ["f", "m"] * 40}).to_csv("t.csv", index=False)
    columns = '[column.sex]\nlevels = ["f", "m"]\n'
    Path("columns.toml").write_text(f'response = ["wage"]\ninteractions = ["sex:age"]\n{columns}')
    asked = ["--columns", "columns.toml", "--epsilon", "4"]
    assert said_by(capsys, *asked) == [
        "response of the columns file must be declared columns, found 'wage'",
        "interactions of the columns file must be two declared columns with a colon, age:sex, found 'sex:age'",
    ]
    Path("columns.toml").write_text(columns)
    assert said_by(capsys, *asked, "--response", "wage") == ["--response must be declared columns, found 'wage'"]


def test_what_is_declared_within_a_column_of_a_model_is_shown_its_place():
    content = {"column": [{"formula": "age ~ 1", "family": "normal", "limits": [0, 110], "fancy": 1}]}
    said = sentences(lambda: TableModel.parse(content))
    assert "found 'limits' for 'age ~ 1' (what is declared of it stands under [declared_public.age])" in said[1]
    assert said[0].endswith("found 'fancy' for 'age ~ 1'")
