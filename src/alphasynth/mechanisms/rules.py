"""The rules, from the records and the last fit to the next alpha: LW, CW, SW, re-weighting, BW, one's own weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal, Protocol

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.mechanisms.chain import AnyFit, JointFit
from alphasynth.models.model import Array
from alphasynth.privacy.accounting import split
from alphasynth.tables.nearness import count_inside, count_inside_all, count_near
from alphasynth.tables.records import Records


class Rule(Protocol):
    """One step of a mechanism; `dial` names its one number that a search may turn, which `turned` replaces."""

    @property
    def dial(self) -> str:
        """Name of the number that a search turns."""
        ...

    def turned(self, value: float) -> Rule:
        """The same rule with the dial at another value."""
        ...

    def __call__(self, records: Records, fit: AnyFit) -> np.ndarray:
        """Next alpha, one weight in [0, 1] per distinct row of the records."""
        ...


@dataclass(frozen=True)
class LW:
    """Likelihood weights (Algorithm 1): alpha_i = scale * (1 - risk_i) + shift, risk rescaled from F_i to [0, 1].

    The least risky record has risk 0 and the riskiest 1. When all F_i are equal no record is riskier than another and
    all have risk 0 (the paper's quotient is 0/0). A record whose F_i is not finite takes weight 0.
    """

    scale: float = 1.0
    shift: float = 0.0
    dial = "scale"

    def __post_init__(self) -> None:
        """Refuse a negative scale and a scale or shift that is not finite."""
        _check_scale_and_shift(self.scale, self.shift)

    def turned(self, value: float) -> LW:
        """With another scale."""
        return replace(self, scale=value)

    def __call__(self, records: Records, fit: AnyFit) -> np.ndarray:
        """Next alpha from the last fit's F."""
        largest = fit.largest_distinct
        finite = np.isfinite(largest)
        return np.where(finite, from_risk(rescale(largest, finite), self.scale, self.shift), 0.0)


def rescale(values: Array, held: Array, xp: Any = np) -> Array:
    """Linear map of the `held` values onto [0, 1]; all 0 where they are all equal, and 0 for those not held.

    `xp` is the array library, numpy or jax.numpy.

    >>> rescale(np.array([2.0, 4.0, 3.0, np.inf]), np.array([True, True, True, False])).tolist()
    [0.0, 1.0, 0.5, 0.0]
    """
    low = xp.min(xp.where(held, values, xp.inf), initial=xp.inf)
    width = xp.max(xp.where(held, values, -xp.inf), initial=-xp.inf) - low
    start, reach = xp.where(width > 0, low, 0.0), xp.where(width > 0, width, 1.0)
    return xp.where(held & (width > 0), (xp.where(held, values, 0.0) - start) / reach, 0.0)


def from_risk(risk: Array, scale: float, shift: float, xp: Any = np) -> Array:
    """alpha = scale * (1 - risk) + shift, clipped to [0, 1]."""
    return xp.clip(scale * (1 - risk) + shift, 0.0, 1.0)


@dataclass(frozen=True)
class CW:
    """Count weights (Algorithm 2): alpha_i = scale * (1 - IR_i) + shift.

    IR_i is the share of records y_j outside the ball |y_j - y_i| <= radius (times |y_i| if `relative`), the record
    itself counting as inside. `within` names columns: records are compared with those that share its values there.
    Of a chain the ball is a box: `radius` holds one by column, or one relative radius for all, and categories must be
    equal; with `distance` "gower" it is the mean over columns of |y_j - y_i| / range, or of 0 and 1 for categories.
    """

    radius: Any
    relative: bool = False
    within: tuple[str, ...] = ()
    scale: float = 1.0
    shift: float = 0.0
    distance: str | None = None
    dial = "scale"

    def __post_init__(self) -> None:
        """Refuse a radius that is not positive, a negative scale, and what is not finite."""
        radius = dict(self.radius) if isinstance(self.radius, Mapping | tuple) else {"": self.radius}
        for value in radius.values():
            if not (_is_finite(value) and value > 0):
                raise InputError(f"radius must be positive and finite, found {found(value)}")
        if "" not in radius:
            object.__setattr__(self, "radius", tuple(sorted(radius.items())))
        if not isinstance(self.relative, bool):
            raise InputError(f"relative must be True or False, found {found(self.relative)}")
        if self.distance not in (None, *DISTANCES):
            raise InputError(f"distance must be one of {', '.join(DISTANCES)}, found {found(self.distance)}")
        within = (self.within,) if isinstance(self.within, str) else self.within
        if not isinstance(within, tuple | list) or not all(isinstance(name, str) for name in within):
            raise InputError(f"within must name columns, found {found(self.within)}")
        object.__setattr__(self, "within", tuple(within))
        _check_scale_and_shift(self.scale, self.shift)

    def turned(self, value: float) -> CW:
        """With another scale."""
        return replace(self, scale=value)

    def __call__(self, records: Records, fit: AnyFit) -> np.ndarray:
        """Next alpha from the response's values; a record whose F_i is not finite takes weight 0."""
        group = records.group(self.within)
        if isinstance(fit, JointFit) and len(fit.names) > 1:
            inside = self._count_joint(records, fit.names, group)
        else:
            y, radius = self._ball(records, records.response)
            inside = count_inside(y, records.counts, group, radius)
        members = np.bincount(group, records.counts)[group]
        alpha = from_risk((members - inside) / members, self.scale, self.shift)
        return np.where(np.isfinite(fit.largest_distinct), alpha, 0.0)

    def _count_joint(self, records: Records, names: Sequence[str], group: np.ndarray) -> np.ndarray:
        """Records near each in all of a chain's columns."""
        if self.distance == "gower":
            return count_near([numbers_of(records.columns[name]) for name in names], records.counts, group, self.radius)
        balls = [self._ball(records, name) for name in names]
        return count_inside_all([y for y, _ in balls], records.counts, group, [radius for _, radius in balls])

    def _ball(self, records: Records, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A column's numbers and radii; categories have codes, and the radius that only their own is within."""
        y, is_category = numbers_of(records.columns[name])
        if is_category:
            return y, np.full(len(y), 0.5)
        radius = dict(self.radius).get(name) if isinstance(self.radius, tuple) else self.radius
        if radius is None:
            raise InputError(f"radius must be given for every numeric column, found none for {name!r}")
        return y, radius * np.abs(y) if self.relative else np.full(len(y), float(radius))


DISTANCES = ("gower",)


def numbers_of(column: Any) -> tuple[np.ndarray, bool]:
    """A column as numbers, and whether they are codes of categories."""
    if hasattr(column, "codes"):
        return np.asarray(column.codes, np.float64), True
    if column.dtype.kind not in "iuf":
        return np.unique(column, return_inverse=True)[1].astype(np.float64), True
    return np.asarray(column, np.float64), False


@dataclass(frozen=True)
class SW:
    """Scalar weight: the same alpha for every record (the exponential mechanism). None: what matches LW's Delta."""

    alpha: float | None = None
    dial = "alpha"

    def __post_init__(self) -> None:
        """Refuse a weight outside [0, 1]."""
        if self.alpha is not None and not (_is_finite(self.alpha) and 0 <= self.alpha <= 1):
            raise InputError(f"alpha must lie in [0, 1], found {found(self.alpha)}")

    def turned(self, value: float) -> SW:
        """With another weight, at most 1."""
        return replace(self, alpha=min(value, 1.0))

    def __call__(self, records: Records, fit: AnyFit) -> np.ndarray:
        """Next alpha: the scalar; a record whose F_i is not finite takes weight 0."""
        assert self.alpha is not None, "an SW without alpha is settled by a search before it is called"
        return np.where(np.isfinite(fit.largest_distinct), self.alpha, 0.0)


@dataclass(frozen=True)
class Reweight:
    """Re-weighting (Algorithm 3): alpha_i = k * Delta / F_i, clipped to [0, 1].

    Where alpha_i > 0 this is the paper's k * alpha_i * Delta / Delta_i, since Delta_i = alpha_i F_i; where alpha_i = 0
    the paper's quotient is 0/0 and this is its limit. "auto": the largest k < 1 that does not raise Delta.
    """

    k: float | Literal["auto"] = "auto"
    dial = "k"

    def __post_init__(self) -> None:
        """Refuse a k that is not positive."""
        if not (isinstance(self.k, str) and self.k == "auto") and not (_is_finite(self.k) and self.k > 0):
            raise InputError(f"k must be 'auto' or a positive number, found {found(self.k)}")

    def turned(self, value: float) -> Reweight:
        """With another k."""
        return replace(self, k=value)

    def __call__(self, records: Records, fit: AnyFit) -> np.ndarray:
        """Next alpha from the last fit's F and Delta; 1 where F_i is 0, 0 where it is not finite."""
        assert self.k != "auto", "a Reweight without k is settled by a search before it is called"
        return level(fit.largest_distinct, self.k * fit.lipschitz.overall)


def level(largest: Array, bound: Array, xp: Any = np) -> Array:
    """Weights min(1, bound / F_i), which bring the records' bounds to one level; 1 where F_i is 0.

    >>> level(np.array([0.0, 2.0, 8.0, np.inf]), 4.0).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    some = largest > 0
    return xp.where(some, xp.minimum(bound / xp.where(some, largest, 1.0), 1.0), 1.0)


@dataclass(frozen=True)
class BW:
    """Budget weights (ours): alpha_i = min(cap, bound / F_i); `bound` is half the policy's epsilon per draw.

    F_i is how large |f_i| may be, given one draw that is itself private (`guide.levels`), and f_i is clipped there. No
    other record enters. `cap` spans the range from one weight for all (small) to the re-weighted limit (1); "auto" is
    `auto_cap`. The `bound` is settled by the epsilon aimed at.
    """

    cap: float | Literal["auto"] = 1.0
    bound: float | None = None
    dial = "bound"

    def __post_init__(self) -> None:
        """Refuse a cap outside (0, 1]."""
        if not (isinstance(self.cap, str) and self.cap == "auto") and not (_is_finite(self.cap) and 0 < self.cap <= 1):
            raise InputError(f"cap must be 'auto' or above 0 and at most 1, found {found(self.cap)}")

    def turned(self, value: float) -> BW:
        """With another bound."""
        return replace(self, bound=value)

    def __call__(self, records: Records, fit: AnyFit) -> np.ndarray:
        """Next alpha from F; a record whose F_i is not finite takes weight 0."""
        assert self.bound is not None and not isinstance(self.cap, str), "settled by the epsilon aimed at"  # noqa: PT018
        return np.minimum(level(fit.largest_distinct, self.bound), self.cap)


@dataclass(frozen=True, eq=False)
class Given:
    """Weights of the user's own, one per record in the table's row order (confidential), times a common factor."""

    alpha: Any = field(repr=False)
    factor: float = 1.0
    dial = "factor"

    def __post_init__(self) -> None:
        """Refuse weights that are not numbers in [0, 1]."""
        try:
            alpha = np.asarray(self.alpha, np.float64)
        except (TypeError, ValueError):
            raise InputError("alpha must be one weight in [0, 1] per record, found what is not a number") from None
        if alpha.ndim != 1:
            raise InputError(f"alpha must be one weight in [0, 1] per record, found {alpha.ndim} dimensions")
        if not ((alpha >= 0) & (alpha <= 1)).all():
            raise InputError("alpha must be one weight in [0, 1] per record, found weights outside")
        if not (_is_finite(self.factor) and self.factor > 0):
            raise InputError(f"factor must be positive and finite, found {found(self.factor)}")
        frozen = alpha.copy()
        frozen.setflags(write=False)
        object.__setattr__(self, "alpha", frozen)

    def turned(self, value: float) -> Given:
        """With another common factor."""
        return replace(self, factor=value)

    def __call__(self, records: Records, fit: AnyFit) -> np.ndarray:
        """Next alpha: the given weights, at most 1; a record whose F_i is not finite takes weight 0."""
        alpha = np.clip(records.collapse(self.alpha) * self.factor, 0.0, 1.0)
        return np.where(np.isfinite(fit.largest_distinct), alpha, 0.0)


@dataclass(frozen=True)
class PerColumn:
    """A rule applied to every column of a chain by itself: one weight per record and column.

    A budget weight's bound is divided over the columns by their public `shares`, which sum to 1.
    """

    rule: Rule
    shares: tuple[float, ...]

    @property
    def dial(self) -> str:
        """The rule's own."""
        return self.rule.dial

    def turned(self, value: float) -> PerColumn:
        """With the rule's dial at another value."""
        return replace(self, rule=self.rule.turned(value))

    def __call__(self, records: Records, fit: AnyFit) -> np.ndarray:
        """Next alpha (distinct rows, columns)."""
        assert isinstance(fit, JointFit), "only chains have weights per column"
        found = [
            rule(replace(records, response=name), one)
            for name, one, rule in zip(fit.names, fit.columns, self._rules(), strict=True)
        ]
        return np.stack(found, axis=1)

    def _rules(self) -> list[Rule]:
        if isinstance(self.rule, BW) and self.rule.bound is not None:
            return [replace(self.rule, bound=part) for part in split(self.rule.bound, 1, self.shares)]
        return [self.rule] * len(self.shares)


def kind(rule: Rule) -> Rule:
    """The rule itself, without what applies it to every column."""
    return rule.rule if isinstance(rule, PerColumn) else rule


def settle(rule: Any, change: Callable[[Any], Rule]) -> Rule:
    """The rule with a change made to it, under what applies it to every column."""
    return replace(rule, rule=change(rule.rule)) if isinstance(rule, PerColumn) else change(rule)


def _check_scale_and_shift(scale: float, shift: float) -> None:
    if not (_is_finite(scale) and scale >= 0):
        raise InputError(f"scale must be at least 0 and finite, found {found(scale)}")
    if not _is_finite(shift):
        raise InputError(f"shift must be finite, found {found(shift)}")


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
