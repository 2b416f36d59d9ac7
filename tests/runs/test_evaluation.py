"""`alphasynth evaluate`: any tables, every measure, one clear sentence for what does not fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.evaluation.utility import evaluate
from command_line import run, synthesize, visits

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def tables():
    """A confidential table, two synthetic ones whose rows are aligned with it, and a holdout."""
    table = visits()
    table.to_csv("confidential.csv", index=False)
    rng = np.random.default_rng(5)
    names = []
    for i in range(2):
        names.append(f"synthetic {i}.parquet")
        table.drop(columns="name").assign(visits=rng.poisson(table["visits"] + 1)).to_parquet(names[-1])
    visits(200).to_csv("holdout.csv", index=False)
    return names


def asked(capsys, *arguments):
    assert run("evaluate", "confidential.csv", *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_every_measure_is_there(tables, capsys):
    found = asked(capsys, *tables, "--holdout", "holdout.csv", "--known", "sex", "--aligned")
    names = ["verdict", "largest_differences", "statistics", "shares", "distances", "propensity", "associations"]
    names += ["regression", "identification_risk"]
    assert list(found) == ["confidential", *names, "match_rates", "nearest_records"]
    assert all(found.values())
    frames = [pd.read_parquet(name) for name in tables]
    expected = evaluate(visits().drop(columns="name"), frames)
    line = next(x for x in found["statistics"] if (x["column"], x["statistic"]) == ("visits", "q90"))
    comparison = expected.comparison("visits", "q90")
    assert line["confidential"] == pytest.approx(comparison.value)
    assert line["synthetic"] == pytest.approx(comparison.synthetic.combined.estimate)
    assert found["propensity"][0]["pMSE"] == pytest.approx(expected.propensities[0].pmse)


def test_the_terminal_shows_tables_and_says_that_they_are_confidential(tables, capsys):
    assert run("evaluate", "confidential.csv", *tables) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Confidential: computed from single records.")
    for part in (
        "Statistics by column",
        "Wasserstein-1",
        "S_pMSE",
        "Spearman's rho",
        "Identification risk",
        "promises nothing",
    ):
        assert part in shown
    assert max(len(line) for line in shown.splitlines()) < 200


def test_columns_quantiles_regressions_and_radii(tables, capsys):
    found = asked(
        capsys,
        *tables,
        *("--columns", "age,visits", "--quantiles", "0.99", "--regression", "visits ~ age"),
        *("--radius", "3,6", "--absolute", "--target", "visits"),
    )
    assert {line["statistic"] for line in found["statistics"]} == {"mean", "median", "q99", "sd"}
    assert [line["term"] for line in found["regression"]] == ["Intercept", "age"]
    assert [line["radius"] for line in found["identification_risk"]] == ["3", "6"]
    assert len(found["associations"]) == 1


def test_aligned_rows(tables, capsys):
    """Row i was made for record i: match rates by rows, against the library's by hand."""
    found = asked(capsys, *tables, "--aligned", "--known", "sex", "--radius", "0.2")
    table = visits()
    expected = []
    for name in tables:
        other = pd.read_parquet(name)
        scores = []
        for i in range(len(table)):
            own, reach = table["visits"][i], 0.2 * table["visits"][i]
            matches = np.flatnonzero((table["sex"] == table["sex"][i]) & (np.abs(other["visits"] - own) <= reach))
            scores.append((i in matches) / len(matches) if len(matches) else 0)
        expected.append(np.mean(scores))
    assert found["match_rates"][0]["expected match rate"] == pytest.approx(np.mean(expected))


def test_draws_are_read_from_the_guarantee(table, capsys):
    assert synthesize(table, "--m", "2", "--tables-per-draw", "2") == 0
    files = sorted(str(path) for path in Path("run/release").glob("*.csv"))

    def interval(*more):
        assert run("evaluate", table, *files, *more, "--json") == 0
        return json.loads(capsys.readouterr().out)["statistics"][0]["95 % interval (combined)"]

    assert interval() == interval("--draws", "1,1,2,2") != interval("--draws", "1,2,3,4")
    assert interval("--draws", "1,1,1,1") is None


def test_two_releases_do_not_share_their_draws(table, capsys):
    for name in ("one", "two"):
        assert synthesize(table, out=name) == 0
    files = [f"{name}/release/synthetic_01.csv" for name in ("one", "two")]
    assert run("evaluate", table, *files, "--json") == 0
    found = json.loads(capsys.readouterr().out)["statistics"]
    assert found[0]["95 % interval (combined)"] is not None
    assert found[-1]["statistic"] == "sd ‡"  # LW_final's
    assert run("evaluate", table, *files) == 0
    assert "No interval here covers as often as it says" in " ".join(capsys.readouterr().out.split())


