"""The studies on the command line: their toy sizes whole, and the document made of their results."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import alphasynth_studies.output as output
from alphasynth.catalogue import STUDIES
from alphasynth.cli.study import SIZES
from alphasynth_studies import NAMES, contraction, named_study, nb_mixture, salary
from alphasynth_studies.expected import CANNOT, DEPENDS, FAILS, FITTED, HOLDS, NOT_UNUSUAL, UNDECIDED
from alphasynth_studies.headline import study as headline
from alphasynth_studies.reproduction import LARGE, document, earlier_verdicts
from alphasynth_studies.synthesizers import CW, LW
from command_line import read, run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
REGISTER = Path(__file__).parents[1] / "reference" / "paper_numbers.csv"


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """Every study at its toy size, by the command."""
    folder = tmp_path_factory.mktemp("studies")
    for name in NAMES:
        assert run("study", name, "--size", "toy", "--out", folder / name, "--quiet") == 0
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_toy_leaves_a_whole_folder(toys, name):
    study, folder = named_study(name), toys / name
    assert sorted(path.name for path in folder.iterdir()) == ["expected.csv", "figures", "report.html", "results.json"]
    results = read(folder / "results.json")
    assert (results["study"], results["size"], results["place"]) == (name, "toy", study.place)
    assert [line["name"] for line in results["expected"]] == [expected.name for expected in study.expected]
    kinds = {HOLDS, FAILS, UNDECIDED, FITTED, NOT_UNUSUAL, CANNOT}
    assert all(line["verdict"] in kinds or line["verdict"].startswith(DEPENDS) for line in results["expected"])
    with (folder / "expected.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    heads = "what,paper,ours,tolerance,verdict,place,said,reading,settings of ours,change,size,mark"
    assert list(lines[0]) == heads.split(",")
    for line, wanted in zip(lines, results["expected"], strict=True):
        names = ("paper", "ours", "tolerance")
        assert [float(line[name]) for name in names] == [wanted[name] for name in names]
        assert (line["verdict"], line["size"], line["mark"]) == (wanted["verdict"], "toy", results["mark"])
    marked = {*results.get("fitted", ()), *results["depends"], *results.get("cannot", ())}
    assert marked <= {expected.name for expected in study.expected}
    assert marked or name == "headline"  # where two databases may tell nothing
    assert not [path for path in toys.iterdir() if path.name.startswith(".")]


def test_every_figure_of_the_paper_has_its_counterpart(toys):
    """Figures 1 to 14, each on a study's page with a caption that names it, and as PNG, SVG and CSV."""
    named = set()
    for name in NAMES:
        page = (toys / name / "report.html").read_text()
        captions = set(map(int, re.findall(r"<figcaption>The paper&#39;s Figure (\d+)", page)))
        files = {path.stem for path in (toys / name / "figures").iterdir()}
        numbers = {int(stem.split("_")[1]) for stem in files if stem.startswith("figure_")}
        assert numbers == captions == set(named_study(name).figures)
        for stem in files:
            assert all((toys / name / "figures" / f"{stem}.{kind}").stat().st_size for kind in ("png", "svg", "csv"))
        named |= captions
    assert named == set(range(1, 15))


def test_panels_of_the_papers_figures_are_all_there(toys):
    """Figures 4, 5, 8 and 9 have panels a to d, figure 10 has a to f."""
    stems = {path.stem for name in NAMES for path in (toys / name / "figures").iterdir()}
    for number, letters in ((4, "abcd"), (5, "abcd"), (8, "abcd"), (9, "abcd"), (10, "abcdef")):
        for letter in letters:
            assert any(stem.startswith(f"figure_{number:02d}_{letter}_") for stem in stems), (number, letter)


def test_results_of_the_contraction_study(toys):
    results = read(toys / "contraction" / "results.json")
    for name, low, high in (("poisson", 3.2, 4.2), ("mixture", 4.8, 7.5)):
        bounds = results[name]["LW"]
        assert low < bounds["median_delta"] < high
        assert bounds["smallest_delta"] <= bounds["median_delta"] <= bounds["largest_delta"]
        assert results[name]["Unweighted"]["median_delta"] > bounds["median_delta"]
        assert bounds["num_databases"] == 10
        assert set(results[name]["over_n"]) == {"100", "300"}
        assert results[name]["extremes"]["correlation"] > 0.9
    assert results["device"]
    assert results["seconds"]["bounds and tables, n = 1,000"]["running"]["bounds"] > 0


