"""Expected numbers: none is edited without its tolerance and reason, and ours are judged by them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from alphasynth_studies import NAMES, contraction, named_study, nb_mixture
from alphasynth_studies.expected import (
    CANNOT,
    CLAIM,
    DEPENDS,
    FAILS,
    FITTED,
    HOLDS,
    NOT_UNUSUAL,
    REMARK,
    UNDECIDED,
    UNTOLD,
    Expected,
    found_in,
    judged,
    plain,
)
from alphasynth_studies.markdown import _ours, before_and_now
from alphasynth_studies.output import _cells, sources
from alphasynth_studies.statements import OF_ONE_TABLE, share_interval
from alphasynth_studies.study import SETTINGS
from alphasynth_studies.synthesizers import CW, LW

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
    expected = named_study("contraction").expected[2]
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


REMARKED = Expected("a.share", "here", "x", 1.0, 0.95, "1 ± 0.95: a reason that is long enough", kind=REMARK)


@pytest.mark.parametrize(
    ("holds", "of", "verdict"),
    [
        (100, 100, HOLDS),
        (93, 100, HOLDS),
        (90, 100, HOLDS),
        (39, 40, HOLDS),
        (89, 100, NOT_UNUSUAL),
        (68, 100, NOT_UNUSUAL),
        (5, 100, NOT_UNUSUAL),
        (4, 100, FAILS),
        (0, 40, FAILS),
    ],
)
def test_a_remark_about_one_table_is_judged_by_the_share_of_tables(holds, of, verdict):
    """Nine in ten hold, fewer than one in twenty do not, whatever the interval of the share; as the reason says."""
    assert REMARKED.beside(holds / of, tuple(share_interval(holds, of))).verdict == verdict
    assert "at least nine of ours in ten" in OF_ONE_TABLE
    assert "fewer than one in twenty" in OF_ONE_TABLE


def test_a_claim_is_as_sure_as_resamples_of_the_tables():
    claim = replace(REMARKED, tolerance=0.025, reason="1 ± 0.025: a reason that is long enough", kind=CLAIM)
    supports = (1.0, 0.975, 0.9, 0.5, 0.03, 0.02, 0.0)
    verdicts = [HOLDS, HOLDS, UNDECIDED, UNDECIDED, UNDECIDED, FAILS, FAILS]
    assert [claim.beside(support).verdict for support in supports] == verdicts


def test_what_turns_with_a_setting_or_the_data_is_neither_held_nor_failed():
    """Whatever it would be at our settings; what cannot be told comes before what depends."""
    expected = Expected("a.b", "here", "x", 3.5, 0.2, "3.5 ± 0.2: a reason that is long enough", change="a table")
    turned = {"a.b": {"on": "c of LW", "change": "holds at c = 0.85"}}
    for ours in (3.5, 9.0):
        line = judged(expected, {"a": {"b": ours}, "depends": turned})
        assert (line.verdict, line.shown, line.change) == (DEPENDS, "depends on c of LW", "holds at c = 0.85")
        assert line.to_change == line.flat()["change"] == "holds at c = 0.85; a table"  # what was seen, then what might
        assert line.flat()["verdict"] == "depends on c of LW"
        assert judged(expected, {"a": {"b": ours}, "depends": turned, "cannot": turned}).shown == CANNOT
    assert judged(expected, {"depends": turned, "cannot": turned}).verdict == UNTOLD
    assert judged(expected, {"a": {"b": 3.5}, "depends": {"a.c": {}}}).flat()["change"] == "a table"


def test_every_line_says_where_what_and_which_settings_are_ours():
    """Codes are explained, ours are those that the synthesizers have, and only what is published lacks a quotation."""
    assert SETTINGS["LW"].startswith(LW.words)
    assert SETTINGS["CW"].startswith(CW.words)
    for name in NAMES:
        for expected in named_study(name).expected:
            assert expected.place
            assert set(expected.settings) <= set(SETTINGS), expected.name
            assert expected.change or expected.name in contraction.NOT_HERE
            assert expected.said or expected.name.startswith(("intervals.", "sample.")), expected.name
    of_cw = {e.name for e in named_study("nb-mixture").expected if "CW" in e.settings}
    assert "statements.cw_gains_more.share" in of_cw
    assert "statements.lw_final_level.share" not in of_cw


def test_no_two_readings_of_one_value_are_scored():
    """(5, 5) and (5, 20) exclude each other, and 'nearly 0' is said of Poisson's 3.5 alone; 6 is a middle or an end."""
    names = [expected.name for expected in named_study("contraction").expected]
    assert not [name for name in names if name.startswith("as_printed")]
    assert [name for name in names if name.endswith("share_above_global")] == ["poisson.LW.share_above_global"]
    assert contraction.MIDDLE in names
    assert contraction.UPPER_END.name not in names


