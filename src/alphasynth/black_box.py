"""The black-box audit: can a distinguisher tell synthetic tables made with a canary from those made without?

It sees tables and nothing else, learns on one half of the trials and is judged on the other. What it shows is a lower
bound on epsilon, and no number of trials can show more than its ceiling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from alphasynth.chain import columns_of
from alphasynth.divergence import Trials, black_box_bound, ceiling
from alphasynth.errors import InputError
from alphasynth.fit import Problem, in_64_bit
from alphasynth.mechanism import Mechanism, run
from alphasynth.public_grid import PublicGrid
from alphasynth.sampler import Key, child
from alphasynth.synthesize import new_values

QUANTILES = (0.0, 0.01, 0.05, 0.15, 0.5, 0.85, 0.95, 0.99, 1.0)
FEWEST_TRIALS = 40
Tell = Callable[[str, int, int], None]  # what is being done, steps done, steps in all
RIDGE = 1e-3  # share of a feature's variance that keeps the pooled covariance invertible


@dataclass(frozen=True)
class BlackBox:
    """What the distinguisher showed: epsilon is at least `bound`, and the trials could show no more than `ceiling`."""

    bound: float
    ceiling: float
    trials: int


@in_64_bit
def audit_black_box(
    key: Key,
    one: Problem,
    other: Problem,
    mechanism: Mechanism,
    target: float | None,
    trials: int,
    delta: float,
    tell: Tell = lambda doing, done, steps: None,
) -> BlackBox:
    """Run a mechanism `trials` times on each of two databases and tell the tables apart."""
    if trials < FEWEST_TRIALS:
        raise InputError(f"trials must be at least {FEWEST_TRIALS}, found {trials}")
    sides = []
    for i, problem in enumerate((one, other)):
        tables = _tables(child(key, i), problem, mechanism, target, trials, partial(_tell, tell, i))
        sides.append(np.stack([_features(table) for table in tables]))
    with_, without = sides
    half = trials // 2
    score = _learn(with_[:half], without[:half])
    threshold, sign = _choose(score(with_[:half]), score(without[:half]), delta)
    yes, no = (sign * score(part[half:]) > threshold for part in (with_, without))
    if sign < 0:
        yes, no = no, yes
    judged = Trials(int(yes.sum()), int(no.sum()), trials - half)
    return BlackBox(black_box_bound(judged, delta), ceiling(judged.number, delta), trials)


def _tell(tell: Tell, side: int, done: int, trials: int) -> None:
    tell(f"black-box audit: run {side * trials + done + 1:,} of {2 * trials:,}", side * trials + done, 2 * trials)


def _tables(
    key: Key,
    problem: Problem,
    mechanism: Mechanism,
    target: float | None,
    trials: int,
    tell: Callable[[int, int], None],
) -> list[np.ndarray]:
    """One synthetic table per run; where draws are independent and the weights fixed, one fit makes all of them."""
    rng = np.random.default_rng(child(key, 1))
    if isinstance(problem.sampler, PublicGrid) and problem.then is None:
        many = replace(problem, num_draws=max(trials, problem.num_draws))
        many_draws = run(child(key, 0), many, mechanism).fits[-1]
        draws = columns_of(many_draws)[0].draws
        return [new_values(rng, problem, draws, number) for number in range(trials)]
    tables = []
    for number in range(trials):
        tell(number, trials)
        last = columns_of(run(child(key, 0, number), problem, mechanism, target).fits[-1])[0].draws
        tables.append(new_values(rng, problem, last, int(rng.integers(last.num_draws))))
    return tables


def _features(table: np.ndarray) -> np.ndarray:
    values = np.asarray(table, np.float64)
    return np.array([values.mean(), values.std(), *np.log1p(np.abs(np.quantile(values, QUANTILES)))])


def _learn(with_: np.ndarray, without: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A linear discriminant: features weighted by what sets the two means apart."""
    pooled = (np.cov(with_, rowvar=False) + np.cov(without, rowvar=False)) / 2
    scale = np.diag(np.diag(pooled)) * RIDGE + 1e-12 * np.eye(len(pooled))
    direction = np.linalg.solve(pooled + scale, with_.mean(axis=0) - without.mean(axis=0))
    return lambda features: features @ direction


def _choose(with_: np.ndarray, without: np.ndarray, delta: float) -> tuple[float, int]:
    """Threshold and direction with the largest bound on the trials that were learnt from."""
    best = (-1.0, 0.0, 1)
    for sign in (1, -1):
        yes, no = np.sort(sign * with_), np.sort(sign * without)
        if sign < 0:
            yes, no = no, yes
        for threshold in np.quantile(np.concatenate([yes, no]), np.linspace(0, 1, 101)):
            hits, alarms = (int(len(part) - np.searchsorted(part, threshold, "right")) for part in (yes, no))
            bound = black_box_bound(Trials(hits, alarms, len(yes)), delta)
            best = max(best, (bound, float(threshold), sign))
    return best[1], best[2]
