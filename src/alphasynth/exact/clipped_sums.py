"""Bounds of sums of clipped contributions at every point of a public grid, without passing every value through it.

At a point the values that are not cut lie side by side (`separable`), so their sum is a difference of prefix sums: two
bisections for each point in place of all values. Floating point makes bounds here and decides nothing: `exponential`
proposes by them and judges by the whole numbers of `quanta`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from alphasynth.exact.axes import Axis, points, size_of
from alphasynth.exact.quanta import QUANTA
from alphasynth.exact.separable import Line, Separable, is_separable, separate
from alphasynth.inference.contribution import Bounded, CensoredAt
from alphasynth.inference.sampler import constrain_all
from alphasynth.models.model import TAKES_PART, Columns, Theta

# Units in the last place, of the sum of the sizes of its terms, that x may be off, here or where costs are counted:
# some thirty operations, each right to a few units; with room to spare.
UNITS = 128
HALF_UNIT = 2.0**-53
# Nats from the best point at which nothing is drawn: the prior's ratio on a grid and its number of points with it.
FAR = 100.0


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

    Along the first axis every record's cost rises away from where its own value is likeliest. So beyond the likeliest
    places of all records the cost is at least that of the last point before, which is all that is said of points there
    if that is `FAR` from the best.
    """
    order = sorted_lines(columns, counts)
    times = np.asarray(counts)[order].astype(np.int64)
    sorted_columns = {name: np.asarray(column)[order] for name, column in columns.items()}
    if not len(order):
        nothing = np.zeros(size_of(axes))
        return Bounds(nothing, nothing.copy())
    corners = _constrain(model, points(tuple(ends(axis) for axis in axes)))
    first = None if centre is None else {name: value[0] for name, value in _constrain(model, centre[None]).items()}
    family = separate(model.model, sorted_columns, corners, first)
    sums, lines = _Sums.of(model, family, times), list(_lines(model, axes))
    u, most = axes[0].u, float(QUANTA) * times.sum()
    low, high = np.zeros((len(u), len(lines))), np.full((len(u), len(lines)), most)

    def fill(number: int, along: slice) -> None:
        total, slack = sums.along(family.line({**lines[number], "beta": u[along, None]}))
        low[along, number], high[along, number] = np.maximum(total - slack, 0.0), np.minimum(total + slack, most)

    near = _near(u, family.likeliest)
    for number in range(len(lines)):
        fill(number, near)
    far_away = float(high.min()) + FAR * (QUANTA / model.epsilon)
    for beyond, end in ((slice(near.start), near.start), (slice(near.stop, None), near.stop - 1)):
        for number in range(len(lines)) if len(u[beyond]) else ():
            bound = low[end, number] - (high[end, number] - low[end, number])
            if bound < far_away:
                fill(number, beyond)
            else:
                low[beyond, number] = bound
    return Bounds(low.ravel(), high.ravel())


def sorted_lines(columns: Columns, counts: np.ndarray) -> np.ndarray:
    """Lines of a table that take part, in the order of their values."""
    taking_part = counts > 0 if TAKES_PART not in columns else (counts > 0) & (np.asarray(columns[TAKES_PART]) > 0)
    return np.flatnonzero(taking_part)[np.argsort(np.asarray(columns["y"])[taking_part], kind="stable")]


def _near(u: np.ndarray, likeliest: tuple[float, float]) -> slice:
    """Points of an axis between two places, and the next one on either side."""
    low, high = np.searchsorted(u, likeliest[0], side="right") - 1, np.searchsorted(u, likeliest[1]) + 1
    return slice(int(np.clip(low, 0, len(u) - 1)), int(np.clip(high, 1, len(u))))


def _lines(model: Bounded, axes: tuple[Axis, ...]) -> Iterator[Theta]:
    """Parameters but the first, for each dispersion that there is."""
    u = np.full((axes[1].points if len(axes) > 1 else 1, len(axes)), axes[0].u[0])
    if len(axes) > 1:
        u[:, 1] = axes[1].u
    spread = {name: value for name, value in _constrain(model, u).items() if name != "beta"}
    for number in range(len(u)):
        yield {name: value[number] for name, value in spread.items()}


