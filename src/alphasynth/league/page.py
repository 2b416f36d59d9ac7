"""The league table as a page: standings by scope, and utility against epsilon in one figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from alphasynth import __version__
from alphasynth.evaluation.values import statistics
from alphasynth.league.standings import Standing, Table
from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Line, Mark, Panel, Reference
from alphasynth.pages.palette import colours
from alphasynth.privacy.promises import SCOPES
from alphasynth.privacy.scopes import INSTANCE, NONE, STRICT, TARGET

SPENT = (
    "Comparing spends privacy: these numbers were computed from the confidential table, run after run, and choosing a "
    "mechanism by them is itself an output that no guarantee here covers."
)
SPENDS = f"{SPENT} Compare on a twin (--twin) where you can."
CONFIDENTIAL = "CONFIDENTIAL. This page was computed from single records: do not publish it."
SIMULATED = "Simulated twin: nothing confidential was read."
HEADS = ("mechanism", "scope", "epsilon in all")
TAIL = ("Wasserstein", "S_pMSE", "claim per draw", "audited loss", "kept", "seconds", "failed")


def lines_of(standings: Sequence[Standing]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Heads and lines of the league table, by scope and epsilon, the smallest errors first."""
    names = [statistic.name for statistic in statistics()]
    order = {STRICT: 0, TARGET: 1, INSTANCE: 2, NONE: 3}
    ranked = sorted(standings, key=lambda s: (s.epsilon or math.inf, order[s.scope], _mean(s)))
    lines: list[tuple[object, ...]] = [
        (
            s.label,
            s.scope,
            s.epsilon,
            *(s.rmse[name] for name in names),
            s.wasserstein,
            s.s_pmse,
            None if s.claim is None or s.scope == NONE else page.bound(s.claim),
            None if s.loss is None else page.bound(s.loss),
            {True: "yes", False: "NO", None: _untold(s)}[s.kept],
            s.seconds,
            s.failed,
        )
        for s in ranked
    ]
    return (*HEADS, *(f"RMSE {name}" for name in names), *TAIL), lines


def _untold(standing: Standing) -> str:
    """What stands where no audit tells whether a claim is kept."""
    if not standing.certain:
        return "cannot tell"
    return "by proof" if standing.scope == STRICT else ""


def _mean(standing: Standing) -> float:
    return float(np.mean(list(standing.rmse.values())))


def utility_figure(standings: Sequence[Standing], own: Mapping[str, float]) -> Figure:
    """Utility against epsilon, a line per mechanism; both axes' errors as logarithms, since they span decades."""
    labels = list(dict.fromkeys(s.label for s in standings if s.epsilon is not None))
    measures = (
        ("Mean relative error of the statistics", "log10 of the error", lambda s: relative_error(s, own)),
        ("Wasserstein distance", "log10 of the distance", lambda s: s.wasserstein),
    )
    panels = []
    for title, y_label, measure in measures:
        marks: list[Mark] = []
        for label in labels:
            points = sorted((s.epsilon or 0.0, measure(s)) for s in standings if s.label == label)
            held = [(x, y) for x, y in points if y > 0 and math.isfinite(y)]
            if held:
                x, y = (np.array(part) for part in zip(*held, strict=True))
                tip = f"{label}: " + ", ".join(f"{b:.3g} at {a:g}" for a, b in held)
                marks.append(Line(label, x, np.log10(y), tip))
        for s in standings:
            if s.epsilon is None and measure(s) > 0:
                marks.append(Reference(f"{s.label}, no privacy", float(np.log10(measure(s))), "y", series=s.label))
        words = [mark.tip for mark in marks if isinstance(mark, Line)]
        panels.append(Panel(title, "epsilon in all", tuple(marks), f"{title}: {'; '.join(words)}.", y_label))
    return Figure(
        "utility_against_epsilon",
        "Utility against epsilon",
        "Lower is better; one unit is a factor of ten. Lines of different scopes promise different things: only strict "
        "ones keep their epsilon for every neighbour.",
        tuple(panels),
        colours([*labels, *(s.label for s in standings if s.epsilon is None)]),
    )


def relative_error(standing: Standing, own: Mapping[str, float]) -> float:
    """Mean over the statistics of the error as a share of the statistic: one number for a figure."""
    return float(np.mean([error / abs(own[name]) for name, error in standing.rmse.items() if own[name]]))


def build(table: Table, standings: Sequence[Standing], m: int, notes: Sequence[str]) -> page.Page:
    """The page."""
    own = {statistic.name: statistic.of(table.values) for statistic in statistics()}
    heads, lines = lines_of(standings)
    first = next(s for s in standings)
    blocks = (
        page.text((table.twin and f"{SIMULATED} It has {table.twin}.") or SPENDS),
        page.facts(("draws released", m), ("repeats", first.repeats), *((s, SCOPES[s]) for s in (STRICT, INSTANCE))),
        page.table("Standings at equal epsilon in all; claims and losses are for one draw, rounded up", heads, lines),
        page.note(
            "RMSE: over the repeats, of the mean over the tables of a repeat, against the table's own statistic. "
            "Audited loss: strict mechanisms on a public grid, exact, at delta 0; others by the draw audit, an "
            "estimate at delta 1e-5, towards neighbours with a record less and with canaries added. A claim marked NO "
            "is broken. Lines are ordered by epsilon, scope and mean error."
        ),
        *(page.note(words) for words in notes),
        page.figure_block(utility_figure(standings, own)),
    )
    banners = () if table.twin else (CONFIDENTIAL,)
    return page.Page(
        "Mechanisms compared", (page.Section("league", "League table", blocks),), banners, f"alphasynth {__version__}"
    )
