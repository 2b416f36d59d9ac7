"""`get_params` and `set_params`, as scikit-learn has them: what was given, no more and no less."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import alphasynth as syn
from alphasynth.synthesis.raked import RakedSynthesizer

PRIOR = syn.NormalPrior()
COLUMNS = {"y": {"limits": [0, 400], "whole": True}}
GIVEN = [
    {"formula": "y ~ 1", "family": "poisson", "mechanism": "LW", "m": 2, "seed": 1, "scale": 0.5},
    {"formula": "y ~ 1", "family": "poisson", "mechanism": "Censored", "m": 1, "epsilon": 4, "cut": 9.0},
    {"formula": ["y ~ 1"], "family": ["poisson"], "mechanism": "SW", "m": 1, "alpha": 0.5, "prior": PRIOR},
    {"formula": "y ~ 1", "family": "poisson", "mechanism": syn.Mechanism("mine", (syn.LW(),)), "m": 1},
    {"formula": COLUMNS, "mechanism": "Raked", "m": 2, "epsilon": 4.0, "delta": 1e-9, "response": "y"},
    {"formula": syn.Columns.of(COLUMNS), "mechanism": "Raked", "m": 1, "epsilon": 4.0},
]
IDS = [str(each["mechanism"])[:20] for each in GIVEN]


@pytest.mark.parametrize("given", GIVEN, ids=IDS)
def test_what_was_given_comes_back(given):
    made = syn.Synthesizer(**given)
    told = made.get_params()
    assert told == made.get_params(deep=False)
    assert set(told) == set(inspect.signature(type(made)).parameters)
    renamed = {
        "columns" if name == "formula" and isinstance(made, RakedSynthesizer) else name: v for name, v in given.items()
    }
    for name, value in renamed.items():
        if name != "mechanism" or not isinstance(made, RakedSynthesizer):
            assert told[name] is value
    again = type(made)(**told)
    assert again.get_params() == told
    assert repr(again) == repr(made)


@pytest.mark.parametrize("given", GIVEN, ids=IDS)
def test_a_clone_is_equal_and_not_fitted(given, mixture):
    made = syn.Synthesizer(**given).fit(mixture)
    other = clone(made)
    assert type(other) is type(made)
    assert repr(other) == repr(made)
    with pytest.raises(syn.InputError, match=r"fit\(table\) must come first"):
        other.sample()
    assert made.sample()  # the first one is as it was
    other.set_params(m=3)
    assert (made.m, other.m) == (given["m"], 3)


def test_a_copy_of_the_parameters_is_no_way_in():
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=2)
    made.get_params()["m"] = 5
    assert made.get_params()["m"] == made.m == 2


def test_other_parameters_forget_the_fit(mixture):
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=2, seed=1).fit(mixture)
    assert made.set_params() is made
    assert made.guarantee_.m == 2  # nothing was changed
    assert made.set_params(m=3, mechanism="SW", alpha=0.5) is made
    assert (made.m, made.mechanism.label) == (3, "SW")
    with pytest.raises(syn.InputError, match=r"fit\(table\) must come first"):
        _ = made.guarantee_
    assert made.fit(mixture).guarantee_.m == 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"nonsense": 1}, r"a parameter must be one of Synthesizer's, which get_params\(\) lists, found 'nonsense'"),
        ({"m": 0}, "m must be a whole number of at least 1, found 0"),
        ({"m": 5, "radius": 1.0}, "radius"),
        (
            {"mechanism": "Raked"},
            "mechanism must not become one of whole tables: make a new Synthesizer, found 'Raked'",
        ),
        ({"formula": syn.Columns.of(COLUMNS)}, "declared columns must have the mechanism Raked"),
    ],
)
def test_what_cannot_be_asked_changes_nothing(changed, said, mixture):
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=2, seed=1).fit(mixture)
    before = made.get_params()
    with pytest.raises(syn.InputError, match=said):
        made.set_params(**changed)
    assert made.get_params() == before
    assert made.guarantee_.m == made.m == 2


def test_of_whole_tables_too():
    made = syn.Synthesizer(COLUMNS, mechanism="Raked", epsilon=4, m=1)
    assert made.set_params(epsilon=2, response="y").epsilon == 2
    assert made.columns.response == ("y",)
    with pytest.raises(syn.InputError, match="one of RakedSynthesizer's"):
        made.set_params(mechanism="LW")
    with pytest.raises(syn.InputError, match="epsilon must be positive"):
        made.set_params(epsilon=-1)
    assert made.epsilon == 2


def test_weights_of_ones_own_are_not_written_out():
    alpha = np.linspace(0.123456, 1, 40)
    made = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Given", m=1, given=alpha)
    assert "0.123456" not in repr(made)
    assert "0.123456" not in made._repr_html_()
    assert clone(made).fit(pd.DataFrame({"y": np.arange(40)})).alpha_[0] == alpha[0]
