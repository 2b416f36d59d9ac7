"""The pages of a run: what is in them, what is not, and where they come from."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import stat
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.pages import page, public_page
from alphasynth.pages.comparison_page import comparison_page
from alphasynth.pages.public_inputs import contribution_words
from alphasynth.privacy.accounting import round_up
from alphasynth.privacy.strict_terms import Contribution, Part
from alphasynth.runs.report import render_run
from alphasynth.runs.results import read_release, read_run
from command_line import NO_CLAIM, read, run, synthesize, visits

POISSON = ["--formula", "visits ~ 1", "--family", "poisson", "--mechanism", "SW", "--m", "1"]
pytestmark = pytest.mark.usefixtures("alone")


def words(html):
    """What a page says, without its tags."""
    body = re.sub(r"<(script|style|title)>.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)))


def text_of(path):
    return words(Path(path).read_text())


def test_a_run_has_both_pages(table, capsys):
    assert synthesize(table, "--m", "3", "--epsilon", "60") == 0
    assert run("synthesize", table, *POISSON, "--out", "b") == 0
    assert "synthetic table, guarantee.json, report.html" in capsys.readouterr().out
    inside, public = text_of("run/confidential/report.html"), text_of("run/release/report.html")
    summary = read("run/confidential/summary.json")
    assert inside.startswith(" CONFIDENTIAL Run report: visits, LW_final CONFIDENTIAL.")
    for title in ("What is claimed", "Weights and Lipschitz bounds", "Utility", "Empirical risk"):
        assert title in inside
    assert summary["guarantee"] in inside
    for figure in ("lipschitz", "lipschitz_against_weight", "weights", "weight_histograms", "statistics", "mu"):
        assert f'id="figure-{figure}"' in Path("run/confidential/report.html").read_text()
    assert "CONFIDENTIAL" not in public
    assert read("run/release/guarantee.json")["statement"] in public
    assert "synthetic_03.csv" in public
    assert "NOT FOR RELEASE" not in public


def test_no_pages_unless_wanted(table, capsys):
    assert run("synthesize", table, *POISSON, "--out", "run", "--no-report") == 0
    assert "report.html" not in capsys.readouterr().out
    assert not list(Path("run").rglob("report.html"))
    assert run("report", "run") == 0
    assert len(list(Path("run").rglob("report.html"))) == 2
    # The setting is repeated with the run.
    assert run("synthesize", "--config", "run/confidential/run.toml", "--quiet") == 0
    assert not list(Path("run-2").rglob("report.html"))


def pages(out="run"):
    return [Path(f"{out}/{folder}/report.html").read_bytes() for folder in ("confidential", "release")]


def test_rendering_again_gives_the_same_pages(table):
    assert synthesize(table, "--m", "2") == 0
    before = pages()
    assert run("report", "run") == 0
    assert pages() == before
    assert stat.S_IMODE(Path("run/confidential/report.html").stat().st_mode) == 0o600
    assert not list(Path("run").rglob(".report*"))


def test_a_run_reads_back_nothing_but_its_tables(table, monkeypatch):
    for name in ("_json", "_toml", "_parquet"):
        monkeypatch.delattr(f"alphasynth.runs.results.{name}")
    assert synthesize(table) == 0
    assert len(pages()) == 2
    with pytest.raises(NameError):
        read_run(Path("run"))


@pytest.mark.slow
def test_the_public_page_comes_from_the_release_alone(table, tmp_path):
    """The folder release/ by itself, elsewhere, gives the same page to the last byte."""
    assert synthesize(table, "--formula", "visits ~ age", "--public", "age", "--m", "2", "--tables-per-draw", "2") == 0
    shutil.copytree("run/release", tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere" / "report.html").read_text()
    (tmp_path / "elsewhere" / "report.html").unlink()
    shutil.rmtree("run")
    assert page.render(public_page.build(read_release(tmp_path / "elsewhere"))) == before


def test_the_public_page_of_a_release_in_memory(mixture):
    release = (
        syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="SW", alpha=0.3, m=2, seed=1)
        .fit(mixture)
        .release()
    )
    html = page.render(public_page.build(release))
    assert "NOT FOR RELEASE" in words(html)
    assert "table 2" in words(html)


def test_the_public_page_has_nothing_of_the_run(table):
    assert synthesize(table, "--m", "2", "--dataset", "our register", "--unit", "name", "--max-rows", "1") == 0
    public = Path("run/release/report.html").read_text()
    summary = read("run/confidential/summary.json")
    assert "our register" not in public
    assert summary["run"] not in public
    assert str(Path.cwd()) not in public
    for number in (summary["delta"], summary["epsilon_total"], summary["rounds"][1]["mean_alpha"]):
        assert f"{number:.4f}" not in public
        assert f"{number:.4g}" not in words(public)


@pytest.mark.parametrize(("mechanism", "flagged"), [("LW", True), ("CW", True), ("SW", False), ("Unweighted", False)])
def test_vector_weights_are_flagged(table, mechanism, flagged):
    options = ["--radius", "5"] if mechanism == "CW" else []
    assert synthesize(table, "--mechanism", mechanism, "--m", "2", *options) == 0
    for folder in ("confidential", "release"):
        said = text_of(f"run/{folder}/report.html")
        assert ("No interval here covers as often as it says" in said) == flagged
        assert ("sd ‡" in said) == flagged
        assert "mean ‡" not in said


@pytest.mark.slow
def test_one_draw_gives_no_interval(table):
    assert synthesize(table) == 0
    public, inside = (text_of(f"run/{folder}/report.html") for folder in ("release", "confidential"))
    assert "from one draw of parameters: they give estimates, and no honest interval" in public
    assert "T = W" not in public
    assert "One draw leaves B unknown" in inside
    assert synthesize(table, "--m", "2", out="two") == 0
    assert "no honest interval" not in text_of("two/release/report.html")


def test_intervals_are_those_of_the_library(table):
    """The page's combined interval of the mean, from the published files and the rule written out."""
    assert synthesize(table, "--m", "4", "--tables-per-draw", "2", "--rows", "150") == 0
    tables = [pd.read_csv(path) for path in sorted(Path("run/release").glob("*.csv"))]
    q = np.array([t["visits"].mean() for t in tables]).reshape(4, 2).mean(axis=1)
    w = np.mean([t["visits"].var() / 150 for t in tables])
    variance = w * 150 / 300 + q.var(ddof=1) / 4
    found = re.search(r"mean ([\d.]+) ([\d.]+) to ([\d.]+)", text_of("run/release/report.html"))
    estimate, low, high = (float(part) for part in found.groups())
    assert estimate == pytest.approx(q.mean(), rel=1e-3)
    # W comes from 1,000 resamples (s.e. 4.5 % of it) and the quantile is Student's, a little above 1.96.
    assert (high - low) / 2 == pytest.approx(2.1 * variance**0.5, rel=0.2)


