"""Points that hold a density of one or two parameters whose tails are a prior's own: close at its modes, sparse beyond.

What is cut leaves the prior its tails. An even grid that reaches so far would have one point at the modes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alphasynth.inference.density import Target
from alphasynth.inference.grid import Weighed, scores
from alphasynth.inference.mode import Mode, find_modes

# Points along an axis for each mode, of one parameter and of two; how far they reach, in the unit of priors.
ALONG = {1: 401, 2: 61}
FARTHEST = 60.0


class Axis(NamedTuple):
    """Points in order, and how much of the line each stands for."""

    u: np.ndarray
    width: np.ndarray


def weigh_far(target: Target, along: int | None = None) -> Weighed:
    """The density on points at each mode, ever sparser beyond; their steps are a small share of the distance."""
    modes = find_modes(target.model, np.atleast_2d(target.start), target.data)
    size = target.model.prior.size
    axes = [_axis(modes, k, along or ALONG[size]) for k in range(size)]
    u = np.stack(np.meshgrid(*(axis.u for axis in axes), indexing="ij"), axis=-1).reshape(-1, size)
    cell = np.prod(np.meshgrid(*(axis.width for axis in axes), indexing="ij"), axis=0).ravel()
    value = np.asarray(scores(target.model, u, target.data))
    weight = np.where(np.isnan(value), 0.0, np.exp(value - np.nanmax(value))) * cell
    total = weight.sum()
    log_total = float(np.nanmax(value) + np.log(total))
    return Weighed(u, weight / total, 0.0, 0.0, log_total, value)


def _axis(modes: list[Mode], k: int, along: int) -> Axis:
    """Points of one coordinate: a hyperbolic sine's around every mode."""
    parts = []
    for mode in modes:
        sd = float(np.linalg.norm(np.asarray(mode.factor)[k]))
        reach = np.arcsinh(FARTHEST / sd)
        parts.append(float(mode.u[k]) + sd * np.sinh(np.linspace(-reach, reach, along)))
    u = np.unique(np.concatenate(parts))
    return Axis(u, np.gradient(u))
