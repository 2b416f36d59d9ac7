"""A peer in an interpreter that has it: which there are, and one of them run under a limit of CPU seconds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.league import peers
from alphasynth.league.peers import PEERS

# Threads of linear algebra that wait for each other on a busy machine count as CPU seconds: 50 s in place of 4.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# A peer that waits for something that does not come spends no CPU: it is ended after so many times the limit.
WAITING = 10
HOW = "--peer NAME=PYTHON, of an interpreter that has it; NAME is " + ", ".join(PEERS)


class PeerError(Exception):
    """A peer made no table: why, in one clause without anything of the table; `late` where it ran out of time."""

    def __init__(self, why: str, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


@dataclass(frozen=True)
class Order:
    """What a peer is to make, and within how many CPU seconds."""

    peer: str
    python: str
    epsilon: float
    delta: float
    seed: int
    limit: int


@dataclass(frozen=True, eq=False)
class Made:
    """Codes (rows,) of each column, what they took, by whom, and random numbers from where the peer's ended."""

    codes: list[np.ndarray]
    wall: float
    cpu: float
    megabytes: float
    version: str
    rng: np.random.Generator


def parse_peers(given: Sequence[str]) -> dict[str, str]:
    """Interpreters by peer, from words such as mst=mbi/bin/python; raise `InputError`.

    >>> list(parse_peers(["mst=python3"]))
    ['mst']
    """
    found: dict[str, str] = {}
    for word in given:
        name, _, python = word.partition("=")
        if name not in PEERS or name in found:
            raise InputError(
                f"--peer must be NAME=PYTHON, each NAME one of {', '.join(PEERS)} and once, found {word!r}"
            )
        program = shutil.which(Path(python).expanduser()) if python else None
        if program is None:
            raise InputError(f"--peer must name an interpreter that exists, found none at {python!r}")
        found[name] = str(program)
    return found


def installed() -> dict[str, str]:
    """This interpreter for each peer that it has: MST with mbi 2, AIM with OpenDP and the mbi 1 that it needs, dpmm."""
    mbi = _major("mbi")
    there = {
        "mst": mbi is not None and mbi >= 2,
        "aim": mbi is not None and mbi < 2 and find_spec("opendp") is not None,
        "dpmm": find_spec("dpmm") is not None,
    }
    return {name: sys.executable for name, found in there.items() if found}


def _major(package: str) -> int | None:
    """The first number of a package's version, without importing it; None where it is not there."""
    if find_spec(package) is None:
        return None
    try:
        return int(version(package).split(".")[0])
    except (PackageNotFoundError, ValueError):
        return None


def run_peer(order: Order, codes: Sequence[np.ndarray], sizes: Sequence[int], place: Path) -> Made:
    """Have a peer make rows from codes and sizes of columns; raise `PeerError`.

    What it is handed lies in a folder within `place` that only its holder may look into, until it is done.
    """
    folder = Path(tempfile.mkdtemp(dir=place))
    try:
        small = [column.astype(np.min_scalar_type(max(sizes))) for column in codes]
        np.savez(folder / peers.GIVEN, codes=np.stack(small), sizes=np.asarray(sizes, np.int64))
        _check(order, _run(order, folder), folder)
        return _read(folder, sizes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(order: Order, folder: Path) -> int:
    """The exit status of a peer's process; it ends with ours, since its standard input does."""
    given = {name: getattr(order, name) for name in ("peer", "epsilon", "delta", "seed", "limit")}
    options = [f"--{name}={value}" for name, value in (given | {"folder": folder}).items()]
    own = order.python == sys.executable
    # A path to our packages would come before the peer's own; so would files that lie beside the script.
    there = {name: value for name, value in os.environ.items() if own or name != "PYTHONPATH"}
    process = subprocess.Popen(  # noqa: S603
        [order.python, peers.__file__, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=there | ONE_THREAD | {"PYTHONSAFEPATH": "1"},
    )
    try:
        return process.wait(WAITING * order.limit)
    except subprocess.TimeoutExpired:
        raise PeerError(f"no table within {WAITING * order.limit} s", late=True) from None
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def _check(order: Order, status: int, folder: Path) -> None:
    if status == -signal.SIGXCPU:
        raise PeerError(f"no table within {order.limit} CPU s", late=True)
    if status < 0:
        raise PeerError(f"ended by {signal.Signals(-status).name}")
    told = _told(folder)
    if status or "error" in told:
        kind = told.get("error", "")
        raise PeerError(f"ended with an error ({kind})" if str(kind).isidentifier() else "ended with an error")


def _told(folder: Path) -> dict[str, Any]:
    try:
        told = json.loads((folder / peers.TOLD).read_text())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _read(folder: Path, sizes: Sequence[int]) -> Made:
    told = _told(folder)
    try:
        with np.load(folder / peers.MADE) as made:
            codes = list(made["codes"].astype(np.int64))
        rng = np.random.default_rng(0)
        rng.bit_generator.state = told["random"]
        wall, cpu, megabytes = (float(told[name]) for name in ("wall", "cpu", "MB"))
        found = Made(codes, wall, cpu, megabytes, str(told["version"]), rng)
    except (OSError, ValueError, KeyError, TypeError):
        raise PeerError("left no table that can be read") from None
    held = len(codes) == len(sizes) and all(len(column) for column in codes)
    if not held or not all((c >= 0).all() and (c < size).all() for c, size in zip(codes, sizes, strict=True)):
        raise PeerError("made rows that are none of the cells'")
    return found
