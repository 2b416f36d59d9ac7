"""What very many counts may be: the posterior of `likely`, in steps that make few products of large matrices.

Logarithms of shares are the vector here, not what makes them, so that a step to a mode solves one system and a draw
takes products with vectors alone. A thousand blocks take a tenth of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular

# Newton steps to a mode, when they have arrived, how they are held back at first and at the most.
STEPS, ARRIVED, HELD, STUCK = 80, 1e-3, 1e-3, 1e9
# Settings of less evidence than this part of the best one's are left out.
UNLIKELY = 0.01
# Slices of a draw, which start from the mode; counts of no more than so many deviations are few.
SLICES, FEW = 10, 0.5
# Draws that a mean is of: of few blocks, and of very many, where it then has 2 % more noise.
OF_A_MEAN, OF_A_WIDE_MEAN = 64, 32
# Counts (number, blocks) of vectors (number, blocks), and the logarithm of their density; given which ones they are.
Density = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Prior(NamedTuple):
    """By setting: logarithms (settings, blocks) of shares, roots of what these are off by, how often it is the one."""

    usual: np.ndarray
    roots: np.ndarray
    often: np.ndarray


def sliced(rng: np.random.Generator, now: np.ndarray, density: Density, slices: int) -> np.ndarray:
    """Counts (number, blocks) after so many elliptical slices from vectors (number, blocks) of a unit normal.

    Each vector goes on to its next slice as soon as it has moved, and does not wait for the others.
    """
    number, blocks = now.shape
    counts, worth = density(np.arange(number), now)
    other, (least, angle, low, high) = np.zeros_like(now), np.zeros((4, number))
    to_do, left, begin = np.full(number, slices), np.arange(number), np.arange(number)
    while len(left):
        other[begin] = rng.normal(size=(len(begin), blocks))
        least[begin] = worth[begin] + np.log1p(-rng.random(len(begin)))
        angle[begin] = rng.uniform(0.0, 2 * math.pi, len(begin))
        low[begin], high[begin] = angle[begin] - 2 * math.pi, angle[begin]
        turned = angle[left, None]
        new = now[left] * np.cos(turned) + other[left] * np.sin(turned)
        made, found = density(left, new)
        good = found > least[left]
        done, refused = left[good], left[~good]
        now[done], counts[done], worth[done] = new[good], made[good], found[good]
        low[refused] = np.where(angle[refused] < 0, angle[refused], low[refused])
        high[refused] = np.where(angle[refused] < 0, high[refused], angle[refused])
        angle[refused] = rng.uniform(low[refused], high[refused])
        to_do[done] -= 1
        begin, left = done[to_do[done] > 0], left[to_do[left] > 0]
    return counts


def without_sum(covariance: np.ndarray) -> np.ndarray:
    """The precision (blocks, blocks) of numbers whose sum is known: of every other direction.

    >>> without_sum(np.array([[2.0, -2.0], [-2.0, 2.0]])).round(6).tolist()
    [[0.125, -0.125], [-0.125, 0.125]]
    """
    size = max(float(np.diag(covariance).mean()), 1e-300)
    made = np.linalg.inv(covariance + size / len(covariance)) - 1 / (size * len(covariance))
    return np.asarray((made + made.T) / 2)


@dataclass(frozen=True, eq=False)
class Setting:
    """One setting of a prior, of n rows' counts: the usual logarithms, their precision, and sums as an estimate."""

    n: int
    estimate: np.ndarray = field(repr=False)
    precision: np.ndarray = field(repr=False)
    usual: np.ndarray = field(repr=False)
    tight: np.ndarray = field(repr=False)
    often: float

    def counts(self, at: np.ndarray) -> np.ndarray:
        """Counts (..., blocks) of logarithms (..., blocks)."""
        made = np.exp(at - at.max(axis=-1, keepdims=True))
        return np.asarray(self.n * made / made.sum(axis=-1, keepdims=True))

    def far(self, at: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Minus the logarithm of the density (...,) at logarithms that make these counts, but for a constant."""
        apart, off = at - self.usual, counts - self.estimate
        return 0.5 * (((apart @ self.tight) * apart).sum(axis=-1) + ((off @ self.precision) * off).sum(axis=-1))

    def curvature(self, counts: np.ndarray, part: np.ndarray) -> np.ndarray:
        """The density's (blocks, blocks), where counts are nearly linear and sums know this part (blocks,) of them."""
        known = self.precision * (part * counts) * part[:, None] - np.outer(
            part * (self.precision @ (part * counts)), counts / self.n
        )
        return self.tight + counts[:, None] * known - np.outer(counts / self.n, counts @ known)

    def mode(self, at: np.ndarray) -> tuple[np.ndarray, float]:
        """The likeliest logarithms and their evidence, by Newton steps from these; those that lead away are held."""
        hold, counts, all_of = HELD, self.counts(at), np.ones(len(at))
        far = float(self.far(at, counts))
        curvature = self.curvature(counts, all_of)
        for _ in range(STEPS):
            off = self.precision @ (counts - self.estimate)
            slope = self.tight @ (at - self.usual) + counts * off - counts * (counts @ off) / self.n
            new = at - cho_solve(cho_factor(curvature + hold * np.diag(np.diag(curvature)), lower=True), slope)
            made = self.counts(new)
            nearer = float(self.far(new, made))
            good, gain = nearer < far, far - nearer
            if good:
                at, counts, far = new, made, nearer
                curvature = self.curvature(counts, all_of)
            hold = hold / 5 if good else max(8 * hold, HELD)
            if gain <= ARRIVED if good else hold >= STUCK:
                break
        size = np.linalg.slogdet(curvature)[1] - np.linalg.slogdet(self.tight)[1]
        return at, math.log(self.often) - far - 0.5 * float(size)

    def spread(self, at: np.ndarray) -> np.ndarray:
        """The root (blocks, blocks) of how sure logarithms are about a mode, less so where counts are few."""
        counts = self.counts(at)
        part = counts / (counts + FEW / np.sqrt(np.diag(self.precision)))
        return np.asarray(cho_factor(self.curvature(counts, part), lower=True)[0])


@dataclass(frozen=True, eq=False)
class Wide:
    """Settings, the likeliest logarithms of each, roots of how sure these are, and how likely settings are."""

    settings: Sequence[Setting] = field(repr=False)
    modes: np.ndarray = field(repr=False)
    roots: Sequence[np.ndarray] = field(repr=False)
    kept: np.ndarray = field(repr=False)
    often: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, n: int, estimate: np.ndarray, precision: np.ndarray, prior: Prior, start: np.ndarray) -> Wide:
        """With the modes found from these logarithms (settings, blocks)."""
        settings = [
            Setting(n, estimate, precision, usual, _inverse(root), float(often))
            for usual, root, often in zip(*prior, strict=True)
        ]
        found = [setting.mode(at) for setting, at in zip(settings, start, strict=True)]
        evidence = np.array([each for _, each in found])
        often = np.exp(evidence - evidence.max())
        kept = np.flatnonzero(often > UNLIKELY)
        modes = np.array([at for at, _ in found])
        roots = [settings[of].spread(modes[of]) for of in kept]
        return cls(settings, modes, roots, kept, often[kept] / often[kept].sum())

    def mean(self, rng: np.random.Generator) -> np.ndarray:
        """What they are on average, (blocks,), but for a little."""
        return np.asarray(self.draw(rng, OF_A_WIDE_MEAN).mean(axis=0))

    def draw(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """So many draws (number, blocks): elliptical slices, starting from a setting's mode."""
        of = np.sort(rng.choice(len(self.kept), number, p=self.often))

        def density(which: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            counts, worth = np.zeros(now.shape), 0.5 * (now**2).sum(axis=1)
            for place in np.unique(of[which]):
                own, setting = of[which] == place, self.settings[self.kept[place]]
                moved = solve_triangular(self.roots[place], now[own].T, lower=True, trans="T").T
                at = self.modes[self.kept[place]] + moved
                counts[own] = setting.counts(at)
                worth[own] -= setting.far(at, counts[own])
            return counts, worth

        return sliced(rng, np.zeros((number, self.modes.shape[1])), density, SLICES)


def _inverse(root: np.ndarray) -> np.ndarray:
    """The inverse of what this is the lower root of."""
    half = np.tril(lapack.dpotri(root, lower=1)[0])
    return np.asarray(half + np.tril(half, -1).T)
