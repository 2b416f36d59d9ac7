"""Utility as notebooks show it: statistics with their intervals, shares of levels, how well tables are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from alphasynth.evaluation.compared import Coefficient, Comparison, Share
from alphasynth.evaluation.digits import told as digits
from alphasynth.evaluation.propensity import Propensity
from alphasynth.notebook import markup, sketches
from alphasynth.privacy.accounting import counted

MOST_LINES, MOST_COLUMNS = 20, 6
KEY = "Confidential in the colour of the text, synthetic green."
OVERLAP = "overlap of the confidential interval with the synthetic ones' average"


def utility_card(
    sizes: tuple[int, int, int],
    comparisons: Sequence[Comparison],
    propensities: Sequence[Propensity],
    coefficients: Sequence[Coefficient],
    shares: Sequence[Share],
    verdict: Sequence[tuple[str, str]] = (),
) -> str:
    """The verdict on synthetic tables, then all measures against the confidential one, the first of them by line."""
    n, rows, tables = sizes
    told: dict[str, object] = {
        "confidential": f"{n:,} rows",
        "synthetic": f"{counted(tables, 'table')} of {rows:,} rows",
    }
    told |= {f"S_pMSE, {each.model}": digits(each.standardised, each.score_error) for each in propensities}
    if coefficients:
        near = sum(each.apart <= 1 for each in coefficients)
        told["coefficients"] = f"{near:,} of {len(coefficients):,} within one standard error"
    return markup.card(
        "Utility",
        markup.facts(dict(verdict)) if verdict else None,
        markup.facts(told),
        _statistics(comparisons),
        _levels(shares),
        markup.note(KEY),
        mark=markup.CONFIDENTIAL,
    )


def _statistics(comparisons: Sequence[Comparison]) -> markup.Html | None:
    if not comparisons:
        return None
    heads = ("column", "statistic", "confidential", "synthetic", "intervals", "overlap")
    more = len(comparisons) - MOST_LINES
    beyond = markup.note(f"and {more:,} more: utility.comparisons") if more > 0 else ""
    table = markup.table(heads, [_line(each) for each in comparisons[:MOST_LINES]])
    return markup.Html(f"{table}{beyond}{markup.note(f'Overlap: {OVERLAP}.')}")


def _line(each: Comparison) -> tuple[object, ...]:
    made = each.synthetic
    own = (each.interval.low, each.value, each.interval.high)
    new = (made.averaged.low, made.combined.estimate, made.averaged.high)
    label = f"95 % intervals of the {made.statistic.name} of {made.column}"
    figure = sketches.intervals(label, own, new)
    numbers = digits(each.value, each.error, each.day), digits(made.combined.estimate, made.error, each.day)
    return made.column, made.statistic.name, *numbers, figure, f"{each.overlap_averaged:.2f}"


def _levels(shares: Sequence[Share]) -> markup.Html | None:
    """Shares of the levels of the first columns that have any."""
    made = []
    for column, group in groupby(shares, key=lambda share: share.column):
        own = list(group)
        words = ", ".join(share.level for share in own[:4]) + (f" and {len(own) - 4:,} more" if len(own) > 4 else "")
        pair = [share.confidential for share in own], [share.synthetic for share in own]
        made.append(sketches.captioned(column, sketches.bars(f"shares of the levels of {column}", *pair), words))
    return markup.beside(*made[:MOST_COLUMNS]) if made else None
