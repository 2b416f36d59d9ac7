"""Columns fitted by `Scored`, one after another: covariates are public, or the synthetic rows of the columns before."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from alphasynth.errors import StrictWarning
from alphasynth.inference.contribution import bare
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.matching import FEWEST, MOST, SIMULATED, Match, Public
from alphasynth.inference.sampler import Draws, constrain_all
from alphasynth.inference.scores import Parameters, family_of
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import JointFit, block_keys, joint_largest
from alphasynth.mechanisms.fit import Fit, Problem, in_64_bit
from alphasynth.mechanisms.growth import Grown, grown, lines_beside
from alphasynth.mechanisms.scored import QUANTA, Plan, Scorable, Scored, plan, run_rounds
from alphasynth.mechanisms.scored_start import placed, start
from alphasynth.models.categories import Ordinal
from alphasynth.models.model import TAKES_PART
from alphasynth.privacy.accounting import total
from alphasynth.privacy.randomness import Key, Stream, child
from alphasynth.privacy.strict_terms import ROUND, START, Contribution, Part, StrictTerms

# Keys of the start, of the noise, of the public side's simulations, and of the draws.
STARTS, NOISES, SIMULATIONS, DRAWN = range(4)
MOST_UNKNOWN = 0.5  # of the parameters' public variance, before a warning


@dataclass(frozen=True, eq=False)
class Path:
    """How a column's parameters were found: its plan and its public prior, and what matched the noisy sums."""

    parameters: Parameters
    plan: Plan
    prior: np.ndarray = field(repr=False)
    match: Match = field(repr=False)

    @property
    def unknown(self) -> float:
        """Mean share of the parameters' public variance that noise and sampling leave."""
        return float(np.mean(np.diag(self.match.covariance) / np.diag(self.prior)))


def terms(names: Sequence[str], paths: Sequence[Path], epsilons: Sequence[float]) -> StrictTerms:
    """What the promise rests on, all of it public: parts of epsilon, clips, quanta."""
    return StrictTerms(
        epsilon_per_draw=total(epsilons),
        contribution=tuple(Contribution(n, "Scored", _parts(p.plan)) for n, p in zip(names, paths, strict=True)),
        by_column=tuple(epsilons),
        pure_only=True,
        scored=True,
    )


def _parts(steps: Plan) -> tuple[Part, ...]:
    rounds = (Part(ROUND, one.epsilon, {"clip": one.clip, "quanta": QUANTA}) for one in steps.rounds)
    return (Part(START, steps.start), *rounds)


def warn(names: Sequence[str], paths: Sequence[Path]) -> None:
    """Warn where noise leaves parameters about as unknown as they were; judged from what was released alone."""
    lost = [n for n, path in zip(names, paths, strict=True) if path.unknown > MOST_UNKNOWN]
    if lost:
        warnings.warn(
            f"at this epsilon the noise leaves {', '.join(map(repr, lost))} nearly as unknown as before; the guarantee "
            "does not suffer",
            StrictWarning,
            stacklevel=3,
        )


class Covered(NamedTuple):
    """Rows of covariates (terms, M), and the share of all records that they stand for."""

    X: np.ndarray
    share: float


def scorable(problem: Problem, model: Any) -> Scorable:
    """A block's records as scores read them (confidential)."""
    rows = problem.rows
    columns = dict(rows.distinct)
    counts = rows.total(problem.records.counts)[: rows.size]
    if TAKES_PART in columns:
        counts = np.where(columns.pop(TAKES_PART) > 0, counts, 0.0)
    X = columns.pop("X", np.ones((rows.size, 1)))
    return Scorable(columns, _terms(model, X), counts)


def _terms(model: Any, X: np.ndarray) -> np.ndarray:
    """Terms by row (terms, rows); an ordinal family's cut points stand in for its intercept."""
    return np.ascontiguousarray(X.T[1:] if isinstance(model, Ordinal) else X.T)


