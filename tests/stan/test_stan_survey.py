"""Survey weights in the likelihood of a Stan program: the product takes the place of the log-likelihood, everywhere."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nbinom

import alphasynth as syn
from engines import has_module, need

pytestmark = pytest.mark.slow
OPTIONS = {"m": 1, "num_draws": 1_000, "public": ["wt"], "survey_weights": "wt", "survey_likelihood": True}


@pytest.fixture(scope="module", autouse=True)
def _stan():
    need(has_module("stan", "httpstan"), "no Stan (pip install 'alphasynth[stan]')")
    need(shutil.which("g++"), "no g++")


@pytest.fixture(scope="module")
def table():
    """Counts that are larger where the weights are, which sum to the number of rows; equal counts differ in them."""
    rng = np.random.default_rng(4)
    weights = np.repeat([0.0, 1.0, 2.0], [40, 120, 40])
    return pd.DataFrame({"y": rng.poisson(6 + 2 * weights), "wt": 37.5 * weights})


@pytest.fixture(scope="module")
def made(table):
    model = syn.OwnModel.from_stan("negative_binomial")
    return syn.Synthesizer("y ~ 1", family=model, mechanism="LW_final", k=0.9, seed=3, **OPTIONS).fit(table)


def log_lik(table, fit):
    """f of every record at every draw, from the parameters alone."""
    mu, phi = np.exp(fit.draws.theta["beta"])[:, :1], fit.draws.theta["phi"].reshape(-1, 1)
    return nbinom.logpmf(table["y"].to_numpy(), phi, phi / (phi + mu))


def test_rules_and_bounds_are_of_the_product(made, table):
    """Algorithm 1 and 3 by hand, with w f in the place of f."""
    w = table["wt"].to_numpy() / 37.5
    largest = [np.abs(w * log_lik(table, fit)).max(axis=0) for fit in made.trail_.fits]
    lw = 1 - (largest[0] - largest[0].min()) / np.ptp(largest[0])
    np.testing.assert_allclose(made.trail_.fits[1].alpha, lw, atol=1e-8)
    delta = (lw * largest[1]).max()
    capped = np.minimum(1, 0.9 * delta / np.where(largest[1] > 0, largest[1], 1e-300))
    np.testing.assert_allclose(made.alpha_, capped, rtol=1e-8)
    np.testing.assert_allclose(made.lipschitz_.by_record, made.alpha_ * largest[2], rtol=1e-8)
    assert made.guarantee_.weighted_by == "wt"


def test_draws_are_those_of_our_own_family(made, table):
    """Of 8 runs of ours the next lies within 8 of their standard deviations but once in 10^4 times (Student's t)."""
    ours = [
        syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", k=0.9, seed=seed, **OPTIONS).fit(
            table
        )
        for seed in range(8)
    ]
    for number, fit in enumerate(made.trail_.fits):
        means = [one.trail_.fits[number].draws.theta["beta"].mean() for one in ours]
        assert abs(fit.draws.theta["beta"].mean() - np.mean(means)) < 8 * np.std(means, ddof=1)


def test_weights_count_as_copies_do(table):
    """Unweighted by a rule, the posterior's mean is that of a table with so many copies; without weights it is not."""
    model = syn.OwnModel.from_stan("negative_binomial")
    copies = table.loc[table.index.repeat((table["wt"] / 37.5).astype(int))].reset_index(drop=True)

    def draws(data, **options):
        made = syn.Synthesizer("y ~ 1", family=model, mechanism="Unweighted", seed=3, **{**OPTIONS, **options})
        return made.fit(data).trail_.fits[0].draws.theta["beta"].reshape(-1)

    weighted, copied = draws(table), draws(copies, survey_likelihood=False)
    plain = draws(table, survey_likelihood=False)
    error = weighted.std() * np.sqrt(2 / 300)  # at least 300 draws' worth in each
    assert abs(weighted.mean() - copied.mean()) < 4.5 * error < abs(weighted.mean() - plain.mean())


def test_audits_and_trees_are_of_the_product(made, table):
    (found,) = made.audit_(["draw"])
    assert np.isfinite(found.loss)
    tree = made.to_arviz()
    w = table["wt"].to_numpy() / 37.5
    product = w * log_lik(table, made.trail_.fits[-1])
    held = np.asarray(tree["log_likelihood"]["y"].values).reshape(product.shape)
    np.testing.assert_allclose(held, product, rtol=1e-8, atol=1e-12)
    assert made.sample()[0]["y"].mean() > 0
