"""Numbers and statements of the paper's beside ours: our reading of each, how far apart they may be, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
FITTED, UNTOLD = "fitted", "not measured"
NOT_UNUSUAL = "not unusual"  # a remark about one table, true of some of ours
DEPENDS = "depends on"  # a setting that the paper does not give
CANNOT = "cannot be told"

# What a line is: a number; a remark about one table; a claim about the method, judged on means over tables.
NUMBER, REMARK, CLAIM = "number", "remark", "claim"
GENERAL, RARE = 0.9, 0.05  # shares of tables from which a remark holds of tables at large, and below which of none
# Ends of the names of numbers that say whether something is so.
YES_OR_NO = (".more_relative_error", ".more_small_weights")
SURE = 0.025  # of resamples of the tables, on the other side of a claim


@dataclass(frozen=True)
class Expected:
    """A number of the paper's. `name` leads to ours in the results, steps with dots between.

    The reason starts with the number and the tolerance, `6 ± 0.4: ...`, so that no one changes one without the others;
    the rest of it is our reading. `remark` says what we found out where ours does not hold, `said` are the paper's own
    words, `settings` names those of ours that it rests on, `change` says what would change the verdict.
    """

    name: str
    place: str
    what: str
    paper: float
    tolerance: float
    reason: str
    remark: str = ""
    kind: str = NUMBER
    said: str = ""
    settings: tuple[str, ...] = ()
    change: str = ""

    @property
    def is_yes_or_no(self) -> bool:
        """Whether it is 1 where something is so, and else 0."""
        return self.name.endswith(YES_OR_NO)

    def spoken(self, number: float) -> str:
        """A number of its kind: as it is, or whether it is so."""
        return ("true" if number else "false") if self.is_yes_or_no else plain(number)

    def __post_init__(self) -> None:
        """Refuse a number whose reason speaks of another, and a tolerance that is none."""
        if not (math.isfinite(self.paper) and math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise ValueError(f"{self.name}: number and tolerance must be finite, the tolerance at least 0")
        start = f"{plain(self.paper)} ± {plain(self.tolerance)}: "
        if not self.reason.startswith(start) or len(self.reason) < len(start) + 20:
            raise ValueError(f"{self.name}: the reason must start with {start!r} and say why, found {self.reason!r}")

    def beside(self, ours: float | None, interval: tuple[float, float] | None = None, fitted: bool = False) -> Line:
        """Our number beside it, with its 95 % interval where it has one.

        If the interval reaches over the edge of the tolerance the number is undecided. `fitted` says that settings were
        chosen, or a table made, so that it comes out.
        """
        if ours is None or not math.isfinite(ours):
            return Line(self, None, UNTOLD)
        if self.kind == REMARK:
            return Line(self, float(ours), of_one_table(float(ours)))
        if self.kind == CLAIM:
            return Line(self, float(ours), HOLDS if ours >= 1 - SURE else FAILS if ours <= SURE else UNDECIDED)
        near = {self._within(end) for end in (ours, *(interval or ()))}
        if len(near) == 2:
            return Line(self, float(ours), UNDECIDED)
        return Line(self, float(ours), (FITTED if fitted else HOLDS) if near == {True} else FAILS)

    def _within(self, number: float) -> bool:
        # Room for binary fractions, so that a distance equal to the tolerance is within it.
        return abs(number - self.paper) <= self.tolerance + 1e-9 * max(abs(self.paper), 1.0)


def of_one_table(share: float) -> str:
    """The verdict on a remark about one table, from the share of our tables that it is true of.

    >>> of_one_table(0.9), of_one_table(0.89), of_one_table(0.05), of_one_table(0.04)
    ('holds', 'not unusual', 'not unusual', 'does not hold')
    """
    return HOLDS if share >= GENERAL else FAILS if share < RARE else NOT_UNUSUAL


def plain(number: float) -> str:
    """A number as it stands in a reason.

    >>> plain(107609), plain(0.35), plain(-4.75), plain(6.0)
    ('107,609', '0.35', '-4.75', '6')
    """
    return f"{number:,.10g}"


@dataclass(frozen=True)
class Line:
    """An expected number, ours, and the verdict; `on` is what that depends on, `change` what was seen to change it."""

    expected: Expected
    ours: float | None
    verdict: str
    on: str = ""
    change: str = ""

    @property
    def shown(self) -> str:
        """The verdict in words."""
        return f"{self.verdict} {self.on}" if self.verdict == DEPENDS else self.verdict

    @property
    def to_change(self) -> str:
        """What was seen to change the verdict, then what might."""
        return "; ".join(filter(None, (self.change, self.expected.change)))

    def flat(self) -> dict[str, Any]:
        """For a file: what was expected, ours, the verdict, what it depends on and what would change it."""
        return {**asdict(self.expected), "ours": self.ours, "verdict": self.shown, "change": self.to_change}


def found_in(results: Mapping[str, Any], name: str) -> float | None:
    """The number that a name with dots leads to, or None where there is none.

    >>> found_in({"poisson": {"LW": {"median_delta": 3.5}}}, "poisson.LW.median_delta")
    3.5
    """
    at: Any = results
    for step in name.split("."):
        if not isinstance(at, Mapping) or step not in at:
            return None
        at = at[step]
    return None if at is None else float(at)


def interval_in(results: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    """The 95 % interval of a number: `NAME_interval` beside it, or two of its standard errors either way.

    >>> interval_in({"weight": {"mean": 0.9, "standard_error": 0.01}}, "weight.mean")
    (0.88, 0.92)
    """
    place, _, last = name.rpartition(".")
    at: Any = results
    for step in place.split(".") if place else ():
        at = at.get(step, {}) if isinstance(at, Mapping) else {}
    if not isinstance(at, Mapping):
        return None
    if f"{last}_interval" in at:
        low, high = at[f"{last}_interval"]
        return float(low), float(high)
    if last in ("mean", "value") and "standard_error" in at:
        return at[last] - 2 * at["standard_error"], at[last] + 2 * at["standard_error"]
    return None


def judged(expected: Expected, results: Mapping[str, Any]) -> Line:
    """The line of an expected number; the results say which are fitted, depend on a setting, or cannot be told.

    `depends` and `cannot` have, by name, what a verdict depends on (`on`) and what was seen to change it (`change`).
    """
    name = expected.name
    line = expected.beside(found_in(results, name), interval_in(results, name), name in results.get("fitted", ()))
    if line.verdict == UNTOLD:
        return line
    for kind, verdict in (("cannot", CANNOT), ("depends", DEPENDS)):
        if name in results.get(kind, {}):
            return replace(line, verdict=verdict, **results[kind][name])
    return line
