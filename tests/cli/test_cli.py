"""The command line as a user meets it: one command from a file to a run folder, and one sentence when it cannot be."""

from __future__ import annotations

import json
import re
import stat
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import alphasynth as syn
from alphasynth import catalogue
from alphasynth.mechanisms.named import NAMES
from alphasynth.models.families import FAMILIES
from alphasynth.privacy.randomness import Unseeded
from alphasynth.runs.from_settings import SAMPLERS
from command_line import HUGE, NO_CLAIM, OPTIONS, read, run, synthesize, visits

pytestmark = pytest.mark.usefixtures("alone")


def test_one_command_from_a_file_to_a_run_folder(table, capsys):
    assert run("synthesize", table, *OPTIONS, "--epsilon", 8, "--out", "run") == 0
    shown = capsys.readouterr()
    assert "release: 1 synthetic table, guarantee.json, report.html" in shown.out
    assert "alphasynth-ledger.sqlite: the ledger" in shown.out
    assert all(line.startswith("alphasynth: the draw audit") for line in shown.err.splitlines())
    released = ["guarantee.json", "report.html", "synthetic_01.csv"]
    assert sorted(path.name for path in Path("run/release").iterdir()) == released
    confidential = ["draws.parquet", "records.parquet", "report.html", "rounds.parquet", "run.toml", "summary.json"]
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
            # To six digits anywhere; fewer could be a statistic's own, and may stand beside no epsilon or Delta.
            assert f"{number:#.6g}"[:-1] not in text or path.suffix == ".csv"
            # All digits, also where the last ones are 0: of a 6 nothing would be left to look for.
            assert not re.search(rf"(epsilon|Delta|bound)[^0-9]{{0,40}}{re.escape(f'{number:#.3g}'[:-1])}", text)


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
    rounds = pq.read_table("run/confidential/rounds.parquet").to_pandas()
    for weighting, fit in zip(fitted.weightings_, fitted.trail_.fits, strict=True):
        mine = draws[draws["round"] == weighting.label]
        assert np.array_equal(mine["phi"], fit.draws.theta["phi"])
        assert np.array_equal(mine["mu"], weighting.mu)
        assert np.array_equal(rounds[rounds["round"] == weighting.label]["alpha"], weighting.alpha)
        assert np.array_equal(rounds[rounds["round"] == weighting.label]["lipschitz"], weighting.lipschitz)
    assert draws[draws["released"]]["round"].tolist() == ["LW_final"]
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
    made, begin = [], Unseeded.__init__

    def recorded(self, entropy=None, *rest):
        begin(self, entropy, *rest)
        if entropy is None:
            made.append((self.entropy, self.hidden))

    monkeypatch.setattr(Unseeded, "__init__", recorded)
    assert synthesize(table, "--epsilon", 8) == 0
    assert len(made) == len(set(made)) == 2
    for entropy, hidden in made:
        assert entropy.bit_length() > 96  # 128 bits; that the first 32 are 0 has odds of 1 in 2^32
        assert len(set(hidden)) > 16  # of 32 bytes; odds of fewer are below 1 in 2^30


@pytest.mark.slow
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


def test_a_covariate_must_be_declared_public_and_the_error_says_why(table, capsys):
    assert synthesize(table, "--formula", "visits ~ age") == 2
    message = capsys.readouterr().err
    assert "'age'" in message
    assert "the guarantee does not cover" in message
    assert not Path("run").exists()


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["synthesize"], "a run needs TABLE, --formula, --family, --out"),
        (["synthesize", "nowhere.csv", *OPTIONS, "--out", "run"], "found none at 'nowhere.csv'"),
        (["synthesize", "duckdb://x::t", *OPTIONS, "--out", "run", "--by-row"], "--by-row needs a file"),
        (["frobnicate"], "frobnicate"),
        (["inspect", "nowhere.csv"], "found none"),
        (["ledger", "set", "x"], "cap"),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_nothing(table, tmp_path, capsys, arguments, message):
    is_refused(arguments, message, tmp_path, capsys)


