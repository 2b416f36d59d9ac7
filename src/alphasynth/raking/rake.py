"""Raking: weights of a pool's rows that come near to noisy sums and stay as near to the pool as these allow.

Weights w minimise sum w log(w / q) - w + sum (y - A w)^2 / (2 s), where q are the pool's weights, A w the sums that the
weights make and y the noisy ones of variance s G: G says how much further than sampling error the truth may lie from
the pool, and is estimated (empirical Bayes). The weights are q exp(-A' mu): one number mu for each sum, found by turns,
for a table all at once, cell by cell, and for moments by Newton steps, or by Newton steps for all terms together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from alphasynth.raking.terms import MomentTerm, Step, TableTerm, Term, solving

# A Newton step moves no logarithm of a weight by more, but for a few rows and these by no more than the second; it is
# halved until it leads nearer by this part of what its slope says, or is so short.
FARTHEST, BUT_FOR_FEW, OF_FEW, ENOUGH, SHORTEST = 12.0, 0.99, 40.0, 1e-4, 2.0**-12
# Turns of conjugate gradients at the most, of many numbers and of fewer, and what they may leave.
TURNS, MANY_NUMBERS, MORE_TURNS, NEARLY = 8, 5_000_000, 20, 0.1
# The curvature of more sums than these is that of each term alone; it takes so many multiplications at the most, but is
# from so many rows for each sum, and is computed anew where it took more turns than these.
MOST_SUMS, NUMBERS, ROWS, SLOW = 1_200, 3_000_000_000, 10, 7


class Stepped(NamedTuple):
    """How far a step went, in logarithms of weights, and how many turns of conjugate gradients it took."""

    moved: float
    turns: int


def rake(log_weights: np.ndarray, terms: list[Term], sweeps: int, tolerance: float = 1e-3) -> int:
    """Fit all terms by turns, in place, until none moves by more than the tolerance; how many turns it took."""
    for done in range(sweeps):
        if max(step(log_weights, term) for term in terms) < tolerance:
            return done + 1
    return sweeps


def step(log_weights: np.ndarray, term: Term) -> float:
    """Fit one term given all else, in place: a table to the end, moments by a Newton step; how far it went."""
    if isinstance(term, TableTerm):
        return term.step(log_weights)
    return newton_step(log_weights, [term], term.alone(np.exp(log_weights))).moved


def rake_together(
    log_weights: np.ndarray,
    tables: Sequence[Term],
    moments: MomentTerm,
    sweeps: int,
    tolerance: float = 1e-2,
    before: Callable[[], None] = lambda: None,
) -> int:
    """The same for tables and moments, with steps of all of them together after each turn: far fewer turns.

    What is done `before` each turn may change the sums that are wanted.
    """
    terms, known = [*tables, moments], None
    moments.curvature = None
    for done in range(sweeps):
        before()
        moved = max(step(log_weights, term) for term in tables)
        known = known or curvature(terms, np.exp(log_weights))
        stepped = newton_step(log_weights, terms, known)
        if max(moved, stepped.moved) < tolerance:
            return done + 1
        known = known if stepped.turns <= SLOW else None
    return sweeps


def newton_step(log_weights: np.ndarray, terms: Sequence[Term], known: Step) -> Stepped:
    """A Newton step for all terms together, in place.

    By conjugate gradients, with a curvature that is nearly `known`; where they lead away, since sums contradict each
    other, the nearest of them counts. The step is halved until what raking minimises falls.
    """
    weights, ends = np.exp(log_weights), np.cumsum([len(term.noisy) for term in terms])[:-1]
    left = np.concatenate([term.slope(weights) for term in terms])
    variance = _variance(terms)

    def changes(move: np.ndarray) -> np.ndarray:
        parts = zip(terms, np.split(move, ends), strict=True)
        return np.asarray(np.sum([term.changes(each) for term, each in parts], axis=0, dtype=np.float64))

    slope, move = left, np.zeros_like(left)
    towards = known(left)
    long = float(left @ towards)
    enough, nearest, best, turns = long * NEARLY**2, long, move, 0
    while turns < (TURNS if _numbers(terms) > MANY_NUMBERS else MORE_TURNS):
        turns += 1
        rows = weights * changes(towards)
        along = np.concatenate([term.sums(rows) for term in terms]) + variance * towards
        far = long / max(float(towards @ along), 1e-300)
        move, left = move + far * towards, left - far * along
        better = known(left)
        before, long = long, float(left @ better)
        if long < nearest:
            nearest, best = long, move
        if long <= enough:
            break
        towards = better + long / before * towards
    change = changes(best)
    moved = float(np.quantile(np.abs(change), BUT_FOR_FEW))
    part = min(1.0, FARTHEST / max(moved, 1e-300), OF_FEW / max(float(np.abs(change).max()), 1e-300))
    bends, falls = 0.5 * float(best @ (variance * best)), float(slope @ best)
    while part > SHORTEST and _rises(log_weights, part * change) + part**2 * bends > (1 - ENOUGH) * part * falls:
        part /= 2
    for term, each in zip(terms, np.split(part * best, ends), strict=True):
        term.tilt += each
    log_weights += part * change
    return Stepped(moved, turns)


def _rises(log_weights: np.ndarray, change: np.ndarray) -> float:
    """By how much more than their slope says weights rise whose logarithms change by so much."""
    weights = np.exp(log_weights)
    with np.errstate(over="ignore"):
        return float((np.exp(log_weights + change) - weights - weights * change).sum())


def curvature(terms: Sequence[Term], weights: np.ndarray) -> Step:
    """What move of all terms a slope calls for, nearly: by how all sums vary together over some of the rows.

    Of very many sums, what each term alone calls for.
    """
    sizes = [len(term.noisy) for term in terms]
    ends = np.cumsum(sizes)[:-1]
    if sum(sizes) > MOST_SUMS:
        alone = [term.alone(weights) for term in terms]
        return lambda slope: np.concatenate(
            [solve(each) for solve, each in zip(alone, np.split(slope, ends), strict=True)]
        )
    every = max(len(weights) // max(NUMBERS // sum(sizes) ** 2, ROWS * sum(sizes)), 1)
    some, of = slice(None, None, every), weights[::every]
    of = of * (weights.sum() / max(of.sum(), 1e-300))
    made = np.block([[_both(one, other, some, of) for other in terms] for one in terms])
    diagonal = np.diag_indices_from(made)
    # Some of the rows may lie in none of a table's rare cells.
    own = [term.sums(weights) if isinstance(term, TableTerm) else np.zeros(len(term.noisy)) for term in terms]
    made[diagonal] = np.maximum(made[diagonal], np.concatenate(own)) + _variance(terms)
    return solving(made)


def _both(one: Term, other: Term, some: slice, weights: np.ndarray) -> np.ndarray:
    """Sums (of the one, of the other) over some rows of weights times what a row counts for both."""
    if isinstance(one, TableTerm) and isinstance(other, TableTerm):
        shape = len(one.noisy), len(other.noisy)
        return np.bincount(one.place[some] * shape[1] + other.place[some], weights, math.prod(shape)).reshape(shape)
    if isinstance(one, TableTerm) and isinstance(other, MomentTerm):
        from scipy.sparse import csr_array

        cells = csr_array((weights, (one.place[some], np.arange(len(weights)))), (len(one.noisy), len(weights)))
        return np.asarray(cells.astype(other.vectors.dtype) @ other.vectors[some])
    if isinstance(one, MomentTerm) and isinstance(other, MomentTerm):
        return np.asarray(one.vectors[some].T @ (other.vectors[some] * weights[:, None].astype(other.vectors.dtype)))
    return _both(other, one, some, weights).T


def _variance(terms: Sequence[Term]) -> np.ndarray:
    return np.concatenate([np.broadcast_to(term.variance, len(term.noisy)) for term in terms])


def _numbers(terms: Sequence[Term]) -> int:
    return sum(term.vectors.size for term in terms if isinstance(term, MomentTerm))
