"""The verdict: samples by chance have nothing off, what is broken is named, odd tables have one too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import alphasynth as syn
from alphasynth.evaluation.findings import (
    CENTRE,
    CHANCE,
    COEFFICIENT,
    FEWEST_ROWS,
    HOLDS,
    PAIR,
    SHARE,
    SMALL,
    TAIL,
    TOLD_APART,
    Facts,
    Finding,
)
from alphasynth.evaluation.verdict import Verdict
from alphasynth.evaluation.verdict_words import DRAWN_IN, HEADS, LONGEST, NO_INTERVALS, named

ENOUGH = Facts(1_000, 1_000)


def rng(seed=0):
    return np.random.default_rng(seed)


def people(n=600, seed=1):
    """Columns of every kind: skewed, heaped, rare, with gaps, of very many levels, heavy-tailed."""
    generator = rng(seed)
    age = generator.integers(18, 80, n)
    pay = np.round(np.exp(7 + 0.03 * age + generator.normal(0, 0.5, n)), -2)
    return pd.DataFrame(
        {
            "age": age,
            "pay": np.where(generator.random(n) < 0.1, np.nan, pay),
            "sex": np.where(generator.random(n) < age / 100, "f", "m"),
            "rare": (generator.random(n) < 0.005) * 1,
            "town": generator.choice([f"t{i}" for i in range(n // 4)], n),
            "heavy": generator.standard_cauchy(n),
            "same": 7,
        }
    )


def bootstrap(table, seed):
    return table.sample(len(table), replace=True, random_state=seed)


def names_off(verdict):
    return {name for found in verdict.off for name in found.of}


@pytest.mark.parametrize("seed", range(8))
def test_a_bootstrap_has_nothing_off(seed):
    table = people(seed=seed)
    verdict = syn.evaluate(table, [bootstrap(table, seed)]).verdict
    assert verdict.off == ()
    assert len(verdict.holds) > 0.9 * len(verdict.compared)
    assert verdict.lines[1].startswith("Off: nothing")


@pytest.mark.parametrize("seed", range(4))
def test_another_sample_of_the_population_has_nothing_off(seed):
    """Once in a hundred such pairs there would be; these are not among them."""
    verdict = syn.evaluate(people(seed=seed + 50), [people(seed=seed + 90), people(seed=seed + 70)]).verdict
    assert verdict.off == ()


def test_a_table_itself_holds():
    table = people()
    verdict = syn.evaluate(table, [table]).verdict
    assert verdict.off == ()
    assert len(verdict.holds) == len(verdict.compared)


def test_a_permuted_column_has_its_pairs_off_and_no_statistic():
    table = people(900)
    made = bootstrap(table, 3).reset_index(drop=True)
    made["pay"] = rng(4).permutation(made["pay"].to_numpy())
    verdict = syn.evaluate(table, [made], regressions=[]).verdict
    assert ("age", "pay") in [found.of for found in verdict.off]
    assert {found.kind for found in verdict.off} <= {PAIR, TOLD_APART}
    assert all("pay" in found.of for found in verdict.off if found.kind == PAIR)
    assert "age with pay, Spearman's rho" in verdict.lines[1]
    assert "relations among age, pay" in verdict.lines[2]


@pytest.mark.parametrize("shift", [-0.5, 0.4, 0.8])
@pytest.mark.parametrize("column", ["x", "y", "z"])
def test_a_shifted_column_is_named(shift, column):
    """By two fifths of a standard deviation or more: of 500 rows, more than six standard errors of a difference."""
    table = pd.DataFrame(rng(7).normal(size=(500, 3)), columns=["x", "y", "z"])
    made = bootstrap(table, 8)
    made[column] += shift
    verdict = _without_trees(table, made)
    assert ("mean", (column,)) in [(found.what, found.of) for found in verdict.off]
    assert names_off(verdict) == {column}
    assert f"mean of {column}" in verdict.lines[1]
    assert f"means or totals of {column}" in verdict.lines[2]


def _without_trees(table, made):
    """Trees take most of the time, and are not what is asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alphasynth.evaluation.utility.propensities", lambda *_: [])
        return syn.evaluate(table, [made], regressions=[]).verdict


