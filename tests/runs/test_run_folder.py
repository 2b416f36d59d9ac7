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

import alphasynth.runs.folder
import alphasynth.runs.ledger
import alphasynth.runs.ledger_file
from alphasynth.errors import InputError
from alphasynth.runs.budget import LedgerError, Reservation, balance
from alphasynth.runs.folder import plan, reconcile, staged
from alphasynth.runs.interruption import Left
from alphasynth.runs.ledger import Ledger
from ledgers import append_all_but_a_release

# The children made here run no compiled code.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning", "ignore:.*fork.*:DeprecationWarning")


def fill(staging, begin):
    begin(2.5)
    (staging.release / "synthetic_01.csv").write_text("y\n1\n")
    (staging.spill).mkdir()
    (staging.spill / "tmp").write_text("confidential")
    (staging.confidential / "summary.json").write_text(json.dumps({"run": staging.run, "epsilon_unit": 2.5}))


def make(ledger, out, dataset="d", epsilon=2.0):
    staging = plan(ledger, out)
    reservation = Reservation(staging.run, dataset, "f", "instance", epsilon, {"releasable": True})
    with staged(ledger, staging, reservation) as begin:
        fill(staging, begin)
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
    with staged(ledger, staging, Reservation(staging.run, "d", "f", "instance", 1.0, {})) as begin:
        assert stat.S_IMODE(staging.path.stat().st_mode) == 0o700
        assert not staging.out.exists()
        fill(staging, begin)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("written", [False, True])
def test_a_run_that_fails_leaves_nothing_and_counts_if_it_had_begun_to_write(ledger, tmp_path, error, written):
    staging = plan(ledger, tmp_path / "run")
    reservation = Reservation(staging.run, "d", "f", "instance", 1.0, {})
    with pytest.raises(error) as caught, staged(ledger, staging, reservation) as begin:  # noqa: PT012
        if written:
            fill(staging, begin)
        raise error
    assert getattr(caught.value, "__notes__", []) == ([Left.SPENT.value] if written else [])
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]
    assert states(ledger) == ["lost" if written else "cleared"]


def test_nothing_can_be_written_before_the_ledger_knows(ledger, tmp_path):
    staging = plan(ledger, tmp_path / "run")
    reservation = Reservation(staging.run, "d", "f", "instance", None, {})
    with staged(ledger, staging, reservation) as begin:
        assert list(staging.path.iterdir()) == []
        with ledger.transaction() as connection:
            assert [entry.epsilon for entry in ledger.entries(connection)] == [None]
        begin(2.5)
        # Another connection sees it, and so whoever comes after a kill.
        with ledger.transaction() as connection:
            (entry,) = ledger.entries(connection)
        assert (entry.state, entry.epsilon) == ("writing", "2.5")
        fill(staging, begin)
        # What is written down first stands, whatever the folder says later.
        (staging.confidential / "summary.json").write_text(json.dumps({"run": staging.run, "epsilon_unit": 0.1}))
    with ledger.transaction() as connection:
        (entry,) = ledger.entries(connection)
    assert (entry.state, entry.epsilon) == ("released", "2.5")


@pytest.mark.parametrize(
    ("epsilon", "message"), [(2.0, "cap of 1, of which 0 is spent or reserved"), (None, "must state its budget")]
)
def test_a_cap_set_meanwhile_holds_at_the_first_byte(ledger, tmp_path, epsilon, message):
    staging = plan(ledger, tmp_path / "run")
    reservation = Reservation(staging.run, "d", "f", "instance", epsilon, {"releasable": True})
    with pytest.raises(LedgerError, match=message), staged(ledger, staging, reservation) as begin:  # noqa: PT012
        ledger.set_cap("d", 1.0)
        fill(staging, begin)
    assert states(ledger) == ["cleared"]


def test_a_cap_set_after_the_charge_refuses_nothing(ledger, tmp_path):
    """A strict run is charged before its noise: what is spent is not worth less for a folder that may not stand."""
    staging = plan(ledger, tmp_path / "run")
    reservation = Reservation(staging.run, "d", "f", "strict", 2.0, {"releasable": True})
    with staged(ledger, staging, reservation) as begin:
        begin(2.0)
        ledger.set_cap("d", 1.0)
        fill(staging, begin)
    assert states(ledger) == ["released"]


@pytest.mark.parametrize("another", [False, True])
@pytest.mark.parametrize("written", [False, True])
def test_a_staging_folder_that_someone_moves_hides_no_run(ledger, tmp_path, written, another):
    """Moved before the first byte, the run counts as dead and may not write; after it, it counts as spent."""
    staging = plan(ledger, tmp_path / "run")
    reservation = Reservation(staging.run, "d", "f", "instance", 1.0, {"releasable": True})
    with pytest.raises((InputError, OSError)), staged(ledger, staging, reservation) as begin:  # noqa: PT012
        if written:
            fill(staging, begin)
        staging.path.rename(tmp_path / "taken")
        if another:
            staging.release.mkdir(parents=True)
        assert states(ledger, tmp_path) == ["lost" if written else "cleared"]
        fill(staging, begin)
    assert states(ledger, tmp_path) == ["lost" if written else "cleared"]
    assert bool(list(tmp_path.rglob("synthetic_*"))) == written


