"""What salaries in thousands, or without those of 0, do to what is said of them; and how utility is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alphasynth.pages import page
from alphasynth.privacy.accounting import epsilon_of, round_up
from alphasynth_studies.paper_statements import section_4
from alphasynth_studies.scans.page import moved_table
from alphasynth_studies.scans.settings import TURNS
from alphasynth_studies.statements import shares
from alphasynth_studies.synthesizers import Measured

STATEMENTS = section_4()
ERRS_MORE = "cw_against_mixture.more_relative_error"


def by_measure(against: Mapping[str, float]) -> dict[str, dict[str, str]]:
    """That CW errs more on salaries, where two measures of utility disagree."""
    if against["more_relative_error"] == against["more_scaled_error"]:
        return {}
    yes, no = "relative to the statistics", "relative to the data's own intervals"
    if not against["more_relative_error"]:
        yes, no = no, yes
    return {ERRS_MORE: {"on": "the measure of utility", "change": f"so {yes}, and not so {no}"}}


def turned(sensitivity: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Statements that turn with the unit or with the salaries of 0, and the shares seen."""
    outcome = {}
    for statement in STATEMENTS:
        held = {name: float(variant["statements"][statement.name]) for name, variant in sensitivity.items()}
        if max(held.values()) - min(held.values()) > TURNS:
            dollars, thousands, positive = held.values()
            outcome[statement.on] = {
                "on": "the unit and the salaries of 0",
                "change": f"the survey's file and its unit: {dollars:.0%} of tables in dollars, {thousands:.0%} in "
                f"thousands, {positive:.0%} without salaries of 0",
            }
    return outcome


def sensitivity_of(variants: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    """For each variant of the salaries: Delta, mean scaled errors, and how often the statements hold."""
    return {
        name: {
            "delta": {label: float(np.mean([one.paper[label].delta for one in found])) for label in found[0].paper},
            "loss": {label: float(np.mean([one.loss(label) for one in found])) for label in found[0].paper},
            "statements": {key: line["share"] for key, line in shares(STATEMENTS, found).items()},
        }
        for name, found in variants.items()
    }


def sensitivity_words(sensitivity: Mapping[str, Any]) -> str:
    """What the unit and the zeros do."""
    dollars, thousands, positive = (sensitivity[name] for name in ("as above", "thousands", "without zeros"))
    lw = [round_up(epsilon_of(variant["delta"]["LW"])) for variant in (dollars, thousands, positive)]
    found = turned(sensitivity)
    told = [statement.words for statement in STATEMENTS if statement.on in found]
    listed = "; ".join(f"\u201c{words}\u201d" for words in told) or "none"
    return (
        f"What the unit and the salaries of 0 do. LW's epsilon per draw is {lw[0]} with salaries in "
        f"dollars and {lw[1]} with the same salaries in thousands (means over tables), though nothing about the "
        "people has changed: a probability per dollar is about a thousandth of one per thousand dollars, and its "
        f"logarithm enters Delta. Without the salaries of 0 it is {lw[2]} in dollars. Remarks whose share of "
        f"tables moves by more than a half between the three: {listed}. Of these a stand-in cannot tell. The paper's "
        "text gives salaries in dollars and does not say in which unit they were modelled; this study takes dollars."
    )


def sensitivity_blocks(results: Mapping[str, Any]) -> tuple[page.Block, ...]:
    """What the unit, the salaries of 0 and the settings do."""
    sensitivity = results["sensitivity"]
    labels = list(sensitivity["as above"]["loss"])
    errors = [
        (label, *(variant[kind][label] for kind in ("delta", "loss") for variant in sensitivity.values()))
        for label in labels
    ]
    heads = ("synthesizer", *(f"{kind}, {name}" for kind in ("Delta", "scaled error") for name in sensitivity))
    held = [
        (statement.words, *(variant["statements"][statement.name] for variant in sensitivity.values()))
        for statement in STATEMENTS
    ]
    return (
        page.text(sensitivity_words(sensitivity)),
        page.table("Delta and the scaled error of the four statistics, means over tables", heads, errors, series=True),
        page.table("Share of tables on which the statements hold", ("statement", *sensitivity), held),
        moved_table(results["scan"]),
    )
