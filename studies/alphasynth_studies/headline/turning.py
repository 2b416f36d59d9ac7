"""What turns the headline's verdicts: the measure of utility, and on salaries the unit and the salaries of 0.

At each epsilon re-weighting errs less, errs more, or that cannot be told. The claim, of every epsilon, holds if it errs
less at all of them and does not hold if it errs more at one. It turns if it holds by one measure (or in one unit) and
does not by another, or if at one epsilon re-weighting errs less by the one and more by the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alphasynth_studies.expected import FAILS, HOLDS, UNDECIDED
from alphasynth_studies.headline.curves import LESS, MAIN, MORE, PAIRS
from alphasynth_studies.headline.measured import MEASURES
from alphasynth_studies.headline.words import SAID, by_verdict, listed
from alphasynth_studies.scans.turning import opposed
from alphasynth_studies.scans.units import UNIT, VARIANTS

Results = Mapping[str, Any]
Turned = dict[str, dict[str, str]]
DOLLARS = next(iter(VARIANTS))


def expected_name(table: str, before: str) -> str:
    """The name of the number that a claim is judged by."""
    return f"{table}.claimed.reweighting.{before}.share_better"


def verdict_of(places: Results) -> str:
    """The verdict on the claim, from what is told at each epsilon."""
    told = {line["verdict"] for line in places.values() if "verdict" in line}
    return FAILS if MORE in told else HOLDS if told == {LESS} else UNDECIDED


def turns(one: Results, other: Results) -> bool:
    """Whether the claim turns between two measures, or two units."""
    seen = [{place: line.get("verdict") for place, line in by.items()} for by in (one, other)]
    contrary = any({verdict, seen[1].get(place)} == {LESS, MORE} for place, verdict in seen[0].items())
    return contrary or opposed((verdict_of(one), verdict_of(other)))


def by_measure(results: Results) -> Turned:
    """Claims that turn with the measure of utility, and where the others that turn them say less and more."""
    outcome = {}
    for table in ("mixture", "salary"):
        for before, _ in PAIRS:
            by = results[table]["claimed"]["reweighting"][before]["by_measure"]
            turned = [measure for measure in MEASURES if turns(by[MAIN], by[measure])]
            if turned:
                told = [f"error of {SAID[measure]}: {places_in_words(by[measure])}" for measure in (MAIN, *turned)]
                outcome[expected_name(table, before)] = {"on": "the measure of utility", "change": "; ".join(told)}
    return outcome


def by_unit(results: Results) -> Turned:
    """Claims on salaries that turn with the unit or with the salaries of 0, and what was seen."""
    outcome = {}
    for before, _ in PAIRS:
        by = variants_of(results["salary"], before)
        if any(turns(by[DOLLARS], other) for name, other in by.items() if name != DOLLARS):
            told = [f"{VARIANTS[name]} {places_in_words(places)}" for name, places in by.items()]
            outcome[expected_name("salary", before)] = {"on": UNIT, "change": "; ".join(told)}
    return outcome


def variants_of(salary: Results, before: str) -> dict[str, Results]:
    """What re-weighting does at each epsilon by the main measure: in dollars, in thousands, without salaries of 0."""
    made = {DOLLARS: salary["claimed"]["reweighting"], **salary["variants"]}
    return {name: by[before]["by_measure"][MAIN] for name, by in made.items()}


def places_in_words(places: Results) -> str:
    """Where re-weighting errs less and more."""
    told = by_verdict(places)
    return f"less at {listed(told[LESS])}, more at {listed(told[MORE])}"
