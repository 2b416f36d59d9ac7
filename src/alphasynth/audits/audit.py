"""Is the claim kept? Density, draw and black-box audits of a mechanism on a table; what they find is confidential."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from alphasynth.audits.black_box import Tell, audit_black_box
from alphasynth.audits.densities import loss_between, output
from alphasynth.audits.draws import LARGE, Found, Replay, audit_draws
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
from alphasynth.audits.strict_losses import grid_losses, in_two_parts, on_public_grid, scored_losses, strict_claim
from alphasynth.audits.subject import Subject
from alphasynth.errors import InputError, found
from alphasynth.inference.contribution import bare
from alphasynth.mechanisms.chain import Chain
from alphasynth.models.counts import NegativeBinomial, Poisson
from alphasynth.models.model import Outside
from alphasynth.models.own_model import BoundModel
from alphasynth.models.two_part import ZeroInflated
from alphasynth.privacy.divergence import AUDIT_DELTA
from alphasynth.privacy.randomness import Key
from alphasynth.privacy.scopes import INSTANCE, TARGET
from alphasynth.tables.records import Records

AUDITS = ("density", "draw", "black-box")
# Distinct rows whose removal is audited unless told; a synthesis audits fewer by itself.
MOST_ROWS, FEWER_ROWS, FEWEST_ROWS = 400, 48, 4
TOLD_FROM, LONG = 3, 60.0  # neighbours from which on it is told how long the rest takes, and seconds that are long
FEWEST_RECORDS = 10  # of which an audit by draws can tell
TWO_PARTS = (
    "draws that follow a first one (Recentred) have an audit on a public grid, or a black-box one, found another"
)
COUNTS = (Poisson, NegativeBinomial, ZeroInflated)  # families that hold a count of any size


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
    own = subject.chain
    extended, added = _with_canaries(subject, own, check_canaries(canaries))
    replay = _replay(subject, extended)
    around = neighbours(extended, added, replay.largest[0], most, by_risk=not _is_one_number(own))
    chosen = {
        "density": lambda: _density(subject, replay, around, tell),
        "draw": lambda: _draw(subject, replay, around),
        "black-box": lambda: _black_box(key, subject, replay, around, trials, tell),
    }
    return [chosen[name]() for name in audits]


def _is_one_number(chain: Chain) -> bool:
    """Whether all there is is one column that can hold a number of any size."""
    return len(chain.blocks) == 1 and isinstance(bare(chain.one.model), (*COUNTS, BoundModel, Outside))


def _with_canaries(subject: Subject, own: Chain, more: dict[str, float]) -> tuple[Records, list[Canary]]:
    """The records and canaries: of one number at extreme covariates, else in each column of counts by itself."""
    records = subject.records
    if _is_one_number(own):
        counts = [records.response]
        extended, added = _if_held(subject, *with_canaries(records, far_values(records) | more))
        if isinstance(bare(own.one.model), Outside):
            return extended, added
    else:
        counts = [n for n, b in zip(own.names, own.blocks, strict=True) if isinstance(bare(b.model), COUNTS)]
        riskiest = int(np.argmax(subject.trail.fits[0].largest_distinct))
        extended, added = with_count_canaries(records, counts, riskiest, more)
    return _with_leverage(subject, extended, added, counts, own.names)


def _if_held(subject: Subject, extended: Records, added: list[Canary]) -> tuple[Records, list[Canary]]:
    """With canaries, unless what is declared of the column refuses them."""
    try:
        subject.bind(extended)
    except InputError:
        return subject.records, []
    return extended, added


def _replay(subject: Subject, extended: Records) -> Replay:
    """The run's weights as a function of the database; noisy scores have none."""
    if subject.paths:
        chain = subject.bind(extended)
        return Replay(subject.trail, extended, chain, subject.target, (np.zeros(extended.size),), chain)
    return Replay.of(subject.trail, extended, subject.bind, subject.target)


def _can_tell(subject: Subject, replay: Replay) -> bool:
    """Whether an audit by draws can: not where the draws may have missed part of what they aim at, which none shows.

    Nor of a few records, whose posterior is far from normal.
    """
    return subject.scope != TARGET and replay.faithful and subject.records.n >= FEWEST_RECORDS


def _with_leverage(
    subject: Subject, extended: Records, added: list[Canary], responses: Sequence[str], synthesized: Sequence[str]
) -> tuple[Records, list[Canary]]:
    """With records far beyond the table's covariates, where the model can hold them as it was fitted."""
    if subject.records.size > LARGE:
        return extended, added
    more, canaries = with_leverage(extended, added, responses, synthesized)
    if len(canaries) == len(added):
        return extended, added
    try:
        chain = subject.bind(more)
    except InputError:  # limits or levels that were declared
        return extended, added
    pairs = zip(chain.blocks, subject.trail.fits[-1].columns, strict=True)
    same = all(block.model.prior.size == column.draws.u.shape[1] for block, column in pairs)
    return (more, canaries) if same else (extended, added)


