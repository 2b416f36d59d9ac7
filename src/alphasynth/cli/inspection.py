"""A table's columns on the command line: `alphasynth inspect`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from alphasynth.cli.ledger import Json, print_table
from alphasynth.cli.options import TABLE, DecimalComma, Delimiter, Encoding, Hive, Thousands
from alphasynth.cli.report import split
from alphasynth.errors import InputError
from alphasynth.privacy.accounting import counted
from alphasynth.runs.settings import Settings

# A suggestion to a file with this word in its name is a model; to any other, declared columns.
MODEL = "model"


def inspect(
    table: Annotated[str, TABLE],
    suggest: Annotated[
        Path | None,
        typer.Option(
            help="Write a start to this file, to be checked and edited by hand: declared columns of the whole table "
            "(for Raked) or, to a file with 'model' in its name, a model of it, column by column."
        ),
    ] = None,
    public: Annotated[
        list[str] | None, typer.Option(help="With --suggest: columns, comma-separated, that are public.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal_comma: DecimalComma = None,
    thousands: Thousands = None,
    hive: Hive = None,
    as_json: Json = False,
) -> None:
    """Show a table's columns, types and distinct values, or suggest a model of all; for its holder's eyes only."""
    from alphasynth.tables.csv_files import TextFormat
    from alphasynth.tables.opening import open_table

    text = TextFormat(delimiter, encoding or Settings.encoding, decimal_comma=bool(decimal_comma), thousands=thousands)
    opened = open_table(table, text=text, hive=bool(hive))
    if suggest is not None and MODEL not in suggest.name.lower():
        if public:
            raise InputError(
                "--public must go with a model, found declared columns: leave public columns out of them, or write "
                f"to a file with {MODEL!r} in its name"
            )
        _suggest_columns(opened, suggest)
        return
    if suggest is not None:
        _suggest(opened, suggest, split(public) or ())
        return
    from alphasynth.tables.inspection import inspect_table

    profile = inspect_table(opened)
    if as_json:
        typer.echo(json.dumps(asdict(profile), indent=2))
        return
    distinct = "" if profile.distinct_rows is None else f", {profile.distinct_rows:,} of them distinct"
    typer.echo(f"{counted(profile.rows, 'row')}{distinct}; {counted(len(profile.columns), 'column')} (confidential)")
    heads = ("column", "type", "missing", "distinct", "count family", "")
    lines = [(c.name, c.type, f"{c.missing:,}", f"{c.distinct:,}", c.family or "none", c.why) for c in profile.columns]
    print_table([heads, *lines], right=(2, 3))
    typer.echo("Families of a column of counts by itself; --suggest FILE declares all columns, for a whole table.")


def _suggest_columns(table: Any, path: Path) -> None:
    """Write declared columns and say what to do with them; names of columns only."""
    from alphasynth.raking.suggestion import suggest_columns, write_columns

    suggestion = suggest_columns(table)
    write_columns(suggestion, path)
    typer.echo(f"{path}: {counted(len(suggestion.columns.names), 'column')} declared (confidential until checked)")
    for name, why in suggestion.left_out:
        typer.echo(f"left out: {name} ({why})")
    typer.echo(
        "Levels, labels, limits, decimals and gaps were read off the table, and are listed so (read_off_the_table): "
        "check that they may be told, and take out of these lists what may, or confirm it on the command line. Raked "
        "refuses the rest.\n"
        f"alphasynth synthesize TABLE --columns {path} --epsilon 4 --delta 1e-9 --confirm-public "
        "NAME,... --m 5 --out RUN"
    )


def _suggest(table: Any, path: Path, public: Sequence[str]) -> None:
    """Write a suggestion and say what to do with it; names of columns only."""
    from alphasynth.models.suggestion import suggest_model, write_suggestion

    suggestion = suggest_model(table, public)
    write_suggestion(suggestion, path)
    typer.echo(f"{path}: a model of {counted(len(suggestion.model.columns), 'column')} (confidential until checked)")
    for name, why in suggestion.left_out:
        typer.echo(f"left out: {name} ({why})")
    typer.echo(
        "Levels, labels, limits, decimals, gaps, families and formulas were read off the table, and are listed so "
        "(read_off_the_table): check that they may be told, and take out of these lists what may, or confirm it on the "
        "command line. A strict mechanism refuses the rest.\n"
        f"alphasynth synthesize TABLE --model {path} --confirm-public NAME,... ..."
    )
