"""Processes that race: for what a cap leaves, on two ledgers at once, and for one name."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from torture.accounts import LEDGER, judge_ledger
from torture.counts import Counts
from torture.judged import files_of, judge_words, torn
from torture.processes import Ended, Running, run, start
from torture.tables import RAKED, lay

AT_ONCE = 8
# A cap, and the epsilon of each run: 0.1 ten times is 1 in decimals, and in binary numbers is not.
CAPS = (("1", "0.1"), ("14", "0.7"))


def _words(epsilon: str, out: str, *more: object) -> list[object]:
    asked = ["--epsilon", epsilon, "--m", 1, "--out", out, "--no-report", "--quiet"]
    return ["synthesize", "people.csv", *RAKED, *asked, *more]


def _whole(folder: Path) -> list[str]:
    """What a whole run leaves."""
    folder.mkdir()
    lay(folder)
    assert run(_words("1", "run"), folder).code == 0
    return files_of(folder / "run")


def race_for_caps(root: Path, times: int) -> Iterator[Counts]:
    """So many runs on each of two ledgers, eight under way at any moment: sums must end at the caps."""
    counts = Counts("racing for a cap, two ledgers")
    wanted = _whole(root / "raced")
    places = [root / f"ledger {number}" for number in range(len(CAPS))]
    for place, (cap, _) in zip(places, CAPS, strict=True):
        place.mkdir()
        lay(place)
        assert run(["ledger", "set", "people", "--cap", cap, "--delta", "0.001", "--ledger", LEDGER], place).code == 0
    waiting = deque((place, epsilon, n) for n in range(times) for place, (_, epsilon) in zip(places, CAPS, strict=True))
    under_way: deque[tuple[str, Path, Running]] = deque()
    ended: dict[str, Ended] = {}
    while waiting or under_way:
        while waiting and len(under_way) < AT_ONCE:
            place, epsilon, number = waiting.popleft()
            words = _words(epsilon, f"run {number}", "--dataset", "people")
            under_way.append((f"{place.name}, run {number}", place, start(words, place)))
        case, _, running = under_way.popleft()
        ended[case] = running.ended()
        counts.cpu += ended[case].cpu
        counts.times += 1
        judge_words(counts, case, ended[case])
    for place, (cap, epsilon) in zip(places, CAPS, strict=True):
        _judge_cap(counts, place, Fraction(cap), Fraction(epsilon), wanted, times)
    yield counts


def _judge_cap(counts: Counts, place: Path, cap: Fraction, epsilon: Fraction, wanted: list[str], times: int) -> None:
    """As many runs as fit under the cap stand and are released; the others left nothing."""
    fit = min(times, cap // epsilon)
    folders = [path for path in place.iterdir() if path.is_dir()]
    for folder in folders:
        if (why := torn(folder, wanted)) is not None:
            counts.add("half", f"{place.name}, {folder.name}", why)
    states = [account.state for account in judge_ledger(counts, place.name, place).values()]
    spent = sum((epsilon for state in states if state != "cleared"), Fraction(0))
    counts.notes[f"released on {place.name} (cap {cap}, runs of {float(epsilon)})"] += states.count("released")
    if spent > cap:
        counts.add("ledger", place.name, f"{float(spent)} spent under a cap of {float(cap)}")
    if len(folders) != fit or states.count("released") != fit or set(states) > {"released", "cleared"}:
        counts.add("ledger", place.name, f"{len(folders)} folders, {fit} fit, and {states}")


def race_for_name(root: Path, rounds: int) -> Iterator[Counts]:
    """Eight runs at once into one name, on a ledger that none of them finds there; the name is one run's."""
    counts = Counts("racing for a name")
    wanted, place = files_of(root / "raced" / "run"), root / "name"
    for number in range(rounds):
        case = f"name {number}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        lay(place)
        running = [start(_words("1", "run"), place) for _ in range(AT_ONCE)]
        ended = [each.ended() for each in running]
        counts.times += len(ended)
        for each in ended:
            counts.cpu += each.cpu
            judge_words(counts, case, each)
        won = sum(each.code == 0 for each in ended)
        counts.notes["rounds with one winner"] += won == 1
        if won != 1 or (why := torn(place / "run", wanted)) is not None:
            counts.add("half", case, f"{won} runs won the name" if won != 1 else str(why))
        states = [account.state for account in judge_ledger(counts, case, place).values()]
        if states.count("released") != 1 or set(states) - {"released", "cleared", "lost"}:
            counts.add("ledger", case, f"{states}")
        left = [path.name for path in place.glob(".*")]
        if left:
            counts.add("half", case, f"left over: {left}")
    yield counts
