"""Utility: what synthetic tables keep of a confidential one, by column, by pair, by regression, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from alphasynth.errors import InputError
from alphasynth.evaluation.associations import Pair, all_associations, pairs, regress
from alphasynth.evaluation.chance import in_errors, quantile_gap, resampled_error, share_error
from alphasynth.evaluation.compared import (
    Associated,
    Coefficient,
    Comparison,
    Estimates,
    Share,
    Weighted,
    estimates,
)
from alphasynth.evaluation.distances import Distances, mean_distances
from alphasynth.evaluation.findings import FEWEST_ROWS_PER_TERM, Facts
from alphasynth.evaluation.intervals import combine, percentile_interval, resample
from alphasynth.evaluation.pair_errors import difference_error, expected, samplings
from alphasynth.evaluation.propensity import MOST_LEVELS, Propensity, propensities
from alphasynth.evaluation.shares import has_few_values, shares_of
from alphasynth.evaluation.utility_card import utility_card
from alphasynth.evaluation.values import (
    QUANTILES,
    Statistic,
    Values,
    as_text,
    conform,
    is_numeric,
    present,
    shared,
    statistics,
    values_of,
    weighted_statistics,
)
from alphasynth.evaluation.verdict import Verdict, every_finding
from alphasynth.privacy.accounting import counted
from alphasynth.synthesis.one_thread import one_thread
from alphasynth.tables.frames import Frame
from alphasynth.tables.grouping import Stored
from alphasynth.tables.records import Records

Table = Frame | Stored | Records
# Resamples and shuffles decide nothing that is released: the same numbers come each time.
SEED = 1


@dataclass(frozen=True, eq=False)
class Utility:
    """All measures of a set of synthetic tables against the confidential one (confidential).

    Columns that are `left_out` some table does not have, or has none that can be compared.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": range(100)})
    >>> evaluate(table, [table])
    <Utility: 1 table of 100 rows beside 100; confidential>
    """

    n: int
    rows: int
    tables: int
    comparisons: tuple[Comparison, ...]
    distances: dict[str, Distances]
    propensities: tuple[Propensity, ...]
    associations: tuple[Associated, ...] = ()
    coefficients: tuple[Coefficient, ...] = ()
    shares: tuple[Share, ...] = ()
    weighted: tuple[Weighted, ...] = ()
    left_out: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Utility: {counted(self.tables, 'table')} of {self.rows:,} rows beside {self.n:,}; confidential>"

    def __str__(self) -> str:
        """The verdict, and of which tables it is."""
        return f"{self.verdict}\n{self!r}"

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, then the first of each kind of measure; confidential."""
        sizes, said = (self.n, self.rows, self.tables), self.verdict.parts
        return utility_card(sizes, self.comparisons, self.propensities, self.coefficients, self.shares, said)

    @property
    def verdict(self) -> Verdict:
        """What holds, what is off, what not to do with the tables: three lines when printed (confidential)."""
        return self.judged()

    def judged(self, vector: bool = False) -> Verdict:
        """The verdict on tables of a mechanism that may have given records weights of their own, `vector`."""
        found = every_finding(self.comparisons, self.shares, self.associations, self.coefficients, self.propensities)
        intervals = all(one.synthetic.combined.interval is not None for one in self.comparisons)
        return Verdict.of(found, Facts(self.n, self.rows * self.tables, intervals, vector, self.left_out))

    def comparison(self, column: str, statistic: str) -> Comparison:
        """The comparison of one statistic of one column."""
        for found in self.comparisons:
            if (found.synthetic.column, found.synthetic.statistic.name) == (column, statistic):
                return found
        raise InputError(f"statistic must be one that was compared, found {statistic!r} of {column!r}")


