"""What the public page of a whole table says of the population: of the response, with intervals, and by one program."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from alphasynth.evaluation.associations import LEAST_SQUARES, LOG_LINEAR, LOGISTIC, regress
from alphasynth.evaluation.intervals import combine
from alphasynth.evaluation.released import (
    Released,
    declared_numbers,
    declared_regression,
    kind_of,
    means,
    regression,
    shares,
)
from alphasynth.evaluation.shares import shares_of
from alphasynth.evaluation.values import read_records
from alphasynth.pages.public_page import _spoken
from alphasynth.pages.released.estimates import MISSING
from alphasynth.privacy.guarantee import SPREAD
from alphasynth.tables.declared import Declared
from command_line import run

COLUMNS = """\
[column.code]
levels = ["01", "02", "NA", "=x"]
[column.y]
limits = [0, 60]
whole = true
[column.pay]
limits = [0.0, 60000.0]
skewed = true
missing = "model"
[column.owner]
levels = [false, true]
[column.kind]
levels = [1, 2, 3]
missing = "model"
[column.since]
limits = ["2020-01-01", "2023-01-01"]
[column.k]
limits = [1, 5]
whole = true
"""
INTERVAL = "95 % interval"


def people(n=400):
    rng = np.random.default_rng(3)
    kind = rng.integers(1, 4, n).astype(float)
    return pd.DataFrame(
        {
            "code": rng.choice(["01", "02", "NA", "=x"], n, p=[0.5, 0.3, 0.1, 0.1]),
            "y": np.minimum(rng.poisson(3 + kind), 60),
            "pay": np.where(rng.random(n) < 0.1, np.nan, np.round(rng.gamma(2, 3000, n), 2)),
            "owner": rng.random(n) < 0.4,
            "kind": np.where(rng.random(n) < 0.2, np.nan, kind),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "k": rng.integers(1, 6, n),
        }
    )


def synthesize(path, *more, out="run"):
    options = ["--columns", path / "columns.toml", "--mechanism", "Raked", "--epsilon", "9", "--delta", "1e-6"]
    assert run("synthesize", path / "t.csv", *options, *more, "--out", path / out, "--quiet") == 0
    return path / out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run whose response is not the last column."""
    path = tmp_path_factory.mktemp("released")
    people().to_csv(path / "t.csv", index=False)
    (path / "columns.toml").write_text(COLUMNS)
    return synthesize(path, "--m", 3, "--response", "y")


def page_of(folder, part="release"):
    return (folder / part / "report.html").read_text()


def table_of(html, caption):
    """Heads, and lines of texts and of numbers, of the table that is called so."""
    found = next(t for t in re.findall(r"<table>.*?</table>", html, re.DOTALL) if f"<caption>{caption}" in t)
    heads = [unescape(re.sub(r"<[^>]+>", "", head)) for head in re.findall(r"<th[^>]*>(.*?)</th>", found)]
    lines = [
        [
            (unescape(text), value and float(value))
            for value, text in re.findall(r'<td[^>]*?(?: data-value="([^"]*)")?>(.*?)</td>', row)
        ]
        for row in re.findall(r"<tr>(.*?)</tr>", found.split("<tbody>")[1], re.DOTALL)
    ]
    return heads, lines


def program_of(folder):
    (code,) = re.findall(r"<pre><code>(.*?)</code></pre>", page_of(folder), re.DOTALL)
    return unescape(code)


def printed(folder, monkeypatch, capsys):
    """What the page's program prints, by what it is of."""
    monkeypatch.chdir(folder / "release")
    capsys.readouterr()
    exec(program_of(folder), {})
    lines = [line.rpartition(": ") for line in capsys.readouterr().out.splitlines()]
    return {what: [float(number) for number in numbers.split()] for what, _, numbers in lines}


def test_both_pages_are_about_the_response(folder):
    public, inside = page_of(folder), page_of(folder, "confidential")
    assert "<caption>Statistics of y</caption>" in public
    assert "<caption>Regression of y on the other columns, log-linear (quasi-Poisson)</caption>" in public
    (caption,) = re.findall(r"<caption>Regression: (.*?)</caption>", inside)
    assert caption.startswith("`y` ~ ")
    assert caption.endswith(", log-linear (quasi-Poisson)")
    assert "k" in caption.partition("~")[2]


