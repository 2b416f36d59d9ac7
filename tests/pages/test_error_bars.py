"""Curves with error bars: on the page, in pictures and in the numbers behind them."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from alphasynth.pages.drawing import draw
from alphasynth.pages.images import save
from alphasynth.pages.marks import Figure, Line, Panel
from alphasynth.pages.palette import colours

X, Y, REACH = np.array([1.0, 2.0, 4.0]), np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.25, 0.0])


@pytest.fixture
def figure():
    line = Line("LW", X, Y, "LW falls", REACH)
    return Figure("falls", "It falls", "", (Panel("", "x", (line,), "It falls.", "y"),), colours(["LW"]))


def test_bars_are_within_the_panel(figure):
    (_, (low, high)) = figure.panels[0].limits()
    assert (low, high) == (0.0, 3.5)


def test_the_page_has_a_bar_and_a_dot_for_each_point(figure):
    svg = draw(figure, figure.panels[0])
    group = svg.partition('data-series="LW"')[2]
    assert group.count("<line x1=") == group.count("<circle") == 3
    plain = Figure("falls", "", "", (Panel("", "x", (Line("LW", X, Y, ""),), ""),), colours(["LW"]))
    assert "<circle" not in draw(plain, plain.panels[0])


def test_numbers_have_both_ends(figure, tmp_path):
    png, svg, numbers = save(figure, tmp_path)
    assert png.stat().st_size > 5_000
    assert svg.stat().st_size > 5_000
    with numbers.open() as stream:
        lines = [line for line in csv.DictReader(stream) if line["mark"] == "error bar"]
    assert [(float(line["x"]), float(line["y"]), float(line["y_to"])) for line in lines] == [
        (1, 2.5, 3.5),
        (2, 1.75, 2.25),
        (4, 1, 1),
    ]


def test_hollow_points_have_bars_and_no_line_goes_to_them(tmp_path):
    line = Line("LW", X, Y, "LW falls", REACH, np.array([False, False, True]))
    figure = Figure("falls", "It falls", "", (Panel("", "x", (line,), "It falls.", "y"),), colours(["LW"]))
    group = draw(figure, figure.panels[0]).partition('data-series="LW"')[2]
    path = group.partition('<polyline points="')[2].partition('"')[0]
    assert (len(path.split()), group.count("<circle"), group.count("var(--panel)")) == (2, 3, 1)
    png, svg, numbers = save(figure, tmp_path)
    assert png.stat().st_size > 5_000
    assert "fill: #ffffff; stroke" in svg.read_text()
    with numbers.open() as stream:
        marks = [line["mark"] for line in csv.DictReader(stream)]
    assert marks == ["curve", "curve", "hollow point", *["error bar"] * 3]


def test_a_series_of_hollow_points_alone_is_in_the_key(tmp_path):
    line = Line("LW", X, Y, "LW falls", REACH, np.ones(3, bool))
    figure = Figure("falls", "It falls", "", (Panel("", "x", (line,), "It falls.", "y"),), colours(["LW"]))
    assert ">LW</text>" in save(figure, tmp_path)[1].read_text()
