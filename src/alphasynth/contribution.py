"""What a record adds to the log density: the one place where alpha meets the log-likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from alphasynth.model import Array


def weighted(alpha: Array, log_lik: Array, xp: Any = np) -> Array:
    """alpha * f, the paper's log-pseudo-likelihood; 0 where alpha is 0, whatever f is there (0 * inf is not a number).

    `xp` is the array library, numpy or jax.numpy.

    >>> weighted(np.array([0.5, 0.0]), np.array([-4.0, -np.inf])).tolist()
    [-2.0, 0.0]
    """
    takes_part = alpha > 0
    return xp.where(takes_part, alpha * xp.where(takes_part, log_lik, 0.0), 0.0)
