"""Entries multiplied by the weights where that is not said, and the other way round; draws and records of others."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

import alphasynth as syn
from alphasynth.errors import InputError, OrderWarning
from command_line import run

MULTIPLIED = r"must not be multiplied by the weights unless weighted=True \(--weighted\) says so"
NOT_MULTIPLIED = r"must be multiplied by the weights where weighted=True \(--weighted\) says so"
SHARED = "found F of some records to the last digit as it was where the weights were made"
RULES = {
    "LW": syn.LW(),
    "LW without zeros": syn.LW(0.8, 0.1),
    "CW": syn.CW(radius=3.0),
    "CW with zeros": syn.CW(radius=3.0, shift=-0.05),
    "SW": syn.SW(alpha=0.4),
}


def table(seed, n=200):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    return np.stack([x, rng.poisson(np.exp(3 + 0.3 * x))])


def fit(records, alpha, seed, draws=200):
    """Draws of the weighted Poisson regression's normal approximation, and log p(x_i | theta_s)."""
    x, y = records
    X, beta = np.stack([np.ones_like(x), x], axis=1), np.array([3.0, 0.3])
    for _ in range(20):
        mu = np.exp(X @ beta)
        precision = (X * (alpha * mu)[:, None]).T @ X + 1e-3 * np.eye(2)
        beta = beta + np.linalg.solve(precision, X.T @ (alpha * (y - mu)))
    rng = np.random.default_rng(seed)
    theta = beta + rng.standard_normal((draws, 2)) @ np.linalg.cholesky(np.linalg.inv(precision)).T
    return poisson.logpmf(y, np.exp(theta @ X.T))


@pytest.fixture(scope="module")
def records():
    return table(1)


@pytest.fixture(scope="module")
def unweighted(records):
    return fit(records, np.ones(records.shape[1]), 2)


def weighted_fit(records, unweighted, name):
    """Weights by a rule, and the matrix of the fit that has them."""
    made = syn.weights_from(unweighted, RULES[name], records=records[1])
    return made, fit(records, made.alpha, 3)


@pytest.mark.parametrize("name", RULES)
def test_what_is_multiplied_or_not_is_seen_both_ways(records, unweighted, name):
    made, matrix = weighted_fit(records, unweighted, name)
    right = syn.bounds_from(matrix, made)
    product = syn.bounds_from(matrix * made.alpha, made, weighted=True)
    np.testing.assert_allclose(product.lipschitz.overall, right.lipschitz.overall, rtol=1e-12)
    with pytest.raises(InputError, match=MULTIPLIED):
        syn.bounds_from(matrix * made.alpha, made)
    with pytest.raises(InputError, match=MULTIPLIED):
        syn.weights_from(matrix * made.alpha, syn.Reweight(k=0.95), alpha=made)
    with pytest.raises(InputError, match=NOT_MULTIPLIED):
        syn.bounds_from(matrix, made, weighted=True)


def test_zeros_tell_it_of_weights_alone(records, unweighted):
    """Nothing is known of what they were made from; one record suffices, and one draw."""
    made, matrix = weighted_fit(records, unweighted, "LW")
    assert (made.alpha == 0).sum() == 1
    with pytest.raises(InputError, match=MULTIPLIED):
        syn.bounds_from((matrix * made.alpha)[:1], made.alpha)
    with pytest.raises(InputError, match=NOT_MULTIPLIED):
        syn.bounds_from(matrix[:1], made.alpha, weighted=True)


def test_the_command_says_its_option(records, unweighted, alone, capsys):
    np.save("A.npy", unweighted)
    assert run("weights", "A.npy", "--out", "w.csv") == 0
    alpha = pd.read_csv("w.csv")["alpha"].to_numpy()
    matrix = fit(records, alpha, 3)
    np.save("B.npy", matrix)
    np.save("B_weighted.npy", matrix * alpha)
    capsys.readouterr()
    assert run("bound", "B_weighted.npy", "--weights", "w.csv") == 2
    assert "unless weighted=True (--weighted) says so" in capsys.readouterr().err
    again = ("--weights", "w.csv", "--rule", "Reweight", "--k", "0.95", "--out", "r.csv")
    assert run("weights", "B_weighted.npy", *again) == 2
    assert run("weights", "B_weighted.npy", *again, "--weighted") == 0
    assert pd.read_csv("r.csv")["alpha"][int(alpha.argmin())] == 0
    assert run("bound", "B.npy", "--weights", "w.csv", "--weighted") == 2
    assert "found entries other than 0 where the weight is 0" in capsys.readouterr().err


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([5, 60, 300]),
    st.sampled_from([1, 2, 5, 50]),
    st.sampled_from([1, 2, 5, 50]),
    st.sampled_from([*RULES, "all 1", "nearly 1", "Reweight"]),
)
def test_no_fit_of_the_weights_is_refused(seed, n, draws_before, draws, name):
    """Whatever the rule, the number of records and those of draws."""
    records = table(seed, n)
    before = fit(records, np.ones(n), seed, draws_before)
    others = {"all 1": syn.SW(alpha=1.0), "nearly 1": syn.SW(alpha=0.9), "Reweight": syn.Reweight(k=0.95)}
    made = syn.weights_from(before, records_in="columns", rules=(RULES | others)[name], records=records[1])
    matrix = fit(records, made.alpha, seed + 1, draws)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OrderWarning)
        plain = syn.bounds_from(matrix, made, records_in="columns")
        product = syn.bounds_from(matrix * made.alpha, made, weighted=True, records_in="columns")
    np.testing.assert_allclose(product.lipschitz.overall, plain.lipschitz.overall, rtol=1e-12)


