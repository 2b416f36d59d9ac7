"""SIGKILL of whole runs at random moments, to the process group; after each one all that is left is looked at."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from torture.accounts import LEDGER, Account, accounts, judge_ledger
from torture.counts import Counts
from torture.judged import files_of, judge_words, torn
from torture.processes import Ended, run, start
from torture.steps import die_at
from torture.tables import command, lay

# Whole tables are most of them: they need no other library's threads, and half the time.
KINDS = ("Raked", "Raked", "Raked", "Scored", "exact draw")
OUT, EPSILON = "run", 2
PER_LEDGER = 100  # runs on one ledger, after which a whole run must go well and a new ledger begins
TAKEN = 20  # one in so many goes to a name that is taken, and must leave what is there alone


@dataclass
class Place:
    """A folder in which runs are killed, one after another, on one ledger and under one name."""

    folder: Path
    counts: Counts
    wanted: dict[str, list[str]]  # files of a whole run, by its kind
    known: dict[str, Account] = field(default_factory=dict)

    @property
    def out(self) -> Path:
        """Where the run folder goes."""
        return self.folder / OUT

    def begin(self) -> None:
        """A new ledger, and an empty place."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        lay(self.folder)
        self.known = {}


def whole_files(folder: Path, kinds: Sequence[str]) -> dict[str, list[str]]:
    """What whole runs leave."""
    folder.mkdir()
    lay(folder)
    for kind in kinds:
        ended = run(command(kind, kind), folder)
        assert (ended.code, ended.err) == (0, ""), ended
    return {kind: files_of(folder / kind) for kind in kinds}


def kill_at_random(root: Path, seed: int, size: int, fresh: int, kinds: Sequence[str] = KINDS) -> Iterator[Counts]:
    """So many runs killed at random moments of a whole run's time, of which `fresh` are started anew from the shell.

    How long a run takes follows the machine's pace, as the last one that ended by itself had it; those do not count.
    """
    wanted = whole_files(root / "whole", sorted(set(kinds)))
    for times, is_fresh in ((size - fresh, False), (fresh, True)):
        counts = Counts("kill -9 at random" + (", started anew" if is_fresh else ""))
        place = Place(root / "kills", counts, wanted)
        pace: dict[tuple[str, bool], float] = {}
        for number in count():
            case = f"{'fresh' if is_fresh else 'kill'} {seed}:{number}"
            source = random.Random(case)
            kind, taken = source.choice(kinds), number % TAKEN == TAKEN - 1
            if number % PER_LEDGER == 0:
                _finish(place, case)
                place.begin()
                pace = {(each, False): run_whole(place, case, each, is_fresh).seconds for each in wanted}
            moment = source.uniform(0.0, 1.0) * pace.get((kind, taken), pace[kind, False])
            ended = _one(place, case, kind, moment, is_fresh, taken)
            if ended.killed:
                counts.times += 1
            else:
                pace[kind, taken] = ended.seconds
            if counts.times == times:
                break
        _finish(place, "last")
        yield counts


def kill_at_steps(root: Path, kinds: Sequence[str], every: int = 1) -> Iterator[Counts]:
    """Each run again and again, killed before its first, second, third step on the disk, until it comes to its end."""
    counts = Counts("kill -9 at each step")
    place = Place(root / "steps", counts, whole_files(root / "stepped", kinds))
    for kind in kinds:
        place.begin()
        for step in count(1, every):
            case = f"step {kind}:{step}"
            ended = _one(place, case, kind, None, False, before=lambda step=step: die_at(step))
            if not ended.killed:
                break
            counts.times += 1
        _finish(place, f"step {kind}")
    yield counts


def _one(
    place: Place,
    case: str,
    kind: str,
    moment: float | None,
    fresh: bool,
    taken: bool = False,
    before: Callable[[], object] | None = None,
) -> Ended:
    """One run, killed, and what is left of it looked at."""
    counts = place.counts
    if taken:
        place.out.mkdir()
        (place.out / "mine.txt").write_text("mine")
    running = start(command(kind, OUT), place.folder, fresh, before)
    ended = running.ended(kill_after=moment)
    if before is not None and ended.code == -9:
        ended = Ended(ended.code, ended.out, ended.err, ended.seconds, ended.cpu, killed=True)
    counts.cpu += ended.cpu
    counts.notes["killed" if ended.killed else "had ended"] += 1
    judge_words(counts, case, ended)
    if taken:
        _judge_taken(place, case)
    else:
        _judge_left(place, case, kind, ended)
    return ended


