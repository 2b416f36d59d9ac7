"""Nothing but noisy sums and choices passes: with these given, a release is the same whatever the table holds."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.cli.entry import run_command
from alphasynth.errors import InputError
from alphasynth.privacy.randomness import child
from alphasynth.privacy.spending import Spending

RAKED = "alphasynth.synthesis.raked.Spending"
COLUMNS = """
weight = {column = "w", largest = 5}
[column.sex]
levels = ["f", "m"]
missing = "model"
[column.visits]
limits = [0, 400]
whole = true
skewed = true
heaps = [10]
[column.income]
limits = [0, 1000]
missing = "model"
[column.day]
limits = [2010-01-01, 2014-12-31]
[column.rooms]
levels = [1, 2, 3, 8]
"""


class Deaf(Spending):
    """A budget that notes what was asked and answers by chance, whatever the sums are."""

    def noisy(self, stream, sums, sensitivity, name, part):
        noisy, variance = super().noisy(stream, np.zeros(len(sums), np.int64), sensitivity, name, part)
        return noisy + 20, variance

    def choose(self, stream, scores, rows, name, part):
        return super().choose(stream, np.zeros(len(scores), np.int64), rows, name, part)


def plain(n):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "person": np.arange(n) // 3,
            "sex": rng.choice(["f", "m"], n),
            "visits": rng.poisson(5, n),
            "income": rng.uniform(0, 1000, n).round(2),
            "day": pd.Timestamp("2011-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "rooms": rng.choice([1, 2, 3, 8], n),
            "w": rng.uniform(0, 5, n),
        }
    )


def odd(n):
    """All that can differ: gaps alone, one value alone, the limits, weights far above the largest."""
    return pd.DataFrame(
        {
            "person": np.arange(n) // 3,
            "sex": pd.Series([None] * n, dtype="str"),
            "visits": np.full(n, 400),
            "income": np.full(n, np.nan),
            "day": pd.Timestamp("2014-12-31"),
            "rooms": np.full(n, 8),
            "w": np.full(n, 1e6),
        }
    )


@pytest.fixture
def deaf(monkeypatch):
    monkeypatch.setattr(RAKED, Deaf)


def columns(tmp_path):
    (tmp_path / "columns.toml").write_text(COLUMNS)
    return syn.Columns.read(tmp_path / "columns.toml")


@pytest.mark.filterwarnings("ignore:the mean weight must be:alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_frames_and_guarantees_are_the_same_whatever_the_table(deaf, tmp_path, delta):
    releases = []
    for table in (plain(60), odd(60)):
        made = syn.Synthesizer(columns(tmp_path), mechanism="Raked", epsilon=2.0, delta=delta, m=2, seed=3).fit(table)
        releases.append(made.release())
    one, other = releases
    assert one.guarantee == other.guarantee
    for first, second in zip(one.tables, other.tables, strict=True):
        pd.testing.assert_frame_equal(first, second)


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("unit", [(), ("--unit", "person", "--max-rows", "2")])
def test_released_folders_are_the_same_byte_by_byte(deaf, kind, unit):
    Path("columns.toml").write_text(COLUMNS)
    words = "synthesize {0}.parquet --columns columns.toml --mechanism Raked --epsilon 1 --delta 1e-6 --m 2 --seed 4"
    folders = []
    for name, table in (("plain", plain(60)), ("odd", odd(60))):
        table.to_parquet(f"{name}.parquet")
        assert run_command([*words.format(name).split(), "--out", name, "--format", kind, *unit]) == 0
        folders.append({path.name: path.read_bytes() for path in Path(name, "release").iterdir()})
    assert folders[0].keys() == folders[1].keys() >= {"guarantee.json", "report.html"}
    for name, content in folders[0].items():
        assert content == folders[1][name], name


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("most", [100, 5_000_000])
@pytest.mark.filterwarnings("ignore:the run stands without its confidential page")
def test_the_public_page_does_not_tell_how_the_confidential_one_went(deaf, most, monkeypatch, capsys):
    """Whatever breaks a confidential page must not show; which column stands for a large table is public."""

    def broken(*given, **named):
        raise InputError("there is nothing to compare")

    for module in ("whole_table", "results"):
        monkeypatch.setattr(f"alphasynth.runs.{module}.MOST_VALUES", most)
    declared = COLUMNS[COLUMNS.index("[column.income]") : COLUMNS.index("[column.rooms]")]
    Path("columns.toml").write_text(declared)
    words = "synthesize {0}.parquet --columns columns.toml --mechanism Raked --epsilon 1 --m 2 --seed 4 --out {0}"
    folders, said = [], []
    for name, table in (("plain", plain(60)), ("odd", odd(60))):
        table[["day", "income"]].to_parquet(f"{name}.parquet")
        if name == "odd" and most > 100:
            monkeypatch.setattr("alphasynth.runs.report.confidential_page.build", broken)
        assert run_command(words.format(name).split()) == 0
        folders.append({path.name: path.read_bytes() for path in Path(name, "release").iterdir()})
        said.append(capsys.readouterr().out.replace(name, "run"))
    assert folders[0] == folders[1]
    assert said[0] == said[1], "what is printed is public"
    assert not Path("odd/confidential/report.html").exists() or most == 100, "else this shows nothing"


INSIDE = ("_exact", "_stream", "_weights", "_spending", "_far", "_scored")
# What exact sums are made of.
BELOW = ("_records", "_made", "_fine")


def test_no_other_code_reaches_into_what_is_confidential():
    """Only the modules that hold records or their exact sums may name what they hold them in."""
    source = Path(syn.__file__).parent
    for path in [*source.glob("raking/*.py"), *source.glob("synthesis/*.py"), *source.glob("runs/*.py")]:
        reached = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
        assert path.name == "sums.py" or not reached & set(INSIDE), path.name
        assert path.name == "exact.py" or not reached & set(BELOW), path.name


def test_noise_has_entropy_of_its_own(monkeypatch):
    """Noise is not decided by what seeds the generators of rows, nor by what a fit keeps."""
    keys = []

    def stream(key):
        keys.append(key)
        return syn_stream(key)

    from alphasynth.synthesis import raked

    syn_stream = raked.Stream
    monkeypatch.setattr("alphasynth.synthesis.raked.Stream", stream)
    table = pd.DataFrame({"a": [0, 1, 1]})
    made = syn.Synthesizer({"a": {"levels": [0, 1]}}, mechanism="Raked", epsilon=1, m=1).fit(table)
    (noise,) = keys
    assert noise.entropy.bit_length() > 100
    kept = child(made._outcome.key, 0)
    assert (kept.entropy, kept.spawn_key) == (noise.entropy, noise.spawn_key)
    assert syn_stream(kept).bits(128) != syn_stream(noise).bits(128), "noise hangs on what generators are not told"
    again = syn.Synthesizer({"a": {"levels": [0, 1]}}, mechanism="Raked", epsilon=1, m=1, seed=3).fit(table)
    assert keys[1].entropy == again._outcome.key.entropy == 3
    kept = child(again._outcome.key, 0)
    assert syn_stream(kept).bits(128) == syn_stream(keys[1]).bits(128), "with a seed all can be had again"
