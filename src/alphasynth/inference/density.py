"""The log density of a pseudo posterior and its derivatives, summed over blocks of rows: never an S x n matrix.

Programs are compiled for the padded capacity; how many blocks they walk is an argument, so padding costs no time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.inference.contribution import SURVEY, Bounded, SurveyWeighted, weighted
from alphasynth.inference.wrapping import Clipped
from alphasynth.models.model import Array, Columns, Model, Outside, Rows
from alphasynth.stan.program import LOG_LIK

BLOCK = 32  # rows, under many draws at a time: 1 MB for 4,000 draws, which stays in a core's cache
WIDE_BLOCK = 256  # rows, under one draw at a time
AT_A_TIME = 256  # draws
AT_ONCE = 1 << 20  # log-likelihoods of another program
State = TypeVar("State")


class Data(NamedTuple):
    """Arguments of the compiled programs: the rows, the weight of each (alpha summed over its records), and how many.

    Confidential values travel as arguments and never as constants, which would end up in the compilation cache.
    """

    columns: Columns
    weight: Array
    size: Array


@dataclass(frozen=True, eq=False)
class Target:
    """The pseudo posterior to draw from: prior times product of p(x_i | theta)^alpha_i."""

    model: Model
    data: Data = field(repr=False)
    start: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, model: Model, rows: Rows, weight: np.ndarray) -> Target:
        """Target for a weight by row (capacity,): the sum of alpha over the row's records."""
        return cls(model, Data(rows.columns, weight, np.int64(rows.size)), rows.start)


