"""Parameters from noisy sums of clipped scores: those under which the model expects what was seen; post-processing.

Each round's sum has, under parameters w, the expectation n E[psi], psi a record's clipped score at the round's own
parameters, and a covariance of sampling and of noise. Expectations come from records that the model simulates; what is
far from linear in w so does no harm. The start's public spread keeps apart what the sums do not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from alphasynth.inference.scores import Parameters

# Rows simulated to see what the model expects: so many for each record, and at least and at most so many in all; on the
# way there, fewer.
SIMULATED, FEWEST, MOST, ON_THE_WAY = 5, 20_000, 200_000, 10_000
MOST_ENTRIES = 10_000_000  # rows times parameters
# Steps on the way and at the end, the longest step in standard deviations of a predictor, and when steps are over.
STEPS, LAST_STEPS, LONGEST, SETTLED = 25, 2, 1.0, 0.15


class Step(NamedTuple):
    """A round as it was made: parameters (D,), whitening (D, D), clip; what was released is the noisy sum (D,)."""

    w: np.ndarray
    white: np.ndarray
    epsilon: float
    clip: float
    noisy: np.ndarray


@dataclass(frozen=True, eq=False)
class Public:
    """The public side of a block: its model, rows of covariates, how many records there are to speak of.

    `design` (terms, M) are public or synthetic rows; `simulate` makes responses at parameters w beside such rows.
    `prior` (D, D) is the public spread of parameters about their start.
    """

    parameters: Parameters
    simulate: Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]
    design: np.ndarray
    n: float
    prior: np.ndarray

    def rows(self, rng: np.random.Generator, most: int) -> np.ndarray:
        """Design rows (terms, M), at most so many."""
        held = self.design.shape[1]
        number = int(min(max(SIMULATED * self.n, FEWEST), most, max(MOST_ENTRIES // self.parameters.size, 1_000)))
        if held == 1:
            return np.repeat(self.design, number, axis=1)
        whole = np.tile(np.arange(held), -(-number // held)) if number > held else np.arange(held)
        return self.design[:, whole if len(whole) == number else rng.permutation(whole)[:number]]

    def information(self, rng: np.random.Generator, w: np.ndarray) -> np.ndarray:
        """Of one record at w (D, D), and as much more as the prior says of n records."""
        X = self.rows(rng, MOST)
        scores = self.scores(w, self.simulate(rng, w, X), X)
        return scores.T @ scores / len(scores) + np.linalg.inv(self.prior) / self.n

    def scores(self, w: np.ndarray, y: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Scores (M, D) at w of responses beside design rows."""
        with np.errstate(all="ignore"):
            scores = np.stack(self.parameters.scores(w, self.parameters.family.read(y), X), axis=1)
        return np.where(np.isfinite(scores), scores, 0.0)


@dataclass(frozen=True, eq=False)
class Match:
    """Parameters found (D,), what is not known about them (D, D), and what of that is sampling error (D, D).

    The rest is noise, and what the start's public spread leaves open.
    """

    w: np.ndarray
    covariance: np.ndarray
    sampling: np.ndarray
    steps: tuple[Step, ...] = ()

    def draw(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Parameters (number, D) spread by all but sampling error, which a table of new rows has of its own.

        So what is estimated from such a table scatters about what these parameters say as they do about the truth.
        """
        spread = self.covariance - self.sampling
        return rng.multivariate_normal(self.w, (spread + spread.T) / 2, number, method="eigh")


def matching(
    rng: np.random.Generator, start: np.ndarray, w: np.ndarray, steps: Sequence[Step], public: Public
) -> Match:
    """The parameters that match the sums of these rounds, from w on; `start` is where the prior has its centre."""
    for _ in range(STEPS):
        move, long, *_ = _move(rng, start, w, steps, public, ON_THE_WAY)
        w = w + move * min(1.0, LONGEST / max(long, 1e-300))
        if long < SETTLED:
            break
    for _ in range(LAST_STEPS):
        move, long, covariance, sampling = _move(rng, start, w, steps, public, MOST)
        w = w + move * min(1.0, LONGEST / max(long, 1e-300))
    return Match(w, covariance, sampling, tuple(steps))


def _move(
    rng: np.random.Generator, start: np.ndarray, w: np.ndarray, steps: Sequence[Step], public: Public, most: int
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """A generalised least squares step from w, its length in predictors, and the covariance of where it leads.

    Last, what of the covariance is sampling error.
    """
    X = public.rows(rng, most)
    y = public.simulate(rng, w, X)
    own = public.scores(w, y, X)
    psi = np.hstack([clipped(step, public.scores(step.w, y, X)) for step in steps])
    number = len(psi)
    slope = psi.T @ own / number
    # The mean of the scores at w is 0: what it is by chance tells what psi's mean is off by.
    ridge = np.eye(len(w)) * 1e-9 * np.trace(own.T @ own) / len(w)
    chance = np.linalg.solve(own.T @ own + ridge, own.sum(axis=0))
    mean = psi.mean(axis=0) - slope @ chance
    noise = np.concatenate([np.full(len(w), 2 * (step.clip / step.epsilon) ** 2) for step in steps])
    centred = psi - psi.mean(axis=0)
    sampled = public.n * centred.T @ centred / number
    spread = sampled + np.diag(noise)
    seen = np.concatenate([step.noisy for step in steps]) - public.n * mean
    weighed = np.linalg.solve(spread, np.column_stack([public.n * slope, seen]))
    precision = np.linalg.inv(public.prior)
    covariance = np.linalg.inv(precision + public.n * slope.T @ weighed[:, :-1])
    move = covariance @ (public.n * slope.T @ weighed[:, -1] + precision @ (start - w))
    beta, extra = public.parameters.parts(move)
    by_row = beta @ X
    long = float(np.sqrt((by_row**2).mean(axis=1)).max(initial=0.0) + np.abs(extra).max(initial=0.0))
    gain = covariance @ weighed[:, :-1].T
    return move, long, covariance, gain @ sampled @ gain.T


def clipped(step: Step, scores: np.ndarray) -> np.ndarray:
    """Whitened scores (M, D) as a round clips them; the slow twin of what records pass through."""
    z = scores @ step.white.T
    return z * np.minimum(1.0, step.clip / np.maximum(np.abs(z).sum(axis=1), 1e-300))[:, None]
