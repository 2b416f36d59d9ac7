"""The site: every page is in it, links lead somewhere, nothing comes from outside, and what it prints is true."""

from __future__ import annotations

import doctest
import fnmatch
import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

import alphasynth
from alphasynth.cli.app import app
from browser import Opened, chromium
from engines import has_module, need

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MINE = DOCS / "_site"
WIDTHS = (1_280, 390)


@pytest.fixture
def part(monkeypatch):
    """A module of the site's own, by its name."""
    monkeypatch.syspath_prepend(str(MINE))
    return importlib.import_module


def left_out(pages, sections):
    """Pages that no section of a navigation has, and entries of it that are no page."""
    entries = [entry for section in sections for entry in section["pages"]]
    alone = [page for page in pages if not any(fnmatch.fnmatch(page, entry) for entry in entries)]
    return alone, [entry for entry in entries if not fnmatch.filter(pages, entry)]


def test_every_page_is_in_the_navigation():
    sections = tomllib.loads((DOCS / "navigation.toml").read_text())["section"]
    pages = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")]
    pages = [page for page in pages if page != "index" and not page.startswith("_")]
    assert left_out(pages, sections) == ([], []), "docs/navigation.toml must have every page of docs/ in a section"


def test_a_page_that_is_left_out_is_seen():
    sections = [{"pages": ["a", "b/*", "gone"]}]
    assert left_out(["a", "b/1", "b/2", "new"], sections) == (["new"], ["gone"])


def test_the_reference_has_every_public_name(part):
    page = part("site_reference").names_page()
    named = [name for name in alphasynth.__all__ if not name.startswith("_")]
    assert sorted(re.findall(r"^### (\S+)$", page, re.MULTILINE)) == sorted(named)
    assert "#### Synthesizer.fit" in page
    assert " at 0x" not in page


def test_the_reference_has_every_option_of_every_command(part):
    page = part("site_reference").commands_page()
    for name, command in typer.main.get_command(app).commands.items():
        (section,) = re.findall(rf"^## alphasynth {name}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        for option in command.params:
            assert (f"`{option.opts[0]}" if option.opts[0].startswith("-") else option.opts[0].upper()) in section


def test_examples_of_the_sites_own_modules_hold(part):
    for name in ("site_reference", "site_pages"):
        tried = doctest.testmod(part(name))
        assert tried.attempted > 0
        assert tried.failed == 0


def build(source, out):
    """Build a site as `make docs` does."""
    need(has_module("sphinx", "myst_parser", "furo"), "no Sphinx (pip install 'alphasynth[docs]')")
    command = [sys.executable, str(MINE / "build.py"), str(out), str(source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_the_site_is_built_and_works_from_a_folder(tmp_path, part):
    """Built strictly, which checks links between pages and to files of the repository; then all that came out of it."""
    site = tmp_path / "site"
    done = build(DOCS, site)
    assert done.returncode == 0, done.stderr
    assert part("links").faults(site) == []
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS).with_suffix(".html")).exists()
    assert 'id="synthesizer"' in (site / "reference.html").read_text()
    assert "--confirm-public" in (site / "commands.html").read_text()
    with chromium() as browser:
        for width in WIDTHS:
            walk(browser, site, width)
        search(browser, site)


def walk(browser, site, width):
    """Every page: no word on the console, no request outside of the site, nothing wider than the screen."""
    opened = Opened(browser, site / "index.html", width)
    for page in sorted(site.rglob("*.html")):
        opened.tab.goto(page.as_uri())
        assert opened.tab.evaluate("document.documentElement.scrollWidth") <= width, page
    assert opened.said == []
    assert [address for address in opened.asked if not address.startswith((site.as_uri(), "data:"))] == []


def search(browser, site):
    """A word is found without a server."""
    opened = Opened(browser, site / "search.html")
    opened.tab.goto(f"{(site / 'search.html').as_uri()}?q=epsilon")
    opened.tab.wait_for_selector("#search-results li a", timeout=20_000)
    assert opened.said == []


BROKEN = {
    "a page that is not there": ("[gone](gone.md)", "gone"),
    "an anchor that is not there": ("[gone](other.md#gone)", "gone"),
    "a file that is not there": ("[gone](../gone.stan)", "gone"),
    "a picture that is not there": ("![gone](gone.png)", "gone"),
}


def small(folder, text):
    """The pages of a small site with our settings."""
    shutil.copytree(MINE, folder / "_site")
    shutil.copy(DOCS / "conf.py", folder)
    (folder / "navigation.toml").write_text('[[section]]\ntitle = "All"\npages = ["other"]\n')
    (folder / "index.md").write_text(f"# Index\n\n{text}\n")
    (folder / "other.md").write_text("# Other\n\n## There\n\n[back](index.md), [here](#there)\n")


@pytest.mark.slow
@pytest.mark.parametrize("why", BROKEN)
def test_a_link_that_leads_nowhere_fails(why, tmp_path):
    text, named = BROKEN[why]
    (tmp_path / "docs").mkdir()
    small(tmp_path / "docs", text)
    done = build(tmp_path / "docs", tmp_path / "site")
    assert done.returncode == 1
    assert named in done.stderr
    assert not (tmp_path / "site").exists()


@pytest.mark.slow
def test_a_page_in_no_section_fails(tmp_path):
    (tmp_path / "docs").mkdir()
    small(tmp_path / "docs", "[other](other.md#there)")
    (tmp_path / "docs" / "forgotten.md").write_text("# Forgotten\n")
    done = build(tmp_path / "docs", tmp_path / "site")
    assert done.returncode == 1
    assert "forgotten" in done.stderr


@pytest.mark.slow
def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "docs").mkdir()
    small(tmp_path / "docs", "[other](other.md#there)")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "thesis.txt").write_text("mine")
    done = build(tmp_path / "docs", tmp_path / "site")
    assert done.returncode == 2
    assert "must be empty or hold a site" in done.stderr
    assert (tmp_path / "site" / "thesis.txt").read_text() == "mine"
    assert build(tmp_path / "docs", tmp_path / "site" / "thesis.txt").returncode == 2
    for _ in range(2):  # the second one in place of the first
        assert build(tmp_path / "docs", tmp_path / "new" / "site").returncode == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["site"]


