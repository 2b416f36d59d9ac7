"""Keys in the names of folders: columns where they are asked for, and nowhere else."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from alphasynth.errors import InputError
from alphasynth.tables.opening import open_table
from command_line import run

PARTS = {
    "year=2023/region=a b%2Fc/day=2023-05-01/code=007": [1.5, 2.5],
    "year=2024/region=ü='/day=2024-02-29/code=12": [3.5],
    "year=-5/region=__HIVE_DEFAULT_PARTITION__/day=__HIVE_DEFAULT_PARTITION__/code=3": [4.5],
}


def write(parts, root="parts"):
    for place, values in parts.items():
        folder = Path(root) / place
        folder.mkdir(parents=True)
        pd.DataFrame({"x": values}).to_parquet(folder / "p.parquet", index=False)


def test_keys_are_columns_where_asked_for(alone):
    write(PARTS)
    table = open_table("parts", hive=True)
    assert table.column_names == ("x", "year", "region", "day", "code")
    grouped = table.group(table.column_names, ())
    kinds = [grouped.types[name] for name in ("year", "region", "day", "code")]
    assert kinds == [pa.int64(), pa.string(), pa.date32(), pa.string()]
    rows = sorted(grouped.columns.to_pylist(), key=lambda row: row["x"])
    assert rows[0] == {"x": 1.5, "year": 2023, "region": "a b/c", "day": dt.date(2023, 5, 1), "code": "007"}
    assert [row["region"] for row in rows] == ["a b/c", "a b/c", "ü='", None]
    assert [row["year"] for row in rows] == [2023, 2023, 2024, -5]
    assert rows[3]["day"] is None


def test_keys_of_folders_above_are_none(alone):
    """Nor is a column taken for a key because the engine's own column has its name."""
    write({"b=1": [1.0]}, "year=1999/parts")
    pd.DataFrame({"x": [2.0]}).to_parquet("year=1999/parts/b=1/q.parquet", index=False)
    assert open_table("year=1999/parts", hive=True).column_names == ("x", "b")
    assert open_table("year=1999/parts").column_names == ("x",)


def test_a_column_called_filename_stays_what_it_is(alone):
    Path("parts/k=1").mkdir(parents=True)
    pd.DataFrame({"filename": ["mine"], "part": [3]}).to_parquet("parts/k=1/p.parquet", index=False)
    table = open_table("parts", hive=True)
    assert table.group(table.column_names, ()).columns.to_pylist() == [{"filename": "mine", "part": 3, "k": 1}]


BROKEN = {
    "both": ({"x=1": [1.0]}, "must not be columns of the files too, found 'x' among both"),
    "none": ({"a": [1.0]}, "must be named by the same keys in the same order"),
    "other": ({"a=1": [1.0], "b=1": [1.0]}, "must be named by the same keys in the same order"),
    "deeper": ({"a=1": [1.0], "a=2/b=3": [1.0]}, "must be named by the same keys in the same order"),
    "twice": ({"a=1/a=2": [1.0]}, r"must be named by keys \(year=2024\) with --hive, found one twice"),
    "flat": ({".": [1.0]}, r"must be named by keys \(year=2024\) with --hive, found none"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_other_folders_are_refused(name, alone):
    parts, sentence = BROKEN[name]
    Path("parts").mkdir()
    for place, values in parts.items():
        (Path("parts") / place).mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"x": values}).to_parquet(Path("parts") / place / "p.parquet", index=False)
    with pytest.raises(InputError, match=sentence) as refused:
        open_table("parts", hive=True)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("address", ["t.parquet", "t.duckdb::t"])
def test_keys_are_of_folders_alone(address, alone):
    pd.DataFrame({"x": [1]}).to_parquet("t.parquet")
    with pytest.raises(InputError, match="must be of a folder of Parquet files, found a"):
        open_table(address, hive=True)


def test_commands_take_keys_on_request(alone, capsys):
    write({f"year={year}": [float(year % 7)] * 30 for year in (2020, 2021, 2022)})
    assert run("inspect", "parts", "--json") == 0
    assert [c["name"] for c in json.loads(capsys.readouterr().out)["columns"]] == ["x"]
    assert run("inspect", "parts", "--hive", "--json") == 0
    assert [c["name"] for c in json.loads(capsys.readouterr().out)["columns"]] == ["x", "year"]
    assert run("inspect", "parts", "--hive", "--suggest", "columns.toml") == 0
    options = ["--columns", "columns.toml", "--confirm-public", "all", "--epsilon", "4", "--seed", "1", "--no-report"]
    assert run("synthesize", "parts", "--hive", *options, "--quiet", "--out", "run") == 0, capsys.readouterr().err
    made = pd.read_parquet("run/release/synthetic_01.parquet")
    assert set(made["year"]) <= {2020, 2021, 2022}
    assert "hive = true" in Path("run/confidential/run.toml").read_text()