def test_tails_shares_coefficients_and_trees():
    table = pd.DataFrame({"x": rng(1).normal(size=1_000), "g": rng(2).choice(["a", "b"], 1_000)})
    table["y"] = table["x"] * 2 + rng(3).normal(size=1_000)
    made = pd.DataFrame({"x": rng(4).normal(size=1_000) / 2, "g": rng(5).choice(["a", "b"], 1_000, p=[0.8, 0.2])})
    made["y"] = rng(6).normal(size=1_000)
    verdict = syn.evaluate(table, [made]).verdict
    off = {(found.kind, found.what) for found in verdict.off}
    assert {(TAIL, "sd"), (TAIL, "q90"), (SHARE, "a"), (COEFFICIENT, "y"), (TOLD_APART, "tree")} <= off
    assert not any(found.kind == CENTRE and found.what == "mean" for found in verdict.off)
    assert set(verdict.avoid) == {TAIL, SHARE, PAIR, COEFFICIENT, TOLD_APART}
    for words in ("the spread or tails of", "shares of g", "relations among", "regressions like x ~ g + y", "patterns"):
        assert words in verdict.lines[2]


def test_what_does_not_vary():
    table = pd.DataFrame({"same": 5, "x": rng(1).normal(size=100)})
    assert syn.evaluate(table, [bootstrap(table, 1)]).verdict.off == ()
    verdict = syn.evaluate(table, [bootstrap(table, 1).assign(same=6)]).verdict
    assert verdict.off[0].apart == float("inf")
    assert {found.of for found in verdict.off if found.kind == CENTRE} == {("same",)}
    assert "of same 6 instead of 5 (where nothing varies)" in verdict.lines[1]


@pytest.mark.parametrize("rows", [2, FEWEST_ROWS - 1])
def test_of_few_rows_nothing_is_said(rows):
    table = people(100)
    for one, other in ((table, table.head(rows)), (table.head(rows), table)):
        verdict = syn.evaluate(one, [other], columns=["age", "sex"]).verdict
        assert (verdict.holds, verdict.off) == ((), ())
        assert f"nothing can be said of {rows} rows" in verdict.lines[0]
        assert verdict.lines[2].startswith("Do not use it for: any estimate")
    assert syn.evaluate(table, [table.head(FEWEST_ROWS)], columns=["age"]).verdict.holds


def test_tables_of_one_row():
    single = [syn.Records("y", {"y": np.array([7.0])}, np.array([1]), None)]
    verdict = syn.evaluate(pd.DataFrame({"y": rng(1).poisson(9, 100)}), single).verdict
    assert "nothing can be said of 1 row;" in verdict.lines[0]


def test_columns_of_gaps_alone():
    table = pd.DataFrame({"x": rng(1).normal(size=60), "none": [None] * 60, "nan": [np.nan] * 60})
    verdict = syn.evaluate(table, [bootstrap(table, 1)]).verdict
    assert verdict.off == ()
    filled = syn.evaluate(table, [bootstrap(table, 1).assign(nan=1.0)]).verdict
    assert ("nan is missing",) in {found.of for found in filled.off}


@pytest.mark.slow
def test_a_wide_table():
    table = pd.DataFrame(rng(1).normal(size=(300, 200)), columns=[f"c{i}" for i in range(200)])
    verdict = syn.evaluate(table, [bootstrap(table, 1)]).verdict
    assert len(verdict.compared) > 20_000
    assert verdict.off == ()
    assert verdict.beyond == pytest.approx(5.1, abs=0.1)
    made = bootstrap(table, 1)
    verdict = syn.evaluate(table, [made + 1.0]).verdict
    assert len(verdict.off) > 200
    assert "more." in verdict.lines[1]
    assert sum(map(len, verdict.lines)) < 900


def test_names_of_any_kind_stay_short_and_on_one_line():
    evil = "<script>alert('x')</script>" * 9 + "\x1b[31m\nnext"
    table = pd.DataFrame({evil: rng(1).normal(size=200), "g": rng(2).choice(["ä" * 99, "b"], 200)})
    made = bootstrap(table, 1)
    made[evil] += 3
    verdict = syn.evaluate(table, [made.assign(g="b")], regressions=[]).verdict
    assert len(verdict.lines) == len(str(verdict).splitlines()) == 3
    assert "\x1b" not in str(verdict)
    assert max(map(len, verdict.lines)) < 400
    assert [line.partition(":")[0] for line in verdict.lines] == list(HEADS)
    assert len(named(evil)) == LONGEST


def finding(apart=0.0, size=1.0, kind=CENTRE, of=("x",)):
    return Finding(kind, "mean", of, 1.0, 2.0, 0.1, apart, size)


def test_limits():
    at, near, far = finding(HOLDS), finding(HOLDS + 1e-9), finding(9.0)
    small = finding(9.0, SMALL)
    verdict = Verdict.of([near, at, small, far], ENOUGH)
    assert verdict.holds == (small, at)
    assert verdict.off == (far,)
    assert verdict.compared[-1] is at


