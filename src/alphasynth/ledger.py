"""The ledger: every release of a data set and its epsilon, in a SQLite file that only grows; caps and reservations.

A run reserves its epsilon before anything is computed. The reservation counts as spent until the run's folder stands
(`release`) or the run has ended without one (`clear`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from alphasynth.budget import Cap, Entry, Request, balance, capped_names, check_cap, check_name, key
from alphasynth.errors import InputError

NAME = "alphasynth-ledger.sqlite"
WAIT = 60.0  # seconds for another command's transaction, which takes milliseconds
APPLICATION = 0x616C7068  # marks the file as one of ours
_SCHEMA = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    event TEXT NOT NULL CHECK (event IN ('cap', 'reserve', 'publish', 'release', 'clear')),
    dataset TEXT NOT NULL,
    run TEXT,
    scope TEXT,
    epsilon TEXT,
    detail TEXT NOT NULL
);
CREATE UNIQUE INDEX once ON events (run, event) WHERE run IS NOT NULL;
CREATE TABLE secret (key BLOB NOT NULL);
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER secret_stays BEFORE UPDATE ON secret BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER secret_remains BEFORE DELETE ON secret BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
"""


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
        ledger = cls(path)
        # Made empty with its own mode first: SQLite would leave that to the umask.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        with ledger.transaction() as connection:
            ((mark,),) = connection.execute("PRAGMA application_id").fetchall()
            if mark == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
                for statement in _SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(32),))
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
            elif mark != APPLICATION:
                raise InputError(f"{path.name} must be a ledger, found another kind of file")
            ((key,),) = connection.execute("SELECT key FROM secret").fetchall()
        return cls(path, key)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One command at a time: whoever comes second waits until the first has written or given up."""
        with closing(sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise InputError(f"the ledger {self.path.name} {_explained(error)}") from None
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

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

    def set_cap(self, dataset: str, cap: float) -> None:
        """Set a data set's cap, which holds for each scope's sum; the latest counts."""
        if not key(dataset) or not 0 <= cap < float("inf"):
            raise InputError("a cap must be a number of at least 0 for a data set with a name")
        with self.transaction() as connection:
            _append(connection, "cap", dataset, None, None, cap, {})

    def reserve(self, connection: sqlite3.Connection, request: Request) -> str:
        """Reserve a run's epsilon, and return the data set's name; raise `LedgerError` where a cap forbids it."""
        entries, caps = self.entries(connection), self.caps(connection)
        name = request.dataset or f"table-{request.fingerprint[:12]}"
        check_name(request, entries, caps)
        for capped in dict.fromkeys([name, *capped_names(request, entries, caps)]):
            if key(capped) in caps:
                check_cap(request, balance(capped, request.scope, entries, caps, request.fingerprint))
        detail = {**request.detail, "fingerprint": request.fingerprint}
        _append(connection, "reserve", name, request.run, request.scope, request.epsilon, detail)
        return name

    def append(self, event: str, run: str, epsilon: float | None = None, **detail: Any) -> None:
        """Note that a run was published, released or cleared; once is enough."""
        with self.transaction() as connection:
            self.note(connection, event, run, epsilon, **detail)

    def note(
        self, connection: sqlite3.Connection, event: str, run: str, epsilon: float | None = None, **detail: Any
    ) -> None:
        """As `append`, within a transaction. What was reserved stands; `epsilon` counts where nothing was."""
        if connection.execute("SELECT 1 FROM events WHERE run = ? AND event = ?", (run, event)).fetchall():
            return
        found = connection.execute(
            "SELECT dataset, scope, epsilon FROM events WHERE run = ? AND event = 'reserve'", (run,)
        ).fetchall()
        if not found:  # refused, so there is nothing to note
            return
        ((dataset, scope, reserved),) = found
        _append(connection, event, dataset, run, scope, epsilon if reserved is None else float(reserved), detail)

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
        query = "SELECT dataset, epsilon FROM events WHERE event = 'cap' ORDER BY number"
        return {key(dataset): Cap(dataset, Fraction(cap)) for dataset, cap in connection.execute(query).fetchall()}


_STATES = {"reserve": "reserved", "release": "released", "clear": "cleared"}


def _explained(error: sqlite3.Error) -> str:
    """What SQLite met, in our words."""
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith("SQLITE_BUSY"):
        return "is in use by another command for too long"
    if code in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
        return "cannot be written; is the disk full?"
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return "must be a file that can be written, found one that cannot"
    return "must be a whole ledger, found another kind of file or a damaged one"


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
