"""Ctrl-C, SIGTERM and SIGHUP: clean up and leave at once, or right after the few steps that must not be cut in two.

An exception raised by a signal would pass through compiled code, which can swallow it or crash.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import FrameType

INTERRUPTED = 130
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Left(Enum):
    """What a command leaves that was cut short, in words."""

    NOTHING = "nothing was written"
    WHOLE = "what was asked for is whole already and stands"
    SPENT = "no run folder is left, but noise was drawn or rows were written for it: its epsilon counts as spent"


class Interruption:
    """What to do when a signal comes; does nothing until it is installed."""

    def __init__(self) -> None:
        self._inside, self._asked = 0, False
        self._cleanup: Callable[[], Left] = lambda: Left.NOTHING
        self._before: Callable[[], None] = lambda: None

    def install(self) -> None:
        """Take over the signals, but for those that whoever started us wants ignored (nohup)."""
        for number in NUMBERS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        if not self._inside:
            self._leave()

    def _leave(self) -> None:
        for number in NUMBERS:
            signal.signal(number, signal.SIG_IGN)  # a second signal must not come between the steps that follow
        self._before()
        left = self._cleanup()
        sys.stderr.write(f"alphasynth: interrupted; {left.value}\n")
        sys.stderr.flush()
        os._exit(0 if left is Left.WHOLE else INTERRUPTED)

    def before_leaving(self, step: Callable[[], None]) -> None:
        """What to do first, such as giving the terminal back."""
        self._before = step

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Steps that a signal may not cut in two; it is heard at their end."""
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            if self._asked and not self._inside:
                self._leave()

    @contextmanager
    def cleaning(self, cleanup: Callable[[], Left]) -> Iterator[None]:
        """What cleans up if a signal comes meanwhile, and tells what is left: at the end, what was asked for."""
        self._cleanup = cleanup
        try:
            yield
        except BaseException:
            self._cleanup = lambda: Left.NOTHING
            raise
        self._cleanup = lambda: Left.WHOLE


# The command's own; inert until the way in from the shell installs it.
SIGNALS = Interruption()
