"""The run folder, which appears whole or not at all: staged next to its place under a lock, then renamed.

    reserve (ledger) and make the staging folder -> compute -> write (ledger) -> write the files
        -> publish (ledger) -> rename -> release (ledger)

A strict run notes `write` before it computes with noise.

A run that dies on the way leaves an unlocked staging folder and a reservation; the next command on the same ledger
reconciles them. One that had noted `write` counts as spent, though its folder is removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from alphasynth.errors import InputError
from alphasynth.runs.budget import Entry, Reservation
from alphasynth.runs.interruption import Interruption, Left
from alphasynth.runs.ledger import Ledger

RELEASE, CONFIDENTIAL, SUMMARY = "release", "confidential", "summary.json"
UNSETTLED = ("reserved", "writing")


@dataclass(frozen=True)
class Staging:
    """A run folder in the making, mode 0700; `spill` is where an engine may put what does not fit in memory."""

    run: str
    path: Path
    out: Path

    @property
    def release(self) -> Path:
        """What may be published."""
        return self.path / RELEASE

    @property
    def confidential(self) -> Path:
        """What must not be."""
        return self.path / CONFIDENTIAL

    @property
    def spill(self) -> Path:
        """Gone before the folder appears."""
        return self.path / "spill"


def plan(ledger: Ledger, out: Path) -> Staging:
    """A name for the run and its staging folder, nothing made yet; raise `InputError` where the run cannot go."""
    if out.exists() or out.is_symlink():
        raise InputError(f"the run folder must not exist yet, found {str(out)!r}")
    if not out.parent.is_dir():
        raise InputError(f"the run folder must go into a folder that exists, found no {str(out.parent)!r}")
    run = secrets.token_hex(8)
    return Staging(run, out.parent / f"{_prefix(ledger)}{run}", out)


def _prefix(ledger: Ledger) -> str:
    return f".alphasynth-{ledger.identity}-"


@contextmanager
def staged(
    ledger: Ledger, staging: Staging, reservation: Reservation, interruption: Interruption | None = None
) -> Iterator[Begin]:
    """Reserve, make the staging folder, and let the run fill it; then publish it, or clear away all traces of it.

    What it gives must be called with the realised epsilon, and with the public rho if there is one, before the first
    byte is written, and with the policy's before noise is drawn: it tells the ledger, and then makes the folders of the
    release and of the rest. The first call counts. The run must leave `summary.json` in the confidential one, with the
    same epsilon under `epsilon_unit`. An error after that has a note that says what it cost.
    """
    detail = {
        **reservation.detail,
        "out": str(staging.out.absolute()),
        "staging": str(staging.path.absolute()),
        "host": _host(),
    }
    signals = interruption or Interruption()
    with signals.cleaning(partial(_abandon, ledger, staging)):
        # The folder is made and locked inside the transaction: no one reconciles in between.
        try:
            with signals.whole(), ledger.transaction() as connection:
                reconcile(ledger, connection, staging.out.parent)
                ledger.reserve(connection, replace(reservation, detail=detail))
                lock = _make(staging)
        except BaseException:
            _remove(staging.path)  # made, but the reservation could not be written
            raise
        try:
            yield partial(_begin, ledger, staging, reservation, signals)
            with signals.whole():
                publish(ledger, staging)
        except BaseException as error:
            with signals.whole():
                if _abandon(ledger, staging) is Left.SPENT:
                    error.add_note(Left.SPENT.value)
            raise
        finally:
            os.close(lock)


class Begin(Protocol):
    """Tells the ledger that a run is about to draw noise or to write, and what it spends."""

    def __call__(self, epsilon: float, rho: float | None = None) -> None:
        """Begin."""
        ...


def _begin(
    ledger: Ledger,
    staging: Staging,
    reservation: Reservation,
    signals: Interruption,
    epsilon: float,
    rho: float | None = None,
) -> None:
    """Count the run from here on, and only then make the folders that its files go into; once is enough."""
    with signals.whole():
        with ledger.transaction() as connection:
            ledger.begin(connection, reservation, epsilon, rho)
        staging.confidential.mkdir(mode=0o700, exist_ok=True)
        staging.release.mkdir(exist_ok=True)


def _abandon(ledger: Ledger, staging: Staging) -> Left:
    """Leave no files of a run that did not come to its end; return what is left, all of it if it had."""
    _remove(staging.path)
    if _epsilon(staging.out, staging.run) is not None:
        return Left.WHOLE
    with ledger.transaction() as connection:
        counts = ledger.end(connection, staging.run, "the run ended without a release")
    return Left.SPENT if counts else Left.NOTHING


def _remove(folder: Path) -> bool:
    """Remove a folder, though an engine's threads may still be writing into it; return whether it is gone."""
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return True
        time.sleep(0.01)
    return False


