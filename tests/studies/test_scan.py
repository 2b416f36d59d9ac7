"""Scans of settings that the paper does not give: how far a published row lies, and which verdicts turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from alphasynth.evaluation.intervals import Interval
from alphasynth_studies import many_databases, nb_mixture
from alphasynth_studies.expected import Expected
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
from alphasynth_studies.scans.units import ERRS_MORE, by_measure, turned
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
    assert at_mean == {"distance": pytest.approx(0), "share_as_far": 1.0}
    one = fit_of(rows, rows.mean(axis=0) + rows.std(axis=0, ddof=1))
    assert one["distance"] == pytest.approx(1, rel=2 * ROUNDING)  # rounding adds a little to a variance of 4
    # The root mean square of eight standard normals exceeds 1 with probability P(chi2_8 > 8) = 0.433, s.e. 0.025.
    assert one["share_as_far"] == pytest.approx(0.433, abs=0.1)
    assert fit_of(rows, rows.mean(axis=0) + 20)["share_as_far"] == 0


def test_rows_of_the_paper_decide_which_settings_are_considered(found):
    """A published row that is ours fits; one far away does not, and ours is considered all the same."""
    base, made = found[0].base.intervals, found[0].at(LW, CW).paper
    published = {"data": base} | {label: made[label].intervals for label in ("LW", "LW_final", "CW", "CW_final")}
    near = scan_results(found, nb_mixture.STATEMENTS, published)
    assert near["LW"][0]["rows"]["LW"]["share_as_far"] >= 0.5
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


def test_a_remark_or_claim_depends_on_what_turns_it():
    statements = [STATEMENTS["lw_more_efficient"], STATEMENTS["lw_final_nearer_all"], STATEMENTS["cw_low_bounds"]]
    results = {
        "LW": [{"scale": 1.0, "shift": 0.0, "words": LW.words}, {"scale": 0.7, "shift": 0.0, "words": SMALL.words}],
        "considered": {"LW": [LW.words, SMALL.words], "CW": [CW.words, "radius 0.2"]},
        "statements": {
            "lw_more_efficient": {"LW": [1.0, 0.1], "CW": [1.0, 0.6]},
            "lw_final_nearer_all": {"LW": [1.0, 0.0], "CW": [1.0, 1.0]},
            "cw_low_bounds": {"LW": [1.0, 0.9], "CW": [1.0, 0.5]},
        },
    }
    told = depending(results, statements, {"a": {"on": "b", "change": "c"}})
    assert list(told) == ["a", "statements.lw_more_efficient.share", "statements.lw_final_nearer_all.support"]
    remark, claim = list(told.values())[1:]
    assert remark == {"on": "c and g of LW", "change": "true of 10% at c = 0.7, 100% at c = 1 of our tables"}
    assert claim["change"] == "means of our tables keep it at c = 1, break it at c = 0.7"


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
    told = many_databases.turning({"poisson": scan, "mixture": scan[:1]}, [expected, other])
    assert list(told) == ["poisson.LW.share"]
    assert told["poisson.LW.share"]["change"].startswith("holds at c = 0.7, 0.85; does not at c = 1 (")


def test_salaries_that_turn_with_the_unit_cannot_be_told():
    names = [*STATEMENTS, "lw_best"]
    steady = dict.fromkeys(names, 1.0)
    variants = {
        "as above": {"statements": steady},
        "thousands": {"statements": {**steady, "lw_best": 0.05, "cw_low_bounds": 0.6}},
        "without zeros": {"statements": steady},
    }
    assert list(turned(variants)) == ["statements.lw_best.share"]
    assert "100% of tables in dollars, 5% in thousands" in turned(variants)["statements.lw_best.share"]["change"]
    variants["thousands"] = {"statements": steady}
    assert turned(variants) == {}


@pytest.mark.parametrize(("relative", "scaled"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)])
def test_two_measures_of_utility_that_disagree_decide_nothing(relative, scaled):
    told = by_measure({"more_relative_error": relative, "more_scaled_error": scaled})
    assert (ERRS_MORE in told) == (relative != scaled)
    if relative > scaled:
        assert told[ERRS_MORE]["change"].startswith("so relative to the statistics")
