"""What a part of the torture found, and the one table of all parts."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

# What is counted, each as it is called in a fault, and its column.
FAULTS = {
    "half": "half-written folders",
    "ledger": "ledger mismatches",
    "traceback": "tracebacks, crashes",
    "told": "confidential values told",
    "hang": "hangs",
    "unclear": "no clear sentence",
}
SHOWN = 40  # faults in words


@dataclass(frozen=True)
class Fault:
    """One fault: its kind, and the case, by part and number, that shows it again."""

    kind: str
    case: str
    words: str


@dataclass
class Counts:
    """What was done in a part, how often, what it took, and what was found."""

    what: str
    times: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    faults: list[Fault] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, case: str, words: str) -> None:
        """Note a fault."""
        assert kind in FAULTS, kind
        self.faults.append(Fault(kind, case, words))
        print(f"  {kind}: {case}: {words}", file=sys.stderr, flush=True)

    def of(self, kind: str) -> int:
        """How many faults of a kind."""
        return sum(fault.kind == kind for fault in self.faults)

    def plain(self) -> dict[str, Any]:
        """For a file."""
        return {**asdict(replace(self, notes=Counter())), "notes": dict(self.notes)}


def of_plain(given: dict[str, Any]) -> Counts:
    """From a file."""
    faults = [Fault(**fault) for fault in given["faults"]]
    return Counts(**{**given, "faults": faults, "notes": Counter(given["notes"])})


def table(rows: list[Counts]) -> str:
    """One table, in Markdown; the last line is their sum."""
    total = Counts("all", sum(r.times for r in rows), sum(r.wall for r in rows), sum(r.cpu for r in rows))
    total.faults = [fault for row in rows for fault in row.faults]
    lines = [("what", "how many", *FAULTS.values(), "wall s", "CPU s")]
    lines += [
        (r.what, f"{r.times:,}", *(f"{r.of(kind):,}" for kind in FAULTS), f"{r.wall:,.0f}", f"{r.cpu:,.0f}")
        for r in [*rows, total]
    ]
    cut = ("---", *("---:" for _ in lines[0][1:]))
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], cut, *lines[1:]])


def said(rows: list[Counts]) -> str:
    """Faults and notes in words."""
    faults = [f"{fault.kind}: {fault.case}: {fault.words}" for row in rows for fault in row.faults]
    notes = [f"{row.what}: " + ", ".join(f"{n:,} {what}" for what, n in sorted(row.notes.items())) for row in rows]
    more = [f"and {len(faults) - SHOWN:,} more"] if len(faults) > SHOWN else []
    return "\n".join([*faults[:SHOWN], *more, *(note for note in notes if not note.endswith(": "))])
