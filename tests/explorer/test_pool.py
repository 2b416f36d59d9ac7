"""Draws that stand for other fits: constants, shares, expected maxima and k-hat against what is known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.stats import norm

from alphasynth.explorer.pool import IMPOSSIBLE, Pool, Standing, Terms, expected_largest, largest_among, log_mixture

SIZES = np.array([600, 400])


def two_normals():
    """Draws of N(0, 1) and N(1, 2), and both log densities at them, up to constants of 3 and -5."""
    rng = np.random.default_rng(1)
    draws = np.concatenate([rng.normal(0, 1, SIZES[0]), rng.normal(1, 2, SIZES[1])])
    return draws, np.array([norm(0, 1).logpdf(draws) + 3, norm(1, 2).logpdf(draws) - 5])


def test_the_mixture_is_found_from_densities_without_constants():
    draws, targets = two_normals()
    exact = np.log(0.6 * norm(0, 1).pdf(draws) + 0.4 * norm(1, 2).pdf(draws))
    apart = log_mixture(targets, SIZES) - exact
    # The constants' ratio has an error of about 1 / sqrt(400) at most, and the common constant does not matter.
    assert np.ptp(apart) < 4 / np.sqrt(SIZES.min())


def test_shares_give_another_distributions_mean():
    draws, targets = two_normals()
    standing = Standing.of(norm(0.5, 1.5).logpdf(draws) - log_mixture(targets, SIZES))
    error = np.sqrt(standing.shares**2 @ (draws - 0.5) ** 2)
    assert abs(standing.shares @ draws - 0.5) < 4 * error
    assert 300 < standing.effective < 1_000
    assert standing.khat < 0.5


def test_constants_that_no_draws_connect_come_to_rest():
    targets = np.array([[0.0, 0.0, -900.0, -900.0], [-900.0, -900.0, 0.0, 0.0]])
    mixture = log_mixture(targets, np.array([2, 2]))
    assert np.isfinite(mixture).all()
    assert Standing.of(targets[0] - mixture).shares.tolist() == pytest.approx([0.5, 0.5, 0, 0])


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.9, 1.5])
def test_khat_is_that_of_psis(shape):
    ratios = np.log(np.random.default_rng(2).pareto(1 / shape, 1_000) + 1)
    found, psis = Standing.of(ratios).khat, array_stats.psislw(-ratios)[1]  # which takes log-likelihoods, so the sign
    assert found == pytest.approx(float(psis), abs=0.01)  # its tail is cut a little differently


def test_the_largest_among_draws_is_that_of_many_samples():
    rng = np.random.default_rng(3)
    values, shares = rng.exponential(1.0, (50, 2)), rng.dirichlet(np.ones(50))
    drawn = rng.choice(50, (20_000, 30), p=shares)
    largest = values[drawn].max(axis=1)
    error = largest.std(axis=0) / np.sqrt(20_000)
    found = largest_among(values, shares, 30, np.argsort(values, axis=0))
    assert (np.abs(found - largest.mean(axis=0)) < 5 * error).all()


def test_one_draw_is_its_mean_and_very_many_the_largest_with_a_share():
    values, shares, order = np.array([1.0, 2.0, 9.0]), np.array([0.5, 0.5, 0.0]), np.arange(3)
    assert largest_among(values, shares, 1, order) == pytest.approx(1.5)
    assert largest_among(values, shares, 10_000, order) == pytest.approx(2.0)


@pytest.mark.parametrize("stored", [200, 1_000, 4_000])
def test_the_expected_largest_reaches_beyond_the_stored_draws(stored):
    """Of 1,000 exponential draws it is the harmonic number of 1,000, of as many stored ones as there are."""
    values = np.random.default_rng(6).exponential(1.0, (stored, 400))
    found = expected_largest(values, np.full(stored, 1 / stored), 1_000)
    exact = np.sum(1 / np.arange(1, 1_001))
    # A bias of a third of what the largest of 1,000 scatters by itself, pi / sqrt(6), and the error of 400 samples.
    assert abs(found.mean() - exact) < np.pi / np.sqrt(6) / 3 + 4 * found.std() / np.sqrt(400)
    if stored == 200:
        taken = largest_among(values, np.full(stored, 1 / stored), 1_000, np.argsort(values, axis=0))
        assert taken.mean() < exact - 1


def test_what_is_impossible_has_no_share_unless_it_has_no_weight():
    log_lik = np.array([[-1.0, -2.0], [-1.0, IMPOSSIBLE]], np.float32)
    pool = Pool(log_lik, np.array([1, 1]), np.zeros(2))
    assert pool.standing(Terms(np.array([1.0, 1.0]))).shares.tolist() == [1.0, 0.0]
    assert pool.standing(Terms(np.array([1.0, 0.0]))).shares.tolist() == [0.5, 0.5]
    cut = Terms(np.array([1.0, 1.0]), 0.0, -4.0, 0.0)
    assert cut.added(log_lik).tolist() == [[-1.0, -2.0], [-1.0, -4.0]]


def test_rows_add_what_the_terms_say():
    terms = Terms(np.array([0.5, 1.0]), np.array([-1.0, 0.0]), np.array([-1.0, -9.0]), np.array([0.0, 9.0]))
    assert terms.added(np.array([[-9.0, -3.0], [-2.0, -3.0]])).tolist() == [[-1.0, -3.0], [-0.5, -3.0]]
