"""The ledger: it only grows, adds up exactly, and two runs at once cannot both slip under a cap."""

from __future__ import annotations

import multiprocessing
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.privacy.accounting import of_unit
from alphasynth.privacy.decimals import shown, shown_left
from alphasynth.runs import folder as run_folder
from alphasynth.runs.budget import LedgerError, Reservation, balance
from alphasynth.runs.ledger import Ledger


def reservation(run, epsilon, dataset="salaries", fingerprint="f", scope="instance", **detail):
    return Reservation(run, dataset, fingerprint, scope, epsilon, {"releasable": True, **detail})


def reserve(ledger, *args, **kwargs):
    with ledger.transaction() as connection:
        return ledger.reserve(connection, reservation(*args, **kwargs))


def balance_of(ledger, dataset="salaries", scope="instance"):
    with ledger.transaction() as connection:
        return balance(dataset, scope, ledger.entries(connection), ledger.caps(connection))


@pytest.fixture
def ledger(tmp_path):
    return Ledger.open(tmp_path / "ledger.sqlite")


def test_a_reservation_counts_until_it_is_cleared_and_a_release_counts_for_good(ledger):
    reserve(ledger, "a", 3.0)
    reserve(ledger, "b", 2.0)
    assert (balance_of(ledger).reserved, balance_of(ledger).released, balance_of(ledger).spent) == (5, 0, 5)
    ledger.append("release", "a", 2.9)  # what was reserved stands, not what the data made of it
    ledger.append("clear", "b", reason="by hand")
    assert (balance_of(ledger).reserved, balance_of(ledger).released, balance_of(ledger).spent) == (0, 3, 3)


def test_what_was_never_reserved_cannot_be_noted(ledger):
    ledger.append("clear", "nobody")
    with ledger.transaction() as connection:
        assert ledger.entries(connection) == []


def test_without_a_budget_the_realised_epsilon_counts_once_it_is_known(ledger):
    reserve(ledger, "a", None)
    assert balance_of(ledger).open_ended
    ledger.append("release", "a", 11.125)
    assert not balance_of(ledger).open_ended
    assert balance_of(ledger).released == Fraction("11.125")


def test_a_cap_refuses_what_would_exceed_it_and_nothing_else(ledger):
    ledger.set_cap("salaries", 0.3)
    for run in "abc":
        reserve(ledger, run, 0.1)  # decimals as they are written: three times 0.1 is 0.3
    with pytest.raises(LedgerError, match=r"cap of 0.3, of which 0.3 is spent or reserved: a run of epsilon 0.1 would"):
        reserve(ledger, "d", 0.1)
    assert balance_of(ledger).spent == Fraction("0.3")
    ledger.append("clear", "c")
    reserve(ledger, "e", 0.1)
    ledger.set_cap("salaries", 1.0)  # the latest cap counts
    reserve(ledger, "f", 0.7)


def test_epsilons_of_different_units_are_not_added_up_under_a_cap(ledger):
    """Of a person with fifty rows a run by rows costs fifty times what it costs a row."""
    reserve(ledger, "a", 3.0, unit="column 'person'")
    reserve(ledger, "b", 1.0, unit="one row")  # without a cap it is said
    assert balance_of(ledger).units == ("column 'person'", "one row")
    assert balance_of(ledger).concentrated is None
    ledger.append("clear", "b")
    ledger.set_cap("salaries", 10.0)
    reserve(ledger, "c", 3.0, unit="column 'person'")
    with pytest.raises(
        LedgerError, match="runs whose unit of privacy is column 'person', to which a run whose unit is"
    ):
        reserve(ledger, "d", 1.0, unit="one row")
    with pytest.raises(LedgerError, match="cannot be added"):
        reserve(ledger, "e", 1.0, unit="column 'household'")
    assert balance_of(ledger).spent == 6

    for run, unit in (("f", "one row"), ("g", "column 'person'")):
        with ledger.transaction() as connection:  # before there was a cap
            ledger.reserve(connection, reservation(run, 1.0, dataset="mixed", fingerprint="m", unit=unit))
    ledger.set_cap("mixed", 10.0)
    reserve(ledger, "h", 1.0, dataset="mixed", fingerprint="m", unit="one row")  # it is said, and locks nobody out