def over_blocks(
    columns: Any, size: Array, step: Callable[[Any, Array, State], State], state: State, rows: int = BLOCK
) -> State:
    """Fold `step(block of columns, first row, state)` over the blocks that hold the first `size` rows."""

    def body(number: Array, state: State) -> State:
        first = number * rows
        block = jax.tree.map(lambda column: jax.lax.dynamic_slice_in_dim(column, first, rows), columns)
        return step(block, first, state)

    folded: State = jax.lax.fori_loop(0, (size + rows - 1) // rows, body, state)
    return folded


def taking_part(data: Data) -> Data:
    """Data in which a row of weight 0 reads another row's values: not even a derivative of its own can spoil a sum."""
    heaviest = jnp.argmax(data.weight)

    def replace(column: Array) -> Array:
        keep = (data.weight > 0).reshape(-1, *[1] * (column.ndim - 1))
        return jnp.where(keep, column, column[heaviest])

    return data._replace(columns=jax.tree.map(replace, data.columns))


def _block_density(model: Model, u: Array, block: tuple[Columns, Array]) -> Array:
    columns, weight = block
    return jnp.sum(weighted(weight, model.log_lik(model.prior.constrain(u), columns), jnp))


def log_density(model: Model, draws: Array, data: Data) -> Array:
    """Log density (S,) up to a constant at draws u (S, D), all of them scored in one vectorised pass over the rows."""
    data = taking_part(data)
    # The barrier keeps the compiler from computing the parameters anew for every row.
    thetas = jax.lax.optimization_barrier(jax.vmap(model.prior.constrain)(draws))  # type: ignore[no-untyped-call]

    def step(block: tuple[Columns, Array], first: Array, total: Array) -> Array:
        columns, weight = block
        log_lik = jax.vmap(lambda theta: model.log_lik(theta, columns), out_axes=1)(thetas)
        return total + jnp.sum(weighted(weight[:, None], log_lik, jnp), axis=0)

    prior = jax.vmap(model.prior.log_density)(draws)
    return prior + over_blocks((data.columns, data.weight), data.size, step, jnp.zeros(len(draws)))


def log_densities(model: Model, draws: np.ndarray, data: Data) -> np.ndarray:
    """`log_density` (S,) of any number of draws u (S, D), so many at a time that one compiled program serves all."""
    if outside(model) is not None:
        return np.sum(log_parts(model, draws, data), axis=0)
    padded = np.concatenate([draws, np.repeat(draws[-1:], -len(draws) % AT_A_TIME, axis=0)])
    parts = [_log_density(model, padded[i : i + AT_A_TIME], data) for i in range(0, len(padded), AT_A_TIME)]
    return np.concatenate([np.asarray(part) for part in parts])[: len(draws)]


_log_density = jax.jit(log_density, static_argnames="model")


def outside(model: Model) -> Outside | None:
    """The model that another program computes, alone or within what bounds or weights it; None of models of ours."""
    while isinstance(model, Bounded | Clipped | SurveyWeighted):
        model = model.model
    return model if isinstance(model, Outside) else None


def log_liks_outside(model: Model, u: np.ndarray, columns: Columns) -> np.ndarray:
    """f (S, rows) at coordinates (S, D), bounded or weighted as the model says, of what another program computes."""
    inside = outside(model)
    assert inside is not None, "asked before"
    if isinstance(model, Outside):
        return model.log_liks(u, columns)
    if isinstance(model, SurveyWeighted):
        return np.asarray(weighted(np.asarray(columns[SURVEY]), log_liks_outside(model.model, u, columns)))
    found, many = [], max(1, AT_ONCE // len(columns["y"]))
    for first in range(0, len(u), many):
        f = inside.known_log_liks(u[first : first + many], columns)
        # To a power of two of points: operations are compiled for each number of them.
        full = np.concatenate([f, np.repeat(f[-1:], (1 << (len(f) - 1).bit_length()) - len(f), axis=0)])
        found.append(np.asarray(model.log_lik({LOG_LIK: full}, columns))[: len(f)])
    return np.concatenate(found)


def log_parts(model: Model, u: np.ndarray, data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Log prior and log-pseudo-likelihood (S,) of what another program computes; -inf and 0 without prior density."""
    inside, size = outside(model), int(data.size)
    assert inside is not None, "asked before"
    prior = inside.log_priors(u)
    some = np.isfinite(prior)
    own = np.zeros(len(u))
    if some.any():
        part = np.asarray(data.weight)[:size] > 0
        columns = {name: np.asarray(column)[:size][part] for name, column in data.columns.items()}
        own[some] = log_liks_outside(model, u[some], columns) @ np.asarray(data.weight)[:size][part]
    return prior, own


def derivatives(model: Model, u: Array, data: Data) -> tuple[Array, Array, Array]:
    """Log density under the smoothed prior at u (D,), its gradient (D,) and its Hessian (D, D).

    `data` must come from `taking_part`.
    """

    def three(function: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
        def gradient(v: Array) -> tuple[Array, tuple[Array, Array]]:
            value, slope = jax.value_and_grad(function)(v)
            return slope, (value, slope)

        hessian, (value, slope) = jax.jacfwd(gradient, has_aux=True)(u)
        return value, slope, hessian

    def step(block: Any, first: Array, sums: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        return jax.tree.map(jnp.add, sums, three(lambda v: _block_density(model, v, block)))

    start = three(model.prior.smoothed().log_density)
    return over_blocks((data.columns, data.weight), data.size, step, start, WIDE_BLOCK)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def smooth_log_density(model: Model, u: Array, data: Data) -> Array:
    """Log density at u (D,) for samplers that follow gradients; `data` must come from `taking_part`."""
    return _value_and_grad(model, u, data)[0]


@smooth_log_density.defjvp
def _smooth_log_density_jvp(model: Model, primals: Any, tangents: Any) -> tuple[Array, Array]:
    value, gradient = _value_and_grad(model, *primals)  # the data do not move, only u does
    return value, gradient @ tangents[0]


def _value_and_grad(model: Model, u: Array, data: Data) -> tuple[Array, Array]:
    def step(block: Any, first: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        return jax.tree.map(jnp.add, sums, jax.value_and_grad(lambda v: _block_density(model, v, block))(u))

    start = jax.value_and_grad(model.prior.log_density)(u)
    return over_blocks((data.columns, data.weight), data.size, step, start, WIDE_BLOCK)
