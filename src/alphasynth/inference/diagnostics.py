"""How well draws stand for their target: bulk effective size, R-hat, Pareto k-hat; and the limits they must keep."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri


@dataclass(frozen=True)
class Diagnostics:
    """How the draws came out; what does not apply to a sampler is None.

    `acceptance`: share of proposals taken (`Nuts`: mean acceptance probability). `ess_bulk`: smallest bulk effective
    size over coordinates. `rhat`: largest rank-normalised split R-hat. `khat`: Pareto shape of the proposals'
    importance ratios. `divergences`: their number per `num_draws` transitions. `edge_mass`: probability at the rim of a
    grid, and its `spacing` in standard deviations. `beyond`: share of a strict target far beyond the modes that a
    sampler starts at. `num_draws`: S. `attempt`: which of the sampler's attempts this was.
    """

    sampler: str
    num_draws: int
    acceptance: float | None = None
    ess_bulk: float | None = None
    rhat: float | None = None
    khat: float | None = None
    divergences: int | None = None
    edge_mass: float | None = None
    spacing: float | None = None
    beyond: float | None = None
    attempt: int = 0
    note: str = ""

    def failures(self) -> list[str]:
        """What is outside its limit, in words; empty when the draws may be used."""
        low_ess = min(400.0, self.num_draws / 4)  # Vehtari et al. (2021) ask for 400; fewer draws than that cannot
        # The largest R-hat of a few dozen coordinates of good draws strays from 1 by up to about 30 / S; with room, 50.
        high_rhat = 1 + max(0.01, 50 / self.num_draws)
        checks: tuple[tuple[str, float | None, Callable[[float], bool], str], ...] = (
            ("acceptance", self.acceptance, lambda x: x >= 0.01, "at least 0.01"),
            ("bulk ESS", self.ess_bulk, lambda x: x >= low_ess, f"at least {low_ess:.0f}"),
            ("R-hat", self.rhat, lambda x: x <= high_rhat, f"at most {high_rhat:.3f}"),
            ("k-hat", self.khat, lambda x: x <= 0.7, "at most 0.7"),
            ("divergences", self.divergences, lambda x: x <= self.num_draws * 0.005, "at most 0.5 % of the draws"),
            ("edge mass", self.edge_mass, lambda x: x <= 1e-9, "at most 1e-9"),
            ("spacing", self.spacing, lambda x: x <= 0.5, "at most 0.5 standard deviations"),
            ("mass beyond the modes", self.beyond, lambda x: x <= 0.001, "at most 0.001"),
        )
        # A check that is not passed fails: so does one on a value that is not a number.
        return [f"{name} {x:.4g}, {rule}" for name, x, keeps, rule in checks if x is not None and not keeps(x)]


def split_chains(draws: np.ndarray) -> np.ndarray:
    """Chains (chains, length, D) cut into halves (2 chains, length // 2, D)."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def rank_normalise(draws: np.ndarray) -> np.ndarray:
    """Normal scores of pooled ranks, coordinate by coordinate; ties share their mean rank."""
    pooled = draws.reshape(-1, draws.shape[-1])
    scores = np.empty_like(pooled)
    for d, column in enumerate(pooled.T):
        order = np.argsort(column)
        value = column[order]
        first = np.concatenate([[True], value[1:] != value[:-1]])
        starts = np.append(np.flatnonzero(first), len(value))
        twice_mean_rank = starts[:-1] + starts[1:] + 1
        scores[order, d] = _normal_scores(len(pooled))[twice_mean_rank][np.cumsum(first) - 1]
    return scores.reshape(draws.shape)


@lru_cache(maxsize=8)
def _normal_scores(size: int) -> np.ndarray:
    """Normal score of each half-integer rank 0, 1/2, 1, ... of a sample."""
    return ndtri(np.maximum(np.arange(2 * size + 1) / 2 - 0.375, 0) / (size + 0.25))


def compare_chains(draws: np.ndarray) -> tuple[float, float]:
    """Smallest bulk effective size and largest R-hat over coordinates of chains (chains, length, D).

    Rank-normalised and split (Vehtari et al. 2021); R-hat is taken of the draws and of their distance from the median.
    """
    halves = split_chains(draws)
    bulk = rank_normalise(halves)
    folded = rank_normalise(np.abs(halves - np.median(halves, axis=(0, 1))))
    return float(ess(bulk).min()), float(np.maximum(_rhat(bulk), _rhat(folded)).max())


def _rhat(chains: np.ndarray) -> np.ndarray:
    length = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = length * chains.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((length - 1) / length + between / within / length)


def ess(chains: np.ndarray) -> np.ndarray:
    """Effective size (D,) of chains (chains, length, D), by Geyer's initial monotone sequence."""
    count, length, _ = chains.shape
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 1 << (2 * length - 1).bit_length(), axis=1)
    autocovariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :length].mean(axis=0) / length
    within = autocovariance[0] * length / (length - 1)
    variance = autocovariance[0] + chains.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = 1 - (within - autocovariance * length / (length - 1)) / variance
    correlation[0] = 1
    pairs = correlation[: length // 2 * 2].reshape(length // 2, 2, -1).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0).astype(bool)
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0), axis=0)
    time = np.maximum(2 * monotone.sum(axis=0) - 1, 1 / np.log10(count * length))
    return count * length / time


def khat(log_ratios: np.ndarray) -> float:
    """Pareto shape k of the largest importance ratios (PSIS: Vehtari et al. 2024; fit: Zhang and Stephens 2009)."""
    size = len(log_ratios)
    tail_size = math.ceil(min(size / 5, 3 * math.sqrt(size)))
    ratios = np.sort(np.where(np.isfinite(log_ratios), log_ratios, -np.inf))
    if ratios[-1] == -np.inf:
        return np.inf  # no proposal where the target has any mass
    tail = np.exp(ratios[-tail_size:] - ratios[-1])
    excess = tail - np.exp(ratios[-tail_size - 1] - ratios[-1])
    excess = excess[excess > 0]
    return _pareto_shape(excess) if len(excess) >= 5 else -np.inf  # a tail of equal ratios is no tail


def _pareto_shape(x: np.ndarray) -> float:
    """Shape of a generalised Pareto sample (sorted, positive), with the weak prior towards 0.5 that PSIS uses."""
    size = len(x)
    grid = 30 + int(math.sqrt(size))
    rates = 1 / x[-1] + (1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))) / (3 * x[int(size / 4 + 0.5) - 1])
    shapes = np.log1p(-rates[:, None] * x).mean(axis=1)
    log_profile = size * (np.log(-rates / shapes) - shapes - 1)
    with np.errstate(over="ignore"):  # an infinite sum is a weight of 0
        weights = 1 / np.exp(log_profile - log_profile[:, None]).sum(axis=1)
    rate = float(np.sum(rates * weights / weights.sum()))
    shape = float(np.log1p(-rate * x).mean())
    return (shape * size + 0.5 * 10) / (size + 10)
