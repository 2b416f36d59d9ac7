"""Figures as files: PNG and SVG drawn by Matplotlib, and the numbers behind them as CSV."""

from __future__ import annotations

import csv
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alphasynth.evaluation.digits import date_words
from alphasynth.pages.marks import Bars, Figure, Line, Panel, Points, Reference
from alphasynth.pages.named_marks import Intervals, Shares, Tiles
from alphasynth.pages.palette import shade
from alphasynth.tables.text_cells import guarded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE, ROW, PLANE = 5.2, 0.42, 3.2  # inches: a panel's width, a violin's height, a plane's height
LETTERS = 52  # of a title, to a panel's width
LOOK: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "alphasynth",
}
ASIDE = 1.2  # points from one curve's error bars to the next one's at the same x
COLUMNS = ("panel", "series", "mark", "x", "x_to", "y", "y_to", "records")


def save(figure: Figure, folder: Path, mark: str = "") -> list[Path]:
    """Write `name.png`, `name.svg` and `name.csv` into a folder; return their paths. Pictures bear the `mark`."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{figure.name}.{kind}" for kind in ("png", "svg", "csv")]
    with matplotlib.rc_context(LOOK):
        across = 2 if len(figure.panels) > 1 else 1
        down = -(-len(figure.panels) // across)
        tallest = max(_height(panel) for panel in figure.panels)
        sheet = Sheet(figsize=(WIDE * across, tallest * down + 0.5), layout="constrained")
        FigureCanvasAgg(sheet)
        sheet.suptitle(_wrapped(figure.title, LETTERS * across))
        sheet.supxlabel(mark, x=0.995, ha="right", fontsize=7, color="#8c1d18")
        spaces = sheet.subplots(down, across, squeeze=False).ravel()
        for space in spaces[len(figure.panels) :]:
            space.set_visible(False)
        for space, panel in zip(spaces, figure.panels, strict=False):
            _draw(space, panel, figure.colours)
        # No date: the same results make the same file.
        sheet.savefig(files[0], dpi=160, metadata={"Software": None, "Description": figure.alt})
        sheet.savefig(files[1], metadata={"Date": None, "Creator": None, "Description": figure.alt})
    with files[2].open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: guarded(value) for name, value in line.items()} for line in figure.numbers())
    return files


def _wrapped(title: str, letters: int) -> str:
    """A title in lines, none of which ends within short parentheses, such as those of NB(100, 5), or beside a "=".

    >>> _wrapped("from NB(100, 5)", 12).replace(chr(160), "_").splitlines()
    ['from', 'NB(100,_5)']
    """
    whole = re.sub(r"\([^()]{1,20}\)", lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), title)
    return textwrap.fill(whole.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"), letters)


def _height(panel: Panel) -> float:
    """Inches of a panel: by its rows where it has any."""
    if panel.intervals:
        return max(PLANE, ROW / 2 * len(panel.intervals[0].names) + 1.2)
    if panel.tiles is not None:
        return max(PLANE, ROW / 3 * len(panel.tiles.names) + 1.2)
    return ROW * len(panel.rows) + 1.2 if panel.rows else PLANE


def _x_label(panel: Panel) -> str:
    """The axis's name, and under it what dashed lines across it and bands are."""
    lines = [mark for mark in panel.marks if isinstance(mark, Reference) and mark.axis == "x"]
    told = [f"{'dashed' if mark.to is None else 'band'}: {mark.label}" for mark in lines]
    return "\n".join([panel.x_label, *dict.fromkeys(told)])


def _draw(space: Axes, panel: Panel, colours: dict[str, str]) -> None:
    space.set_title(panel.title, fontsize=9)
    if panel.tiles is not None:
        _draw_tiles(space, panel.tiles)
        return
    space.set_xlabel(_x_label(panel))
    space.set_ylabel(panel.y_label)
    for mark in panel.marks:
        if isinstance(mark, Reference):
            _draw_reference(space, mark, colours)
        elif isinstance(mark, Points):
            space.scatter(mark.x, mark.y, s=9, color=colours[mark.series], alpha=0.6, linewidths=0, label=mark.series)
        elif isinstance(mark, Bars):
            space.stairs(mark.shares, mark.edges, fill=True, color=colours[mark.series], alpha=0.5, label=mark.series)
        elif isinstance(mark, Line) and mark.reach is not None:
            _draw_with_bars(space, mark, colours[mark.series], ASIDE * panel.shift(mark))
        elif isinstance(mark, Line):
            space.plot(mark.x, mark.y, color=colours[mark.series], label=mark.series)
    _draw_rows(space, panel, colours)
    if panel.dates:
        space.xaxis.set_major_formatter(lambda value, _: date_words(value))
        space.tick_params(axis="x", labelsize=7)
    if panel.shares:
        _draw_shares(space, panel.shares, colours)
    if panel.intervals:
        _draw_intervals(space, panel.intervals, colours)
    if panel.x_range is not None:
        room = 0.03 * (panel.x_range[1] - panel.x_range[0])
        space.set_xlim(panel.x_range[0] - room, panel.x_range[1] + room)
    if not panel.rows and not panel.shares and not panel.intervals:
        _finish_plane(space, panel, colours)


