"""What `alphasynth plan` expects beside what runs then show, item by item; a benchmark, not a test.

    python benchmarks/plan.py --tables wages,health,survey --epsilons 0.5,1,4 --runs 40

`wages` and `health` are those of `raked.py`, `survey` that of `raked_coverage.py`, which has gaps. A plan sees what is
declared of them and the number of their rows. Ratios are of root mean squares, runs' to the plan's; by kind the ratio
of root mean squares over all its items, and the least and the largest of single ones, which scatter by
1 / sqrt(2 runs) on their own.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import raked
import raked_coverage
from run import write_results

from alphasynth.planning.distances import KINDS, Item, Reference
from alphasynth.planning.plan import plan
from alphasynth.raking.columns import Columns
from alphasynth.synthesis.raked import RakedSynthesizer

DELTA = 1e-9


def subjects() -> dict[str, tuple[pd.DataFrame, Columns]]:
    """Tables and what is declared of them."""
    found = {}
    for name in ("wages", "health"):
        subject = raked.subjects()[name]
        found[name] = (subject.table, raked.columns_of(subject).with_response([subject.response], []))
    survey = raked_coverage.population(np.random.default_rng(7), 3_000)
    found["survey"] = (survey, Columns.of(raked_coverage.COLUMNS).with_response(["visits"], []))
    return found


def shown(table: pd.DataFrame, columns: Columns, epsilon: float, runs: int) -> dict[Item, float]:
    """Root mean squares of distances over runs, in standard errors."""
    reference = Reference.of(columns, pa.Table.from_pandas(table, preserve_index=False))
    found = []
    for seed in range(runs):
        made = RakedSynthesizer(columns, m=1, epsilon=epsilon, delta=DELTA, seed=seed).fit(table).sample()[0]
        found.append(reference.distances(pa.Table.from_pandas(made, preserve_index=False)))
    held = [item for item in found[0] if all(item in each for each in found)]
    return {item: float(np.sqrt(np.mean([each[item] ** 2 for each in found]))) for item in held}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="wages,health,survey")
    parser.add_argument("--epsilons", default="0.5,1,4")
    parser.add_argument("--runs", type=int, default=40)
    asked, lines = parser.parse_args(), []
    warnings.simplefilter("ignore")
    for name in asked.tables.split(","):
        table, columns = subjects()[name]
        made = plan(columns, rows=len(table), processes=2)
        for epsilon in map(float, asked.epsilons.split(",")):
            seen = shown(table, columns, epsilon, asked.runs)
            both = [
                (item, seen[item], e)
                for item, e in zip(made.items, made.noise(epsilon, DELTA), strict=True)
                if item in seen
            ]
            for kind in KINDS:
                of = pd.DataFrame({item.name: {"seen": s, "expected": e} for item, s, e in both if item.kind == kind}).T
                each, whole = (
                    of["seen"] / of["expected"],
                    np.sqrt((of["seen"] ** 2).mean() / (of["expected"] ** 2).mean()),
                )
                line = {"table": name, "epsilon": epsilon, "kind": kind, "items": len(of), "ratio": float(whole)}
                line |= {"least": float(each.min()), "largest": float(each.max())}
                lines.append(line)
                words = f"{whole:.2f} ({each.min():.2f} to {each.max():.2f})"
                print(f"{name}, epsilon {epsilon:g}, {kind}, {len(of)} items: {words}", flush=True)
                for item, value in each.items():
                    print(f"    {item}: {of['seen'][item]:.3f}, {value:.2f} of expected")
    write_results("plan", lines)


if __name__ == "__main__":
    main()
