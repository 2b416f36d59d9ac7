"""A page that compares fitted synthesizers of one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alphasynth.errors import InputError
from alphasynth.evaluation.values import conform, read_records
from alphasynth.mechanisms.by_column import applied
from alphasynth.pages import confidential_page, page
from alphasynth.pages.confidential_page import Measuring, measured, rates_of
from alphasynth.tables.frames import Frame
from alphasynth.tables.grouping import Stored

if TYPE_CHECKING:
    from alphasynth.synthesizer import Synthesizer


def _columns(synthesizer: Synthesizer) -> list[str]:
    """Columns that a synthesizer makes, then those it makes them from."""
    covariates = [name for formula in synthesizer.formulas for name in formula.covariates]
    return list(dict.fromkeys((*synthesizer.responses, *covariates)))


def comparison_page(table: Frame | Stored, synthesizers: Sequence[Synthesizer], title: str | None = None) -> str:
    """A confidential page, as HTML, that compares fitted synthesizers of one table: weights, bounds, utility, risk.

    All must synthesize the same column and have the same columns on the right-hand side. Raises `InputError`.

    >>> import pandas as pd
    >>> try:
    ...     comparison_page(pd.DataFrame({"y": [4, 6, 5]}), synthesizers=[])  # [one.fit(table), other.fit(table)]
    ... except InputError as error:
    ...     print(error)
    synthesizers must hold at least one that was fitted, found none
    """
    if not synthesizers:
        raise InputError("synthesizers must hold at least one that was fitted, found none")
    formula = synthesizers[0].formulas[0]
    names = _columns(synthesizers[0])
    if any(_columns(s) != names for s in synthesizers):
        raise InputError("synthesizers must be of the same columns to be compared, found others")
    records = read_records(table, names)
    outcomes = []
    for s in synthesizers:
        weighting = None if s.strict else s.weightings_[-1]
        release = s.release()
        tables = [conform(records, read_records(t, names)) for t in release.tables]
        rules = [type(applied(rule)).__name__ for rule in s.trail_.rules]
        rates = rates_of(records, tables, formula.covariates)
        outcomes.append(
            measured(
                weighting,
                s.mechanism.label,
                rules,
                records,
                tables,
                Measuring(draws=release.draws, public=s.public, scalar=release.guarantee.spread),
                rates,
            )
        )
    labels = [o.label for o in outcomes]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"synthesizers must have labels of their own (Mechanism(label, ...)), found {twice!r} twice")
    heads = ("synthesizer", "Delta", "epsilon per draw", "draws", "epsilon in all")
    numbers = [(o.label, s.guarantee_) for o, s in zip(outcomes, synthesizers, strict=True)]
    lines = [
        (
            label,
            None if g.strict else page.bound(g.delta),
            None if g.strict and g.strict.scored else page.bound(g.epsilon_per_draw),
            g.m,
            page.bound(g.epsilon_total),
        )
        for label, g in numbers
    ]
    promises = dict.fromkeys(clause for _, g in numbers for clause in g.public().clauses)
    claims = [page.table("Realised epsilon, rounded up", heads, lines, series=True), page.items(*promises)]
    built = confidential_page.build(title or f"Synthesizers of {formula.response} compared", records, outcomes, claims)
    return page.render(built)
