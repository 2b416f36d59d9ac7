"""The fold: a mechanism is a tuple of rules, a run a trail of fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from alphasynth.errors import InputError
from alphasynth.inference.contribution import BetaDivergence, Censored, Recentred
from alphasynth.mechanisms.chain import Chain, fit_chain
from alphasynth.mechanisms.mechanism import Mechanism, run
from alphasynth.mechanisms.named import NAMES, named_mechanism
from alphasynth.mechanisms.rules import BW, CW, LW, SW, Given, Reweight
from alphasynth.mechanisms.scored import Scored
from alphasynth.privacy.randomness import child


def test_the_trail_is_the_fold_written_out(make_problem, mixture, key):
    chain = Chain.of_one(make_problem(mixture))
    trail = run(key, chain, Mechanism("mine", rules=(LW(0.8, 0.1), Reweight(k=0.9))))
    first = fit_chain(child(key, 0), chain, np.ones(chain.records.size))
    second = fit_chain(child(key, 1), chain, LW(0.8, 0.1)(chain.records, first))
    third = fit_chain(child(key, 2), chain, Reweight(k=0.9)(chain.records, second))
    assert len(trail.fits) == 3
    for ours, expected in zip(trail.fits, (first, second, third), strict=True):
        assert np.array_equal(ours.alpha, expected.alpha)
        assert np.array_equal(ours.draws.u, expected.draws.u)
    assert trail.searches == ()


def test_lw_on_the_reference_table(make_problem, mixture, mixture_alpha, key):
    trail = run(key, Chain.of_one(make_problem(mixture)), Mechanism("LW_final", (LW(), Reweight())))
    before, after = trail.fits[1].lipschitz.overall, trail.fits[2].lipschitz.overall
    assert 5.4 < before < 5.7
    assert 0.98 * before <= after <= before
    (search,) = trail.searches
    assert search.dial == "k"
    assert search.value < 1
    assert search.reached == after <= search.target == before
    assert search.gap == pytest.approx(1 - after / before)
    # RStan's weights, from another thousand draws: F differs by a few per cent at the extremes.
    assert np.abs(trail.fits[1].alpha - mixture_alpha["alpha_LW"]).max() < 0.02


def test_sw_matches_lws_bound(make_problem, mixture, key):
    trail = run(key, Chain.of_one(make_problem(mixture)), Mechanism("SW", (SW(),)))
    lw = run(key, Chain.of_one(make_problem(mixture)), Mechanism("LW", (LW(),)))
    reached = trail.fits[-1].lipschitz.overall
    assert len(trail.fits) == 2  # LW's fit is a trial, kept apart
    assert trail.searches[0].target == lw.fits[-1].lipschitz.overall
    assert 0.99 * trail.searches[0].target <= reached <= trail.searches[0].target
    assert len(np.unique(trail.fits[-1].alpha)) == 1


@pytest.mark.parametrize(
    "rules",
    [
        (LW(),),
        (LW(1.5, 0.1), Reweight(k=0.95)),
        (CW(0.3, relative=True),),
        (CW(8.0, within=("x",)), Reweight(k=0.95)),
        (SW(0.4),),
    ],
)
def test_grouping_never_changes_a_result(make_problem, key, rules):
    """The same run with every record a row of its own, told apart by weights that no rule reads."""
    rng = np.random.default_rng(11)
    table = pd.DataFrame({"y": rng.poisson(rng.gamma(5, 4, 300)), "x": rng.integers(0, 3, 300)})
    grouped = make_problem(table, within=("x",))
    single = make_problem(table, within=("x",), alpha=np.arange(300) / 300)
    assert single.records.size == 300 > grouped.records.size
    one, other = (run(key, Chain.of_one(problem), Mechanism("mine", rules)) for problem in (grouped, single))
    for a, b in zip(one.fits, other.fits, strict=True):
        np.testing.assert_allclose(a.alpha, b.alpha, rtol=1e-9)
        np.testing.assert_allclose(a.lipschitz.by_record, b.lipschitz.by_record, rtol=1e-9)
        np.testing.assert_allclose(a.draws.u, b.draws.u, rtol=1e-9)


def test_given_weights_may_differ_between_equal_records(make_problem, key):
    rng = np.random.default_rng(3)
    table, alpha = pd.DataFrame({"y": rng.poisson(30, 200)}), rng.uniform(0, 1, 200)
    trail = run(
        key, Chain.of_one(make_problem(table, alpha=alpha)), Mechanism("mine", (Given(alpha), Reweight(k=0.95)))
    )
    assert np.array_equal(trail.fits[1].alpha, alpha)
    bounds = trail.fits[1].lipschitz
    F = bounds.by_record / alpha
    for value in np.unique(table["y"]):
        same = F[table["y"] == value]
        np.testing.assert_allclose(same, same[0])
    np.testing.assert_allclose(trail.fits[2].alpha, np.clip(0.95 * bounds.overall / F, 0, 1))


def test_all_records_identical(make_problem, key):
    chain = Chain.of_one(make_problem(pd.DataFrame({"y": [12] * 300})))
    trail = run(key, chain, Mechanism("LW_final", (LW(), Reweight(k=0.95))))
    assert trail.fits[1].alpha.tolist() == [1.0] * 300
    assert trail.fits[2].alpha == pytest.approx(np.full(300, 0.95))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mechanism(5), "label must be text, found 5"),
        (lambda: Mechanism("x", ("LW",)), "rules must be rules such as .*, found 'LW'"),
        (lambda: Mechanism("x", (LW,)), "rules must be rules such as .*, found a type"),
    ],
)
def test_what_is_no_mechanism_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_one_rule_or_a_list_of_them_is_a_tuple():
    assert Mechanism("x", LW()).rules == Mechanism("x", [LW()]).rules == (LW(),)


def test_privacy_numbers_cannot_be_changed(make_problem, mixture, key):
    trail = run(key, Chain.of_one(make_problem(mixture)), Mechanism("LW", (LW(),)))
    with pytest.raises(ValueError, match="read-only"):
        trail.fits[-1].alpha_distinct[:] = 0


def test_the_names():
    strict = ["Censored", "Recentred", "BetaDivergence", "Scored"]
    assert list(NAMES) == ["Unweighted", "LW", "CW", "SW", "Given", "LW_final", "CW_final", "BW", *strict]
    options = {
        "CW": {"radius": 3.0},
        "CW_final": {"radius": 3.0},
        "Given": {"given": [0.5, 1.0]},
        "Censored": {"cut": 9.0},
    }
    named = {name: named_mechanism(name, **options.get(name, {})) for name in NAMES}
    assert [named[name].contribution for name in strict] == [Censored(9.0), Recentred(), BetaDivergence(), Scored()]
    np.testing.assert_array_equal(named.pop("Given").rules[0].alpha, [0.5, 1.0])
    rules = {name: mechanism.rules for name, mechanism in named.items() if name not in strict}
    assert rules == {
        "Unweighted": (),
        "LW": (LW(),),
        "CW": (CW(3.0),),
        "SW": (SW(),),
        "LW_final": (LW(), Reweight()),
        "CW_final": (CW(3.0), Reweight()),
        "BW": (BW(),),
    }


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "XW",
            {},
            "mechanism must be one of Unweighted, LW, CW, SW, Given, LW_final, CW_final, BW, Censored, Recentred",
        ),
        ("CW", {}, "'CW' needs a radius"),
        ("CW_final", {"k": 0.9}, "'CW_final' needs a radius"),
        ("LW", {"radius": 1.0}, "'LW' takes scale, shift, found radius"),
        ("Unweighted", {"k": 0.9}, "'Unweighted' takes no options, found k"),
    ],
)
def test_names_refuse_what_they_do_not_take(name, options, message):
    with pytest.raises(InputError, match=message):
        named_mechanism(name, **options)


def test_weights_of_ones_own_say_where_they_come_from():
    with pytest.raises(InputError, match=r"'Given' needs a given, found none; on the command line say --given FILE"):
        named_mechanism("Given")