def test_weights_of_1_say_nothing(records, unweighted):
    ones = np.ones(unweighted.shape[1])
    other = fit(records, ones, 9)
    for weighted in (False, True):
        assert (
            syn.bounds_from(other, ones, weighted=weighted).epsilon_per_draw == syn.bounds_from(other).epsilon_per_draw
        )


def test_reweighting_lifts_no_record_of_which_nothing_is_known():
    """Weight 0 and F 0: the quotient has no limit, and 1 would be an accident; beside a weight above 0 it is one."""
    matrix = np.array([[0.0, -2.0, -4.0, 0.0], [0.0, -1.0, -5.0, 0.0]])
    made = syn.weights_from(matrix, syn.Reweight(k=0.5), alpha=[0.0, 0.0, 0.5, 0.25])
    assert made.alpha.tolist() == [0.0, 0.625, 0.25, 1.0]


def test_some_draws_of_the_fit_before_are_refused(records, unweighted):
    made, matrix = weighted_fit(records, unweighted, "LW")
    for draws in (unweighted[::2], unweighted[:50], np.concatenate([matrix[:20], unweighted])):
        with pytest.raises(InputError, match=SHARED):
            syn.bounds_from(draws, made)
        with pytest.raises(InputError, match=SHARED):
            syn.bounds_from(draws * made.alpha, made, weighted=True)


def test_the_unweighted_fit_as_another_chain_is_refused(records, unweighted, alone):
    """In a file of its own it is seen whatever it adds to the largest."""
    made, matrix = weighted_fit(records, unweighted, "LW")
    np.save("A.npy", unweighted)
    np.save("B.npy", matrix)
    np.save("wide.npy", matrix * 3)
    for beside in ("B.npy", "wide.npy"):
        with pytest.raises(InputError, match="must be of the fit that had these weights"):
            syn.bounds_from([beside, "A.npy"], made, records_in="columns")


def test_numbers_of_few_digits_may_be_equal(records, unweighted):
    """Files that round: some F of two fits are the same number by chance."""
    rounded = np.round(unweighted, 2)
    made = syn.weights_from(rounded, syn.SW(alpha=0.9))
    other = np.round(fit(records, made.alpha, 3), 2)
    assert (np.abs(other).max(axis=0) == made.largest).sum() > 5
    assert syn.bounds_from(other, made).compared
    with pytest.raises(InputError, match=SHARED):
        syn.bounds_from(np.concatenate([rounded[::2], other]), made)


def test_records_of_one_log_likelihood_are_no_draws_of_another_fit(records, unweighted):
    """Entries that are the same in every draw are so in every fit."""
    constant = np.arange(20) < 15
    before = np.where(constant.repeat(10), -np.pi * np.arange(1, 201), unweighted)
    made = syn.weights_from(before, syn.SW(alpha=0.9))
    after = np.where(constant.repeat(10), before[:1], fit(records, made.alpha, 3))
    assert syn.bounds_from(after, made).compared
    with pytest.raises(InputError, match=SHARED):
        syn.bounds_from(before[::2], made)


def test_records_in_another_order_are_told(records, unweighted, alone, capsys):
    made, matrix = weighted_fit(records, unweighted, "LW")
    turned = matrix[:, np.random.default_rng(5).permutation(matrix.shape[1])]
    with pytest.warns(OrderWarning, match="must have its records in the order of the weights"):
        syn.bounds_from(turned, made)
    np.save("A.npy", unweighted)
    np.save("turned.npy", turned)
    assert run("weights", "A.npy", "--out", "w.csv") == 0
    assert run("bound", "turned.npy", "--weights", "w.csv") == 0
    assert "hardly goes along with the F that the weights were made from" in capsys.readouterr().err
