"""`Laplace`: independence sampling with multivariate-t proposals at the mode; exact MCMC without warm-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.errors import require_whole
from alphasynth.inference.annealed import LIGHT, annealed
from alphasynth.inference.contribution import Bounded, bare, clipped_form
from alphasynth.inference.density import Data, Target, log_densities, log_density
from alphasynth.inference.diagnostics import Diagnostics, compare_chains, khat
from alphasynth.inference.mode import Mode, Modes, find_mode, find_modes
from alphasynth.inference.sampler import Draws
from alphasynth.inference.spreads import spreads
from alphasynth.inference.wrapping import Clipped
from alphasynth.models.model import TAKES_PART, Array, Model
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
DEGREES = 6
ATTEMPTS = (Attempt(1, DEGREES), Attempt(4, DEGREES, skewed=True), Attempt(8, 2), Attempt(64, 2))
# Thinning of attempts where contributions are cut: at the modes found, then at what was fitted to the proposals before.
THINNING = (1, *[8] * 5)
# Then those whose proposals walk: how many steps, and thinning. Each takes twice the seconds of the one before.
WALKS = ((64, 2), (256, 4), (512, 4), (1024, 4), (2048, 4))
WALK = 1  # key of the walks, beside that of where they begin
BEGIN = 99  # key of where components begin
HEAVY = 3  # degrees of freedom of what is fitted: between a mode and what is flat there is more than a normal has
LEAST_FAR = 100.0  # squared standard deviations from a mode


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
        target = one_program(target)
        modes = modes_of(target)
        if isinstance(modes, Modes):
            return self.draw_at_several(key, target, num_draws, modes, least)
        for number, attempt in enumerate(ATTEMPTS):
            noise = self._noise(child(key, number), target, num_draws, attempt)
            u, taken, log_ratio = propose_and_accept(target.model, target.data, modes, noise, attempt)
            draws = _drawn(target.model, num_draws, np.asarray(u), np.asarray(taken), np.asarray(log_ratio), number)
            passed = not draws.diagnostics.failures()
            if number >= least and (passed or (number >= 1 and _hopeless(draws.diagnostics))):
                break
            if number > 0:  # skewed proposals know more of the target than the first
                modes = _recentre(modes, draws)
        return draws

    def draw_at_several(
        self, key: Key, target: Target, num_draws: int, modes: Modes, least: int, walks: int = len(WALKS)
    ) -> Draws:
        """Where contributions are cut, parts of a posterior are flat: what the modes miss is learnt from proposals.

        Only where proposals are made is learnt, round by round; the draws are of the last round alone. Of the attempts
        whose proposals walk, the first few are made.
        """
        at = modes
        for number, thin in enumerate(THINNING):
            attempt = Attempt(thin, DEGREES if number == 0 else HEAVY)
            noise = self._noise(child(key, number), target, num_draws, attempt)
            u = at.propose(noise.t, noise.component)
            flat = u.reshape(-1, u.shape[-1])
            log_target = log_densities(target.model, flat, target.data).reshape(u.shape[:2])
            parts = at.log_parts(u, attempt.degrees)
            log_ratio = _ratio(log_target, parts)
            chains, taken = _accept(u, log_ratio, noise.log_uniform, thin)
            draws = _drawn(target.model, num_draws, chains, taken, log_ratio, number)
            if number >= least and not draws.diagnostics.failures():
                return draws
            if not np.isfinite(log_ratio).any():
                return draws  # no proposal where the target has any mass
            if number == 0:
                at = modes.begun(np.random.default_rng(child(key, BEGIN)), flat, log_ratio.ravel())
            elif number < len(THINNING) - 1:
                at = at.adapted(flat, log_ratio.ravel(), parts.reshape(len(parts), -1), HEAVY)
        begin = Modes.around(flat, log_ratio.ravel(), modes.beyond)
        return self._draw_by_walks(key, target, num_draws, begin, least, WALKS[:walks])

    def _draw_by_walks(
        self, key: Key, target: Target, num_draws: int, begin: Modes, least: int, walks: Sequence[tuple[int, int]]
    ) -> Draws:
        """Where no proposal made at once is near the target, in many dimensions: longer and longer walks towards it."""
        for number, (steps, thin) in enumerate(walks, start=len(THINNING)):
            noise = self._noise(child(key, number), target, num_draws, Attempt(thin, LIGHT))
            u = begin.propose(noise.t, noise.component)
            walking = np.random.default_rng(child(key, number, WALK))
            flat, log_weight = annealed(walking, target, begin, u.reshape(-1, u.shape[-1]), steps)
            weight = log_weight.reshape(u.shape[:2])
            chains, taken = _accept(flat.reshape(u.shape), weight, noise.log_uniform, thin)
            draws = _drawn(target.model, num_draws, chains, taken, weight, number)
            if (number >= least and not draws.diagnostics.failures()) or not np.isfinite(weight).any():
                break
            begin = Modes.around(flat, log_weight, begin.beyond)
        return draws

    def _noise(self, key: Key, target: Target, num_draws: int, attempt: Attempt) -> Noise:
        steps = (BURN_IN + -(-num_draws // self.num_chains)) * attempt.thin
        return _noise(key, steps, self.num_chains, target.model.prior.size, attempt.degrees)


def one_program(target: Target) -> Target:
    """The same target, with what differs between columns and budgets in its data: they share compiled programs.

    A contribution a (f - f*), cut at -epsilon, is the line f clipped to [f* - epsilon / a, f*], its weight times a, but
    for a constant; and a record without a value has weight 0.
    """
    model, columns, a = clipped_form(target.model, target.data.columns)
    weight = target.data.weight * a
    if TAKES_PART in columns and isinstance(model, Clipped):
        weight = np.where(np.asarray(columns[TAKES_PART]) > 0, weight, 0.0)
        columns = {name: column for name, column in columns.items() if name != TAKES_PART}
        model = Clipped(bare(model.model))
    return replace(target, model=model, data=Data(columns, weight, target.data.size))


def _drawn(model: Model, num_draws: int, chains: np.ndarray, taken: np.ndarray, log_ratio: np.ndarray, n: int) -> Draws:
    """Chains (chains, length, D) of attempt n as draws with their diagnostics."""
    ess_bulk, rhat = compare_chains(chains)
    diagnostics = Diagnostics(
        sampler="Laplace",
        num_draws=num_draws,
        acceptance=float(taken.mean()),
        ess_bulk=ess_bulk,
        rhat=rhat,
        khat=khat(log_ratio.ravel()),
        attempt=n,
    )
    return Draws.of(model, chains.reshape(-1, chains.shape[-1])[:num_draws], diagnostics)


def _accept(u: np.ndarray, log_ratio: np.ndarray, log_uniform: np.ndarray, thin: int) -> tuple[np.ndarray, np.ndarray]:
    """Chains (chains, length, D) and which proposals (steps, chains, D) were taken, as in `propose_and_accept`."""
    current, number = np.full(log_ratio.shape[1], -np.inf), np.zeros(log_ratio.shape[1], int)
    at = np.empty(log_ratio.shape, int)
    with np.errstate(invalid="ignore"):  # no density after no density: not taken
        for step, (candidate, threshold) in enumerate(zip(log_ratio, log_uniform, strict=True)):
            take = threshold < candidate - current
            current, number = np.where(take, candidate, current), np.where(take, step, number)
            at[step] = number
    first = BURN_IN * thin
    chains = np.take_along_axis(u, at[first + thin - 1 :: thin, :, None], axis=0)
    return np.swapaxes(chains, 0, 1), at[first:] == np.arange(first, len(at))[:, None]


def _ratio(log_target: np.ndarray, log_parts: np.ndarray) -> np.ndarray:
    """Log ratio target / proposal; a density that is not a number is no density: such a proposal is never taken."""
    top = log_parts.max(axis=0)
    log_proposal = top + np.log(np.exp(log_parts - top).sum(axis=0))
    return np.where(np.isnan(log_target), -np.inf, log_target) - log_proposal


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
    component: Array


def _noise(key: Key, steps: int, chains: int, size: int, degrees: int) -> Noise:
    """Drawn with NumPy from the key's 128 bits; a JAX key would hold 64."""
    rng = np.random.default_rng(key)
    normal = rng.standard_normal((steps, chains, size))
    chi_square = 2 * rng.standard_gamma(degrees / 2, (steps, chains))
    t = normal * np.sqrt(degrees / chi_square)[..., None]
    return Noise(t, -rng.standard_exponential((steps, chains)), rng.random((steps, chains)))


