"""Proposals that walk towards a target: right weights, and draws where no mixture of a few components is near."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import pandas as pd
import pytest

from alphasynth.errors import DiagnosticsError
from alphasynth.inference import laplace
from alphasynth.inference.annealed import annealed, gathered
from alphasynth.inference.density import Data, Target, log_parts
from alphasynth.inference.laplace import THINNING
from alphasynth.inference.mode import Mode, Modes
from alphasynth.inference.wrapping import HIGH, LOW, Clipped
from alphasynth.synthesizer import Synthesizer
from inference.test_strict_draws import CASES, mass_below, target_of


def test_weights_of_walks_give_the_target_its_shares():
    """Whatever few steps did: in expectation the weights make up for it."""
    y, epsilon, limit = CASES["two groups"]
    with jax.enable_x64(True):
        target, rng = target_of(y, epsilon), np.random.default_rng(1)
        begin = Modes.of([Mode(np.array([np.log(370)]), np.array([[1.0]]))])
        u = begin.propose(rng.standard_t(laplace.LIGHT, (10_000, 1, 1)), rng.random((10_000, 1)))
        expected = mass_below(target, limit)
        u, log_weight = annealed(rng, target, begin, u.reshape(-1, 1), 64)
    weight = np.exp(log_weight - log_weight.max())
    size = weight.sum() ** 2 / (weight**2).sum()
    assert size > 500
    below = weight[u[:, 0] < limit].sum() / weight.sum()
    # Four standard errors of a share of so many effective draws.
    assert below == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / size))


@dataclass(frozen=True)
class Elsewhere:
    """A model that is computed outside of ours: each row is a normal value about one mean, whose prior is wide."""

    def log_priors(self, u):
        return -0.5 * (u[:, 0] / 20) ** 2

    def known_log_liks(self, u, columns):
        return -0.5 * (columns["y"] - u) ** 2

    log_liks = known_log_liks

    def constrain_all(self, u):
        return {"mean": u[:, 0]}

    def log_lik(self, theta, columns):
        return theta["log_lik"]


def test_a_population_comes_to_both_of_two_places_in_their_shares():
    """Rows about -8 and about 8, clipped from 6 below their peak on: beside one group the other no longer counts."""
    y = np.concatenate([np.full(3, -8.0), np.full(3, 8.1)])
    columns = {"y": y, LOW: np.full(6, -6.0), HIGH: np.zeros(6)}
    with jax.enable_x64(True):
        target = Target(Clipped(Elsewhere()), Data(columns, np.ones(6), np.int64(6)), np.zeros(1))
        points = np.random.default_rng(1).normal(0, 20, (256, 1))
        u = gathered(np.random.default_rng(2), target, points)
    at = np.linspace(-100, 100, 20_001)
    value = -0.5 * (at / 20) ** 2 + np.maximum(-0.5 * (y[:, None] - at) ** 2, -6).sum(axis=0)
    density = np.exp(value - value.max())
    for low, high in ((-12, -4), (4, 12)):
        share = density[(at > low) & (at < high)].sum() / density.sum()
        # 400 points that come of each other count as 100, say: four standard errors.
        held = ((u > low) & (u < high)).mean()
        assert held == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 100))


def test_a_prior_without_a_density_anywhere_is_refused():
    class Nowhere(Elsewhere):
        def log_priors(self, u):
            return np.full(len(u), -np.inf)

    columns = {"y": np.zeros(1), LOW: np.full(1, -6.0), HIGH: np.zeros(1)}
    with jax.enable_x64(True):
        target = Target(Clipped(Nowhere()), Data(columns, np.ones(1), np.int64(1)), np.zeros(1))
        with pytest.raises(DiagnosticsError, match="must have a density somewhere"):
            gathered(np.random.default_rng(2), target, np.zeros((8, 1)))


def test_a_row_that_cannot_be_computed_counts_as_cut():
    class Failing(Elsewhere):
        def known_log_liks(self, u, columns):
            return np.where(columns["y"] > 5, np.nan, super().known_log_liks(u, columns))

    columns = {"y": np.array([0.0, 9.0, 9.0]), LOW: np.full(3, -6.0), HIGH: np.zeros(3)}
    with jax.enable_x64(True):
        prior, own = log_parts(
            Clipped(Failing()), np.zeros((2, 1)), Data(columns, np.array([1.0, 0.5, 0]), np.int64(3))
        )
    assert prior.tolist() == [0, 0]
    assert own.tolist() == [-3.0, -3.0]


def rare_levels(n=3_000):
    """A factor of two levels beside two others, one of them with rare levels."""
    rng = np.random.default_rng(1)
    married = rng.choice(list("abcde"), n, p=[0.216, 0.691, 0.006, 0.068, 0.019])
    year, job = rng.choice(list("tuvwxyz"), n), rng.choice(["no", "yes"], n)
    return pd.DataFrame({"year": year, "married": married, "job": job})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_budget_weights_beside_rare_levels_are_drawn(seed):
    """Eleven coefficients at a third of 1.5: components fitted to proposals alone are refused, and walks pass."""
    levels = {"year": list("tuvwxyz"), "married": list("abcde"), "job": ["no", "yes"]}
    made = Synthesizer(
        ["year ~ 1", "married ~ 1", "job ~ year + married"],
        family=["categorical", "categorical", "bernoulli"],
        mechanism="BW",
        epsilon=1.5,
        m=1,
        seed=seed,
        declared={name: {"levels": of} for name, of in levels.items()},
    ).fit(rare_levels())
    attempts = [made.trail_.fits[-1].attempts[2], made.trail_.guide.draws[2].diagnostics.attempt]
    assert max(attempts) >= len(THINNING)
