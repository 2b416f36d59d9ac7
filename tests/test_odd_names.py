"""Columns whose names look like our own punctuation come out right everywhere: files, pages, ledger, command line."""

from __future__ import annotations

import html
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.models.table_model import TableModel
from alphasynth.pages import page, public_page
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.runs.results import read_release, read_run
from command_line import read, run

# A formula quotes names by backticks, so no name in one holds a backtick; a column that is public alone may.
FIRST, SECOND, PUBLIC = "a: b; c", "d, \"e\": 'f'; g", "h `i`, j; k: l"
STRICT = ["--mechanism", "Scored", "--epsilon", "2"]
EXACT = ["--mechanism", "Censored", "--epsilon", "2"]
INSTANCE = ["--mechanism", "BW", "--epsilon", "8"]
pytestmark = pytest.mark.filterwarnings("ignore::alphasynth.errors.StrictWarning")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    first = rng.poisson(6, 150)
    table = {FIRST: first, SECOND: rng.poisson(2 + first / 3), PUBLIC: rng.choice(["x", "y"], 150)}
    pd.DataFrame(table).to_csv("table.csv", index=False)
    return tmp_path


def synthesize(formulas, options, capsys):
    config = {"public": [PUBLIC]}
    Path("public.toml").write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in config.items()))
    words = [part for formula in formulas for part in ("--formula", formula)]
    common = [
        "--delimiter",
        ",",
        "--family",
        "poisson",
        "--m",
        "1",
        "--seed",
        "3",
        "--dataset",
        FIRST,
        "--config",
        "public.toml",
    ]
    assert run_as_it_is("synthesize", "table.csv", *words, *common, *options, "--out", "run") == 0
    return capsys.readouterr().out


def run_as_it_is(*arguments):
    """The helper keeps the last formula alone, and here there are two."""
    from alphasynth.cli.entry import run_command

    return run_command([str(argument) for argument in arguments])


def text_of(path):
    """The words of a page, without its marks."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", Path(path).read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def cells_of(path, caption):
    """Lines of a table on a page, cell by cell."""
    body = Path(path).read_text()
    (found,) = [t for t in re.findall(r"<table.*?</table>", body, re.DOTALL) if caption in html.unescape(t)]
    lines = re.findall(r"<tr>(.*?)</tr>", found, re.DOTALL)
    strip = lambda cell: re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", cell))).strip()  # noqa: E731
    return [[strip(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.DOTALL)] for line in lines]


ONE, TWO = (f"`{FIRST}` ~ 1",), (f"`{FIRST}` ~ 1", f"`{SECOND}` ~ `{FIRST}`")
CASES = {
    "one column, exact": (ONE, EXACT),
    "one column, strict": (ONE, STRICT),
    "one column, instance": (ONE, INSTANCE),
    "a chain, exact": ((f"`{FIRST}` ~ 1", f"`{SECOND}` ~ 1"), EXACT),
    "a chain, strict": (TWO, STRICT),
    "a chain, instance": (TWO, INSTANCE),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_names_come_out_right_everywhere(folder, capsys, case):
    formulas, options = CASES[case]
    names = [FIRST, SECOND][: len(formulas)]
    said = synthesize(formulas, options, capsys)
    stated = read("run/release/guarantee.json")
    assert " ".join(stated["statement"].split()) in " ".join(said.split())
    assert stated["formulas"] == list(formulas)
    assert stated["families"] == ["poisson"] * len(formulas)
    assert stated["public_columns"] == [PUBLIC]
    assert [entry["column"] for entry in stated["columns"]] in ([], names)
    strict = options != INSTANCE
    assert [one["column"] for one in stated["contribution"]] == (names if strict else [])
    assert [one["column"] for one in stated["grid"]] == (names if options == EXACT else [])
    assert [one["name"] for one in stated["contribution"]] == [options[1]] * len(stated["contribution"])
    for path in ("run/release/report.html", "run/confidential/report.html"):
        shown = text_of(path)
        for name in (*names, *formulas, PUBLIC):
            assert name in shown, (path, name)
        for clause in syn_clauses(stated):
            assert clause in shown
        if strict and len(names) > 1:
            lines = cells_of(path, "What a record adds, by column")
            assert [line[0] for line in lines] == ["column", *names]
            assert all(line[1].startswith(options[1]) for line in lines[1:])
    release = read_release(Path("run/release"))
    assert public_page.synthetic_columns(release) == names
    assert release.guarantee == read_run(Path("run")).release.guarantee
    assert list(pd.read_csv("run/release/synthetic_01.csv").columns) == [*names, PUBLIC]
    settings = tomllib.loads(Path("run/confidential/run.toml").read_text())
    assert settings["formula"] == (list(formulas) if len(formulas) > 1 else formulas[0])
    assert (settings["dataset"], settings["public"]) == (FIRST, [PUBLIC])
    if Path("run/confidential/model.toml").exists():
        assert list(TableModel.read(Path("run/confidential/model.toml")).names) == names
    assert run("ledger", "--json") == 0
    ledger = json.loads(capsys.readouterr().out)
    assert [(one["dataset"], one["released"]) for one in ledger["datasets"]] == [(FIRST, float(options[3]))]
    assert run("ledger") == 0
    assert FIRST in capsys.readouterr().out
    before = Path("run/release/report.html").read_text()
    assert run("report", "run") == 0
    assert Path("run/release/report.html").read_text() == before


def syn_clauses(stated):
    return stated["promise"].split("; ")


def test_a_run_repeated_from_its_own_settings_says_the_same(folder, capsys):
    synthesize(TWO, STRICT, capsys)
    assert run("synthesize", "--config", "run/confidential/run.toml", "--out", "again", "--quiet") == 0
    assert read("again/release/guarantee.json") == read("run/release/guarantee.json")


def test_a_unit_of_privacy_may_have_an_odd_name(folder, capsys):
    table = pd.read_csv("table.csv")
    table[PUBLIC] = np.repeat(np.arange(75), 2)
    table.to_csv("table.csv", index=False)
    common = ["--delimiter", ",", "--formula", ONE[0], "--family", "poisson", "--m", "1", "--seed", "3"]
    assert run("synthesize", "table.csv", *common, *EXACT, "--unit", PUBLIC, "--max-rows", "2", "--out", "run") == 0
    stated = read("run/release/guarantee.json")
    assert (stated["unit_column"], stated["max_rows"], stated["epsilon"]) == (PUBLIC, 2, 4.0)
    assert stated["unit"] == f"all rows that share a value of {PUBLIC!r} (at most 2)"
    assert stated["unit"] in text_of("run/release/report.html")


def test_a_page_is_made_from_data_and_not_from_words(folder):
    """Each of a strict chain's contributions by its column, whatever the name is like."""
    table = pd.read_csv("table.csv")
    made = syn.Synthesizer(list(TWO), family="poisson", mechanism="Scored", epsilon=2.0, m=1, seed=3).fit(table)
    public = made.guarantee_.public()
    assert isinstance(public, PublicGuarantee)
    assert [(one.column, one.name) for one in public.contribution] == [(FIRST, "Scored"), (SECOND, "Scored")]
    for one, share in zip(public.contribution, public.columns, strict=True):
        assert sum(part.epsilon for part in one.parts) == pytest.approx(share["epsilon_per_draw"])
    assert html.escape(FIRST, quote=False) in page.render(public_page.build(made.release())).replace("&#39;", "'")
