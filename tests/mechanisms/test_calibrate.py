"""Searches end at or below their target, close to it, or say that they cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import CalibrationError, DiagnosticsError, InputError
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms.calibrate import TOLERANCE, search
from alphasynth.mechanisms.chain import Chain, JointFit
from alphasynth.mechanisms.fit import Fit
from alphasynth.mechanisms.mechanism import Mechanism, run
from alphasynth.mechanisms.rules import CW, LW, SW, Given, Reweight
from alphasynth.tables.records import Records

RECORDS = Records.from_table(pd.DataFrame({"y": [1, 2]}), ["y"])
DRAWS = Draws(np.zeros((1, 1)), {}, Diagnostics("none", 1))


def fit_with_bound(bound, alpha=0.5):
    """A fit whose overall bound is the given number."""
    return JointFit.of_one("y", Fit(RECORDS, DRAWS, np.full(2, alpha), np.full(2, bound / alpha)))


@given(
    power=st.floats(0.3, 2),
    height=st.floats(0.1, 50),
    target=st.floats(0.05, 40),
    guess=st.floats(0.01, 20),
    wiggle=st.floats(0, 0.0005),
)
@settings(deadline=None, max_examples=200)
def test_search_ends_below_and_near_the_target(power, height, target, guess, wiggle):
    def attempt(value):
        bound = height * value**power * (1 + wiggle * np.sin(1000 * value))
        return fit_with_bound(bound, alpha=value / (1 + value))

    found = search(attempt, target, guess)
    assert found.best.bound <= target
    assert found.best.bound >= target * (1 - TOLERANCE) * (1 - 2 * wiggle)
    assert len(found.trials) <= 30


def test_search_stays_below_the_highest_value():
    found = search(lambda value: fit_with_bound(value, alpha=value), 5.0, 0.95, highest=0.999)
    assert found.best.value == 0.999


def test_a_dial_at_its_end_meets_a_target_above_it():
    found = search(lambda value: fit_with_bound(min(value, 3.0), alpha=min(value, 3.0) / 3), 10.0, 1.0)
    assert found.best.bound == 3.0


def test_a_target_below_everything_is_not_met():
    found = search(lambda value: fit_with_bound(2.0 + value, alpha=0.5), 1.0, 1.0)
    assert found.best is None
    assert min(trial.bound for trial in found.trials) > 1.0


def test_draws_that_fail_end_the_search_at_what_it_has():
    def attempt(value):
        if value > 2:
            raise DiagnosticsError("no", DRAWS)
        return fit_with_bound(value, alpha=value / 10)

    found = search(attempt, 5.0, 1.0)
    assert found.best.bound <= 2
    assert isinstance(found.stopped_by, DiagnosticsError)


ALPHA = np.linspace(0.2, 1, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("target", [1.0, 3.0, 6.0])
@pytest.mark.parametrize(
    ("rules", "dial"),
    [
        ((SW(0.5),), "alpha"),
        ((LW(),), "scale"),
        ((CW(0.3, relative=True),), "scale"),
        ((LW(), Reweight()), "k"),
        ((CW(0.3, relative=True), Reweight(k=0.95)), "k"),
        ((Given(ALPHA),), "factor"),
        ((Given(ALPHA), Reweight(k=0.95)), "k"),
    ],
)
def test_every_mechanism_can_be_aimed(make_problem, mixture, key, rules, dial, target):
    problem = make_problem(mixture, alpha=ALPHA if isinstance(rules[0], Given) else None)
    trail = run(key, Chain.of_one(problem), Mechanism("mine", rules), target)
    search = trail.searches[-1]
    assert search.dial == dial
    assert search.reached == trail.fits[-1].lipschitz.overall <= target
    assert search.gap < 0.01
    assert len(trail.fits) == 1 + len(rules)


@pytest.mark.parametrize("rules", [(SW(),), (CW(0.3, relative=True),), (LW(), Reweight()), (Given(ALPHA),)])
def test_a_target_above_the_unweighted_bound_is_met(make_problem, mixture, key, rules):
    problem = make_problem(mixture, alpha=ALPHA if isinstance(rules[0], Given) else None)
    trail = run(key, Chain.of_one(problem), Mechanism("mine", rules), 100.0)
    assert trail.fits[-1].lipschitz.overall <= 100
    assert trail.fits[-1].mean_alpha == 1.0


def test_unweighted_cannot_be_aimed(make_problem, mixture, key):
    with pytest.raises(InputError, match="'Unweighted' has no weights to aim"):
        run(key, Chain.of_one(make_problem(mixture)), Mechanism("Unweighted"), 5.0)


def test_a_target_that_a_shift_puts_out_of_reach_is_a_named_error_with_the_best_trail(make_problem, mixture, key):
    with pytest.raises(CalibrationError, match=r"search of scale .* no value of it goes so low") as error:
        run(key, Chain.of_one(make_problem(mixture)), Mechanism("LW", (LW(shift=0.9),)), 2.0)
    trail = error.value.trail
    assert len(trail.fits) == 2
    assert trail.fits[-1].lipschitz.overall == min(bound for _, bound in trail.searches[-1].trials) > 2
