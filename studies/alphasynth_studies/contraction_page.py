"""The page of the contraction study: bounds and statistics over databases, and bounds over n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from alphasynth.evaluation.digits import short
from alphasynth.evaluation.values import Values
from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Line, Panel, Reference, violin
from alphasynth.pages.palette import CONFIDENTIAL, colours
from alphasynth.privacy.accounting import round_up
from alphasynth_studies.local_bounds import ROUNDS
from alphasynth_studies.many_databases import NAMES, Generator, M, Many, N, range_of
from alphasynth_studies.scans.bounds import SCAN_HEADS, printed_words, scan_lines, scan_words
from alphasynth_studies.study import figure_name
from alphasynth_studies.synthesizers import LW

# Heads of the columns that tell of many databases' local bounds.
SAID = {
    "poisson": "The paper sees nearly no database above its value.",
    "mixture": "The paper sees contraction around its value, and does not say how many databases lie above.",
}
BOUNDS = ("databases", "median Delta", "mean", "sd", "smallest", "largest")


def section(generator: Generator, found: Many) -> page.Section:
    """Bounds and statistics of one generator's databases at n = 1,000."""
    heads = ("synthesizer", *BOUNDS, "share above", "95 % interval")
    lines = []
    for label in ROUNDS:
        s = found.results[label]
        low, high = s["share_above_global_interval"]
        lines.append(
            (
                label,
                s["num_databases"],
                page.bound(s["median_delta"]),
                page.bound(s["mean_delta"]),
                s["sd_delta"],
                page.bound(s["smallest_delta"]),
                page.bound(s["largest_delta"]),
                s["share_above_global"],
                f"{low:.3f} to {high:.3f}",
            )
        )
    errors = [
        (label, name, error["mean"], error["standard_error"], error["rmse"])
        for label in ROUNDS
        for name, error in found.results[label]["error"].items()
    ]
    blocks = (
        page.table(
            f"Local bounds, {generator.words}, n = {N:,}; above the paper's global value {generator.global_value:g}",
            heads,
            lines,
            series=True,
        ),
        page.figure_block(_bounds_figure(generator, found)),
        page.figure_block(_tail_figure(generator, found)),
        page.figure_block(_utility_figure(generator, found)),
        page.table(
            f"Statistics of {M} synthetic tables (mean) minus the database's own, over databases",
            ("synthesizer", "statistic", "mean error", "its standard error", "root mean squared error"),
            errors,
            series=True,
        ),
    )
    return page.Section(generator.name, f"Databases from {generator.words}", blocks)


def _bounds_figure(generator: Generator, found: Many) -> Figure:
    lw = found.results["LW"]
    low, high = lw["share_above_global_interval"]
    reference = Reference(f"the paper's global value, {generator.global_value:g}", generator.global_value)
    violins = [violin(label, Values.of(delta), bounds=True) for label, delta in zip(ROUNDS, found.delta.T, strict=True)]
    seen = (
        f"LW's local bounds have median {round_up(lw['median_delta'])} and reach from "
        f"{round_up(lw['smallest_delta'])} to {round_up(lw['largest_delta'])}. {lw['share_above_global']:.0%} of the "
        f"databases (95 % interval {low:.0%} to {high:.0%}) lie above {generator.global_value:g}. This is at "
        f"{LW.words}; the paper gives neither, and the scan below has others. {SAID[generator.name]}"
    )
    return Figure(
        figure_name(generator.bounds_figure, "bounds"),
        f"Local Lipschitz bounds over databases of {N:,} records, {generator.words}, LW at {LW.words} (ours)",
        f"The paper's Figure {generator.bounds_figure}: one bound per database; the dashed line is the paper's global "
        f"value. {seen}",
        (Panel("", "Delta of a database", (reference, *violins), seen),),
        colours(ROUNDS),
    )


def _tail_figure(generator: Generator, found: Many) -> Figure:
    marks: list[Any] = [Reference(f"the paper's global value, {generator.global_value:g}", generator.global_value)]
    words = []
    for label, delta in zip(ROUNDS[1:], found.delta.T[1:], strict=True):
        x = np.sort(delta)
        share = 1 - np.arange(1, len(x) + 1) / len(x)
        picked = np.unique(np.linspace(0, len(x) - 1, 200).astype(int))
        one_in_twenty = float(np.quantile(delta, 0.95))
        words.append(f"one in twenty has a bound above {short(one_in_twenty)} under {label}")
        marks.append(Line(label, x[picked], share[picked], f"{label}: one in twenty above {short(one_in_twenty)}"))
    seen = f"Of the databases, {'; '.join(words)}."
    return Figure(
        f"share_above_{generator.name}",
        f"Share of databases above a bound, {generator.words}",
        f"Not in the paper. {seen}",
        (Panel("", "Delta", tuple(marks), seen, "share of databases above"),),
        colours(ROUNDS),
    )


