"""Scores of every family against automatic derivatives of its log-likelihood."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alphasynth.errors import InputError
from alphasynth.inference.scores import Parameters, family_of
from alphasynth.models.coefficient_priors import NormalPrior
from alphasynth.models.families import FAMILIES
from alphasynth.tables.declared import Declared

K, ROWS = 3, 40
DECLARED = {
    "bernoulli": Declared(levels=("a", "b")),
    "categorical": Declared(levels=("a", "b", "c", "d")),
    "ordinal": Declared(levels=("a", "b", "c", "d")),
    "normal": Declared(limits=(-10.0, 10.0)),
    "log_normal": Declared(limits=(0.1, 100.0)),
    "gamma": Declared(limits=(0.1, 100.0)),
    "poisson": Declared(),
    "negative_binomial": Declared(),
    "zero_truncated_poisson": Declared(),
    "zero_truncated_negative_binomial": Declared(),
}


@pytest.fixture(autouse=True)
def _in_64_bit():
    with jax.enable_x64(True):
        yield


def made(family):
    """A model, its parameters' layout, a point, simulated columns and a design."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(ROWS), rng.normal(size=ROWS), rng.integers(0, 2, ROWS)])
    model = FAMILIES[family].model("y", DECLARED[family], NormalPrior(), K)
    parameters = Parameters(family_of(model), K - 1 if family == "ordinal" else K)
    w = 0.3 * rng.normal(size=parameters.size)
    if family == "ordinal":
        w[-3:] = [-1.0, 0.2, 1.1]
    u = parameters.coordinates(w[None])[0]
    theta = {name: np.asarray(value) for name, value in model.prior.constrain(u).items()}
    y = np.asarray(model.simulate(rng, theta, {"X": X}, ROWS), float)
    columns = {**parameters.family.read(y), "log_unit": np.zeros(ROWS)}
    return model, parameters, w, columns, X


def theta_of(family, parameters, w):
    """Parameters by name, differentiable."""
    split = parameters.family.predictors * parameters.terms
    theta, extra = {"beta": w[:split]}, w[split:]
    names = {"negative_binomial": "phi", "normal": "sd", "log_normal": "sd", "gamma": "shape"}
    names["zero_truncated_negative_binomial"] = "phi"
    if family in names:
        theta[names[family]] = jnp.exp(extra[0])
    if family == "ordinal":
        theta["cuts"] = extra
    return theta


@pytest.mark.parametrize("family", DECLARED)
def test_scores_are_derivatives_of_the_log_likelihood(family):
    model, parameters, w, columns, X = made(family)

    def log_lik(w, row):
        one = {name: column[row : row + 1] for name, column in {**columns, "X": X}.items()}
        return model.log_lik(theta_of(family, parameters, w), one)[0]

    expected = np.stack([np.asarray(jax.grad(log_lik)(w, row)) for row in range(ROWS)])
    terms = X.T[1:] if family == "ordinal" else X.T
    np.testing.assert_allclose(np.stack(parameters.scores(w, columns, terms), axis=1), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", DECLARED)
def test_coordinates_lead_back_to_the_parameters(family):
    model, parameters, w, _, _ = made(family)
    theta = model.prior.constrain(parameters.coordinates(w[None])[0])
    for name, value in theta_of(family, parameters, w).items():
        np.testing.assert_allclose(np.ravel(theta[name]), np.ravel(value), rtol=1e-9)


def test_cut_points_that_crossed_are_put_in_order():
    model, parameters, w, _, _ = made("ordinal")
    w[-3:] = [0.5, -2.0, 0.5]
    cuts = np.asarray(model.prior.constrain(parameters.coordinates(w[None])[0])["cuts"])
    assert (np.diff(cuts) > 0).all()


def test_parameters_beyond_a_familys_limits_are_brought_within():
    for family, extra in (("normal", -9.0), ("normal", 80.0), ("gamma", 90.0), ("negative_binomial", 1e6)):
        model, parameters, w, _, _ = made(family)
        w[-1] = extra
        u = parameters.coordinates(w[None])[0]
        assert np.isfinite(u).all()
        assert all(np.isfinite(value).all() for value in model.prior.constrain(u).values())


def test_a_family_without_scores_is_refused():
    model = FAMILIES["zero_inflated_poisson"].model("y", Declared(), NormalPrior(), 1)
    with pytest.raises(InputError, match="must have a column of a built-in family"):
        family_of(model)
