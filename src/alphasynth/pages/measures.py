"""Utility and risk as tables of text and numbers, for the page and for the terminal alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from alphasynth.evaluation.compared import Associated, Comparison, Share, Weighted
from alphasynth.evaluation.digits import Days, WithError
from alphasynth.evaluation.findings import FEWEST_ROWS_PER_TERM
from alphasynth.evaluation.intervals import Interval
from alphasynth.evaluation.nearest import Nearest
from alphasynth.evaluation.risk import IdentificationRisk, MatchRates
from alphasynth.evaluation.utility import Utility
from alphasynth.evaluation.verdict import Verdict
from alphasynth.evaluation.verdict_words import limits_words, what_of

TAILS = "‡"  # beside a statistic that vector weights bias
VECTOR_WEIGHTS = (
    "These records had weights of their own (vector weights), which bias the tables for good, whatever m is: the "
    f"tails are drawn in, most of all in the statistics marked {TAILS}, and means, medians and regression "
    "coefficients move too. No interval here covers as often as it says. In 2,000 simulated databases (negative "
    "binomial counts and that very model) 95 % intervals from 20 tables held the true sd 96 % of the time under SW, "
    "which has one weight for all, 8 % under LW_final and never under CW; the true mean 95 %, 68 % and 42 %."
)


RISK = (
    "For each record, the share of a table's rows whose value is outside a ball around the record's own (CW's risk), "
    "and 0 in tables with no row inside it, averaged over records and tables: higher is riskier, near 1 for a value "
    "that stands out. A verbatim copy would score what the confidential table does. Far: records that no synthetic row "
    "comes near. Unique: records that share what the intruder knows with no other; they are identified without any "
    "table, and score 0 here. Empirical: it describes these tables and promises nothing."
)
MATCHES = (
    "An intruder knows each record's public columns, and its value to within the radius, and looks for it. Expected: "
    "mean over records of one over the number of matching rows, where the record's own row is one of them. True: "
    "records whose single match is their own row. False: single matches that are another's. Single: records with one "
    "match. Empirical: it promises nothing."
)


LARGEST = 10  # differences that come first
COMBINED = "95 % interval (combined)"
OVERLAP_ERROR = 0.1  # ends of intervals are themselves estimates: two decimals of an overlap are enough


class Lines(NamedTuple):
    """A table: what it is, its heads, its lines of text and numbers, and what to know about it."""

    caption: str
    heads: tuple[str, ...]
    lines: Sequence[tuple[object, ...]]
    note: str = ""


def is_vector(rules: Sequence[str]) -> bool:
    """Whether a mechanism of these rules weights records differently."""
    return any(rule != "SW" for rule in rules)


def largest_lines(verdicts: Mapping[str, Verdict]) -> Lines:
    """The largest differences of all kinds together, in standard errors; limits as the note."""
    lines = [
        (
            label,
            what_of(found),
            WithError(found.confidential, found.error, found.day),
            WithError(found.synthetic, found.error, found.day),
            WithError(found.apart, 1.0),
        )
        for label, verdict in verdicts.items()
        for found in verdict.compared[:LARGEST]
    ]
    heads = ("synthesizer", "what", "confidential", "synthetic", "standard errors apart")
    limits = (limits_words(len(verdict.compared), verdict.beyond) for verdict in verdicts.values())
    return Lines("The largest differences", heads, lines, " ".join(next(limits, ())))


def statistic_lines(utilities: Mapping[str, Utility], vector: Mapping[str, bool] | None = None) -> Lines:
    """Statistics with both intervals, one line per synthesizer and statistic."""
    marks = vector or {}
    first = ("synthesizer", "column", "statistic", "confidential", "95 % interval", "synthetic")
    heads = (*first, "95 % interval (averaged)", "overlap (averaged)", COMBINED, "overlap (combined)")
    lines = [
        _statistic(label, found, marks.get(label, False)) for label, u in utilities.items() for found in u.comparisons
    ]
    single = any(found.synthetic.combined.interval is None for u in utilities.values() for found in u.comparisons)
    note = (
        "Averaged: end points of each table's bootstrap interval, averaged over the tables; it leaves out that tables "
        "differ because their draws do. Combined: variance T = W rows/n + B/m, W the mean of the tables' own "
        "variances, B the variance between draws; of Scored and Raked, whose tables are spread by as much noise as "
        "their middle is off by, T = (1 + 1/m) B for tables of n rows. Overlap: the shared part as a share of each "
        "interval's length, averaged; 1 is perfect, below 0 they are apart."
    )
    if single:
        note += " One draw leaves B unknown, so there is no combined interval."
    else:
        note += " From one draw that tempers every record by the same number a, B is W rows/n / a + W."
    return Lines("Statistics by column", heads, lines, note)


def _statistic(label: str, found: Comparison, vector: bool) -> tuple[object, ...]:
    synthetic = found.synthetic
    mark = f" {TAILS}" if vector and synthetic.statistic.in_the_tails else ""
    return (
        label,
        synthetic.column,
        synthetic.statistic.name + mark,
        WithError(found.value, found.error, found.day),
        ends_of(found.interval, found.day),
        WithError(synthetic.combined.estimate, synthetic.error, found.day),
        ends_of(synthetic.averaged, found.day),
        WithError(found.overlap_averaged, OVERLAP_ERROR),
        ends_of(synthetic.combined.interval, found.day),
        None if found.overlap_combined is None else WithError(found.overlap_combined, OVERLAP_ERROR),
    )


def ends_of(interval: Interval | None, day: bool) -> Interval | Days | None:
    """An interval, of days' numbers as dates."""
    return Days(*interval) if day and interval is not None else interval


