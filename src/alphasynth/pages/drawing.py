"""Panels as inline SVG for the page: series in groups that can be hidden, marks that say what they are.

Coordinates are those of a panel 420 wide, which a page scales to its column. Colours of series are given; those of text
and lines are the page's, so that light, dark and print follow it.
"""

from __future__ import annotations

import math
from html import escape

import numpy as np

from alphasynth.pages.marks import Bars, Figure, Line, Mark, Panel, Points, Reference, Tiles, Violin, short
from alphasynth.pages.palette import shade
from alphasynth.privacy.accounting import counted, round_up

WIDTH, TOP, BOTTOM, RIGHT = 420, 10, 44, 14
LABELS, AXIS = 96, 58  # left margin of rows with names, and of a plane with a y axis
ROW, PLANE = 40, 230
MAP_BOTTOM = 86  # room for slanted names
LETTER = 6.6  # width of one, about


class _Scale:
    """From data to the panel, linear."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """About five round numbers."""
        raw = (self.high - self.low) / 5
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]


def draw(figure: Figure, panel: Panel) -> str:
    """SVG of one panel."""
    if panel.tiles is not None:
        return _map(figure, panel, panel.tiles)
    (x_low, x_high), (y_low, y_high) = panel.limits()
    room = (x_high - x_low) * 0.05
    left = LABELS if panel.rows else AXIS
    x = _Scale(x_low - room, x_high + room, left, WIDTH - RIGHT)
    height = ROW * len(panel.rows) if panel.rows else PLANE
    y = _Scale(y_low, y_high * 1.04 or 1.0, height, 0)
    kind = "rows" if panel.rows else "plane"
    body = [_axis(x, height, panel), *([] if panel.rows else [_y_axis(y, x, panel)])]
    bands = [mark for mark in panel.marks if isinstance(mark, Reference)]
    body += [_reference(mark, x, y, height, figure) for mark in bands]
    body += [_violin(mark, x, i, figure) for i, mark in enumerate(panel.rows)]
    body += [_on_plane(mark, x, y, figure) for mark in panel.marks]
    label = escape(f"{figure.title}. {panel.alt}", quote=True)
    scale = f'data-from="{x.low:.6g}" data-to="{x.high:.6g}" data-left="{x.start}" data-right="{x.end}"'
    return (
        f'<svg class="{kind}" role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {TOP + height + BOTTOM}" '
        f'data-top="{TOP}" data-bottom="{BOTTOM}" data-row="{ROW}" {scale}>'
        f'<g transform="translate(0 {TOP})">{"".join(body)}</g></svg>'
    )


def _map(figure: Figure, panel: Panel, tiles: Tiles) -> str:
    """SVG of a map: a square of tiles, names to its left and below."""
    size = len(tiles.names)
    side = (WIDTH - LABELS - RIGHT) / size
    drawn = []
    for i, one in enumerate(tiles.names):
        for j, other in enumerate(tiles.names):
            value = float(tiles.values[i, j])
            tip = escape(f"{one} with {other}: {short(value) if np.isfinite(value) else 'none'}", quote=True)
            place = f'x="{LABELS + j * side:.1f}" y="{i * side:.1f}" width="{side:.1f}" height="{side:.1f}"'
            drawn.append(f'<rect class="tile" {place} style="fill:{shade(value)}" data-tip="{tip}"/>')
    for i, name in enumerate(tiles.names):
        middle = (i + 0.5) * side
        drawn.append(f'<text x="{LABELS - 6}" y="{middle + 4:.1f}" text-anchor="end">{escape(_cut(name, 11))}</text>')
        below = f"translate({LABELS + middle + 3:.1f} {size * side + 8:.1f}) rotate(-60)"
        drawn.append(f'<text transform="{below}" text-anchor="end">{escape(_cut(name, 11))}</text>')
    label = escape(f"{figure.title}. {panel.title}. {panel.alt}", quote=True)
    height = TOP + size * side + MAP_BOTTOM
    return (
        f'<svg class="map" role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {height:.1f}">'
        f'<g transform="translate(0 {TOP})">{"".join(drawn)}</g></svg>'
    )


def _on_plane(mark: Mark, x: _Scale, y: _Scale, figure: Figure) -> str:
    if isinstance(mark, Points):
        return _points(mark, x, y, figure)
    if isinstance(mark, Bars):
        return _bars(mark, x, y, figure)
    return _line(mark, x, y, figure) if isinstance(mark, Line) else ""


def _axis(x: _Scale, height: float, panel: Panel) -> str:
    ticks = "".join(
        f'<line class="tick" x1="{x(t):.1f}" x2="{x(t):.1f}" y1="0" y2="5"/>'
        f'<text {_anchor(x(t), short(t))} y="18">{short(t)}</text>'
        for t in _apart(x.ticks, x)
    )
    middle, name = (x.start + x.end) / 2, escape(_cut(panel.x_label, 44))
    grid = "".join(
        f'<line class="grid" data-tall="1" x1="{x(t):.1f}" x2="{x(t):.1f}" y1="0" y2="{height}"/>' for t in x.ticks
    )
    return (
        f'{grid}<g class="axis" transform="translate(0 {height})"><line x1="{x.start}" x2="{x.end}" y1="0" y2="0"/>'
        f'{ticks}<text class="name" x="{middle:.1f}" y="36" text-anchor="middle">{name}</text></g>'
    )


def _anchor(place: float, text: str) -> str:
    """Where a tick's number goes: under it, or within the edge."""
    if place + len(text) * LETTER / 2 > WIDTH - 2:
        return f'x="{WIDTH - 2}" text-anchor="end"'
    return f'x="{place:.1f}" text-anchor="middle"'


