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
    return table


DOORS = ["t.csv.gz", "T.CSV.GZ", "t.csv.zst", "t.tsv.gz", "t.duckdb::visits", "t.sqlite::visits", "t.db::visits"]


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # of the SQLite driver's own
@pytest.mark.parametrize("door", DOORS)
def test_the_same_table_by_every_door(visits, door):
    made = syn.Synthesizer("visits ~ 1", family="poisson", mechanism="SW", alpha=0.5, m=1, num_draws=200, seed=1)
    found = made.fit(syn.open_table(door)).trail_.fits[-1].records
    own = made.fit(visits).trail_.fits[-1].records
    np.testing.assert_array_equal(np.sort(found.columns["visits"]), np.sort(own.columns["visits"]))
    assert found.n == own.n


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
