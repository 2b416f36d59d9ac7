"""What a figure is made of: marks in data coordinates, with the numbers behind them; drawing is another matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alphasynth.evaluation.digits import date_words, short
from alphasynth.evaluation.values import Values
from alphasynth.pages.named_marks import Intervals, Shares, Tiles
from alphasynth.privacy.accounting import round_up

GRID = 96  # points of a violin's outline
FINE = 512  # bins that are smoothed into it
MOST_POINTS = 1_000  # of one series in a scatter plot
MOST_ASIDE = 1.5  # places from a point's own


@dataclass(frozen=True, eq=False)
class Violin:
    """A distribution as an outline: density by value, 1 at its highest; quartiles; n rows; a thick interval, if any."""

    series: str
    grid: np.ndarray
    density: np.ndarray
    quartiles: tuple[float, float, float]
    n: int
    interval: tuple[float, float] | None = None
    bounds: bool = False  # of Lipschitz bounds, whose largest is never rounded down
    dates: bool = False  # of days' numbers

    @property
    def tip(self) -> str:
        """What to say of it."""
        spoken = date_words if self.dates else short
        low, middle, high = map(spoken, self.quartiles)
        text = f"{self.series}: median {middle}, middle half {low} to {high}, "
        text += f"range {spoken(self.grid[0])} to {(round_up if self.bounds else spoken)(self.grid[-1])}"
        return text + (f", 95 % interval {' to '.join(map(spoken, self.interval))}" if self.interval else "")

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Lines of the CSV file."""
        names = ("lower quartile", "median", "upper quartile")
        for name, value in zip(names, self.quartiles, strict=True):
            yield {"series": self.series, "mark": name, "x": value}
        for name, value in zip(("interval low", "interval high"), self.interval or (), strict=False):
            yield {"series": self.series, "mark": name, "x": value}
        for x, y in zip(self.grid, self.density, strict=True):
            yield {"series": self.series, "mark": "density", "x": x, "y": y}


@dataclass(frozen=True, eq=False)
class Points:
    """Points, each standing for `counts` records; `names` say what x and y are."""

    series: str
    x: np.ndarray
    y: np.ndarray
    counts: np.ndarray
    names: tuple[str, str] = ("weight", "bound")

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Lines of the CSV file."""
        for x, y, count in zip(self.x, self.y, self.counts, strict=True):
            yield {"series": self.series, "mark": "point", "x": x, "y": y, "records": int(count)}


@dataclass(frozen=True, eq=False)
class Bars:
    """A histogram: share of records between edges."""

    series: str
    edges: np.ndarray
    shares: np.ndarray

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Lines of the CSV file."""
        for low, high, share in zip(self.edges[:-1], self.edges[1:], self.shares, strict=True):
            yield {"series": self.series, "mark": "bar", "x": low, "x_to": high, "y": share}


@dataclass(frozen=True, eq=False)
class Line:
    """A curve; with a `reach`, points joined by it that have error bars so far up and down.

    Points that are `hollow` rest on less than the others, and the curve does not go to them.
    """

    series: str
    x: np.ndarray
    y: np.ndarray
    tip: str
    reach: np.ndarray | None = None
    hollow: np.ndarray | None = None

    @property
    def apart(self) -> np.ndarray:
        """Which points are hollow."""
        return np.zeros(len(self.x), bool) if self.hollow is None else self.hollow

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Lines of the CSV file."""
        for x, y, apart in zip(self.x, self.y, self.apart, strict=True):
            yield {"series": self.series, "mark": "hollow point" if apart else "curve", "x": x, "y": y}
        for x, y, reach in zip(self.x, self.y, () if self.reach is None else self.reach, strict=False):
            yield {"series": self.series, "mark": "error bar", "x": x, "y": y - reach, "y_to": y + reach}


@dataclass(frozen=True)
class Reference:
    """A dashed line at a value of the x or y axis, or a band from `at` to `to`; of a series, or of none."""

    label: str
    at: float
    axis: str = "x"
    to: float | None = None
    series: str | None = None
    bounds: bool = False
    dates: bool = False

    @property
    def tip(self) -> str:
        """What to say of it."""
        spoken = date_words if self.dates else short
        shown = (round_up if self.bounds else spoken)(self.at)
        return f"{self.label}: {shown}" if self.to is None else f"{self.label}: {spoken(self.at)} to {spoken(self.to)}"

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Lines of the CSV file."""
        ends = {self.axis: self.at} | ({} if self.to is None else {f"{self.axis}_to": self.to})
        yield {"series": self.series or "", "mark": self.label, **ends}


Mark = Violin | Points | Bars | Line | Reference | Tiles | Shares | Intervals


