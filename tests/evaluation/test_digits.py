"""Numbers with the digits that their error allows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphasynth.evaluation.digits import decimals_of, short, told

VALUES = st.floats(-1e12, 1e12, allow_nan=False)
ERRORS = st.floats(1e-4, 1e9)


@given(value=VALUES, error=ERRORS)
def test_rounding_is_small_beside_the_error(value, error):
    """Half a unit of the error's second digit is at most a twentieth of it; 1e-9 is arithmetic."""
    shown = float(told(value, error).replace(",", ""))
    assert abs(shown - value) <= error / 20 * (1 + 1e-9) + 1e-9 * abs(value)


@given(value=VALUES, error=ERRORS)
def test_no_digit_is_shown_that_the_error_swallows(value, error):
    """The last digit shown is worth at least a hundredth of the error."""
    _, _, behind = told(value, error).partition(".")
    assert 10.0 ** -len(behind) >= error / 100 * (1 - 1e-9) or not behind
    assert len(behind) == max(decimals_of(error), 0)


@given(error=st.floats(1e-280, 1e280))
def test_two_digits_of_an_error(error):
    """Rounded to its decimals, an error has two significant digits."""
    scaled = round(error * 10.0 ** decimals_of(error), 9)
    assert 9.5 <= scaled <= 99.5


@given(value=st.floats(allow_nan=True, allow_infinity=True), error=st.none() | st.floats(allow_nan=True))
def test_any_number_can_be_told(value, error):
    text = told(value, error)
    assert text
    assert len(text) <= 420  # the longest float without an exponent
    if math.isfinite(value):
        assert math.isfinite(float(text.replace(",", "")))


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (1234567.0, 25_000.0, "1,235,000"),
        (0.1, 0.0, "0.1"),
        (-0.00001, 0.5, "0.00"),
        (0.0, 1e-12, "0"),
        (1.23456789e-9, 1e-12, "1.2346e-09"),
        (5.0, float("nan"), "5"),
        (99.96, 0.0996, "99.96"),
        (3.0, None, "3"),
        (2e17, 1e15, "2e+17"),
    ],
)
def test_by_hand(value, error, text):
    assert told(value, error) == text


def test_without_an_error_four_digits_are_shown():
    assert told(3.14159) == short(3.14159) == "3.142"
