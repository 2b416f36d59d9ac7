"""A table's columns on the command line: `alphasynth inspect`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from alphasynth.cli.ledger import Json, print_table
from alphasynth.cli.options import TABLE, DecimalComma, Delimiter, Encoding, Header, Hive, Thousands
from alphasynth.cli.report import split
from alphasynth.errors import InputError
from alphasynth.privacy.accounting import counted
from alphasynth.runs.settings import Settings

# A suggestion to a file with this word in its name is a model; to any other, declared columns.
MODEL = "model"
# How many synthetic tables the command that goes on asks for.
TABLES = 5
# The epsilon of a person in that command, and how many digits that of a row has where a person has several.
EPSILON, DIGITS = 4, 3
ONE_ROW = (
    "Each row counts as one person; where a person has several, add --unit COLUMN --max-rows N, and divide --epsilon "
    "by N."
)


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
    response: Annotated[
        list[str] | None,
        typer.Option(
            help="With --suggest: columns, comma-separated, that matter most: they come last in a model, with all "
            "others before them, and are the response of declared columns."
        ),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal_comma: DecimalComma = None,
    thousands: Thousands = None,
    header: Header = None,
    hive: Hive = None,
    as_json: Json = False,
) -> None:
    """Show a table's columns, types and distinct values, or suggest a model of all; for its holder's eyes only."""
    from alphasynth.tables.csv_files import TextFormat
    from alphasynth.tables.opening import is_database, open_table

    text = TextFormat(
        delimiter,
        encoding or Settings.encoding,
        decimal_comma=bool(decimal_comma),
        thousands=thousands,
        header=bool(header),
    )
    opened = open_table(table, text=text, hive=bool(hive))
    if suggest is not None:
        read = {"--delimiter": delimiter, "--encoding": encoding, "--thousands": thousands}
        words = [word for option, value in read.items() if value for word in (option, value)]
        words += ["--decimal-comma"] * bool(decimal_comma) + ["--header"] * bool(header) + ["--hive"] * bool(hive)
        shown = "TABLE" if is_database(table) else table  # an address may hold a password
        asked = [f"--response={each}" for each in response or ()] + [f"--public={each}" for each in public or ()]
        again = ["alphasynth", "inspect", shown, *words, *asked, "--suggest", str(suggest)]
        command = shlex.join(["alphasynth", "synthesize", shown, *words])
        start = _Start(suggest, command, split(response) or (), again)
        if MODEL in suggest.name.lower():
            _suggest_model(opened, start, split(public) or ())
        elif public:
            raise InputError(
                "--public must go with a model, found declared columns: leave public columns out of them, or write "
                f"to a file with {MODEL!r} in its name"
            )
        else:
            _suggest_columns(opened, start)
        return
    if response:
        raise InputError("--response must go with --suggest, found none")
    from alphasynth.suggestions.profile import inspect_table

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


class _Start(NamedTuple):
    """Where a suggestion goes, how the command that uses it begins, what matters most, and what was asked for."""

    path: Path
    command: str
    response: Sequence[str]
    again: Sequence[str]

    def is_of_the_rest(self, table: Any, left_out: Sequence[tuple[str, str]]) -> bool:
        """Whether columns are left out for their commas; if so, say which command reads them."""
        from alphasynth.suggestions.commas import read_with

        options = read_with(table, left_out)
        if not options or set(options) <= set(self.again):
            return False
        other = " (where they stand before decimals, --decimal-comma)" if "--decimal-comma" not in options else ""
        typer.echo(
            f"{self.path} is of the columns without commas alone. Delete it, and say what the commas are{other}:\n"
            f"{shlex.join([*self.again[:3], *options, *self.again[3:]])}"
        )
        return True

    def written(
        self, what: str, left_out: Sequence[tuple[str, str]], last: str, facts: str, doubts: Sequence[tuple[str, str]]
    ) -> None:
        """Say what was written, what it leaves out, what to look at and what matters most; names of columns only."""
        from alphasynth.suggestions.files import on_one_line

        typer.echo(f"{self.path}: {what} (confidential until checked)")
        for name, why in left_out:
            typer.echo(on_one_line(f"left out: {name} ({why})"))
        for name, why in doubts:
            typer.echo(on_one_line(f"look at: {name} ({why})"))
        typer.echo(last)
        typer.echo(
            f"{facts} were read off the table, and are listed so (read_off_the_table): check that they may be told, "
            "take out of the file what may not, and confirm the rest. A strict mechanism refuses what nobody has "
            "confirmed."
        )

    def then(self, options: Sequence[str], delta: Sequence[str], unit: tuple[str, int] | None) -> None:
        """Say whose promise it is, and which command makes tables: with a unit its epsilon is a person's in all."""
        from alphasynth.suggestions.files import on_one_line

        name, rows = unit or ("", 1)
        epsilon = epsilon_of_row(EPSILON, rows)
        units = [] if unit is None else ["--unit", name, "--max-rows", str(rows)]
        if unit is None:
            typer.echo(ONE_ROW)
        else:
            typer.echo(
                f"Each value of {on_one_line(name)} counts as one person, of whom at most {counted(rows, 'row')} take "
                f"part: --epsilon {epsilon} is of one row, and {rows} times that, at most {EPSILON}, is the person's, "
                "which guarantee.json states. Where each row is a person of its own, leave --unit and --max-rows out, "
                f"and say --epsilon {EPSILON}."
            )
        words = [*options, "--epsilon", epsilon, *delta, "--m", str(TABLES), "--confirm-public", "all", *units]
        typer.echo(f"Then:\n{self.command} {shlex.join(words)} --out RUN")


