"""`Verdict`: what holds of synthetic tables, what is off, and what not to do with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from alphasynth.evaluation.compared import Associated, Coefficient, Comparison, Share
from alphasynth.evaluation.findings import (
    CENTRE,
    CHANCE,
    COEFFICIENT,
    PAIR,
    SHARE,
    TAIL,
    TOLD_APART,
    Facts,
    Finding,
)
from alphasynth.evaluation.propensity import Propensity
from alphasynth.evaluation.verdict_words import Judged, lines_of, parts_of


@dataclass(frozen=True, eq=False)
class Verdict:
    """What holds, what is off, and what not to do (confidential); printed, three lines.

    `compared` are all numbers, the largest difference first; those farther apart than `beyond` standard errors are off,
    unless that is too little to matter. `facts` say the rest.

    >>> near = Finding(CENTRE, "mean", ("pay",), 100.0, 101.0, 1.4, 0.7, 0.05)
    >>> far = Finding(PAIR, "Spearman's rho", ("age", "pay"), 0.5, 0.0, 0.03, 16.7, 0.5)
    >>> verdict = Verdict.of([near, far], Facts(n=1000, rows=1000))
    >>> verdict.off == (far,), verdict.holds == (near,)
    (True, True)
    """

    compared: tuple[Finding, ...] = field(repr=False)
    facts: Facts

    @classmethod
    def of(cls, found: Sequence[Finding], facts: Facts) -> Verdict:
        """The verdict on what was compared; numbers that a table does not have take no part."""
        known = [one for one in found if not math.isnan(one.apart)]
        return cls(tuple(sorted(known, key=lambda one: -one.apart)), facts)

    @property
    def beyond(self) -> float:
        """How many standard errors chance goes for as many numbers, but for one in a hundred such verdicts."""
        from scipy.stats import norm

        return float(norm.isf(CHANCE / 2 / max(len(self.compared), 1)))

    @property
    def holds(self) -> tuple[Finding, ...]:
        """What is near enough."""
        return () if self.facts.too_few else tuple(found for found in self.compared if found.holds)

    @property
    def off(self) -> tuple[Finding, ...]:
        """What chance does not explain, the worst first."""
        beyond = self.beyond
        return () if self.facts.too_few else tuple(found for found in self.compared if found.is_off(beyond))

    @property
    def avoid(self) -> dict[str, tuple[str, ...]]:
        """What not to use the tables for: the kinds of what is off, and of which columns, the worst first."""
        columns: dict[str, dict[str, None]] = {}
        for found in self.off:
            columns.setdefault(found.kind, {}).update(dict.fromkeys(found.of))
        return {kind: tuple(names) for kind, names in columns.items()}

    @property
    def lines(self) -> tuple[str, str, str]:
        """The three lines in words."""
        return lines_of(Judged(self.compared, self.holds, self.off, self.avoid, self.beyond, self.facts))

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The three lines, each as the words it begins with and the rest."""
        return parts_of(self.lines)

    def __str__(self) -> str:
        """The three lines."""
        return "\n".join(self.lines)


def every_finding(
    statistics: Sequence[Comparison],
    shares: Sequence[Share],
    pairs: Sequence[Associated],
    coefficients: Sequence[Coefficient],
    propensities: Sequence[Propensity],
) -> list[Finding]:
    """Findings on all that was compared."""
    return [
        *map(_of_statistic, statistics),
        *map(_of_share, _told_once(shares)),
        *map(_of_pair, pairs),
        *map(_of_coefficient, coefficients),
        *(_of_propensity(one) for one in propensities if one.null > 0),
    ]


def _told_once(shares: Sequence[Share]) -> list[Share]:
    """Shares without those that another says as well: of a column's two levels the true one, or else the rarer."""
    levels: dict[str, list[Share]] = {}
    for share in shares:
        levels.setdefault(share.column, []).append(share)
    return [share for own in levels.values() for share in ([min(own, key=_last)] if len(own) == 2 else own)]


def _last(share: Share) -> tuple[bool, float]:
    return share.level.lower() not in ("true", "1"), share.confidential


def _of_statistic(one: Comparison) -> Finding:
    statistic, synthetic = one.synthetic.statistic, one.synthetic.combined.estimate
    kind, of, error = TAIL if statistic.in_the_tails else CENTRE, (one.synthetic.column,), one.difference_error
    return Finding(kind, statistic.name, of, one.value, synthetic, error, one.apart, one.size, one.day)


def _of_share(one: Share) -> Finding:
    size = abs(one.synthetic - one.confidential)
    return Finding(SHARE, one.level, (one.column,), one.confidential, one.synthetic, one.error, one.apart, size)


def _of_pair(one: Associated) -> Finding:
    size, of = abs(one.synthetic - one.confidential), (one.pair.one, one.pair.other)
    return Finding(PAIR, one.pair.measure, of, one.confidential, one.synthetic, one.error, one.apart, size)


def _of_coefficient(one: Coefficient) -> Finding:
    synthetic, of = one.synthetic.estimate, (one.regression.replace("`", ""),)
    size = abs(synthetic - one.value) / abs(one.value) if one.value else float("inf")
    return Finding(COEFFICIENT, one.term, of, one.value, synthetic, one.between, one.apart, size)


def _of_propensity(one: Propensity) -> Finding:
    """S_pMSE beside that of two samples of one population; however small, it says that tables are told apart."""
    scores = (one.samples / one.null, one.standardised, one.error / one.null)
    return Finding(TOLD_APART, one.model, (), *scores, one.apart, float("inf"))
