"""`make torture`, or python -m torture: all parts, or those named, and one table; fails where anything was found.

    python -m torture [kills steps files ledgers disks] [--size full|small|0.1] [--seed N] [--results FILE]

A failing case is named by its part, the seed and its number; the same seed makes the same cases again, as far as they
do not depend on the machine's pace. With --results, parts that were not run are taken from that file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from torture.processes import load, quiet_libraries

# Where there is memory to hold files: what a process was killed in the middle of is the same there as on a disk.
MEMORY = Path("/dev/shm")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="kills, steps, files, ledgers, disks; all of them unless told")
    parser.add_argument("--size", type=_share, default="full", help="full, small, or a part of the full size: 0.1")
    parser.add_argument("--seed", type=int, default=20261118)
    parser.add_argument("--results", type=Path, help="a file that keeps what each part found")
    quiet_libraries()
    chosen = parser.parse_args()
    # Their imports come after the settings of the libraries that they import.
    from torture.counts import said, table
    from torture.parts import PARTS

    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"a part must be one of {', '.join(PARTS)}, found {sorted(unknown)}")
    with tempfile.TemporaryDirectory(prefix="torture-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        root = Path(name)
        os.environ |= {"XDG_CACHE_HOME": str(root / "cache"), "TMPDIR": str(root)}
        _prepare(root, chosen.size)
        rows = []
        for part in chosen.parts or PARTS:
            rows += _timed(part, PARTS[part](root, chosen.seed, chosen.size))
    if chosen.results is not None:
        rows = _kept(chosen.results, rows)
    print(f"seed {chosen.seed}\n\n{table(rows)}\n\n{said(rows)}")
    return 1 if any(row.faults for row in rows) else 0


def _share(text: str) -> float:
    """A size as a part of the full one."""
    from torture.parts import FULL, SMALL

    share = {"full": FULL, "small": SMALL}.get(text)
    return float(text) if share is None else share


def _prepare(root: Path, share: float) -> None:
    """Import all that runs import, and compile their programs once."""
    from torture.tables import RUNS, command, lay

    place = root / "first"
    place.mkdir()
    lay(place)
    runs = [command(kind, kind) for kind in (RUNS if share else ("Raked",))]
    load([*runs, ["report", "Raked"], ["ledger", "--json"], ["inspect", "people.csv"]], place)


def _timed(part: str, found: Iterator) -> list:
    """The rows of a part, each with the seconds that it took unless it has them already."""
    rows, begin = [], time.perf_counter()
    for row in found:
        row.wall, begin = row.wall or time.perf_counter() - begin, time.perf_counter()
        print(f"{part}: {row.what}, {row.times:,} in {row.wall:,.0f} s, {len(row.faults):,} faults", file=sys.stderr)
        rows.append(row)
    return rows


def _kept(path: Path, rows: list) -> list:
    """These rows with those of other parts that the file has, and the file written anew."""
    from torture.counts import of_plain

    before = [of_plain(given) for given in json.loads(path.read_text())] if path.exists() else []
    new = {row.what for row in rows}
    both = [row for row in before if row.what not in new] + rows
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([row.plain() for row in both], indent=1))
    return both


if __name__ == "__main__":
    sys.exit(main())