def test_a_page(tables, capsys):
    assert run("evaluate", "confidential.csv", *tables, "--page", "page.html", "--holdout", "holdout.csv") == 0
    html = Path("page.html").read_text()
    assert "CONFIDENTIAL" in html
    assert 'id="figure-values_visits"' in html
    assert "Nearest-record distances (empirical)" in html
    assert Path("page.html").stat().st_mode & 0o077 == 0


def test_what_has_no_number_is_null(capsys):
    pd.DataFrame({"y": [5] * 20, "x": range(20)}).to_csv("confidential.csv", index=False)
    found = asked(capsys, "confidential.csv")
    assert found["associations"][0]["confidential"] is None


def test_one_row_or_another_delimiter(tables, capsys):
    visits().to_csv("odd.txt", index=False, sep="|", encoding="latin-1")
    assert run("evaluate", "odd.txt", tables[0], "--delimiter", "|", "--encoding", "latin-1") == 0
    assert "Statistics" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.csv"], "table must be a file or URL::table, found none at 'none.csv'"),
        (["{0}", "--columns", "nothing"], "column 'nothing' (to be compared) is not in the table"),
        (["{0}", "--target", "nothing"], "--target must be one of the columns compared, found 'nothing'"),
        (["{0}", "--target", "sex"], None),
        (["{0}", "--quantiles", "2"], "quantiles must lie between 0 and 1"),
        (["{0}", "--quantiles", "x"], "--quantiles must be numbers"),
        (["{0}", "--radius", "-1"], "radius must be positive and finite"),
        (["{0}", "--draws", "1,2"], "draws must name one draw per table, found 2 for 1"),
        (["{0}", "--draws", "1.5"], "--draws must be whole numbers"),
        (["{0}", "--regression", "visits ~ nothing"], "a regression must use columns that are compared"),
        (["{0}", "--regression", "visits ~ ("], "formula 'visits ~ (' cannot be read"),
        (["holdout.csv", "--aligned"], "aligned tables must have as many rows, found 300 and 200"),
        (["{0}", "--known", "visits"], "--known must not hold the column that risk is measured on, found 'visits'"),
        (["{0}", "--aligned", "--target", "age", "--known", "visits"], "found others in 'visits'"),
        (["{0}", "--aligned", "--target", "sex"], "--aligned needs a numeric column to match on, found 'sex'"),
        (["{0}", "--draws", "nan"], "--draws must be whole numbers"),
        (["{0}", "--regression", "visits"], "a regression's formula must read"),
        (["{0}", "--regression", "visits ~ log(age - 50)"], "terms must be finite in every record"),
        (["{0}", "--page", "nowhere/page.html"], "--page must go into a folder that exists"),
        (["duckdb://x::t", "--aligned"], "--aligned needs files"),
        (["{0}", "--page", "published/page.html"], "--page is confidential and must not go into a release"),
    ],
)
def test_bad_input(tables, capsys, arguments, sentence):
    Path("published").mkdir()
    Path("published/guarantee.json").write_text("{}")
    code = run("evaluate", "confidential.csv", *(argument.format(*tables) for argument in arguments))
    shown = capsys.readouterr()
    if sentence is None:
        assert code == 0
        return
    assert code == 2
    assert sentence in shown.err
    assert shown.out == ""
    assert len(shown.err.strip().splitlines()) == 1


def test_the_decimal_mark_is_the_releases(tmp_path, capsys):
    """Read with points, numbers of the confidential file would be text, and any tree would tell the tables apart."""
    rng = np.random.default_rng(4)
    frames = [pd.DataFrame({"pay": rng.normal(50, 9, 200).round(2), "n": rng.integers(0, 9, 200)}) for _ in range(2)]
    folder = tmp_path / "release"
    folder.mkdir()
    for frame, path in zip(frames, (tmp_path / "own.csv", folder / "synthetic_1.csv"), strict=True):
        frame.to_csv(path, sep=";", decimal=",", index=False)
    said = {"tables": [{"file": "synthetic_1.csv", "draw": 1}], "rules": [], "csv_decimal": ","}
    (folder / "guarantee.json").write_text(json.dumps(said))
    assert run("evaluate", tmp_path / "own.csv", folder / "synthetic_1.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (mean,) = [line for line in found["statistics"] if (line["column"], line["statistic"]) == ("pay", "mean")]
    assert mean["confidential"] == pytest.approx(frames[0]["pay"].mean())
    frames[1].to_csv(folder / "points.csv", index=False)
    assert run("evaluate", tmp_path / "own.csv", folder / "points.csv") == 2
    refused = "column 'pay' must hold numbers as in the synthetic tables, found numbers with commas: --decimal-comma"
    assert refused in capsys.readouterr().err
