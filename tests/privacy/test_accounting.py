"""All arithmetic of epsilon against exact fractions: stated never below, given out never above."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import alphasynth
from alphasynth.privacy import accounting
from alphasynth.privacy.accounting import (
    at_least,
    bound_of,
    concentrated,
    covering,
    epsilon_at,
    epsilon_beside,
    epsilon_of,
    exceeds,
    first_parts,
    in_two_parts,
    noted,
    of_unit,
    part_of,
    per_draw,
    replacing,
    rho_within,
    spent,
    split,
    start_and_rounds,
    total,
    within,
    written,
)
from alphasynth.runs.budget import Balance

EPSILONS = st.floats(1e-6, 1e6)
DRAWS = st.integers(1, 60)
SHARES = st.lists(st.floats(0.05, 20), min_size=1, max_size=8).map(lambda parts: tuple(p / sum(parts) for p in parts))
ROOM = 1 + Fraction(1, 10**14)  # what rounding may cost


@given(st.lists(EPSILONS, max_size=20))
def test_a_total_is_never_below_the_exact_sum(parts):
    exact = sum(map(Fraction, parts), Fraction(0))
    assert exact <= Fraction(total(parts)) <= exact * ROOM


@given(EPSILONS)
def test_what_may_be_spent_is_within_the_policys_number_however_it_is_read(epsilon):
    assert Fraction(within(epsilon)) <= min(Fraction(epsilon), Fraction(repr(epsilon)))
    assert within(epsilon) in (epsilon, math.nextafter(epsilon, 0.0))


@given(st.integers(1, 10**7))
def test_numbers_that_floats_hold_exactly_are_spent_whole(number):
    assert within(number / 64) == number / 64


@given(st.fractions(0, 10**6))
def test_a_decimal_that_covers_is_not_below_and_near(exact):
    value = covering(exact)
    assert exact <= written(value) <= exact * ROOM
    assert Fraction(at_least(exact)) >= exact


@given(EPSILONS)
def test_a_computed_epsilon_is_noted_as_a_decimal_not_below_it(epsilon):
    assert Fraction(epsilon) <= written(noted(epsilon)) <= Fraction(epsilon) * ROOM
    assert written(repr(noted(epsilon))) == written(noted(epsilon)), "reading it back changes nothing"


@pytest.mark.parametrize("epsilon", [math.inf, math.nan])
def test_what_is_not_finite_is_left_for_the_ledger_to_refuse(epsilon):
    assert not math.isfinite(noted(epsilon))


@given(EPSILONS, st.integers(1, 50))
def test_a_policys_number_is_multiplied_as_it_was_written(epsilon, rows):
    exact = Fraction(repr(epsilon))
    assert rows * exact <= written(of_unit(epsilon, rows)) <= rows * exact * ROOM
    assert 2 * rows * exact <= written(replacing(epsilon, rows)) <= 2 * rows * exact * ROOM


@given(st.floats(0, 1e300))
def test_delta_and_epsilon_are_twice_and_half(value):
    assert Fraction(epsilon_of(value)) == 2 * Fraction(value)
    assert 2 * Fraction(bound_of(value)) <= Fraction(value)
    assert epsilon_of(bound_of(value)) == pytest.approx(value)


@given(EPSILONS, DRAWS, SHARES)
def test_parts_of_draws_never_add_up_to_more_than_there_is(epsilon, m, shares):
    parts = split(epsilon, m, shares)
    exact = m * sum(map(Fraction, parts), Fraction(0))
    assert Fraction(epsilon) * (1 - Fraction(1, 10**13)) <= exact <= Fraction(epsilon)
    assert parts == pytest.approx([epsilon / m * share for share in shares])


@given(EPSILONS, DRAWS, SHARES)
def test_both_halves_of_budget_weights_together_are_within_the_policys_number(epsilon, m, shares):
    """One first draw for each column, then m draws whose ranges are the bound: as decimals and as floats."""
    bound = bound_of(per_draw(within(epsilon), m))
    firsts = first_parts(bound, m, shares)
    exact = sum(map(Fraction, firsts), Fraction(0)) + m * Fraction(bound)
    assert exact <= min(Fraction(epsilon), Fraction(repr(epsilon)))
    assert float(exact) == pytest.approx(epsilon)


@given(EPSILONS, DRAWS, st.floats(0.01, 0.99))
def test_a_first_draw_and_those_that_follow_cost_no_more(epsilon, m, share):
    first, second = in_two_parts(epsilon, m, share)
    assert Fraction(first) + m * Fraction(second) <= m * Fraction(epsilon)
    assert (first, second) == pytest.approx((share * m * epsilon, (1 - share) * epsilon))


@given(EPSILONS, st.floats(0.01, 0.9), SHARES)
def test_a_start_and_its_rounds_cost_no_more(epsilon, start, shares):
    first, rounds = start_and_rounds(epsilon, start, shares)
    assert Fraction(first) + sum(map(Fraction, rounds), Fraction(0)) <= Fraction(epsilon)
    assert (first, *rounds) == pytest.approx((start * epsilon, *((1 - start) * epsilon * s for s in shares)))


@given(EPSILONS, EPSILONS)
def test_a_part_of_a_cost_is_never_below(part, whole):
    assert Fraction(part_of(part, whole)) >= Fraction(part) / Fraction(whole)
    assert part_of(part, whole) == pytest.approx(part / whole)


@given(st.floats(0.01, 20), DRAWS)
def test_the_epsilon_beside_a_pure_one_is_never_above_it(epsilon, m):
    rho = concentrated(epsilon, m)
    assert epsilon_beside(rho, m * epsilon) == min(m * epsilon, epsilon_at(rho))


@given(st.lists(st.floats(0.001, 10), max_size=30), st.floats(0.001, 10), st.floats(0, 100))
def test_caps_are_compared_in_the_decimals_that_were_written(before, epsilon, cap):
    exact = sum((Fraction(repr(one)) for one in before), Fraction(0))
    assert spent(map(repr, before)) == exact
    assert exceeds(exact, epsilon, written(cap)) == (exact + Fraction(repr(epsilon)) > Fraction(repr(cap)))


@given(st.integers(1, 200), st.integers(1, 3))
def test_as_many_runs_fit_as_the_decimals_say(number, digits):
    """A cap of so many times 0.1, 0.01 or 0.001: so many runs are allowed, and one more is not."""
    epsilon = 10.0**-digits
    cap = Fraction(number, 10**digits)
    assume(written(float(cap)) == cap)
    before = [spent([repr(epsilon)] * runs) for runs in (number - 1, number)]
    assert [exceeds(sum_, epsilon, written(float(cap))) for sum_ in before] == [False, True]


@given(st.lists(st.fractions(0, 100), min_size=3, max_size=3))
def test_a_balance_is_the_sum_of_its_states(parts):
    assert Balance("a", "strict", *parts, open_ended=False, cap=None).spent == sum(parts)


PACKAGE = Path(alphasynth.__file__).parent
# The others have probabilities at an epsilon, and a reach of log-likelihoods made from one: they give nothing out.
ELSEWHERE = ("privacy/accounting.py", "privacy/divergence.py", "exact/clipped_sums.py")
ARITHMETIC = (
    r"2 \* (\w+\.)*(delta|target|bound|epsilon\w*|lipschitz\.overall)\b",
    r"\b(m|max_rows) \* (\w+\.)*(target|epsilon\w*|policy_epsilon)\b",
    r"sum\([^)]*epsilon",
)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_privacy_numbers_are_added_and_multiplied_in_one_place(path):
    if path.relative_to(PACKAGE).as_posix() not in ELSEWHERE:
        code = re.sub(r'"""(.|\n)*?"""', "", path.read_text())
        for pattern in ARITHMETIC:
            assert not re.search(pattern, code), pattern


@settings(max_examples=25)
@given(st.floats(0.01, 50), st.floats(1e-12, 1e-3))
def test_rho_is_what_epsilon_and_delta_allow_and_no_more(epsilon, delta):
    rho = rho_within(epsilon, delta)
    assert 0 < rho < epsilon
    assert epsilon_at(rho, delta) <= epsilon
    assert epsilon_at(rho * (1 + 1e-9), delta) > epsilon * (1 - 1e-6)
    # The simple conversion allows no more: epsilon = rho + 2 sqrt(rho log(1 / delta)).
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) >= epsilon


@given(st.floats(-12, 6), st.floats(-16, -1))
def test_the_least_of_all_orders_is_found_in_two_steps(log_rho, log_delta):
    """Beside a look at every order; where rounding makes two of them the least, either will do."""
    rho, delta = 10**log_rho, 10**log_delta
    best = 1 + max(math.sqrt(math.log(1 / delta) / rho), 1e-9)
    orders = [1 + (best - 1) * 8 ** (2 * i / (accounting.ORDERS - 1) - 1) for i in range(accounting.ORDERS)]
    least = min(rho * a + (math.log(1 / delta) - math.log(a)) / (a - 1) + math.log1p(-1 / a) for a in orders)
    assert accounting.epsilon_at(rho, delta) == pytest.approx(max(least, 0.0), rel=2e-12, abs=1e-300)
