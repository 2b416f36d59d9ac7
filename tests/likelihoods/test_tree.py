"""Draws as ArviZ takes them: the same weights come back, chains are told apart, odd names can be held."""

from __future__ import annotations

import sys

import arviz_stats
import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.likelihoods import tree

# Sums of the same numbers, vectorised otherwise.
NEAR = 1e-11


@pytest.fixture(scope="module")
def paper(mixture):
    """LW and a re-weighting, on the paper's counts."""
    settings = {"family": "negative_binomial", "mechanism": "LW_final", "m": 2, "seed": 1, "k": 0.95}
    return syn.Synthesizer("y ~ 1", **settings).fit(mixture)


def test_weights_and_bounds_come_back(paper):
    first = syn.weights_from(paper.to_arviz("Unweighted"), syn.LW())
    np.testing.assert_allclose(first.alpha, paper.trail_.fits[1].alpha, atol=NEAR)
    final = syn.weights_from(paper.to_arviz("LW"), syn.Reweight(k=0.95), alpha=first)
    np.testing.assert_allclose(final.alpha, paper.alpha_, atol=NEAR)
    bounds = syn.bounds_from(paper.to_arviz(), alpha=final)
    np.testing.assert_allclose(bounds.lipschitz.overall, paper.lipschitz_.overall, rtol=NEAR)


def test_groups_hold_what_they_say(paper, mixture):
    made = paper.to_arviz()
    assert set(made.children) == {"posterior", "log_likelihood", "observed_data", "constant_data", "sample_stats"}
    assert made.posterior["beta"].dims == ("chain", "draw", "term")
    assert made.posterior["term"].values.tolist() == ["Intercept"]
    draws = paper.trail_.fits[-1].draws
    np.testing.assert_array_equal(made.posterior["phi"].values.ravel(), draws.theta["phi"])
    np.testing.assert_array_equal(made.observed_data["y"], mixture["y"])
    np.testing.assert_array_equal(made.constant_data["alpha"], paper.alpha_)
    np.testing.assert_array_equal(np.flatnonzero(made.sample_stats["released"]), np.sort(paper.picked_))
    assert made.sample_stats.attrs["rhat"] == draws.diagnostics.rhat
    assert not paper.to_arviz("Unweighted").sample_stats["released"].any()


def test_arviz_reads_it(paper):
    made = paper.to_arviz("Unweighted")
    summary = arviz_stats.summary(made, round_to="none")
    assert list(summary.index) == ["beta[Intercept]", "phi"]
    # The largest over the sampler's own coordinates, of which phi is the logarithm: ranks are the same.
    np.testing.assert_allclose(summary["r_hat"].max(), made.sample_stats.attrs["rhat"], atol=1e-6)
    f = made.log_likelihood["y"].values.reshape(1_000, -1)
    in_sample = (np.logaddexp.reduce(f, axis=0) - np.log(len(f))).sum()
    found = arviz_stats.loo(made)
    # Two parameters, so leaving one record out costs about two in all.
    assert 1 < in_sample - found.elpd < 4


def test_the_bare_log_likelihood_of_a_strict_mechanism(mixture):
    """Not what is cut, which is at most epsilon from its largest."""
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Censored", epsilon=1, m=1, seed=1).fit(mixture)
    group = made.to_arviz()
    mu = np.exp(group.posterior["beta"].values.ravel())
    y = mixture["y"].to_numpy()
    from scipy.stats import poisson

    np.testing.assert_allclose(
        group.log_likelihood["y"].values.reshape(len(mu), -1)[:5], poisson.logpmf(y, mu[:5, None]), rtol=1e-8
    )
    assert group.sizes.get("chain", group.posterior.sizes["chain"]) == 1  # independent draws


def test_several_columns_and_odd_names():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a/b": rng.poisson(3, 100), "draw": rng.poisson(5, 100)})
    made = syn.Synthesizer(
        ["`a/b` ~ 1", "draw ~ `a/b`"], family=["poisson", "poisson"], mechanism="LW", m=1, seed=1, weights="column"
    ).fit(table)
    group = made.to_arviz()
    assert set(group.log_likelihood.data_vars) == {"a_b", "draw_"}
    assert set(group.posterior.data_vars) >= {"a_b_beta", "draw__beta"}
    assert group.posterior["draw__beta"].sizes["draw__term"] == 2
    assert group.constant_data["alpha"].dims == ("record", "column")
    assert group.sample_stats.attrs["a_b_sampler"] == "Laplace"
    with pytest.raises(syn.InputError, match="name must be that of one variable"):
        syn.weights_from(group)


@pytest.fixture(scope="module")
def gaps():
    """A chain with gaps of numbers and of levels, and its table."""
    rng = np.random.default_rng(1)
    income = np.where(rng.random(200) < 0.2, np.nan, rng.poisson(30, 200))
    sex = np.where(rng.random(200) < 0.1, None, rng.choice(["f", "m"], 200))
    table = pd.DataFrame({"income": income, "sex": sex})
    declared = {"income": {"missing": "model"}, "sex": {"levels": ["f", "m"], "missing": "model"}}
    settings = {"family": ["poisson", "bernoulli"], "mechanism": "LW", "m": 1, "seed": 1, "declared": declared}
    return syn.Synthesizer(["income ~ 1", "sex ~ income"], **settings).fit(table), table


def test_gaps_are_gaps(gaps):
    """What stands in for them inside is no observation."""
    made, table = gaps
    observed = made.to_arviz(log_likelihood=False).observed_data
    np.testing.assert_array_equal(observed["income"], table["income"])
    assert pd.isna(observed["sex"].values).tolist() == table["sex"].isna().tolist()
    html = made._repr_html_()
    for name in table:
        assert f"{100 * table[name].isna().mean():.0f} % gaps" in html


def test_dropped_draws_are_one_chain(mixture):
    settings = {"family": "poisson", "mechanism": "LW", "m": 1, "seed": 1, "thresh": 0.9}
    made = syn.Synthesizer("y ~ 1", **settings).fit(mixture).to_arviz(log_likelihood=False)
    assert dict(made.posterior.sizes) == {"chain": 1, "draw": 900, "term": 1}
    assert "log_likelihood" not in made.children


def test_refusals(paper, monkeypatch):
    with pytest.raises(syn.InputError, match="label must be that of a round, Unweighted, LW, LW_final, found 'CW'"):
        paper.to_arviz("CW")
    monkeypatch.setattr(tree, "MOST", 999_999)
    with pytest.raises(syn.InputError, match="found 1,000,000, of 1,000 draws and 1,000 records"):
        paper.to_arviz()
    assert paper.to_arviz(log_likelihood=False) is not None
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(syn.InputError, match="trees need xarray: pip install"):
        paper.to_arviz()


def test_before_a_fit_and_without_draws():
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=1)
    with pytest.raises(syn.InputError, match="must come first"):
        made.to_arviz()
    raked = syn.Synthesizer({"y": {"limits": [0, 9], "whole": True}}, mechanism="Raked", epsilon=1, m=1)
    with pytest.raises(syn.InputError, match="to_arviz must have draws of parameters, found Raked"):
        raked.to_arviz()
