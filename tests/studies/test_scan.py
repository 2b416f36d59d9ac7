"""Scans of settings that the paper does not give: how far a published row lies, and which verdicts turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from alphasynth.evaluation.intervals import Interval
from alphasynth_studies import many_databases, nb_mixture
from alphasynth_studies.expected import FAILS, HOLDS, NOT_UNUSUAL, UNDECIDED, Expected
from alphasynth_studies.scans.bounds import scan_words
from alphasynth_studies.scans.page import row_words
from alphasynth_studies.scans.settings import (
    CW_SETTINGS,
    LW_SETTINGS,
    ROUNDING,
    Scan,
    depending,
    fit_of,
    fits,
    numbers_that_turn,
    row_of,
    scan_results,
)
from alphasynth_studies.scans.turning import opposed, remark_turns
from alphasynth_studies.scans.units import COMPARED, against_mixture, by_measure, errs_more, turned
from alphasynth_studies.synthesizers import CW, LW, Setting, synthesize_all
from alphasynth_studies.tables import mixture_table

pytestmark = pytest.mark.slow

STATEMENTS = {statement.name: statement for statement in nb_mixture.STATEMENTS}
SMALL = Setting(0.7, 0.0)


def _table(number):
    return mixture_table(number, 150)


@pytest.fixture(scope="module")
def found():
    """Two small tables at two settings of LW and two of CW."""
    scan = Scan(_table, 2, (LW, SMALL), (CW, Setting(1.0, 0.1, 20.0, False)))
    return [scan.measure(number) for number in (0, 1)]


def test_ours_come_first_and_none_twice():
    assert (LW_SETTINGS[0], CW_SETTINGS[0]) == (LW, CW)
    assert len(set(LW_SETTINGS)) == len(LW_SETTINGS)
    assert len(set(CW_SETTINGS)) == len(CW_SETTINGS)
    assert Setting(1.0, 0.1, 20.0, False).words == "radius 20, c = 1, g = 0.1"


def test_a_row_is_four_shifts_and_four_widths():
    own = dict.fromkeys(("q15", "q90", "mean", "median"), Interval(0.0, 4.0))
    row = row_of({**own, "q15": Interval(3.0, 5.0), "median": Interval(-1.0, 4.0)}, own)
    assert row.tolist() == [2.0, 0.0, 0.0, -0.5, 2.0, 4.0, 4.0, 5.0]


def test_the_fit_of_a_row_by_hand():
    """Rows that are normal with sd 2: a published row at the mean, one sd away, and far away."""
    rows = np.random.default_rng(1).normal(5.0, 2.0, (400, 8))
    at_mean = fit_of(rows, rows.mean(axis=0))
    assert at_mean == {"distance": pytest.approx(0), "as_far": 400, "tables": 400}
    one = fit_of(rows, rows.mean(axis=0) + rows.std(axis=0, ddof=1))
    assert one["distance"] == pytest.approx(1, rel=2 * ROUNDING)  # rounding adds a little to a variance of 4
    # The root mean square of eight standard normals exceeds 1 with probability P(chi2_8 > 8) = 0.433, s.e. 0.025.
    assert one["as_far"] / 400 == pytest.approx(0.433, abs=0.1)
    assert fit_of(rows, rows.mean(axis=0) + 20)["as_far"] == 0


@pytest.mark.parametrize(("as_far", "tables", "seen"), [(0, 20, 0), (1, 20, 0), (2, 20, 1), (2, 40, 1), (4, 100, 0)])
def test_one_table_is_not_enough_for_rows_to_be_seen(as_far, tables, seen):
    """One in twenty, and two at least, before re-weighting and after."""
    row, good = {"as_far": as_far, "tables": tables}, {"as_far": tables, "tables": tables}
    assert fits({"rows": {"CW": row, "CW_final": good}}) == fits({"rows": {"CW": good, "CW_final": row}}) == bool(seen)


def test_rows_of_the_paper_decide_which_settings_are_considered(found):
    """A published row that is ours fits; one far away does not, and ours is considered all the same."""
    base, made = found[0].base.intervals, found[0].at(LW, CW).paper
    published = {"data": base} | {label: made[label].intervals for label in ("LW", "LW_final", "CW", "CW_final")}
    near = scan_results(found, nb_mixture.STATEMENTS, published)
    assert near["LW"][0]["rows"]["LW"]["as_far"] >= 1
    assert near["LW"][1]["ratio"] == pytest.approx(
        np.mean([one.lw[SMALL]["LW_final"].delta / one.lw[SMALL]["LW"].delta for one in found])
    )
    far = {name: Interval(900.0, 901.0) for name in base}
    away = scan_results(found, nb_mixture.STATEMENTS, {**published, "CW_final": far})
    assert not any(fits(line) for line in away["CW"])
    assert away["considered"]["CW"] == [CW.words]
    assert "ours is not among them" in row_words(away)
    assert near["LW"][1]["delta"] == pytest.approx(np.mean([one.lw[SMALL]["LW"].delta for one in found]))


def test_settings_leave_their_traces(found):
    """LW's weights are 0.7 times as large at c = 0.7; the rest of the table stays; ours is the study's own."""
    one = found[0]
    assert one.lw[SMALL]["LW"].mean_alpha == pytest.approx(0.7 * one.lw[LW]["LW"].mean_alpha)
    assert one.at(SMALL, CW).paper["CW"] == one.at(LW, CW).paper["CW"]
    from alphasynth_studies.study import SEED

    whole = synthesize_all(_table(0), 2, None, SEED)
    assert one.lw[LW]["LW_final"].delta == whole.paper["LW_final"].weighting.delta
    assert one.cw[CW]["CW"].mean_alpha == whole.paper["CW"].weighting.mean_alpha


@pytest.mark.parametrize(
    ("verdict", "ours", "other", "tables", "turns"),
    [
        (HOLDS, 1.0, 0.65, 40, True),  # another verdict, by more than chance
        (HOLDS, 0.95, 0.85, 40, False),  # another verdict, by no more than chance
        (HOLDS, 1.0, 0.91, 1_000, False),  # more than chance, and the same verdict
        (NOT_UNUSUAL, 0.5, 1.0, 40, True),
        (NOT_UNUSUAL, 0.275, 0.0, 40, True),
        (NOT_UNUSUAL, 0.25, 0.85, 40, False),  # moves by more than a half, and is not unusual at either
        (NOT_UNUSUAL, 0.9, 0.45, 40, False),  # on all tables ours is not unusual, as the other is
        (FAILS, 0.0, 0.1, 100, True),
        (FAILS, 0.0, 0.05, 20, False),
    ],
)
def test_a_remark_turns_if_its_verdict_does_by_more_than_chance(verdict, ours, other, tables, turns):
    assert remark_turns(verdict, ours, other, tables) == turns


def test_numbers_and_claims_turn_from_holds_to_does_not():
    assert opposed([HOLDS, UNDECIDED, FAILS])
    assert not opposed([HOLDS, UNDECIDED, HOLDS])
    assert not opposed([UNDECIDED, FAILS])


def test_a_remark_or_claim_depends_on_what_turns_it():
    statements = [STATEMENTS["lw_more_efficient"], STATEMENTS["lw_final_nearer_all"], STATEMENTS["cw_low_bounds"]]
    results = {
        "tables": 40,
        "LW": [{"scale": 1.0, "shift": 0.0, "words": LW.words}, {"scale": 0.7, "shift": 0.0, "words": SMALL.words}],
        "considered": {"LW": [LW.words, SMALL.words], "CW": [CW.words, "radius 0.2"]},
        "statements": {
            "lw_more_efficient": {"LW": [1.0, 0.1], "CW": [1.0, 0.9]},
            "lw_final_nearer_all": {"LW": [1.0, 0.0], "CW": [1.0, 0.5]},
            "cw_low_bounds": {"LW": [1.0, 0.95], "CW": [1.0, 0.9]},
        },
    }
    held = {statement.name: {"share": 1.0, "support": 1.0} for statement in statements}
    told = depending(results, statements, held)
    assert list(told) == ["statements.lw_more_efficient.share", "statements.lw_final_nearer_all.support"]
    remark, claim = told.values()
    assert remark["on"] == "c and g of LW"
    assert remark["change"] == "true of 10% at c = 0.7, 100% at c = 1, of our first 40 tables"
    assert claim == {"on": "c and g of LW", "change": "means of our tables keep it at c = 1, break it at c = 0.7"}
    results["LW"].append({"scale": 0.9, "shift": 0.1, "words": "shifted"})  # every setting is told, whatever its g
    results["considered"]["LW"].append("shifted")
    results["statements"]["lw_more_efficient"]["LW"].append(0.2)
    results["statements"]["lw_final_nearer_all"]["LW"].append(0.5)
    remark, claim = (each["change"] for each in depending(results, statements[:2], held).values())
    assert remark.startswith("true of 10% at c = 0.7, 100% at c = 1, 20% at c = 0.9 with g = 0.1, of")
    assert claim.endswith("break it at c = 0.7, leave it open at c = 0.9 with g = 0.1")
    results["statements"]["lw_final_nearer_all"]["LW"] = [1.0, 0.5, 0.5]  # undecided at the others
    assert list(depending(results, statements, held)) == ["statements.lw_more_efficient.share"]


def test_a_number_depends_on_what_takes_it_out_of_its_tolerance(found):
    """LW's mean weight is about 0.95 at c = 1, and about 0.66 at c = 0.7."""
    expected = Expected("weight", "here", "x", 0.95, 0.1, "0.95 ± 0.1: a reason that is long enough")
    considered = {"LW": [LW.words, SMALL.words], "CW": [CW.words]}
    turned = numbers_that_turn(found, considered, [expected], lambda one, name: one.paper["LW"].mean_alpha)
    assert turned["weight"]["on"] == "c and g of LW"
    assert "outside it at c = 0.7, g = 0 (1 of 2 settings)" in turned["weight"]["change"]
    considered["LW"] = [LW.words]
    assert numbers_that_turn(found, considered, [expected], lambda one, name: one.paper["LW"].mean_alpha) == {}
    assert numbers_that_turn(found, considered, [expected], lambda one, name: None) == {}


