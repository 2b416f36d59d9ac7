"""What a statement of the paper's is: a measure, the synthesizers it compares, a rule; and how often one holds.

The paper says it of one table. A statement that describes the method is read as true of at least nine tables in ten
from the same source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from alphasynth_studies.expected import Expected
from alphasynth_studies.synthesizers import Measured

By = Mapping[str, float]


@dataclass(frozen=True)
class Measure:
    """A number of a table's synthesizers: what it is, and how it is read off."""

    words: str
    of: Callable[[Measured, str, str], float]  # table, synthesizer, setting


@dataclass(frozen=True)
class Statement:
    """A statement: name, place in the paper, words; what it measures, of which synthesizers, and what must be."""

    name: str
    place: str
    words: str
    measure: Measure
    labels: tuple[str, ...]
    rule: Callable[[By], bool]
    remark: str = ""
    of_utility: bool = False  # means something at one epsilon, too

    def values(self, one: Measured, setting: str = "paper") -> dict[str, float]:
        """What it measures on one table, by synthesizer."""
        return {label: self.measure.of(one, label, setting) for label in self.labels if label in one.at(setting)}

    def holds(self, one: Measured, setting: str = "paper") -> bool:
        """Whether a table keeps it."""
        return bool(self.rule(self.values(one, setting)))

    @property
    def expected(self) -> Expected:
        """That it holds of at least nine tables in ten."""
        return Expected(
            f"statements.{self.name}.share",
            self.place,
            self.words,
            1.0,
            0.1,
            "1 ± 0.1: said of one table; what describes the method should hold of nine tables in ten",
            self.remark,
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
            "measure": statement.measure.words,
            "means": means,
        }
    return outcome


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
