"""What is promised, in words: by scope and by mechanism. Each promise is a tuple of clauses, and a page lists them."""

from __future__ import annotations

from collections.abc import Sequence

from alphasynth.privacy.scopes import INSTANCE, NONE, STRICT, TARGET

SCOPES = {
    STRICT: "epsilon-differential privacy for one row's contribution, added or removed (scope: strict)",
    TARGET: "for study: what the draws aim at is private, the draws are not proven to be (scope: target)",
    INSTANCE: "an estimate for this database (scope: instance); not epsilon-differential privacy",
    NONE: "nothing is promised (scope: none)",
}
ROW = "one row of the table"
REMOVED = "one unit of privacy removed"
ADDED_OR_REMOVED = "one unit of privacy's contribution added or removed, the number of rows held public"

LOCAL = (
    "asymptotic and local to this database: estimated from the posterior draws at hand for one record removed while "
    "the weights of the others stay as they are",
    "it is not epsilon-differential privacy, and where one record moves the weights of others (LW, CW, re-weighting, "
    "any number that was searched) the loss can be larger",
)
# What exact audits found of a rule.
AUDITED = {
    "LW": "exact audits of LW and LW_final found databases where it is, the more often the more records there are",
    "CW": "exact audits of CW and CW_final found it larger where one record lies far beyond a small table's others",
    "SW": "exact audits of SW aimed at an epsilon found that one record added can take it far above",
}
BUDGET = (
    "an estimate for this database: each weight is what the policy's budget allows its own record, given one draw of "
    "parameters that was itself drawn with half of the budget, and what a record adds is clipped to the other half, so "
    "that no other record's weight moves when a record comes or goes",
    "it is not epsilon-differential privacy, since the draws are those of Markov chains, checked by diagnostics and "
    "not proved to be right, and since the model may have read levels or terms off the table",
)
SURVEYED = (
    "each record's log-likelihood is multiplied by its public survey weight, scaled to sum to the number of rows, and "
    "by alpha: bounds and epsilon are of the product, and the survey weights themselves are not protected"
)
NOTHING = (
    "nothing is promised: every record counts in full, and what one record can do to the posterior has no limit",
    "the tables must be treated like the confidential one",
)
NEIGHBOURS = (
    "epsilon-differential privacy when one row's contribution is added or removed while the number of rows is held "
    "public, and twice epsilon when a row is replaced"
)
EXACT = (
    NEIGHBOURS,
    "it holds for every table of valid values, since what a record adds depends on that record and on public numbers "
    "alone and has a range of at most its share of epsilon in each draw",
    "it covers the parameters drawn and all that is made from them, and neither the number of rows nor columns "
    "declared public nor how long the run took nor that it was not refused",
    "the parameters were drawn exactly, on a finite public grid and in whole numbers, with random bits that SHAKE-256 "
    "makes from 384 bits of the operating system's entropy",
)
SCORED = (
    NEIGHBOURS,
    "it holds for every table of valid values: all that the table gives away are sums of clipped whole numbers, to "
    "which noise was added, and an exact private draw that they start from, and their costs add up to epsilon",
    "everything else, any number of draws and tables, was made from these",
    "it covers neither the number of rows nor columns declared public nor how long the run took nor that it was not "
    "refused",
    "the noise was sampled exactly, in whole numbers, with random bits that SHAKE-256 makes from 384 bits of the "
    "operating system's entropy",
)
SUMMED = (
    NEIGHBOURS,
    "it holds for every table of valid values: all that the table gives away are counts and sums of clipped whole "
    "numbers, to which noise was added, and private choices of what to count, and their costs add up to epsilon",
    "everything else, any number of tables, was made from these",
    *SCORED[3:],
    "it covers the whole row: all columns together",
)
AIMED_AT = (
    "no privacy is promised of these tables: they were drawn by Markov chain Monte Carlo, for study",
    "the distribution that the draws aim at keeps the epsilon stated when one row's contribution is added or removed, "
    "but a chain can miss part of it, and one record can decide which part: neighbours have been told apart so",
    "a strict mechanism (Scored, or Censored without covariates) keeps its epsilon",
)
CAPPED = (
    "for one unit of privacy, not for one of its rows: where a unit has more rows than take part, a row removed from "
    "the table can change which ones do, which costs as much as replacing one"
)
WHOLE_ROW = {
    STRICT: "it covers the whole row: all synthesized columns together, each of which has its public part of epsilon",
    INSTANCE: "it covers the whole row: the log-likelihood of a record is the sum over its synthesized columns, and "
    "its bound is taken over all combinations of the columns' draws",
}
# What takes the place of clauses where the promise is of (epsilon, delta).
PURE, APPROXIMATE = "epsilon-differential", "(epsilon, delta)-differential"
AT_DELTA = {
    NEIGHBOURS: "(epsilon, delta)-differential privacy when one row's contribution is added or removed while the "
    "number of rows is held public, and when a row is replaced the larger epsilon at the same delta that four times "
    "the rho comes to",
    EXACT[1]: "it holds for every table of valid values, since what a record adds depends on that record and on public "
    "numbers alone and has a bounded range in each draw: an eighth of the ranges' squares adds up to rho of "
    "zero-concentrated privacy, from which epsilon at delta follows",
    SUMMED[1]: SUMMED[1].replace("to epsilon", "to rho of zero-concentrated privacy, and epsilon at delta follows"),
    AIMED_AT[1]: AIMED_AT[1].replace("the epsilon stated", "the epsilon stated at its delta"),
    AIMED_AT[2]: "a strict mechanism (Censored without covariates) keeps its epsilon and delta",
    WHOLE_ROW[STRICT]: WHOLE_ROW[STRICT].replace("part of epsilon", "part of the budget"),
}


