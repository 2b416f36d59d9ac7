"""The rules, from the records and the last fit to the next alpha: LW, CW, SW, re-weighting, BW, one's own weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.rule import (
    Aim,
    BoundOf,
    Rule,
    begin_in_proportion,
    check_scale_and_shift,
    checked_weights,
    from_its_dial,
    from_risk,
    is_finite,
    level,
    no_aim,
    rescale,
    with_dial,
)
from alphasynth.tables.nearness import count_inside, count_inside_all, count_near, numbers_of
from alphasynth.tables.records import Records

BELOW_ONE = 1 - 1e-6  # re-weighting that keeps the bound asks for k < 1


@dataclass(frozen=True)
class LW:
    """Likelihood weights (Algorithm 1): alpha_i = scale * (1 - risk_i) + shift, risk rescaled from F_i to [0, 1].

    The least risky record has risk 0 and the riskiest 1. When all F_i are equal no record is riskier than another and
    all have risk 0 (the paper's quotient is 0/0). A record whose F_i is not finite takes weight 0.

    >>> LW(scale=0.9, shift=0.05)
    LW(scale=0.9, shift=0.05)
    """

    scale: float = 1.0
    shift: float = 0.0
    dial = "scale"
    highest = math.inf
    unset = False
    aim, guess, turned = no_aim, from_its_dial, with_dial

    def __post_init__(self) -> None:
        """Refuse a negative scale and a scale or shift that is not finite."""
        check_scale_and_shift(self.scale, self.shift)

    def __call__(self, records: Records, fit: JointFit) -> np.ndarray:
        """Next alpha from the last fit's F."""
        largest = fit.largest_distinct
        finite = np.isfinite(largest)
        return np.where(finite, from_risk(rescale(largest, finite), self.scale, self.shift), 0.0)


@dataclass(frozen=True)
class CW:
    """Count weights (Algorithm 2): alpha_i = scale * (1 - IR_i) + shift.

    IR_i is the share of records y_j outside the ball |y_j - y_i| <= radius (times |y_i| if `relative`), the record
    itself counting as inside. `within` names columns: records are compared with those that share its values there.
    Of a chain the ball is a box: `radius` holds one by column, or one relative radius for all, and categories must be
    equal; with `distance` "gower" it is the mean over columns of |y_j - y_i| / range, or of 0 and 1 for categories.

    >>> CW(0.3, relative=True).radius
    0.3
    """

    radius: Any
    relative: bool = False
    within: tuple[str, ...] = ()
    scale: float = 1.0
    shift: float = 0.0
    distance: str | None = None
    dial = "scale"
    highest = math.inf
    unset = False
    aim, guess, turned = no_aim, from_its_dial, with_dial

    def __post_init__(self) -> None:
        """Refuse a radius that is not positive, a negative scale, and what is not finite."""
        radius = dict(self.radius) if isinstance(self.radius, Mapping | tuple) else {"": self.radius}
        for value in radius.values():
            if not (is_finite(value) and value > 0):
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
        check_scale_and_shift(self.scale, self.shift)

    def __call__(self, records: Records, fit: JointFit) -> np.ndarray:
        """Next alpha from the response's values; a record whose F_i is not finite takes weight 0."""
        group = records.group(self.within)
        if len(fit.names) > 1:
            inside = self._count_joint(records, fit.names, group)
        else:
            y, radius = self._ball(records, fit.names[0])
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


@dataclass(frozen=True)
class SW:
    """Scalar weight: the same alpha for every record (the exponential mechanism).

    Without an alpha it is the one that matches a bound: an epsilon aimed at, a Delta, or that of another rule's weights
    (`match`; LW's unless told). `by` "search" brings Delta there, "formula" takes the paper's Delta_alpha / Delta,
    which may miss it since the weighted posterior is wider.

    >>> SW(alpha=0.5).unset, SW().unset
    (False, True)
    """

    alpha: float | None = None
    match: Rule | float | None = None
    by: Literal["search", "formula"] = "search"
    dial = "alpha"
    highest = 1.0

    def __post_init__(self) -> None:
        """Refuse a weight outside [0, 1], and a match that is none."""
        if self.by not in WAYS:
            raise InputError(f"by must be one of {', '.join(WAYS)}, found {found(self.by)}")
        if not (self.match is None or (is_finite(self.match) and self.match > 0) or _can_match(self.match)):  # type: ignore[operator]
            raise InputError(f"match must be a rule with its numbers, or a positive Delta, found {found(self.match)}")
        if self.alpha is not None and not (is_finite(self.alpha) and 0 <= self.alpha <= 1):
            raise InputError(f"alpha must lie in [0, 1], found {found(self.alpha)}")

    @property
    def unset(self) -> bool:
        """Whether it is what matches a bound."""
        return self.alpha is None

    def aim(self, before: JointFit, bound_of: BoundOf) -> Aim:
        """The Delta to match: a number, or the bound of another rule's weights in its place."""
        if isinstance(self.match, int | float):
            return Aim(float(self.match), self.highest)
        return Aim(bound_of(LW() if self.match is None else self.match), self.highest)

    def guess(self, before: JointFit, bound: float) -> float:
        """In proportion to the bound."""
        return begin_in_proportion(before, bound, self.alpha)

    def turned(self, value: float) -> SW:
        """With another weight, at most 1."""
        return replace(self, alpha=min(value, 1.0))

    def __call__(self, records: Records, fit: JointFit) -> np.ndarray:
        """Next alpha: the scalar; a record whose F_i is not finite takes weight 0."""
        assert self.alpha is not None, "an SW without alpha is settled by a search before it is called"
        return np.where(np.isfinite(fit.largest_distinct), self.alpha, 0.0)


WAYS = ("search", "formula")


def _can_match(rule: object) -> bool:
    """Whether it is a rule that makes weights without a search."""
    return isinstance(rule, Rule) and not isinstance(rule, type | SW) and not rule.unset


@dataclass(frozen=True)
class Reweight:
    """Re-weighting (Algorithm 3): alpha_i = k * Delta / F_i, clipped to [0, 1].

    Where alpha_i > 0 this is the paper's k * alpha_i * Delta / Delta_i, since Delta_i = alpha_i F_i; where alpha_i = 0
    the paper's quotient is 0/0 and this is its limit, or 0 again with `keep_zeros`; where F_i is 0 as well there is no
    limit (Delta_i is 0 under every weight), and the 0 stays. "auto": the largest k < 1 that does not raise Delta.

    >>> Reweight(k=0.95)
    Reweight(k=0.95, keep_zeros=False)
    """

    k: float | Literal["auto"] = "auto"
    keep_zeros: bool = False
    dial = "k"
    highest = math.inf
    turned = with_dial

    def __post_init__(self) -> None:
        """Refuse a k that is not positive."""
        if not (isinstance(self.k, str) and self.k == "auto") and not (is_finite(self.k) and self.k > 0):
            raise InputError(f"k must be 'auto' or a positive number, found {found(self.k)}")
        if not isinstance(self.keep_zeros, bool):
            raise InputError(f"keep_zeros must be True or False, found {found(self.keep_zeros)}")

    @property
    def unset(self) -> bool:
        """Whether it is the largest below 1 that does not raise Delta."""
        return self.k == "auto"

    def aim(self, before: JointFit, bound_of: BoundOf) -> Aim:
        """The bound of the fit before, by a k below 1."""
        return Aim(before.lipschitz.overall, BELOW_ONE)

    def guess(self, before: JointFit, bound: float) -> float:
        """In proportion to the bound."""
        return begin_in_proportion(before, bound, self.k)

    def __call__(self, records: Records, fit: JointFit) -> np.ndarray:
        """Next alpha from the last fit's F and Delta; 1 where F_i is 0 and alpha_i is not, 0 where F_i is infinite."""
        assert self.k != "auto", "a Reweight without k is settled by a search before it is called"
        largest = fit.largest_distinct
        lifted = (largest > 0) & (not self.keep_zeros)
        return np.where((fit.alpha_distinct > 0) | lifted, level(largest, self.k * fit.lipschitz.overall), 0.0)


@dataclass(frozen=True)
class BW:
    """Budget weights (ours): alpha_i = min(cap, bound / F_i); `bound` is half the policy's epsilon per draw.

    F_i is how large |f_i| may be, given one draw that is itself private (`guide.levels`), and f_i is clipped there. No
    other record enters. `cap` spans the range from one weight for all (small) to the re-weighted limit (1); "auto" is
    `auto_cap`. The `bound` is settled by the epsilon aimed at.

    >>> BW(cap=0.5).cap
    0.5
    """

    cap: float | Literal["auto"] = 1.0
    bound: float | None = None
    dial = "bound"
    highest = math.inf
    unset = False
    aim, guess, turned = no_aim, from_its_dial, with_dial

    def __post_init__(self) -> None:
        """Refuse a cap outside (0, 1]."""
        if not (isinstance(self.cap, str) and self.cap == "auto") and not (is_finite(self.cap) and 0 < self.cap <= 1):
            raise InputError(f"cap must be 'auto' or above 0 and at most 1, found {found(self.cap)}")

    def __call__(self, records: Records, fit: JointFit) -> np.ndarray:
        """Next alpha from F; a record whose F_i is not finite takes weight 0."""
        assert self.bound is not None and not isinstance(self.cap, str), "settled by the epsilon aimed at"  # noqa: PT018
        return np.minimum(level(fit.largest_distinct, self.bound), self.cap)


@dataclass(frozen=True, eq=False)
class Given:
    """Weights of the user's own, one per record in the table's row order (confidential), times a common factor.

    >>> Given([1.0, 0.25]).alpha.tolist()
    [1.0, 0.25]
    """

    alpha: Any = field(repr=False)
    factor: float = 1.0
    dial = "factor"
    highest = math.inf
    unset = False
    aim, guess, turned = no_aim, from_its_dial, with_dial

    def __post_init__(self) -> None:
        """Refuse weights that are not numbers in [0, 1]."""
        object.__setattr__(self, "alpha", checked_weights(self.alpha, "given"))
        if not (is_finite(self.factor) and self.factor > 0):
            raise InputError(f"factor must be positive and finite, found {found(self.factor)}")

    def __call__(self, records: Records, fit: JointFit) -> np.ndarray:
        """Next alpha: the given weights, at most 1; a record whose F_i is not finite takes weight 0."""
        alpha = np.clip(records.collapse(self.alpha) * self.factor, 0.0, 1.0)
        return np.where(np.isfinite(fit.largest_distinct), alpha, 0.0)
