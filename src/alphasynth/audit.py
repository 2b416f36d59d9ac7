"""Is the claim kept? Density, draw and black-box audits of a mechanism on a table; what they find is confidential."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from alphasynth.black_box import Tell, audit_black_box
from alphasynth.contribution import Bounded
from alphasynth.density_audit import loss_between, output
from alphasynth.divergence import AUDIT_DELTA, pure_loss
from alphasynth.draw_audit import Found, Replay, audit_draws
from alphasynth.errors import InputError, found
from alphasynth.fit import Problem, in_64_bit
from alphasynth.mechanism import Mechanism, Trail
from alphasynth.neighbours import Neighbour, check_canaries, far_values, neighbours, with_canaries
from alphasynth.public_grid import QUANTA, PublicGrid, cost_of_row, prepare, prior_weights, total_cost
from alphasynth.records import Records
from alphasynth.sampler import Key
from alphasynth.weights import Given

AUDITS = ("density", "draw", "black-box")
# Distinct rows whose removal is audited unless told; a synthesis audits fewer by itself.
MOST_ROWS, FEWER_ROWS = 400, 48
# Floating-point room for a strict claim: a loss is computed from sums of whole numbers and two logarithms.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Finding:
    """What an audit found (confidential): the claim and the loss for one draw, towards the worst of the neighbours.

    `worst` names it by its rank. `loss` is at `delta`. A black-box audit shows a lower bound, at most its `ceiling`.
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
        """Whether the loss is at most the larger of the two neighbours' claims."""
        return self.loss <= self.claim * (1 + ROUNDING)

    @property
    def margin(self) -> float:
        """Claim less loss."""
        return self.claim - self.loss


@dataclass(frozen=True, eq=False)
class Subject:
    """What is audited (confidential): a run's trail, and how its mechanism is run on other records."""

    trail: Trail
    records: Records
    bind: Callable[[Records], Problem]
    mechanism: Mechanism
    target: float | None
    scope: str

    def __post_init__(self) -> None:
        """Refuse weights that belong to the rows of one table."""
        if any(isinstance(rule, Given) for rule in self.mechanism.rules):
            raise InputError("an audit needs weights that can be made for a neighbour, found Given ones")


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
    values = list(dict.fromkeys([*far_values(subject.records), *check_canaries(canaries)]))
    held = with_canaries(subject.records, values)
    replay = Replay.of(subject.trail, held, subject.bind, subject.target)
    around = neighbours(held, values, replay.largest[0], most)
    chosen = {
        "density": lambda: _density(subject, replay, around, tell),
        "draw": lambda: _draw(subject, replay, around),
        "black-box": lambda: _black_box(key, subject, replay, around, trials, tell),
    }
    return [chosen[name]() for name in audits]


def _worst(audit: str, subject: Subject, results: Sequence[Found], delta: float) -> Finding:
    """The neighbour whose loss is largest beside its claim."""
    worst = max(results, key=lambda one: (one.loss / one.claim if one.claim > 0 else np.inf * one.loss, one.loss))
    return Finding(audit, subject.scope, worst.claim, worst.loss, delta, len(results), worst.name)


def _draw(subject: Subject, replay: Replay, around: Sequence[Neighbour]) -> Finding:
    if isinstance(replay.problem.model, Bounded):
        strict = replay.problem.model.epsilon
        results = [replace(one, claim=strict) for one in audit_draws(replay, around)]
        return _worst("draw", subject, results, AUDIT_DELTA)
    return _worst("draw", subject, audit_draws(replay, around), AUDIT_DELTA)


def _density(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> Finding:
    problem = replay.problem
    if isinstance(problem.model, Bounded) and isinstance(problem.sampler, PublicGrid):
        return _worst("density", subject, exact_losses(problem, replay.held, around), 0.0)
    own = output(subject.bind(subject.records), subject.mechanism, subject.target)
    results = []
    for number, neighbour in enumerate(around):
        tell(f"density audit: neighbour {number + 1:,} of {len(around):,}", number, len(around))
        other = output(subject.bind(neighbour.records(replay.held)), subject.mechanism, subject.target)
        claim = problem.model.epsilon if isinstance(problem.model, Bounded) else max(own.claim, other.claim)
        results.append(Found(neighbour.name, loss_between(own, other), claim))
    return _worst("density", subject, results, AUDIT_DELTA)


@in_64_bit
def exact_losses(problem: Problem, held: Records, around: Sequence[Neighbour]) -> list[Found]:
    """Loss at delta 0 of exact draws on a public grid, from the same whole numbers that the draws are made from."""
    model, grid, rows = problem.model, problem.sampler, problem.rows
    assert isinstance(model, Bounded)
    assert isinstance(grid, PublicGrid)
    axes = grid.axes(model, rows.columns)
    columns = rows.distinct
    cost = total_cost(model, axes, columns, rows.total(held.counts)[: rows.size])
    log_prior = np.log(prior_weights(model, axes).astype(np.float64))
    quantum = float(Fraction(model.epsilon) / QUANTA)
    shared = prepare(model, axes, columns)
    own = log_prior - (cost - cost.min()) * quantum
    results = []
    for neighbour in around:
        line = rows.of[neighbour.row]
        one = cost_of_row(model, axes, shared, {name: column[line : line + 1] for name, column in columns.items()})
        changed = cost + one if neighbour.added else cost - one
        loss = pure_loss(own, log_prior - (changed - changed.min()) * quantum)
        results.append(Found(neighbour.name, loss, model.epsilon))
    return results


def _black_box(
    key: Key, subject: Subject, replay: Replay, around: Sequence[Neighbour], trials: int, tell: Tell
) -> Finding:
    """Towards the neighbour that the draw audit finds worst."""
    results = audit_draws(replay, around)
    place = int(np.argmax([one.loss for one in results]))
    other = subject.bind(around[place].records(replay.held))
    claim = other.model.epsilon if isinstance(other.model, Bounded) else results[place].claim
    delta = 0.0 if isinstance(other.model, Bounded) else AUDIT_DELTA
    seen = audit_black_box(key, other, subject.bind(subject.records), subject.mechanism, subject.target, trials, delta)
    return Finding("black-box", subject.scope, claim, seen.bound, delta, 1, around[place].name, ceiling=seen.ceiling)


def audit_run(subject: Subject) -> Finding:
    """The draw audit that a synthesis makes of itself."""
    return audit(np.random.SeedSequence(0), subject, ["draw"], most=FEWER_ROWS)[0]
