"""Survey weights: fine parts of the largest, sums that stay exact, and a warning where noise hides them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.errors import StrictWarning
from alphasynth.raking.exact import count
from alphasynth.raking.features import FARTHEST, IN_PAIRS, SCALE, features_of
from alphasynth.raking.moments import MOST as HEAVIEST_ENTRY
from alphasynth.raking.moments import ROWS, all_moments, exact_sums
from alphasynth.raking.reading import HEAVIEST, Read
from alphasynth.raking.sums import Margin

COLUMNS = {"a": {"levels": ["x", "y"]}, "b": {"limits": [0, 110], "whole": True}}


def fitted(weights, b, epsilon, largest=1_000.0, m=1):
    table = pd.DataFrame({"a": np.where(np.arange(len(b)) % 3 > 0, "x", "y"), "b": b, "w": weights})
    columns = syn.Columns.of(COLUMNS, weight={"column": "w", "largest": largest})
    return syn.Synthesizer(columns, mechanism="Raked", epsilon=epsilon, delta=1e-6, m=m, seed=1).fit(table)


@pytest.mark.parametrize(("light", "heavy"), [(0.4, 0.9), (0.6, 1.45)])
def test_weights_far_below_the_largest_stay_what_they_are(light, heavy):
    """By 1,024ths of the largest the first ones were 0, and weighted means those of few rows."""
    rng = np.random.default_rng(0)
    b = rng.integers(0, 100, 2_000)
    weights = np.where(b < 50, heavy, light)
    weights[:5] = 1_000.0
    made = fitted(weights, b, epsilon=1_000).sample()[0]
    # The rows of weight 1,000 decide much of it: the mean's standard error by resampling is 12, and noise is small.
    assert abs(made.b.mean() - np.average(b, weights=weights)) < 1.0


def test_equal_light_weights_are_as_none():
    b = np.random.default_rng(0).integers(0, 100, 2_000)
    made = fitted(np.full(2_000, 0.4), b, epsilon=1_000_000).sample()[0]  # a row moves as much as 2,500 do
    assert abs(made.b.mean() - b.mean()) < 1.0
    assert abs((made.a == "x").mean() - 2 / 3) < 0.02


@pytest.mark.parametrize(("weight", "told"), [(0.0, True), (0.4, True), (900.0, False)])
def test_a_mean_weight_that_noise_hides_is_told_of(weight, told):
    b = np.random.default_rng(0).integers(0, 100, 400)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", StrictWarning)
        fitted(np.full(400, weight), b, epsilon=1)
    found = [str(each.message) for each in said if "mean weight" in str(each.message)]
    assert len(found) == told
    assert all("within 3 deviations of 0" in each for each in found)


def test_the_heaviest_rows_sum_exactly():
    """Whole numbers as far as they may be, in as many rows as are added up at a time: floats lose none."""
    assert ROWS * HEAVIEST * (FARTHEST * SCALE) ** 2 < 2**53
    # A vector's entry is two features by a weight of its own; so many rows of the largest weight fit 64 bits.
    entry = max((IN_PAIRS * SCALE) ** 2 * HEAVIEST_ENTRY, FARTHEST * SCALE**2 * HEAVIEST_ENTRY)
    assert entry * HEAVIEST * 2**26 < 2**63
    rows = 2 * ROWS + 1
    weights, codes = np.full(rows, HEAVIEST - 1), [np.arange(rows) % 7, np.arange(rows) % 2]
    (found,) = count([Margin((0, 1), (np.arange(7), np.arange(2)))], Read(tuple(codes), weights))
    assert found.sum() == rows * (HEAVIEST - 1)
    assert (found % (HEAVIEST - 1) == 0).all()
    cells = syn.Columns.of({"x": {"levels": list(range(7))}, "y": {"levels": [0, 1]}}).cells()
    features = [features_of(each, np.full(each.size, 1 / each.size), 2) for each in cells]
    moments = replace(all_moments(features, codes), length=900)
    assert (
        exact_sums(moments, codes, weights).tolist()
        == (moments.vectors(codes).sum(axis=0).astype(object) * (HEAVIEST - 1)).tolist()
    )


def test_noise_is_as_large_as_it_was_in_units_of_weight():
    """What is stated of noise per row hangs on the largest weight, and not on how finely it is cut."""
    b = np.random.default_rng(0).integers(0, 100, 600)
    found = []
    for weight in ({"column": "w", "largest": 1_000.0}, None):
        columns = syn.Columns.of(COLUMNS, weight=weight)
        made = syn.Synthesizer(columns, mechanism="Raked", epsilon=100, delta=1e-6, m=1, seed=1)
        measured = made.fit(pd.DataFrame({"a": "x", "b": b, "w": 600.0})).guarantee_.public().measured
        found += [each.deviation for each in measured if each.what == "counts of each column's blocks"]
    part = Fraction(99, 100)  # of the budget, which weights leave
    assert found[0] / found[1] == pytest.approx(1 / 0.6 / part**0.5, rel=0.02)
