"""Commands in processes of their own: forked from one that has all libraries loaded, or started anew.

Forking is safe as long as the parent has one thread, which is checked at every fork: libraries are imported and nothing
of them is used. A forked command runs the same `main` as one from the shell, without the second that imports take.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

FRESH = "from alphasynth.cli.entry import main; main()"
LOADED = """\
import json, sys
from torture.processes import quiet_libraries
quiet_libraries()
from alphasynth.cli.entry import run_command
codes = [run_command(words) for words in json.loads(sys.argv[1])]
print(json.dumps([codes, sorted(sys.modules)]))
"""
ROOT = Path(__file__).parents[1]
LIMIT = 120.0  # seconds, after which a command hangs; a whole run takes some two on a busy machine


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or the signal's number below 0, and what it said."""

    code: int
    out: str
    err: str
    seconds: float
    cpu: float
    killed: bool = False
    hung: bool = False


@dataclass(frozen=True)
class Running:
    """A command under way, in a process group of its own."""

    process: int
    said: tuple[int, int]
    begin: float

    def ended(self, kill_after: float | None = None, limit: float = LIMIT) -> Ended:
        """Wait for the end, which is SIGKILL to the whole group after so many seconds if it has not come before."""
        seen = self._waits(limit if kill_after is None else kill_after - (time.perf_counter() - self.begin))
        if not seen:
            os.killpg(self.process, signal.SIGKILL)
        _, status, used = os.wait4(self.process, 0)
        seconds = time.perf_counter() - self.begin
        out, err = map(_content, self.said)
        code = os.waitstatus_to_exitcode(status)
        killed = not seen and code == -signal.SIGKILL
        asked = kill_after is not None
        return Ended(code, out, err, seconds, used.ru_utime + used.ru_stime, killed and asked, killed and not asked)

    def _waits(self, seconds: float) -> bool:
        """Whether the process ends within so many seconds."""
        handle = os.pidfd_open(self.process)
        try:
            return bool(select.select([handle], [], [], max(seconds, 0.0))[0])
        finally:
            os.close(handle)


def _content(handle: int) -> str:
    with os.fdopen(handle, "rb") as file:
        file.seek(0)
        return file.read().decode(errors="replace")


def start(
    arguments: Sequence[object], folder: Path, fresh: bool = False, before: Callable[[], object] | None = None
) -> Running:
    """Start a command in a folder; `before` is called in its process first, which must then be forked."""
    words = [str(argument) for argument in arguments]
    threads = len(os.listdir("/proc/self/task"))
    assert threads == 1, f"a process that forks must have one thread, found {threads}"
    said = (os.memfd_create("out"), os.memfd_create("err"))
    sys.stdout.flush()
    begin = time.perf_counter()
    process = os.fork()
    if not process:
        _become(words, folder, said, fresh, before)
    with contextlib.suppress(OSError):  # the child does the same; whoever comes first
        os.setpgid(process, process)
    return Running(process, said, begin)


def run(arguments: Sequence[object], folder: Path, **options: object) -> Ended:
    """Start a command and wait for its end."""
    return start(arguments, folder, **options).ended()


def _become(
    words: list[str], folder: Path, said: tuple[int, int], fresh: bool, before: Callable[[], object] | None
) -> None:
    """The child: never returns."""
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(said[0], 1)
        os.dup2(said[1], 2)
        if fresh:
            os.execv(sys.executable, [sys.executable, "-c", FRESH, *words])
        sys.argv = ["alphasynth", *words]
        if before is not None:
            before()
        from alphasynth.cli.entry import main

        main()
    except BaseException:  # noqa: BLE001 - what main lets through is what this program looks for
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(99)


def load(commands: Sequence[Sequence[object]], folder: Path) -> None:
    """Import all that these commands import, which another process runs once to tell; their folders stay."""
    import subprocess

    asked = json.dumps([[str(word) for word in command] for command in commands])
    place = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": place}
    words = [sys.executable, "-c", LOADED, asked]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=900)
    codes, names = json.loads(done.stdout.splitlines()[-1])
    assert not any(codes), done.stderr
    for name in (name for name in names if "polars" not in name):
        with contextlib.suppress(ImportError):  # of a library that looked whether there is another
            importlib.import_module(name)


class _WithoutPolars:
    """Polars, an extra, is as if it were not installed: it starts threads as it is imported."""

    @staticmethod
    def find_spec(name: str, *more: object) -> None:
        if name.partition(".")[0] == "polars":
            raise ImportError("polars is left out here")


def quiet_libraries() -> None:
    """One thread to a process, and none from importing alone; to be called before anything is imported."""
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    sys.meta_path.insert(0, _WithoutPolars())
