"""A wide table of 50 columns and 100,000 rows: how long it takes, and how much memory.

    python benchmarks/wide.py            # by chains: Censored
    python benchmarks/wide.py Recentred
    python benchmarks/wide.py Raked      # a whole table, by the command line, from file to pages
    python benchmarks/wide.py Raked 100  # of 100 columns

The table and the run go to benchmarks/results/ (ignored by git).
"""

from __future__ import annotations

import resource
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results"


def wide_table(rows: int = 100_000, columns: int = 50) -> pd.DataFrame:
    """Columns of all kinds that depend on two hidden numbers, and one with 300 categories."""
    rng = np.random.default_rng(0)
    one, two = rng.standard_normal((2, rows))
    held: dict[str, np.ndarray] = {"code": rng.choice([f"c{i:03}" for i in range(300)], rows)}
    for i in range(columns - 1):
        mix = one * np.cos(i) + two * np.sin(i)
        kind = i % 5
        if kind == 0:
            held[f"b{i:02}"] = (mix + rng.standard_normal(rows) > 0).astype(int)
        elif kind == 1:
            held[f"l{i:02}"] = np.array(["low", "middle", "high"])[
                np.digitize(mix + rng.standard_normal(rows), [-1, 1])
            ]
        elif kind == 2:
            held[f"n{i:02}"] = np.round(50 + 10 * mix + 5 * rng.standard_normal(rows), 1)
        elif kind == 3:
            held[f"s{i:02}"] = np.round(np.exp(3 + mix + 0.5 * rng.standard_normal(rows)), 2)
        else:
            held[f"c{i:02}"] = rng.poisson(np.exp(0.5 + 0.4 * mix))
    return pd.DataFrame(held)


def wide(mechanism: str = "Censored") -> None:
    """Synthesize the wide table by the command line's own way, and say how long it took."""
    from alphasynth.suggestions.model import suggest_model
    from alphasynth.synthesizer import Synthesizer
    from alphasynth.tables.opening import open_table

    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "wide.parquet"
    wide_table().to_parquet(path)
    begin = time.perf_counter()
    model = suggest_model(open_table(path)).model
    suggested = time.perf_counter()
    synthesizer = Synthesizer(model, mechanism=mechanism, epsilon=50.0, m=1, seed=1, confirm_public="all")
    synthesizer.fit(open_table(path))
    fitted = time.perf_counter()
    (made,) = synthesizer.sample()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sampled = time.perf_counter()
    ends = f"suggest {suggested - begin:.0f} s, fit {fitted - suggested:.0f} s, sample {sampled - fitted:.0f} s"
    print(f"{mechanism}: {made.num_columns} columns, {made.num_rows:,} rows: {ends}, {memory:,.0f} MB")


def raked(columns: int) -> None:
    """Suggest columns, confirm them, synthesize one table with its pages, and say how long that took."""
    from alphasynth.cli.entry import run_command

    RESULTS.mkdir(exist_ok=True)
    path, out = RESULTS / "wide.parquet", RESULTS / "wide_run"
    wide_table(columns=columns).to_parquet(path)
    shutil.rmtree(out, ignore_errors=True)
    for file in ("columns_wide.toml", "wide_ledger.json"):
        (RESULTS / file).unlink(missing_ok=True)
    declared = str(RESULTS / "columns_wide.toml")
    begin, cpu = time.perf_counter(), time.process_time()
    assert run_command(["inspect", str(path), "--suggest", declared]) == 0
    asked = ["--mechanism", "Raked", "--epsilon", "4", "--delta", "1e-9", "--m", "1", "--confirm-public", "all"]
    places = ["--columns", declared, "--out", str(out), "--ledger", str(RESULTS / "wide_ledger.json")]
    assert run_command(["synthesize", str(path), *asked, *places]) == 0
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    print(f"Raked: {columns} columns: {seconds:.0f} s ({cpu:.0f} s of the processor), {memory:,.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["Raked"]:
        raked(int((sys.argv[2:] or ["50"])[0]))
    else:
        wide(*sys.argv[1:2])
