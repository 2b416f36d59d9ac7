"""A ledger read by other means than its own, to compare what it says with what stands on the disk."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from torture.counts import Counts
from torture.judged import judge_words
from torture.processes import run

LEDGER = "alphasynth-ledger.sqlite"
# How a run ended, the first of these events that it has.
ENDS = {"release": "released", "lose": "lost", "clear": "cleared", "publish": "writing", "write": "writing"}


class Account(NamedTuple):
    """A run as its events have it."""

    state: str
    epsilon: Fraction
    wrote: bool


def accounts(path: Path) -> dict[str, Account]:
    """Runs by their name, none where there is no ledger yet; raise `sqlite3.Error` for a damaged file."""
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        ((whole,),) = connection.execute("PRAGMA integrity_check").fetchall()
        if whole != "ok":
            raise sqlite3.DatabaseError(whole)
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchall():
            return {}
        events = connection.execute("SELECT run, event, epsilon FROM events WHERE run IS NOT NULL ORDER BY number")
        runs: dict[str, dict[str, str | None]] = {}
        for name, event, epsilon in events.fetchall():
            runs.setdefault(name, {})[event] = epsilon
    found = {}
    for name, had in runs.items():
        state = next((word for event, word in ENDS.items() if event in had), "reserved")
        spent = [Fraction(epsilon) for epsilon in had.values() if epsilon is not None]
        found[name] = Account(state, spent[-1] if spent else Fraction(0), "write" in had)
    return found


def judge_ledger(counts: Counts, case: str, folder: Path, ledger: Path | None = None) -> dict[str, Account]:
    """Let the next command settle the ledger, and compare its sums with our own; return the runs as they then are."""
    path = ledger or folder / LEDGER
    if not path.exists():
        return {}
    shown = run(["ledger", "--ledger", path, "--json"], folder)
    counts.cpu += shown.cpu
    judge_words(counts, f"{case}, ledger", shown)
    if shown.code:
        counts.add("ledger", case, f"the ledger does not open: {shown.err!r}")
        return {}
    try:
        found = accounts(path)
    except sqlite3.Error as error:
        counts.add("ledger", case, f"the ledger is damaged ({type(error).__name__})")
        return {}
    listed = json.loads(shown.out)
    for state in ("released", "lost"):
        ours = sum((account.epsilon for account in found.values() if account.state == state), Fraction(0))
        theirs = sum((Fraction(str(each[state])) for each in listed["datasets"]), Fraction(0))
        if ours != theirs:
            counts.add("ledger", case, f"{state} {theirs} in sums, {ours} by events")
    open_still = [account.state for account in found.values() if account.state in ("reserved", "writing")]
    if open_still or any(each["reserved"] for each in listed["datasets"]):
        counts.add("ledger", case, f"unsettled: {open_still}")
    return found
