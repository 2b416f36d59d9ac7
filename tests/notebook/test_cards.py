"""Cards for notebooks: escaped, without script or request, small, and marked where they are confidential."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import alphasynth as syn
from alphasynth.audits.finding import BROKEN, Finding
from alphasynth.evaluation.digits import told
from alphasynth.notebook import markup, sketches
from alphasynth.notebook.declarations import declared_table, in_words
from alphasynth.pages import palette
from browser import Opened, chromium

ODD = "<script>alert(1)</script> & \"'"
LARGEST = 60_000
VOID = ("rect", "line", "circle", "path")


class Tags(HTMLParser):
    """Every element and attribute of a card, and whether elements end where they should."""

    def __init__(self, html):
        super().__init__()
        self.open, self.names, self.attributes = [], set(), set()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


ELEMENTS = {*VOID, *("div", "span", "b", "table", "tr", "td", "th", "ul", "li", "svg")}


def check(html):
    found = Tags(html)
    assert found.names <= ELEMENTS
    assert not any(name.startswith("on") or name in ("id", "class", "href", "src") for name in found.attributes)
    assert "url(" not in html
    assert "http" not in html
    assert len(html) < LARGEST


@pytest.fixture(scope="module")
def odd():
    """A table whose names and levels are markup."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({ODD: rng.choice([ODD, "b"], 200), "y": rng.poisson(5, 200)})


@pytest.fixture(scope="module")
def cards(odd):
    """A card of every kind, by name."""
    facts = {ODD: {"levels": [ODD, "b"]}, "y": {"limits": [0, 50], "whole": True}}
    raked = syn.Synthesizer(facts, mechanism="Raked", epsilon=4, m=2, seed=1)
    made = {"asked for": raked._repr_html_(), "columns": raked.columns._repr_html_()}
    raked.fit(odd)
    release = raked.release()
    made |= {"raked": raked._repr_html_(), "release": release._repr_html_(), "raked guarantee": raked.guarantee_}
    made["utility"] = syn.evaluate(odd, release.tables)
    paper = syn.Synthesizer(
        f"y ~ C(`{ODD}`)", public=[ODD], family="poisson", mechanism="LW", m=1, seed=1, epsilon=200
    ).fit(odd)
    made |= {"paper": paper, "guarantee": paper.guarantee_, "public": paper.release().guarantee}
    made["finding"] = Finding("draw", "instance", 1.0, 2.0, 1e-5, 3, ODD)
    return {name: card if isinstance(card, str) else card._repr_html_() for name, card in made.items()}


CONFIDENTIAL = {"raked", "raked guarantee", "utility", "paper", "guarantee", "finding"}


def test_cards_are_plain_and_escaped(cards):
    for name, html in cards.items():
        check(html)
        assert "<script" not in html, name
    for name in ("columns", "raked", "release", "utility", "paper", "finding"):
        assert "&lt;script&gt;" in cards[name], name


def test_what_is_confidential_says_so_in_its_head(cards):
    for name, html in cards.items():
        assert (markup.CONFIDENTIAL in html[:600]) == (name in CONFIDENTIAL), name


def test_two_cards_stand_side_by_side(cards):
    """Nothing in them is found by a name of its own."""
    assert not re.search(r"\b(id|class)=", "".join(cards.values()))


def test_a_fixed_seed_shows(cards):
    for name in ("release", "guarantee", "raked guarantee", "public"):
        assert "Not for release, since the random seed was fixed." in cards[name]


def test_the_promise_is_told_whole(cards):
    assert "It is not epsilon-differential privacy" in cards["guarantee"]
    assert "It is not epsilon-differential privacy" in cards["public"]
    assert "pure" not in cards["release"]
    assert "It holds for every table of valid values" in cards["release"]


def test_a_broken_claim_shows():
    finding = Finding("draw", "instance", 1.0, float("inf"), 0.0, 3, "removed: rank 1", ceiling=2.0)
    assert f">{BROKEN}<" in finding._repr_html_()
    assert "inf" in finding._repr_html_()
    check(finding._repr_html_())
    uncertain = Finding("draw", "instance", 1.0, 0.5, 0.0, 3, "removed", certain=False)
    assert "too few records" in uncertain._repr_html_()


