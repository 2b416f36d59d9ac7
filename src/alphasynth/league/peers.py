"""One synthetic table by a peer, in an interpreter that has it: a script that `run_peer` starts, without alphasynth.

    python peers.py --peer aim --epsilon 4 --delta 1e-9 --seed 0 --limit 600 --folder FOLDER

The peers pin versions that exclude each other, so each may have an environment of its own:

    python -m venv mbi;    mbi/bin/pip install "mbi==2.0.0" scipy  # mst
    python -m venv opendp; opendp/bin/pip install "opendp[mbi,polars]==0.16.0"  # aim, aim2
    python -m venv dpmm;   dpmm/bin/pip install "dpmm==0.1.9" "pyarrow<18"  # dpmm, dpmm-aim, dpmm-bayes

A peer sees the number of each column's cell in each row, and how many cells the column has: `codes` (columns, rows) and
`sizes` (columns,) of codes.npz. It leaves `codes` in made.npz, and in told.json CPU and wall seconds of the synthesis,
compilation included, imports not; the most memory held, in MB; its version; and where its random numbers ended, so
that whoever turns codes into values can go on from there. Of an error told.json has the kind and not the message,
which may quote what it was given. It ends when standard input does, which is when whoever started it is gone.

Parameters are the peers' own defaults, but for what would be unfair to them:

- mst: `mst.mst`.
- aim: OpenDP's AIM, up to three columns at a time; aim2: up to two. Bins are handed over as cuts, since keys would add
  an empty cell to each column. Rows are drawn by `mst.walk`: mbi 1.1.0, which OpenDP needs, conditions on the wrong
  cliques.
- dpmm, dpmm-aim, dpmm-bayes: its MST, AIM and PrivBayes without its own binning, which would cost budget. AIM has its
  model's own limit of 80 MB, which its pipeline would lift: without one it does not end. One process, so that its time
  can be measured. It has to be told how many rows to draw, and is told the table's.

Noise of OpenDP and of dpmm cannot be seeded.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import threading
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

GIVEN, MADE, TOLD = "codes.npz", "made.npz", "told.json"
Codes = NDArray[np.int64]
Make = Callable[[list[Codes], list[int], float, float, Generator], list[Codes]]
"""Rows from codes and sizes of columns, at an epsilon and a delta."""


def load_mst() -> Any:
    """`mst.py` of this folder, by its place: the interpreter need not have the package that both are in."""
    spec = spec_from_file_location("alphasynth_league_mst", Path(__file__).with_name("mst.py"))
    assert spec is not None
    assert spec.loader is not None
    if spec.name not in sys.modules:
        sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[spec.name])
    return sys.modules[spec.name]


def mst(codes: list[Codes], sizes: list[int], epsilon: float, delta: float, rng: Generator) -> list[Codes]:
    """MST on mbi 2.0."""
    own = load_mst()
    return own.mst(codes, sizes, own.rho_of(epsilon, delta), rng)


def aim_of(columns: int) -> Make:
    """AIM by OpenDP, of marginals of so many columns."""

    def aim(codes: list[Codes], sizes: list[int], epsilon: float, delta: float, rng: Generator) -> list[Codes]:
        import opendp.prelude as dp
        import polars as pl

        dp.enable_features("contrib")
        context = dp.Context.compositor(
            data=pl.LazyFrame({f"c{i}": column for i, column in enumerate(codes)}),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=load_mst().rho_of(epsilon, delta)),
            split_evenly_over=1,
        )
        # A cut belongs to the bin below it.
        cuts = {f"c{i}": list(range(size - 1)) for i, size in enumerate(sizes)}
        query = context.query().contingency_table(cuts=cuts, algorithm=dp.mbi.AIM(queries=columns))
        model = query.release().model
        return load_mst().walk(model, round(float(model.total)), rng)

    return aim


def dpmm_of(name: str) -> Make:
    """A model of dpmm's."""

    def made(codes: list[Codes], sizes: list[int], epsilon: float, delta: float, rng: Generator) -> list[Codes]:
        import pandas as pd
        from dpmm.pipelines import PIPELINE_DICT

        table = pd.DataFrame({f"c{i}": column for i, column in enumerate(codes)})
        domain = {f"c{i}": size for i, size in enumerate(sizes)}
        limit = {"max_model_size": 80} if name == "aim" else {}
        pipeline = PIPELINE_DICT[name](epsilon=epsilon, delta=delta, disable_processing=True, n_jobs=1, **limit)
        pipeline.fit(table, domain, random_state=int(rng.integers(2**31)))
        drawn = pipeline.generate(n_records=len(table), random_state=int(rng.integers(2**31)))
        return [drawn[name].to_numpy(np.int64) for name in table]

    return made


class Peer(NamedTuple):
    """What a peer is called, the package that it needs, and how it makes rows."""

    label: str
    package: str
    make: Make


PEERS = {
    "mst": Peer("MST", "mbi", mst),
    "aim": Peer("OpenDP AIM", "opendp", aim_of(3)),
    "aim2": Peer("OpenDP AIM, pairs", "opendp", aim_of(2)),
    "dpmm": Peer("dpmm MST", "dpmm", dpmm_of("mst")),
    "dpmm-aim": Peer("dpmm AIM", "dpmm", dpmm_of("aim")),
    "dpmm-bayes": Peer("dpmm PrivBayes", "dpmm", dpmm_of("priv-bayes")),
}


def _end_with_who_started() -> None:
    while os.read(0, 1):  # not by sys.stdin, which a thread must not hold when the interpreter ends
        pass
    os._exit(1)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=PEERS, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--limit", type=int, required=True, help="CPU seconds")
    parser.add_argument("--folder", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    """Read codes, make rows, tell what it took."""
    asked = _parsed()
    threading.Thread(target=_end_with_who_started, daemon=True).start()
    sys.excepthook = lambda kind, *_: (asked.folder / TOLD).write_text(json.dumps({"error": kind.__name__}))
    hardest = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = asked.limit if hardest == resource.RLIM_INFINITY else min(asked.limit, hardest)
    resource.setrlimit(resource.RLIMIT_CPU, (most, hardest))
    warnings.simplefilter("ignore")
    peer = PEERS[asked.peer]
    import_module(peer.package)
    with np.load(asked.folder / GIVEN) as given:
        codes, sizes = list(given["codes"].astype(np.int64)), given["sizes"].tolist()
    rng = np.random.default_rng(asked.seed)
    begin = time.perf_counter(), time.process_time()
    drawn = peer.make(codes, sizes, asked.epsilon, asked.delta, rng)
    seconds = {"wall": time.perf_counter() - begin[0], "cpu": time.process_time() - begin[1]}
    np.savez(asked.folder / MADE, codes=np.stack(drawn))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {**seconds, "MB": memory, "version": f"{peer.package} {version(peer.package)}"}
    (asked.folder / TOLD).write_text(json.dumps({**told, "random": rng.bit_generator.state}))


if __name__ == "__main__":
    main()
