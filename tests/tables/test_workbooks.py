"""Workbooks: a sheet by its name, cells as what they are, and one sentence where there is no table."""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from alphasynth.errors import InputError
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.tables import workbooks
from alphasynth.tables.opening import open_table
from command_line import run
from workbook import Error, Formula, write_workbook

DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13, 30)
HEADER = ["whole", "half", "yes", "day", "moment", "text", "mixed", "for", 2019, "span"]
ROWS = [
    [1, 0.5, True, DAY, DAY, "a", 1, 3, 1, dt.timedelta(hours=30)],
    [2, 1, False, DAY, MOMENT, "NA", "x", Formula("A2+1", 4.0), "NA", None],
    [],
    [None, "n/a", None, None, None, None, 2.5, Formula("A3+1", None), Error("#DIV/0!"), None],
]
# One of the words for a missing value.
ROWS[3][1] = "N/A"


@pytest.fixture
def folder(alone):
    write_workbook("t.xlsx", {"people": [[], HEADER, *ROWS]}, hidden_rows=[4])
    return Path()


def cells(address, **options):
    table = open_table(address, **options)
    return table.source.data


def test_cells_come_as_what_they_are(folder):
    found = cells("t.xlsx")
    assert found.num_rows == 3
    kinds = dict(zip(found.column_names, found.schema.types, strict=True))
    assert kinds == {
        "whole": pa.int64(),
        "half": pa.float64(),
        "yes": pa.bool_(),
        "day": pa.date32(),
        "moment": pa.timestamp("us"),
        "text": pa.string(),
        "mixed": pa.string(),
        "for": pa.int64(),
        "2019": pa.int64(),
        "span": pa.string(),
    }
    assert found.column("whole").to_pylist() == [1, 2, None]
    assert found.column("half").to_pylist() == [0.5, 1.0, None]
    assert found.column("day").to_pylist() == [DAY, DAY, None]
    assert found.column("moment").to_pylist() == [dt.datetime(2024, 2, 29), MOMENT, None]
    assert found.column("text").to_pylist() == ["a", "NA", None]
    assert found.column("mixed").to_pylist() == ["1", "x", "2.5"]


def test_hidden_rows_and_saved_values_are_read_and_errors_are_gaps(folder):
    found = cells("t.xlsx")
    assert found.column("for").to_pylist() == [3, 4, None]
    assert found.column("2019").to_pylist() == [1, None, None]


def test_chunks_make_no_difference(folder, monkeypatch):
    whole = cells("t.xlsx")
    monkeypatch.setattr(workbooks, "ROWS_AT_A_TIME", 1)
    assert cells("t.xlsx").equals(whole)


def test_a_sheet_goes_by_its_name(alone):
    sheets = {"one": [["x"], [1]], "two & <b>": [["y"], [2]], "leer ü": [[]]}
    write_workbook("t.xlsx", sheets)
    assert open_table("t.xlsx::two & <b>").column_names == ("y",)
    assert open_table(Path("t.xlsx::one")).column_names == ("x",)
    for address, found in (("t.xlsx", "3 sheets"), ("t.xlsx::three", "no sheet 'three'"), ("t.xlsx::", "no sheet ''")):
        with pytest.raises(InputError, match=r"must be addressed as t\.xlsx::SHEET") as refused:
            open_table(address)
        assert found in str(refused.value)
        assert "there are 'one', 'two & <b>', 'leer ü'" in str(refused.value)


