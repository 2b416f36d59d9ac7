"""Section 4 and Supp 4: the six synthesizers on salaries, of the survey where its file is given, else of a stand-in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from alphasynth import page
from alphasynth.guarantee import round_up
from alphasynth.synthesizer import Synthesizer
from alphasynth_studies import before_after_page as drawn
from alphasynth_studies import nb_mixture, salaries
from alphasynth_studies.before_after import Told, results_of
from alphasynth_studies.expected import Expected
from alphasynth_studies.repeats import Plan, measure_all
from alphasynth_studies.salaries import HOW_IT_WAS_MADE, STAND_IN, N, stand_in_table, survey_table
from alphasynth_studies.statements import statements
from alphasynth_studies.study import SEED, Asked, Findings, Study
from alphasynth_studies.synthesizers import Measured
from alphasynth_studies.tables import mixture_table

EPSILON = 24.0  # per draw, for all synthesizers alike: a little below what LW comes to at the paper's settings


@dataclass(frozen=True)
class Size:
    """Samples or stand-ins, and synthetic tables from each."""

    repeats: int
    m: int


SIZES = {"toy": Size(2, 2), "paper": Size(20, 20), "large": Size(100, 20)}
STATEMENTS = statements(
    "section 4.1, Figures 6 and 10", "section 4.2, Figure 7", "section 4.2, Figure 8", "section 4.2, Figure 9"
)


def run(asked: Asked) -> Findings:
    """The six synthesizers on the first sample in detail, and on all in numbers."""
    size = SIZES[asked.size]
    table_of = stand_in_table if asked.table is None else partial(survey_table, path=asked.table.absolute())
    plan = Plan(table_of, size.m, EPSILON)
    table = table_of(0)
    told = Told(plan.detail(0), measure_all(asked, plan, size.repeats), STATEMENTS, EPSILON)
    results = {
        "stand_in": asked.table is None,
        "sample": _sample(table["salary"].to_numpy()),
        "units": _units(table["salary"].to_numpy()),
        "cw_against_mixture": _against_mixture(told.first, size.m),
        **results_of(told),
    }
    sections = (
        page.Section("sample", "The sample", _sample_blocks(results, asked)),
        page.Section("before", "Before re-weighting", (drawn.scatter_before(told, 6), *drawn.all_before(told, 10))),
        page.Section(
            "weights",
            "Re-weighting: bounds and weights",
            (drawn.scatter_after(told, 7), *drawn.weights_after(told, 8)),
        ),
        page.Section("utility", "Re-weighting: utility", tuple(drawn.utility_after(told, 9))),
        drawn.over_tables(told),
        page.Section("units", "Dollars or thousands", (page.text(unit_words(results["units"])),)),
    )
    return Findings(results, sections, STAND_IN if asked.table is None else "")


def _sample(salary: np.ndarray) -> dict[str, float]:
    return {
        "n": float(len(salary)),
        "mean": float(salary.mean()),
        "median": float(np.median(salary)),
        "lowest": float(salary.min()),
        "highest": float(salary.max()),
        "sd": float(salary.std(ddof=1)),
    }


def _against_mixture(one: Measured, m: int) -> dict[str, float]:
    """CW on the salaries shown beside CW on a table of section 3: scaled error, and share of weights below one half."""
    other = Plan(partial(mixture_table, n=N), m, nb_mixture.EPSILON).measure(0)
    ours, theirs = one.paper["CW"].small, other.paper["CW"].small
    return {
        "loss": one.loss("CW"),
        "loss_mixture": other.loss("CW"),
        "worse": float(one.loss("CW") > other.loss("CW")),
        "small_weights": ours,
        "small_weights_mixture": theirs,
        "more_small_weights": float(ours > theirs),
    }


def _units(salary: np.ndarray) -> dict[str, float]:
    """LW's Delta on the same salaries in dollars and in thousands of dollars, and phi, the model's shape."""
    found = {}
    for name, unit in (("dollars", 1), ("thousands", 1_000)):
        table = pd.DataFrame({"salary": np.round(salary / unit).astype(np.int64)})
        fitted = Synthesizer("salary ~ 1", family="negative_binomial", mechanism="LW", m=1, seed=SEED).fit(table)
        last = fitted.trail_.fits[-1]
        found |= {name: last.lipschitz.overall, f"phi_{name}": float(np.mean(last.draws.theta["phi"]))}
    return found


def unit_words(units: Mapping[str, float]) -> str:
    """What the unit of salaries does to Delta."""
    return (
        f"LW's Delta is {round_up(units['dollars'])} with salaries in dollars and {round_up(units['thousands'])} with"
        f" the same salaries in thousands: epsilon per draw falls from {round_up(2 * units['dollars'])} to "
        f"{round_up(2 * units['thousands'])}, though nothing about the people has changed and the model fitted is all"
        f" but the same (its dispersion phi has posterior mean {units['phi_dollars']:.2f} and "
        f"{units['phi_thousands']:.2f}). A probability per dollar is about a thousandth of one per thousand dollars, "
        "and its logarithm enters Delta. The paper does not say which unit it used; its text is in dollars, and so "
        "is this study."
    )


def _sample_blocks(results: dict[str, Any], asked: Asked) -> tuple[page.Block, ...]:
    published = {
        "mean": salaries.MEAN,
        "median": salaries.MEDIAN,
        "lowest": salaries.LOWEST,
        "highest": salaries.HIGHEST,
        "sd": salaries.SD,
    }
    lines = [(name, number, results["sample"][name]) for name, number in published.items()]
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


SAMPLING = "twice its standard error in samples of 1,000, since the paper's sample is another than ours"
STUDY = Study(
    name="salary",
    title="Salaries of doctorate recipients",
    place="section 4, Supp 4",
    simulates="With --table, nothing: samples of 1,000 salaries of the 2017 Survey of Doctorate Recipients' public-use "
    "file. Without, stand-ins of 1,000 salaries with the published mean, median, range and standard deviation.",
    runs="The six synthesizers with the settings of section 3, 1,000 draws and 20 synthetic tables each; and all but "
    f"Unweighted again with epsilon = {EPSILON:g} per draw.",
    figures=(6, 7, 8, 9, 10),
    expected=(
        Expected("sample.mean", "section 4", "mean salary", 107_609, 4_500, f"107,609 ± 4,500: {SAMPLING}"),
        Expected("sample.median", "section 4", "median salary", 95_000, 5_000, f"95,000 ± 5,000: {SAMPLING}"),
        Expected(
            "sample.lowest", "section 4", "lowest salary", 0, 0, "0 ± 0: zeros are common enough to be in any sample"
        ),
        Expected(
            "sample.highest",
            "section 4",
            "highest salary",
            509_000,
            0,
            "509,000 ± 0: the survey's top code, common enough to be in any sample",
        ),
        Expected("sample.sd", "section 4", "standard deviation", 69_718, 9_000, f"69,718 ± 9,000: {SAMPLING}"),
        Expected(
            "delta_ratio.LW_final.mean",
            "section 4.2",
            "LW_final's Delta over LW's at k = 0.95",
            1.0,
            0.1,
            "1 ± 0.1: called equivalent, and shown as violins on a scale from 0 to the largest bound",
        ),
        Expected(
            "delta_ratio.CW_final.mean",
            "section 4.2",
            "CW_final's Delta over CW's at k = 0.95",
            1.0,
            0.1,
            "1 ± 0.1: called equivalent, and shown as violins on a scale from 0 to the largest bound",
        ),
        Expected(
            "cw_against_mixture.worse",
            "section 4.1",
            "CW errs more on salaries than on the mixture, by the four statistics together (1 if so)",
            1.0,
            0.0,
            "1 ± 0: said outright, so it is so or it is not",
            "In half widths of the data's own intervals CW errs less on the stand-in than on the mixture. What the "
            "survey's own file gives is not known here.",
        ),
        Expected(
            "cw_against_mixture.more_small_weights",
            "section 4.1",
            "CW gives more records a weight below one half than on the mixture (1 if so)",
            1.0,
            0.0,
            "1 ± 0: said outright, so it is so or it is not",
        ),
        *(statement.expected for statement in STATEMENTS),
    ),
    run=run,
    takes_table=True,
)
