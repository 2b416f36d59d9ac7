"""What records add on a public grid, in whole quanta of epsilon: one compiled program for all tables and points.

The grid is cut into tiles that are public too. A row's cost at a point is what the program makes of the row and of the
tile that holds the point: neither the row's place in a table nor which other rows and points are asked for can matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.errors import PrivacyFault
from alphasynth.exact.axes import Axis, points, size_of
from alphasynth.inference.contribution import Bounded, Shared
from alphasynth.models.model import Array, Columns, Theta

# Parts that epsilon is divided into; a record's contribution is a whole number of them.
QUANTA = 1 << 20
# Points of a tile along each axis, by the number of axes.
SIDES = {1: 256, 2: 16, 3: 6}
# Tiles and rows that a call takes; how many of them count is an argument, so that there is one program.
TILES, LINES = 64, 1_024


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of rows on the tiles of a public grid; `shared` is what all rows have in common, by point."""

    model: Bounded
    axes: tuple[Axis, ...]
    shared: Theta = field(default_factory=dict, repr=False)

    @property
    def side(self) -> int:
        """Points of a tile along each axis."""
        return SIDES[len(self.axes)]

    @property
    def tiles_by_axis(self) -> tuple[int, ...]:
        """Tiles along each axis; the last one may reach beyond the grid's end."""
        return tuple(-(-axis.points // self.side) for axis in self.axes)

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return math.prod(self.tiles_by_axis)

    def of_tiles(self, numbers: np.ndarray, columns: Columns, counts: np.ndarray) -> np.ndarray:
        """Minus the sum of the rows' contributions (tiles asked for, points of a tile), in quanta."""
        if not (counts == np.rint(counts)).all():
            raise PrivacyFault("a strict contribution must take no weights, found some")
        along = tuple(extended(axis.u, self.side) for axis in self.axes)
        shared = {name: self._on_tiles(value) for name, value in self.shared.items()}
        places = np.stack(np.unravel_index(numbers, self.tiles_by_axis), axis=-1).astype(np.int32)
        taken = np.flatnonzero(counts)
        total = np.zeros((len(numbers), self.side ** len(self.axes)), np.int64)
        for first in range(0, len(taken), LINES):
            lines = taken[first : first + LINES]
            rows = {name: padded(np.asarray(column)[lines], LINES) for name, column in columns.items()}
            times = np.zeros(LINES, np.int64)
            times[: len(lines)] = counts[lines]
            for start in range(0, len(numbers), TILES):
                part = places[start : start + TILES]
                wanted = padded(part, TILES), np.int32(len(part))
                found = _cost_of_tiles(self.model, self.side, along, shared, *wanted, rows, times, np.int32(len(lines)))
                total[start : start + len(part)] += np.asarray(found)[: len(part)]
        return total

    def everywhere(self, columns: Columns, counts: np.ndarray) -> np.ndarray:
        """Minus the sum of the rows' contributions at every point of the grid (points,), in quanta."""
        found = self.of_tiles(np.arange(self.tiles), columns, counts)
        number = len(self.axes)
        whole = found.reshape(*self.tiles_by_axis, *[self.side] * number)
        order = [place for axis in range(number) for place in (axis, number + axis)]
        flat = whole.transpose(order).reshape([tiles * self.side for tiles in self.tiles_by_axis])
        return flat[tuple(slice(axis.points) for axis in self.axes)].ravel()

    def tile_of(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tile of each point, and its place there."""
        along = np.unravel_index(numbers, [axis.points for axis in self.axes])
        tile = np.ravel_multi_index([place // self.side for place in along], self.tiles_by_axis)
        return tile, np.ravel_multi_index([place % self.side for place in along], [self.side] * len(self.axes))

    def _on_tiles(self, values: np.ndarray) -> np.ndarray:
        """Values by point, as the grid lies, extended to whole tiles."""
        grid = np.asarray(values).reshape([axis.points for axis in self.axes])
        over = [(0, tiles * self.side - axis.points) for tiles, axis in zip(self.tiles_by_axis, self.axes, strict=True)]
        return np.pad(grid, over, mode="edge")


def extended(lines: np.ndarray, side: int) -> np.ndarray:
    """Lines, the last one repeated until a multiple of `side` is there."""
    return padded(lines, len(lines) + -len(lines) % side)


def padded(lines: np.ndarray, size: int) -> np.ndarray:
    """Lines, the last one repeated until `size` are there."""
    return np.pad(lines, [(0, size - len(lines)), *[(0, 0)] * (lines.ndim - 1)], mode="edge")


@partial(jax.jit, static_argnames=("model", "side"))
def _cost_of_tiles(
    model: Bounded,
    side: int,
    axes: tuple[Array, ...],
    shared: Theta,
    tiles: Array,
    num_tiles: Array,
    rows: Columns,
    counts: Array,
    num_rows: Array,
) -> Array:
    """Sums over rows (tiles, points of a tile): one loop body for every tile and row."""
    sides = [side] * len(axes)

    def one_tile(number: Array, found: Array) -> Array:
        corner = tiles[number] * side
        u = [jax.lax.dynamic_slice_in_dim(axis, corner[d], side) for d, axis in enumerate(axes)]
        more = {name: jax.lax.dynamic_slice(value, corner, sides) for name, value in shared.items()}

        def one_row(line: Array, total: Array) -> Array:
            row = {name: jax.lax.dynamic_slice_in_dim(column, line, 1) for name, column in rows.items()}
            return total + counts[line] * _cost_of_row(model, u, more, row)

        total = jax.lax.fori_loop(0, num_rows, one_row, jnp.zeros(sides, jnp.int64))
        return found.at[number].set(total.ravel())

    nothing = jnp.zeros((len(tiles), side ** len(axes)), jnp.int64)
    return jax.lax.fori_loop(0, num_tiles, one_tile, nothing)


def _cost_of_row(model: Bounded, axes: list[Array], shared: Theta, row: Columns) -> Array:
    """Minus one row's contribution on a tile, in quanta from 0 to QUANTA."""

    def at(u: tuple[Array, ...], more: Theta) -> Array:
        theta = {**model.prior.constrain(jnp.stack(u)), **more}
        return jnp.reshape(model.log_lik(theta, row), ())

    # Axis by axis: what depends on one coordinate alone is computed once for all values of the others.
    def along(place: int) -> Callable[[tuple[Array, ...], Theta], Array]:
        if place == len(axes):
            return at
        inner = along(place + 1)
        return lambda u, more: jax.vmap(lambda value, most: inner((*u, value), most))(axes[place], more)

    value = along(0)((), shared)
    return jnp.clip(jnp.rint(-value * (QUANTA / model.epsilon)), 0, QUANTA).astype(jnp.int64)


def total_cost(model: Bounded, axes: tuple[Axis, ...], columns: Columns, counts: np.ndarray) -> np.ndarray:
    """Minus the sum of the records' contributions at every point, in quanta: whole numbers (points,)."""
    return Costs(model, axes, prepare(model, axes, columns)).everywhere(columns, counts)


def cost_of_row(model: Bounded, axes: tuple[Axis, ...], prepared: Theta, row: Columns) -> np.ndarray:
    """Minus one row's contribution at every point (points,), in quanta from 0 to QUANTA."""
    return Costs(model, axes, prepared).everywhere(row, np.ones(1, np.int64))


# Between points this near in log mean and log phi a cubic spline follows a sum of powers to six digits.
SMOOTH_STEP = 0.05


def prepare(model: Bounded, axes: tuple[Axis, ...], columns: Columns) -> Theta:
    """What all rows share at every point, beside the parameters; empty where nothing is.

    Computed on a wider grid and interpolated: it is public and smooth. On three axes there are levels alone, and few.
    """
    if not isinstance(model.contribution, Shared) or "X" in columns or len(axes) > 2:
        return {}
    return _shared_on(model, axes)


@lru_cache(maxsize=4)  # of public facts alone
def _shared_on(model: Bounded, axes: tuple[Axis, ...]) -> Theta:
    from scipy.interpolate import make_interp_spline

    wide = tuple(
        replace(axis, points=max(min(axis.points, math.ceil(np.ptp(axis.u) / SMOOTH_STEP) + 1), 4)) for axis in axes
    )
    shared = {}
    for name, values in _prepare(model, points(wide)).items():
        table = np.log(np.asarray(values)).reshape([axis.points for axis in wide])
        for place, (given, wanted) in enumerate(zip(wide, axes, strict=True)):
            table = make_interp_spline(given.u, table, axis=place)(wanted.u)
        shared[name] = np.exp(table).ravel()
        shared[name].flags.writeable = False
    assert all(len(value) == size_of(axes) for value in shared.values())
    return shared


@partial(jax.jit, static_argnames="model")
def _prepare(model: Bounded, u: Array) -> Theta:
    contribution = model.contribution
    assert isinstance(contribution, Shared), "asked before"
    return jax.vmap(lambda at: contribution.prepare(model.model, model.prior.constrain(at)))(u)
