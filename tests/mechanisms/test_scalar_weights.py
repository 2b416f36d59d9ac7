"""SW by search and by the paper's printed formula, for every bound that it may match."""

from __future__ import annotations

import numpy as np
import pytest

import alphasynth as syn
from alphasynth.errors import CalibrationError, InputError
from alphasynth.mechanisms.named import named_mechanism, rule_in_words


def fitted(mixture, mechanism="SW", **options):
    return syn.Synthesizer(
        "y ~ 1", family="negative_binomial", mechanism=mechanism, m=1, num_draws=300, seed=1, **options
    ).fit(mixture)


def alpha_of(synthesizer):
    (alpha,) = np.unique(synthesizer.alpha_)
    return alpha


@pytest.mark.parametrize("match", [None, syn.LW(scale=0.8), syn.CW(radius=0.2, relative=True), 4.0])
def test_the_formula_is_the_printed_quotient(mixture, match):
    """alpha = Delta_alpha / Delta, with Delta of the unweighted fit and Delta_alpha of the weights that are matched."""
    made = fitted(mixture, by="formula", match=match)
    first = made.trail_.fits[0]
    aimed = made.trail_.searches[-1].target
    assert alpha_of(made) == pytest.approx(aimed / first.lipschitz.overall, rel=1e-12)
    if isinstance(match, float):
        assert aimed == match
    assert len(made.trail_.searches[-1].trials) == 1


def test_a_search_keeps_the_bound_that_it_matches(mixture):
    searched = fitted(mixture, match=4.0)
    assert 3.9 < searched.lipschitz_.overall <= 4.0
    assert alpha_of(searched) < alpha_of(fitted(mixture, match=4.0, by="formula"))


def test_a_policy_is_not_missed_by_the_formula(mixture):
    with pytest.raises(CalibrationError, match="by the printed formula must bring the bound down"):
        fitted(mixture, by="formula", epsilon=8.0)
    assert fitted(mixture, epsilon=8.0).guarantee_.epsilon_total <= 8.0


def test_an_epsilon_can_be_aimed_at_by_the_formula_without_a_promise(mixture):
    made = fitted(mixture, by="formula", match="epsilon=8")
    assert made.trail_.searches[-1].target == 4.0
    assert made.guarantee_.policy_epsilon is None
    with pytest.raises(InputError, match="match must be left out when epsilon is given"):
        fitted(mixture, match="LW", epsilon=8.0)


def test_the_audit_moves_the_weight_with_the_neighbour(mixture):
    """Both ways: the far record that is added changes Delta, and so alpha, by the formula as by the search."""
    for by in ("search", "formula"):
        (finding,) = fitted(mixture, match=syn.LW(), by=by).audit_("draw", canaries=[1_000])
        assert finding.certain
        assert finding.loss > finding.claim, by  # exact audits found as much of SW


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"by": "guess"}, "by must be one of search, formula"),
        ({"match": -1.0}, "match must be a rule with its numbers, or a positive Delta"),
        ({"match": syn.Reweight()}, "match must be a rule with its numbers"),
        ({"match": syn.SW(0.5)}, "match must be a rule with its numbers"),
        ({"match": "BW"}, "match must be a Delta, epsilon=8 of a draw, or LW or CW with numbers"),
        ({"match": "epsilon=much"}, "match must be a Delta, epsilon=8 of a draw"),
        ({"alpha": 0.5, "match": "LW"}, "match must be left out beside alpha"),
        ({"alpha": 0.5, "by": "formula"}, "by must be left out beside alpha"),
        ({"match": "CW"}, "'CW' needs a radius"),
        ({"match": "CW:radius=near"}, "match must have numbers"),
    ],
)
def test_what_cannot_be_matched_is_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        named_mechanism("SW", **options)


def test_words_say_which_bound():
    assert rule_in_words("LW:scale=0.85,shift=0.1") == syn.LW(0.85, 0.1)
    assert named_mechanism("SW", match="CW:radius=3,relative").rules == (syn.SW(match=syn.CW(3.0, relative=True)),)
