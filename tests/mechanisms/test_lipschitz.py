"""Lipschitz bounds against a plain double loop over draws and records, as in Supp 1."""

from __future__ import annotations

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from alphasynth.errors import InputError
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms.fit import Fit, fit
from alphasynth.mechanisms.lipschitz import keep_below, largest_log_lik

S = 40


def draws_of(model):
    rng = np.random.default_rng(2)
    u = np.column_stack([3 + 0.1 * rng.standard_normal(S), 1 + 0.2 * rng.standard_normal(S)])
    with jax.enable_x64(True):
        return Draws.of(model, u, Diagnostics("none", S))


def plain_log_lik(y, draws):
    """log_lik (S, n), as the paper's Stan script generates it for weights of 1."""
    mu, phi = np.exp(draws.theta["beta"]), draws.theta["phi"][:, None]
    return stats.nbinom(phi, phi / (phi + mu)).logpmf(np.asarray(y)[None, :])


def supp_1(log_lik, alpha, thresh):
    """By-record maxima and overall bound, over the draws that the quantile of per-draw maxima keeps."""
    weighted = log_lik * alpha
    ratio = np.empty_like(weighted)
    for s in range(len(weighted)):
        full = weighted[s].sum()
        for i in range(weighted.shape[1]):
            ratio[s, i] = abs(full - np.delete(weighted[s], i).sum())
    by_draw = ratio.max(axis=1)
    kept = by_draw <= np.quantile(by_draw, thresh) + 1e-9
    return ratio[kept].max(axis=0), kept


@given(
    rows=st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0.0, 0.4, 1.0])), min_size=2, max_size=40),
    thresh=st.sampled_from([1.0, 0.9, 0.5]),
)
@settings(deadline=None, max_examples=40)
def test_bounds_equal_the_double_loop(make_problem, rows, thresh):
    y, alpha = (np.array(column, float) for column in zip(*rows, strict=True))
    if not y.any():
        y[0] = 1
    problem = make_problem(pd.DataFrame({"y": y}), alpha=alpha)
    records, model, lines = problem.records, problem.model, problem.rows
    draws = draws_of(model)
    expected, kept = supp_1(plain_log_lik(y, draws), alpha, thresh)
    distinct = records.collapse(alpha)
    with jax.enable_x64(True):
        keep = keep_below(model, draws, lines, lines.largest(distinct), thresh)
        largest = largest_log_lik(model, draws, lines, keep)
    outcome = Fit(records, draws.take(keep), distinct, largest[lines.of])
    if alpha.any():
        assert np.array_equal(keep, kept)
    np.testing.assert_allclose(outcome.lipschitz.by_record, expected, rtol=1e-9, atol=1e-9)
    assert outcome.lipschitz.overall == pytest.approx(expected.max(), abs=1e-9)


def test_thresh_drops_draws_before_release_and_before_the_maxima(make_problem, mixture, key):
    whole = fit(key, problem := make_problem(mixture), np.ones(problem.records.size))
    cut = fit(key, problem := make_problem(mixture, thresh=0.9), np.ones(problem.records.size))
    assert whole.draws.num_draws == 1000
    assert cut.draws.num_draws == pytest.approx(900, abs=3)  # repeated draws may tie at the quantile
    assert cut.lipschitz.overall < whole.lipschitz.overall
    log_lik = plain_log_lik(mixture["y"], cut.draws)
    assert cut.lipschitz.overall == pytest.approx(np.abs(log_lik).max(), rel=1e-9)
    np.testing.assert_allclose(cut.lipschitz.by_record, np.abs(log_lik).max(axis=0), rtol=1e-9)


def test_what_is_not_finite_has_an_infinite_bound(make_problem, mixture):
    problem = make_problem(mixture, family="poisson")
    u = np.array([[4.6], [1e6]])  # the second draw overflows
    with jax.enable_x64(True):
        draws = Draws.of(problem.model, u, Diagnostics("none", 2))
        assert np.isinf(largest_log_lik(problem.model, draws, problem.rows)).all()


@pytest.mark.parametrize("thresh", [0, -1, 1.5, "all", None])
def test_thresh_must_be_a_quantile(make_problem, mixture, thresh):
    with pytest.raises(InputError, match="thresh must be above 0 and at most 1"):
        make_problem(mixture, thresh=thresh)


def test_thresh_must_keep_draws_enough_to_diagnose(make_problem, mixture):
    with pytest.raises(InputError, match=r"thresh must keep at least 100 draws, found 0\.09 of 1,000"):
        make_problem(mixture, thresh=0.09)
