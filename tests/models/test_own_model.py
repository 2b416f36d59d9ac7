"""A user's own NumPyro model: it equals a built-in when it is one, and brings no data in by the back door."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.inference.laplace import Laplace
from alphasynth.mechanisms.fit import Problem, fit
from alphasynth.models.formula import Formula
from alphasynth.tables.records import Records


def poisson(X, y=None):
    beta = numpyro.sample("beta", dist.Normal(0.0, 2.5).expand([X.shape[1]]).to_event(1))
    with numpyro.plate("records", X.shape[0]):
        numpyro.sample("y", dist.Poisson(jnp.exp(X @ beta)), obs=y)


def zero_inflated(X, y=None):
    gate = numpyro.sample("gate", dist.Beta(1.0, 1.0))
    rate = numpyro.sample("rate", dist.HalfNormal(20.0))
    with numpyro.plate("records", X.shape[0]):
        numpyro.sample("count", dist.ZeroInflatedPoisson(gate, rate=rate), obs=y)


def bind(model, table, observed="y", formula="y ~ 1"):
    parsed = Formula.parse(formula)
    records = Records.from_table(table, [parsed.response, *parsed.covariates])
    with jax.enable_x64(True):
        bound, rows = syn.OwnModel(model, observed).bind(parsed, records)
    return Problem(records, bound, rows, Laplace())


@pytest.mark.slow
def test_a_poisson_of_ones_own_is_the_built_in(regression, make_problem, key):
    """The same density, so the same draws, up to where Newton's method stops."""
    built_in = make_problem(regression, "visits ~ age", family="poisson", prior=syn.NormalPrior(2.5))
    own = bind(poisson, regression, formula="visits ~ age")
    one, other = (fit(key, problem, np.full(problem.records.size, 0.7)) for problem in (built_in, own))
    spread = one.draws.theta["beta"].std(axis=0)
    assert np.abs(one.draws.theta["beta"] - other.draws.theta["beta"]).max() < 0.02 * spread.max()
    np.testing.assert_allclose(one.lipschitz.by_record, other.lipschitz.by_record, rtol=0.01)


@pytest.fixture(scope="module")
def zeros():
    rng = np.random.default_rng(8)
    return pd.DataFrame({"visits": rng.poisson(6.0, 800) * (rng.random(800) < 0.7)})


@pytest.mark.slow
def test_a_zero_inflated_count_goes_from_table_to_release(zeros):
    own = syn.OwnModel(zero_inflated, observed="count")
    s = syn.Synthesizer("visits ~ 1", family=own, mechanism="LW_final", m=4, seed=1).fit(zeros)
    theta = s.trail_.fits[0].draws.theta
    assert abs(theta["gate"].mean() - 0.3) < 0.06
    assert abs(theta["rate"].mean() - 6) < 0.4
    assert theta["rate"].shape == (1000,)
    for table in s.sample():
        assert table["visits"].dtype == zeros["visits"].dtype
        assert abs((table["visits"] == 0).mean() - 0.3) < 0.15


@pytest.mark.slow
def test_an_own_model_runs_on_every_sampler(zeros):
    own = syn.OwnModel(zero_inflated, observed="count")
    means = []
    for sampler in (syn.Laplace(), syn.Nuts(), syn.Grid()):
        s = syn.Synthesizer("visits ~ 1", family=own, mechanism="Unweighted", m=1, seed=1, sampler=sampler).fit(zeros)
        means.append(s.trail_.fits[0].draws.theta["rate"].mean())
    assert np.ptp(means) < 0.05  # four standard errors of a mean of 1,000 draws with standard deviation 0.1


@pytest.mark.slow
def test_more_rows_than_the_table_has(zeros, monkeypatch):
    """Past the table's end, and past the number of rows simulated at a time, the rows are like the others."""
    monkeypatch.setattr("alphasynth.synthesis.simulation.ROWS_AT_A_TIME", 1_500)
    settings = {"family": syn.OwnModel(poisson, "y"), "mechanism": "Unweighted", "m": 1, "seed": 1, "rows": 4_000}
    values = syn.Synthesizer("visits ~ 1", **settings).fit(zeros).sample()[0]["visits"].to_numpy()
    for part in (values[:1_500], values[1_500:3_000], values[3_000:]):
        assert abs(part.mean() - zeros["visits"].mean()) < 0.5


