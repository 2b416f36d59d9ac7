"""The verdict in words: three lines, and the limits that they were made by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from alphasynth.evaluation.digits import told
from alphasynth.evaluation.findings import (
    CENTRE,
    CHANCE,
    COEFFICIENT,
    FEWEST_ROWS,
    FEWEST_ROWS_PER_TERM,
    HOLDS,
    LARGE,
    PAIR,
    SHARE,
    SMALL,
    SMALL_GROUP,
    TAIL,
    TOLD_APART,
    Facts,
    Finding,
)
from alphasynth.privacy.accounting import counted

HEADS = ("Holds", "Off", "Do not use it for")
MOST_NAMED, MOST_LARGE, MOST_COLUMNS, LONGEST = 3, 2, 4, 32
GROUPS = {
    CENTRE: "means and medians",
    TAIL: "spreads and tails",
    SHARE: "shares",
    PAIR: "pairs",
    COEFFICIENT: "coefficients",
    TOLD_APART: "propensity scores",
}
AVOID = {
    CENTRE: "means or totals of {}",
    TAIL: "the spread or tails of {}",
    SHARE: "shares of {}",
    PAIR: "relations among {}",
    COEFFICIENT: "regressions like {}",
    TOLD_APART: "patterns of several values at once",
}
ROWS_ARE_NOBODY = "finding or linking persons"
NO_INTERVALS = "intervals or tests (one draw)"
DRAWN_IN = "tails or intervals (weights by record draw tails in)"
ANYTHING = "any estimate"


class Judged(NamedTuple):
    """A verdict's parts, as its words need them (confidential)."""

    compared: Sequence[Finding]
    holds: Sequence[Finding]
    off: Sequence[Finding]
    avoid: Mapping[str, Sequence[str]]
    beyond: float
    facts: Facts


def lines_of(judged: Judged) -> tuple[str, str, str]:
    """The three lines."""
    said = (_holds(judged), _off(judged), _avoid(judged))
    holds, off, avoid = (f"{head}: {words}." for head, words in zip(HEADS, said, strict=True))
    return holds, off, avoid


