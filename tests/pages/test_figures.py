"""Figures: pure functions of results, the numbers behind them, one look, files that are what they say."""

from __future__ import annotations

import csv
import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.evaluation.digits import short
from alphasynth.evaluation.risk import identification_risk
from alphasynth.evaluation.utility import evaluate
from alphasynth.evaluation.values import Values
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.pages import figures, images
from alphasynth.pages.drawing import draw
from alphasynth.pages.images import save
from alphasynth.pages.marks import MOST_POINTS, Bars, Points, Reference, Violin, bars, curve, points, violin
from alphasynth.pages.palette import COLOURS, OTHERS, colours


@pytest.fixture(scope="module")
def fitted(mixture):
    settings = {"family": "negative_binomial", "m": 3, "seed": 5, "num_draws": 400}
    return syn.Synthesizer("y ~ 1", mechanism="LW_final", **settings).fit(mixture)


@pytest.fixture(scope="module")
def every_figure(fitted, mixture):
    """Each kind of figure once."""
    rounds = fitted.weightings_
    release = fitted.release()
    utility = evaluate(mixture, release.tables)
    records = syn.Records.from_table(mixture, ["y"])
    tables = [syn.Records.from_table(table, ["y"]) for table in release.tables]
    columns = {f"table {i}": Values.of(table["y"]) for i, table in enumerate(release.tables, start=1)}
    found = [comparison.synthetic for comparison in utility.comparisons]
    return [
        figures.lipschitz_violins(rounds),
        figures.lipschitz_against_weight(rounds),
        figures.weight_violins(rounds),
        figures.weight_histograms(rounds),
        figures.statistic_violins({"LW_final": utility.comparisons}),
        figures.mean_densities(rounds, mixture["y"].mean()),
        figures.value_violins("y", Values.of(mixture["y"]), {"LW_final": columns["table 1"]}),
        figures.risk_violins({"LW_final": [identification_risk(records, tables, column="y", radius=0.2)]}),
        figures.table_violins("y", columns, "LW_final"),
        figures.estimate_violins(found, "all tables", list(columns), "LW_final"),
    ]


def test_every_figure_has_a_name_words_and_marks(every_figure):
    for figure in every_figure:
        assert re.fullmatch(r"[a-z_]+", figure.name)
        assert figure.title
        assert len(figure.caption) > 20
        assert len(figure.alt) > 40
        assert figure.panels
        assert all(panel.alt and panel.marks for panel in figure.panels)
        assert set(figure.colours) >= {name for panel in figure.panels for name in panel.series}


@pytest.mark.slow
def test_files_of_every_figure(every_figure, tmp_path):
    from matplotlib import image

    for number, figure in enumerate(every_figure):
        png, svg, numbers = save(figure, tmp_path / str(number))
        pixels = image.imread(png)
        assert min(pixels.shape[:2]) > 200
        assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20  # something is drawn
        assert ElementTree.parse(svg).getroot().tag.endswith("svg")
        for name in {name for panel in figure.panels for name in panel.series}:
            assert name in svg.read_text()
        lines = list(csv.DictReader(numbers.read_text().splitlines()))
        assert len(lines) == len(figure.numbers())
        again = save(figure, tmp_path / f"{number} again")
        assert [path.read_bytes() for path in again] == [path.read_bytes() for path in (png, svg, numbers)]


def test_numbers_behind_a_scatter_plot_are_the_records(fitted, tmp_path):
    last = fitted.weightings_[-1]
    figure = figures.lipschitz_against_weight(fitted.weightings_)
    lines = pd.read_csv(save(figure, tmp_path)[2])
    mine = lines[(lines["series"] == "LW_final") & (lines["mark"] == "point")]
    assert mine["records"].sum() == last.counts.sum()
    assert sorted(mine["x"]) == pytest.approx(sorted(last.alpha))
    assert mine["y"].max() == pytest.approx(last.delta)
    dashed = lines[lines["mark"] == "LW_final: largest bound"]
    assert dashed["y"].tolist() == pytest.approx([last.delta])


