"""The process that holds Stan: it takes requests on its standard input and answers on its standard output, as pickles.

A process of its own, since Stan forks for its chains and prints as it likes. It keeps no draws and no data: what goes
through files goes through a folder that only its owner can open, is deleted as soon as it is read, and goes with the
folder when this process or the one that started it ends, whatever ended it.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from alphasynth.errors import InputError
from alphasynth.stan import cmdstan, pystan
from alphasynth.stan.process import COMPILING

ATTEMPTS = 100  # to delete a folder
PROGRAMS: dict[str, Callable[[str, Path, Callable[[], None]], Any]] = {
    "pystan": pystan.Program,
    "cmdstan": cmdstan.Program,
}


def serve(requests: BinaryIO, answers: BinaryIO, folder: Path) -> None:
    """Answer requests until there are no more: by "answer", or by "refused" and our words, or "failed" and Stan's.

    Before an answer that waits for a program to be compiled there is a "compiling".
    """
    programs: dict[tuple[str, str], Any] = {}

    def say(*message: Any) -> None:
        pickle.dump(message, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()

    while True:
        try:
            engine, code, what, arguments = pickle.load(requests)  # noqa: S301 # from the process that started this one
        except EOFError:
            return
        try:
            if (engine, code) not in programs:
                programs[engine, code] = PROGRAMS[engine](code, folder, lambda: say(COMPILING, None))
            call: Callable[..., Any] = getattr(programs[engine, code], what)
            answer = ("answer", call(*arguments))
        except InputError as error:
            answer = ("refused", str(error))
        except Exception as error:  # noqa: BLE001 # Stan's own kinds are many; its words go to who asked
            answer = ("failed", f"{type(error).__name__}: {error}")
        say(*answer)


def end_with(parent: int, folder: Path) -> None:
    """Wait until the process that started this one is gone; then end, with all that was forked, and leave nothing."""
    while os.getppid() == parent:
        time.sleep(0.2)
    for _ in range(ATTEMPTS):  # chains run until the end of this process, and may write while their folder is deleted
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Serve on the standard streams; what Stan prints goes nowhere. Takes its folder, and who started it."""
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    os.umask(0o077)
    threading.Thread(target=end_with, args=(parent, folder), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(sys.stdin.buffer, answers, folder)


if __name__ == "__main__":
    main()
