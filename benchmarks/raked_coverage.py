"""Coverage of 95 % intervals from m = 20 tables of `Raked`, over many simulated databases; a benchmark, not a test.

    python benchmarks/raked_coverage.py --databases 500 --epsilons 0.5,1,4 --rows 3000
    python benchmarks/raked_coverage.py --population panel --databases 300 --epsilons 1,4

Each database is a new sample of one population: `people` of six columns (text, counts, a skewed number with gaps), or
the `panel` of nine, with a response, twelve levels of text, six codes, and five waves of a number that go together. The
truth is that of 3,000,000 rows. An interval is mean +- t sqrt((1 + 1/m) B), as the public page of a run has it.
`sd / se` is how much larger an estimate's deviation over databases is than that of the confidential tables' own ones.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import pandas as pd
from run import write_results
from scipy.stats import t as student

M, DELTA = 20, 1e-9
COLUMNS = {
    "sex": {"levels": ["f", "m"]},
    "region": {"levels": ["n", "e", "s", "w"]},
    "age": {"limits": [18, 95], "whole": True},
    "income": {"limits": [0, 400_000], "skewed": True, "missing": "model"},
    "owner": {"levels": [0, 1]},
    "visits": {"limits": [0, 60], "whole": True, "skewed": True},
}


def population(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Rows of the population."""
    sex, region = rng.choice(["f", "m"], n), rng.choice(["n", "e", "s", "w"], n, p=[0.4, 0.3, 0.2, 0.1])
    age, male = np.clip(np.round(rng.normal(45, 15, n)), 18, 95), sex == "m"
    income = np.exp(9.2 + 0.012 * age + 0.25 * male + 0.2 * (region == "e") + rng.normal(0, 0.6, n))
    income = np.clip(np.round(income), 0, 400_000)
    owner = rng.random(n) < 1 / (1 + np.exp(2.5 - 0.03 * age - 0.5 * (np.log(income + 1) - 9.9)))
    rate = np.exp(-0.2 + 0.02 * age + 0.3 * ~male) * rng.gamma(2, 0.5, n)
    income[rng.random(n) < 0.08] = np.nan
    numbers = {"age": age.astype(int), "income": income, "owner": owner.astype(int)}
    return pd.DataFrame({"sex": sex, "region": region, **numbers, "visits": np.clip(rng.poisson(rate), 0, 60)})


def estimates(table: pd.DataFrame) -> dict[str, float]:
    """Means, shares and coefficients of three regressions."""
    found = {f"mean {name}": table[name].mean() for name in ("age", "income", "visits")}
    shares = (("sex", "m"), ("region", "e"), ("region", "w"), ("owner", 1), ("visits", 0))
    found |= {f"share {name} = {level}": (table[name] == level).mean() for name, level in shares}
    found |= {"share age > 65": (table["age"] > 65).mean(), "share gaps": table["income"].isna().mean()}
    male = (table["sex"] == "m").astype(float)
    regions = {f"region {each}": (table["region"] == each).astype(float) for each in "esw"}
    there = table["income"].notna()
    own = {"age": table["age"], "male": male}
    found |= _regression("log income", np.log(table["income"][there] + 1), {**own, **regions}, there)
    found |= _regression("log visits", np.log1p(table["visits"]), {**own, "owner": table["owner"]})
    return found | _regression("owner", table["owner"], {**own, "visits": table["visits"]})


STATES, CODES = [f"s{number:02d}" for number in range(12)], list(range(6))
OF_STATE = 5 * np.array([0, 1, -1, 0.8, -0.8, 1.2, -0.6, 1, -1.2, 0.6, 1.4, -1])
OF_CODE = np.array([0, 4, -3, 3, -4, 1])
PANEL = {
    "state": {"levels": STATES},
    "part": {"levels": list("abcd")},
    "code": {"levels": CODES, "nominal": True},
    **{f"wave{number}": {"limits": [-8, 8]} for number in range(5)},
    "score": {"limits": [0, 100]},
}


