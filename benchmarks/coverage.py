"""Coverage of 95 % intervals from m = 20 synthetic tables, where the model is right; a benchmark, not a test.

Databases of 1,000 counts from NB(mean 100, dispersion 12); each is synthesized by SW, LW_final and CW, with 20
draws and a table from each. How often do the intervals hold the mean, sd and quantiles of the distribution the
databases came from? Run it with `python benchmarks/coverage.py`; 2,000 databases take about half an hour on two
cores.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
from run import write_results
from scipy.stats import nbinom

MEAN, DISPERSION, N, M = 100.0, 12.0, 1_000, 20
# CW as in the demo.
MECHANISMS = {"SW": {}, "LW_final": {}, "CW": {"radius": 0.3, "relative": True, "scale": 1.5, "shift": 0.1}}
SHARES = {"q15": 0.15, "median": 0.5, "q90": 0.9}
TRUTH = {
    "mean": MEAN,
    "sd": float(np.sqrt(MEAN + MEAN**2 / DISPERSION)),
    **{name: float(nbinom(DISPERSION, DISPERSION / (DISPERSION + MEAN)).ppf(share)) for name, share in SHARES.items()},
}


def one_database(number: int) -> dict[str, dict[str, list[float]]]:
    """For each mechanism and statistic: estimate, and the ends of the combined and of the averaged interval."""
    import alphasynth as syn
    from alphasynth.evaluation.compared import estimates
    from alphasynth.evaluation.values import Values, statistics

    rng = np.random.default_rng([20261115, number])
    table = pd.DataFrame({"y": rng.poisson(rng.gamma(DISPERSION, MEAN / DISPERSION, N))})
    wanted = [statistic for statistic in statistics() if statistic.name in TRUTH]
    found = {}
    for mechanism, more in MECHANISMS.items():
        options = {"family": "negative_binomial", "mechanism": mechanism, "m": M, "seed": number, **more}
        synthesizer = syn.Synthesizer("y ~ 1", **options).fit(table)
        tables = [Values.of(frame["y"]) for frame in synthesizer.sample()]
        lines = estimates(rng, "y", wanted, tables, N)
        found[mechanism] = {
            e.statistic.name: [e.combined.estimate, *e.combined.interval, *e.averaged, synthesizer.guarantee_.delta]
            for e in lines
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--databases", type=int, default=2_000)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    begin = time.perf_counter()
    with ProcessPoolExecutor(asked.processes, get_context("spawn")) as pool:
        results = list(pool.map(one_database, range(asked.databases), chunksize=10))
    print(f"{asked.databases:,} databases, n = {N:,}, m = {M}, {time.perf_counter() - begin:,.0f} s")
    heads = f"{'':<10} {'':<6} {'T covers':>9} {'(s.e.)':>7} {'average covers':>15} {'bias':>7} {'RMSE':>6}"
    print(f"{heads} {'width T':>8} {'2 Delta':>8}")
    summary = []
    for mechanism in MECHANISMS:
        for name, truth in TRUTH.items():
            lines = np.array([result[mechanism][name] for result in results])
            estimate, low, high, low_averaged, high_averaged, delta = lines.T
            covers = float(((low <= truth) & (truth <= high)).mean())
            averaged = float(((low_averaged <= truth) & (truth <= high_averaged)).mean())
            error = float(np.sqrt(0.95 * 0.05 / len(lines)))
            line = {
                "mechanism": mechanism,
                "statistic": name,
                "coverage": covers,
                "monte_carlo_error": error,
                "coverage_averaged": averaged,
                "bias": float(estimate.mean() - truth),
                "rmse": float(np.sqrt(((estimate - truth) ** 2).mean())),
                "width": float((high - low).mean()),
                "epsilon_per_draw": float(2 * delta.mean()),
            }
            summary.append(line)
            print(
                f"{mechanism:<10} {name:<6} {covers:>9.4f} {error:>7.4f} {averaged:>15.4f} {line['bias']:>7.3f} "
                f"{line['rmse']:>6.3f} {line['width']:>8.3f} {line['epsilon_per_draw']:>8.2f}"
            )
    write_results("coverage", summary)


if __name__ == "__main__":
    main()
