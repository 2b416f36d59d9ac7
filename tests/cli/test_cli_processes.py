"""Commands in processes of their own: pipes, terminals, signals, full disks, kill -9."""

from __future__ import annotations

import json
import os
import pty
import random
import select
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import alphasynth as syn
from command_line import COMMAND, NO_CLAIM, OPTIONS, run, start

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("alone")]


def test_a_process_of_its_own_prints_nothing_to_a_pipe_but_the_report(table):
    process = start(
        *("synthesize", table, *OPTIONS, *NO_CLAIM, "--out", "run"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    assert out.startswith(f"{Path.cwd()}/run/release: 1 synthetic table")
    assert "No --epsilon was given" in out
    assert stat.S_IMODE((Path("cache") / "alphasynth").stat().st_mode) == 0o700


def test_version_and_completion(table):
    shown = start("--version", stdout=subprocess.PIPE, text=True).communicate(timeout=60)[0]
    assert shown == f"alphasynth {syn.__version__}\n"
    environment = {
        **os.environ,
        "_ALPHASYNTH_COMPLETE": "complete_bash",
        "COMP_WORDS": "alphasynth synthesize --mechanism LW",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["LW", "LW_final"]


def test_a_terminal_shows_rounds_draws_and_time(table):
    ours, theirs = pty.openpty()
    process = start("synthesize", table, *OPTIONS, "--out", "run", stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    text = shown.decode(errors="replace")
    assert "round 1 of 3: 1,000 draws" in text
    assert "left" in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing_half_written(table, number):
    process = start("synthesize", table, *OPTIONS, "--out", "run", stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(Path().glob(".alphasynth-*")):
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "alphasynth: interrupted; nothing was written\n"
    assert sorted(path.name for path in Path().iterdir()) == ["alphasynth-ledger.sqlite", "cache", "visits.csv"]


def _until_rows_are_written(process):
    deadline = time.monotonic() + 240
    while not [path for path in Path().glob(".alphasynth-*/release/*.csv") if path.stat().st_size]:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_ended_once_its_tables_are_on_the_disk_counts_under_the_cap(table, capsys, number):
    """Who copies the half-made folder has the tables: a second run must not fit under the cap beside them."""
    assert run("ledger", "set", "visits", "--cap", 1) == 0
    arguments = ["synthesize", table, *OPTIONS, "--epsilon", 1, "--dataset", "visits", "--out"]
    process = start(*arguments, "run", stderr=subprocess.PIPE, text=True)
    _until_rows_are_written(process)
    process.send_signal(number)
    err = process.communicate(timeout=60)[1]
    if number != signal.SIGKILL:
        assert process.returncode == 130
        words = "no run folder is left, but noise was drawn or rows were written for it: its epsilon counts as spent"
        assert err.endswith(f"alphasynth: interrupted; {words}\n")
    capsys.readouterr()
    assert run(*arguments, "again") == 2
    assert "cap of 1, of which 1 is spent or reserved" in capsys.readouterr().err
    assert run("ledger", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["datasets"][0]["lost"], listed["datasets"][0]["left"]) == (1, 0)
    assert not list(Path().glob(".alphasynth-*"))


def test_killed_at_random_moments_nothing_is_half_written_and_the_ledger_agrees(table, capsys):
    """kill -9, many times; the next command reconciles."""
    source = random.Random(20261115)
    assert run("ledger", "set", "visits", "--cap", 1000) == 0
    arguments = ["synthesize", table, *OPTIONS, "--epsilon", 2, "--dataset", "visits", "--quiet"]
    begin = time.perf_counter()
    assert start(*arguments, "--out", "first").wait(timeout=300) == 0  # fills the cache
    begin = time.perf_counter()
    assert start(*arguments, "--out", "second").wait(timeout=300) == 0
    whole = time.perf_counter() - begin
    for number in range(16):
        process = start(*arguments, "--out", f"run{number}")
        time.sleep(source.uniform(0.3, 1.05) * whole)
        process.kill()
        process.wait()
    capsys.readouterr()
    assert run("ledger", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    folders = {path.name for path in Path().iterdir() if path.is_dir() and path.name != "cache"}
    released = {Path(entry["detail"]["out"]).name for entry in listed["runs"] if entry["state"] == "released"}
    assert folders == released
    assert {entry["state"] for entry in listed["runs"]} <= {"released", "lost", "cleared"}
    assert listed["datasets"][0]["released"] == 2.0 * len(released)
    assert listed["datasets"][0]["lost"] == 2.0 * [entry["state"] for entry in listed["runs"]].count("lost")
    for folder in folders:
        released = ["guarantee.json", "report.html", "synthetic_01.csv"]
        assert sorted(path.name for path in Path(folder, "release").iterdir()) == released
        assert len(pd.read_csv(Path(folder, "release", "synthetic_01.csv"))) == 300
    assert not list(Path().glob(".alphasynth-*"))


def test_a_full_disk_leaves_nothing_and_says_so(table):
    """Files may not grow beyond a limit that the ledger keeps and the run folder does not."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); "
    command = [sys.executable, "-c", limited + "from alphasynth.cli.entry import main; main()"]
    environment = {**os.environ, "XDG_CACHE_HOME": "/dev/null"}  # no cache can be kept there, which must not matter
    arguments = ["synthesize", table, *OPTIONS, *NO_CLAIM, "--rows", "1000000", "--out", "run"]
    done = subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1
    assert "is the disk full?; no run folder is left, but noise was drawn or rows were written for it" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["alphasynth-ledger.sqlite", "visits.csv"]


def test_a_run_under_way_cannot_be_cleared(table, capsys):
    process = start("synthesize", table, *OPTIONS, "--epsilon", 2, "--out", "run", "--quiet")
    while process.poll() is None and not list(Path().glob(".alphasynth-*")):
        time.sleep(0.01)
    run("ledger", "--json")
    name = json.loads(capsys.readouterr().out)["runs"][0]["run"]
    assert run("ledger", "clear", name) == 2
    assert "is under way" in capsys.readouterr().err
    assert process.wait(timeout=120) == 0


def test_many_signals_at_once_end_in_one_clean_exit(table):
    process = start("synthesize", table, *OPTIONS, "--out", "run", stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(Path().glob(".alphasynth-*")):
        time.sleep(0.01)
    time.sleep(0.3)
    for _ in range(8):
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "alphasynth: interrupted; nothing was written\n"
    assert not list(Path().glob(".alphasynth-*"))


@pytest.mark.parametrize("listener", ["/dev/full", "closed"])
def test_a_run_that_no_one_listens_to_is_whole_all_the_same(table, listener):
    if listener == "closed":
        ours, theirs = os.pipe()
        os.close(ours)
    else:
        theirs = os.open(listener, os.O_WRONLY)
    command = ["synthesize", table, *OPTIONS, *NO_CLAIM, "--out", "run"]
    process = start(*command, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert Path("run/release/guarantee.json").exists()


@pytest.mark.parametrize("wait", [0.0, 0.005, 0.02, 0.05, 0.1])
def test_a_signal_after_the_folder_stands_does_not_deny_it(table, wait):
    process = start("synthesize", table, *OPTIONS, "--out", "run", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while process.poll() is None and not Path("run").exists():
        time.sleep(0.001)
    time.sleep(wait)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"nothing was written" not in err


def test_only_a_run_says_that_nothing_was_written():
    with open("/dev/full", "w") as full:
        process = start("ledger", "set", "C", "--cap", 3, stdout=full, stderr=subprocess.PIPE, text=True)
        _, err = process.communicate(timeout=60)
    assert "nothing was written" not in err


def test_an_interrupted_report_leaves_no_traces(table):
    """Ctrl-C while figures are written: the pages stand as they were, and there are no figures."""
    assert run("synthesize", table, *OPTIONS, "--out", "run", "--quiet") == 0
    process = start("report", "run", "--figures", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(Path("run/confidential").glob(".figures-*/*.png")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "alphasynth: interrupted; nothing was written\n"
    assert not list(Path("run").rglob(".*"))
    assert not Path("run/confidential/figures").exists()
