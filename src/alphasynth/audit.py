"""Is the claim kept? Density, draw and black-box audits of a mechanism on a table; what they find is confidential."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from alphasynth.black_box import Tell, audit_black_box
from alphasynth.chain import AnyProblem, Chain, blocks_of, columns_of
from alphasynth.contribution import Bounded, plain
from alphasynth.counts import NegativeBinomial, Poisson
from alphasynth.density_audit import loss_between, output
from alphasynth.divergence import AUDIT_DELTA
from alphasynth.draw_audit import LARGE, Found, Replay, audit_draws
from alphasynth.errors import InputError, found
from alphasynth.finding import Finding
from alphasynth.fit import Problem, in_64_bit
from alphasynth.mechanism import Mechanism, Trail
from alphasynth.neighbours import (
    FARTHEST,
    Canary,
    Neighbour,
    check_canaries,
    far_values,
    neighbours,
    with_canaries,
    with_count_canaries,
    with_leverage,
)
from alphasynth.public_grid import QUANTA, Axis, PublicGrid, cost_of_row, prepare, prior_weights, total_cost
from alphasynth.records import Records
from alphasynth.sampler import Key
from alphasynth.strict import Recentring
from alphasynth.two_part import ZeroInflated
from alphasynth.weights import Given, PerColumn

AUDITS = ("density", "draw", "black-box")
# Distinct rows whose removal is audited unless told; a synthesis audits fewer by itself.
MOST_ROWS, FEWER_ROWS, FEWEST_ROWS = 400, 48, 4
# Neighbours of an exact audit that are bound and summed anew, beside those with canaries.
BOUND_WHOLE = 4
TWO_PARTS = (
    "draws that follow a first one (Recentred) have an audit on a public grid, or a black-box one, found another"
)
COUNTS = (Poisson, NegativeBinomial, ZeroInflated)  # families that hold a count of any size


@dataclass(frozen=True, eq=False)
class Subject:
    """What is audited (confidential): a run's trail, and how its mechanism is run on other records."""

    trail: Trail
    records: Records
    bind: Callable[[Records], AnyProblem]
    mechanism: Mechanism
    target: float | None
    scope: str

    def __post_init__(self) -> None:
        """Refuse weights that belong to the rows of one table."""
        if any(isinstance(rule, Given) for rule in self.mechanism.rules):
            raise InputError("an audit needs weights that can be made for a neighbour, found Given ones")
        if any(isinstance(rule, PerColumn) for rule in self.mechanism.rules):
            raise InputError("an audit needs one weight per record, found weights per column")


def audit(
    key: Key,
    subject: Subject,
    audits: Sequence[str],
    canaries: Sequence[float] = (),
    most: int = MOST_ROWS,
    trials: int = 400,
    tell: Tell = lambda doing, done, steps: None,
) -> list[Finding]:
    """Audit a mechanism, by each of the audits named; canaries of the user's come beside 0 and far outliers.

    `tell` is told what is being done, how many of how many steps are.
    """
    for name in audits:
        if name not in AUDITS:
            raise InputError(f"an audit must be one of {', '.join(AUDITS)}, found {found(name)}")
    own = subject.bind(subject.records)
    if isinstance(own, Chain):
        return [_audit_chain(subject, own, audits, canaries, most)]
    values = far_values(subject.records) | check_canaries(canaries)
    held, added = with_canaries(subject.records, values)
    held, added = _with_leverage(subject, held, added, [held.response], [held.response])
    replay = Replay.of(subject.trail, held, subject.bind, subject.target)
    around = neighbours(held, added, replay.largest[0], most)
    chosen = {
        "density": lambda: _density(subject, replay, around, tell),
        "draw": lambda: _draw(subject, replay, around),
        "black-box": lambda: _black_box(key, subject, replay, around, trials, tell),
    }
    return [chosen[name]() for name in audits]


