"""`Scored`: strict regressions from noisy sums of clipped scores, round by round; everything else is post-processing.

A round sums over the records their scores at the present parameters, whitened and clipped to whole numbers whose
absolute values add up to at most QUANTA, and adds discrete Laplace noise, exactly sampled. The parameters are then
those under which the model expects the sums that were seen (`matching`): a right model's are found, clipped or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from alphasynth.errors import InputError, require_positive, require_whole
from alphasynth.inference.matching import Match, Public, Step, matching
from alphasynth.inference.scores import Parameters
from alphasynth.models.model import Columns
from alphasynth.privacy.accounting import start_and_rounds
from alphasynth.privacy.noise import with_noise
from alphasynth.privacy.randomness import Stream

# Whole numbers that a record's clipped score is made of: its entries' absolute values add up to at most this.
QUANTA = 1 << 20
# Rows in a block: scores are computed for whole blocks of this size, so that no row's place can matter.
BLOCK = 4_096
# Part of epsilon that the start has; parts of the rest by number of rounds, the last the largest.
START = 0.15
SHARES = {1: (1.0,), 2: (0.25, 0.75), 3: (0.15, 0.25, 0.6)}
# From this epsilon sqrt(n) / D on, which says how far above the noise a standard error stands, there are two rounds.
TWO_ROUNDS = 3.0
# Mean absolute score entries within the clip: no fewer, no more, and else as many as keep the noise of a round at this
# part of a standard error. Larger ones spare the tails of a wrong model.
NARROWEST, WIDEST, NOISE = 2.5, 12.0, 0.45


@dataclass(frozen=True)
class Scored:
    """Noisy clipped scores; `rounds` and `clip` are public, and decided from public numbers unless told.

    `clip` is in mean absolute entries: a record's whitened score counts up to `clip` times D in all.

    >>> Scored(rounds=2)
    Scored(rounds=2, clip=None)
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
    number = scored.rounds or (1 if strength < TWO_ROUNDS else 2)
    first, parts = start_and_rounds(epsilon, START, SHARES[number])
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
    entry = np.take_along_axis(whole, largest, axis=0)
    np.put_along_axis(whole, largest, entry - np.sign(entry) * excess, axis=0)
    return whole


def noisy_sum(stream: Stream, parameters: Parameters, step: Step, records: Scorable) -> np.ndarray:
    """The one place where confidential records enter a round: the sum over them of what each adds, with noise.

    In units of whitened scores.
    """
    sums = contributions(parameters, step, records) @ records.counts.astype(np.int64)
    noisy = with_noise(stream, sums, QUANTA, step.epsilon)
    return noisy.astype(np.float64) * (step.clip / QUANTA)


def whitening(information: np.ndarray) -> np.ndarray:
    """The symmetric root of the inverse correlation, after scaling: entries stay near the parameters they are of."""
    scale = 1 / np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    return (vectors / np.sqrt(np.maximum(values, 1e-10))) @ vectors.T * scale


def run_rounds(
    stream: Stream,
    rng: np.random.Generator,
    start: np.ndarray,
    rounds: Sequence[Round],
    public: Public,
    records: Scorable,
) -> Match:
    """Rounds of noisy scores from a start that is private itself; `rng` is of the public side's simulations.

    `records` goes to `noisy_sum` and nowhere else: all the rest is made from what that returns.
    """
    match, steps = Match(start, public.prior, np.zeros_like(public.prior)), list[Step]()
    for epsilon, clip in rounds:
        white = whitening(public.information(rng, match.w))
        step = Step(match.w, white, epsilon, clip, np.zeros(0))
        steps.append(step._replace(noisy=noisy_sum(stream, public.parameters, step, records)))
        match = matching(rng, start, match.w, steps, public)
    return match
