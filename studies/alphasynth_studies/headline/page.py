"""The headline study's page: a figure of error against claimed epsilon and against audited loss, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Line, Panel
from alphasynth.pages.palette import colours
from alphasynth_studies.headline.curves import MAIN, PAIRS, is_of_half, is_shown
from alphasynth_studies.headline.measured import LABELS, UNWEIGHTED
from alphasynth_studies.headline.turning import variants_of
from alphasynth_studies.headline.words import KINDS, Table, by_variant, errors, findings, losses, reweighting
from alphasynth_studies.scans.units import VARIANTS

UNIT = "error, in half widths of intervals"


def section(name: str, words: str, results: Mapping[str, Any]) -> page.Section:
    """All about the databases of one generator."""
    tables = shown_tables(results)
    blocks = (
        page.figure_block(figure(name, words, results)),
        page.items(*findings(results)),
        *(page.table(*made, series=made.heads[0].startswith("synthesizer")) for made in tables),
    )
    return page.Section(name, f"{words[:1].upper()}{words[1:]}", blocks)


def shown_tables(results: Mapping[str, Any]) -> list[Table]:
    """Errors, losses, what re-weighting does; of salaries, what their unit and zeros do to that."""
    tables = [errors(results, "claimed"), errors(results, "audited"), losses(results), reweighting(results)]
    if "variants" in results:
        made = {f"{after} against {before}": variants_of(results, before) for before, after in PAIRS}
        tables.append(by_variant(made, VARIANTS))
    return tables


def figure(name: str, words: str, results: Mapping[str, Any]) -> Figure:
    """Error against claimed epsilon, and against audited loss."""
    panels = (_panel("claimed", results), _panel("audited", results))
    return Figure(
        f"headline_{name}",
        f"Error against epsilon, claimed and audited: {words}",
        "Not in the paper. Mean absolute error of mean, median, 15th and 90th quantile of one synthetic table, in half "
        f"widths of the data's own 95 % intervals; mean over {results['databases']} databases ± two standard errors. "
        "Left: every synthesizer brought to the same claimed epsilon per draw. Right: for each database the least "
        "error among a synthesizer's settings whose audited loss is at most so much. A point is full where at least "
        "nine databases in ten have it, and hollow where at least half do: those are other databases than the rest, "
        "and hollow points are not compared. Points at the same place are drawn side by side.",
        panels,
        colours(LABELS),
    )


def _panel(kind: str, results: Mapping[str, Any]) -> Panel:
    marks, told, missing = [], [], []
    for label in LABELS:
        shown = [
            (float(x), line[MAIN], not is_shown(line, results["databases"]))
            for x, line in results[kind]["by_synthesizer"][label].items()
            if is_of_half(line, results["databases"])
        ]
        if label == UNWEIGHTED and kind == "claimed":
            own = results[UNWEIGHTED]
            shown = [(own["claimed"]["mean"], own[MAIN], False)]
        if not shown:
            missing.append(label)
            continue
        x, y = np.array([place for place, *_ in shown]), np.array([line["mean"] for _, line, _ in shown])
        reach = 2 * np.array([line["standard_error"] for _, line, _ in shown])
        ends = f"{label}: {y[0]:.2f} at {x[0]:.3g}, {y[-1]:.2f} at {x[-1]:.3g}"
        marks.append(Line(label, x, y, ends, reach, np.array([hollow for *_, hollow in shown])))
        told.append(ends)
    label = "claimed epsilon per draw" if kind == "claimed" else "audited loss of one draw, at most"
    title = f"At equal {KINDS[kind]}; bars: ± 2 standard errors"
    if missing:
        title += f";\nnot there on enough databases: {', '.join(missing)}"
    return Panel(title, label, tuple(marks), f"{label}. {'; '.join(told)}.", UNIT)
