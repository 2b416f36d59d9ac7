"""What comes of many databases of one generator: bounds, statistics of their synthetic tables, and bounds over n."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alphasynth.evaluation.intervals import RESAMPLES, percentile_interval
from alphasynth.models.coefficient_priors import ScaleMixturePrior
from alphasynth.models.counts import NegativeBinomial, Poisson
from alphasynth_studies.expected import FAILS, HOLDS, UNDECIDED, Expected, found_in, interval_in
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
from alphasynth_studies.scans.settings import LW_SETTINGS
from alphasynth_studies.scans.turning import opposed
from alphasynth_studies.statements import share_interval
from alphasynth_studies.tables import mixture_log_pmf, poisson_log_pmf

N = 1_000
M = 20
UPPER = 0.95
Scan = list[dict[str, Any]]
NAMES, QUANTILES = ("mean", "median", "q15", "q90"), (0.5, 0.15, 0.9)


@dataclass(frozen=True, eq=False)
class Generator:
    """What databases are drawn from, the model fitted to them, and the paper's global bound of LW."""

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
    """Poisson counts, the mixture of section 3, and that of Supp 5 as printed, with one dispersion twice."""
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
        label: summary(delta, generator.global_value) for label, delta in zip(ROUNDS, bounds.delta.T, strict=True)
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


def scan_bounds(clock: Clock, generator: Generator, size: tuple[int, tuple[int, ...]], key: list[int]) -> Scan:
    """The same at every scanned setting of LW, on the same databases for all: numbers at n = 1,000, and over n.

    `size` is how many databases, and of which other n a third as many; the first and last n are compared.
    """
    most, ns = size
    count = len(LW_SETTINGS)
    by_n: dict[int, list[np.ndarray]] = {}
    lines: list[dict[str, Any]] = [{**s._asdict(), "words": s.words} for s in LW_SETTINGS]
    for n in dict.fromkeys((N, *ns)):
        num_databases = most if n == N else max(most // 3, 2)
        each = list(LW_SETTINGS) * num_databases
        seeds = np.random.SeedSequence([*key, n]).generate_state(3).tolist()
        counts = simulate(clock, seeds[0], generator.log_pmf, num_databases, n)
        bounds = local_bounds(clock, seeds[1], generator.model, np.repeat(counts, count, axis=0), M, each)
        by_n[n] = [bounds.delta[at::count] for at in range(count)]
        if n != N:
            continue
        synthetic = synthetic_statistics(clock, seeds[2], generator.model, bounds.draws[:, 1:2], n, QUANTILES)[:, 0]
        own = statistics_of(counts, QUANTILES)
        for at, (line, delta) in enumerate(zip(lines, by_n[n], strict=True)):
            line["LW"] = summary(delta[:, 1], generator.global_value)
            line["LW"] |= _largest_relative(synthetic[at::count] - own, own.mean(axis=0))
            line["narrower"] = float(delta[:, 1].std(ddof=1) / delta[:, 0].std(ddof=1))
    if len(ns) > 1:
        rng = np.random.default_rng(key)
        for line, few, many in zip(lines, by_n[min(ns)], by_n[max(ns)], strict=True):
            line["contraction"] = {name: _ratio(rng, of, many[:, 1], few[:, 1]) for name, of in MEASURES.items()}
    return lines


def turning(
    scans: Mapping[str, Scan], expected: Sequence[Expected], second: Mapping[str, Expected]
) -> dict[str, dict[str, str]]:
    """Numbers of Supp 5 that hold at some scanned setting of LW and do not at another; names start with the generator.

    Of each: what it depends on, and at which scales c (with g = 0) it holds and does not. `second` has another reading
    of a number, by its name: that is shown beside it, and the verdict then depends on the reading as well.
    """
    turned = {}
    for one in expected:
        verdicts = _by_scale(scans, one)
        if not opposed(verdicts.values()):
            continue
        turned[one.name] = {"on": "c of LW", "change": _listed(verdicts)}
        if one.name in second:
            other = second[one.name]
            turned[one.name] = {
                "on": "c of LW and on the reading",
                "change": f"as read here {_listed(verdicts)}; {other.what}: {_listed(_by_scale(scans, other))}",
            }
    return turned


def _by_scale(scans: Mapping[str, Scan], expected: Expected) -> dict[float, str]:
    """The verdict at each scanned scale c with g = 0."""
    generator, _, name = expected.name.partition(".")
    lines = [line for line in scans.get(generator, ()) if line["shift"] == 0]
    return {
        line["scale"]: expected.beside(found_in(line, name), interval_in(line, name)).verdict
        for line in sorted(lines, key=lambda line: float(line["scale"]))
    }


def _listed(verdicts: Mapping[float, str]) -> str:
    """At which scales a number holds, does not, or is undecided.

    >>> _listed({0.7: "holds", 0.8: "undecided", 1.0: "does not hold"})
    'holds at c = 0.7; does not hold at c = 1; undecided at c = 0.8 (g = 0)'
    """
    by = {word: [f"{c:g}" for c, verdict in verdicts.items() if verdict == word] for word in (HOLDS, FAILS, UNDECIDED)}
    return "; ".join(f"{word} at c = {', '.join(scales)}" for word, scales in by.items() if scales) + " (g = 0)"


def summary(delta: np.ndarray, global_value: float) -> dict[str, Any]:
    """Median, mean, sd and range of the databases' bounds, and the share above the paper's global value."""
    above = int((delta > global_value).sum())
    resampled = np.random.default_rng(len(delta)).choice(delta, (RESAMPLES, len(delta)))
    medians = np.median(resampled, axis=1)
    return {
        "num_databases": len(delta),
        "median_delta": float(np.median(delta)),
        "median_delta_interval": list(percentile_interval(medians)),
        "upper_delta": float(np.quantile(delta, UPPER)),  # one database in twenty lies above
        "upper_delta_interval": list(percentile_interval(np.quantile(resampled, UPPER, axis=1))),
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


MEASURES: dict[str, Callable[[np.ndarray], float]] = {
    "spread_ratio": lambda delta: float(delta.std(ddof=1)),
    "range_ratio": lambda delta: float(np.ptp(delta)),
    "drift": lambda delta: float(np.median(delta)),
}


def bounds_over_n(by_n: dict[int, Many], rng: np.random.Generator) -> dict[str, Any]:
    """Bounds over n, and how LW's at the largest n compare with those at the smallest: spread, range, median."""
    first, last = min(by_n), max(by_n)
    few, many = by_n[first].delta[:, 1], by_n[last].delta[:, 1]
    ratios = {name: _ratio(rng, of, many, few) for name, of in MEASURES.items()}
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


def range_of(summary: dict[str, Any]) -> float:
    """Largest minus smallest bound."""
    return float(summary["largest_delta"] - summary["smallest_delta"])