def test_numbers_are_read_off_a_table(found):
    one = found[0].at(LW, CW)
    width = nb_mixture.number_on(one, "intervals.LW.q90.width.mean")
    assert width == pytest.approx(one.paper["LW"].intervals["q90"].high - one.paper["LW"].intervals["q90"].low)
    shift = nb_mixture.number_on(one, "intervals.CW.mean.shift.mean")
    assert shift == pytest.approx(sum(one.paper["CW"].intervals["mean"]) / 2 - sum(one.intervals["mean"]) / 2)
    assert nb_mixture.number_on(one, "delta_ratio.SW.mean") == one.paper["SW"].delta / one.paper["LW"].delta
    assert nb_mixture.number_on(one, "intervals.data.q15.middle.mean") is None


def test_bounds_of_supp_5_that_turn_with_c():
    expected = Expected("poisson.LW.share", "here", "x", 0.0, 0.05, "0 ± 0.05: a reason that is long enough")
    scan = [
        {"scale": scale, "shift": shift, "LW": {"share": share, "share_interval": [share, share]}}
        for scale, shift, share in ((1.0, 0.0, 0.7), (0.7, 0.0, 0.0), (0.85, 0.0, 0.05), (0.7, 0.1, 0.9))
    ]
    other = replace(expected, name="mixture.LW.share")
    told = many_databases.turning({"poisson": scan, "mixture": scan[:1]}, [expected, other], {})
    assert list(told) == ["poisson.LW.share"]
    assert told["poisson.LW.share"] == {
        "on": "c of LW",
        "change": "holds at c = 0.7, 0.85; does not hold at c = 1 (g = 0)",
    }
    stricter = replace(expected, tolerance=0.01, reason="0 ± 0.01: a reason that is long enough", what="read strictly")
    told = many_databases.turning({"poisson": scan}, [expected], {expected.name: stricter})[expected.name]
    assert told["on"] == "c of LW and on the reading"
    assert told["change"].startswith("as read here holds at c = 0.7, 0.85")
    assert told["change"].endswith("; read strictly: holds at c = 0.7; does not hold at c = 0.85, 1 (g = 0)")


