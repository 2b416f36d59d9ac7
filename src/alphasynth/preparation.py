"""What a request makes of a table: its records, the layout of the release, and the problem to fit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from alphasynth import strict
from alphasynth.accounting import per_draw, split
from alphasynth.automatic import Automatic
from alphasynth.binding import BoundTable, bind_table
from alphasynth.chain import AnyProblem, Chain
from alphasynth.contribution import Censored, Recentred, Strict
from alphasynth.errors import InputError
from alphasynth.families import FAMILIES, bind_column, holds_whole
from alphasynth.fit import Problem, in_64_bit
from alphasynth.frames import Frame, column_names
from alphasynth.gaps import frame_without_gaps, without_gaps
from alphasynth.grouping import Grouped, Stored
from alphasynth.guide import guide_of
from alphasynth.mechanism import Mechanism
from alphasynth.model import Model, Rows
from alphasynth.own_model import OwnModel
from alphasynth.priors import NormalPrior
from alphasynth.public_grid import PublicGrid
from alphasynth.records import Records
from alphasynth.request import Request
from alphasynth.sampler import Sampler
from alphasynth.synthesize import Layout
from alphasynth.table_model import ColumnModel, TableModel
from alphasynth.weights import BW, Given, PerColumn

# Chains have columns that others determine, such as indicators that exclude each other: under the paper's prior, whose
# tails are heavy, their coefficients would wander off.
CHAIN_PRIOR = NormalPrior(2.5)


class Read(NamedTuple):
    """A table as it was read (confidential): records, layout, what a store grouped it into, the model of its gaps."""

    records: Records
    layout: Layout
    grouped: Grouped | None
    model: TableModel | None


def read(request: Request, table: Frame | Stored) -> Read:
    """The records on every column in use, the layout of the release, and what a stored table was grouped into."""
    names, strict_mechanism = request.used, request.strict
    held = list(table.column_names) if isinstance(table, Stored) else column_names(table)
    request.check_columns(held, listed=not isinstance(table, Stored) or table.names_are_public)
    if isinstance(table, Stored):
        grouped, model = table.group(names, request.public), None
        if request.model is not None:
            grouped, model = without_gaps(grouped, request.model, strict_mechanism)
        return Read(Records.from_grouped(grouped), Layout.of_grouped(grouped, request.responses, held), grouped, model)
    if request.model is None:
        records = Records.from_table(table, names)
        return Read(records, Layout.of(table, request.responses, request.public), None, None)
    table, arrow, model = frame_without_gaps(table, names, request.model, strict_mechanism)
    layout = Layout.of(table, request.responses, request.public)
    if strict_mechanism:
        layout = _with_public_types(layout, model)
    return Read(Records.from_arrow(arrow), layout, None, model)


def _with_public_types(layout: Layout, model: TableModel) -> Layout:
    """Numbers of pandas in the types that declarations make: pandas' own tell whether there is a gap or a fraction."""
    if layout.kind != "pandas":
        return layout
    import pandas as pd

    empty = dict(layout.empty)
    for column in model.columns:
        if getattr(empty[column.name].dtype, "kind", "O") in "iuf":
            levels = column.declared.levels
            whole = all(isinstance(v, int) for v in levels) if levels else holds_whole(column.family, column.declared)
            gaps = column.declared.missing in ("model", "public")
            kind = ("Int64" if gaps else "int64") if whole else "float64"
            empty[column.name] = pd.Series([], dtype=kind).array
    return replace(layout, empty=empty)


@in_64_bit
def bind(request: Request, records: Records) -> Problem:
    """Records bound to the model of one column and the sampler."""
    records = _split(request, records)
    (formula,) = request.formulas
    model: Model
    if isinstance(request.family, OwnModel):
        model, rows = request.family.bind(formula, records, request.strict)
    else:
        model, rows = bind_column(formula, request.family, records, request.prior, request.strict)
    contribution = request.mechanism.contribution
    if contribution is None:
        return _problem(request, records, model, rows)
    assert request.epsilon is not None, "checked at the door"
    share = per_draw(request.epsilon, request.m)
    return _strict_problem(request, records, model, rows, contribution, share, request.sampler)