def test_a_place_that_is_taken_is_refused_before_and_after(ledger, tmp_path):
    make(ledger, tmp_path / "run")
    with pytest.raises(InputError, match="must not exist yet"):
        plan(ledger, tmp_path / "run")
    staging = plan(ledger, tmp_path / "other")
    reservation = Reservation(staging.run, "d", "f", "instance", 1.0, {})
    with pytest.raises(InputError, match="must not exist yet"), staged(ledger, staging, reservation) as begin:  # noqa: PT012
        fill(staging, begin)
        make(ledger, tmp_path / "other")  # someone else was faster
    assert states(ledger) == ["released", "lost", "released"]
    with pytest.raises(InputError, match="folder that exists"):
        plan(ledger, tmp_path / "no" / "where")


def test_a_run_under_way_is_left_alone(ledger, tmp_path):
    staging = plan(ledger, tmp_path / "run")
    with staged(ledger, staging, Reservation(staging.run, "d", "f", "instance", 1.0, {})) as begin:
        assert states(ledger, tmp_path) == ["reserved"]
        fill(staging, begin)
        assert states(ledger, tmp_path) == ["writing"]
        assert staging.path.exists()
    assert states(ledger) == ["released"]


def _die_at(line_number: int, ledger: Ledger, out: Path) -> None:
    """Make a run and be killed at a numbered line of its own or of the modules that keep folder and ledger in step."""
    ours = (alphasynth.runs.ledger, alphasynth.runs.ledger_file, alphasynth.runs.folder)
    files = {__file__, *(module.__file__ for module in ours)}
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


@pytest.mark.slow
def test_killed_at_any_line_folder_and_ledger_agree_after_the_next_command(tmp_path):
    line, died, stood, lost = 0, 0, 0, 0
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
        leaked = bool(list(folder.rglob("synthetic_*")))  # whoever comes now can take it
        after = states(ledger, folder)
        whole = (folder / "run" / "confidential" / "summary.json").exists()
        # SQLite may leave an empty journal until it next writes.
        left = sorted(path.name for path in folder.iterdir() if not path.name.endswith("-journal"))
        assert left == (["ledger.sqlite", "run"] if whole else ["ledger.sqlite"]), line
        counted = [state for state in after if state != "cleared"]
        assert counted == (["released"] if whole else ["lost"] if leaked else counted), line
        assert counted in ([], ["released"], ["lost"]), line
        lost += leaked and not whole
        stood += whole
        shutil.rmtree(folder)
        if not os.WIFSIGNALED(status):
            break
    # It was killed at every line there is, before and after the folder stood.
    assert died > 100
    assert 1 < stood < died
    assert lost > 20


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
    reservation = Reservation(staging.run, "d", "f", "instance", 1.0, {})
    with pytest.raises(InputError, match="reservation was cleared"), staged(ledger, staging, reservation) as begin:  # noqa: PT012
        ledger.append("clear", staging.run)
        fill(staging, begin)
    assert not staging.out.exists()
    assert states(ledger) == ["cleared"]


def test_a_run_that_has_written_cannot_be_cleared(ledger, tmp_path):
    """Neither by hand while it lives, nor by anyone afterwards; but where the seed was fixed."""
    staging = plan(ledger, tmp_path / "run")
    with staged(ledger, staging, Reservation(staging.run, "d", "f", "instance", 1.0, {})) as begin:
        fill(staging, begin)
        with pytest.raises(LedgerError, match="has drawn noise or written synthetic rows, and stays spent"):
            ledger.append("clear", staging.run)
    assert staging.out.exists()
    seeded = plan(ledger, tmp_path / "seeded")
    reservation = Reservation(seeded.run, "d", "f", "instance", 1.0, {"releasable": False})
    with pytest.raises(OSError, match="full"), staged(ledger, seeded, reservation) as begin:  # noqa: PT012
        fill(seeded, begin)
        raise OSError("full")
    assert states(ledger) == ["released", "lost"]
    ledger.append("clear", seeded.run)
    assert states(ledger) == ["released", "cleared"]


def test_a_run_whose_files_are_out_of_reach_counts(ledger, tmp_path):
    """The disk was unmounted, or the half-made folder moved, before anyone looked."""
    child = os.fork()
    if child == 0:
        staging = plan(ledger, tmp_path / "run")
        with staged(ledger, staging, Reservation(staging.run, "d", "f", "instance", None, {})) as begin:
            fill(staging, begin)
            staging.path.rename(tmp_path / "taken")
            os._exit(0)
    os.waitpid(child, 0)
    assert states(ledger, tmp_path) == ["lost"]
    with ledger.transaction() as connection:
        assert balance("d", "instance", ledger.entries(connection), {}).lost == 2.5


def test_a_ledger_that_cannot_be_written_after_the_folder_stands_does_not_undo_it(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "append", append_all_but_a_release)
    make(ledger, tmp_path / "run")
    monkeypatch.undo()
    assert (tmp_path / "run").exists()
    assert states(ledger) == ["released"]


def test_another_user_s_run_is_left_alone(ledger, tmp_path, monkeypatch):
    staging = plan(ledger, tmp_path / "run")
    with staged(ledger, staging, Reservation(staging.run, "d", "f", "instance", 1.0, {})) as begin:
        fill(staging, begin)
        original = os.open

        def closed(path, *args, **kwargs):
            if Path(path) == staging.path:
                raise PermissionError
            return original(path, *args, **kwargs)

        monkeypatch.setattr(os, "open", closed)
        assert states(ledger, tmp_path) == ["writing"]
        monkeypatch.undo()


def test_a_reservation_of_another_machine_is_left_alone(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    child = os.fork()
    if child == 0:
        staging = plan(ledger, tmp_path / "run")
        with staged(ledger, staging, Reservation(staging.run, "d", "f", "instance", 1.0, {})):
            os._exit(0)
    os.waitpid(child, 0)
    monkeypatch.undo()
    assert states(ledger) == ["reserved"]