def _bounds(words, poisson, mixture):
    """A setting's numbers: upper end and share above, then the mixture's with its median."""
    ratios = {name: {"value": 1.0, "standard_error": 0.1} for name in ("spread_ratio", "drift")}
    low, high = ({"upper_delta": end, "share_above_global": share} for end, share in (poisson, mixture))
    low["share_above_global_interval"] = [max(poisson[1] - 0.03, 0.0), poisson[1] + 0.03]
    for found, median in ((low, 3.0), (high, 6.0 if words == "c = 1" else 5.0)):
        found |= {"median_delta": median, "num_databases": 100}
    return {name: {"words": words, "contraction": ratios, "LW": found} for name, found in (("p", low), ("m", high))}


def test_both_values_of_supp_5_are_read_alike_as_well():
    """At c = 0.85 both are upper ends; at c = 1 the one is far off, and 6 is the middle; near one in twenty is said."""
    made = [_bounds("c = 1", (4.0, 0.7), (7.2, 0.4)), _bounds("c = 0.85", (3.4, 0.04), (6.2, 0.07))]
    scan = {"poisson": [line["p"] for line in made], "mixture": [line["m"] for line in made]}
    said = scan_words({"scan": scan})
    assert "both met, to 0.2 and 0.4, at c = 0.85 (one in twenty above 3.4" in said
    assert "so that of 3.5 is undecided at c = 0.85." in said
    assert "within 0.4 of it at c = 1; together with at most one in twenty above 3.5 at none of them" in said
    assert "100 further databases, the same for every setting" in said
    made[1]["m"]["LW"]["upper_delta"] = 6.5
    assert "both met, to 0.2 and 0.4, at none of the settings" in scan_words({"scan": scan})


