"""The public page's section for who uses the tables: estimates, intervals, and lines of code that compute them."""

from __future__ import annotations

import numpy as np

from alphasynth.evaluation.compared import Estimates, estimates
from alphasynth.evaluation.digits import WithError
from alphasynth.evaluation.utility import SEED
from alphasynth.evaluation.values import is_numeric, present, statistics, together, values_of
from alphasynth.pages import figures, page, whole_table
from alphasynth.pages.measures import TAILS, VECTOR_WEIGHTS, ends_of, is_vector
from alphasynth.pages.released import estimates as of_whole_tables
from alphasynth.pages.released.reading import as_filed, reading
from alphasynth.privacy.guarantee import SPREAD, PublicGuarantee
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.statements import declared_gaps
from alphasynth.tables.records import Records

COVERS = (
    "In simulations with a right model, one weight for all records and five draws or more, such intervals covered the "
    "mean as often as they say and the sd as often or more (from two draws about 90 % instead of 95 %). Those of "
    "quantiles are rougher: 98 % for counts around 100, 84 to 94 % for counts around 5, whose quantiles jump. No "
    "interval covers the error of a wrong model."
)
AT_LIMIT = (
    "A draw of the parameters lies at a limit of the public grid. If the truth lies beyond it these tables are "
    "wrong, so no interval is given."
)
MORE_TABLES = (
    "These tables come from one draw of parameters: they give estimates, and no honest interval. More draws would have "
    "cost nothing more."
)
SPREAD_PARAMETERS = "The draws of parameters are spread by as much noise as their middle is off by,"
MOST_SHOWN = 6  # tables that have a violin of their own
ALL = "all tables"
REACH = ("reach = t.ppf(0.975, freedom) * T**0.5", "print(q.mean(), q.mean() - reach, q.mean() + reach)")


def how_to_use(release: Release, names: list[str], tables: list[Records], response: str) -> tuple[page.Block, ...]:
    """What to compute in each table, and how to put the results together."""
    guarantee, vector = release.guarantee, is_vector(release.guarantee.rules)
    blocks = [page.text("Compute what you want to know in each table. The mean of the results is the estimate.")]
    if guarantee.at_limit:
        blocks.append(page.warning(AT_LIMIT))
    elif guarantee.m == 1 and guarantee.scalar is not None:
        blocks.append(
            page.text(
                "These tables come from one draw of parameters, whose scatter is known: every record was tempered by"
                f" the same a = {guarantee.scalar:g}. With W the mean of the tables' own variances of the estimate "
                f"and n = {guarantee.n:,}, the variance is T = W rows/n (1 + 1/a) + W / tables, and the normal "
                "distribution gives the interval, if the model is right: none covers the error of a wrong model, and "
                "cutting what records add makes that error larger."
            )
        )
    elif guarantee.m == 1 and guarantee.combining == SPREAD:
        blocks.append(page.warning(whole_table.USE_ONE if whole_table.is_whole(guarantee) else MORE_TABLES))
    elif guarantee.m == 1:
        blocks.append(
            page.warning("These tables come from one draw of parameters: they give estimates, and no honest interval.")
        )
    elif guarantee.combining == SPREAD:
        blocks.append(
            page.text(
                f"{whole_table.USE_SPREAD if whole_table.is_whole(guarantee) else SPREAD_PARAMETERS} and rows add "
                "sampling error as the confidential ones had: so estimates scatter between tables as they do about the "
                "truth. With W the mean of the tables' own variances of the estimate, B its variance between draws, "
                f"n = {guarantee.n:,} and m = {guarantee.m:,}, the variance is T = V + B/m, V = B - W + W rows/n, "
                "which is "
                "(1 + 1/m) B for tables of n rows, and Student's t with (m - 1) (T / ((1 + 1/m) B))² degrees of "
                "freedom gives the interval. "
                "Tables of one draw are averaged first, and W is divided by their number."
            )
        )
    else:
        blocks.append(
            page.text(
                "For its uncertainty the scatter between draws counts as well as that within a table: with W the "
                "mean of the tables' own variances of the estimate, B its variance between draws, n = "
                f"{guarantee.n:,} and m = {guarantee.m:,}, the variance is T = W rows/n + B/m, and Student's t with "
                "(m - 1) (T / (B/m))² degrees of freedom gives the interval. Tables of one draw are averaged first."
            )
        )
    if vector:
        blocks.append(page.warning(VECTOR_WEIGHTS))
    elif guarantee.m > 1 and guarantee.combining != SPREAD:
        blocks.append(page.note(COVERS))
    if is_numeric(tables[0].columns[response]) and all(present(table, response).any() for table in tables):
        blocks += _statistics(release, names, tables, response, vector)
    if whole_table.is_whole(guarantee):
        return (*blocks, *of_whole_tables.blocks_of(release, tables, response))
    numeric = is_numeric(tables[0].columns[response])
    level = None if numeric else str(np.asarray(tables[0].columns[response])[np.argmax(tables[0].counts)])
    gaps = response in declared_gaps(guarantee)
    blocks += [page.heading("In Python"), page.code(_program(release, response, level, gaps))]
    return tuple(blocks)


