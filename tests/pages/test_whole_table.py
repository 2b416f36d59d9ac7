"""Pages of a whole table: columns and pairs at a glance, coefficients side by side, words that fit."""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64decode
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from alphasynth.evaluation.compared import Coefficient
from alphasynth.evaluation.intervals import Combined, Interval
from alphasynth.evaluation.pairs import Difference, Differences, differences
from alphasynth.pages import columns_and_pairs
from alphasynth.pages.coefficients import MOST, coefficient_intervals
from alphasynth.pages.drawing import draw
from alphasynth.pages.images import save
from alphasynth.runs.results import read_run
from alphasynth.synthesis.statements import declared_facts
from command_line import run

COLUMNS = """\
[column.region]
levels = ["north", "east", "south & <west>"]
[column.age]
limits = [18, 90]
whole = true
[column.pay]
limits = [0.0, 60000.0]
skewed = true
missing = "model"
[column.owner]
levels = [false, true]
[column.since]
limits = ["2020-01-01", "2023-01-01"]
"""


def people(n=300):
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, n)
    pay = np.round(np.exp(7 + 0.02 * age + rng.normal(0, 0.5, n)), 2)
    return pd.DataFrame(
        {
            "region": rng.choice(["north", "east", "south & <west>"], n, p=[0.5, 0.3, 0.2]),
            "age": age,
            "pay": np.where(rng.random(n) < 0.1, np.nan, np.minimum(pay, 60_000)),
            "owner": rng.random(n) < 0.4,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of a whole table, with figures as files."""
    path, patch = tmp_path_factory.mktemp("whole"), pytest.MonkeyPatch()
    patch.chdir(path)
    people().to_parquet("people.parquet")
    Path("columns.toml").write_text(COLUMNS)
    options = ["--columns", "columns.toml", "--mechanism", "Raked", "--epsilon", "4", "--m", "3", "--out", "run"]
    assert run("synthesize", "people.parquet", *options, "--quiet") == 0
    assert run("report", "run", "--figures") == 0
    patch.undo()
    return path / "run"


def words(html):
    body = re.sub(r"<(script|style|title)>.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)))


def test_columns_and_pairs_are_on_the_confidential_page_alone(folder):
    inside, public = ((folder / part / "report.html").read_text() for part in ("confidential", "release"))
    for name in ("pairs", "pairs_by_cell", "columns_by_block", "coefficients"):
        assert f'id="figure-{name}"' in inside
        assert f'id="figure-{name}"' not in public
    assert 'href="#columns_and_pairs"' in inside
    assert "TV by chance" in words(inside)
    assert "Columns and pairs" not in public
    assert "south &amp; &lt;west&gt;" in inside
    assert "<west>" not in inside


def test_numbers_behind_the_figures_are_those_of_the_evaluation(folder):
    results = read_run(folder)
    found = differences(declared_facts(results.release.guarantee), results.records, results.tables)
    assert {name for one in found.pairs for name in one.names} == {"region", "age", "pay", "owner", "since"}
    html = (folder / "confidential" / "report.html").read_text()

    def numbers(name):
        href = re.search(rf'download="{name}.csv"[^>]*base64,([^"]*)"', html).group(1)
        return list(csv.DictReader(io.StringIO(b64decode(href).decode())))

    mapped = {line["mark"]: float(line["x"]) for line in numbers("pairs")}
    for one in (*found.pairs, *found.columns):
        assert mapped[f"{one.names[0]} with {one.names[-1]}"] == pytest.approx(one.variation)
    cells = numbers("pairs_by_cell")
    assert len(cells) == sum(one.confidential.size for one in found.pairs)
    apart = np.concatenate([(one.synthetic - one.confidential).ravel() for one in found.pairs])
    assert [float(line["x"]) for line in cells] == pytest.approx(apart.tolist())
    shares = [float(line["y"]) for line in numbers("columns_by_block") if line["series"] == "Raked"]
    assert shares == pytest.approx(np.concatenate([one.synthetic for one in found.columns]).tolist())


def test_words_of_a_whole_table(folder, capsys):
    inside, public = (words((folder / part / "report.html").read_text()) for part in ("confidential", "release"))
    told = "3 tables, each from its own draw of what the noisy sums may have been without their noise"
    assert f"tables {told}" in public
    assert f"tables released {told}" in inside
    assert "What was measured of the confidential table" in public
    for wrong in ("draws of parameters to pick from", "the draw of parameters", "The draws of parameters"):
        assert wrong not in public
    assert "m draws of the model's parameters" not in inside
    options = ["--columns", folder.parent / "columns.toml", "--mechanism", "Raked", "--epsilon", "4", "--m", "1"]
    out = folder.parent / "one"
    assert run("synthesize", folder.parent / "people.parquet", *options, "--out", out) == 0
    said = capsys.readouterr().out
    assert "confidential: records, columns, a summary, report.html; not for release" in said
    assert "weights" not in said.split("guarantee.json")[1].split("ledger")[0]
    public = words((out / "release" / "report.html").read_text())
    assert "1 table, as near to the noisy sums as rows can be" in public
    assert "One draw gives estimates, and no honest interval." in public


def test_no_single_record_decides_which_column_the_public_page_of_a_large_table_shows(folder, monkeypatch, tmp_path):
    """Not even where it is the only one that has a value there."""
    for module in ("whole_table", "results"):
        monkeypatch.setattr(f"alphasynth.runs.{module}.MOST_VALUES", 4 * 299)
    columns = tmp_path / "columns.toml"
    columns.write_text(COLUMNS.replace("levels = [false, true]", 'levels = [1, 2]\nmissing = "model"'))
    options = ["--columns", columns, "--mechanism", "Raked", "--epsilon", "4", "--m", "2", "--quiet"]
    shown = []
    for there in (0, 1):
        owner = np.where(np.arange(300) < there, 1.0, np.nan)
        people().assign(owner=owner).to_parquet(tmp_path / f"{there}.parquet")
        assert run("synthesize", tmp_path / f"{there}.parquet", *options, "--out", tmp_path / f"run{there}") == 0
        shown.append([table.column_names for table in read_run(tmp_path / f"run{there}").release.tables])
    assert shown == [[("owner",)] * 2] * 2


def test_pages_of_a_large_table_compare_samples_and_say_so(folder, monkeypatch, tmp_path):
    monkeypatch.setattr("alphasynth.runs.whole_table.MOST_VALUES", 4 * 299)
    monkeypatch.setattr("alphasynth.runs.whole_table.SAMPLED_ROWS", 120)
    options = ["--columns", folder.parent / "columns.toml", "--mechanism", "Raked", "--epsilon", "4", "--m", "2"]
    out = tmp_path / "sampled"
    assert run("synthesize", folder.parent / "people.parquet", *options, "--out", out, "--quiet") == 0
    inside, public = (words((out / part / "report.html").read_text()) for part in ("confidential", "release"))
    assert "120 of its rows are compared with as many of each synthetic table" in inside
    assert "Columns and pairs" in inside
    assert "of its rows are compared" not in public
    results = read_run(out)
    assert results.sampled
    assert results.records.n == 120
    assert [table.n for table in results.tables] == [120, 120]
    assert set(results.tables[0].columns) == set(results.records.columns) == {*read_run(folder).records.columns}
    assert [table.group(table.column_names, ()).counts.sum() for table in results.release.tables] == [300, 300]
    assert not read_run(folder).sampled


def test_figures_are_files_too(folder):
    names = {path.name for path in (folder / "confidential" / "figures").iterdir()}
    for name in ("pairs", "pairs_by_cell", "columns_by_block", "coefficients"):
        assert {f"{name}.png", f"{name}.svg", f"{name}.csv"} <= names
    drawn = ElementTree.parse(folder / "confidential" / "figures" / "columns_by_block.svg")
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) > 20


def made(name, others=40, rows=2):
    """A pair of a wide table."""
    shares = np.full((rows, 3), 1 / (3 * rows))
    labels = tuple(f"r{i}" for i in range(rows)), ("low", "middle", "high")
    return Difference((name, f"c{others}"), labels, shares, shares + np.array([0.01, -0.01, 0]), 0.01 * others, 0.002)


def test_a_wide_table_shows_the_columns_with_the_worst_pairs():
    pairs = tuple(made("c0", i) for i in range(60, 0, -1))
    columns = tuple(
        Difference((f"c{i}",), (("a", "b"),), np.ones(2) / 2, np.ones(2) / 2, 0.001, 0.1) for i in range(61)
    )
    figure = columns_and_pairs.variation_map(Differences(columns, pairs))
    (tiles,) = figure.panels[0].marks
    assert len(tiles.names) == 30
    assert tiles.names[:3] == ("c0", "c60", "c59")
    assert tiles.full == pytest.approx(0.6)
    assert "30 columns" in figure.caption
    svg = draw(figure, figure.panels[0])
    assert 'class="map wide"' in svg
    assert "c0 with c60: TV 0.6, by chance 0.002" in svg
    section = columns_and_pairs.section(Differences(columns, pairs), "Raked")
    tables = [block for block in section.blocks if block.kind == "table"]
    assert [len(block.lines) for block in tables] == [61, 30]
    assert [len(b.figure.panels) for b in section.blocks if b.figure is not None] == [1, 12, 12]


def test_a_map_of_a_pair_has_names_of_its_own():
    figure = columns_and_pairs.pair_maps([made("a", rows=4)])
    root = ElementTree.fromstring(draw(figure, figure.panels[0]))
    tiles = [r for r in root.iter("rect") if r.get("class") == "tile"]
    assert len(tiles) == 12
    assert {t.text for t in root.iter("text")} == {"r0", "r1", "r2", "r3", "low", "middle", "high"}
    assert tiles[0].get("data-tip") == ("a r0, c40 low: synthetic 9.33%, confidential 8.33%, difference +1.00% of rows")
    assert tiles[0].get("style") == "fill:#2166ac"  # the darkest
    assert tiles[2].get("style") == "fill:#ffffff"


def coefficient(term, value, error, estimate, interval):
    return Coefficient("y ~ x", "least squares", term, value, error, Combined(estimate, 1.0, 3.0, interval))


def test_coefficients_in_standard_errors():
    found = [
        coefficient("Intercept", 10.0, 2.0, 12.0, Interval(8.0, 16.0)),
        coefficient("x", -1.0, 0.1, -1.05, None),
        coefficient("far", 0.0, 1.0, 99.0, Interval(98.0, 100.0)),
        coefficient("unknown", 1.0, float("nan"), 1.0, None),
    ]
    figure = coefficient_intervals({"Raked": found})
    own, synthetic = figure.panels[0].marks
    assert own.names == synthetic.names == ("Intercept", "x", "far")
    assert synthetic.estimates == pytest.approx([1.0, -0.5, 99.0])
    assert synthetic.low[0] == pytest.approx(-1.0)
    assert synthetic.high[0] == pytest.approx(3.0)
    assert np.isnan(synthetic.low[1])
    assert own.high == pytest.approx(1.96, abs=1e-3)
    assert figure.panels[0].x_range == (-MOST, MOST)
    assert "Beyond the axis, and drawn at its end: 1." in figure.caption
    root = ElementTree.fromstring(draw(figure, figure.panels[0]))
    dots = [float(dot.get("cx")) for dot in root.iter("circle")]
    assert len(dots) == 6
    assert max(dots) <= 406  # within the axis
    assert "Intercept, Raked: 12.0, 95 % interval 8.0 to 16.0" in {g.get("data-tip") for g in root.iter("g")}
    assert coefficient_intervals({"Raked": found[:1]}) is None
    assert coefficient_intervals({}) is None


def test_coefficients_as_a_file(tmp_path):
    found = [coefficient(f"x{i}", 1.0, 0.5, 1.0 + i / 4, Interval(0.0, 2.0)) for i in range(5)]
    lines = pd.read_csv(save(coefficient_intervals({"Raked": found}), tmp_path)[2])
    mine = lines[(lines["series"] == "Raked") & ~lines["mark"].str.contains("interval")]
    assert mine["x"].tolist() == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])


def test_dates_are_compared_on_both_pages(folder):
    public, inside = (words((folder / part / "report.html").read_text()) for part in ("release", "confidential"))
    assert "The columns region, age, pay, owner, since are synthetic" in public
    assert re.search(r"since 202\d-\d\d-\d\d 202\d-\d\d-\d\d to 202\d-\d\d-\d\d", public)
    assert re.search(r"since mean 202\d-\d\d-\d\d 202\d-\d\d-\d\d to 202\d-\d\d-\d\d 202\d-", inside)
    assert "not compared" not in inside
    assert "Values of since" in inside
    held = read_run(folder).records
    assert held.dates == {"since"}
    assert held.response == "pay"


def test_an_evaluation_of_files_says_of_dates_what_the_runs_page_says(folder, tmp_path, capsys):
    """Dates come out of text files as text, with a time or without, and are the same days."""
    tables = sorted(folder.glob("release/synthetic_*"))
    own = pd.read_parquet(folder.parent / "people.parquet")
    assert run("evaluate", folder.parent / "people.parquet", *tables, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    files = []
    for number, path in enumerate((folder.parent / "people.parquet", *tables)):
        frame = pd.read_parquet(path)
        frame["since"] = pd.to_datetime(frame["since"]).dt.strftime("%Y-%m-%d" if number else "%Y-%m-%dT00:00:00")
        files.append(tmp_path / f"{number}.csv")
        frame.to_csv(files[-1], index=False)
    assert run("evaluate", *files, "--json") == 0
    of_text = json.loads(capsys.readouterr().out)
    statistics = [[line for line in each["statistics"] if line["column"] == "since"] for each in (found, of_text)]
    assert len(statistics[0]) == 5
    for one, other in zip(*statistics, strict=True):
        assert one["confidential"] == other["confidential"]
        assert one["synthetic"] == other["synthetic"]
    mean = next(line for line in statistics[0] if line["statistic"] == "mean")
    assert mean["confidential"] == str(own["since"].mean().round("D").date())
    assert not [line for line in of_text["shares"] if line["column"] == "since"]
    measures = {line["measure"] for line in of_text["associations"] if "since" in (line["one column"], line["and"])}
    assert measures == {"Spearman's rho", "correlation ratio eta"}


def test_what_cannot_be_compared_is_said_in_the_verdict(tmp_path, capsys):
    own = pd.DataFrame({"x": range(60), "day": pd.date_range("2020-01-01", periods=60), "id": range(60)})
    made = pd.DataFrame({"x": range(60), "day": [f"day {i % 3}" for i in range(60)]})
    own.to_parquet(tmp_path / "own.parquet")
    made.to_parquet(tmp_path / "made.parquet")
    assert run("evaluate", tmp_path / "own.parquet", tmp_path / "made.parquet", "--json") == 0
    off = json.loads(capsys.readouterr().out)["verdict"][1]
    assert off.endswith("; not compared: day, id.")
    assert run("evaluate", tmp_path / "own.parquet", tmp_path / "made.parquet", "--columns", "x,day") == 2
    assert "column 'day' must hold dates in all tables or in none, found both" in capsys.readouterr().err


def test_the_public_programs_interval_of_a_column_with_gaps_is_the_pages(folder, monkeypatch, capsys):
    """Rows that have no value are rows all the same: what a table of n rows would have is what counts."""
    html = (folder / "release" / "report.html").read_text()
    monkeypatch.chdir(folder / "release")
    exec(unescape(re.search(r"<pre><code>(.*?)</code></pre>", html, re.DOTALL)[1]), {})
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("mean of pay: ")]
    mean, low, high = map(float, line.removeprefix("mean of pay: ").split())
    tables = [pd.read_parquet(path)["pay"].astype(float).dropna() for path in sorted(Path().glob("synthetic_*"))]
    means = np.array([table.mean() for table in tables])
    reach = 4.302653 * np.sqrt((1 + 1 / 3) * means.var(ddof=1))  # Student's t with two degrees of freedom
    assert (mean, low, high) == pytest.approx((means.mean(), means.mean() - reach, means.mean() + reach), rel=1e-6)


def test_intervals_of_a_column_with_gaps_take_all_rows(folder, capsys):
    """A tenth of pay is missing: with the rows that have one for all, little scatter between tables gave no limit."""
    assert run("evaluate", folder.parent / "people.parquet", *sorted(folder.glob("release/synthetic_*")), "--json") == 0
    found = [line for line in json.loads(capsys.readouterr().out)["statistics"] if line["column"] == "pay"]
    tables = [
        pd.read_parquet(path)["pay"].astype(float).dropna() for path in sorted(folder.glob("release/synthetic_*"))
    ]
    means = np.array([table.mean() for table in tables])
    reach = 4.302653 * np.sqrt((1 + 1 / 3) * means.var(ddof=1))
    (mean,) = [line for line in found if line["statistic"] == "mean"]
    combined = next(value for name, value in mean.items() if "combined" in name and "interval" in name)
    assert combined == pytest.approx([max(means.mean() - reach, 0), means.mean() + reach], rel=1e-3)


def test_a_program_for_text_counts_a_level(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people()[["region", "since"]].to_csv("t.csv", index=False)
    kept = COLUMNS[: COLUMNS.index("[column.age]")] + COLUMNS[COLUMNS.index("[column.since]") :]
    Path("columns.toml").write_text(kept)
    options = ["--columns", "columns.toml", "--mechanism", "Raked", "--epsilon", "9", "--m", "3", "--quiet"]
    assert run("synthesize", "t.csv", *options, "--out", "run") == 0
    html = Path("run/release/report.html").read_text()
    monkeypatch.chdir("run/release")
    exec(re.sub(r"<[^>]+>", "", unescape(re.search(r"<pre.*?</pre>", html, re.DOTALL)[0])), {})
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("share of region = north: ")]
    mean, low, high = map(float, line.rpartition(": ")[2].split())
    assert low <= mean <= high
    assert 0.3 < mean < 0.7, "half of them live in the north"


def test_records_of_a_weighted_run_are_compared_as_the_population(tmp_path, monkeypatch):
    """Of two groups of one size one weighs nine times as much; the page compares with what weights make of them."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"kind": ["a", "b"] * 200, "w": [9.0, 1.0] * 200})
    table.to_csv("t.csv", index=False)
    Path("columns.toml").write_text('weight = {column = "w", largest = 9}\n[column.kind]\nlevels = ["a", "b"]\n')
    options = ["--columns", "columns.toml", "--mechanism", "Raked", "--epsilon", "20", "--m", "2", "--quiet"]
    assert run("synthesize", "t.csv", *options, "--out", "run") == 0
    records = read_run(Path("run")).records
    shares = dict(zip(records.columns["kind"], records.counts / records.n, strict=True))
    assert shares["a"] == pytest.approx(0.9, abs=0.01)
    assert "a plain mean of theirs estimates a weighted one" in words(Path("run/release/report.html").read_text())
