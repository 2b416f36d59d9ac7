"""What a whole table will take is said before it starts: how long, what makes it slow, what to change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.planning.table_waits import seconds_of, words_of
from alphasynth.tables.declared import Declared
from alphasynth.tables.opening import open_table

NUMBER, NUMBERS = Declared(limits=(0.0, 100.0), whole=True), Declared(levels=tuple(range(3_000)))
TEXTS = Declared(levels=tuple(f"c{each}" for each in range(1_000)))


def columns(number: int) -> dict[str, Declared]:
    return {f"x{each}": NUMBER for each in range(number)}


def test_usual_tables_are_silent():
    assert words_of(columns(10), 20_000, 5) == ""
    assert words_of({"code": TEXTS, "x": NUMBER}, 5_000, 1) == "", "rare texts are counted together"
    assert words_of({"code": Declared(levels=tuple(range(1_000))), "x": NUMBER}, 5_000, 1) == "", "a few seconds"


@pytest.mark.parametrize(
    ("declared", "rows", "m", "slow"),
    [
        (columns(100), 100_000, 1, "100 columns of 100,000 rows; leave columns out"),
        (columns(20), 100_000, 100, "100 tables; ask for fewer (--m)"),
        (columns(3) | {"score": NUMBERS, "more": NUMBERS}, 10_000, 1, "column 'score' with 3,000 numbers as levels"),
    ],
)
def test_what_is_long_is_said_with_what_to_change(declared, rows, m, slow):
    said = words_of(declared, rows, m)
    assert said.startswith("this will take about ")
    assert slow in said


@pytest.mark.parametrize(
    ("number", "rows", "m", "seconds"),  # of the processor, as they were measured
    [(10, 10_000, 1, 8), (50, 10_000, 1, 23), (50, 10_000, 5, 32), (20, 100_000, 5, 42), (20, 10_000_000, 1, 101)],
)
def test_estimates_are_near_what_was_measured(number, rows, m, seconds):
    assert seconds / 1.5 < sum(seconds_of(columns(number), rows, m).values()) < 1.5 * seconds


def test_the_commands_say_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    pd.DataFrame({f"x{i}": rng.integers(0, 90, 60) for i in range(3)}).to_csv("three.csv", index=False)
    suggest = ["inspect", "three.csv", "--suggest"]
    run = ["synthesize", "three.csv", "--columns", "columns.toml", "--epsilon", "1", "--confirm-public", "all"]
    assert run_command([*suggest, "columns.toml"]) == 0
    assert "a run is long" not in capsys.readouterr().out
    assert run_command([*run, "--no-report", "--out", "short"]) == 0
    assert "this will take" not in capsys.readouterr().err
    monkeypatch.setattr("alphasynth.planning.table_waits.LONG", 1.0)
    assert run_command([*suggest, "again.toml"]) == 0
    assert "With it a run is long: this will take about 1 minute" in capsys.readouterr().out
    assert run_command([*run, "--no-report", "--out", "long"]) == 0
    said = "alphasynth: this will take about 1 minute of the processor: what makes it slow is 3 columns of 60 rows"
    assert said in capsys.readouterr().err


def test_rows_that_take_part_are_counted(tmp_path):
    pd.DataFrame({"id": [1, 1, 1, 2], "x": [1.0, 2.0, None, 4.0]}).to_csv(tmp_path / "rows.csv", index=False)
    assert open_table(tmp_path / "rows.csv").count("x") == 4
    assert open_table(tmp_path / "rows.csv", unit="id", max_rows=2).count("x") == 3
