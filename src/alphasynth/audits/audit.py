"""Is the claim kept? Density, draw and black-box audits of a mechanism on a table; what they find is confidential."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from alphasynth.audits.black_box import Sampled, Tell, audit_black_box
from alphasynth.audits.densities import loss_between, output
from alphasynth.audits.draws import LARGE, Found, Replay, audit_draws
from alphasynth.audits.exact import exact_losses
from alphasynth.audits.finding import Finding
from alphasynth.audits.neighbours import (
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
from alphasynth.errors import InputError, found
from alphasynth.inference.contribution import Bounded, plain
from alphasynth.inference.public_grid import PublicGrid
from alphasynth.mechanisms.chain import AnyProblem, Chain, blocks_of, columns_of
from alphasynth.mechanisms.fit import Problem
from alphasynth.mechanisms.mechanism import Mechanism, Trail
from alphasynth.mechanisms.rules import Given, PerColumn
from alphasynth.mechanisms.scored import QUANTA as SCORE_QUANTA
from alphasynth.mechanisms.scored import contributions
from alphasynth.mechanisms.scored_fit import Path, scorable
from alphasynth.mechanisms.strict import Recentring
from alphasynth.models.counts import NegativeBinomial, Poisson
from alphasynth.models.two_part import ZeroInflated
from alphasynth.privacy.accounting import total
from alphasynth.privacy.divergence import AUDIT_DELTA
from alphasynth.privacy.randomness import Key
from alphasynth.privacy.scopes import INSTANCE, TARGET
from alphasynth.tables.records import Records

AUDITS = ("density", "draw", "black-box")
# Distinct rows whose removal is audited unless told; a synthesis audits fewer by itself.
MOST_ROWS, FEWER_ROWS, FEWEST_ROWS = 400, 48, 4
FEWEST_RECORDS = 10  # of which an audit by draws can tell
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
    sampled: Sampled | None = None
    paths: tuple[Path, ...] = ()

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
        return [_audit_chain(key, subject, own, name, canaries, most, trials, tell) for name in audits]
    values = far_values(subject.records) | check_canaries(canaries)
    held, added = with_canaries(subject.records, values)
    held, added = _with_leverage(subject, held, added, [held.response], [held.response])
    replay = _replay(subject, held)
    around = neighbours(held, added, replay.largest[0], most)
    chosen = {
        "density": lambda: _density(subject, replay, around, tell),
        "draw": lambda: _draw(subject, replay, around),
        "black-box": lambda: _black_box(key, subject, replay, around, trials, tell),
    }
    return [chosen[name]() for name in audits]


def _audit_chain(
    key: Key,
    subject: Subject,
    own: Chain,
    name: str,
    canaries: Sequence[float],
    most: int,
    trials: int,
    tell: Tell,
) -> Finding:
    """An audit of a chain: records removed, and canaries in its columns of counts."""
    counts = [n for n, b in zip(own.names, own.blocks, strict=True) if isinstance(plain(b.model), COUNTS)]
    largest = subject.trail.fits[0].largest_distinct
    held, added = with_count_canaries(subject.records, counts, int(np.argmax(largest)), check_canaries(canaries))
    held, added = _with_leverage(subject, held, added, counts, own.names)
    if subject.paths and name == "draw":
        raise InputError("noisy scores have an exact audit: use density, found draw")
    replay = _replay(subject, held)
    around = neighbours(held, added, replay.largest[0], most, by_risk=True)
    if name == "black-box":
        return _black_box(key, subject, replay, around, trials, tell)
    if subject.paths:
        return _worst("density", subject, scored_losses(subject, replay.problem, around), 0.0)
    if name == "density":
        if not all(map(_on_public_grid, own.blocks)):
            raise InputError(
                "a table model has the draw and the black-box audit, and the density audit where all columns are drawn "
                "on public grids, found density"
            )
        return _worst("density", subject, _exact_chain(subject, replay, around, tell), 0.0)
    if any(block.then is not None for block in own.blocks):
        raise InputError(TWO_PARTS)
    results = audit_draws(replay, around)
    bounded = [block.model.epsilon for block in own.blocks if isinstance(block.model, Bounded)]
    if bounded:
        results = [replace(one, claim=sum(bounded)) for one in results]
    return replace(_worst("draw", subject, results, AUDIT_DELTA), certain=_can_tell(subject, replay))


def _replay(subject: Subject, held: Records) -> Replay:
    """The run's weights as a function of the database; noisy scores have none."""
    if subject.paths:
        problem = subject.bind(held)
        return Replay(subject.trail, held, problem, subject.target, (np.zeros(held.size),), problem)
    return Replay.of(subject.trail, held, subject.bind, subject.target)