@pytest.mark.slow
def test_the_program_on_the_public_page_runs(table, monkeypatch, capsys):
    for kind in ("csv", "tsv", "parquet", "arrow", "feather", "spss", "stata", "xport"):
        assert synthesize(table, "--m", "3", "--tables-per-draw", "2", "--format", kind, out=kind) == 0
        html = Path(f"{kind}/release/report.html").read_text()
        program = unescape(re.search(r"<pre><code>(.*?)</code></pre>", html, re.DOTALL)[1])
        monkeypatch.chdir(f"{kind}/release")
        exec(compile(program, kind, "exec"), {})
        monkeypatch.chdir("../..")
        estimate, low, high = (float(part) for part in capsys.readouterr().out.split())
        assert low < estimate < high
        shown = re.search(r"mean ([\d.]+) [\d.]+ to", text_of(f"{kind}/release/report.html"))
        assert float(shown[1]) == pytest.approx(estimate, rel=1e-3)


@pytest.mark.slow
def test_covariates_are_compared(alone):
    visits().to_parquet("t.parquet")
    options = ["--formula", "visits ~ age + C(sex)", "--public", "age,sex", "--mechanism", "SW", "--m", "2"]
    assert synthesize("t.parquet", *options) == 0
    said = text_of("run/confidential/report.html")
    for part in ("Spearman's rho", "correlation ratio eta", "C(sex)[T.m]", "Match rates of aligned rows (empirical)"):
        assert part in said
    assert "log-linear (quasi-Poisson)" in said


def test_a_cw_run_shows_the_risk_at_its_own_radius(table):
    assert synthesize(table, "--mechanism", "CW_final", "--radius", "7", "--absolute") == 0
    assert "radius 7" in text_of("run/confidential/report.html")


@pytest.mark.slow
def test_figures_as_files(table, capsys):
    assert synthesize(table) == 0
    assert run("report", "run", "--figures") == 0
    assert "figures; not for release" in capsys.readouterr().out
    names = sorted(path.name for path in Path("run/confidential/figures").iterdir())
    stems = {name.split(".")[0] for name in names}
    wanted = {
        "lipschitz",
        "lipschitz_against_weight",
        "weights",
        "weight_histograms",
        "statistics",
        "mu",
        "values_visits",
    }
    assert wanted | {"identification_risk"} == stems
    assert len(names) == 3 * len(stems)
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path("run/confidential/figures").iterdir()} == {0o600}
    assert sorted(path.name for path in Path("run/release").iterdir()) == [
        "guarantee.json",
        "report.html",
        "synthetic_01.csv",
    ]


