"""The ledger with deltas: sums are exact, caps hold for both numbers, and ledgers without deltas go on."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.privacy.accounting import epsilon_at
from alphasynth.runs.budget import Entry, LedgerError, Reservation, balance
from alphasynth.runs.ledger import Ledger


def reservation(run, epsilon, delta=None, scope="strict", dataset="visits"):
    return Reservation(run, dataset, "f", scope, epsilon, {"releasable": True}, delta)


def write(ledger, asked, rho=None):
    with ledger.transaction() as connection:
        ledger.reserve(connection, asked)
        ledger.begin(connection, asked, asked.epsilon, rho)


def balance_of(ledger, scope="strict"):
    with ledger.transaction() as connection:
        return balance("visits", scope, ledger.entries(connection), ledger.caps(connection))


@pytest.fixture
def ledger(tmp_path):
    return Ledger.open(tmp_path / "ledger.sqlite")


def test_epsilons_and_deltas_add_up_and_scopes_stay_apart(ledger):
    write(ledger, reservation("a", 0.1, 1e-9))
    write(ledger, reservation("b", 0.2))
    write(ledger, reservation("c", 0.1, 2e-9, "target"))
    with ledger.transaction() as connection:
        ledger.reserve(connection, reservation("d", 0.1, 1e-9))
        ledger.reserve(connection, reservation("e", 5.0, 1e-4))
        ledger.end(connection, "e", "refused")
    ledger.append("release", "a", 0.09)
    strict = balance_of(ledger)
    assert (strict.released, strict.reserved, strict.delta) == (Fraction("0.1"), Fraction("0.3"), Fraction("2e-9"))
    assert (balance_of(ledger, "target").delta, balance_of(ledger, "target").rho) == (Fraction("2e-9"), None)


def test_a_cap_without_a_delta_refuses_approximate_runs_and_says_how_to_set_one(ledger):
    ledger.set_cap("visits", 10.0)
    message = (
        r"cap of delta 0, of which 0 is spent or reserved: a run of delta 1e-9 would exceed it; alphasynth ledger set "
        r"'visits' --cap 10 --delta DELTA sets another"
    )
    with pytest.raises(LedgerError, match=message):
        write(ledger, reservation("a", 1.0, 1e-9))
    write(ledger, reservation("a", 1.0))
    ledger.set_cap("visits", 10.0, 1e-9)
    write(ledger, reservation("b", 1.0, 1e-9))
    with pytest.raises(LedgerError, match="cap of delta 1e-9, of which 1e-9 is spent"):
        write(ledger, reservation("c", 1.0, 1e-12))
    with pytest.raises(LedgerError, match="cap of 10, of which 2 is spent"):
        write(ledger, reservation("c", 9.0, 1e-12))
    write(ledger, reservation("d", 8.0))
    write(ledger, reservation("e", 1.0, 1e-9, "target"))


def test_a_cap_that_was_set_meanwhile_holds_for_delta_too(ledger):
    asked = reservation("a", 1.0, 1e-9)
    with ledger.transaction() as connection:
        ledger.reserve(connection, asked)
    ledger.set_cap("visits", 10.0)
    with pytest.raises(LedgerError, match="delta 0"), ledger.transaction() as connection:
        ledger.begin(connection, asked, 1.0, 0.01)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, float("nan")])
def test_a_caps_delta_is_a_small_number(ledger, delta):
    with pytest.raises(InputError, match="delta must be at least 0 and below 1"):
        ledger.set_cap("visits", 10.0, delta)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 3), st.none() | st.floats(1e-12, 1e-4)), min_size=1, max_size=8))
def test_sums_are_those_of_the_decimals(runs):
    with TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "ledger.sqlite")
        for number, (epsilon, delta) in enumerate(runs):
            write(ledger, reservation(f"r{number}", epsilon, delta), None if delta is None else 0.01)
        found = balance_of(ledger)
    deltas = [Fraction(repr(delta)) for _, delta in runs if delta is not None]
    assert found.spent == sum(Fraction(repr(epsilon)) for epsilon, _ in runs)
    assert found.delta == sum(deltas)
    pure = sum((Fraction(repr(epsilon)) ** 2 / 2 for epsilon, delta in runs if delta is None), Fraction(0))
    assert found.rho == pure + len(deltas) * Fraction(0.01)
    if found.concentrated is not None:
        assert found.concentrated < found.spent
        assert found.concentrated >= epsilon_at(float(found.rho), float(found.delta)) * (1 - 1e-9)


def test_many_runs_come_to_less_by_rho_and_caps_take_the_plain_sum(ledger):
    ledger.set_cap("visits", 20.0, 1e-3)
    for number in range(20):
        write(ledger, reservation(f"r{number}", 1.0, 1e-6), 0.0243)
    found = balance_of(ledger)
    assert (found.spent, found.delta, found.rho) == (20, Fraction("2e-5"), 20 * Fraction(0.0243))
    assert 4 < found.concentrated < 6
    with pytest.raises(LedgerError, match="cap of 20, of which 20 is spent"):
        write(ledger, reservation("more", 0.1))


def test_until_a_run_has_noted_its_rho_there_is_no_sum_of_it(ledger):
    with ledger.transaction() as connection:
        ledger.reserve(connection, reservation("a", 1.0, 1e-9))
    assert (balance_of(ledger).rho, balance_of(ledger).concentrated) == (None, None)
    entry = Entry("a", "visits", "strict", "2.0", "released", "", {"fingerprint": "f"})
    assert (entry.delta, entry.rho) == (0, 2)


# A ledger as it was before runs had deltas, in its own words.
WITHOUT = """
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
CREATE TABLE secret (key BLOB NOT NULL);
INSERT INTO secret VALUES (x'0edbf4a9c8b48fe4a95d21bddc6df9df2f8eae4a858c9697cb8039cf02242e1c');
CREATE UNIQUE INDEX once ON events (run, event) WHERE run IS NOT NULL;
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER secret_stays BEFORE UPDATE ON secret BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
CREATE TRIGGER secret_remains BEFORE DELETE ON secret BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
PRAGMA application_id = 1634496617;
"""


@pytest.fixture
def without(tmp_path):
    path = tmp_path / "without.sqlite"
    detail = {"mechanism": "Censored", "m": 1, "releasable": True, "host": "elsewhere", "fingerprint": "f"}
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(WITHOUT)
        for event, run, scope, epsilon in [
            ("cap", None, None, "10.0"),
            ("reserve", "a1", "strict", "1.5"),
            ("write", "a1", "strict", "1.5"),
            ("publish", "a1", "strict", "1.5"),
            ("release", "a1", "strict", "1.5"),
            ("reserve", "b2", "strict", "2.0"),
            ("write", "b2", "strict", "2.0"),
            ("reserve", "c3", "instance", "0.1"),
        ]:
            text = json.dumps({**detail, "out": f"/gone/{run}", "staging": f"/gone/.{run}"} if "r" in event[:1] else {})
            connection.execute(
                "INSERT INTO events (at, event, dataset, run, scope, epsilon, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
                ("2026-01-01T00:00:00+00:00", event, "visits", run, scope, epsilon, text if run else "{}"),
            )
        connection.commit()
    return Ledger.open(path)


def test_a_ledger_without_deltas_is_read_and_goes_on(without):
    before = balance_of(without)
    assert (before.released, before.reserved, before.delta) == (Fraction("1.5"), 2, 0)
    assert (before.cap, before.cap_delta) == (10, 0)
    assert before.rho == (Fraction("1.5") ** 2 + 4) / 2, "half the square of each pure epsilon"
    assert balance_of(without, "instance").spent == Fraction("0.1")
    write(without, reservation("pure", 1.0))
    with pytest.raises(LedgerError, match="delta 0"):
        write(without, reservation("approximate", 1.0, 1e-9))
    without.set_cap("visits", 10.0, 1e-6)
    write(without, reservation("approximate", 1.0, 1e-9), 0.015)
    after = balance_of(without)
    assert (after.spent, after.delta, after.cap_delta) == (Fraction("5.5"), Fraction("1e-9"), Fraction("1e-6"))
    assert after.rho == before.rho + Fraction(1, 2) + Fraction(0.015)