def _can_tell(subject: Subject, replay: Replay) -> bool:
    """Whether an audit by draws can: not where the draws may have missed part of what they aim at, which none shows.

    Nor of a few records, whose posterior is far from normal.
    """
    return subject.scope != TARGET and replay.faithful and subject.records.n >= FEWEST_RECORDS


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


def _exact_chain(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> list[Found]:
    """Exact losses of a chain: those of its blocks, which are drawn apart, added up."""
    assert isinstance(replay.problem, Chain)
    by_block = []
    for place, block in enumerate(replay.problem.blocks):
        one = replace(subject, bind=partial(_block, subject.bind, place))
        part = replace(replay, problem=block)
        by_block.append(
            _both_parts(one, part, around, tell, place) if block.then else exact_losses(one, part, around, tell)
        )
    return [
        Found(blocks[0].name, sum(one.loss for one in blocks), sum(one.claim for one in blocks))
        for blocks in zip(*by_block, strict=True)
    ]


def _block(bind: Callable[[Records], AnyProblem], place: int, records: Records) -> Problem:
    chain = bind(records)
    assert isinstance(chain, Chain)
    return chain.blocks[place]


def _worst(audit: str, subject: Subject, results: Sequence[Found], delta: float) -> Finding:
    """The neighbour whose loss is largest beside its claim."""
    if not results:
        raise InputError("an audit needs a neighbour to compare with, found a table too small to have one")
    worst = max(results, key=lambda one: (one.loss / one.claim if one.claim > 0 else np.inf * one.loss, one.loss))
    return Finding(audit, subject.scope, worst.claim, worst.loss, delta, len(results), worst.name)


def one_column(problem: AnyProblem) -> Problem:
    """The problem of one column; chains went another way."""
    assert isinstance(problem, Problem), "a chain has an audit of its own"
    return problem


def _on_public_grid(problem: Problem) -> bool:
    return isinstance(problem.model, Bounded) and isinstance(problem.sampler, PublicGrid)


def _draw(subject: Subject, replay: Replay, around: Sequence[Neighbour]) -> Finding:
    if subject.paths:
        raise InputError("noisy scores have an exact audit: use density, found draw")
    if one_column(replay.problem).then is not None:
        raise InputError(TWO_PARTS)
    if _on_public_grid(one_column(replay.problem)):
        raise InputError("draws on a public grid have an exact audit: use density, found draw")
    results = audit_draws(replay, around)
    model = one_column(replay.problem).model
    if isinstance(model, Bounded):
        results = [replace(one, claim=model.epsilon) for one in results]
    return replace(_worst("draw", subject, results, AUDIT_DELTA), certain=_can_tell(subject, replay))


def _density(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> Finding:
    if subject.paths:
        return _worst("density", subject, scored_losses(subject, replay.problem, around), 0.0)
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
    return replace(_worst("density", subject, results, delta), certain=subject.scope != TARGET)


def _both_parts(
    subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell, place: int = 0
) -> list[Found]:
    """Exact losses of a mechanism in two parts: that of the first draw, and that of one after it, added up.

    The second depends on the first draw; it is taken at one that the run released.
    """
    first = columns_of(subject.trail.fits[-1])[place].draws.take(np.array([0]))

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


def _black_box(
    key: Key, subject: Subject, replay: Replay, around: Sequence[Neighbour], trials: int, tell: Tell
) -> Finding:
    """Towards the neighbour that the exact or the draw audit finds worst."""
    place, claim = _worst_place(subject, replay, around, tell)
    delta = AUDIT_DELTA if subject.scope == INSTANCE else 0.0
    assert subject.sampled is not None, "a run can be made again"
    other = around[place].records(replay.held)
    seen = audit_black_box(key, subject.sampled, other, subject.records, trials, delta, tell)
    return Finding("black-box", subject.scope, claim, seen.bound, delta, 1, around[place].name, ceiling=seen.ceiling)


def _worst_place(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> tuple[int, float]:
    """Place of the neighbour to be told apart, and the claim towards it."""
    if subject.paths:
        results = scored_losses(subject, replay.problem, around)
    elif isinstance(replay.problem, Chain):
        bounded = [_claim_of(block) for block in replay.problem.blocks if isinstance(block.model, Bounded)]
        if any(block.then is not None for block in replay.problem.blocks):
            return int(np.argmax([replay.largest[0][one.row] for one in around])), sum(bounded)
        results = audit_draws(replay, around)
        results = [replace(one, claim=sum(bounded)) for one in results] if bounded else results
    else:
        problem = one_column(replay.problem)
        exact = _on_public_grid(problem)
        if problem.then is not None and not exact:
            return int(np.argmax([replay.largest[0][one.row] for one in around])), _claim_of(problem)
        results = (
            (_both_parts if problem.then else exact_losses)(subject, replay, around, tell)
            if exact
            else audit_draws(replay, around)
        )
        if isinstance(problem.model, Bounded):
            results = [replace(one, claim=_claim_of(problem)) for one in results]
    place = int(np.argmax([one.loss for one in results]))
    return place, results[place].claim


def _claim_of(problem: Problem) -> float:
    """Epsilon of one draw of a strict contribution, its part of a first draw included."""
    assert isinstance(problem.model, Bounded)
    return problem.then.in_all if isinstance(problem.then, Recentring) else problem.model.epsilon


def scored_losses(subject: Subject, problem: AnyProblem, around: Sequence[Neighbour]) -> list[Found]:
    """Loss towards each neighbour of noisy scores, at delta 0, along the path that was released.

    A round's loss is exactly epsilon times what the record adds over what it may add; the start counts in full.
    """
    held = blocks_of(problem)[0].records
    spent = np.zeros(held.size)
    costs = list[float]()
    for block, path in zip(blocks_of(problem), subject.paths, strict=True):
        records = scorable(block, plain(block.model))
        by_line = np.full(block.rows.size, path.plan.start)
        for step in path.match.steps:
            added = np.abs(contributions(path.parameters, step, records)).sum(axis=0)
            by_line += step.epsilon * added / SCORE_QUANTA
        spent += by_line[block.rows.of]
        costs += [path.plan.start, *(one.epsilon for one in path.plan.rounds)]
    claim = total(costs)
    return [Found(neighbour.name, float(spent[neighbour.row]), claim) for neighbour in around]


def audit_run(subject: Subject) -> Finding:
    """The draw audit that a synthesis makes of itself; of a large table, towards the most extreme neighbours alone."""
    most = FEWER_ROWS if subject.records.size <= LARGE else FEWEST_ROWS
    far = [FARTHEST] if _holds_counts(subject) else []
    return audit(np.random.SeedSequence(0), subject, ["draw"], far, most)[0]


def _holds_counts(subject: Subject) -> bool:
    """Whether the largest count that a model takes can be added."""
    problem = subject.bind(subject.records)
    return isinstance(problem, Problem) and isinstance(plain(problem.model), COUNTS)
