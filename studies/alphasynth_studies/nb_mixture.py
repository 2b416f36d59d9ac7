"""Section 3 and Supp 3: the six synthesizers on the negative binomial mixture, on one table and on many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from alphasynth.evaluation.intervals import Interval
from alphasynth.pages import page
from alphasynth_studies import before_after_page as drawn
from alphasynth_studies.before_after import AFTER, RATIOS, Told, results_of
from alphasynth_studies.before_after_tables import over_tables
from alphasynth_studies.expected import NUMBER, Expected
from alphasynth_studies.paper_statements import section_3
from alphasynth_studies.repeats import Plan, measure_all
from alphasynth_studies.scans.page import settings_section
from alphasynth_studies.scans.settings import CW_SETTINGS, LW_SETTINGS, Scan, depending, numbers_that_turn, scan_results
from alphasynth_studies.study import Asked, Findings, Study
from alphasynth_studies.synthesizers import CW, LW, STATISTICS, K, Measured
from alphasynth_studies.tables import mixture_table

EPSILON = 11.0  # per draw, for all synthesizers alike: about what LW comes to at c = 1, g = 0


@dataclass(frozen=True)
class Size:
    """Tables, their rows, synthetic tables from each; tables for the scan of settings, and how many settings."""

    repeats: int
    n: int
    m: int
    scanned: int
    settings: int


SIZES = {
    "toy": Size(3, 300, 3, 3, 2),
    "paper": Size(100, 1_000, 20, 40, 100),
    "large": Size(1_000, 1_000, 20, 100, 100),
}
STATEMENTS = section_3()


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
# Standard deviations from table to table, over the 100 tables of the size `paper`: of the interval's middle minus the
# data's (for the data, of the middle itself), and of its width.
SCATTER = {
    "data": {"q15": (0.99, 0.84), "q90": (1.87, 1.38), "mean": (1.01, 0.16), "median": (1.16, 0.60)},
    "LW": {"q15": (0.73, 0.20), "q90": (1.56, 0.36), "mean": (0.43, 0.12), "median": (0.71, 0.22)},
    "LW_final": {"q15": (0.78, 0.23), "q90": (1.62, 0.40), "mean": (0.42, 0.12), "median": (0.65, 0.20)},
    "CW": {"q15": (0.87, 0.17), "q90": (1.40, 0.26), "mean": (0.62, 0.06), "median": (0.53, 0.15)},
    "CW_final": {"q15": (0.71, 0.18), "q90": (1.31, 0.31), "mean": (0.51, 0.08), "median": (0.59, 0.17)},
}


EQUIVALENT = "using k = 0.95 produces an equivalent overall Lipschitz bound"
# CW's radius, scale and shift are not in the paper; ours were chosen in sight of CW's row of that table.
ROW_OF_CW = tuple(f"intervals.CW.{name}.{kind}.mean" for name in STATISTICS for kind in ("shift", "width"))
# How intervals are made is not, either; ours were chosen in sight of the widths. The data's own have one table, whose
# interval is the same whether ends or resamples are put together.
WIDTHS = tuple(f"intervals.{label}.{name}.width.mean" for label in AFTER for name in STATISTICS)
FITTED = [*ROW_OF_CW, *(name for name in WIDTHS if name not in ROW_OF_CW)]


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
        f"{number:,.10g} ± {tolerance:,.10g}: the paper has one table; over 100 of ours one table's number scatters "
        f"with standard deviation {scatter:g}; twice that, and 0.1 for ends of one decimal"
    )
    rule = {"data": ()}.get(label, ("m", "S", label.removesuffix("_final")))
    return Expected(
        f"intervals.{label}.{statistic}.{kind}.mean",
        "Supp 3, table",
        f"{label}, {statistic}: {words}",
        number,
        tolerance,
        reason,
        said=f"[{PUBLISHED[label][statistic].low:.1f}, {PUBLISHED[label][statistic].high:.1f}]",
        settings=("n", "B", *rule),
        change="the paper's own table, or intervals made in another way",
    )


def number_on(one: Measured, name: str) -> float | None:
    """What one table says of an expected number: an interval's place or width, or a ratio of bounds."""
    kind, label, *rest = name.split(".")
    if kind == "delta_ratio":
        return one.paper[label].delta / one.paper[RATIOS[label]].delta
    if kind != "intervals" or label not in one.paper:
        return None
    statistic, which = rest[0], rest[1]
    interval = one.paper[label].intervals[statistic]
    return interval.high - interval.low if which == "width" else middle_shift(one, label, statistic)


def run(asked: Asked) -> Findings:
    """The six synthesizers on the first table in detail, and on all in numbers."""
    size = SIZES[asked.size]
    plan = Plan(partial(mixture_table, n=size.n), size.m, EPSILON)
    told = Told(plan.detail(0), measure_all(asked, plan, size.repeats), STATEMENTS, EPSILON)
    scan = Scan(plan.table_of, size.m, LW_SETTINGS[: size.settings], CW_SETTINGS[: size.settings])
    scanned = measure_all(asked, scan, size.scanned)
    settings = scan_results(scanned, STATEMENTS, PUBLISHED)
    numbers = [e for e in STUDY.expected if e.kind == NUMBER and e.name not in ROW_OF_CW]
    turned = numbers_that_turn(scanned, settings["considered"], numbers, number_on)
    over = results_of(told)
    depends = turned | depending(settings, STATEMENTS, over["statements"])
    results = {**over, "signs": _signs(told), "fitted": FITTED, "scan": settings, "depends": depends}
    sections = (
        page.Section(
            "before",
            "Before re-weighting",
            (page.text(drawn.shown_words(told)), drawn.bounds_before(told, 1), drawn.scatter_before(told, 2)),
        ),
        page.Section(
            "weights",
            "Re-weighting: bounds and weights",
            (drawn.scatter_after(told, 3), *drawn.weights_after(told, 4), drawn.by_value(told)),
        ),
        page.Section("utility", "Re-weighting: utility", tuple(drawn.utility_after(told, 5))),
        page.Section("intervals", "The table of Supp 3", _interval_blocks(told, results)),
        over_tables(told),
        settings_section(settings),
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
    runs=f"Unweighted, LW ({LW.words}), CW ({CW.words}), SW (alpha = LW's Delta over Unweighted's), LW_final and "
    f"CW_final (k = {K:g}), 1,000 draws and 20 synthetic tables each; and all but Unweighted again with epsilon = "
    f"{EPSILON:g} per draw. Of these settings k alone is the paper's; {len(LW_SETTINGS)} settings of LW and "
    f"{len(CW_SETTINGS)} of CW are scanned.",
    figures=(1, 2, 3, 4, 5),
    expected=(
        *_interval_numbers(),
        *(
            Expected(
                f"delta_ratio.{after}.mean",
                place,
                f"{after}'s Delta over {RATIOS[after]}'s{how}",
                1.0,
                0.1,
                "1 ± 0.1: called equivalent or equal, and shown as violins, in which a tenth can be missed",
                said=said,
                settings=("n", "S", after.removesuffix("_final").replace("SW", "LW")),
                change="settings beyond those scanned",
            )
            for after, place, how, said in (
                ("LW_final", "section 3.2", ", k = 0.95", EQUIVALENT),
                ("CW_final", "section 3.2", ", k = 0.95", EQUIVALENT),
                (
                    "SW",
                    "section 3.1",
                    ", alpha = LW's Delta over Unweighted's",
                    "at equivalent level of privacy protection",
                ),
            )
        ),
        *(statement.expected for statement in STATEMENTS),
    ),
    run=run,
)
