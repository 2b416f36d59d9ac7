"""Section 3 and Supp 3: the six synthesizers on the negative binomial mixture, on one table and on many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from alphasynth import page
from alphasynth.intervals import Interval
from alphasynth_studies import before_after_page as drawn
from alphasynth_studies.before_after import AFTER, Told, results_of
from alphasynth_studies.expected import Expected
from alphasynth_studies.repeats import Plan, measure_all
from alphasynth_studies.statements import statements
from alphasynth_studies.study import Asked, Findings, Study
from alphasynth_studies.synthesizers import STATISTICS
from alphasynth_studies.tables import mixture_table

EPSILON = 11.0  # per draw, for all synthesizers alike: about what LW comes to at the paper's settings


@dataclass(frozen=True)
class Size:
    """Tables, their rows, and synthetic tables from each."""

    repeats: int
    n: int
    m: int


SIZES = {"toy": Size(3, 300, 3), "paper": Size(100, 1_000, 20), "large": Size(1_000, 1_000, 20)}
STATEMENTS = statements(
    "section 3.1, Figures 1 and 2", "section 3.2, Figure 3", "section 3.2, Figure 4", "section 3.2, Figure 5"
)


# The table of Supp 3: 95 % intervals.
PUBLISHED = {
    "data": {
        "q15": Interval(70.0, 75.0),
        "q90": Interval(132.0, 140.0),
        "mean": Interval(98.8, 102.3),
        "median": Interval(96.0, 101.0),
    },
    "LW": {
        "q15": Interval(70.0, 74.3),
        "q90": Interval(132.1, 139.0),
        "mean": Interval(98.0, 101.4),
        "median": Interval(95.6, 99.7),
    },
    "LW_final": {
        "q15": Interval(70.6, 74.8),
        "q90": Interval(133.1, 140.3),
        "mean": Interval(98.7, 102.0),
        "median": Interval(96.0, 100.0),
    },
    "CW": {
        "q15": Interval(77.2, 80.8),
        "q90": Interval(128.5, 134.0),
        "mean": Interval(100.6, 103.3),
        "median": Interval(98.7, 102.4),
    },
    "CW_final": {
        "q15": Interval(71.6, 75.8),
        "q90": Interval(131.0, 137.7),
        "mean": Interval(98.6, 101.8),
        "median": Interval(96.1, 100.1),
    },
}
# Standard deviations from table to table, over 200 tables of the mixture: of the interval's middle minus the data's
# (for the data, of the middle itself), and of its width.
SCATTER = {
    "data": {"q15": (1.19, 0.86), "q90": (1.90, 1.27), "mean": (0.94, 0.17), "median": (1.04, 0.68)},
    "LW": {"q15": (0.80, 0.19), "q90": (1.55, 0.38), "mean": (0.40, 0.12), "median": (0.67, 0.22)},
    "LW_final": {"q15": (0.84, 0.21), "q90": (1.60, 0.41), "mean": (0.41, 0.13), "median": (0.66, 0.21)},
    "CW": {"q15": (0.87, 0.17), "q90": (1.33, 0.27), "mean": (0.56, 0.07), "median": (0.53, 0.15)},
    "CW_final": {"q15": (0.72, 0.19), "q90": (1.28, 0.30), "mean": (0.47, 0.08), "median": (0.58, 0.17)},
}


def middle(interval: Interval) -> float:
    """Its middle, to the digits that published ends have."""
    return round((interval.low + interval.high) / 2, 2)


def _interval_numbers() -> tuple[Expected, ...]:
    """The published intervals as numbers to expect: middles or shifts, and widths."""
    found = []
    for label, by_statistic in PUBLISHED.items():
        for statistic, interval in by_statistic.items():
            own, kind = PUBLISHED["data"][statistic], "middle" if label == "data" else "shift"
            place = middle(interval) if label == "data" else round(middle(interval) - middle(own), 2)
            width = round(interval.high - interval.low, 2)
            words = "middle of the interval" if label == "data" else "interval's middle minus the data's"
            found.append(_number(label, statistic, kind, words, place, SCATTER[label][statistic][0]))
            found.append(
                _number(label, statistic, "width", "width of the interval", width, SCATTER[label][statistic][1])
            )
    return tuple(found)


def _number(label: str, statistic: str, kind: str, words: str, number: float, scatter: float) -> Expected:
    tolerance = round(2 * scatter + 0.1, 2)
    reason = (
        f"{number:,.10g} ± {tolerance:,.10g}: the paper has one table, and over 200 tables one table's number "
        f"scatters with standard deviation {scatter:g}; twice that, and 0.1 for published ends of one decimal"
    )
    name = f"intervals.{label}.{statistic}.{kind}.mean"
    return Expected(name, "Supp 3, table", f"{label}, {statistic}: {words}", number, tolerance, reason)


def run(asked: Asked) -> Findings:
    """The six synthesizers on the first table in detail, and on all in numbers."""
    size = SIZES[asked.size]
    plan = Plan(partial(mixture_table, n=size.n), size.m, EPSILON)
    told = Told(plan.detail(0), measure_all(asked, plan, size.repeats), STATEMENTS, EPSILON)
    results = {**results_of(told), "signs": _signs(told)}
    sections = (
        page.Section("before", "Before re-weighting", (drawn.bounds_before(told, 1), drawn.scatter_before(told, 2))),
        page.Section(
            "weights",
            "Re-weighting: bounds and weights",
            (drawn.scatter_after(told, 3), *drawn.weights_after(told, 4)),
        ),
        page.Section("utility", "Re-weighting: utility", tuple(drawn.utility_after(told, 5))),
        page.Section("intervals", "The table of Supp 3", _interval_blocks(told, results)),
        drawn.over_tables(told),
    )
    return Findings(results, sections)


def _signs(told: Told) -> dict[str, Any]:
    """For each synthesizer and statistic: the paper's sign of the shift, ours, and the share of tables that have it."""
    outcome: dict[str, Any] = {}
    for label in AFTER:
        outcome[label] = {}
        for name in STATISTICS:
            paper = middle(PUBLISHED[label][name]) - middle(PUBLISHED["data"][name])
            shifts = [middle_shift(one, label, name) for one in told.found]
            outcome[label][name] = {
                "paper": int(np.sign(paper)),
                "ours": int(np.sign(np.mean(shifts))),
                "share": float(np.mean(np.sign(shifts) == np.sign(paper))),
            }
    return outcome