def test_the_program_computes_what_the_page_says(folder, monkeypatch, capsys):
    found = printed(folder, monkeypatch, capsys)
    page = {}
    heads, lines = table_of(page_of(folder), "Means of columns")
    assert heads == ["column", "mean", INTERVAL]
    assert [line[0][0] for line in lines] == ["y", "pay", "kind", "since", "k"]
    assert re.fullmatch(r"2021-0\d-\d\d", lines[3][1][0])  # a mean of dates is shown as one
    page |= {f"mean of {line[0][0]}": line[1:] for line in lines}
    heads, lines = table_of(page_of(folder), "Shares of levels")
    assert heads == ["column", "level", "share", INTERVAL]
    as_filed = {"=x": "'=x", "true": "True", "false": "False"}
    for (name, _), (level, _), *numbers in lines:
        if level == MISSING:
            page[f"share of {name} is missing"] = numbers
        else:
            page[f"share of {name} = {as_filed.get(level, level)}"] = numbers
    heads, lines = table_of(page_of(folder), "Regression of y")
    assert heads == ["term", "coefficient", INTERVAL]
    for (term, _), *numbers in lines:
        name = term.replace("= =x", "= '=x").replace("= true", "= True").replace(" is missing", " = None")
        page[f"y on {name}"] = numbers

    def as_page(what):  # levels of numbers that have gaps are floats in a file
        return re.sub(r"(share of kind = \d)\.0$", r"\1", what)

    assert {as_page(what) for what in found} == set(page)
    for what, (estimate, low, high) in found.items():
        (_, told), (interval, least) = page[as_page(what)]
        assert told == pytest.approx(estimate, rel=1e-5, abs=1e-7), what
        assert least == pytest.approx(low, rel=1e-4, abs=1e-6), what
        assert low <= estimate <= high
        end = interval.split(" to ")[1].replace(",", "")
        end = (pd.Timestamp(end) - pd.Timestamp(0)).days if what == "mean of since" else float(end)
        assert end == pytest.approx(high, rel=0.02, abs=0.01), what


def test_what_is_missing_has_another_base_and_is_said_to(folder):
    _, lines = table_of(page_of(folder), "Shares of levels, of the rows that have a value")
    assert MISSING in [line[1][0] for line in lines]
    assert "of all rows" in MISSING


def test_levels_with_commas_do_not_run_together():
    assert _spoken(["North, upper", "South"]) == '"North, upper", "South"'
    assert _spoken(["F", "M"]) == "F, M"


def test_the_pages_numbers_are_those_of_the_rule(folder):
    tables = [
        pd.read_csv(path, keep_default_na=False, na_values=[""], dtype={"code": str})
        for path in sorted((folder / "release").glob("synthetic_*"))
    ]
    parts = np.array([(table["code"] == "01").mean() for table in tables])
    reach = 4.302653 * np.sqrt((1 + 1 / 3) * parts.var(ddof=1))  # Student's t with two degrees of freedom
    _, lines = table_of(page_of(folder), "Shares of levels")
    (line,) = [line for line in lines if [cell[0] for cell in line[:2]] == ["code", "01"]]
    assert line[2][1] == pytest.approx(parts.mean())
    assert line[3][1] == pytest.approx(max(parts.mean() - reach, 0), rel=1e-5)


def test_shares_on_the_confidential_page_have_intervals_beside_the_confidential_ones(folder):
    heads, lines = table_of(page_of(folder, "confidential"), "Shares of levels by column")
    expected = ["column", "level", "confidential share", "synthetic share", "95 % interval (combined)", "difference"]
    assert heads == expected
    _, public = table_of(page_of(folder), "Shares of levels")
    public = {(line[0][0], line[1][0]): line[2:] for line in public}
    for line in lines:
        if (key := (line[0][0], line[1][0])) in public:
            (_, estimate), (_, low) = public[key]
            assert (line[3][1], line[4][1]) == (pytest.approx(estimate), pytest.approx(low))
    assert "of Scored and Raked, whose tables are spread by as much noise" in unescape(page_of(folder, "confidential"))


