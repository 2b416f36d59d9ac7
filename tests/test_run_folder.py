"""The run folder appears whole or not at all, wherever the run dies, and the ledger agrees with it afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
from pathlib import Path

import pytest

import alphasynth.ledger
import alphasynth.run_folder
from alphasynth.budget import Request
from alphasynth.errors import InputError
from alphasynth.ledger import Ledger
from alphasynth.run_folder import plan, reconcile, staged

# The children made here run no compiled code.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning", "ignore:.*fork.*:DeprecationWarning")


def fill(staging):
    (staging.release / "synthetic_01.csv").write_text("y\n1\n")
    (staging.spill).mkdir()
    (staging.spill / "tmp").write_text("confidential")
    (staging.confidential / "summary.json").write_text(json.dumps({"run": staging.run, "epsilon_unit": 2.5}))


def make(ledger, out, dataset="d", epsilon=2.0):
    staging = plan(ledger, out)
    with staged(ledger, staging, Request(staging.run, dataset, "f", "instance", epsilon, {"releasable": True})):
        fill(staging)
    return staging


def states(ledger, *folders):
    with ledger.transaction() as connection:
        reconcile(ledger, connection, *folders)
        return [entry.state for entry in ledger.entries(connection)]


@pytest.fixture
def ledger(tmp_path):
    return Ledger.open(tmp_path / "ledger.sqlite")


def test_a_finished_run_stands_whole_with_its_modes(ledger, tmp_path):
    make(ledger, tmp_path / "run")
    modes = {
        str(path.relative_to(tmp_path / "run")): stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "run").rglob("*")
    }
    assert modes == {
        "release": 0o755,
        "release/synthetic_01.csv": 0o644,
        "confidential": 0o700,
        "confidential/summary.json": 0o600,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.sqlite", "run"]
    assert states(ledger) == ["released"]


def test_the_staging_folder_is_closed_to_others(ledger, tmp_path):
    staging = plan(ledger, tmp_path / "run")
    with staged(ledger, staging, Request(staging.run, "d", "f", "instance", 1.0, {})):
        assert stat.S_IMODE(staging.path.stat().st_mode) == 0o700
        assert not staging.out.exists()
        fill(staging)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_run_that_fails_leaves_nothing(ledger, tmp_path, error):
    staging = plan(ledger, tmp_path / "run")
    request = Request(staging.run, "d", "f", "instance", 1.0, {})
    with pytest.raises(error), staged(ledger, staging, request):  # noqa: PT012
        fill(staging)
        raise error
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]
    assert states(ledger) == ["cleared"]


def test_a_place_that_is_taken_is_refused_before_and_after(ledger, tmp_path):
    make(ledger, tmp_path / "run")
    with pytest.raises(InputError, match="must not exist yet"):
        plan(ledger, tmp_path / "run")
    staging = plan(ledger, tmp_path / "other")
    request = Request(staging.run, "d", "f", "instance", 1.0, {})
    with pytest.raises(InputError, match="must not exist yet"), staged(ledger, staging, request):  # noqa: PT012
        fill(staging)
        make(ledger, tmp_path / "other")  # someone else was faster
    assert states(ledger) == ["released", "cleared", "released"]
    with pytest.raises(InputError, match="folder that exists"):
        plan(ledger, tmp_path / "no" / "where")


def test_a_run_under_way_is_left_alone(ledger, tmp_path):
    staging = plan(ledger, tmp_path / "run")
    with staged(ledger, staging, Request(staging.run, "d", "f", "instance", 1.0, {})):
        fill(staging)
        assert states(ledger, tmp_path) == ["reserved"]
        assert staging.path.exists()
    assert states(ledger) == ["released"]


def _die_at(line_number: int, ledger: Ledger, out: Path) -> None:
    """Make a run and be killed at a numbered line of the two modules that keep folder and ledger in step."""
    files = {alphasynth.ledger.__file__, alphasynth.run_folder.__file__}
    seen = 0

    def trace(frame, event, arg):
        nonlocal seen
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            seen += 1
            if seen == line_number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    make(ledger, out)
    sys.settrace(None)


def test_killed_at_any_line_folder_and_ledger_agree_after_the_next_command(tmp_path):
    line, died, stood = 0, 0, 0
    while True:
        line += 1
        folder = tmp_path / str(line)
        folder.mkdir()
        ledger = Ledger.open(folder / "ledger.sqlite")
        child = os.fork()
        if child == 0:
            _die_at(line, ledger, folder / "run")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        died += os.WIFSIGNALED(status)
        after = states(ledger, folder)
        whole = (folder / "run" / "confidential" / "summary.json").exists()
        # SQLite may leave an empty journal until it next writes.
        left = sorted(path.name for path in folder.iterdir() if not path.name.endswith("-journal"))
        assert left == (["ledger.sqlite", "run"] if whole else ["ledger.sqlite"]), line
        assert [state for state in after if state != "cleared"] == (["released"] if whole else []), line
        stood += whole
        shutil.rmtree(folder)
        if not os.WIFSIGNALED(status):
            break
    # It was killed at every line there is, before and after the folder stood.
    assert died > 100
    assert 1 < stood < died


def test_a_folder_moved_before_its_release_was_written_still_counts(tmp_path, monkeypatch):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    append = Ledger.append

    def dies(self, event, *args, **kwargs):
        if event == "release":
            raise SystemExit
        append(self, event, *args, **kwargs)

    monkeypatch.setattr(Ledger, "append", dies)
    with pytest.raises(SystemExit):
        make(ledger, tmp_path / "run")
    monkeypatch.undo()
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    assert states(ledger) == ["released"]


def test_a_run_whose_reservation_was_cleared_is_not_published(ledger, tmp_path):
    staging = plan(ledger, tmp_path / "run")
    request = Request(staging.run, "d", "f", "instance", 1.0, {})
    with pytest.raises(InputError, match="reservation was cleared"), staged(ledger, staging, request):  # noqa: PT012
        fill(staging)
        ledger.append("clear", staging.run)
    assert not staging.out.exists()
    assert states(ledger) == ["cleared"]


def test_a_ledger_that_cannot_be_written_after_the_folder_stands_does_not_undo_it(ledger, tmp_path, monkeypatch):
    append = Ledger.append

    def fails(self, event, *args, **kwargs):
        if event == "release":
            raise InputError("the ledger cannot be written")
        append(self, event, *args, **kwargs)

    monkeypatch.setattr(Ledger, "append", fails)
    make(ledger, tmp_path / "run")
    monkeypatch.undo()
    assert (tmp_path / "run").exists()
    assert states(ledger) == ["released"]


def test_another_user_s_run_is_left_alone(ledger, tmp_path, monkeypatch):
    staging = plan(ledger, tmp_path / "run")
    with staged(ledger, staging, Request(staging.run, "d", "f", "instance", 1.0, {})):
        fill(staging)
        original = os.open

        def closed(path, *args, **kwargs):
            if Path(path) == staging.path:
                raise PermissionError
            return original(path, *args, **kwargs)

        monkeypatch.setattr(os, "open", closed)
        assert states(ledger, tmp_path) == ["reserved"]
        monkeypatch.undo()


def test_a_reservation_of_another_machine_is_left_alone(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    child = os.fork()
    if child == 0:
        staging = plan(ledger, tmp_path / "run")
        with staged(ledger, staging, Request(staging.run, "d", "f", "instance", 1.0, {})):
            os._exit(0)
    os.waitpid(child, 0)
    monkeypatch.undo()
    assert states(ledger) == ["reserved"]
