"""What is promised, in numbers that are never rounded down and words that are never more."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphasynth.privacy.accounting import concentrated, epsilon_at, per_draw, round_up, times
from alphasynth.privacy.divergence import gaussian_epsilon
from alphasynth.privacy.guarantee import Guarantee, PublicGuarantee
from alphasynth.privacy.promises import SCOPES, promise_of
from alphasynth.privacy.scopes import scope_of
from alphasynth.privacy.strict_terms import ColumnGrid, Contribution, GridAxis, NoisySums, Part, StrictTerms
from alphasynth.synthesis.release import Release
from alphasynth.synthesizer import Synthesizer

GUARANTEE = Guarantee("LW", ("LW",), 5.555555, 20, 1000, 1000, "Laplace", policy_epsilon=230.0, releasable=True)


@given(st.floats(1e-12, 1e12), st.integers(1, 8))
def test_round_up_is_never_below_and_close(value, digits):
    shown = Fraction(round_up(value, digits))
    assert shown >= Fraction(value)
    assert shown <= Fraction(value) * (1 + Fraction(10) ** (1 - digits)) + Fraction(value) / 10**12


def test_epsilon_is_twice_delta_and_adds_up_over_draws():
    assert GUARANTEE.epsilon_per_draw == 2 * 5.555555
    assert GUARANTEE.epsilon_total == pytest.approx(20 * 2 * 5.555555)
    assert Fraction(GUARANTEE.epsilon_total) >= 40 * Fraction(5.555555), "never rounded down"


def test_the_sentence_is_one_and_honest():
    sentence = str(GUARANTEE)
    assert "epsilon 11.12 per draw, 222.3 for 20 draws" in sentence  # 11.11111 and 222.2222, rounded up
    assert "not epsilon-differential privacy" in sentence
    assert "asymptotic and local to this database" in sentence
    assert sentence.endswith(".")
    assert ". " not in sentence
    seeded = dataclasses.replace(GUARANTEE, releasable=False)
    assert "not for release" in str(seeded)
    assert "not for release" in str(seeded.public())


def test_dropped_draws_are_spoken_of_and_the_policys_number_is_not_rounded_down():
    cut = dataclasses.replace(GUARANTEE, thresh=0.9, policy_epsilon=5.1234549)
    for text in (str(cut), str(cut.public())):
        assert "those above the 0.9 quantile of their bounds dropped" in text
    assert "epsilon 5.1234549 " in str(cut.public())  # the policy's number, as it was written down


def test_the_public_part_holds_the_policys_number_and_not_the_realised_one():
    public = GUARANTEE.public()
    assert public.epsilon == 230.0
    numbers = [value for value in vars(public).values() if isinstance(value, float)]
    assert numbers == [230.0, 230.0, 1.0]  # the policy's epsilon, for a unit and for a row, and thresh
    for text in (str(public), repr(public)):
        for realised in ("5.55", "11.1", "222.2"):
            assert realised not in text
    unaimed = dataclasses.replace(GUARANTEE, policy_epsilon=None).public()
    assert unaimed.epsilon is None
    assert "no policy budget was set" in str(unaimed)


def test_a_unit_of_several_rows_costs_that_many_times_as_much():
    unit = "all rows that share a value of 'person' (at most 3)"
    three = dataclasses.replace(GUARANTEE, max_rows=3, unit_column="person", policy_epsilon=0.1)
    assert three.epsilon_unit == pytest.approx(3 * three.epsilon_total)
    assert Fraction(three.epsilon_unit) >= 3 * Fraction(three.epsilon_total), "never rounded down"
    assert (three.public().epsilon, three.public().policy_epsilon, three.public().max_rows) == (0.3, 0.1, 3)
    assert f"666.7 for {unit}" in str(three)  # 666.6666
    assert f"epsilon 0.3 for {unit}" in str(three.public())


@given(st.integers(1, 1000), st.floats(1e-12, 1e12))
def test_a_product_is_never_below_the_exact_one(number, value):
    assert Fraction(times(number, value)) >= number * Fraction(value)
    assert times(number, value) <= number * value * (1 + 1e-15)


TERMS = (Contribution, Part, ColumnGrid, GridAxis, NoisySums)
PLAIN = {"str", "str | None", "bool", "int", "float", "float | None", "tuple[str, ...]"}


def test_public_types_cannot_hold_a_record_a_weight_or_a_bound():
    """Words, switches, the policy's numbers, settings and n; a release adds frames."""
    fields = {field.name: field.type for field in dataclasses.fields(PublicGuarantee)}
    of_columns = {name: fields.pop(name) for name in ("columns", "declared_public")}  # what these hold is checked below
    assert of_columns == {"columns": "tuple[dict[str, Any], ...]", "declared_public": "dict[str, Any]"}
    by_column = {fields.pop(name) for name in ("confirmed_public", "read_off_the_table")}
    assert by_column == {"dict[str, list[str]]"}  # names of columns and of facts
    of_terms = {name: fields.pop(name) for name in ("contribution", "grid", "measured")}  # as what these are made of
    assert of_terms == {
        "contribution": "tuple[Contribution, ...]",
        "grid": "tuple[ColumnGrid, ...]",
        "measured": "tuple[NoisySums, ...]",
    }
    assert set(fields.values()) <= PLAIN
    policy = ["epsilon", "policy_epsilon", "thresh"]
    # Of policy and public inputs alone.
    strict = ["scalar", "epsilon_replace", "rho", "delta", "epsilon_at_delta", "policy_delta"]
    assert [name for name, kind in fields.items() if "float" in kind] == [*policy, *strict]
    whole = [name for name, kind in fields.items() if kind == "int"]
    assert whole == ["m", "tables_per_draw", "max_rows", "n", "num_draws"]
    assert {field.name: field.type for field in dataclasses.fields(Release)} == {
        "tables": "tuple[Frame | Stored, ...]",
        "guarantee": "PublicGuarantee",
        "files": "tuple[str, ...]",
        "guarded": "bool",
        "delimiter": "str",
        "decimal": "str",
        "parameters": "Mapping[str, Any] | None",  # what guarantee.json says of a file of released draws
    }
    for kind in (PublicGuarantee, Release):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            object.__new__(kind).alpha = np.ones(3)