def test_no_sentence_is_scored_by_two_opposite_readings():
    """Bounds called equivalent are judged by their ratio; that one does not exceed the other is no line of its own."""
    for name in ("nb-mixture", "salary"):
        lines = [expected.name for expected in named_study(name).expected]
        assert [line for line in lines if line.startswith("delta_ratio.")]
        assert not [line for line in lines if line.endswith(("not_above.share", "not_above.support"))]


def test_each_published_interval_stands_beside_its_numbers():
    said = {e.name: e.said for e in named_study("nb-mixture").expected if e.name.startswith("intervals.")}
    assert said["intervals.LW.q15.width.mean"] == said["intervals.LW.q15.shift.mean"] == "[70.0, 74.3]"
    assert said["intervals.CW_final.median.shift.mean"] == "[96.1, 100.1]"


def test_lines_take_errors_and_fits_from_the_results():
    upper, _, median = named_study("contraction").expected[:3]
    study = replace(named_study("contraction"), expected=(upper, median))
    results = {"poisson": {"LW": {"upper_delta": 3.5}}, "mixture": {"LW": {"median_delta": 6.0}}}
    results["fitted"] = [upper.name]
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


def test_verdicts_are_counted_by_line_by_sentence_and_like_with_like():
    """Two lines of one sentence and one of another; one line was there before, one is new, one is gone."""
    first = Expected("a", "here", "x", 1.0, 0.1, "1 ± 0.1: a reason that is long enough", said="it is so")
    same, other = replace(first, name="b"), replace(first, name="c", said="it is otherwise")
    study = replace(named_study("headline"), expected=(first, same, other))
    found = {"headline": (study, {"a": 1.0, "b": 1.0, "c": 5.0})}
    earlier = {("headline", "a"): FAILS, ("headline", "c"): FAILS, ("salary", "c"): HOLDS}
    lines = before_and_now(found, earlier).splitlines()
    assert "| holds | 1 | 2 | 1 | 0 | 1 |" in lines
    assert "| does not hold | 2 | 1 | 1 | 2 | 1 |" in lines
    assert "| all | 3 | 3 | 2 | 2 | 2 |" in lines
    assert "1 lines are new, 1 of the earlier ones are gone" in lines[-1]


def test_what_was_chosen_in_sight_of_a_number_is_said_to_be_fitted():
    """CW's row, by radius, c and g; widths of all synthetic tables' intervals, by B, which leaves the data's own."""
    chosen = {e.name for e in named_study("nb-mixture").expected if e.name.startswith("intervals.CW.")}
    widths = {e.name for e in named_study("nb-mixture").expected if e.name.endswith(".width.mean")}
    of_data = {name for name in widths if name.startswith("intervals.data.")}
    assert (len(chosen), len(widths), len(of_data)) == (8, 20, 4)
    assert set(nb_mixture.FITTED) == chosen | (widths - of_data)
    assert len(nb_mixture.FITTED) == len(set(nb_mixture.FITTED)) == 20
    assert "in sight of the published widths" in SETTINGS["B"]
    assert "5.8 wide" in SETTINGS["B"]
    results = json.loads((Path(__file__).parents[2] / "studies" / "results" / "nb-mixture.json").read_text())
    verdicts = {line["name"]: line["verdict"] for line in results["expected"]}
    assert {name for name, verdict in verdicts.items() if verdict == FITTED} == set(nb_mixture.FITTED)
    assert {verdicts[name] for name in of_data} == {HOLDS}


def test_a_published_table_is_one_source_and_sentences_are_told_apart_by_place():
    lines = {line.expected.name: line for line in named_study("nb-mixture").lines({"intervals": {}})}
    table = [line for name, line in lines.items() if name.startswith("intervals.")]
    assert (len(table), sources(table)) == (40, 1)
    four = [lines[f"statements.cw_final_nearer_{name}.share"] for name in ("q15", "q90", "mean", "median")]
    assert sources(four) == 1
    assert sources([*four, lines["statements.lw_final_nearer_q90.share"]]) == 2


def test_what_is_so_or_not_is_told_in_words():
    """A 1 with a tolerance of 0 is no number to a reader."""
    reason = "1 ± 0: said outright, so it is so (1) or it is not (0)"
    one = Expected("cw_against_mixture.more_relative_error", "here", "it is larger", 1.0, 0.0, reason)
    assert (one.spoken(1.0), one.spoken(0.0)) == ("true", "false")
    assert _ours(one.beside(1.0), {"cw_against_mixture": {"more_relative_error": 1.0}}) == "true"
    assert _cells(one.beside(0.0))[1:4] == ("true", "false", "")
    number = Expected("weight", "here", "x", 0.95, 0.1, "0.95 ± 0.1: a reason that is long enough")
    assert number.spoken(0.95) == "0.95"
