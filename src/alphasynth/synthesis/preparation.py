"""What a request makes of a table: its records, the layout of the release, and the problem to fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from alphasynth.errors import Gathering, InputError, gathering
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.contribution import SURVEY, Censored, Recentred, Strict, SurveyWeighted
from alphasynth.inference.density import outside
from alphasynth.inference.stan_sampler import StanSampler
from alphasynth.mechanisms import strict
from alphasynth.mechanisms.binding import BoundTable, bind_table
from alphasynth.mechanisms.by_column import PerColumn
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import Problem, in_64_bit
from alphasynth.mechanisms.guide import guide_of
from alphasynth.mechanisms.mechanism import Mechanism
from alphasynth.mechanisms.rules import BW, Given
from alphasynth.mechanisms.scored import Scored
from alphasynth.models.coefficient_priors import NormalPrior
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.model import Model, Rows
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.accounting import first_parts, split, within
from alphasynth.privacy.approximate import rho_of_row, split_squares
from alphasynth.synthesis.checks import check_rows
from alphasynth.synthesis.gaps import frame_without_gaps, without_gaps
from alphasynth.synthesis.public_types import with_public_types
from alphasynth.synthesis.request import Request
from alphasynth.synthesis.simulation import Layout
from alphasynth.tables.frames import Frame, column_names
from alphasynth.tables.grouping import Grouped, Stored
from alphasynth.tables.records import Records

# Chains have columns that others determine, such as indicators that exclude each other: under the paper's prior, whose
# tails are heavy, their coefficients would wander off.
CHAIN_PRIOR = NormalPrior(2.5)


class Read(NamedTuple):
    """A table as it was read (confidential): records, layout, what a store grouped it into, the model of its gaps."""

    records: Records
    layout: Layout
    grouped: Grouped | None
    model: TableModel


def read(request: Request, table: Frame | Stored) -> Read:
    """The records on every column in use, the layout of the release, and what a stored table was grouped into.

    The layout of a strict release has the types that declarations make. Raise `InputError`; gaps that were not declared
    are said with all else that the model refuses of the table.
    """
    with gathering() as problems:
        found = _read(request, table, problems)
        if problems:
            bind(request, found.model, found.records)
    if not request.strict:
        return found
    return found._replace(layout=with_public_types(found.layout, found.model))


def _read(request: Request, table: Frame | Stored, problems: Gathering) -> Read:
    names, strict_mechanism = request.used, request.strict
    in_table = list(table.column_names) if isinstance(table, Stored) else column_names(table)
    request.check_columns(in_table, listed=not isinstance(table, Stored) or table.names_are_public)
    if isinstance(table, Stored):
        grouped, model = table.group(names, request.public), request.model
        if not request.undeclared:
            grouped, model = without_gaps(grouped, model, strict_mechanism, problems)
        return Read(
            Records.from_grouped(grouped), Layout.of_grouped(grouped, request.responses, in_table), grouped, model
        )
    if request.undeclared:  # gaps are refused where records are
        records = Records.from_table(table, names)
        return Read(records, Layout.of(table, request.responses, request.public), None, request.model)
    table, arrow, model = frame_without_gaps(table, names, request.model, strict_mechanism, problems)
    layout = Layout.of(table, request.responses, request.public)
    return Read(Records.from_arrow(arrow), layout, None, model)


@in_64_bit
def bind(request: Request, model: TableModel, records: Records, max_rows: int = 1) -> BoundTable:
    """A model bound to records; each block has its own sampler and, if strict, its share of epsilon.

    A unit of privacy has up to `max_rows` rows.
    """
    check_rows(request.delta, records.n)
    records = _split(request, records)
    whole = model.with_indicators()
    if request.strict:
        whole = whole.with_parts()
    budgets = budgets_of(request, whole, max_rows) if request.strict else Budgets(())

    def finish(number: int, column: Model, rows: Rows) -> Problem:
        sampler = request.sampler
        if isinstance(sampler, PublicGrid) and "X" in rows.columns and len(whole.columns) > 1:
            raise InputError("a public grid takes columns without covariates in a table model, found some with")
        if not request.strict or request.scored:
            column, rows = _surveyed(request, column, rows, records)
            first, cut = _first(request, whole.shares, number), _cut(whole.columns[number])
            return _problem(request, records, column, rows, first, cut)
        contribution = _contribution(request, whole.columns[number])
        grid = request.grid if whole.names[number] in model.names else PublicGrid()  # that of a part is its default
        bounded, chosen, second = strict.bind(
            contribution, column, rows, budgets.by_column[number], request.m, grid, sampler, budgets.concentrated
        )
        return Problem(records, bounded, rows, chosen, request.num_draws, request.thresh, second)

    prior = request.prior
    if prior is None and (len(whole.columns) > 1 or request.scored):
        prior = CHAIN_PRIOR
    return bind_table(whole, records, finish, prior, request.strict)


def _surveyed(request: Request, model: Model, rows: Rows, records: Records) -> tuple[Model, Rows]:
    """A model and its rows, with survey weights in the likelihood where they are asked for."""
    if not request.survey_likelihood:
        return model, rows
    assert request.survey_weights is not None, "checked at the door"
    return SurveyWeighted(model), rows.with_column(SURVEY, survey_weights(records, request.survey_weights))


def survey_weights(records: Records, name: str) -> np.ndarray:
    """Survey weights by distinct row, in proportion to the column and so that those of all records sum to n."""
    column = records.columns[name]
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "iuf" or (column < 0).any():
        raise InputError(f"survey weights {name!r} must be numbers of at least 0, found others")
    if not (column > 0).any():
        raise InputError(f"survey weights {name!r} must not all be 0, found that they are")
    shares = column / column.max()  # so that no sum of large ones overflows
    return shares * (records.n / float((shares * records.counts).sum()))


def epsilons_of(request: Request, model: TableModel) -> tuple[float, ...]:
    """What each column may cost: in each draw, or where noise is added once, in all."""
    assert request.epsilon is not None, "checked at the door"
    return split(within(request.epsilon), 1 if request.scored else request.m, model.shares)


class Budgets(NamedTuple):
    """What each column may cost in each draw; `concentrated` where it is rho that adds up, and delta is spent."""

    by_column: tuple[float, ...]
    concentrated: bool = False


def budgets_of(request: Request, model: TableModel, max_rows: int = 1) -> Budgets:
    """What each column may cost in each draw: by rho where there is a delta and that gives more, else by epsilon.

    Decided from public numbers alone: the policy's, the draws, the columns' shares, the rows of a unit.
    """
    pure = Budgets(epsilons_of(request, model))
    if request.delta is None:
        return pure
    assert request.epsilon is not None, "checked at the door"
    rho = rho_of_row(request.epsilon, request.delta, max_rows)
    squares = Budgets(split_squares(rho, request.m, model.shares), concentrated=True)
    return squares if min(squares.by_column) > min(pure.by_column) else pure


def delta_spent(request: Request, max_rows: int = 1) -> float | None:
    """The delta that a fit will spend; None of a pure promise. A strict model's shares are the same for every table."""
    if request.delta is None:
        return None
    model = request.model.with_indicators().with_parts()
    return request.delta if budgets_of(request, model, max_rows).concentrated else None


