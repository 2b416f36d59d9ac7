"""`Weighting`: what a mechanism, or one round of it, did to each record; what figures of weights and bounds show."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Weighting:
    """One round's weights and Lipschitz bounds (confidential), one entry per distinct row, `counts` records each.

    `mu` are the round's draws of the mean, over the records where there are covariates; None where the model has none.
    """

    label: str
    counts: np.ndarray = field(repr=False)
    alpha: np.ndarray = field(repr=False)
    lipschitz: np.ndarray = field(repr=False)
    mu: np.ndarray | None = field(default=None, repr=False)

    @property
    def delta(self) -> float:
        """The largest of the bounds."""
        return float(self.lipschitz.max())

    @property
    def mean_alpha(self) -> float:
        """Mean weight over records."""
        return float(np.average(self.alpha, weights=self.counts))