def distance_lines(utilities: Mapping[str, Utility]) -> Lines:
    """Distances of the columns' distributions."""
    lines = [_distances(label, u, column) for label, u in utilities.items() for column in u.distances]
    note = (
        "Largest and mean squared difference of the two empirical distribution functions, over the merged rows; "
        "Wasserstein-1 is in the column's own unit. Averages over the synthetic tables."
    )
    heads = ("synthesizer", "column", "ECDF, largest", "ECDF, mean squared", "Wasserstein-1")
    return Lines("Distances of distributions", heads, lines, note)


def _distances(label: str, utility: Utility, column: str) -> tuple[object, ...]:
    """Distances with about the errors of two samples: of shares of rows at most a half over the root, of means."""
    d, root = utility.distances[column], (1 / utility.n + 1 / utility.rows) ** 0.5
    error = 0.5 * root
    squared = WithError(d.mean_squared, max(2 * d.mean_squared**0.5 * error, error**2))
    spread = utility.comparison(column, "sd").value * root
    return (label, column, WithError(d.largest, error), squared, WithError(d.wasserstein, spread))


def propensity_lines(utilities: Mapping[str, Utility]) -> Lines:
    """pMSE and S_pMSE."""
    lines = [
        (label, p.model, WithError(p.pmse, p.error), p.null, WithError(p.standardised, p.score_error), p.rows)
        for label, u in utilities.items()
        for p in u.propensities
    ]
    note = (
        "pMSE is the mean squared distance of modelled propensities (how likely a row is synthetic) from the share "
        "of synthetic rows. The null is what rows from the confidential distribution itself would score by chance, "
        "by formula for the logistic model and by shuffling for the tree; S_pMSE is their ratio, and a bootstrap of "
        "the confidential table has about 1. In the logistic model, rows from a posterior draw of the right model "
        "have about 1 + (rows/n)/alpha under a scalar weight alpha, 2 without weights. Far above, the model tells "
        "the tables apart."
    )
    return Lines("Propensity scores", ("synthesizer", "model", "pMSE", "null", "S_pMSE", "rows merged"), lines, note)


def association_lines(utilities: Mapping[str, Utility]) -> Lines:
    """Associations of pairs of columns."""
    lines = [
        (
            label,
            a.pair.one,
            a.pair.other,
            a.pair.measure,
            WithError(a.confidential, a.error),
            WithError(a.synthetic, a.error),
            *_range(a),
        )
        for label, u in utilities.items()
        for a in u.associations
    ]
    heads = ("synthesizer", "one column", "and", "measure", "confidential", "synthetic", "lowest", "highest")
    if all(u.tables == 1 for u in utilities.values()):  # one table has no range
        return Lines("Associations of pairs of columns", heads[:-2], [line[:-2] for line in lines])
    return Lines("Associations of pairs of columns", heads, lines)


def _range(found: Associated) -> tuple[WithError, WithError]:
    return WithError(found.lowest, found.error), WithError(found.highest, found.error)


def _beside(found: Share | Weighted, error: float) -> tuple[WithError, WithError, WithError]:
    numbers = (found.confidential, found.synthetic, found.synthetic - found.confidential)
    one, other, difference = (WithError(number, error) for number in numbers)
    return one, other, difference


def _days_beside(found: Weighted, unweighted: Comparison) -> tuple[WithError, WithError, WithError]:
    one, other, difference = _beside(found, unweighted.difference_error)
    return one._replace(day=unweighted.day), other._replace(day=unweighted.day), difference