@one_thread()
def evaluate(
    confidential: Table,
    synthetic: Sequence[Table] | Table,
    *,
    columns: Sequence[str] | None = None,
    quantiles: Sequence[float] = QUANTILES,
    draws: Sequence[int] | None = None,
    regressions: Sequence[str] | None = None,
    public: Sequence[str] = (),
    scalar: float | str | None = None,
    survey_weights: str | None = None,
) -> Utility:
    """Compare synthetic tables, ours or anyone's, with the confidential table; what comes out is confidential.

    A single table may stand for a list of one. Dates are compared as days' numbers, and so is text that is all dates.
    `columns` are those compared, unless told all that the tables share; `draws` says which table came from which draw
    of parameters, unless told each from its own; `regressions` are formulas, unless told one of the first numeric
    column on the others; `public` columns were released as they are, and are compared only together with others;
    `scalar` is the public number by which a strict mechanism tempers every record; `survey_weights` names a public
    column by which statistics are weighted, beside those without weights. Rows with a gap take no part in the
    statistics of that column. Raises `InputError` for tables that do not fit together.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": range(100)})
    >>> utility = evaluate(table, [table, table])
    >>> utility.comparison("y", "mean").overlap_averaged > 0.9
    True
    """
    synthetic = listed(synthetic)
    on = shared([confidential, *synthetic], columns)
    records = on.read(confidential)
    tables = [conform(records, on.read(table)) for table in synthetic]
    if draws is not None and len(draws) != len(tables):
        raise InputError(f"draws must name one draw per table, found {len(draws)} for {len(tables)}")
    rng = np.random.default_rng(SEED)
    numeric = [name for name in records.columns if is_numeric(records.columns[name])]
    there = [name for name in numeric if all(present(table, name).any() for table in (records, *tables))]
    compared = [name for name in there if name not in public]
    if regressions is None:
        regressions = _default_regression(on.names, numeric, records)
    dates = records.dates
    values = {name: [values_of(table, name) for table in (records, *tables)] for name in compared}
    sizes = [records.n, *(table.n for table in tables)]
    return Utility(
        n=records.n,
        rows=int(np.mean([table.n for table in tables])),
        tables=len(tables),
        comparisons=tuple(
            found
            for name in compared
            for found in _compare(rng, name, statistics(quantiles), values[name], draws, scalar, sizes, name in dates)
        ),
        distances={name: mean_distances(own, others) for name, (own, *others) in values.items()},
        propensities=tuple(propensities(rng, records, tables)),
        associations=tuple(
            _associate([pair for pair in pairs(records) if not {pair.one, pair.other} <= set(public)], records, tables)
        ),
        coefficients=tuple(_coefficients(regressions, records, tables, draws, scalar)),
        shares=tuple(
            share
            for name in records.columns
            if name not in public and (not is_numeric(records.columns[name]) or has_few_values(records, name))
            for share in shares_of(name, records, tables, draws, scalar)
        ),
        weighted=tuple(
            _weighted(survey_weights, [n for n in compared if n != survey_weights], records, tables, quantiles)
        ),
        left_out=on.left_out,
    )


def listed(synthetic: Sequence[Table] | Table) -> list[Table]:
    """Synthetic tables as a list; a single one may stand for itself."""
    tables = list(synthetic) if isinstance(synthetic, Sequence) else [synthetic]
    if not tables:
        raise InputError("synthetic must hold at least one table, found none")
    return tables


def _weighted(
    weights: str | None, columns: Sequence[str], records: Records, tables: Sequence[Records], quantiles: Sequence[float]
) -> list[Weighted]:
    """Statistics of every numeric column, weighted by the survey's own column."""
    if weights is None:
        return []
    for one in (records, *tables):
        column = one.columns.get(weights)
        held = np.asarray(column) if column is not None and is_numeric(column) else np.array([np.nan])
        if not (held >= 0).all() or not (held > 0).any():
            raise InputError(
                f"survey weights must be a column of numbers of at least 0, not all 0, found that {weights!r} is not"
            )
    found = []
    for name in columns:
        own, *others = (_weighted_of(one, name, weights, quantiles) for one in (records, *tables))
        found += [Weighted(name, word, own[word], float(np.mean([o[word] for o in others]))) for word in own]
    return found


def _weighted_of(records: Records, name: str, weights: str, quantiles: Sequence[float]) -> dict[str, float]:
    there = present(records, name)
    by_row = records.counts[there] * np.asarray(records.columns[weights], np.float64)[there]
    return weighted_statistics(np.asarray(records.columns[name], np.float64)[there], by_row, quantiles)


