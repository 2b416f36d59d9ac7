"""`Scored`: strict regressions from noisy sums of clipped scores, round by round; everything else is post-processing.

A round sums over the records their scores at the present parameters, whitened and clipped to whole numbers whose
absolute values add up to at most QUANTA, and adds discrete Laplace noise, exactly sampled. What the model itself says
that the clipped sum should be is taken off, so that the parameters of a right model are found, and a step is taken as
far as the noise allows (a Kalman filter's). Draws of parameters spread by the known noise and by sampling error: any
number of them costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from alphasynth.accounting import split
from alphasynth.errors import InputError, require_positive, require_whole
from alphasynth.model import Columns
from alphasynth.noise import with_noise
from alphasynth.randomness import Stream
from alphasynth.scores import Parameters

# Whole numbers that a record's clipped score is made of: its entries' absolute values add up to at most this.
QUANTA = 1 << 20
# Rows in a block: scores are computed for whole blocks of this size, so that no row's place can matter.
BLOCK = 4_096
# Part of epsilon that the start has; parts of the rest by number of rounds, the last the largest.
START = 0.15
SHARES = {1: (1.0,), 2: (0.3, 0.7), 3: (0.15, 0.25, 0.6)}
# Rounds by epsilon sqrt(n) / D, which says how far above the noise a standard error stands.
TWO_ROUNDS, THREE_ROUNDS = 3.0, 20.0
# Mean absolute score entries within the clip: no fewer, no more, and else as many as keep the noise of a round at this
# part of a standard error. Larger ones spare the tails of a wrong model.
NARROWEST, WIDEST, NOISE = 2.5, 12.0, 0.45
# How much of what is not known yet a step may be off by, since scores are not linear: in the first round and later.
FIRST_ERROR, LATER_ERROR = 0.25, 0.1
# Rows simulated to see what the model expects: so many for each record, and at least and at most so many in all.
SIMULATED, FEWEST, MOST, MOST_ENTRIES = 20, 50_000, 400_000, 20_000_000


@dataclass(frozen=True)
class Scored:
    """Noisy clipped scores; `rounds` and `clip` are public, and decided from public numbers unless told.

    `clip` is in mean absolute entries: a record's whitened score counts up to `clip` times D in all.
    """

    rounds: int | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        """Refuse other numbers of rounds than one to three, and a clip that is not positive."""
        if self.rounds is not None and require_whole("rounds", self.rounds) not in SHARES:
            raise InputError(f"rounds must be 1, 2 or 3, found {self.rounds!r}")
        if self.clip is not None:
            require_positive("clip", self.clip)


class Round(NamedTuple):
    """What a round may spend, and what a record's whitened score is clipped at."""

    epsilon: float
    clip: float


class Plan(NamedTuple):
    """What is spent on what: all public."""

    start: float
    rounds: tuple[Round, ...]


def plan(scored: Scored, epsilon: float, n: int, size: int) -> Plan:
    """Parts of epsilon and clips, from public numbers alone; the parts add up to at most epsilon, exactly.

    Where little is to be had for each round there are fewer of them.
    """
    strength = epsilon * math.sqrt(n) / size
    number = scored.rounds or (1 if strength < TWO_ROUNDS else 2 if strength < THREE_ROUNDS else 3)
    first, *parts = split(epsilon, 1, (START, *((1 - START) * share for share in SHARES[number])))
    return Plan(first, tuple(Round(part, _clip(scored, part, n, size)) for part in parts))


def _clip(scored: Scored, epsilon: float, n: int, size: int) -> float:
    """Where the noise of a round, of scale clip / epsilon, is the wanted part of a standard error, sqrt(n)."""
    wanted = NOISE * epsilon * math.sqrt(n) / (math.sqrt(2) * size)
    return size * (scored.clip or min(max(wanted, NARROWEST), WIDEST))


@dataclass(frozen=True, eq=False)
class Scorable:
    """The records as scores read them (confidential), one line per distinct row: columns, terms and counts.

    `X` is (terms, lines); lines that take no part, as those without a value, have a count of 0.
    """

    columns: Columns = field(repr=False)
    X: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)


