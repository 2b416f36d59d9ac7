"""The ledger: every release of a data set and its epsilon, in a file that only grows; caps and reservations.

A run reserves its epsilon before anything is computed, and notes that it begins (`write`) before the first byte made
from its draws reaches a disk; of a strict promise, before noise is drawn. One that ends before that is cleared
(`clear`); from there on it counts, whether its folder comes to stand (`release`) or not (`lose`): who had the half-made
folder had the tables, and who sees a fit fail sees what noise did.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alphasynth.errors import InputError
from alphasynth.privacy.accounting import noted, written
from alphasynth.runs.budget import Cap, Entry, LedgerError, Reservation, check_caps, check_name, key
from alphasynth.runs.ledger_file import key_of, make_file, transaction

NAME = "alphasynth-ledger.sqlite"
# Events after which noise may be drawn, and synthetic rows may be on a disk.
_WRITTEN = ("write", "publish")


@dataclass(frozen=True)
class Ledger:
    """A ledger file, and the key of its fingerprints."""

    path: Path
    key: bytes = field(default=b"", repr=False)

    @classmethod
    def open(cls, path: Path) -> Ledger:
        """The ledger at a path, made there if there is none; raise `InputError` for a file that is not a ledger."""
        if not path.parent.is_dir():
            raise InputError(f"the ledger must lie in a folder that exists, found no {str(path.parent)!r}")
        make_file(path)
        with transaction(path) as connection:
            return cls(path, key_of(connection, path.name))

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """One command at a time; what is in it is on the disk at its end."""
        return transaction(self.path)

    @property
    def identity(self) -> str:
        """A few letters that tell this ledger from others."""
        return self.fingerprint([b"identity"])[:8]

    def fingerprint(self, parts: Iterator[bytes] | Sequence[bytes]) -> str:
        """Keyed digest: without the ledger's key no one can try tables against it."""
        digest = hashlib.blake2b(key=self.key, digest_size=20)
        for part in parts:
            digest.update(part)
        return digest.hexdigest()

    def set_cap(self, dataset: str, cap: float, delta: float = 0.0) -> None:
        """Set a data set's cap, which holds for each scope's sums of epsilon and of delta; the latest counts."""
        if not key(dataset) or not 0 <= cap < float("inf"):
            raise InputError("a cap must be a number of at least 0 for a data set with a name")
        if not 0 <= delta < 1:
            raise InputError(f"a cap's delta must be at least 0 and below 1, found {delta!r}")
        with self.transaction() as connection:
            _append(connection, "cap", dataset, None, None, cap, {"delta": delta} if delta else {})

    def reserve(self, connection: sqlite3.Connection, reservation: Reservation) -> str:
        """Reserve a run's epsilon, and return the data set's name; raise `LedgerError` where a cap forbids it."""
        entries, caps = self.entries(connection), self.caps(connection)
        name = reservation.dataset or f"table-{reservation.fingerprint[:12]}"
        check_name(reservation, entries, caps)
        check_caps(replace(reservation, dataset=name), entries, caps)
        detail = {**reservation.detail, "fingerprint": reservation.fingerprint}
        if reservation.delta is not None:
            detail["delta"] = reservation.delta
        _append(connection, "reserve", name, reservation.run, reservation.scope, reservation.epsilon, detail)
        return name

    def begin(
        self, connection: sqlite3.Connection, reservation: Reservation, epsilon: float, rho: float | None = None
    ) -> None:
        """Note that a run is about to draw noise or to write, and what it spends; from here on it counts for good.

        `rho` is what it comes to in zero-concentrated privacy, if that is known. What was charged before is not looked
        at again: to refuse it now would protect nobody.
        Raise `LedgerError` where it is reserved no longer, or a cap that was set meanwhile forbids it.
        """
        entries = self.entries(connection)
        own = [entry for entry in entries if entry.run == reservation.run and entry.counts]
        if not own:
            raise LedgerError(
                "the run must have its epsilon reserved, found that the reservation was cleared meanwhile"
            )
        if self._has(connection, reservation.run, *_WRITTEN):
            return
        others = [entry for entry in entries if entry.run != reservation.run]
        check_caps(replace(reservation, dataset=own[0].dataset), others, self.caps(connection))
        self.note(connection, "write", reservation.run, epsilon, **({} if rho is None else {"rho": rho}))

    def end(self, connection: sqlite3.Connection, run: str, reason: str) -> bool:
        """Note that a run ended without a folder: lost if it had begun, else cleared; whether it counts."""
        written = self._has(connection, run, *_WRITTEN)
        self.note(connection, "lose" if written else "clear", run, reason=reason)
        return written

    def append(self, event: str, run: str, epsilon: float | None = None, **detail: Any) -> None:
        """Note that a run was published, released or cleared; once is enough."""
        with self.transaction() as connection:
            self.note(connection, event, run, epsilon, **detail)

    def note(
        self, connection: sqlite3.Connection, event: str, run: str, epsilon: float | None = None, **detail: Any
    ) -> None:
        """As `append`, within a transaction. The first epsilon noted stands; `epsilon` counts where none was.

        A policy's epsilon is noted as it was written; `epsilon` was computed, and is noted as a decimal not below it.

        Raise `LedgerError` for clearing a run that has begun, unless its seed was fixed.
        """
        found = connection.execute(
            "SELECT dataset, scope, epsilon, detail FROM events WHERE run = ? ORDER BY number", (run,)
        ).fetchall()
        if not found or self._has(connection, run, event):  # refused, so there is nothing to note; or noted
            return
        dataset, scope, _, first = found[0]
        if event == "clear" and self._has(connection, run, *_WRITTEN) and json.loads(first).get("releasable", True):
            raise LedgerError(f"run {run!r} has drawn noise or written synthetic rows, and stays spent")
        realised = None if epsilon is None else noted(epsilon)
        known = next((float(text) for _, _, text, _ in found if text is not None), realised)
        _append(connection, event, dataset, run, scope, known, detail)

    def _has(self, connection: sqlite3.Connection, run: str, *events: str) -> bool:
        marks = ", ".join("?" * len(events))
        query = f"SELECT 1 FROM events WHERE run = ? AND event IN ({marks})"
        return bool(connection.execute(query, (run, *events)).fetchall())

    def entries(self, connection: sqlite3.Connection) -> list[Entry]:
        """All runs, oldest first."""
        runs: dict[str, dict[str, Any]] = {}
        query = (
            "SELECT at, event, dataset, run, scope, epsilon, detail FROM events WHERE run IS NOT NULL ORDER BY number"
        )
        for at, event, dataset, run, scope, epsilon, detail in connection.execute(query).fetchall():
            entry = runs.setdefault(run, {"run": run, "dataset": dataset, "scope": scope, "at": at, "detail": {}})
            entry["detail"] |= json.loads(detail)
            if event in _STATES:
                entry["state"] = _STATES[event]
            if event == "publish":
                entry["detail"]["publishing"] = True
            entry["epsilon"] = epsilon if epsilon is not None else entry.get("epsilon")
        return [Entry(**entry) for entry in runs.values()]

    def caps(self, connection: sqlite3.Connection) -> dict[str, Cap]:
        """The cap of each data set that has one, by the key of its name."""
        query = "SELECT dataset, epsilon, detail FROM events WHERE event = 'cap' ORDER BY number"
        return {
            key(dataset): Cap(dataset, written(cap), written(json.loads(detail).get("delta", 0.0)))
            for dataset, cap, detail in connection.execute(query).fetchall()
        }


_STATES = {
    "reserve": "reserved",
    "write": "writing",
    "publish": "writing",
    "release": "released",
    "lose": "lost",
    "clear": "cleared",
}


def _append(
    connection: sqlite3.Connection,
    event: str,
    dataset: str,
    run: str | None,
    scope: str | None,
    epsilon: float | None,
    detail: dict[str, Any],
) -> None:
    if epsilon is not None and not math.isfinite(epsilon):
        raise InputError(f"the ledger must hold finite epsilons, found {epsilon}")
    at = datetime.now(UTC).isoformat(timespec="seconds")
    text = None if epsilon is None else repr(float(epsilon))
    values = (at, event, dataset, run, scope, text, json.dumps(detail))
    connection.execute(
        "INSERT INTO events (at, event, dataset, run, scope, epsilon, detail) VALUES (?, ?, ?, ?, ?, ?, ?)", values
    )
