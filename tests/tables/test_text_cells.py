"""Text that a spreadsheet would run as a formula: written with an apostrophe before it, and read as it was before."""

from __future__ import annotations

import base64
import csv
import json
import re
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from alphasynth.pages.images import save
from alphasynth.pages.marks import Figure, Panel, Points
from alphasynth.pages.page import Page, Section, figure_block, render
from alphasynth.runs.results import read_run
from alphasynth.tables.csv_files import TextFormat
from alphasynth.tables.opening import open_table
from alphasynth.tables.text_cells import guarded, guarded_column, unguarded, unguarded_sql
from command_line import run

RISKY = ["=1+1", "=cmd|' /C calc'!A0", "+49 170", "-x", "- 5", "-", "@SUM(A1)", "\t=a", "\r=a", "\n=a", "\uff1da"]
SAFE = ["-5", "+5", "-5.5e-3", " =a", "a=b", "O'Hara", "'a", "", "é", "-007", "1-2"]


@pytest.mark.parametrize("text", RISKY)
def test_text_that_begins_like_a_formula_has_an_apostrophe_before_it(text):
    assert guarded(text) == f"'{text}"
    assert guarded(f"'{text}") == f"''{text}"  # or it could not be told from the first


@pytest.mark.parametrize("value", [*SAFE, -5, -5.5, None, float("-inf")])
def test_numbers_and_other_text_stay_as_they_are(value):
    assert guarded(value) is value


ODD = st.text(st.sampled_from("'=+-@\t\r\n5.e a\uff1d"), max_size=6) | st.text(max_size=6)


@given(st.lists(ODD, min_size=1, max_size=20))
@example([*RISKY, *SAFE])
@settings(deadline=None)
def test_what_is_guarded_is_told_apart_and_comes_back(texts):
    """By Python, by Arrow, of categories, and by the SQL that reads a file."""
    written = [guarded(text) for text in texts]
    assert [unguarded(text) for text in written] == texts
    column = pa.array([*texts, None])
    assert guarded_column(column).to_pylist() == [*written, None]
    assert guarded_column(column.cast(pa.large_string())).to_pylist() == [*written, None]
    assert guarded_column(column.dictionary_encode()).to_pylist() == [*written, None]
    cells = pa.table({"c": written})
    with duckdb.connect() as engine:
        engine.register("cells", cells)
        assert [text for (text,) in engine.execute(f"SELECT {unguarded_sql('c')} FROM cells").fetchall()] == texts


def test_other_columns_are_not_touched():
    for column in (pa.array([-5, 3]), pa.array([-5.5, None]), pa.array([b"=a"])):
        assert guarded_column(column) is column