def is_refused(arguments, message, folder, capsys):
    """One sentence, and no file beside the table and the ledger."""
    assert run(*arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.startswith("alphasynth: ")
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert {path.name for path in folder.iterdir()} <= {"visits.csv", "alphasynth-ledger.sqlite"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--out", "no/where"], "folder that exists"),
        (["--out", "visits.csv"], "must not exist yet"),
        (["--m", "0"], "--m must be a whole number"),
        (["--m", "two"], "--m"),
        (["--epsilon", "-1"], "epsilon must be positive"),
        (["--family", "gumbel"], "poisson, negative_binomial"),
        (["--mechanism", "XW"], "Unweighted, LW, CW, SW"),
        (["--mechanism", "lwfinal"], "did you mean LW_final?"),
        (["--draws", "5"], "--draws must be a whole number"),
        (HUGE, "must be finite"),
        (["--mechanism", "CW"], "needs a radius"),
        (["--format", "xlsx"], "--format must be one of csv"),
        (["--sampler", "magic"], "--sampler must be one of"),
        (["--k", "most"], "--k must be auto or a number"),
        (["--prior", "flat"], "--prior must be one of"),
        (["--prior", "normal:x"], "number for its scale"),
        (["--unit", "name"], "given together"),
        (["--public", "visits"], "must not be declared public"),
        (["--public", "height"], "'height' (declared public) is not"),
        (["--colour", "red"], "--colour"),
        (["--formula", "name ~ 1"], "not numeric"),
    ],
)
def test_a_bad_option_gets_one_sentence_and_leaves_nothing(table, tmp_path, capsys, more, message):
    is_refused(["synthesize", "visits.csv", *OPTIONS, "--out", "run", *more], message, tmp_path, capsys)


def test_draws_that_cannot_be_used_are_said_and_nothing_is_left(tmp_path, capsys):
    pd.DataFrame({"y": [0] * 99 + [1]}).to_csv("t.csv", index=False)
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

    monkeypatch.setattr("alphasynth.runs.run.write_table", broken)
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
    assert all(line.startswith("alphasynth: the draw audit") for line in shown.err.splitlines())
    assert synthesize(table, *NO_CLAIM, out="two") == 0
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
    assert tuple(catalogue.MECHANISMS) == (*NAMES, *catalogue.OF_COLUMNS)
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
    run("synthesize", "--help-all")
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


@pytest.mark.slow
def test_odd_names_go_in_backticks(tmp_path):
    frame = visits().rename(columns={"visits": "visits (per year)", "age": "count"})
    frame.to_csv("t.csv", index=False)
    assert synthesize("t.csv", "--formula", "`visits (per year)` ~ count", "--public", "count") == 0
    assert list(pd.read_csv("run/release/synthetic_01.csv").columns) == ["visits (per year)", "count"]
    records = pq.read_table("run/confidential/records.parquet")
    assert records.column_names == ["visits (per year)", "count", "count_", "alpha", "lipschitz"]


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


def test_the_papers_mechanisms_say_what_audits_found(table):
    assert synthesize(table) == 0
    assert "exact audits of LW and LW_final found" in read("run/release/guarantee.json")["promise"]
    assert synthesize(table, "--mechanism", "SW", out="scalar") == 0
    assert "exact audits of SW aimed at an epsilon found" in read("scalar/release/guarantee.json")["promise"]
    assert synthesize(table, "--mechanism", "CW", "--radius", 3, out="other") == 0
    assert "exact audits of CW and CW_final found" in read("other/release/guarantee.json")["promise"]


def test_a_file_changed_during_a_run_is_refused(table, capsys, monkeypatch):
    fit = syn.Synthesizer.fit

    def changing(self, *args):
        fitted = fit(self, *args)
        visits(301).to_csv(table, index=False)
        return fitted

    monkeypatch.setattr("alphasynth.runs.run.Synthesizer.fit", changing)
    assert synthesize(table) == 2
    assert "must not change while it is read" in capsys.readouterr().err
    assert not Path("run").exists()


def test_sorted_rows(table, capsys):
    visits().sort_values("visits").to_csv(table, index=False)
    assert synthesize(table, "--public", "age") == 2
    assert "--sort-rows" in capsys.readouterr().err
    assert synthesize(table, "--public", "age", "--sort-rows") == 0
    assert pd.read_csv("run/release/synthetic_01.csv")["age"].is_monotonic_increasing


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
