"""Disks that are full, at every size and number of files up to what a run needs, and folders that are read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torture.accounts import LEDGER, Account, accounts, judge_ledger
from torture.counts import Counts
from torture.judged import files_of, judge_words, torn
from torture.processes import run
from torture.tables import command, lay

SPENT = "its epsilon counts as spent"
PAGE = 4_096  # bytes that a memory disk gives out at once
NOBODY = 65_534


@contextmanager
def disk(path: Path, options: str) -> Iterator[Path]:
    """A disk of our own in memory; the machine must let us mount one."""
    path.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def can_mount(path: Path) -> bool:
    """Whether we may."""
    try:
        with disk(path, "size=64k"):
            return True
    except (subprocess.CalledProcessError, OSError):
        return False


@dataclass(frozen=True)
class Tried:
    """A run's command and the places of what it writes, `out` and `ledger` on the disk that is full or elsewhere."""

    counts: Counts
    home: Path  # the table lies here
    wanted: list[str]

    def run(self, case: str, out: Path, ledger: Path, before: Callable[[], object] | None = None) -> bool:
        """Run once, judge what came of it, and return whether it went well."""
        words = command("Raked", str(out), "--ledger", ledger)
        known = accounts(ledger).keys()
        ended = run(words, self.home, before=before)
        counts = self.counts
        counts.times += 1
        counts.cpu += ended.cpu
        judge_words(counts, case, ended)
        counts.notes["went well" if not ended.code else "refused in one sentence"] += 1
        if ended.code == 0:
            if (why := torn(out, self.wanted)) is not None and "could not be rendered" not in ended.err:
                counts.add("half", case, why)
        elif out.exists():
            counts.add("half", case, f"exit code {ended.code} and a run folder")
        if left := [path.name for path in out.parent.glob(".alphasynth-*")]:
            counts.add("half", case, f"left over: {left}")
        wanted = "released" if not ended.code else "lost" if SPENT in ended.err else "cleared"
        states = [account.state for name, account in self._settled(case, ledger).items() if name not in known]
        if states != [wanted] and (states or not ended.code):
            counts.add("ledger", case, f"{states}, and it should be {wanted}")
        return ended.code == 0

    def _settled(self, case: str, ledger: Path) -> dict[str, Account]:
        """The runs of a ledger, which opens where it can be written, as the next command settles them."""
        copy = self.home / "copy.sqlite"
        for end in ("", "-journal"):
            if (part := ledger.with_name(f"{ledger.name}{end}")).exists() and part.stat().st_size:
                shutil.copy(part, f"{copy}{end}")
        found = judge_ledger(self.counts, case, self.home, copy)
        for path in self.home.glob("copy.sqlite*"):
            path.unlink()
        return found


