"""What comes of many databases of one generator: bounds, statistics of their synthetic tables, and bounds over n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from alphasynth.evaluation.intervals import RESAMPLES, percentile_interval
from alphasynth.models.coefficient_priors import ScaleMixturePrior
from alphasynth.models.counts import NegativeBinomial, Poisson
from alphasynth_studies.local_bounds import (
    ROUNDS,
    Bounds,
    Clock,
    local_bounds,
    simulate,
    statistics_of,
    synthetic_statistics,
)
from alphasynth_studies.local_bounds import VALUES as SUPPORT
from alphasynth_studies.statements import share_interval
from alphasynth_studies.tables import mixture_log_pmf, poisson_log_pmf

N = 1_000
M = 20
NAMES, QUANTILES = ("mean", "median", "q15", "q90"), (0.5, 0.15, 0.9)


@dataclass(frozen=True, eq=False)
class Generator:
    """What databases are drawn from, the model fitted to them, and the bound at which the paper sees LW gather."""

    name: str
    words: str
    log_pmf: np.ndarray
    model: Any
    global_value: float
    bounds_figure: int = 0
    utility_figure: int = 0


@dataclass(frozen=True, eq=False)
class Many:
    """What came of many databases of one generator: Delta (R, 3), statistics of the tables (R, 4) and (R, 3, 4)."""

    results: dict[str, Any]
    delta: np.ndarray
    own: np.ndarray
    synthetic: np.ndarray | None


def generators() -> tuple[Generator, ...]:
    """The paper's two, and its mixture as printed in Supp 5, with one dispersion twice."""
    poisson = Poisson.with_coefficients(ScaleMixturePrior(), 1)
    negative_binomial = NegativeBinomial.with_coefficients(ScaleMixturePrior(), 1)
    mixture = "0.2 NB(100, 5) + 0.8 NB(100, 20)"
    return (
        Generator("poisson", "Poisson(100)", poisson_log_pmf(SUPPORT), poisson, 3.5, 11, 12),
        Generator("mixture", mixture, mixture_log_pmf(SUPPORT), negative_binomial, 6.0, 13, 14),
        Generator("as_printed", "NB(100, 5)", mixture_log_pmf(SUPPORT, (5.0, 5.0)), negative_binomial, 6.0),
    )


def many_databases(
    clock: Clock, generator: Generator, num_databases: int, n: int, key: list[int], tables: bool = True
) -> Many:
    """So many databases of n records: simulate, bound, and, with `tables`, synthesize; the key decides all of it."""
    seeds = np.random.SeedSequence(key).generate_state(3).tolist()
    counts = simulate(clock, seeds[0], generator.log_pmf, num_databases, n)
    bounds = local_bounds(clock, seeds[1], generator.model, counts, M)
    results: dict[str, Any] = {
        label: _summary(delta, generator.global_value) for label, delta in zip(ROUNDS, bounds.delta.T, strict=True)
    }
    results["extremes"] = extremes(bounds)
    results["smallest_acceptance"] = float(bounds.acceptance.min())
    own = statistics_of(counts, QUANTILES)
    if not tables:
        return Many(results, bounds.delta, own, None)
    synthetic = synthetic_statistics(clock, seeds[2], generator.model, bounds.draws, n, QUANTILES)
    for number, label in enumerate(ROUNDS):
        results[label]["error"] = _errors(synthetic[:, number] - own)
        results[label] |= _largest_relative(synthetic[:, number] - own, own.mean(axis=0))
    return Many(results, bounds.delta, own, synthetic)


def _summary(delta: np.ndarray, global_value: float) -> dict[str, Any]:
    """Median, mean, sd and range of the databases' bounds, and the share above the paper's global value."""
    above = int((delta > global_value).sum())
    resampled = np.random.default_rng(len(delta)).choice(delta, (RESAMPLES, len(delta)))
    medians = np.median(resampled, axis=1)
    return {
        "num_databases": len(delta),
        "median_delta": float(np.median(delta)),
        "median_delta_interval": list(percentile_interval(medians)),
        "mean_delta": float(delta.mean()),
        "sd_delta": float(delta.std(ddof=1)),
        "relative_sd": float(delta.std(ddof=1) / np.median(delta)),
        "relative_sd_interval": list(percentile_interval(resampled.std(axis=1, ddof=1) / medians)),
        "smallest_delta": float(delta.min()),
        "largest_delta": float(delta.max()),
        "share_above_global": above / len(delta),
        "share_above_global_interval": share_interval(above, len(delta)),
    }


