"""The ledger's SQLite file: what is in it, that it only grows, and that what was written stays written."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from alphasynth.errors import InputError

WAIT = 60.0  # seconds for another command's transaction, which takes milliseconds
# Marks of our files: with the second came the events `write` and `lose`. A program that knows the first alone would
# clear runs that have written, and must not open the file any more.
FIRST, APPLICATION = 0x616C7068, 0x616C7069
_EVENTS = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    event TEXT NOT NULL CHECK (event IN ('cap', 'reserve', 'write', 'publish', 'release', 'lose', 'clear')),
    dataset TEXT NOT NULL,
    run TEXT,
    scope TEXT,
    epsilon TEXT,
    detail TEXT NOT NULL
);
CREATE UNIQUE INDEX once ON events (run, event) WHERE run IS NOT NULL;
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
"""
_KEY = """
CREATE TABLE secret (key BLOB NOT NULL);
CREATE TRIGGER secret_stays BEFORE UPDATE ON secret BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER secret_remains BEFORE DELETE ON secret BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
"""
_OUT_OF_THE_WAY = """
DROP TRIGGER events_stay;
DROP TRIGGER events_remain;
DROP INDEX once;
ALTER TABLE events RENAME TO former;
"""


def make_file(path: Path) -> None:
    """Make an empty file with its own mode, unless there is one: SQLite would leave that to the umask."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


@contextmanager
def transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """One command at a time: whoever comes second waits until the first has written or given up."""
    with closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as connection:
        try:
            # On the disk when COMMIT returns. Less than EXTRA could undo it after a power cut, since the journal's
            # removal would not be there yet; macOS wants to be asked twice.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise InputError(f"the ledger {path.name} {_explained(error)}") from None
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def key_of(connection: sqlite3.Connection, name: str) -> bytes:
    """The key of a ledger, which is made where the file is empty; raise `InputError` for another kind of file."""
    ((mark,),) = connection.execute("PRAGMA application_id").fetchall()
    if mark == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
        _execute(connection, _EVENTS + _KEY)
        connection.execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(32),))
    elif mark == FIRST:
        _execute(connection, _OUT_OF_THE_WAY + _EVENTS)
        connection.execute("INSERT INTO events SELECT * FROM former ORDER BY number")
        connection.execute("DROP TABLE former")
    elif mark != APPLICATION:
        raise InputError(f"{name} must be a ledger, found another kind of file")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    ((key,),) = connection.execute("SELECT key FROM secret").fetchall()
    return bytes(key)


def _execute(connection: sqlite3.Connection, script: str) -> None:
    """Statement by statement: `executescript` would end the transaction."""
    for statement in script.split(";\n"):
        connection.execute(statement)


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
