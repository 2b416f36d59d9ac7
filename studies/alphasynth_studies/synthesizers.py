"""The paper's six synthesizers on one table, at settings of ours and all at one epsilon.

Of the settings the paper gives k alone; `LW` and `CW` below are ours, and `scan.py` tries others.

`Detail` holds everything, for figures; `Measured` the plain numbers, for repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from alphasynth.evaluation.compared import Comparison, estimates
from alphasynth.evaluation.intervals import RESAMPLES, Interval, percentile_interval, resample
from alphasynth.evaluation.values import Values, statistics
from alphasynth.mechanisms.mechanism import Mechanism
from alphasynth.mechanisms.rules import SW
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.privacy.accounting import times
from alphasynth.synthesizer import Synthesizer

K = 0.95  # the paper's
STATISTICS = ("q15", "q90", "mean", "median")  # the paper's, in its order
TAIL = 0.99  # quantile that stands for the tail of the synthetic values


class Setting(NamedTuple):
    """Scale c and shift g of LW or CW, and CW's radius, as a share of the value or, if not `relative`, as it is."""

    scale: float
    shift: float
    radius: float | None = None
    relative: bool = True

    @property
    def words(self) -> str:
        """It in words.

        >>> Setting(1.0, 0.0).words, Setting(1.5, 0.1, 0.3).words
        ('c = 1, g = 0', 'radius 0.3 of the value, c = 1.5, g = 0.1')
        """
        own = f"c = {self.scale:g}, g = {self.shift:g}"
        return own if self.radius is None else f"radius {self.radius:g}{' of the value' * self.relative}, {own}"

    @property
    def ball(self) -> dict[str, Any]:
        """The options that say how near is near."""
        return {} if self.radius is None else {"radius": self.radius, "relative": self.relative}


LW, CW = Setting(1.0, 0.0), Setting(1.5, 0.1, 0.3)


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
    over the tables, `intervals` those of Supp 3 as we read them.
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
    """One table: its own statistics, and those of the paper's six synthesizers (`paper`) and of five at one epsilon."""

    values: dict[str, float]
    intervals: dict[str, Interval]
    tail: float
    paper: dict[str, Synthesis]
    equal: dict[str, Synthesis]

    def at(self, setting: str) -> Mapping[str, Synthesis]:
        """The paper's six at our settings ("paper"), or five at one epsilon ("equal")."""
        return self.paper if setting == "paper" else self.equal

    def error(self, label: str, statistic: str, setting: str = "paper") -> float:
        """Mean of the synthetic tables' statistic minus the table's own."""
        return self.at(setting)[label].estimates[statistic] - self.values[statistic]

    def relative_error(self, label: str) -> float:
        """Mean absolute error of the four statistics at our settings, each as a share of the table's own."""
        return float(np.mean([abs(self.error(label, name) / self.values[name]) for name in STATISTICS]))

    def loss(self, label: str, setting: str = "paper") -> float:
        """Mean absolute error of the four statistics, in half widths of the table's own intervals."""
        half = {name: (self.intervals[name].high - self.intervals[name].low) / 2 for name in STATISTICS}
        return float(np.mean([abs(self.error(label, name, setting)) / (half[name] or 1.0) for name in STATISTICS]))


class Maker:
    """Synthesizers of the first column of one table, which share the keys of their rounds."""

    def __init__(self, table: pd.DataFrame, m: int, seed: int, resamples: int = RESAMPLES) -> None:
        self.table, self.m, self.seed, self.resamples = table, m, seed, resamples
        self.column = str(table.columns[0])
        self.values = Values.of(table[self.column])
        self.rng = np.random.default_rng([seed, len(table)])
        self.own = resample(self.rng, self.values, statistics(), resamples)
        self.intervals = [percentile_interval(line) for line in self.own]

    def __call__(self, mechanism: Any, setting: Setting | None = None, **options: Any) -> Made:
        """Fit one, synthesize m tables and compare their statistics."""
        if setting is not None:
            options = {"scale": setting.scale, "shift": setting.shift, **setting.ball, **options}
        synthesizer = Synthesizer(
            f"`{self.column}` ~ 1",
            family="negative_binomial",
            mechanism=mechanism,
            m=self.m,
            seed=self.seed,
            **{name: value for name, value in options.items() if value is not None},
        ).fit(self.table)
        rounds = synthesizer.weightings_
        tables = tuple(Values.of(frame[self.column]) for frame in synthesizer.sample())
        wanted = statistics()
        found = estimates(self.rng, self.column, wanted, tables, len(self.table), resamples=self.resamples)
        lines = zip(wanted, self.intervals, found, self.own, strict=True)
        comparisons = tuple(Comparison(statistic.of(self.values), *rest) for statistic, *rest in lines)
        return Made(rounds[-1], rounds[max(len(rounds) - 2, 0)], tables, comparisons)

    @property
    def tail(self) -> float:
        """The table's own 99th percentile."""
        return self.values.quantile(TAIL)

    def scalar(self, lw: Made, unweighted: Made) -> Made:
        """SW with the paper's alpha, read as Delta of LW over that of Unweighted."""
        return self(Mechanism("SW", (SW(min(lw.weighting.delta / unweighted.weighting.delta, 1.0)),)))


def synthesize_all(table: pd.DataFrame, m: int, epsilon: float | None, seed: int) -> Detail:
    """All synthesizers on the first column of a table.

    `epsilon` is per draw, for those at one epsilon; without it there are none.
    """
    made = Maker(table, m, seed)
    paper = {"Unweighted": made("Unweighted"), "LW": made("LW", LW), "CW": made("CW", CW)}
    paper["SW"] = made.scalar(paper["LW"], paper["Unweighted"])
    paper["LW_final"] = made("LW_final", LW, k=K)
    paper["CW_final"] = made("CW_final", CW, k=K)
    if epsilon is None:
        return Detail(made.column, made.values, paper, {})
    aim: dict[str, Any] = {"epsilon": times(m, epsilon)}
    equal = {
        "LW": made("LW", LW, scale=None, **aim),
        "CW": made("CW", CW, scale=None, **aim),
        "SW": made("SW", **aim),
        "LW_final": made("LW_final", LW, **aim),
        "CW_final": made("CW_final", CW, **aim),
    }
    return Detail(made.column, made.values, paper, equal)


def measured(detail: Detail) -> Measured:
    """The plain numbers of a table."""
    first = detail.paper["Unweighted"].comparisons
    return Measured(
        {c.synthetic.statistic.name: c.value for c in first},
        {c.synthetic.statistic.name: c.interval for c in first},
        detail.values.quantile(TAIL),
        {label: summarise(made) for label, made in detail.paper.items()},
        {label: summarise(made) for label, made in detail.equal.items()},
    )


def summarise(made: Made) -> Synthesis:
    """The plain numbers of one synthesizer."""
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