def extremes(bounds: Bounds) -> dict[str, float]:
    """How LW's Delta follows from the largest and the smallest F of the unweighted fit alone.

    LW's bound of a record with F is F (M - F) / (M - m), M and m being the extremes; its largest value over all F is
    M^2 / (4 (M - m)), at F = M / 2, where M is at least 2 m.
    """
    largest, smallest = bounds.delta[:, 0], bounds.smallest[:, 0]
    predicted = np.where(largest >= 2 * smallest, largest**2 / (4 * (largest - smallest)), smallest)
    return {
        "correlation": float(np.corrcoef(predicted, bounds.delta[:, 1])[0, 1]),
        "median_ratio": float(np.median(bounds.delta[:, 1] / predicted)),
    }


def _errors(error: np.ndarray) -> dict[str, dict[str, float]]:
    """Mean signed error of each statistic over databases, its standard error, and the root mean squared error."""
    return {
        name: {
            "mean": float(line.mean()),
            "standard_error": float(line.std(ddof=1) / np.sqrt(len(line))),
            "rmse": float(np.sqrt((line**2).mean())),
        }
        for name, line in zip(NAMES, error.T, strict=True)
    }


def _largest_relative(error: np.ndarray, size: np.ndarray) -> dict[str, Any]:
    """The largest mean error as a share of its statistic, and its 95 % interval."""
    means = np.abs(error.mean(axis=0) / size)
    at = int(means.argmax())
    reach = 2 * float(error[:, at].std(ddof=1) / np.sqrt(len(error)) / size[at])
    value = float(means[at])
    return {
        "largest_relative_error": value,
        "largest_relative_error_interval": [max(value - reach, 0.0), value + reach],
    }


def bounds_over_n(by_n: dict[int, Many], rng: np.random.Generator) -> dict[str, Any]:
    """Bounds over n, and how LW's at the largest n compare with those at the smallest: spread, range, median."""
    first, last = min(by_n), max(by_n)
    few, many = by_n[first].delta[:, 1], by_n[last].delta[:, 1]
    measures: dict[str, Callable[[np.ndarray], float]] = {
        "spread_ratio": lambda delta: float(delta.std(ddof=1)),
        "range_ratio": lambda delta: float(np.ptp(delta)),
        "drift": lambda delta: float(np.median(delta)),
    }
    ratios = {name: _ratio(rng, of, many, few) for name, of in measures.items()}
    return {
        "over_n": {str(n): found.results for n, found in by_n.items()},
        "contraction": {"first_n": first, "last_n": last, **ratios},
    }


def _ratio(
    rng: np.random.Generator, of: Callable[[np.ndarray], float], above: np.ndarray, below: np.ndarray
) -> dict[str, float]:
    """Ratio of a statistic of two samples, and its bootstrap standard error."""
    pairs = [(of(rng.choice(above, len(above))), of(rng.choice(below, len(below)))) for _ in range(RESAMPLES)]
    resampled = [one / other for one, other in pairs if other > 0]  # a handful of values may all be drawn alike
    return {"value": of(above) / of(below), "standard_error": float(np.std(resampled))}


def less_skewed_is_better(results: dict[str, Any]) -> float:
    """1 if LW's largest error relative to a statistic is smaller on Poisson data than on the mixture."""
    errors = [results[name]["LW"]["largest_relative_error"] for name in ("poisson", "mixture")]
    return float(errors[0] < errors[1])


def range_of(summary: dict[str, Any]) -> float:
    """Largest minus smallest bound."""
    return float(summary["largest_delta"] - summary["smallest_delta"])
