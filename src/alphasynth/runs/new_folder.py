"""A folder that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alphasynth.errors import InputError
from alphasynth.runs.interruption import Interruption, Left


@contextmanager
def new_folder(out: Path, signals: Interruption, mode: int = 0o777) -> Iterator[Path]:
    """A folder to write into, which takes its place when all went well and is removed when not."""
    check_place(out)
    staging = out.parent / f".{out.name}-{secrets.token_hex(4)}"
    try:
        with signals.cleaning(lambda: _remove(staging)):
            _make(staging, out, mode)
            yield staging
            with signals.whole():
                check_place(out)
                os.rename(staging, out)
    finally:
        _remove(staging)


def check_place(out: Path) -> None:
    """Refuse a folder that exists already, or that has nowhere to go."""
    if out.exists() or out.is_symlink():
        raise InputError(f"--out must not exist yet, found {str(out)!r}")
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out must go into a folder that exists, found no {str(out.absolute().parent)!r}")


def _make(staging: Path, out: Path, mode: int) -> None:
    """The folder in the making, before anything is computed."""
    try:
        staging.mkdir(mode)
    except OSError as error:
        raise InputError(f"--out cannot be made at {str(out)!r}: {error.strerror}") from None


def _remove(folder: Path) -> Left:
    shutil.rmtree(folder, ignore_errors=True)
    return Left.NOTHING