def _draw_with_bars(space: Axes, mark: Line, colour: str, aside: np.ndarray) -> None:
    """Points with error bars, those moved `aside` so many points; a line goes through where they belong."""
    from matplotlib.transforms import ScaledTranslation

    assert mark.reach is not None, "has bars"
    dots: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 3}
    joined = ~mark.apart
    hollow: dict[str, Any] = {"markerfacecolor": "white"}
    line: dict[str, Any] = {"linewidth": 1.4} if joined.sum() > 1 else {"linestyle": "none"}
    space.plot([], [], label=mark.series, **dots, **line, **({} if joined.any() else hollow))  # for the key
    space.plot(mark.x[joined], mark.y[joined], color=colour, **line)
    for moved, apart in sorted(set(zip(aside.tolist(), mark.apart.tolist(), strict=True))):
        part = (aside == moved) & (mark.apart == apart)
        place = space.transData + ScaledTranslation(moved / 72, 0, space.figure.dpi_scale_trans)
        own = {**dots, **(hollow if apart else {}), "transform": place, "linestyle": "none", "elinewidth": 1}
        space.errorbar(mark.x[part], mark.y[part], mark.reach[part], capsize=2, **own)
    for y in (mark.y - mark.reach, mark.y + mark.reach):  # what is moved aside does not count by itself
        space.update_datalim(np.column_stack([mark.x, y]))


def _finish_plane(space: Axes, panel: Panel, colours: dict[str, str]) -> None:
    """From 0 up, with a key. Points have room below 0, and a key outside, whose marks could be taken for records."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    space.set_ylim(bottom=0)
    if not any(isinstance(mark, Points) for mark in panel.marks):
        has_bars = any(isinstance(mark, Line) and mark.reach is not None for mark in panel.marks)
        space.legend(frameon=False, fontsize=7 if has_bars else None)
        return
    space.set_ylim(bottom=-0.03 * space.get_ylim()[1])
    patches: list[Any] = [Patch(color=colours[name], label=name) for name in panel.series]
    lines = [mark for mark in panel.marks if isinstance(mark, Reference) and mark.axis == "y"]
    for words in dict.fromkeys(mark.label.rpartition(": ")[2] for mark in lines):
        patches.append(Line2D([], [], color="#555555", linestyle="--", linewidth=1.2, label=words))
    space.legend(handles=patches, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)


def _draw_tiles(space: Axes, tiles: Tiles) -> None:
    from matplotlib.colors import to_rgb

    colours = [[to_rgb(shade(float(value) / tiles.full)) for value in line] for line in tiles.values]
    space.imshow(colours, aspect="auto" if tiles.across else "equal")
    _slanted(space, tiles.columns)
    space.set_yticks(range(len(tiles.names)), tiles.names, fontsize=6)
    space.grid(visible=False)


def _slanted(space: Axes, names: Sequence[str]) -> None:
    space.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=6)


def _draw_shares(space: Axes, marks: Sequence[Shares], colours: dict[str, str]) -> None:
    part = 0.84 / len(marks)
    for number, mark in enumerate(marks):
        places = np.arange(len(mark.names)) - 0.42 + (number + 0.5) * part
        space.bar(places, mark.shares, part, color=colours[mark.series], alpha=0.7, label=mark.series)
    _slanted(space, marks[0].names)
    space.legend(frameon=False)


def _draw_intervals(space: Axes, marks: Sequence[Intervals], colours: dict[str, str]) -> None:
    names, part = marks[0].names, 0.7 / len(marks)
    for number, mark in enumerate(marks):
        places = np.arange(len(names))[::-1] + 0.35 - (number + 0.5) * part
        space.hlines(places, mark.low, mark.high, color=colours[mark.series], linewidth=2)
        space.plot(mark.estimates, places, "o", color=colours[mark.series], markersize=4, label=mark.series)
    space.set_yticks(range(len(names)), reversed(names), fontsize=6)
    space.grid(visible=False, axis="y")
    space.legend(frameon=False)


def _draw_reference(space: Axes, mark: Reference, colours: dict[str, str]) -> None:
    if mark.to is not None:
        space.axvspan(mark.at, mark.to, color="#757575", alpha=0.25, linewidth=0)
        return
    style: dict[str, Any] = {"linestyle": "--", "linewidth": 1.2}
    style["color"] = colours[mark.series] if mark.series else "#555555"
    if mark.axis == "y":
        space.axhline(mark.at, **style)
    else:
        space.axvline(mark.at, **style)


def _draw_rows(space: Axes, panel: Panel, colours: dict[str, str]) -> None:
    if not panel.rows:
        return
    for i, mark in enumerate(panel.rows):
        place, colour = len(panel.rows) - 1 - i, colours[mark.series]
        if len(mark.grid) == 1:
            space.plot([mark.grid[0]] * 2, [place - 0.35, place + 0.35], color=colour, linewidth=3)
        else:
            reach = 0.42 * mark.density
            space.fill_between(mark.grid, place - reach, place + reach, color=colour, alpha=0.55, linewidth=0.8)
        ends, width = (mark.interval, 3.5) if mark.interval else ((mark.quartiles[0], mark.quartiles[2]), 1.5)
        space.plot(ends, [place, place], color="#222222", linewidth=width, solid_capstyle="butt")
        space.plot([mark.quartiles[1]], [place], "o", color="white", markeredgecolor="#222222", markersize=4)
    space.set_yticks(range(len(panel.rows)), [mark.series for mark in reversed(panel.rows)])
    space.grid(visible=False, axis="y")
