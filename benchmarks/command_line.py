"""The command line and large files, measured: `make bench` runs it after run.py; writes results/command_line.json.

Times are taken within this run, since machines are shared and noisy; the grouping is set beside a plain GROUP BY of
DuckDB on the same file. With the `postgres` and `spark` extras and their servers, the same table is read from there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from run import RESULTS, in_turns, simulate, write_results

ALPHASYNTH = str(Path(sys.executable).with_name("alphasynth"))
OPTIONS = ["--family", "negative_binomial", "--mechanism", "LW_final", "--epsilon", "8", "--m", "1", "--quiet"]
CHUNK = 1_000_000


def note(name: str, value: str, wanted: str = "") -> None:
    print(f"{name:<66} {value:>22} {wanted}", flush=True)


def command(*arguments: str, cache: Path | None = None) -> dict[str, float]:
    """Run a command in a process of its own: seconds from start to end, and its largest resident size in MB."""
    environment = dict(os.environ) | ({"XDG_CACHE_HOME": str(cache)} if cache else {})
    begin, most = time.perf_counter(), 0
    process = subprocess.Popen([ALPHASYNTH, *arguments], env=environment, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        most = max(most, int(status.split("VmHWM:")[1].split()[0]) if "VmHWM:" in status else 0)
        time.sleep(0.01)
    if process.wait() != 0:
        raise SystemExit(f"alphasynth {' '.join(arguments)} failed")
    return {"seconds": time.perf_counter() - begin, "peak_mb": most / 1024}


def starting(folder: Path) -> dict[str, Any]:
    """(f) `--help`, and 1,000 rows from a CSV file to a run folder, without and with the compilation cache."""
    path = folder / "counts.csv"
    path.write_text("y\n" + "\n".join(map(str, simulate(1_000))) + "\n")
    helps = sorted(command("--help")["seconds"] for _ in range(5))
    first, warm = (
        command(
            "synthesize", str(path), "--formula", "y ~ 1", *OPTIONS, "--out", str(folder / name), cache=folder / "cache"
        )
        for name in ("cold", "warm")
    )
    return {"help": helps[2], "first": first["seconds"], "warm": warm["seconds"]}


def write_counts(path: Path, n: int, public: bool) -> None:
    """A Parquet file of n counts, chunk by chunk; with two public columns, if asked."""
    rng = np.random.default_rng(1)
    schema = pa.schema({"y": pa.int32()} | ({"age": pa.int16(), "sex": pa.string()} if public else {}))
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, n, CHUNK):
            size = min(CHUNK, n - first)
            columns: dict[str, Any] = {"y": simulate(size, seed=first).astype(np.int32)}
            if public:
                columns |= {"age": rng.integers(18, 80, size).astype(np.int16), "sex": rng.choice(["f", "m"], size)}
            writer.write_table(pa.table(columns, schema))


def large(folder: Path, n: int) -> dict[str, Any]:
    """(g) A Parquet file of one count column, to one synthetic table; and the grouping beside a plain GROUP BY."""
    from alphasynth.tables.opening import open_table

    path, out = folder / "large.parquet", folder / "large"
    write_counts(path, n, public=False)
    result: dict[str, Any] = command("synthesize", str(path), "--formula", "y ~ 1", *OPTIONS, "--out", str(out))
    result["stages"] = json.loads((out / "confidential" / "summary.json").read_text())["seconds"]
    query = f"SELECT y, count(*) FROM read_parquet('{path}') GROUP BY y"
    table = open_table(path)
    ours, plain = (lambda: table.group(["y"], [])), (lambda: duckdb.sql(query).fetchall())
    median = in_turns({"ours": ours, "plain": plain}, 5)
    return {
        **result,
        "group": median["ours"],
        "plain_group_by": median["plain"],
        "ratio": median["ours"] / median["plain"],
    }


def with_public_columns(folder: Path, n: int) -> dict[str, Any]:
    """(h) Two public columns, one of them a covariate, in Parquet and CSV: rows in the file's order."""
    path = folder / "people.parquet"
    write_counts(path, n, public=True)
    duckdb.sql(f"COPY (FROM read_parquet('{path}')) TO '{path.with_suffix('.csv')}' (HEADER)")
    results: dict[str, Any] = {}
    for suffix in (".parquet", ".csv"):
        out = folder / f"people{suffix[1:]}"
        source = str(path.with_suffix(suffix))
        formula = ["--formula", "y ~ age", "--public", "age,sex"]
        results[suffix] = command("synthesize", source, *formula, *OPTIONS, "--out", str(out))
        results[suffix]["stages"] = json.loads((out / "confidential" / "summary.json").read_text())["seconds"]
    return results


