"""The whole path, from a table to a release, seen from its only way out: how far one unit moves what is given away.

A run is played again on a neighbour with the same noisy sums and choices, so that all that is public by then is the
same; whatever the mechanism asks of the records must then move by no more than was said of it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.privacy.spending import Sensitivity, Spending, _root_below
from alphasynth.raking.reading import HEAVIEST
from alphasynth.tables.grouping import Unit
from raking.tables_and_units import Rows, neighbours, tables

RAKED = "alphasynth.synthesis.raked.Spending"


class Recording(Spending):
    """A budget that notes what it was asked to give away; `answers` are given again where they are known."""

    answers: ClassVar[list] = []  # of a run before
    asked: ClassVar[list] = []

    def noisy(self, stream, sums, sensitivity, name, part):
        Recording.asked.append((name, np.array(sums, object), sensitivity, self.total * part))
        noisy, variance = super().noisy(stream, sums, sensitivity, name, part)
        return self._again(noisy), variance

    def choose(self, stream, scores, rows, name, part):
        Recording.asked.append((name, np.array(scores, object), rows, self.total * part))
        return self._again(super().choose(stream, scores, rows, name, part))

    def _again(self, answer):
        place = len(Recording.asked) - 1
        if place < len(Recording.answers):
            return Recording.answers[place]
        Recording.answers.append(answer)
        return answer


@pytest.fixture(autouse=True)
def _recorded(monkeypatch):
    monkeypatch.setattr(RAKED, Recording)


def asked_of(columns, rows, unit, pure, n, again=False, epsilon=1.0):
    """What a run asks of the records, in order."""
    Recording.asked = []
    if not again:
        Recording.answers = []
    delta = None if pure else 1e-6
    made = syn.Synthesizer(columns, mechanism="Raked", epsilon=epsilon, delta=delta, m=1, seed=7)
    made = made.holding(n).fit(Rows(rows, unit))
    return Recording.asked, made.guarantee_


def moved(one, other):
    """Squared and absolute move of whole numbers, exactly."""
    apart = one - other
    return int((apart**2).sum()), int(np.abs(apart).sum()), int(np.abs(apart).max(initial=0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the mean weight must be:alphasynth.errors.StrictWarning")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.booleans(), st.sampled_from([0.01, 1.0, 300.0]))
def test_no_neighbour_moves_what_is_given_away_by_more_than_is_said(table, pure, epsilon):
    columns, rows, unit = table
    n = rows.num_rows
    asked, guarantee = asked_of(columns, rows, unit, pure, n, epsilon=epsilon)
    total = sum((cost for *_, cost in asked), Fraction(0))
    rho, most = guarantee.strict.rho, 1 if unit is None else unit.max_rows
    assert total == (Fraction(str(epsilon)) * most if pure else Fraction(rho) * most**2), "all is spent, and no more"
    for fewer in neighbours(rows, unit):
        again, same = asked_of(columns, fewer, unit, pure, n, again=True, epsilon=epsilon)
        assert same.public() == guarantee.public()
        assert [(name, of, cost) for name, _, of, cost in asked] == [(name, of, cost) for name, _, of, cost in again]
        for (_, one, said, _), (_, other, _, _) in zip(asked, again, strict=True):
            square, absolute, largest = moved(one, other)
            if isinstance(said, Sensitivity):
                assert square <= said.square
                assert absolute <= said.absolute
            else:
                assert largest <= said, "scores of a choice"


@pytest.mark.filterwarnings("ignore:the mean weight must be:alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("pure", [False, True])
def test_noise_is_what_the_cost_and_the_move_ask_for(pure, monkeypatch):
    """Rho is the squared move over twice the variance, epsilon the absolute move over the scale; of choices e^2 / 8."""
    drawn = []

    def note(name, noise):
        return lambda stream, size, number: (drawn.append((name, size)), noise(number))[1]

    for name in ("discrete_gaussian", "discrete_laplace_all"):
        monkeypatch.setattr(f"alphasynth.privacy.spending.{name}", note(name, lambda number: np.zeros(number, int)))
    exponents = []

    def choice(stream, prior, cost, quantum, number):
        exponents.append(quantum)
        return np.zeros(1, int)

    monkeypatch.setattr("alphasynth.privacy.spending.draw", choice)
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "b": [1.0, 2.0, 3.0, 4.0], "w": [1.0, 2.0, 3.0, 9.0]})
    columns = syn.Columns.of({"a": {"levels": [0, 1]}, "b": {"limits": [0, 5]}}, weight={"column": "w", "largest": 4.0})
    asked, _ = asked_of(columns, pa.Table.from_pandas(frame), Unit("a", 3), pure, 4)
    sums, choices = [each for each in asked if isinstance(each[2], Sensitivity)], [e for e in asked if e[0] == "choice"]
    assert len(sums) == len(drawn) > 4
    for (_, _, said, cost), (name, size) in zip(sums, drawn, strict=True):
        assert name == ("discrete_laplace_all" if pure else "discrete_gaussian")
        assert (said.absolute / Fraction(size) if pure else said.square / (2 * size)) <= cost
    assert len(choices) == len(exponents) == 1
    for (_, _, rows, cost), quantum in zip(choices, exponents, strict=True):
        assert rows == 3 * HEAVIEST
        loss = 2 * rows * quantum  # what scores that move by so much make the log odds move by
        assert loss <= cost if pure else loss**2 / 8 <= cost
        assert _root_below(8 * cost) ** 2 <= 8 * cost
