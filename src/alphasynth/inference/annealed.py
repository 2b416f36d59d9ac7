"""Proposals carried towards a target by annealing, for densities that no mixture of a few components is near to.

Each begins at a broad proposal and walks through densities between that and the target, by random steps that leave each
of them as it is (annealed importance sampling, Neal 2001). Its weight is right on average whatever the steps did: an
independence chain over proposals with such weights has the target as ever, and walks make the weights alike.
"""

from __future__ import annotations

import numpy as np

from alphasynth.errors import DiagnosticsError
from alphasynth.inference.density import Target, log_densities, log_parts
from alphasynth.inference.mode import Modes

# A population: its points, moves after each part of the way and at the end, the share of weights that a part leaves
# alike, halvings of the interval where that part is found, and the share of moves taken that their length is for.
POINTS, MOVES, LAST_MOVES, ALIKE, HALVINGS, TAKEN = 400, 4, 20, 0.5, 40, 0.25
JITTER = 1e-3  # of a coordinate's spread, so that points that are alike come apart
# Degrees of freedom of where walks begin, which are as wide as the target and more.
LIGHT = 20
# Lengths of steps, in turn, in the best one of a normal target.
LENGTHS = (0.5, 1.0, 0.75)
BEST = 2.38
NOWHERE = "a target must have a density somewhere where its prior has, found no such point among the prior's draws"


def annealed(
    rng: np.random.Generator, target: Target, begin: Modes, u: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where proposals u (S, D) from `begin` walk to in so many steps (S, D), and their log weights (S,)."""
    (factor, *_), size = begin.factor, u.shape[-1]
    far, near = _log_begin(begin, u), _log_target(target, u)
    log_weight = np.zeros(len(u))
    with np.errstate(invalid="ignore"):  # no density after no density: not taken
        for step in range(1, steps):
            log_weight += (near - far) / steps
            length = BEST / np.sqrt(size) * LENGTHS[step % len(LENGTHS)]
            moved = u + length * rng.standard_normal(u.shape) @ factor.T
            far_moved, near_moved = _log_begin(begin, moved), _log_target(target, moved)
            part = step / steps
            gain = part * (near_moved - near) + (1 - part) * (far_moved - far)
            take = -rng.standard_exponential(len(u)) < gain
            u = np.where(take[:, None], moved, u)
            far, near = np.where(take, far_moved, far), np.where(take, near_moved, near)
        return u, log_weight + (near - far) / steps


def _log_begin(begin: Modes, u: np.ndarray) -> np.ndarray:
    return np.asarray(np.logaddexp.reduce(begin.log_parts(u, LIGHT), axis=0))


def _log_target(target: Target, u: np.ndarray) -> np.ndarray:
    """A density that is not a number is no density."""
    value = log_densities(target.model, u, target.data)
    return np.where(np.isnan(value), -np.inf, value)


def gathered(rng: np.random.Generator, target: Target, points: np.ndarray) -> np.ndarray:
    """Where a population (S, D) of points of the prior comes to, on its way to a target that has no gradient.

    The target of each part of the way has more of the records in it; a population in several places keeps their shares.
    The moves learn from the population, so that this says where to propose, and is no sample. Raise `DiagnosticsError`.
    """
    u = points[rng.integers(len(points), size=POINTS)]
    prior, own = log_parts(target.model, u, target.data)
    if not np.isfinite(prior + own).any():
        raise DiagnosticsError(NOWHERE, u)
    part, length = 0.0, BEST / np.sqrt(2 * u.shape[1])
    while part < 1:
        further = _further(np.where(np.isfinite(prior), own, -np.inf), 1 - part)
        weight = _weights(np.where(np.isfinite(prior), own, -np.inf), further)
        part = 1.0 if further >= 1 - part else part + further
        places = (np.arange(len(u)) + rng.random()) / len(u)
        kept = np.minimum(np.searchsorted(np.cumsum(weight), places), len(u) - 1)
        u, prior, own = u[kept], prior[kept], own[kept]
        for _ in range(MOVES if part < 1 else LAST_MOVES):
            apart = u[rng.permutation(len(u))] - u[rng.permutation(len(u))]
            moved = u + length * apart + JITTER * u.std(axis=0) * rng.standard_normal(u.shape)
            prior_moved, own_moved = log_parts(target.model, moved, target.data)
            with np.errstate(invalid="ignore"):  # no density after no density: not taken
                take = -rng.standard_exponential(len(u)) < prior_moved - prior + part * (own_moved - own)
            u = np.where(take[:, None], moved, u)
            prior, own = np.where(take, prior_moved, prior), np.where(take, own_moved, own)
            length *= np.exp(take.mean() - TAKEN)
    return u


def _further(own: np.ndarray, most: float) -> float:
    """How much more of the records leaves the population's weights alike enough."""

    def alike(part: float) -> bool:
        return bool(1 / np.sum(_weights(own, part) ** 2) >= ALIKE * np.isfinite(own).sum())

    low, high = 0.0, most
    if alike(high):
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if alike(middle) else (low, middle)
    return high  # a little more than that, so that each part leads on


def _weights(own: np.ndarray, part: float) -> np.ndarray:
    found = np.where(np.isfinite(own), np.exp(part * np.maximum(own - own.max(), -1e300)), 0.0)
    return np.asarray(found / found.sum())
