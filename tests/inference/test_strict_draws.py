"""Draws from strict contributions by Markov chains: all modes, what lies beyond them, and starts that are public."""

from __future__ import annotations

import jax
import numpy as np
import pandas as pd
import pytest

from alphasynth.inference.density import Target, log_density
from alphasynth.inference.diagnostics import Diagnostics, ess
from alphasynth.inference.laplace import ATTEMPTS, Laplace, Modes, mass_beyond, modes_of, one_program
from alphasynth.inference.mode import Mode
from alphasynth.inference.nuts import Nuts
from alphasynth.models.families import FAMILIES
from alphasynth.synthesizer import Synthesizer
from bound_families import bound


@pytest.fixture(autouse=True)
def _in_64_bit():
    with jax.enable_x64(True):
        yield


def target_of(y, epsilon, mechanism="Censored", family="poisson"):
    """The target of one column of counts."""
    made = Synthesizer("y ~ 1", family=family, mechanism=mechanism, epsilon=epsilon, m=1, sampler=Laplace())
    problem = made.bind(made.read(pd.DataFrame({"y": y}))).one
    return Target.of(problem.model, problem.rows, problem.rows.total(problem.records.counts.astype(float)))


def mass_below(target, limit):
    """Share of the target below a log mean, by quadrature from far below to far above."""
    u = np.arange(-25.0, 25.0, 2e-4)
    value = np.concatenate([np.asarray(_density(target.model, part[:, None], target.data)) for part in np.split(u, 25)])
    mass = np.exp(value - value.max())
    return mass[u < limit].sum() / mass.sum()


_density = jax.jit(log_density, static_argnames="model")

TWO_GROUPS = np.r_[np.full(60, 300), np.full(60, 450)]
CASES = {
    "two groups": (TWO_GROUPS, 2.0, np.log(370)),
    "two groups, one record far off": (np.r_[TWO_GROUPS, 10**8], 2.0, np.log(370)),
    "little to go by": (np.random.default_rng(0).poisson(60, 100), 0.07, 3.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("attempt", [0, 1, 4])
def test_shares_of_far_parts_are_those_of_the_target(case, attempt, key):
    y, epsilon, limit = CASES[case]
    target = target_of(y, epsilon)
    expected = mass_below(target, limit)
    assert 0.02 < expected < 0.98, "the case is about two parts"
    draws = Laplace().draw(key, target, 4_000, attempt)
    below = (draws.u[:, 0] < limit).astype(float)
    size = ess(below.reshape(4, -1, 1))[0]
    assert below.mean() == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / size))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mechanism", ["Censored", "BetaDivergence"])
def test_one_program_has_the_density_of_its_target(case, mechanism):
    """But for a constant, where all contributions are cut and where none is."""
    y, epsilon, _ = CASES[case]
    target = target_of(y, epsilon, mechanism)
    u = np.linspace(-20.0, 20.0, 401)[:, None]
    density, same = (np.asarray(_density(each.model, u, each.data)) for each in (target, one_program(target)))
    assert np.ptp(density) > 1.0
    np.testing.assert_allclose(density - density[200], same - same[200], rtol=1e-9, atol=1e-7)


@pytest.mark.slow
def test_chains_that_cannot_cross_are_refused(key):
    """They start at each mode that was found, so that R-hat sees what keeps them apart."""
    failures = Nuts(num_warmup=200).draw(key, target_of(TWO_GROUPS, 2.0), 400).diagnostics.failures()
    assert any(words.startswith("R-hat") for words in failures)


@pytest.mark.slow
def test_mass_beyond_the_modes_is_that_of_the_target(key):
    """Where nothing but the narrow mode was found; as a rule the flat part is found for a mode of its own."""
    target = target_of(*CASES["little to go by"][:2])
    found = modes_of(target)
    assert isinstance(found, Modes)
    narrow = int(np.argmax(found.u[:-1, 0]))
    assert abs(found.u[narrow, 0] - np.log(60)) < 0.1
    alone = Modes.of([Mode(found.u[narrow], found.factor[narrow])])
    expected = mass_below(target, 3.5)
    # Of 1,600 proposals beyond: weights vary by less than their mean.
    assert mass_beyond(key, target, alone, found.u[narrow][None], 4_000) == pytest.approx(expected, rel=0.15)
    assert mass_beyond(key, target_of(CASES["little to go by"][0], 2.0), alone, found.u[narrow][None]) < 1e-6
    assert "mass beyond the modes 0.002, at most 0.001" in Diagnostics("Nuts", 1000, beyond=0.002).failures()
    assert Nuts(num_warmup=200).draw(key, target, 400).diagnostics.failures()


def test_starts_know_nothing_of_the_table():
    one, other = (target_of(y, 1.0, family="negative_binomial") for y in ([1, 2, 3] * 20, [900, 10**6, 0] * 20))
    np.testing.assert_array_equal(one.start, other.start)
    assert one.start.ndim == 3, "several scales"


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_public_starts(name):
    model, _ = bound(name, K=3)
    starts = model.public_starts()
    assert starts.shape[-1] == model.prior.size
    assert np.isfinite(starts).all()


@pytest.mark.slow
def test_attempts_pass_where_there_is_one_mode(key):
    """And the far proposals do no harm."""
    target = target_of(np.random.default_rng(1).poisson(60, 2_000), 2.0)
    for attempt in range(len(ATTEMPTS)):
        diagnostics = Laplace().draw(key, target, 1_000, attempt).diagnostics
        assert (diagnostics.failures(), diagnostics.attempt) == ([], attempt)
