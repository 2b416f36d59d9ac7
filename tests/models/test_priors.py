"""Priors against numerical integrals and against NumPyro's own distributions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.integrate import quad

from alphasynth.errors import InputError
from alphasynth.models.coefficient_priors import LkjPrior, NormalPrior, ScaleMixturePrior
from alphasynth.models.priors import HalfCauchyPrior, LinearPrior


@pytest.fixture(autouse=True)
def _in_64_bit():
    with jax.enable_x64(True):
        yield


def half_t3(sigma):
    return 2 * stats.t(3).pdf(sigma)


@pytest.mark.parametrize("beta", [0.0, 0.003, 0.02, 0.3, -1.0, 4.6, 12.0, -20.0])
def test_scales_are_integrated_out(beta):
    """To 1e-4: what the constants' comment in priors.py promises."""

    def integrand(log_sigma):
        sigma = math.exp(log_sigma)
        return math.exp(-0.5 * (beta / sigma) ** 2) / math.sqrt(2 * math.pi) * half_t3(sigma)

    expected = math.log(quad(integrand, math.log(0.01), 12, limit=500, epsabs=0, epsrel=1e-9, points=[-2, 0, 2])[0])
    assert float(ScaleMixturePrior().log_density(jnp.array([beta]), 1)) == pytest.approx(expected, abs=1e-4)


def test_scale_mixture_is_a_density():
    log_beta = np.linspace(-12, 7, 4000)
    log_density = jax.vmap(lambda b: ScaleMixturePrior().log_density(b[None], 1))(jnp.exp(log_beta))
    total = 2 * np.trapezoid(np.exp(log_density + log_beta), log_beta)
    lost = quad(half_t3, 0, 0.01)[0]  # the scales below the smallest
    assert total == pytest.approx(1 - lost, abs=1e-4)


def test_coefficients_are_independent_where_they_should_be():
    u = jnp.array([0.3, -2.0, 5.0])
    for prior in (ScaleMixturePrior(), NormalPrior(2.0)):
        one_by_one = sum(float(prior.log_density(u[i : i + 1], 1)) for i in range(3))
        assert float(prior.log_density(u, 3)) == pytest.approx(one_by_one, rel=1e-12)
    assert float(NormalPrior(2.0).log_density(u, 3)) == pytest.approx(float(dist.Normal(0, 2.0).log_prob(u).sum()))


@pytest.mark.slow
def test_lkj_prior_is_the_stan_scripts():
    """Against the same prior written with NumPyro's distributions; the Jacobian by automatic differentiation."""
    K, prior = 3, LkjPrior()
    u = 0.3 * jnp.arange(prior.size(K)) - 1
    transform = dist.transforms.CorrCholeskyTransform()
    factor, sigma = transform(u[2 * K :]), 0.01 + jnp.exp(u[K : 2 * K])
    covariance = jnp.diag(sigma) @ factor @ factor.T @ jnp.diag(sigma)
    free = jnp.tril_indices(K, -1)
    jacobian = jnp.linalg.slogdet(jax.jacobian(lambda v: transform(v)[free])(u[2 * K :]))[1] + u[K : 2 * K].sum()
    expected = (
        dist.MultivariateNormal(jnp.zeros(K), covariance_matrix=covariance).log_prob(u[:K])
        + jnp.log(jnp.array([half_t3(float(s)) for s in sigma])).sum()
        + dist.LKJCholesky(K, 6.0).log_prob(factor)
        + jacobian
    )
    assert float(prior.log_density(u, K)) == pytest.approx(float(expected), rel=1e-10)
    theta = prior.constrain(u, K)
    np.testing.assert_allclose(np.diag(theta["correlation"]), 1)
    np.testing.assert_allclose(theta["sigma"], sigma)


def test_lkj_at_one_coefficient_is_the_scale_mixture_before_integration():
    beta = 1.3
    above = np.linspace(-15, 8, 8000)  # log of the scale's excess over the smallest
    joint = jax.vmap(lambda s: LkjPrior().log_density(jnp.array([beta, s]), 1))(above)
    integrated = math.log(np.trapezoid(np.exp(joint), above))
    assert integrated == pytest.approx(float(ScaleMixturePrior().log_density(jnp.array([beta]), 1)), abs=1e-4)


def test_dispersion_prior_is_half_cauchy_in_the_reciprocal():
    log_phi = 1.7
    expected = float(dist.HalfCauchy(5.0).log_prob(math.exp(-log_phi))) - log_phi
    assert float(HalfCauchyPrior().log_density(log_phi)) == pytest.approx(expected)
    for extreme in (-400.0, 400.0):
        assert math.isfinite(float(HalfCauchyPrior().log_density(extreme)))


def test_count_prior_puts_the_dispersion_last():
    prior = LinearPrior(NormalPrior(1.0), 2, HalfCauchyPrior())
    theta = prior.constrain(jnp.array([0.1, 0.2, math.log(7.0)]))
    assert prior.size == 3
    np.testing.assert_allclose(theta["beta"], [0.1, 0.2])
    np.testing.assert_allclose(theta["phi"], 7)


@pytest.mark.parametrize(
    "make",
    [
        lambda: NormalPrior(0),
        lambda: LkjPrior(-1),
        lambda: HalfCauchyPrior(math.inf),
        lambda: ScaleMixturePrior(0.0),
        lambda: ScaleMixturePrior(1.0),
        lambda: NormalPrior("wide"),
        lambda: LkjPrior(6.0, 0.0),
    ],
)
def test_impossible_scales_are_refused(make):
    with pytest.raises(InputError, match="must"):
        make()
