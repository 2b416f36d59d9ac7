"""What is written on pages can be read by light and in the dark, and every control has a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from alphasynth.cli.entry import run_command
from alphasynth.planning.page import render
from browser import Opened, chromium
from planned import by_hand
from test_site import DOCS, build

# Text whose contrast with what lies behind it is less than WCAG 2 asks of it, AA: 4.5, and 3 of large letters.
FAINT = """() => {
  const light = c => { const f = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
  const parts = s => { const m = s.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const over = (top, under, a) => [0, 1, 2].map(i => top[i] * a + under[i] * (1 - a));
  const behind = e => { if (!e) return [255, 255, 255]; const c = parts(getComputedStyle(e).backgroundColor);
    return c[3] > .99 ? c : over(c, behind(e.parentElement), c[3]); };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const words = [...e.childNodes].filter(n => n.nodeType === 3 && n.textContent.trim());
    const style = getComputedStyle(e), drawn = e instanceof SVGElement;
    if (!words.length || !e.checkVisibility({ visibilityProperty: true })) continue;
    if (e.closest("[hidden], script, style, title")) continue;
    if (e.closest(":disabled") || (drawn && style.fill === "none")) continue;
    const ink = parts(drawn ? style.fill : style.color), paper = behind(e);
    let seen = ink[3]; for (let up = e; up; up = up.parentElement) seen *= +getComputedStyle(up).opacity;
    const [one, other] = [light(over(ink, paper, seen)), light(paper)].sort((a, b) => b - a);
    const ratio = (one + .05) / (other + .05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5))
      found.push(`${e.tagName} ${ratio.toFixed(2)}: ${words[0].textContent.trim().slice(0, 40)}`);
  }
  return [...new Set(found)];
}"""
NAMELESS = """() => [
  ...document.querySelectorAll("a[href], button, input, select, summary, [role=button], svg[role=img]")]
  .filter(e => e.checkVisibility() && !(e.innerText || e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")
    || e.title || e.querySelector("img[alt], title") || (e.labels && e.labels.length)))
  .map(e => e.outerHTML.slice(0, 100))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory, mixture) -> list[Path]:
    """Both pages of runs of two kinds, an explorer, a plan, and the site's first page, its commands and its search."""
    folder = tmp_path_factory.mktemp("contrast")
    mixture[:300].to_csv(folder / "mixture.csv", index=False)
    (folder / "columns.toml").write_text("[column.y]\nlimits = [0, 400]\nwhole = true\n")
    one = ["--formula", "y ~ 1", "--family", "negative_binomial", "--mechanism", "LW_final", "--epsilon", "80"]
    for name, asked in {"one": one, "whole": ["--columns", f"{folder}/columns.toml", "--epsilon", "4"]}.items():
        out = ["--quiet", "--out", f"{folder}/{name}"]
        assert run_command(["synthesize", f"{folder}/mixture.csv", *asked, *out]) == 0
    assert run_command(["explore", f"{folder}/one", "--out", f"{folder}/explorer.html"]) == 0
    (folder / "plan.html").write_text(render(by_hand()), encoding="utf-8")
    assert build(DOCS, folder / "site").returncode == 0
    runs = [folder / name / part / "report.html" for name in ("one", "whole") for part in ("release", "confidential")]
    site = [folder / "site" / f"{name}.html" for name in ("index", "commands", "search")]
    return [*runs, folder / "explorer.html", folder / "plan.html", *site]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_and_controls_have_names(pages, scheme):
    with chromium() as browser:
        for path in pages:
            opened = Opened(browser, path, 1_280, scheme)
            opened.tab.wait_for_timeout(300)  # until colours have faded in
            assert (path.name, opened.tab.evaluate(FAINT)) == (path.name, [])
            assert (path.name, opened.tab.evaluate(NAMELESS)) == (path.name, [])
            assert opened.said == []


@pytest.mark.slow
def test_what_is_faint_or_has_no_name_is_seen(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<body style='background: #fff'><p style='color: #999'>grey</p><p>black</p><button></button>")
    with chromium() as browser:
        tab = Opened(browser, page).tab
        assert tab.evaluate(FAINT) == ["P 2.85: grey"]
        assert tab.evaluate(NAMELESS) == ["<button></button>"]
