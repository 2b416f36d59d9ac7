"""What `alphasynth tune` runs: a mechanism at several values of one of its numbers, and the folder they go to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from alphasynth import __version__
from alphasynth.catalogue import OF_COLUMNS, TAKES
from alphasynth.errors import InputError, found
from alphasynth.league.page import SIMULATED
from alphasynth.league.tuning import SPENT, Setting, build, lines_of, sweep
from alphasynth.league.twins import in_a_row, stand_ins
from alphasynth.models.formula_text import response_in
from alphasynth.pages import page
from alphasynth.runs.clock import Stage
from alphasynth.runs.compare import Done, table_of, write_folder
from alphasynth.runs.from_settings import declarations, open_settings, synthesizer_of
from alphasynth.runs.interruption import Interruption
from alphasynth.runs.new_folder import new_folder
from alphasynth.runs.settings import Settings
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

# What may be turned, and where unless told; a radius begins at what public limits suggest.
DIALS = {"scale": (0.25, 0.5, 0.75, 1.0, 1.5), "shift": (0.0, 0.05, 0.1, 0.2), "k": (0.8, 0.85, 0.9, 0.95, 1.0)}
RADIUS, AROUND, SHARE = "radius", (0.25, 0.5, 1.0, 2.0, 4.0), 0.05
RELATIVE = (0.05, 0.1, 0.2, 0.3, 0.5)
# What is turned unless told: the number that re-weighting adds, else the radius, else the scale.
FIRST = ("k", RADIUS, "scale")
# Of a twin of no table, or of one.
USUAL_ROWS = 1_000.0
COUNTED = "Simulated twin: of TABLE nothing but {} was used."
CHOICES = (
    "poisson or negative_binomial for counts, normal, log_normal or gamma with --range NAME=LOW:HIGH for other "
    "numbers, bernoulli with --levels NAME=A|B for two levels"
)


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
    _check_family(asked)
    asked = replace(asked, dial=_dial_of(asked))
    asked = asked if asked.on_table else numbered(asked)
    values, suggested = (asked.values, "") if asked.values else _usual(asked)

    def make(value: float) -> Synthesizer:
        return synthesizer_of(_settings(asked, value))

    settings = _settings(asked, values[0])
    for value in values:  # what cannot be is refused before anything is read
        make(value)
    twin = None if asked.on_table else _twin_of(asked, settings, make(values[0]))
    parameters, about = (None, SPENT) if twin is None else (twin.parameters, twin.about)
    with new_folder(out, signals, 0o700 if twin is None else 0o777) as folder:
        table = table_of(asked.seed, parameters, settings, make(values[0]), None if twin is None else twin.beside)
        found_at = sweep(asked.seed, table, make, values, asked.repeats, settings.m, lambda *stage: tell(Stage(*stage)))
        heads, lines = lines_of(asked.dial, found_at)
        opening = (about if twin is None else f"{about} It has {table.twin}.{twin.assumed}") + suggested
        built = build(opening, table, settings.mechanism, asked.dial, found_at, settings.m, asked.repeats)
        mark = "confidential" if twin is None else "simulated twin"
        write_folder(folder, _results(asked, (about, parameters), settings, found_at), (heads, lines), built, mark)
    cells = [tuple(page.cell(value).text for value in line) for line in lines]
    return Done(opening, heads, cells, (), "utility against Delta")


def _check_family(asked: Tuning) -> None:
    """Refuse a column of no family, or several columns, of which no dial is turned."""
    formula, family = asked.options.get("formula"), asked.options.get("family")
    if formula is not None and not family:
        raise InputError(f"tune must have a --family: {CHOICES}, found none")
    if any(isinstance(one, list | tuple) and len(one) > 1 for one in (formula, family)):
        raise InputError("tune must have one formula and one family, found several")


def numbered(asked: Tuning) -> Tuning:
    """With levels of text told by their places, as 0 and 1, since errors of a twin are those of numbers."""
    declared = asked.options.get("levels")
    if not declared or asked.options.get("family") not in ("bernoulli", ["bernoulli"], ("bernoulli",)):
        return asked
    words = [declared] if isinstance(declared, str) else list(declared)
    response = response_in(_settings(asked, _any_value(asked)).formula)
    places = [f"{response}=0|1" if word.partition("=")[0].strip() == response else word for word in words]
    return replace(asked, options={**asked.options, "levels": places})


class Twin(NamedTuple):
    """Public parameters, public columns to stand beside, and words: what was used, and what nobody said."""

    parameters: dict[str, float]
    beside: Any
    about: str
    assumed: str


def _twin_of(asked: Tuning, settings: Settings, synthesizer: Synthesizer) -> Twin:
    """What a twin is simulated from. Of the table its public columns' rows are taken, and how many there are."""
    column = synthesizer.model.columns[0]
    usual, names = stand_ins(column), [name for name in synthesizer.used if name != column.name]
    strange = [name for name in asked.twin if name not in (*usual, "rows")]
    if strange:
        raise InputError(f"--twin of {column.family} takes {', '.join(usual)} and rows, found {strange[0]}")
    _check_beside(names, synthesizer.public, "table" in asked.options)
    beside, rows, about = None, USUAL_ROWS, SIMULATED
    if names or ("table" in asked.options and "rows" not in asked.twin):
        records = synthesizer.read(open_settings(settings))
        rows, beside = float(records.n), _public_rows(records, names) if names else None
        about = COUNTED.format(f"its public columns ({', '.join(names)})" if names else "the number of its rows")
    return Twin({**usual, "rows": rows, **asked.twin}, beside, about, _assumed(column.declared.limits, usual, asked))