def _audit_chain(subject: Subject, own: Chain, audits: Sequence[str], canaries: Sequence[float], most: int) -> Finding:
    """The draw audit of a chain: records removed, and canaries in its columns of counts."""
    if list(audits) != ["draw"]:
        raise InputError(f"a table model has the draw audit, found {', '.join(audits)}")
    if any(block.then is not None for block in own.blocks):
        raise InputError(TWO_PARTS)
    counts = [n for n, b in zip(own.names, own.blocks, strict=True) if isinstance(plain(b.model), COUNTS)]
    largest = subject.trail.fits[0].largest_distinct
    held, added = with_count_canaries(subject.records, counts, int(np.argmax(largest)), check_canaries(canaries))
    held, added = _with_leverage(subject, held, added, counts, own.names)
    replay = Replay.of(subject.trail, held, subject.bind, subject.target)
    results = audit_draws(replay, neighbours(held, added, replay.largest[0], most, by_risk=True))
    bounded = [block.model.epsilon for block in own.blocks if isinstance(block.model, Bounded)]
    if bounded:
        results = [replace(one, claim=sum(bounded)) for one in results]
    return replace(_worst("draw", subject, results, AUDIT_DELTA), certain=replay.faithful)


def _with_leverage(
    subject: Subject, held: Records, added: list[Canary], responses: Sequence[str], synthesized: Sequence[str]
) -> tuple[Records, list[Canary]]:
    """With records far beyond the table's covariates, where the model can hold them as it was fitted."""
    if subject.records.size > LARGE:
        return held, added
    more, canaries = with_leverage(held, added, responses, synthesized)
    if len(canaries) == len(added):
        return held, added
    try:
        problem = subject.bind(more)
    except InputError:  # limits or levels that were declared
        return held, added
    pairs = zip(blocks_of(problem), columns_of(subject.trail.fits[-1]), strict=True)
    same = all(block.model.prior.size == column.draws.u.shape[1] for block, column in pairs)
    return (more, canaries) if same else (held, added)


def _worst(audit: str, subject: Subject, results: Sequence[Found], delta: float) -> Finding:
    """The neighbour whose loss is largest beside its claim."""
    worst = max(results, key=lambda one: (one.loss / one.claim if one.claim > 0 else np.inf * one.loss, one.loss))
    return Finding(audit, subject.scope, worst.claim, worst.loss, delta, len(results), worst.name)


def one_column(problem: AnyProblem) -> Problem:
    """The problem of one column; chains went another way."""
    assert isinstance(problem, Problem), "a chain has an audit of its own"
    return problem


def _on_public_grid(problem: Problem) -> bool:
    return isinstance(problem.model, Bounded) and isinstance(problem.sampler, PublicGrid)


def _draw(subject: Subject, replay: Replay, around: Sequence[Neighbour]) -> Finding:
    if one_column(replay.problem).then is not None:
        raise InputError(TWO_PARTS)
    if _on_public_grid(one_column(replay.problem)):
        raise InputError("draws on a public grid have an exact audit: use density, found draw")
    results = audit_draws(replay, around)
    model = one_column(replay.problem).model
    if isinstance(model, Bounded):
        results = [replace(one, claim=model.epsilon) for one in results]
    return replace(_worst("draw", subject, results, AUDIT_DELTA), certain=replay.faithful)