def _worst(audit: str, subject: Subject, results: Sequence[Found], delta: float) -> Finding:
    """The neighbour whose loss is largest beside its claim."""
    if not results:
        raise InputError("an audit needs a neighbour to compare with, found a table too small to have one")
    worst = max(results, key=lambda one: (one.loss / one.claim if one.claim > 0 else np.inf * one.loss, one.loss))
    return Finding(audit, subject.scope, worst.claim, worst.loss, delta, len(results), worst.name)


def _draw(subject: Subject, replay: Replay, around: Sequence[Neighbour]) -> Finding:
    if subject.paths:
        raise InputError("noisy scores have an exact audit: use density, found draw")
    if in_two_parts(replay.chain):
        raise InputError(TWO_PARTS)
    if len(replay.chain.blocks) == 1 and on_public_grid(replay.chain):
        raise InputError("draws on a public grid have an exact audit: use density, found draw")
    results = _claiming(replay.chain, audit_draws(replay, around))
    return replace(_worst("draw", subject, results, AUDIT_DELTA), certain=_can_tell(subject, replay))


def _claiming(chain: Chain, results: list[Found]) -> list[Found]:
    """Results with the claim that strict contributions make, whatever the draws."""
    claim = strict_claim(chain)
    return results if claim is None else [replace(one, claim=claim) for one in results]


def _density(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> Finding:
    if subject.paths:
        return _worst("density", subject, scored_losses(subject, replay.chain, around), 0.0)
    if on_public_grid(replay.chain):
        return _worst("density", subject, grid_losses(subject, replay, around, tell), 0.0)
    if len(replay.chain.blocks) > 1:
        raise InputError(
            "a table model has the draw and the black-box audit, and the density audit where all columns are drawn "
            "on public grids, found density"
        )
    if in_two_parts(replay.chain):
        raise InputError(TWO_PARTS)
    own = output(subject.chain, subject.mechanism, subject.target)
    strict = strict_claim(replay.chain)
    delta = AUDIT_DELTA if strict is None else 0.0
    results, begin = [], time.monotonic()
    for number, neighbour in enumerate(around):
        doing = f"density audit: neighbour {number + 1:,} of {len(around):,}"
        tell(doing + to_come(number, len(around), time.monotonic() - begin), number, len(around))
        other = output(subject.bind(neighbour.records(replay.extended)), subject.mechanism, subject.target)
        claim = max(own.claim, other.claim) if strict is None else strict
        results.append(Found(neighbour.name, loss_between(own, other, delta), claim))
    return replace(_worst("density", subject, results, delta), certain=subject.scope != TARGET)


def to_come(done: int, of: int, seconds: float) -> str:
    """How long an audit that took so many seconds so far will take yet, and what to change; empty where not long.

    >>> to_come(10, 280, 30.0)
    ', about 14 minutes to come (--neighbours N audits fewer)'
    """
    left = seconds / done * (of - done) if done >= TOLD_FROM else 0.0
    return f", about {math.ceil(left / 60)} minutes to come (--neighbours N audits fewer)" if left > LONG else ""


def _black_box(
    key: Key, subject: Subject, replay: Replay, around: Sequence[Neighbour], trials: int, tell: Tell
) -> Finding:
    """Towards the neighbour that the exact or the draw audit finds worst."""
    place, claim = _worst_place(subject, replay, around, tell)
    delta = AUDIT_DELTA if subject.scope == INSTANCE else 0.0
    assert subject.sampled is not None, "a run can be made again"
    other = around[place].records(replay.extended)
    seen = audit_black_box(key, subject.sampled, other, subject.records, trials, delta, tell)
    return Finding("black-box", subject.scope, claim, seen.bound, delta, 1, around[place].name, ceiling=seen.ceiling)


def _worst_place(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> tuple[int, float]:
    """Place of the neighbour to be told apart, and the claim towards it."""
    chain = replay.chain
    if subject.paths:
        results = scored_losses(subject, chain, around)
    elif len(chain.blocks) == 1 and on_public_grid(chain):
        results = _claiming(chain, grid_losses(subject, replay, around, tell))
    elif in_two_parts(chain):
        return int(np.argmax([replay.largest[0][one.row] for one in around])), strict_claim(chain) or 0.0
    else:
        results = _claiming(chain, audit_draws(replay, around))
    place = int(np.argmax([one.loss for one in results]))
    return place, results[place].claim


def audit_run(subject: Subject) -> Finding:
    """The draw audit that a synthesis makes of itself; of a large table, towards the most extreme neighbours alone."""
    most = FEWER_ROWS if subject.records.size <= LARGE else FEWEST_ROWS
    far = [FARTHEST] if _holds_counts(subject.chain) else []
    return audit(np.random.SeedSequence(0), subject, ["draw"], far, most)[0]


def _holds_counts(chain: Chain) -> bool:
    """Whether the largest count that a model takes can be added."""
    return len(chain.blocks) == 1 and isinstance(bare(chain.one.model), COUNTS)
