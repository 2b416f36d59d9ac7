"""What a statement of the paper's is: a measure, the synthesizers it compares, a rule; and how often one holds.

Most are remarks about the one table that the paper shows: on how many tables of ours is such a remark true? A few are
claims about the method: those are asked of means over tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from alphasynth_studies.expected import CLAIM, REMARK, Expected
from alphasynth_studies.synthesizers import STATISTICS, Measured, Synthesis

By = Mapping[str, float]
OF_ONE_TABLE = (
    "1 ± 0.95: a remark about one table. It holds of tables at large if at least nine of ours in ten have it, and does "
    "not hold if fewer than one in twenty has; between, the paper's table is not unusual among ours"
)
OF_THE_METHOD = (
    "1 ± 0.025: a claim about the method, read as one about means over tables; the number is the share of 1,000 "
    "resamples of our tables whose means keep it"
)
RESAMPLES = 1_000


@dataclass(frozen=True)
class Measure:
    """A number of a table's synthesizers: what it is, and how it is read off."""

    words: str
    of: Callable[[Measured, str, str], float]  # table, synthesizer, setting


def _of(words: str, read: Callable[[Synthesis], float]) -> Measure:
    return Measure(words, lambda one, label, setting: read(one.at(setting)[label]))


def error_of(name: str) -> Measure:
    """The absolute error of one statistic."""
    return Measure(f"absolute error of the {name}", lambda one, label, setting: abs(one.error(label, name, setting)))


DELTA = _of("largest bound", lambda made: made.delta)
TYPICAL = _of("median bound over the largest", lambda made: made.typical)
WEIGHT = _of("mean weight", lambda made: made.mean_alpha)
NEAR = _of("share of records with a bound nearer the largest than 0", lambda made: 1 - made.low)
LOW = _of("share of records with a bound below half of the largest", lambda made: made.low)
SPREAD = _of("middle 90 % of bounds over the largest, where weights are below 1", lambda made: made.spread)
FALLS = _of("share of records whose weight falls", lambda made: made.falling)
MU = Measure(
    "distance of mu from the data's mean",
    lambda one, label, setting: abs(one.at(setting)[label].mu - one.values["mean"]),
)
TAIL = Measure(
    "absolute error of the 99th percentile", lambda one, label, setting: abs(one.at(setting)[label].tail - one.tail)
)
LOSS = Measure("mean scaled error of the four statistics", lambda one, label, setting: one.loss(label, setting))
NEARER = Measure(
    "how many of the four statistics are nearer the data's than before re-weighting",
    lambda one, label, setting: float(
        sum(
            abs(one.error(label, name, setting)) < abs(one.error(label.removesuffix("_final"), name, setting))
            for name in STATISTICS
        )
    ),
)
FOUR = ("LW", "LW_final", "CW", "CW_final")
FINAL = {"LW": ("LW", "LW_final"), "CW": ("CW", "CW_final")}


@dataclass(frozen=True)
class Statement:
    """A statement: name, place, the paper's words and ours; what it measures, of which synthesizers, what must be."""

    name: str
    place: str
    said: str
    words: str
    measure: Measure
    labels: tuple[str, ...]
    rule: Callable[[By], bool]
    remark: str = ""
    of_utility: bool = False  # means something at one epsilon, too
    of_method: bool = False  # a claim about the method, and not a remark about the paper's table
    change: str = ""  # what would change the verdict, where it is not the settings or the paper's table

    def values(self, one: Measured, setting: str = "paper") -> dict[str, float]:
        """What it measures on one table, by synthesizer."""
        return {label: self.measure.of(one, label, setting) for label in self.labels if label in one.at(setting)}

    def holds(self, one: Measured, setting: str = "paper") -> bool:
        """Whether a table keeps it."""
        return bool(self.rule(self.values(one, setting)))

    @property
    def on(self) -> str:
        """The name of the number that it is judged by."""
        return f"statements.{self.name}.{'support' if self.of_method else 'share'}"

    @property
    def expected(self) -> Expected:
        """That it holds of means over tables, or that tables on which it holds are not unusual."""
        paired = (("LW", ("LW", "LW_final", "SW")), ("CW", ("CW", "CW_final")))
        rules = [code for code, labels in paired if set(labels) & set(self.labels)]
        return Expected(
            self.on,
            self.place,
            self.words,
            1.0,
            0.025 if self.of_method else 0.95,
            OF_THE_METHOD if self.of_method else OF_ONE_TABLE,
            self.remark,
            kind=CLAIM if self.of_method else REMARK,
            said=self.said,
            settings=("n", "S", *rules, *(("m", "U") if self.of_utility else ())),
            change=self.change or ("settings beyond those scanned" if self.of_method else "the paper's own table"),
        )


def share_interval(holds: int, tables: int) -> list[float]:
    """Exact 95 % interval of a share (Clopper and Pearson).

    >>> [round(end, 3) for end in share_interval(20, 20)]
    [0.832, 1.0]
    """
    from scipy.stats import binomtest

    interval = binomtest(holds, tables).proportion_ci(method="exact")
    return [float(interval.low), float(interval.high)]


def shares(made: Sequence[Statement], found: Sequence[Measured], setting: str = "paper") -> dict[str, dict[str, Any]]:
    """On how many tables each statement holds, the share and its exact 95 % interval; means of what it measures."""
    outcome = {}
    for statement in made:
        kept = [statement.holds(one, setting) for one in found]
        share = float(np.mean(kept))
        values = [statement.values(one, setting) for one in found]
        means = {label: float(np.mean([by[label] for by in values])) for label in values[0]}
        outcome[statement.name] = {
            "holds": sum(kept),
            "of": len(kept),
            "share": share,
            "share_interval": share_interval(sum(kept), len(kept)),
            "support": support(statement, values),
            "measure": statement.measure.words,
            "means": means,
        }
    return outcome


def support(statement: Statement, values: Sequence[By]) -> float:
    """Share of 1,000 bootstrap resamples of the tables whose means keep the statement."""
    labels = list(values[0])
    lines = np.array([[by[label] for label in labels] for by in values])
    picked = np.random.default_rng(len(lines)).integers(len(lines), size=(RESAMPLES, len(lines)))
    means = lines[picked].mean(axis=1)
    return float(np.mean([statement.rule(dict(zip(labels, line, strict=True))) for line in means]))


def means_in_words(outcome: Mapping[str, Any]) -> str:
    """Means over tables of what a statement measures.

    >>> means_in_words({"measure": "mean weight", "means": {"LW": 0.9416, "CW": 0.85}})
    'Mean weight: LW 0.942, CW 0.85.'
    """
    listed = ", ".join(f"{label} {_short(mean)}" for label, mean in outcome["means"].items())
    return f"{outcome['measure'][:1].upper()}{outcome['measure'][1:]}: {listed}."


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def orders(found: Sequence[Measured], setting: str) -> dict[str, int]:
    """How often LW, CW and SW come in each order, the one with the least error first."""
    labels = ("LW", "CW", "SW")
    losses = [{label: one.loss(label, setting) for label in labels} for one in found]
    counted = Counter(" < ".join(sorted(labels, key=by.__getitem__)) for by in losses)
    every = [" < ".join(order) for order in permutations(labels)]
    return {order: counted[order] for order in sorted(every, key=lambda order: -counted[order])}
