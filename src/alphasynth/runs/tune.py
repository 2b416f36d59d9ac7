"""What `alphasynth tune` runs: a mechanism at several values of one of its numbers, and the folder they go to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from alphasynth import __version__
from alphasynth.catalogue import OF_COLUMNS, TAKES
from alphasynth.errors import InputError, found
from alphasynth.league.page import SIMULATED
from alphasynth.league.tuning import SPENT, Setting, build, lines_of, sweep
from alphasynth.pages import page
from alphasynth.runs.clock import Stage
from alphasynth.runs.compare import Done, table_of, write_folder
from alphasynth.runs.from_settings import declarations, synthesizer_of
from alphasynth.runs.interruption import Interruption
from alphasynth.runs.new_folder import new_folder
from alphasynth.runs.settings import Settings
from alphasynth.synthesizer import Synthesizer

# What may be turned, and where unless told; a radius begins at what public limits suggest.
DIALS = {"scale": (0.25, 0.5, 0.75, 1.0, 1.5), "shift": (0.0, 0.05, 0.1, 0.2), "k": (0.8, 0.85, 0.9, 0.95, 1.0)}
RADIUS, AROUND, SHARE = "radius", (0.25, 0.5, 1.0, 2.0, 4.0), 0.05


@dataclass(frozen=True)
class Tuning:
    """What was asked for; `options` are the settings of the run that is tuned, but for the number that is turned."""

    options: dict[str, Any]
    dial: str
    values: tuple[float, ...]
    repeats: int
    twin: dict[str, float] | None
    seed: int


def suggested_radius(limits: tuple[float, float]) -> float:
    """A radius from a column's public limits: a twentieth of their distance.

    >>> suggested_radius((0.0, 500.0))
    25.0
    """
    return SHARE * (limits[1] - limits[0])


def carry_out(asked: Tuning, out: Path, signals: Interruption, tell: Callable[[Stage], None]) -> Done:
    """Turn the number, and write results.json, standings.csv, report.html and the figure."""
    values = asked.values or _usual(asked)

    def make(value: float) -> Synthesizer:
        return synthesizer_of(_settings(asked, value))

    settings = _settings(asked, values[0])
    _check(asked, settings)
    for value in values:  # what cannot be is refused before anything is read
        make(value)
    with new_folder(out, signals, 0o777 if asked.twin else 0o700) as folder:
        table = table_of(asked.seed, asked.twin, settings, make(values[0]))
        found_at = sweep(asked.seed, table, make, values, asked.repeats, settings.m, lambda *stage: tell(Stage(*stage)))
        heads, lines = lines_of(asked.dial, found_at)
        built = build(table, settings.mechanism, asked.dial, found_at, settings.m, asked.repeats)
        mark = "simulated twin" if table.twin else "confidential"
        write_folder(folder, _results(asked, settings, found_at), (heads, lines), built, mark)
    cells = [tuple(page.cell(value).text for value in line) for line in lines]
    opening = f"{SIMULATED} It has {table.twin}." if table.twin else SPENT
    return Done(opening, heads, cells, (), "utility against Delta")


def _results(asked: Tuning, settings: Settings, found_at: list[Setting]) -> dict[str, Any]:
    return {
        "confidential": asked.twin is None,
        "about": SIMULATED if asked.twin else SPENT,
        "twin": asked.twin,
        "mechanism": settings.mechanism,
        "dial": asked.dial,
        "m": settings.m,
        "repeats": asked.repeats,
        "seed": asked.seed,
        "version": __version__,
        "settings": [{**asdict(one), "delta": one.delta} for one in found_at],
    }


def _settings(asked: Tuning, value: float) -> Settings:
    given = {name: one for name, one in asked.options.items() if one is not None}
    table = given.pop("table", "twin")
    return Settings.of({**given, "table": table, "out": ".", "seed": asked.seed, asked.dial: float(value)})


def _check(asked: Tuning, settings: Settings) -> None:
    dials = [name for name in (*DIALS, RADIUS) if name in TAKES.get(settings.mechanism, ())]
    if settings.mechanism in OF_COLUMNS or asked.dial not in dials:
        turned = ", ".join(dials) or "none"
        raise InputError(
            f"--sweep must turn a number that {settings.mechanism} takes ({turned}), found {found(asked.dial)}"
        )
    if settings.epsilon is not None:
        raise InputError("--epsilon must be left out: it would decide what is to be tuned, found one")


def _usual(asked: Tuning) -> tuple[float, ...]:
    """Values unless told; of a radius those around what the response's public limits suggest."""
    if asked.dial in DIALS:
        return DIALS[asked.dial]
    if asked.options.get("relative"):
        return (0.05, 0.1, 0.2, 0.3, 0.5)
    limits = [tuple(facts["limits"]) for facts in declarations(_settings(asked, 1.0)).values() if facts.get("limits")]
    if asked.dial == RADIUS and len(limits) == 1:
        return tuple(factor * suggested_radius(limits[0]) for factor in AROUND)
    raise InputError(
        "--sweep must have values, radius=5,10,20 say, or the response public limits (--range), found none"
    )
