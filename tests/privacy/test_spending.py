"""A budget in exact fractions: what is spent, the noise that it buys, and private choices."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError, PrivacyFault
from alphasynth.privacy.randomness import Stream
from alphasynth.privacy.spending import Sensitivity, Spending


@settings(max_examples=30)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.booleans())
def test_what_is_spent_is_what_there_is(parts, pure):
    spending = Spending(Fraction(1, 7), pure)
    stream, sums, moves = Stream(np.random.SeedSequence(1)), np.zeros(3, np.int64), Sensitivity(1, 1)
    for part in parts:
        spending.noisy(stream, sums, moves, "counts", Fraction(part, sum(parts)))
    assert sum(cost for _, cost in spending.spent) == spending.total
    with pytest.raises(PrivacyFault, match="no more must be spent than there is"):
        spending.noisy(stream, sums, moves, "counts", Fraction(1, 10**9))


def test_what_a_promise_rests_on_is_checked_without_assertions():
    """`python -O` drops these."""
    spending = Spending(Fraction(1, 7), pure=False)
    with pytest.raises(PrivacyFault, match="must cost something, found 'counts' for nothing"):
        spending.take("counts", Fraction(0))
    spending.take("counts", Fraction(2, 3))
    with pytest.raises(PrivacyFault, match="all of the budget must be spent"):
        spending.check_spent()
    assert spending.measured[-1].cost == Fraction(2, 21)
    spending.take("more", Fraction(1, 3))
    spending.check_spent()
    code = (
        "from fractions import Fraction; from alphasynth.privacy.spending import Spending; "
        "Spending(Fraction(1), False).take('counts', Fraction(2))"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=False)
    assert "PrivacyFault: no more must be spent than there is, found 'counts' beyond that" in done.stderr


@pytest.mark.parametrize("pure", [False, True])
def test_noise_is_what_its_cost_buys(pure):
    """Rho is the squared sensitivity over twice the variance; a pure epsilon is the sensitivity over the scale."""
    spending = Spending(Fraction(1, 10), pure)
    zeros, moves = np.zeros(40_000, np.int64), Sensitivity(12, 6)
    noise, variance = spending.noisy(Stream(np.random.SeedSequence(3)), zeros, moves, "counts", Fraction(1, 2))
    wanted = 2 * (6 / Fraction(1, 20)) ** 2 if pure else Fraction(12) / (2 * Fraction(1, 20))
    assert variance >= float(wanted) * (1 - 1e-12)
    kurtosis = 6 if pure else 3  # of Laplace and of normal numbers: the variance of a variance is (kurtosis - 1) / n
    assert abs(noise.var() / variance - 1) < 4 * np.sqrt((kurtosis - 1) / len(noise))


def test_choices_are_those_of_the_exponential_mechanism():
    scores, drawn = np.array([0, 3, 5]), []
    for number in range(4_000):
        spending = Spending(Fraction(1, 50), False)
        drawn.append(spending.choose(Stream(np.random.SeedSequence(number)), scores, 1, "choice", Fraction(1)))
    share = np.exp(scores * np.sqrt(8 / 50) / 2)
    share /= share.sum()
    found = np.bincount(drawn, minlength=3) / len(drawn)
    assert (np.abs(found - share) < 4 * np.sqrt(share * (1 - share) / len(drawn))).all()


@pytest.mark.parametrize("pure", [False, True])
def test_a_planted_floating_point_attack_fails(pure):
    """Sums beyond what floats hold: as floats they would lose their last bits, and with them a neighbour shows."""
    sums = np.full(200, 2**60 + 1)
    spending = Spending(Fraction(1), pure)
    noisy, _ = spending.noisy(Stream(np.random.SeedSequence(1)), sums, Sensitivity(1, 1), "counts", Fraction(1))
    assert noisy.dtype == np.int64
    assert set((noisy % 2).tolist()) == {0, 1}, "the last bit is noise too"
    assert np.abs(noisy - sums).max() < 100


@pytest.mark.parametrize("pure", [False, True])
def test_noise_that_64_bits_do_not_hold_is_refused(pure):
    """And what is not refused is far from the end of 64 bits: more than 2,000 scales of Laplace noise."""
    stream, sums = Stream(np.random.SeedSequence(1)), np.zeros(50, np.int64)
    moves = Sensitivity(1 << 40, 1 << 20)
    with pytest.raises(InputError, match="epsilon must be larger for noise that fits in 64 bits"):
        Spending(Fraction(1, 1 << (34 if pure else 68)), pure).noisy(stream, sums, moves, "counts", Fraction(1))
    most = Spending(Fraction(1, 1 << (31 if pure else 63)), pure)
    noisy, variance = most.noisy(stream, sums, moves, "counts", Fraction(1))
    assert 0 < np.abs(noisy).max() < 60 * variance**0.5 < 2**63 / 30