def test_terms_of_a_strict_promise_are_names_and_public_numbers():
    """No array, no record: and numbers by name, of the policy's budget and of settings alone."""
    kinds = {kind.__name__: {each.name: each.type for each in dataclasses.fields(kind)} for kind in TERMS}
    assert kinds["Contribution"].pop("parts") == "tuple[Part, ...]"
    assert kinds["Contribution"].pop("prior") == "dict[str, Any] | None"
    assert kinds["Part"].pop("numbers") == "dict[str, float]"
    assert kinds["ColumnGrid"].pop("axes") == "tuple[GridAxis, ...]"
    assert {type_ for fields in kinds.values() for type_ in fields.values()} <= PLAIN


@pytest.mark.slow
def test_what_is_said_of_columns_is_of_the_model_alone():
    """Two tables with the same model: the same words and numbers, whatever the records."""
    rng = np.random.default_rng(0)
    declared = {"g": {"levels": ["a", "b"]}}
    stated = []
    for seed in (1, 2):
        table = pd.DataFrame({"g": rng.choice(["a", "b"], 200), "y": rng.poisson(5 * seed, 200)})
        made = Synthesizer(
            ["g ~ 1", "y ~ g"], family=["bernoulli", "poisson"], declared=declared, mechanism="BW", epsilon=9.0, m=1
        ).fit(table)
        stated.append(made.guarantee_.public())
    assert stated[0] == stated[1]
    assert {type(value) for entry in stated[0].columns for value in entry.values()} == {str, float}