def scope_words(scope: str, approximate: bool) -> str:
    """The kind of promise in one line; `approximate` where it is of (epsilon, delta).

    >>> scope_words(STRICT, approximate=True)[:38]
    '(epsilon, delta)-differential privacy '
    """
    words = SCOPES.get(scope, scope)
    return words.replace(PURE, APPROXIMATE) if approximate and scope == STRICT else words


def clauses_of(
    scope: str,
    rules: Sequence[str],
    scored: bool,
    several: bool,
    capped: bool,
    approximate: bool = False,
    summed: bool = False,
) -> tuple[str, ...]:
    """What is promised, and what is known to break it, clause by clause.

    `scored`: noise was added to sums; `several` columns are synthesized; `capped`: a unit of privacy has several rows;
    `approximate`: the promise is of (epsilon, delta); `summed`: a whole table was made from noisy counts and sums.

    >>> clauses_of(NONE, (), scored=False, several=False, capped=False)[1]
    'the tables must be treated like the confidential one'
    >>> "one unit's contribution" in clauses_of(STRICT, (), scored=True, several=False, capped=True)[0]
    True
    """
    whole = (WHOLE_ROW[scope],) if several and scope in WHOLE_ROW else ()
    if scope not in (STRICT, TARGET):
        return (*_estimated(rules), *whole)
    bounded: Sequence[str] = AIMED_AT if scope == TARGET else SCORED if scored else EXACT
    bounded = SUMMED if summed else (*bounded, *whole)
    said = tuple(AT_DELTA.get(clause, clause) for clause in bounded) if approximate else tuple(bounded)
    return (*map(_of_units, said), CAPPED) if capped else said


def _of_units(clause: str) -> str:
    """A clause for units of several rows, of which it is then true, and not of a row.

    >>> _of_units("when one row's contribution is added, and when a row is replaced")
    "when one unit's contribution is added, and when a unit is replaced"
    """
    return clause.replace("one row's", "one unit's").replace("a row is replaced", "a unit is replaced")


def promise_of(rules: Sequence[str]) -> str:
    """What is promised of a mechanism with these rules, and what is known to break it, in one sentence.

    >>> promise_of(())[:19]
    'nothing is promised'
    """
    return sentence(_estimated(rules))


def sentence(clauses: Sequence[str]) -> str:
    """Clauses in one sentence; who needs them apart has them apart.

    >>> sentence(("one", "another"))
    'one; another'
    """
    return "; ".join(clauses)


def _estimated(rules: Sequence[str]) -> tuple[str, ...]:
    if not rules:
        return NOTHING
    if list(rules) == ["BW"]:
        return BUDGET
    return (*LOCAL, *(words for rule, words in AUDITED.items() if rule in rules))


def neighbours_of(scope: str) -> str:
    """Which databases a promise compares."""
    return ADDED_OR_REMOVED if scope in (STRICT, TARGET) else REMOVED


def unit_of(column: str | None, max_rows: int) -> str:
    """The unit of privacy: a row, or the rows that share a value of a column.

    >>> unit_of(None, 1), unit_of("person", 3)
    ('one row of the table', "all rows that share a value of 'person' (at most 3)")
    """
    return ROW if column is None else f"all rows that share a value of {column!r} (at most {max_rows})"


def for_unit(column: str | None, max_rows: int) -> str:
    """For whom an epsilon is, where that is not one row.

    >>> for_unit(None, 1), for_unit("person", 3)
    ('', " for all rows that share a value of 'person' (at most 3)")
    """
    return "" if column is None else f" for {unit_of(column, max_rows)}"


def dropped(thresh: float) -> str:
    """Which draws went first, if any did.

    >>> dropped(1.0), dropped(0.99)
    ('', ' (those above the 0.99 quantile of their bounds dropped)')
    """
    return "" if thresh == 1 else f" (those above the {thresh:g} quantile of their bounds dropped)"


def seeded(releasable: bool) -> str:
    """That a run can be repeated, and so must not be released.

    >>> seeded(True), seeded(False)
    ('', '; not for release, since the random seed was fixed')
    """
    return "" if releasable else "; not for release, since the random seed was fixed"
