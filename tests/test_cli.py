"""The command line as a user meets it: one command from a file to a run folder, and one sentence when it cannot be."""

from __future__ import annotations

import json
import os
import pty
import random
import select
import signal
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import alphasynth as syn
from alphasynth import catalogue
from alphasynth.cli import run_command
from alphasynth.engine import FileTable
from alphasynth.errors import InputError
from alphasynth.families import FAMILIES
from alphasynth.job import SAMPLERS
from alphasynth.ledger import Ledger
from alphasynth.mechanism import NAMES

COMMAND = [sys.executable, "-c", "from alphasynth.cli import main; main()"]
HUGE = ["--epsilon", "1e308", "--unit", "sex", "--max-rows", "100"]
OPTIONS = ["--formula", "visits ~ 1", "--family", "negative_binomial", "--mechanism", "LW_final", "--m", "1"]


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch, tmp_path):
    """The cache would set options of JAX for the tests that follow; commands in processes of their own have one."""
    monkeypatch.setattr("alphasynth.cli._use_cache", lambda: None)
    monkeypatch.chdir(tmp_path)


def visits(n=300):
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "visits": rng.negative_binomial(3, 0.3, n),
            "age": rng.integers(20, 70, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


@pytest.fixture
def table(tmp_path):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    return "visits.csv"


def run(*arguments):
    return run_command([str(argument) for argument in arguments])


def synthesize(table, *more, out="run"):
    return run("synthesize", table, *OPTIONS, "--out", out, "--quiet", *more)


def read(path):
    return json.loads(Path(path).read_text())


def test_one_command_from_a_file_to_a_run_folder(table, capsys):
    assert run("synthesize", table, *OPTIONS, "--epsilon", 8, "--out", "run") == 0
    shown = capsys.readouterr()
    assert "release: 1 synthetic table and guarantee.json" in shown.out
    assert "alphasynth-ledger.sqlite: the ledger" in shown.out
    assert shown.err == ""
    assert sorted(path.name for path in Path("run/release").iterdir()) == ["guarantee.json", "synthetic_01.csv"]
    confidential = ["draws.parquet", "records.parquet", "run.toml", "summary.json"]
    assert sorted(path.name for path in Path("run/confidential").iterdir()) == confidential
    assert stat.S_IMODE(Path("run/confidential").stat().st_mode) == 0o700
    synthetic = pd.read_csv("run/release/synthetic_01.csv")
    assert list(synthetic.columns) == ["visits"]
    assert len(synthetic) == 300


def test_the_guarantee_states_the_policys_number_and_what_is_public(table):
    assert synthesize(table, "--epsilon", 8) == 0
    guarantee = read("run/release/guarantee.json")
    assert (guarantee["epsilon"], guarantee["policy_epsilon"], guarantee["m"], guarantee["n"]) == (8.0, 8.0, 1, 300)
    assert guarantee["n_is_public"] is True
    assert guarantee["releasable"] is True
    assert guarantee["unit"] == "one row of the table"
    assert guarantee["neighbours"] == "one unit of privacy removed"
    assert guarantee["sampler"] == "Markov chain Monte Carlo"
    assert "not epsilon-differential privacy" in guarantee["promise"]
    assert guarantee["version"] == syn.__version__


def test_without_a_budget_the_realised_epsilon_stays_inside(table):
    assert synthesize(table) == 0
    guarantee, summary = read("run/release/guarantee.json"), read("run/confidential/summary.json")
    assert guarantee["epsilon"] is guarantee["policy_epsilon"] is None
    assert guarantee["budget"] == "no policy budget was set"
    realised = summary["epsilon_total"]
    assert realised > 0
    for path in Path("run/release").iterdir():
        text = path.read_text()
        for number in (realised, summary["delta"]):
            assert f"{number:.3f}"[:-1] not in text or path.suffix == ".csv"


def test_the_summary_tells_each_round(table):
    assert synthesize(table, "--epsilon", 8) == 0
    summary = read("run/confidential/summary.json")
    assert [entry["rule"] for entry in summary["rounds"]] == ["Unweighted", "LW", "Reweight"]
    for entry in summary["rounds"]:
        assert entry["epsilon"] == 2 * entry["delta"]
        assert 0 < entry["mean_alpha"] <= 1
        assert entry["seconds"] >= 0
        assert entry["diagnostics"]["ess_bulk"] > 100
    assert summary["epsilon_total"] <= 8
    assert summary["seconds"].keys() == {"read", "fit", "write"}


def test_records_and_draws_are_those_of_the_library(table):
    assert synthesize(table, "--seed", 5, "--by-row") == 0
    fitted = syn.Synthesizer("visits ~ 1", family="negative_binomial", mechanism="LW_final", m=1, seed=5).fit(visits())
    records = pq.read_table("run/confidential/records.parquet").to_pandas()
    assert records["count"].sum() == 300
    assert list(records.columns) == ["visits", "count", "alpha", "lipschitz"]
    rows = pq.read_table("run/confidential/rows.parquet").to_pandas()
    assert rows["row"].tolist() == list(range(1, 301))
    assert np.array_equal(rows["alpha"], fitted.alpha_)
    assert np.array_equal(rows["lipschitz"], fitted.lipschitz_.by_record)
    draws = pq.read_table("run/confidential/draws.parquet").to_pandas()
    assert np.array_equal(draws["phi"], fitted.trail_.fits[-1].draws.theta["phi"])
    assert draws["released"].sum() == 1
    pd.testing.assert_frame_equal(pd.read_csv("run/release/synthetic_01.csv"), fitted.sample()[0])


def test_a_seeded_run_is_marked_everywhere_and_repeats(table, capsys):
    assert synthesize(table, "--seed", 5) == 0
    assert read("run/release/guarantee.json")["releasable"] is False
    assert read("run/confidential/summary.json")["releasable"] is False
    assert "not for release" in read("run/release/guarantee.json")["statement"]
    assert run("ledger", "--json") == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["detail"]["releasable"] is False
    assert run("synthesize", "--config", "run/confidential/run.toml", "--quiet") == 0
    assert Path("run-2/release/synthetic_01.csv").read_bytes() == Path("run/release/synthetic_01.csv").read_bytes()
    assert run("synthesize", "--config", "run/confidential/run.toml", "--seed", 6, "--out", "other", "--quiet") == 0
    assert Path("other/release/synthetic_01.csv").read_bytes() != Path("run/release/synthetic_01.csv").read_bytes()


def test_without_a_seed_each_run_differs(table):
    assert synthesize(table, "--epsilon", 8, out="one") == synthesize(table, "--epsilon", 8, out="two") == 0
    assert Path("one/release/synthetic_01.csv").read_bytes() != Path("two/release/synthetic_01.csv").read_bytes()


def test_entropy_of_the_operating_system_decides_each_release(table, monkeypatch):
    """At least 128 bits for the pick and 128 for the rows, asked of the operating system and of nothing else."""
    bits = []
    original = np.random.SeedSequence

    def recorded(*args, **kwargs):
        made = original(*args, **kwargs)
        if not args or args[0] is None:
            bits.append(made.entropy)
        return made

    monkeypatch.setattr(np.random, "SeedSequence", recorded)
    assert synthesize(table, "--epsilon", 8) == 0
    assert len(bits) == 2
    assert bits[0] != bits[1]
    assert all(entropy.bit_length() > 96 for entropy in bits)  # 128 bits; that the first 32 are 0 has odds of 1 in 2^32


def test_config_and_options_together(table):
    assert synthesize(table, "--seed", 5, "--scale", 0.5) == 0
    config = tomllib.loads(Path("run/confidential/run.toml").read_text())
    assert config["scale"] == 0.5
    assert config["table"] == str(Path(table).absolute())
    Path("mine.toml").write_text('formula = "visits ~ 1"\nfamily = "poisson"\nmechanism = "SW"\nm = 2\nout = "mine"\n')
    assert run("synthesize", table, "--config", "mine.toml", "--quiet") == 0
    assert len(list(Path("mine/release").glob("synthetic_*.csv"))) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("colour = 'red'", "must have the name of an option, found 'colour'"),
        ("publc = []", "found 'publc'; did you mean 'public'?"),
        ("m = 'many'", "m must be a whole number, found 'many'"),
        ("m = true", "m must be a whole number"),
        ("public = [1]", "public must be a list of names, found a list"),
        ("m = ", "must be TOML"),
    ],
)
def test_a_config_file_that_makes_no_sense(table, capsys, content, message):
    Path("bad.toml").write_text(content)
    assert run("synthesize", table, *OPTIONS, "--config", "bad.toml", "--out", "run") == 2
    assert message in capsys.readouterr().err
    assert not Path("run").exists()