TITLE = [["Salaries of 2024"], ["name", "salary"], ["a", 1]]
BROKEN = {
    "empty": ({"s": []}, "must have a line of column names, found an empty sheet"),
    "title": ({"s": TITLE}, "must name every column, found 1 of 2 without a name"),
    "merged": ({"s": [["a", None, "c"], [1, 2, 3]]}, "found 1 of 3 without a name"),
    "none": ({}, "must be addressed as t.xlsx::SHEET, found 0 sheets; there are none"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_sheet_without_a_table_gets_one_sentence(name, alone):
    sheets, sentence = BROKEN[name]
    write_workbook("t.xlsx", sheets)
    with pytest.raises(InputError, match=sentence) as refused:
        open_table("t.xlsx")
    assert "\n" not in str(refused.value)
    assert "Salaries" not in str(refused.value)


def test_what_is_no_workbook_gets_one_sentence(alone):
    Path("t.xlsx").write_text("x")
    with zipfile.ZipFile("z.xlsx", "w") as file:
        file.writestr("a", "b")
    for name in ("t.xlsx", "z.xlsx"):
        with pytest.raises(InputError, match=f"{name} must be a workbook, found what cannot be read as one"):
            open_table(name)
    with pytest.raises(InputError, match=r"found none at 'gone\.xlsx'"):
        open_table("gone.xlsx::a")


def test_a_password_is_named(alone, monkeypatch):
    """By the reader, which knows the files that spreadsheet programs encrypt."""
    import python_calamine

    class Closed:
        @staticmethod
        def from_path(path):
            raise python_calamine.PasswordError

    Path("t.xlsx").write_text("x")
    monkeypatch.setattr(python_calamine, "CalamineWorkbook", Closed)
    with pytest.raises(InputError, match=r"t\.xlsx must have no password, found one that has"):
        open_table("t.xlsx")


def test_a_name_that_stands_twice_is_refused_where_it_is_used(alone):
    write_workbook("t.xlsx", {"s": [["x", "x", "y"], [1, 2, 3]]})
    table = open_table("t.xlsx")
    assert table.column_names == ("x", "x", "y")
    assert [name for name, _ in suggest_columns(table).left_out] == ["x"]


def test_names_are_not_listed(folder):
    """The first line of a sheet without names is a record."""
    assert not open_table("t.xlsx").names_are_public


@pytest.fixture
def visits(alone):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"visits": rng.poisson(5, 120), "sex": rng.choice(["f", "m"], 120)})
    rows = [list(table.columns), *table.astype(object).to_numpy().tolist()]
    write_workbook("t.xlsx", {"people": rows})
    write_workbook("two.xlsx", {"people": rows, "notes": [["a"], [1]]})
    return table


RUN = ["--formula", "visits ~ 1", "--family", "poisson", "--epsilon", "1", "--no-report", "--quiet"]


def test_a_run_writes_text_and_sheets_are_one_table_to_the_ledger(visits, capsys):
    for number, address in enumerate(["t.xlsx", "t.xlsx::people"]):
        assert run("synthesize", address, *RUN, "--out", f"run-{number}") == 0
        assert list(Path(f"run-{number}/release").glob("synthetic_01.csv"))
    capsys.readouterr()
    assert run("ledger", "--json") == 0
    (data_set,) = json.loads(capsys.readouterr().out)["datasets"]
    assert data_set["released"] == 2.0
    assert run("synthesize", "--config", "run-1/confidential/run.toml", "--quiet") == 0
    assert Path("run-1-2/release/synthetic_01.csv").exists()


def test_the_same_records_as_of_the_frame(visits):
    frame = visits.value_counts().sort_index()
    grouped = open_table("two.xlsx::people").group(["visits", "sex"], ())
    found = grouped.columns.to_pandas().assign(n=grouped.counts).set_index(["visits", "sex"])["n"].sort_index()
    assert found.to_dict() == frame.to_dict()


def test_commands_take_a_sheet(visits, capsys):
    assert run("inspect", "two.xlsx::people") == 0
    assert "120 rows" in capsys.readouterr().out
    assert run("inspect", "two.xlsx") == 2
    assert "there are 'people', 'notes'" in capsys.readouterr().err


@pytest.mark.parametrize(("sheet", "found"), [("empty", "found an empty sheet"), ("names", "names, found none")])
def test_a_sheet_without_values_names_the_others(tmp_path, sheet, found):
    book = tmp_path / "t.xlsx"
    write_workbook(book, {"empty": [], "names": [["a", "b"]], "people": [["a"], [1]]})
    others = {"empty": "; there are 'names', 'people'", "names": "; there are 'empty', 'people'"}[sheet]
    with pytest.raises(InputError, match=f"{found}{others}$"):
        open_table(f"{book}::{sheet}")
    write_workbook(book, {"names": [["a", "b"]]})
    with pytest.raises(InputError, match=r"found none$"):
        open_table(book)