def _check_beside(names: Sequence[str], public: Sequence[str], has_table: bool) -> None:
    """Refuse columns beside the response of which a twin may take nothing, or has nowhere to take it from."""
    if names and not has_table:
        raise InputError(
            f"a twin must have a TABLE where columns stand beside the response ({', '.join(names)}), since it takes "
            "their rows, which are public, found none: leave them out ('y ~ 1')"
        )
    confidential = [name for name in names if name not in public]
    if confidential:
        raise InputError(
            f"a twin must stand beside public columns alone (--public), found {confidential[0]!r}, which is not: of a "
            "confidential column nothing may be used"
        )


def _public_rows(records: Records, names: Sequence[str]) -> Any:
    """A frame of the records' public columns, in an order of their own: that of the records has the response in it."""
    import pandas as pd

    lines = np.repeat(np.arange(records.size), records.counts)
    rows = pd.DataFrame({name: records.columns[name][lines] for name in names})
    return rows.sort_values(list(names), ignore_index=True)


def _assumed(limits: tuple[float, float] | None, usual: dict[str, float], asked: Tuning) -> str:
    """Words about parameters that nobody gave."""
    lacking = [name for name in usual if name not in asked.twin]
    if not lacking:
        return ""
    listed = in_a_row([f"{name} {usual[name]:.4g}" for name in lacking])
    verb = "is a stand-in" if len(lacking) == 1 else "are stand-ins"
    source = "" if limits is None else ", from the public limits alone"
    said = ",".join(f"{name}=..." for name in lacking)
    return (
        f" Nobody said what is public of the table's distribution: {listed} {verb}{source}, and what suits a twin "
        f"need not suit the table. Say --twin {said} (of an earlier year, say)."
    )


def _any_value(asked: Tuning) -> float:
    """A value that the dial may have, before any is known."""
    return asked.values[0] if asked.values else 1.0


def _limits(asked: Tuning) -> tuple[float, float] | None:
    """The response's public limits, where they are declared."""
    settings = _settings(asked, _any_value(asked))
    limits = declarations(settings).get(response_in(settings.formula) or "", {}).get("limits")
    return None if limits is None else (float(limits[0]), float(limits[1]))


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


def _usual(asked: Tuning) -> tuple[tuple[float, ...], str]:
    """Values unless told, and a sentence that says what a radius was suggested by: public facts, or it must be told."""
    if asked.dial in DIALS:
        return DIALS[asked.dial], ""
    if asked.options.get("relative"):
        return RELATIVE, ""
    limits, source = _limits(asked), "the public limits"
    if limits is None and asked.twin.get("mean", 0.0) > 0:
        limits, source = (0.0, 2 * asked.twin["mean"]), "0 to twice the mean that --twin has"
    if limits is None:
        raise InputError(
            "--sweep must have values, radius=5,10,20 say, or the response public limits (--range NAME=LOW:HIGH) or a "
            "public mean (--twin mean=...) that suggest some, found none: a radius by a stand-in suits no table"
        )
    values = tuple(factor * suggested_radius(limits) for factor in AROUND)
    return values, f" Radii are suggested by {source}, {limits[0]:g} to {limits[1]:g}: around a twentieth of that way."
