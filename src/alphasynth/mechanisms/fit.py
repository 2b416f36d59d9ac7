"""One round: `fit(records, alpha)` -> draws from the pseudo posterior and the Lipschitz bound of each record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import ParamSpec, TypeVar

import jax
import numpy as np

from alphasynth.errors import InputError, found, require_whole
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.contribution import Bounded, Recentred, bare, weighted
from alphasynth.inference.density import Target, outside
from alphasynth.inference.sampler import Draws, Sampler
from alphasynth.mechanisms.lipschitz import Lipschitz, extreme_log_liks, keep_below, larger
from alphasynth.models.model import SMALLEST_CAPACITY, Array, Columns, Model, Rows
from alphasynth.privacy.randomness import Key, child
from alphasynth.tables.records import Records

P = ParamSpec("P")
R = TypeVar("R")

FIRST, SECOND = 101, 102  # keys of the choice of a first draw, and of the draws that follow it
FEWEST_DRAWS = 100  # fewer cannot be diagnosed
NUM_DRAWS = 1_000  # S, for which the paper gives no number; the bound grows slowly with it: compare at equal S


def in_64_bit(function: Callable[P, R]) -> Callable[P, R]:
    """Run an entry point in 64-bit floats; the caller's own JAX settings stay as they are."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return run


@dataclass(frozen=True, eq=False)
class Problem:
    """All that stays the same from round to round: records, model, what the model reads of them, sampler, S, thresh.

    With a `second` part, one draw is made from this problem, and all others from what follows it. `guide` is the
    problem whose one draw budget weights are made from.
    """

    records: Records
    model: Model
    rows: Rows
    sampler: Sampler = Automatic()
    num_draws: int = NUM_DRAWS
    thresh: float = 1.0
    second: SecondPart | None = None
    guide: Problem | None = None

    def __post_init__(self) -> None:
        """Refuse too few draws to diagnose, a thresh that is no quantile, and what is no sampler."""
        check_settings(self.sampler, self.num_draws, self.thresh)

    @property
    def first(self) -> Problem:
        """The problem of the first draw, by itself."""
        return replace(self, second=None)

    def after(self, first: Draws) -> Problem:
        """The problem of the second part: contributions are centred at what a first draw makes of each record."""
        assert self.second is not None, "has two parts"
        model, rows = bare(self.model), self.rows
        log_lik = log_lik_at(model, first.u[0], rows, isinstance(self.sampler, PublicGrid))
        centre = self.second.contribution.centre(log_lik, self.second.model.epsilon)
        return replace(self.first, model=self.second.model, rows=replace(rows.for_strict(centre), start=first.u[0]))


@dataclass(frozen=True)
class SecondPart:
    """What follows the first draw of `Recentred`: the model of the other draws, which is centred where that draw lies.

    One of them costs its model's epsilon, and `in_all` with its part of the first draw.
    """

    contribution: Recentred
    model: Bounded
    in_all: float


def log_lik_at(model: Model, u: np.ndarray, rows: Rows, one_by_one: bool) -> np.ndarray:
    """f of every line at one draw; for exact draws one by one through one program, so that no line's place matters."""
    inside = outside(model)
    if inside is not None:
        return inside.known_log_liks(u[None], rows.distinct)[0]
    if not one_by_one:
        return np.asarray(_log_lik(model, u, rows.columns))[: rows.size]
    # Capacities are whole numbers of chunks, so the program has one shape.
    chunks = range(0, rows.size, SMALLEST_CAPACITY)
    parts = [{name: c[first : first + SMALLEST_CAPACITY] for name, c in rows.columns.items()} for first in chunks]
    return np.concatenate([np.asarray(_log_lik_by_line(model, u, part)) for part in parts])[: rows.size]


@partial(jax.jit, static_argnames="model")
def _log_lik(model: Model, u: Array, columns: Columns) -> Array:
    return model.log_lik(model.prior.constrain(u), columns)


