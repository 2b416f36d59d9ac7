"""The paper's studies on the command line: `alphasynth study`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from alphasynth.catalogue import STUDIES, listing
from alphasynth.cli.ledger import Json, print_table
from alphasynth.errors import InputError, found
from alphasynth.runs.interruption import SIGNALS
from alphasynth.runs.new_folder import check_place

SIZES = ("toy", "paper", "large")


def study(
    name: Annotated[str, typer.Argument(autocompletion=lambda: list(STUDIES), help=listing(STUDIES))],
    out: Annotated[
        Path, typer.Option(help="Folder to make, with results.json, report.html and figures; must not exist.")
    ],
    size: Annotated[
        str,
        typer.Option(autocompletion=lambda: list(SIZES), help="toy (seconds), paper (in full), or large (to be sure)."),
    ] = "paper",
    table: Annotated[
        str | None,
        typer.Option(help="salary: the 2017 Survey of Doctorate Recipients' public-use file, or URL::table."),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="contraction: records of a database, as in the paper unless told.")
    ] = None,
    generator: Annotated[
        str | None,
        typer.Option(help="contraction: one's own function of rng and n, which makes a table, FILE.py:NAME."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="contraction: one's own model, FILE.py:NAME, or a built-in family; negative_binomial unless told."
        ),
    ] = None,
    formula: Annotated[
        str | None, typer.Option(help="contraction: of the model; the table's first column by itself unless told.")
    ] = None,
    above: Annotated[
        float | None, typer.Option(help="contraction: bound of which the share of one's own databases above is told.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes for studies of many tables (as many as cores).")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    as_json: Json = False,
) -> None:
    """Run one of the paper's studies: its numbers and figures beside ours, with a verdict on each."""
    for option, value, known in (("a study", name, STUDIES), ("--size", size, SIZES)):
        if value not in known:
            raise InputError(f"{option} must be one of {', '.join(known)}, found {found(value)}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if processes is not None and processes < 1:
        raise InputError(f"--processes must be at least 1, found {processes}")
    from alphasynth.cli.progress import shown_on
    from alphasynth.runs.clock import Stage
    from alphasynth_studies import named_study
    from alphasynth_studies.output import PAGE, RESULTS, TOY, carry_out, shown, verdicts
    from alphasynth_studies.study import Asked

    check_place(out)
    chosen = named_study(name)
    own: dict[str, Any] = {"n": n, "generator": generator, "model": model, "formula": formula, "above": above}
    own = {option: value for option, value in own.items() if value is not None}
    if own and name != "contraction":
        raise InputError(f"--{next(iter(own))} is for the study contraction, found it with {name}")
    if own:
        from alphasynth_studies.own.databases import Own
        from alphasynth_studies.own.study import own_study

        chosen = own_study(Own(**own))
    if table is not None and not chosen.takes_table:
        raise InputError(f"--table is for the study salary, found it with {name}")
    with shown_on(sys.stderr, quiet or as_json, SIGNALS) as tell:
        asked = Asked(size, table, lambda *stage: tell(Stage(*stage)), processes or cores)
        lines = carry_out(chosen, asked, out, SIGNALS)
    with suppress(OSError):  # no one listens, but the folder stands
        results = (out / RESULTS).read_text(encoding="utf-8")
        if as_json:
            typer.echo(results)
        elif not quiet:
            for words in (json.loads(results)["mark"], TOY if size == "toy" else ""):
                typer.echo(f"{words[:1].upper()}{words[1:]}\n" if words else "", nl=False)
            if not lines:
                typer.echo(f"{json.loads(results)['words']}\n{out / PAGE}: the same with figures and tables")
                return
            heads = ("what", "paper", "ours", "tolerance", "verdict")
            cells = [
                (e.what, shown(e.paper), shown(line.ours), shown(e.tolerance), line.shown)
                for line in lines
                for e in (line.expected,)
            ]
            print_table([heads, *cells], right=(1, 2, 3))
            typer.echo(f"\n{verdicts(lines)}\n{out / PAGE}: the same with reasons, figures and tables")
