"""The headline study's page: a figure of error against claimed epsilon and against audited loss, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Line, Panel
from alphasynth.pages.palette import colours
from alphasynth_studies.headline.curves import MAIN, is_shown
from alphasynth_studies.headline.measured import LABELS, UNWEIGHTED
from alphasynth_studies.headline.words import KINDS, errors, findings, losses, reweighting


def section(name: str, words: str, results: Mapping[str, Any]) -> page.Section:
    """All about the databases of one generator."""
    tables = [errors(results, "claimed"), errors(results, "audited"), losses(results), reweighting(results)]
    blocks = (
        page.figure_block(figure(name, words, results)),
        page.items(*findings(results)),
        *(page.table(*made, series=made is not tables[-1]) for made in tables),
    )
    return page.Section(name, f"{words[:1].upper()}{words[1:]}", blocks)


def figure(name: str, words: str, results: Mapping[str, Any]) -> Figure:
    """Error against claimed epsilon, and against audited loss."""
    panels = (_panel("claimed", results), _panel("audited", results))
    return Figure(
        f"headline_{name}",
        f"Error against epsilon, claimed and audited: {words}",
        "Not in the paper. Mean absolute error of mean, median, 15th and 90th quantile of one synthetic table, in half "
        f"widths of the data's own 95 % intervals; mean over {results['databases']} databases ± two standard errors. "
        "Left: every synthesizer brought to the same claimed epsilon per draw. Right: for each database the least "
        "error among a synthesizer's settings whose audited loss is at most so much. A point is shown where at least "
        "nine databases in ten have it.",
        panels,
        colours(LABELS),
    )


def _panel(kind: str, results: Mapping[str, Any]) -> Panel:
    marks, told = [], []
    for label in LABELS:
        shown = [
            (float(x), line[MAIN])
            for x, line in results[kind]["by_synthesizer"][label].items()
            if is_shown(line, results["databases"])
        ]
        if label == UNWEIGHTED and kind == "claimed":
            own = results[UNWEIGHTED]
            shown = [(own["claimed"]["mean"], own[MAIN])]
        if not shown:
            continue
        x, y = np.array([place for place, _ in shown]), np.array([line["mean"] for _, line in shown])
        reach = 2 * np.array([line["standard_error"] for _, line in shown])
        ends = f"{label}: {y[0]:.2f} at {x[0]:.3g}, {y[-1]:.2f} at {x[-1]:.3g}"
        marks.append(Line(label, x, y, ends, reach))
        told.append(ends)
    label = "claimed epsilon per draw" if kind == "claimed" else "audited loss of one draw, at most"
    return Panel(f"At equal {KINDS[kind]}", label, tuple(marks), f"{label}. {'; '.join(told)}.", "error of one table")
