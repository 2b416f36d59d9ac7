"""Newton's method to the mode of a pseudo posterior under the smoothed prior, and the shape of the density there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.inference.density import Data, derivatives, log_densities, taking_part
from alphasynth.models.model import Array, Model

MOST_STEPS = 200
# Stop when a full step would change the log density by less than this: the proposal needs no better centre.
TOLERANCE = 1e-6
# Directions in which the density is not concave, or flatter than this share of its steepest one, are made so.
FLATTEST = 1e-10
# Of several modes: from how many starts of a scale they are looked for, how many are kept, from how many standard
# deviations on they count as two, and how much less of the logarithm of its mass one may hold.
MOST_CLIMBS, MOST_MODES, ALIKE, NEXT_TO_NOTHING = 4, 6, 2.0, 12.0


# Of strict contributions: the share of proposals that look far beyond the modes, and how far, in the unit of priors.
FAR, BROAD = 0.1, 2.5
# Fitted to proposals: how many components, how much wider than all of them one more is, the share of proposals that
# must have weight, how far correlations are shrunk, and halvings of the interval where the power of weights is found.
HEAVIEST = 0.1  # share of a component at the proposal of the largest weight, beside 1 of the others
COMPONENTS, BETWEEN, LEAST_SHARE, SHRUNK, HALVINGS = 4, 2.0, 0.05, 0.02, 30
WIDER = 1.2  # than proposals with weights, of one component for all of them


class Mode(NamedTuple):
    """Where a density peaks, u (D,), and the factor L (D, D) of its inverse negative Hessian L L'."""

    u: Array
    factor: Array


