"""Means over databases at equal claimed epsilon and at equal audited loss, and what differences can be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alphasynth_studies.headline.measured import LABELS, MEASURES, OPTIONS, UNWEIGHTED, Database, Point

LOSSES = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)  # per draw, at which synthesizers are compared
ENOUGH = 0.9  # of the databases must have a point for their mean to be compared
HALF = 0.5  # and for its scatter to be shown beside how many they are
MAIN = MEASURES[0]
WEIGHTED = tuple(OPTIONS)
PAIRS = (("LW", "LW_final"), ("CW", "CW_final"))
LESS, MORE, UNTOLD = "less", "more", "cannot be told"
# A synthesizer's point on a database, or None where it has none.
At = Callable[[Database, str], Point | None]


def at_epsilon(epsilon: float) -> At:
    """The point that was brought to a claimed epsilon."""
    return lambda one, label: None if label == UNWEIGHTED else one.points[label].get(epsilon)


def at_loss(loss: float) -> At:
    """The point that errs least among those whose audited loss on this database is at most so much."""

    def least(one: Database, label: str) -> Point | None:
        points = [one.unweighted] if label == UNWEIGHTED else one.points[label].values()
        return min((p for p in points if p.audited <= loss), key=lambda p: getattr(p, MAIN), default=None)

    return least


def results_of(found: Sequence[Database], epsilons: Sequence[float]) -> dict[str, Any]:
    """The numbers by name: of each synthesizer, of re-weighting, and who errs least."""
    grids = {"claimed": (at_epsilon, epsilons), "audited": (at_loss, LOSSES)}
    return {
        "databases": len(found),
        "first_whole": _mean([one.first_whole for one in found]),
        "lighter": _mean([one.lighter for one in found]),
        UNWEIGHTED: _means([one.unweighted for one in found]),
        **{
            kind: {
                "by_synthesizer": {label: {f"{x:g}": _line(found, of(x), label) for x in grid} for label in LABELS},
                "reweighting": {before: _reweighting(found, of, grid, before, after) for before, after in PAIRS},
                "best": {f"{x:g}": _best(found, of(x), len(grid)) for x in grid},
            }
            for kind, (of, grid) in grids.items()
        },
    }


def _line(found: Sequence[Database], at: At, label: str) -> dict[str, Any]:
    points = [point for one in found if (point := at(one, label)) is not None]
    return {"databases": len(points), **(_means(points) if points else {})}


def _means(points: Sequence[Point]) -> dict[str, Any]:
    """Means over databases and their standard errors; the largest loss, and how often it exceeds the claim."""
    names = (*MEASURES, "claimed", "audited")
    made: dict[str, Any] = {name: _mean([getattr(point, name) for point in points]) for name in names}
    made["largest_audited"] = max(point.audited for point in points)
    made["above_claim"] = sum(point.audited > point.claimed for point in points)
    dials = [point.dial for point in points if point.dial is not None]
    return {**made, "dial": _mean(dials)} if dials else made


def variant_of(found: Sequence[Database], epsilons: Sequence[float]) -> dict[str, Any]:
    """What re-weighting does at each claimed epsilon on a variant of the databases."""
    return {before: _reweighting(found, at_epsilon, epsilons, before, after) for before, after in PAIRS}


def _mean(values: Sequence[float]) -> dict[str, float]:
    error = float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "standard_error": error}


def difference(
    found: Sequence[Database], at: At, one: str, other: str, measure: str = MAIN, places: int = 1
) -> dict[str, Any]:
    """Error of one synthesizer less that of another, on the databases where both have a point, with its interval.

    Of several places all intervals together are right with 95 % (Bonferroni).
    """
    from scipy.stats import t

    pairs = [(at(database, one), at(database, other)) for database in found]
    gaps = [getattr(a, measure) - getattr(b, measure) for a, b in pairs if a is not None and b is not None]
    if len(gaps) < max(2, ENOUGH * len(found)):
        return {"databases": len(gaps)}
    made = _mean(gaps)
    reach = float(t.ppf(1 - 0.025 / places, len(gaps) - 1)) * made["standard_error"]
    low, high = made["mean"] - reach, made["mean"] + reach
    verdict = LESS if high < 0 else MORE if low > 0 else UNTOLD
    return {"databases": len(gaps), **made, "interval": [low, high], "verdict": verdict}


def _reweighting(
    found: Sequence[Database], of: Callable[[float], At], grid: Sequence[float], before: str, after: str
) -> dict[str, Any]:
    """What re-weighting does at each place of a grid, by measure; the share of places where it errs less.

    The share's interval: places where that can be told, and places where the contrary cannot.
    """
    by_measure = {
        measure: {f"{x:g}": difference(found, of(x), after, before, measure, len(grid)) for x in grid}
        for measure in MEASURES
    }
    told = [line for line in by_measure[MAIN].values() if "verdict" in line]
    made: dict[str, Any] = {"by_measure": by_measure, "compared": len(told)}
    if told:
        made["share_better"] = float(np.mean([line["mean"] < 0 for line in told]))
        surely = [float(np.mean([line["verdict"] in kept for line in told])) for kept in ((LESS,), (LESS, UNTOLD))]
        made["share_better_interval"] = surely
    return made


def _best(found: Sequence[Database], at: At, places: int) -> dict[str, Any]:
    """Who errs least on average, and who cannot be told from it."""
    lines: Mapping[str, dict[str, Any]] = {label: _line(found, at, label) for label in LABELS}
    shown = {label: line[MAIN]["mean"] for label, line in lines.items() if is_shown(line, len(found))}
    if not shown:
        return {}
    least = min(shown, key=shown.__getitem__)
    others = [label for label in shown if label != least]
    apart = {label: difference(found, at, label, least, places=places * len(others)) for label in others}
    near = [label for label, line in apart.items() if line.get("verdict", UNTOLD) == UNTOLD]
    return {"least": least, "not_told_apart": near}


def is_shown(line: Mapping[str, Any], databases: int) -> bool:
    """Whether enough databases have a point for their mean to be compared."""
    return bool(line["databases"] >= ENOUGH * databases)


def is_of_half(line: Mapping[str, Any], databases: int) -> bool:
    """Whether half of them have one, and two at least, so that their scatter says something."""
    return bool(line["databases"] >= max(2, HALF * databases))
