"""Numbers of the paper's beside ours: how far apart they may be and why, and whether they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
FITTED, UNTOLD = "fitted", "not measured"


@dataclass(frozen=True)
class Expected:
    """A number of the paper's. `name` leads to ours in the results, steps with dots between.

    The reason starts with the number and the tolerance, `6 ± 0.4: ...`, so that no one changes one without the others.
    `remark` says what we found out where ours does not hold.
    """

    name: str
    place: str
    what: str
    paper: float
    tolerance: float
    reason: str
    remark: str = ""

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
        near = {self._within(end) for end in (ours, *(interval or ()))}
        if len(near) == 2:
            return Line(self, float(ours), UNDECIDED)
        return Line(self, float(ours), (FITTED if fitted else HOLDS) if near == {True} else FAILS)

    def _within(self, number: float) -> bool:
        # Room for binary fractions, so that a distance equal to the tolerance is within it.
        return abs(number - self.paper) <= self.tolerance + 1e-9 * max(abs(self.paper), 1.0)


def plain(number: float) -> str:
    """A number as it stands in a reason.

    >>> plain(107609), plain(0.35), plain(-4.75), plain(6.0)
    ('107,609', '0.35', '-4.75', '6')
    """
    return f"{number:,.10g}"


@dataclass(frozen=True)
class Line:
    """An expected number, ours, and the verdict."""

    expected: Expected
    ours: float | None
    verdict: str

    def flat(self) -> dict[str, Any]:
        """For a file: name, place, what, paper, tolerance, reason, remark, ours, verdict."""
        return {**asdict(self.expected), "ours": self.ours, "verdict": self.verdict}


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