def test_public_columns_keep_their_names_types_order_and_rows(table):
    more = ["--formula", "visits ~ age + C(sex)", "--public", "sex,age"]
    assert synthesize(table, *more) == 0
    synthetic = pd.read_csv("run/release/synthetic_01.csv")
    assert list(synthetic.columns) == ["visits", "age", "sex"]
    pd.testing.assert_frame_equal(synthetic[["age", "sex"]], visits()[["age", "sex"]])
    assert read("run/release/guarantee.json")["public_columns"] == ["sex", "age"]


def test_public_text_is_released_as_it_stands(tmp_path):
    (tmp_path / "t.csv").write_text('code,y,"note, ""odd"""\n007,3,"a, b"\n1.50,4,\n+2,3," x"\nNA,5,é\n')
    more = ["--formula", "y ~ 1", "--family", "poisson", "--mechanism", "SW", "--alpha", 0.5]
    assert synthesize("t.csv", *more, "--public", 'code,"note, ""odd"""') == 0
    released = pd.read_csv("run/release/synthetic_01.csv", dtype=str, keep_default_na=False)
    original = pd.read_csv("t.csv", dtype=str, keep_default_na=False)
    assert list(released.columns) == list(original.columns)
    pd.testing.assert_frame_equal(released.drop(columns="y"), original.drop(columns="y"))


