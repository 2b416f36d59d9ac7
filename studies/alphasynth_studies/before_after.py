"""Sections 3 and 4 share a plan: six synthesizers before and after re-weighting, on one table and over many tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alphasynth.evaluation.intervals import Interval
from alphasynth_studies.statements import Statement, orders, shares
from alphasynth_studies.synthesizers import STATISTICS, Detail, Measured

BEFORE, AFTER = ("Unweighted", "LW", "CW", "SW"), ("LW", "LW_final", "CW", "CW_final")
RATIOS = {"LW_final": "LW", "CW_final": "CW", "SW": "LW"}  # whose Delta is called equivalent to whose
WEIGHTED = ("LW", "CW", "SW", "LW_final", "CW_final")


@dataclass(frozen=True, eq=False)
class Told:
    """A study's tables as found: the first in detail, all of them in numbers, and the statements about them."""

    detail: Detail
    found: Sequence[Measured]
    statements: tuple[Statement, ...]
    epsilon: float

    @property
    def first(self) -> Measured:
        """The numbers of the table in detail."""
        return self.found[0]

    def said(self, *names: str) -> str:
        """What the paper says and how it fares: on the table shown, and on all."""
        outcome = shares(self.statements, self.found)
        words = []
        for statement in (s for s in self.statements if s.name in names):
            here = "holds" if statement.holds(self.first) else "does not hold"
            share = outcome[statement.name]
            over = f", and holds on {share['holds']:,} of {share['of']:,} tables" if share["of"] > 1 else ""
            words.append(f"{statement.words}: {here} here{over}.")
        return " ".join(words)


def results_of(told: Told) -> dict[str, Any]:
    """The numbers by name."""
    found = told.found
    return {
        "tables": len(found),
        "n": told.detail.values.n,
        "m": len(told.detail.paper["LW"].tables),
        "data": {name: _spread([one.values[name] for one in found]) for name in (*STATISTICS, "sd")},
        "our_settings": {label: _synthesizer(found, label, "paper") for label in (*BEFORE, "LW_final", "CW_final")},
        "equal_epsilon": {
            "epsilon_per_draw": told.epsilon,
            **{label: _synthesizer(found, label, "equal") for label in WEIGHTED},
        },
        "delta_ratio": {after: _ratio(found, after, before) for after, before in RATIOS.items()},
        "first_table": {label: made.delta for label, made in told.first.paper.items()},
        "statements": shares(told.statements, found),
        "statements_at_equal_epsilon": shares([s for s in told.statements if s.of_utility], found, "equal"),
        "orders": {name: orders(found, setting) for name, setting in (("ours", "paper"), ("equal", "equal"))},
        "intervals": {
            label: {name: _interval(found, label, name) for name in STATISTICS}
            for label in ("data", *BEFORE, "LW_final", "CW_final")
        },
    }


def _ratio(found: Sequence[Measured], after: str, before: str) -> dict[str, float]:
    """Delta of one over that of another, over tables, and the share of tables on which it exceeds 1."""
    ratios = [one.paper[after].delta / one.paper[before].delta for one in found]
    return {**_spread(ratios), "share_above": float(np.mean(np.array(ratios) > 1))}


def interval_of(one: Measured, label: str, statistic: str) -> Interval:
    """The 95 % interval of a table's own statistic ("data"), or of a synthesizer's."""
    return one.intervals[statistic] if label == "data" else one.paper[label].intervals[statistic]


def _interval(found: Sequence[Measured], label: str, statistic: str) -> dict[str, Any]:
    """Middles, widths and shifts (middle minus the data's) over tables, and the first table's ends."""
    ends = np.array([interval_of(one, label, statistic) for one in found])
    own = np.array([one.intervals[statistic] for one in found])
    return {
        "first_table": ends[0].tolist(),
        "middle": _spread(ends.mean(axis=1)),
        "width": _spread(ends[:, 1] - ends[:, 0]),
        "shift": _spread((ends - own).mean(axis=1)),
    }


def _spread(values: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Mean over tables, its standard error, and the standard deviation of one table's."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "standard_error": sd / len(values) ** 0.5, "sd": sd}


def _synthesizer(found: Sequence[Measured], label: str, setting: str) -> dict[str, Any]:
    made = [getattr(one, setting)[label] for one in found]
    outcome: dict[str, Any] = {
        name: _spread([getattr(one, name) for one in made])
        for name in ("delta", "mean_alpha", "whole", "small", "typical", "low", "spread", "rising", "falling")
    }
    errors = {name: [one.error(label, name, setting) for one in found] for name in (*STATISTICS, "sd")}
    outcome["error"] = {name: _spread(line) for name, line in errors.items()}
    outcome["rmse"] = {name: float(np.sqrt(np.mean(np.square(line)))) for name, line in errors.items()}
    outcome["mu_error"] = _spread([one.mu - table.values["mean"] for one, table in zip(made, found, strict=True)])
    outcome["tail_error"] = _spread([one.tail - table.tail for one, table in zip(made, found, strict=True)])
    outcome["loss"] = _spread([one.loss(label, setting) for one in found])
    return outcome


def signed(error: float) -> str:
    """An error with its sign.

    >>> signed(0.126), signed(-1234.5)
    ('+0.13', '-1,234')
    """
    return f"{error:+,.2f}" if abs(error) < 100 else f"{error:+,.0f}"
