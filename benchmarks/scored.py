"""`Scored` on a real table and by simulation; a benchmark, not a test.

`python benchmarks/scored.py rand`: a negative binomial regression of mdvis on the other nine columns of the RAND health
insurance table (20,190 rows; it ships with statsmodels), half of the budget for it, ten seeds: error of the
coefficients themselves, in standard errors of the fit to the confidential table, and seconds.
`python benchmarks/scored.py coverage`: 95 % intervals of regression coefficients from m = 20 synthetic tables of
simulated databases where the model is right; how often they hold the truth.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd

SEEDS = 10
N, M = 1_000, 20
BETA = np.array([0.5, 0.6, -0.7])
LIMITS = (-8.0, 8.0)


def rand() -> None:
    import statsmodels.api as sm

    import alphasynth as syn

    table = sm.datasets.randhie.load_pandas().data
    names = [name for name in table.columns if name != "mdvis"]
    design = sm.add_constant(table[names])
    fit = sm.NegativeBinomial(table["mdvis"], design).fit(disp=0, maxiter=200)
    truth, error = fit.params.to_numpy()[:-1], fit.bse.to_numpy()[:-1]
    formula = f"mdvis ~ {' + '.join(names)}"
    for whole in (1.0, 4.0):
        found = []
        for seed in range(SEEDS + 1):  # the first one compiles
            wall, cpu = time.perf_counter(), time.process_time()
            made = syn.Synthesizer(
                formula,
                family="negative_binomial",
                mechanism="Scored",
                epsilon=whole / 2,
                m=1,
                public=names,
                seed=seed,
            ).fit(table)
            seconds = time.perf_counter() - wall, time.process_time() - cpu
            off = np.abs(made._outcome.paths[0].match.w[:-1] - truth) / error
            found.append((off.mean(), *seconds))
        off, wall, cpu = np.array(found)[1:].T
        print(
            f"epsilon {whole:g}, {whole / 2:g} of it here: mean |error| {off.mean():.2f} standard errors "
            f"(by seed {off.min():.2f} to {off.max():.2f}); {wall.mean():.1f} s, {cpu.mean():.1f} CPU s"
        )


def simulated(family: str, rng: np.random.Generator) -> pd.DataFrame:
    x, g = rng.normal(size=N).round(1), rng.integers(0, 2, N)
    eta = BETA @ np.stack([np.ones(N), x, g])
    if family == "bernoulli":
        y = (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(int)
    elif family == "normal":
        y = np.clip(eta + rng.normal(size=N), *LIMITS)
    else:
        y = rng.poisson(np.exp(eta)) if family == "poisson" else rng.poisson(rng.gamma(3, np.exp(eta) / 3))
    return pd.DataFrame({"y": y, "x": x, "g": g})


def coefficients(family: str, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Quasi-likelihood estimates and their variances, as an analyst would compute them."""
    X = np.column_stack([np.ones(len(table)), table["x"], table["g"]])
    y, beta = table["y"].to_numpy(float), np.zeros(3)
    for _ in range(50 if family != "normal" else 1):
        eta = np.clip(X @ beta, -30, 30)
        mean, slope = {
            "normal": (eta, np.ones_like(eta)),
            "bernoulli": (1 / (1 + np.exp(-eta)), None),
        }.get(family, (np.exp(eta), np.exp(eta)))
        slope = mean * (1 - mean) if slope is None else slope
        step = np.linalg.solve((X * slope[:, None]).T @ X, X.T @ (y - mean))
        beta = beta + step
        if np.abs(step).max() < 1e-8:
            break
    inverse = np.linalg.inv((X * slope[:, None]).T @ X)
    residual = X * (y - (X @ beta if family == "normal" else mean))[:, None]
    return beta, np.diag(inverse @ (residual.T @ residual) @ inverse)


def one_database(given: tuple[str, float, int]) -> list[bool]:
    import alphasynth as syn
    from alphasynth.evaluation.intervals import combine

    family, epsilon, number = given
    rng = np.random.default_rng([20261116, number])
    declared = {"bernoulli": {"levels": [0, 1]}, "normal": {"limits": list(LIMITS)}}.get(family)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = syn.Synthesizer(
            "y ~ x + g",
            family=family,
            mechanism="Scored",
            epsilon=epsilon,
            m=M,
            public=["x", "g"],
            seed=number,
            declared={"y": declared} if declared else None,
        ).fit(simulated(family, rng))
        found = [coefficients(family, table) for table in made.sample()]
    held = []
    for place, truth in enumerate(BETA):
        q, v = [beta[place] for beta, _ in found], [variance[place] for _, variance in found]
        interval = combine(q, v, rows=N, n=N, scalar="spread").interval
        assert interval is not None
        held.append(interval.low <= truth <= interval.high)
    return held


def coverage(databases: int, processes: int) -> None:
    for family in ("poisson", "negative_binomial", "bernoulli", "normal"):
        for epsilon in (0.5, 1.0, 4.0):
            jobs = [(family, epsilon, number) for number in range(databases)]
            with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
                held = np.array(list(pool.map(one_database, jobs, chunksize=10)))
            error = np.sqrt(0.95 * 0.05 / databases)
            shown = ", ".join(f"{share:.3f}" for share in held.mean(axis=0))
            print(f"{family}, epsilon {epsilon:g}: intercept, x, g covered {shown} (s.e. {error:.3f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["rand", "coverage"])
    parser.add_argument("--databases", type=int, default=500)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    if asked.what == "rand":
        rand()
    else:
        coverage(asked.databases, asked.processes)


if __name__ == "__main__":
    main()