def test_a_covariate_must_be_declared_public_and_the_error_says_why(table, capsys):
    assert synthesize(table, "--formula", "visits ~ age") == 2
    message = capsys.readouterr().err
    assert "'age'" in message
    assert "the guarantee does not cover" in message
    assert not Path("run").exists()


FORMATS = {
    "csv": pd.read_csv,
    "tsv": lambda path: pd.read_csv(path, sep="\t"),
    "parquet": pd.read_parquet,
    "arrow": pd.read_feather,
    "feather": pd.read_feather,
    "xport": lambda path: pyreadstat.read_xport(path)[0],
    "spss": lambda path: pyreadstat.read_sav(path)[0],
    "stata": lambda path: pyreadstat.read_dta(path)[0],
}


def test_every_format_is_written_and_read_here():
    assert FORMATS.keys() == catalogue.FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_formats_hold_the_same_table(table, name):
    more = ["--public", "age,sex", "--seed", 3, "--format", name]
    assert synthesize(table, *more) == 0
    path = next(Path("run/release").glob("synthetic_01.*"))
    assert path.suffix == catalogue.FORMATS[name]
    written = FORMATS[name](str(path))
    expected = syn.Synthesizer(
        "visits ~ 1", family="negative_binomial", mechanism="LW_final", m=1, public=("age", "sex"), seed=3
    )
    frame = expected.fit(visits()).sample()[0]
    assert list(written.columns) == list(frame.columns)
    for column in frame:
        assert written[column].tolist() == frame[column].tolist()


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".sav", ".dta", ".xpt", ".tsv"])
def test_the_input_s_format_is_the_default(tmp_path, suffix):
    frame, path = visits()[["visits"]], tmp_path / f"t{suffix}"
    writers = {
        ".parquet": lambda: frame.to_parquet(path),
        ".feather": lambda: frame.to_feather(path),
        ".sav": lambda: pyreadstat.write_sav(frame, str(path)),
        ".dta": lambda: pyreadstat.write_dta(frame, str(path)),
        ".xpt": lambda: pyreadstat.write_xport(frame, str(path)),
        ".tsv": lambda: frame.to_csv(path, sep="\t", index=False),
    }
    writers[suffix]()
    assert synthesize(path) == 0
    assert Path(f"run/release/synthetic_01{suffix}").exists()


def test_counts_that_outgrow_their_type_take_64_bits(tmp_path, monkeypatch):
    """In any chunk, not only in the first; all chunks then have one type."""
    monkeypatch.setattr("alphasynth.synthesize.ROWS_AT_A_TIME", 50)
    rng = np.random.default_rng(0)
    counts = np.minimum(rng.negative_binomial(1.5, 0.05, 400), 127).astype(np.int8)
    pq.write_table(pa.table({"y": counts}), tmp_path / "t.parquet")
    kinds = set()
    for seed in range(6):
        arguments = ["--formula", "y ~ 1", "--seed", seed, "--rows", 100]
        assert synthesize(tmp_path / "t.parquet", *arguments, out=f"run{seed}") == 0
        written = pq.read_table(f"run{seed}/release/synthetic_01.parquet")
        oracle = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", m=1, seed=seed, rows=100)
        expected = oracle.fit(pa.table({"y": counts})).sample()[0]
        assert written.column("y").to_pylist() == expected.column("y").to_pylist()
        assert written.schema == expected.schema
        kinds.add(str(written.schema.field("y").type))
    assert kinds == {"int8", "int64"}


