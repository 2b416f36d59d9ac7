"""A process that kills itself before its n-th step on the disk: a file opened to be written, a rename, a new folder."""

from __future__ import annotations

import os
import signal
import sys

STEPS = {"os.rename", "os.mkdir", "os.chmod", "os.remove", "os.rmdir", "sqlite3.connect", "shutil.rmtree"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def die_at(number: int, elsewhere: str = "/dev/") -> None:
    """Count steps from here on."""
    left = number

    def seen(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if not (event in STEPS or (event == "open" and _writes(arguments, elsewhere))):
            return
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(seen)


def _writes(arguments: tuple[object, ...], elsewhere: str) -> bool:
    path, _, flags = arguments
    device = isinstance(path, str) and path == f"{elsewhere}null"
    return isinstance(flags, int) and bool(flags & WRITING) and not device
