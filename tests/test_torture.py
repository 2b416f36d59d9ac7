"""The torture itself: that it sees what it looks for, and runs from end to end at a small size."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from alphasynth.runs.budget import Reservation
from alphasynth.runs.ledger import Ledger

ROOT = Path(__file__).parents[1]


@pytest.fixture
def part(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"torture.{name}")


def whole_run(folder):
    """As much of a run folder as is looked at."""
    (folder / "release").mkdir(parents=True)
    (folder / "confidential").mkdir(mode=0o700)
    (folder / "release" / "guarantee.json").write_text('{"tables": [{"file": "synthetic_01.csv"}]}')
    (folder / "release" / "synthetic_01.csv").write_text("y\n1\n2\n")
    (folder / "confidential" / "summary.json").write_text('{"n": 2}')
    (folder / "confidential" / "run.toml").write_text("m = 1\n")
    (folder / "confidential" / "report.html").write_text("<html></html>\n")
    (folder / "confidential" / "records.parquet").write_bytes(b"PAR1PAR1")
    return folder


HARMS = {
    "a file is missing": lambda run: (run / "confidential" / "run.toml").unlink(),
    "a file too many": lambda run: (run / "release" / ".half").touch(),
    "half a statement": lambda run: (run / "release" / "guarantee.json").write_text('{"tables": ['),
    "half a table": lambda run: (run / "release" / "synthetic_01.csv").write_text("y\n1\n"),
    "no table is stated": lambda run: (run / "release" / "guarantee.json").write_text('{"tables": []}'),
    "half a summary": lambda run: (run / "confidential" / "summary.json").write_text("{}"),
    "half the settings": lambda run: (run / "confidential" / "run.toml").write_text("m = "),
    "half a page": lambda run: (run / "confidential" / "report.html").write_text("<html>"),
    "half the records": lambda run: (run / "confidential" / "records.parquet").write_bytes(b"PAR1"[:3]),
    "open to others": lambda run: (run / "confidential").chmod(0o755),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_torn_folder_is_seen(harm, part, tmp_path):
    judged = part("judged")
    run = whole_run(tmp_path / "run")
    wanted = judged.files_of(run)
    assert judged.torn(run, wanted) is None
    HARMS[harm](run)
    assert judged.torn(run, wanted) is not None


SAID = {
    "a traceback": ("traceback", 1, "Traceback (most recent call last):\n"),
    "a fault caught at the door": (
        "traceback",
        1,
        "alphasynth: KeyError in a.py, line 1, which is a fault of alphasynth's\n",
    ),
    "a page that fell over": ("traceback", 0, "alphasynth: a page could not be rendered: KeyError in a.py, line 1\n"),
    "a crash": ("traceback", -11, ""),
    "a name": ("told", 2, "alphasynth: found 'CNRY007'\n"),
    "a number": ("told", 2, "alphasynth: found {}\n"),
    "no word": ("unclear", 1, ""),
    "a library's words": ("unclear", 1, "fatal: 7\n"),
    "an error's name alone": ("unclear", 1, "alphasynth: OSError; nothing was written\n"),
}


@pytest.mark.parametrize(
    ("lines", "fine"),
    [
        (["alphasynth: one sentence"], True),
        (["alphasynth: 2 things are wrong:", "- one", "- other", "alphasynth: one more"], True),
        (["alphasynth: 3 things are wrong:", "- one", "- other"], False),
        (["alphasynth: 2 things are wrong:", "- one", "with a second line", "- other"], False),
        (["alphasynth: 2 things are wrong:", "- one", "- other", "- a third"], False),
        (["- one"], False),
        (["warning: of a library"], False),
    ],
)
def test_several_sentences_are_as_many_as_they_say(part, lines, fine):
    assert part("judged").are_sentences(lines) is fine


@pytest.mark.parametrize("what", SAID)
def test_what_must_not_be_said_is_heard(what, part):
    counts, processes, tables = part("counts"), part("processes"), part("tables")
    kind, code, err = SAID[what]
    income = f"{int(sorted(tables.PLANTED)[0]):,}"
    row = counts.Counts("said")
    part("judged").judge_words(row, "case", processes.Ended(code, "", err.format(income), 1.0, 1.0))
    assert kind in {fault.kind for fault in row.faults}
    fine = counts.Counts("said")
    said = "alphasynth: column 'income' must be finite, found others of 7,000,001 rows\n"
    part("judged").judge_words(fine, "case", processes.Ended(2, "", said, 1.0, 1.0))
    assert fine.faults == []


def test_a_hang_is_a_fault_and_a_kill_is_none(part):
    counts, processes, judged = part("counts"), part("processes"), part("judged")
    row = counts.Counts("ended")
    judged.judge_words(row, "killed", processes.Ended(-9, "", "", 1.0, 1.0, killed=True))
    assert row.faults == []
    judged.judge_words(row, "hangs", processes.Ended(-9, "", "", 120.0, 1.0, hung=True))
    assert [fault.kind for fault in row.faults] == ["hang"]


def test_accounts_are_the_ledgers(part, tmp_path):
    """Read by other means than the ledger's own."""
    accounts = part("accounts").accounts
    assert accounts(tmp_path / "none.sqlite") == {}
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    assert accounts(ledger.path) == {}
    for run, events in {
        "a": ["write", "release"],
        "b": ["write", "lose"],
        "c": ["clear"],
        "d": ["write"],
        "e": [],
    }.items():
        with ledger.transaction() as connection:
            ledger.reserve(connection, Reservation(run, None, run, "strict", 0.1, {}))
        for event in events:
            ledger.append(event, run, 0.1)
    found = {
        run: (account.state, float(account.epsilon), account.wrote) for run, account in accounts(ledger.path).items()
    }
    assert found == {
        "a": ("released", 0.1, True),
        "b": ("lost", 0.1, True),
        "c": ("cleared", 0.1, False),
        "d": ("writing", 0.1, True),
        "e": ("reserved", 0.1, False),
    }