@partial(jax.jit, static_argnames="model")
def _log_lik_by_line(model: Model, u: Array, columns: Columns) -> Array:
    theta = model.prior.constrain(u)
    return jax.lax.map(lambda line: model.log_lik(theta, {name: v[None] for name, v in line.items()})[0], columns)


def check_settings(sampler: object, num_draws: object, thresh: object) -> None:
    """Refuse too few draws to diagnose, a thresh that is no quantile or keeps too few, and what is no sampler."""
    if isinstance(sampler, type) or not isinstance(sampler, Sampler):
        raise InputError(f"sampler must be a sampler such as Laplace() or Nuts(), found {found(sampler)}")
    draws = require_whole("num_draws", num_draws, FEWEST_DRAWS)
    if isinstance(thresh, bool) or not isinstance(thresh, int | float) or not 0 < thresh <= 1:
        raise InputError(f"thresh must be above 0 and at most 1, found {found(thresh)}")
    if thresh * draws < FEWEST_DRAWS:
        raise InputError(f"thresh must keep at least {FEWEST_DRAWS} draws, found {found(thresh)} of {draws:,}")


def freeze(*arrays: np.ndarray) -> None:
    """Let no one write to these arrays any more."""
    for array in arrays:
        array.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Fit:
    """A round's outcome (confidential). `_distinct`: one entry per distinct row of the records.

    `largest_distinct` is F, the maximum over draws of |f|, unweighted; infinite where f is not finite. `extremes` holds
    the largest and the smallest f over the draws, from which a chain's joint bound is made.
    """

    records: Records
    draws: Draws
    alpha_distinct: np.ndarray = field(repr=False)
    largest_distinct: np.ndarray = field(repr=False)
    extremes: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Freeze the arrays that the privacy numbers come from."""
        freeze(self.alpha_distinct, self.largest_distinct)

    @property
    def attempts(self) -> tuple[int, ...]:
        """The sampler's attempt whose draws these are."""
        return (self.draws.diagnostics.attempt,)

    @property
    def mean_alpha(self) -> float:
        """Mean weight over records."""
        return float(np.average(self.alpha_distinct, weights=self.records.counts))

    @property
    def lipschitz(self) -> Lipschitz:
        """Delta by record, alpha_i F_i, and overall."""
        return Lipschitz(self.records, weighted(self.alpha_distinct, self.largest_distinct))


def drawn(key: Key, problem: Problem, alpha: np.ndarray, least: int = 0) -> Draws:
    """Draws from the pseudo posterior alone; raises `DiagnosticsError`."""
    rows = problem.rows
    target = Target.of(problem.model, rows, rows.total(alpha * problem.records.counts))
    return problem.sampler.draw(key, target, problem.num_draws, least).check()


@in_64_bit
def fit(key: Key, problem: Problem, alpha: np.ndarray, least: int = 0) -> Fit:
    """Draw from the pseudo posterior with weights alpha (one per distinct row of the records) and bound each record.

    `least` is the first of the sampler's attempts whose draws are taken.
    A record whose log-likelihood is not finite (`rows.finite`) takes weight 0. Raises `DiagnosticsError`.
    """
    records, model, rows = problem.records, problem.model, problem.rows
    alpha = np.where(rows.finite[rows.of], alpha, 0.0)
    draws = drawn(key, problem, alpha, least)
    if problem.second is not None:
        one = np.random.default_rng(child(key, FIRST)).integers(draws.num_draws)
        return fit(child(key, SECOND), problem.after(draws.take(np.array([one]))), alpha, least)
    keep = None
    if problem.thresh < 1:
        keep = keep_below(model, draws, rows, rows.largest(alpha), problem.thresh)
    highest, lowest = extreme_log_liks(model, draws, rows, keep)
    extremes = np.where(rows.finite, highest, np.inf)[rows.of], np.where(rows.finite, lowest, -np.inf)[rows.of]
    kept = draws if keep is None else draws.take(keep)
    return Fit(records, kept, alpha, larger(*extremes), extremes)
