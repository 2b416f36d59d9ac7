"""Spoilt files through `inspect` and `synthesize`, by workers that are replaced when they die, hang or grow old."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from torture.counts import Counts, of_plain
from torture.processes import ROOT

LIMIT = 600.0  # seconds for a file, after which it hangs: both commands take less than one on an idle machine
EVERY = 60.0  # seconds between words on how far it is
OLD = 400  # cases of one worker
WORDS = {
    "file": "spoilt files, inspect and synthesize",
    "fresh": "spoilt files, started anew",
    "toml": "spoilt declarations, synthesize",
}


class Worker:
    """A worker process, and the cases that it has had."""

    def __init__(self, root: Path, seed: int) -> None:
        words = [sys.executable, "-m", "torture.worker", str(seed), str(root)]
        place = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": place}
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True, start_new_session=True
        )
        self.cases = 0

    def ask(self, kind: str, number: int) -> Counts | str:
        """What was found of a case; in a word where the worker did not say."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.cases += 1
        self.process.stdin.write(f"{kind} {number}\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], LIMIT)[0]:
            self.end()
            return "hang"
        line = self.process.stdout.readline()
        return of_plain(json.loads(line)) if line else f"the worker died with {self.process.wait()}"

    def end(self) -> None:
        """End it and what it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def spoil(root: Path, seed: int, sizes: dict[str, int]) -> Iterator[Counts]:
    """So many cases of each kind, in turns; SIGTERM ends them early, and what was done counts."""
    (root / "files").mkdir()
    rows = {kind: Counts(WORDS[kind]) for kind, times in sizes.items() if times}
    asked_to_end: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked_to_end.append(number))
    worker, told = Worker(root / "files", seed), time.monotonic()
    for kind, number in _in_turns({kind: sizes[kind] for kind in rows}):
        found = worker.ask(kind, number)
        _add(rows[kind], f"{kind} {seed}:{number}", found)
        if isinstance(found, str) or worker.cases >= OLD:
            worker.end()
            worker = Worker(root / "files", seed)
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            done = ", ".join(f"{row.what} {row.times:,}, faults {len(row.faults)}" for row in rows.values())
            print(f"  {done}", file=sys.stderr, flush=True)
        if asked_to_end:
            break
    worker.end()
    signal.signal(signal.SIGTERM, before)
    yield from rows.values()


def _in_turns(sizes: dict[str, int]) -> Iterator[tuple[str, int]]:
    """All cases, those of each kind spread evenly over the whole."""
    places = [((number + 0.5) / size, kind, number) for kind, size in sizes.items() for number in range(size)]
    return ((kind, number) for _, kind, number in sorted(places))


def _add(row: Counts, case: str, found: Counts | str) -> None:
    """A case to its row."""
    row.times += 1
    if isinstance(found, str):
        row.add("hang" if found == "hang" else "traceback", case, found)
        return
    for fault in found.faults:
        row.add(fault.kind, fault.case, fault.words)
    row.notes += found.notes
    row.cpu += found.cpu
    row.wall += found.wall
