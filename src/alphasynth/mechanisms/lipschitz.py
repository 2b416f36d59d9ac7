"""Lipschitz bounds by record and overall, streamed over blocks of rows: never an S x n matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.inference.contribution import Bounded, clipped_form, weighted
from alphasynth.inference.density import log_liks_outside, outside, over_blocks
from alphasynth.inference.sampler import Draws
from alphasynth.inference.wrapping import HIGH
from alphasynth.models.model import TAKES_PART, Array, Columns, Model, Rows
from alphasynth.tables.records import Records


@dataclass(frozen=True, eq=False)
class Lipschitz:
    """Delta by record, max over draws of alpha_i |f_i|, and overall, the largest of them (confidential)."""

    records: Records
    by_distinct: np.ndarray = field(repr=False)

    @property
    def by_record(self) -> np.ndarray:
        """Bounds (n,) in the table's own row order."""
        return self.records.expand(self.by_distinct)

    @property
    def overall(self) -> float:
        """The database's local bound, Delta."""
        return float(self.by_distinct.max())


def largest_log_lik(model: Model, draws: Draws, rows: Rows, keep: np.ndarray | None = None) -> np.ndarray:
    """F = max over the kept draws of |f| by row (rows.size,); infinite where f is not finite in some draw."""
    return larger(*extreme_log_liks(model, draws, rows, keep))


def extreme_log_liks(
    model: Model, draws: Draws, rows: Rows, keep: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Largest and smallest f over the kept draws by row, each (rows.size,); infinite where f is not a number."""
    if outside(model) is not None:
        f = log_liks_outside(model, draws.u if keep is None else draws.u[keep], rows.distinct)
        known = ~np.isnan(f)
        return np.where(known, f, np.inf).max(axis=0), np.where(known, f, -np.inf).min(axis=0)
    # A kept draw stands in for each dropped one: the extremes are the same, and so is the compiled program.
    u = draws.u if keep is None else np.where(keep[:, None], draws.u, draws.u[np.argmax(keep)])
    inner, columns, a = clipped_form(model, rows.columns)
    found = _extremes_by_row(inner, u, columns, np.int64(rows.size))
    highest, lowest = (np.asarray(one)[: rows.size] for one in found)
    if inner is model:
        return highest, lowest
    # Back to a (f - f*), which is never below what it was cut at, however a sum is rounded.
    assert isinstance(model, Bounded), "has a clipped form"
    top, least = np.asarray(columns[HIGH])[: rows.size], -model.epsilon
    part = np.asarray(columns[TAKES_PART])[: rows.size] > 0 if TAKES_PART in columns else np.ones(rows.size, bool)
    highest, lowest = (np.where(part, np.maximum(a * (one - top), least), 0.0) for one in (highest, lowest))
    return highest, lowest


def larger(highest: np.ndarray, lowest: np.ndarray) -> np.ndarray:
    """F, the largest |f|, from the largest and the smallest f."""
    return np.maximum(highest, -lowest)


def keep_below(model: Model, draws: Draws, rows: Rows, top_alpha: np.ndarray, thresh: float) -> np.ndarray:
    """Mask (S,) of draws whose largest alpha_i |f_i| is at most the `thresh` quantile of all draws' (Supp 1).

    `top_alpha` is the largest alpha of each row's records (capacity,).
    """
    if outside(model) is not None:
        f = np.abs(log_liks_outside(model, draws.u, rows.distinct))
        by_draw = weighted(top_alpha[: rows.size], np.where(np.isnan(f), np.inf, f)).max(axis=1)
        return by_draw <= np.quantile(by_draw, thresh)
    by_draw = np.asarray(_largest_by_draw(model, draws.u, rows.columns, top_alpha, np.int64(rows.size)))
    return by_draw <= np.quantile(by_draw, thresh)


def _absolute(model: Model, draws: Array, columns: Columns) -> Array:
    """|f| (block, S) of a block of rows under every draw; what is not a number counts as infinite."""
    log_lik = jax.vmap(lambda u: model.log_lik(model.prior.constrain(u), columns), out_axes=1)(draws)
    return jnp.where(jnp.isnan(log_lik), jnp.inf, jnp.abs(log_lik))


@partial(jax.jit, static_argnames="model")
def largest_by_row(model: Model, draws: Array, columns: Columns, size: Array) -> Array:
    """F by row (capacity,) at draws u (S, D); only the blocks that hold the first `size` rows are computed."""
    capacity = len(next(iter(columns.values())))

    def step(block: Columns, first: Array, largest: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(largest, _absolute(model, draws, block).max(axis=1), first, 0)

    return over_blocks(columns, size, step, jnp.zeros(capacity))


@partial(jax.jit, static_argnames="model")
def _extremes_by_row(model: Model, draws: Array, columns: Columns, size: Array) -> tuple[Array, Array]:
    capacity = len(next(iter(columns.values())))

    def step(block: Columns, first: Array, extremes: tuple[Array, Array]) -> tuple[Array, Array]:
        log_lik = jax.vmap(lambda u: model.log_lik(model.prior.constrain(u), block), out_axes=1)(draws)
        known = ~jnp.isnan(log_lik)
        found = jnp.where(known, log_lik, jnp.inf).max(axis=1), jnp.where(known, log_lik, -jnp.inf).min(axis=1)
        update = jax.lax.dynamic_update_slice_in_dim
        return update(extremes[0], found[0], first, 0), update(extremes[1], found[1], first, 0)

    return over_blocks(columns, size, step, (jnp.zeros(capacity), jnp.zeros(capacity)))


@partial(jax.jit, static_argnames="model")
def _largest_by_draw(model: Model, draws: Array, columns: Columns, top_alpha: Array, size: Array) -> Array:
    def step(block: tuple[Columns, Array], first: Array, largest: Array) -> Array:
        values, alpha = block
        return jnp.maximum(largest, weighted(alpha[:, None], _absolute(model, draws, values), jnp).max(axis=0))

    return over_blocks((columns, top_alpha), size, step, jnp.zeros(len(draws)))
