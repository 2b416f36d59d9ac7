"""Bounds of sums of clipped contributions at every point of a public grid, without passing every value through it.

At a point the values that are not cut lie side by side (`separable`), so their sum is a difference of prefix sums: two
bisections for each point in place of all values. Floating point makes bounds here and decides nothing: `exponential`
proposes by them and judges by the whole numbers of `quanta`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from alphasynth.axes import Axis, points, size_of
from alphasynth.contribution import Bounded, CensoredAt
from alphasynth.model import HELD, Columns, Theta
from alphasynth.quanta import QUANTA
from alphasynth.sampler import constrain_all
from alphasynth.separable import Line, Separable, is_separable, separate

# Units in the last place, of the sum of the sizes of its terms, that x may be off, here or where costs are counted:
# some thirty operations, each right to a few units; with room to spare.
UNITS = 128
HALF_UNIT = 2.0**-53


class Bounds(NamedTuple):
    """Costs (points,) in quanta that the whole-number cost lies between."""

    low: np.ndarray
    high: np.ndarray


def can_bound(model: Bounded, columns: Columns) -> bool:
    """Whether the contribution and the family have clipped sums of this kind."""
    return isinstance(model.contribution, CensoredAt) and is_separable(model.model, columns)


def bounds(
    model: Bounded, axes: tuple[Axis, ...], columns: Columns, counts: np.ndarray, centre: np.ndarray | None
) -> Bounds:
    """Bounds of the total cost at every point; `centre` is a first draw that contributions are centred at, if any.

    Every record is rounded to a whole quantum, which makes half a quantum for each at most. x is off by `UNITS` for
    each record, twice (in the whole-number program and here), and prefix sums by a unit of their own, longer format for
    each value. Values beyond the last one that was found inside lie at or beyond the cut but for the error of that one,
    since x has one valley.
    """
    held = counts > 0 if HELD not in columns else (counts > 0) & (np.asarray(columns[HELD]) > 0)
    order = np.flatnonzero(held)[np.argsort(np.asarray(columns["y"])[held], kind="stable")]
    times = np.asarray(counts)[order].astype(np.int64)
    sorted_columns = {name: np.asarray(column)[order] for name, column in columns.items()}
    if not len(order):
        nothing = np.zeros(size_of(axes))
        return Bounds(nothing, nothing.copy())
    corners = _constrain(model, points(tuple(_ends(axis) for axis in axes)))
    first = None if centre is None else {name: value[0] for name, value in _constrain(model, centre[None]).items()}
    family = separate(model.model, sorted_columns, corners, first)
    sums = _Sums.of(model, family, times)
    lines = axes[1].points if len(axes) > 1 else 1
    found = np.empty((2, axes[0].points, lines))
    for number, theta in enumerate(_lines(model, axes)):
        found[:, :, number] = sums.along(family.line(theta))
    total, slack = found.reshape(2, -1)
    return Bounds(np.maximum(total - slack, 0.0), np.minimum(total + slack, float(QUANTA) * times.sum()))


def _lines(model: Bounded, axes: tuple[Axis, ...]) -> Iterator[Theta]:
    """Parameters along the first axis, all of one dispersion, for each that there is."""
    u = np.full((axes[1].points if len(axes) > 1 else 1, len(axes)), axes[0].u[0])
    if len(axes) > 1:
        u[:, 1] = axes[1].u
    spread = {name: value for name, value in _constrain(model, u).items() if name != "beta"}
    for number in range(len(u)):
        yield {"beta": axes[0].u[:, None], **{name: value[number] for name, value in spread.items()}}


def _constrain(model: Bounded, u: np.ndarray) -> Theta:
    return {name: np.asarray(value) for name, value in constrain_all(model, u).items()}


def _ends(axis: Axis) -> Axis:
    return Axis(axis.name, axis.low, axis.high, 2, axis.logarithmic)


class _Sums(NamedTuple):
    """Prefix sums over the sorted values, in the longest format there is."""

    family: Separable
    scale: float
    times: np.ndarray
    number: np.ndarray
    basis: np.ndarray
    error: np.ndarray
    recentred: bool

    @classmethod
    def of(cls, model: Bounded, family: Separable, times: np.ndarray) -> _Sums:
        """Sums of counts and of counts times each function of the basis."""
        contribution = model.contribution
        assert isinstance(contribution, CensoredAt)
        scale = contribution.a * (QUANTA / model.epsilon)
        reach = 2 * model.epsilon / contribution.a
        unit = UNITS * HALF_UNIT + (len(times) + UNITS) * float(np.finfo(np.longdouble).eps)
        error = unit * (scale * (family.size + reach) + QUANTA)
        basis = np.stack([_prefix(times * column) for column in family.basis])
        number = np.concatenate([[0], np.cumsum(times)])
        return cls(family, scale, times, number, basis, error, family.first is not None)

    def along(self, line: Line) -> tuple[np.ndarray, np.ndarray]:
        """Clipped sums (points,) at the points of a line, and how far they may be off."""
        size, skipped = len(self.times), self.family.one_by_one
        sign = -1.0 if line.turned else 1.0
        own = None if line.own is None else _prefix(self.times * line.own)

        def x(place: np.ndarray) -> np.ndarray:
            """x of one value at each point, in quanta; turned over where that has the valley."""
            at = np.minimum(place, size - 1)
            value = line.coefficients[0].copy()
            for coefficient, column in zip(line.coefficients[1:], self.family.basis, strict=True):
                value += coefficient * column[at]
            if line.own is not None:
                value -= line.own[at]
            return self.scale * value if sign > 0 else QUANTA - self.scale * value

        def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
            """Sum of x over stretches of values."""
            value = line.coefficients[0] * (self.number[high] - self.number[low])
            for coefficient, column in zip(line.coefficients[1:], self.basis, strict=True):
                value += coefficient * (column[high] - column[low]).astype(np.float64)
            if own is not None:
                value -= (own[high] - own[low]).astype(np.float64)
            number = self.number[high] - self.number[low]
            return self.scale * value if sign > 0 else QUANTA * number - self.scale * value

        # Noise in `rise` cannot make the bottom move to where x is not near its least: its running maximum is sorted.
        bottom = np.searchsorted(np.maximum.accumulate(sign * line.rise), sign * line.level)
        bottom = np.maximum(bottom, skipped)
        start, stop = np.full_like(bottom, skipped), np.full_like(bottom, size)
        left = _first(lambda at: x(at) < QUANTA, start, bottom)
        right = _first(lambda at: x(at) >= QUANTA, bottom, stop)
        total = between(left, right) + float(QUANTA) * (self.number[size] - self.number[skipped])
        total -= float(QUANTA) * (self.number[right] - self.number[left])
        slack = 0.5 * self.number[size] + 2 * float((self.times * self.error).sum()) + 2
        slack = slack + self.error[np.maximum(left - 1, 0)] * (self.number[left] - self.number[skipped])
        slack += self.error[np.minimum(right, size - 1)] * (self.number[size] - self.number[right])
        if self.recentred:  # x goes below 0, too, where it is cut
            inner_left = _first(lambda at: x(at) < 0, left, bottom)
            inner_right = _first(lambda at: x(at) >= 0, bottom, right)
            total -= between(inner_left, inner_right)
            ends = self.error[np.minimum(inner_left, size - 1)], self.error[np.maximum(inner_right - 1, 0)]
            slack += np.maximum(*ends) * (self.number[inner_right] - self.number[inner_left])
        if skipped:
            total += self._one_by_one(x, skipped, len(bottom))
        # The sum itself is rounded a few times.
        slack += 16 * HALF_UNIT * np.abs(total)
        return (total if sign > 0 else float(QUANTA) * self.number[size] - total), slack

    def _one_by_one(self, x: Callable[[np.ndarray], np.ndarray], number: int, points: int) -> np.ndarray:
        total = np.zeros(points)
        for place in range(number):
            total += self.times[place] * np.clip(x(np.full(points, place)), 0, QUANTA)
        return total


def _prefix(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, ... values."""
    return np.concatenate([np.zeros(1, np.longdouble), np.cumsum(values, dtype=np.longdouble)])


def _first(test: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """First place from low to high at which a test holds that goes on holding; high where it does not."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high) // 2
        holds = test(middle) & (low < high)
        low, high = np.where(holds | (low >= high), low, middle + 1), np.where(holds, middle, high)
    return low
