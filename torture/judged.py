"""What a command said, and whether a folder is whole."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pandas as pd

from torture.counts import Counts
from torture.processes import Ended
from torture.tables import told

# What no user should ever see: a traceback, a fault that was caught at the last door, or the name of an error alone.
TRACE = re.compile(r"Traceback \(most|Fatal Python error|a fault of alphasynth's|rendered: \w+ in |Segmentation")
BARE = re.compile(r"^alphasynth: \w+(;|$)")
# How what is wrong begins where several things are, each on a line of its own after it.
SEVERAL = re.compile(r"^alphasynth: (\d+) things are wrong:$")


def judge_words(counts: Counts, case: str, ended: Ended) -> None:
    """Note what is wrong with how a command ended, and with what it said."""
    both = f"{ended.out}\n{ended.err}"
    if ended.hung:
        counts.add("hang", case, f"no end after {ended.seconds:.0f} s")
        return
    if TRACE.search(both) or (ended.code < 0 and not ended.killed):
        counts.add("traceback", case, f"exit code {ended.code}: {ended.err[-300:]!r}")
    for value in told(both):
        counts.add("told", case, f"{value!r} in {both[:300]!r}")
    if ended.killed:
        return
    lines = ended.err.splitlines()
    if not are_sentences(lines) or (ended.code and not lines):
        counts.add("unclear", case, f"exit code {ended.code}: {ended.err[-300:]!r}")
    elif ended.code and BARE.search(lines[-1]):
        counts.add("unclear", case, ended.err[-300:])


def are_sentences(lines: list[str]) -> bool:
    """Whether lines are sentences of the command, or lists with as many things as each says.

    >>> are_sentences(["alphasynth: 2 things are wrong:", "- one", "- other"])
    True
    """
    rest = list(lines)
    while rest:
        line = rest.pop(0)
        several = SEVERAL.match(line)
        number = int(several[1]) if several else 0
        things, rest = rest[:number], rest[number:]
        if not line.startswith("alphasynth: ") or len(things) < number or not all(t.startswith("- ") for t in things):
            return False
    return True


def files_of(folder: Path) -> list[str]:
    """Names of all that a folder holds."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def torn(out: Path, wanted: list[str]) -> str | None:
    """Why a run folder is not whole; None where it is: all its files, and each has its end.

    Nothing here may start a thread: the process that looks is the one that forks.
    """
    if files_of(out) != wanted:
        return f"files {sorted(set(wanted) ^ set(files_of(out)))}"
    try:
        stated = json.loads((out / "release" / "guarantee.json").read_text())
        summary = json.loads((out / "confidential" / "summary.json").read_text())
        tomllib.loads((out / "confidential" / "run.toml").read_text())
        sizes = [len(pd.read_csv(out / "release" / table["file"])) for table in stated["tables"]]
        cut = [path for path in out.rglob("*.parquet") if path.read_bytes()[-4:] != b"PAR1"]
    except (ValueError, KeyError, OSError) as error:
        return f"{type(error).__name__} as it was read"
    if cut:
        return f"{cut[0].name} without its end"
    if not sizes or sizes != [summary.get("n")] * len(sizes):
        return f"tables of {sizes} rows"
    if any(not path.read_text().rstrip().endswith("</html>") for path in out.rglob("*.html")):
        return "a page without its end"
    return None if (out / "confidential").stat().st_mode & 0o777 == 0o700 else "confidential/ is open to others"