def test_faults_of_a_built_page_are_seen(tmp_path, part):
    (tmp_path / "index.html").write_text(
        '<h1 id="top">x</h1><a href="#top">1</a><a href="https://example.org">2</a><a href="other.html#here">3</a>'
        '<a href="other.html#gone">4</a><a href="gone.html">5</a><script src="https://example.org/x.js"></script>'
        '<link href="//example.org/font.css"><img src="data:image/png;base64,xx"><a href="file:///etc/passwd">6</a>'
    )
    (tmp_path / "other.html").write_text('<p id="here">')
    (tmp_path / "site.css").write_text("@import 'https://example.org/a.css'; p { background: url(b.png) }")
    assert part("links").faults(tmp_path) == [
        "index.html: a link must lead to an anchor of its page, found other.html#gone",
        "index.html: a link must lead to a file, found gone.html",
        "index.html: <script> must stay within the site, found https://example.org/x.js",
        "index.html: <link> must stay within the site, found //example.org/font.css",
        "index.html: <a> must stay within the site, found file:///etc/passwd",
        "site.css: loads https://example.org/a.css",
    ]


def test_links_to_markdown_outside_are_links_to_files(part, tmp_path):
    as_files = part("site_pages").as_files
    text = "[a](../notes.md#x), [b](other.md#y), [c](../docs/other.md), [d](https://e.org/f.md)"
    made = as_files(text, tmp_path / "docs" / "page.md", tmp_path / "docs")
    assert made == text.replace("../notes.md#x", "path:../notes.md")


def test_the_tables_of_epsilon_are_what_its_programs_print(capsys):
    """Whoever changes the one changes the other."""
    page = (DOCS / "epsilon.md").read_text()
    namespace: dict = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "epsilon.md", "exec"), namespace)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert [line for line in page.splitlines() if re.match(r"\| [\d.,]+ \|", line)] == lines


PEERS = ("MST", "OpenDP AIM", "dpmm MST")
MEASURES = ("TV1", "TV2", "TV3", "S2", "CART", "coef", "mean", "sd", "q99")


def results():
    """Measures by cell (a table and an epsilon) and method, as they stand in the decision; CPU seconds last."""
    cells: dict = {}
    for line in (DOCS / "decisions" / "017-raking.md").read_text().splitlines():
        parts = [part.strip() for part in line.strip("|").split("|")]
        if len(parts) == 14 and parts[1] in ("1", "4"):
            cells.setdefault((parts[0], parts[1]), {})[parts[2]] = (parts[3], [part.split()[0] for part in parts[4:]])
    return cells


def reached(cells, method, goals):
    """In how many cells a method's measures are within their goals, shares of the best peer's."""
    return [
        sum(
            float(of[method][1][place]) <= goals.get(name, 1.0) * min(float(of[peer][1][place]) for peer in PEERS)
            for of in cells.values()
        )
        for place, name in enumerate(MEASURES)
    ]


def test_the_league_says_what_the_decision_does():
    cells, page = results(), (DOCS / "league.md").read_text()
    assert len(cells) == 10
    lines = []
    for label, method, half in (("`Raked`", "raked", 1 / 2), ("with a response", "raked, response", 1 / 3)):
        counts = reached(cells, method, {"S2": 1 / 5, "coef": half})
        lines.append(f"| {label} | {' | '.join(map(str, counts))} |")
    for epsilon in ("1", "4"):
        for label, method in (("`Raked`", "raked"), *((peer, peer) for peer in PEERS)):
            seeds, numbers = cells["rand", epsilon][method]
            once = " (one run)" if seeds == "1" else ""
            shown = [numbers[place] for place in (1, 3, 4, 5, 9)]
            lines.append(f"| {epsilon} | {label}{once} | {' | '.join(shown)} |")
    assert [line for line in lines if line not in page.splitlines()] == []
