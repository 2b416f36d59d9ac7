"""The black-box audit: can a distinguisher tell synthetic tables made with a canary from those made without?

It sees tables and nothing else, learns on one half of the trials and is judged on the other. What it shows is a lower
bound on epsilon, and no number of trials can show more than its ceiling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.privacy.divergence import Trials, black_box_bound, ceiling
from alphasynth.privacy.randomness import Key, child
from alphasynth.tables.records import Records

QUANTILES = (0.0, 0.01, 0.05, 0.15, 0.5, 0.85, 0.95, 0.99, 1.0)
FEWEST_TRIALS = 40
AT_ONCE = 20  # runs between two words of how far it is
MOST_LEVELS, MOST_PAIRS = 6, 45
Tell = Callable[[str, int, int], None]  # what is being done, steps done, steps in all
RIDGE = 1e-3  # share of a feature's variance that keeps the pooled covariance invertible


@dataclass(frozen=True)
class BlackBox:
    """What the distinguisher showed: epsilon is at least `bound`, and the trials could show no more than `ceiling`."""

    bound: float
    ceiling: float
    trials: int


Sampled = Callable[[Key, Records, int], list[dict[str, Any]]]  # synthesized columns from runs on records


def audit_black_box(
    key: Key,
    sampled: Sampled,
    one: Records,
    other: Records,
    trials: int,
    delta: float,
    tell: Tell = lambda doing, done, steps: None,
) -> BlackBox:
    """Run the whole pipeline `trials` times on each of two databases and tell the tables apart."""
    if trials < FEWEST_TRIALS:
        raise InputError(f"trials must be at least {FEWEST_TRIALS}, found {trials}")
    tables = []
    for side, records in enumerate((one, other)):
        made: list[dict[str, Any]] = []
        for first in range(0, trials, AT_ONCE):
            tell(
                f"black-box audit: run {side * trials + first + 1:,} of {2 * trials:,}",
                side * trials + first,
                2 * trials,
            )
            made += sampled(child(key, side, first), records, min(AT_ONCE, trials - first))
        tables.append(made)
    return tell_apart(tables[0], tables[1], delta)


def tell_apart(with_: Sequence[Mapping[str, Any]], without: Sequence[Mapping[str, Any]], delta: float) -> BlackBox:
    """Train a distinguisher on one half of the tables of either side, and judge it on the other."""
    levels = _levels([*with_, *without])
    one, other = (np.stack([_features(table, levels) for table in tables]) for tables in (with_, without))
    return judge(one, other, delta)


def judge(with_: np.ndarray, without: np.ndarray, delta: float) -> BlackBox:
    """Train a distinguisher on one half of the tables' features (tables, features) of either side; judge the other."""
    half = len(with_) // 2
    score = _learn(with_[:half], without[:half])
    threshold, sign = _choose(score(with_[:half]), score(without[:half]), delta)
    yes, no = (sign * score(part[half:]) > threshold for part in (with_, without))
    if sign < 0:
        yes, no = no, yes
    judged = Trials(int(yes.sum()), int(no.sum()), len(with_) - half)
    return BlackBox(black_box_bound(judged, delta), ceiling(judged.number, delta), len(with_))


def _levels(tables: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Levels of the columns that hold no numbers, the most frequent ones."""
    found = {}
    for name, column in tables[0].items():
        if np.asarray(column).dtype.kind not in "iuf":
            words, counts = np.unique(np.concatenate([as_words(t[name]) for t in tables]), return_counts=True)
            found[name] = words[np.argsort(-counts, kind="stable")[:MOST_LEVELS]].tolist()
    return found


def as_words(column: Any) -> np.ndarray:
    """Levels as text."""
    return np.asarray(column).astype(str)


def _features(table: Mapping[str, Any], levels: Mapping[str, list[str]]) -> np.ndarray:
    """Mean, sd and quantiles of numbers, shares of levels, and how pairs of columns go together."""
    features, standard = [], []
    for name, column in table.items():
        if name in levels:
            words = as_words(column)
            features += [float(np.mean(words == level)) for level in levels[name]]
            standard.append((words == levels[name][0]).astype(np.float64))
            continue
        values = np.asarray(column, np.float64)
        features += [values.mean(), values.std(), *np.log1p(np.abs(np.quantile(values, QUANTILES)))]
        standard.append(values)
    pairs = [(a, b) for i, a in enumerate(standard) for b in standard[:i]][:MOST_PAIRS]
    features += [float(np.cov(a, b)[0, 1] / (a.std() * b.std() or 1.0)) for a, b in pairs]
    return np.array(features)


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