def parts_of(lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Lines of a verdict, each as the words it begins with and the rest."""
    return tuple((head, line.removeprefix(f"{head}: ")) for head, line in zip(HEADS, lines, strict=True))


def _holds(judged: Judged) -> str:
    compared, facts = judged.compared, judged.facts
    if facts.too_few:
        return f"nothing can be said of {counted(min(facts.n, facts.rows), 'row')}; it takes {FEWEST_ROWS}"
    if not compared:
        return "nothing could be compared"
    parts = []
    for kind, words in GROUPS.items():
        of_kind = sum(found.kind == kind for found in compared)
        if of_kind:
            parts.append(f"{words} {sum(found.kind == kind for found in judged.holds):,} of {of_kind:,}")
    many = f"{len(judged.holds):,} of {len(compared):,} numbers"
    return f"{many} are as near to the confidential ones as another sample's ({', '.join(parts)})"


def _off(judged: Judged) -> str:
    left = f"; not compared: {listed(judged.facts.left_out)}" if judged.facts.left_out else ""
    if judged.facts.too_few or not judged.compared:
        return f"nothing can be said{left}"
    if not judged.off:
        none = f"nothing (no number is beyond {judged.beyond:.1f} standard errors and large enough to matter)"
        return none + _large(judged) + left
    named = "; ".join(f"{finding_words(found)} ({errors_words(found.apart)})" for found in judged.off[:MOST_NAMED])
    rest = len(judged.off) - MOST_NAMED
    return (f"{named}; and {rest:,} more" if rest > 0 else named) + _large(judged) + left


def _large(judged: Judged) -> str:
    """What is far away in its own unit, though chance may be why."""
    off = set(map(id, judged.off))
    large = sorted((f for f in judged.compared if f.is_large and id(f) not in off), key=lambda found: -found.size)
    if not large:
        return ""
    rest = f" and {len(large) - MOST_LARGE:,} more" if len(large) > MOST_LARGE else ""
    return f"; large, though chance may be why: {'; '.join(map(finding_words, large[:MOST_LARGE]))}{rest}"


def _avoid(judged: Judged) -> str:
    facts = judged.facts
    said = [AVOID[kind].format(listed(names)) for kind, names in judged.avoid.items()]
    if facts.too_few or not judged.compared:
        said = [ANYTHING]
    elif facts.vector:
        said.append(DRAWN_IN)
    elif not facts.intervals:
        said.append(NO_INTERVALS)
    return "; ".join([*said, f"groups of fewer than {SMALL_GROUP} rows", ROWS_ARE_NOBODY])


def finding_words(found: Finding) -> str:
    """What differs, with both numbers.

    >>> finding_words(Finding(PAIR, "Spearman's rho", ("age", "pay"), 0.5413, 0.021, 0.03, 17.3, 0.52))
    "age with pay, Spearman's rho 0.021 instead of 0.541"
    """
    own, synthetic = (told(value, found.error, found.day) for value in (found.confidential, found.synthetic))
    if found.kind == TOLD_APART:
        return f"{_model(found)} tells the tables apart, S_pMSE {synthetic} where two samples have {own}"
    return f"{what_of(found)} {synthetic} instead of {own}"


def _model(found: Finding) -> str:
    return "a tree" if found.what == "tree" else "a logistic model"


def what_of(found: Finding) -> str:
    """What a number is, in words."""
    names = [named(name) for name in found.of]
    what = named(found.what)
    return {
        SHARE: f"share of {what} in {names[0]}" if names else what,
        PAIR: f"{' with '.join(names)}, {what}",
        COEFFICIENT: f"coefficient of {what} in {' '.join(names)}",
        TOLD_APART: f"S_pMSE of {_model(found)}, two samples first",
    }.get(found.kind, f"{what} of {' '.join(names)}")


def errors_words(apart: float) -> str:
    """A difference in standard errors.

    >>> errors_words(17.34), errors_words(float("inf"))
    ('17.3 standard errors', 'where nothing varies')
    """
    return "where nothing varies" if math.isinf(apart) else f"{told(apart, 1.0)} standard errors"


def named(name: str) -> str:
    """A name on one line, and not too long of it."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e", "f"])
    ('a, b', 'a, b, c, d and 2 more')
    """
    head = ", ".join(named(name) for name in names[:MOST_COLUMNS])
    return head + (f" and {len(names) - MOST_COLUMNS:,} more" if len(names) > MOST_COLUMNS else "")


def limits_words(compared: int, beyond: float) -> tuple[str, ...]:
    """The limits by which a verdict was made, clause by clause."""
    return (
        "Distances are in standard errors of the difference of two samples of one population that have as many rows.",
        f"Holds: within {HOLDS:g} standard errors, or too small a difference to matter.",
        f"Too small to matter: at most {SMALL:g} standard deviations of the column for means and standard deviations, "
        f"{SMALL:g} of the rows for quantiles and shares, {SMALL:g} for associations, {SMALL * 100:g} % of a "
        "coefficient.",
        f"Off: beyond {beyond:.1f} standard errors and not too small to matter. So far goes the farthest of "
        f"{compared:,} numbers by chance in one of {1 / CHANCE:,.0f} such pairs of samples. What is between the two "
        f"limits is neither. What is not off is named all the same where the difference is above {LARGE:g} in the "
        "units of what is too small to matter.",
        "S_pMSE: beyond what two samples score, by as many standard errors. Of a logistic model it takes 20 rows to a "
        f"term, and coefficients of regressions take {FEWEST_ROWS_PER_TERM}, or they are not judged.",
        f"With fewer than {FEWEST_ROWS} rows nothing is said; a group of {SMALL_GROUP} rows is counted to a tenth.",
    )