def test_several_responses_have_a_regression_each_and_one_draw_has_no_interval(folder, monkeypatch, capsys):
    path = folder.parent
    made = synthesize(path, "--m", 1, "--response", "code,owner,y", out="several")
    public, inside = page_of(made), page_of(made, "confidential")
    assert "<caption>Statistics of y</caption>" in public  # the first of numbers
    regressions = re.findall(r"<caption>(Regression of .*?)</caption>", public)
    assert regressions == [
        "Regression of owner on the other columns, logistic",
        "Regression of y on the other columns, log-linear (quasi-Poisson)",
    ]
    assert table_of(public, "Means of columns")[0] == ["column", "mean"]
    assert table_of(public, "Regression of y")[0] == ["term", "coefficient"]
    assert public.count("One draw gives estimates, and no honest interval.") == 1
    assert "95 % interval (combined)" not in table_of(inside, "Shares of levels by column")[0]
    (caption,) = re.findall(r"<caption>Regression: (.*?)</caption>", inside)
    assert [part.split(" ~ ")[0] for part in caption.split("; ")] == ["`owner`", "`y`"]
    found = printed(made, monkeypatch, capsys)
    assert {len(numbers) for numbers in found.values()} == {1}
    assert found["owner on k"] == [pytest.approx(dict(_coefficients(public, "Regression of owner"))["k"], rel=1e-5)]


def _coefficients(html, caption):
    return [(line[0][0], line[1][1]) for line in table_of(html, caption)[1]]


def test_a_large_table_shows_the_response_and_leaves_the_rest_to_the_program(folder, monkeypatch, capsys):
    for module in ("whole_table", "results"):
        monkeypatch.setattr(f"alphasynth.runs.{module}.MOST_VALUES", 7 * 399)
    made = synthesize(folder.parent, "--m", 3, "--response", "y", out="large")
    public = page_of(made)
    assert "<caption>Statistics of y</caption>" in public
    assert "The table is large: means, shares and regressions are left to the program below." in public
    found = printed(made, monkeypatch, capsys)
    mean = next(line for line in table_of(public, "Statistics of y")[1] if line[0][0] == "mean")
    assert found["mean of y"][:2] == [pytest.approx(mean[1][1]), pytest.approx(mean[2][1], rel=1e-5)]
    assert {"share of code = 01", "share of pay is missing", "y on code = NA", "y on kind", "y on kind = None"} <= set(
        found
    )


def test_a_regression_of_large_tables_is_left_to_the_program(folder, monkeypatch, capsys):
    monkeypatch.setattr("alphasynth.evaluation.released.MOST_NUMBERS", 3 * 300)
    made = synthesize(folder.parent, "--m", 3, "--response", "y", out="wide")
    public = page_of(made)
    assert "the regression of y on the other columns is left to the program below" in public
    assert "<caption>Regression" not in public
    assert {"mean of y", "y on k", "y on kind = None"} <= set(printed(made, monkeypatch, capsys))


def tables_of(*frames, facts):
    gaps = {name: each for name, each in facts.items() if each.missing is not None}
    records = [read_records(frame, list(frame.columns), gaps) for frame in frames]
    return Released(records, facts, len(frames[0]), list(range(len(frames))), SPREAD)


def test_terms_that_a_table_does_not_tell_apart_are_left_out():
    facts = {
        "y": Declared(limits=(-9.0, 9.0)),
        "x": Declared(limits=(0.0, 9.0)),
        "twice": Declared(limits=(0.0, 18.0)),
        "s": Declared(levels=("a", "b", "c")),
    }
    rng = np.random.default_rng(1)
    frames = []
    for levels in (["a", "b", "c"], ["b", "c"]):
        x = rng.uniform(0, 9, 60)
        s = rng.choice(levels, 60)
        frames.append(pd.DataFrame({"y": x / 3 - (s == "c") + rng.normal(0, 0.1, 60), "x": x, "twice": 2 * x, "s": s}))
    found = regression(tables_of(*frames, facts=facts), "y")
    assert found.kind == LEAST_SQUARES
    # The second is twice the first, "a" is in one table alone, and levels are measured against one that is in both.
    assert [term.name for term in found.terms] == ["x", "s = c"]
    assert found.found[1].estimate == pytest.approx(1 / 3, abs=0.02)
    assert found.found[2].estimate == pytest.approx(-1, abs=0.1)
    assert regression(tables_of(*(frame[["y"]] for frame in frames), facts={"y": facts["y"]}), "y") is None


