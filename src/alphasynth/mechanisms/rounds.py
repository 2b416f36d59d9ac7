"""The rounds of a run, one `Weighting` each, with draws of the mean."""

from __future__ import annotations

import numpy as np

from alphasynth.inference.contribution import bare
from alphasynth.mechanisms.by_column import applied
from alphasynth.mechanisms.chain import Chain, JointFit
from alphasynth.mechanisms.fit import Fit, Problem
from alphasynth.mechanisms.mechanism import Trail
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.models.counts import NegativeBinomial, Poisson

# Of a design with more distinct lines than this, so many at random stand for all when mu is averaged over them.
MOST_LINES = 10_000


def weightings(trail: Trail, chain: Chain) -> tuple[Weighting, ...]:
    """The rounds of a run: the first fit, then one per rule; the last has the mechanism's own label."""
    return tuple(
        Weighting(label, fit.records.counts, _by_row(fit), fit.lipschitz.by_distinct, _mu(fit, chain))
        for label, fit in zip(round_labels(trail), trail.fits, strict=True)
    )


def _by_row(fit: JointFit) -> np.ndarray:
    """One weight per distinct row: where each column has its own, their mean."""
    return fit.alpha_distinct if fit.alpha_distinct.ndim == 1 else fit.alpha_distinct.mean(axis=1)


def _mu(fit: JointFit, chain: Chain) -> np.ndarray | None:
    """Draws of the mean of a single column; None of several."""
    return draws_of_mu(fit.columns[0], chain.one) if len(chain.blocks) == 1 else None


def round_labels(trail: Trail) -> list[str]:
    """What each round is called; one that shares its name with a later one takes its number along."""
    labels = [trail.first, *(type(applied(rule)).__name__ for rule in trail.rules)]
    labels[-1] = trail.label
    return [f"{name} (round {i + 1})" if name in labels[i + 1 :] else name for i, name in enumerate(labels)]


def draws_of_mu(fit: Fit, problem: Problem) -> np.ndarray | None:
    """Draws of the mean: exp(X beta), averaged over the records; a model of the user's own may have a mu."""
    theta = fit.draws.theta
    if not isinstance(bare(problem.model), Poisson | NegativeBinomial):
        mu = theta.get("mu")
        return None if mu is None or np.ndim(mu) != 1 else np.asarray(mu)
    beta = np.asarray(theta["beta"])
    if "X" not in problem.rows.columns:
        return np.exp(beta[:, 0])
    size = problem.rows.size
    shares = np.bincount(problem.rows.of, fit.records.counts, minlength=size)[:size] / fit.records.n
    X = np.asarray(problem.rows.columns["X"])[:size]
    if size > MOST_LINES:
        X = X[np.random.default_rng(0).choice(size, MOST_LINES, p=shares)]
        shares = np.full(MOST_LINES, 1 / MOST_LINES)
    return np.exp(beta @ X.T) @ shares
