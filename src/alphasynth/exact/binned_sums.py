"""Bounds of sums of beta-divergence losses on a public grid, from few of the values.

Between two knots, which are values of the table, a concave log-density lies above its chord and below the chords on
either side, drawn on; a convex one (few families have those, and for low dispersions alone) the other way round. What
the values between them add to a sum of powers then has bounds that near each other with the square of the distance,
and need of the values their number and mean. Few knots tell where weight may be, more are used there alone. As in
`clipped_sums`, floating point decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alphasynth.exact.axes import Axis, points, size_of
from alphasynth.exact.clipped_sums import HALF_UNIT, UNITS, Bounds, ends, sorted_lines
from alphasynth.exact.quanta import QUANTA, extended, padded
from alphasynth.exact.separable import is_separable, separate
from alphasynth.inference.contribution import BetaDivergenceAt, Bounded, largest_gain
from alphasynth.inference.sampler import constrain_all
from alphasynth.models.model import PEAK, Array, Columns, Densities, Model, Theta

# Knots everywhere, then where weight may be: where a cost is within so many nats of the best one.
LADDER, NEAR = (8, 64, 512), 60.0
# Logarithm of a ratio of bounds beyond which it tells nothing.
FARTHEST = 50.0
# Points of a stretch along the first axis, and stretches that a call takes.
LENGTH, STRETCHES = 64, 4_096


def can_bin(model: Bounded, columns: Columns) -> bool:
    """Whether the contribution is such a loss, and the family's log-density is concave or convex along the values."""
    return isinstance(model.contribution, BetaDivergenceAt) and is_separable(model.model, columns)


def bounds(model: Bounded, axes: tuple[Axis, ...], shared: Theta, columns: Columns, counts: np.ndarray) -> Bounds:
    """Bounds of the total cost at every point; `shared` is what all rows have in common, by point.

    Every record is rounded to a whole quantum. A log-density is off by `UNITS` of the sizes of its terms, here and
    where costs are counted, and a record's cost changes by no more than QUANTA for each unit of it.
    """
    order = sorted_lines(columns, counts)
    if not len(order):
        nothing = np.zeros(size_of(axes))
        return Bounds(nothing, nothing.copy())
    _, first = np.unique(np.asarray(columns["y"])[order], return_index=True)  # values may share a logarithm
    rows = {name: np.asarray(column)[order[first]] for name, column in columns.items()}
    times = np.add.reduceat(np.asarray(counts)[order], first)
    size = _size(model.model, axes, rows)
    slack = 0.5 * times.sum() + 2 * UNITS * HALF_UNIT * QUANTA * float((times * size).sum()) + 2
    grid, most = _Stretches.of(model, axes, shared), float(QUANTA) * times.sum()
    low, high = np.zeros(grid.shape), np.full(grid.shape, most)
    for number in LADDER:
        near = (low - high.min()) * (model.epsilon / QUANTA) < NEAR
        wanted = np.argwhere(near.any(axis=1))
        least, greatest = grid.sums(wanted, _Knots.of(rows, times, size, number))
        rounded = slack + (number + UNITS) * HALF_UNIT * greatest
        at = wanted[:, 0], slice(None), wanted[:, 1]
        low[at], high[at] = np.maximum(least - rounded, 0.0), np.minimum(greatest + rounded, most)
        if number >= len(times):
            break
    return Bounds(*(side.reshape(-1, grid.shape[-1])[: axes[0].points].ravel() for side in (low, high)))


def _size(model: Model, axes: tuple[Axis, ...], rows: Columns) -> np.ndarray:
    """How large the terms of a log-density get, by row, and of what is added to it."""
    corners = constrain_all(model, points(tuple(ends(axis) for axis in axes)))
    known = {name: np.asarray(value) for name, value in corners.items()}
    return separate(model, {**rows, PEAK: np.zeros(len(rows["y"]))}, known, None).size + 2


class _Knots(NamedTuple):
    """Values that are looked at (confidential) and how many records have each, filled up with the last value.

    Of what lies between a knot and the next: its number, its mean as a share of the way, and the length of that; 0
    beyond the last knot. Log-densities may be off by `unsure`.
    """

    rows: Columns
    times: np.ndarray
    between: np.ndarray
    share: np.ndarray
    length: np.ndarray
    unsure: float

    @classmethod
    def of(cls, rows: Columns, times: np.ndarray, size: np.ndarray, number: int) -> _Knots:
        """At most so many knots among sorted values, about as many records apart, with the first and last two of them.

        So there is a chord on either side of whatever has records.
        """
        y, until, last = np.asarray(rows["y"]), np.cumsum(times), len(times) - 1
        places = np.searchsorted(until, np.linspace(until[0], until[-1], number - 2))
        places = np.unique([*places, 1, last - 1]) if number < len(times) else np.arange(len(times))
        sums = np.cumsum((times * y).astype(np.longdouble))
        between = np.diff(until[places]) - times[places[1:]]
        added = np.diff(sums[places]) - times[places[1:]] * y[places[1:]].astype(np.longdouble)
        length = np.diff(y[places])
        share = np.where(between > 0, (added / np.maximum(between, 1) - y[places[:-1]]) / length, 0.0)
        more = (0, number - len(places))
        kept = {name: padded(column[places], number) for name, column in rows.items()}
        share = np.pad(np.clip(share, 0, 1).astype(np.float64), more)
        unsure = 2 * UNITS * HALF_UNIT * float(size.max())
        return cls(kept, np.pad(times[places], more), np.pad(between, more), share, np.pad(length, more), unsure)