@in_64_bit
def bind_model(request: Request, model: TableModel, records: Records) -> BoundTable:
    """A table model bound to records; each block has its own sampler and, if strict, its share of epsilon."""
    records = _split(request, records)
    whole = model.with_indicators()
    epsilons: tuple[float, ...] = ()
    if request.strict:
        assert request.epsilon is not None, "checked at the door"
        epsilons = split(request.epsilon, request.m, whole.shares)

    def finish(number: int, column: Model, rows: Rows) -> Problem:
        sampler = request.sampler
        if isinstance(sampler, PublicGrid) and "X" in rows.columns:
            raise InputError("a public grid takes columns without covariates in a table model, found some with")
        if not request.strict:
            return _problem(request, records, column, rows, whole.shares[number], _cut(whole.columns[number]))
        # Of a column with covariates there may be as many distinct rows as records: too many for a grid.
        chosen = sampler or Automatic() if "X" in rows.columns else sampler
        contribution = _contribution(request, whole.columns[number])
        return _strict_problem(request, records, column, rows, contribution, epsilons[number], chosen)

    prior = request.prior
    if prior is None and len(whole.columns) > 1:
        prior = CHAIN_PRIOR
    return bind_table(whole, records, finish, prior, request.strict)


def mechanism_of(request: Request, problem: AnyProblem) -> Mechanism:
    """The mechanism, its rules applied to every column of a chain where each has weights of its own."""
    if request.weights == "record" or not isinstance(problem, Chain):
        return request.mechanism
    rules = tuple(PerColumn(rule, problem.shares) for rule in request.mechanism.rules)
    return replace(request.mechanism, rules=rules)


def _problem(
    request: Request, records: Records, model: Model, rows: Rows, share: float = 1.0, cut: float = Censored.cut
) -> Problem:
    """The problem of a column; of budget weights with the guide, which has half of the column's share of epsilon."""
    problem = Problem(records, model, rows, request.sampler or Automatic(), request.num_draws, request.thresh)
    if request.target is None or not any(isinstance(rule, BW) for rule in request.mechanism.rules):
        return problem
    return replace(problem, guide=guide_of(problem, request.m * request.target * share, cut))


def _strict_problem(
    request: Request,
    records: Records,
    model: Model,
    rows: Rows,
    contribution: Strict,
    epsilon: float,
    sampler: Sampler | None,
) -> Problem:
    """The problem of a strict contribution, at its epsilon per draw."""
    model, chosen, then = strict.bind(contribution, model, rows, epsilon, request.m, request.grid, sampler)
    return Problem(records, model, rows, chosen, request.num_draws, request.thresh, then)


def _contribution(request: Request, column: ColumnModel) -> Strict:
    """The strict contribution of a column: cut where its family is, unless the user said where.

    Of more than two levels each is less likely, so the cut lies that much lower.
    """
    contribution = request.mechanism.contribution
    assert contribution is not None, "strict"
    if request.cut_is_given or not isinstance(contribution, Censored | Recentred):
        return contribution
    return replace(contribution, cut=_cut(column))


def _cut(column: ColumnModel) -> float:
    """Where a column's records are cut unless told."""
    return FAMILIES[column.family].cut + math.log(max(len(column.declared.levels), 2) / 2)


def _split(request: Request, records: Records) -> Records:
    """Records told apart by weights of the user's own."""
    for rule in request.mechanism.rules:
        if isinstance(rule, Given):
            if len(rule.alpha) != records.n:
                raise InputError(
                    f"alpha must have one weight per record, found {len(rule.alpha):,} for {records.n:,} records"
                )
            records = records.split(rule.alpha)
    return records
