"""Exact loss of one draw when a record is removed: the density audit, for many neighbours of one database at once.

As in `alphasynth.audits.densities` the whole mechanism runs again on every neighbour, its search included, and the
maximum over draws becomes the maximum over the set of highest density that holds 99.9 %. But all neighbours share the
points of the database's own grids, one grid a round, where each record's log-likelihood is computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from scipy.special import logsumexp

from alphasynth.audits.densities import HIGHEST_DENSITY
from alphasynth.audits.neighbours import neighbours, recounted
from alphasynth.audits.subject import Subject
from alphasynth.errors import CalibrationError, InputError
from alphasynth.inference.density import Target
from alphasynth.inference.grid import Grid
from alphasynth.mechanisms.calibrate import search
from alphasynth.mechanisms.chain import JointFit
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.mechanisms.rule import Rule
from alphasynth.models.model import Array, Columns, Model
from alphasynth.privacy.divergence import AUDIT_DELTA, epsilon_between
from alphasynth.synthesis.one_thread import one_thread

POINTS = 71  # along an axis; all but exp(-40) of the posterior's height lies between its ends
AT_ONCE = 256  # distinct rows: the compiled program takes a multiple of them
MOST_AT_THE_RIM = 1e-6  # probability that a neighbour may have where the points end


class Lattice(NamedTuple):
    """Points of a round's posterior: log prior (T,), log-likelihoods (T, distinct records), which are at the rim."""

    log_prior: np.ndarray
    log_lik: np.ndarray
    rim: np.ndarray


@dataclass(frozen=True, eq=False)
class Weighed:
    """A database's last round (confidential): its fit, and log probabilities of the last lattice's points (T,)."""

    fit: JointFit
    log_p: np.ndarray = field(repr=False)


@one_thread()
@in_64_bit
def worst_removal(subject: Subject, most: int) -> float:
    """Largest epsilon at delta 1e-5 between a run's output and that without one record, over `most` or so neighbours.

    They are the records of largest and smallest risk, of extreme responses, and some between. Raises
    `CalibrationError` where the mechanism cannot be brought to its target without one of them: that would tell.
    """
    lattices = [_lattice(subject, fit.alpha_distinct) for fit in subject.trail.fits]
    own = _run(subject, lattices, subject.records.counts)
    around = neighbours(subject.records, [], subject.trail.fits[0].largest_distinct, most)
    losses = []
    for neighbour in around:
        other = _run(subject, lattices, neighbour.counts)
        losses += [_one_way(own.log_p, other.log_p), _one_way(other.log_p, own.log_p)]
    return max(losses)


def _one_way(log_p: np.ndarray, log_q: np.ndarray) -> float:
    return epsilon_between(log_p - log_q, log_p, AUDIT_DELTA)


def _lattice(subject: Subject, alpha: np.ndarray) -> Lattice:
    """The points that hold the posterior under these weights."""
    problem = subject.chain.one
    target = Target.of(problem.model, problem.rows, problem.rows.total(alpha * subject.records.counts))
    u = Grid(POINTS).weigh(target).u
    lines = -(-problem.rows.size // AT_ONCE) * AT_ONCE
    columns = {name: column[:lines] for name, column in problem.rows.columns.items()}
    log_prior, log_lik = _at_points(problem.model, u, columns)
    places = np.unravel_index(np.arange(len(u)), (POINTS,) * u.shape[1])
    rim = np.any([(place == 0) | (place == POINTS - 1) for place in places], axis=0)
    return Lattice(np.asarray(log_prior), np.asarray(log_lik)[:, problem.rows.of], rim)


@partial(jax.jit, static_argnames="model")
def _at_points(model: Model, u: Array, columns: Columns) -> tuple[Array, Array]:
    log_lik = jax.vmap(lambda one: model.log_lik(model.prior.constrain(one), columns))(u)
    return jax.vmap(model.prior.log_density)(u), log_lik


def _run(subject: Subject, lattices: list[Lattice], counts: np.ndarray) -> Weighed:
    """The mechanism on a database with these counts: each rule's weights, the last rule's number searched."""
    keep = counts > 0
    records = recounted(subject.records, counts)
    rules = subject.trail.rules

    def fit(number: int, alpha: np.ndarray) -> Weighed:
        lattice = lattices[number]
        weight = np.zeros(len(counts))
        weight[keep] = alpha * records.counts
        score = lattice.log_prior + lattice.log_lik @ weight
        log_p = score - logsumexp(score)
        if np.exp(log_p[lattice.rim]).sum() > MOST_AT_THE_RIM:
            raise InputError("a neighbour's posterior must lie on the database's own grid, found one that does not")
        largest = np.abs(lattice.log_lik[_highest(log_p)]).max(axis=0)[keep]
        return Weighed(
            JointFit(records, subject.chain.names, subject.trail.fits[number].columns, alpha, largest), log_p
        )

    made = fit(0, np.ones(records.size))
    for number, rule in enumerate(rules, start=1):
        if number < len(rules) or subject.target is None:
            made = fit(number, rule(records, made.fit))
        else:
            made = _searched(partial(fit, number), rule, made.fit, subject.target)
    return made


def _searched(fit: Callable[[np.ndarray], Weighed], rule: Rule, before: JointFit, target: float) -> Weighed:
    """The fit whose bound is the largest that does not exceed the target."""
    tried: list[Weighed] = []

    def attempt(value: float) -> JointFit:
        tried.append(fit(rule.turned(value)(before.records, before)))
        return tried[-1].fit

    best = search(attempt, target, rule.guess(before, target), rule.highest).best
    if best is None:
        raise CalibrationError("a neighbour's bound must come down to the target, found one that does not", None)
    return next(one for one in tried if one.fit is best.fit)


def _highest(log_p: np.ndarray) -> np.ndarray:
    """Points of the smallest set that holds 99.9 % of the probability."""
    order = np.argsort(-log_p, kind="stable")
    return order[: int(np.searchsorted(np.cumsum(np.exp(log_p[order])), HIGHEST_DENSITY)) + 1]
