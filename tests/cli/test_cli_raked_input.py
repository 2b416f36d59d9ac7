"""Odd tables and declarations by the command line: a right table, or one clear sentence and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tomli_w

from alphasynth.cli.entry import run_command
from command_line import read

pytestmark = pytest.mark.usefixtures("alone")
A, B, C = ({"levels": ["x", "y"]}, {"limits": [0, 60], "whole": True}, {"limits": [0, 100]})
COLUMNS = {"a": A, "b": B, "c": C}
GAPS = {"missing": "model"}


def plain(n=40, **more):
    rng = np.random.default_rng(4)
    columns = {"a": rng.choice(["x", "y"], n), "b": rng.integers(0, 50, n), "c": rng.uniform(0, 100, n)}
    return pd.DataFrame({**columns, **more})


def with_value(column, value):
    table = plain()
    table[column] = table[column].astype(object)
    table.loc[3, column] = value
    return table.infer_objects()


def weighted(value):
    return plain(w=[1.0] * 3 + [value] + [2.0] * 36)


def synthesize(table, columns=COLUMNS, *more, epsilon=1, top=None):
    table.to_parquet("table.parquet")
    Path("columns.toml").write_text(tomli_w.dumps({**(top or {}), "column": columns}))
    words = "synthesize table.parquet --columns columns.toml --mechanism Raked --m 1 --out run --seed 1 --epsilon"
    return run_command([*words.split(), str(epsilon), *more])


def released():
    return pd.concat([pd.read_parquet(path) for path in sorted(Path("run/release").glob("*.parquet"))])


DELTA = ("--delta", "1e-6")
WEIGHT = {"weight": {"column": "w", "largest": 5}}
LEVELS = [f"level {i}" for i in range(1_000)]
RIGHT = {
    "epsilon 0.01": lambda: synthesize(plain(), COLUMNS, *DELTA, epsilon=0.01),
    "epsilon 1e-6": lambda: synthesize(plain(), COLUMNS, *DELTA, epsilon=1e-6),
    "epsilon 1e-6, pure": lambda: synthesize(plain(), epsilon=1e-6),
    "one row": lambda: synthesize(plain(1), COLUMNS, *DELTA),
    "two rows, pure": lambda: synthesize(plain(2)),
    "numbers all gaps": lambda: synthesize(plain(c=np.nan), {**COLUMNS, "c": {**C, **GAPS}}, *DELTA),
    "text all gaps": lambda: synthesize(plain(a=None), {**COLUMNS, "a": {**A, **GAPS}}, *DELTA),
    "all columns all gaps": lambda: synthesize(plain(a=None)[["a"]], {"a": {**A, **GAPS}}, *DELTA),
    "one level": lambda: synthesize(plain(k="only"), {**COLUMNS, "k": {"levels": ["only"]}}, *DELTA),
    "one level alone": lambda: synthesize(plain(k="only"), {"k": {"levels": ["only"]}}, *DELTA),
    "one level or a gap, alone": lambda: synthesize(plain(k="only"), {"k": {"levels": ["only"], **GAPS}}, *DELTA),
    "text alone": lambda: synthesize(plain(d="x"), {"a": A, "d": A}, *DELTA),
    "1,000 levels": lambda: synthesize(plain(k=LEVELS[:40]), {**COLUMNS, "k": {"levels": LEVELS}}, *DELTA),
    "a number beside 200 codes that occur": lambda: synthesize(
        plain(400, k=LEVELS[:200] * 2)[["k", "b"]], {"k": {"levels": LEVELS}, "b": B}, *DELTA
    ),
    "20 tables": lambda: synthesize(plain(), COLUMNS, *DELTA, "--m", "20"),
    "a weight of 0": lambda: synthesize(weighted(0.0), COLUMNS, *DELTA, top=WEIGHT),
    "a weight above the largest": lambda: synthesize(weighted(1e9), COLUMNS, *DELTA, top=WEIGHT),
    "weights all 0": lambda: synthesize(plain(w=0.0), COLUMNS, *DELTA, top=WEIGHT),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_table(name, capsys):
    assert RIGHT[name]() == 0
    assert "stands without" not in capsys.readouterr().err, "both pages are there"
    assert {"guarantee.json", "report.html"} <= {path.name for path in Path("run/release").iterdir()}
    made, stated = released(), read("run/release/guarantee.json")
    assert len(made) == stated["n"] * stated["m"]
    for column, facts in stated["declared_public"].items():
        values = made[column].dropna()
        assert "missing" in facts or len(values) == len(made)
        if "levels" in facts:
            assert set(values) <= set(facts["levels"])
        else:
            assert values.between(*facts["limits"]).all()


@pytest.mark.slow
def test_identical_columns_and_odd_names():
    twins = plain(200)
    twins["a2"], twins["b2"] = twins["a"], twins["b"]
    assert synthesize(twins, {**COLUMNS, "a2": A, "b2": B}, *DELTA, epsilon=50) == 0
    assert (released()["a"] == released()["a2"]).mean() > 0.9
    names = {"a": 'a "q" [x] \\ ü', "b": "=cmd|x", "c": "<script>alert(1)</script>"}
    assert synthesize(plain().rename(columns=names), {names[k]: v for k, v in COLUMNS.items()}, "--out", "odd") == 0
    assert list(pd.read_parquet("odd/release/synthetic_01.parquet")) == list(names.values())
    assert "<script>alert" not in Path("odd/release/report.html").read_text()
    assert names["c"] in json.dumps(read("odd/release/guarantee.json"))


SENTENCES = {
    "outside": (
        lambda: synthesize(with_value("b", 99)),
        "column 'b' must lie within its declared limits, found values",
    ),
    "a huge number": (lambda: synthesize(with_value("b", 2**60 + 1)), "'b' must lie within its declared limits"),
    "undeclared": (lambda: synthesize(with_value("a", "secret")), "column 'a' must hold its declared levels"),
    "infinite": (lambda: synthesize(with_value("c", np.inf)), "column 'c' must be finite, found infinite values"),
    "gaps that nobody declared": (lambda: synthesize(plain(c=np.nan)), "column 'c' must have no gaps, or missing"),
    "limits that are equal": (lambda: synthesize(plain(), {"c": {"limits": [5, 5]}}), "two numbers, low < high"),
    "impossible": (lambda: synthesize(plain(), top={"constraints": ["b > 90"]}), "found rows that break one"),
    "broken": (lambda: synthesize(plain(), top={"constraints": ["b > 30"]}), "found rows that break one"),
    "a response that is no column": (
        lambda: synthesize(plain(), top={"response": ["z"]}),
        "response of the columns file must be declared columns, found 'z'",
    ),
    "an interaction of one": (
        lambda: synthesize(plain(), top={"interactions": ["a:a"]}),
        "interactions of the columns file must be two declared columns with a colon, age:sex, found 'a:a'",
    ),
    "a response in a text": (
        lambda: synthesize(plain(), top={"response": "a"}),
        "response of a columns file must be a list of texts, found 'a'",
    ),
    "weight below 0": (
        lambda: synthesize(weighted(-1.0), top=WEIGHT),
        "'w', the weight, must hold numbers of at least",
    ),
    "weight a gap": (
        lambda: synthesize(weighted(np.nan), top=WEIGHT),
        "'w', the weight, must hold numbers of at least",
    ),
    "delta of one row": (
        lambda: synthesize(plain(1_000), COLUMNS, "--delta", "1e-3"),
        "below one in the number of rows",
    ),
    "next to no epsilon": (lambda: synthesize(plain(), epsilon=1e-30), "--epsilon must be at least 1e-09 with Raked"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_one_sentence(name, capsys):
    made, sentence = SENTENCES[name]
    assert made() == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert "secret" not in said
    assert str(2**60) not in said
    assert not Path("run").exists()


def test_noise_that_does_not_fit_is_refused(capsys):
    assert synthesize(plain(), epsilon=1e-9, top=WEIGHT) == 2
    assert "column 'w' (declared) is not in the table" in capsys.readouterr().err
    many = {f"v{i}": {"limits": [0, 1]} for i in range(12)}
    table = plain(w=1.0, **dict.fromkeys(many, 0.5))
    assert synthesize(table, many, epsilon=1e-9, top=WEIGHT) == 2
    assert "--epsilon must be larger for noise that fits in 64 bits" in capsys.readouterr().err
