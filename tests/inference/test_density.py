"""The streamed density, its derivatives and the mode against plain computations on every record."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import minimize

from alphasynth.inference.contribution import weighted
from alphasynth.inference.density import Data, Target, derivatives, log_density, smooth_log_density, taking_part
from alphasynth.inference.mode import find_mode
from alphasynth.models.coefficient_priors import NormalPrior
from alphasynth.models.model import capacity


@pytest.fixture(autouse=True)
def _in_64_bit():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def weighted_problem(make_problem, regression):
    """A regression whose weights differ between equal rows, and the plain log density of every record."""
    alpha = np.random.default_rng(3).choice([0.0, 0.3, 1.0], len(regression))
    problem = make_problem(regression, "visits ~ age + C(sex)", alpha=alpha, prior=NormalPrior(2.0))
    records = problem.records
    target = Target.of(problem.model, problem.rows, problem.rows.total(records.collapse(alpha) * records.counts))
    X = np.column_stack([np.ones(400), regression["age"], regression["sex"] == "m", regression["sex"] == "x"])

    def plain(u):
        phi, mu = np.exp(u[-1]), np.exp(X @ u[:-1])
        log_lik = stats.nbinom(phi, phi / (phi + mu)).logpmf(regression["visits"])
        cauchy = stats.halfcauchy(scale=5).logpdf(1 / phi) - u[-1]
        return alpha @ log_lik + stats.norm(0, 2).logpdf(u[:-1]).sum() + cauchy

    return target, plain


U = np.array([[0.5, 0.02, 0.3, -0.4, 0.7], [0.4, 0.021, 0.2, -0.1, 1.5], [0.0, 0.0, 0.0, 0.0, 0.0]])


def test_grouped_density_equals_the_sum_over_records(weighted_problem):
    target, plain = weighted_problem
    np.testing.assert_allclose(log_density(target.model, U, target.data), [plain(u) for u in U], rtol=1e-10)


def test_derivatives_equal_differences(weighted_problem):
    target, _ = weighted_problem
    data = taking_part(jax.tree.map(jnp.asarray, target.data))
    score, three = (jax.jit(partial(function, target.model)) for function in (log_density, derivatives))
    value = lambda u: float(score(u[None], target.data)[0])  # noqa: E731
    got, gradient, hessian = three(U[0], data)
    assert float(got) == pytest.approx(value(U[0]))
    steps = np.diag([1e-5, 1e-7, 1e-5, 1e-5, 1e-5])
    numerical = [(value(U[0] + h) - value(U[0] - h)) / (2 * h.max()) for h in steps]
    np.testing.assert_allclose(gradient, numerical, rtol=1e-4)
    gradient_at = lambda u: np.asarray(three(u, data)[1])  # noqa: E731
    numerical = np.array([(gradient_at(U[0] + h) - gradient_at(U[0] - h)) / (2 * h.max()) for h in steps])
    np.testing.assert_allclose(hessian, numerical, rtol=1e-4, atol=1e-4 * np.abs(hessian).max())
    np.testing.assert_allclose(jax.grad(smooth_log_density, argnums=1)(target.model, jnp.asarray(U[0]), data), gradient)


def test_newton_finds_the_mode(weighted_problem):
    target, plain = weighted_problem
    mode = find_mode(target.model, target.start, target.data)
    scales = np.array([1, 0.01, 1, 1, 1])
    best = minimize(
        lambda v: -plain(v * scales), np.asarray(mode.u) / scales, method="Nelder-Mead", options={"fatol": 1e-9}
    )
    assert plain(np.asarray(mode.u)) >= -best.fun - 1e-5


def test_mode_is_found_from_far_away(weighted_problem):
    target, _ = weighted_problem
    near = find_mode(target.model, target.start, target.data)
    for start in (np.zeros(5), np.array([3.0, 0.1, -2.0, 2.0, -3.0]), np.array([-5.0, 0.0, 0.0, 0.0, 8.0])):
        far = find_mode(target.model, start, target.data)
        spread = np.sqrt(np.diag(near.factor @ near.factor.T))
        assert (np.abs(np.asarray(far.u - near.u)) < 0.01 * spread).all()


@pytest.mark.parametrize("size", [2, 31, 32, 33, 1024, 1025])
def test_padding_and_blocks_change_nothing(make_problem, size):
    y = np.random.default_rng(1).permutation(5000)[:size]
    problem = make_problem(pd.DataFrame({"y": y}), family="poisson")
    assert len(problem.rows.columns["y"]) == capacity(size)
    target = Target.of(problem.model, problem.rows, problem.rows.total(np.ones(size)))
    u = np.array([[5.0]])
    prior = float(problem.model.prior.log_density(u[0]))
    assert float(log_density(problem.model, u, target.data)[0]) == pytest.approx(
        stats.poisson(np.exp(5)).logpmf(y).sum() + prior, rel=1e-12
    )


def test_rows_of_weight_zero_take_no_part_not_even_in_derivatives():
    class Spoiled:
        """Log-likelihood log(x) * u: infinite with undefined derivatives at x = 0."""

        class prior:
            size = 1

            @staticmethod
            def log_density(u):
                return -0.5 * jnp.sum(u**2)

            @staticmethod
            def constrain(u):
                return {"u": u[0]}

            @staticmethod
            def smoothed():
                return Spoiled.prior

        @staticmethod
        def log_lik(theta, columns):
            return jnp.log(columns["x"]) * jnp.sqrt(columns["x"]) * theta["u"] / columns["x"]

    x, weight = np.ones(1024), np.zeros(1024)
    x[:3], weight[:3] = [0.0, np.e, 0.0], [0.0, 2.0, 0.0]
    data = Data({"x": x}, weight, np.int64(3))
    value, gradient, hessian = derivatives(Spoiled, jnp.array([0.5]), taking_part(jax.tree.map(jnp.asarray, data)))
    assert np.isfinite([value, *gradient, *hessian.ravel()]).all()
    assert np.isfinite(log_density(Spoiled, np.array([[0.5]]), data)).all()


def test_weight_zero_silences_what_is_not_a_number():
    alpha, log_lik = np.array([0.0, 0.0, 0.5]), np.array([-np.inf, np.nan, -2.0])
    for xp in (np, jnp):
        assert weighted(alpha, log_lik, xp).tolist() == [0.0, 0.0, -1.0]
