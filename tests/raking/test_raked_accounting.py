"""What a whole run spent, put together by the field's library of accountants: never more than is stated."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import alphasynth as syn
from alphasynth.privacy import spending
from alphasynth.privacy.accounting import of_unit
from alphasynth.tables.grouping import Unit
from raking.tables_and_units import Rows

DELTA = 1e-9
FACTS = {
    "sex": {"levels": ["f", "m"]},
    "age": {"limits": [0, 110], "whole": True},
    "income": {"limits": [0, 1000], "missing": "model", "skewed": True},
    "rooms": {"levels": [1, 2, 3, 8]},
}


def people(n: int) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(0, 100, n),
            "income": rng.uniform(0, 1000, n),
            "rooms": rng.choice([1, 2, 3, 8], n),
            "w": rng.uniform(0, 9, n),
            "unit": np.arange(n) // 3,
        }
    )


def spent(monkeypatch, epsilon, delta, rows, weighted):
    """Everything that a run measured, the ranges of its choices, and what it states."""
    budgets, ranges = [], []
    draw = spending.draw

    class Kept(spending.Spending):
        def choose(self, stream, scores, moves, name, part):
            budgets[:], self.moves = [self], moves
            return super().choose(stream, scores, moves, name, part)

    def drawn(stream, prior, cost, quantum, number):
        # Scores that move by so much, up or down, let log odds move within this range.
        ranges.append(float(2 * budgets[-1].moves * quantum))
        return draw(stream, prior, cost, quantum, number)

    monkeypatch.setattr("alphasynth.synthesis.raked.Spending", Kept)
    monkeypatch.setattr(spending, "draw", drawn)
    columns = syn.Columns.of(FACTS, weight={"column": "w", "largest": 6.0} if weighted else None)
    made = syn.Synthesizer(columns, mechanism="Raked", epsilon=epsilon, delta=delta, m=1, seed=1)
    made.fit(Rows(people(60), None if rows == 1 else Unit("unit", rows)))
    (budget,) = budgets
    sums = [each for each in budget.measured if each.sensitivity is not None]
    assert len(sums) + len(ranges) == len(budget.measured)
    assert {each.name for each in budget.measured} >= {"blocks", "cells", "choice", "tree", "moments", "more"}
    return sums, ranges, made.guarantee_.public()


@pytest.mark.filterwarnings("ignore:the mean weight must be:alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_accountants_find_no_more_than_is_stated(monkeypatch, epsilon, rows, weighted):
    """Gaussian noise at its multipliers, choices of a bounded range e as e^2 / 8 of zCDP; and by their losses."""
    dp_accounting, rdp = pytest.importorskip("dp_accounting"), pytest.importorskip("dp_accounting.rdp")
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    sums, ranges, stated = spent(monkeypatch, epsilon, DELTA, rows, weighted)
    multipliers = [math.sqrt(each.variance / each.sensitivity.square) for each in sums]
    assert stated.epsilon == of_unit(epsilon, rows)
    best = 1 + math.sqrt(math.log(1 / DELTA) / stated.rho)
    accountant = rdp.RdpAccountant([1 + (best - 1) * 4 ** (i / 500 - 1) for i in range(1001)])
    for multiplier in multipliers:
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
    for each in ranges:
        accountant.compose(dp_accounting.ZCDpEvent(each**2 / 8))
    # The library's orders are not the best one, between which epsilon is flat: of a hundred thousandth.
    assert stated.epsilon * 0.99 < accountant.get_epsilon(DELTA) <= stated.epsilon * (1 + 1e-5)
    # All Gaussian noise is as one; a choice between two, each as likely but for e, has the widest loss of its range.
    interval, one = 1e-4, 1 / math.sqrt(math.fsum(multiplier**-2 for multiplier in multipliers))
    losses = pld.from_gaussian_mechanism(one, value_discretization_interval=interval, log_mass_truncation_bound=-60)
    for each in ranges:
        likely = 1 / (1 + math.exp(-each / 2))
        noise = 2 * (1 - likely)  # the library mixes the truth with an even choice
        losses = losses.compose(pld.from_randomized_response(noise, 2, value_discretization_interval=interval))
    # Its grid of losses is rounded up once for the noise and once for each choice.
    assert losses.get_epsilon_for_delta(DELTA) <= stated.epsilon + interval * (1 + len(ranges))


@pytest.mark.filterwarnings("ignore:the mean weight must be:alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
def test_pure_costs_add_up(monkeypatch, rows, weighted):
    """Laplace noise of scale b costs the absolute move over b, a choice its range: together the epsilon stated."""
    sums, ranges, stated = spent(monkeypatch, 0.7, None, rows, weighted)
    scales = [math.sqrt(each.variance / 2) for each in sums]
    costs = [each.sensitivity.absolute / scale for each, scale in zip(sums, scales, strict=True)]
    found = math.fsum(costs) + math.fsum(ranges)
    assert found <= stated.epsilon * (1 + 1e-12)
    smaller = [each.sensitivity.absolute / (scale - 1) for each, scale in zip(sums, scales, strict=True)]
    assert stated.epsilon < math.fsum(smaller) + math.fsum(ranges), "scales are rounded up to the next whole number"