def test_the_kind_of_a_regression_follows_from_what_is_declared():
    assert kind_of(Declared(levels=(0, 1))) == kind_of(Declared(levels=(True, False))) == LOGISTIC
    assert kind_of(Declared(levels=(0, 40, 60))) == kind_of(Declared(limits=(0.0, 5.0), whole=True)) == LOG_LINEAR
    assert kind_of(Declared(limits=(-1.0, 5.0), whole=True)) == kind_of(Declared(limits=(0.0, 1.0))) == LEAST_SQUARES


def test_of_many_levels_the_most_frequent_have_shares_and_intervals_end_where_shares_do():
    levels = tuple(f"v{i:02}" for i in range(20))
    frames = [
        pd.DataFrame({"s": np.repeat(levels[:18], [300, *[3 + (i + seed) % 3 for i in range(17)]])}) for seed in (0, 1)
    ]
    found = shares(tables_of(*frames, facts={"s": Declared(levels=levels)}))
    assert len(found) == 12
    assert found[0].level == "v00"
    assert all(0 <= each.found.interval.low <= each.found.interval.high <= 1 for each in found)


def test_a_column_without_a_value_in_some_table_has_no_mean():
    facts = {"y": Declared(limits=(0.0, 9.0), missing="model")}
    frames = [pd.DataFrame({"y": [1.0, 2.0, np.nan]}), pd.DataFrame({"y": [np.nan] * 3})]
    of = tables_of(*frames, facts=facts)
    assert means(of) == []
    (gaps,) = [each for each in shares(of) if each.level is None]
    assert gaps.found.estimate == pytest.approx(2 / 3)


def test_shares_are_combined_over_tables():
    own, *others = (read_records(pd.DataFrame({"s": list(text)}), ["s"]) for text in ("aab", "aabb", "abbb", "aaab"))
    (a, b) = shares_of("s", own, others, scalar=SPREAD)
    expected = combine([0.5, 0.25, 0.75], [0.25 / 3, 0.1875 / 3, 0.1875 / 3], 4, 3, None, SPREAD).interval
    assert (a.level, a.synthetic) == ("a", 0.5)
    assert a.interval == (max(expected.low, 0), min(expected.high, 1))
    assert b.interval == pytest.approx((1 - a.interval.high, 1 - a.interval.low))
    assert shares_of("s", own, others[:1], scalar=SPREAD)[0].interval is None


def test_tables_that_agree_have_an_interval_of_no_length():
    """And not of what rounding leaves, which would be shown with ten decimals."""
    assert combine([6.0] * 5, [0.1, 0.2, 0.3, 0.4, 0.7], 1_500, 1_500, None, SPREAD).interval == (6.0, 6.0)


def test_rows_without_a_response_take_no_part_in_a_regression():
    """What stands in for a gap is the lower limit, and would be taken for a value."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 5, 200)
    y = np.where(rng.random(200) < 0.3, np.nan, 50 + x + rng.normal(0, 0.1, 200))
    table = pd.DataFrame({"y": y, "x": x})
    gaps = {"y": Declared(limits=(0.0, 99.0), missing="model")}
    records = read_records(table, ["y", "x"], gaps)
    found = regress("y ~ x", records, [records])
    kept = ~np.isnan(y)
    assert found.coefficients[0, 1] == pytest.approx(np.polyfit(x[kept], y[kept], 1)[0])
    assert found.kind == LEAST_SQUARES


def test_codes_have_shares_and_no_mean_and_are_levels_in_a_regression():
    rng = np.random.default_rng(5)
    facts = {"y": Declared(limits=(-9.0, 9.0)), "code": Declared(levels=(1, 2, 3), nominal=True)}
    frames = []
    for _ in range(2):
        code = rng.integers(1, 4, 90)
        frames.append(pd.DataFrame({"y": np.array([0.0, 5.0, 1.0])[code - 1] + rng.normal(0, 0.1, 90), "code": code}))
    of = tables_of(*frames, facts=facts)
    assert [each.column for each in means(of)] == ["y"]
    assert {each.level for each in shares(of)} == {1, 2, 3}
    found = regression(of, "y")
    assert [term.name for term in found.terms] == ["code = 2", "code = 3"]
    assert [each.estimate for each in found.found] == pytest.approx([0.0, 5.0, 1.0], abs=0.1)
    assert of.regressed == ["y"]
    assert declared_numbers(facts) == ["y"]
    assert [term.name for term in declared_regression(facts, "y").terms] == ["code = 2", "code = 3"]
