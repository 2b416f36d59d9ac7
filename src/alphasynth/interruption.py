"""Ctrl-C and SIGTERM: clean up and leave at once, or right after the few steps that must not be cut in two.

An exception raised by a signal would pass through compiled code, which can swallow it or crash.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130


class Interruption:
    """What to do when a signal comes; does nothing until it is installed."""

    def __init__(self) -> None:
        self._inside, self._asked = 0, False
        self._cleanup: Callable[[], None] = lambda: None

    def install(self) -> None:
        """Take over SIGINT and SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        if not self._inside:
            self._leave()

    def _leave(self) -> None:
        self._cleanup()
        sys.stderr.write("alphasynth: interrupted; nothing was written\n")
        sys.stderr.flush()
        os._exit(INTERRUPTED)

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
    def cleaning(self, cleanup: Callable[[], None]) -> Iterator[None]:
        """What is to be cleaned up if a signal comes meanwhile."""
        self._cleanup = cleanup
        try:
            yield
        finally:
            self._cleanup = lambda: None