def _density(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> Finding:
    problem = one_column(replay.problem)
    if _on_public_grid(problem):
        results = (
            _both_parts(subject, replay, around, tell) if problem.then else exact_losses(subject, replay, around, tell)
        )
        return _worst("density", subject, results, 0.0)
    if problem.then is not None:
        raise InputError(TWO_PARTS)
    own = output(one_column(subject.bind(subject.records)), subject.mechanism, subject.target)
    strict = problem.model.epsilon if isinstance(problem.model, Bounded) else None
    delta = AUDIT_DELTA if strict is None else 0.0
    results = []
    for number, neighbour in enumerate(around):
        tell(f"density audit: neighbour {number + 1:,} of {len(around):,}", number, len(around))
        other = output(one_column(subject.bind(neighbour.records(replay.held))), subject.mechanism, subject.target)
        claim = max(own.claim, other.claim) if strict is None else strict
        results.append(Found(neighbour.name, loss_between(own, other, delta), claim))
    return _worst("density", subject, results, delta)


def _both_parts(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> list[Found]:
    """Exact losses of a mechanism in two parts: that of the first draw, and that of one after it, added up.

    The second depends on the first draw; it is taken at one that the run released.
    """
    first = columns_of(subject.trail.fits[-1])[0].draws.take(np.array([0]))

    def bind_first(records: Records) -> Problem:
        return replace(one_column(subject.bind(records)), then=None)

    def bind_second(records: Records) -> Problem:
        problem = one_column(subject.bind(records))
        assert problem.then is not None, "two parts"
        return problem.then(problem, first)

    parts = []
    for bind in (bind_first, bind_second):
        part = replace(subject, bind=bind)
        parts.append(exact_losses(part, replace(replay, problem=bind(replay.held)), around, tell))
    return [Found(one.name, one.loss + two.loss, one.claim + two.claim) for one, two in zip(*parts, strict=True)]


@in_64_bit
def exact_losses(
    subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell = lambda doing, done, steps: None
) -> list[Found]:
    """Loss at delta 0 of exact draws on a public grid, from the same whole numbers that the draws are made from.

    A neighbour's sums are the table's own, one row's cost more or less. The worst of these neighbours, and those with
    canaries, are also bound and summed whole, as a run on them would be: a contribution that reads other records would
    show there.
    """
    problem, held = one_column(replay.problem), replay.held
    model, grid = problem.model, problem.sampler
    assert isinstance(model, Bounded)
    assert isinstance(grid, PublicGrid)
    axes = grid.axes(model, problem.rows.columns)
    own = _cost(one_column(subject.bind(subject.records)), axes)
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
        other = _cost(one_column(subject.bind(around[i].records(held))), axes)
        changes[i] = max(changes[i], loss_of_change(weight, other - own, model.epsilon))
    return [Found(neighbour.name, loss, model.epsilon) for neighbour, loss in zip(around, changes, strict=True)]


def _cost(problem: Problem, axes: tuple[Axis, ...]) -> np.ndarray:
    """Sums of a database, by point."""
    model, rows = problem.model, problem.rows
    assert isinstance(model, Bounded)
    return total_cost(model, axes, rows.distinct, rows.total(problem.records.counts)[: rows.size])


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


def _black_box(
    key: Key, subject: Subject, replay: Replay, around: Sequence[Neighbour], trials: int, tell: Tell
) -> Finding:
    """Towards the neighbour that the exact or the draw audit finds worst."""
    exact = _on_public_grid(one_column(replay.problem))
    results = (
        (_both_parts if one_column(replay.problem).then else exact_losses)(subject, replay, around, tell)
        if (exact)
        else audit_draws(replay, around)
    )
    place = int(np.argmax([one.loss for one in results]))
    other = one_column(subject.bind(around[place].records(replay.held)))
    claim = results[place].claim
    if isinstance(other.model, Bounded):
        claim = other.then.in_all if isinstance(other.then, Recentring) else other.model.epsilon
    delta = 0.0 if isinstance(other.model, Bounded) else AUDIT_DELTA
    own = one_column(subject.bind(subject.records))
    seen = audit_black_box(key, other, own, subject.mechanism, subject.target, trials, delta, tell)
    return Finding("black-box", subject.scope, claim, seen.bound, delta, 1, around[place].name, ceiling=seen.ceiling)


def audit_run(subject: Subject) -> Finding:
    """The draw audit that a synthesis makes of itself; of a large table, towards the most extreme neighbours alone."""
    most = FEWER_ROWS if subject.records.size <= LARGE else FEWEST_ROWS
    far = [FARTHEST] if subject.trail.guide is not None and _holds_counts(subject) else []
    return audit(np.random.SeedSequence(0), subject, ["draw"], far, most)[0]


def _holds_counts(subject: Subject) -> bool:
    """Whether the largest count that a model takes can be added."""
    problem = subject.bind(subject.records)
    return isinstance(problem, Problem) and isinstance(plain(problem.model), COUNTS)