def engines(folder: Path, n: int) -> dict[str, Any]:
    """(i) The grouping of the same table in DuckDB, PostgreSQL and Spark; all must agree."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from alphasynth.tables.opening import open_table
    from alphasynth.tables.records import Records
    from engines import postgres

    path = folder / "people.parquet"
    names = ["y", "age"]

    def timed(address: str | Path) -> tuple[float, Records]:
        table = open_table(address)
        table.group(names, [])
        begin = time.perf_counter()
        grouped = table.group(names, [])
        return time.perf_counter() - begin, Records.from_grouped(grouped)

    results, held = {}, {}
    results["duckdb"], held["duckdb"] = timed(path)
    (folder / "postgres").mkdir()
    with postgres(folder / "postgres") as url:
        import psycopg

        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE people (y int, age smallint, sex text)")
            with (
                cursor.copy("COPY people FROM STDIN (FORMAT csv, HEADER)") as copy,
                path.with_suffix(".csv").open("rb") as f,
            ):
                while part := f.read(1 << 20):
                    copy.write(part)
        results["postgres"], held["postgres"] = timed(f"{url}::people")
    spark = f"pyspark://?spark.master=local[2]&spark.ui.enabled=false::parquet.`{path}`"
    results["spark"], held["spark"] = timed(spark)
    for name, records in held.items():
        assert np.array_equal(records.counts, held["duckdb"].counts), name
    return {**results, "distinct_rows": held["duckdb"].size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows of the large file")
    parser.add_argument("--engines", action="store_true", help="also PostgreSQL and Spark")
    chosen = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        f = results["starting"] = starting(folder)
        note("(f) alphasynth --help", f"{f['help']:.2f} s", "< 0.5 s")
        note("    synthesize, 1,000 rows, new process, no cache", f"{f['first']:.1f} s", "< 15 s")
        note("    the same with the compilation cache", f"{f['warm']:.1f} s", "< 6 s")
        g = results["large"] = large(folder, chosen.rows)
        note(f"(g) synthesize --m 1, Parquet, {chosen.rows:,} rows", f"{g['seconds']:.1f} s")
        note("    read and group, fit, write", ", ".join(f"{value:.1f} s" for value in g["stages"].values()))
        note("    peak memory", f"{g['peak_mb']:,.0f} MB", "<= 2,000 MB")
        note("    grouping over a plain GROUP BY", f"{g['ratio']:.2f} x ({g['group']:.2f} s)")
        h = results["public"] = with_public_columns(folder, chosen.rows // 10)
        for suffix, value in h.items():
            note(f"(h) y ~ age, two public columns, {suffix}, {chosen.rows // 10:,} rows", f"{value['seconds']:.1f} s")
            note("    read and group, fit, write", ", ".join(f"{part:.1f} s" for part in value["stages"].values()))
            note("    peak memory", f"{value['peak_mb']:,.0f} MB")
        if chosen.engines:
            i = results["engines"] = engines(folder, chosen.rows // 10)
            for engine in ("duckdb", "postgres", "spark"):
                note(f"(i) grouping {chosen.rows // 10:,} rows in {engine}", f"{i[engine]:.2f} s")
    print(f"\nwritten to {write_results('command_line', results)}")


if __name__ == "__main__":
    main()
