"""The other end of `worker`: one process that holds Stan, started when first asked."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from alphasynth.errors import InputError

# What compiles and runs programs: the module that it takes, and the extra that brings it. The first that is there is
# taken.
ENGINES = {"pystan": ("httpstan", "stan"), "cmdstan": ("cmdstanpy", "cmdstan")}


COMPILING = "compiling"  # what the worker says before it compiles
ONCE = "alphasynth: compiling the Stan program, once; some minutes\n"
LIMIT = re.compile(r"(\w+)(?:\[[^\]]*\])* is \S+, but must be ((?:greater|less) than(?: or equal to)?) ")


class StanError(InputError):
    """Stan refused a program or its data."""


class StanEnded(StanError):
    """Its process ended before it answered."""


class _Process:
    """The process and its streams; one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._folder = Path()

    def ask(self, engine: str, code: str, what: str, *arguments: Any) -> Any:
        """What the worker answers; raise `InputError`, or `StanError` with Stan's words."""
        with self._lock:
            process = self._running or self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                pickle.dump((engine, code, what, arguments), process.stdin, pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
                kind, answer = pickle.load(process.stdout)  # noqa: S301 # from our own process
                if kind == COMPILING:
                    _say(ONCE)
                    kind, answer = pickle.load(process.stdout)  # noqa: S301
            except (EOFError, BrokenPipeError, pickle.UnpicklingError):
                self._running = None
                _end(process, self._folder)
                raise StanEnded("the Stan program must run to its end, found that its process died") from None
            except BaseException:  # an answer that nobody waits for would be taken for the next one's
                self._running = None
                _end(process, self._folder)
                raise
        if kind == "refused":
            raise InputError(answer)
        if kind == "failed":
            raise StanError(f"the Stan program must run, found {_brief(answer)}")
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self._folder = Path(tempfile.mkdtemp(prefix="alphasynth-stan-"))  # for its owner alone
        command = [sys.executable, "-m", "alphasynth.stan.worker", str(self._folder), str(os.getpid())]
        # In a session of its own, so that the chains that it forks end with it.
        self._running = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        atexit.register(_end, self._running, self._folder)
        return self._running


def _say(words: str) -> None:
    """A line on standard error, which nobody may be listening to."""
    with suppress(OSError, ValueError, AttributeError):  # closed, or none in a program without a console
        sys.stderr.write(words)
        sys.stderr.flush()


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End the process and all that it started, and delete the draws that it had not read yet."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):
            if stream is not None:
                stream.close()
    shutil.rmtree(folder, ignore_errors=True)


def _brief(words: str) -> str:
    """The line of Stan's words that says what is wrong, without numbers and paths.

    A value that a declaration refuses is confidential, and so may be what a program's own `reject` prints.
    """
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    telling = [
        line for line in lines if re.search(r"error|Exception|must|found|expect|undeclared", line, re.IGNORECASE)
    ]
    line = (telling or lines or ["nothing said"])[-1]
    if limit := LIMIT.search(line):
        return f"{limit[1]!r} with a value that is not {limit[2]} its limit in the program"
    line = re.sub(r"\(in [^)]*\)|'?/[^\s']+'?|(?:\w*(?:Exception|Error): ?)+", " ", line)
    return " ".join(re.sub(r"-?\d[\d.]*(e[+-]?\d+)?", "...", line).split())[:300]


def engine_of(asked: str | None) -> str:
    """The engine that is asked for, or else the first that is installed; raise `InputError` where it is not there."""
    there = [name for name, (module, _) in ENGINES.items() if importlib.util.find_spec(module) is not None]
    if asked is None and not there:
        raise InputError(
            "Stan must be installed: pip install 'alphasynth[stan]', or a CmdStan and pip install "
            "'alphasynth[cmdstan]', found neither"
        )
    if asked is not None and asked not in there:
        raise InputError(
            f"engine {asked!r} must be installed: pip install 'alphasynth[{ENGINES[asked][1]}]', found none"
        )
    engine = asked or there[0]
    other = os.environ.get("CXX") or shutil.which("clang++")  # which CmdStan's makefile takes
    if shutil.which("g++") is None and not (engine == "cmdstan" and other):
        raise InputError("Stan compiles with g++, found none")
    return engine


_PROCESS = _Process()


def ask(engine: str | None, code: str, what: str, *arguments: Any) -> Any:
    """What Stan's process answers for a program, by an engine of `ENGINES` or the first that is installed."""
    return _PROCESS.ask(engine_of(engine), code, what, *arguments)
