"""What the studies' figures need of the pages: curves side by side, dashed lines with names, titles that break well."""

from __future__ import annotations

import numpy as np
import pytest

from alphasynth.pages.drawing import draw
from alphasynth.pages.images import save
from alphasynth.pages.marks import MOST_ASIDE, Figure, Line, Panel, Points, Reference
from alphasynth.pages.palette import colours
from alphasynth_studies.headline.page import figure as headline_figure

LABELS = ["LW", "CW", "SW"]
X, Y, REACH = np.array([1.0, 2.0]), np.array([3.0, 2.0]), np.array([0.5, 0.25])


def _panel(*more):
    return Panel("", "x", (*(Line(label, X, Y, "", REACH) for label in LABELS), *more), "", "y")


def _saved(panel, folder, title="Title"):
    return save(Figure("drawn", title, "", (panel,), colours(LABELS)), folder)[1].read_text()


def test_error_bars_at_the_same_place_stand_side_by_side():
    """On the page a curve's points are moved aside by a few units, the middle one not at all; numbers stay."""
    panel = _panel()
    assert [panel.shift(mark).tolist() for mark in panel.marks] == [[-1, -1], [0, 0], [1, 1]]
    svg = draw(Figure("drawn", "", "", (panel,), colours(LABELS)), panel)
    first = [float(part.partition('cx="')[2].partition('"')[0]) for part in svg.split('data-series="')[1:]]
    assert np.diff(first) == pytest.approx([2, 2], abs=0.11)
    assert {line["x"] for mark in panel.marks for line in mark.numbers()} == {1.0, 2.0}
    plain = Panel("", "x", (Line("LW", X, Y, ""), Line("CW", X, Y, "")), "")
    assert [plain.shift(mark).tolist() for mark in plain.marks] == [[0, 0], [0, 0]]


def test_points_that_share_no_place_stay_where_they_are():
    """A radius whose Delta is 1.0195 was drawn at 0.92."""
    marks = [Line(label, np.array([1.0 + i]), np.ones(1), "", np.zeros(1)) for i, label in enumerate(LABELS)]
    panel = Panel("", "x", tuple(marks), "")
    assert [panel.shift(mark).tolist() for mark in marks] == [[0], [0], [0]]
    one, other = Line("LW", X, Y, "", REACH), Line("CW", np.array([2.0, 5.0]), Y, "", REACH)
    shared = Panel("", "x", (one, other), "")
    assert [shared.shift(mark).tolist() for mark in shared.marks] == [[0, -0.5], [0.5, 0]]


def test_many_points_at_one_place_stay_near_it():
    marks = [Line(f"series {i}", X, Y, "", REACH) for i in range(9)]
    panel = Panel("", "x", tuple(marks), "")
    places = np.array([panel.shift(mark) for mark in marks])
    assert np.abs(places).max() == MOST_ASIDE
    assert np.diff(places[:, 0]) == pytest.approx([MOST_ASIDE / 4] * 8)


def test_moved_curves_are_within_the_picture(tmp_path):
    """Matplotlib leaves out of its limits what is moved aside."""
    svg = _saved(_panel(), tmp_path)
    assert "3.5" in svg
    assert "0.04" not in svg


def test_dashed_lines_and_bands_are_named_in_pictures(tmp_path):
    across = _panel(Reference("no error", 1.5), Reference("the interval", 1.2, "x", 1.4))
    svg = _saved(across, tmp_path)
    assert "dashed: no error" in svg
    assert "band: the interval" in svg
    points = Points("LW", X, Y, np.array([1, 1]))
    along = Panel("", "x", (points, Reference("LW: largest bound", 3.0, "y", series="LW")), "", "y")
    assert "largest bound" in _saved(along, tmp_path)


def test_titles_do_not_break_within_parentheses_or_beside_a_sign(tmp_path):
    title = "Local Lipschitz bounds over databases, 0.2 NB(100, 5) + 0.8 NB(100, 20), LW at c = 1, g = 0"
    for start in range(0, 30, 7):
        shown = _saved(_panel(), tmp_path, title[start:]).replace("\N{NO-BREAK SPACE}", "_")
        assert "NB(100,_20)" in shown
        assert "c_=_1" in shown


def test_who_is_missing_and_what_bars_are_is_in_the_headlines_figure():
    line = {"databases": 2, "one_table": {"mean": 1.0, "standard_error": 0.1}, "claimed": {"mean": 30.0}}
    by = {label: {"2": line} for label in ("Unweighted", "LW", "LW_final", "CW", "CW_final")} | {
        "SW": {"2": {"databases": 1}}
    }
    results = {kind: {"by_synthesizer": by} for kind in ("claimed", "audited")} | {"databases": 2, "Unweighted": line}
    for panel in headline_figure("mixture", "counts", results).panels:
        assert panel.title.endswith("bars: ± 2 standard errors;\nnot there on enough databases: SW")
        assert "half widths" in panel.y_label
