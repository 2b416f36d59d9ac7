"""In Python as on the command line: without a mechanism's name a strict one is taken, by what is declared alone."""

from __future__ import annotations

import pytest

from alphasynth.errors import InputError
from alphasynth.synthesis.raked import RakedSynthesizer
from alphasynth.synthesizer import Synthesizer


@pytest.mark.parametrize(
    ("formula", "more", "mechanism"),
    [
        ("y ~ 1", {"family": "poisson"}, "Censored"),
        ("y ~ age", {"family": "poisson", "public": ["age"]}, "Scored"),
        (["age ~ 1", "y ~ age"], {"family": ["poisson", "poisson"]}, "Scored"),
        ("y ~ 1", {"family": "categorical", "declared": {"y": {"levels": list("abc")}}}, "Censored"),
        ("y ~ 1", {"family": "categorical", "declared": {"y": {"levels": list("abcde")}}}, "Scored"),
    ],
)
def test_a_strict_mechanism_is_taken_where_none_is_named(formula, more, mechanism):
    made = Synthesizer(formula, **more, epsilon=4)
    assert (made.mechanism.label, made.m, made.scope) == (mechanism, 1, "strict")
    assert made.get_params()["mechanism"] is None


def test_declared_columns_alone_are_a_whole_table():
    made = Synthesizer({"y": {"levels": ["a", "b"]}}, epsilon=4)
    assert isinstance(made, RakedSynthesizer)
    assert (made.epsilon, made.m) == (4, 1)


def test_without_a_mechanism_there_must_be_an_epsilon():
    with pytest.raises(InputError, match=r"must have an epsilon, .*, found neither"):
        Synthesizer("y ~ 1", family="poisson")
