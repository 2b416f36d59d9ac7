"""Help with the dials on the command line: `alphasynth tune`."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from alphasynth.catalogue import OPTIONS
from alphasynth.cli.compare import twin_of
from alphasynth.cli.ledger import Json, print_table
from alphasynth.cli.options import READING, Quiet, as_settings
from alphasynth.errors import InputError
from alphasynth.runs.interruption import SIGNALS

# Options of `synthesize` that say what is tuned.
TUNED = (
    *("table", "formula", "family", "levels", "range", "whole", "decimals", "mechanism", "m", "public"),
    *(name for name in OPTIONS if name in ("scale", "shift", "radius", "relative", "within", "k", "keep_zeros")),
    *("prior", "sampler", "draws", "thresh", *READING),
)


def tune(
    options: dict[str, Any],
    out: Annotated[Path, typer.Option(help="Folder to make, with results.json, report.html and the figure.")],
    sweep: Annotated[
        str,
        typer.Option(
            help="The number to turn, and its values: radius=5,10,20; scale, shift, radius or k alone will do. Unless "
            "told, k where there is one, else the radius, else the scale."
        ),
    ] = "",
    twin: Annotated[
        list[str] | None,
        typer.Option(
            help="Public parameters of the simulated table, mean=100,phi=12,rows=1000; sd for normal, log_normal and "
            "gamma, zeros (a share) for families in two parts. Those not given are stand-ins, by --range where there "
            "is one; of rows it has as many as TABLE, and the values of its --public columns."
        ),
    ] = None,
    on_table: Annotated[
        bool,
        typer.Option("--on-table", help="Tune on TABLE itself, which spends privacy that no guarantee covers."),
    ] = False,
    repeats: Annotated[int, typer.Option(help="Runs at each value; 5 unless told.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the repeats; tuning is a study and never a release.")] = 1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn one number of a mechanism and show Delta against utility; on a simulated twin, unless told otherwise.

    It needs --formula and --family; CW needs radii too (--sweep radius=5,10), or what suggests some: --range, or a
    public mean (--twin mean=...).
    """
    given = {name: value for name, value in as_settings(options).items() if value is not None}
    if twin is not None and on_table:
        raise InputError("tune must have a twin or --on-table, which spends privacy, found both")
    if on_table and "table" not in given:
        raise InputError("--on-table must have a TABLE, found none")
    if repeats < 1:
        raise InputError(f"--repeats must be at least 1, found {repeats}")
    dial, _, listed = sweep.partition("=")
    try:
        values = tuple(float(value) for value in listed.split(",") if value)
    except ValueError:
        raise InputError(f"--sweep must be NAME=NUMBER,NUMBER,..., found {sweep!r}") from None
    from alphasynth.cli.progress import shown_on

    with shown_on(sys.stderr, quiet or as_json, SIGNALS) as tell:
        from alphasynth.runs.tune import Tuning, carry_out

        given.setdefault("m", 1)
        parameters = twin_of(twin, needed=()) or {}
        done = carry_out(Tuning(given, dial, values, repeats, parameters, on_table, seed), out, SIGNALS, tell)
    if as_json:
        typer.echo((out / "results.json").read_text(encoding="utf-8"))
    elif not quiet:
        typer.echo(textwrap.fill(done.opening, 110) + "\n")
        print_table([done.heads, *done.cells], right=tuple(range(len(done.heads))))
        typer.echo(f"\n{out}/report.html: the same, with {done.beside}")