class Modes(NamedTuple):
    """Components of a proposal (J, ...): modes, factors, inverses of these, shares; the last looks far beyond."""

    u: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, found: Sequence[Mode], beyond: Mode | None = None) -> Modes:
        """Modes with equal shares, and the component beyond."""
        size = len(found[0].u)
        beyond = beyond or Mode(np.zeros(size), BROAD * np.eye(size))
        factor = np.stack([*(np.asarray(mode.factor) for mode in found), beyond.factor])
        return cls(
            np.stack([*(np.asarray(mode.u) for mode in found), beyond.u]),
            factor,
            np.linalg.inv(factor),
            np.array([*[(1 - FAR) / len(found)] * len(found), FAR]),
        )

    @classmethod
    def around(cls, u: np.ndarray, log_ratio: np.ndarray, beyond: Mode | None = None) -> Modes:
        """One component where the weights of proposals u (S, D) say, a little wider, and the component beyond."""
        weight = _tempered(log_ratio, _enough(u))
        centre, factor = _moments(u, weight, weight)
        return cls.of([Mode(centre, WIDER * factor)], beyond)

    @property
    def beyond(self) -> Mode:
        """The component that looks far beyond."""
        return Mode(self.u[-1], self.factor[-1])

    @property
    def found(self) -> list[Mode]:
        """The modes, without the component beyond."""
        return [Mode(*pair) for pair in zip(self.u[:-1], self.factor[:-1], strict=True)]

    def propose(self, t: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Proposals (steps, chains, D) from standard vectors t and uniform numbers (steps, chains)."""
        place = np.searchsorted(np.cumsum(self.share)[:-1], chosen, side="right")
        u = np.empty_like(t)
        for j, (centre, factor) in enumerate(zip(self.u, self.factor, strict=True)):
            u[place == j] = centre + t[place == j] @ factor.T
        return u

    def log_parts(self, u: np.ndarray, degrees: int) -> np.ndarray:
        """By component (J, ...) the log density of proposals u (..., D), t with so many degrees, up to a constant."""
        parts = []
        for centre, factor, inverse, share in zip(*self, strict=True):
            square = np.sum(((u - centre) @ inverse.T) ** 2, axis=-1)
            volume = np.log(np.diag(factor)).sum()
            parts.append(np.log(share) - 0.5 * (degrees + u.shape[-1]) * np.log1p(square / degrees) - volume)
        return np.stack(parts)

    def begun(self, rng: np.random.Generator, u: np.ndarray, log_ratio: np.ndarray) -> Modes:
        """Components alike but for their centres, where the weights of proposals u (S, D) say; `adapted` moves them."""
        weight = _tempered(log_ratio, _enough(u))
        centre, factor = _moments(u, weight, weight)
        centres = [centre, *u[rng.choice(len(u), COMPONENTS - 1, p=weight)]]
        return self._with([(one, factor, 1.0) for one in centres])

    def adapted(self, u: np.ndarray, log_ratio: np.ndarray, log_parts: np.ndarray, degrees: int) -> Modes:
        """With each component where its own proposals among u (S, D) have their weight (population Monte Carlo).

        Weights exp(log ratio) are tempered until enough proposals have some: so components go part of the way, and
        those of the next round further. One that too few proposals are left to is given up.
        """
        weight, size = _tempered(log_ratio, _enough(u)), u.shape[-1]
        member = np.exp(log_parts - np.logaddexp.reduce(log_parts, axis=0))
        found = []
        for own, centre, inverse in zip(weight * member[:-2], self.u, self.inverse, strict=False):
            share = own.sum()
            if share > 0 and share**2 / np.sum(own**2) >= 2 * size + 10:
                square = np.sum(((u - centre) @ inverse.T) ** 2, axis=-1)
                nearer = own * (degrees + size) / (degrees + square)  # the maximum likelihood of t vectors
                found.append((*_moments(u, nearer / nearer.sum(), nearer / share), share))
        found = found or [(*_moments(u, weight, weight), 1.0)]
        return self._with([*found, _around_heaviest(u, log_ratio, found[0][1])])

    def _with(self, parts: Sequence[tuple[np.ndarray, np.ndarray, float]]) -> Modes:
        """These centres, factors and shares, and between them and the component beyond one as wide as all and more."""
        centres, factors, shares = (np.stack(one) for one in zip(*parts, strict=True))
        shares = shares / shares.sum()
        centre = shares @ centres
        apart = np.einsum("j,jk,jl->kl", shares, centres - centre, centres - centre)
        whole = np.linalg.cholesky(apart + np.einsum("j,jkm,jlm->kl", shares, factors, factors))
        factor = np.stack([*factors, BETWEEN * whole, self.factor[-1]])
        u = np.stack([*centres, centre, self.u[-1]])
        return Modes(u, factor, np.linalg.inv(factor), np.array([*(1 - 3 * FAR) * shares, FAR, 2 * FAR]))


def _around_heaviest(u: np.ndarray, log_ratio: np.ndarray, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """A component where the proposals miss most: at the one of the largest weight, as wide as those next to it.

    So a part that few proposals reach is not given up (incremental mixture importance sampling, Raftery and Bao 2010).
    """
    centre = u[np.argmax(log_ratio)]
    apart = np.sum(np.linalg.solve(factor, (u - centre).T) ** 2, axis=0)
    next_to = u[np.argsort(apart)[: max(int(LEAST_SHARE * len(u)), 4 * u.shape[-1])]]
    even = np.full(len(next_to), 1 / len(next_to))
    return centre, _moments(next_to, even, even)[1], HEAVIEST


def _enough(u: np.ndarray) -> float:
    return max(LEAST_SHARE * len(u), 3 * u.shape[-1])


def _moments(u: np.ndarray, weight: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean of u (S, D), and the factor of its spread about that, correlations shrunk a little."""
    centre = weight @ u
    covariance = (u - centre).T @ ((u - centre) * spread[:, None])
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    correlation = (1 - SHRUNK) * covariance / np.outer(scale, scale) + SHRUNK * np.eye(len(scale))
    return centre, scale[:, None] * np.linalg.cholesky(correlation)


def _tempered(log_ratio: np.ndarray, enough: float) -> np.ndarray:
    """Weights that sum to 1 in proportion to exp(power * log ratio), power at most 1 and of effective size `enough`."""

    def weights(power: float) -> np.ndarray:
        found = np.exp(power * np.maximum(log_ratio - log_ratio.max(), -700.0))
        return np.asarray(found / found.sum())

    low, power = 0.0, 1.0
    if 1 / np.sum(weights(power) ** 2) < enough:
        for _ in range(HALVINGS):
            middle = (low + power) / 2
            low, power = (middle, power) if 1 / np.sum(weights(middle) ** 2) >= enough else (low, middle)
        power = low
    return weights(power)


class _Climb(NamedTuple):
    u: Array
    value: Array
    gradient: Array
    hessian: Array
    damping: Array
    steps: Array
    gain: Array


@partial(jax.jit, static_argnames="model")
def find_mode(model: Model, start: Array, data: Data) -> Mode:
    """Climb from `start` by damped Newton steps; each step is taken only if it leads up."""
    data = taking_part(data)

    def climb(at: _Climb) -> _Climb:
        first = at.steps < 0  # nothing is known yet but where to begin
        factor = inverse_factor(at.hessian, at.damping)
        step = factor @ (factor.T @ at.gradient)
        u = jnp.where(first, at.u, at.u + step)
        value, gradient, hessian = derivatives(model, u, data)
        finite = jnp.isfinite(value) & jnp.isfinite(gradient).all() & jnp.isfinite(hessian).all()
        up = finite & (first | (value >= at.value))
        # After a step up trust the curvature more; after a refused one shorten the next.
        damping = jnp.where(up, jnp.where(at.damping < 1e-6, 0.0, at.damping * 0.1), jnp.maximum(at.damping * 10, 1e-3))
        u, value, gradient, hessian = jax.tree.map(
            lambda new, old: jnp.where(up, new, old), (u, value, gradient, hessian), at[:4]
        )
        gain = jnp.where(first, jnp.inf, 0.5 * at.gradient @ step)
        return _Climb(u, value, gradient, hessian, damping, at.steps + 1, gain)

    def unfinished(at: _Climb) -> Array:
        settled = (at.gain < TOLERANCE) & (at.damping < 1)
        stuck = at.damping > 1e12
        return (at.steps < MOST_STEPS) & ~settled & ~stuck

    # The derivatives stand in the loop alone: a second copy of them would take as long again to compile.
    unknown = jnp.full((len(start), len(start)), jnp.nan)
    begin = _Climb(
        start, unknown[0, 0], unknown[0], unknown, damping=jnp.array(0.0), steps=jnp.array(-1), gain=jnp.array(jnp.inf)
    )
    end = jax.lax.while_loop(unfinished, climb, begin)
    return Mode(end.u, inverse_factor(end.hessian, jnp.array(0.0)))


def scales(*groups: np.ndarray) -> np.ndarray:
    """Starts of several groups, each (starts, D) or (scales, starts, D), as (scales, starts, D).

    Shorter ones are filled up with their last start.

    >>> scales(np.zeros((1, 2)), np.ones((2, 3, 2))).shape
    (3, 3, 2)
    """
    whole = [group if group.ndim == 3 else group[None] for group in groups]
    longest = max(group.shape[1] for group in whole)
    filled = [np.pad(group, ((0, 0), (0, longest - group.shape[1]), (0, 0)), mode="edge") for group in whole]
    return np.concatenate(filled)


def find_modes(model: Model, starts: Array, data: Data) -> list[Mode]:
    """Modes that climbs from the most promising starts lead to, those alike told once, the highest first.

    Starts (scales, starts, D), or (starts, D) of one scale, lie side by side within a scale: those are promising at
    which the density is no lower than at their neighbours. Modes that hold next to nothing are left out.
    """
    whole = scales(np.asarray(starts))
    if whole.shape[:2] == (1, 1):
        return [find_mode(model, whole[0, 0], data)]
    chosen = [start for scale in whole for start in _promising(model, scale, data)]
    modes = [find_mode(model, start, data) for start in chosen]
    heights = log_densities(model, np.stack([np.asarray(mode.u) for mode in modes]), data)
    widths = [np.log(np.diag(np.asarray(mode.factor))).sum() for mode in modes]
    masses = [height + width for height, width in zip(heights, widths, strict=True)]
    kept: list[Mode] = []
    for i in np.argsort([-mass for mass in masses], kind="stable"):
        apart = [np.linalg.solve(np.asarray(mode.factor), np.asarray(modes[i].u - mode.u)) for mode in kept]
        if masses[i] >= max(masses) - NEXT_TO_NOTHING and all(np.linalg.norm(z) > ALIKE for z in apart):
            kept.append(modes[i])
    return kept[:MOST_MODES]


def _promising(model: Model, starts: np.ndarray, data: Data) -> np.ndarray:
    """Starts (starts, D) of one scale at which the density is no lower than at their neighbours, the highest few."""
    values = log_densities(model, starts, data)
    values = np.where(np.isnan(values), -np.inf, values)
    around = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((values >= around[:-2]) & ((values > around[2:]) | np.isneginf(around[2:])))
    return starts[peaks[np.argsort(-values[peaks], kind="stable")][:MOST_CLIMBS]]


def inverse_factor(hessian: Array, damping: Array) -> Array:
    """Lower factor L of the inverse L L' of the negative Hessian, made positive definite and damped.

    Coordinates are first scaled by their own curvature (Marquardt), so that units of covariates do not matter.
    """
    scale = 1 / jnp.sqrt(jnp.maximum(jnp.abs(jnp.diag(hessian)), 1e-12))
    values, vectors = jnp.linalg.eigh(-hessian * scale[:, None] * scale[None, :])
    values = jnp.abs(values)
    values = jnp.maximum(values, FLATTEST * jnp.max(values)) + damping
    # The lower triangular factor, not the eigenvectors', whose signs are arbitrary: common random numbers must stay so.
    return scale[:, None] * jnp.linalg.cholesky((vectors / values) @ vectors.T)
