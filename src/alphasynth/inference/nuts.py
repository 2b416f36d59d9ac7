"""`Nuts`: NumPyro's no-U-turn sampler, started from the mode and metric that `Laplace` uses."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from alphasynth.errors import require_whole
from alphasynth.inference.density import Data, Target, smooth_log_density, taking_part
from alphasynth.inference.diagnostics import Diagnostics, compare_chains
from alphasynth.inference.laplace import mass_beyond, modes_of
from alphasynth.inference.mode import Mode, Modes
from alphasynth.inference.sampler import Draws, jax_keys
from alphasynth.models.model import Array, Model
from alphasynth.privacy.randomness import Key, child


class Attempt(NamedTuple):
    """Keep one step of every `thin`; adapt the step size to this acceptance probability."""

    thin: int
    target_accept: float


# The second is for draws that came out too alike, or divergent.
ATTEMPTS = (Attempt(1, 0.9), Attempt(8, 0.99))
BEYOND = 9  # key of the look beyond the modes
# Columns of a chain are drawn in threads, and the program of these chains waits for others of its own in the runtime's
# pool of threads, of which there is one for each core: as many at once as that would wait for each other for ever.
ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Nuts:
    """Hamiltonian Monte Carlo for targets of any shape.

    The chains move in z, where u = mode + L z: the curvature at the mode is the metric, and mode and L are arguments of
    the compiled program, so that every round shares it. Of strict contributions each mode that is found starts chains,
    and mass beyond them, where no chain would come, is among the diagnostics.

    >>> Nuts(num_warmup=1_000)
    Nuts(num_chains=4, num_warmup=1000)
    """

    num_chains: int = 4
    num_warmup: int = 500

    def __post_init__(self) -> None:
        """Refuse fewer than two chains, between which R-hat could compare nothing, and no warm-up."""
        require_whole("num_chains", self.num_chains, 2)
        require_whole("num_warmup", self.num_warmup, 1)

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """Draw `num_draws` times, divided over the chains."""
        modes = modes_of(target)
        found = [modes] if isinstance(modes, Mode) else modes.found
        for number in range(least, len(ATTEMPTS)):
            draws = self._draw(child(key, number), target, num_draws, found, number)
            if isinstance(modes, Modes):
                beyond = mass_beyond(child(key, BEYOND), target, modes, draws.u)
                draws = replace(draws, diagnostics=replace(draws.diagnostics, beyond=beyond))
            if not draws.diagnostics.failures():
                break
        return draws

    def _draw(self, key: Key, target: Target, num_draws: int, modes: Sequence[Mode], number: int) -> Draws:
        attempt, mode = ATTEMPTS[number], modes[0]
        length = -(-num_draws // self.num_chains)
        # Starts as wide as the target, and at each of its modes: R-hat compares chains that began apart.
        starts = np.random.default_rng(child(key, 1)).standard_normal((self.num_chains, target.model.prior.size))
        for chain, other in enumerate([modes[i % len(modes)] for i in range(self.num_chains)]):
            if other is not mode:
                u = np.asarray(other.u) + np.asarray(other.factor) @ starts[chain]
                starts[chain] = np.linalg.solve(np.asarray(mode.factor), u - np.asarray(mode.u))
        keys = jax_keys(key, self.num_chains)
        with ONE_AT_A_TIME:
            run = _run(target.model, self, length, attempt, keys, target.data, mode, starts)
            z, accept, diverging = (np.asarray(part) for part in run)
        chains = np.asarray(mode.u) + np.asarray(z) @ np.asarray(mode.factor).T
        ess_bulk, rhat = compare_chains(chains)
        diagnostics = Diagnostics(
            sampler="Nuts",
            num_draws=num_draws,
            acceptance=float(np.mean(accept)),
            ess_bulk=ess_bulk,
            rhat=rhat,
            divergences=math.ceil(np.sum(diverging) / attempt.thin),
            attempt=number,
        )
        return Draws.of(target.model, chains.reshape(-1, chains.shape[-1])[:num_draws], diagnostics)


@partial(jax.jit, static_argnames=("model", "nuts", "length", "attempt"))
def _run(
    model: Model, nuts: Nuts, length: int, attempt: Attempt, keys: Array, data: Data, mode: Mode, starts: Array
) -> tuple[Array, Array, Array]:
    """Chains z (chains, length, D) after warm-up, acceptance probabilities and which transitions diverged."""
    from numpyro.infer.hmc import hmc

    data = taking_part(data)
    begin, advance = hmc(lambda z: -smooth_log_density(model, mode.u + mode.factor @ z, data), algo="NUTS")

    def chain(key: Array, start: Array) -> tuple[Array, Array, Array]:
        def step(state: Any, _: None) -> tuple[Any, tuple[Array, Array, Array]]:
            state = advance(state)
            return state, (state.z, state.accept_prob, state.diverging)

        state = begin(start, nuts.num_warmup, dense_mass=True, target_accept_prob=attempt.target_accept, rng_key=key)
        _, path = jax.lax.scan(step, state, None, nuts.num_warmup + length * attempt.thin)
        z, accept, diverging = (value[nuts.num_warmup :] for value in path)
        return z[attempt.thin - 1 :: attempt.thin], accept, diverging

    chains: tuple[Array, Array, Array] = jax.vmap(chain)(jax.random.wrap_key_data(keys), starts)
    return chains
