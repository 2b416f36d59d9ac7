"""The verdict on the pages: first on each, and on the public one from public facts alone."""

from __future__ import annotations

import ast
import inspect
import json
import re
import typing
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.evaluation.verdict_words import HEADS
from alphasynth.pages import page, public_verdict
from alphasynth.pages.comparison_page import comparison_page
from alphasynth.privacy.public_guarantee import SPREAD, PublicGuarantee
from alphasynth.privacy.scopes import INSTANCE, NONE, STRICT, TARGET
from alphasynth.privacy.strict_terms import NoisySums
from alphasynth.raking.measured import WORDS as MEASURED
from command_line import run, synthesize, visits

pytestmark = pytest.mark.usefixtures("alone")

BASE = PublicGuarantee(
    formulas=("visits ~ 1",),
    families=("negative_binomial",),
    mechanism="Censored",
    rules=(),
    epsilon=4.0,
    policy_epsilon=4.0,
    m=1,
    tables_per_draw=1,
    scope=STRICT,
    unit_column=None,
    max_rows=1,
    n=1_000,
    num_draws=1,
    thresh=1.0,
    public_columns=(),
    sampler="exact draws on a grid",
    releasable=True,
    version="1",
    scalar=0.25,
)


def said(**changes):
    return public_verdict.public_verdict(replace(BASE, **changes))


def which(part):
    return [one.which for one in part]


def verdict_of(html):
    """The three lines of a page's verdict, which stands in its first section."""
    first = html.index("<section")
    assert html.index('<section id="verdict">') == first
    found = re.search(r'<dl class="verdict">(.*?)</dl>', html, re.DOTALL)[1]
    assert [unescape(head) for head in re.findall(r"<dt>(.*?)</dt>", found)] == list(HEADS)
    return [unescape(line) for line in re.findall(r"<dd>(.*?)</dd>", found)]


class TestPublic:
    def test_noise_of_a_draw_is_beside_its_limit(self):
        assert said().off[0].which == public_verdict.DRAWS_NOISY
        assert "scatters by 2 of their sampling error" in said().lines[1]
        assert which(said(scalar=1.0).holds) == [public_verdict.MODEL, public_verdict.DRAWS]
        assert said(scalar=1.0).off == ()
        assert said(scalar=1.0).lines[1] == f"Off: {public_verdict.NOTHING}."

    def test_vector_weights_draw_the_tails_in(self):
        found = said(scope=INSTANCE, rules=("LW", "Reweight"), scalar=None)
        assert which(found.off) == [public_verdict.TAILS]
        assert which(found.avoid)[:2] == [public_verdict.ESTIMATED, public_verdict.ONE_DRAW]
        assert public_verdict.TAILS not in which(said(scope=INSTANCE, rules=("SW",), scalar=None).off)

    @pytest.mark.parametrize(
        ("changes", "warned"),
        [
            ({"releasable": False}, public_verdict.SEEDED),
            ({"scope": NONE}, public_verdict.NOT_PRIVATE),
            ({"scope": TARGET}, public_verdict.FOR_STUDY),
            ({"scope": INSTANCE}, public_verdict.ESTIMATED),
            ({"scalar": None}, public_verdict.ONE_DRAW),
            ({"scalar": None, "combining": SPREAD}, public_verdict.ONE_DRAW),
            ({"at_limit": True}, public_verdict.OF_LIMITED),
            ({"at_limit": True, "m": 5}, public_verdict.OF_LIMITED),
        ],
    )
    def test_what_not_to_do(self, changes, warned):
        always = [public_verdict.GROUPS, public_verdict.PERSONS]
        assert which(said().avoid) == always
        assert which(said(**changes).avoid) == [warned, *always]

    def test_several_draws_have_intervals(self):
        assert public_verdict.ONE_DRAW not in which(said(m=2, scalar=None, combining=SPREAD).avoid)

    def test_chains_and_public_columns_leave_relations_out(self):
        chain = ({"column": "a"}, {"column": "b"})
        assert which(said(columns=chain, scalar=None).holds) == [public_verdict.MODELS]
        assert which(said(columns=chain, scalar=None).off) == [public_verdict.LEFT_OUT]
        assert which(said(public_columns=("age",), scalar=None).off) == [public_verdict.LEFT_OUT]
        assert which(said(at_limit=True, scalar=None).off) == [public_verdict.AT_LIMIT]

    def test_whole_tables_have_noise_beside_sampling_error(self):
        sums = (
            NoisySums("choices of pairs", 0, 1, 0.1),
            NoisySums("counts of each column's blocks", 40, 1, 0.1, 3.0, 0.2),
            NoisySums("counts of the pairs of a tree", 90, 1, 0.1, 9.0, 1.5),
        )
        columns = tuple({"column": name} for name in "abc")
        found = said(measured=sums, columns=columns, scalar=None, m=3, combining=SPREAD)
        blocks, tree = (public_verdict.KEPT[one.what] for one in sums[1:])
        assert found.lines[0] == f"Holds: {blocks} (noise 0.2 times the sampling error)."
        assert f"{tree} (noise 1.5 times the sampling error)" in found.lines[1]
        assert not [one.what for one in sums if one.what in "".join(found.lines)]
        assert which(found.off) == [public_verdict.NOISY, public_verdict.THREE]
        declared = said(measured=sums, columns=columns, interactions=("a:b",))
        assert "three columns or more (but for a:b)" in declared.lines[1]
        section = public_verdict.section(replace(BASE, measured=sums, columns=columns))
        (table,) = [block for block in section.blocks if block.kind == "table"]
        assert [line[2].text for line in table.lines] == ["1.5", "0.2"]
        assert [line[1].text for line in table.lines] == [f"{one.sums} {one.what}" for one in sums[:0:-1]]
        assert section.blocks[-1].text == public_verdict.TERMS

    def test_every_kind_of_noisy_sums_has_words_for_who_uses_the_tables(self):
        without = {MEASURED[name] for name in ("weights", "choice")}  # which have no noise beside sampling error
        assert set(public_verdict.KEPT) == set(MEASURED.values()) - without

    def test_one_column_is_told_in_words(self):
        assert said(scalar=None).lines[0] == (
            "Holds: values of visits, if the model they were drawn from is right (negative binomial, visits ~ 1)."
        )
        found = said(scalar=None, formulas=("visits ~ age + sex",)).lines[0]
        assert found.startswith("Holds: values of visits and how they go with age, sex, if the model")
        assert not [line for line in public_verdict.LIMITS if "1 standard errors" in line]

    def test_every_sentence_can_be_said_and_is_short(self):
        for code in public_verdict.WORDS:
            assert "{" not in public_verdict.Said(code, "x").words
        assert all(len(line) < 400 for line in said().lines)

    def test_nothing_but_the_public_guarantee_goes_in(self):
        """By type, and by what the module knows: none that compares with records is imported."""
        for function in (public_verdict.public_verdict, public_verdict.section):
            (parameter,) = inspect.signature(function).parameters
            assert typing.get_type_hints(function)[parameter] is PublicGuarantee
        tree = ast.parse(inspect.getsource(public_verdict))
        names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {name for name in names if name and name.startswith("alphasynth.tables")}
        assert not names & {"alphasynth.evaluation.utility", "alphasynth.evaluation.verdict"}