GRID = ColumnGrid("y", (GridAxis("mean", 0.1, 9.0, 0.1, 90, False),), 1 << 20)


def strict_guarantee(epsilon=4.0, m=2, max_rows=1, grid=(GRID,)):
    terms = StrictTerms(per_draw(epsilon, m), (Contribution("y", "Censored", (Part("draw", 2.0),)),), grid, 0.25)
    return Guarantee(
        mechanism="Censored",
        rules=(),
        delta=1.0,
        m=m,
        n=500,
        num_draws=1_000,
        sampler="PublicGrid" if grid else "Laplace",
        policy_epsilon=epsilon,
        strict=terms,
        max_rows=max_rows,
        unit_column=None if max_rows == 1 else "person",
    )


def test_each_scope_says_what_it_promises_and_no_more():
    exact, chain = strict_guarantee().public(), strict_guarantee(grid=()).public()
    assert (exact.scope, chain.scope) == ("strict", "target")
    assert "added or removed while the number of rows is held public" in exact.promise
    assert "twice epsilon when a row is replaced" in exact.promise
    assert "drawn exactly, on a finite public grid" in exact.promise
    assert "no privacy is promised of these tables" in chain.promise
    assert "exactly, on" not in chain.promise
    assert (exact.exact, chain.exact) == (True, False)
    assert (chain.rho, chain.delta, chain.epsilon_at_delta) == (None, None, None)
    assert "rho" not in str(chain)
    assert "not for one of its rows" in strict_guarantee(max_rows=3).public().promise
    assert "not for one of its rows" not in exact.promise
    for rules in (("LW",), ("CW", "Reweight"), ("SW",), ("BW",)):
        assert scope_of(rules, False, False) == "instance"
        assert "not epsilon-differential privacy" in promise_of(rules)
    assert "asymptotic" in promise_of(("SW",))
    assert scope_of((), False, False) == "none"
    assert promise_of(()).startswith("nothing is promised")
    assert "differential privacy" not in promise_of(())
    assert set(SCOPES) == {"strict", "target", "instance", "none"}


def test_a_strict_guarantee_composes():
    """Pure by sums; beside it rho, and epsilon at a public delta that is never above the pure one."""
    public = strict_guarantee(epsilon=8.0, m=4).public()
    assert (public.epsilon, public.epsilon_replace, public.delta) == (8.0, 16.0, 1e-6)
    assert public.rho == pytest.approx(4 * 2.0**2 / 8)
    assert public.epsilon_at_delta == min(8.0, epsilon_at(public.rho))
    many = strict_guarantee(epsilon=100.0, m=100).public()
    assert many.epsilon_at_delta < 0.5 * many.epsilon
    unit = strict_guarantee(epsilon=1.0, m=1, max_rows=3).public()
    assert (unit.epsilon, unit.epsilon_replace) == (3.0, 6.0)
    assert unit.rho == pytest.approx(9 / 8)


@given(st.floats(1e-3, 1e3), st.integers(1, 50))
def test_shares_never_add_up_to_more(epsilon, m):
    share = per_draw(epsilon, m)
    assert m * Fraction(share) <= Fraction(epsilon)
    assert share >= epsilon / m * (1 - 1e-15)


@given(st.floats(1e-4, 50), st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_epsilon_of_zcdp_is_a_bound_and_no_worse_than_the_simple_one(rho, delta):
    """The simple bound is rho + 2 sqrt(rho log(1 / delta)); a Gaussian with this rho needs no more than ours."""
    ours = epsilon_at(rho, delta)
    assert ours <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-9
    assert ours >= gaussian_epsilon(math.sqrt(2 * rho), delta) - 1e-6


@given(st.floats(1e-3, 100), st.integers(1, 30), st.integers(1, 5))
def test_rho_is_never_rounded_down(epsilon, m, rows):
    assert Fraction(concentrated(epsilon, m, rows)) >= m * (rows * Fraction(epsilon)) ** 2 / 8