def bounded(X, y=None):
    """A uniform on (0, top): records above the top have no likelihood at all."""
    top = numpyro.sample("top", dist.Uniform(9.0, 20.0))
    with numpyro.plate("records", X.shape[0]):
        numpyro.sample("y", dist.Uniform(0.0, top), obs=y)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["Unweighted", "LW", "SW", "LW_final"])
def test_records_without_a_likelihood_take_weight_zero_and_spoil_nothing(mechanism):
    rng = np.random.default_rng(2)
    inside = rng.uniform(0, 10, 300)
    table = pd.DataFrame({"y": [*inside[:150], 50.0, -3.0, *inside[150:]]})
    settings = {"family": syn.OwnModel(bounded, "y"), "mechanism": mechanism, "m": 1, "seed": 1}
    settings |= {"alpha": 0.5} if mechanism == "SW" else {}
    s = syn.Synthesizer("y ~ 1", **settings).fit(table)
    assert s.alpha_[[150, 151]].tolist() == [0.0, 0.0]
    assert s.lipschitz_.by_record[[150, 151]].tolist() == [0.0, 0.0]
    others = np.delete(s.alpha_, [150, 151])
    assert (others > 0).all()
    assert np.isfinite(s.lipschitz_.overall)
    assert (s.trail_.fits[-1].draws.theta["top"] >= inside.max()).all()
    assert s.sample()[0]["y"].dtype == np.float64


def centred(X, y=None):
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(beta + X[:, 0] - X.mean(), 1.0), obs=y)


def mean_of_y(X, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    shift = 0.0 if y is None else y.mean()
    numpyro.sample("y", dist.Normal(jnp.full(X.shape[0], mu) + shift, 1.0), obs=y)


def second_likelihood(X, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    numpyro.sample("y", dist.Normal(jnp.full(X.shape[0], mu), 1.0), obs=y)
    numpyro.factor("again", -0.5 * jnp.sum((0.0 if y is None else y - mu) ** 2))


def random_effects(X, y=None):
    with numpyro.plate("records", X.shape[0]):
        mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
        numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)


def summed(X, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    numpyro.sample("y", dist.Normal(jnp.full(X.shape[0], mu), 1.0).to_event(1), obs=y)


def scaled_by_the_table(X, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0 + (0.0 if y is None else jnp.abs(y).max())))
    numpyro.sample("y", dist.Normal(jnp.full(X.shape[0], mu), 1.0), obs=y)


def no_plate(X, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)


def no_parameters(X, y=None):
    numpyro.sample("y", dist.Normal(jnp.zeros(X.shape[0]), 1.0), obs=y)


def fixed(X, y=None):
    mu = numpyro.param("mu", 1.0)
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    numpyro.sample("y", dist.Normal(jnp.full(X.shape[0], mu), sigma), obs=y)


def discrete(X, y=None):
    group = numpyro.sample("group", dist.Bernoulli(0.5))
    numpyro.sample("y", dist.Normal(jnp.full(X.shape[0], 1.0 * group), 1.0), obs=y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "observed", "message"),
    [
        (poisson, "count", "must have a sample site 'count' that takes y"),
        (poisson, "beta", "must have a sample site 'beta' that takes y"),
        (centred, "y", "read its own row only"),
        (mean_of_y, "y", "read its own row only"),
        (second_likelihood, "y", r"only site 'y' may be observed .*found \['again'\]"),
        (random_effects, "y", "must not grow with the table, found that site 'mu' does"),
        (summed, "y", "one unscaled log probability per row"),
        (scaled_by_the_table, "y", "priors must read neither X nor y, found that of site 'mu'"),
        (no_plate, "y", "must give one value per row when y is None"),
        (no_parameters, "y", "parameters must be sample sites with priors, found none"),
        (fixed, "y", r"parameters must be sample sites with priors, found \['mu'\]"),
        ("poisson", "y", "the model must be a function of X and y, found 'poisson'"),
        (discrete, "y", "parameters must be continuous, found the discrete site 'group'"),
    ],
)
def test_models_that_break_the_contract_are_refused(model, observed, message):
    table = pd.DataFrame({"y": np.arange(1.0, 9.0), "x": [0, 1, 1, 3, 0, 5, 2, 2]})
    with pytest.raises(syn.InputError, match=message):
        bind(model, table, observed, "y ~ x")
