"""Exact losses of draws on a public grid, from the whole numbers that they are made from (confidential)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from alphasynth.audits.black_box import Tell
from alphasynth.audits.draws import Found
from alphasynth.audits.neighbours import Neighbour
from alphasynth.exact.public_grid import QUANTA, Axis, PublicGrid, cost_of_row, prepare, prior_weights, total_cost
from alphasynth.inference.contribution import Bounded
from alphasynth.mechanisms.fit import Problem, in_64_bit
from alphasynth.tables.records import Records

# Neighbours of an exact audit that are bound and summed anew, beside those with canaries.
BOUND_WHOLE = 4


@in_64_bit
def exact_losses(
    records: Records,
    extended: Records,
    problem: Problem,
    bind: Callable[[Records], Problem],
    around: Sequence[Neighbour],
    tell: Tell = lambda doing, done, steps: None,
) -> list[Found]:
    """Loss at delta 0 of exact draws on a public grid, from the same whole numbers that the draws are made from.

    A neighbour's sums are the table's own, one row's cost more or less. The worst of these neighbours, and those with
    canaries, are also bound and summed whole, as a run on them would be: a contribution that reads other records would
    show there. `problem` is that of `extended`, the records with canaries; `bind` makes that of others.
    """
    model, grid = problem.model, problem.sampler
    assert isinstance(model, Bounded)
    assert isinstance(grid, PublicGrid)
    axes = grid.axes(model, problem.rows.columns)
    bound = bind(records)
    own = _cost(bound, axes)
    weight = own_weights(model, axes, own)
    columns, lines = problem.rows.distinct, problem.rows.of
    shared = prepare(model, axes, columns)
    changes = []
    for neighbour in around:
        line = lines[neighbour.row]
        one = cost_of_row(model, axes, shared, {name: column[line : line + 1] for name, column in columns.items()})
        changes.append(loss_of_change(weight, one if neighbour.added else -one, model.epsilon))
    order = np.argsort(changes)[::-1]
    whole = {*order[:BOUND_WHOLE].tolist(), *(i for i, neighbour in enumerate(around) if neighbour.added)}
    for number, i in enumerate(sorted(whole)):
        tell(f"exact audit: neighbour {number + 1:,} of {len(whole):,} bound whole", number, len(whole))
        change = _change(bound, bind(around[i].records(extended)), axes, own)
        changes[i] = max(changes[i], loss_of_change(weight, change, model.epsilon))
    return [Found(neighbour.name, loss, model.epsilon) for neighbour, loss in zip(around, changes, strict=True)]


def _cost(problem: Problem, axes: tuple[Axis, ...]) -> np.ndarray:
    """Sums of a database, by point."""
    model, rows = problem.model, problem.rows
    assert isinstance(model, Bounded)
    return total_cost(model, axes, rows.distinct, rows.total(problem.records.counts)[: rows.size])


def _change(own: Problem, other: Problem, axes: tuple[Axis, ...], cost: np.ndarray) -> np.ndarray:
    """By how much sums differ in another database, by point, if `cost` are this one's.

    Lines that are bound alike, to the last bit, cost the same in both, and only what is left of the others is counted.
    Where the models differ, or what they read, all are.
    """
    model, both = own.model, (own.rows.distinct, other.rows.distinct)
    if model != other.model or {*both[0]} != {*both[1]}:
        return _cost(other, axes) - cost
    assert isinstance(model, Bounded)
    columns = {name: np.concatenate([part[name] for part in both]) for name in both[0]}
    before, after = (p.rows.total(p.records.counts)[: p.rows.size] for p in (own, other))
    counts = np.concatenate([-before, after])
    lines = np.concatenate([column.reshape(len(counts), -1) for column in columns.values()], axis=1)
    bits = np.ascontiguousarray(lines, np.float64).view(np.int64)  # 0.0 and -0.0 are two lines
    _, place, of = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    changed = np.bincount(of.ravel(), counts)
    return total_cost(model, axes, {name: column[place] for name, column in columns.items()}, changed)


def own_weights(model: Bounded, axes: tuple[Axis, ...], cost: np.ndarray) -> np.ndarray:
    """Probabilities of the points, by sums of the database."""
    log_weight = np.log(prior_weights(model, axes).astype(np.float64)) - (cost - cost.min()) * (model.epsilon / QUANTA)
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum()


def loss_of_change(weight: np.ndarray, change: np.ndarray, epsilon: float) -> float:
    """Largest |log ratio| where sums change by these quanta: h less the logarithm of the mean of exp(h), h = -change.

    The change itself is in whole numbers, so that no large sum is subtracted from another.
    """
    h = -change * (epsilon / QUANTA)
    top = h.max()
    mean = top + np.log(np.sum(weight * np.exp(h - top)))
    return float(max(top - mean, mean - h.min()))