def fill(root: Path, steps: int) -> Iterator[Counts]:
    """Runs onto disks of growing size, and of a growing number of files, until they fit."""
    home = root / "home"
    home.mkdir()
    lay(home)
    assert run(command("Raked", "run", "--ledger", "whole.sqlite"), home).code == 0
    wanted = files_of(home / "run")
    need = sum(-(-path.stat().st_size // PAGE) for path in (home / "run").rglob("*")) + 40
    counts = Counts("disk full")
    tried = Tried(counts, home, wanted)
    for beside in (True, False) if steps > 1 else (True,):
        where = "ledger on it" if beside else "ledger elsewhere"
        for size in sorted({1 + number * need // steps for number in range(steps + 1)}):
            with disk(root / "full", f"size={size * PAGE}") as place:
                _onto(tried, f"{size * 4} kB, {where}", place, beside)
        for files in range(2, len(wanted) + 10, max(1, 16 // steps)):
            with disk(root / "full", f"size=64m,nr_inodes={files}") as place:
                _onto(tried, f"{files} files, {where}", place, beside)
    yield counts


def _onto(tried: Tried, case: str, place: Path, beside: bool) -> None:
    """A run onto a disk, and one more when there is room."""
    ledger = (place if beside else tried.home) / LEDGER
    tried.run(case, place / "run", ledger)
    subprocess.run(["mount", "-o", "remount,size=64m,nr_inodes=1000", str(place)], check=True)
    shutil.rmtree(place / "run", ignore_errors=True)
    if not tried.run(f"{case}, then room", place / "run", ledger):
        tried.counts.add("half", case, "a run must go well once there is room")
    if not beside:
        ledger.unlink()


def _nobody() -> None:
    """Go on as a user to whom the bits of folders apply, as they do not to root."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def read_only(root: Path) -> Iterator[Counts]:
    """Output, ledger, cache and the folder of the table, each on a disk that nobody may write, or closed to a user."""
    counts = Counts("read-only folders")
    home = root / "readers"
    home.mkdir()
    lay(home)
    assert run(command("Raked", "run"), home).code == 0
    tried = Tried(counts, home, files_of(home / "run"))
    shutil.rmtree(home / "run")
    cache = os.environ["XDG_CACHE_HOME"]
    with disk(root / "sealed", "size=64m") as place:
        lay(place)
        shutil.copy(home / LEDGER, place / LEDGER)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        for case, out, ledger in (
            ("output", place / "run", home / LEDGER),
            ("ledger", home / "run", place / LEDGER),
            ("a ledger that is not there", home / "run", place / "new.sqlite"),
            ("output and ledger", place / "run", place / LEDGER),
        ):
            if tried.run(f"read-only: {case}", out, ledger):
                counts.add("half", case, "a run must be refused")
        os.environ |= {"XDG_CACHE_HOME": str(place)}
        _must(tried, "read-only: cache", home)
        os.environ["XDG_CACHE_HOME"] = cache
        _other(counts, "read-only: suggestion", ["inspect", "people.csv", "--suggest", "s.toml"], place)
        _other(counts, "read-only: cap", ["ledger", "set", "x", "--cap", 1], place)
        _other(counts, "read-only: ledger", ["ledger"], place)
    yield from _closed(root, tried)


def _must(tried: Tried, case: str, home: Path) -> None:
    """What must go well all the same."""
    if not tried.run(case, home / "run", home / LEDGER):
        tried.counts.add("half", case, "a run must go well")
    shutil.rmtree(home / "run", ignore_errors=True)


def _other(counts: Counts, case: str, words: list[object], folder: Path) -> None:
    """Another command where it cannot write: it must say so, and leave what is there."""
    before = files_of(folder)
    ended = run(words, folder)
    counts.times += 1
    counts.cpu += ended.cpu
    judge_words(counts, case, ended)
    if not ended.code or files_of(folder) != before:
        counts.add("half", case, f"exit code {ended.code}")


def _closed(root: Path, tried: Tried) -> Iterator[Counts]:
    """The same for a user who may not write there; the process that looks stays root."""
    root.chmod(0o755)
    open_to_all, shut = root / "nobody's", root / "shut"
    for place, mode in ((open_to_all, 0o777), (shut, 0o755)):
        place.mkdir()
        place.chmod(mode)
    os.environ |= {"XDG_CACHE_HOME": str(open_to_all / "cache")}
    tried.run("user: all may be written", open_to_all / "run", open_to_all / LEDGER, _nobody)
    shutil.rmtree(open_to_all / "run", ignore_errors=True)
    for case, out, ledger in (
        ("output", shut / "run", open_to_all / LEDGER),
        ("a ledger that is not there", open_to_all / "run", shut / LEDGER),
    ):
        if tried.run(f"user: {case}", out, ledger, _nobody):
            tried.counts.add("half", case, "a run must be refused")
    shutil.copy(open_to_all / LEDGER, shut / LEDGER)
    (shut / LEDGER).chmod(0o644)
    if tried.run("user: another's ledger", open_to_all / "run", shut / LEDGER, _nobody):
        tried.counts.add("half", "another's ledger", "a run must be refused")
    yield tried.counts


def limited(root: Path) -> Iterator[Counts]:
    """In place of all this, where no disk may be mounted: files that may not grow beyond a limit."""
    import resource

    home = root / "limited"
    home.mkdir()
    lay(home)
    assert run(command("Raked", "run", "--ledger", "whole.sqlite"), home).code == 0
    counts = Counts("files limited in size (no disk can be mounted)")
    tried = Tried(counts, home, files_of(home / "run"))
    shutil.rmtree(home / "run")
    for size in range(0, 200_000, 10_000):
        before = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
        tried.run(f"files of {size} bytes", home / "run", home / LEDGER, before)
        shutil.rmtree(home / "run", ignore_errors=True)
    yield counts
