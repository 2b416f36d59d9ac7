"""The exact sampler: bits, acceptance to the last digit, and draws whose distribution is the target's."""

from __future__ import annotations

import secrets
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from alphasynth.errors import PrivacyFault
from alphasynth.privacy import exponential
from alphasynth.privacy.exponential import accept_exp, draw
from alphasynth.privacy.randomness import Stream, child, key_of, without_hidden


def stream(*seed: int) -> Stream:
    return Stream(np.random.SeedSequence(list(seed)))


def test_bits_are_uniform_and_belong_to_their_key():
    numbers = np.array([s.below(1_000) for s in [stream(1)] for _ in range(20_000)])
    assert stats.chisquare(np.bincount(numbers, minlength=1_000)).pvalue > 1e-4
    one, again, other = stream(7), stream(7), stream(8)
    first = [one.bits(61) for _ in range(500)]
    assert first == [again.bits(61) for _ in range(500)]
    assert first != [other.bits(61) for _ in range(500)]
    assert max(number.bit_length() for number in first) == 61
    child = np.random.SeedSequence(7, spawn_key=(0,))
    assert Stream(child).bits(128) != stream(7).bits(128)


def test_nothing_depends_on_the_low_bits_of_a_seed():
    """First draws of 4,000 seeds in a row: uniform, and neither parity nor the seed before says anything of them."""
    first = np.array([stream(seed).below(1 << 32) / 2**32 for seed in range(4_000)])
    assert stats.kstest(first, "uniform").pvalue > 1e-3
    assert stats.ks_2samp(first[::2], first[1::2]).pvalue > 1e-3
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4 / np.sqrt(4_000)


@settings(max_examples=200, deadline=None)
@given(st.fractions(-2_000, 0), st.integers(30, 90))
def test_enclosures_hold_the_exponential(exponent, digits):
    low, high = exponential._enclose(exponent, digits)
    with mpmath.workdps(digits + 40):
        exact = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= exact <= mpmath.mpf(high.numerator) / high.denominator
    if exponent > -10 * digits:
        assert high - low <= high * Fraction(1, 10 ** (digits - 6))


@pytest.mark.parametrize("probability", [0.5, 0.01, 0.999])
def test_acceptance_is_as_likely_as_it_says(probability):
    source = stream(3)
    exponent = Fraction(np.log(probability))
    number = sum(accept_exp(source, exponent) for _ in range(20_000))
    assert stats.binomtest(number, 20_000, float(mpmath.exp(float(exponent)))).pvalue > 1e-4


def test_undecided_bits_are_drawn_on(monkeypatch):
    """With one bit at a time most comparisons go on; the probability stays what it is."""
    monkeypatch.setattr(exponential, "BITS", 1)
    source = stream(4)
    number = sum(accept_exp(source, Fraction(-1)) for _ in range(20_000))
    assert stats.binomtest(number, 20_000, float(np.exp(-1))).pvalue > 1e-4


def exact_probabilities(prior, cost, quantum):
    with mpmath.workdps(60):
        weights = [
            int(p) * mpmath.exp(-mpmath.mpf(int(c)) * quantum.numerator / quantum.denominator)
            for p, c in zip(prior, cost, strict=True)
        ]
        total = mpmath.fsum(weights)
        return np.array([float(w / total) for w in weights])


@pytest.mark.parametrize("seed", range(3))
def test_draws_have_the_targets_distribution(seed):
    """Chi-square over points of very different probabilities, those below 5 expected draws taken together."""
    rng = np.random.default_rng(seed)
    prior, cost = rng.integers(1, 1 << 40, 60), rng.integers(0, 9_000_000, 60)
    quantum = Fraction(4) / 2**20
    drawn = draw(stream(seed, 5), prior, cost, quantum, 20_000)
    expected = 20_000 * exact_probabilities(prior, cost, quantum)
    rare = expected < 5
    seen = np.bincount(drawn, minlength=60)
    groups = [np.append(part[~rare], part[rare].sum()) for part in (seen, expected)]
    assert stats.chisquare(*groups).pvalue > 1e-4


def test_draws_on_a_fine_grid_pass_kolmogorovs_test():
    """100,001 points of a normal: far more points than draws, so each distance is nearly that of a continuous law."""
    x = np.linspace(-8, 8, 100_001)
    cost = np.rint(x**2 / 2 / 2**-20).astype(np.int64)
    drawn = draw(stream(11), np.ones(len(x), np.int64), cost, Fraction(1, 2**20), 5_000)
    assert stats.kstest(x[drawn], "norm").pvalue > 1e-3


def test_acceptance_mends_what_ceilings_round_up(monkeypatch):
    """With a scale of 4 every ceiling is far above its weight: only the acceptance makes the distribution right."""
    monkeypatch.setattr(exponential, "SCALE", 4)
    rng = np.random.default_rng(6)
    prior, cost = rng.integers(1, 50, 12), rng.integers(0, 40, 12)
    quantum = Fraction(1, 10)
    drawn = draw(stream(6), prior, cost, quantum, 20_000)
    expected = 20_000 * exact_probabilities(prior, cost, quantum)
    assert expected.min() > 5
    assert stats.chisquare(np.bincount(drawn, minlength=12), expected).pvalue > 1e-4
    monkeypatch.setattr(exponential, "accept_exp", lambda *_: True)
    proposed = draw(stream(6), prior, cost, quantum, 20_000)
    assert stats.chisquare(np.bincount(proposed, minlength=12), expected).pvalue < 1e-9


def test_a_point_below_all_floating_point_can_still_be_drawn(monkeypatch):
    """A weight of exp(-800) is 0 in floating point; its integer ceiling is 1, so it is proposed and then judged."""
    judged = []

    def spy(source, exponent, factor=Fraction(1)):
        judged.append((exponent, factor))
        return True

    monkeypatch.setattr(exponential, "accept_exp", spy)
    monkeypatch.setattr(exponential, "SCALE", 1)
    draw(stream(1), np.array([1, 1]), np.array([0, 800]), Fraction(1), 50)
    assert {round(float(exponent)) for exponent, _ in judged} == {0, -800}
    assert all(factor <= 1 for _, factor in judged)


def test_probabilities_above_one_are_a_fault():
    with pytest.raises(PrivacyFault, match="at most 1"):
        accept_exp(stream(1), Fraction(0), Fraction(3, 2))


def test_keys_without_a_seed_hold_the_operating_systems_entropy(monkeypatch):
    """NumPy takes 128 bits from `secrets`."""
    asked = []
    real = secrets.randbits
    monkeypatch.setattr(secrets, "randbits", lambda bits: asked.append(bits) or real(bits))
    keys = [np.random.SeedSequence() for _ in range(50)]
    assert len({key.entropy for key in keys}) == 50
    assert min(key.entropy.bit_length() for key in keys) > 100


def test_noise_is_not_decided_by_what_generators_are_made_from():
    """Entropy and path of a key without a seed do not tell its stream; a child derived again does."""
    key = key_of(None)
    for own in (key, child(key, 3, 1)):
        told = np.random.SeedSequence(own.entropy, spawn_key=own.spawn_key)
        assert np.random.default_rng(told).integers(2**63) == np.random.default_rng(own).integers(2**63)
        assert Stream(told).bits(128) != Stream(own).bits(128)
        assert Stream(without_hidden(own)).bits(128) == Stream(told).bits(128)
    assert Stream(child(key, 3, 1)).bits(128) == Stream(child(key, 3, 1)).bits(128)
    assert Stream(key_of(7)).bits(128) == Stream(np.random.SeedSequence(7)).bits(128)
