"""Log-likelihoods against exact arithmetic, simulators against moments."""

from __future__ import annotations

import jax
import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from alphasynth.errors import InputError
from alphasynth.models.coefficient_priors import ScaleMixturePrior
from alphasynth.models.count_functions import log_rising
from alphasynth.models.counts import LARGEST_COUNT, NegativeBinomial, Poisson, check_counts


@pytest.fixture(autouse=True)
def _in_64_bit():
    with jax.enable_x64(True):
        yield


def exact_log_rising(phi, y):
    with mpmath.workdps(60):
        return float(mpmath.loggamma(mpmath.mpf(phi) + y) - mpmath.loggamma(mpmath.mpf(phi)))


@given(log_phi=st.floats(-30, 60), y=st.integers(0, LARGEST_COUNT))
@settings(deadline=None, max_examples=300)
def test_log_rising_is_right_to_rounding(log_phi, y):
    phi = float(np.exp(log_phi))
    expected = exact_log_rising(phi, y)
    # Rounding of terms as large as the result or y, and of the quotient's logarithm.
    assert abs(float(log_rising(phi, float(y))) - expected) <= 1e-14 * (abs(expected) + y + 1) + 1e-13


@pytest.mark.parametrize("phi", [1e-3, 0.1, 1.0, 7.3, 100.0, 1e6, 1e12])
@pytest.mark.parametrize("y", [0.0, 1.0, 5.0, 80.0, 1e5])
def test_slopes_of_log_rising_are_differences_of_polygammas(phi, y):
    """By both arguments, and twice by phi, against sixty digits."""
    by_phi, by_y = jax.grad(log_rising, (0, 1))(phi, y)
    second = jax.grad(jax.grad(log_rising))(phi, y)
    with mpmath.workdps(60):
        low, high = mpmath.mpf(phi), mpmath.mpf(phi) + mpmath.mpf(y)
        assert float(by_phi) == pytest.approx(float(mpmath.digamma(high) - mpmath.digamma(low)), rel=1e-12)
        assert float(by_y) == pytest.approx(float(mpmath.digamma(high)), rel=1e-12, abs=1e-13)
        assert float(second) == pytest.approx(float(mpmath.psi(1, high) - mpmath.psi(1, low)), rel=1e-10)


def columns(y, X=None):
    y = np.asarray(y, float)
    from scipy.special import gammaln

    return {"y": y, "log_factorial": gammaln(y + 1)} | ({} if X is None else {"X": X})


@pytest.mark.parametrize("phi", [0.05, 1.0, 12.3, 400.0])
def test_negative_binomial_equals_scipys(phi):
    model = NegativeBinomial.with_coefficients(ScaleMixturePrior(), 1)
    y = np.array([0, 1, 5, 100, 1000])
    ours = model.log_lik({"beta": np.array([np.log(100)]), "phi": phi}, columns(y))
    np.testing.assert_allclose(ours, stats.nbinom(phi, phi / (phi + 100)).logpmf(y), rtol=1e-10)


@pytest.mark.parametrize("phi", [1e8, 1e15, 1e40])
def test_negative_binomial_becomes_poisson(phi):
    y = np.array([0, 3, 90, 100, 130])
    theta = {"beta": np.array([np.log(100.0)]), "phi": phi}
    ours = NegativeBinomial.with_coefficients(ScaleMixturePrior(), 1).log_lik(theta, columns(y))
    np.testing.assert_allclose(ours, stats.poisson(100).logpmf(y), rtol=1e-4 if phi == 1e8 else 1e-12)


def test_poisson_equals_scipys():
    X = np.array([[1.0, 0.0], [1.0, 2.0]])
    ours = Poisson.with_coefficients(ScaleMixturePrior(), 2).log_lik({"beta": np.array([1.0, 0.5])}, columns([3, 9], X))
    np.testing.assert_allclose(ours, stats.poisson(np.exp([1.0, 2.0])).logpmf([3, 9]), rtol=1e-12)


@pytest.mark.parametrize(("eta", "phi"), [(800.0, 3.0), (-800.0, 3.0), (5.0, 1e-30), (5.0, 1e300)])
def test_extreme_parameters_give_no_nan(eta, phi):
    model = NegativeBinomial.with_coefficients(ScaleMixturePrior(), 1)
    values = np.asarray(model.log_lik({"beta": np.array([eta]), "phi": phi}, columns([0, 1, 100, LARGEST_COUNT])))
    assert not np.isnan(values).any()
    assert (values <= 1e-9).all()


@pytest.mark.parametrize("family", [Poisson, NegativeBinomial])
def test_simulated_counts_have_the_models_moments(family):
    model = family.with_coefficients(ScaleMixturePrior(), 2)
    theta = {"beta": np.array([3.0, 0.5]), "phi": np.float64(4.0)}
    X = np.tile([1.0, 1.0], (200_000, 1))
    y = model.simulate(np.random.default_rng(1), theta, {"X": X}, 200_000)
    mean = np.exp(3.5)
    variance = mean + (mean**2 / 4 if family is NegativeBinomial else 0)
    assert abs(y.mean() - mean) < 5 * np.sqrt(variance / len(y))
    fourth = np.mean((y - y.mean()) ** 4)
    assert abs(y.var() - variance) < 5 * np.sqrt((fourth - variance**2) / len(y))


def test_simulation_survives_absurd_draws():
    model = NegativeBinomial.with_coefficients(ScaleMixturePrior(), 1)
    for eta, phi in [(700.0, 1.0), (-700.0, 1e-8), (5.0, 1e300)]:
        y = model.simulate(np.random.default_rng(1), {"beta": np.array([eta]), "phi": np.float64(phi)}, {}, 10)
        assert (y >= 0).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, -1, 2], "at least 0, found negative"),
        ([1.5, 2.0], "whole numbers, found fractions"),
        ([0, 0, 0], "nothing but zeros"),
        ([1, 2, 1_000_000_000], "at most 100,000,000, found larger"),
        (["a", "b"], "not numeric"),
        ([True, False], "not numeric"),
    ],
)
def test_what_is_no_count_is_refused(values, message):
    with pytest.raises(InputError, match=f"column 'y' must hold .*{message}"):
        check_counts("y", np.asarray(values))


def test_a_category_is_no_count():
    with pytest.raises(InputError, match="not numeric"):
        check_counts("y", pd.Categorical([1, 2]))
