"""How long suggested models of tables of a few thousand rows take: seconds of the processor and of the clock.

    python benchmarks/waits.py             # all of them
    python benchmarks/waits.py wages gaps  # some

Each run is a process of its own, by the command line, pages included, with an empty cache of compiled programs and then
again with what that run left in it. Tables are simulated and lie in benchmarks/results/ (ignored by git).
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results" / "waits"
COMMAND = Path(sys.executable).parent / "alphasynth"
MOST = 600  # seconds of the clock of one run


def wages(rng: np.random.Generator, n: int = 3_000) -> pd.DataFrame:
    """Factors, some of them with rare levels, a year, an age and wages."""
    education = rng.choice(5, n, p=[0.09, 0.32, 0.217, 0.228, 0.145])
    table = pd.DataFrame({"year": rng.choice(range(2003, 2010), n)})
    table["age"] = np.clip(rng.normal(42, 11.5, n), 18, 80).round().astype(int)
    table["married"] = rng.choice(list("abcde"), n, p=[0.216, 0.691, 0.006, 0.068, 0.019])
    table["race"] = rng.choice(list("abcd"), n, p=[0.827, 0.098, 0.063, 0.012])
    table["education"] = np.array(list("abcde"))[education]
    for name, share in (("job", 0.5), ("health", 0.71), ("insured", 0.69)):
        table[name] = np.where(rng.random(n) < share, "yes", "no")
    return table.assign(wage=np.exp(4.2 + 0.12 * education + rng.normal(0, 0.28, n)).round(3))


def gaps(rng: np.random.Generator, n: int = 2_000) -> pd.DataFrame:
    """Thirteen columns of all kinds, six of them with gaps."""
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 90, n).astype(float)})
    table["region"], table["school"] = rng.choice(list("ABCDEF"), n), rng.choice(list("abcd"), n)
    table["married"], table["smoker"] = rng.choice(["no", "yes"], n), rng.choice(["no", "yes"], n, p=[0.75, 0.25])
    table["children"], table["visits"] = rng.poisson(1.3, n), rng.negative_binomial(1.2, 0.25, n)
    table["hours"] = np.clip(rng.normal(36, 10, n), 0, 70).round()
    table["health"], table["content"] = rng.integers(1, 6, n), rng.integers(1, 8, n).astype(float)
    table["weight"] = rng.normal(26, 4, n).round(1)
    table["income"] = np.exp(9.5 + 0.01 * (table["age"] - 40) + rng.normal(0, 0.6, n)).round()
    for name, share in (("income", 0.2), ("weight", 0.1), ("hours", 0.08), ("content", 0.05), ("smoker", 0.04)):
        table.loc[rng.random(n) < share, name] = None
    return table


def panel(rng: np.random.Generator, persons: int = 3_920, years: int = 5) -> pd.DataFrame:
    """Persons by year."""
    person = np.repeat(np.arange(persons), years)
    own = rng.normal(0, 0.4, persons)[person]
    year = np.tile(np.arange(1980, 1980 + years), persons)
    table = pd.DataFrame({"year": year, "union": rng.random(len(year)) < 0.25, "married": rng.random(len(year)) < 0.5})
    table["hours"] = np.clip(rng.normal(2_100, 500, len(year)) + 200 * own, 0, 4_900).round().astype(int)
    table["log_wage"] = (1.6 + own + 0.06 * (year - 1980) + rng.normal(0, 0.35, len(year))).round(4)
    return table.assign(id=[f"p{one}" for one in person])


def salaries(rng: np.random.Generator, n: int = 22_000) -> pd.DataFrame:
    """Distinct salaries."""
    return pd.DataFrame({"salary": rng.permutation(np.unique(np.exp(rng.normal(10.6, 0.7, 2 * n)).round(2)))[:n]})


ONE = ["--formula", "salary ~ 1", "--family", "log_normal", "--range", "salary=1000:1000000", "--mechanism", "Censored"]
BY_PERSON = ["--unit", "id", "--max-rows", "5"]
RUNS = {
    "wages BW": (wages, ["--mechanism", "BW"]),
    "wages Recentred": (wages, ["--mechanism", "Recentred"]),
    "gaps BW": (gaps, ["--mechanism", "BW"]),
    "gaps Recentred": (gaps, ["--mechanism", "Recentred"]),
    "panel BW": (panel, ["--mechanism", "BW", *BY_PERSON]),
    "panel Recentred": (panel, ["--mechanism", "Recentred", *BY_PERSON]),
    "salaries Censored": (salaries, ONE),
}


def timed(arguments: list[str]) -> tuple[int, float, float, float]:
    """Exit code, seconds of the processor and of the clock, and MB of the largest process so far."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "XDG_CACHE_HOME": str(RESULTS / "cache")}
    try:
        done = subprocess.run(
            [COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=MOST
        )
        code, said = done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        code, said = -1, f"not done after {MOST} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if code:
        print(said.strip().splitlines()[-1], file=sys.stderr)
    return code, cpu, time.perf_counter() - begin, after.ru_maxrss / 1024


def main(wanted: list[str]) -> None:
    """Run them and print a table."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    print("| run | cache | exit code | CPU s | s | MB, largest so far |\n| --- | --- | --- | --- | --- | --- |")
    for name, (make, options) in RUNS.items():
        if wanted and name not in wanted and name.split()[0] not in wanted:
            continue
        table, model = RESULTS / f"{make.__name__}.parquet", RESULTS / f"{make.__name__}-model.toml"
        make(np.random.default_rng(1)).to_parquet(table)
        if not model.exists() and make is not salaries:
            timed(["inspect", str(table), "--suggest", str(model)])
        chain = [] if make is salaries else ["--model", str(model), "--confirm-public", "all"]
        shutil.rmtree(RESULTS / "cache", ignore_errors=True)
        for cache in ("empty", "warm"):
            out = ["--out", str(RESULTS / f"{name}-{cache}"), "--ledger", str(RESULTS / "ledger.sqlite")]
            code, cpu, wall, memory = timed(
                ["synthesize", str(table), *chain, *options, "--epsilon", "4", "--m", "1", "--quiet", *out]
            )
            print(f"| {name} | {cache} | {code} | {cpu:.0f} | {wall:.0f} | {memory:,.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
