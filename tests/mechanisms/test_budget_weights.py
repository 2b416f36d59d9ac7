"""Budget weights: the rule, the bound it keeps, and the cap; tests/audits/test_budget_claims.py has their claim."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.mechanisms.mechanism import Mechanism, auto_cap
from alphasynth.mechanisms.rules import BW, SW
from alphasynth.synthesizer import Synthesizer


class Stub:
    """A fit with nothing but F."""

    def __init__(self, largest):
        self.largest_distinct = np.asarray(largest)


@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6), st.just(np.inf)), min_size=1, max_size=20),
    st.floats(0.01, 1.0),
    st.floats(0.01, 50.0),
)
def test_the_rule_is_what_the_budget_allows(largest, cap, bound):
    alpha = BW(cap, bound)(None, Stub(largest))
    for a, f in zip(alpha, largest, strict=True):
        assert a == (0 if f == np.inf else min(cap, 1.0 if f == 0 else bound / f))
        assert f == np.inf or a * f <= bound * (1 + 1e-12)


def fit(table, epsilon=10.0, cap=1.0, m=1, seed=1):
    return Synthesizer(
        "y ~ 1", family="negative_binomial", mechanism="BW", cap=cap, epsilon=epsilon, m=m, seed=seed
    ).fit(table)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 12.0])
@pytest.mark.parametrize("cap", [0.3, 1.0])
def test_the_realised_epsilon_keeps_the_policys(epsilon, cap, mixture):
    made = fit(mixture, epsilon, cap)
    assert made.guarantee_.epsilon_total <= epsilon
    assert made.alpha_.max() <= cap
    assert 2 * made.lipschitz_.overall <= epsilon * (1 + 1e-12)
    # What is claimed is the policy's own number; on the draws at hand it may be less.
    assert made.guarantee_.epsilon_total == pytest.approx(epsilon)
    assert made.trail_.searches == ()


def test_a_small_cap_is_one_weight_for_all(mixture):
    alpha = fit(mixture, 10.0, 0.2).alpha_
    assert np.ptp(alpha) == 0


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(m=st.integers(1, 20))
def test_the_budget_is_divided_over_the_draws(m):
    table = pd.DataFrame({"y": np.random.default_rng(1).negative_binomial(10, 0.2, 200)})
    made = fit(table, 20.0, m=m)
    assert made.trail_.rules[-1].bound <= 20.0 / m / 2
    assert made.guarantee_.epsilon_total <= 20.0


@pytest.mark.slow
def test_auto_is_a_public_function_of_epsilon_and_rows(mixture):
    made = fit(mixture, 6.0, "auto", m=2)
    model = made.subject_.bind(made.subject_.records).one.model
    assert made.trail_.rules[-1].cap == auto_cap(3.0, model, 1_000)
    for n in (100, 10_000, 1_000_000):
        caps = [auto_cap(epsilon, model, n) for epsilon in (0.1, 1.0, 4.0, 10.0, 40.0)]
        assert caps == sorted(caps)
        assert 0 < caps[0] <= caps[-1] <= 1


def test_what_budget_weights_refuse(mixture):
    with pytest.raises(InputError, match="needs an epsilon"):
        Synthesizer("y ~ 1", family="negative_binomial", mechanism="BW", m=1)
    for cap in (0, 1.5, "most", True):
        with pytest.raises(InputError, match="cap must be 'auto' or above 0 and at most 1"):
            BW(cap)
    two = Mechanism("two", (SW(0.9), BW()))
    made = Synthesizer("y ~ 1", family="negative_binomial", mechanism=two, m=1, epsilon=8.0, seed=1).fit(mixture)
    assert made.guarantee_.epsilon_total <= 8
