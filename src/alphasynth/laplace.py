"""`Laplace`: independence sampling with multivariate-t proposals at the mode; exact MCMC without warm-up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.density import Data, Target, log_density
from alphasynth.diagnostics import Diagnostics, compare_chains, khat
from alphasynth.errors import require_whole
from alphasynth.mode import Mode, find_mode
from alphasynth.model import Array, Model
from alphasynth.sampler import Draws, Key, child

# Steps before the first kept one: at an acceptance of 0.1 the start is forgotten to 1 part in 800.
BURN_IN = 64


class Attempt(NamedTuple):
    """Keep one step of every `thin`; propose from a t with `degrees` of freedom, `skewed` like the target or not."""

    thin: int
    degrees: int
    skewed: bool = False


# Degrees of 6 suit posteriors near a normal. Where draws come out too alike, a t with a spread of its own on either
# side of the mode, as dispersions want; then tails heavier than any prior's and more proposals for each draw kept.
ATTEMPTS = (Attempt(1, 6), Attempt(4, 6, skewed=True), Attempt(8, 2), Attempt(64, 2))
# Steps along each axis of a proposal, in its standard deviations, at which the target is looked at for its spread on
# either side; and the narrowest and widest that this may be.
STEPS, NARROWEST, WIDEST = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0), 0.5, 20.0


@dataclass(frozen=True)
class Laplace:
    """Propose from a multivariate t with the mode and curvature of the target, score all proposals in one call, accept.

    Right for posteriors near a normal in shape, which large tables make. Where they are skewed, it tries again with
    proposals as skewed as they are (a split t, Geweke 1989), then with heavier tails and more proposals for each draw
    kept; where that does not help (funnels), the diagnostics say so.
    """

    num_chains: int = 4

    def __post_init__(self) -> None:
        """Refuse fewer than two chains, between which R-hat could compare nothing."""
        require_whole("num_chains", self.num_chains, 2)

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """Draw `num_draws` times, divided over the chains."""
        mode = find_mode(target.model, target.start, target.data)
        for number in range(len(ATTEMPTS)):
            draws = self._draw(child(key, number), target, num_draws, mode, number)
            passed = not draws.diagnostics.failures()
            if number >= least and (passed or (number > 0 and _hopeless(draws.diagnostics))):
                break
            if number > 0:  # proposals as skewed as the target know more of it than the first draws
                mode = _recentre(mode, draws)
        return draws

    def _draw(self, key: Key, target: Target, num_draws: int, mode: Mode, number: int) -> Draws:
        attempt = ATTEMPTS[number]
        length = -(-num_draws // self.num_chains)
        noise = _noise(key, BURN_IN + length * attempt.thin, self.num_chains, target.model.prior.size, attempt.degrees)
        u, taken, log_ratio = propose_and_accept(target.model, target.data, mode, noise, attempt)
        chains = np.asarray(u)
        ess_bulk, rhat = compare_chains(chains)
        diagnostics = Diagnostics(
            sampler="Laplace",
            num_draws=num_draws,
            acceptance=float(np.asarray(taken).mean()),
            ess_bulk=ess_bulk,
            rhat=rhat,
            khat=khat(np.asarray(log_ratio).ravel()),
            attempt=number,
        )
        return Draws.of(target.model, chains.reshape(-1, chains.shape[-1])[:num_draws], diagnostics)


def _hopeless(diagnostics: Diagnostics) -> bool:
    """Whether the proposals miss the target, so that more of them would not help."""
    return not ((diagnostics.khat or 0) < 1 and (diagnostics.acceptance or 0) > 0.005)


def _recentre(mode: Mode, draws: Draws) -> Mode:
    """Centre and spread of the draws in place of the mode and its curvature, where there are draws enough to tell."""
    size = draws.u.shape[1]
    if (draws.diagnostics.ess_bulk or 0) < 10 * size:
        return mode
    spread = np.atleast_2d(np.cov(draws.u, rowvar=False))
    scale = np.sqrt(np.diag(spread))
    return Mode(draws.u.mean(axis=0), scale[:, None] * np.linalg.cholesky(spread / np.outer(scale, scale)))


class Noise(NamedTuple):
    """All that chance decides: standard t vectors (steps, chains, D), and thresholds of acceptance (steps, chains)."""

    t: Array
    log_uniform: Array


def _noise(key: Key, steps: int, chains: int, size: int, degrees: int) -> Noise:
    """Drawn with NumPy from the key's 128 bits; a JAX key would hold 64."""
    rng = np.random.default_rng(key)
    normal = rng.standard_normal((steps, chains, size))
    chi_square = 2 * rng.standard_gamma(degrees / 2, (steps, chains))
    return Noise(normal * np.sqrt(degrees / chi_square)[..., None], -rng.standard_exponential((steps, chains)))


@partial(jax.jit, static_argnames=("model", "attempt"))
def propose_and_accept(
    model: Model, data: Data, mode: Mode, noise: Noise, attempt: Attempt
) -> tuple[Array, Array, Array]:
    """Chains (chains, length, D), which proposals were taken, and the log ratio target / proposal of each."""
    thin, degrees, skewed = attempt
    t, log_uniform = noise
    shape = t.shape[:2]
    log_t = -0.5 * (degrees + len(mode.u)) * jnp.log1p(jnp.sum(t**2, axis=-1) / degrees)
    if skewed:
        below, above = spreads(model, data, mode)
        spread = jnp.where(t < 0, below, above)
        t, log_t = t * spread, log_t - jnp.sum(jnp.log(spread), axis=-1)
    u = mode.u + t @ mode.factor.T
    log_target = log_density(model, u.reshape(-1, u.shape[-1]), data).reshape(shape)
    # A density that is not a number is no density: such a proposal is never taken.
    log_ratio = jnp.where(jnp.isnan(log_target), -jnp.inf, log_target) - log_t

    def step(state: tuple[Array, Array], proposal: tuple[Array, Array, Array]) -> tuple[tuple[Array, Array], Array]:
        (current, at), (candidate, threshold, number) = state, proposal
        take = threshold < candidate - current
        state = jnp.where(take, candidate, current), jnp.where(take, number, at)
        return state, state[1]

    start = jnp.full(shape[1], -jnp.inf), jnp.zeros(shape[1], int)
    _, at = jax.lax.scan(step, start, (log_ratio, log_uniform, jnp.arange(shape[0])))
    taken = at[BURN_IN:] == jnp.arange(BURN_IN, shape[0])[:, None]
    chains = jnp.take_along_axis(u, at[BURN_IN + thin - 1 :: thin, :, None], axis=0)
    return jnp.swapaxes(chains, 0, 1), taken, log_ratio


def spreads(model: Model, data: Data, mode: Mode) -> tuple[Array, Array]:
    """How much wider than the curvature at the mode says the target is, below and above, along each axis (D,).

    A normal density that has fallen as far as the target has after a step is so much wider; the widest counts.
    """
    size, steps = len(mode.u), jnp.asarray(STEPS)
    signed = jnp.stack([-steps, steps])[:, :, None, None] * jnp.eye(size)  # (2, steps, D, D)
    at = log_density(model, mode.u + signed.reshape(-1, size) @ mode.factor.T, data).reshape(2, len(STEPS), size)
    fallen = log_density(model, mode.u[None], data)[0] - at
    wider = steps[:, None] / jnp.sqrt(2 * jnp.maximum(jnp.where(jnp.isnan(fallen), jnp.inf, fallen), 1e-3))
    below, above = jnp.clip(jnp.max(wider, axis=1), NARROWEST, WIDEST)
    return below, above
