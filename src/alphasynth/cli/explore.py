"""A run's numbers as sliders, on the command line: `alphasynth explore`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alphasynth.cli.compare import twin_of
from alphasynth.cli.options import Quiet
from alphasynth.errors import InputError
from alphasynth.runs.interruption import SIGNALS, Left

if TYPE_CHECKING:
    from alphasynth.explorer.opening import Start
    from alphasynth.league.standings import Table
    from alphasynth.runs.files import Kept
    from alphasynth.runs.settings import Settings
    from alphasynth.synthesizer import Synthesizer

PAGE, TWIN_PAGE = "explorer.html", "explorer_twin.html"


def explore(
    run: Annotated[Path, typer.Argument(help="Run folder of `alphasynth synthesize`.")],
    twin: Annotated[
        list[str] | None,
        typer.Option(
            help="Explore a table simulated from public parameters, mean=100,phi=12,rows=1000, in place of the run's: "
            "then choosing spends no privacy. As many rows as the run's unless told."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help=f"The page to write; RUN/confidential/{PAGE} unless told, or {TWIN_PAGE} of a twin."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write one page on which a run's epsilon and other numbers are sliders; confidential, unless of a twin."""
    from alphasynth.cli.progress import shown_on
    from alphasynth.cli.synthesize import _use_cache
    from alphasynth.explorer.explore import explore as explored
    from alphasynth.explorer.ladder import MOST_FITS
    from alphasynth.privacy.randomness import child, key_of
    from alphasynth.runs.clock import Stage
    from alphasynth.runs.folder import CONFIDENTIAL
    from alphasynth.runs.from_settings import synthesizer_of
    from alphasynth.runs.report import replace_file

    parameters = twin_of(twin, needed=("mean",))
    path = out or run / CONFIDENTIAL / (PAGE if parameters is None else TWIN_PAGE)
    kept = _kept(run)
    check_page(path)
    settings = _settings(run, kept)
    synthesizer, key = synthesizer_of(settings), key_of(settings.seed)
    with shown_on(sys.stderr, quiet, SIGNALS) as tell, SIGNALS.cleaning(lambda: Left.NOTHING):
        tell(Stage("reading the run", 0, MOST_FITS))
        _use_cache()
        if parameters is None:
            records, start, words = kept.records, _start(kept), ""
        else:
            table = _twin(parameters, settings, synthesizer, kept)
            records, words = table.records, table.twin
            start = _started(synthesizer, table)
        html = explored(
            child(key, EXPLORER),
            synthesizer,
            records,
            start,
            words,
            lambda number: tell(Stage(f"fit {number}", number - 1, MOST_FITS)),
        )
        with SIGNALS.whole():
            replace_file(path, html, 0o600 if parameters is None else 0o666)
    if not quiet:
        typer.echo(f"{path}: {'confidential; not for release' if parameters is None else 'of a simulated twin'}")
        if parameters is None:
            typer.echo(
                "Choosing a setting by it spends privacy that no epsilon counts; --twin explores a simulated table."
            )


EXPLORER = 3  # place of the key; a run has used those before it


def check_page(path: Path) -> None:
    """Refuse a place where the page cannot or must not go."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"--out must go into a folder that exists, found no {str(folder)!r}")
    if path.is_dir():
        raise InputError(f"--out must be a file, found the folder {str(path)!r}")
    if (folder / "guarantee.json").exists():
        raise InputError(f"--out must not go into a release, whose files may be published, found {str(folder)!r}")


def _kept(run: Path) -> Kept:
    """What the run keeps, if it is one that can be explored."""
    from alphasynth.explorer.opening import check_mechanism
    from alphasynth.runs.folder import RELEASE
    from alphasynth.runs.results import read_kept, read_release

    if not run.is_dir():
        raise InputError(f"a run folder must exist, found none at {str(run)!r}")
    release = read_release(run / RELEASE)
    check_mechanism(release.guarantee.mechanism)
    return read_kept(run, release)


def _settings(run: Path, kept: Kept) -> Settings:
    """The run's settings, with its model where the run lies now."""
    from dataclasses import replace

    from alphasynth.runs.files import MODEL
    from alphasynth.runs.folder import CONFIDENTIAL
    from alphasynth.runs.settings import Settings

    settings = Settings.of(kept.settings)
    return settings if settings.model is None else replace(settings, model=str(run / CONFIDENTIAL / MODEL))


def _start(kept: Kept) -> Start:
    """Where the run stood."""
    from alphasynth.explorer.opening import Start, settled_numbers

    numbers = settled_numbers([entry["settled"] for entry in kept.summary["rounds"]])
    policy = kept.summary["policy_epsilon"]
    epsilon = kept.summary["epsilon_total"] if policy is None else policy
    return Start(numbers, float(epsilon), kept.rounds[0].lipschitz)


def _twin(parameters: dict[str, float], settings: Settings, synthesizer: Synthesizer, kept: Kept) -> Table:
    """The simulated table; its seed is public like all else of it."""
    from alphasynth.runs.compare import table_of

    return table_of(1, {"rows": float(kept.summary["n"]), **parameters}, settings, synthesizer)


def _started(synthesizer: Synthesizer, table: Table) -> Start:
    """Where a run on the twin stands."""
    from alphasynth.explorer.opening import Start
    from alphasynth.privacy.randomness import key_of
    from alphasynth.synthesis.outcome import carry_out

    carried = carry_out(key_of(1), synthesizer, synthesizer.model, table.records)
    return Start.of_trail(carried.trail, synthesizer.m, synthesizer.epsilon)