class Step(NamedTuple):
    """A round as it was made: parameters (D,), whitening (D, D), clip; what was released is the noisy sum (D,)."""

    w: np.ndarray
    white: np.ndarray
    epsilon: float
    clip: float
    noisy: np.ndarray


def contributions(parameters: Parameters, step: Step, records: Scorable) -> np.ndarray:
    """What each line adds for one record (D, lines): whole numbers whose absolute values sum to at most QUANTA."""
    lines = records.X.shape[1]
    made = np.empty((parameters.size, lines), np.int64)
    for first in range(0, lines, BLOCK):
        place = np.minimum(np.arange(first, first + BLOCK), lines - 1)
        columns = {name: np.ascontiguousarray(column[place]) for name, column in records.columns.items()}
        whole = _clipped(parameters, step, columns, np.ascontiguousarray(records.X[:, place]))
        made[:, first : first + BLOCK] = whole[:, : lines - first]
    return made


def _clipped(parameters: Parameters, step: Step, columns: Columns, X: np.ndarray) -> np.ndarray:
    """Whitened scores of a block, clipped; a score that is not finite adds nothing."""
    with np.errstate(all="ignore"):
        score = parameters.scores(step.w, columns, X)
        entries = []
        for line in step.white:
            total = np.zeros(X.shape[1])
            for weight, entry in zip(line, score, strict=True):
                total = total + weight * entry
            entries.append(total)
        length = np.zeros(X.shape[1])
        for entry in entries:
            length = length + np.abs(entry)
        scale = QUANTA / np.maximum(length, step.clip)
        known = np.isfinite(length)
        whole = np.stack([np.where(known, np.trunc(entry * scale), 0.0) for entry in entries]).astype(np.int64)
    # Rounding may leave a whole or two too many: the largest entry gives them back.
    excess = np.maximum(np.abs(whole).sum(axis=0) - QUANTA, 0)
    largest = np.abs(whole).argmax(axis=0)[None]
    held = np.take_along_axis(whole, largest, axis=0)
    np.put_along_axis(whole, largest, held - np.sign(held) * excess, axis=0)
    return whole


def noisy_sum(stream: Stream, parameters: Parameters, step: Step, records: Scorable) -> np.ndarray:
    """The one place where confidential records enter a round: the sum over them of what each adds, with noise.

    In units of whitened scores.
    """
    sums = contributions(parameters, step, records) @ records.counts.astype(np.int64)
    noisy = with_noise(stream, sums, QUANTA, step.epsilon)
    return noisy.astype(np.float64) * (step.clip / QUANTA)


# Rows of covariates as synthetic or public data have them: X (terms, M) of about so many rows; and how many of the n
# records they stand for.
Design = Callable[[np.random.Generator, int], np.ndarray]


class Expected(NamedTuple):
    """What the model expects at parameters w of one record: whitening, clipped score, its slope and spread."""

    white: np.ndarray
    correction: np.ndarray
    slope: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True, eq=False)
