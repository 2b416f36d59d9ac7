"""Section 4 and Supp 4: the six synthesizers on salaries, of the survey where its file is given, else of a stand-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alphasynth.pages import page
from alphasynth.privacy.accounting import epsilon_of, round_up
from alphasynth_studies import before_after_page as drawn
from alphasynth_studies import salaries
from alphasynth_studies.before_after import Told, results_of
from alphasynth_studies.before_after_tables import over_tables
from alphasynth_studies.expected import Expected
from alphasynth_studies.paper_statements import section_4
from alphasynth_studies.repeats import Plan, TableOf, measure_all
from alphasynth_studies.salaries import HOW_IT_WAS_MADE, STAND_IN, N, stand_in_table, survey_table
from alphasynth_studies.statements import shares
from alphasynth_studies.study import Asked, Findings, Study
from alphasynth_studies.synthesizers import Measured
from alphasynth_studies.tables import mixture_table

EPSILON = 24.0  # per draw, for all synthesizers alike: a little below what LW comes to at the paper's settings


@dataclass(frozen=True)
class Size:
    """Samples or stand-ins, synthetic tables from each, and tables of the mixture to compare with."""

    repeats: int
    m: int
    mixtures: int


SIZES = {"toy": Size(2, 2, 1), "paper": Size(40, 20, 40), "large": Size(400, 20, 400)}
STATEMENTS = section_4()


def run(asked: Asked) -> Findings:
    """The six synthesizers on the first sample in detail, on all in numbers, and on two variants of them."""
    size = SIZES[asked.size]
    table_of: TableOf = stand_in_table
    if asked.table is not None:
        table_of = partial(survey_table, path=_address(asked.table))
    plan = Plan(table_of, size.m, EPSILON)
    told = Told(plan.detail(0), measure_all(asked, plan, size.repeats), STATEMENTS, EPSILON)
    variants = {
        name: measure_all(asked, Plan(partial(change, table_of=table_of), size.m, None), size.repeats)
        for name, change in (("thousands", in_thousands), ("without zeros", without_zeros))
    }
    mixtures = measure_all(asked, Plan(partial(mixture_table, n=N), size.m, None), size.mixtures)
    results = {
        "stand_in": asked.table is None,
        "sample": _sample(table_of(0)["salary"].to_numpy()),
        "cw_against_mixture": _against_mixture(told.found, mixtures),
        "sensitivity": _sensitivity({"as above": told.found, **variants}),
        "fitted": [e.name for e in PUBLISHED] if asked.table is None else [],
        **results_of(told),
    }
    sections = (
        page.Section("sample", "The sample", _sample_blocks(results, asked)),
        page.Section(
            "before",
            "Before re-weighting",
            (page.text(drawn.shown_words(told)), drawn.scatter_before(told, 6), *drawn.all_before(told, 10)),
        ),
        page.Section(
            "weights", "Re-weighting: bounds and weights", (drawn.scatter_after(told, 7), *drawn.weights_after(told, 8))
        ),
        page.Section("utility", "Re-weighting: utility", tuple(drawn.utility_after(told, 9))),
        over_tables(told),
        page.Section("sensitivity", "Dollars, thousands, zeros", _sensitivity_blocks(results["sensitivity"])),
    )
    return Findings(results, sections, STAND_IN if asked.table is None else "")


def _address(table: str) -> str:
    """The same from every folder and process."""
    from alphasynth.tables.opening import is_database

    return table if is_database(table) else str(Path(table).absolute())


def in_thousands(number: int, table_of: TableOf) -> pd.DataFrame:
    """Table `number` in thousands of dollars."""
    return (table_of(number) / salaries.THOUSAND).round().astype(np.int64)


def without_zeros(number: int, table_of: TableOf) -> pd.DataFrame:
    """Table `number` without salaries of 0."""
    table = table_of(number)
    return table[table["salary"] > 0].reset_index(drop=True)


def _sample(salary: np.ndarray) -> dict[str, float]:
    return {
        "n": float(len(salary)),
        "mean": float(salary.mean()),
        "median": float(np.median(salary)),
        "lowest": float(salary.min()),
        "highest": float(salary.max()),
        "sd": float(salary.std(ddof=1)),
    }


def _against_mixture(found: Sequence[Measured], others: Sequence[Measured]) -> dict[str, float]:
    """CW on salaries beside CW on tables of section 3, means over tables: errors by two measures, small weights."""
    measures: dict[str, Callable[[Measured], float]] = {
        "scaled_error": lambda one: one.loss("CW"),
        "relative_error": lambda one: one.relative_error("CW"),
        "small_weights": lambda one: one.paper["CW"].small,
    }
    outcome: dict[str, float] = {}
    for name, of in measures.items():
        ours, theirs = (float(np.mean([of(one) for one in tables])) for tables in (found, others))
        outcome |= {name: ours, f"{name}_mixture": theirs, f"more_{name}": float(ours > theirs)}
    return outcome


def _sensitivity(variants: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
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
    turned = [
        statement.words
        for statement in STATEMENTS
        for held in [[variant["statements"][statement.name] for variant in (dollars, thousands, positive)]]
        if max(held) - min(held) > 0.5
    ]
    listed = "; ".join(f"\u201c{words}\u201d" for words in turned) or "none"
    return (
        f"What the unit and the salaries of 0 do. LW's epsilon per draw is {lw[0]} with salaries in "
        f"dollars and {lw[1]} with the same salaries in thousands (means over tables), though nothing about the "
        "people has changed: a probability per dollar is about a thousandth of one per thousand dollars, and its "
        f"logarithm enters Delta. Without the salaries of 0 it is {lw[2]} in dollars. Statements whose share of "
        f"tables moves by more than a half between the three: {listed}. The paper does not say which unit it used; "
        "its text is in dollars, and so is this study."
    )


def _sensitivity_blocks(sensitivity: Mapping[str, Any]) -> tuple[page.Block, ...]:
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
    )


def _sample_blocks(results: Mapping[str, Any], asked: Asked) -> tuple[page.Block, ...]:
    lines = [(e.what, e.paper, results["sample"][e.name.split(".")[1]]) for e in PUBLISHED]
    table = page.table(f"{N:,} salaries in dollars", ("figure", "paper", "ours"), lines)
    if asked.table is None:
        return (
            page.warning(f"{STAND_IN[:1].upper()}{STAND_IN[1:]}: no survey file was given."),
            page.text(HOW_IT_WAS_MADE),
            table,
        )
    words = (
        f"A seeded sample of {N:,} salaries of the 2017 Survey of Doctorate Recipients, column {salaries.COLUMN}, "
        "skips dropped."
    )
    return (page.text(words), table)


# Standard errors in samples of 1,000, by bootstrap of the stand-in: 2,200 (mean), 1,900 (median) and 3,400 (sd).
SAMPLING = (
    "twice the standard error of the difference between two samples of 1,000, since the paper's sample is not ours"
)
PUBLISHED = (
    Expected("sample.mean", "section 4", "mean salary", 107_609, 6_300, f"107,609 ± 6,300: {SAMPLING}"),
    Expected("sample.median", "section 4", "median salary", 95_000, 5_400, f"95,000 ± 5,400: {SAMPLING}"),
    Expected("sample.lowest", "section 4", "lowest salary", 0, 0, "0 ± 0: zeros are common enough to be in any sample"),
    Expected(
        "sample.highest",
        "section 4",
        "highest salary",
        509_000,
        0,
        "509,000 ± 0: the survey's top code, common enough to be in any sample",
    ),
    Expected("sample.sd", "section 4", "standard deviation", 69_718, 9_700, f"69,718 ± 9,700: {SAMPLING}"),
)
OUTRIGHT = "1 ± 0: said outright, so it is so (1) or it is not (0)"
STUDY = Study(
    name="salary",
    title="Salaries of doctorate recipients",
    place="section 4, Supp 4",
    simulates="Stand-ins of 1,000 salaries with the published mean, median, range and standard deviation; or, with "
    "--table, nothing is simulated and samples of 1,000 are drawn from the 2017 Survey of Doctorate Recipients' "
    "public-use file.",
    runs="The six synthesizers with the settings of section 3, 1,000 draws and 20 synthetic tables each; and all but "
    f"Unweighted again with epsilon = {EPSILON:g} per draw. The six again on the salaries in thousands, and without "
    "those of 0.",
    figures=(6, 7, 8, 9, 10),
    expected=(
        *PUBLISHED,
        *(
            Expected(
                f"delta_ratio.{after}.mean",
                "section 4.2",
                f"{after}'s Delta over {before}'s, k = 0.95",
                1.0,
                0.1,
                "1 ± 0.1: called equivalent, and shown as violins, in which a tenth can be missed",
            )
            for after, before in (("LW_final", "LW"), ("CW_final", "CW"))
        ),
        Expected(
            "cw_against_mixture.more_relative_error",
            "section 4.1",
            "CW errs more on salaries than on the mixture, relative to the statistics",
            1.0,
            0.0,
            OUTRIGHT,
        ),
        Expected(
            "cw_against_mixture.more_scaled_error",
            "section 4.1",
            "CW errs more on salaries than on the mixture, relative to the data's own intervals",
            1.0,
            0.0,
            OUTRIGHT,
            "Salaries scatter more than the mixture's counts, so their intervals are wider, too.",
        ),
        Expected(
            "cw_against_mixture.more_small_weights",
            "section 4.1",
            "CW gives a weight below one half to more records than on the mixture",
            1.0,
            0.0,
            OUTRIGHT,
        ),
        *(statement.expected for statement in STATEMENTS),
    ),
    run=run,
    takes_table=True,
)
