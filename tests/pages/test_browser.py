"""Both pages in a real browser: drawn, answering, asking for nothing, at every width and in every light."""

from __future__ import annotations

import base64
import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from browser import Opened, boxes, chromium

pytestmark = pytest.mark.slow

EVIL = "pay<img src=x onerror='window.hit=1'>"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def runs(tmp_path_factory, mixture):
    """A run of each kind: several draws and vector weights; covariates, a scalar weight, a hostile name, a seed."""
    folder = tmp_path_factory.mktemp("runs")
    mixture.to_csv(folder / "mixture.csv", index=False)
    rng = np.random.default_rng(3)
    age, sex = rng.integers(20, 70, 300), rng.choice(["f", "m"], 300)
    pay = rng.poisson(np.exp(1 + 0.02 * age))
    pd.DataFrame({EVIL: pay, "age": age, "sex": sex}).to_parquet(folder / "pay.parquet")
    patch = pytest.MonkeyPatch()
    patch.setattr("alphasynth.cli.synthesize._use_cache", lambda: None)
    common = ["--family", "negative_binomial", "--quiet"]
    first = ["--formula", "y ~ 1", "--mechanism", "LW_final", "--m", "8", "--epsilon", "80"]
    assert run_command(["synthesize", f"{folder}/mixture.csv", *first, *common, "--out", f"{folder}/plain"]) == 0
    second = ["--formula", f"`{EVIL}` ~ age + C(sex)", "--public", "age,sex", "--mechanism", "SW", "--m", "1"]
    second += ["--seed", "4"]
    assert run_command(["synthesize", f"{folder}/pay.parquet", *second, *common, "--out", f"{folder}/hostile"]) == 0
    pd.DataFrame({EVIL: pay, "age": age, "sex": sex}).to_parquet(folder / "whole.parquet")
    (folder / "columns.toml").write_text(
        f"[column.{json.dumps(EVIL)}]\nlimits = [0, 60]\nwhole = true\n[column.age]\nlimits = [20, 70]\nwhole = true\n"
        '[column.sex]\nlevels = ["f", "m"]\n'
    )
    third = ["--columns", f"{folder}/columns.toml", "--mechanism", "Raked", "--epsilon", "4", "--m", "2", "--quiet"]
    assert run_command(["synthesize", f"{folder}/whole.parquet", *third, "--out", f"{folder}/whole"]) == 0
    patch.undo()
    return folder


