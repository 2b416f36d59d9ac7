"""What a budget will buy, on the command line: `alphasynth plan`. No confidential table is read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alphasynth.cli.ledger import print_table
from alphasynth.cli.options import Quiet
from alphasynth.cli.report import split
from alphasynth.errors import InputError, require_positive
from alphasynth.runs.interruption import SIGNALS, Left

# Each takes some 300 MB.
MOST_PROCESSES = 8

if TYPE_CHECKING:
    import pandas as pd

    from alphasynth.planning.plan import Plan


def plan(
    columns: Annotated[Path, typer.Option(help="The columns file: what is public of each column.")],
    rows: Annotated[int, typer.Option(help="How many rows the table has, or is going to have.")],
    epsilon: Annotated[float, typer.Option(help="Print the errors at this epsilon; the page has all others.")] = 4.0,
    delta: Annotated[float | None, typer.Option(help="And at this delta; a pure epsilon unless told.")] = None,
    response: Annotated[
        list[str] | None, typer.Option(help="Columns that matter most, comma-separated; else those of the file.")
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(help="A public table that is like the data, last year's release: its rows stand in for them."),
    ] = None,
    confirm_public: Annotated[
        list[str] | None,
        typer.Option(help="Facts of the columns file that were read off a table and are public: names, or all."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The page to write, HTML.")] = Path("plan.html"),
    quiet: Quiet = False,
) -> None:
    """Say what errors to expect of a whole table, for every budget, from public facts alone: nothing is spent."""
    from alphasynth.synthesis.checks import small_delta

    require_positive("epsilon", epsilon)
    if delta is not None:
        small_delta(delta)
    if out.exists():
        raise InputError(f"--out must not exist yet, found {str(out)!r}")
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out must go into a folder that exists, found no {str(out.absolute().parent)!r}")
    from alphasynth.cli.progress import shown_on
    from alphasynth.planning.page import render
    from alphasynth.planning.plan import plan as made_for
    from alphasynth.raking.columns import Columns
    from alphasynth.runs.clock import Stage
    from alphasynth.runs.report import replace_file
    from alphasynth.tables.opening import open_table

    declared = Columns.read(columns)
    with shown_on(sys.stderr, quiet, SIGNALS) as tell:
        made = made_for(
            declared,
            rows=rows,
            response=split(response) or (),
            like=None if like is None else open_table(like),
            confirm_public=split(confirm_public) or (),
            processes=min(os.cpu_count() or 1, MOST_PROCESSES),
            tell=lambda done, of: tell(Stage(f"run {done:,} of {of:,} on stand-ins", done, of)),
        )
        noise = made.table(epsilon, delta)
        page = render(made)
    with SIGNALS.whole(), SIGNALS.cleaning(lambda: Left.NOTHING):
        replace_file(out, page, 0o644)
    if not quiet:
        _print(made, noise, "" if delta is None else f", delta {delta:g}", epsilon)
        typer.echo(f"{out}: all items, with epsilon and delta to turn")


def _print(made: Plan, noise: pd.DataFrame, beside: str, epsilon: float) -> None:
    """Noise of each kind of item, and where it is loudest."""
    from alphasynth.planning.page import from_epsilon, in_errors

    typer.echo(f"Privacy noise of one table of {made.n:,} rows at epsilon {epsilon:g}{beside}, in standard errors:\n")
    lines = []
    for kind, of in noise.groupby("kind", sort=False):
        loudest = of.iloc[int(of["standard_errors"].argmax())]
        middle, most = (in_errors(float(each)) for each in (of["standard_errors"].median(), loudest["standard_errors"]))
        enough = of["enough_epsilon"].max(skipna=False)
        lines.append((str(kind), f"{len(of):,}", middle, most, str(loudest["item"]), from_epsilon(float(enough))))
    heads = ("of a", "items", "in the middle", "at the most", "", "all below 1 from epsilon")
    print_table([heads, *lines], right=(1, 2, 3, 5))
    typer.echo("")
