"""A request carried out on records: by the fold of rules over fits, or by noisy scores; and new rows from its draws."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from alphasynth.mechanisms import scored_fit
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import AnyFit, AnyProblem, columns_of
from alphasynth.mechanisms.fit import Problem
from alphasynth.mechanisms.mechanism import Step, Trail, Watch, ignore, run
from alphasynth.mechanisms.scored import Scored
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.accounting import within
from alphasynth.privacy.randomness import Key, child
from alphasynth.privacy.strict_terms import StrictTerms
from alphasynth.synthesis.generation import TableMaker
from alphasynth.synthesis.preparation import bind, bind_model, epsilons_of, mechanism_of
from alphasynth.synthesis.request import Request
from alphasynth.synthesis.simulation import new_values, thetas
from alphasynth.tables.records import Records


class Carried(NamedTuple):
    """What a mechanism made of records (confidential); `bound` of a table model, `paths` of noisy scores."""

    problem: AnyProblem
    bound: BoundTable | None
    trail: Trail
    paths: tuple[scored_fit.Path, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that have a model."""
        return (self.problem.records.response,) if self.bound is None else self.bound.model.names


def bound_to(request: Request, model: TableModel | None, records: Records) -> tuple[AnyProblem, BoundTable | None]:
    """Records bound to the model of one column, or to a table model."""
    if model is None:
        return bind(request, records), None
    bound = bind_model(request, model, records)
    return bound.chain, bound


def carry_out(key: Key, request: Request, model: TableModel | None, records: Records, watch: Watch = ignore) -> Carried:
    """Run the mechanism on records; raise what its fits and searches raise."""
    problem, bound = bound_to(request, model, records)
    scored = request.mechanism.contribution
    if not isinstance(scored, Scored):
        mechanism = mechanism_of(request, problem)
        return Carried(problem, bound, run(key, problem, mechanism, request.target, watch))
    watch(Step(1, 1, 1))
    begin = time.perf_counter()
    fitted: AnyFit
    if bound is None:
        assert isinstance(problem, Problem), "one column"
        assert request.epsilon is not None, "checked at the door"
        fitted, path = scored_fit.fit_alone(key, problem, scored, within(request.epsilon))
        paths: tuple[scored_fit.Path, ...] = (path,)
    else:
        fitted, paths = scored_fit.fit_table(key, bound, scored, epsilons_of(request, bound.model))
    trail = Trail(request.mechanism.label, (fitted,), seconds=(time.perf_counter() - begin,))
    return Carried(problem, bound, trail, paths)


def scored_terms(request: Request, carried: Carried) -> StrictTerms:
    """What the promise of noisy scores rests on."""
    assert request.epsilon is not None, "checked at the door"
    alone = carried.bound is None
    epsilons = (within(request.epsilon),) if alone else epsilons_of(request, carried.bound.model)  # type: ignore[union-attr]
    return scored_fit.terms(carried.names, carried.paths, epsilons)


def new_rows(key: Key, carried: Carried, number: int) -> dict[str, Any]:
    """Synthesized columns of as many new records as there are, from one of the draws; gaps are not a number or None."""
    rng = np.random.default_rng(child(key, 0))
    drawn = [column.draws for column in columns_of(carried.trail.fits[-1])]
    if carried.bound is None:
        assert isinstance(carried.problem, Problem), "one column"
        return {carried.names[0]: new_values(rng, carried.problem, drawn[0], number)}
    one = tuple(thetas(draws.take(np.array([number])))[0] for draws in drawn)
    maker = TableMaker(carried.bound, one)
    filled = maker.begin(child(key, 1), rng)(np.arange(maker.n))
    return {name: part.values for name, part in filled.items()}
