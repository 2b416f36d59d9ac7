"""Strict mechanisms with a delta: what columns and draws have, what the promise rests on, and that it is kept."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.accounting import epsilon_at, of_unit, rho_within
from alphasynth.privacy.approximate import rho_of_ranges, rho_of_row
from alphasynth.synthesis.preparation import budgets_of, delta_spent
from alphasynth.synthesizer import Synthesizer

TABLE = pd.DataFrame({"y": np.random.default_rng(5).poisson(6.0, 400), "x": np.arange(400) % 7})


def asked(columns, **more):
    model = TableModel.of([ColumnModel.of(f"c{i} ~ 1", "poisson", budget=b) for i, b in enumerate(columns)])
    return Synthesizer(model, **{"mechanism": "Censored", "epsilon": 1.0, "m": 1, **more})


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.1, 10), min_size=1, max_size=12),
    st.sampled_from([0.1, 1.0, 4.0, 20.0]),
    st.sampled_from([1e-12, 1e-9, 1e-4]),
    st.integers(1, 40),
    st.sampled_from([1, 3]),
)
def test_parts_add_up_to_no_more_than_the_policy_by_one_of_two_sums(columns, epsilon, delta, m, rows):
    request = asked(columns, epsilon=epsilon, delta=delta, m=m)
    budgets = budgets_of(request, request.model, rows)
    pure = budgets_of(asked(columns, epsilon=epsilon, m=m), request.model, rows)
    assert not pure.concentrated
    rho = rho_of_ranges(budgets.by_column, m)
    if budgets.concentrated:
        assert rho <= Fraction(rho_of_row(epsilon, delta, rows))
        assert epsilon_at(float(rho) * (1 - 1e-12), delta) <= epsilon
        assert rows**2 * rho <= Fraction(rho_within(of_unit(epsilon, rows), delta))
        assert min(budgets.by_column) > min(pure.by_column), "more than without"
        assert delta_spent(request, rows) == delta
    else:
        assert budgets == pure
        assert m * sum(map(Fraction, budgets.by_column)) <= Fraction(repr(epsilon))
        assert delta_spent(request, rows) is None


@pytest.mark.parametrize("mechanism", ["Censored", "BetaDivergence", "Recentred"])
def test_rho_is_what_the_parts_cost_and_the_audit_finds_it_kept(mechanism):
    grid = {"limits": {"mean": (1, 50)}, "step": 0.02}
    made = Synthesizer(
        "y ~ 1", family="poisson", mechanism=mechanism, epsilon=30.0, delta=1e-6, m=30, seed=1, **grid
    ).fit(TABLE)
    guarantee, public = made.guarantee_, made.release().guarantee
    (one,) = public.contribution
    costs = [part.epsilon for part in one.parts]
    assert one.name == mechanism
    assert len(costs) == (2 if mechanism == "Recentred" else 1)
    exact = rho_of_ranges(costs[:-1]) + rho_of_ranges(costs[-1:], 30)
    assert exact <= Fraction(guarantee.strict.rho) <= Fraction(rho_within(30.0, 1e-6))
    assert guarantee.strict.rho == pytest.approx(rho_within(30.0, 1e-6))
    assert costs[-1] > 1.0, "more than a pure epsilon has for each draw"
    assert (public.policy_delta, public.scope, public.rho) == (1e-6, "strict", guarantee.strict.rho)
    assert guarantee.epsilon_total <= 30.0
    (finding,) = made.audit_(["density"], most=5)
    assert finding.verdict == "kept"
    assert finding.loss <= sum(costs)


@pytest.mark.slow
def test_a_markov_chain_makes_a_target_of_epsilon_and_delta():
    made = Synthesizer(
        *("y ~ x",), family="poisson", public=["x"], mechanism="Censored", epsilon=30.0, delta=1e-6, m=30, seed=1
    )
    public = made.fit(TABLE).guarantee_.public()
    assert (public.scope, public.policy_delta, public.rho) == ("target", 1e-6, None)
    assert "a target of epsilon 30 at delta 1e-6" in str(public)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"delta": "small"}, "delta must be positive and finite"),
        ({"delta": True}, "delta must be positive and finite"),
        ({"delta": 0.5}, "delta must be from 1e-100 to 0.001, found 0.5"),
        ({"delta": 1e-9, "mechanism": "BW"}, "delta must have a strict mechanism, since others promise none"),
        ({"delta": 1e-9, "mechanism": "Scored"}, "delta must be left out with Scored"),
        ({"delta": 1e-9, "epsilon": None, "mechanism": "LW"}, "delta must have a strict mechanism"),
        ({"delta": 1e-9, "epsilon": None}, "needs an epsilon"),
    ],
)
def test_what_cannot_be_promised_is_refused_at_the_door(more, message):
    with pytest.raises(InputError, match=message):
        asked([1.0], **more)
