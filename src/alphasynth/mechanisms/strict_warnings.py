"""Warnings where public inputs make for poor tables of a strict mechanism; they tell nothing of the table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.errors import StrictWarning
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.inference.contribution import Bounded
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms.fit import Problem, in_64_bit
from alphasynth.mechanisms.strict import at_limit
from alphasynth.models.continuous import Gamma, Normal
from alphasynth.models.counts import NegativeBinomial, Poisson, count_columns
from alphasynth.models.model import PEAK, Array, Columns, Model, Peaked
from alphasynth.models.two_part import ZeroTruncated

# Records simulated to see how sharply a released draw's posterior is curved, and the points wanted per standard
# deviation: one widens it by 4 %.
SIMULATED, WIDEST_STEP = 4_096, 1.0
LEAST_RECORDS = 10.0  # each times a, that should speak against a prior


@in_64_bit
def warn(problem: Problem, released: Draws) -> None:
    """Warn where public inputs make for poor tables: too little to go by, a coarse grid, a draw at its limits.

    Judged from the released draws, public inputs and simulated records alone: a warning tells nothing of the table.
    """
    model, n = problem.model, problem.records.n
    assert isinstance(model, Bounded)
    if model.contribution.scalar is not None and n * model.contribution.scalar < LEAST_RECORDS:
        exact = isinstance(problem.sampler, PublicGrid)
        _say(
            f"{n:,} records at this epsilon count like {n * model.contribution.scalar:.2g}: the prior decides",
            " does not suffer" if exact else " rests on Markov chains, whose error is hard to see here",
        )
    if not isinstance(problem.sampler, PublicGrid):
        return
    axes = problem.sampler.axes(model, problem.rows.columns)
    for axis in at_limit(axes, released):
        _say(
            f"a released draw lies at a limit of {axis.name} on the public grid ({axis.low:g} to {axis.high:g}): if "
            "the truth lies beyond, the tables are wrong; widen --limits by what is publicly known"
        )
    if not isinstance(model.model, Peaked):
        return
    counts = problem.rows.total(problem.records.counts)[: problem.rows.size].astype(np.int64)
    drop = n * _drop(model, problem.rows.distinct, counts, released, [axis.step for axis in axes])
    # Where one step costs a normal posterior this much, it is WIDEST_STEP standard deviations wide.
    coarse = [axis for axis, lost in zip(axes, drop, strict=True) if lost > WIDEST_STEP**2 / 2]
    if coarse:
        named = ", ".join(f"{axis.name} (steps of {axis.step:.2g})" for axis in coarse)
        _say(
            f"the public grid is coarse beside what {n:,} records tell of {named}: draws are rounded to it; narrow "
            "--limits or --step, by what is publicly known"
        )


def _say(words: str, suffers: str = " does not suffer") -> None:
    warnings.warn(f"{words}; the guarantee{suffers}", StrictWarning, stacklevel=4)


def _drop(model: Bounded, rows: Columns, counts: np.ndarray, released: Draws, steps: Sequence[float]) -> np.ndarray:
    """How much a record's expected contribution falls one step from the first released draw, by coordinate (D,)."""
    theta = {name: value[0] for name, value in released.theta.items()}
    rng = np.random.default_rng(0)
    columns = {}
    if "X" in rows:  # all rows of the table, in sorted order: nothing but the public covariates decides which are taken
        X, times = np.unique(np.repeat(np.asarray(rows["X"]), counts, axis=0), axis=0, return_counts=True)
        columns["X"] = X[rng.choice(len(X), SIMULATED, p=times / times.sum())]
    y = np.asarray(model.simulate(rng, theta, columns, SIMULATED), np.float64)
    columns |= _read(model.model, y)
    assert isinstance(model.model, Peaked), "asked before"
    columns[PEAK] = model.model.peak(columns)
    u, moves = released.u[0], np.diag(steps)
    here, *around = (float(_mean(model, at, columns)) for at in (u, *(u + moves), *(u - moves)))
    return here - np.reshape(around, (2, len(steps))).mean(axis=0)


def _read(model: Model, y: np.ndarray) -> Columns:
    """What a family reads of simulated values, which are on its own scale."""
    if isinstance(model, Poisson | NegativeBinomial | ZeroTruncated):
        return count_columns(y)
    if isinstance(model, Normal):
        return {"y": y, "log_unit": np.zeros(len(y))}
    return {"y": y, "log_y": np.log(y), "log_unit": np.zeros(len(y))} if isinstance(model, Gamma) else {"y": y}


@partial(jax.jit, static_argnames="model")
def _mean(model: Bounded, u: Array, columns: Columns) -> Array:
    return jnp.mean(model.log_lik(model.prior.constrain(u), columns))