@partial(jax.jit, static_argnames=("model", "attempt"))
def propose_and_accept(
    model: Model, data: Data, mode: Mode, noise: Noise, attempt: Attempt
) -> tuple[Array, Array, Array]:
    """Chains (chains, length, D), which proposals were taken, and the log ratio target / proposal of each."""
    thin, log_uniform = attempt.thin, noise.log_uniform
    shape = log_uniform.shape
    u, log_t = _propose(model, data, mode, noise, attempt)
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


def _propose(model: Model, data: Data, mode: Mode, noise: Noise, attempt: Attempt) -> tuple[Array, Array]:
    """Proposals (steps, chains, D) around a mode, and their log density up to a constant."""
    t = noise.t
    log_t = _log_t(t, attempt.degrees)
    if attempt.skewed:
        below, above = spreads(model, data, mode)
        spread = jnp.where(t < 0, below, above)
        t, log_t = t * spread, log_t - jnp.sum(jnp.log(spread), axis=-1)
    return mode.u + t @ mode.factor.T, log_t


def _log_t(t: Array, degrees: int) -> Array:
    """Log density of standard t vectors, up to a constant."""
    return -0.5 * (degrees + t.shape[-1]) * jnp.log1p(jnp.sum(t**2, axis=-1) / degrees)


def mass_beyond(key: Key, target: Target, modes: Modes, draws: Array, steps: int = 500) -> float:
    """Share of a strict target's mass that lies far beyond its modes, and draws (S, D) around them, by importance.

    That is much further from each mode, in its own standard deviations, than any of the draws, and nearer to the
    component beyond.
    """
    noise = _noise(key, steps, 4, target.model.prior.size, DEGREES)
    far = max(2 * float(np.max(_squares(np.asarray(draws), modes))), LEAST_FAR)
    u = modes.propose(noise.t, noise.component).reshape(-1, target.model.prior.size)
    parts = modes.log_parts(u, DEGREES)
    log_ratio = _ratio(log_densities(target.model, u, target.data), parts)
    weight = np.exp(log_ratio - log_ratio.max())
    beyond = (parts[-1] > parts[:-1].max(axis=0)) & (_squares(u, modes) > far)
    # What is flat weighs about the same everywhere: a weight that three in four are below stands for all, so that a
    # single proposal, whose weight can be anything in many dimensions, cannot.
    mass = float(beyond.sum() * np.quantile(weight[beyond], 0.75)) if beyond.any() else 0.0
    return mass / (mass + float(weight[~beyond].sum()))


def _squares(u: np.ndarray, modes: Modes) -> np.ndarray:
    """Squared distance of each u (..., D) from the nearest mode, in its standard deviations."""
    near = zip(modes.u[:-1], modes.inverse[:-1], strict=True)
    squares = [np.sum(((u - centre) @ inverse.T) ** 2, axis=-1) for centre, inverse in near]
    return np.asarray(np.min(squares, axis=0))
