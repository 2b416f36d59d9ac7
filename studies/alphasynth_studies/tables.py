"""The tables that the studies simulate: Poisson counts and the negative binomial mixture of the paper."""

from __future__ import annotations

import numpy as np
import pandas as pd

from alphasynth_studies.study import SEED

MEAN = 100.0
SHARES, DISPERSIONS = (0.2, 0.8), (5.0, 20.0)


def mixture_table(number: int, n: int) -> pd.DataFrame:
    """A table of n counts from 0.2 NB(100, 5) + 0.8 NB(100, 20), decided by its number."""
    rng = np.random.default_rng([SEED, number])
    phi = rng.choice(DISPERSIONS, n, p=SHARES)
    return pd.DataFrame({"y": rng.poisson(rng.gamma(phi, MEAN / phi))})


def poisson_log_pmf(size: int) -> np.ndarray:
    """Log probability of 0, 1, ..., size - 1 under Poisson(100)."""
    from scipy.stats import poisson

    return np.asarray(poisson.logpmf(np.arange(size), MEAN))


def mixture_log_pmf(size: int, dispersions: tuple[float, float] = DISPERSIONS) -> np.ndarray:
    """Log probability of 0, 1, ..., size - 1 under the mixture."""
    from scipy.special import logsumexp
    from scipy.stats import nbinom

    parts = [
        np.log(share) + nbinom.logpmf(np.arange(size), phi, phi / (phi + MEAN))
        for share, phi in zip(SHARES, dispersions, strict=True)
    ]
    return np.asarray(logsumexp(parts, axis=0))
