"""What `alphasynth compare` runs: entrants from options, standings, and the folder they are written to."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from alphasynth import __version__
from alphasynth.catalogue import MECHANISMS, OF_COLUMNS, OPTIONS, TAKES
from alphasynth.errors import InputError, require_whole
from alphasynth.league.baselines import NOISES
from alphasynth.league.page import SIMULATED, SPENDS, build, lines_of
from alphasynth.league.standings import Standing, Table, compare
from alphasynth.league.twins import simulate_twin
from alphasynth.models.formula import Formula
from alphasynth.pages import page
from alphasynth.pages.images import save
from alphasynth.runs.clock import Stage
from alphasynth.runs.from_settings import open_settings, synthesizer_of
from alphasynth.runs.interruption import Interruption
from alphasynth.runs.new_folder import new_folder
from alphasynth.runs.settings import Settings
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.text_cells import guarded

OF_ROWS = ("Given",)  # weights that belong to the rows of one table
# Unless told: these in this order, since places decide the random numbers, then all others that lack nothing.
FIRST = ("Censored", "BetaDivergence", "Histogram", "BW", "LW", "LW_final", "SW", "Unweighted")
ENTRANTS = (*FIRST, *(name for name in MECHANISMS if name not in (*FIRST, *OF_COLUMNS, *OF_ROWS)))
# Settings that a mechanism has no use for: `Scored` draws from no posterior.
UNUSED = {"Scored": ("prior",)}


@dataclass(frozen=True)
class Comparison:
    """What was asked for; `options` are settings that the mechanisms share."""

    options: dict[str, Any]
    epsilons: tuple[float, ...]
    mechanisms: tuple[str, ...]
    repeats: int
    twin: dict[str, float] | None
    largest: int
    seed: int


@dataclass(frozen=True)
class Done:
    """What may be shown to who asked, and what the page has beside."""

    opening: str
    heads: tuple[str, ...]
    cells: list[tuple[str, ...]]
    notes: tuple[str, ...]
    beside: str = "utility against epsilon"


def carry_out(asked: Comparison, out: Path, signals: Interruption, tell: Callable[[Stage], None]) -> Done:
    """Compare, and write results.json, standings.csv, report.html and the figure."""
    names = asked.mechanisms or tuple(name for name in ENTRANTS if not _lacking(asked, name))
    _check_names(names)
    require_whole("largest", asked.largest)
    settings = _settings(asked, "Unweighted", None)
    m = settings.m

    def make(name: str, epsilon: float | None) -> Synthesizer:
        return synthesizer_of(_settings(asked, name, epsilon))

    for name in names:  # what cannot go together is refused before anything is read
        if name not in NOISES:
            make(name, None if name == "Unweighted" else max(asked.epsilons))
    absent = [] if asked.mechanisms else [name for name in ENTRANTS if _lacking(asked, name)]
    needed = sorted({f"--{option}" for name in absent for option in _lacking(asked, name)})
    notes = (f"{' and '.join(absent)} take part when {', '.join(needed)} is given.",) if absent else ()
    taken = {option for name in names for option in TAKES.get(name, ())}
    idle = sorted(name for name in OPTIONS if asked.options.get(name) is not None and name not in taken)
    if idle:
        raise InputError(f"options must be taken by one of the mechanisms compared, found --{', --'.join(idle)}")
    # Only its holder may look into the folder, unless it was made from a twin.
    with new_folder(out, signals, 0o777 if asked.twin else 0o700) as folder:
        table = table_of(asked.seed, asked.twin, settings, make("Unweighted", None))
        standings = compare(
            asked.seed,
            table,
            make,
            names,
            asked.epsilons,
            asked.repeats,
            m,
            asked.largest,
            lambda *stage: tell(Stage(*stage)),
        )
        _write(folder, asked, table, standings, m, notes)
    heads, lines = lines_of(standings)
    cells = [tuple(page.cell(value).text for value in line) for line in lines]
    opening = f"{SIMULATED} It has {table.twin}." if table.twin else SPENDS
    return Done(opening, heads, cells, notes)


def _lacking(asked: Comparison, name: str) -> list[str]:
    """Options that a mechanism needs and that were not given."""
    return [each for each in TAKES.get(name, ()) if OPTIONS[each].needed and asked.options.get(each) is None]


def _check_names(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in MECHANISMS and name not in NOISES:
            raise InputError(f"--mechanisms must be among {', '.join((*MECHANISMS, *NOISES))}, found {name!r}")


def _settings(asked: Comparison, name: str, epsilon: float | None) -> Settings:
    """Settings of one mechanism: the shared ones, and those of the rest that it takes."""
    left = {key for key in OPTIONS if key not in TAKES[name]} | {*UNUSED.get(name, ())}
    shared = {key: value for key, value in asked.options.items() if value is not None and key not in left}
    table = shared.pop("table", "twin")
    if name == "Unweighted":
        epsilon = None
    return Settings.of(
        {**shared, "table": table, "mechanism": name, "out": ".", "seed": asked.seed}
        | ({} if epsilon is None else {"epsilon": epsilon})
    )


def table_of(
    seed: int, twin: dict[str, float] | None, settings: Settings, synthesizer: Synthesizer, beside: Any = None
) -> Table:
    """The table that settings name, or a twin simulated from public parameters, and beside public columns."""
    if twin is None:
        return Table.of(synthesizer.read(open_settings(settings)))
    if not isinstance(settings.formula, str) or not isinstance(settings.family, str):
        raise InputError("--twin must be of one formula and family, found several")
    if beside is None and not Formula.parse(settings.formula).intercept_only:
        raise InputError(f"--twin must be of a formula without covariates, 'y ~ 1', found {settings.formula!r}")
    return simulate_twin(seed, synthesizer, twin, beside)


def _write(
    folder: Path, asked: Comparison, table: Table, standings: list[Standing], m: int, notes: tuple[str, ...]
) -> None:
    built = build(table, standings, m, notes)
    results = {
        "confidential": not table.twin,
        "about": SIMULATED if table.twin else SPENDS,
        "twin": asked.twin,
        "m": m,
        "seed": asked.seed,
        "largest": asked.largest,
        "settings": {name: value for name, value in asked.options.items() if value is not None and name != "table"},
        "version": __version__,
        "standings": [{**asdict(s), "kept": s.kept} for s in standings],
    }
    heads, lines = lines_of(standings)
    write_folder(folder, results, (heads, lines), built, "simulated twin" if table.twin else "confidential")


def write_folder(
    folder: Path,
    results: dict[str, Any],
    standings: tuple[Sequence[str], Sequence[Sequence[object]]],
    built: page.Page,
    mark: str,
) -> None:
    """Write results.json, standings.csv of heads and lines, report.html, and the figures with a mark on them."""
    text = json.dumps(_plain(results), indent=2, allow_nan=False)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    heads, lines = standings
    with (folder / "standings.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heads)
        for line in lines:
            writer.writerow([guarded(value.value if isinstance(value, page.Cell) else value) for value in line])
    (folder / "report.html").write_text(page.render(built), encoding="utf-8")
    for figure in built.figures:
        save(figure, folder / "figures", mark)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