def test_a_case_is_made_again_by_its_number(part):
    mutations = part("mutations")
    made = [mutations.file_of(random.Random(f"file 1:{number}")) for number in range(60)]
    again = [mutations.file_of(random.Random(f"file 1:{number}")) for number in range(60)]
    plain = {".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".arrow"}  # others have the time in them
    assert [a for a in made if a[0] in plain] == [a for a in again if a[0] in plain]
    assert len({content for _, content in made}) > 50
    declared = [mutations.declaration_of(random.Random(f"toml 1:{number}")) for number in range(40)]
    assert {name for name, _ in declared} == {"columns.toml", "model.toml"}
    assert len(set(declared)) > 25


def test_the_table_adds_up(part):
    counts = part("counts")
    one, two = counts.Counts("one", 3, 1.0, 0.5), counts.Counts("two", 1_000)
    two.add("half", "case 7", "half of it")
    two.notes["killed"] += 2
    lines = counts.table([one, two]).splitlines()
    assert lines[-1] == "| all | 1,003 | 1 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |"
    assert "half: case 7: half of it" in counts.said([one, two])
    assert counts.of_plain(json.loads(json.dumps(two.plain()))) == two


def torture(*words, before=""):
    """The program in a process of its own, with a line of ours before it."""
    line = f"import sys; sys.argv = ['torture', *{list(words)!r}]; {before}"
    line += "import runpy; runpy.run_module('torture', run_name='__main__', alter_sys=True)"
    return subprocess.run(
        [sys.executable, "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )


@pytest.mark.slow
def test_a_small_torture_finds_nothing():
    done = torture("--size", "small")
    assert done.returncode == 0, done.stderr + done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("| all")]
    assert len(lines) == 1
    assert " | 0 | 0 | 0 | 0 | 0 | 0 | " in lines[0]


LEAVES = "from torture.processes import quiet_libraries; quiet_libraries(); import alphasynth.runs.folder as f; "
LEAVES += "f._remove = lambda folder: True; "


@pytest.mark.slow
def test_a_run_that_leaves_its_half_made_folder_is_found():
    done = torture("steps", "--size", "small", before=LEAVES)
    assert done.returncode == 1, done.stderr
    assert "half: step Raked:" in done.stdout
