"""What `alphasynth tune` runs: a mechanism at several values of one of its numbers, and the folder they go to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
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
from alphasynth.runs.from_settings import declarations, open_settings, synthesizer_of
from alphasynth.runs.interruption import Interruption
from alphasynth.runs.new_folder import new_folder
from alphasynth.runs.settings import Settings
from alphasynth.synthesizer import Synthesizer

# What may be turned, and where unless told; a radius begins at what public limits suggest.
DIALS = {"scale": (0.25, 0.5, 0.75, 1.0, 1.5), "shift": (0.0, 0.05, 0.1, 0.2), "k": (0.8, 0.85, 0.9, 0.95, 1.0)}
RADIUS, AROUND, SHARE = "radius", (0.25, 0.5, 1.0, 2.0, 4.0), 0.05
RELATIVE = (0.05, 0.1, 0.2, 0.3, 0.5)
# What is turned unless told: the number that re-weighting adds, else the radius, else the scale.
FIRST = ("k", RADIUS, "scale")
# Of a twin, where nobody says what is public of the table.
COUNTED = "Simulated twin: of TABLE nothing but the number of its rows was used."
USUAL, QUARTER = {"mean": 100.0, "phi": 12.0, "rows": 1_000.0}, 0.25


@dataclass(frozen=True)
class Tuning:
    """What was asked for; `options` are the settings of the run that is tuned, but for the number that is turned.

    Without a `dial` the mechanism's own is turned. `twin` holds those public parameters that were given; the table
    itself is tuned on only where `on_table` says so.
    """

    options: dict[str, Any]
    dial: str
    values: tuple[float, ...]
    repeats: int
    twin: dict[str, float]
    on_table: bool
    seed: int


def suggested_radius(limits: tuple[float, float]) -> float:
    """A radius from a column's public limits: a twentieth of their distance.

    >>> suggested_radius((0.0, 500.0))
    25.0
    """
    return SHARE * (limits[1] - limits[0])


def carry_out(asked: Tuning, out: Path, signals: Interruption, tell: Callable[[Stage], None]) -> Done:
    """Turn the number, and write results.json, standings.csv, report.html and the figure."""
    asked = replace(asked, dial=_dial_of(asked))
    twin, (about, assumed) = _twin_of(asked)
    values = asked.values or _usual(asked, twin)

    def make(value: float) -> Synthesizer:
        return synthesizer_of(_settings(asked, value))

    settings = _settings(asked, values[0])
    for value in values:  # what cannot be is refused before anything is read
        make(value)
    with new_folder(out, signals, 0o700 if asked.on_table else 0o777) as folder:
        table = table_of(asked.seed, twin, settings, make(values[0]))
        found_at = sweep(asked.seed, table, make, values, asked.repeats, settings.m, lambda *stage: tell(Stage(*stage)))
        heads, lines = lines_of(asked.dial, found_at)
        opening = f"{about} It has {table.twin}.{assumed}" if table.twin else about
        built = build(opening, table, settings.mechanism, asked.dial, found_at, settings.m, asked.repeats)
        mark = "simulated twin" if table.twin else "confidential"
        write_folder(folder, _results(asked, (about, twin), settings, found_at), (heads, lines), built, mark)
    cells = [tuple(page.cell(value).text for value in line) for line in lines]
    return Done(opening, heads, cells, (), "utility against Delta")


def _twin_of(asked: Tuning) -> tuple[dict[str, float] | None, tuple[str, str]]:
    """Public parameters of the twin, and words about it and about those that nobody gave; none of the table itself.

    Of the table no more than the number of its rows is taken, which every release shows.
    """
    if asked.on_table:
        return None, (SPENT, "")
    settings, usual, about = _settings(asked, _any_value(asked)), dict(USUAL), SIMULATED
    if settings.family != "negative_binomial":
        del usual["phi"]
    if "table" in asked.options and "rows" not in asked.twin:
        usual["rows"] = float(synthesizer_of(settings).read(open_settings(settings)).n)
        about = COUNTED
    limits = _limits(asked)
    if limits is not None:
        usual["mean"] = limits[0] + QUARTER * (limits[1] - limits[0])
    lacking, words = [name for name in ("mean", "phi") if name in usual and name not in asked.twin], ""
    if lacking:
        listed = " and ".join(f"{name} {usual[name]:g}" for name in lacking)
        words = (
            f" Nobody said what is public of the table's distribution: {listed} are stand-ins, and what suits them "
            "need not suit the table. Say --twin mean=...,phi=... (of an earlier year, say)."
        )
    return usual | asked.twin, (about, words)


def _any_value(asked: Tuning) -> float:
    """A value that the dial may have, before any is known."""
    return asked.values[0] if asked.values else 1.0


def _limits(asked: Tuning) -> tuple[float, float] | None:
    """The one column's public limits, where they are declared."""
    declared = declarations(_settings(asked, _any_value(asked)))
    limits = [facts["limits"] for facts in declared.values() if facts.get("limits")]
    return (float(limits[0][0]), float(limits[0][1])) if len(limits) == 1 else None


def _results(
    asked: Tuning, of: tuple[str, dict[str, float] | None], settings: Settings, found_at: list[Setting]
) -> dict[str, Any]:
    about, twin = of
    return {
        "confidential": twin is None,
        "about": about,
        "twin": twin,
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


def _dial_of(asked: Tuning) -> str:
    """The number to turn: the one named, if the mechanism takes it, or its own."""
    mechanism = asked.options.get("mechanism", "LW")
    dials = [] if mechanism in OF_COLUMNS else [name for name in (*DIALS, RADIUS) if name in TAKES.get(mechanism, ())]
    if mechanism in TAKES and (asked.dial or "nothing") not in (*dials, "nothing"):
        turned = ", ".join(dials) or "none"
        raise InputError(f"--sweep must turn a number that {mechanism} takes ({turned}), found {found(asked.dial)}")
    if mechanism in TAKES and not dials:
        raise InputError(f"--mechanism must have a scale, shift, radius or k to turn, found {mechanism!r}")
    if len(set(asked.values)) < len(asked.values):
        raise InputError("--sweep must have each value once, found one twice")
    if asked.options.get("epsilon") is not None:
        raise InputError("--epsilon must be left out: it would decide what is to be tuned, found one")
    dial = asked.dial or next((name for name in FIRST if name in dials), "scale")
    if asked.options.get(dial) is not None:
        raise InputError(f"--{dial} must be left out: --sweep turns it, found one")
    return dial


def _usual(asked: Tuning, twin: dict[str, float] | None) -> tuple[float, ...]:
    """Values unless told; a radius around what public limits suggest, or what the twin's own spread does."""
    if asked.dial in DIALS:
        return DIALS[asked.dial]
    if asked.options.get("relative"):
        return RELATIVE
    limits = _limits(asked)
    if limits is None and twin is not None:
        limits = (0.0, 2 * twin["mean"])  # of the stand-in, so that they are public too
    if limits is None:
        raise InputError(
            "--sweep must have values, radius=5,10,20 say, or the response public limits (--range), found none"
        )
    return tuple(factor * suggested_radius(limits) for factor in AROUND)
