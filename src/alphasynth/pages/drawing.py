"""Panels as inline SVG for the page: series in groups that can be hidden, marks that say what they are.

Coordinates are those of a panel 420 wide, which a page scales to its column. Colours of series are given; those of text
and lines are the page's, so that light, dark and print follow it.
"""

from __future__ import annotations

from html import escape

import numpy as np

from alphasynth.evaluation.digits import short
from alphasynth.pages.canvas import AXIS, BOTTOM, LABELS, PLANE, RIGHT, TOP, WIDTH, Scale, cut, group, x_axis, y_axis
from alphasynth.pages.marks import Bars, Figure, Line, Mark, Panel, Points, Reference, Violin
from alphasynth.pages.named_drawing import draw_intervals, draw_map, draw_shares
from alphasynth.privacy.accounting import counted, round_up

ROW = 40
ASIDE = 2  # from one curve's error bars to the next one's at the same x


def draw(figure: Figure, panel: Panel) -> str:
    """SVG of one panel."""
    if panel.tiles is not None:
        return draw_map(figure, panel, panel.tiles)
    if panel.shares:
        return draw_shares(figure, panel, panel.shares)
    if panel.intervals:
        return draw_intervals(figure, panel, panel.intervals)
    (x_low, x_high), (y_low, y_high) = panel.limits()
    room = (x_high - x_low) * 0.05
    left = LABELS if panel.rows else AXIS
    x = Scale(x_low - room, x_high + room, left, WIDTH - RIGHT)
    height = ROW * len(panel.rows) if panel.rows else PLANE
    y = Scale(y_low, y_high * 1.04 or 1.0, height, 0)
    kind = "rows" if panel.rows else "plane"
    body = [x_axis(x, height, panel), *([] if panel.rows else [y_axis(y, x, panel)])]
    bands = [mark for mark in panel.marks if isinstance(mark, Reference)]
    body += [_reference(mark, x, y, height, figure) for mark in bands]
    body += [_violin(mark, x, i, figure) for i, mark in enumerate(panel.rows)]
    body += [_on_plane(mark, x, y, figure, panel) for mark in panel.marks]
    label = escape(f"{figure.title}. {panel.alt}", quote=True)
    dates = 'data-dates="" ' if panel.dates else ""
    scale = f'{dates}data-from="{x.low:.6g}" data-to="{x.high:.6g}" data-left="{x.start}" data-right="{x.end}"'
    return (
        f'<svg class="{kind}" role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {TOP + height + BOTTOM}" '
        f'data-top="{TOP}" data-bottom="{BOTTOM}" data-row="{ROW}" {scale}>'
        f'<g transform="translate(0 {TOP})">{"".join(body)}</g></svg>'
    )


def _on_plane(mark: Mark, x: Scale, y: Scale, figure: Figure, panel: Panel) -> str:
    if isinstance(mark, Points):
        return _points(mark, x, y, figure)
    if isinstance(mark, Bars):
        return _bars(mark, x, y, figure)
    return _line(mark, x, y, figure, ASIDE * panel.shift(mark)) if isinstance(mark, Line) else ""


def _reference(mark: Reference, x: Scale, y: Scale, height: float, figure: Figure) -> str:
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


def _violin(mark: Violin, x: Scale, row: int, figure: Figure) -> str:
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
    name = escape(cut(mark.series, 14))
    return (
        f'<g class="row" data-series="{escape(mark.series, quote=True)}" transform="translate(0 {row * ROW})" '
        f'data-tip="{escape(mark.tip, quote=True)}"><rect class="hit" x="0" y="0" width="{WIDTH}" height="{ROW}"/>'
        f'<text x="{LABELS - 8}" y="{middle + 4}" text-anchor="end">{name}</text>{shape}{inner}</g>'
    )


def _points(mark: Points, x: Scale, y: Scale, figure: Figure) -> str:
    dots = "".join(
        f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.6" data-tip="{_tip(mark.names, a, b, n)}"/>'
        for a, b, n in zip(mark.x, mark.y, mark.counts, strict=True)
    )
    return group(mark.series, f'class="points" style="fill:{figure.colours[mark.series]}"', dots)


def _tip(names: tuple[str, str], x: float, y: float, count: int) -> str:
    told = [f"{name} {_number(name, value)}" for name, value in zip(names, (x, y), strict=True)]
    return escape(f"{', '.join(told)}, {counted(int(count), 'record')}", quote=True)


def _number(name: str, value: float) -> str:
    """A bound is never rounded down."""
    return round_up(value) if name == "bound" else f"{value:.4f}" if name.startswith("weight") else short(value)


def _bars(mark: Bars, x: Scale, y: Scale, figure: Figure) -> str:
    drawn = "".join(
        f'<rect x="{x(low):.1f}" width="{x(high) - x(low):.1f}" y="{y(share):.1f}" height="{y(0) - y(share):.1f}" '
        f'data-tip="{short(low)} to {short(high)}: {share:.1%} of records"/>'
        for low, high, share in zip(mark.edges[:-1], mark.edges[1:], mark.shares, strict=True)
        if share > 0
    )
    colour = figure.colours[mark.series]
    return group(mark.series, f'class="bars" style="fill:{colour};stroke:{colour}"', drawn)


def _line(mark: Line, x: Scale, y: Scale, figure: Figure, aside: np.ndarray) -> str:
    places = [x(value) + moved for value, moved in zip(mark.x, aside, strict=True)]
    joined = [(a, b) for a, b, apart in zip(places, mark.y, mark.apart, strict=True) if not apart]
    path = " ".join(f"{a:.1f},{y(b):.1f}" for a, b in joined)
    tip = escape(mark.tip, quote=True)
    colour = figure.colours[mark.series]
    drawn = f'<polyline points="{path}"/>'
    for a, b, reach, apart in zip(places, mark.y, () if mark.reach is None else mark.reach, mark.apart, strict=False):
        ends = f'x1="{a:.1f}" x2="{a:.1f}" y1="{y(b - reach):.1f}" y2="{y(b + reach):.1f}"'
        fill = "var(--panel)" if apart else colour
        drawn += f'<line {ends}/><circle cx="{a:.1f}" cy="{y(b):.1f}" r="2.2" style="fill:{fill}"/>'
    drawn += f'<polyline class="hit" points="{path}" data-tip="{tip}"/>'
    return group(mark.series, f'class="line" style="stroke:{colour}"', drawn)
