"""`Rule`: one step of a mechanism, what a search of its number aims at, and what rules share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.mechanisms.chain import JointFit
from alphasynth.models.model import Array
from alphasynth.tables.records import Records


class Aim(NamedTuple):
    """The bound that a search brings a rule's weights to, and how high the rule's number may go for it."""

    bound: float
    highest: float


@runtime_checkable
class Rule(Protocol):
    """One step of a mechanism; `dial` names its one number that a search may turn, which `turned` replaces."""

    @property
    def dial(self) -> str:
        """Name of the number that a search turns."""
        ...

    @property
    def highest(self) -> float:
        """How high the number goes where a search is given the bound to aim at."""
        ...

    @property
    def unset(self) -> bool:
        """Whether the number is left to a search, whose aim is the rule's own."""
        ...

    def aim(self, before: JointFit, bound_of: BoundOf) -> Aim | None:
        """What a search aims at where it is given no bound; None of a rule without an aim of its own."""
        ...

    def guess(self, before: JointFit, bound: float) -> float:
        """Where a search for this bound begins."""
        ...

    def turned(self, value: float) -> Rule:
        """The same rule with the dial at another value."""
        ...

    def __call__(self, records: Records, fit: JointFit) -> np.ndarray:
        """Next alpha, one weight in [0, 1] per distinct row of the records."""
        ...


R = TypeVar("R", bound=Rule)
# The Lipschitz bound that another rule's weights would have in this place.
BoundOf = Callable[[Rule], float]


def aim_of(rule: Rule, before: JointFit, target: float | None, bound_of: BoundOf) -> Aim | None:
    """What a search of a rule's number aims at: the given target, else the rule's own aim."""
    return rule.aim(before, bound_of) if target is None else Aim(target, rule.highest)


def begin_at(value: object) -> float:
    """Where a search begins that has a number to begin at, else 1."""
    return value if isinstance(value, float) and value > 0 else 1.0


def no_aim(rule: Rule, before: JointFit, bound_of: BoundOf) -> Aim | None:
    """`aim` of rules that have none of their own."""
    return None


def from_its_dial(rule: Rule, before: JointFit, bound: float) -> float:
    """`guess` of rules whose search begins where their number stands."""
    return begin_at(getattr(rule, rule.dial))


def with_dial(rule: R, value: float) -> R:
    """`turned` of rules that take any number: the same rule with its number at another value."""
    return cast(R, replace(cast(Any, rule), **{rule.dial: value}))


def begin_in_proportion(before: JointFit, bound: float, value: object) -> float:
    """Where a search begins of a number that moves the bound almost in proportion."""
    delta = before.lipschitz.overall
    return begin_at(bound / delta if delta > 0 else value)


def rescale(values: Array, known: Array, xp: Any = np) -> Array:
    """Linear map of the `known` values onto [0, 1]; all 0 where they are all equal, and 0 for those not known.

    `xp` is the array library, numpy or jax.numpy.

    >>> rescale(np.array([2.0, 4.0, 3.0, np.inf]), np.array([True, True, True, False])).tolist()
    [0.0, 1.0, 0.5, 0.0]
    """
    low = xp.min(xp.where(known, values, xp.inf), initial=xp.inf)
    width = xp.max(xp.where(known, values, -xp.inf), initial=-xp.inf) - low
    start, reach = xp.where(width > 0, low, 0.0), xp.where(width > 0, width, 1.0)
    return xp.where(known & (width > 0), (xp.where(known, values, 0.0) - start) / reach, 0.0)


def from_risk(risk: Array, scale: float, shift: float, xp: Any = np) -> Array:
    """alpha = scale * (1 - risk) + shift, clipped to [0, 1]."""
    return xp.clip(scale * (1 - risk) + shift, 0.0, 1.0)


def level(largest: Array, bound: Array, xp: Any = np) -> Array:
    """Weights min(1, bound / F_i), which bring the records' bounds to one level; 1 where F_i is 0.

    >>> level(np.array([0.0, 2.0, 8.0, np.inf]), 4.0).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    some = largest > 0
    return xp.where(some, xp.minimum(bound / xp.where(some, largest, 1.0), 1.0), 1.0)


def check_scale_and_shift(scale: float, shift: float) -> None:
    """Refuse a negative scale, and a scale or shift that is not finite."""
    if not (is_finite(scale) and scale >= 0):
        raise InputError(f"scale must be at least 0 and finite, found {found(scale)}")
    if not is_finite(shift):
        raise InputError(f"shift must be finite, found {found(shift)}")


def checked_weights(alpha: Any, name: str = "alpha") -> np.ndarray:
    """Weights of the user's own as numbers in [0, 1] that cannot be written to; raise `InputError`."""
    try:
        numbers = np.array(alpha, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be one weight in [0, 1] per record, found what is not a number") from None
    if numbers.ndim != 1:
        raise InputError(f"{name} must be one weight in [0, 1] per record, found {numbers.ndim} dimensions")
    if not ((numbers >= 0) & (numbers <= 1)).all():
        raise InputError(f"{name} must be one weight in [0, 1] per record, found weights outside")
    numbers.setflags(write=False)
    return numbers


def is_finite(value: object) -> bool:
    """Whether a value is a number, and finite."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