def _apart(ticks: list[float], x: _Scale) -> list[float]:
    """Every tick, or every second, so that their numbers do not touch."""
    if len(ticks) < 2:
        return ticks
    widest = max(len(short(t)) for t in ticks) * LETTER + 6
    every = max(1, math.ceil(widest / (x(ticks[1]) - x(ticks[0]))))
    return ticks[::every]


def _y_axis(y: _Scale, x: _Scale, panel: Panel) -> str:
    ticks = "".join(
        f'<line class="grid" x1="{x.start}" x2="{x.end}" y1="{y(t):.1f}" y2="{y(t):.1f}"/>'
        f'<text x="{x.start - 6}" y="{y(t) + 4:.1f}" text-anchor="end">{short(t)}</text>'
        for t in y.ticks
    )
    middle = (y.start + y.end) / 2
    return (
        f'{ticks}<text class="name" transform="translate(11 {middle:.1f}) rotate(-90)" '
        f'text-anchor="middle">{escape(panel.y_label)}</text>'
    )


def _reference(mark: Reference, x: _Scale, y: _Scale, height: float, figure: Figure) -> str:
    tip = escape(mark.tip, quote=True)
    series = f' data-series="{escape(mark.series, quote=True)}"' if mark.series else ""
    colour = f' style="stroke:{figure.colours[mark.series]}"' if mark.series else ""
    if mark.to is not None:
        width = max(x(mark.to) - x(mark.at), 1)
        return (
            f'<rect class="band" data-tall="1" x="{x(mark.at):.1f}" y="0" width="{width:.1f}" '
            f'height="{height}" data-tip="{tip}"/>'
        )
    if mark.axis == "y":
        ends = f'x1="{x.start}" x2="{x.end}" y1="{y(mark.at):.1f}" y2="{y(mark.at):.1f}"'
    else:
        ends = f'data-tall="1" x1="{x(mark.at):.1f}" x2="{x(mark.at):.1f}" y1="0" y2="{height}"'
    return f'<g{series}><line class="dashed"{colour} {ends}/><line class="hit" {ends} data-tip="{tip}"/></g>'


def _violin(mark: Violin, x: _Scale, row: int, figure: Figure) -> str:
    colour, middle = figure.colours[mark.series], ROW / 2
    reach = mark.density * (ROW * 0.42)
    places = np.array([x(value) for value in mark.grid])
    if len(places) == 1:
        at = f'x1="{places[0]:.1f}" x2="{places[0]:.1f}"'
        shape = f'<line class="spike" style="stroke:{colour}" {at} y1="6" y2="{ROW - 6}"/>'
    else:
        upper = " ".join(f"{a:.1f},{middle - b:.1f}" for a, b in zip(places, reach, strict=True))
        lower = " ".join(f"{a:.1f},{middle + b:.1f}" for a, b in zip(places[::-1], reach[::-1], strict=True))
        shape = f'<polygon class="violin" style="fill:{colour};stroke:{colour}" points="{upper} {lower}"/>'
    low, median, high = (x(value) for value in mark.quartiles)
    inner = f'<line class="quartiles" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
    if mark.interval is not None:
        ends = [x(value) for value in mark.interval]
        inner = f'<line class="interval" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{middle}" y2="{middle}"/>'
    inner += f'<circle class="median" cx="{median:.1f}" cy="{middle}" r="3"/>'
    name = escape(_cut(mark.series, 14))
    return (
        f'<g class="row" data-series="{escape(mark.series, quote=True)}" transform="translate(0 {row * ROW})" '
        f'data-tip="{escape(mark.tip, quote=True)}"><rect class="hit" x="0" y="0" width="{WIDTH}" height="{ROW}"/>'
        f'<text x="{LABELS - 8}" y="{middle + 4}" text-anchor="end">{name}</text>{shape}{inner}</g>'
    )


def _points(mark: Points, x: _Scale, y: _Scale, figure: Figure) -> str:
    dots = "".join(
        f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.6" data-tip="{_tip(a, b, n)}"/>'
        for a, b, n in zip(mark.x, mark.y, mark.counts, strict=True)
    )
    return _group(mark.series, f'class="points" style="fill:{figure.colours[mark.series]}"', dots)


def _tip(alpha: float, bound: float, count: int) -> str:
    return f"weight {alpha:.4f}, bound {round_up(bound)}, {counted(int(count), 'record')}"


def _bars(mark: Bars, x: _Scale, y: _Scale, figure: Figure) -> str:
    drawn = "".join(
        f'<rect x="{x(low):.1f}" width="{x(high) - x(low):.1f}" y="{y(share):.1f}" height="{y(0) - y(share):.1f}" '
        f'data-tip="{short(low)} to {short(high)}: {share:.1%} of records"/>'
        for low, high, share in zip(mark.edges[:-1], mark.edges[1:], mark.shares, strict=True)
        if share > 0
    )
    colour = figure.colours[mark.series]
    return _group(mark.series, f'class="bars" style="fill:{colour};stroke:{colour}"', drawn)


def _line(mark: Line, x: _Scale, y: _Scale, figure: Figure) -> str:
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(mark.x, mark.y, strict=True))
    tip = escape(mark.tip, quote=True)
    drawn = f'<polyline points="{path}"/><polyline class="hit" points="{path}" data-tip="{tip}"/>'
    return _group(mark.series, f'class="line" style="stroke:{figure.colours[mark.series]}"', drawn)


def _group(series: str, attributes: str, drawn: str) -> str:
    return f'<g {attributes} data-series="{escape(series, quote=True)}">{drawn}</g>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