def _variant(**held):
    return {"tables": 40, "statements": {**dict.fromkeys([*STATEMENTS, "lw_best"], 1.0), **held}, "a": {"mean": 1.0}}


def test_salaries_that_turn_with_the_unit_cannot_be_told():
    """By the rule that settings have; numbers as well."""
    variants = {
        "as above": _variant(),
        "thousands": _variant(lw_best=0.05, cw_low_bounds=0.9),
        "without zeros": _variant(lw_final_nearer_largest=0.625),
    }
    told = turned(variants)
    assert list(told) == ["statements.lw_best.share", "statements.lw_final_nearer_largest.share"]
    assert told["statements.lw_best.share"]["change"] == (
        "true of 100% in dollars, 5% in thousands, 100% without salaries of 0, of 40 tables each"
    )
    number = Expected("a.mean", "here", "x", 1.0, 0.1, "1 ± 0.1: a reason that is long enough")
    assert "a.mean" not in turned(variants, [number])
    variants["thousands"]["a"] = {"mean": 1.2}
    seen = turned(variants, [number])["a.mean"]["change"]
    assert seen == "holds in dollars, does not hold in thousands, holds without salaries of 0"
    assert turned(dict.fromkeys(variants, _variant())) == {}


@pytest.mark.parametrize("label", COMPARED)
@pytest.mark.parametrize(("relative", "scaled"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)])
def test_two_measures_of_utility_that_disagree_decide_nothing(label, relative, scaled):
    same = {"more_relative_error": 1.0, "more_scaled_error": 1.0}
    against = {f"{one.lower()}_against_mixture": same for one in COMPARED}
    errors = {"relative_error": 0.5, "relative_error_mixture": 0.25, "scaled_error": 3, "scaled_error_mixture": 4}
    more = {"more_relative_error": relative, "more_scaled_error": scaled}
    against[f"{label.lower()}_against_mixture"] = errors | more
    told = by_measure(against)
    assert list(told) == ([errs_more(label)] if relative != scaled else [])
    if relative > scaled:
        assert told[errs_more(label)]["change"] == (
            "so relative to the statistics (0.5 against 0.25), and not so relative to the data's own intervals (3 "
            "against 4)"
        )


def test_salaries_against_the_mixture_by_hand(found):
    """A table against itself cannot be told; against one whose errors are doubled it can."""
    one = found[0].at(LW, CW)
    assert against_mixture("LW", [one] * 3, [one] * 3)["more_relative_error_interval"] == [0.0, 0.0]
    off = {name: 2 * one.paper["LW"].estimates[name] - value for name, value in one.values.items()}
    other = replace(one, paper={**one.paper, "LW": replace(one.paper["LW"], estimates=off)})
    told = against_mixture("LW", [other, other], [one, one])
    assert told["relative_error"] == pytest.approx(2 * told["relative_error_mixture"])
    assert (told["more_relative_error"], told["more_relative_error_interval"]) == (1.0, [1.0, 1.0])
    mixed = against_mixture("LW", [other, one], [one, other])
    assert mixed["more_relative_error_interval"] == [0.0, 1.0]
