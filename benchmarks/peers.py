"""One synthetic table by a peer, in an interpreter that has it; a benchmark's part, and it does not import alphasynth.

    python benchmarks/peers.py --peer aim --table T.parquet --cells T.json --epsilon 4 --delta 1e-9 --seed 0 \
        --out S.parquet

The peers pin versions that exclude each other, so each has an environment of its own:

    python -m venv mbi;    mbi/bin/pip install "mbi==2.0.0" pandas pyarrow scipy  # mst
    python -m venv opendp; opendp/bin/pip install "opendp[mbi,polars]==0.16.0" pandas pyarrow  # aim, aim2
    python -m venv dpmm;   dpmm/bin/pip install "dpmm==0.1.9" "pyarrow<18"  # dpmm, dpmm-aim, dpmm-bayes

Cells are public and declared: a JSON object with, by column, `levels`, or `edges` and whether its numbers are `whole`
(a bin then holds the whole numbers from its edge to below the next), and `singles`, values with bins of their own
within the others. Every peer sees the number of a column's bin, with the number of bins for its domain, and every
peer's rows become values in the same way: uniform within the bin.

Parameters are the peers' own defaults, but for what would be unfair to them:

- mst: `marginals.mst`.
- aim: OpenDP's AIM, up to three columns at a time; aim2: up to two. Bins are handed over as cuts, since keys would add
  an empty cell to each column. Rows are drawn by `marginals.walk`: mbi 1.1.0, which OpenDP needs, conditions on the
  wrong cliques.
- dpmm, dpmm-aim, dpmm-bayes: its MST, AIM and PrivBayes without its own binning, which would cost budget. AIM has its
  model's own limit of 80 MB, which its pipeline would lift: without one it does not end. One process, so that its time
  can be measured. It has to be told how many rows to draw, and is told the table's.

Noise of OpenDP and of dpmm cannot be seeded. The last line printed is a JSON object: CPU and wall seconds of the
synthesis, compilation included, imports not; the most memory held, in MB; the peer's version.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import marginals
import numpy as np
import pandas as pd
from marginals import Codes, Grid
from numpy.random import Generator

Make = Callable[[list[Codes], list[int], float, float, Generator], list[Codes]]
"""Rows from codes and sizes of columns, at an epsilon and a delta."""


def grids_of(cells: dict[str, dict]) -> dict[str, Grid]:
    """How each column is cut, from what is declared of it."""
    found = {}
    for name, declared in cells.items():
        if "levels" in declared:
            levels = np.array(declared["levels"], float)
            found[name] = Grid(levels, levels, False)
        else:
            found[name] = grid_of(declared["edges"], declared.get("singles", []), declared["whole"])
    return found


def grid_of(edges: list[float], singles: list[float], whole: bool) -> Grid:
    """Bins between edges, with bins of their own for single values."""
    after = [value + 1 if whole else float(np.nextafter(value, np.inf)) for value in singles]
    starts = np.unique([*edges[:-1], *singles, *(start for start in after if start < edges[-1])])
    ends = np.append(starts[1:], edges[-1]) - whole
    return Grid(starts, np.where(np.isin(starts, singles), starts, ends), whole)


def mst(codes: list[Codes], sizes: list[int], epsilon: float, delta: float, rng: Generator) -> list[Codes]:
    """MST on mbi 2.0."""
    return marginals.mst(codes, sizes, marginals.rho_of(epsilon, delta), rng)


def aim_of(columns: int) -> Make:
    """AIM by OpenDP, of marginals of so many columns."""

    def aim(codes: list[Codes], sizes: list[int], epsilon: float, delta: float, rng: Generator) -> list[Codes]:
        import opendp.prelude as dp
        import polars as pl

        dp.enable_features("contrib")
        rho = marginals.rho_of(epsilon, delta)
        context = dp.Context.compositor(
            data=pl.LazyFrame({f"c{i}": column for i, column in enumerate(codes)}),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=rho),
            split_evenly_over=1,
        )
        # A cut belongs to the bin below it.
        cuts = {f"c{i}": list(range(size - 1)) for i, size in enumerate(sizes)}
        query = context.query().contingency_table(cuts=cuts, algorithm=dp.mbi.AIM(queries=columns))
        model = query.release().model
        return marginals.walk(model, round(float(model.total)), rng)

    return aim


def dpmm_of(name: str) -> Make:
    """A model of dpmm's."""

    def made(codes: list[Codes], sizes: list[int], epsilon: float, delta: float, rng: Generator) -> list[Codes]:
        from dpmm.pipelines import PIPELINE_DICT

        table = pd.DataFrame({f"c{i}": column for i, column in enumerate(codes)})
        domain = {f"c{i}": size for i, size in enumerate(sizes)}
        limit = {"max_model_size": 80} if name == "aim" else {}
        pipeline = PIPELINE_DICT[name](epsilon=epsilon, delta=delta, disable_processing=True, n_jobs=1, **limit)
        pipeline.fit(table, domain, random_state=int(rng.integers(2**31)))
        drawn = pipeline.generate(n_records=len(table), random_state=int(rng.integers(2**31)))
        return [drawn[name].to_numpy(np.int64) for name in table]

    return made


PEERS: dict[str, tuple[str, Make]] = {
    "mst": ("mbi", mst),
    "aim": ("opendp", aim_of(3)),
    "aim2": ("opendp", aim_of(2)),
    "dpmm": ("dpmm", dpmm_of("mst")),
    "dpmm-aim": ("dpmm", dpmm_of("aim")),
    "dpmm-bayes": ("dpmm", dpmm_of("priv-bayes")),
}
"""The package and the way of each peer."""


def synthesize(
    peer: str, table: pd.DataFrame, cells: dict[str, dict], epsilon: float, delta: float, seed: int
) -> pd.DataFrame:
    """A table by a peer, with the types of the table given."""
    grids = grids_of(cells)
    codes = [grid.encode(table[name].to_numpy(float)) for name, grid in grids.items()]
    rng = np.random.default_rng(seed)
    drawn = PEERS[peer][1](codes, [grid.size for grid in grids.values()], epsilon, delta, rng)
    made = {name: grid.decode(column, rng) for (name, grid), column in zip(grids.items(), drawn, strict=True)}
    return pd.DataFrame(made).astype(table.dtypes.to_dict())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=PEERS, required=True)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--cells", type=Path, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    package = PEERS[asked.peer][0]
    __import__(package)
    table, cells = pd.read_parquet(asked.table), json.loads(asked.cells.read_text())
    begin = time.perf_counter(), time.process_time()
    made = synthesize(asked.peer, table, cells, asked.epsilon, asked.delta, asked.seed)
    seconds = {"wall": time.perf_counter() - begin[0], "cpu": time.process_time() - begin[1]}
    made.to_parquet(asked.out)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**seconds, "MB": memory, "version": f"{package} {version(package)}"}))


if __name__ == "__main__":
    main()
