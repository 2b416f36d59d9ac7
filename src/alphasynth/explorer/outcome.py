"""What a setting comes to by the stored draws: weights, bounds, epsilon, the tables it would give, how far to trust it.

The page computes the same in the browser; this is what its numbers are held against, and what it shows without scripts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from alphasynth.explorer.dial import Setting
from alphasynth.explorer.explored import Bounds, Explored
from alphasynth.explorer.pool import Pool
from alphasynth.explorer.simulated import Simulated

# Where the k-hat of the ratios is above, their mean is not to be trusted (Vehtari et al. 2024).
HIGHEST_KHAT = 0.7
LEAST_EFFECTIVE = 50  # draws' worth, below which a mean is a matter of few draws
LEAST_KEPT = 0.7  # of the widest fit's weights, below which no draws are wide enough


@dataclass(frozen=True)
class Expected:
    """A measure of synthetic tables: its mean over tables, their sd, and the mean's Monte Carlo error."""

    mean: float
    sd: float
    error: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a setting comes to (confidential); `khat` is the worst of its rounds, `effective` the fewest.

    `kept` is the least that the weights of a round come to, as a share of what they do in the widest fit made.
    """

    bounds: Bounds
    mean_weight: float
    khat: float
    effective: float
    kept: float
    shares: np.ndarray = field(repr=False)
    measures: tuple[Expected, ...] = field(repr=False)

    @property
    def stands(self) -> bool:
        """Whether the draws stand for a fit at this setting."""
        return self.khat <= HIGHEST_KHAT and self.effective >= LEAST_EFFECTIVE and self.kept >= LEAST_KEPT


def outcome_at(setting: Setting, explored: Explored, pool: Pool, simulated: Simulated) -> Outcome:
    """The outcome at a setting."""
    rounds = explored.rounds(setting, pool)
    standings = [pool.standing(terms) for terms in rounds]
    last = standings[-1]
    bounds = explored.bounds(setting, pool, rounds[-1], last)
    return Outcome(
        bounds=bounds,
        mean_weight=float(np.average(bounds.weights, weights=pool.counts)),
        khat=max(standing.khat for standing in standings),
        effective=min(standing.effective for standing in standings),
        kept=min(terms.kept(pool.counts) for terms in rounds) / pool.least,
        shares=last.shares @ simulated.shares,
        measures=tuple(_expected(last.shares, values) for values in simulated.measures.T),
    )


def _expected(shares: np.ndarray, values: np.ndarray) -> Expected:
    mean = float(shares @ values)
    squares = (values - mean) ** 2
    return Expected(mean, float(np.sqrt(shares @ squares)), float(np.sqrt(shares**2 @ squares)))
