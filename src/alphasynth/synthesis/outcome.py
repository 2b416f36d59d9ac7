"""A request carried out on records: by the fold of rules over fits, or by noisy scores; and new rows from its draws."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from alphasynth.mechanisms import scored_fit
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.mechanism import Step, Trail, Watch, ignore, run
from alphasynth.mechanisms.scored import Scored
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.randomness import Key, child
from alphasynth.privacy.strict_terms import StrictTerms
from alphasynth.synthesis.generation import TableMaker
from alphasynth.synthesis.preparation import bind, epsilons_of, mechanism_of
from alphasynth.synthesis.request import Request
from alphasynth.synthesis.simulation import thetas
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


def scored_terms(request: Request, carried: Carried) -> StrictTerms:
    """What the promise of noisy scores rests on."""
    model = carried.bound.model
    return scored_fit.terms(model.names, carried.paths, epsilons_of(request, model))


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