def test_results_of_the_mixture_study(toys):
    results = read(toys / "nb-mixture" / "results.json")
    assert (results["tables"], results["n"], results["m"]) == (3, 300, 3)
    assert set(results["our_settings"]) == {"Unweighted", "LW", "CW", "SW", "LW_final", "CW_final"}
    epsilon = results["equal_epsilon"].pop("epsilon_per_draw")
    assert set(results["equal_epsilon"]) == {"LW", "CW", "SW", "LW_final", "CW_final"}
    for made in results["equal_epsilon"].values():
        assert 0.99 * epsilon <= 2 * made["delta"]["mean"] <= epsilon  # the search stops within 0.2 % below
    assert sum(results["orders"]["ours"].values()) == sum(results["orders"]["equal"].values()) == 3
    assert all(0 <= found["share"] <= 1 and found["of"] == 3 for found in results["statements"].values())
    for setting, statements in (("our_settings", "statements"), ("equal_epsilon", "statements_at_equal_epsilon")):
        means = results[statements]["cw_final_nearer_all"]["means"]
        assert means == pytest.approx({label: results[setting][label]["loss"]["mean"] for label in ("CW", "CW_final")})


def test_settings_that_the_paper_does_not_give_are_scanned(toys):
    """LW's in both studies and CW's, ours first, with the shares and the fits; pages have the tables."""
    scan = read(toys / "nb-mixture" / "results.json")["scan"]
    assert [scan[kind][0]["words"] for kind in ("LW", "CW")] == [LW.words, CW.words]
    assert all(set(line["rows"]) == {"LW", "LW_final"} for line in scan["LW"])
    assert set(scan["statements"]) == {statement.name for statement in nb_mixture.STATEMENTS}
    bounds = read(toys / "contraction" / "results.json")["scan"]
    for generator in ("poisson", "mixture", "as_printed"):
        medians = {line["scale"]: line["LW"]["median_delta"] for line in bounds[generator] if line["shift"] == 0}
        assert medians[0.85] < medians[1.0] < medians[1.25]
        assert medians[0.85] == pytest.approx(0.85 * medians[1.0], rel=0.05)  # alpha is 0.85 as large for every record
    for name in ("nb-mixture", "contraction"):
        assert "c = 0.7, g = 0" in (toys / name / "report.html").read_text()


def test_the_stand_in_is_marked_everywhere(toys):
    """On its page, in its results, and on each picture; the other studies need no mark."""
    folder = toys / "salary"
    assert read(folder / "results.json")["mark"] == "simulated stand-in"
    page = (folder / "report.html").read_text()
    assert '<p class="banner stop">Simulated stand-in.</p>' in page
    assert '<p class="running" aria-hidden="true">Simulated stand-in</p>' in page  # on every printed page
    for path in (folder / "figures").glob("*.svg"):
        assert "simulated stand-in" in path.read_text(), path.name
    assert read(toys / "contraction" / "results.json")["mark"] == ""


def test_toys_say_that_they_are(toys):
    assert "too few to judge the paper by" in (toys / "nb-mixture" / "report.html").read_text()


def test_pages_say_what_holds_and_where(toys):
    page = (toys / "nb-mixture" / "report.html").read_text()
    assert re.search(
        r"LW&#39;s weights are higher than CW&#39;s \(mean\): holds here, and holds on 3 of 3 tables", page
    )


