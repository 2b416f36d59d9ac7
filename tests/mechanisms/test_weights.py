"""Each rule against a plain double loop over records, written from the paper's formulas."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.fit import Fit
from alphasynth.mechanisms.rules import CW, LW, SW, Given, Reweight
from alphasynth.tables.records import Records

COUNTS = st.lists(st.integers(0, 40), min_size=2, max_size=30)
VALUES = st.lists(st.one_of(st.integers(-20, 20).map(float), st.floats(-50, 50)), min_size=2, max_size=25)
SCALE, SHIFT = st.floats(0, 3), st.floats(-0.5, 1)


def fit_of(records, largest_by_record, alpha_by_record):
    """A fit with given F and alpha by record; no draws are needed by the rules."""
    draws = Draws(np.zeros((1, 1)), {}, Diagnostics("none", 1))
    one = Fit(records, draws, records.collapse(alpha_by_record), records.collapse(largest_by_record))
    return JointFit.of_one(records.response, one)


def clip(value):
    return 0.0 if value <= 0 else 1.0 if value >= 1 else value


def records_and_f(y, seed):
    """Records of y, and an F that is equal for equal records, as a likelihood's is."""
    levels = np.random.default_rng(seed).uniform(0, 20, 50)
    return Records.from_table(pd.DataFrame({"y": y}), ["y"]), levels[np.asarray(y) % 50]


def lw_loop(F, scale, shift):
    finite = [f for f in F if math.isfinite(f)]
    low, high = min(finite), max(finite)
    alpha = []
    for f in F:
        if not math.isfinite(f):
            alpha.append(0.0)
            continue
        risk = (f - low) / (high - low) if high > low else 0.0
        alpha.append(clip(scale * (1 - risk) + shift))
    return alpha


@given(y=COUNTS, seed=st.integers(0, 99), scale=SCALE, shift=SHIFT, spoil=st.integers(0, 40))
@settings(deadline=None, max_examples=60)
def test_lw_equals_the_loop(y, seed, scale, shift, spoil):
    records, F = records_and_f(y, seed)
    F = np.where(np.asarray(y) == spoil, np.inf, F)
    if not np.isfinite(F).any():
        F[:] = 3.0
    alpha = LW(scale, shift)(records, fit_of(records, F, np.ones(len(y))))
    np.testing.assert_allclose(records.expand(alpha), lw_loop(F, scale, shift), rtol=0, atol=1e-15)


def test_lw_of_identical_records_weights_none_down():
    records = Records.from_table(pd.DataFrame({"y": [5, 5, 5]}), ["y"])
    assert LW()(records, fit_of(records, np.full(3, 2.5), np.ones(3))).tolist() == [1.0]
    assert LW(0.6, 0.1)(records, fit_of(records, np.full(3, 2.5), np.ones(3))) == pytest.approx([0.7])


def test_lw_without_a_finite_record_weights_all_to_zero():
    records = Records.from_table(pd.DataFrame({"y": [1, 2]}), ["y"])
    assert LW()(records, fit_of(records, np.full(2, np.inf), np.zeros(2))).tolist() == [0.0, 0.0]


def cw_loop(y, group, radius, relative, scale, shift):
    alpha = []
    for i in range(len(y)):
        members = [j for j in range(len(y)) if group[j] == group[i]]
        outside = 0
        for j in members:
            if not abs(y[j] - y[i]) <= (radius * abs(y[i]) if relative else radius):
                outside += 1
        alpha.append(clip(scale * (1 - outside / len(members)) + shift))
    return alpha


@given(
    y=VALUES,
    groups=st.integers(1, 3),
    radius=st.one_of(st.sampled_from([0.1, 0.2, 0.3, 1.0, 2.0]), st.floats(1e-3, 60)),
    relative=st.booleans(),
    scale=SCALE,
    shift=SHIFT,
)
@settings(deadline=None, max_examples=150)
def test_cw_equals_the_loop(y, groups, radius, relative, scale, shift):
    group = np.arange(len(y)) % groups
    records = Records.from_table(pd.DataFrame({"y": y, "g": group}), ["y", "g"])
    fit = fit_of(records, np.ones(len(y)), np.ones(len(y)))
    alpha = CW(radius, relative, ("g",), scale, shift)(records, fit)
    np.testing.assert_allclose(records.expand(alpha), cw_loop(y, group, radius, relative, scale, shift), atol=1e-15)


def test_within_takes_one_name_as_it_stands():
    assert CW(1.0, within="sex").within == ("sex",)


def test_messages_hold_no_vector_of_weights():
    with pytest.raises(InputError) as error:
        SW(np.array([0.594, 0.722]))
    assert str(error.value) == "alpha must lie in [0, 1], found a ndarray"


def test_cw_counts_the_rim_as_inside_in_floating_point():
    y = [0.1, 0.3, 0.4, 0.7, 1.1]  # 0.3 - 0.1 is below 0.2 and 0.1 + 0.2 above 0.3, other pairs go the other way
    records = Records.from_table(pd.DataFrame({"y": y}), ["y"])
    fit = fit_of(records, np.ones(5), np.ones(5))
    for radius in (0.1, 0.2, 0.3, 0.4, 0.7):
        np.testing.assert_allclose(records.expand(CW(radius)(records, fit)), cw_loop(y, [0] * 5, radius, False, 1, 0))


