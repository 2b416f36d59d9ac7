"""Exact draws on the default public grid, by number of distinct values: seconds, CPU seconds, ratio to the plain grid.

The plain grid passes every value through every point; it is timed on a part of the values and scaled up. Nothing here
is a test. `python benchmarks/exact_grid.py [distinct values ...]`
"""

from __future__ import annotations

import sys
import time
import warnings

import jax
import numpy as np
import pandas as pd

from alphasynth.exact.public_grid import total_cost
from alphasynth.inference.density import Target
from alphasynth.synthesizer import Synthesizer

PART = 64  # values that the plain grid is timed on
DECLARED = {"normal": [0.0, 200_000.0], "log_normal": [1.0, 1_000_000.0], "gamma": [1.0, 1_000_000.0]}


def values_of(family: str, distinct: int) -> np.ndarray:
    """Salaries of so many distinct values."""
    rng = np.random.default_rng(1)
    numbers = rng.choice(np.unique(rng.gamma(3.0, 15_000.0, 4 * distinct).astype(int) + 1), distinct, replace=False)
    return np.minimum(numbers, 199_999.0) if family == "normal" else numbers


def measure(family: str, distinct: int) -> None:
    """Print one line."""
    facts = {"y": {"limits": DECLARED[family]}} if family in DECLARED else None
    made = Synthesizer("y ~ 1", family=family, declared=facts, mechanism="Censored", m=1, epsilon=1.0, seed=1)
    block = made.bind(made.read(pd.DataFrame({"y": values_of(family, distinct)}))).one
    counts = block.rows.total(block.records.counts.astype(float))
    target = Target.of(block.model, block.rows, counts)
    with jax.enable_x64(True):
        axes = block.sampler.axes(block.model, block.rows.columns)
        for _ in range(2):  # the first compiles
            start, cpu = time.perf_counter(), time.process_time()
            block.sampler.draw(np.random.SeedSequence(1), target, 1_000)
            fast, cpu = time.perf_counter() - start, time.process_time() - cpu
            columns = {name: column[:PART] for name, column in block.rows.columns.items()}
            start = time.perf_counter()
            total_cost(block.model, axes, columns, counts[:PART])
            plain = (time.perf_counter() - start) * block.rows.size / PART
    print(f"{family:18} {block.rows.size:8,} {fast:9.2f} {cpu:9.2f} {plain:11.0f} {plain / fast:9.0f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"{'family':18} {'distinct':>8} {'seconds':>9} {'CPU':>9} {'plain grid':>11} {'ratio':>9}")
    for number in [int(word) for word in sys.argv[1:]] or [1_000, 10_000, 60_000]:
        for name in ("negative_binomial", "poisson", "normal", "log_normal", "gamma"):
            measure(name, number)