class Public:
    """The public side of a block: its model, how rows of covariates are had, how many records there are to speak of.

    `prior` (D, D) is the public spread of parameters about their start.
    """

    parameters: Parameters
    simulate: Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]
    design: Design
    n: float
    prior: np.ndarray

    def simulated(self, rng: np.random.Generator, w: np.ndarray) -> np.ndarray:
        """Scores (M, D) of records that the model simulates."""
        size = self.parameters.size
        number = int(min(max(SIMULATED * self.n, FEWEST), MOST, max(MOST_ENTRIES // size, 1_000)))
        X = self.design(rng, number)
        y = self.simulate(rng, w, X)
        with np.errstate(all="ignore"):
            scores = np.stack(self.parameters.scores(w, self.parameters.family.read(y), X), axis=1)
        return np.where(np.isfinite(scores), scores, 0.0)

    def expected(self, rng: np.random.Generator, w: np.ndarray, clip: float) -> Expected:
        """By simulation; the mean of an unclipped score is 0, so only what clipping changes is simulated."""
        scores = self.simulated(rng, w)
        information = scores.T @ scores / len(scores) + np.linalg.inv(self.prior) / self.n
        white = _whitening(information)
        z = scores @ white.T
        clipped = z * np.minimum(1.0, clip / np.maximum(np.abs(z).sum(axis=1), 1e-300))[:, None]
        return Expected(
            white,
            (clipped - z).mean(axis=0),
            clipped.T @ scores / len(z),
            clipped.T @ clipped / len(z),
        )


def _whitening(information: np.ndarray) -> np.ndarray:
    """The symmetric root of the inverse correlation, after scaling: entries stay near the parameters they are of."""
    scale = 1 / np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    return (vectors / np.sqrt(np.maximum(values, 1e-10))) @ vectors.T * scale


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters found (D,), how noise and start came into them, sampling error (D, D), and the rounds as made.

    All of it is post-processing of noisy sums. `noise` holds for each round what its Laplace noise was multiplied by
    (D, D) and its scale; `start` what the start's own error was multiplied by (D, D).
    """

    w: np.ndarray
    noise: tuple[tuple[np.ndarray, float], ...]
    start: np.ndarray
    prior: np.ndarray
    sampling: np.ndarray
    steps: tuple[Step, ...]

    def draw(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Parameters (number, D) that may have been: what is known about, spread by noise, start and sampling."""
        size = len(self.w)
        drawn = np.tile(self.w, (number, 1))
        for gain, scale in self.noise:
            drawn += rng.laplace(scale=scale, size=(number, size)) @ gain.T
        spread = self.start @ self.prior @ self.start.T + self.sampling
        return drawn + rng.multivariate_normal(np.zeros(size), (spread + spread.T) / 2, number, method="eigh")

    @property
    def covariance(self) -> np.ndarray:
        """Of noise, start and sampling together (D, D)."""
        noise = sum((2 * scale**2 * gain @ gain.T for gain, scale in self.noise), np.zeros_like(self.prior))
        return noise + self.start @ self.prior @ self.start.T + self.sampling


def estimate(
    stream: Stream, rng: np.random.Generator, start: np.ndarray, rounds: tuple[Round, ...], public: Public, records: Any
) -> Estimate:
    """Rounds of noisy scores from a start that is public or private itself; `rng` is of the public side's simulations.

    `records` goes to `noisy_sum` and nowhere else.
    """
    w, known = start, public.prior
    noise: list[tuple[np.ndarray, float]] = []
    steps: list[Step] = []
    from_start = np.eye(len(w))
    for number, (epsilon, clip) in enumerate(rounds):
        expected = public.expected(rng, w, clip)
        step = Step(w, expected.white, epsilon, clip, np.zeros(0))
        noisy = noisy_sum(stream, public.parameters, step, records)
        scale = clip / epsilon
        slope = public.n * expected.slope
        error = 0.0 if number == len(rounds) - 1 else FIRST_ERROR if number == 0 else LATER_ERROR
        reach = slope @ known @ slope.T
        gain = np.linalg.solve(reach * (1 + error) + 2 * scale**2 * np.eye(len(w)), slope @ known).T
        left = np.eye(len(w)) - gain @ slope
        w = w + gain @ (noisy - public.n * expected.correction)
        known = left @ known
        noise = [(left @ before, size) for before, size in noise] + [(gain, scale)]
        from_start = left @ from_start
        steps.append(step._replace(noisy=noisy))
    return Estimate(w, tuple(noise), from_start, public.prior, _sampling(public, rng, w, rounds[-1].clip), tuple(steps))


def _sampling(public: Public, rng: np.random.Generator, w: np.ndarray, clip: float) -> np.ndarray:
    """Covariance of the clipped estimate over tables of n records (D, D)."""
    expected = public.expected(rng, w, clip)
    slope = expected.slope + expected.white @ np.linalg.inv(public.prior) / public.n
    inverse = np.linalg.inv(slope)
    return inverse @ expected.spread @ inverse.T / public.n
