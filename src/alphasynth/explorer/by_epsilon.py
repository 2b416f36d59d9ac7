"""Mechanisms whose weights epsilon decides: budget weights at any cap, and censored contributions at any cut."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from alphasynth.errors import DiagnosticsError
from alphasynth.explorer.dial import EPSILON, Dial, Setting
from alphasynth.explorer.explored import Bounds
from alphasynth.explorer.pool import Pool, Standing, Terms, expected_largest
from alphasynth.inference.contribution import Bounded, Censored, CensoredAt, bare
from alphasynth.inference.laplace import Laplace
from alphasynth.inference.wrapping import HIGH, LOW, Clipped
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import fit, in_64_bit, log_lik_at
from alphasynth.mechanisms.guide import REACH
from alphasynth.mechanisms.mechanism import budget_weights
from alphasynth.mechanisms.rules import BW
from alphasynth.models.model import PEAK
from alphasynth.privacy.accounting import bound_of, per_draw, within
from alphasynth.privacy.randomness import Key, child

CAP, CUT = "cap", "cut"


@dataclass(frozen=True, eq=False)
class ByBudget:
    """Budget weights given one guide, u by block, which is held while epsilon and cap are turned (confidential)."""

    bound: BoundTable
    guide: tuple[np.ndarray, ...] = field(repr=False)
    dials: tuple[Dial, ...]
    m: int
    driven = None

    @property
    def first_dials(self) -> tuple[Dial, ...]:
        """All, since there is one round."""
        return self.dials

    def _allowed(self, setting: Setting) -> tuple[Chain, np.ndarray]:
        return budget_weights(self.bound.chain, BW(setting[CAP], self._most(setting)), self.guide)

    def _most(self, setting: Setting) -> float:
        return bound_of(per_draw(within(setting[EPSILON]), self.m))

    def rounds(self, setting: Setting, pool: Pool | None) -> tuple[Terms, ...]:
        """Weights, and the limits between which what each row adds stays."""
        chain, alpha = self._allowed(setting)
        rows = chain.one.rows
        low, high = (np.asarray(rows.columns[name])[: rows.size][rows.of] for name in (LOW, HIGH))
        return (Terms(alpha, 0.0, alpha * low, alpha * high),)

    def draw(self, key: Key, terms: Terms, setting: Setting) -> np.ndarray:
        """Draws of the fit in which rows are clipped."""
        chain, alpha = self._allowed(setting)
        return fit(key, chain.one, alpha).draws.u

    def bounds(self, setting: Setting, pool: Pool, terms: Terms, standing: Standing) -> Bounds:
        """What epsilon allows every record: half of it for a draw."""
        allowed = np.where(terms.alpha > 0, self._most(setting), 0.0)
        return Bounds(terms.alpha, allowed, self._most(setting), setting[EPSILON])

    @in_64_bit
    def facts(self) -> dict[str, Any]:
        """f at the guide by row, and how far beyond it a row may go."""
        block = self.bound.chain.one
        assert block.guide is not None, "bound with one"
        assert isinstance(block.guide.model, Bounded), "made by guide_of"
        assert isinstance(block.guide.model.contribution, CensoredAt), "made by guide_of"
        at = log_lik_at(block.model, self.guide[0], block.rows, one_by_one=False)[block.rows.of]
        reach = REACH * block.guide.model.contribution.cut
        return {"kind": "budget", "at": [v if np.isfinite(v) else None for v in at.tolist()], "reach": reach}


@dataclass(frozen=True, eq=False)
class ByCut:
    """Censored contributions (confidential): no weights, each record centred at its own peak and cut."""

    bound: BoundTable
    dials: tuple[Dial, ...]
    m: int
    num_draws: int
    driven = None

    @property
    def first_dials(self) -> tuple[Dial, ...]:
        """All, since there is one round."""
        return self.dials

    def _epsilon(self, setting: Setting) -> float:
        return per_draw(within(setting[EPSILON]), self.m)

    def _peak(self) -> np.ndarray:
        rows = self.bound.chain.one.rows
        return np.asarray(rows.columns[PEAK])[: rows.size][rows.of]

    def rounds(self, setting: Setting, pool: Pool | None) -> tuple[Terms, ...]:
        """a (f - f*), cut to [-epsilon, 0] of a draw."""
        epsilon = self._epsilon(setting)
        a = min(1.0, epsilon / setting[CUT])
        return (Terms(np.full(self.bound.chain.records.size, a), self._peak(), -epsilon, 0.0),)

    def bounds(self, setting: Setting, pool: Pool, terms: Terms, standing: Standing) -> Bounds:
        """In place of weights a times how often a record is not cut; what its contribution should range over."""
        epsilon = self._epsilon(setting)
        below = self._peak() - pool.log_lik
        kept = standing.shares @ (below * terms.alpha < epsilon)
        ranged = np.minimum(expected_largest(below, standing.shares, self.num_draws) * terms.alpha, epsilon)
        return Bounds(kept * terms.alpha, ranged, epsilon, setting[EPSILON])

    def draw(self, key: Key, terms: Terms, setting: Setting) -> np.ndarray:
        """Draws by a quick sampler, which no promise rests on here; where it fails, by the run's own.

        a clip(f, f* - epsilon / a, f*) differs from what a row adds by a constant, and its limits are data: programs
        are compiled once for all settings.
        """
        block = self.bound.chain.one
        rows, a = block.rows, float(terms.alpha[0])
        peak = np.asarray(rows.columns[PEAK])
        limits = {LOW: peak - self._epsilon(setting) / a, HIGH: peak}
        clipped = replace(
            block, model=Clipped(bare(block.model)), rows=replace(rows, columns={**rows.columns, **limits})
        )
        try:
            return fit(child(key, 0), replace(clipped, sampler=Laplace()), terms.alpha).draws.u
        except DiagnosticsError:
            model = Censored(setting[CUT]).bounded(bare(block.model), self._epsilon(setting))
            return fit(child(key, 1), replace(block, model=model), np.ones(len(terms.alpha))).draws.u

    def facts(self) -> dict[str, Any]:
        """f* by row."""
        return {"kind": "cut", "peak": self._peak().tolist(), "numDraws": self.num_draws}