@pytest.mark.slow
def test_too_many_distinct_rows_leave_the_covariates_out(alone, monkeypatch):
    monkeypatch.setattr("alphasynth.runs.results.MOST_ROWS", 50)
    visits().to_csv("t.csv", index=False)
    assert synthesize("t.csv", "--formula", "visits ~ age", "--public", "age", "--m", "2") == 0
    said = text_of("run/confidential/report.html")
    assert "only the synthesized column is compared" in said
    assert "Spearman" not in said


@pytest.mark.slow
def test_the_number_of_distinct_rows_is_not_seen_on_the_public_page(alone, monkeypatch):
    """Its columns are chosen by how many rows there are, which is public, whether few or many of them differ."""
    monkeypatch.setattr("alphasynth.runs.results.MOST_ROWS", 50)
    found = []
    for name, ages in (("few", 2), ("many", 60)):
        visits().assign(age=np.arange(len(visits())) % ages).to_csv("t.csv", index=False)
        assert synthesize("t.csv", "--formula", "visits ~ age", "--public", "age", "--m", "1", "--out", name) == 0
        found.append([table.column_names for table in read_run(Path(name)).release.tables])
    assert found[0] == found[1] == [("visits",)]


def changed(**fields):
    path = Path("run/release/guarantee.json")
    path.write_text(json.dumps({**read(path), **fields}))


def linked():
    path = Path("run/release/synthetic_01.csv")
    path.rename("moved.csv")
    path.symlink_to(Path("moved.csv").absolute())


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda: shutil.rmtree("run"), "a run folder must exist, found none at 'run'"),
        (lambda: Path("run/release/guarantee.json").unlink(), "must hold release/guarantee.json, found none"),
        (
            lambda: Path("run/release/guarantee.json").write_text("{"),
            "release/guarantee.json must be as alphasynth wrote it",
        ),
        (lambda: Path("run/release/guarantee.json").write_text("{}"), "must be one that alphasynth wrote"),
        (lambda: Path("run/release/guarantee.json").write_text("[1]"), "must be as alphasynth wrote it"),
        (lambda: Path("run/confidential/summary.json").unlink(), "must hold confidential/summary.json"),
        (lambda: Path("run/confidential/rounds.parquet").unlink(), "must hold confidential/rounds.parquet"),
        (lambda: Path("run/confidential/draws.parquet").write_text("x"), "must be as alphasynth wrote it"),
        (lambda: Path("run/release/synthetic_01.csv").unlink(), "table must be a file or URL::table, found none"),
        (lambda: changed(policy_epsilon="x"), "must be one that alphasynth wrote"),
        (lambda: changed(tables=[{"file": "../confidential/run.toml"}]), "must be one that alphasynth wrote"),
        (lambda: changed(tables=[]), "must be one that alphasynth wrote"),
        (lambda: changed(formula="visits ~ {open('hit', 'w')}"), "must be of one run, found two"),
        (lambda: changed(n=7), "must be of one run, found two"),
        (linked, "must hold its tables, found a link"),
    ],
)
def test_what_is_no_run_folder(table, capsys, harm, sentence):
    assert synthesize(table, "--no-report") == 0
    harm()
    assert run("report", "run") == 2
    assert sentence in capsys.readouterr().err
    assert not list(Path().rglob("report.html"))
    assert not Path("hit").exists()


def test_a_fault_in_a_page_does_not_cost_the_run(table, monkeypatch, capsys):
    def fail(results):
        raise ZeroDivisionError("a confidential 12345")

    monkeypatch.setattr("alphasynth.runs.report.render_run", fail)
    assert synthesize(table) == 0
    said = capsys.readouterr().err
    assert "the run stands without its confidential page, which could not be rendered: ZeroDivisionError" in said
    assert "12345" not in said
    released = sorted(path.name for path in Path("run/release").iterdir())
    assert released == ["guarantee.json", "report.html", "synthetic_01.csv"], "what is released does not tell of it"
    assert read("run/confidential/summary.json")["n"] == 300
    monkeypatch.setattr("alphasynth.pages.public_page.build", fail)
    assert synthesize(table, out="other") == 0
    assert "without its public page" in capsys.readouterr().err
    assert not Path("other/release/report.html").exists()


