"""How long the pages take beyond a run, and how large they are; `make bench` prints it. Nothing here is a test."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from run import write_results

from alphasynth.cli.entry import run_command
from alphasynth.runs.report import NAME

FAMILY = ["--family", "negative_binomial", "--quiet"]
PLAIN = ["--formula", "y ~ 1", "--mechanism", "LW_final", "--m", "20", *FAMILY]
COVARIATES = ["--formula", "visits ~ age + C(sex)", "--public", "age,sex", "--mechanism", "SW", "--m", "5", *FAMILY]


def simulate(n: int, path: Path) -> None:
    rng = np.random.default_rng(1)
    phi = np.where(rng.random(n) < 0.2, 5, 20)
    age, sex = rng.integers(18, 80, n), rng.choice(["f", "m"], n)
    visits = rng.poisson(rng.gamma(2, np.exp(0.5 + 0.02 * age + 0.3 * (sex == "m")) / 2))
    y = rng.poisson(rng.gamma(phi, 100 / phi))
    pq.write_table(pa.table({"y": y, "age": age, "sex": sex, "visits": visits}), path)


def measure(folder: Path, table: Path, options: list[str], kind: str) -> dict[str, float]:
    """Seconds of a run without pages and with them, and bytes of the larger page."""
    seconds = []
    for number, wanted in enumerate(("--no-report", "--no-report", "--report")):  # the first one compiles
        begin = time.perf_counter()
        out = folder / f"{table.stem}-{kind}-{number}"
        code = run_command(["synthesize", str(table), *options, "--format", kind, wanted, "--out", str(out)])
        assert code == 0
        seconds.append(time.perf_counter() - begin)
    pages = [(out / part / NAME).stat().st_size for part in ("release", "confidential")]
    return {"run": seconds[1], "pages": seconds[2] - seconds[1], "bytes": max(pages)}


def main() -> None:
    results = []
    print(f"{'n':>10} {'':<22} {'format':<8} {'run, s':>7} {'pages, s':>9} {'MB':>6}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in (1_000, 1_000_000):
            table = folder / f"t{n}.parquet"
            simulate(n, table)
            for label, options in (("one column, m = 20", PLAIN), ("two covariates, m = 5", COVARIATES)):
                for kind in ("parquet", "csv"):
                    place = folder / f"{n}-{label[:3]}-{kind}"
                    place.mkdir()
                    found = measure(place, table, options, kind)
                    results.append({"n": n, "what": label, "format": kind, **found})
                    print(
                        f"{n:>10,} {label:<22} {kind:<8} {found['run']:>7.2f} {found['pages']:>9.2f} "
                        f"{found['bytes'] / 1e6:>6.2f}"
                    )
    write_results("report", results)


if __name__ == "__main__":
    main()
