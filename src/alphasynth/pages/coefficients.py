"""Regression coefficients as a figure: confidential and synthetic intervals side by side, on one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alphasynth.evaluation.compared import Coefficient
from alphasynth.evaluation.digits import told
from alphasynth.evaluation.intervals import REACH
from alphasynth.pages.marks import Figure, Panel
from alphasynth.pages.named_marks import Intervals
from alphasynth.pages.palette import CONFIDENTIAL, colours

LEAST, MOST = 4.0, 12.0  # standard errors to each side that are shown
MOST_TERMS = 60


def coefficient_intervals(found: Mapping[str, Sequence[Coefficient]]) -> Figure | None:
    """Every coefficient in standard errors from the confidential one, by synthesizer; None of fewer than two.

    Synthesizers are compared on the same regressions. Terms that the confidential table does not determine are left
    out.
    """
    kept = [i for i, c in enumerate(next(iter(found.values()), ())) if c.error > 0 and np.isfinite(c.value)]
    kept = kept[:MOST_TERMS]
    if len(kept) < 2:
        return None
    first = [next(iter(found.values()))[i] for i in kept]
    several = len({c.regression for c in first}) > 1
    names = tuple(f"{c.regression}: {c.term}" if several else c.term for c in first)
    marks = [_own(names, first)]
    marks += [_synthetic(label, names, [all_of[i] for i in kept]) for label, all_of in found.items()]
    ends = np.concatenate([np.abs(end) for mark in marks for end in (mark.low, mark.high, mark.estimates)])
    reach = float(np.clip(np.nanmax(ends) * 1.05, LEAST, MOST))
    outside = int(sum((np.abs(mark.estimates) > reach).sum() for mark in marks))
    alt = ", ".join(f"{mark.series} {_mean_apart(mark):.2g}" for mark in marks[1:])
    panel = Panel(
        "",
        "standard errors from the confidential one",
        tuple(marks),
        f"Mean distance from the confidential estimate in standard errors: {alt}.",
        x_range=(-reach, reach),
    )
    caption = (
        "Estimates and 95 % intervals, the synthetic ones combined over the tables, all less the confidential estimate "
        "and in units of its standard error."
    )
    if outside:
        caption += f" Beyond the axis, and drawn at its end: {outside}."
    return Figure("coefficients", "Coefficients side by side", caption, (panel,), colours([CONFIDENTIAL, *found]))


def _mean_apart(mark: Intervals) -> float:
    known = mark.estimates[np.isfinite(mark.estimates)]
    return float(np.abs(known).mean()) if len(known) else float("nan")


def _own(names: tuple[str, ...], first: Sequence[Coefficient]) -> Intervals:
    reach = np.full(len(names), REACH)
    tips = tuple(_tip(CONFIDENTIAL, c, c.value, (c.value - REACH * c.error, c.value + REACH * c.error)) for c in first)
    return Intervals(CONFIDENTIAL, names, np.zeros(len(names)), -reach, reach, tips)


def _synthetic(label: str, names: tuple[str, ...], found: Sequence[Coefficient]) -> Intervals:
    none = (float("nan"), float("nan"))
    intervals = [none if c.synthetic.interval is None else c.synthetic.interval for c in found]
    ends = np.array([[c.synthetic.estimate, *interval] for c, interval in zip(found, intervals, strict=True)])
    own = np.array([[c.value, c.error] for c in found])
    middle, low, high = ((ends - own[:, :1]) / own[:, 1:]).T
    tips = tuple(_tip(label, c, c.synthetic.estimate, c.synthetic.interval) for c in found)
    return Intervals(label, names, middle, low, high, tips)


def _tip(series: str, one: Coefficient, estimate: float, interval: tuple[float, float] | None) -> str:
    words = f"{one.term}, {series}: {told(estimate, one.error)}"
    ends = [told(end, one.error) for end in interval or ()]
    return f"{words}, 95 % interval {' to '.join(ends)}" if ends else words