@pytest.mark.slow
def test_types_that_a_format_does_not_keep(alone, capsys):
    """Codes that are text, truth values, a column that only a rule reads: the pages come out all the same."""
    rng = np.random.default_rng(1)
    frame = visits().assign(code=rng.choice(["1", "2"], 300), old=rng.random(300) < 0.5)
    frame.to_parquet("t.parquet")
    options = ["--formula", "visits ~ code + old", "--public", "code,old", "--mechanism", "SW", "--m", "2"]
    for kind in ("csv", "parquet", "spss", "stata", "xport", "feather"):
        assert synthesize("t.parquet", *options, "--format", kind, out=kind) == 0
        assert "pages" not in capsys.readouterr().err
        said = text_of(f"{kind}/confidential/report.html")
        assert "code[T.2]" in said
        assert "Match rates of aligned rows" in said
        score = float(re.search(r"two-way products ([\d.e-]+) ([\d.e-]+) ([\d.]+) 600", said)[3])
        assert score < 10
        before = pages(kind)
        assert run("report", kind) == 0
        assert pages(kind) == before, "from what the run has at hand, and from its folder"
    options = ["--mechanism", "CW", "--radius", "0.2", "--relative", "--within", "sex", "--seed", 1]
    assert synthesize("t.parquet", *options) == 0
    assert "pages" not in capsys.readouterr().err
    assert Path("run/release/report.html").exists()


def test_public_numbers_that_are_shown_rounded_are_said_to_be():
    parts = (Part("start", 0.075), Part("round", 0.1 + 0.2, {"clip": 18.143568075216074, "quanta": 2**20}))
    _, start, rounds = contribution_words(Contribution("y", "Scored", parts))
    assert start.endswith("epsilon 0.075")
    assert rounds.endswith("clip about 18.14, quanta 1048576, epsilon at most 0.3001")


def test_tables_of_one_row(table, capsys):
    assert synthesize(table, *NO_CLAIM, "--rows", "1", "--m", "3") == 0
    assert capsys.readouterr().err == ""
    assert "synthetic_03.csv" in text_of("run/release/report.html")


@pytest.mark.slow
def test_what_the_public_page_says_of_public_columns(table):
    options = ["--formula", "visits ~ age", "--public", "age,sex", "--m", "2"]
    assert synthesize(table, *options) == 0
    said = text_of("run/release/report.html")
    assert "keep the relation of visits ~ age as far as the model has it" in said
    assert "unrelated to what is not in the model: sex" in said
    assert "drawn anew" not in said
    assert synthesize(table, *options, "--rows", "50", out="fewer") == 0
    assert "their rows were drawn anew, with replacement" in text_of("fewer/release/report.html")
    assert synthesize(table, "--mechanism", "Unweighted", out="plain") == 0
    assert "confidential records, without weights" in text_of("plain/release/report.html")


def test_no_one_else_can_read_a_confidential_page_while_it_is_written(table, monkeypatch):
    assert synthesize(table, "--no-report") == 0
    modes, replace = {}, os.replace

    def spy(source, target):
        modes[Path(target).parent.name] = stat.S_IMODE(Path(source).stat().st_mode)
        replace(source, target)

    monkeypatch.setattr("os.replace", spy)
    assert run("report", "run") == 0
    assert modes["confidential"] == 0o600
    assert modes["release"] & 0o044


def test_a_seeded_run_says_so(table, capsys):
    assert synthesize(table, "--seed", "1") == 0
    assert run("report", "run") == 0
    assert capsys.readouterr().out.startswith("NOT FOR RELEASE")


def test_a_page_that_cannot_be_written_leaves_the_old_one(table, monkeypatch):
    assert synthesize(table) == 0
    before = Path("run/release/report.html").read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    assert run("report", "run") == 1
    assert Path("run/release/report.html").read_bytes() == before
    assert not list(Path("run").rglob(".report*"))