def test_what_nobody_confirmed_is_marked():
    facts = {"age": {"limits": [0, 110], "whole": True, "read_off_the_table": ["limits"]}}
    html = syn.Columns.of(facts)._repr_html_()
    assert markup.CONFIDENTIAL in html
    assert "age (limits)" in html
    assert markup.CONFIDENTIAL not in syn.Columns.of({"age": {"limits": [0, 110]}})._repr_html_()


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars"])
def test_releases_of_every_kind_of_frame(kind, mixture):
    pl = pytest.importorskip("polars")
    wide = {f"c{i}": mixture["y"] for i in range(30)}
    frames = {"pandas": pd.DataFrame, "pyarrow": lambda c: pa.table(dict(c)), "polars": pl.DataFrame}
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Unweighted", m=1, seed=1).fit(mixture).release()
    release = syn.Release((frames[kind]({n: c.to_numpy() for n, c in wide.items()}),), made.guarantee, ("a.csv",))
    html = release._repr_html_()
    check(html)
    assert "30 columns, of which 12 are shown" in html
    assert "a.csv" in html
    assert "Nothing is promised" in html


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([], dtype="float64"),
        pd.Series([np.nan, np.nan]),
        pd.Series([None, None], dtype="object"),
        pd.Series([1.5]),
        pd.Series([3, 3, 3]),
        pd.Series([True, False, True]),
        pd.Series(pd.to_datetime(["2024-01-01", None, "2024-03-01"])),
        pd.Series(["é" * 1_000, "日本", None]),
        pd.Series([1e300, -1e300]),
        pd.Series([f"level {i}" for i in range(500)]).astype("category"),
    ],
    ids=lambda column: f"{column.dtype}-{len(column)}",
)
def test_odd_columns_can_be_looked_at(column, mixture):
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Unweighted", m=1, seed=1).fit(mixture).release()
    html = syn.Release((pd.DataFrame({"x": column}),), made.guarantee)._repr_html_()
    check(html)
    assert ">x<" in html


def test_a_release_without_tables_is_shown(mixture):
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Unweighted", m=1, seed=1).fit(mixture).release()
    check(syn.Release((), made.guarantee)._repr_html_())
    assert repr(syn.Release((), made.guarantee)).startswith("<Release: 0 tables; Unweighted")


def test_terminals_show_what_was_asked(mixture):
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=2, seed=1, given=None)
    assert repr(made) == "Synthesizer('y ~ 1', family='poisson', mechanism='LW', m=2, seed=1)"
    given = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Given", m=1, given=np.linspace(0, 1, 1_000))
    assert "given=<ndarray>" in repr(given)
    columns = syn.Columns.of({"age": {"limits": [0, 110], "whole": True}})
    assert repr(columns) == "<Columns: age (0 to 110, whole)>"
    raked = syn.Synthesizer(columns, mechanism="Raked", epsilon=4, m=2)
    assert repr(raked) == "RakedSynthesizer(<Columns>, m=2, epsilon=4)"
    utility = syn.evaluate(mixture, [mixture])
    assert repr(utility) == "<Utility: 1 table of 1,000 rows beside 1,000; confidential>"
    card = utility._repr_html_()
    assert str(utility) == f"{utility.verdict}\n{utility!r}"
    places = [card.index(escape(words)) for part in utility.verdict.parts for words in part]
    assert places == sorted(places)
    assert places[-1] < card.index("S_pMSE")
    mean = utility.comparisons[0]
    assert f">{told(mean.value, mean.error)}<" in card
    assert f">{told(mean.synthetic.combined.estimate, mean.synthetic.error)}<" in card
    assert repr(made.fit(mixture).guarantee_).startswith("<Guarantee: LW: epsilon ")


def test_synthetic_is_green_everywhere():
    assert palette.COLOURS[palette.SYNTHETIC] == sketches.SYNTHETIC


@pytest.mark.parametrize("numbers", [(0.0, 0.0), (np.inf, 1.0), (1.0, np.inf), (np.nan, np.nan), (-1.0, 2.0)])
def test_bars_stay_within_their_figure(numbers):
    drawn = sketches.against("both", *numbers)
    widths = [float(width) for width in re.findall(r'<rect[^>]* width="([^"]+)"', drawn)]
    assert len(widths) == 2
    assert all(0 <= width <= 2 * sketches.WIDTH for width in widths)


def test_an_interval_that_is_not_finite_is_no_figure():
    assert sketches.intervals("x", (0.0, 1.0, np.nan), (0.0, 1.0, 2.0)) == ""
    assert sketches.intervals("x", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)).count("<circle") == 2


def test_long_texts_and_many_columns_are_cut():
    assert len(markup.text("x" * 10_000)) == markup.LONGEST
    many = declared_table({f"c{i}": {"levels": list(range(100))} for i in range(100)}, "")
    assert "and 60 more" in many
    assert "0, 1, 2, 3, 4, 5, 6, 7 and 92 more" in many
    assert in_words({"levels": ["a"]}) == "1 level: a"


@pytest.mark.slow
def test_cards_in_a_browser(cards, tmp_path):
    """No request, nothing said, and at the width of a telephone nothing wider than the page."""
    page = tmp_path / "cards.html"
    head = '<!DOCTYPE html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    page.write_text(head + "".join(cards.values()), encoding="utf-8")
    with chromium() as browser:
        for width, scheme in ((1_280, "light"), (390, "dark")):
            opened = Opened(browser, page, width, scheme)
            assert opened.said == []
            assert opened.asked == [opened.address]
            assert opened.tab.evaluate("document.documentElement.scrollWidth") <= width
