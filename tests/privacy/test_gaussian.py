"""Discrete noise by the array: the distributions are right, and so is what decides where floating point cannot."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from alphasynth.privacy import gaussian
from alphasynth.privacy.gaussian import below_all, discrete_gaussian, discrete_laplace_all
from alphasynth.privacy.randomness import Stream

NUMBER = 40_000


def stream(seed: int = 20240601) -> Stream:
    return Stream(np.random.SeedSequence(seed))


def agree(drawn: np.ndarray, weight) -> None:
    """Chi-square at 1 in 10,000 of what was drawn against whole numbers weighed by `weight`."""
    z = np.arange(-2_000, 2_001)
    share = weight(z.astype(float))
    expected = len(drawn) * share / share.sum()
    kept = expected >= 5
    observed = np.array([(drawn == value).sum() for value in z[kept]])
    found = np.append(observed, len(drawn) - observed.sum())
    wanted = np.append(expected[kept], len(drawn) - expected[kept].sum())
    found, wanted = (found, wanted) if wanted[-1] >= 5 else (found[:-1], wanted[:-1])
    chi_square = ((found - wanted) ** 2 / wanted).sum()
    assert chi_square < stats.chi2.ppf(1 - 1e-4, len(wanted) - 1)


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), Fraction(9), Fraction(500, 7)])
def test_gaussian_noise_has_its_distribution(variance):
    agree(discrete_gaussian(stream(), variance, NUMBER), lambda z: np.exp(-(z**2) / (2 * float(variance))))


@pytest.mark.parametrize("scale", [1, 2, 30])
def test_laplace_noise_has_its_distribution(scale):
    agree(discrete_laplace_all(stream(), scale, NUMBER), lambda z: np.exp(-np.abs(z) / scale))


def test_exact_comparisons_give_the_same_distribution(monkeypatch):
    """With room so wide that floating point decides next to nothing, whole numbers do, and nothing changes."""
    calls = []
    true = gaussian.accept_exp
    monkeypatch.setattr(gaussian, "ROOM", 0.5)
    monkeypatch.setattr(gaussian, "accept_exp", lambda *given, **more: calls.append(1) or true(*given, **more))
    agree(discrete_gaussian(stream(), Fraction(9), 4_000), lambda z: np.exp(-(z**2) / 18))
    assert len(calls) > 4_000


def test_floating_point_and_exact_comparisons_agree(monkeypatch):
    """The same random numbers, judged by floats and in whole numbers: where floats decide, they are right."""
    sizes = [Fraction(number, 97) for number in range(1, 600)]
    one = gaussian.accept_exp_all(
        stream(), np.array([float(size) for size in sizes]), gaussian.LOOSE, lambda i: -sizes[i]
    )
    bits = stream().words(len(sizes))
    two = [
        gaussian.accept_exp(stream(), -size, number=int(each), bits=64) for size, each in zip(sizes, bits, strict=True)
    ]
    np.testing.assert_array_equal(one, two)


def test_large_noise_has_its_variance():
    variance = Fraction(10**9)
    drawn = discrete_gaussian(stream(), variance, NUMBER)
    # The variance of a sample of normal numbers has a relative standard error of sqrt(2 / NUMBER).
    assert abs(drawn.var() / 1e9 - 1) < 4 * np.sqrt(2 / NUMBER)


def test_numbers_below_a_bound_are_as_likely():
    drawn = below_all(stream(), 7, NUMBER)
    assert stats.chisquare(np.bincount(drawn, minlength=7)).pvalue > 1e-4
    assert below_all(stream(), 1, 5).tolist() == [0] * 5


def test_words_are_the_streams_bits():
    one, two = stream(), stream()
    assert one.bits(24) == two.bits(24)
    assert one.words(3_000).tolist() == [two.bits(64) for _ in range(3_000)]
    assert one.bits(8) == two.bits(8)