def test_both_pages_begin_with_a_verdict(table):
    assert synthesize(table, "--m", "2", "--epsilon", "60") == 0
    inside, public = (verdict_of(Path(f"run/{part}/report.html").read_text()) for part in ("confidential", "release"))
    assert "numbers are as near to the confidential ones as another sample's" in inside[0]
    assert "weights by record draw tails in" in inside[2]
    assert "values of visits, if the model they were drawn from is right" in public[0]
    assert "tails, which weights by record draw in" in public[1]
    assert "not" not in public[0]
    html = Path("run/confidential/report.html").read_text()
    assert html.index("The largest differences") < html.index('<section id="guarantee">')
    assert "Limits by which this was said" in html


def test_the_public_verdict_is_the_same_whatever_the_records_are(alone):
    """Two tables that have nothing in common but their number of rows and what is public of them."""
    found = []
    for name, rate in (("low", 2.0), ("high", 90.0)):
        frame = visits().assign(visits=np.random.default_rng(1).poisson(rate, 300))
        frame.to_csv(f"{name}.csv", index=False)
        options = ["--mechanism", "SW", "--alpha", "0.3", "--m", "2"]
        assert synthesize(f"{name}.csv", *options, out=name) == 0
        found.append(verdict_of(Path(f"{name}/release/report.html").read_text()))
    assert found[0] == found[1]