def _utility_figure(generator: Generator, found: Many) -> Figure:
    assert found.synthetic is not None, "statistics of the tables were asked for"
    panels = []
    words = []
    for number, name in enumerate(NAMES):
        held = {CONFIDENTIAL: found.own[:, number]}
        held |= {label: found.synthetic[:, at, number] for at, label in enumerate(ROUNDS)}
        marks = tuple(violin(label, Values.of(values)) for label, values in held.items())
        errors = [f"{label} {found.results[label]['error'][name]['mean']:+.2f}" for label in ROUNDS]
        words.append(f"{name} {', '.join(errors)}")
        panels.append(Panel(name, name, marks, f"{name}, mean error: {', '.join(errors)}."))
    return Figure(
        figure_name(generator.utility_figure, "estimands"),
        f"Statistics over databases, {generator.words}",
        f"The paper's Figure {generator.utility_figure}: statistics of each database, and of its synthetic tables "
        f"(mean of {M}). Mean signed errors: {'; '.join(words)}.",
        tuple(panels),
        colours([CONFIDENTIAL, *ROUNDS]),
    )


def over_n_section(generator: Generator, by_n: dict[int, Many], contraction: dict[str, Any]) -> page.Section:
    """Bounds of one generator's databases over n."""
    lines = [
        (
            label,
            n,
            s["num_databases"],
            page.bound(s["median_delta"]),
            s["sd_delta"],
            range_of(s),
            page.bound(s["largest_delta"]),
            s["share_above_global"],
        )
        for label in ROUNDS
        for n, many in by_n.items()
        for s in [many.results[label]]
    ]
    first, last = contraction["first_n"], contraction["last_n"]
    seen = (
        f"From n = {first:,} to n = {last:,} the standard deviation of LW's local bounds changes by the factor "
        f"{contraction['spread_ratio']['value']:.2f}, their range by {contraction['range_ratio']['value']:.2f} and "
        f"their median by {contraction['drift']['value']:.2f}."
    )
    gathers = contraction["spread_ratio"]["value"] <= 0.5 and abs(contraction["drift"]["value"] - 1) <= 0.05
    seen += " They gather at one value." if gathers else " They do not gather at one value."
    violins = tuple(violin(f"n = {n:,}", Values.of(many.delta[:, 1]), bounds=True) for n, many in by_n.items())
    reference = Reference(f"the paper's global value, {generator.global_value:g}", generator.global_value)
    figure = Figure(
        f"over_n_{generator.name}",
        f"LW's local bounds over n, {generator.words}, {LW.words} (ours)",
        "The paper shows n = 1,000 only and says that local bounds come arbitrarily near a global one as n grows. "
        f"{seen}",
        (Panel("", "Delta of a database", (reference, *violins), seen),),
        colours([f"n = {n:,}" for n in by_n], "LW"),
    )
    extremes = by_n[last].results["extremes"]
    why = (
        "Why, at c = 1 and g = 0: LW's bound of a record is F (M - F) / (M - m), where M and m are the largest and "
        "smallest F of the database, so Delta is about M^2 / (4 (M - m)). M is minus the log density of the database's "
        "most extreme record. The more records, the more extreme it is, and the extreme of a sample keeps its scatter "
        f"however large the sample. Over these databases of {last:,} records the formula's correlation with LW's Delta "
        f"is {extremes['correlation']:.2f}, and Delta is {extremes['median_ratio']:.2f} times the formula (median)."
    )
    heads = ("synthesizer", "n", "databases", "median Delta", "sd", "range", "largest", "share above")
    table = page.table(f"Local bounds over n; above {generator.global_value:g}", heads, lines, series=True)
    return page.Section(
        f"{generator.name}-over-n", f"Over n, {generator.words}", (page.figure_block(figure), page.text(why), table)
    )


def settings_section(results: Mapping[str, Any]) -> page.Section:
    """The settings of LW, and the dispersions as printed."""
    table = page.table("Local bounds by setting of LW", SCAN_HEADS, scan_lines(results["scan"]))
    blocks = (page.text(scan_words(results)), table, page.text(printed_words(results)))
    return page.Section("settings", "Settings that the paper does not give", blocks)
