"""Bad input gets one clear sentence: the name, the rule, what was found, and never a confidential value."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import alphasynth as syn

GOOD = {"formula": "y ~ 1", "family": "negative_binomial", "mechanism": "LW", "m": 1, "seed": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"formula": "y ~ x"},
            "covariates must be declared public.*the guarantee does not cover them; found 'x', not declared so",
        ),
        ({"formula": "y ~ center(x)"}, "covariates must be declared public.*'x'"),
        ({"formula": "y"}, "formula must read 'response ~ terms'"),
        ({"family": "gumbel"}, "family must be .*poisson, negative_binomial, .*found 'gumbel'"),
        ({"mechanism": "XW"}, "mechanism must be one of"),
        ({"mechanism": 3}, "mechanism must be a name or a Mechanism, found int"),
        ({"mechanism": "CW"}, "needs a radius"),
        ({"mechanism": "CW", "radius": 0}, "radius must be positive and finite, found 0"),
        ({"mechanism": "CW", "radius": -1}, "radius must be positive"),
        ({"radius": 1.0}, "'LW' takes scale, shift, found radius"),
        ({"mechanism": "SW", "alpha": 1.2}, r"alpha must lie in \[0, 1\], found 1.2"),
        ({"m": 0}, "m must be a whole number of at least 1, found 0"),
        ({"m": 1.5}, "m must be a whole number"),
        ({"m": True}, "m must be a whole number"),
        ({"epsilon": 0}, "epsilon must be positive and finite, found 0"),
        ({"epsilon": -2.0}, "epsilon must be positive"),
        ({"epsilon": math.nan}, "epsilon must be positive"),
        ({"epsilon": 8, "scale": 0.5}, "scale must be left out when epsilon is given"),
        ({"epsilon": 8, "mechanism": "LW_final", "k": 0.9}, "k must be left out when epsilon is given"),
        ({"epsilon": 8, "mechanism": "Unweighted"}, "'Unweighted' has no weights to aim"),
        ({"public": ("y",)}, "'y' is to be synthesized and must not be declared public"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"rows": 0}, "rows must be a whole number of at least 1"),
        ({"tables_per_draw": 0}, "tables_per_draw must be a whole number"),
        ({"num_draws": 10}, "num_draws must be a whole number of at least 100"),
        ({"thresh": 0.0}, "thresh must be above 0"),
        ({"thresh": "all"}, "thresh must be above 0"),
        ({"sampler": "Nuts"}, "sampler must be a sampler such as .*, found 'Nuts'"),
        ({"sampler": syn.Nuts}, "sampler must be a sampler such as .*, found a type"),
        ({"prior": "normal"}, "prior must be a prior such as .*, found 'normal'"),
        ({"prior": syn.NormalPrior}, "prior must be a prior such as .*, found a type"),
        ({"public": None}, "public must name columns, found None"),
        ({"mechanism": "CW", "radius": 1, "within": 5}, "within must name columns, found 5"),
        ({"mechanism": "SW", "alpha": np.array([0.2, 0.3])}, "found a ndarray"),
        ({"seed": True}, "seed must be a whole number"),
        ({"formula": "y ~ 0"}, "right-hand side must be 1 or read columns"),
        ({"prior": syn.NormalPrior(), "family": syn.OwnModel(print, "y")}, "prior must be left out"),
        ({"mechanism": syn.Mechanism("x"), "scale": 1.0}, "scale must be set in the rules"),
    ],
)
def test_bad_settings_get_one_clear_sentence(mixture, change, message):
    with pytest.raises(syn.InputError, match=message) as error:
        syn.Synthesizer(**GOOD | change).fit(mixture)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "at least two records, found an empty table"),
        ([5], "at least two records, found one record"),
        ([1, None, 2], "'y' must have no missing values, found 1"),
        ([1, -2, 3], "'y' must hold counts of at least 0, found negative values"),
        ([1, 2.5, 3], "'y' must hold whole numbers, found fractions"),
        ([0, 0, 0], "'y' must hold a count above 0, found nothing but zeros"),
        ([1, math.inf], "'y' must be finite, found 1 infinite"),
        ([1, 2, 10**9], "'y' must hold counts of at most 100,000,000, found larger ones"),
        (["a", "b"], "'y' must hold counts, found a column that is not numeric"),
    ],
)
@pytest.mark.parametrize("kind", [pd.DataFrame, lambda c: pl.DataFrame(c, strict=False), pa.table])
def test_bad_tables_get_one_clear_sentence(values, message, kind):
    with pytest.raises(syn.InputError, match=message) as error:
        syn.Synthesizer(**GOOD).fit(kind({"y": values}))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        (np.full(999, 0.5), "one weight per record, found 999 for 1,000 records"),
        (np.full(1000, 1.5), r"one weight in \[0, 1\] per record"),
        (np.full(1000, -0.1), r"one weight in \[0, 1\] per record"),
    ],
)
def test_bad_weights_get_one_clear_sentence(mixture, alpha, message):
    mine = lambda: syn.Mechanism("mine", rules=(syn.Given(alpha),))  # noqa: E731
    with pytest.raises(syn.InputError, match=message):
        syn.Synthesizer(**GOOD | {"mechanism": mine()}).fit(mixture)


def test_unknown_columns_get_one_clear_sentence(mixture):
    with pytest.raises(syn.InputError, match=r"column 'z' .* is not in the table"):
        syn.Synthesizer(**GOOD | {"formula": "z ~ 1"}).fit(mixture)
    with pytest.raises(syn.InputError, match=r"column 'w' \(declared public\) is not in the table"):
        syn.Synthesizer(**GOOD | {"public": ("w",)}).fit(mixture)


@pytest.mark.parametrize(
    ("formula", "message"), [("y ~ a + b", "collinear"), ("y ~ c", "'c' must vary"), ("y ~ d", "'d' must vary")]
)
def test_covariates_without_an_answer_get_one_clear_sentence(formula, message):
    table = pd.DataFrame({"y": [1, 2, 3, 4], "a": [1, 2, 3, 5], "b": [2, 4, 6, 10], "c": 7, "d": 0})
    with pytest.raises(syn.InputError, match=message):
        syn.Synthesizer(**GOOD | {"formula": formula, "public": tuple("abcd")}).fit(table)


@pytest.mark.slow
def test_identical_records_can_be_synthesized():
    table = pd.DataFrame({"y": [30] * 200})
    s = syn.Synthesizer(**GOOD | {"mechanism": "LW_final", "m": 3}).fit(table)
    assert np.isfinite(s.guarantee_.epsilon_total)
    assert all(20 < out["y"].mean() < 40 for out in s.sample())


@pytest.mark.parametrize("epsilon", [1e300, 1e15])
def test_a_huge_epsilon_is_met(mixture, epsilon):
    s = syn.Synthesizer(**GOOD | {"mechanism": "LW_final", "epsilon": epsilon}).fit(mixture)
    assert s.guarantee_.epsilon_total < 40


def test_a_tiny_epsilon_is_a_named_error_that_can_travel(mixture):
    with pytest.raises(syn.CalibrationError, match="must bring the bound down to the target") as error:
        syn.Synthesizer(**GOOD | {"shift": 0.5, "epsilon": 1e-300}).fit(mixture)
    copy = pickle.loads(pickle.dumps(error.value))
    assert str(copy) == str(error.value)
    assert len(copy.trail.fits) == len(error.value.trail.fits)


def test_a_failed_fit_leaves_nothing_half_done(mixture):
    s = syn.Synthesizer(**GOOD)
    with pytest.raises(syn.InputError, match=r"fit\(table\) must come first"):
        s.sample()
    with pytest.raises(syn.InputError):
        s.fit(mixture.head(1))
    with pytest.raises(syn.InputError, match=r"fit\(table\) must come first"):
        _ = s.alpha_


def test_m_cannot_exceed_the_draws(mixture):
    with pytest.raises(syn.InputError, match="m must be at most the number of draws, 1,000, found 1,001"):
        syn.Synthesizer(**GOOD | {"m": 1001}).fit(mixture)
