"""One program for who has a release of a whole table: means, shares and regressions of all columns, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth.evaluation.associations import LOG_LINEAR, LOGISTIC
from alphasynth.evaluation.released import MOST_SHOWN, Regressed, Term
from alphasynth.pages.released.reading import as_filed, reading_as_declared, shown
from alphasynth.synthesis.release import Release
from alphasynth.tables.declared import Declared

FAMILIES = {LOGISTIC: "Binomial", LOG_LINEAR: "Poisson"}
ONE = """\
def show(what, estimates, *more):
    print(what, np.mean(estimates))
"""
SEVERAL = """\
def show(what, estimates, variances, least=-np.inf, most=np.inf):
    q, w = np.reshape(estimates, (m, each)).mean(axis=1), np.mean(variances)
    B = q.var(ddof=1)
    T = max(B - w / each + w * len(tables[0]) / n, 0) + B / m
    freedom = (m - 1) * (T / ((1 + 1 / m) * B)) ** 2 if B > 0 else np.inf
    reach = t.ppf(0.975, freedom) * T**0.5
    print(what, q.mean(), max(q.mean() - reach, least), min(q.mean() + reach, most))
"""
MEANS = """\
for name in {names}:
    x = [table[name].dropna().astype(float) for table in tables]
    least = 0 if min(v.min() for v in x) >= 0 else -np.inf
    show(f"mean of {{name}}:", [v.mean() for v in x], [v.var() / len(v) for v in x], least)
"""
DATES = """\
for table in tables:
    for name in {names}:  # as days from 1970-01-01 on
        table[name] = (pd.to_datetime(table[name]) - pd.Timestamp("1970-01-01")).dt.days
"""
SHARES = """\
for name in {names}:
    x = [table[name].dropna() for table in tables]
    for level in pd.concat(x).value_counts().index[:{most}]:
        at = [(v == level).astype(float) for v in x]
        show(f"share of {{name}} = {{level}}:", [v.mean() for v in at], [v.var() / len(v) for v in at], 0, 1)
"""
GAPS = """\
for name in {names}:
    at = [table[name].isna().astype(float) for table in tables]
    show(f"share of {{name}} is missing:", [v.mean() for v in at], [v.var() / len(v) for v in at], 0, 1)
"""
REGRESSIONS = """\
fill = {fill}  # for gaps, each of which is a term of its own: it moves that one alone
regressions = {regressions}
for response, family, terms in regressions:  # a term is a column, one of its levels, or (None) its gaps
    fits = []
    for table in tables:
        table = table[table[response].notna()]
        x = [np.ones(len(table))]
        for name, *level in terms:
            column = table[name].fillna(fill[name]) if name in fill else table[name]
            x.append(table[name].isna() if level == [None] else column == level[0] if level else column)
        model = sm.GLM(
            table[response].to_numpy(float), np.column_stack(x).astype(float), getattr(sm.families, family)()
        )
        fits.append(model.fit(scale=None if family == "Binomial" else "X2"))
    for i, term in enumerate([("Intercept",), *terms]):
        b, variances = [fit.params[i] for fit in fits], [fit.bse[i] ** 2 for fit in fits]
        show(f"{{response}} on {{' = '.join(map(str, term))}}:", b, variances)
"""


def program(
    release: Release,
    facts: Mapping[str, Declared],
    numbers: Sequence[str],
    fill: Mapping[str, Any],
    regressions: Sequence[Regressed],
) -> str:
    """The lines; `fill` has what stands in for gaps of columns that may have some."""
    guarantee = release.guarantee
    levels = [name for name, each in facts.items() if each.levels]
    dates = [as_filed(release, name) for name, each in facts.items() if each.dates]
    text = [name for name in levels if isinstance(facts[name].levels[0], str)]
    said = [
        [
            "from glob import glob",
            "import numpy as np",
            "import pandas as pd",
            *(["import statsmodels.api as sm"] if regressions else []),
            *(["from scipy.stats import t"] if guarantee.m > 1 else []),
        ],
        [
            *reading_as_declared(release, text),
            *(DATES.format(names=shown(dates)).splitlines() if dates else []),
            f"n, m, each = {guarantee.n}, {guarantee.m}, {guarantee.tables_per_draw}  "
            "# confidential rows, draws, tables of each draw",
            "",
            "",
            *(SEVERAL if guarantee.m > 1 else ONE).splitlines(),
            "",
        ],
    ]
    filed = {as_filed(release, name): _filed(release, value) for name, value in fill.items()}
    parts: list[tuple[str, dict[str, Any]]] = [
        (MEANS, {"names": [as_filed(release, name) for name in numbers]}),
        (SHARES, {"names": [as_filed(release, name) for name in levels], "most": MOST_SHOWN}),
        (GAPS, {"names": list(filed)}),
        (REGRESSIONS, {"regressions": [_regression(release, each) for each in regressions], "fill": filed}),
    ]
    made = [
        words.format(**{name: shown(value) for name, value in names.items()}).rstrip()
        for words, names in parts
        if next(iter(names.values()))
    ]
    return "\n\n".join(["\n".join(lines) for lines in said] + made)


def _regression(release: Release, found: Regressed) -> tuple[str, str, list[tuple[Any, ...]]]:
    family = FAMILIES.get(found.kind, "Gaussian")
    return as_filed(release, found.response), family, [_term(release, term) for term in found.terms]


def _term(release: Release, term: Term) -> tuple[Any, ...]:
    name = as_filed(release, term.column)
    if term.gap:
        return (name, None)
    return (name,) if term.level is None else (name, _filed(release, term.level))


def _filed(release: Release, value: Any) -> Any:
    """A level or another value as the files have it."""
    return as_filed(release, value) if isinstance(value, str) else value
