"""Strict mechanisms: a model bound to a contribution, the sampler that suits it, and what the promise rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial

import jax
import jax.numpy as jnp

from alphasynth.errors import InputError
from alphasynth.exact.axes import MOST_PARAMETERS, NATURAL_ENDS, default_of
from alphasynth.exact.public_grid import QUANTA, Axis, PublicGrid, coordinate_names, points
from alphasynth.inference.contribution import (
    BetaDivergence,
    BetaDivergenceAt,
    Bounded,
    Censored,
    CensoredAt,
    Recentred,
    Strict,
    bare,
)
from alphasynth.inference.laplace import Laplace
from alphasynth.inference.sampler import Draws, Sampler
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import Problem, SecondPart, in_64_bit
from alphasynth.models.coefficient_priors import ScaleMixturePrior
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.counts import NegativeBinomial, Poisson
from alphasynth.models.model import Array, Columns, Model, Rows
from alphasynth.models.priors import LinearPrior, OrdinalPrior, PairPrior
from alphasynth.privacy import strict_terms as stated
from alphasynth.privacy.accounting import at_least, total
from alphasynth.privacy.approximate import each_with_first, rho_of_ranges
from alphasynth.privacy.strict_terms import ColumnGrid, Contribution, GridAxis, Part, StrictTerms, named

NEAR = 2.5  # steps from a limit that count as at it


def bind(
    contribution: Strict,
    model: Model,
    rows: Rows,
    epsilon: float,
    m: int,
    grid: PublicGrid,
    sampler: Sampler | None,
    concentrated: bool = False,
) -> tuple[Bounded, Sampler, SecondPart | None]:
    """The model with bounded contributions at an epsilon per draw, what draws from it, and what follows a first draw.

    Without a sampler of the user's, models that have a public grid are drawn exactly on it. `concentrated`: it is rho
    that adds up over draws and parts, not epsilon.
    """
    model = bare(model)
    if sampler is None:
        # No rescue by `Nuts`: where proposals miss part of the target a chain that stays in another part looks well.
        sampler = grid if is_exact(contribution, model, "X" in rows.columns, grid) else Laplace()
    if isinstance(contribution, BetaDivergence) and isinstance(sampler, PublicGrid):
        bound = largest_probability(model, sampler, rows.columns)
        if contribution.bound is not None and contribution.bound < bound:
            raise InputError(
                f"bound must be at least {bound:.4g}, which the public grid has, found {contribution.bound!r}"
            )
        contribution = replace(contribution, bound=contribution.bound or bound)
    if isinstance(contribution, Recentred) and not contribution.pays(epsilon, m, concentrated):
        contribution = Censored(contribution.cut)
    if isinstance(contribution, Recentred):
        first, second = contribution.parts(epsilon, m, concentrated)
        in_all = each_with_first(first, second, m) if concentrated else epsilon
        following = SecondPart(contribution, contribution.second(model, second), in_all)
        return contribution.bounded(model, first), sampler, following
    return contribution.bounded(model, epsilon), sampler, None


def column_is_exact(contribution: Strict, column: ColumnModel, grid: PublicGrid) -> bool:
    """Whether a column of a built-in family, or of the user's own model, is drawn exactly; public facts decide it."""
    if column.own is not None:
        return _asked_for(grid)
    model = column.traits.model("column", column.declared, ScaleMixturePrior(), 1)
    return is_exact(contribution, model, not column.formula.intercept_only, grid)


def is_exact(contribution: Strict, model: Model, covariates: bool, grid: PublicGrid) -> bool:
    """Whether a column is drawn exactly, on the public grid: where that was asked for, or without covariates if it can.

    Said from public facts alone: the family, whether it has covariates, the grid that was given, the contribution.
    """
    if _asked_for(grid) or covariates:
        return _asked_for(grid)
    names = coordinate_names(model, {})
    return len(names) <= MOST_PARAMETERS and all(default_of(model, name, len(names)) for name in names)


def _asked_for(grid: PublicGrid) -> bool:
    return bool(grid.limits) or grid.step is not None


def terms(chain: Chain, released: Sequence[Draws], concentrated: bool = False) -> StrictTerms | None:
    """What a strict promise rests on, from the draws released of each block; None where the mechanism is not strict.

    With rho, of one row in all draws, where it is rho that adds up (`concentrated`).
    """
    blocks = zip(chain.names, chain.blocks, released, strict=True)
    parts = [_terms(name, block, draws) for name, block, draws in blocks]
    if any(part is None for part in parts):
        return None
    whole = together([part for part in parts if part is not None])
    return replace(whole, rho=at_least(_rho(chain, released[0].num_draws))) if concentrated else whole


def _rho(chain: Chain, m: int) -> Fraction:
    """What one row costs in m draws of all blocks, and in the first draws that some of them follow, as rho."""
    rho = Fraction(0)
    for block in chain.blocks:
        assert isinstance(block.model, Bounded), "strict"
        first = [] if block.second is None else [block.model.epsilon]
        each = block.model if block.second is None else block.second.model
        rho += rho_of_ranges(first) + rho_of_ranges([each.epsilon], m)
    return rho


