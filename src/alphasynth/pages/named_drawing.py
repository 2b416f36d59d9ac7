"""Maps, shares of named groups and named estimates as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from alphasynth.evaluation.digits import short
from alphasynth.pages.canvas import (
    AXIS,
    BOTTOM,
    LABELS,
    LETTER,
    PLANE,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    cut,
    group,
    x_axis,
    y_axis,
)
from alphasynth.pages.marks import Figure, Panel
from alphasynth.pages.named_marks import Intervals, Shares, Tiles
from alphasynth.pages.palette import shade

MAP_BOTTOM = 86  # room for slanted names
MOST_SIDES = 20  # tiles of a map that is no wider than other panels
ROOM, LETTERS = 126, 16  # left margin of groups' names, and how much of them is shown
LINE = 24  # height of a row of tiles that are no squares
SLANT = 60  # degrees
BAR = 12  # height of a row of estimates, for each series


def draw_map(figure: Figure, panel: Panel, tiles: Tiles) -> str:
    """SVG of a map: tiles, names to its left and below; a large square is wider than other panels."""
    columns, square = tiles.columns, not tiles.across or tiles.across == tiles.names
    width = WIDTH * (2 if len(columns) > MOST_SIDES else 1)
    small = square and width == WIDTH
    left, most = (LABELS, 11) if small else (ROOM, LETTERS)
    side = (width - left - RIGHT) / len(columns)
    tall = side if square else LINE
    drawn = []
    for i, one in enumerate(tiles.names):
        for j, other in enumerate(columns):
            value = float(tiles.values[i, j])
            tip = f"{one} with {other}: {short(value) if np.isfinite(value) else 'none'}"
            tip = escape(tiles.tips[i][j] if tiles.tips else tip, quote=True)
            place = f'x="{left + j * side:.1f}" y="{i * tall:.1f}" width="{side:.1f}" height="{tall:.1f}"'
            drawn.append(f'<rect class="tile" {place} style="fill:{shade(value / tiles.full)}" data-tip="{tip}"/>')
    for i, name in enumerate(tiles.names):
        middle = (i + 0.5) * tall + 4
        drawn.append(f'<text x="{left - 6}" y="{middle:.1f}" text-anchor="end">{escape(cut(name, most))}</text>')
    bottom = len(tiles.names) * tall
    middles = [left + (j + 0.5) * side for j in range(len(columns))]
    drawn += _below(middles, columns, bottom, most)
    label = escape(f"{figure.title}. {panel.title}. {panel.alt}", quote=True)
    height = TOP + bottom + (MAP_BOTTOM if small else _depth(middles, columns, most))
    kind = "map wide" if width > WIDTH else "map"
    return (
        f'<svg class="{kind}" role="img" aria-label="{label}" viewBox="0 0 {width} {height:.1f}">'
        f'<g transform="translate(0 {TOP})">{"".join(drawn)}</g></svg>'
    )


def _below(places: Sequence[float], names: Sequence[str], height: float, most: int) -> list[str]:
    """Names below, slanted where they would touch."""
    shown = [escape(cut(name, most)) for name in names]
    if _fit(places, names, most):
        level = f'y="{height + 18:.1f}" text-anchor="middle"'
        return [f'<text x="{place:.1f}" {level}>{name}</text>' for place, name in zip(places, shown, strict=True)]
    slant = f'{height + 8:.1f}) rotate(-{SLANT})" text-anchor="end"'
    return [
        f'<text transform="translate({place + 3:.1f} {slant}>{name}</text>'
        for place, name in zip(places, shown, strict=True)
    ]


def _fit(places: Sequence[float], names: Sequence[str], most: int) -> bool:
    """Whether names fit below without slanting."""
    apart = min(np.diff(places), default=WIDTH / 2)
    return bool(max(min(len(name), most) for name in names) * LETTER + 6 <= apart)


def _depth(places: Sequence[float], names: Sequence[str], most: int) -> float:
    """Room that names below need."""
    longest = max(min(len(name), most) for name in names)
    return 28 if _fit(places, names, most) else 20 + longest * LETTER * math.sin(math.radians(SLANT))


def draw_shares(figure: Figure, panel: Panel, marks: Sequence[Shares]) -> str:
    """SVG of shares by group: the bars of a group side by side, names below, of very many every second or third."""
    names = marks[0].names
    x = Scale(0, len(names), AXIS, WIDTH - RIGHT)
    y = Scale(0, max(float(mark.shares.max()) for mark in marks) * 1.04 or 1.0, PLANE, 0)
    drawn = [y_axis(y, x, panel)]
    part = 0.84 / len(marks)
    for number, mark in enumerate(marks):
        rects = "".join(
            f'<rect x="{x(i + 0.08 + number * part):.1f}" width="{x(part) - x(0):.1f}" y="{y(share):.1f}" '
            f'height="{y(0) - y(share):.1f}" data-tip="{_share_tip(name, marks, i)}"/>'
            for i, (name, share) in enumerate(zip(names, mark.shares, strict=True))
        )
        colour = figure.colours[mark.series]
        drawn.append(group(mark.series, f'class="bars" style="fill:{colour};stroke:{colour}"', rects))
    every = math.ceil(len(names) * 15 / (WIDTH - RIGHT - AXIS))
    shown = range(0, len(names), every)
    drawn.append(f'<g class="axis"><line x1="{x.start}" x2="{x.end}" y1="{PLANE}" y2="{PLANE}"/></g>')
    middles, kept = [x(i + 0.5) for i in shown], [names[i] for i in shown]
    drawn += _below(middles, kept, PLANE, LETTERS)
    label = escape(f"{figure.title}. {panel.alt}", quote=True)
    return (
        f'<svg class="shares" role="img" aria-label="{label}" '
        f'viewBox="0 0 {WIDTH} {TOP + PLANE + _depth(middles, kept, LETTERS):.1f}">'
        f'<g transform="translate(0 {TOP})">{"".join(drawn)}</g></svg>'
    )


def _share_tip(name: str, marks: Sequence[Shares], place: int) -> str:
    told = ", ".join(f"{mark.series} {mark.shares[place]:.2%}" for mark in marks)
    return escape(f"{name}: {told}", quote=True)


def draw_intervals(figure: Figure, panel: Panel, marks: Sequence[Intervals]) -> str:
    """SVG of named estimates: a row for each name, a bar for each series; what lies beyond the axis ends at its end."""
    names = marks[0].names
    (low, high), _ = panel.limits() if panel.x_range is None else (panel.x_range, None)
    x = Scale(low, high, ROOM, WIDTH - RIGHT)
    tall = BAR * len(marks) + 8
    height = tall * len(names)
    drawn = [x_axis(x, height, panel)]
    drawn += [
        f'<text x="{ROOM - 6}" y="{(i + 0.5) * tall + 4:.1f}" text-anchor="end">{escape(cut(name, LETTERS))}</text>'
        for i, name in enumerate(names)
    ]
    for number, mark in enumerate(marks):
        ends = [np.clip(np.where(np.isfinite(e), e, mark.estimates), low, high) for e in (mark.low, mark.high)]
        lines = []
        for i in np.flatnonzero(np.isfinite(mark.estimates)).tolist():
            at = i * tall + 4 + (number + 0.5) * BAR
            middle = x(float(np.clip(mark.estimates[i], low, high)))
            lines.append(
                f'<g data-tip="{escape(mark.tips[i], quote=True)}"><line class="reach" x1="{x(ends[0][i]):.1f}" '
                f'x2="{x(ends[1][i]):.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
                f'<circle cx="{middle:.1f}" cy="{at:.1f}" r="3.6"/></g>'
            )
        colour = figure.colours[mark.series]
        drawn.append(group(mark.series, f'class="points" style="fill:{colour};stroke:{colour}"', "".join(lines)))
    label = escape(f"{figure.title}. {panel.alt}", quote=True)
    return (
        f'<svg class="intervals" role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {TOP + height + BOTTOM}">'
        f'<g transform="translate(0 {TOP})">{"".join(drawn)}</g></svg>'
    )
