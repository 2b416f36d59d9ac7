"""Recentred: a strict mechanism in two parts; its accounting, its ranges, and its exact loss."""

from __future__ import annotations

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.inference.contribution import Censored, Recentred, bare
from alphasynth.mechanisms.fit import SecondPart
from alphasynth.models.model import PEAK
from alphasynth.synthesizer import Synthesizer

GRID = {"limits": {"mean": (5.0, 500.0), "phi": (0.5, 100.0)}, "step": 0.01}


@given(st.floats(0.01, 40.0), st.integers(1, 9), st.floats(0.05, 0.95))
@settings(max_examples=80, deadline=None)
def test_both_parts_together_cost_no_more_than_the_whole(epsilon, m, share):
    first, second = Recentred(share=share).parts(epsilon, m)
    assert Fraction(first) + m * Fraction(second) <= m * Fraction(epsilon)
    assert first == pytest.approx(share * m * epsilon)
    assert second == pytest.approx((1 - share) * epsilon)


@pytest.mark.parametrize(
    ("options", "words"), [({"share": 1.0}, "below 1"), ({"reach": 0.0}, "positive"), ({"cut": -1.0}, "positive")]
)
def test_bad_numbers_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        Recentred(**options)


def test_contributions_of_the_second_part_have_their_range(mixture):
    """Whatever the parameters: from -epsilon to 0, and the middle of it where parameters are the first draw's."""
    one = Synthesizer("y ~ 1", family="negative_binomial", mechanism="Recentred", epsilon=4.0, m=1, seed=1, **GRID)
    problem = one.fit(mixture).bind(one.read(mixture)).one
    assert isinstance(problem.second, SecondPart)
    first = one.trail_.fits[-1].draws.take(np.array([0]))
    with jax.enable_x64(True):
        second = problem.after(first)
        u = np.random.default_rng(0).normal([4.0, 1.0], [3.0, 3.0], (200, 2))
        values = np.array(
            [np.asarray(second.model.log_lik(second.model.prior.constrain(at), second.rows.distinct)) for at in u]
        )
        at_first = second.model.log_lik(second.model.prior.constrain(first.u[0]), second.rows.distinct)
    assert values.min() == -second.model.epsilon
    assert values.max() <= 0
    assert (values == 0).any()
    np.testing.assert_allclose(at_first, -second.model.epsilon / 2, rtol=1e-9)
    assert second.model.epsilon == pytest.approx(2.8)
    assert PEAK in second.rows.columns
    assert bare(second.model) == bare(problem.model)


@pytest.mark.slow
def test_the_exact_audit_adds_both_parts_up_and_the_claim_is_kept(mixture):
    one = Synthesizer("y ~ 1", family="negative_binomial", mechanism="Recentred", epsilon=3.0, m=1, seed=2, **GRID)
    one.fit(mixture)
    (finding,) = one.audit_(["density"], canaries=[5_000], most=12)
    assert finding.claim == pytest.approx(3.0)
    assert finding.delta == 0
    assert 0.5 < finding.loss <= 3.0
    assert finding.kept
    with pytest.raises(InputError, match="follow a first one"):
        one.audit_(["draw"])


def test_little_budget_goes_to_one_part(mixture):
    """Where what is left would be tempered below 0.2, the column is Censored with all of it."""
    assert not Recentred().pays(0.5, 1)
    assert Recentred().pays(1.0, 1)
    small = Synthesizer("y ~ 1", family="negative_binomial", mechanism="Recentred", epsilon=0.5, m=1, seed=3, **GRID)
    other = Synthesizer("y ~ 1", family="negative_binomial", mechanism="Censored", epsilon=0.5, m=1, seed=3, **GRID)
    np.testing.assert_array_equal(
        small.fit(mixture).trail_.fits[-1].draws.u, other.fit(mixture).trail_.fits[-1].draws.u
    )
    assert small.guarantee_.public().contribution == other.guarantee_.public().contribution


def test_the_guarantee_states_both_parts_and_no_rho(mixture):
    one = Synthesizer("y ~ 1", family="negative_binomial", mechanism="Recentred", epsilon=4.0, m=2, seed=1, **GRID)
    public = one.fit(mixture).guarantee_.public()
    assert public.scope == "strict"
    assert public.exact
    assert public.epsilon == 4.0
    assert public.rho is None
    assert [one.name for one in public.contribution] == ["Recentred"]
    assert one.guarantee_.epsilon_total <= 4.0


def test_less_tempering_is_needed_at_the_same_epsilon(mixture):
    """At epsilon 4 Censored tempers by 4 / 8, the second part by min(1, 2.8 / 2.5): its draws lie 0.7 as far apart."""
    spread = {}
    for name in ("Censored", "Recentred"):
        one = Synthesizer("y ~ 1", family="negative_binomial", mechanism=name, epsilon=4.0, m=1, seed=4, **GRID)
        spread[name] = one.fit(mixture).trail_.fits[-1].draws.u[:, 0].std()
    # Each of 1,000 independent draws: a standard error of 1 / sqrt(2,000) of its own, five of them on either side.
    assert spread["Recentred"] / spread["Censored"] == pytest.approx(np.sqrt(0.5), rel=5 * np.sqrt(2 / 2_000) + 0.05)


def test_a_mechanism_may_be_given_whole(mixture):
    from alphasynth.mechanisms.mechanism import Mechanism

    one = Synthesizer(
        "y ~ 1",
        family="negative_binomial",
        mechanism=Mechanism("mine", contribution=Recentred(share=0.5)),
        epsilon=4.0,
        m=1,
        seed=1,
        **GRID,
    )
    assert "mine" in str(one.fit(mixture).guarantee_)
    assert Censored(8.0).cut == Recentred().cut