def _judge_taken(place: Place, case: str) -> None:
    """What was there before stands as it was, and nothing was spent."""
    if files_of(place.out) != ["mine.txt"] or (place.out / "mine.txt").read_text() != "mine":
        place.counts.add("half", case, "a folder that was there is no longer as it was")
    after = judge_ledger(place.counts, case, place.folder)
    if after.keys() != place.known.keys():
        place.counts.add("ledger", case, "a run into a name that is taken was charged")
    place.counts.notes["into a name that was taken"] += 1
    shutil.rmtree(place.out)


def _judge_left(place: Place, case: str, kind: str, ended: Ended) -> None:
    """A run folder is whole or not there; rows are on no disk without a charge; the next command settles the rest."""
    counts = place.counts
    stands = place.out.exists()
    if stands and (why := torn(place.out, place.wanted[kind])) is not None:
        counts.add("half", case, why)
    half_made = [path for path in place.folder.glob(".alphasynth-*") if path.is_dir()]
    rows = stands or any(path.stat().st_size for each in half_made for path in each.glob("release/*.csv"))
    # While it is published the staging folder has the mode of the run folder that it is about to become.
    if any(path.stat().st_mode & 0o077 and not (path / "release" / "guarantee.json").exists() for path in half_made):
        counts.add("half", case, "what is half-made can be read by others")
    at_once = accounts(place.folder / LEDGER)
    mine = at_once.keys() - place.known.keys()
    if rows and not any(at_once[name].wrote for name in mine):
        counts.add("ledger", case, "rows are on the disk and nothing is charged")
    after = judge_ledger(counts, case, place.folder)
    _judge_settled(place, case, stands, rows, {name: after[name] for name in mine if name in after})
    place.known = after
    if stands:
        _judge_whole(place, case)
    left = {path.name for path in place.folder.iterdir()} - {"people.csv", "columns.toml", "model.toml", LEDGER}
    if left:
        counts.add("half", case, f"left over: {sorted(left)}")
    counts.notes["whole folder" if stands else "rows written, folder lost" if rows else "nothing written"] += 1


def _judge_settled(place: Place, case: str, stands: bool, rows: bool, mine: dict[str, Account]) -> None:
    """A whole folder is released, rows without one are lost, and a run without rows may be either charged or not."""
    states = [account.state for account in mine.values()]
    allowed = ["released"] if stands else ["lost"] if rows else ["cleared", "lost"]
    if len(states) > 1 or (rows and not states) or any(state not in allowed for state in states):
        place.counts.add("ledger", case, f"{'a folder' if stands else 'rows' if rows else 'no rows'}, and {states}")
    if any(account.epsilon != EPSILON for account in mine.values()):
        place.counts.add("ledger", case, "another epsilon than was asked for")
    changed = [name for name in place.known if name not in mine and place.known[name] != _now(place, name)]
    if changed:
        place.counts.add("ledger", case, f"{len(changed)} earlier runs were changed")


def _now(place: Place, name: str) -> Account | None:
    return accounts(place.folder / LEDGER).get(name)


def _judge_whole(place: Place, case: str) -> None:
    """It can be reported on again; then it goes, so that its name is free."""
    summary = json.loads((place.out / "confidential" / "summary.json").read_text())
    if summary["run"] not in place.known:
        place.counts.add("ledger", case, "a run folder that the ledger does not know")
    again = run(["report", OUT], place.folder)
    place.counts.cpu += again.cpu
    judge_words(place.counts, f"{case}, report", again)
    if again.code:
        place.counts.add("half", case, "a run folder that cannot be reported on")
    shutil.rmtree(place.out)


def run_whole(place: Place, case: str, kind: str, fresh: bool = False) -> Ended:
    """A run that nobody kills, under the same name and on the same ledger: it must go well."""
    ended = run(command(kind, OUT), place.folder, fresh=fresh)
    place.counts.cpu += ended.cpu
    judge_words(place.counts, f"{case}, whole", ended)
    if ended.code or torn(place.out, place.wanted[kind]) is not None:
        place.counts.add("half", case, f"the next run must go well: {ended.err!r}")
    shutil.rmtree(place.out, ignore_errors=True)
    place.known = judge_ledger(place.counts, case, place.folder)
    return ended


def _finish(place: Place, case: str) -> None:
    """The last run on a ledger goes well, after all that died on it."""
    if place.folder.exists():
        print(f"  {place.counts.what}: {place.counts.times:,}, faults {len(place.counts.faults)}", file=sys.stderr)
        run_whole(place, case, "Raked")
