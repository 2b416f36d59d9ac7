"""Mechanisms whose weights rules make, LW, CW, SW and re-weighting after them, at any of their numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alphasynth.explorer.dial import Dial, Setting
from alphasynth.explorer.explored import Bounds
from alphasynth.explorer.pool import Pool, Standing, Terms, expected_largest
from alphasynth.inference.contribution import weighted
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.fit import fit
from alphasynth.mechanisms.rule import level
from alphasynth.mechanisms.rules import CW, LW, SW
from alphasynth.privacy.accounting import epsilon_of, times
from alphasynth.privacy.randomness import Key
from alphasynth.tables.nearness import numbers_of

K = "k"


@dataclass(frozen=True, eq=False)
class ByRules:
    """A mechanism of one rule, or of one and re-weighting (confidential); `before` is the unweighted fit.

    `num_draws` are those of a run: its bound is the largest over them.
    """

    bound: BoundTable
    before: JointFit
    rule: LW | CW | SW
    dials: tuple[Dial, ...]
    m: int
    num_draws: int
    keep_zeros: bool = False

    @property
    def driven(self) -> str:
        """The last rule's number."""
        return K if any(dial.name == K for dial in self.dials) else self.rule.dial

    @property
    def first_dials(self) -> tuple[Dial, ...]:
        """All but k."""
        return tuple(dial for dial in self.dials if dial.name != K)

    def rounds(self, setting: Setting, pool: Pool | None) -> tuple[Terms, ...]:
        """The weights; of a second round, by what the first one's bounds are expected to be."""
        numbers: dict[str, Any] = {name: value for name, value in setting.items() if name != K}
        first = replace(self.rule, **numbers)
        terms = Terms(first(self.bound.chain.records, self.before))
        if K not in setting:
            return (terms,)
        assert pool is not None, "a second round needs the draws of a first"
        largest, delta = bounds_of(pool, terms, pool.standing(terms), self.num_draws)
        largest = np.where(np.isfinite(self.before.largest_distinct), largest, np.inf)
        second = level(largest, setting[K] * delta)
        lifted = (largest > 0) & (not self.keep_zeros)
        return terms, Terms(np.where((terms.alpha > 0) | lifted, second, 0.0))

    def draw(self, key: Key, terms: Terms, setting: Setting) -> np.ndarray:
        """Draws of the pseudo posterior with these weights."""
        return fit(key, self.bound.chain.one, terms.alpha).draws.u

    def bounds(self, setting: Setting, pool: Pool, terms: Terms, standing: Standing) -> Bounds:
        """Delta by row and overall, as a run is expected to find them; epsilon is twice as much for each draw."""
        largest, delta = bounds_of(pool, terms, standing, self.num_draws)
        return Bounds(terms.alpha, weighted(terms.alpha, largest), delta, times(self.m, epsilon_of(delta)))

    def facts(self) -> dict[str, Any]:
        """F of the unweighted fit, and of count weights the values and groups within which they are compared."""
        records, rule = self.bound.chain.records, self.rule
        facts: dict[str, Any] = {
            "kind": "rules",
            "rule": type(rule).__name__,
            "largest": [value if np.isfinite(value) else None for value in self.before.largest_distinct.tolist()],
            "keepZeros": self.keep_zeros,
            "numDraws": self.num_draws,
        }
        if isinstance(rule, CW):
            y, is_category = numbers_of(records.columns[self.bound.chain.names[0]])
            group = records.group(rule.within)
            facts |= {"near": y.tolist(), "group": group.tolist(), "category": is_category, "relative": rule.relative}
        return facts


def bounds_of(pool: Pool, terms: Terms, standing: Standing, num_draws: int) -> tuple[np.ndarray, float]:
    """F by row, and Delta, of a fit with these weights, as so many of its draws are expected to show them."""
    by_draw = weighted(terms.alpha, np.abs(pool.log_lik)).max(axis=1)
    delta = expected_largest(by_draw, standing.shares, num_draws)
    return pool.expected_largest(standing, num_draws), float(delta)