def has_interval(guarantee: PublicGuarantee) -> bool:
    """Whether the scatter between draws is known: from several draws, or from the number that tempers all records."""
    return not guarantee.at_limit and (guarantee.m > 1 or guarantee.scalar is not None)


def _statistics(
    release: Release, names: list[str], tables: list[Records], response: str, vector: bool
) -> list[page.Block]:
    guarantee, mechanism = release.guarantee, release.guarantee.mechanism
    values = [values_of(table, response) for table in tables]
    rng = np.random.default_rng(SEED)
    sizes = [table.n for table in tables]
    found = estimates(rng, response, statistics(), values, guarantee.n, release.draws, guarantee.spread, sizes)
    heads = ("statistic", "estimate", *(["95 % interval, from T"] if has_interval(guarantee) else []))
    dates = response in tables[0].dates
    lines = [_line(estimate, vector, dates)[: len(heads)] for estimate in found]
    shown = names[:MOST_SHOWN] if len(names) > 1 else []
    drawn = [
        figures.table_violins(
            response, {ALL: together(values), **dict(zip(shown, values, strict=False))}, mechanism, dates
        ),
        figures.estimate_violins(found, ALL, shown, mechanism, dates),
    ]
    table = page.table(f"Statistics of {response}", heads, lines)
    return [table, *(page.figure_block(figure) for figure in drawn)]


def _line(estimate: Estimates, vector: bool, dates: bool) -> tuple[object, ...]:
    mark = f" {TAILS}" if vector and estimate.statistic.in_the_tails else ""
    day = dates and estimate.statistic.name != "sd"  # which is a number of days
    found = WithError(estimate.combined.estimate, estimate.error, day)
    return (estimate.statistic.name + mark, found, ends_of(estimate.combined.interval, day))


def _program(release: Release, response: str, level: str | None, gaps: bool) -> str:
    """Lines that compute the mean and its interval from the published files, or the share of a level of text."""
    guarantee = release.guarantee
    response = as_filed(release, response)
    level = None if level is None else as_filed(release, level)
    values = f"table[{response!r}]" if level is None else f"(table[{response!r}].astype(str) == {level!r})"
    number = f"table[{response!r}].count()" if level is None and gaps else "len(table)"
    lines = [
        "from glob import glob",
        "import pandas as pd",
        *([] if guarantee.m == 1 else ["from scipy.stats import t"]),
        "",
        reading(release),
        f"q = pd.Series([{values}.mean() for table in tables])",
    ]
    if guarantee.m > 1:
        lines.append(f"w = pd.Series([{values}.var() / {number} for table in tables])")
    if guarantee.tables_per_draw > 1:
        lines.append(f"q = q.groupby(q.index // {guarantee.tables_per_draw}).mean()  # tables of one draw first")
    if guarantee.m == 1 and has_interval(guarantee):
        lines += [
            f"w = pd.Series([{values}.var() / {number} for table in tables])",
            f"T = w.mean() * len(tables[0]) / {guarantee.n} * (1 + 1 / {guarantee.scalar!r}) + w.mean() / len(tables)",
            "reach = 1.96 * T**0.5",
            "print(q.mean(), q.mean() - reach, q.mean() + reach)",
        ]
        return "\n".join(lines)
    if guarantee.m == 1:
        return "\n".join([*lines, "print(q.mean())"])
    if guarantee.combining == SPREAD:
        each = f" / {guarantee.tables_per_draw}" if guarantee.tables_per_draw > 1 else ""
        lines += [
            f"V = max(q.var() - w.mean(){each} + w.mean() * len(tables[0]) / {guarantee.n}, 0)",
            f"T = V + q.var() / {guarantee.m}",
            f"freedom = {guarantee.m - 1} * (T / ((1 + 1 / {guarantee.m}) * q.var())) ** 2",
            *REACH,
        ]
        return "\n".join(lines)
    lines += [
        f"T = w.mean() * len(tables[0]) / {guarantee.n} + q.var() / {guarantee.m}",
        f"freedom = {guarantee.m - 1} * (T / (q.var() / {guarantee.m})) ** 2",
        *REACH,
    ]
    return "\n".join(lines)