def test_units_of_several_rows_state_so_many_times_epsilon(tmp_path):
    frame = visits(600).assign(person=np.arange(600) // 4)
    frame.to_csv("t.csv", index=False)
    assert synthesize("t.csv", "--epsilon", 2, "--unit", "person", "--max-rows", 3, "--by-row") == 0
    guarantee, summary = read("run/release/guarantee.json"), read("run/confidential/summary.json")
    assert (guarantee["epsilon"], guarantee["policy_epsilon"], guarantee["max_rows"]) == (6.0, 2.0, 3)
    assert guarantee["n"] == 450
    assert "'person' (at most 3)" in guarantee["unit"]
    assert "epsilon 6 for all rows that share a value of 'person'" in guarantee["statement"]
    assert summary["epsilon_unit"] == pytest.approx(3 * summary["epsilon_total"])
    rows = pq.read_table("run/confidential/rows.parquet").column("row").to_numpy()
    assert (np.bincount((rows - 1) // 4) == 3).all()


def test_the_ledger_refuses_before_anything_is_computed(table, capsys, monkeypatch):
    assert run("ledger", "set", "visits", "--cap", 10) == 0
    assert synthesize(table, "--epsilon", 8, "--dataset", "visits", out="one") == 0

    def computed(*args, **kwargs):
        raise AssertionError("something was computed")

    group = FileTable.group
    monkeypatch.setattr(FileTable, "group", computed)
    for more, message in [
        (["--epsilon", 8, "--dataset", "visits"], "cap of 10, of which 8 is spent or reserved"),
        (["--dataset", "visits"], "must state its budget (--epsilon)"),
        (["--epsilon", 1], "must name its data set (--dataset)"),
        (["--epsilon", 1, "--dataset", "other"], "in the ledger as data set 'visits'"),
        (["--epsilon", 1, "--unit", "sex", "--max-rows", 3, "--dataset", "visits"], "a run of epsilon 3 would exceed"),
    ]:
        assert synthesize(table, *more, out="two") == 2
        assert message in capsys.readouterr().err
        assert not Path("two").exists()
    monkeypatch.setattr(FileTable, "group", group)
    assert synthesize(table, "--epsilon", 2, "--dataset", "visits", out="two") == 0


def test_the_ledger_shows_what_was_spent(table, capsys):
    assert run("ledger") == 2
    assert "must exist" in capsys.readouterr().err
    assert run("ledger", "set", "visits", "--cap", 10) == 0
    assert synthesize(table, "--epsilon", 1.5, "--dataset", "visits", "--seed", 1) == 0
    capsys.readouterr()
    assert run("ledger") == 0
    shown = capsys.readouterr().out
    assert "visits" in shown
    assert "8.5" in shown
    assert run("ledger", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["datasets"] == [
        {"dataset": "visits", "scope": "instance", "released": 1.5, "reserved": 0.0, "cap": 10.0, "left": 8.5}
    ]
    name = listed["runs"][0]["run"]
    assert run("ledger", "clear", "nobody") == 2
    assert "run must be one that the ledger holds" in capsys.readouterr().err
    assert run("ledger", "clear", name) == 0  # seeded, so not for release
    assert synthesize(table, "--epsilon", 1.5, "--dataset", "visits", out="real") == 0
    capsys.readouterr()
    run("ledger", "--json")
    listed = json.loads(capsys.readouterr().out)
    assert listed["datasets"][0]["released"] == 1.5
    assert run("ledger", "clear", listed["runs"][1]["run"]) == 2
    assert "stays spent" in capsys.readouterr().err


def test_a_ledger_here_counts_for_runs_elsewhere(table, capsys, tmp_path):
    (tmp_path / "runs").mkdir()
    assert run("ledger", "set", "visits", "--cap", 1) == 0
    assert synthesize(table, "--epsilon", 8, "--dataset", "visits", out="runs/one") == 2
    assert "cap of 1" in capsys.readouterr().err
    assert synthesize(table, "--epsilon", 1, "--dataset", "visits", "--ledger", "runs/mine", out="runs/one") == 0
    assert run("ledger", "set", "visits", "--cap", 1, "--ledger", "runs/alphasynth-ledger.sqlite") == 0
    assert synthesize(table, "--epsilon", 1, "--dataset", "visits", out="runs/two") == 2
    assert "name one with --ledger" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["synthesize"], "a run needs TABLE, --formula, --family, --mechanism, --m, --out"),
        (["synthesize", "nowhere.csv", *OPTIONS, "--out", "run"], "found none at 'nowhere.csv'"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "no/where"], "folder that exists"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "visits.csv"], "must not exist yet"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--m", "0"], "--m must be a whole number"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--m", "two"], "--m"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--epsilon", "-1"], "epsilon must be positive"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--family", "gamma"], "poisson, negative_binomial"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--mechanism", "XW"], "Unweighted, LW, CW, SW"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--mechanism", "lwfinal"], "did you mean LW_final?"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--draws", "5"], "--draws must be a whole number"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", *HUGE], "must be finite"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--mechanism", "CW"], "needs a radius"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--format", "xlsx"], "--format must be one of csv"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--sampler", "magic"], "--sampler must be one of"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--k", "most"], "--k must be auto or a number"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--prior", "flat"], "--prior must be one of"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--prior", "normal:x"], "number for its scale"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--unit", "name"], "given together"),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--public", "visits"], "must not be declared public"),
        (
            ["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--public", "height"],
            "'height' (declared public) is not",
        ),
        (["synthesize", "visits.csv", *OPTIONS, "--out", "run", "--colour", "red"], "--colour"),
        (["synthesize", "visits.csv", *OPTIONS, "--formula", "name ~ 1", "--out", "run"], "not numeric"),
        (["synthesize", "duckdb://x::t", *OPTIONS, "--out", "run", "--by-row"], "--by-row needs a file"),
        (["frobnicate"], "frobnicate"),
        (["inspect", "nowhere.csv"], "found none"),
        (["ledger", "set", "x"], "cap"),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_nothing(table, tmp_path, capsys, arguments, message):
    assert run(*arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.startswith("alphasynth: ")
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert {path.name for path in tmp_path.iterdir()} <= {"visits.csv", "alphasynth-ledger.sqlite"}


def test_draws_that_cannot_be_used_are_said_and_nothing_is_left(tmp_path, capsys):
    pd.DataFrame({"y": [0, 1] * 50}).to_csv("t.csv", index=False)
    more = ["--formula", "y ~ 1", "--mechanism", "LW", "--sampler", "laplace", "--seed", 1]
    assert synthesize("t.csv", *more) == 1
    shown = capsys.readouterr()
    assert "must pass their diagnostics" in shown.err
    assert shown.err.count("\n") == 1
    assert not Path("run").exists()
    run("ledger", "--json")
    assert json.loads(capsys.readouterr().out)["runs"][0]["state"] == "cleared"


def test_a_fault_of_our_own_shows_no_value(table, capsys, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("the salary of Jane Doe is 90210")

    monkeypatch.setattr("alphasynth.job.write_table", broken)
    assert synthesize(table) == 1
    message = capsys.readouterr().err
    assert "RuntimeError in test_cli.py" in message
    assert "90210" not in message
    assert not Path("run").exists()


def test_json_quiet_and_the_pipe(table, capsys):
    assert run("synthesize", table, *OPTIONS, "--epsilon", 4, "--out", "one", "--json") == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert report["guarantee"]["epsilon"] == 4.0
    assert all(Path(path).exists() for path in report["release"])
    assert shown.err == ""
    assert synthesize(table, out="two") == 0
    assert capsys.readouterr() == ("", "")


def test_the_realised_epsilon_is_not_printed(table, capsys):
    for arguments in (["--json"], []):
        out = f"run{len(arguments)}"
        assert run("synthesize", table, *OPTIONS, "--out", out, *arguments) == 0
        shown = capsys.readouterr().out
        summary = read(f"{out}/confidential/summary.json")
        for name in ("delta", "epsilon_per_draw", "epsilon_total"):
            assert f"{summary[name]:.4f}"[:-1] not in shown


def test_names_on_the_command_line_are_those_of_the_library():
    assert tuple(catalogue.MECHANISMS) == NAMES
    assert catalogue.FAMILIES.keys() == FAMILIES.keys()
    assert catalogue.SAMPLERS.keys() == SAMPLERS.keys()


@pytest.mark.parametrize(
    "command", [[], ["synthesize"], ["inspect"], ["ledger"], ["ledger", "set"], ["ledger", "clear"]]
)
def test_help_has_an_example(command, capsys):
    assert run(*command, "--help") == 0
    assert "Example: alphasynth" in capsys.readouterr().out


def test_help_lists_the_choices(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    run("synthesize", "--help")
    shown = capsys.readouterr().out
    for names in (catalogue.MECHANISMS, catalogue.FAMILIES, catalogue.SAMPLERS):
        for name in names:
            assert f"{name}: " in shown


def test_inspect_suggests_a_family_per_column(table, capsys):
    assert run("inspect", table) == 0
    shown = capsys.readouterr().out
    assert "300 rows, 300 of them distinct; 4 columns" in shown
    assert run("inspect", table, "--json") == 0
    columns = {column["name"]: column for column in json.loads(capsys.readouterr().out)["columns"]}
    assert columns["visits"]["family"] == "negative_binomial"
    assert columns["visits"]["distinct"] == visits()["visits"].nunique()
    assert columns["sex"]["family"] is columns["name"]["family"] is None


def start(*arguments, **options):
    environment = {**os.environ, "XDG_CACHE_HOME": str(Path.cwd() / "cache")}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], env=environment, **options)


def test_a_process_of_its_own_prints_nothing_to_a_pipe_but_the_report(table):
    process = start(
        "synthesize", table, *OPTIONS, "--out", "run", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    assert out.startswith(f"{Path.cwd()}/run/release: 1 synthetic table")
    assert "No --epsilon was given" in out
    assert stat.S_IMODE((Path("cache") / "alphasynth").stat().st_mode) == 0o700


def test_version_and_completion(table):
    shown = start("--version", stdout=subprocess.PIPE, text=True).communicate(timeout=60)[0]
    assert shown == f"alphasynth {syn.__version__}\n"
    environment = {
        **os.environ,
        "_ALPHASYNTH_COMPLETE": "complete_bash",
        "COMP_WORDS": "alphasynth synthesize --mechanism LW",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["LW", "LW_final"]


def test_a_terminal_shows_rounds_draws_and_time(table):
    ours, theirs = pty.openpty()
    process = start("synthesize", table, *OPTIONS, "--out", "run", stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    text = shown.decode(errors="replace")
    assert "round 1 of 3: 1,000 draws" in text
    assert "left" in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing_half_written(table, number):
    process = start("synthesize", table, *OPTIONS, "--out", "run", stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(Path().glob(".alphasynth-*")):
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "alphasynth: interrupted; nothing was written\n"
    assert sorted(path.name for path in Path().iterdir()) == ["alphasynth-ledger.sqlite", "cache", "visits.csv"]


def test_killed_at_random_moments_nothing_is_half_written_and_the_ledger_agrees(table, capsys):
    """kill -9, many times; the next command reconciles."""
    source = random.Random(20261115)
    assert run("ledger", "set", "visits", "--cap", 1000) == 0
    arguments = ["synthesize", table, *OPTIONS, "--epsilon", 2, "--dataset", "visits", "--quiet"]
    begin = time.perf_counter()
    assert start(*arguments, "--out", "first").wait(timeout=300) == 0  # fills the cache
    begin = time.perf_counter()
    assert start(*arguments, "--out", "second").wait(timeout=300) == 0
    whole = time.perf_counter() - begin
    for number in range(16):
        process = start(*arguments, "--out", f"run{number}")
        time.sleep(source.uniform(0.3, 1.05) * whole)
        process.kill()
        process.wait()
    capsys.readouterr()
    assert run("ledger", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    folders = {path.name for path in Path().iterdir() if path.is_dir() and path.name != "cache"}
    released = {Path(entry["detail"]["out"]).name for entry in listed["runs"] if entry["state"] == "released"}
    assert folders == released
    assert {entry["state"] for entry in listed["runs"]} <= {"released", "cleared"}
    assert listed["datasets"][0]["released"] == 2.0 * len(released)
    for folder in folders:
        assert sorted(path.name for path in Path(folder, "release").iterdir()) == ["guarantee.json", "synthetic_01.csv"]
        assert len(pd.read_csv(Path(folder, "release", "synthetic_01.csv"))) == 300
    assert not list(Path().glob(".alphasynth-*"))


def test_odd_names_go_in_backticks(tmp_path):
    frame = visits().rename(columns={"visits": "visits (per year)", "age": "count"})
    frame.to_csv("t.csv", index=False)
    assert synthesize("t.csv", "--formula", "`visits (per year)` ~ count", "--public", "count") == 0
    assert list(pd.read_csv("run/release/synthetic_01.csv").columns) == ["visits (per year)", "count"]
    records = pq.read_table("run/confidential/records.parquet")
    assert records.column_names == ["visits (per year)", "count", "count_", "alpha", "lipschitz"]


def test_a_full_disk_leaves_nothing_and_says_so(table):
    """Files may not grow beyond a limit that the ledger keeps and the run folder does not."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); "
    command = [sys.executable, "-c", limited + "from alphasynth.cli import main; main()"]
    environment = {**os.environ, "XDG_CACHE_HOME": "/dev/null"}  # no cache can be kept there, which must not matter
    arguments = ["synthesize", table, *OPTIONS, "--rows", "1000000", "--out", "run"]
    done = subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1
    assert "is the disk full?; nothing was written" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["alphasynth-ledger.sqlite", "visits.csv"]


def test_a_seeded_run_says_so_first(table, capsys):
    assert run("synthesize", table, *OPTIONS, "--seed", 1, "--out", "run") == 0
    assert capsys.readouterr().out.startswith("NOT FOR RELEASE")


def test_the_policys_epsilon_is_stated_as_it_was_written(table, capsys):
    for epsilon in ("0.1", "0.001", "3.333333333"):
        out = f"run{epsilon}"
        more = ["--mechanism", "SW", "--epsilon", epsilon]
        assert run("synthesize", table, *OPTIONS, *more, "--out", out) == 0
        assert f"a policy budget of epsilon {epsilon} for" in capsys.readouterr().out.replace("\n", " ")
        assert f"epsilon {epsilon} for" in read(f"{out}/release/guarantee.json")["statement"]


def test_tables_of_one_draw_are_told_apart(table):
    assert synthesize(table, "--m", 2, "--tables-per-draw", 2) == 0
    draws = {entry["file"]: entry["draw"] for entry in read("run/release/guarantee.json")["tables"]}
    assert draws == {"synthetic_01.csv": 1, "synthetic_02.csv": 1, "synthetic_03.csv": 2, "synthetic_04.csv": 2}


def test_lw_says_what_audits_found(table):
    assert synthesize(table) == 0
    assert "exact audits of LW and LW_final found" in read("run/release/guarantee.json")["promise"]
    assert synthesize(table, "--mechanism", "SW", out="other") == 0
    assert "audits" not in read("other/release/guarantee.json")["promise"]


def test_a_run_repeated_from_elsewhere_keeps_its_ledger(table, tmp_path, monkeypatch, capsys):
    for name in ("here", "there", "runs"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run("ledger", "set", "visits", "--cap", 5) == 0
    assert synthesize(tmp_path / table, "--epsilon", 4, "--dataset", "visits", out="../runs/one") == 0
    monkeypatch.chdir(tmp_path / "there")
    assert run("synthesize", "--config", "../runs/one/confidential/run.toml") == 2
    assert "cap of 5, of which 4 is spent" in capsys.readouterr().err


def test_a_run_under_way_cannot_be_cleared(table, capsys):
    process = start("synthesize", table, *OPTIONS, "--epsilon", 2, "--out", "run", "--quiet")
    while process.poll() is None and not list(Path().glob(".alphasynth-*")):
        time.sleep(0.01)
    run("ledger", "--json")
    name = json.loads(capsys.readouterr().out)["runs"][0]["run"]
    assert run("ledger", "clear", name) == 2
    assert "is under way" in capsys.readouterr().err
    assert process.wait(timeout=120) == 0


def test_many_signals_at_once_end_in_one_clean_exit(table):
    process = start("synthesize", table, *OPTIONS, "--out", "run", stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(Path().glob(".alphasynth-*")):
        time.sleep(0.01)
    time.sleep(0.3)
    for _ in range(8):
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "alphasynth: interrupted; nothing was written\n"
    assert not list(Path().glob(".alphasynth-*"))


@pytest.mark.parametrize("listener", ["/dev/full", "closed"])
def test_a_run_that_no_one_listens_to_is_whole_all_the_same(table, listener):
    if listener == "closed":
        ours, theirs = os.pipe()
        os.close(ours)
    else:
        theirs = os.open(listener, os.O_WRONLY)
    process = start("synthesize", table, *OPTIONS, "--out", "run", stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert Path("run/release/guarantee.json").exists()


def test_a_file_changed_during_a_run_is_refused(table, capsys, monkeypatch):
    fit = syn.Synthesizer.fit

    def changing(self, *args):
        fitted = fit(self, *args)
        visits(301).to_csv(table, index=False)
        return fitted

    monkeypatch.setattr("alphasynth.job.Synthesizer.fit", changing)
    assert synthesize(table) == 2
    assert "must not change while it is read" in capsys.readouterr().err
    assert not Path("run").exists()


def test_sorted_rows(table, capsys):
    visits().sort_values("visits").to_csv(table, index=False)
    assert synthesize(table, "--public", "age") == 2
    assert "--sort-rows" in capsys.readouterr().err
    assert synthesize(table, "--public", "age", "--sort-rows") == 0
    assert pd.read_csv("run/release/synthetic_01.csv")["age"].is_monotonic_increasing


def test_names_that_differ_in_case_alone_stay_as_they_are(tmp_path):
    table = pa.table({"y": visits()["visits"].to_numpy(), "Y": ['a "b"', None, "c,d"] * 100})
    pq.write_table(table, tmp_path / "t.parquet")
    assert synthesize("t.parquet", "--formula", "y ~ 1", "--public", "Y", "--format", "csv") == 0
    released = pd.read_csv("run/release/synthetic_01.csv", keep_default_na=False)
    assert list(released.columns) == ["y", "Y"]
    assert released["Y"].tolist() == ['a "b"', "", "c,d"] * 100


@pytest.mark.parametrize(
    ("kind", "name"), [("stata", "Visits.GP"), ("spss", "größe"), ("xport", "a b"), ("stata", "2017")]
)
def test_a_name_that_a_format_cannot_hold_is_refused_before_anything_is_done(tmp_path, capsys, kind, name):
    visits().rename(columns={"age": name}).to_csv("t.csv", index=False)
    assert synthesize("t.csv", "--public", f'"{name}"', "--format", kind) == 2
    assert f"column '{name}' must have a name that a" in capsys.readouterr().err
    assert not Path("alphasynth-ledger.sqlite").exists()


@pytest.mark.parametrize("kind", ["stata", "spss", "xport"])
def test_whole_numbers_beyond_2_to_the_53_are_not_rounded(tmp_path, capsys, kind):
    pq.write_table(pa.table({"y": visits()["visits"].to_numpy(), "id": np.arange(300) + 2**53 + 1}), "t.parquet")
    assert synthesize("t.parquet", "--formula", "y ~ 1", "--public", "id", "--format", kind) == 2
    assert "must hold whole numbers of up to 2^53" in capsys.readouterr().err
    assert not Path("run").exists()


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt"])
def test_labels_and_formats_of_released_columns_are_kept(tmp_path, suffix):
    frame = visits()[["visits", "age"]].astype("int32").assign(sex=np.tile([1, 2], 150).astype("int32"))
    frame["secret"] = 1
    writer = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}[suffix]
    labels = {"visits": "Visits to a doctor", "sex": "Sex", "secret": "canary label"}
    more = (
        {}
        if suffix == ".xpt"
        else {"variable_value_labels": {"sex": {1: "male", 2: "female"}, "secret": {1: "canary"}}}
    )
    writer(frame, str(tmp_path / f"t{suffix}"), column_labels=labels, **more)
    assert synthesize(tmp_path / f"t{suffix}", "--public", "age,sex") == 0
    reader = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}[suffix]
    path = tmp_path / f"run/release/synthetic_01{suffix}"
    released, meta = reader(str(path))
    assert list(released.columns) == ["visits", "age", "sex"]
    assert meta.column_names_to_labels["visits"] == "Visits to a doctor"
    if suffix != ".xpt":
        assert meta.variable_value_labels == {"sex": {1: "male", 2: "female"}}
    if suffix == ".dta":
        assert released.dtypes.astype(str).tolist() == ["int64", "int64", "int64"]  # whole, as in the input
    if suffix == ".xpt":
        assert b"LIBRARY HEADER" in path.read_bytes()[:80]  # version 5, which every SAS and R reads
    assert b"canary" not in path.read_bytes()


def test_a_published_run_cannot_be_cleared(table, capsys, monkeypatch):
    """Though it died before the ledger had noted its release."""
    append = Ledger.append

    def dies(self, event, *args, **kwargs):
        if event == "release":
            raise InputError("the ledger cannot be written")
        append(self, event, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "append", dies)
        assert synthesize(table, "--epsilon", 8) == 0
    ledger = Ledger.open(Path("alphasynth-ledger.sqlite"))
    with ledger.transaction() as connection:
        (entry,) = ledger.entries(connection)
    assert entry.state == "reserved"
    assert run("ledger", "clear", entry.run) == 2
    assert "stays spent" in capsys.readouterr().err


def test_a_ledger_named_before_the_command_is_the_one(capsys):
    assert run("ledger", "--ledger", "mine.sqlite", "set", "visits", "--cap", 5) == 0
    assert [path.name for path in Path().iterdir()] == ["mine.sqlite"]


@pytest.mark.parametrize("wait", [0.0, 0.005, 0.02, 0.05, 0.1])
def test_a_signal_after_the_folder_stands_does_not_deny_it(table, wait):
    process = start("synthesize", table, *OPTIONS, "--out", "run", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while process.poll() is None and not Path("run").exists():
        time.sleep(0.001)
    time.sleep(wait)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"nothing was written" not in err


def test_only_a_run_says_that_nothing_was_written():
    with open("/dev/full", "w") as full:
        process = start("ledger", "set", "C", "--cap", 3, stdout=full, stderr=subprocess.PIPE, text=True)
        _, err = process.communicate(timeout=60)
    assert "nothing was written" not in err


@pytest.mark.parametrize("kind", ["stata", "spss", "xport"])
def test_times_come_out_right_and_odd_types_are_refused(tmp_path, capsys, kind):
    times = pa.array([1_577_836_800 + 86_400 * i for i in range(300)], pa.timestamp("s"))
    fees = pa.array([i / 4 for i in range(300)]).cast(pa.decimal128(10, 2))
    table = pa.table({"y": visits()["visits"].to_numpy(), "t": times, "fee": fees, "raw": [b"x"] * 300})
    pq.write_table(table, "t.parquet")
    more = ["--formula", "y ~ 1", "--format", kind]
    assert synthesize("t.parquet", *more, "--public", "t,fee") == 0
    released = FORMATS[kind](str(next(Path("run/release").glob("synthetic_01.*"))))
    assert pd.to_datetime(released["t"]).tolist() == pd.to_datetime(times.to_pandas()).tolist()
    assert released["fee"].tolist() == [i / 4 for i in range(300)]
    assert synthesize("t.parquet", *more, "--public", "raw", out="other") == 2
    assert "column 'raw' must be of a type that a" in capsys.readouterr().err


def test_times_with_a_zone_keep_it_whatever_zone_this_machine_is_in(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    times = pa.array([1_577_836_800] * 300, pa.timestamp("s", tz="America/New_York"))
    pq.write_table(pa.table({"y": visits()["visits"].to_numpy(), "t": times}), "t.parquet")
    assert synthesize("t.parquet", "--formula", "y ~ 1", "--public", "t", "--format", "csv") == 0
    assert set(pd.read_csv("run/release/synthetic_01.csv")["t"]) == {"2019-12-31 19:00:00.000-0500"}


def test_messages_about_a_formula_quote_no_level(table, capsys):
    for formula in ("visits ~ bs(sex, df=4)", "visits ~ sex + C(sex)"):
        visits().assign(sex=np.tile(["SECRET0", "SECRET1"], 150)).to_csv(table, index=False)
        assert synthesize(table, "--formula", formula, "--public", "sex") == 2
        assert "SECRET" not in capsys.readouterr().err


def test_the_unit_is_another_column_and_a_name_is_a_name(table, capsys):
    assert synthesize(table, "--unit", "visits", "--max-rows", 1) == 2
    assert "--unit must be another column" in capsys.readouterr().err
    assert synthesize(table, "--dataset", " ") == 2
    assert "--dataset must be a name" in capsys.readouterr().err
