"""Small figures for notebooks, as SVG of a few hundred characters: bars, intervals, parts of a whole.

What is confidential has the colour of the text around it, what is synthetic green, as on the pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from alphasynth.notebook.markup import Html, element, text

SYNTHETIC = "#009e73"
WIDTH, HEIGHT = 150, 44
# Parts of a whole, told apart by how strong one colour is.
STRONGEST, WEAKEST = 0.85, 0.2
SHRINKS = "display:block;max-width:100%;height:auto"  # where there is less room
OWN = 'fill="currentColor" fill-opacity=".4"'
NEW = f'fill="{SYNTHETIC}" fill-opacity=".8"'


def captioned(caption: object, figure: Html, below: object = "") -> Html:
    """A figure under its caption, and over what is said of it."""
    small = "font-size:85%;opacity:.75"
    under = element("div", small, below) if below else ""
    return element("div", "min-width:9em;max-width:100%", element("div", "font-size:90%", caption), figure, under)


def bars(label: str, own: Sequence[float] = (), new: Sequence[float] = ()) -> Html:
    """Bars of shares from left to right: what is confidential filled, what is synthetic as narrower bars before it.

    >>> bars("ages", [0.2, 0.8]).count("<rect")
    2
    """
    top = max([*own, *new, 0.0]) or 1.0
    drawn = _row_of_bars(own, top, 1.0, OWN)
    return _svg(label, HEIGHT, drawn + _row_of_bars(new, top, 0.45 if own else 1.0, NEW), WIDTH)


def _row_of_bars(shares: Sequence[float], top: float, width: float, look: str) -> str:
    step = WIDTH / max(len(shares), 1)
    made = []
    for place, share in enumerate(shares):
        height = (HEIGHT - 2) * share / top
        if share > 0:
            made.append(
                f'<rect x="{place * step + step * (1 - width) / 2:.1f}" y="{HEIGHT - 1 - height:.1f}" '
                f'width="{max(step * width - 0.5, 0.5):.1f}" height="{max(height, 0.5):.1f}" {look}/>'
            )
    return "".join(made)


def parts_of(label: str, parts: Sequence[tuple[str, float]]) -> Html:
    """A bar that is divided as its parts are, which are named below.

    >>> parts_of("epsilon", [("counts", 1.0), ("moments", 3.0)]).count("75 %")
    1
    """
    total = sum(part for _, part in parts) or 1.0
    at, drawn, named = 0.0, [], []
    for number, (name, part) in enumerate(parts):
        share = part / total
        strength = STRONGEST - (STRONGEST - WEAKEST) * number / max(len(parts) - 1, 1)
        look = f'fill="{SYNTHETIC}" fill-opacity="{strength:.2f}"'
        drawn.append(f'<rect x="{at * 2 * WIDTH:.1f}" y="1" width="{share * 2 * WIDTH:.1f}" height="12" {look}/>')
        named.append(f"{name} {percent(share)}")
        at += share
    below = element("div", "font-size:85%;opacity:.75", ", ".join(named))
    return Html(_svg(label, 14, "".join(drawn), 2 * WIDTH) + below)


def against(label: str, limit: float, reached: float) -> Html:
    """Two bars, one over the other: a limit, and what was reached of it. One that is infinite goes all the way."""
    both = [0.0 if math.isnan(number) else max(number, 0.0) for number in (limit, reached)]
    finite = [number for number in both if math.isfinite(number)]
    top = max([*finite, 0.0]) * (1.0 if len(finite) == 2 else 1.5) or 1.0
    lengths = [2 * WIDTH * min(number / top, 1.0) for number in both]
    drawn = (
        f'<rect x="0" y="1" width="{lengths[0]:.1f}" height="9" {OWN}/>'
        f'<rect x="0" y="12" width="{lengths[1]:.1f}" height="9" {NEW}/>'
    )
    return _svg(label, 22, drawn, 2 * WIDTH)


def intervals(label: str, own: tuple[float, float, float], new: tuple[float, float, float]) -> Html:
    """Two intervals (low, middle, high), one over the other on one scale; empty where an end is not finite."""
    ends = [*own, *new]
    if not all(map(math.isfinite, ends)):
        return Html("")
    low, high = min(ends), max(ends)
    wide = (high - low) or 1.0
    lines = []
    for y, colour, three in ((5, "currentColor", own), (13, SYNTHETIC, new)):
        x = [2 + (WIDTH - 4) * (end - low) / wide for end in three]
        lines.append(
            f'<line x1="{x[0]:.1f}" y1="{y}" x2="{x[2]:.1f}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
            f'<circle cx="{x[1]:.1f}" cy="{y}" r="2.5" fill="{colour}"/>'
        )
    return _svg(label, 18, "".join(lines), WIDTH, "display:block;min-width:8em")


def percent(share: float) -> str:
    """A share in words, which says of a small one that it is small.

    >>> percent(0.256), percent(0.004), percent(0.0)
    ('26 %', 'below 1 %', '0 %')
    """
    return "below 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def _svg(label: str, height: int, inside: str, width: int, style: str = SHRINKS) -> Html:
    """A figure with a line beneath what stands on it, and words for who cannot see it."""
    base = (
        f'<path d="M0 {height - 0.5}H{width}" stroke="currentColor" stroke-opacity=".4"/>' if height == HEIGHT else ""
    )
    return Html(
        f'<svg role="img" aria-label="{text(label)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" style="{style}">{inside}{base}</svg>'
    )
