"""A page of text, tables and figures as one self-contained HTML file: nothing is fetched, nothing is sent."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from alphasynth.evaluation.digits import Days, WithError, date_words, short, told
from alphasynth.evaluation.intervals import REACH, Interval
from alphasynth.pages.drawing import draw
from alphasynth.pages.images import COLUMNS
from alphasynth.pages.marks import Figure, Panel
from alphasynth.pages.palette import colours
from alphasynth.privacy.accounting import round_up
from alphasynth.tables.text_cells import guarded


class Cell(NamedTuple):
    """What a table's cell shows, and the number it sorts by, if it is one."""

    text: str
    value: float | None = None


def cell(value: object) -> Cell:
    """A cell of text, of a number, or of an interval, which sorts by its low end; nothing for what is not there.

    >>> cell(0.25), cell(None), cell("a")
    (Cell(text='0.25', value=0.25), Cell(text='', value=None), Cell(text='a', value=None))
    >>> cell(WithError(0.2512, 0.03))
    Cell(text='0.251', value=0.2512)
    """
    if isinstance(value, Cell):
        return value
    if isinstance(value, WithError):
        return _estimate(value)
    if isinstance(value, Interval):
        return Cell(" to ".join(_ends(value)), value.low) if math.isfinite(value.low) else Cell("")
    if isinstance(value, Days):
        return Cell(" to ".join(map(date_words, value)), value.low) if math.isfinite(value.low) else Cell("")
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Cell("")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Cell(short(value), float(value))
    return Cell(str(value))


def _estimate(found: WithError) -> Cell:
    """A number to the digits that its error allows; one that is infinite sorts after all others."""
    if math.isinf(found.value):
        return Cell("∞", sys.float_info.max)
    return Cell("") if math.isnan(found.value) else Cell(told(*found), float(found.value))


def _ends(interval: Interval) -> tuple[str, str]:
    """Both ends with the digits that the standard error allows which an interval of 95 % of their distance has.

    >>> _ends(Interval(2014.852, 2015.041)), _ends(Interval(98.39, 102.08))
    (('2,014.852', '2,015.041'), ('98.39', '102.08'))
    """
    error = (interval.high - interval.low) / (2 * REACH)
    return told(interval.low, error), told(interval.high, error)


def bound(value: float) -> Cell:
    """A privacy number, never rounded down."""
    return Cell(round_up(value), value)


class Block(NamedTuple):
    """A part of a section: `kind` says which of the template's it is."""

    kind: str
    text: str = ""
    items: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    caption: str = ""
    heads: tuple[str, ...] = ()
    lines: tuple[tuple[Cell, ...], ...] = ()
    numeric: frozenset[int] = frozenset()
    series: bool = False
    figure: Figure | None = None


def text(words: str) -> Block:
    """A paragraph."""
    return Block("text", words)


def note(words: str) -> Block:
    """What to know about a table."""
    return Block("note", words)


def heading(words: str) -> Block:
    """A heading within a section."""
    return Block("heading", words)


def warning(words: str) -> Block:
    """What must not be overlooked."""
    return Block("warning", words)


def code(words: str) -> Block:
    """Lines of a program."""
    return Block("code", words)


def facts(*pairs: tuple[str, object]) -> Block:
    """Names and what they stand for."""
    return Block("facts", facts=tuple((name, str(value)) for name, value in pairs))


def verdict(*lines: tuple[str, str]) -> Block:
    """What a reader must know before all else: a few words, and what they say."""
    return Block("verdict", facts=lines)


def details(summary: str, *lines: str) -> Block:
    """A list that opens when its summary is pressed."""
    return Block("details", summary, lines)


def items(*lines: str) -> Block:
    """A list."""
    return Block("items", items=lines)


def table(caption: str, heads: Sequence[str], lines: Sequence[Sequence[object]], series: bool = False) -> Block:
    """A table that sorts; with `series`, its lines are hidden with the series that their first cell names."""
    cells = tuple(tuple(cell(value) for value in line) for line in lines)
    numeric = frozenset(i for i in range(len(heads)) if any(line[i].value is not None for line in cells))
    return Block("table", caption=caption, heads=tuple(heads), lines=cells, numeric=numeric, series=series)


def figure_block(figure: Figure) -> Block:
    """A figure with its numbers."""
    return Block("figure", figure=figure)


class Section(NamedTuple):
    """A part of the page; `name` is what links lead to."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, eq=False)
class Page:
    """A page: its title, banners, sections, and a line at its foot."""

    title: str
    sections: tuple[Section, ...]
    banners: tuple[str, ...] = ()
    footer: str = ""
    like: str | None = None
    exact: bool = False  # whether the numbers behind figures are given to the last digit

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its figures, in order, in the page's colours: one for each series, the same in all of them."""
        colour = self.series
        return tuple(replace(figure, colours=colour) for figure in self._figures)

    @property
    def _figures(self) -> list[Figure]:
        blocks = (block for section in self.sections for block in section.blocks)
        return [block.figure for block in blocks if block.figure is not None]

    @property
    def series(self) -> dict[str, str]:
        """All series of its figures, with their colours: what can be shown and hidden."""
        shown = [name for figure in self._figures for panel in figure.panels for name in panel.series]
        return colours(list(dict.fromkeys(shown)), self.like)


@cache
def _part(name: str) -> str:
    return resources.files("alphasynth.pages").joinpath(name).read_text(encoding="utf-8").strip()


def render(page: Page) -> str:
    """The page as HTML; every text in it is escaped, and a policy in it forbids whatever is not in the file."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    script = _part("page.js")
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.from_string(_part("page.html.jinja"))
    return template.render(
        page=page,
        drawn={figure.name: _drawn(figure, page.exact) for figure in page.figures},
        style=_part("page.css"),
        script=script,
        script_hash=script_hash,
    )


def _drawn(figure: Figure, exact: bool) -> dict[str, Any]:
    """A figure's panels as SVG with their keys, and its numbers as CSV in base64."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    told = cache(guarded)  # names come over and over
    for line in figure.numbers():
        cells = (line.get(name) for name in COLUMNS)
        writer.writerow([told(v) if isinstance(v, str) else v if exact else _rounded(v) for v in cells])
    panels = [{"title": panel.title, "svg": draw(figure, panel), "key": _key(figure, panel)} for panel in figure.panels]
    return {"panels": panels, "csv": base64.b64encode(stream.getvalue().encode()).decode()}


def _rounded(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def _key(figure: Figure, panel: Panel) -> list[tuple[str, str]]:
    return [] if panel.rows else [(name, figure.colours[name]) for name in panel.series]