def middle_shift(one: Any, label: str, name: str) -> float:
    """Middle of a synthesizer's interval minus the middle of the data's, on one table."""
    ours, own = one.paper[label].intervals[name], one.intervals[name]
    return float(ours.low + ours.high - own.low - own.high) / 2


def _interval_blocks(told: Told, results: dict[str, Any]) -> tuple[page.Block, ...]:
    lines = []
    for label in ("LW", "LW_final", "CW", "CW_final", "SW", "Unweighted"):
        for name in STATISTICS:
            shift = results["intervals"][label][name]["shift"]
            sign = results["signs"].get(label, {}).get(name)
            paper = middle(PUBLISHED[label][name]) - middle(PUBLISHED["data"][name]) if label in PUBLISHED else None
            share = None if sign is None else sign["share"]
            lines.append((label, name, paper, shift["mean"], shift["standard_error"], shift["sd"], share))
    heads = (
        "synthesizer",
        "statistic",
        "paper",
        "ours, mean",
        "its standard error",
        "sd of one table",
        "paper's sign on",
    )
    return (
        drawn.interval_table(told, PUBLISHED),
        page.table(
            f"Signed errors: the interval's middle minus the data's; ours over {len(told.found):,} tables",
            heads,
            lines,
            series=True,
        ),
        page.note("'Paper's sign on' is the share of tables whose error has the sign of the paper's."),
    )


STUDY = Study(
    name="nb-mixture",
    title="The negative binomial mixture",
    place="section 3, Supp 3",
    simulates="Tables of 1,000 counts from 0.2 NB(100, 5) + 0.8 NB(100, 20). The paper's own table is not published, "
    "so one table stands for it and many more show what its numbers owe to chance.",
    runs="Unweighted, LW (c = 1, g = 0), CW (radius 0.3 of the value, c = 1.5, g = 0.1), SW (alpha = LW's Delta over "
    "Unweighted's), LW_final and CW_final (k = 0.95), 1,000 draws and 20 synthetic tables each; and all but Unweighted "
    f"again with epsilon = {EPSILON:g} per draw.",
    figures=(1, 2, 3, 4, 5),
    expected=(
        *_interval_numbers(),
        Expected(
            "delta_ratio.LW_final.mean",
            "section 3.2",
            "LW_final's Delta over LW's at k = 0.95",
            1.0,
            0.1,
            "1 ± 0.1: called equivalent, and shown as violins on a scale from 0 to the largest bound",
        ),
        Expected(
            "delta_ratio.CW_final.mean",
            "section 3.2",
            "CW_final's Delta over CW's at k = 0.95",
            1.0,
            0.1,
            "1 ± 0.1: called equivalent, and shown as violins on a scale from 0 to the largest bound",
        ),
        Expected(
            "sw_overshoot.mean",
            "section 3.1",
            "SW's Delta over LW's, with alpha = LW's Delta over Unweighted's",
            1.0,
            0.02,
            "1 ± 0.02: said to give the same epsilon by construction, so only chance in the draws is allowed for",
            "A smaller weight widens the posterior, whose draws then reach further. The scalar has to be searched, "
            "as SW does here unless alpha is given.",
        ),
        *(statement.expected for statement in STATEMENTS),
    ),
    run=run,
)
