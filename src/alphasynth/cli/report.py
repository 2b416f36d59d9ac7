"""Looking at tables on the command line: `alphasynth evaluate` and `alphasynth report`."""

from __future__ import annotations

import csv
import json
import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphasynth.cli.ledger import Json, print_table
from alphasynth.errors import InputError
from alphasynth.runs.interruption import SIGNALS, Left

if TYPE_CHECKING:
    from alphasynth.pages.measures import Lines
    from alphasynth.runs.evaluate import Evaluation

Names = list[str] | None


def split(values: Names) -> list[str] | None:
    """Names in options that may be repeated, each a list with commas; quotes protect a comma."""
    return [name.strip() for line in csv.reader(values or []) for name in line] or None


def numbers(name: str, values: Names) -> list[float] | None:
    """Numbers in an option that may be repeated, each a list with commas."""
    try:
        return None if values is None else [float(value) for value in split(values) or []]
    except ValueError:
        raise InputError(f"{name} must be numbers with commas between, found something else") from None


def evaluate(
    confidential: Annotated[str, typer.Argument(help="The confidential table: a file, or URL::table.")],
    synthetic: Annotated[list[str], typer.Argument(help="Synthetic tables, ours or anyone's: files, or URL::table.")],
    columns: Annotated[Names, typer.Option(help="Columns to compare (all that the tables share).")] = None,
    target: Annotated[str | None, typer.Option(help="Column that risk is measured on (the first numeric one).")] = None,
    quantiles: Annotated[Names, typer.Option(help="Quantiles to compare, 0.15,0.9 unless told.")] = None,
    regression: Annotated[
        Names,
        typer.Option(
            help="Formula to fit to every table, 'visits ~ age + C(sex)' or 'negative binomial: visits ~ age'; may be "
            "repeated."
        ),
    ] = None,
    draws: Annotated[
        Names,
        typer.Option(help="Draw that each table came from, 1,1,2,2; as guarantee.json says, or each from its own."),
    ] = None,
    radius: Annotated[Names, typer.Option(help="Radii of identification risk (0.1,0.2,0.3).")] = None,
    absolute: Annotated[bool, typer.Option("--absolute", help="Radii are not shares of the value.")] = False,
    known: Annotated[
        Names, typer.Option(help="Columns that an intruder knows: risk is measured among rows that share them.")
    ] = None,
    aligned: Annotated[
        bool, typer.Option("--aligned", help="Row i of each synthetic file was made for row i of the confidential one.")
    ] = False,
    holdout: Annotated[
        str | None, typer.Option(help="Table of like records that no synthesizer saw, for nearest-record distances.")
    ] = None,
    survey_weights: Annotated[
        str | None, typer.Option(help="Public column of survey weights, by which statistics are weighted too.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Also write a page, HTML; confidential.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of the confidential file, where it is text.")] = None,
    encoding: Annotated[str, typer.Option(help="Of the confidential file, where it is text.")] = "utf-8",
    decimal_comma: Annotated[
        bool,
        typer.Option(
            "--decimal-comma",
            help="The confidential file is text with commas before decimals, 3,14 (as guarantee.json says).",
        ),
    ] = False,
    thousands: Annotated[
        str | None, typer.Option(help="Of the confidential file, where it is text: what stands between thousands.")
    ] = None,
    hive: Annotated[
        bool, typer.Option("--hive", help="The confidential table's folders have keys, year=2024, in their names.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare synthetic tables with the confidential one: utility and empirical risk. The output is confidential."""
    from alphasynth.pages.measures import VECTOR_WEIGHTS, is_vector
    from alphasynth.runs.evaluate import EvaluationSettings, run

    if page is not None:
        _check_page(page)
    asked = EvaluationSettings(
        confidential=confidential,
        synthetic=tuple(synthetic),
        columns=split(columns),
        target=target,
        quantiles=numbers("--quantiles", quantiles),
        regressions=regression or None,
        draws=numbers("--draws", draws),
        radii=numbers("--radius", radius),
        relative=not absolute,
        known=tuple(split(known) or ()),
        aligned=aligned,
        holdout=holdout,
        survey_weights=survey_weights,
        delimiter=delimiter,
        encoding=encoding,
        decimal_comma=decimal_comma,
        thousands=thousands,
        hive=hive,
    )
    done = run(asked)
    if page is not None:
        _write_page(page, done)
    if as_json:
        found = {name: _objects(lines) for name, lines in done.tables.items()}
        said = {"confidential": True, "verdict": done.verdict.lines, **found}
        typer.echo(json.dumps(said, indent=2, allow_nan=False))
        return
    typer.echo("Confidential: computed from single records.\n")
    for line in done.verdict.lines:
        typer.echo(textwrap.fill(line, 110, subsequent_indent="  "))
    typer.echo()
    if is_vector(done.outcome.rules):
        typer.echo(textwrap.fill(VECTOR_WEIGHTS, 110) + "\n")
    for lines in done.tables.values():
        _print(lines)
    if page is not None:
        typer.echo(f"{page}: the same and more, with figures (confidential)")


def _write_page(path: Path, done: Evaluation) -> None:
    from alphasynth.runs.report import replace_file

    with SIGNALS.whole(), SIGNALS.cleaning(lambda: Left.NOTHING):
        replace_file(path, done.html(), 0o600)


def _check_page(path: Path) -> None:
    """Refuse a place where a confidential page cannot or must not go."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"--page must go into a folder that exists, found no {str(folder)!r}")
    if (folder / "guarantee.json").exists():
        raise InputError(f"--page is confidential and must not go into a release, found {str(folder)!r}")


def _objects(lines: Lines) -> list[dict[str, Any]]:
    return [dict(zip(lines.heads, map(_finite, line), strict=True)) for line in lines.lines]


def _finite(value: Any) -> Any:
    """What JSON can hold: nothing for what is not a number; of an estimate itself, to the last digit; dates as text."""
    from alphasynth.evaluation.digits import Days, WithError, date_words

    if isinstance(value, Days):
        return [date_words(end) or None for end in value]
    if isinstance(value, WithError):
        return (date_words(value.value) or None) if value.day else _finite(value.value)
    if isinstance(value, tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _print(lines: Lines) -> None:
    """A table without its first column, which names the one synthesizer there is."""
    from alphasynth.pages.page import cell

    if not lines.lines:
        return
    typer.echo(lines.caption)
    cells = [tuple(cell(value) for value in line[1:]) for line in lines.lines]
    right = tuple(i for i in range(len(cells[0])) if any(line[i].value is not None for line in cells))
    print_table([lines.heads[1:], *(tuple(c.text for c in line) for line in cells)], right)
    typer.echo(textwrap.fill(lines.note, 110) + "\n" if lines.note else "")


def report(
    run: Annotated[Path, typer.Argument(help="Run folder of `alphasynth synthesize`.")],
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Also write the figures to confidential/figures: PNG, SVG, and CSV numbers."),
    ] = False,
) -> None:
    """Render a run's two pages again: release/report.html may be published, confidential/report.html must not."""
    from alphasynth.runs.report import FIGURES, NAME, write_pages
    from alphasynth.runs.results import read_run

    if not run.is_dir():
        raise InputError(f"a run folder must exist, found none at {str(run)!r}")
    rendered = write_pages(run, read_run(run), figures, SIGNALS)
    if not rendered.releasable:
        typer.echo("NOT FOR RELEASE: the seed was fixed, so who guesses it can repeat the run.")
    typer.echo(f"{run}/confidential/{NAME}: everything; not for release")
    typer.echo(f"{run}/release/{NAME}: what belongs to the release")
    if figures:
        typer.echo(f"{run}/confidential/{FIGURES}: {len(rendered.figures)} figures; not for release")
