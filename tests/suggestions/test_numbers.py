"""Limits and heaps of suggestions: no value that cannot be, no limit of a record, no heap in a smooth run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from alphasynth.suggestions.numbers import numbers
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.declared import Declared
from alphasynth.tables.limits import away_from_zero, outward


def declared(values) -> Declared:
    return numbers(*np.unique(np.asarray(values, float), return_counts=True))


@pytest.mark.parametrize(
    ("low", "high", "limits"),
    [
        (9.9, 48.0, (5.0, 50.0)),  # body mass index
        (18.0, 94.0, (10.0, 100.0)),  # age
        (-94.0, -18.0, (-100.0, -10.0)),
        (1.5, 94.0, (0.0, 100.0)),  # near zero: its own least would be told
        (5.0, 94.0, (0.0, 100.0)),
        (0.0, 94.0, (0.0, 100.0)),
        (150.0, 190.0, (140.0, 200.0)),
    ],
)
def test_limits_keep_away_from_a_zero_that_nobody_is_near(low, high, limits):
    assert away_from_zero(low, high) == limits
    spread = declared(np.r_[np.linspace(low, high, 200), np.linspace((low + high) / 2, high, 200)])
    assert spread.limits == limits


def test_a_limit_is_no_records_own():
    for low in np.linspace(0.05, 40.0, 800).round(2).tolist():
        below, above = away_from_zero(low, 90.0)
        assert below < low
        assert above > 90.0
        assert below >= outward(low, 90.0)[0]


def test_a_skewed_column_keeps_its_zero():
    incomes = np.r_[np.linspace(300, 3_000, 900), 9_000].round(2)
    assert declared(incomes).skewed
    assert declared(incomes).limits[0] == 0


def test_no_row_is_made_at_a_zero_that_cannot_be():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"bmi": np.r_[9.9, rng.normal(25, 5, 999).clip(10, 47)].round(1)})
    facts = declared(table["bmi"])
    front = Synthesizer({"bmi": facts}, mechanism="Raked", epsilon=1, m=2, seed=1)
    for made in front.fit(table).release().tables:
        assert made["bmi"].min() >= 5


@pytest.mark.parametrize("seed", range(5))
def test_a_smooth_run_has_no_heaps(seed):
    rng = np.random.default_rng(seed)
    for counts in (rng.negative_binomial(1.5, 0.1, 1_000), rng.poisson(12, 1_000), rng.geometric(0.05, 2_000)):
        assert declared(counts).heaps == ()


def test_what_stands_out_is_a_heap():
    rng = np.random.default_rng(2)
    hours = np.r_[rng.integers(0, 61, 2_000), np.full(600, 35), np.full(900, 40), np.full(300, 60)]
    assert declared(hours).heaps == (35.0, 40.0, 60.0)
    assert declared(np.r_[rng.negative_binomial(1.5, 0.1, 1_000), np.full(200, 30)]).heaps == (30.0,)
    salaries = np.r_[rng.lognormal(8, 0.5, 900).round(2), np.full(50, 3_000.0)]
    assert declared(salaries).heaps == (3_000.0,)


def test_an_end_that_many_have_is_a_limit_in_a_smooth_run_too():
    sizes = np.random.default_rng(3).geometric(0.1, 2_000)
    assert declared(sizes).heaps == ()
    assert declared(sizes).limits[0] == 1
