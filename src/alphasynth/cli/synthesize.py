"""Runs on the command line: `alphasynth synthesize`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphasynth.catalogue import FAMILIES, FORMATS, MECHANISMS, PRIORS, SAMPLERS, listing
from alphasynth.cli.ledger import Json, LedgerOption
from alphasynth.cli.options import TABLE, DecimalComma, Delimiter, Encoding, Header, Hive, Quiet, Thousands, settings_of
from alphasynth.cli.waiting import say_wait
from alphasynth.privacy.accounting import counted
from alphasynth.runs.interruption import SIGNALS
from alphasynth.runs.settings import Settings, read_config
from alphasynth.synthesis.choice import chosen

if TYPE_CHECKING:
    from alphasynth.runs.run import Report


def _either(default: bool, name: str) -> str:
    """Which of a pair of flags counts unless told."""
    return name if default else f"no-{name}"


def synthesize(
    *,
    table: Annotated[str | None, TABLE] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings from a run.toml; options given here count first.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A model.toml with a formula and a family for each column; see inspect --suggest."),
    ] = None,
    columns: Annotated[
        Path | None,
        typer.Option(
            help="A columns.toml that declares the columns of a whole table; see inspect --suggest columns.toml."
        ),
    ] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option(help="'response ~ terms'; odd names go in `backticks`. Several make a chain of columns."),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=lambda: list(FAMILIES), help=f"One for all formulas, or one for each.\n\n{listing(FAMILIES)}"
        ),
    ] = None,
    levels: Annotated[
        list[str] | None, typer.Option(help="Public levels of a column, in order: size='small|medium|large'.")
    ] = None,
    range: Annotated[  # noqa: A002
        list[str] | None, typer.Option(help="Public limits of a column, which its synthetic values keep: age=0:110.")
    ] = None,
    whole: Annotated[list[str] | None, typer.Option(help="Columns, comma-separated, that hold whole numbers.")] = None,
    decimals: Annotated[
        list[str] | None,
        typer.Option(help="Digits after the point that a column's synthetic numbers have at most: income=2."),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="What a column's gaps are: age=model (an indicator is modelled first), age=drop (such rows leave) or "
            "age=public (which rows have gaps is public)."
        ),
    ] = None,
    confirm_public: Annotated[
        list[str] | None,
        typer.Option(
            help="What a model.toml lists as read_off_the_table and is public indeed: columns, comma-separated, single "
            "facts (age.limits), or all. A strict mechanism refuses the rest."
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help=f"Of a chain: one weight per record, or one for each column ({Settings.weights})."),
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(autocompletion=lambda: list(MECHANISMS), help=listing(MECHANISMS))
    ] = None,
    m: Annotated[
        int | None,
        typer.Option(
            "--m",
            help="Draws of parameters to release, 1 unless told; epsilon adds up over them.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder to make; must not exist.")] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Policy budget in all, for one row; with --unit the statement is --max-rows times as much. Without it "
            "epsilon falls out of the weights."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Of a strict mechanism: promise (epsilon, delta) in place of a pure epsilon, where that allows each "
            "of many columns and draws more. At most 0.001 and below one in the number of rows; 1e-9, say."
        ),
    ] = None,
    public: Annotated[
        list[str] | None, typer.Option(help="Columns, comma-separated, that are public and released as they are.")
    ] = None,
    survey_weights: Annotated[
        str | None, typer.Option(help="Public column of survey weights, by which the report weights its statistics.")
    ] = None,
    survey_likelihood: Annotated[
        bool | None,
        typer.Option(
            "--survey-likelihood",
            help="Survey weights, scaled to sum to the number of rows, multiply the log-likelihoods too (LW, CW, SW, "
            "re-weighting).",
        ),
    ] = None,
    options: dict[str, Any],
    prior: Annotated[str | None, typer.Option(help=listing(PRIORS))] = None,
    sampler: Annotated[
        str | None,
        typer.Option(autocompletion=lambda: list(SAMPLERS), help=listing(SAMPLERS)),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help=f"Posterior draws that decide the bound ({Settings.draws}).")
    ] = None,
    thresh: Annotated[
        float | None,
        typer.Option(help=f"Drop the draws above this quantile of their bounds; 1: none ({Settings.thresh:g})."),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of a synthetic table (as many as the table has).")] = None,
    tables_per_draw: Annotated[
        int | None, typer.Option(help=f"Tables from each draw; they cost nothing more ({Settings.tables_per_draw}).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Makes the run repeatable and therefore not releasable; for tests and studies.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Column whose values are the units of privacy (persons, say), with --max-rows.")
    ] = None,
    max_rows: Annotated[int | None, typer.Option(help="Rows of each unit that take part at most.")] = None,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            autocompletion=lambda: list(FORMATS),
            help=f"Of the synthetic files: {', '.join(FORMATS)}. The input's, unless told; SAS becomes xport.",
        ),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal_comma: DecimalComma = None,
    thousands: Thousands = None,
    header: Header = None,
    hive: Hive = None,
    csv_safe: Annotated[
        bool | None,
        typer.Option(
            "--csv-safe/--no-csv-safe",
            help="CSV, TSV: an apostrophe before text that a spreadsheet would run as a formula "
            f"({_either(Settings.csv_safe, 'csv-safe')}).",
        ),
    ] = None,
    sort_rows: Annotated[
        bool | None,
        typer.Option("--sort-rows", help="Release a file's rows sorted by their public columns, not in its order."),
    ] = None,
    by_row: Annotated[
        bool | None, typer.Option("--by-row", help="Also write weights and bounds by row number, for a file.")
    ] = None,
    report: Annotated[
        bool | None,
        typer.Option(
            "--report/--no-report",
            help=f"Render report.html into both folders ({_either(Settings.report, 'report')}).",
        ),
    ] = None,
    parameters: Annotated[
        bool | None,
        typer.Option(
            "--parameters", help="Release the m draws of parameters too, parameters.csv; they cost nothing more."
        ),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the data set in the ledger.")] = None,
    ledger: LedgerOption = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Turn a confidential table into a run folder: release/ may be published, confidential/ must not."""
    given = {name: value for name, value in locals().items() if name not in ("options", "quiet", "as_json")}
    settings = settings_of(given | options)
    if not (quiet or as_json or is_named(mechanism, config)):
        typer.echo(textwrap.fill(chosen(settings.given).words, 110))
    if out is None:
        settings = settings.at(_free(Path(settings.out)))
    from alphasynth.cli.progress import shown_on

    with shown_on(sys.stderr, quiet, SIGNALS) as tell:
        from alphasynth.runs.run import run

        _use_cache()
        finished = run(settings, tell, SIGNALS, None if quiet else say_wait)
    try:
        if as_json:
            typer.echo(json.dumps(_report(finished), indent=2))
        elif not quiet:
            _print_report(finished, settings)
        sys.stdout.flush()
    except OSError:  # no one listens, but the run stands
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_named(mechanism: str | None, config: Path | None) -> bool:
    """Whether somebody named the mechanism, as an option or in the config file."""
    return mechanism is not None or (config is not None and read_config(config).get("mechanism") is not None)