def panel(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Rows of the other population."""
    state, code = rng.integers(0, 12, n), rng.integers(0, 6, n)
    part = np.where(rng.random(n) < 0.9, state // 3, rng.integers(0, 4, n))
    waves = np.cumsum(np.column_stack([rng.normal(0, 1, n), rng.normal(0, 0.7, (n, 4))]), axis=1)
    score = 50 + OF_STATE[state] + OF_CODE[code] + 8 * waves[:, 0] + rng.normal(0, 6, n)
    levels = {"state": np.array(STATES)[state], "part": np.array(list("abcd"))[part], "code": code}
    numbers = {f"wave{number}": wave for number, wave in enumerate(np.clip(waves, -8, 8).T)}
    return pd.DataFrame({**levels, **numbers, "score": np.clip(score, 0, 100)})


def of_panel(table: pd.DataFrame) -> dict[str, float]:
    """Means by level, a regression, and correlations of waves."""
    found = {f"score, {name}": value for name, value in table.groupby("state")["score"].mean().reindex(STATES).items()}
    found |= {f"score, code {c}": v for c, v in table.groupby("code")["score"].mean().reindex(CODES).items()}
    found |= {"share s03": (table["state"] == "s03").mean(), "mean wave2": table["wave2"].mean()}
    states = {name: (table["state"] == name).astype(float) for name in STATES[1:4]}
    codes = {f"code {code}": (table["code"] == code).astype(float) for code in CODES[1:]}
    found |= _regression("score", table["score"], {"wave0": table["wave0"], "wave1": table["wave1"], **states, **codes})
    together = table[["wave0", "wave1", "wave4"]].corr().to_numpy()
    return found | {"r wave0, wave1": together[0, 1], "r wave0, wave4": together[0, 2]}


def _regression(
    name: str, response: pd.Series, terms: dict[str, pd.Series], there: pd.Series | None = None
) -> dict[str, float]:
    columns = [each if there is None else each[there] for each in terms.values()]
    design = np.column_stack([np.ones(len(response)), *columns]).astype(float)
    fitted = np.linalg.lstsq(design, response.to_numpy(float), rcond=None)[0]
    return {f"{name} ~ {term}": float(value) for term, value in zip(terms, fitted[1:], strict=True)}


class Population(NamedTuple):
    """How rows come about, what is declared and matters most, and what is estimated."""

    rows: Callable[[np.random.Generator, int], pd.DataFrame]
    columns: dict[str, dict[str, object]]
    response: str | None
    estimates: Callable[[pd.DataFrame], dict[str, float]]


POPULATIONS = {
    "people": Population(population, COLUMNS, None, estimates),
    "panel": Population(panel, PANEL, "score", of_panel),
}


def one_database(number: int, epsilon: float, rows: int, population: str = "people") -> dict[str, list[float]]:
    """For each estimate: of m tables together, half an interval's width, and the confidential table's own."""
    import alphasynth as syn

    warnings.simplefilter("ignore")
    make, columns, response, estimates = POPULATIONS[population]
    table = make(np.random.default_rng([20261118, number]), rows)
    asked = {"mechanism": "Raked", "epsilon": epsilon, "delta": DELTA, "m": M, "seed": number, "response": response}
    found = pd.DataFrame([estimates(each) for each in syn.Synthesizer(columns, **asked).fit(table).sample()])
    half = student.ppf(0.975, M - 1) * np.sqrt((1 + 1 / M) * found.var())
    own = estimates(table)
    return {name: [found[name].mean(), half[name], own[name]] for name in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="number of the first one; others were not seen before")
    parser.add_argument("--epsilons", default="0.5,1,4")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--population", choices=POPULATIONS, default="people")
    asked = parser.parse_args()
    make, _, _, estimates = POPULATIONS[asked.population]
    truth = estimates(make(np.random.default_rng(0), 3_000_000))
    summary = []
    for epsilon in map(float, asked.epsilons.split(",")):
        begin = time.perf_counter()
        with ProcessPoolExecutor(asked.processes, get_context("spawn")) as pool:
            task = partial(one_database, epsilon=epsilon, rows=asked.rows, population=asked.population)
            results = list(pool.map(task, range(asked.first, asked.first + asked.databases), chunksize=5))
        seconds = time.perf_counter() - begin
        error = np.sqrt(0.95 * 0.05 / asked.databases)
        print(f"epsilon {epsilon:g}, {asked.databases} databases of {asked.rows:,} rows, m = {M}: {seconds:,.0f} s")
        print(f"{'':<24} {'covers':>7} {'(s.e.)':>7} {'bias / sd':>10} {'sd / se':>8}")
        for name, true in truth.items():
            mean, half, own = np.array([result[name] for result in results]).T
            covers, spread = float((np.abs(mean - true) <= half).mean()), float(mean.std())
            line = {"epsilon": epsilon, "estimate": name, "coverage": covers, "monte_carlo_error": float(error)}
            line |= {"bias": float(mean.mean() - true) / spread, "spread": spread / float(own.std())}
            summary.append(line)
            print(f"{name:<24} {covers:>7.3f} {error:>7.3f} {line['bias']:>10.2f} {line['spread']:>8.2f}", flush=True)
        found = [line["coverage"] for line in summary if line["epsilon"] == epsilon]
        print(f"{'all':<24} {np.mean(found):>7.3f}, from {min(found):.3f} to {max(found):.3f}\n", flush=True)
    write_results(f"raked_coverage_{asked.population}", summary)


if __name__ == "__main__":
    main()
