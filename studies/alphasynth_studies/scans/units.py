"""What salaries in thousands, or without those of 0, do to what is said of them; and how utility is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from alphasynth.pages import page
from alphasynth.privacy.accounting import epsilon_of, round_up
from alphasynth_studies.expected import Expected, found_in, interval_in
from alphasynth_studies.paper_statements import section_4
from alphasynth_studies.scans.page import moved_table
from alphasynth_studies.scans.settings import turns
from alphasynth_studies.scans.turning import opposed
from alphasynth_studies.statements import shares
from alphasynth_studies.synthesizers import Measured

STATEMENTS = section_4()
UNIT = "the unit and the salaries of 0"
VARIANTS = {"as above": "in dollars", "thousands": "in thousands", "without zeros": "without salaries of 0"}
COMPARED = ("CW", "LW")  # with themselves on the mixture


def errs_more(label: str) -> str:
    """The name of the number that says whether a synthesizer errs more on salaries than on the mixture."""
    return f"{label.lower()}_against_mixture.more_relative_error"


def against_mixture(label: str, found: Sequence[Measured], others: Sequence[Measured]) -> dict[str, Any]:
    """A synthesizer on salaries beside itself on tables of section 3: errors by two measures, small weights.

    `more_NAME` is 1 where the mean over salaries is the larger; its interval is 0 to 1 where two standard errors of the
    difference reach over 0.
    """
    measures: dict[str, Callable[[Measured], float]] = {
        "scaled_error": lambda one: one.loss(label),
        "relative_error": lambda one: one.relative_error(label),
        "small_weights": lambda one: one.paper[label].small,
    }
    outcome: dict[str, Any] = {}
    for name, of in measures.items():
        ours, theirs = (np.array([of(one) for one in tables]) for tables in (found, others))
        gap = float(ours.mean() - theirs.mean())
        reach = 2 * sum(line.var(ddof=1) / len(line) for line in (ours, theirs) if len(line) > 1) ** 0.5
        outcome |= {
            name: float(ours.mean()),
            f"{name}_mixture": float(theirs.mean()),
            f"more_{name}": float(gap > 0),
            f"more_{name}_interval": [float(gap - reach > 0), float(gap + reach > 0)],
        }
    return outcome


def by_measure(results: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """That a synthesizer errs more on salaries, where two measures of utility disagree."""
    outcome = {}
    for label in COMPARED:
        against = results[f"{label.lower()}_against_mixture"]
        if against["more_relative_error"] == against["more_scaled_error"]:
            continue
        yes, no = (
            f"relative to {what} ({against[name]:.3g} against {against[f'{name}_mixture']:.3g})"
            for name, what in (("relative_error", "the statistics"), ("scaled_error", "the data's own intervals"))
        )
        if not against["more_relative_error"]:
            yes, no = no, yes
        outcome[errs_more(label)] = {"on": "the measure of utility", "change": f"so {yes}, and not so {no}"}
    return outcome


def turned(sensitivity: Mapping[str, Any], numbers: Sequence[Expected] = ()) -> dict[str, dict[str, str]]:
    """Statements and numbers that turn with the unit or with the salaries of 0, and what was seen."""
    outcome = {}
    tables = sensitivity["as above"]["tables"]
    for statement in STATEMENTS:
        held = [float(variant["statements"][statement.name]) for variant in sensitivity.values()]
        if turns(statement, held, tables, held[0]):
            told = [f"{share:.0%} {VARIANTS[name]}" for name, share in zip(sensitivity, held, strict=True)]
            outcome[statement.on] = {"on": UNIT, "change": f"true of {', '.join(told)}, of {tables:,} tables each"}
    for one in numbers:
        verdicts = {
            name: one.beside(found_in(variant, one.name), interval_in(variant, one.name)).verdict
            for name, variant in sensitivity.items()
        }
        if opposed(verdicts.values()):
            told = [f"{verdict} {VARIANTS[name]}" for name, verdict in verdicts.items()]
            outcome[one.name] = {"on": UNIT, "change": ", ".join(told)}
    return outcome


def sensitivity_of(variants: Mapping[str, Sequence[Measured]], mixtures: Sequence[Measured]) -> dict[str, Any]:
    """For each variant of the salaries: Delta, mean scaled errors, how often the statements hold, and numbers."""
    return {
        name: {
            "tables": len(found),
            "delta": {label: float(np.mean([one.paper[label].delta for one in found])) for label in found[0].paper},
            "loss": {label: float(np.mean([one.loss(label) for one in found])) for label in found[0].paper},
            "statements": {key: line["share"] for key, line in shares(STATEMENTS, found).items()},
            "delta_ratio": {f"{stem}_final": _ratio(stem, found) for stem in ("LW", "CW")},
            **{f"{label.lower()}_against_mixture": against_mixture(label, found, mixtures) for label in COMPARED},
        }
        for name, found in variants.items()
    }


def _ratio(stem: str, found: Sequence[Measured]) -> dict[str, float]:
    ratios = [one.paper[f"{stem}_final"].delta / one.paper[stem].delta for one in found]
    error = float(np.std(ratios, ddof=1)) / len(ratios) ** 0.5 if len(ratios) > 1 else 0.0
    return {"mean": float(np.mean(ratios)), "standard_error": error}


def sensitivity_words(results: Mapping[str, Any]) -> str:
    """What the unit and the zeros do."""
    sensitivity = results["sensitivity"]
    lw = [round_up(epsilon_of(sensitivity[name]["delta"]["LW"])) for name in VARIANTS]
    moved = turned(sensitivity)
    told = [statement.words for statement in STATEMENTS if statement.on in moved]
    settle = " These a stand-in cannot settle." if results["stand_in"] and told else ""
    return (
        f"What the unit and the salaries of 0 do. LW's epsilon per draw is {lw[0]} with salaries in "
        f"dollars and {lw[1]} with the same salaries in thousands (means over tables), though nothing about the "
        "people has changed: a probability per dollar is about a thousandth of one per thousand dollars, and its "
        f"logarithm enters Delta. Without the salaries of 0 it is {lw[2]} in dollars. Readings of remarks that turn "
        f"between the three: {'; '.join(told) or 'none'}.{settle} The paper's text gives "
        "salaries in dollars and does not say in which unit they were modelled; this study takes dollars. Settings of "
        f"LW and CW were tried on the first {results['scan']['tables']:,} tables, in dollars."
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
    return (
        page.text(sensitivity_words(results)),
        page.table("Delta and the scaled error of the four statistics, means over tables", heads, errors, series=True),
        page.table("Share of tables on which the statements hold", *held_lines(sensitivity)),
        moved_table(results["scan"]),
    )


def held_lines(sensitivity: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Heads and lines: on which share of tables each statement holds, by variant."""
    lines = [
        (statement.words, *(variant["statements"][statement.name] for variant in sensitivity.values()))
        for statement in STATEMENTS
    ]
    return ("our reading", *(VARIANTS[name] for name in sensitivity)), lines
