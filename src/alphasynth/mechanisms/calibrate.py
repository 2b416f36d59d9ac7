"""Searches one number (k, a scale, a scalar weight) for the largest Lipschitz bound that does not exceed a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from alphasynth.errors import DiagnosticsError
from alphasynth.mechanisms.chain import JointFit

# The answer's bound lies at most this far below the target, where the dial reaches so far.
TOLERANCE = 0.002
# A bracket narrower than this is at a jump of the bound, where a draw comes in or falls out.
NARROWEST = 1e-4
MOST_STEPS = 40  # each way; a search mostly takes 3 to 10


@dataclass(frozen=True)
class Search:
    """What a search did (confidential): the dial's value, the bound it reached, and every trial (value, bound)."""

    dial: str
    target: float
    value: float
    reached: float
    trials: tuple[tuple[float, float], ...] = field(repr=False)

    @property
    def gap(self) -> float:
        """How far the reached bound lies below the target, as a share of it; never negative after a success."""
        return 1 - self.reached / self.target if self.target > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Trial:
    """A fit at one value of the dial."""

    value: float
    fit: JointFit

    @property
    def bound(self) -> float:
        """Its Lipschitz bound."""
        return self.fit.lipschitz.overall


class Found(NamedTuple):
    """What a search came to: the best trial, all trials in order, and the draws that ended it early, if any did."""

    best: Trial | None
    trials: list[Trial]
    stopped_by: DiagnosticsError | None


def search(attempt: Callable[[float], JointFit], target: float, guess: float, highest: float = math.inf) -> Found:
    """The trial with the largest bound at most `target` on a bracket of dial values up to `highest`.

    The answer is one of the fits made, never an interpolation, so its bound is at most the target; None if no trial's
    is. A dial that no longer moves alpha is at its end: a target above what the mechanism can reach is met. Draws that
    fail their diagnostics end the search at what it has.
    """
    trials: list[Trial] = []
    stopped_by = None

    def trial(value: float) -> Trial:
        trials.append(Trial(value, attempt(value)))
        return trials[-1]

    try:
        _close_in(trial, target, *_bracket(trial, target, min(guess, highest), highest))
    except DiagnosticsError as error:
        stopped_by = error
    kept = [trial for trial in trials if trial.bound <= target]
    return Found(max(kept, key=lambda trial: trial.bound, default=None), trials, stopped_by)


def _close_in(trial: Callable[[float], Trial], target: float, low: Trial | None, high: Trial | None) -> None:
    """Narrow a bracket until the lower trial's bound is within the tolerance of the target."""
    for _ in range(MOST_STEPS):
        if low is None or high is None or low.bound >= target * (1 - TOLERANCE):
            return
        if high.value <= low.value * (1 + NARROWEST):
            return
        tried = trial(_between(low, high, target))
        low, high = (tried, high) if tried.bound <= target else (low, tried)


def _bracket(
    trial: Callable[[float], Trial], target: float, guess: float, highest: float
) -> tuple[Trial | None, Trial | None]:
    """Trials below and above the target; no upper one where the dial is at its end, no lower one where it has none."""
    tried = trial(guess)
    if tried.bound <= target:
        return _climb(trial, target, tried, highest)
    return _descend(trial, target, tried)


def _climb(
    trial: Callable[[float], Trial], target: float, low: Trial, highest: float
) -> tuple[Trial | None, Trial | None]:
    for _ in range(MOST_STEPS):
        if low.value >= highest or low.bound >= target * (1 - TOLERANCE):
            break
        tried = trial(min(low.value * _stride(target, low.bound), highest))
        if tried.bound > target:
            return low, tried
        if _same(tried, low):
            break
        low = tried
    return low, None


def _descend(trial: Callable[[float], Trial], target: float, high: Trial) -> tuple[Trial | None, Trial | None]:
    for _ in range(MOST_STEPS):
        tried = trial(high.value / _stride(high.bound, target))
        if tried.bound <= target:
            return tried, high
        if _same(tried, high):
            break
        high = tried
    return None, high


def _stride(larger: float, smaller: float) -> float:
    """Factor for the next step: the ratio of bounds with some to spare, between 1.02 and 16."""
    ratio = min(larger / smaller, 16.0) if smaller > 0 else 16.0
    return float(np.clip(ratio**1.25, 1.02, 16.0))


def _same(one: Trial, other: Trial) -> bool:
    return np.array_equal(one.fit.alpha_distinct, other.fit.alpha_distinct)


def _between(low: Trial, high: Trial, target: float) -> float:
    """Where a power law through both trials meets the middle of the tolerance, kept off the ends of the bracket."""
    a, b = math.log(low.value), math.log(high.value)
    wanted = math.log(target * (1 - TOLERANCE / 2))
    f, g = math.log(max(low.bound, 1e-300)), math.log(high.bound)
    share = (wanted - f) / (g - f) if g > f else 0.5
    return math.exp(a + min(max(share, 0.1), 0.9) * (b - a))
