"""The paper's six synthesizers on one table, at the paper's own settings and all at one epsilon.

`Detail` holds everything, for figures; `Measured` the plain numbers, for repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from alphasynth.evaluation.compared import Comparison, estimates
from alphasynth.evaluation.intervals import Interval, percentile_interval, resample
from alphasynth.evaluation.values import Values, statistics
from alphasynth.mechanisms.mechanism import Mechanism
from alphasynth.mechanisms.rules import SW
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.privacy.accounting import times
from alphasynth.synthesizer import Synthesizer

CW = {"radius": 0.3, "relative": True, "shift": 0.1}  # nearest to the published row; NOTES.md says how it was found
CW_SCALE = 1.5
K = 0.95
STATISTICS = ("q15", "q90", "mean", "median")  # the paper's, in its order
TAIL = 0.99  # quantile that stands for the tail of the synthetic values


@dataclass(frozen=True, eq=False)
class Made:
    """One synthesizer's weights, tables and statistics."""

    weighting: Weighting
    before: Weighting
    tables: tuple[Values, ...] = field(repr=False)
    comparisons: tuple[Comparison, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Detail:
    """One table, what the six synthesizers made of it, and what five of them made of it at one epsilon."""

    column: str
    values: Values
    paper: dict[str, Made]
    equal: dict[str, Made]


@dataclass(frozen=True)
class Synthesis:
    """What is said of one synthesizer on one table; shares are of records.

    `whole` and `small` are the shares of weights of 1 and below one half. `typical` is the median of the records'
    bounds and `low` the share below half of Delta, the largest. `spread` is the middle 90 % of the bounds of records
    whose weight is below 1. `rising` and `falling` are weights compared with the round before. `estimates` are means
    over the tables, `intervals` the paper's.
    """

    delta: float
    mean_alpha: float
    whole: float
    small: float
    typical: float
    low: float
    spread: float
    rising: float
    falling: float
    mu: float
    tail: float
    estimates: dict[str, float]
    intervals: dict[str, Interval]


@dataclass(frozen=True)
class Measured:
    """One table: its own statistics, and each synthesizer's, at the paper's settings and at one epsilon."""

    values: dict[str, float]
    intervals: dict[str, Interval]
    tail: float
    paper: dict[str, Synthesis]
    equal: dict[str, Synthesis]

    def at(self, setting: str) -> Mapping[str, Synthesis]:
        """The synthesizers at the paper's settings ("paper") or at one epsilon ("equal")."""
        return self.paper if setting == "paper" else self.equal

    def error(self, label: str, statistic: str, setting: str = "paper") -> float:
        """Mean of the synthetic tables' statistic minus the table's own."""
        return self.at(setting)[label].estimates[statistic] - self.values[statistic]

    def relative_error(self, label: str) -> float:
        """Mean absolute error of the four statistics at the paper's settings, each as a share of the table's own."""
        return float(np.mean([abs(self.error(label, name) / self.values[name]) for name in STATISTICS]))

    def loss(self, label: str, setting: str = "paper") -> float:
        """Mean absolute error of the four statistics, in half widths of the table's own intervals."""
        half = {name: (self.intervals[name].high - self.intervals[name].low) / 2 for name in STATISTICS}
        return float(np.mean([abs(self.error(label, name, setting)) / (half[name] or 1.0) for name in STATISTICS]))


def synthesize_all(table: pd.DataFrame, m: int, epsilon: float | None, seed: int) -> Detail:
    """All synthesizers on the first column of a table, which share the keys of their rounds.

    `epsilon` is per draw, for those at one epsilon; without it there are none.
    """
    column = str(table.columns[0])
    values = Values.of(table[column])
    rng = np.random.default_rng([seed, len(table)])
    wanted = statistics()
    own = resample(rng, values, wanted)
    intervals = [percentile_interval(line) for line in own]

    def made(mechanism: Any, **options: Any) -> Made:
        synthesizer = Synthesizer(
            f"`{column}` ~ 1", family="negative_binomial", mechanism=mechanism, m=m, seed=seed, **options
        ).fit(table)
        rounds = synthesizer.weightings_
        tables = tuple(Values.of(frame[column]) for frame in synthesizer.sample())
        found = estimates(rng, column, wanted, tables, len(table))
        lines = zip(wanted, intervals, found, own, strict=True)
        comparisons = tuple(Comparison(statistic.of(values), *rest) for statistic, *rest in lines)
        return Made(rounds[-1], rounds[max(len(rounds) - 2, 0)], tables, comparisons)

    paper = {"Unweighted": made("Unweighted"), "LW": made("LW", scale=1.0, shift=0.0)}
    paper["CW"] = made("CW", scale=CW_SCALE, **CW)
    # The paper's rule, Delta of LW over that of Unweighted; both come from rounds that are made anyway.
    scalar = paper["LW"].weighting.delta / paper["Unweighted"].weighting.delta
    paper["SW"] = made(Mechanism("SW", (SW(min(scalar, 1.0)),)))
    paper["LW_final"] = made("LW_final", scale=1.0, shift=0.0, k=K)
    paper["CW_final"] = made("CW_final", scale=CW_SCALE, k=K, **CW)
    if epsilon is None:
        return Detail(column, values, paper, {})
    aim = {"epsilon": times(m, epsilon)}
    equal = {
        "LW": made("LW", shift=0.0, **aim),
        "CW": made("CW", **CW, **aim),
        "SW": made("SW", **aim),
        "LW_final": made("LW_final", scale=1.0, shift=0.0, **aim),
        "CW_final": made("CW_final", scale=CW_SCALE, **CW, **aim),
    }
    return Detail(column, values, paper, equal)


def measured(detail: Detail) -> Measured:
    """The plain numbers of a table."""
    first = detail.paper["Unweighted"].comparisons
    return Measured(
        {c.synthetic.statistic.name: c.value for c in first},
        {c.synthetic.statistic.name: c.interval for c in first},
        detail.values.quantile(TAIL),
        {label: _summarise(made) for label, made in detail.paper.items()},
        {label: _summarise(made) for label, made in detail.equal.items()},
    )


def _summarise(made: Made) -> Synthesis:
    w, before = made.weighting, made.before
    bounds = Values.of(w.lipschitz / w.delta, w.counts)
    free = w.alpha < 1

    def share(which: np.ndarray) -> float:
        return float(np.average(which, weights=w.counts))

    spread = 0.0
    if free.any():
        held = Values.of(w.lipschitz[free] / w.delta, w.counts[free])
        spread = held.quantile(0.95) - held.quantile(0.05)
    assert w.mu is not None, "a count model has a mean"
    return Synthesis(
        delta=w.delta,
        mean_alpha=w.mean_alpha,
        whole=share(~free),
        small=share(w.alpha < 0.5),
        typical=bounds.quantile(0.5),
        low=share(w.lipschitz < 0.5 * w.delta),
        spread=spread,
        rising=share(w.alpha > before.alpha),
        falling=share(w.alpha < before.alpha),
        mu=float(w.mu.mean()),
        tail=float(np.mean([table.quantile(TAIL) for table in made.tables])),
        estimates={c.synthetic.statistic.name: c.synthetic.combined.estimate for c in made.comparisons},
        intervals={c.synthetic.statistic.name: c.synthetic.averaged for c in made.comparisons},
    )