# The command.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["nothing", "--out", "a"],
            "a study must be one of nb-mixture, salary, contraction, headline, found 'nothing'",
        ),
        (["salary", "--size", "huge", "--out", "a"], "--size must be one of toy, paper, large, found 'huge'"),
        (
            ["contraction", "--out", "a", "--table", "b.csv"],
            "--table is for the study salary, found it with contraction",
        ),
        (["salary", "--out", "a", "--n", "500"], "--n is for the study contraction, found it with salary"),
        (["contraction", "--out", "there"], "--out must not exist yet"),
        (["contraction", "--out", "no/where"], "--out must go into a folder that exists"),
        (["contraction", "--out", "a" * 250], "--out cannot be made at"),
        (["contraction", "--out", "a", "--processes", "0"], "--processes must be at least 1, found 0"),
        (["salary", "--out", "a", "--table", "b.csv"], "table must be a file or URL::table, found none"),
        (["salary"], "Missing option '--out'"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence, alone, capsys):
    Path("there").mkdir()
    assert run("study", *arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert [path.name for path in Path.cwd().iterdir()] == ["there"]


def test_a_study_that_fails_leaves_nothing(alone, monkeypatch, capsys):
    def fail(*args, **more):
        raise OSError(28, "No space left on device")

    findings = contraction.Findings({"poisson": {}}, ())
    monkeypatch.setattr(output, "_write", fail)
    study = replace(named_study("contraction"), run=lambda asked: findings)
    monkeypatch.setattr("alphasynth_studies.named_study", lambda name: study)
    assert run("study", "contraction", "--size", "toy", "--out", "out") == 1
    assert "No space left on device" in capsys.readouterr().err
    assert not list(Path.cwd().iterdir())


def test_lines_are_printed_and_json_is_the_results(alone, monkeypatch, capsys):
    findings = contraction.Findings({"poisson": {"LW": {"upper_delta": 3.5}}}, ())
    study = replace(named_study("contraction"), run=lambda asked: findings)
    monkeypatch.setattr("alphasynth_studies.named_study", lambda name: study)
    assert run("study", "contraction", "--size", "toy", "--out", "a") == 0
    printed = capsys.readouterr().out
    assert re.search(r"Delta above which one local bound of LW in twenty lies, Poisson +3.5 +3.5 +0.2  holds", printed)
    assert "1 of the paper's 13 numbers and statements hold, 0 do not, 12 not measured." in printed
    assert run("study", "contraction", "--size", "toy", "--out", "b", "--json") == 0
    assert json.loads(capsys.readouterr().out) == read("b/results.json")


def test_the_command_names_the_studies_and_sizes_there_are():
    assert tuple(STUDIES) == NAMES
    for study in (contraction, nb_mixture, salary, headline):
        assert tuple(study.SIZES) == SIZES


# The document.


def test_the_document_is_what_the_results_say():
    """docs/reproduction.md is generated: `make reproduction`."""
    folder = ROOT / "studies" / "results"
    results = {name: read(folder / f"{name}.json") for name in (*NAMES, LARGE)}
    written = document(results, earlier_verdicts(folder))
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == written
    for name in NAMES:
        assert results[name]["size"] == "paper"
        for line, expected in zip(results[name]["expected"], named_study(name).expected, strict=True):
            assert (line["name"], line["paper"], line["reason"]) == (expected.name, expected.paper, expected.reason)
        assert [line["verdict"] for line in results[name]["expected"]] == [
            line.shown for line in named_study(name).lines(results[name])
        ]
    assert (results[LARGE]["study"], results[LARGE]["size"]) == ("contraction", "large")


def test_the_stand_in_of_the_headline_study_is_marked(toys):
    """Half of the study is simulated counts, so the mark stands where the salaries do."""
    for kind in ("png", "svg", "csv"):
        assert (toys / "headline" / "figures" / f"headline_salary.{kind}").exists()
    assert "simulated stand-in" in (toys / "headline" / "figures" / "headline_salary.svg").read_text()
    assert "simulated stand-in" not in (toys / "headline" / "figures" / "headline_mixture.svg").read_text()


def test_results_of_the_headline_study(toys):
    results = read(toys / "headline" / "results.json")
    for name in ("mixture", "salary"):
        found = results[name]
        assert found["databases"] == 2
        for label, by in found["claimed"]["by_synthesizer"].items():
            assert set(by) == {"12", "20"}
            for epsilon, line in by.items():
                assert line["databases"] == (0 if label == "Unweighted" else 2)
                if line["databases"]:
                    assert 0.9 * float(epsilon) <= line["claimed"]["mean"] <= float(epsilon)
                    assert line["audited"]["mean"] > 0
