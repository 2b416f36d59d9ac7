"""What a whole table by `Raked` will take before it starts, from its columns, rows and tables.

Seconds of the processor are rough, from runs of 5 to 100 columns, 10,000 to 10,000,000 rows and 1 to 5 tables, pages
included (docs/decisions/029-waits.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from alphasynth.planning.waits import LONG
from alphasynth.privacy.accounting import counted
from alphasynth.tables.declared import Declared

# Seconds of a run; of a column, and of each of its rows: those of a pool of at most so many, and those that are read.
START, COLUMN, POOLED, MOST_POOLED, READ = 4.5, 0.27, 1e-5, 100_000, 4e-7
# Of a column in each table but the first, and of each of its rows.
AGAIN, WRITTEN = 0.033, 1.1e-6
# Of a thousand numbers declared as levels; others grow as a cube.
THOUSAND_LEVELS = 4.0


def seconds_of(declared: Mapping[str, Declared], rows: int, m: int) -> dict[str, float]:
    """Seconds of the processor that a run is expected to take, by what makes it slow and what to change."""
    columns = len(declared)
    levels = {name: _levels(facts) for name, facts in declared.items()}
    most = max(levels, key=lambda name: levels[name])
    again = (m - 1) * columns * (AGAIN + WRITTEN * rows)
    return {
        f"{counted(columns, 'column')} of {rows:,} rows" + ("; leave columns out" if columns > 1 else ""): (
            START + columns * (COLUMN + POOLED * min(rows, MOST_POOLED) + READ * rows)
        ),
        f"{m:,} tables; ask for fewer (--m)": again,
        f"column {most!r} with {levels[most]:,} numbers as levels; declare limits in their place": (
            THOUSAND_LEVELS * sum((number / 1_000) ** 3 for number in levels.values())
        ),
    }


def words_of(declared: Mapping[str, Declared], rows: int, m: int) -> str:
    """What to expect and what to change; empty where there is nothing to wait for.

    >>> words_of({"age": Declared(limits=(0.0, 110.0), whole=True)}, 20_000, 5)
    ''
    """
    parts = seconds_of(declared, rows, m)
    seconds, slowest = sum(parts.values()), max(parts, key=lambda part: parts[part])
    if seconds <= LONG:
        return ""
    minutes = counted(math.ceil(seconds / 60), "minute")
    return f"this will take about {minutes} of the processor: what makes it slow is {slowest}"


def _levels(facts: Declared) -> int:
    """How many numbers are levels."""
    return 0 if not facts.levels or isinstance(facts.levels[0], str) else len(facts.levels)
