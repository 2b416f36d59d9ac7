"""What can be known of a program without a table: points of its prior, and how high one row's log-likelihood climbs.

Nothing here reads more than one row, and what is found of a row is a function of that row and of fixed numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.stan.chains import Shapes, chains
from alphasynth.stan.process import StanEnded, StanError
from alphasynth.stan.program import StanProgram

# Of the prior: a chain for each seed, its warm-up, its draws, the acceptance that steps are adapted to.
SEEDS, WARMUP, LENGTH, ACCEPT = (1, 2, 3, 4), 1_000, 64, 0.9
FEWEST = 32  # draws that must be left
APART = 1.5  # R-hat of ranks between the prior's chains from which on they went ways of their own
# A climb: rounds, points tried in each, and by how many powers of ten a coordinate's steps differ.
ROUNDS, TRIED, POWERS = 16, 48, 4.0
LONGER = (64, 256)  # rounds that are compared to tell whether a climb ends


def prior_points(program: StanProgram, data: dict[str, Any], shapes: Shapes) -> np.ndarray:
    """Draws (S, D) from a prior, the same each time; `data` have weights of 0 and rows that are no one's.

    Refuses a prior that has no draws: where what records add is bounded, there would be none of them either.
    """
    try:
        u = chains(program, data, shapes, list(SEEDS), WARMUP, LENGTH, ACCEPT, known=True).u
    except StanEnded:
        raise
    except StanError:
        u = []
    u = [one[np.isfinite(one).all(axis=1)] for one in u if one.ndim == 2]
    if sum(map(len, u)) < FEWEST or min(map(len, u)) < FEWEST // len(u) or _rhat(u) > APART:
        raise InputError(
            "budget weights need a Stan program with a proper prior, which has draws when all weights are 0, found one "
            "whose prior could not be drawn from"
        )
    return np.concatenate(u)


def _rhat(parts: list[np.ndarray]) -> float:
    """The largest R-hat of chains' ranks, chains of equal length made from them."""
    length = min(map(len, parts))
    whole = np.stack([one[:length] for one in parts])
    ranks = np.argsort(np.argsort(whole.reshape(-1, whole.shape[2]), axis=0), axis=0).reshape(whole.shape)
    within = ranks.var(axis=1, ddof=1).mean(axis=0)
    return float(np.sqrt(1 + ranks.mean(axis=1).var(axis=0, ddof=1) / np.maximum(within, 1e-9)).max())


def highest(log_lik: Callable[[np.ndarray], np.ndarray], points: np.ndarray, rounds: int = ROUNDS) -> float:
    """How high one row's log-likelihood climbs from the best of public points (S, D); -inf where it is nowhere finite.

    Each round tries steps of all sizes, each coordinate's of a size of its own. It need not be the supremum: any
    function of the own row will do, and one that is too low only spares the row less.
    """
    rng = np.random.default_rng(0)
    scale = np.diff(np.quantile(points, [0.25, 0.75], axis=0), axis=0)[0]
    best, value = points[0], -np.inf
    tried = points
    for _ in range(rounds + 1):
        found = log_lik(tried)
        found = np.where(np.isfinite(found), found, -np.inf)
        if found.max() > value:
            best, value = tried[np.argmax(found)], float(found.max())
        sizes = 10 ** -rng.uniform(0, POWERS, (TRIED, points.shape[1]))
        tried = best + scale * sizes * rng.standard_normal(sizes.shape)
    return value


def climbs_without_end(log_lik: Callable[[np.ndarray], np.ndarray], points: np.ndarray, rise: float) -> bool:
    """Whether a row's log-likelihood still rises by so much where its climb should have ended."""
    near, far = (highest(log_lik, points, rounds) for rounds in LONGER)
    return far - near > rise
