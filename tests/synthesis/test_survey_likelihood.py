"""Survey weights in the pseudo-likelihood: the product takes the place of the log-likelihood, everywhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

import alphasynth as syn
from alphasynth.errors import InputError
from command_line import run

OPTIONS = {"family": "poisson", "m": 1, "num_draws": 300, "seed": 1, "public": ["wt"], "survey_weights": "wt"}


@pytest.fixture(scope="module")
def table():
    """Counts with weights 0, 1 and 2 that sum to the number of rows."""
    rng = np.random.default_rng(4)
    weights = np.repeat([0.0, 1.0, 2.0], [40, 120, 40])
    return pd.DataFrame({"y": rng.poisson(6 + 2 * weights), "wt": weights})


def fit(table, mechanism, weight=True, **options):
    sampler = syn.Grid()
    return syn.Synthesizer(
        "y ~ 1", mechanism=mechanism, sampler=sampler, survey_likelihood=weight, **OPTIONS, **options
    ).fit(table)


def test_weights_are_as_good_as_copies(table):
    """The posterior with weights is that of a table with so many copies of each row: the very draws."""
    copies = table.loc[table.index.repeat(table["wt"].astype(int))].reset_index(drop=True)
    weighted, copied = fit(table, "Unweighted"), fit(copies, "Unweighted", weight=False)
    np.testing.assert_allclose(
        weighted.trail_.fits[0].draws.theta["beta"], copied.trail_.fits[0].draws.theta["beta"], rtol=1e-9
    )


def test_only_proportions_count(table):
    scaled = table.assign(wt=table["wt"] * 37.5)
    np.testing.assert_allclose(fit(scaled, "LW").alpha_, fit(table, "LW").alpha_, rtol=1e-12)


def test_large_weights_do_not_overflow(table):
    """Weights near the largest float, whose sum is none, give the draws of the same weights scaled down."""
    large = table.assign(wt=table["wt"] * 8e307)
    one, other = (fit(each, "LW").trail_.fits[-1] for each in (table, large))
    np.testing.assert_allclose(one.draws.theta["beta"], other.draws.theta["beta"], rtol=1e-9)
    assert other.lipschitz.overall > 0


def test_rules_and_bounds_are_of_the_product(table):
    """Algorithm 1 and 3 by hand, with w f in the place of f."""
    made = fit(table, "LW_final", k=0.9)
    w, y = table["wt"].to_numpy(), table["y"].to_numpy()
    largest = []
    for one in made.trail_.fits:
        f = poisson.logpmf(y, np.exp(one.draws.theta["beta"])[:, :1])
        largest.append(np.abs(w * f).max(axis=0))
    low, high = largest[0].min(), largest[0].max()
    np.testing.assert_allclose(made.trail_.fits[1].alpha, 1 - (largest[0] - low) / (high - low), atol=1e-9)
    delta = (made.trail_.fits[1].alpha * largest[1]).max()
    np.testing.assert_allclose(
        made.alpha_, np.minimum(1, 0.9 * delta / np.where(largest[1] > 0, largest[1], 1e-300)), rtol=1e-9
    )
    np.testing.assert_allclose(made.lipschitz_.by_record, made.alpha_ * largest[2], rtol=1e-9)
    assert made.guarantee_.epsilon_per_draw == pytest.approx(2 * (made.alpha_ * largest[2]).max(), rel=1e-9)


def test_audits_are_of_the_product(table):
    """One alpha for all, on a grid: the exact loss of removing a record is that of alpha w f."""
    made = fit(table, "SW", alpha=0.2)
    exact, estimate = made.audit_(["density", "draw"])
    plain, _ = fit(table, "SW", weight=False, alpha=0.2).audit_(["density", "draw"])
    assert exact.loss == pytest.approx(estimate.loss, rel=0.25)  # two normals stand for the posteriors
    assert exact.loss > 1.2 * plain.loss  # the worst neighbour has a weight of 2


def test_what_is_promised_is_said(table):
    public = fit(table, "LW").guarantee_.public()
    assert public.weighted_by == "wt"
    assert "multiplied by its public survey weight" in public.promise
    without = fit(table, "LW", weight=False).guarantee_.public()
    assert without.weighted_by is None
    assert "survey" not in without.promise


def test_chains_have_them_in_every_column(table):
    table = table.assign(z=np.random.default_rng(0).poisson(3, len(table)))
    made = syn.Synthesizer(
        ["y ~ 1", "z ~ y"], mechanism="LW", survey_likelihood=True, **{**OPTIONS, "family": ["poisson", "poisson"]}
    ).fit(table)
    zero = table["wt"].to_numpy() == 0
    assert (made.lipschitz_.by_record[zero] == 0).all()
    assert (made.lipschitz_.by_record[~zero] > 0).any()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"survey_weights": None}, "must have survey_weights"),
        ({"survey_likelihood": "yes"}, "must be True or False"),
        ({"mechanism": "BW", "epsilon": 4}, "found 'BW'"),
        ({"mechanism": "Censored", "epsilon": 4}, "found 'Censored'"),
    ],
)
def test_what_cannot_be_is_refused(change, sentence):
    options = {"mechanism": "LW", "survey_likelihood": True, **OPTIONS, **change}
    with pytest.raises(InputError, match=sentence):
        syn.Synthesizer("y ~ 1", **options)


@pytest.mark.parametrize(("weights", "sentence"), [(-1.0, "at least 0"), (0.0, "must not all be 0")])
def test_weights_that_weigh_nothing_are_refused(table, weights, sentence):
    with pytest.raises(InputError, match=sentence):
        fit(table.assign(wt=weights), "LW")


def test_the_command_line_has_it(table, alone, capsys):
    table.to_csv("t.csv", index=False)
    options = ["--formula", "y ~ 1", "--family", "poisson", "--mechanism", "LW", "--m", "1", "--seed", "1"]
    survey = ["--public", "wt", "--survey-weights", "wt", "--survey-likelihood"]
    code = run("synthesize", "t.csv", *options, *survey, "--out", "run")
    assert code == 0, capsys.readouterr().err
    assert "survey weight" in capsys.readouterr().out
