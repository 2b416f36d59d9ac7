"""What every drawing of a panel needs: its size, scales from data to it, axes, groups of marks, text cut to fit.

Coordinates are those of a panel 420 wide, which a page scales to its column.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

from alphasynth.evaluation.digits import date_words, short
from alphasynth.pages.marks import Panel

WIDTH, TOP, BOTTOM, RIGHT = 420, 10, 44, 14
LABELS, AXIS = 96, 58  # left margin of rows with names, and of a plane with a y axis
PLANE = 230
LETTER = 6.6  # width of one, about


class Scale:
    """From data to the panel, linear."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        """Where a value lies."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """About five round numbers."""
        raw = (self.high - self.low) / 5
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]


def x_axis(x: Scale, height: float, panel: Panel) -> str:
    """The axis of x under a plane, and its grid."""
    spoken = date_words if panel.dates else short
    ticks = "".join(
        f'<line class="tick" x1="{x(t):.1f}" x2="{x(t):.1f}" y1="0" y2="5"/>'
        f'<text {_anchor(x(t), spoken(t))} y="18">{spoken(t)}</text>'
        for t in _apart(x.ticks, x, spoken)
    )
    middle, name = (x.start + x.end) / 2, escape(cut(panel.x_label, 44))
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


def _apart(ticks: list[float], x: Scale, spoken: Callable[[float], str]) -> list[float]:
    """Every tick, or every second, so that their numbers do not touch."""
    if len(ticks) < 2:
        return ticks
    widest = max(len(spoken(t)) for t in ticks) * LETTER + 6
    every = max(1, math.ceil(widest / (x(ticks[1]) - x(ticks[0]))))
    return ticks[::every]


def y_axis(y: Scale, x: Scale, panel: Panel) -> str:
    """The axis of y beside a plane, and its grid."""
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


def group(series: str, attributes: str, drawn: str) -> str:
    """Marks of a series, which are hidden together."""
    return f'<g {attributes} data-series="{escape(series, quote=True)}">{drawn}</g>'


def cut(text: str, most: int) -> str:
    """Text of at most so many letters.

    >>> cut("region", 4)
    'reg…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"