def _compare(
    rng: np.random.Generator,
    column: str,
    wanted: Sequence[Statistic],
    all_values: Sequence[Values],
    draws: Sequence[int] | None,
    scalar: float | str | None,
    sizes: Sequence[int],
    dated: bool,
) -> list[Comparison]:
    (values, *others), (n, *rows) = all_values, sizes
    own = resample(np.random.default_rng(SEED), values, wanted)  # the same whatever it is compared with
    synthetic = estimates(rng, column, wanted, others, n, draws, scalar, rows)
    return [
        Comparison(
            found.statistic.of(values),
            percentile_interval(line),
            found,
            line,
            *_apart(found, line, values, others),
            day=dated and found.statistic.name != "sd",  # which is a number of days
        )
        for found, line in zip(synthetic, own, strict=True)
    ]


def _apart(found: Estimates, own: np.ndarray, values: Values, others: Sequence[Values]) -> tuple[float, float]:
    """How far a statistic is apart, in standard errors, and how large that is."""
    value, share, rows = found.statistic.of(values), found.statistic.share, [other.n for other in others]
    if share is not None:
        gap = quantile_gap(share, value, others)
        return in_errors(0.0, gap, share_error(share, values.n, share, sum(rows))), gap
    error = resampled_error(own, values.n, found.resampled, rows)
    synthetic = found.combined.estimate
    return in_errors(value, synthetic, error), in_errors(value, synthetic, values.sd)


def _associate(wanted: Sequence[Pair], records: Records, tables: Sequence[Records]) -> Iterator[Associated]:
    every = [all_associations(table, wanted) for table in (records, *tables)]
    scatter = [samplings(table, wanted, values) for table, values in zip((records, *tables), every, strict=True)]
    for i, pair in enumerate(wanted):
        value, *synthetic = (values[i] for values in every)
        own, *others = (values[i] for values in scatter)
        known = [each for each in synthetic if np.isfinite(each)]  # a table where a column does not vary has none
        mean, low, high = (float(np.mean(known)), min(known), max(known)) if known else (float("nan"),) * 3
        error, (least, most) = difference_error(own, others), expected(value, own, others)
        apart = in_errors(min(max(mean, least), most), mean, error)
        yield Associated(pair, value, mean, low, high, error, apart)


def _coefficients(
    regressions: Sequence[str],
    records: Records,
    tables: list[Records],
    draws: Sequence[int] | None,
    scalar: float | str | None,
) -> list[Coefficient]:
    found = []
    rows = [table.n for table in tables]
    for formula in regressions:
        fitted = regress(formula, records, tables)
        enough = min(records.n, *rows) >= FEWEST_ROWS_PER_TERM * len(fitted.terms)
        for i, term in enumerate(fitted.terms):
            q, u = fitted.coefficients[:, i], fitted.variances[:, i]
            synthetic = combine(q[1:].tolist(), u[1:].tolist(), rows, records.n, draws, scalar)
            wider = np.fmax(u, fitted.robust[:, i])  # a model's own variance is too small where the model is wrong
            between = float(np.sqrt(wider[0] + np.mean(wider[1:]) / len(rows))) if enough else float("nan")
            error = float(u[0] ** 0.5)
            found.append(Coefficient(fitted.formula, fitted.kind, term, float(q[0]), error, synthetic, between))
    return found


def _default_regression(names: Sequence[str], numeric: Sequence[str], records: Records) -> list[str]:
    """The first numeric column on all others, one of dates only where there is no other.

    But for text with very many values and names that no formula can hold.
    """
    spoken = [name for name in names if name.strip() and "`" not in name and name not in ("0", "1", "Intercept")]
    can = sorted((name for name in spoken if name in numeric), key=lambda name: name in records.dates)
    response = next(iter(can), None)
    few = [n for n in spoken if n in numeric or len(np.unique(as_text(records.columns[n]))) <= MOST_LEVELS]
    others = [f"`{name}`" for name in few if name != response]
    return [f"`{response}` ~ {' + '.join(others)}"] if response is not None and others else []
