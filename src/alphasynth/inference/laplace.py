"""`Laplace`: independence sampling with multivariate-t proposals at the mode; exact MCMC without warm-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.errors import require_whole
from alphasynth.inference.contribution import Bounded
from alphasynth.inference.density import Data, Target, log_density
from alphasynth.inference.diagnostics import Diagnostics, compare_chains, khat
from alphasynth.inference.mode import Mode, find_mode, find_modes
from alphasynth.inference.sampler import Draws
from alphasynth.inference.wrapping import Clipped
from alphasynth.models.model import Array, Model
from alphasynth.privacy.randomness import Key, child

# Steps before the first kept one, times an attempt's thinning, which is for low acceptance: at an acceptance of 0.1
# over the thinning the start is forgotten to 1 part in 600 or less.
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


# Of strict contributions: the share of proposals that look far beyond the modes, and how far, in the unit of priors.
FAR, BROAD = 0.1, 2.5
LEAST_FAR = 100.0  # squared standard deviations from a mode


class Modes(NamedTuple):
    """Components of a proposal (J, ...): modes, factors, inverses of these, shares; the last looks far beyond."""

    u: Array
    factor: Array
    inverse: Array
    share: Array

    @classmethod
    def of(cls, found: Sequence[Mode]) -> Modes:
        """Modes with equal shares, and the component beyond."""
        size = len(found[0].u)
        factor = np.stack([*(np.asarray(mode.factor) for mode in found), BROAD * np.eye(size)])
        return cls(
            np.stack([*(np.asarray(mode.u) for mode in found), np.zeros(size)]),
            factor,
            np.linalg.inv(factor),
            np.array([*[(1 - FAR) / len(found)] * len(found), FAR]),
        )


def modes_of(target: Target) -> Mode | Modes:
    """Where to propose: at the mode, and of contributions that are cut at each of several and far beyond.

    Contributions that are cut leave a posterior flat where all are, and with a mode for each group of records that
    parameters can suit. Draws of a strict mechanism must know of all of it, or one record could decide which is found.
    """
    starts = np.asarray(target.start)
    if not isinstance(target.model, Bounded | Clipped):
        return find_mode(target.model, np.atleast_2d(starts)[0], target.data)
    return Modes.of(find_modes(target.model, np.atleast_2d(starts), target.data))


@dataclass(frozen=True)
class Laplace:
    """Propose from a multivariate t with the mode and curvature of the target, score all proposals in one call, accept.

    Right for posteriors near a normal in shape, which large tables make. Where they are skewed, it tries again with
    proposals as skewed as they are (a split t, Geweke 1989), then with heavier tails and more proposals for each draw
    kept; where that does not help (funnels), the diagnostics say so.

    >>> Laplace(num_chains=8)
    Laplace(num_chains=8)
    """

    num_chains: int = 4

    def __post_init__(self) -> None:
        """Refuse fewer than two chains, between which R-hat could compare nothing."""
        require_whole("num_chains", self.num_chains, 2)

    def draw(self, key: Key, target: Target, num_draws: int, least: int = 0) -> Draws:
        """Draw `num_draws` times, divided over the chains."""
        modes = modes_of(target)
        for number in range(len(ATTEMPTS)):
            draws = self._draw(child(key, number), target, num_draws, modes, number)
            passed = not draws.diagnostics.failures()
            # Cut contributions leave a prior its tails, which the first two attempts' are too light for.
            enough = 1 if isinstance(modes, Mode) else 2
            if number >= least and (passed or (number >= enough and _hopeless(draws.diagnostics))):
                break
            if number > 0 and isinstance(modes, Mode):  # skewed proposals know more of the target than the first
                modes = _recentre(modes, draws)
        return draws

    def _draw(self, key: Key, target: Target, num_draws: int, modes: Mode | Modes, number: int) -> Draws:
        attempt = ATTEMPTS[number]
        length = -(-num_draws // self.num_chains)
        steps = (BURN_IN + length) * attempt.thin
        noise = _noise(key, steps, self.num_chains, target.model.prior.size, attempt.degrees)
        u, taken, log_ratio = propose_and_accept(target.model, target.data, modes, noise, attempt)
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
    """All that chance decides: standard t vectors (steps, chains, D), thresholds of acceptance, components."""

    t: Array
    log_uniform: Array
    component: Array | None = None


def _noise(key: Key, steps: int, chains: int, size: int, degrees: int) -> Noise:
    """Drawn with NumPy from the key's 128 bits; a JAX key would hold 64."""
    rng = np.random.default_rng(key)
    normal = rng.standard_normal((steps, chains, size))
    chi_square = 2 * rng.standard_gamma(degrees / 2, (steps, chains))
    t = normal * np.sqrt(degrees / chi_square)[..., None]
    return Noise(t, -rng.standard_exponential((steps, chains)), rng.random((steps, chains)))


