"""Expected numbers: none is edited without its tolerance and reason, and ours are judged by them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from alphasynth_studies import NAMES, named_study, nb_mixture
from alphasynth_studies.expected import FAILS, FITTED, HOLDS, UNDECIDED, UNTOLD, Expected, found_in, plain

REGISTER = Path(__file__).parents[1] / "reference" / "paper_numbers.csv"


def test_no_expected_number_is_edited_alone():
    """Number, tolerance and reason of every expectation, against the register.

    Whoever changes one of them says so twice: here the number, the tolerance and the reason stand together.
    """
    with REGISTER.open(encoding="utf-8") as stream:
        register = {(line["study"], line["name"]): line for line in csv.DictReader(stream)}
    stated = {(name, expected.name): expected for name in NAMES for expected in named_study(name).expected}
    assert list(register) == list(stated)
    for place, expected in stated.items():
        line = register[place]
        stands = (float(line["paper"]), float(line["tolerance"]), line["reason"])
        assert stands == (expected.paper, expected.tolerance, expected.reason), place


@pytest.mark.parametrize(
    "changed",
    [
        {"paper": 5.9},
        {"tolerance": 0.5},
        {"reason": "because it is so, and has been for long"},
        {"reason": "6 ± 0.4: no"},
    ],
)
def test_an_edited_number_does_not_fit_its_reason(changed):
    expected = named_study("contraction").expected[1]
    assert (expected.paper, expected.tolerance) == (6.0, 0.4)
    with pytest.raises(ValueError, match="the reason must start with"):
        replace(expected, **changed)


def test_a_tolerance_must_be_one():
    with pytest.raises(ValueError, match="must be finite"):
        Expected("a", "b", "c", 1.0, -0.5, "1 ± -0.5: a reason that is long enough to be one")


def test_the_published_intervals_are_the_papers():
    """The table of Supp 3, copied a second time."""
    rows = {
        "q15": "70.0 75.0 70.0 74.3 70.6 74.8 77.2 80.8 71.6 75.8",
        "q90": "132.0 140.0 132.1 139.0 133.1 140.3 128.5 134.0 131.0 137.7",
        "mean": "98.8 102.3 98.0 101.4 98.7 102.0 100.6 103.3 98.6 101.8",
        "median": "96.0 101.0 95.6 99.7 96.0 100.0 98.7 102.4 96.1 100.1",
    }
    for name, row in rows.items():
        ends = [*map(float, row.split())]
        for i, label in enumerate(("data", "LW", "LW_final", "CW", "CW_final")):
            assert tuple(nb_mixture.PUBLISHED[label][name]) == (ends[2 * i], ends[2 * i + 1])


def test_a_number_is_judged_by_its_tolerance():
    expected = Expected("a.b", "here", "x", 3.5, 0.2, "3.5 ± 0.2: a reason that is long enough")
    assert [expected.beside(ours).verdict for ours in (3.3, 3.7, 3.71, 3.29)] == [HOLDS, HOLDS, FAILS, FAILS]
    assert expected.beside(None).verdict == expected.beside(float("nan")).verdict == UNTOLD
    assert found_in({"a": {"b": 3.4}}, "a.b") == 3.4
    assert found_in({"a": 1}, "a.b") is None
    assert plain(107_609) == "107,609"


def test_near_the_edge_a_number_is_undecided():
    """Its 95 % interval reaches over the edge of the tolerance, from inside or from outside."""
    expected = Expected("a", "here", "x", 1.0, 0.1, "1 ± 0.1: a reason that is long enough")
    assert expected.beside(1.0, (0.94, 1.06)).verdict == HOLDS
    assert expected.beside(0.95, (0.89, 1.01)).verdict == UNDECIDED
    assert expected.beside(0.85, (0.79, 0.91)).verdict == UNDECIDED
    assert expected.beside(1.0, (0.83, 1.0)).verdict == UNDECIDED  # 20 tables of 20
    assert expected.beside(0.5, (0.4, 0.6)).verdict == FAILS


def test_a_fitted_number_is_no_success():
    expected = Expected("a", "here", "x", 1.0, 0.1, "1 ± 0.1: a reason that is long enough")
    assert expected.beside(1.0, fitted=True).verdict == FITTED
    assert expected.beside(2.0, fitted=True).verdict == FAILS


def test_lines_take_errors_and_fits_from_the_results():
    study = replace(named_study("contraction"), expected=named_study("contraction").expected[:2])
    names = [expected.name for expected in study.expected]
    results = {"poisson": {"LW": {"median_delta": 3.5}}, "mixture": {"LW": {"median_delta": 6.0}}, "fitted": names[:1]}
    assert [line.verdict for line in study.lines(results)] == [FITTED, HOLDS]
    share = replace(
        study.expected[0], name="a.share", paper=1.0, tolerance=0.1, reason="1 ± 0.1: long enough, too, to be"
    )
    results = {"a": {"share": 0.92, "share_interval": [0.85, 0.96]}}
    assert [line.verdict for line in replace(study, expected=(share,)).lines(results)] == [UNDECIDED]


def test_the_scatter_behind_tolerances_is_what_the_results_say():
    """Standard deviations over 100 tables, as written down, against the committed results, to rounding."""
    path = Path(__file__).parents[2] / "studies" / "results" / "nb-mixture.json"
    intervals = json.loads(path.read_text())["intervals"]
    for label, by_statistic in nb_mixture.SCATTER.items():
        for name, (place, width) in by_statistic.items():
            found = intervals[label][name]
            assert found["middle" if label == "data" else "shift"]["sd"] == pytest.approx(place, abs=0.0051)
            assert found["width"]["sd"] == pytest.approx(width, abs=0.0051)
