"""Persons with several rows: what their column is called, how many rows they have, and what stands beside it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.cli.inspection import ONE_ROW
from alphasynth.suggestions.columns import GAPS, ColumnsSuggestion, suggest_columns
from alphasynth.suggestions.identifiers import Identifier, identifier, max_rows, unit_among
from alphasynth.suggestions.model import suggest_model
from alphasynth.suggestions.names import called_group, called_identifier, called_time
from alphasynth.tables.opening import open_table

IDENTIFIERS = """
    nr pid pidp persnr idind nomem_encr individual worker person1 pnum subj sid newid mergeid empno caseid panelist
    xwaveid hidp hhid patient_no Patient userID respondent_nr key customer_key case_no resp_no ID id1 studentid pers_nr
    """.split()  # noqa: SIM905 - a list would take a line for each
ORDINARY = """
    nr_rooms code paid grid width firm_size valid covid android steroid number num no age income persons members workers
    employees zip postcode year nrooms person_weight person_age solid medicaid acid side said identity midterm keyboard
    monkey hours code_2 cases index row rank score individual_income patients study p h n
    """.split()  # noqa: SIM905


def unbalanced(rng, persons=900, most=7):
    """Persons of one to `most` rows, each in a year of its own; in no order."""
    rows = rng.integers(1, most + 1, persons)
    years = np.concatenate([rng.choice(np.arange(1980, 1988), each, replace=False) for each in rows])
    return np.repeat(rng.permutation(12_000)[:persons], rows), years, rows


def suggested(folder: Path, **columns) -> ColumnsSuggestion:
    pd.DataFrame(columns).to_csv(folder / "t.csv", index=False)
    return suggest_columns(open_table(folder / "t.csv"))


@pytest.mark.parametrize("name", [*IDENTIFIERS, "NHS number", "patient no", "social security number"])
def test_names_of_identifiers(name):
    assert called_identifier(name)
    rows = np.random.default_rng(1).geometric(0.02, 60)  # uneven, and more than persons have elsewhere
    assert identifier(name, rows, text=False) == identifier(name, rows, text=True)
    assert identifier(name, rows, text=False).sure


@pytest.mark.parametrize("name", [*ORDINARY, "number of rooms"])
def test_names_of_ordinary_columns(name):
    assert not called_identifier(name)


def test_names_of_groups_and_times():
    assert called_group("hhid")
    assert called_group("schoolId")
    assert not called_group("person_id")
    assert called_time("survey_year")
    assert not called_time("patient")


@pytest.mark.parametrize("case", ["uneven", "thirty rows", "few have two"])
def test_what_is_called_an_identifier_is_the_unit_whatever_its_rows(tmp_path, case):
    rng = np.random.default_rng(2)
    ids, most = {
        "uneven": (unbalanced(rng)[0], 7),
        "thirty rows": (np.repeat(np.arange(100) * 3, 30), 30),
        "few have two": (np.repeat(rng.permutation(90_000)[:1_000], np.r_[np.ones(700, int), np.full(300, 2)]), 2),
    }[case]
    age = rng.integers(18, 80, len(ids))
    for name in ("nr", "pid"):
        found = suggested(tmp_path, **{name: ids, "age": age})
        assert found.unit == (name, most)
        assert found.columns.names == ("age",)
        assert suggest_model(open_table(tmp_path / "t.csv")).unit == (name, most)


def test_one_person_with_very_many_rows_does_not_set_how_many_take_part():
    assert max_rows(np.r_[np.full(99, 2), 500]) == 2
    assert max_rows(np.r_[np.ones(99), 2]) == 1


def test_a_group_is_no_unit_where_rows_are_told_apart():
    group, person = Identifier("", 30, called=True), Identifier("", 3, called=True)
    assert unit_among({"school_id": group}) == ("school_id", 30)
    assert unit_among({"school_id": group}, ["id"]) is None
    assert unit_among({"school_id": group}, ["school_key"]) == ("school_id", 30)
    assert unit_among({"school_id": group, "pid": person}, ["visit_id"]) == ("pid", 3)
    assert unit_among({"city": Identifier("", 4)}) is None


def test_numbers_that_are_of_one_year_each_are_pointed_at(tmp_path):
    rng = np.random.default_rng(3)
    whom, years, _ = unbalanced(rng, 300)
    found = suggested(tmp_path, whom=whom, year=years, wage=rng.lognormal(2, 0.5, len(whom)).round(2))
    assert "whom" in found.columns.names
    ((name, why),) = found.doubts
    assert name == "whom"
    assert "no two of them with one value of 'year'; where one is a person, take it out and add --unit whom" in why
    assert suggest_model(open_table(tmp_path / "t.csv")).doubts == found.doubts


def test_numbers_whose_rows_share_what_persons_are_are_pointed_at(tmp_path):
    rng = np.random.default_rng(4)
    whom, _, rows = unbalanced(rng, 300)
    sex, born = np.repeat(rng.choice(["f", "m"], 300), rows), np.repeat(rng.choice(list("abc"), 300), rows)
    found = suggested(tmp_path, whom=whom, sex=sex, born=born, wage=rng.integers(100, 400, len(whom)))
    assert [name for name, _ in found.doubts] == ["whom"]
    assert "which share one value of 'sex' and of 'born'" in found.doubts[0][1]
    moves = np.where(rng.random(len(whom)) < 0.5, sex, "m")
    assert suggested(tmp_path, whom=whom, sex=moves, born=born).doubts == ()


def test_text_of_persons_with_many_rows_is_left_out(tmp_path):
    names = [f"N. {i}" for i in np.repeat(np.arange(100), 30)]
    found = suggested(tmp_path, whom=names, t=np.tile(np.arange(30), 100), y=np.arange(3_000) % 7)
    assert found.columns.names == ("t", "y")
    assert found.unit == ("whom", 30)
    model = suggest_model(open_table(tmp_path / "t.csv"))
    assert "whom" not in model.model.names
    assert model.unit == ("whom", 30)


@pytest.mark.parametrize("seed", range(3))
def test_ordinary_columns_are_not_suspected(tmp_path, seed):
    """Groups of ages and of places follow from others, and are steps of them or places' own."""
    rng, n = np.random.default_rng(seed), 3_000
    age, place = rng.integers(18, 95, n), rng.integers(10_000, 10_400, n)
    region = np.random.default_rng(5).permutation(400)[place - 10_000] // 40
    found = suggested(
        tmp_path,
        **{"age": age, "age group": age // 10, "retired": np.where(age >= 67, "y", "n"), "born": 2020 - age},
        income=rng.lognormal(10, 0.6, n).round(-2).astype(int),
        zip=place,
        region=region,
        urban=np.where(place % 2, "u", "r"),
        year=rng.integers(2000, 2020, n),
        weeks=rng.integers(0, 53, n),
        sex=rng.choice(["f", "m"], n),
        diagnosis=[f"d{i}" for i in rng.integers(0, 300, n)],
    )
    assert (found.left_out, found.unit, found.doubts) == ((), None, ())


def test_persons_without_a_value_are_pointed_at(tmp_path):
    pid = pd.Series(np.repeat(np.arange(100), 3)).where(np.arange(300) > 4)
    found = suggested(tmp_path, pid=pid.astype("Int64"), y=np.arange(300) % 5)
    assert found.unit == ("pid", 3)
    assert ("pid", GAPS) in found.doubts


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_printed_command_has_a_persons_epsilon(folder, capsys):
    rng = np.random.default_rng(6)
    nr, years, _ = unbalanced(rng)
    pd.DataFrame({"nr": nr, "year": years}).to_csv("panel.csv", index=False)
    assert run_command(["inspect", "panel.csv", "--suggest", "columns.toml"]) == 0
    said = capsys.readouterr().out
    assert ONE_ROW not in said
    assert (
        "Each value of nr counts as one person, of whom at most 7 rows take part: --epsilon 0.571 is of one row" in said
    )
    command = shlex.split(said.splitlines()[-1])
    assert command[command.index("--epsilon") + 1] == "0.571"
    assert run_command([*command[1:], "--no-report"]) == 0
    stated = json.loads(Path("RUN/release/guarantee.json").read_text())
    assert 3.99 < stated["epsilon"] <= 4
    assert stated["max_rows"] == 7


def test_every_suggestion_says_whose_rows_they_are(folder, capsys):
    pd.DataFrame({"visits": [1, 2, 3, 4] * 30}).to_csv("t.csv", index=False)
    for name in ("columns.toml", "model.toml"):
        assert run_command(["inspect", "t.csv", "--suggest", name]) == 0
        said = capsys.readouterr().out.splitlines()
        assert said[-3] == ONE_ROW
        assert "--epsilon 4 " in said[-1]