def _make(staging: Staging) -> int:
    """Make the folder and lock it; the lock goes when the process does, however it ends."""
    try:
        staging.path.mkdir(mode=0o700)
    except OSError as error:
        raise InputError(f"the run folder cannot be made in {str(staging.out.parent)!r}: {error.strerror}") from None
    lock = os.open(staging.path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        shutil.rmtree(staging.path, ignore_errors=True)
        os.close(lock)
        raise InputError(
            f"the run folder must go where files can be locked, found {str(staging.out.parent)!r}"
        ) from None
    return lock


def publish(ledger: Ledger, staging: Staging) -> None:
    """Move the finished folder to its place in one step."""
    _remove(staging.spill)
    for folder, mode in ((staging.confidential, 0o600), (staging.release, _allowed(0o666))):
        for path in sorted(folder.rglob("*")):
            path.chmod(mode)
            _sync(path)
        _sync(folder)
    staging.release.chmod(_allowed(0o777))
    epsilon = _epsilon(staging.path, staging.run)
    with ledger.transaction() as connection:
        if any(entry.run == staging.run and not entry.counts for entry in ledger.entries(connection)):
            raise InputError("the run must have its epsilon reserved, found that the reservation was cleared meanwhile")
        ledger.note(connection, "publish", staging.run, epsilon, **_stated_rho(staging.confidential / SUMMARY))
    staging.path.chmod(_allowed(0o777))
    try:
        os.rename(staging.path, staging.out)
    except OSError:
        raise InputError(f"the run folder must not exist yet, found {str(staging.out)!r}") from None
    with contextlib.suppress(InputError, OSError):  # the folder stands, and the next command notes it if we cannot
        _sync(staging.out.parent)
        ledger.append("release", staging.run, epsilon)


def _allowed(mode: int) -> int:
    """The mode that the user's umask leaves."""
    umask = os.umask(0o077)
    os.umask(umask)
    return mode & ~umask


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _epsilon(folder: Path, run: str) -> float | None:
    """What a whole run folder's summary says was spent; None if it is not that run's."""
    try:
        summary = json.loads((folder / CONFIDENTIAL / SUMMARY).read_text())
    except (OSError, ValueError):
        return None
    return float(summary["epsilon_unit"]) if summary.get("run") == run else None


def _stated_rho(summary: Path) -> dict[str, float]:
    """The rho that a run states, by its name; of a strict run it is no more than what was noted first."""
    stated = json.loads(summary.read_text()).get("released", {}).get("rho")
    return {} if stated is None else {"rho": stated}


def reconcile(ledger: Ledger, connection: sqlite3.Connection, *folders: Path) -> None:
    """Settle runs that died: released where the folder stands, else cleaned up, and lost or cleared.

    `folders` are looked through for staging folders that died before their reservation was written.
    """
    for entry in ledger.entries(connection):
        if entry.state in UNSETTLED and entry.detail.get("host") == _host():
            _settle(ledger, connection, entry)
    known = {entry.run for entry in ledger.entries(connection) if entry.state in UNSETTLED}
    prefix = _prefix(ledger)
    for folder in folders:
        for path in folder.glob(f"{prefix}*"):
            if path.name.removeprefix(prefix) not in known and not _alive(path):
                _remove(path)


def _settle(ledger: Ledger, connection: sqlite3.Connection, entry: Entry) -> None:
    out, staging = Path(entry.detail["out"]), Path(entry.detail["staging"])
    epsilon = _epsilon(out, entry.run)
    if epsilon is not None:
        ledger.note(connection, "release", entry.run, epsilon)
    elif staging.exists():
        if not _alive(staging):
            _clean_up(ledger, connection, entry, staging)
    elif entry.detail.get("publishing"):
        # It was whole and is neither here nor there: someone moved it. It counts.
        ledger.note(connection, "release", entry.run, None, reason="published and moved")
    else:
        ledger.end(connection, entry.run, "the run died, and its folder is gone")


def _clean_up(ledger: Ledger, connection: sqlite3.Connection, entry: Entry, staging: Path) -> None:
    """Remove what a dead run left, and note how it ended."""
    if entry.state == "reserved" and any(staging.glob(f"{RELEASE}/*")):
        # Of a version that did not note it. The files go when the next command finds this in the ledger.
        ledger.note(connection, "write", entry.run, _epsilon(staging, entry.run))
    elif _remove(staging):
        ledger.end(connection, entry.run, "the run died before its folder was whole")


def _host() -> str:
    """This machine: its name, which another may have too, and the identity it was installed with."""
    identity = Path("/etc/machine-id")
    return f"{socket.gethostname()} {identity.read_text().strip() if identity.is_file() else ''}".strip()


def is_alive(entry: Entry) -> bool:
    """Whether a run's process is still there, as far as this machine can tell."""
    return entry.detail.get("host") == _host() and _alive(Path(entry.detail["staging"]))


def _alive(staging: Path) -> bool:
    """Whether a process still holds the lock on a staging folder."""
    try:
        handle = os.open(staging, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except PermissionError:  # another user's, and so not ours to judge
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
