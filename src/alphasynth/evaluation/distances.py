"""How far two columns are apart: distances of their empirical distribution functions, and Wasserstein's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alphasynth.evaluation.values import Values


@dataclass(frozen=True)
class Distances:
    """Largest and mean squared distance of the distribution functions over the merged rows; Wasserstein-1."""

    largest: float
    mean_squared: float
    wasserstein: float


def distances(one: Values, other: Values) -> Distances:
    """Distances of two columns.

    The mean is over the rows of both columns put together; Wasserstein-1 is in the column's own unit.

    >>> distances(Values.of([0, 1, 3]), Values.of([5, 6, 8])).wasserstein
    5.0
    """
    from scipy.stats import wasserstein_distance

    merged = Values.of(np.concatenate([one.values, other.values]), np.concatenate([one.counts, other.counts]))
    gap = np.abs(one.share_up_to(merged.values) - other.share_up_to(merged.values))
    return Distances(
        largest=float(gap.max()),
        mean_squared=float(np.average(gap**2, weights=merged.counts)),
        wasserstein=float(wasserstein_distance(one.values, other.values, one.counts, other.counts)),
    )


def mean_distances(confidential: Values, tables: list[Values]) -> Distances:
    """Distances from each synthetic table, averaged over the tables."""
    apart = [distances(confidential, table) for table in tables]
    return Distances(*(float(np.mean([getattr(d, name) for d in apart])) for name in vars(apart[0])))