def _free(path: Path) -> Path:
    """The path of a config file's run folder, or the next one that is free: run, run-2, run-3, ..."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _use_cache() -> None:
    from alphasynth.synthesis.compilation import use_compilation_cache

    with contextlib.suppress(OSError):  # where no folder can be written, programs are compiled anew
        use_compilation_cache()


def _report(report: Report) -> dict[str, Any]:
    return {
        "run": str(report.out),
        "release": [str(report.out / "release" / name) for name in report.files],
        "confidential": str(report.out / "confidential"),
        "ledger": str(report.ledger),
        "guarantee": report.statement,
    }


def _print_report(report: Report, settings: Settings) -> None:
    """Public facts only."""
    if settings.seed is not None:
        typer.echo("NOT FOR RELEASE: the seed was fixed, so who guesses it can repeat the run.")
    tables = len(report.statement["tables"])
    page = ", report.html" if "report.html" in report.files else ""
    drawn = ", parameters.csv" if "parameters.csv" in report.files else ""
    typer.echo(f"{report.out}/release: {counted(tables, 'synthetic table')}{drawn}, guarantee.json{page}")
    kept = "records, columns, a summary" if report.guarantee.measured else "realised epsilon, weights, draws"
    own = (
        ", report.html" if settings.report else ""
    )  # whether it could be rendered is not told here, and is in a warning
    typer.echo(f"{report.out}/confidential: {kept}{own}; not for release")
    typer.echo(f"{report.ledger}: the ledger, which has this run")
    if settings.epsilon is None:
        typer.echo("No --epsilon was given: look at the realised one in confidential/summary.json before you publish.")
    if settings.delta is not None and report.guarantee.policy_delta is None:
        typer.echo("--delta is not spent: a pure epsilon allows as much here, and is promised.")
    if report.guarantee.read_off_the_table:
        names = ", ".join(repr(name) for name in report.guarantee.read_off_the_table)
        typer.echo(f"{names} hold facts read off the table, which guarantee.json lists: nobody has confirmed them.")
    typer.echo("\n" + textwrap.fill(str(report.guarantee), 100))
