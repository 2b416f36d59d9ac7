"""Compressed text and files that hold a database: the same table by every door, and one table to the ledger."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import alphasynth as syn
from alphasynth.errors import InputError
from command_line import run


@pytest.fixture
def visits(alone):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"visits": rng.poisson(5, 200), "größe": rng.choice(["a", "b"], 200)})
    table.to_csv("plain.csv", index=False)
    plain = Path("plain.csv").read_bytes()
    Path("t.csv.gz").write_bytes(gzip.compress(plain))
    Path("T.CSV.GZ").write_bytes(gzip.compress(plain))
    with pa.output_stream("t.csv.zst", compression="zstd") as file:
        file.write(plain)
    table.to_csv("t.tsv.gz", index=False, sep="\t")
    Path("latin.txt.gz").write_bytes(gzip.compress(plain.decode().encode("latin-1")))
    with duckdb.connect("t.duckdb") as engine:
        engine.register("held", table)
        engine.execute("CREATE TABLE visits AS SELECT * FROM held")
    for name in ("t.sqlite", "t.db"):
        with sqlite3.connect(name) as file:
            table.to_sql("visits", file, index=False)
        file.close()
    for name, rows in (("parts/year=2023/a.parquet", slice(0, 90)), ("parts/year=2024/b.parquet", slice(90, 200))):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        table[rows].to_parquet(name, index=False)
    Path("parts/_SUCCESS").write_text("")
    Path("parts/_old").mkdir()
    table.to_parquet("parts/_old/c.parquet")
    return table


DOORS = [
    "parts",
    "t.csv.gz",
    "T.CSV.GZ",
    "t.csv.zst",
    "t.tsv.gz",
    "t.duckdb::visits",
    "t.sqlite::visits",
    "t.db::visits",
]


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # of the SQLite driver's own
@pytest.mark.parametrize("door", DOORS)
def test_the_same_table_by_every_door(visits, door):
    made = syn.Synthesizer("visits ~ 1", family="poisson", mechanism="SW", alpha=0.5, m=1, num_draws=200, seed=1)
    found = made.fit(syn.open_table(door)).trail_.fits[-1].records
    own = made.fit(visits).trail_.fits[-1].records
    np.testing.assert_array_equal(np.sort(found.columns["visits"]), np.sort(own.columns["visits"]))
    assert found.n == own.n


def test_keys_of_folders_are_no_columns(visits):
    assert syn.open_table("parts").column_names == ("visits", "größe")


def test_a_folder_that_changes_is_another_table(visits, capsys):
    options = ["--formula", "visits ~ 1", "--family", "poisson", "--epsilon", "1", "--no-report", "--quiet"]
    assert run("synthesize", "parts", *options, "--out", "one") == 0
    assert list(Path("one/release").glob("synthetic_01.parquet"))
    visits[:10].to_parquet("parts/more.parquet", index=False)
    assert run("synthesize", "parts", *options, "--out", "two") == 0
    capsys.readouterr()
    assert run("ledger", "--json") == 0
    assert [one["released"] for one in json.loads(capsys.readouterr().out)["datasets"]] == [1.0, 1.0]


def test_an_encoding_inside_is_told(visits, capsys):
    assert run("inspect", "latin.txt.gz", "--encoding", "latin-1") == 0
    assert "größe" in capsys.readouterr().out
    assert run("inspect", "latin.txt.gz") == 2
    assert "must be utf-8" in capsys.readouterr().err


def test_compressed_or_not_it_is_one_table_to_the_ledger(visits, capsys):
    options = ["--formula", "visits ~ 1", "--family", "poisson", "--epsilon", "1", "--no-report", "--quiet"]
    for number, door in enumerate(["plain.csv", "t.csv.gz", "t.csv.zst"]):
        assert run("synthesize", door, *options, "--out", f"run-{number}") == 0
        assert list(Path(f"run-{number}/release").glob("synthetic_01.csv"))
    capsys.readouterr()
    assert run("ledger", "--json") == 0
    (data_set,) = json.loads(capsys.readouterr().out)["datasets"]
    assert data_set["released"] == 3.0


BROKEN = {
    "empty": (lambda: Path("empty").mkdir(), "a folder must hold Parquet files, found none in 'empty'"),
    "parts": (
        lambda: pd.DataFrame({"visits": ["a"]}).to_parquet("parts/other.parquet"),
        "must have the same columns and types",
    ),
    "cut.csv.gz": (lambda: Path("cut.csv.gz").write_bytes(Path("t.csv.gz").read_bytes()[:40]), "must be|cannot"),
    "plain.csv.gz": (lambda: Path("plain.csv.gz").write_text("visits\n1\n"), "must be compressed by gzip"),
    "t.zip": (lambda: Path("t.zip").write_text("x"), "a file must end in one of"),
    "t.duckdb": (lambda: None, "addressed as t.duckdb::TABLE, found no table"),
    "none.db::visits": (lambda: None, "found none at 'none.db'"),
    "t.sqlite::other": (lambda: None, "table 'other' must be in the database"),
    "text.db::visits": (lambda: Path("text.db").write_text("no database"), "must be a DuckDB database"),
}


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
@pytest.mark.parametrize("door", BROKEN)
def test_what_cannot_be_read_gets_one_sentence(visits, door):
    write, sentence = BROKEN[door]
    write()
    made = syn.Synthesizer("visits ~ 1", family="poisson", mechanism="SW", alpha=0.5, m=1, seed=1)
    with pytest.raises(InputError, match=sentence) as refused:
        made.fit(syn.open_table(door))
    assert "\n" not in str(refused.value)
