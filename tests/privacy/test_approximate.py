"""Arithmetic of (epsilon, delta) against exact fractions and against a library of accountants."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from alphasynth.privacy.accounting import epsilon_at, of_unit, rho_within, written
from alphasynth.privacy.approximate import (
    LARGEST_DELTA,
    SMALLEST_DELTA,
    at_most,
    each_with_first,
    in_two_squares,
    replaced_at,
    rho_of_pure,
    rho_of_ranges,
    rho_of_row,
    rho_of_unit,
    split_squares,
    together_at,
)
from alphasynth.privacy.decimals import shown_small, shown_small_left
from alphasynth.privacy.guarantee import Guarantee
from alphasynth.privacy.strict_numbers import epsilon_realised
from alphasynth.privacy.strict_terms import ColumnGrid, Contribution, GridAxis, Part, StrictTerms

EPSILONS = st.floats(1e-2, 50)
DELTAS = st.floats(1e-15, 1e-3)
SHARES = st.lists(st.floats(0.05, 20), min_size=1, max_size=8).map(lambda parts: tuple(p / sum(parts) for p in parts))
RHOS = st.floats(1e-6, 100)


@given(st.fractions(0, 10**6))
def test_a_float_below_is_not_above_and_near(exact):
    assert exact * (1 - Fraction(1, 10**15)) <= Fraction(at_most(exact)) <= exact


@settings(max_examples=20, deadline=None)
@given(EPSILONS, DELTAS, st.integers(1, 6))
def test_a_rows_rho_keeps_the_policy_for_the_row_and_for_its_unit(epsilon, delta, rows):
    rho = rho_of_row(epsilon, delta, rows)
    assert epsilon_at(rho, delta) <= epsilon
    assert epsilon_at(rho_of_unit(rho, rows), delta) <= of_unit(epsilon, rows)
    # As much as the unit's epsilon allows, so that it is the unit that binds and not the row.
    assert rho_of_unit(rho, rows) == pytest.approx(rho_within(of_unit(epsilon, rows), delta), rel=1e-9)


@pytest.mark.parametrize("delta", [SMALLEST_DELTA, LARGEST_DELTA])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e3, 1e12])
def test_the_ends_of_what_is_allowed_have_a_rho(epsilon, delta):
    rho = rho_of_row(epsilon, delta)
    assert 0 < rho < epsilon
    assert epsilon_at(rho, delta) <= epsilon


@given(RHOS, st.integers(1, 60), SHARES)
def test_ranges_in_proportion_never_cost_more_than_there_is(rho, m, shares):
    ranges = split_squares(rho, m, shares)
    exact = rho_of_ranges(ranges, m)
    assert Fraction(rho) * (1 - Fraction(1, 10**13)) <= exact <= Fraction(rho)
    assert exact == m * sum(Fraction(one) ** 2 for one in ranges) / 8
    assert [one / sum(ranges) for one in ranges] == pytest.approx(shares)


@given(st.floats(1e-3, 20), st.integers(1, 60), st.floats(0.01, 0.99))
def test_a_first_draw_and_those_that_follow_cost_no_more_rho(epsilon, m, share):
    first, second = in_two_squares(epsilon, m, share)
    exact = rho_of_ranges([first]) + rho_of_ranges([second], m)
    assert exact <= rho_of_ranges([epsilon], m)
    assert float(exact) == pytest.approx(float(rho_of_ranges([epsilon], m)))
    assert first**2 == pytest.approx(share * m * epsilon**2)
    assert Fraction(each_with_first(first, second, m)) >= Fraction(first) / m + Fraction(second)


@given(RHOS, st.integers(1, 9))
def test_a_units_rho_is_never_rounded_down(rho, rows):
    assert Fraction(rho_of_unit(rho, rows)) >= rows**2 * Fraction(rho)


@settings(max_examples=30)
@given(RHOS, DELTAS)
def test_replacing_costs_at_least_what_two_moves_of_a_unit_do(rho, delta):
    assert replaced_at(rho, delta) >= epsilon_at(rho, delta)
    assert replaced_at(rho, delta) == pytest.approx(epsilon_at(rho_of_unit(rho, 2), delta))


@given(st.fractions(Fraction(1, 100), 50), st.fractions(Fraction(1, 10**12), Fraction(1, 10**3)))
def test_a_sum_by_rho_is_told_where_it_is_less(rho, delta):
    told = together_at(rho, delta, Fraction(10**9))
    assert told is not None
    assert together_at(rho, delta, Fraction(told)) is None
    assert together_at(rho, Fraction(0), Fraction(10**9)) is None, "without a delta there is none"
    assert rho_of_pure(rho) == rho * rho / 2


@given(st.floats(1e-15, 1e-3), st.integers(1, 7))
def test_a_small_number_is_shown_as_it_was_written_and_never_below(delta, times):
    assert Fraction(shown_small(written(delta))) == written(delta)
    exact = written(delta) / times
    assert exact <= Fraction(shown_small(exact)) <= exact * (1 + Fraction(1, 10**15))
    assert Fraction(shown_small_left(written(delta), exact)) <= written(delta) - exact


GRID = ColumnGrid("y", (GridAxis("mean", 0.1, 9.0, 0.1, 90, False),), 1 << 20)


def approximate(epsilon=1.0, delta=1e-9, m=40, max_rows=1, grid=(GRID,)):
    (each,) = split_squares(rho_of_row(epsilon, delta, max_rows), m, (1.0,))
    rho = float(rho_of_ranges([each], m))
    terms = StrictTerms(each, (Contribution("y", "Censored", (Part("draw", each),)),), grid, 0.25, rho=rho)
    return Guarantee(
        *("Censored", (), 1.0, m, 500, 1_000, "PublicGrid" if grid else "Laplace"),
        policy_epsilon=epsilon,
        policy_delta=delta,
        strict=terms,
        max_rows=max_rows,
        unit_column=None if max_rows == 1 else "person",
    )


@settings(max_examples=15, deadline=None)
@given(EPSILONS, DELTAS, st.integers(1, 60), st.integers(1, 4))
def test_what_is_realised_is_within_the_policy_and_stated_as_the_policys(epsilon, delta, m, rows):
    fitted = approximate(epsilon, delta, m, rows)
    public = fitted.public()
    room = 1 + 1e-9  # rho stands in these terms as the nearest float
    assert fitted.epsilon_total <= epsilon * room
    assert fitted.epsilon_unit <= of_unit(epsilon, rows) * room
    assert fitted.epsilon_unit == epsilon_realised(fitted.strict.rho, delta, rows)
    assert (public.epsilon, public.policy_epsilon, public.policy_delta) == (of_unit(epsilon, rows), epsilon, delta)
    assert (public.delta, public.epsilon_at_delta) == (delta, None)
    assert Fraction(public.rho) >= rows**2 * Fraction(fitted.strict.rho)
    assert public.epsilon_replace == replaced_at(public.rho, delta)
    assert public.epsilon_replace > public.epsilon * (1 - 1e-9)


def test_the_words_are_of_epsilon_and_delta():
    public = approximate().public()
    sentence = str(public)
    assert sentence.startswith("Censored: epsilon 1 at delta 1e-9 for 40 draws of parameters over 500 records (rho 0.0")
    assert "at delta 1e-9 when a row is replaced)" in sentence
    assert "(epsilon, delta)-differential privacy when one row's contribution is added or removed" in public.promise
    assert "twice epsilon" not in sentence
    assert sentence == str(approximate()), "of a strict promise nothing more is known"
    unit = approximate(max_rows=3).public()
    assert "epsilon 3 at delta 1e-9 for all rows that share a value of 'person' (at most 3)" in str(unit)
    assert "when a unit is replaced" in str(unit)


def test_a_chain_makes_a_target_of_it_and_states_no_rho():
    public = approximate(grid=()).public()
    assert (public.scope, public.rho, public.policy_delta) == ("target", None, 1e-9)
    assert str(public).startswith("Censored: a target of epsilon 1 at delta 1e-9 for 40 draws")
    assert "keeps the epsilon stated at its delta" in public.promise
    assert "differential" not in public.promise


def test_a_delta_that_is_not_spent_is_not_stated():
    fitted = approximate()
    pure = replace(fitted, strict=replace(fitted.strict, rho=None, epsilon_per_draw=1 / 64))
    assert (pure.delta_spent, pure.public().policy_delta, pure.epsilon_total) == (None, None, 0.625)
    assert pure.public() == replace(pure, policy_delta=None).public()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3])
def test_a_library_of_accountants_finds_the_policy_kept(epsilon, delta):
    """Gaussian noise of our rho: by Renyi orders as private as asked, by privacy loss distributions more so."""
    dp_accounting = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    rdp = pytest.importorskip("dp_accounting.rdp")
    measurements, rho = 5, rho_within(epsilon, delta)
    sigma = math.sqrt(measurements / (2 * rho))
    spent = pld.from_gaussian_mechanism(sigma, value_discretization_interval=1e-4, log_mass_truncation_bound=-60)
    exact = spent.self_compose(measurements).get_epsilon_for_delta(delta)
    # Its grid of losses is rounded up five times by at most 1e-4.
    assert exact <= epsilon + measurements * 1e-4
    assert exact > 0.8 * epsilon, "what the conversion gives away is the most at a small epsilon and a large delta"
    best = 1 + math.sqrt(math.log(1 / delta) / rho)
    orders = [1 + (best - 1) * 8 ** (i / 500 - 1) for i in range(1001)]
    renyi = rdp.RdpAccountant([order for order in orders if order > 1])
    renyi.compose(dp_accounting.GaussianDpEvent(sigma), measurements)
    assert renyi.get_epsilon(delta) == pytest.approx(epsilon, rel=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 4), st.floats(1e-9, 1e-4), st.integers(1, 30))
def test_draws_of_a_bounded_range_keep_the_policy(epsilon, delta, m):
    """The worst loss of a bounded range has two values: m of them, composed exactly, are within (epsilon, delta).

    With probability p the loss of a draw is t, else t - e, and t is such that losses are of two distributions.
    """
    (e,) = split_squares(rho_of_row(epsilon, delta), m, (1.0,))
    assume(e < 20)
    for tilt in (0.1, 0.5, 0.9):
        t = tilt * e
        p = (1 - math.exp(t - e)) / (1 - math.exp(-e)) * 1.0  # of the larger loss, under the first
        losses = [(k, k * t + (m - k) * (t - e)) for k in range(m + 1)]
        found = math.fsum(
            math.comb(m, k) * p**k * (1 - p) ** (m - k) * -math.expm1(epsilon - loss)
            for k, loss in losses
            if loss > epsilon
        )
        assert found <= delta * (1 + 1e-9)