PAGES = [f"{run}/{part}" for run in ("plain", "hostile", "whole") for part in ("confidential", "release")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1_400])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_drawn_and_asks_for_nothing(browser, runs, page, width, scheme):
    path = runs / page / "report.html"
    assert path.stat().st_size < 3_000_000
    opened = Opened(browser, path, width, scheme)
    tab = opened.tab
    assert opened.said == []
    assert opened.asked == [opened.address]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("window.hit === undefined")
    panels = tab.locator("figure svg").all()
    assert len(panels) >= (6 if "plain" in page else 2)
    for panel in panels:
        box = panel.bounding_box()
        assert box["width"] > 250
        assert box["height"] > 60
        assert len(panel.get_attribute("aria-label")) > 30
        assert panel.get_attribute("role") == "img"
        marks = boxes(panel.locator("polygon, .points circle, .bars rect, polyline, .spike, .tile"))
        assert marks
        assert max(mark["width"] + mark["height"] for mark in marks) > 4
    ink, paper = (tab.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    assert (sum(_rgb(paper)) > sum(_rgb(ink))) == (scheme == "light")


def _rgb(colour):
    return [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]


@pytest.mark.parametrize("page", PAGES)
def test_words_and_labels_can_be_read(browser, runs, page):
    """On a phone no text of a figure is smaller than 9 px, and no label is cut off by the edge of its panel."""
    opened = Opened(browser, runs / page / "report.html", 400)
    for panel in opened.tab.locator("figure svg").all():
        edge = panel.bounding_box()
        for box in boxes(panel.locator("text")):
            assert box["height"] > 9
            assert box["x"] >= edge["x"] - 1
            assert box["x"] + box["width"] <= edge["x"] + edge["width"] + 1


def test_toggles_hide_a_synthesizer_everywhere(browser, runs):
    opened = Opened(browser, runs / "plain/confidential/report.html")
    tab = opened.tab
    names = [box.get_attribute("value") for box in tab.locator(".pick input").all()]
    assert names == ["Unweighted", "LW", "LW_final", "confidential"]
    first = tab.locator("#figure-lipschitz svg")
    before = first.bounding_box()["height"]
    shown = opened.shown("[data-series='LW']")
    assert shown > 6
    tab.get_by_label("LW", exact=True).uncheck()
    assert opened.shown("[data-series='LW']") == 0
    assert opened.shown("[data-series='LW_final']") > 6
    assert first.bounding_box()["height"] < before - 20
    rows = [row.bounding_box() for row in first.locator(".row:not(.off)").all()]
    assert rows[1]["y"] - rows[0]["y"] == pytest.approx(rows[0]["height"], abs=1.5)  # closed up
    tab.get_by_label("LW", exact=True).check()
    assert opened.shown("[data-series='LW']") == shown
    assert first.bounding_box()["height"] == pytest.approx(before)
    for name in names:
        tab.get_by_label(name, exact=True).uncheck()
    assert opened.shown("figure .row") == 0
    assert opened.said == []


def test_toggles_of_the_public_page(browser, runs):
    opened = Opened(browser, runs / "plain/release/report.html")
    names = [box.get_attribute("value") for box in opened.tab.locator(".pick input").all()]
    assert names == ["all tables", *(f"table {i}" for i in range(1, 7))]
    opened.tab.get_by_label("table 3", exact=True).uncheck()
    assert opened.shown("svg [data-series='table 3']") == 0
    assert opened.shown("svg [data-series='table 4']") == 6


@pytest.mark.parametrize("page", PAGES)
def test_tables_sort_by_every_column(browser, runs, page):
    opened = Opened(browser, runs / page / "report.html")
    for table in opened.tab.locator("table").all():
        if table.locator("tbody tr").count() == 1:  # nothing to sort
            assert table.locator("button").count() == 0
            continue
        for place, head in enumerate(table.locator("th").all()):

            def column(table=table, place=place):
                cells = [line.locator("td").nth(place) for line in table.locator("tbody tr").all()]
                return [cell.get_attribute("data-value") or cell.inner_text().strip() for cell in cells]

            before = column()
            head.locator("button").click()
            assert head.get_attribute("aria-sort") == "ascending"
            up = column()
            assert sorted(up) == sorted(before)
            filled = [value for value in up if value != ""]
            numbers = [float(value) for value in filled if _is_number(value)]
            if len(numbers) == len(filled):
                assert numbers == sorted(numbers)
            head.locator("button").press("Enter")
            assert head.get_attribute("aria-sort") == "descending"
            down = [value for value in column() if value != ""]
            if len(numbers) == len(filled):
                assert [float(value) for value in down] == sorted(numbers, reverse=True)
    assert opened.said == []


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_numbers_sort_by_size_and_not_by_letter(browser, runs):
    """The Delta of Unweighted is above 10, the others below: by letter it would come first."""
    opened = Opened(browser, runs / "plain/confidential/report.html")
    table = opened.tab.locator("#weights table").first
    table.get_by_role("button", name="Delta").click()
    assert [line.locator("td").first.inner_text() for line in table.locator("tbody tr").all()][-1] == "Unweighted"


def over(mark):
    """Bring the pointer over a mark, once the page has stopped scrolling to it: scrolling hides the tip."""
    mark.scroll_into_view_if_needed()
    mark.page.wait_for_timeout(200)
    mark.hover(force=True)


def test_marks_answer_to_the_mouse(browser, runs):
    opened = Opened(browser, runs / "plain/confidential/report.html")
    tab = opened.tab
    tip = tab.locator("#tip")
    assert not tip.is_visible()
    over(tab.locator("#figure-lipschitz .row").nth(1))
    assert tip.is_visible()
    assert tip.inner_text().startswith("LW: median")
    assert "(here: " in tip.inner_text()
    over(tab.locator("#figure-lipschitz_against_weight .points circle").first)
    assert "weight" in tip.inner_text()
    over(tab.locator("#figure-weight_histograms .bars rect").last)
    assert "% of records" in tip.inner_text()
    line = tab.locator("#figure-mu .line .hit").first
    line.scroll_into_view_if_needed()
    tab.wait_for_timeout(200)
    middle = "(e) => e.getPointAtLength(e.getTotalLength() / 2).matrixTransform(e.getScreenCTM())"
    at = line.evaluate(f"(e) => {{ const p = ({middle})(e); return [p.x, p.y]; }}")
    tab.mouse.move(*at)
    assert ": mean" in tip.inner_text()
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1_400
    over(tab.locator("h1"))
    assert not tip.is_visible()


def test_tiles_and_shares_and_estimates_answer_too(browser, runs):
    opened = Opened(browser, runs / "whole/confidential/report.html")
    tab = opened.tab
    tip = tab.locator("#tip")
    over(tab.locator("#figure-pairs .tile").nth(1))
    assert "TV" in tip.inner_text()
    assert "by chance" in tip.inner_text()
    over(tab.locator("#figure-pairs_by_cell .tile").first)
    assert "of rows" in tip.inner_text()
    over(tab.locator("#figure-columns_by_block .bars rect").first)
    assert "confidential" in tip.inner_text()
    over(tab.locator("#figure-coefficients .points circle").first)
    assert "95 % interval" in tip.inner_text()
    assert opened.said == []


def test_the_value_under_the_pointer_is_right(browser, runs):
    """Over the tick of 100 on the axis of y, the tip reads 100."""
    opened = Opened(browser, runs / "plain/confidential/report.html")
    figure = opened.tab.locator("#figure-values_y svg")
    figure.scroll_into_view_if_needed()
    opened.tab.wait_for_timeout(200)
    tick = figure.locator(".axis text", has_text="100").bounding_box()
    row = figure.locator(".row").first.bounding_box()
    opened.tab.mouse.move(tick["x"] + tick["width"] / 2, row["y"] + row["height"] / 2)
    here = opened.tab.locator("#tip").inner_text().split("(here: ")[1].rstrip(")")
    assert float(here) == pytest.approx(100, abs=1)


def test_the_largest_differences_are_read_whole_on_a_phone(browser, runs):
    """Their first column took all the room."""
    for run in ("plain", "whole"):
        tab = Opened(browser, runs / run / "confidential/report.html", 390).tab
        heads = tab.locator("#verdict table th").all()
        assert len(heads) == 4
        assert max(box["x"] + box["width"] for box in (head.bounding_box() for head in heads)) <= 390


def test_tables_of_the_public_page_have_colours_of_their_own(browser, runs):
    swatches = Opened(browser, runs / "plain/release/report.html").tab.locator(".pick i")
    found = swatches.evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
    assert len(found) > 2
    assert len(set(found)) == len(found)


def test_numbers_can_be_taken_along(browser, runs):
    opened = Opened(browser, runs / "plain/confidential/report.html")
    with opened.tab.expect_download() as download:
        opened.tab.locator("#figure-weights figcaption a").click()
    assert download.value.suggested_filename == "weights.csv"
    lines = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {line["series"] for line in lines} == {"Unweighted", "LW", "LW_final"}
    href = opened.tab.locator("#figure-weights figcaption a").get_attribute("href")
    assert base64.b64decode(href.split(",")[1]).startswith(b"panel,series,mark,x")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_on_paper(browser, runs, page, tmp_path):
    opened = Opened(browser, runs / page / "report.html", 794, "dark")
    opened.tab.emulate_media(media="print")
    assert opened.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.shown(".pick, nav") == 0
    assert opened.shown("figure svg") == opened.count("figure svg")
    assert len(opened.tab.pdf(format="A4")) > 10_000


@pytest.mark.parametrize("page", PAGES)
def test_a_page_without_scripts_still_shows_everything(browser, runs, page):
    opened = Opened(browser, runs / page / "report.html", scripts=False)
    assert opened.shown("figure svg") == opened.count("figure svg") > 0
    assert opened.shown("table") == opened.count("table") > 0


def test_a_script_that_is_not_ours_does_not_run(browser, runs, tmp_path):
    """Were a text ever left unescaped, the page's own policy would still stop it."""
    html = (runs / "plain/release/report.html").read_text()
    tampered = tmp_path / "tampered.html"
    tampered.write_text(
        html.replace("</main>", "<script>window.hit=1</script><img src='data:,x' onerror='window.hit=1'></main>")
    )
    opened = Opened(browser, tampered)
    assert opened.tab.evaluate("window.hit === undefined")
    assert any("Content Security Policy" in line for line in opened.said)


def test_every_part_has_a_name_for_those_who_listen(browser, runs):
    for page in PAGES:
        opened = Opened(browser, runs / page / "report.html")
        tab = opened.tab
        assert tab.locator("h1").count() == 1
        assert tab.evaluate("document.documentElement.lang") == "en"
        for link in tab.locator("nav a").all():
            assert tab.locator(link.get_attribute("href")).count() == 1
        assert tab.evaluate("new Set(Array.from(document.querySelectorAll('[id]'), (e) => e.id)).size") == opened.count(
            "[id]"
        )
        assert opened.count("th:not([scope])") == 0
        assert opened.count("table:not(:has(caption))") == 0
