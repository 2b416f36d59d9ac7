"""A request carried out on records: by the fold of rules over fits, or by noisy scores; and new rows from its draws."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms import scored_fit, strict
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.mechanism import Step, Trail, Watch, ignore, run
from alphasynth.mechanisms.scored import Scored
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.guarantee import Guarantee
from alphasynth.privacy.randomness import Key, child
from alphasynth.privacy.strict_terms import StrictTerms
from alphasynth.synthesis.generation import TableMaker
from alphasynth.synthesis.preparation import bind, budgets_of, epsilons_of, mechanism_of
from alphasynth.synthesis.request import Request
from alphasynth.synthesis.simulation import thetas
from alphasynth.synthesis.statements import stated_columns, stated_declarations, stated_marks
from alphasynth.tables.grouping import Unit
from alphasynth.tables.records import Records


class Carried(NamedTuple):
    """What a mechanism made of records (confidential); `paths` of noisy scores."""

    bound: BoundTable
    trail: Trail
    paths: tuple[scored_fit.Path, ...] = ()


def carry_out(
    key: Key, request: Request, model: TableModel, records: Records, watch: Watch = ignore, max_rows: int = 1
) -> Carried:
    """Run the mechanism on records; raise what its fits and searches raise. A unit has up to `max_rows` rows."""
    bound = bind(request, model, records, max_rows)
    scored = request.mechanism.contribution
    if not isinstance(scored, Scored):
        mechanism = mechanism_of(request, bound.chain)
        return Carried(bound, run(key, bound.chain, mechanism, request.target, watch))
    watch(Step(1, 1, 1))
    begin = time.perf_counter()
    fitted, paths = scored_fit.fit_table(key, bound, scored, epsilons_of(request, bound.model))
    trail = Trail(request.mechanism.label, (fitted,), seconds=(time.perf_counter() - begin,))
    return Carried(bound, trail, paths)


def guarantee_of(request: Request, carried: Carried, picked: np.ndarray, unit: Unit | None = None) -> Guarantee:
    """What is promised where these draws are released; `unit` is the unit of privacy where that is not a row."""
    bound, trail, _ = carried
    drawn = [column.draws for column in trail.fits[-1].columns]
    max_rows = 1 if unit is None else unit.max_rows
    promised = _terms(request, carried, [draws.take(picked) for draws in drawn], max_rows)
    marks = stated_marks(bound, request.model, request.read_off)
    return Guarantee(
        formulas=tuple(formula.text for formula in request.formulas),
        families=request.families,
        mechanism=request.mechanism.label,
        rules=tuple(type(rule).__name__ for rule in request.mechanism.rules),
        delta=trail.delta,
        m=request.m,
        n=bound.chain.records.n,
        num_draws=min(draws.num_draws for draws in drawn),
        sampler=_samplers(drawn),
        policy_epsilon=request.epsilon,
        policy_delta=request.delta,
        tables_per_draw=request.tables_per_draw,
        draws_asked=request.num_draws,
        thresh=request.thresh,
        public_columns=request.public,
        releasable=request.seed is None,
        strict=promised,
        columns=stated_columns(bound, promised),
        declared_public=stated_declarations(bound, marks),
        confirmed_public=request.confirmed_public,
        read_off_the_table=marks,
        weights=request.weights,
        unit_column=None if unit is None else unit.column,
        max_rows=max_rows,
        weighted_by=request.survey_weights if request.survey_likelihood else None,
    )


def _terms(request: Request, carried: Carried, released: Sequence[Draws], max_rows: int) -> StrictTerms | None:
    """What a strict promise rests on; None where there is none."""
    model = carried.bound.model
    if carried.paths:
        return scored_fit.terms(model.names, carried.paths, epsilons_of(request, model))
    concentrated = request.delta is not None and budgets_of(request, model, max_rows).concentrated
    return strict.terms(carried.bound.chain, released, concentrated)


def _samplers(drawn: Sequence[Draws]) -> str:
    """The sampler of the draws, or the one of most caution where there are several."""
    names = {draws.diagnostics.sampler for draws in drawn}
    exact = {"Grid", "PublicGrid"}
    return ", ".join(sorted(names - exact if names - exact else names))


def new_rows(key: Key, carried: Carried, number: int, rng: np.random.Generator | None = None) -> dict[str, Any]:
    """Synthesized columns of one new record beside each, in no order that matters, from one of the draws.

    Gaps are not a number or None. A single column takes its random numbers from `rng`, where one is given.
    """
    chain = carried.bound.chain
    drawn = [column.draws for column in carried.trail.fits[-1].columns]
    maker = TableMaker(carried.bound, tuple(thetas(draws.take(np.array([number])))[0] for draws in drawn))
    rngs = maker.generators(child(key, 1), rng or np.random.default_rng(child(key, 0)))
    order = np.argsort(chain.blocks[0].rows.of, kind="stable")
    made = maker.make(rngs, np.repeat(order, chain.records.counts[order]))
    return {name: part.values for name, part in made.items()}
