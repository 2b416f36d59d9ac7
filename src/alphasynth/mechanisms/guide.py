"""What budget weights are made from: one draw that is itself private, and by it what each record may add.

The draw's contributions are centred and censored, at half of the budget. Given that draw, what a record adds depends on
the record and on public numbers alone, so no weight moves when another record comes or goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from alphasynth.errors import InputError
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.contribution import Bounded, Censored, CensoredAt, bare
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.mode import scales
from alphasynth.inference.sampler import Draws, Sampler
from alphasynth.inference.wrapping import HIGH, LOW, Clipped
from alphasynth.mechanisms.chain import Chain, JointFit, block_keys, in_parallel, working_on
from alphasynth.mechanisms.fit import FIRST, Fit, Problem, drawn, in_64_bit, log_lik_at
from alphasynth.models.model import TAKES_PART, Peaked, extend
from alphasynth.models.own_model import BoundModel
from alphasynth.models.stan_model import BoundStan
from alphasynth.privacy.randomness import Key, child

# How far, at least, a log-likelihood may fall below or rise above what the draw makes of it before it is clipped, as a
# share of where the draw's own contributions are cut. With half as much a mixture's second group is clipped too soon.
REACH = 0.25
# Starts that are moved, and by how much, in the unit of priors.
MOVED, EFFECTS = 12, (-1.0, -0.3, -0.1, 0.1, 0.3, 1.0)


def guide_of(problem: Problem, epsilon: float, cut: float) -> Problem:
    """The problem whose one draw the weights are made from, at an epsilon of its own; climbs start at public points.

    A chain that takes over elsewhere could sit in one of several modes, so none does: draws that miss are refused.
    """
    model, rows = bare(problem.model), problem.rows
    if not isinstance(model, Peaked):
        raise InputError("budget weights need a built-in family or an OwnModel, found a model of another kind")
    if isinstance(model, BoundModel | BoundStan):
        model.require_bounded("budget weights need")
    has_value = rows.columns.get(TAKES_PART)
    starts = with_effects(model.public_starts()) if "X" in rows.columns else model.public_starts()
    strict = replace(rows, start=starts).for_strict(model.peak(rows.distinct))
    if has_value is not None:
        strict = strict.where(np.asarray(has_value[: rows.size]) > 0)
    bounded = Censored(cut).bounded(model, epsilon)
    return replace(problem, model=bounded, rows=strict, sampler=_one(problem), thresh=1.0, guide=None)


def with_effects(starts: np.ndarray) -> np.ndarray:
    """Public starts (scales, starts, D), and some of them moved along every coordinate.

    A record far beyond the covariates is cut almost everywhere but where effects are 0: climbs that all began there
    would end at it.
    """
    size = starts.shape[-1]
    flat = starts.reshape(-1, size)
    some = flat[:: -(-len(flat) // MOVED)]
    steps = np.array(EFFECTS)[:, None, None] * np.eye(size)
    return scales(starts, (some[:, None] + steps.reshape(1, -1, size)).reshape(-1, size))


def _one(problem: Problem) -> Sampler:
    return problem.sampler.first if isinstance(problem.sampler, Automatic) else problem.sampler


@dataclass(frozen=True, eq=False)
class Guide:
    """First draws by block (confidential), and the one of them, u by block, that the weights are made from."""

    draws: tuple[Draws, ...]
    u: tuple[np.ndarray, ...] = field(repr=False)


def draw_guide(key: Key, chain: Chain) -> Guide:
    """Draw by every block's guide, and take one of the draws at random; raises `DiagnosticsError`."""
    keys, guides = block_keys(key, chain.names), [_guide(block) for block in chain.blocks]

    @in_64_bit
    def one_of(number: int) -> Draws:
        """Draws alone: bounds of records under a guide are nobody's concern."""
        guide = guides[number]
        with working_on(chain.names[number], guide):
            return drawn(keys[number], guide, guide.rows.finite[guide.rows.of].astype(float))

    draws = tuple(in_parallel(one_of, len(guides)))
    one = int(np.random.default_rng(child(key, FIRST)).integers(min(each.num_draws for each in draws)))
    return Guide(draws, tuple(each.u[one] for each in draws))


def _guide(block: Problem) -> Problem:
    if block.guide is None:
        raise InputError("budget weights need a problem with a guide (`guide_of`), found none")
    return block.guide


@dataclass(frozen=True, eq=False)
class Levels:
    """Given a guide (confidential): the chain with every record clipped, and F, how large its |f| may be there."""

    chain: Chain
    fit: JointFit


@in_64_bit
def levels(chain: Chain, guide: Sequence[np.ndarray], most: float) -> Levels:
    """What each record may add, given the guide's u by block; `most` is the bound over the cap.

    F_i is |f_i| at the guide and some reach more, at least `most` (in a chain, its public share of that). f_i is
    clipped as far from there as |f_i| can rise without exceeding F_i, or half of F_i where that is less: so what f_i
    ranges over is at most F_i, whatever its sign.
    """
    blocks, fits = [], []
    for block, u, share in zip(chain.blocks, guide, chain.shares, strict=True):
        clipped, largest = _clip(block, u, share * most)
        draws = Draws.of(block.model, u[None], Diagnostics("guide", 1))
        blocks.append(clipped)
        fits.append(Fit(block.records, draws, np.ones(len(largest)), largest))
    whole = np.sum([fit.largest_distinct for fit in fits], axis=0)
    joint = JointFit(chain.records, chain.names, tuple(fits), np.ones(len(whole)), whole)
    return Levels(replace(chain, blocks=tuple(blocks)), joint)


def _clip(block: Problem, u: np.ndarray, most: float) -> tuple[Problem, np.ndarray]:
    """A block with clipped lines, and F by distinct row of the records; infinite where f at the guide is not finite."""
    rows = block.rows
    at = log_lik_at(block.model, u, rows, one_by_one=False)
    known = np.isfinite(at)
    centre = np.where(known, at, 0.0)
    largest = np.maximum(np.abs(centre) + _reach(_guide(block)), most)
    half = np.minimum(largest - np.abs(centre), largest / 2)
    limits = {LOW: extend(centre - half, rows.size), HIGH: extend(centre + half, rows.size)}
    starts = scales(u[None], _guide(block).rows.start)
    clipped = replace(rows, columns={**rows.columns, **limits}, finite=known, start=starts)
    problem = replace(block, model=Clipped(block.model), rows=clipped, sampler=_one(block), guide=None)
    return problem, np.where(known, largest, np.inf)[rows.of]


def _reach(guide: Problem) -> float:
    assert isinstance(guide.model, Bounded), "made by guide_of"
    assert isinstance(guide.model.contribution, CensoredAt), "made by guide_of"
    return REACH * guide.model.contribution.cut