@dataclass(frozen=True, eq=False)
class _Stretches:
    """A grid of one axis or two, cut into stretches along the first; `power_sum` by point, extended to whole ones."""

    model: Bounded
    first: np.ndarray
    second: np.ndarray
    power_sum: np.ndarray

    @classmethod
    def of(cls, model: Bounded, axes: tuple[Axis, ...], shared: Theta) -> _Stretches:
        """Of a model whose rows share a sum of powers."""
        first, second = axes[0].u, axes[1].u if len(axes) > 1 else np.zeros(0)
        (power_sum,) = shared.values()
        by_place = np.reshape(power_sum, (len(first), max(len(second), 1)))
        return cls(model, extended(first, LENGTH), second, extended(by_place, LENGTH))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Stretches, points of one, and places along the second axis."""
        return len(self.first) // LENGTH, LENGTH, self.power_sum.shape[1]

    def sums(self, wanted: np.ndarray, knots: _Knots) -> np.ndarray:
        """Sums (2, stretches wanted, points of one) that costs lie between, but for rounding."""
        at = self.model.contribution
        assert isinstance(at, BetaDivergenceAt), "asked before"
        given = {
            "beta": at.beta,
            "gain": largest_gain(at.beta, at.bound),
            "scale": at.w * (QUANTA / self.model.epsilon),
        }
        parts = []
        for start in range(0, len(wanted), STRETCHES):
            part = wanted[start : start + STRETCHES]
            found = _sums_of_stretches(
                self.model.model,
                (self.first, self.second, self.power_sum),
                padded(part, STRETCHES),
                np.int32(len(part)),
                knots,
                given,
            )
            parts.append(np.asarray(found)[:, : len(part)])
        return np.concatenate(parts, axis=1)


@partial(jax.jit, static_argnames="model")
def _sums_of_stretches(
    model: Model,
    grid: tuple[Array, Array, Array],
    stretches: Array,
    number: Array,
    knots: _Knots,
    given: dict[str, Array],
) -> Array:
    """Least and greatest sums (2, stretches, points of one): one program for all tables, points and epsilons."""
    first, second, power_sum = grid
    log_density = model.log_scaled if isinstance(model, Densities) else model.log_lik
    records = knots.times.sum() + knots.between.sum()

    def one_stretch(place: Array, found: Array) -> Array:
        start, line = stretches[place, 0] * LENGTH, stretches[place, 1]
        shared = jax.lax.dynamic_slice(power_sum, (start, line), (LENGTH, 1))[:, 0] / (1 + given["beta"])

        def along(u: Array, loss: Array) -> Array:
            theta = model.prior.constrain(jnp.stack([u, second[line]] if len(second) else [u]))
            convex = theta["phi"] < 1 if "phi" in theta else False
            largest = given["beta"] * (given["gain"] + loss)
            least, most = _powers(log_density(theta, knots.rows), knots, given["beta"], convex, largest)
            cost = given["gain"] + loss - jnp.stack([most, least]) / (given["beta"] * records)
            whole = given["scale"] * records * cost
            # Of what is not a number nothing is known.
            return jnp.where(jnp.isfinite(whole), whole, jnp.array([0.0, QUANTA]) * records)

        u = jax.lax.dynamic_slice_in_dim(first, start, LENGTH)
        return found.at[:, place].set(jax.vmap(along, out_axes=1)(u, shared))

    return jax.lax.fori_loop(0, number, one_stretch, jnp.zeros((2, STRETCHES, LENGTH)))


def _powers(log_p: Array, knots: _Knots, beta: Array, convex: Array | bool, largest: Array) -> tuple[Array, Array]:
    """Bounds of the sum of p^beta over all records, at one point where it is `largest` at the most."""
    left, right, share = log_p[:-1], log_p[1:], knots.share
    real = knots.length > 0
    length = jnp.where(real, knots.length, 1.0)
    slope, off = (right - left) / length, 2 * knots.unsure / length
    # How much the slope turns at either knot, at the most; without a bound beyond the ends.
    turn = jnp.abs(slope[:-1] - slope[1:]) + off[:-1] + off[1:]
    unbounded = jnp.full(1, jnp.inf)
    before = jnp.concatenate([unbounded, turn])
    after = jnp.concatenate([jnp.where(real[1:], turn, jnp.inf), unbounded])
    # The chords on either side, drawn on, meet this far from the bin's own.
    apart = beta * length / (1 / before + 1 / after)
    power = jnp.exp(beta * log_p)
    chord = (1 - share) * power[:-1] + share * power[1:]
    mean = jnp.exp(beta * ((1 - share) * left + share * right))
    # A bin beside which the slope has not changed its sign, or a convex one, has its largest power at an end.
    rising = jnp.concatenate([jnp.where(real[1:], slope[1:] - off[1:], -1.0), jnp.full(1, -1.0)]) > 0
    falling = jnp.concatenate([jnp.full(1, 1.0), slope[:-1] + off[:-1]]) < 0
    ends = jnp.where(rising | falling, jnp.maximum(power[:-1], power[1:]), jnp.inf)
    drawn_on = jnp.where(apart < FARTHEST, jnp.exp(jnp.minimum(apart, FARTHEST)) * chord, jnp.inf)
    least = jnp.where(convex, jnp.where(apart < FARTHEST, jnp.exp(-apart), 0.0) * mean, mean)
    most = jnp.where(convex, chord, jnp.minimum(jnp.minimum(drawn_on, ends), largest))
    own = knots.times @ power
    return own + knots.between @ least, own + knots.between @ most
