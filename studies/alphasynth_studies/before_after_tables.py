"""The page of a study before and after re-weighting: statements, errors and bounds over all tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from alphasynth.evaluation.intervals import Interval
from alphasynth.evaluation.values import Values
from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Panel, Reference, violin
from alphasynth.pages.palette import CONFIDENTIAL, colours
from alphasynth.privacy.accounting import epsilon_of
from alphasynth_studies.before_after import BEFORE, WEIGHTED, Told, results_of, signed
from alphasynth_studies.statements import means_in_words, shares
from alphasynth_studies.synthesizers import STATISTICS


def over_tables(told: Told) -> page.Section:
    """How often each statement holds, and errors and bounds at both settings."""
    outcome = shares(told.statements, told.found)
    results = results_of(told)
    statements = [
        (
            s.words,
            o["share"],
            Interval(*o["share_interval"]),
            results["statements_at_equal_epsilon"].get(s.name, {}).get("share"),
            "yes" if s.holds(told.first) else "no",
            means_in_words(o),
        )
        for s in told.statements
        for o in (outcome[s.name],)
    ]
    blocks: list[page.Block] = [
        page.table(
            f"The paper's statements on {len(told.found):,} tables",
            (
                "statement",
                "share of tables",
                "95 % interval",
                f"share at epsilon = {told.epsilon:g}",
                "on the table shown",
                "means over tables",
            ),
            statements,
        ),
        page.heading("At settings of ours (k = 0.95 is the paper's)"),
        _setting_table(results["our_settings"], "Errors (root mean squared, over tables) and bounds"),
        page.figure_block(_error_figure(told, "paper", (*BEFORE, "LW_final", "CW_final"))),
        page.text(_order_words(results["orders"]["ours"])),
        page.heading(f"All at epsilon = {told.epsilon:g} per draw"),
        _setting_table(
            {label: results["equal_epsilon"][label] for label in WEIGHTED},
            "Errors (root mean squared, over tables), each synthesizer's last dial searched so that 2 Delta is at "
            f"most {told.epsilon:g}",
        ),
        page.figure_block(_error_figure(told, "equal", WEIGHTED)),
        page.text(_order_words(results["orders"]["equal"])),
    ]
    return page.Section("tables", f"Over {len(told.found):,} tables", tuple(blocks))


def _setting_table(results: dict[str, Any], caption: str) -> page.Block:
    heads = (
        "synthesizer",
        "Delta (mean)",
        "epsilon per draw (mean)",
        "mean weight",
        *STATISTICS,
        "sd",
        "all four, scaled",
    )
    lines = [
        (
            label,
            page.bound(r["delta"]["mean"]),
            page.bound(epsilon_of(r["delta"]["mean"])),
            r["mean_alpha"]["mean"],
            *(r["rmse"][name] for name in (*STATISTICS, "sd")),
            r["loss"]["mean"],
        )
        for label, r in results.items()
    ]
    return page.table(caption, heads, lines, series=True)


def _order_words(counted: dict[str, int]) -> str:
    listed = "; ".join(f"{order} on {times:,}" for order, times in counted.items() if times)
    return f"Order of LW, CW and SW by the four statistics together, least error first: {listed} of the tables."


def _error_figure(told: Told, setting: str, labels: Sequence[str]) -> Figure:
    panels = []
    words = []
    for name in STATISTICS:
        errors = {label: [one.error(label, name, setting) for one in told.found] for label in labels}
        marks = tuple(violin(label, Values.of(line)) for label, line in errors.items())
        means = [f"{label} {signed(float(np.mean(line)))}" for label, line in errors.items()]
        words.append(f"{name} {', '.join(means)}")
        panels.append(
            Panel(
                name,
                f"error, in the unit of {told.detail.column}",
                (Reference("no error", 0.0), *marks),
                f"{name}, mean error: {', '.join(means)}.",
            )
        )
    at = "settings of ours" if setting == "paper" else f"epsilon = {told.epsilon:g} per draw"
    return Figure(
        f"errors_{setting}",
        f"Errors over tables at {at}",
        f"Not in the paper: statistic of the synthetic tables minus the data's, one value per table. Mean errors: "
        f"{'; '.join(words)}.",
        tuple(panels),
        colours([CONFIDENTIAL, *labels]),
    )