def test_cw_without_within_compares_all_and_covariates_split_nothing():
    table = pd.DataFrame({"y": [1, 1, 2, 9], "x": [0, 1, 0, 1]})
    for names in (["y"], ["y", "x"]):
        records = Records.from_table(table, names)
        alpha = records.expand(CW(1.5)(records, fit_of(records, np.ones(4), np.ones(4))))
        assert alpha.tolist() == [0.75, 0.75, 0.75, 0.25]


def reweight_loop(alpha, F, k):
    """k * alpha_i * Delta / Delta_i where alpha_i > 0; its limit k * Delta / F_i where alpha_i = 0."""
    by_record = [a * f if a > 0 else 0.0 for a, f in zip(alpha, F, strict=True)]
    overall = max(by_record)
    result = []
    for a, f, d in zip(alpha, F, by_record, strict=True):
        if not math.isfinite(f):
            result.append(0.0)
        elif f == 0:
            result.append(1.0)
        else:
            result.append(clip(k * a * overall / d if d > 0 else k * overall / f))
    return result


@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.2, 0.9, 1.0])), min_size=2, max_size=25),
    seed=st.integers(0, 99),
    k=st.floats(0.05, 2),
    spoil=st.integers(0, 20),
)
@settings(deadline=None, max_examples=100)
def test_reweight_equals_the_papers_formula(rows, seed, k, spoil):
    y, alpha = (np.array(column, float) for column in zip(*rows, strict=True))
    F = np.random.default_rng(seed).uniform(0.5, 20, 10)[y.astype(int)]
    F[y == spoil] = np.inf
    alpha[y == spoil] = 0.0
    records = Records.from_table(pd.DataFrame({"y": y}), ["y"]).split(alpha)
    got = Reweight(k)(records, fit_of(records, F, alpha))
    np.testing.assert_allclose(records.expand(got), reweight_loop(alpha, F, k), rtol=1e-12)


def test_scalar_and_given_weights():
    records = Records.from_table(pd.DataFrame({"y": [4, 4, 7]}), ["y"]).split(np.array([0.2, 0.9, 1.0]))
    fit = fit_of(records, np.array([1.0, 1.0, np.inf]), np.ones(3))
    assert records.expand(SW(0.3)(records, fit)).tolist() == [0.3, 0.3, 0.0]
    given_alpha = Given([0.2, 0.9, 1.0])
    assert records.expand(given_alpha(records, fit)).tolist() == [0.2, 0.9, 0.0]
    assert records.expand(given_alpha.turned(2.0)(records, fit)).tolist() == [0.4, 1.0, 0.0]


def test_given_weights_cannot_be_changed_from_outside():
    mine = np.array([0.1, 0.2])
    rule = Given(mine)
    mine[0] = 0.9
    assert rule.alpha.tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        rule.alpha[0] = 1.0
    assert "0.1" not in repr(rule)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LW(scale=-1), "scale must be at least 0 and finite, found -1"),
        (lambda: LW(shift=math.nan), "shift must be finite, found nan"),
        (lambda: CW(0), "radius must be positive and finite, found 0"),
        (lambda: CW(-0.3, relative=True), "radius must be positive and finite, found -0.3"),
        (lambda: CW(math.inf), "radius must be positive and finite, found inf"),
        (lambda: CW("wide"), "radius must be positive and finite, found 'wide'"),
        (lambda: SW(1.1), r"alpha must lie in \[0, 1\], found 1.1"),
        (lambda: SW(math.nan), r"alpha must lie in \[0, 1\], found nan"),
        (lambda: Reweight(0), "k must be 'auto' or a positive number, found 0"),
        (lambda: Reweight("best"), "k must be 'auto' or a positive number, found 'best'"),
        (lambda: Given([0.1, 1.1]), r"one weight in \[0, 1\] per record"),
        (lambda: Given([0.1, math.nan]), r"one weight in \[0, 1\] per record"),
        (lambda: Given([[0.1]]), r"one weight in \[0, 1\] per record, found 2 dimensions"),
        (lambda: CW(1.0, relative="no"), "relative must be True or False, found 'no'"),
        (lambda: CW(1.0, within=5), "within must name columns, found 5"),
        (lambda: CW(True), "radius must be positive and finite, found True"),
        (lambda: Reweight(np.array([0.9, 0.8])), "k must be 'auto' or a positive number, found a ndarray"),
        (lambda: Given(["a"]), "what is not a number"),
        (lambda: Given([0.1], factor=0), "factor must be positive"),
    ],
)
def test_rules_refuse_what_breaks_them(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_cw_is_not_quadratic():
    """A million distinct values; a double loop would need 10^12 comparisons."""
    y = np.random.default_rng(0).permutation(1_000_000).astype(float)
    records = Records.from_table(pd.DataFrame({"y": y}), ["y"])
    fit = fit_of(records, np.ones(len(y)), np.ones(len(y)))
    inside = np.minimum(y + 10, 999_999) - np.maximum(y - 10, 0) + 1
    np.testing.assert_allclose(records.expand(CW(10.0)(records, fit)), inside / 1e6)