@given(st.integers(1, 50_000))
def test_chance_goes_farther_of_more_numbers(number):
    """So far that one of so many normal deviates is beyond it once in a hundred times, at the most."""
    verdict = Verdict((finding(),) * number, ENOUGH)
    assert number * 2 * stats.norm.sf(verdict.beyond) == pytest.approx(CHANCE)
    assert verdict.beyond > HOLDS


def test_what_is_not_a_number_takes_no_part():
    assert Verdict.of([finding(float("nan"))], ENOUGH).compared == ()
    assert "nothing could be compared" in str(Verdict.of([], ENOUGH))


def test_the_worst_are_named_and_the_rest_counted():
    verdict = Verdict.of([finding(10.0 + i, of=(f"c{i}",)) for i in range(9)], ENOUGH)
    assert [found.of[0] for found in verdict.off[:3]] == ["c8", "c7", "c6"]
    assert "mean of c8 2.00 instead of 1.00 (18.0 standard errors)" in verdict.lines[1]
    assert verdict.lines[1].endswith("; and 6 more.")
    assert "means or totals of c8, c7, c6, c5 and 5 more" in verdict.lines[2]


def test_one_draw_and_vector_weights_are_told():
    table = pd.DataFrame({"y": rng(1).poisson(9, 200)})
    one, two = (syn.evaluate(table, [bootstrap(table, i) for i in range(m)]) for m in (1, 2))
    assert NO_INTERVALS in str(one.verdict)
    assert NO_INTERVALS not in str(two.verdict)
    assert DRAWN_IN in str(two.judged(vector=True))


def test_many_rows_do_not_make_little_differences_large():
    """A hundredth of a standard deviation is not off, however small its standard error is."""
    table = pd.DataFrame({"x": rng(1).normal(size=400_000)})
    made = table + 0.009
    verdict = _without_trees(table, made)
    assert verdict.compared[0].apart > 3.5
    assert verdict.off == ()
    assert ("mean", ("x",)) in [(f.what, f.of) for f in _without_trees(table, table + 0.05).off]


def test_levels_that_the_confidential_table_does_not_have():
    table = pd.DataFrame({"g": ["a", "b"] * 200})
    made = pd.DataFrame({"g": ["a", "b", "c", "d"] * 100})
    off = syn.evaluate(table, [made]).verdict.off
    assert {(found.what, found.confidential) for found in off if found.kind == SHARE} >= {("c", 0.0), ("d", 0.0)}


def test_one_fact_is_told_once():
    """Of two levels the share of one says that of the other."""
    rng = np.random.default_rng(8)
    own = pd.DataFrame({"x": rng.normal(size=500), "owner": rng.random(500) < 0.7, "sex": rng.choice(["f", "m"], 500)})
    made = own.assign(owner=rng.random(500) < 0.3, sex=np.where(rng.random(500) < 0.9, "f", "m"))
    utility = syn.evaluate(own, [made])
    assert [one.level for one in utility.shares if one.column == "owner"] == ["true", "false"]
    told = [found.what for found in utility.verdict.compared if found.kind == SHARE]
    assert len(told) == 2
    assert "true" in told


def test_what_is_large_is_named_though_chance_may_be_why():
    """A standard deviation off by 38 % is within chance in a long tail, and the line says it; a coefficient is not."""
    sd = Finding(TAIL, "sd", ("costs",), 2_010.0, 1_250.0, 500.0, 1.5, 0.38)
    weak = Finding(COEFFICIENT, "age", ("costs ~ age",), 0.001, -0.002, 0.003, 1.0, 3.0)
    near = Finding(CENTRE, "mean", ("costs",), 900.0, 880.0, 60.0, 0.3, 0.01)
    verdict = Verdict.of([sd, weak, near], Facts(n=2_000, rows=2_000))
    assert verdict.off == ()
    assert verdict.lines[1].endswith("large, though chance may be why: sd of costs 1,250 instead of 2,010.")
    off = Finding(TAIL, "sd", ("costs",), 2_010.0, 1_250.0, 50.0, 15.2, 0.38)
    (said,) = [Verdict.of([off, weak, near], Facts(n=2_000, rows=2_000)).lines[1]]
    assert "large" not in said  # said once, as off
    many = [Finding(TAIL, "sd", (f"c{k}",), 1.0, 2.0, 0.5, 2.0, 1.0) for k in range(5)]
    assert Verdict.of(many, Facts(n=2_000, rows=2_000)).lines[1].endswith("and 3 more.")
