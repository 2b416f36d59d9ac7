"""Whole-number noise: exactly the discrete Laplace distribution, and exactly the loss that is stated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from alphasynth.privacy.noise import discrete_laplace, with_noise
from alphasynth.privacy.randomness import Stream


def probabilities(scale, far):
    """Of -far, ..., far: (1 - r) / (1 + r) r^|z|, r = exp(-1 / scale)."""
    ratio = math.exp(-1 / scale)
    z = np.arange(-far, far + 1)
    return z, (1 - ratio) / (1 + ratio) * ratio ** np.abs(z)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2), Fraction(40)])
def test_the_distribution_is_the_discrete_laplace_one(scale):
    stream, number, far = Stream(np.random.SeedSequence([1, scale.numerator])), 4_000, int(4 * scale) + 2
    drawn = np.array([discrete_laplace(stream, scale) for _ in range(number)])
    z, p = probabilities(scale, far)
    inside = np.clip(drawn, -far, far)
    expected = number * p
    expected[[0, -1]] += number * (1 - p.sum()) / 2
    seen = np.array([(inside == value).sum() for value in z])
    # A seed is fixed; a right sampler fails at this level once in 10,000 seeds.
    assert stats.chisquare(seen, expected).pvalue > 1e-4


def test_zero_is_not_twice_as_likely():
    stream = Stream(np.random.SeedSequence(5))
    zeros = np.mean([discrete_laplace(stream, Fraction(1)) == 0 for _ in range(6_000)])
    p = (1 - math.exp(-1)) / (1 + math.exp(-1))
    assert zeros == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 6_000))


@given(st.integers(1, 9), st.floats(0.05, 4.0), st.integers(-9, 9), st.integers(-30, 30))
@settings(max_examples=100, deadline=None)
def test_a_records_loss_is_its_part_of_epsilon(reach, epsilon, shift, seen):
    """The log ratio of noisy sums that differ by a shift, at any outcome, is at most epsilon |shift| / reach."""
    scale = reach / Fraction(epsilon)
    loss = abs((abs(Fraction(seen - shift)) - abs(Fraction(seen))) / scale)
    assert loss <= Fraction(epsilon) * abs(shift) / reach
    if abs(shift) <= reach:
        assert loss <= Fraction(epsilon)


def test_each_entry_has_noise_of_its_own():
    noisy = with_noise(Stream(np.random.SeedSequence(2)), np.zeros(50, np.int64), 1 << 20, 0.5)
    assert len(set(noisy.tolist())) > 45
    assert all(isinstance(value, int) for value in noisy)


def test_a_planted_floating_point_attack_fails():
    """Sums far apart in floating point: noise as a float would lose its last bits, and with them a neighbour shows."""
    big = 2**60
    noisy = [with_noise(Stream(np.random.SeedSequence(i)), np.array([big + 1], object), 1, 1.0)[0] for i in range(200)]
    assert {value % 2 for value in noisy} == {0, 1}, "the last bit is noise too"