def test_no_record_is_cut_off_and_no_key_looks_like_one():
    """A record of weight 0 and bound 0 lies inside the axes, and the key lies outside them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    alpha = np.linspace(0, 1, 5)
    figure = figures.lipschitz_against_weight([Weighting("LW", np.ones(5, int), alpha, 2 * alpha)])
    sheet = Sheet(layout="constrained")
    FigureCanvasAgg(sheet)
    space = sheet.subplots()
    images._draw(space, figure.panels[0], figure.colours)
    sheet.draw_without_rendering()
    whole = space.get_window_extent()
    at_zero = space.transData.transform((0.0, 0.0))
    radius = 9**0.5 / 2 / 72 * sheet.dpi  # of a point of 9 square points
    assert whole.x0 + radius < at_zero[0]
    assert whole.y0 + radius < at_zero[1]
    assert not space.get_legend().get_window_extent().overlaps(whole)


def test_points_say_what_they_are():
    """Weight and bound unless told; a bound is rounded up."""
    figure = figures.lipschitz_against_weight(
        [Weighting("LW", np.ones(2, int), np.array([0.2, 1]), np.array([1.23451, 3]))]
    )
    assert "weight 0.2000, bound 1.235, 1 record" in draw(figure, figure.panels[0])
    told = points("LW", np.array([7.0, 9.0]), np.array([0.5, 1.0]), np.array([3, 1]), ("y", "weight"))
    panel = replace(figure.panels[0], marks=(told,))
    assert "y 7, weight 0.5000, 3 records" in draw(figure, panel)


def test_before_and_after_share_a_panel():
    def w(label, low):
        alpha = np.linspace(low, 1, 5)
        return Weighting(label, np.ones(5, int), alpha, 2 * alpha)

    both = [Weighting("Unweighted", np.ones(5, int), np.ones(5), np.ones(5)), w("LW", 0), w("CW", 0.1), w("SW", 0.2)]
    both += [w("LW_final", 0.5), w("CW_final", 0.6)]
    panels = figures.lipschitz_against_weight(both).panels
    assert [panel.series for panel in panels] == [["LW", "LW_final"], ["CW", "CW_final"], ["SW"]]
    assert [panel.series for panel in figures.weight_histograms(both).panels] == [panel.series for panel in panels]
    alone = figures.lipschitz_against_weight(both[:1]).panels
    assert [panel.series for panel in alone] == [["Unweighted"]]
    assert [panel.series for panel in figures.lipschitz_against_weight([w("LW_final", 0)]).panels] == [["LW_final"]]


def test_no_density_where_the_model_has_no_mu():
    assert figures.mean_densities([Weighting("LW", np.ones(2, int), np.ones(2), np.ones(2))], 3.0) is None


def test_a_violin_has_the_shape_of_its_values():
    values = Values.of(np.random.default_rng(1).normal(10, 2, 50_000))
    shape = violin("a", values)
    assert isinstance(shape, Violin)
    assert shape.grid[[0, -1]] == pytest.approx([values.values[0], values.values[-1]])
    expected = np.exp(-0.5 * ((shape.grid - 10) / 2) ** 2)
    assert np.abs(shape.density - expected).max() < 0.06
    assert shape.quartiles == pytest.approx(np.quantile(values.values, [0.25, 0.5, 0.75]))
    # A heap at the largest value shows at the end.
    heap = violin("a", Values.of([0.0, 0.2, 0.5, 1.0], [1, 1, 1, 97]))
    assert np.argmax(heap.density) == len(heap.grid) - 1


def test_a_violin_of_one_value():
    shape = violin("a", Values.of([3.0, 3.0]))
    assert (shape.grid.tolist(), shape.density.tolist()) == ([3], [1])
    figure = figures.value_violins("y", Values.of([3, 3]), {"SW": Values.of([3, 3])})
    assert 'class="spike"' in draw(figure, figure.panels[0])


def test_values_that_differ_in_the_last_digit_only():
    figure = figures.value_violins("y", Values.of([0.9, 0.9000000000000001]), {"SW": Values.of([1e12, 1e12 + 1e-4])})
    assert all(len(mark.grid) == 1 for mark in figure.panels[0].rows)
    draw(figure, figure.panels[0])


def test_histograms_hold_every_record():
    found = bars("a", Values.of([0, 0.5, 1], [2, 3, 5]), np.linspace(0, 1, 11))
    assert isinstance(found, Bars)
    assert found.shares.sum() == pytest.approx(1)
    assert found.shares[-1] == 0.5


def test_scatter_plots_of_many_records_keep_the_extremes():
    rng = np.random.default_rng(2)
    x, y = rng.random(50_000), rng.random(50_000)
    y[123], y[77] = 9.0, -4.0
    found = points("a", x, y, np.ones(50_000, int))
    assert isinstance(found, Points)
    assert len(found.x) <= MOST_POINTS
    assert (found.y.max(), found.y.min()) == (9, -4)


def test_results_are_left_as_they_were(fitted):
    before = [(w.alpha.copy(), w.lipschitz.copy(), w.mu.copy()) for w in fitted.weightings_]
    for function in (figures.lipschitz_violins, figures.lipschitz_against_weight, figures.weight_histograms):
        function(fitted.weightings_)
    for w, (alpha, bounds, mu) in zip(fitted.weightings_, before, strict=True):
        assert np.array_equal(w.alpha, alpha)
        assert np.array_equal(w.lipschitz, bounds)
        assert np.array_equal(w.mu, mu)


def test_the_same_synthesizer_has_the_same_colour_everywhere(every_figure):
    for figure in every_figure:
        for label, colour in figure.colours.items():
            assert colour == COLOURS.get(label, colour)
    assert colours(["mine", "LW", "yours"]) == {"mine": OTHERS[0], "LW": COLOURS["LW"], "yours": OTHERS[1]}
    assert colours(["all tables", "table 1"], "SW") == {"all tables": COLOURS["SW"], "table 1": OTHERS[0]}


def _lab(colour, matrix):
    """CIE L*a*b* of a colour as an eye sees it whose cones mix linear RGB by the matrix."""
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(matrix @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ linear / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Machado, Oliveira and Fernandes (2009), severity 1.
EYES = {
    "all cones": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


@pytest.mark.parametrize("eyes", EYES)
def test_colours_can_be_told_apart(eyes):
    """A difference of 10 in L*a*b* is seen at a glance (2.3 is just noticeable)."""
    seen = {label: _lab(colour, EYES[eyes]) for label, colour in COLOURS.items() if label != "synthetic"}
    for one in seen:
        for other in seen:
            if one < other:
                assert np.linalg.norm(seen[one] - seen[other]) > 10, (one, other)


@pytest.mark.parametrize("eyes", EYES)
def test_colours_of_others_can_be_told_apart(eyes):
    """And from that of `Raked`, beside which they stand in the league of whole tables."""
    seen = [_lab(colour, EYES[eyes]) for colour in (*OTHERS, COLOURS["Raked"])]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) > 10


def test_colours_show_on_light_and_dark_paper():
    for label, colour in [*COLOURS.items(), *((colour, colour) for colour in OTHERS)]:
        assert 25 < _lab(colour, np.eye(3))[0] < 80, label


def test_drawings_escape_what_users_name():
    evil = '<script>alert("1")</script>'
    figure = figures.value_violins(evil, Values.of([1, 2]), {evil: Values.of([1, 3])})
    drawn = draw(figure, figure.panels[0])
    assert "<script" not in drawn
    ElementTree.fromstring(drawn)
    assert figure.name == "values__script_alert__1____script_"


def test_axes_have_round_ticks():
    figure = figures.value_violins("y", Values.of([0, 1]), {"SW": Values.of([0, 1])})
    shown = re.findall(r'y="18">([^<]+)</text>', draw(figure, figure.panels[0]))
    assert shown == ["0", "0.25", "0.5", "0.75", "1"]


def test_a_long_number_at_the_edge_stays_inside():
    figure = figures.value_violins("y", Values.of([0, 999_000]), {"SW": Values.of([0, 1_000_000])})
    assert re.search(r'x="418" text-anchor="end" y="18">1,000,000<', draw(figure, figure.panels[0]))


def test_a_density_goes_down_to_nothing():
    line = curve("a", Values.of(np.random.default_rng(3).normal(5, 1, 2_000)), "")
    assert np.trapezoid(line.y, line.x) == pytest.approx(1)
    assert max(line.y[0], line.y[-1]) < 0.01 * line.y.max()
    # The density of N(5, 1) at 5 is 0.399; 2,000 draws smoothed: a per cent or two.
    assert np.interp(5, line.x, line.y) == pytest.approx(0.399, rel=0.08)


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (1e-9, "1e-09"), (-12.3456, "-12.35"), (987654.3, "987,654")])
def test_short_numbers(value, text):
    assert short(value) == text


def test_a_reference_says_where_it_is():
    assert list(Reference("mean", 2.5).numbers()) == [{"series": "", "mark": "mean", "x": 2.5}]
    band = Reference("band", 1.0, "x", 3.0)
    assert list(band.numbers()) == [{"series": "", "mark": "band", "x": 1.0, "x_to": 3.0}]