def test_evaluate_begins_with_the_verdict_and_the_largest_differences(alone, capsys):
    table = visits()[["visits", "age", "sex"]]
    table.to_csv("t.csv", index=False)
    table.assign(visits=table["visits"] + 5).to_csv("s.csv", index=False)
    assert run("evaluate", "t.csv", "s.csv", "--page", "page.html") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Confidential")
    assert [line.partition(":")[0] for line in lines[2:] if line and not line.startswith(" ")][:3] == list(HEADS)
    text = "\n".join(lines)
    assert "mean of visits" in text.split("The largest differences")[0]
    assert text.index("Off:") < text.index("The largest differences") < text.index("Statistics by column")
    assert "So far goes the farthest of" in text.replace("\n", " ")
    assert run("evaluate", "t.csv", "s.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    apart = [line["standard errors apart"] for line in found["largest_differences"]]
    assert apart == sorted(apart, reverse=True)
    assert len(apart) == 10
    assert found["verdict"][1].startswith("Off: ")
    off = verdict_of(Path("page.html").read_text())[1]
    assert "Off: " + off == found["verdict"][1]


def test_numbers_of_a_page_have_the_decimals_of_their_errors(alone, capsys):
    """A mean with a standard error of 0.06 has three decimals, in text and on the page; JSON has all digits."""
    y = np.random.default_rng(1).normal(100, 2, 1_000)
    pd.DataFrame({"y": y}).to_csv("t.csv", index=False)
    assert run("evaluate", "t.csv", "t.csv", "--page", "page.html") == 0
    shown = f"{y.mean():.3f}"
    assert re.search(rf"y +mean +{re.escape(shown)} ", capsys.readouterr().out)
    assert re.search(
        rf'data-value="{re.escape(str(y.mean())[:9])}[^"]*">{re.escape(shown)}<', Path("page.html").read_text()
    )
    assert run("evaluate", "t.csv", "t.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["statistics"][0]["confidential"] == pytest.approx(y.mean(), rel=1e-12)


def test_any_tables_of_several_columns_have_the_map_of_pairs(alone):
    table = visits()[["visits", "age", "sex"]]
    table.to_csv("t.csv", index=False)
    table.sample(300, replace=True, random_state=1).to_csv("s.csv", index=False)
    assert run("evaluate", "t.csv", "s.csv", "--page", "page.html") == 0
    html = Path("page.html").read_text()
    for name in ("pairs", "pairs_by_cell", "columns_by_block"):
        assert f'id="figure-{name}"' in html
    assert run("evaluate", "t.csv", "s.csv", "--columns", "visits", "--page", "one.html") == 0
    assert 'id="figure-pairs"' not in Path("one.html").read_text()


@pytest.mark.slow
def test_chains_have_the_map_of_pairs_on_the_confidential_page_alone(alone):
    visits().to_parquet("t.parquet")
    chain = ["--formula", "sex ~ 1", "--family", "bernoulli", "--formula", "visits ~ sex", "--family", "poisson"]
    arguments = ["synthesize", "t.parquet", *chain, "--mechanism", "LW", "--m", "2", "--out", "run", "--quiet"]
    from alphasynth.cli.entry import run_command

    assert run_command(arguments) == 0
    inside, public = (Path(f"run/{part}/report.html").read_text() for part in ("confidential", "release"))
    assert 'id="figure-pairs"' in inside
    assert 'id="figure-pairs"' not in public
    assert "blocks that the confidential rows make" in inside
    assert "values of 2 columns and how each goes with those before it" in verdict_of(public)[0]
    assert "relations that the model leaves out" in verdict_of(public)[1]


@pytest.mark.slow
def test_synthesizers_side_by_side_have_a_verdict_each(mixture):
    settings = {"family": "negative_binomial", "m": 2, "seed": 5, "num_draws": 400}
    fitted = [syn.Synthesizer("y ~ 1", mechanism=name, **settings).fit(mixture) for name in ("LW", "SW")]
    html = comparison_page(mixture, fitted)
    assert html.count('<dl class="verdict">') == 2
    assert "<h3>LW</h3>" in html
    assert html.count("Limits by which this was said") == 2


def test_a_name_on_the_verdict_is_escaped(alone):
    evil = "pay<img src=x onerror=alert(1)>"
    table = pd.DataFrame({evil: np.random.default_rng(1).normal(size=200)})
    table.to_parquet("t.parquet")
    (table + 9).to_parquet("s.parquet")
    assert run("evaluate", "t.parquet", "s.parquet", "--page", "page.html") == 0
    html = Path("page.html").read_text()
    assert "<img" not in html
    assert "mean of pay<img src=x" in verdict_of(html)[1]


def test_an_infinite_distance_sorts_last_and_is_shown():
    from alphasynth.evaluation.digits import WithError

    found = page.cell(WithError(float("inf"), 1.0))
    assert found.text == "∞"
    assert found.value is not None
    assert found.value > 1e300
    assert page.cell(WithError(float("nan"), 1.0)) == page.Cell("")


def test_a_page_of_gaps_alone(alone):
    pd.DataFrame({"a": [np.nan] * 30, "b": ["x", "y"] * 15}).to_parquet("t.parquet")
    assert run("evaluate", "t.parquet", "t.parquet", "--target", "a", "--page", "page.html") == 0
    assert verdict_of(Path("page.html").read_text())[1].startswith("nothing")
