"""Suggestions as files: whole or not there, and TOML whatever columns are called and hold."""

from __future__ import annotations

import resource
import tomllib

import numpy as np
import pandas as pd
import pytest

from alphasynth.errors import InputError
from alphasynth.models.table_model import TableModel
from alphasynth.raking.columns import Columns
from alphasynth.suggestions.columns import suggest_columns, write_columns
from alphasynth.suggestions.identifiers import identifier
from alphasynth.suggestions.model import suggest_model, write_suggestion
from alphasynth.tables.opening import open_table

WRITES = {
    "columns.toml": lambda table, path: write_columns(suggest_columns(table), path),
    "model.toml": lambda table, path: write_suggestion(suggest_model(table), path),
}


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("odd", ["a\nb", "a\n[column.x]\nlevels = ['y']", "\r", "\x00", "\x1b[31m", "a\u2028b"])
def test_what_is_left_out_stays_on_its_line(name, odd, rows, tmp_path):
    """A column's name must not become lines of the file, which somebody signs as public; a unit's is there twice."""
    people = pd.DataFrame({"visits": [1, 2, 3, 4] * 30, odd: [f"p{i // rows}" for i in range(120)]})
    people.to_parquet(tmp_path / "t.parquet")
    WRITES[name](open_table(tmp_path / "t.parquet"), tmp_path / name)
    content = (tmp_path / name).read_text()
    assert tomllib.loads(content).keys() <= {"column", "read_off_the_table", "declared_public"}
    assert len([line for line in content.split("\n") if line.startswith("# left out: ")]) == 1
    read = Columns.read if name == "columns.toml" else TableModel.read
    assert read(tmp_path / name) is not None


@pytest.mark.parametrize("name", WRITES)
def test_a_suggestion_is_whole_or_not_there(name, tmp_path):
    pd.DataFrame({"visits": [1, 2, 3, 4] * 10}).to_csv(tmp_path / "t.csv", index=False)
    table, before = open_table(tmp_path / "t.csv"), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # as on a disk that is full
    try:
        with pytest.raises(InputError, match="must go to a file that can be written, found File too large"):
            WRITES[name](table, tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    WRITES[name](table, tmp_path / name)
    assert (tmp_path / name).stat().st_size > 100


def test_a_file_that_is_there_already_stays(tmp_path):
    pd.DataFrame({"visits": [1, 2, 3, 4] * 10}).to_csv(tmp_path / "t.csv", index=False)
    mine = tmp_path / "columns.toml"
    mine.write_text("mine")
    with pytest.raises(InputError, match="must go to a new file"):
        WRITES["columns.toml"](open_table(tmp_path / "t.csv"), mine)
    assert mine.read_text() == "mine"


def test_numbers_that_floats_skip_are_left_out(tmp_path):
    pd.DataFrame({"y": np.full(40, 2**64 - 1, np.uint64), "z": [1, 2] * 20}).to_parquet(tmp_path / "t.parquet")
    found = suggest_columns(open_table(tmp_path / "t.parquet"))
    assert found.columns.names == ("z",)
    ((name, why),) = found.left_out
    assert (name, why.partition(",")[0]) == ("y", "it has few numbers")


@pytest.mark.parametrize("name", ["Date", "week", "survey_year", "startTime", "Quarter", "wave"])
def test_what_is_called_after_time_is_no_person(name):
    """In a panel of equal length every date has as many rows as any other."""
    counts = np.full(80, 8)
    assert identifier(name, counts, text=True) is None
    assert identifier("town", counts, text=True).max_rows == 8
    assert identifier("date_id", counts, text=True).max_rows == 8