def mechanism_of(request: Request, chain: Chain) -> Mechanism:
    """The mechanism, its rules applied to every column of a chain where each has weights of its own."""
    if request.weights == "record":
        return request.mechanism
    rules = tuple(PerColumn(rule, chain.shares) for rule in request.mechanism.rules)
    return replace(request.mechanism, rules=rules)


def _first(request: Request, shares: Sequence[float], number: int) -> float | None:
    """What the draw may cost that a column's budget weights are made from; None where there are no such weights."""
    if request.target is None or not any(isinstance(rule, BW) for rule in request.mechanism.rules):
        return None
    return first_parts(request.target, request.m, shares)[number]


def _problem(request: Request, records: Records, model: Model, rows: Rows, first: float | None, cut: float) -> Problem:
    """The problem of a column; of budget weights with the guide, which has half of the column's share of epsilon."""
    sampler = Automatic() if outside(model) is None else StanSampler()
    problem = Problem(records, model, rows, request.sampler or sampler, request.num_draws, request.thresh)
    return problem if first is None else replace(problem, guide=guide_of(problem, first, cut))


def _contribution(request: Request, column: ColumnModel) -> Strict:
    """The strict contribution of a column: cut where its family is, unless the user said where.

    Of more than two levels each is less likely, so the cut lies that much lower.
    """
    contribution = request.mechanism.contribution
    assert contribution is not None, "strict"
    assert not isinstance(contribution, Scored), "has no posterior"
    if request.cut_is_given or not isinstance(contribution, Censored | Recentred):
        return contribution
    return replace(contribution, cut=_cut(column))


def _cut(column: ColumnModel) -> float:
    """Where a column's records are cut unless told."""
    return column.traits.cut + math.log(max(len(column.declared.levels), 2) / 2)


def _split(request: Request, records: Records) -> Records:
    """Records told apart by weights of the user's own."""
    for rule in request.mechanism.rules:
        if isinstance(rule, Given):
            if len(rule.alpha) != records.n:
                raise InputError(
                    f"given must have one weight per record, found {len(rule.alpha):,} for {records.n:,} records"
                )
            records = records.split(rule.alpha)
    return records
