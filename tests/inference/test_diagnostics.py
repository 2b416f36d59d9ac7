"""Diagnostics against ArviZ, an independent implementation, and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats

from alphasynth.inference.diagnostics import Diagnostics, compare_chains, khat, rank_normalise


def chains(kind):
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((4, 500, 2))
    if kind == "ties":
        return np.round(noise, 1)
    if kind == "drift":
        return noise + np.cumsum(rng.standard_normal((4, 500, 2)), axis=1) * 0.05
    if kind == "apart":
        return noise + np.arange(4)[:, None, None] * 0.2
    if kind == "alternating":
        return noise - 0.6 * np.roll(noise, 1, axis=1)
    return noise


@pytest.mark.parametrize("kind", ["independent", "ties", "drift", "apart", "alternating"])
def test_effective_size_and_rhat_equal_arviz(kind):
    draws = chains(kind)
    ess, rhat = compare_chains(draws)
    theirs = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk").min()
    assert ess == pytest.approx(theirs, rel=0.02)  # truncation of the autocorrelation differs by a pair
    assert rhat == pytest.approx(array_stats.rhat(draws, chain_axis=0, draw_axis=1).max(), rel=1e-9)


def test_ranks_share_ties():
    scores = rank_normalise(np.array([[[1.0], [1.0], [2.0]]]))
    expected = stats.norm.ppf((stats.rankdata([1.0, 1.0, 2.0]) - 0.375) / 3.25)
    np.testing.assert_allclose(scores.ravel(), expected)


@pytest.mark.parametrize("shape", [-0.5, 0.2, 0.6, 0.9])
def test_khat_equals_arviz_and_finds_the_tail(shape):
    samples = stats.genpareto(shape).rvs((20, 1, 4000), random_state=2) + 1e-3
    ours = np.array([khat(np.log(ratios[0])) for ratios in samples])
    theirs = [float(array_stats.pareto_khat(r, chain_axis=0, draw_axis=1, tail="right")) for r in samples]
    assert np.abs(ours - theirs).max() < 0.1  # their tail is cut a little differently
    # Standard error (1 + k) / sqrt(190) a sample, 20 samples; and the fit's pull towards 0.5, 10 parts in 200.
    assert abs(ours.mean() - shape) < 4 * (1 + shape) / np.sqrt(190 * 20) + 0.05 * abs(shape - 0.5)


def test_khat_of_equal_ratios_is_no_tail_and_of_none_is_hopeless():
    assert khat(np.zeros(1000)) == -np.inf
    assert khat(np.full(1000, -np.inf)) == np.inf


GOOD = {"sampler": "x", "num_draws": 4000, "acceptance": 0.8, "ess_bulk": 3000.0, "rhat": 1.001, "khat": 0.1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"acceptance": 0.004}, "acceptance 0.004, at least 0.01"),
        ({"ess_bulk": 399.0}, "bulk ESS 399, at least 400"),
        ({"rhat": 1.013}, "R-hat 1.013, at most 1.012"),
        ({"num_draws": 10_000, "rhat": 1.011}, "R-hat 1.011, at most 1.010"),
        ({"rhat": float("nan")}, "R-hat nan"),
        ({"khat": 0.71}, "k-hat 0.71, at most 0.7"),
        ({"divergences": 21}, "divergences 21, at most 0.5 %"),
        ({"edge_mass": 1e-6}, "edge mass 1e-06"),
        ({"num_draws": 1000, "ess_bulk": 249.0}, "bulk ESS 249, at least 250"),
        ({"num_draws": 1000, "rhat": 1.051}, "R-hat 1.051, at most 1.050"),
        ({"spacing": 0.51}, "spacing 0.51, at most 0.5 standard deviations"),
    ],
)
def test_each_limit_fails_when_it_is_broken(change, words):
    assert Diagnostics(**GOOD).failures() == []
    (failure,) = Diagnostics(**GOOD | change).failures()
    assert failure.startswith(words)