def together(parts: Sequence[StrictTerms]) -> StrictTerms:
    """The terms of a chain: what its blocks cost adds up, and each has its own."""
    if len(parts) == 1:
        return parts[0]
    exact = all(part.exact for part in parts)
    return StrictTerms(
        epsilon_per_draw=total(part.epsilon_per_draw for part in parts),
        contribution=tuple(one for part in parts for one in part.contribution),
        grid=tuple(one for part in parts for one in part.grid) if exact else (),
        at_limit=any(part.at_limit for part in parts),
        by_column=tuple(part.epsilon_per_draw for part in parts),
        pure_only=any(part.pure_only for part in parts),
    )


def _terms(name: str, problem: Problem, released: Draws) -> StrictTerms | None:
    model = problem.model
    if not isinstance(model, Bounded):
        return None
    if problem.second is not None:
        return _recentred_terms(name, problem.first, problem.second, released)
    at = model.contribution
    if isinstance(at, CensoredAt):
        kind, part = "Censored", Part(stated.DRAW, model.epsilon, {"cut": at.cut, "a": at.a}, stated.AT_PEAK)
    else:
        assert isinstance(at, BetaDivergenceAt), "there is no other contribution"
        kind, part = "BetaDivergence", Part(stated.DRAW, model.epsilon, {"beta": at.beta, "bound": at.bound, "w": at.w})
    grid, limit = tuple[ColumnGrid, ...](), False
    if isinstance(problem.sampler, PublicGrid):
        axes = problem.sampler.axes(model, problem.rows.columns)
        grid, limit = (ColumnGrid(name, tuple(map(_axis, axes)), QUANTA),), bool(at_limit(axes, released))
    prior = named(model.prior) if isinstance(model.prior, LinearPrior | OrdinalPrior | PairPrior) else None
    return StrictTerms(model.epsilon, (Contribution(name, kind, (part,), prior),), grid, at.scalar, limit)


def _axis(axis: Axis) -> GridAxis:
    return GridAxis(axis.name, axis.low, axis.high, axis.step, axis.points, axis.logarithmic)


def _recentred_terms(name: str, problem: Problem, following: SecondPart, released: Draws) -> StrictTerms:
    """The terms of two parts: those of the first draw, and then what differs."""
    first = _terms(name, problem, released)
    assert first is not None, "the model is bounded"
    (own,) = first.contribution
    second = following.model
    scalar = second.contribution.scalar
    assert scalar is not None, "censored"
    parts = (
        replace(own.parts[0], part=stated.FIRST_DRAW),
        Part(stated.LATER_DRAWS, second.epsilon, {"a": scalar}, stated.AT_FIRST_DRAW),
    )
    both = Contribution(name, "Recentred", parts, own.prior)
    return StrictTerms(following.in_all, (both,), first.grid, scalar, first.at_limit, pure_only=True)


@in_64_bit
def largest_probability(model: Model, grid: PublicGrid, columns: Columns) -> float:
    """Largest probability of a single count over a public grid; 1 where the model's has no short formula."""
    if not isinstance(model, Poisson | NegativeBinomial) or "X" in columns:
        return 1.0
    return _largest_on(model, grid.axes(model, columns))


@lru_cache(maxsize=8)  # of public facts alone
def _largest_on(model: Poisson | NegativeBinomial, axes: tuple[Axis, ...]) -> float:
    return min(float(_largest_probability(model, points(axes))) * (1 + 1e-9), 1.0)


@partial(jax.jit, static_argnames="model")
def _largest_probability(model: Poisson | NegativeBinomial, u: Array) -> Array:
    def at(u: Array) -> Array:
        theta = model.prior.constrain(u)
        mode = jnp.exp(theta["beta"][0]) * (jnp.maximum(1 - 1 / theta["phi"], 0.0) if "phi" in theta else 1.0)
        y = jnp.maximum(jnp.floor(mode) + jnp.arange(-1.0, 2.0), 0.0)
        row = {"y": y, "log_factorial": jax.scipy.special.gammaln(y + 1)}
        return jnp.max(model.log_lik(theta, row))

    return jnp.exp(jax.lax.map(at, u, batch_size=65_536).max())


def at_limit(axes: tuple[Axis, ...], released: Draws) -> list[Axis]:
    """Axes of which a released draw lies within a few steps of a limit, where the family goes on beyond it."""
    found = []
    for axis, u in zip(axes, released.u.T, strict=True):
        end = NATURAL_ENDS.get(axis.name)
        low = end != "low" and (u < axis.u[0] + NEAR * axis.step).any()
        high = end != "high" and (u > axis.u[-1] - NEAR * axis.step).any()
        found += [axis] if low or high else []
    return found
