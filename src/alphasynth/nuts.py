"""`Nuts`: NumPyro's no-U-turn sampler, started from the mode and metric that `Laplace` uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from alphasynth.density import Data, Target, smooth_log_density, taking_part
from alphasynth.diagnostics import Diagnostics, compare_chains
from alphasynth.errors import InputError
from alphasynth.mode import Mode, find_mode
from alphasynth.model import Array, Model
from alphasynth.sampler import Draws, Key, child, jax_key

# Of so many steps one is kept; the next number is tried where neighbouring draws are too alike.
THINNINGS = (1, 8)


@dataclass(frozen=True)
class Nuts:
    """Hamiltonian Monte Carlo for targets of any shape.

    The chains move in z, where u = mode + L z: the curvature at the mode is the metric, and mode and L are arguments of
    the compiled program, so that every round shares it.
    """

    num_chains: int = 4
    num_warmup: int = 500
    target_accept: float = 0.9

    def __post_init__(self) -> None:
        """Refuse settings that no chain can run with."""
        if self.num_chains < 2 or self.num_warmup < 1 or not 0 < self.target_accept < 1:
            raise InputError("Nuts must have num_chains >= 2, num_warmup >= 1 and 0 < target_accept < 1")

    def draw(self, key: Key, target: Target, num_draws: int) -> Draws:
        """Draw `num_draws` times, divided over the chains."""
        mode = find_mode(target.model, target.start, target.data)
        for number, thin in enumerate(THINNINGS):
            draws = self._draw(child(key, number), target, num_draws, mode, thin)
            if not draws.diagnostics.failures():
                break
        return draws

    def _draw(self, key: Key, target: Target, num_draws: int, mode: Mode, thin: int) -> Draws:
        length = -(-num_draws // self.num_chains)
        # Starts as wide as the target: R-hat compares chains that began apart.
        starts = np.random.default_rng(child(key, 1)).standard_normal((self.num_chains, target.model.prior.size))
        z, accept, diverging = _run(target.model, self, length, thin, jax_key(key, 0), target.data, mode, starts)
        chains = np.asarray(mode.u) + np.asarray(z) @ np.asarray(mode.factor).T
        ess_bulk, rhat = compare_chains(chains)
        diagnostics = Diagnostics(
            sampler="Nuts",
            num_draws=num_draws,
            acceptance=float(np.mean(accept)),
            ess_bulk=ess_bulk,
            rhat=rhat,
            divergences=int(np.sum(diverging)),
        )
        return Draws.of(target.model, chains.reshape(-1, chains.shape[-1])[:num_draws], diagnostics)


@partial(jax.jit, static_argnames=("model", "nuts", "length", "thin"))
def _run(
    model: Model, nuts: Nuts, length: int, thin: int, key: Array, data: Data, mode: Mode, starts: Array
) -> tuple[Array, Array, Array]:
    """Chains z (chains, length, D) after warm-up, acceptance probabilities and which transitions diverged."""
    from numpyro.infer.hmc import hmc

    data = taking_part(data)
    begin, advance = hmc(lambda z: -smooth_log_density(model, mode.u + mode.factor @ z, data), algo="NUTS")

    def chain(key: Array, start: Array) -> tuple[Array, Array, Array]:
        def step(state: Any, _: None) -> tuple[Any, tuple[Array, Array, Array]]:
            state = advance(state)
            return state, (state.z, state.accept_prob, state.diverging)

        state = begin(start, nuts.num_warmup, dense_mass=True, target_accept_prob=nuts.target_accept, rng_key=key)
        _, path = jax.lax.scan(step, state, None, nuts.num_warmup + length * thin)
        z, accept, diverging = (value[nuts.num_warmup :] for value in path)
        return z[thin - 1 :: thin], accept, diverging

    keys = jax.random.split(jax.random.wrap_key_data(key), nuts.num_chains)
    chains: tuple[Array, Array, Array] = jax.vmap(chain)(keys, starts)
    return chains