@dataclass(frozen=True, eq=False)
class Panel:
    """Marks on a plane of x and y; violins stand on rows, one under the other, and have no y axis."""

    title: str
    x_label: str
    marks: tuple[Mark, ...]
    alt: str
    y_label: str = ""
    x_range: tuple[float, float] | None = None  # shown whole, whatever the marks

    @property
    def dates(self) -> bool:
        """Whether its axis is one of days."""
        return any(mark.dates for mark in self.rows)

    @property
    def rows(self) -> list[Violin]:
        """Its violins."""
        return [mark for mark in self.marks if isinstance(mark, Violin)]

    @property
    def tiles(self) -> Tiles | None:
        """Its tiles, if it is a map."""
        return next((mark for mark in self.marks if isinstance(mark, Tiles)), None)

    @property
    def shares(self) -> list[Shares]:
        """Its shares of named groups."""
        return [mark for mark in self.marks if isinstance(mark, Shares)]

    @property
    def intervals(self) -> list[Intervals]:
        """Its named estimates."""
        return [mark for mark in self.marks if isinstance(mark, Intervals)]

    def shift(self, mark: Line) -> np.ndarray:
        """How many places points (n,) with error bars stand aside, so that bars at the very same x do not cover.

        A point that has its x for itself stays where it is; many at one x are nearer to each other.
        """
        with_bars = [one for one in self.marks if isinstance(one, Line) and one.reach is not None]
        places = np.zeros(len(mark.x))
        if any(one is mark for one in with_bars):
            for i, x in enumerate(mark.x):
                there = [one is mark for one in with_bars if x in one.x]
                middle = (len(there) - 1) / 2
                places[i] = (there.index(True) - middle) * min(1.0, MOST_ASIDE / (middle or 1.0))
        return places

    @property
    def series(self) -> list[str]:
        """Whose marks it shows."""
        return list(dict.fromkeys(mark.series for mark in self.marks if mark.series))

    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Smallest and largest x and y of all marks."""
        x: list[float] = [*(self.x_range or ())]
        y: list[float] = []
        for line in (line for mark in self.marks for line in mark.numbers()):
            x += [line[name] for name in ("x", "x_to") if name in line]
            y += [line[name] for name in ("y", "y_to") if name in line]
        return _spread(x), _spread([*y, 0.0])


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure: its name, what it shows, its panels and the colour of each series."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    colours: dict[str, str] = field(repr=False)

    @property
    def alt(self) -> str:
        """All panels in words."""
        return f"{self.title}. " + " ".join(panel.alt for panel in self.panels)

    def numbers(self) -> list[dict[str, Any]]:
        """The numbers behind it, one line per mark's point."""
        return [
            {"panel": panel.title, **line} for panel in self.panels for mark in panel.marks for line in mark.numbers()
        ]


def _spread(values: Sequence[float]) -> tuple[float, float]:
    held = [float(value) for value in values if np.isfinite(value)] or [0.0]
    low, high = min(held), max(held)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = abs(low) * 0.1 or 1.0
        return low - room, high + room
    return low, high


def violin(
    series: str,
    values: Values,
    interval: tuple[float, float] | None = None,
    bounds: bool = False,
    dates: bool = False,
) -> Violin:
    """The outline of a distribution between its smallest and largest value, smoothed by Silverman's rule.

    The ends reflect what would be smoothed beyond them, so that a heap at the largest value shows as one.
    """
    from scipy.ndimage import gaussian_filter1d

    quartiles = (values.quantile(0.25), values.quantile(0.5), values.quantile(0.75))
    low, high = values.values[0], values.values[-1]
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return Violin(series, np.array([low]), np.array([1.0]), quartiles, values.n, interval, bounds, dates)
    heights, _ = np.histogram(values.values, FINE, (low, high), weights=values.counts)
    width = _bandwidth(values) / (high - low) * FINE
    smooth = gaussian_filter1d(heights.astype(float), max(width, 2.0), mode="reflect")
    centres = low + (np.arange(FINE) + 0.5) * (high - low) / FINE
    grid = np.linspace(low, high, GRID)
    density = np.interp(grid, centres, smooth)
    return Violin(series, grid, density / density.max(), quartiles, values.n, interval, bounds, dates)


def curve(series: str, values: Values, tip: str) -> Line:
    """A density as a curve of area 1, which goes down to 0 at both ends."""
    from scipy.ndimage import gaussian_filter1d

    width = _bandwidth(values)
    low, high = values.values[0] - 4 * width, values.values[-1] + 4 * width
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return Line(series, values.values[:1], np.ones(1), tip)
    heights, edges = np.histogram(values.values, FINE, (low, high), weights=values.counts)
    smooth = gaussian_filter1d(heights.astype(float), max(width / (high - low) * FINE, 2.0), mode="constant")
    grid = np.linspace(low, high, GRID)
    density = np.interp(grid, (edges[:-1] + edges[1:]) / 2, smooth)
    return Line(series, grid, density / np.trapezoid(density, grid), tip)


def _bandwidth(values: Values) -> float:
    """Silverman's rule."""
    spread = min(values.sd, (values.quantile(0.75) - values.quantile(0.25)) / 1.34 or values.sd)
    return float(0.9 * spread * values.n**-0.2)


def bars(series: str, values: Values, edges: np.ndarray) -> Bars:
    """A histogram over these edges."""
    heights, _ = np.histogram(values.values, edges, weights=values.counts)
    return Bars(series, edges, heights / values.n)


def points(
    series: str, x: np.ndarray, y: np.ndarray, counts: np.ndarray, names: tuple[str, str] = ("weight", "bound")
) -> Points:
    """Points; of very many, those at evenly spaced ranks of x, and the highest and lowest y of all."""
    order = np.lexsort((y, x))
    if len(order) > MOST_POINTS:
        spaced = order[np.linspace(0, len(order) - 1, MOST_POINTS - 2).astype(int)]
        order = np.unique(np.concatenate([spaced, [np.argmax(y), np.argmin(y)]]))
    return Points(series, x[order], y[order], counts[order], names)