LEVELS = ["=1+1", "'=1+1", "-x", "@y", "plain", "+z, w"]
OPTIONS = ["--formula", "`=kind` ~ 1", "--family", "categorical", "--mechanism", "SW", "--m", 1, "--public", "-note,n"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A table with such levels, such names, and signed numbers."""
    rng = np.random.default_rng(3)
    n = 200
    columns = {
        "=kind": rng.choice(LEVELS, n),
        "-note": rng.choice(["=b", "-7", "c"], n),
        "n": rng.choice([-5, 5], n),
    }
    path = tmp_path_factory.mktemp("odd") / "odd.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def synthesize(odd):
    """Run folders of the table, by their options: each is made once."""

    @cache
    def made(*options):
        out = odd.parent / f"run {len(list(odd.parent.iterdir()))}"
        assert run("synthesize", odd, *OPTIONS, "--seed", 5, "--quiet", "--out", out, *options) == 0
        return out

    return made


def cells(path, delimiter=","):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_a_release_holds_no_cell_that_a_spreadsheet_would_run(synthesize, name, delimiter):
    folder = synthesize("--format", name) / "release"
    head, *lines = cells(folder / f"synthetic_01.{name}", delimiter)
    assert head == ["'=kind", "'-note", "n"]
    found = {cell for line in lines for cell in line}
    assert found <= {"'=1+1", "''=1+1", "'-x", "'@y", "plain", "'+z, w", "'=b", "-7", "c", "-5", "5"}
    assert {"'=1+1", "''=1+1", "'=b", "-7", "-5"} <= found
    assert "apostrophe" in json.loads((folder / "guarantee.json").read_text())["csv_cells"]
    assert "have an apostrophe before them" in (folder / "report.html").read_text()
    assert "table[&#34;&#39;=kind&#34;]" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_it_can_be_switched_off_and_other_formats_do_not_need_it(synthesize):
    plain = synthesize("--no-csv-safe") / "release"
    assert cells(plain / "synthetic_01.csv")[0] == ["=kind", "-note", "n"]
    again = synthesize("--config", plain.parent / "confidential" / "run.toml", "--no-report") / "release"
    parquet = synthesize("--format", "parquet", "--no-report") / "release"
    safe = synthesize("--format", "csv") / "release"
    assert "apostrophe" not in (plain / "report.html").read_text()
    for folder in (plain, again, parquet):
        assert "csv_cells" not in json.loads((folder / "guarantee.json").read_text())
    assert (again / "synthetic_01.csv").read_bytes() == (plain / "synthetic_01.csv").read_bytes()
    off = [[unguarded(cell) for cell in line] for line in cells(safe / "synthetic_01.csv")]
    assert off == cells(plain / "synthetic_01.csv")
    assert set(pd.read_parquet(parquet / "synthetic_01.parquet")["=kind"]) <= set(LEVELS)


@pytest.mark.slow
def test_our_own_commands_read_a_release_as_it_was_before(odd, synthesize, capsys):
    """The run's pages, `report` and `evaluate` see the levels of the table."""
    safe, plain = synthesize("--format", "csv"), synthesize("--no-csv-safe")
    one, other = read_run(safe), read_run(plain)
    assert "=kind" in one.records.columns
    for name in one.tables[0].columns:
        assert np.array_equal(one.tables[0].columns[name], other.tables[0].columns[name])
    assert np.array_equal(one.tables[0].counts, other.tables[0].counts)
    assert set(one.tables[0].columns["=kind"]) <= set(LEVELS)
    assert run("report", safe) == 0
    capsys.readouterr()
    found = []
    for folder in (safe, plain):
        assert run("evaluate", odd, folder / "release" / "synthetic_01.csv", "--json") == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    assert "''=1+1" not in found[0]


def test_a_table_of_someone_else_s_is_read_as_it_is(tmp_path):
    (tmp_path / "t.csv").write_text("'=a,y\n'=b,1\n")
    table = open_table(tmp_path / "t.csv")
    assert table.column_names == ("'=a", "y")
    assert table.group(["'=a"], ()).columns["'=a"].to_pylist() == ["'=b"]
    table = open_table(tmp_path / "t.csv", text=TextFormat(guarded=True))
    assert table.column_names == ("=a", "y")
    assert table.group(["=a"], ()).columns["=a"].to_pylist() == ["=b"]


def test_numbers_of_a_figure_are_written_alike(tmp_path):
    points = Points("@me", np.array([-1.0]), np.array([-2.0]), np.array([1]))
    figure = Figure("odd", "title", "caption", (Panel("=cmd", "x", (points,), "alt", "y"),), {"@me": "#000000"})
    *_, path = save(figure, tmp_path)
    page = render(Page("title", (Section("a", "A", (figure_block(figure),)),)))
    text = base64.b64decode(re.search(r"base64,([^\"]+)", page)[1]).decode()
    for written in (path.read_text(), text):
        (line,) = csv.DictReader(written.splitlines())
        assert (line["panel"], line["series"]) == ("'=cmd", "'@me")
        assert (float(line["x"]), float(line["y"])) == (-1, -2)
