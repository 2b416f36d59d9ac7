"""What came of the headline study, as sentences and as the lines of tables; for the page and for the document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from alphasynth_studies.headline.curves import LESS, MAIN, MORE, PAIRS, UNTOLD, WEIGHTED, is_of_half, is_shown
from alphasynth_studies.headline.measured import LABELS, MEASURES, UNWEIGHTED

Results = Mapping[str, Any]
KINDS = {"claimed": "claimed epsilon", "audited": "audited loss"}
SAID = {
    "one_table": "the four statistics of one synthetic table",
    "all_tables": "the four statistics, means over all synthetic tables",
    "sd": "the standard deviation of one synthetic table",
    "ecdf": "the distribution function of one synthetic table (largest distance)",
}
assert tuple(SAID) == MEASURES, "every measure has its words"


class Table(NamedTuple):
    """A caption, heads and lines of text."""

    caption: str
    heads: tuple[str, ...]
    lines: list[tuple[str, ...]]


def listed(places: Sequence[str]) -> str:
    """Places of a grid in words.

    >>> listed(["2", "5", "8"]), listed(["2"]), listed([])
    ('2, 5 and 8', '2', 'none')
    """
    if len(places) < 2:
        return places[0] if places else "none"
    return f"{', '.join(places[:-1])} and {places[-1]}"


def errors(results: Results, kind: str) -> Table:
    """Mean errors of the synthesizers at each place, with two standard errors; of fewer databases, of how many."""
    made = results[kind]["by_synthesizer"]
    labels = [label for label in LABELS if kind == "audited" or label != UNWEIGHTED]
    lines = [(label, *(_error(line, results["databases"]) for line in made[label].values())) for label in labels]
    caption = (
        f"Error of {SAID[MAIN]} at equal {KINDS[kind]}: mean over databases ± two standard errors; of fewer than nine "
        "in ten, of how many, and then not compared"
    )
    return Table(caption, (f"synthesizer, at {KINDS[kind]}", *made[WEIGHTED[0]]), lines)


def _error(line: Results, databases: int) -> str:
    if not line["databases"]:
        return "not reached"
    scatter = f" ± {2 * line[MAIN]['standard_error']:.2f}" if is_of_half(line, databases) else ""
    fewer = "" if is_shown(line, databases) else f" on {line['databases']} of {databases}"
    return f"{line[MAIN]['mean']:.2f}{scatter}{fewer}"


def losses(results: Results) -> Table:
    """Audited losses at each claimed epsilon: mean, largest, and how often above the claim."""
    made = results["claimed"]["by_synthesizer"]
    lines = [(label, *(_loss(line, results["databases"]) for line in made[label].values())) for label in WEIGHTED]
    heads = ("synthesizer, at claimed epsilon", *made[WEIGHTED[0]])
    return Table("Audited loss: mean over databases, largest; databases on which it exceeds the claim", heads, lines)


def _loss(line: Results, databases: int) -> str:
    if not is_shown(line, databases):
        return f"on {line['databases']} of {databases}" if line["databases"] else "not reached"
    above = f"; above on {line['above_claim']}" if line["above_claim"] else ""
    return f"{_up(line['audited']['mean'])}, {_up(line['largest_audited'])}{above}"


def _up(loss: float) -> str:
    """A loss to two decimals, never rounded down.

    >>> _up(2.001), _up(12.0)
    ('2.01', '12.00')
    """
    return f"{math.ceil(round(100 * loss, 9)) / 100:.2f}"


def reweighting(results: Results) -> Table:
    """Where re-weighting errs less and more than the weights it starts from, by measure."""
    lines = []
    for kind, place in KINDS.items():
        for before, after in PAIRS:
            for measure in MEASURES:
                by = results[kind]["reweighting"][before]["by_measure"][measure]
                told = [listed(places) for places in by_verdict(by).values()]
                lines.append((place, f"{after} against {before}", SAID[measure], *told))
    heads = ("at equal", "compared", "error of", "less at", "more at", "cannot be told at")
    return Table(
        "What re-weighting does, judged by intervals of the paired difference that are right together with 95 %",
        heads,
        lines,
    )


def by_variant(variants: Mapping[str, Mapping[str, Results]], words: Mapping[str, str]) -> Table:
    """Error after re-weighting less that before, at each claimed epsilon, by pair and variant of the salaries."""
    lines = []
    places = list(next(iter(next(iter(variants.values())).values())))
    for pair, by in variants.items():
        for name, told in by.items():
            lines.append((pair, words[name], *(_gap(told[x]) for x in places)))
    caption = (
        f"Error of {SAID[MAIN]}, re-weighted less before, at equal claimed epsilon: mean over databases ± two standard "
        "errors, and what intervals tell"
    )
    return Table(caption, ("compared", "salaries", *places), lines)


def _gap(line: Results) -> str:
    if "mean" not in line:
        return f"both on {line['databases']}"
    told = "" if line["verdict"] == UNTOLD else f", {line['verdict']}"
    return f"{line['mean']:+.2f} ± {2 * line['standard_error']:.2f}{told}"


def overall(tables: Sequence[Results]) -> list[str]:
    """At how many places re-weighting errs less and more, all tables together; a sentence for each comparison.

    And one that says where the vector-weighted synthesizers err less than the scalar-weighted one.
    """
    below = [_below_scalar(one) for one in tables]
    told = [
        f"{label} at {sum(by[label][0] for by in below)} of {sum(by[label][1] for by in below)}" for label in below[0]
    ]
    words = [f"At equal claimed epsilon the mean error is below SW's under {', '.join(told)} places."]
    for kind, place in KINDS.items():
        for before, after in PAIRS:
            by = [by_verdict(one[kind]["reweighting"][before]["by_measure"][MAIN]) for one in tables]
            less, more, untold = (sum(len(told[word]) for told in by) for word in (LESS, MORE, UNTOLD))
            words.append(
                f"At equal {place}, told by intervals, {after} errs less than {before} at {less} of "
                f"{less + more + untold} places, more at {more}, and cannot be told from it at {untold}."
            )
    return words


def by_verdict(by: Results) -> dict[str, list[str]]:
    """Places where re-weighting errs less, more, and where that cannot be told."""
    return {word: [x for x, line in by.items() if line.get("verdict") == word] for word in (LESS, MORE, UNTOLD)}


def findings(results: Results) -> list[str]:
    """What came out, in sentences."""
    told = [words(results, kind) for words in (_reweighted, _best) for kind in KINDS]
    return [*told, _against_scalar(results), _claims(results), _dials(results), _why(results), *_not_there(results)]


def _not_there(results: Results) -> list[str]:
    """Claimed epsilons at which no synthesizer can be compared, and why; no sentence where there is none."""
    made, databases = results["claimed"]["by_synthesizer"], results["databases"]
    places = [x for x in made[WEIGHTED[0]] if not any(is_shown(made[label][x], databases) for label in WEIGHTED)]
    if not places:
        return []
    counted = {x: [f"{label} {made[label][x]['databases']}" for label in WEIGHTED] for x in places}
    there = "; ".join(f"{x}: {', '.join(numbers)}" for x, numbers in counted.items())
    return [
        f"Nothing is compared at {listed(places)}, where no synthesizer has a point on nine databases in ten (on so "
        f"many of {databases} at {there}): weights stop at 1 before they get there on a database where Unweighted, "
        f"with all of them 1, claims less; it claims {_up(results[UNWEIGHTED]['claimed']['mean'])} on average. Means "
        "of those that have a point are in the table of errors, with how many they are of."
    ]


def _against_scalar(results: Results) -> str:
    """Where the vector-weighted synthesizers err less than SW, by means."""
    told = [f"{label} at {less} of {of}" for label, (less, of) in _below_scalar(results).items()]
    return f"Against the scalar weight, at equal claimed epsilon: a smaller mean error than SW's has {', '.join(told)}."


def _below_scalar(results: Results) -> dict[str, tuple[int, int]]:
    """For each vector-weighted synthesizer: at how many claimed epsilons its mean error is below SW's, and of how many.

    Of those at which both are shown.
    """
    made = results["claimed"]["by_synthesizer"]
    counted = {}
    for label in WEIGHTED[:-1]:
        both = [x for x in made["SW"] if all(is_shown(made[one][x], results["databases"]) for one in (label, "SW"))]
        counted[label] = (sum(made[label][x][MAIN]["mean"] < made["SW"][x][MAIN]["mean"] for x in both), len(both))
    return counted


def _dials(results: Results) -> str:
    """The factor k that was found, by epsilon."""
    told = []
    for before, after in PAIRS:
        by = results["claimed"]["by_synthesizer"][after]
        k = {x: line["dial"]["mean"] for x, line in by.items() if is_shown(line, results["databases"])}
        listing = ", ".join(f"{value:.2f} at {x}" for x, value in k.items())
        above = listed([x for x, value in k.items() if value > 1])
        told.append(f"{after}, from {before} at our settings whatever the epsilon: {listing}; above 1 at {above}")
    return (
        f"The factor k that was found, means over databases. {'. '.join(told)}. Algorithm 3 has k < 1: above that the "
        "step is not the paper's."
    )


def _why(results: Results) -> str:
    """Where re-weighting stops to depend on epsilon, and whom it weighs less than LW."""
    return (
        f"Below an epsilon of about {results['first_whole']['mean']:.1f}, twice the smallest F, no re-weighted weight "
        "reaches 1: weights are in proportion to 1 / F, and epsilon only scales them all. As a share of the largest "
        "weight a record then has m / F, where LW gives it (M - F) / (M - m), M and m being the largest and smallest "
        f"F: less where F is below M - m, as for {results['lighter']['mean']:.0%} of the records here."
    )


def _reweighted(results: Results, kind: str) -> str:
    words = []
    for before, after in PAIRS:
        by = results[kind]["reweighting"][before]["by_measure"][MAIN]
        told = by_verdict(by)
        if not any(told.values()):
            words.append(f"{after} and {before} cannot be compared")
            continue
        unclear = f", and cannot be told from it at {listed(told[UNTOLD])}" if told[UNTOLD] else ""
        words.append(f"{after} errs less than {before} at {listed(told[LESS])}, more at {listed(told[MORE])}{unclear}")
    return f"Re-weighting, at equal {KINDS[kind]}, told by intervals: {'; '.join(words)}."


def _best(results: Results, kind: str) -> str:
    words = []
    for place, best in results[kind]["best"].items():
        if not best:
            words.append(f"{place}: no synthesizer is there on enough databases")
            continue
        near = f" (not told apart: {', '.join(best['not_told_apart'])})" if best["not_told_apart"] else ""
        words.append(f"{place}: {best['least']}{near}")
    return f"Least error at equal {KINDS[kind]}: {'; '.join(words)}."


def _claims(results: Results) -> str:
    own = results[UNWEIGHTED]
    broken = []
    for label, by in results["claimed"]["by_synthesizer"].items():
        points = sum(line["databases"] for line in by.values())
        above = sum(line.get("above_claim", 0) for line in by.values())
        hidden = sum(line.get("above_claim", 0) for line in by.values() if not is_shown(line, results["databases"]))
        if above:
            where = f" ({hidden} of them where too few databases are for a loss to be shown)" if hidden else ""
            broken.append(f"{label} {above} of {points}{where}")
    kept = f"Loss above the claim, of all databases and epsilons: {', '.join(broken) or 'none'}."
    return (
        f"Unweighted claims {_up(own['claimed']['mean'])} and loses {_up(own['audited']['mean'])} (means over "
        f"databases), with an error of {own[MAIN]['mean']:.2f} ± {2 * own[MAIN]['standard_error']:.2f}. {kept}"
    )