@pytest.mark.slow
def test_synthesizers_side_by_side(mixture):
    settings = {"family": "negative_binomial", "m": 3, "seed": 5, "num_draws": 400}
    fitted = [syn.Synthesizer("y ~ 1", mechanism=name, **settings).fit(mixture) for name in ("LW", "SW", "LW_final")]
    html = comparison_page(mixture, fitted)
    said = words(html)
    assert said.startswith(" CONFIDENTIAL Synthesizers of y compared CONFIDENTIAL")
    assert re.findall(r'<input type="checkbox" value="([^"]+)"', html) == ["LW", "SW", "LW_final", "confidential"]
    assert "LW and LW_final: before and after" in said
    for synthesizer in fitted:
        assert round_up(synthesizer.guarantee_.epsilon_total) in said
    with pytest.raises(InputError, match="found 'LW' twice"):
        comparison_page(mixture, [fitted[0], fitted[0]])
    with pytest.raises(InputError, match="at least one"):
        comparison_page(mixture, [])
    other = syn.Synthesizer("z ~ 1", mechanism="LW", **settings).fit(mixture.rename(columns={"y": "z"}))
    with pytest.raises(InputError, match="same columns"):
        comparison_page(mixture, [fitted[0], other])


def test_bounds_on_the_page_are_never_rounded_down(table):
    assert synthesize(table, "--m", "2") == 0
    rounds = read("run/confidential/summary.json")["rounds"]
    html = Path("run/confidential/report.html").read_text()
    for entry in rounds:
        for exact in (entry["delta"], entry["epsilon"]):
            shown = re.findall(rf'data-value="{re.escape(repr(exact))}">([^<]+)<', html)
            assert shown
            assert all(float(text.replace(",", "")) >= exact for text in shown)
        tips = re.findall(rf'data-tip="{entry["label"]}: largest bound: ([^"]+)"', html)
        tips += re.findall(rf'data-tip="{entry["label"]}: median [^"]* to ([^"]+)"', html)[:1]
        assert tips
        assert all(float(text) >= entry["delta"] for text in tips)
    numbers = re.search(r'download="lipschitz.csv"[^>]* href="data:text/csv;base64,([^"]+)"', html)
    assert repr(rounds[-1]["delta"]) in base64.b64decode(numbers[1]).decode()
    points = re.findall(r'data-tip="weight [\d.]+, bound ([\d.]+), \d+ records?"', html)
    assert max(float(point) for point in points) >= max(entry["delta"] for entry in rounds[1:])


def test_custom_labels_of_rounds(mixture):
    mechanism = syn.Mechanism("LW", rules=(syn.LW(), syn.Reweight(k=0.9)))
    fitted = syn.Synthesizer("y ~ 1", family="poisson", mechanism=mechanism, m=1, seed=1).fit(mixture)
    assert [w.label for w in fitted.weightings_] == ["Unweighted", "LW (round 2)", "LW"]


@pytest.mark.slow
def test_mu_is_the_models_mean(mixture, regression):
    fitted = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Unweighted", m=1, seed=1).fit(mixture)
    assert np.array_equal(fitted.weightings_[0].mu, np.exp(fitted.trail_.fits[0].draws.theta["beta"][:, 0]))
    settings = {"family": "poisson", "mechanism": "Unweighted", "m": 1, "seed": 1, "public": ("age", "sex")}
    fitted = syn.Synthesizer("visits ~ age + C(sex)", **settings).fit(regression)
    X = np.column_stack([np.ones(400), regression["sex"] == "m", regression["sex"] == "x", regression["age"]])
    beta = fitted.trail_.fits[0].draws.theta["beta"]
    means = np.exp(beta @ X[:, [0, 3, 1, 2]].T.astype(float)).mean(axis=1)
    assert fitted.weightings_[0].mu == pytest.approx(means)


def test_mu_of_very_many_designs_is_that_of_a_sample(regression, monkeypatch):
    settings = {"family": "poisson", "mechanism": "Unweighted", "m": 1, "seed": 1, "public": ("age",)}
    fitted = syn.Synthesizer("visits ~ age", **settings).fit(regression)
    whole = fitted.weightings_[0].mu
    monkeypatch.setattr("alphasynth.mechanisms.rounds.MOST_LINES", 200)
    part = fitted.weightings_[0].mu
    # The mean of exp(eta) over 200 of the lines: its spread over ages is about 40 %, so the s.e. is 3 %; four of them.
    assert part.mean() == pytest.approx(whole.mean(), rel=0.12)
    assert not np.array_equal(part, whole)


def test_render_run_needs_no_table(table):
    assert synthesize(table, "--no-report") == 0
    Path(table).unlink()
    rendered = render_run(read_run(Path("run")))
    assert len(rendered.figures) == 8


def test_a_page_that_finds_the_disk_full_says_so(table, monkeypatch, capsys):
    def full(path, content, mode):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("alphasynth.runs.report.replace_file", full)
    assert synthesize(table, *NO_CLAIM) == 0
    said = capsys.readouterr().err
    assert "without its confidential page, which could not be rendered: No space left on device\n" in said
    assert "without its public page, which could not be rendered: No space left on device\n" in said