def _constrain(model: Bounded, u: np.ndarray) -> Theta:
    return {name: np.asarray(value) for name, value in constrain_all(model, u).items()}


def ends(axis: Axis) -> Axis:
    """An axis of nothing but its two ends."""
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
        valley = _Valley(self, line, None if line.own is None else _prefix(self.times * line.own))
        size, skipped = len(self.times), self.family.one_by_one
        inside, slack = valley.clipped(skipped)
        total = inside + sum(
            (self.times[place] * np.clip(valley.x(np.full(len(inside), place)), 0, QUANTA) for place in range(skipped)),
            np.zeros(len(inside)),
        )
        slack += 0.5 * self.number[size] + 2 * float((self.times * self.error).sum()) + 2
        slack += 16 * HALF_UNIT * np.abs(total)  # the sum itself is rounded a few times
        return (float(QUANTA) * self.number[size] - total if line.turned else total), slack


class _Valley(NamedTuple):
    """x in quanta along a line, turned over (QUANTA - x) where that has the valley; `own` are its prefix sums."""

    sums: _Sums
    line: Line
    own: np.ndarray | None

    def x(self, place: np.ndarray) -> np.ndarray:
        """x of one value at each point."""
        at = np.minimum(place, len(self.sums.times) - 1)
        value = self.line.coefficients[0].copy()
        for coefficient, column in zip(self.line.coefficients[1:], self.sums.family.basis, strict=True):
            value += coefficient * column[at]
        if self.line.own is not None:
            value -= self.line.own[at]
        return QUANTA - self.sums.scale * value if self.line.turned else self.sums.scale * value

    def between(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Sum of x over stretches of values."""
        number = self.sums.number[high] - self.sums.number[low]
        value = self.line.coefficients[0] * number
        for coefficient, column in zip(self.line.coefficients[1:], self.sums.basis, strict=True):
            value += coefficient * (column[high] - column[low]).astype(np.float64)
        if self.own is not None:
            value -= (self.own[high] - self.own[low]).astype(np.float64)
        return QUANTA * number - self.sums.scale * value if self.line.turned else self.sums.scale * value

    def bottom(self, skipped: int) -> np.ndarray:
        """Where x is least, at each point.

        Noise in `rise` cannot move it to where x is not near its least: the running maximum of `rise` is sorted.
        """
        sign = -1.0 if self.line.turned else 1.0
        found = np.searchsorted(np.maximum.accumulate(sign * self.line.rise), sign * self.line.level)
        return np.maximum(found, skipped)

    def clipped(self, skipped: int) -> tuple[np.ndarray, np.ndarray]:
        """Sum of x clipped to [0, QUANTA] over the values from `skipped` on, and what errors at the ends can do to it.

        Values beyond an end are cut but for the error of the value there.
        """
        number, error, size = self.sums.number, self.sums.error, len(self.sums.times)
        bottom = self.bottom(skipped)
        left = _first(lambda at: self.x(at) < QUANTA, np.full_like(bottom, skipped), bottom)
        right = _first(lambda at: self.x(at) >= QUANTA, bottom, np.full_like(bottom, size))
        outside = (number[left] - number[skipped]) + (number[size] - number[right])
        total = self.between(left, right) + float(QUANTA) * outside
        slack = error[np.maximum(left - 1, 0)] * (number[left] - number[skipped])
        slack += error[np.minimum(right, size - 1)] * (number[size] - number[right])
        if self.sums.recentred:  # x goes below 0, too, where it is cut
            left, right = (
                _first(lambda at: self.x(at) < 0, left, bottom),
                _first(lambda at: self.x(at) >= 0, bottom, right),
            )
            total -= self.between(left, right)
            ends = error[np.minimum(left, size - 1)], error[np.maximum(right - 1, 0)]
            slack += np.maximum(*ends) * (number[right] - number[left])
        return total, slack


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
