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


class LedgerError(InputError):
    """The ledger refuses: a cap would be exceeded, or what a cap requires is missing."""


@dataclass(frozen=True)
class Entry:
    """One run as the ledger has it. `state`: reserved, released or cleared. No epsilon: not known before the fit."""

    run: str
    dataset: str
    scope: str
    epsilon: str | None
    state: str
    at: str
    detail: dict[str, Any]

    @property
    def counts(self) -> bool:
        """Whether it counts as spent."""
        return self.state != "cleared"


@dataclass(frozen=True)
class Cap:
    """A data set's name, as it was capped, and its cap."""

    dataset: str
    epsilon: Fraction


@dataclass(frozen=True)
class Balance:
    """What a data set has spent within one scope, exactly, and its cap. `open_ended`: a run without an epsilon yet."""

    dataset: str
    scope: str
    released: Fraction
    reserved: Fraction
    open_ended: bool
    cap: Fraction | None

    @property
    def spent(self) -> Fraction:
        """Released and reserved together."""
        return self.released + self.reserved


@dataclass(frozen=True)
class Request:
    """What a run asks for. Without a name the data set goes by the table's keyed fingerprint."""

    run: str
    dataset: str | None
    fingerprint: str
    scope: str
    epsilon: float | None
    detail: dict[str, Any]


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
        if not dataset or not 0 <= cap < float("inf"):
            raise InputError("a cap must be a number of at least 0 for a data set with a name")
        with self.transaction() as connection:
            _append(connection, "cap", dataset, None, None, cap, {})

    def reserve(self, connection: sqlite3.Connection, request: Request) -> str:
        """Reserve a run's epsilon, and return the data set's name; raise `LedgerError` where a cap forbids it."""
        entries, caps = self.entries(connection), self.caps(connection)
        name = request.dataset or f"table-{request.fingerprint[:12]}"
        _check_name(request, entries, caps)
        if key(name) in caps:
            _check_cap(request, balance(name, request.scope, entries, caps, request.fingerprint))
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
        ((dataset, scope, reserved),) = connection.execute(
            "SELECT dataset, scope, epsilon FROM events WHERE run = ? AND event = 'reserve'", (run,)
        ).fetchall()
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


def key(name: str) -> str:
    """What tells data sets apart: capitals and spaces around a name do not."""
    return name.strip().casefold()


def balance(
    dataset: str, scope: str, entries: Sequence[Entry], caps: dict[str, Cap], fingerprint: str | None = None
) -> Balance:
    """What a data set has spent within one scope: sums of decimals as they were written down, without rounding.

    Runs of the same tables under other names, or none, count too; `fingerprint` is of a table that is about to be run.
    """
    spent = [entry for entry in entries if entry.scope == scope and entry.counts]
    tables = {entry.detail["fingerprint"] for entry in spent if key(entry.dataset) == key(dataset)} | {fingerprint}
    own = [entry for entry in spent if key(entry.dataset) == key(dataset) or entry.detail["fingerprint"] in tables]
    by_state = {
        state: sum((Fraction(entry.epsilon) for entry in own if entry.state == state and entry.epsilon), Fraction(0))
        for state in ("released", "reserved")
    }
    unknown = any(entry.epsilon is None for entry in own)
    cap = caps.get(key(dataset))
    return Balance(dataset, scope, by_state["released"], by_state["reserved"], unknown, cap.epsilon if cap else None)


def _check_name(request: Request, entries: Sequence[Entry], caps: dict[str, Cap]) -> None:
    if request.dataset is None and caps:
        listed = ", ".join(repr(cap.dataset) for cap in caps.values())
        raise LedgerError(f"the ledger caps {listed}, so a run must name its data set (--dataset)")
    for entry in entries:
        same = entry.counts and entry.detail["fingerprint"] == request.fingerprint
        if same and key(entry.dataset) in caps and key(entry.dataset) != key(request.dataset or ""):
            raise LedgerError(
                f"this table is in the ledger as data set {entry.dataset!r}, which has a cap; run it under that name"
            )


def _check_cap(request: Request, held: Balance) -> None:
    if request.epsilon is None:
        raise LedgerError(
            f"data set {held.dataset!r} has a cap, so a run must state its budget (--epsilon), found none"
        )
    if held.open_ended:
        raise LedgerError(f"data set {held.dataset!r} has a cap and a run without a budget under way; wait or clear it")
    assert held.cap is not None
    if held.spent + Fraction(repr(request.epsilon)) > held.cap:
        raise LedgerError(
            f"data set {held.dataset!r} has a cap of {shown(held.cap)}, of which {shown(held.spent)} is spent or "
            f"reserved: a run of epsilon {shown(Fraction(repr(request.epsilon)))} would exceed it"
        )


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


def shown(value: Fraction) -> str:
    """A sum as a decimal, never below it.

    >>> shown(Fraction("0.1") * 3), shown(Fraction(10)), shown(Fraction("11.123456"))
    ('0.3', '10', '11.1235')
    """
    places = 10**4
    text = f"{-(-value.numerator * places // value.denominator) / places:.4f}"
    return text.rstrip("0").rstrip(".")
