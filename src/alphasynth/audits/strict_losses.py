"""Exact losses of strict runs, summed over their blocks: draws on public grids, in one part or two; noisy scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from alphasynth.audits.black_box import Tell
from alphasynth.audits.draws import Found, Replay
from alphasynth.audits.exact import exact_losses
from alphasynth.audits.neighbours import Neighbour
from alphasynth.audits.subject import Subject
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.inference.contribution import Bounded, bare
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import Problem, in_64_bit
from alphasynth.mechanisms.scored import QUANTA, contributions
from alphasynth.mechanisms.scored_fit import scorable
from alphasynth.privacy.accounting import total
from alphasynth.tables.records import Records


def on_public_grid(chain: Chain) -> bool:
    """Whether every block is drawn exactly."""
    return all(isinstance(block.model, Bounded) and isinstance(block.sampler, PublicGrid) for block in chain.blocks)


def in_two_parts(chain: Chain) -> bool:
    """Whether draws of a block follow a first one."""
    return any(block.second is not None for block in chain.blocks)


def strict_claim(chain: Chain) -> float | None:
    """Epsilon of one draw of strict contributions, its part of first draws included; None where there are none."""
    costs = [_claim_of(block, block.model) for block in chain.blocks if isinstance(block.model, Bounded)]
    return total(costs) if costs else None


def _claim_of(block: Problem, model: Bounded) -> float:
    return model.epsilon if block.second is None else block.second.in_all


@in_64_bit
def grid_losses(subject: Subject, replay: Replay, around: Sequence[Neighbour], tell: Tell) -> list[Found]:
    """Exact losses of a chain on public grids: those of its blocks, which are drawn apart, added up."""
    by_block = []
    for place, block in enumerate(replay.chain.blocks):
        for part, bind in _parts(subject, place, block):
            by_block.append(exact_losses(subject.records, replay.extended, part, bind, around, tell))
    return [
        Found(parts[0].name, sum(one.loss for one in parts), total(one.claim for one in parts))
        for parts in zip(*by_block, strict=True)
    ]


def _parts(subject: Subject, place: int, block: Problem) -> list[tuple[Problem, Callable[[Records], Problem]]]:
    """A block and what makes it of other records; of a block in two parts, each of them.

    The second depends on the first draw; it is taken at one that the run released.
    """
    if block.second is None:
        return [(block, lambda records: subject.bind(records).blocks[place])]
    drawn = subject.trail.fits[-1].columns[place].draws.take(np.array([0]))
    parts: list[Callable[[Problem], Problem]] = [lambda problem: problem.first, lambda problem: problem.after(drawn)]
    return [(part(block), partial(_bound, subject, place, part)) for part in parts]


def _bound(subject: Subject, place: int, part: Callable[[Problem], Problem], records: Records) -> Problem:
    return part(subject.bind(records).blocks[place])


def scored_losses(subject: Subject, chain: Chain, around: Sequence[Neighbour]) -> list[Found]:
    """Loss towards each neighbour of noisy scores, at delta 0, along the path that was released.

    A round's loss is exactly epsilon times what the record adds over what it may add; the start counts in full.
    """
    spent = np.zeros(chain.records.size)
    costs = list[float]()
    for block, path in zip(chain.blocks, subject.paths, strict=True):
        records = scorable(block, bare(block.model))
        by_line = np.full(block.rows.size, path.plan.start)
        for step in path.match.steps:
            added = np.abs(contributions(path.parameters, step, records)).sum(axis=0)
            by_line += step.epsilon * added / QUANTA
        spent += by_line[block.rows.of]
        costs += [path.plan.start, *(one.epsilon for one in path.plan.rounds)]
    claim = total(costs)
    return [Found(neighbour.name, float(spent[neighbour.row]), claim) for neighbour in around]
