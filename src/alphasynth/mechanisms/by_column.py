"""`PerColumn`: a rule applied to every column of a chain by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.rule import Aim, BoundOf, Rule
from alphasynth.mechanisms.rules import BW
from alphasynth.privacy.accounting import split
from alphasynth.tables.records import Records


@dataclass(frozen=True)
class PerColumn:
    """A rule applied to every column of a chain by itself: one weight per record and column.

    A budget weight's bound is divided over the columns by their public `shares`, which sum to 1.
    """

    rule: Rule
    shares: tuple[float, ...]

    @property
    def dial(self) -> str:
        """The rule's own."""
        return self.rule.dial

    @property
    def highest(self) -> float:
        """The rule's own."""
        return self.rule.highest

    @property
    def unset(self) -> bool:
        """The rule's own."""
        return self.rule.unset

    def aim(self, before: JointFit, bound_of: BoundOf) -> Aim | None:
        """The rule's own, other rules being applied to every column too."""
        return self.rule.aim(before, lambda other: bound_of(replace(self, rule=other)))

    def guess(self, before: JointFit, bound: float) -> float:
        """The rule's own."""
        return self.rule.guess(before, bound)

    def turned(self, value: float) -> PerColumn:
        """With the rule's dial at another value."""
        return replace(self, rule=self.rule.turned(value))

    def __call__(self, records: Records, fit: JointFit) -> np.ndarray:
        """Next alpha (distinct rows, columns)."""
        found = [
            rule(records, JointFit.of_one(name, one))
            for name, one, rule in zip(fit.names, fit.columns, self._rules(), strict=True)
        ]
        return np.stack(found, axis=1)

    def _rules(self) -> list[Rule]:
        if isinstance(self.rule, BW) and self.rule.bound is not None:
            return [replace(self.rule, bound=part) for part in split(self.rule.bound, 1, self.shares)]
        return [self.rule] * len(self.shares)


def applied(rule: Rule) -> Rule:
    """The rule that is applied, be it to whole records or to every column."""
    return rule.rule if isinstance(rule, PerColumn) else rule


def settle(rule: Any, change: Callable[[Any], Rule]) -> Rule:
    """The rule with a change made to it, under what applies it to every column."""
    return replace(rule, rule=change(rule.rule)) if isinstance(rule, PerColumn) else change(rule)