def test_ten_runs_of_a_tenth_are_one_and_an_eleventh_is_refused(ledger):
    """Ten floats of 0.1 are a little more than 1; what was written down is a tenth."""
    ledger.set_cap("salaries", 1.0)
    for number in range(10):
        reserve(ledger, f"run{number}", 0.1)
    assert balance_of(ledger).spent == 1
    with pytest.raises(LedgerError, match=r"cap of 1, of which 1 is spent or reserved: a run of epsilon 0.1 would"):
        reserve(ledger, "run10", 0.1)


@given(st.lists(st.floats(1e-6, 50), min_size=1, max_size=5))
@settings(deadline=None, max_examples=30)
def test_realised_epsilons_are_noted_and_summed_without_being_rounded_down(tmp_path_factory, epsilons):
    """They are floats and not decimals; written down, none may come out below what it is."""
    ledger = Ledger.open(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    for number, epsilon in enumerate(epsilons):
        reserve(ledger, f"run{number}", None)
        ledger.append("release", f"run{number}", epsilon)
    exact = sum(map(Fraction, epsilons))
    assert balance_of(ledger).released >= exact
    assert balance_of(ledger).released <= exact * (1 + Fraction(1, 10**15))
    assert Fraction(shown(balance_of(ledger).released)) >= exact


def test_under_a_cap_a_name_and_a_budget_are_required(ledger):
    ledger.set_cap("salaries", 10)
    with pytest.raises(LedgerError, match="must state its budget"):
        reserve(ledger, "a", None)
    with pytest.raises(LedgerError, match="caps 'salaries', so a run must name its data set"):
        reserve(ledger, "a", 1.0, dataset=None)
    reserve(ledger, "b", 1.0)
    with pytest.raises(LedgerError, match="in the ledger as data set 'salaries', which has a cap"):
        reserve(ledger, "c", 1.0, dataset="other")
    reserve(ledger, "d", 1.0, dataset="other", fingerprint="another table")


def test_a_cap_waits_for_a_run_without_a_budget(ledger):
    reserve(ledger, "a", None)
    ledger.set_cap("salaries", 10)
    with pytest.raises(LedgerError, match="a run without a budget under way"):
        reserve(ledger, "b", 1.0)
    ledger.append("release", "a", 9.5)
    with pytest.raises(LedgerError, match=r"of which 9.5 is spent"):
        reserve(ledger, "b", 1.0)


def test_scopes_are_summed_apart(ledger):
    ledger.set_cap("salaries", 10)
    reserve(ledger, "a", 8.0, scope="instance")
    reserve(ledger, "b", 8.0, scope="strict")
    assert (balance_of(ledger).spent, balance_of(ledger, scope="strict").spent) == (8, 8)


def test_unnamed_tables_go_by_a_keyed_fingerprint(tmp_path):
    one, other = (Ledger.open(tmp_path / name) for name in ("one", "other"))
    assert (
        one.fingerprint([b"a", b"b"]) == one.fingerprint([b"ab"]) == Ledger.open(tmp_path / "one").fingerprint([b"ab"])
    )
    assert one.fingerprint([b"ab"]) != one.fingerprint([b"ac"])
    assert one.fingerprint([b"ab"]) != other.fingerprint([b"ab"])  # each ledger has its own key
    name = reserve(one, "a", 1.0, dataset=None, fingerprint=one.fingerprint([b"ab"]))
    assert name == f"table-{one.fingerprint([b'ab'])[:12]}"


def test_capitals_and_spaces_make_no_other_data_set(ledger):
    ledger.set_cap("Salaries", 3)
    reserve(ledger, "a", 2.0, dataset="salaries ")
    with pytest.raises(LedgerError, match="of which 2 is spent"):
        reserve(ledger, "b", 2.0, dataset="SALARIES", fingerprint="another table")


def test_two_caps_on_one_table_both_hold_and_neither_locks_it(ledger):
    reserve(ledger, "a", 1.0, dataset="A", fingerprint="t")
    reserve(ledger, "b", 1.0, dataset="B", fingerprint="t")
    ledger.set_cap("A", 100)
    ledger.set_cap("B", 5)
    reserve(ledger, "c", 2.0, dataset="A", fingerprint="t")
    with pytest.raises(LedgerError, match="'B' has a cap of 5, of which 4 is spent"):
        reserve(ledger, "d", 2.0, dataset="A", fingerprint="t")


def test_a_run_that_came_to_nothing_binds_no_table_to_a_name(ledger):
    ledger.set_cap("wrong", 3)
    reserve(ledger, "a", 2.0, dataset="wrong", fingerprint="t")
    ledger.append("clear", "a")
    assert reserve(ledger, "b", 2.0, dataset="right", fingerprint="t") == "right"
    assert (balance_of(ledger, "wrong").spent, balance_of(ledger, "right").spent) == (0, 2)


@pytest.mark.parametrize("epsilon", [float("inf"), float("nan")])
def test_only_finite_numbers_get_in(ledger, epsilon):
    with pytest.raises(InputError, match="finite epsilons"):
        reserve(ledger, "a", epsilon)
    assert balance_of(ledger).spent == 0


@pytest.mark.parametrize("name", [None, "foo"])
def test_runs_of_the_same_table_count_whatever_they_were_called(ledger, name):
    reserve(ledger, "a", 6.0, dataset=name, fingerprint="t")
    reserve(ledger, "b", 3.0, dataset=name, fingerprint="another table")
    ledger.set_cap("salaries", 10)
    with pytest.raises(LedgerError, match="of which 6 is spent"):
        reserve(ledger, "c", 5.0, fingerprint="t")
    reserve(ledger, "d", 4.0, fingerprint="t")
    assert balance_of(ledger).spent == 10


def test_a_run_that_has_written_counts_for_good_whatever_comes_after(ledger):
    ledger.set_cap("salaries", 3)
    reserve(ledger, "a", 2.0)
    with ledger.transaction() as connection:
        ledger.begin(connection, reservation("a", 2.0), 1.5)
        assert ledger.end(connection, "a", "killed")
    assert (balance_of(ledger).lost, balance_of(ledger).reserved, balance_of(ledger).spent) == (2, 0, 2)
    with pytest.raises(LedgerError, match="and stays spent"):
        ledger.append("clear", "a")
    with pytest.raises(LedgerError, match="of which 2 is spent"):
        reserve(ledger, "b", 2.0)


def test_a_run_that_is_about_to_write_must_be_reserved(ledger):
    with pytest.raises(LedgerError, match="cleared meanwhile"), ledger.transaction() as connection:
        ledger.begin(connection, reservation("a", 2.0), 2.0)
    reserve(ledger, "a", 2.0)
    with ledger.transaction() as connection:
        assert not ledger.end(connection, "a", "killed before it wrote")
    assert balance_of(ledger).spent == 0
    with pytest.raises(LedgerError, match="cleared meanwhile"), ledger.transaction() as connection:
        ledger.begin(connection, reservation("a", 2.0), 2.0)


def test_without_a_budget_the_realised_epsilon_is_noted_before_the_first_byte(ledger):
    reserve(ledger, "a", None)
    with ledger.transaction() as connection:
        ledger.begin(connection, reservation("a", None), 11.125)
        ledger.end(connection, "a", "killed")
    ledger.append("release", "a", 0.5)  # the first number noted stands
    assert balance_of(ledger).spent == Fraction("11.125")
    reserve(ledger, "b", None)
    with pytest.raises(InputError, match="finite epsilons"), ledger.transaction() as connection:
        ledger.begin(connection, reservation("b", None), float("inf"))


def test_what_is_noted_is_on_the_disk_when_it_is_noted(ledger):
    """A power cut must not undo it: SQLite's strongest setting, 3, also syncs the removal of its journal."""
    with ledger.transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchall() == [(3,)]
        assert connection.execute("PRAGMA fullfsync").fetchall() == [(1,)]


# The file as it was before runs noted that they were about to write, in its own words.
FORMER = """
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
INSERT INTO secret VALUES (x'00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff');
PRAGMA application_id = 1634496616;
"""
DETAIL = '{"releasable": true, "fingerprint": "f"}'


@pytest.fixture
def former(tmp_path):
    path = tmp_path / "former.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(FORMER)
    for event, run, epsilon, detail in [
        ("cap", None, "5.0", "{}"),
        ("reserve", "a", "2.0", DETAIL),
        ("publish", "a", "2.0", "{}"),
        ("release", "a", "2.0", "{}"),
        ("reserve", "b", "1.0", DETAIL),
        ("clear", "b", "1.0", "{}"),
        ("reserve", "c", "1.0", DETAIL),
        ("publish", "c", "1.0", "{}"),
    ]:
        values = ("2026-01-01", event, "salaries", run, None if run is None else "instance", epsilon, detail)
        connection.execute(
            "INSERT INTO events (at, event, dataset, run, scope, epsilon, detail) VALUES (?, ?, ?, ?, ?, ?, ?)", values
        )
    connection.commit()
    connection.close()
    return path


def test_a_former_ledger_is_taken_over_whole(former):
    before = raw(former, "SELECT * FROM events ORDER BY number")
    ledger = Ledger.open(former)
    assert raw(former, "SELECT * FROM events ORDER BY number") == before
    assert ledger.key == bytes.fromhex("00112233445566778899aabbccddeeff" * 2)
    assert (balance_of(ledger).released, balance_of(ledger).reserved, balance_of(ledger).cap) == (2, 1, 5)
    reserve(ledger, "d", 2.0)
    with ledger.transaction() as connection:
        ledger.begin(connection, reservation("d", 2.0), 2.0)
    states = [entry.state for entry in ledger_entries(Ledger.open(former))]
    assert states == ["released", "cleared", "writing", "writing"]
    with pytest.raises(LedgerError, match="of which 5 is spent"):
        reserve(ledger, "e", 1.0)
    assert raw(former, "SELECT number FROM events") == [(i,) for i in range(1, 11)]
    for statement in ("DELETE FROM events", "UPDATE events SET epsilon = 0", "DELETE FROM secret"):
        with pytest.raises(sqlite3.IntegrityError, match="only grows"):
            raw(former, statement)


def test_a_former_program_does_not_open_a_ledger_that_it_would_misread(former):
    Ledger.open(former)
    assert raw(former, "PRAGMA application_id") != [(1634496616,)]


def test_a_former_run_that_died_while_it_wrote_counts(former, tmp_path):
    """Its version did not note that it wrote; its files tell."""
    staging = tmp_path / "staging"
    (staging / "release").mkdir(parents=True)
    (staging / "release" / "synthetic_01.csv").write_text("y\n1\n")
    detail = {"releasable": True, "fingerprint": "f", "out": str(tmp_path / "run"), "staging": str(staging)}
    ledger = Ledger.open(former)
    with ledger.transaction() as connection:
        detail["host"] = run_folder._host()
        ledger.reserve(connection, Reservation("e", "salaries", "f", "instance", 1.0, detail))
    for expected in ("writing", "lost"):  # the files go once the ledger knows of them
        with ledger.transaction() as connection:
            run_folder.reconcile(ledger, connection)
        assert ledger_entries(ledger)[-1].state == expected
    assert not staging.exists()


def raw(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def ledger_entries(ledger):
    with ledger.transaction() as connection:
        return ledger.entries(connection)


@pytest.mark.parametrize("table", ["events", "secret"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET rowid = rowid + 7"])
def test_it_only_grows(ledger, table, statement):
    reserve(ledger, "a", 1.0)
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="only grows"):
        connection.execute(statement.format(table))
    connection.close()


def test_it_is_closed_to_others(ledger):
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a ledger " * 100)
    with pytest.raises(
        InputError, match=r"notes.txt must be a whole ledger, found another kind of file or a damaged one"
    ):
        Ledger.open(text)
    assert text.read_text() == "not a ledger " * 100
    database = tmp_path / "other.sqlite"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(InputError, match="must be a ledger"):
        Ledger.open(database)
    with pytest.raises(InputError, match="folder that exists"):
        Ledger.open(tmp_path / "no" / "where")


@pytest.mark.parametrize(("name", "cap"), [("x", -1.0), ("x", float("nan")), ("x", float("inf")), ("", 1.0)])
def test_a_cap_is_a_number_for_a_name(ledger, name, cap):
    with pytest.raises(InputError, match="a cap must be"):
        ledger.set_cap(name, cap)


def _try(path, name, start, results):
    ledger = Ledger.open(path)
    start.wait()
    try:
        reserve(ledger, name, 1.0)
        results.put(True)
    except LedgerError:
        results.put(False)


@pytest.mark.slow
def test_runs_at_once_cannot_both_slip_under_a_cap(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ledger.set_cap("salaries", 3)
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    runs = [context.Process(target=_try, args=(ledger.path, f"run{i}", start, results)) for i in range(8)]
    for run in runs:
        run.start()
    start.set()
    outcomes = [results.get(timeout=60) for _ in runs]
    for run in runs:
        run.join()
    assert sum(outcomes) == 3
    assert balance_of(ledger).spent == 3


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["reserve", "write", "release", "clear", "end"]), st.integers(0, 5), st.floats(0.01, 5)
        ),
        max_size=25,
    )
)
@settings(deadline=None, max_examples=40)
def test_what_counts_never_passes_the_cap(tmp_path_factory, steps):
    """Whatever comes in whatever order: the sum stays under the cap and equals a plain tally."""
    ledger = Ledger.open(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    ledger.set_cap("salaries", 8.0)
    tally: dict[str, tuple[str, Fraction]] = {}
    for event, number, epsilon in steps:
        run = f"run{number}"
        if event == "reserve" and run not in tally:
            spent = sum(cost for state, cost in tally.values() if state != "clear")
            if spent + Fraction(repr(epsilon)) > 8:
                with pytest.raises(LedgerError):
                    reserve(ledger, run, epsilon)
                continue
            reserve(ledger, run, epsilon)
            tally[run] = ("reserve", Fraction(repr(epsilon)))
        elif event == "end" and run in tally and tally[run][0] in ("reserve", "write"):
            with ledger.transaction() as connection:
                ledger.end(connection, run, "it died")
            tally[run] = ("clear" if tally[run][0] == "reserve" else "lose", tally[run][1])
        elif event == "clear" and run in tally and tally[run][0] in ("write", "lose"):
            with pytest.raises(LedgerError, match="stays spent"):
                ledger.append(event, run)
        elif event in ("write", "release", "clear") and run in tally and tally[run][0] == "reserve":
            ledger.append(event, run, 99.0)
            tally[run] = (event, tally[run][1])
    assert balance_of(ledger).spent == sum(cost for state, cost in tally.values() if state != "clear")
    assert balance_of(ledger).spent <= 8


@given(st.floats(1e-6, 100), st.integers(1, 20))
def test_a_unit_s_epsilon_is_never_below_what_its_rows_cost(epsilon, rows):
    """In the decimals that the ledger adds up: else two runs could pass a cap by the last digit."""
    assert Fraction(repr(of_unit(epsilon, rows))) >= rows * Fraction(repr(epsilon))
    assert of_unit(epsilon, rows) <= rows * epsilon * (1 + 1e-15)


@given(st.fractions(0, 1000))
def test_sums_are_never_shown_below_what_they_are(value):
    assert Fraction(shown(value)) >= value
    assert Fraction(shown(value)) - value < Fraction(1, 5000)


@given(st.fractions(0, 1000), st.fractions(0, 1000))
def test_what_is_left_is_never_shown_above_what_it_is(cap, spent):
    left = max(cap - spent, Fraction(0))
    assert 0 <= left - Fraction(shown_left(cap, spent)) < Fraction(1, 5000)


@pytest.mark.parametrize("value", [10**20, 10**17 + Fraction(1, 3), Fraction(1, 10**9)])
def test_sums_of_any_size_are_shown_in_whole_digits(value):
    assert 0 <= Fraction(shown(Fraction(value))) - value < Fraction(1, 5000)
