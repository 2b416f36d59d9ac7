"""Is the claim kept? Density, draw and black-box audits of a mechanism on a table; what they find is confidential."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from alphasynth.black_box import Tell, audit_black_box
from alphasynth.chain import AnyProblem, Chain, columns_of
from alphasynth.contribution import Bounded, plain
from alphasynth.counts import NegativeBinomial, Poisson
from alphasynth.density_audit import loss_between, output
from alphasynth.divergence import AUDIT_DELTA
from alphasynth.draw_audit import LARGE, Found, Replay, audit_draws
from alphasynth.errors import InputError, found
from alphasynth.exact_audit import exact_losses
from alphasynth.fit import Problem
from alphasynth.guarantee import NONE
from alphasynth.mechanism import Mechanism, Trail
from alphasynth.neighbours import (
    Neighbour,
    check_canaries,
    far_values,
    neighbours,
    with_canaries,
    with_count_canaries,
)
from alphasynth.public_grid import PublicGrid
from alphasynth.records import Records
from alphasynth.sampler import Key
from alphasynth.strict import Recentring
from alphasynth.two_part import ZeroInflated
from alphasynth.weights import Given, PerColumn

AUDITS = ("density", "draw", "black-box")
# Distinct rows whose removal is audited unless told; a synthesis audits fewer by itself.
MOST_ROWS, FEWER_ROWS, FEWEST_ROWS = 400, 48, 4
# Floating-point room for a strict claim: a loss is computed from sums of whole numbers and two logarithms.
ROUNDING = 1e-9
TWO_PARTS = (
    "draws that follow a first one (Recentred) have an audit on a public grid, or a black-box one, found another"
)
COUNTS = (Poisson, NegativeBinomial, ZeroInflated)  # families that hold a count of any size


@dataclass(frozen=True)
class Finding:
    """What an audit found (confidential): the claim and the loss for one draw, towards the worst of the neighbours.

    `worst` names it by its rank, or by what was added. `loss` is at `delta`. A black-box audit shows a lower bound, at
    most its `ceiling`.
    """

    audit: str
    scope: str
    claim: float
    loss: float
    delta: float
    neighbours: int
    worst: str
    ceiling: float | None = None

    @property
    def kept(self) -> bool:
        """Whether the loss is at most the larger of the two neighbours' claims; so it is where nothing is claimed."""
        return self.scope == NONE or self.loss <= self.claim * (1 + ROUNDING)

    @property
    def margin(self) -> float:
        """Claim less loss."""
        return self.claim - self.loss


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
        return [_audit_chain(subject, own, audits, canaries, most, tell)]
    values = far_values(subject.records) | check_canaries(canaries)
    held, added = with_canaries(subject.records, values)
    replay = Replay.of(subject.trail, held, subject.bind, subject.target)
    around = neighbours(held, added, replay.largest[0], most)
    chosen = {
        "density": lambda: _density(subject, replay, around, tell),
        "draw": lambda: _draw(subject, replay, around),
        "black-box": lambda: _black_box(key, subject, replay, around, trials, tell),
    }
    return [chosen[name]() for name in audits]


def _audit_chain(
    subject: Subject, own: Chain, audits: Sequence[str], canaries: Sequence[float], most: int, tell: Tell
) -> Finding:
    """The draw audit of a chain, or the exact one where all is drawn on public grids: records removed, and canaries."""
    exact = all(map(_on_public_grid, own.blocks))
    if list(audits) not in (["draw"], *([["density"]] if exact else [])):
        more = "" if exact else ", and the density audit where all columns are drawn on public grids"
        raise InputError(f"a table model has the draw audit{more}, found {', '.join(audits)}")
    if list(audits) == ["draw"] and any(block.then is not None for block in own.blocks):
        raise InputError(TWO_PARTS)
    counts = [n for n, b in zip(own.names, own.blocks, strict=True) if isinstance(plain(b.model), COUNTS)]
    largest = subject.trail.fits[0].largest_distinct
    held, added = with_count_canaries(subject.records, counts, int(np.argmax(largest)), check_canaries(canaries))
    replay = Replay.of(subject.trail, held, subject.bind, subject.target)
    around = neighbours(held, added, replay.largest[0], most, by_risk=True)
    if list(audits) == ["density"]:
        return _worst("density", subject, _exact_chain(subject, replay, around, tell), 0.0)
    results = audit_draws(replay, around)
    bounded = [block.model.epsilon for block in own.blocks if isinstance(block.model, Bounded)]
    if bounded:
        results = [replace(one, claim=sum(bounded)) for one in results]
    return _worst("draw", subject, results, AUDIT_DELTA)


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
    return _worst("draw", subject, results, AUDIT_DELTA)


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
    return audit(np.random.SeedSequence(0), subject, ["draw"], most=most)[0]