def public_rows(problem: Problem) -> np.ndarray:
    """Design rows (M, K) of public covariates, in an order that nothing but they decide."""
    rows = problem.rows
    if "X" not in rows.columns:
        return np.ones((1, 1))
    X, of = np.unique(np.asarray(rows.distinct["X"]), axis=0, return_inverse=True)
    times = np.bincount(of.ravel(), rows.total(problem.records.counts)[: rows.size]).astype(np.int64)
    number = wanted(problem.records.n)
    # As many of each as its share says, by whole steps through the sorted rows: nothing is left to chance.
    places = (np.arange(number) + 0.5) * (times.sum() / number)
    return X[np.searchsorted(np.cumsum(times), places, side="right")]


def wanted(n: int) -> int:
    """Number of rows to simulate for a table of n."""
    return int(min(max(SIMULATED * n, FEWEST), MOST))


@in_64_bit
def fit_column(
    key: Key, problem: Problem, scored: Scored, epsilon: float, covered: Covered
) -> tuple[Fit, Path, dict[str, Any]]:
    """Draws of one column's parameters, how they were found, and the parameters in the middle of them."""
    model = bare(problem.model)
    records = scorable(problem, model)
    X = _terms(model, covered.X)
    parameters = Parameters(family_of(model), len(X))
    n = max(problem.records.n * covered.share, 1.0)
    steps = plan(scored, epsilon, problem.records.n, parameters.size)
    began = start(child(key, STARTS), model, records, steps.start, n)
    w, prior = placed(parameters, began, X)

    def simulate(rng: np.random.Generator, at: np.ndarray, rows: np.ndarray) -> np.ndarray:
        theta = {name: np.asarray(v)[0] for name, v in constrain_all(model, parameters.coordinates(at[None])).items()}
        whole = np.vstack([np.ones(rows.shape[1]), rows]) if isinstance(model, Ordinal) else rows
        return model.simulate(rng, theta, {"X": whole.T}, rows.shape[1])

    public = Public(parameters, simulate, X, n, prior)
    rng = np.random.default_rng(child(key, SIMULATIONS))
    found = run_rounds(Stream(child(key, NOISES)), rng, w, steps.rounds, public, records)
    u = parameters.coordinates(found.draw(np.random.default_rng(child(key, DRAWN)), problem.num_draws))
    diagnostics = Diagnostics(sampler="Scored", num_draws=problem.num_draws, ess_bulk=float(problem.num_draws))
    draws = Draws.of(problem.model, u, diagnostics)
    middle = {n: np.asarray(v)[0] for n, v in constrain_all(model, parameters.coordinates(found.w[None])).items()}
    size = problem.records.size
    reach = np.zeros(size), np.full(size, -epsilon)
    return (
        Fit(problem.records, draws, np.ones(size), np.full(size, epsilon), reach),
        Path(parameters, steps, prior, found),
        middle,
    )


def fit_table(
    key: Key, bound: BoundTable, scored: Scored, epsilons: tuple[float, ...]
) -> tuple[JointFit, tuple[Path, ...]]:
    """Fit the columns of a table one after another, each on synthetic rows of those before it.

    A single column has the public rows themselves.
    """
    chain, n = bound.chain, bound.chain.records.n
    alone = len(chain.blocks) == 1
    keys = block_keys(key, chain.names)
    rng = np.random.default_rng(child(key, SIMULATIONS))
    made = grown(bound, np.zeros(0, np.int64) if alone else lines_beside(bound, rng.integers(n, size=wanted(n))))
    fits, paths = [], []
    for number, (problem, epsilon) in enumerate(zip(chain.blocks, epsilons, strict=True)):
        covered = Covered(public_rows(problem), 1.0) if alone else _covered(made, number)
        one, path, middle = fit_column(keys[number], problem, scored, epsilon, covered)
        if number + 1 < len(chain.blocks):
            made = made.next(number, middle, rng)
        fits.append(one)
        paths.append(path)
    columns = tuple(fits)
    joint = JointFit(chain.records, chain.names, columns, np.ones(chain.records.size), joint_largest(columns))
    return joint, tuple(paths)


def _covered(made: Grown, number: int) -> Covered:
    X, there = made.design(number)
    return Covered(X[there] if len(X) > 1 else X, float(there.mean()))