def epsilon_of_row(epsilon: int, rows: int) -> str:
    """What a row may cost of a person's epsilon, who has so many rows: digits that are rounded down.

    >>> epsilon_of_row(4, 5), epsilon_of_row(4, 7), epsilon_of_row(4, 300)
    ('0.8', '0.571', '0.0133')
    """
    share = Decimal(epsilon) / rows
    step = Decimal(1).scaleb(share.adjusted() + 1 - DIGITS)
    return f"{share.quantize(step, ROUND_DOWN).normalize():f}"


def _suggest_columns(table: Any, start: _Start) -> None:
    """Write declared columns and say what to do with them."""
    from alphasynth.planning.table_waits import words_of
    from alphasynth.suggestions.columns import suggest_columns, write_columns

    suggestion = suggest_columns(table, start.response)
    write_columns(suggestion, start.path)
    last = f"What matters most: {', '.join(start.response) or 'nothing named'} (--response NAME,... says)."
    columns = counted(len(suggestion.columns.names), "column")
    facts = "Levels, labels, limits, decimals and gaps"
    start.written(f"{columns} declared", suggestion.left_out, last, facts, suggestion.doubts)
    if start.is_of_the_rest(table, suggestion.left_out):
        return
    if said := words_of(suggestion.columns.declared, table.count(suggestion.columns.names[0]), TABLES):
        typer.echo(f"With it a run is long: {said}.")
    start.then(["--columns", str(start.path)], ["--delta", "1e-9"], suggestion.unit)


def _suggest_model(table: Any, start: _Start, public: Sequence[str]) -> None:
    """Write a model and say what to do with it."""
    from alphasynth.planning.waits import expected
    from alphasynth.suggestions.model import suggest_model, write_suggestion

    suggestion = suggest_model(table, public, start.response)
    write_suggestion(suggestion, start.path)
    names = suggestion.model.names
    last = f"Last comes {names[-1]!r}, which may depend on all before it; --response NAME puts another there."
    facts = "Levels, labels, limits, decimals, gaps, families and formulas"
    what = f"a model of {counted(len(names), 'column')}"
    start.written(what, suggestion.left_out, last, facts, suggestion.doubts)
    if start.is_of_the_rest(table, suggestion.left_out):
        return
    if said := expected(suggestion.model, "BW").words:
        typer.echo(f"With it a run is long: {said}.")
    released = ["--public", ",".join(public)] if public else []
    start.then(["--model", str(start.path), *released], [], suggestion.unit)