@partial(jax.jit, static_argnames=("model", "attempt"))
def propose_and_accept(
    model: Model, data: Data, modes: Mode | Modes, noise: Noise, attempt: Attempt
) -> tuple[Array, Array, Array]:
    """Chains (chains, length, D), which proposals were taken, and the log ratio target / proposal of each."""
    thin, log_uniform = attempt.thin, noise.log_uniform
    shape = log_uniform.shape
    if isinstance(modes, Mode):
        u, log_t = _propose_at_one(model, data, modes, noise, attempt)
    else:
        u, parts = _propose_at_several(model, data, modes, noise, attempt)
        log_t = jax.nn.logsumexp(parts, axis=0)
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
    first = BURN_IN * thin
    taken = at[first:] == jnp.arange(first, shape[0])[:, None]
    chains = jnp.take_along_axis(u, at[first + thin - 1 :: thin, :, None], axis=0)
    return jnp.swapaxes(chains, 0, 1), taken, log_ratio


def _propose_at_one(model: Model, data: Data, mode: Mode, noise: Noise, attempt: Attempt) -> tuple[Array, Array]:
    """Proposals (steps, chains, D) around a mode, and their log density up to a constant."""
    t = noise.t
    log_t = _log_t(t, attempt.degrees)
    if attempt.skewed:
        below, above = spreads(model, data, mode)
        spread = jnp.where(t < 0, below, above)
        t, log_t = t * spread, log_t - jnp.sum(jnp.log(spread), axis=-1)
    return mode.u + t @ mode.factor.T, log_t


def _propose_at_several(model: Model, data: Data, modes: Modes, noise: Noise, attempt: Attempt) -> tuple[Array, Array]:
    """Proposals (steps, chains, D), and by component (J, steps, chains) their log density up to a constant."""
    assert noise.component is not None, "several components"
    below = above = jnp.ones_like(modes.u)
    if attempt.skewed:
        found = [spreads(model, data, Mode(modes.u[j], modes.factor[j])) for j in range(len(modes.u) - 1)]
        below, above = (below.at[:-1].set(jnp.stack(side)) for side in zip(*found, strict=True))
    chosen = jnp.searchsorted(jnp.cumsum(modes.share)[:-1], noise.component, side="right")
    spread = jnp.where(noise.t < 0, below[chosen], above[chosen])
    u = modes.u[chosen] + jnp.einsum("scij,scj->sci", modes.factor[chosen], noise.t * spread)

    def component(centre: Array, factor: Array, inverse: Array, share: Array, low: Array, high: Array) -> Array:
        z = (u - centre) @ inverse.T
        wide = jnp.where(z < 0, low, high)
        volume = jnp.sum(jnp.log(wide), axis=-1) + jnp.sum(jnp.log(jnp.diag(factor)))
        return jnp.log(share) + _log_t(z / wide, attempt.degrees) - volume

    return u, jax.vmap(component)(*modes, below, above)


def _log_t(t: Array, degrees: int) -> Array:
    """Log density of standard t vectors, up to a constant."""
    return -0.5 * (degrees + t.shape[-1]) * jnp.log1p(jnp.sum(t**2, axis=-1) / degrees)


def mass_beyond(key: Key, target: Target, modes: Modes, draws: Array, steps: int = 500) -> float:
    """Share of a strict target's mass that lies far beyond its modes, and draws (S, D) around them, by importance.

    That is much further from each mode, in its own standard deviations, than any of the draws, and nearer to the
    component beyond.
    """
    noise = _noise(key, steps, 4, target.model.prior.size, ATTEMPTS[0].degrees)
    reached = 2 * float(jnp.max(_squares(jnp.asarray(draws), modes)))
    return float(_mass_beyond(target.model, target.data, modes, noise, max(reached, LEAST_FAR)))


def _squares(u: Array, modes: Modes) -> Array:
    """Squared distance of each u (..., D) from the nearest mode, in its standard deviations."""
    near = zip(modes.u[:-1], modes.inverse[:-1], strict=True)
    return jnp.stack([jnp.sum(((u - centre) @ inverse.T) ** 2, axis=-1) for centre, inverse in near]).min(axis=0)


@partial(jax.jit, static_argnames="model")
def _mass_beyond(model: Model, data: Data, modes: Modes, noise: Noise, far: Array) -> Array:
    u, parts = _propose_at_several(model, data, modes, noise, ATTEMPTS[0])
    log_target = log_density(model, u.reshape(-1, u.shape[-1]), data).reshape(u.shape[:2])
    log_ratio = jnp.where(jnp.isnan(log_target), -jnp.inf, log_target) - jax.nn.logsumexp(parts, axis=0)
    weight = jnp.exp(log_ratio - log_ratio.max())
    beyond = (parts[-1] > parts[:-1].max(axis=0)) & (_squares(u, modes) > far)
    # What is flat weighs about the same everywhere: a weight that three in four are below stands for all, so that a
    # single proposal, whose weight can be anything in many dimensions, cannot.
    typical = jnp.nanquantile(jnp.where(beyond, weight, jnp.nan), 0.75)
    mass = jnp.where(beyond.any(), jnp.sum(beyond) * typical, 0.0)
    return mass / (mass + jnp.sum(jnp.where(beyond, 0.0, weight)))


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
