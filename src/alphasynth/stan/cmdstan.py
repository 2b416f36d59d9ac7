"""A program compiled by a user's CmdStan: each request runs it once, in a process that ends with its answer.

CmdStan samples. Targets and entries at given coordinates come from `bridge.cpp`, which is compiled in, since CmdStan's
commands read and write constrained parameters alone. No draw is in a file: all go through pipes. The data are in a
file of a folder that is deleted with the request.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import numpy as np

from alphasynth.stan.compiled import compiled

DIGITS = 17  # as many as tell any two doubles apart: CmdStan writes six if not asked
REFUSED = 3  # what the bridge returns where a point cannot be computed, and nothing else went wrong
DATA, DRAWS, SAID = "data.json", "draws.csv", "said"  # of a request; the draws are a pipe, what is said are errors
Data = dict[str, Any]


class Program:
    """A compiled program."""

    def __init__(self, code: str, folder: Path, compiling: Callable[[], None] = lambda: None) -> None:
        """Compile it, or take it from the cache, which holds programs and no data; requests pass through a folder.

        `compiling` is called before it compiles, which takes minutes.
        """
        self.folder = folder
        self.executable = compiled(code, folder, compiling)

    def names(self, data: Data) -> tuple[list[str], list[list[int]], list[str]]:
        """Names and shapes of parameters, transformed parameters and generated quantities; names of all entries."""
        of, entries = self._ask("names", data).decode().split("\n\n")
        parts = [line.split() for line in of.splitlines()]
        return [part[0] for part in parts], [[int(size) for size in part[1:]] for part in parts], entries.splitlines()

    def coordinates(self, data: Data) -> int:
        """How many coordinates without limits it has."""
        return int(self._ask("coordinates", data))

    def log_prob(self, data: Data, u: np.ndarray, known: bool = False) -> np.ndarray:
        """The program's target, the Jacobian included, at coordinates (S, D).

        `known`: not a number where it cannot be computed, which is refused otherwise.
        """
        return self._by_point("log_prob", data, u, 1, [], known)[:, 0]

    def entries(self, data: Data, u: np.ndarray, first: int, number: int, known: bool = False) -> np.ndarray:
        """Some of all entries (S, number) at coordinates (S, D); `known` as above."""
        return self._by_point("entries", data, u, number, [first, number], known)

    def _by_point(self, what: str, data: Data, u: np.ndarray, number: int, words: list[int], known: bool) -> np.ndarray:
        """Answers (S, number). The bridge ends at a point that it refuses, and is asked again for those after it."""
        made: list[np.ndarray] = []
        left = u
        while len(left):
            done = self._answered(what, data, _doubles(left), left.shape[1], *words)
            if not (known and done.returncode == REFUSED):
                _check(done.returncode, done.stderr)
            size = 8 * number  # of a point's doubles
            whole = len(done.stdout) // size
            made.append(np.frombuffer(done.stdout[: whole * size]).reshape(whole, number))
            if whole < len(left):
                made.append(np.full((1, number), np.nan))
            left = left[whole + 1 :]
        return np.concatenate(made) if made else np.zeros((0, number))

    def unconstrain(self, data: Data, thetas: list[Data]) -> np.ndarray:
        """Coordinates (S, D) of parameters by name."""
        lines = "".join(f"{json.dumps(theta)}\n" for theta in thetas)
        return np.frombuffer(self._ask("unconstrain", data, lines.encode())).reshape(len(thetas), -1)

    def sample(
        self, data: Data, of: list[str], seeds: list[int], warmup: int, draws: int, accept: float
    ) -> list[dict[str, Any]]:
        """Chains: entries by name (draws,) each, of what is asked for, and what the sampler says of its draws."""
        settings = f"num_samples={draws} num_warmup={warmup} adapt delta={accept!r} algorithm=hmc engine=nuts"

        def chain(number: int) -> dict[str, Any]:
            random = f"random seed={seeds[number]} id={number + 1} output refresh=0 sig_figs={DIGITS}"
            with self._request(data) as place, _pipe(place / DRAWS) as (lines, end):
                words = f"method=sample {settings} {random} file={DRAWS} data file={DATA}"
                with (place / SAID).open("wb") as said:
                    process = subprocess.Popen(  # noqa: S603
                        [str(self.executable), *words.split()],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,  # which a program prints to
                        stderr=said,
                        cwd=place,
                    )
                threading.Thread(target=lambda: (process.wait(), end())).start()
                values = _columns(lines, set(of))
                _check(process.wait(), (place / SAID).read_bytes())
            return values

        with ThreadPoolExecutor(len(seeds)) as pool:
            return list(pool.map(chain, range(len(seeds))))

    def simulate(self, data: Data, of: str, theta: Data, seed: int) -> np.ndarray:
        """The entries of one generated quantity, once, at these parameters."""
        _, _, names = self.names(data)
        values = np.frombuffer(self._ask("simulate", data, json.dumps(theta).encode(), seed=seed))
        return values[[name.split(".")[0] == of for name in names]]

    def _ask(self, what: str, data: Data, given: bytes = b"", *words: int, seed: int = 1) -> bytes:
        """What the bridge answers."""
        done = self._answered(what, data, given, *words, seed=seed)
        _check(done.returncode, done.stderr)
        return done.stdout

    def _answered(
        self, what: str, data: Data, given: bytes = b"", *words: int, seed: int = 1
    ) -> subprocess.CompletedProcess[bytes]:
        """What the bridge answers, up to what it refuses."""
        with self._request(data) as place:
            command = [str(self.executable), "alphasynth", what, DATA, str(seed), *map(str, words)]
            return subprocess.run(command, input=given, capture_output=True, check=False, cwd=place)  # noqa: S603

    @contextmanager
    def _request(self, data: Data) -> Iterator[Path]:
        """A folder with the data, deleted with what was written beside them."""
        with TemporaryDirectory(dir=self.folder) as place:
            (Path(place) / DATA).write_text(json.dumps(data), encoding="utf-8")
            yield Path(place)


@contextmanager
def _pipe(path: Path) -> Iterator[tuple[TextIO, Callable[[], None]]]:
    """A pipe with a name, for what wants to write a file: its lines, and what ends them once the writer has ended.

    A writer of our own is open until then, so that one that ends without writing a line is not waited for.
    """
    os.mkfifo(path, 0o600)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # which does not wait for a writer
    with os.fdopen(reading, encoding="utf-8") as lines, path.open("wb") as held:
        os.set_blocking(reading, True)
        yield lines, held.close


def _columns(lines: Iterable[str], of: set[str]) -> dict[str, np.ndarray]:
    """Columns by name of CmdStan's CSV: those that are asked for, and the sampler's, whose names end in underscores."""
    names: list[str] = []
    rows: list[list[float]] = []
    for line in lines:
        cells = line.rstrip("\n").split(",")
        if line.startswith("#"):
            continue
        if not names:
            names = cells
            taken = [i for i, name in enumerate(names) if name.endswith("__") or name.split(".")[0] in of]
        elif len(cells) == len(names):  # a writer that dies leaves part of a line
            rows.append([float(cells[i]) for i in taken])
    return {names[i]: column for i, column in zip(taken, np.array(rows).T, strict=True)} if rows else {}


def _check(code: int, said: bytes) -> None:
    """Raise `RuntimeError` with what a process said that went wrong."""
    if code:
        words = said.decode("utf-8", errors="replace")
        raise RuntimeError(re.sub(r"\w+_namespace::\w+: ", "", words) or "that its process died")


def _doubles(u: np.ndarray) -> bytes:
    return np.ascontiguousarray(u, np.float64).tobytes()