def share_lines(utilities: Mapping[str, Utility]) -> Lines:
    """Shares of levels, with combined intervals where there are some."""
    lines = []
    for label, utility in utilities.items():
        for s in utility.shares:
            confidential, synthetic, difference = _beside(s, s.error)
            lines.append((label, s.column, s.level, confidential, synthetic, s.interval, difference))
    heads = ("synthesizer", "column", "level", "confidential share", "synthetic share", COMBINED, "difference")
    if any(line[5] is not None for line in lines):
        return Lines("Shares of levels by column", heads, lines)
    without = [(*line[:5], line[6]) for line in lines]
    return Lines("Shares of levels by column", (*heads[:5], heads[6]), without)


def weighted_lines(utilities: Mapping[str, Utility]) -> Lines:
    """Statistics weighted by a column of survey weights."""
    lines = [
        # Weights make errors larger, so these have a digit too many rather than one too few.
        (label, w.column, w.statistic, *_days_beside(w, u.comparison(w.column, w.statistic)))
        for label, u in utilities.items()
        for w in u.weighted
    ]
    heads = ("synthesizer", "column", "statistic", "confidential", "synthetic", "difference")
    return Lines("Statistics weighted by the survey weights", heads, lines)


def coefficient_lines(utilities: Mapping[str, Utility]) -> Lines:
    """Regression coefficients side by side."""
    several = len({c.regression for u in utilities.values() for c in u.coefficients}) > 1
    lines = [
        (
            label,
            f"{c.regression.partition(' ~ ')[0]}: {c.term}" if several else c.term,
            WithError(c.value, c.error),
            WithError(c.error, c.error),
            WithError(c.synthetic.estimate, c.synthetic.variance**0.5 if c.synthetic.variance else c.between),
            c.synthetic.interval,
            WithError(c.apart, 1.0),
        )
        for label, u in utilities.items()
        for c in u.coefficients
    ]
    kinds = {f"{c.regression}, {c.kind}" for u in utilities.values() for c in u.coefficients}
    heads = ("synthesizer", "term", "confidential", "standard error", "synthetic", COMBINED, "apart")
    note = (
        "Apart: distance in standard errors of the difference of two samples with as many rows, of which robust and "
        "usual ones are compared and the larger is taken; two samples of one population would be 0.8 apart on average. "
        "Nothing is shown for a term that a table does not determine, nor how far apart it is with fewer than "
        f"{FEWEST_ROWS_PER_TERM} rows to a term."
    )
    return Lines(f"Regression: {'; '.join(sorted(kinds))}", heads, lines, note)


def risk_lines(risks: Mapping[str, Sequence[IdentificationRisk]]) -> Lines:
    """Identification risk within radii."""
    lines = [
        (
            label,
            reach(risk.radius, risk.relative),
            *(WithError(mean, 0.5 / risk.records.n**0.5) for mean in (risk.mean_before, risk.mean)),
            risk.alone,
            risk.unique,
        )
        for label, found in risks.items()
        for risk in found
    ]
    heads = ("synthesizer", "radius", "risk, confidential", "risk, synthetic", "records far", "records unique")
    return Lines("Identification risk within a radius (empirical)", heads, lines, RISK)


def reach(radius: float, relative: bool) -> str:
    """A radius in words."""
    return f"{radius:.10g}" + (" of the value" if relative else "")


def match_lines(rates: Mapping[str, Sequence[tuple[str, MatchRates]]]) -> Lines:
    """Match rates of aligned tables."""
    lines = [
        (label, radius, r.expected, r.true_rate, r.false_rate, r.unique)
        for label, found in rates.items()
        for radius, r in found
    ]
    heads = ("synthesizer", "radius", "expected match rate", "true match rate", "false match rate", "single matches")
    return Lines("Match rates of aligned rows (empirical)", heads, lines, MATCHES)


def nearest_lines(label: str, nearest: Nearest) -> Lines:
    """Nearest-record distances."""
    farther = 1 - nearest.nearer - nearest.ties
    lines: list[tuple[object, ...]] = [
        (label, "confidential", nearest.median, nearest.smallest, nearest.copies, nearest.nearer),
        (label, "holdout", nearest.median_holdout, nearest.smallest_holdout, nearest.copies_holdout, farther),
    ]
    note = (
        f"From each synthetic row to the nearest of {nearest.size:,} confidential records and of {nearest.size:,} "
        f"held out; {nearest.ties:.1%} of rows are as near to both. Where synthetic rows were made from the "
        "population and not from the records, about as many are nearer to the one as to the other; with few distinct"
        " values nearly all are tied, and then this says little. Empirical: it promises nothing."
    )
    heads = ("synthesizer", "reference", "median distance", "5 % quantile", "rows equal to one", "rows nearer to it")
    return Lines("Nearest-record distances (empirical)", heads, lines, note)
