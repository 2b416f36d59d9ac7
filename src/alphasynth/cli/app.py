"""The command line: each command parses, calls one function, writes; heavy libraries are imported where needed."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphasynth import __version__
from alphasynth.catalogue import FAMILIES, FORMATS, MECHANISMS, PRIORS, SAMPLERS, listing
from alphasynth.cli.ledger import Json, LedgerOption, ledger_app, print_table
from alphasynth.cli.report import evaluate, report
from alphasynth.cli.study import study
from alphasynth.cli.trust import COMPARED, OPTIONS, as_settings, audit, compare, with_options
from alphasynth.interruption import SIGNALS
from alphasynth.privacy.accounting import counted

if TYPE_CHECKING:
    from alphasynth.runs.run import Report
    from alphasynth.runs.settings import Settings

app = typer.Typer(
    help="Synthetic tables from confidential microdata under a privacy budget.",
    epilog="Example: alphasynth synthesize salaries.csv --formula 'salary ~ 1' --family negative_binomial "
    "--mechanism Censored --epsilon 4 --m 1 --out run",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.add_typer(ledger_app, name="ledger")
app.command(epilog="Example: alphasynth evaluate visits.csv run/release/synthetic_01.csv")(evaluate)
app.command(epilog="Example: alphasynth report run")(report)
app.command(epilog="Example: alphasynth study contraction --size paper --out contraction")(study)

Table = Annotated[
    str | None,
    typer.Argument(
        help="CSV, TSV, Parquet, Arrow, Feather, SAS, SPSS or Stata file, or URL::table (duckdb://, postgres://, "
        "pyspark://, ...)."
    ),
]
Delimiter = Annotated[str | None, typer.Option(help="Of a text file, where it is not plain from the header.")]
Encoding = Annotated[str | None, typer.Option(help="Of a text file: utf-8 (the default), latin-1 or utf-16.")]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"alphasynth {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(
    epilog="Example: alphasynth synthesize visits.parquet --formula 'visits ~ age + C(sex)' --public age,sex "
    "--family negative_binomial --mechanism BW --epsilon 8 --m 1 --out run"
)
def synthesize(
    table: Table = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings from a run.toml; options given here count first.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A model.toml with a formula and a family for each column; see inspect --suggest."),
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
        str | None, typer.Option(help="Of a chain: one weight per record (record), or one for each column (column).")
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(autocompletion=lambda: list(MECHANISMS), help=listing(MECHANISMS))
    ] = None,
    m: Annotated[
        int | None, typer.Option("--m", help="Draws of parameters to release; epsilon adds up over them.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder to make; must not exist.")] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Policy budget in all, for one row; with --unit the statement is --max-rows times as much. Without it "
            "epsilon falls out of the weights."
        ),
    ] = None,
    public: Annotated[
        list[str] | None, typer.Option(help="Columns, comma-separated, that are public and released as they are.")
    ] = None,
    survey_weights: Annotated[
        str | None, typer.Option(help="Public column of survey weights, by which the report weights its statistics.")
    ] = None,
    scale: Annotated[float | None, typer.Option(help="LW, CW: alpha = scale (1 - risk) + shift.")] = None,
    shift: Annotated[float | None, typer.Option(help="LW, CW: see --scale.")] = None,
    radius: Annotated[
        list[str] | None,
        typer.Option(help="CW: how near another record must be to hide one; of a chain by column, age=5,income=1000."),
    ] = None,
    distance: Annotated[
        str | None, typer.Option(help="CW, of a chain: gower (the radius is of it), in place of a radius by column.")
    ] = None,
    relative: Annotated[
        bool | None, typer.Option("--relative/--absolute", help="CW: the radius is a share of the value, or not.")
    ] = None,
    within: Annotated[
        list[str] | None, typer.Option(help="CW: compare records only with those that share these columns' values.")
    ] = None,
    k: Annotated[
        str | None, typer.Option("--k", help="Re-weighting factor, or auto: the largest that keeps the bound.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="SW: the weight.")] = None,
    cap: Annotated[
        str | None, typer.Option(help="BW: the largest weight, up to 1 (1), or auto: what suits epsilon and the rows.")
    ] = None,
    cut: Annotated[
        float | None, typer.Option(help="Censored: how far below its largest log-likelihood a record is cut (8).")
    ] = None,
    share: Annotated[
        float | None, typer.Option(help="Recentred: part of epsilon that the first draw has (0.3).")
    ] = None,
    reach: Annotated[
        float | None,
        typer.Option(help="Recentred: how far from the first draw's a record's log-likelihood may count (1.25)."),
    ] = None,
    beta: Annotated[float | None, typer.Option(help="BetaDivergence: larger is more robust (0.5).")] = None,
    bound: Annotated[
        float | None, typer.Option(help="BetaDivergence: largest probability of one value; from the grid unless told.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Scored: rounds of noisy scores, 1 to 3; from epsilon and rows unless told.")
    ] = None,
    clip: Annotated[
        float | None,
        typer.Option(help="Scored: how many times its mean size a record's score counts; from public numbers."),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            help="Strict: public limits of parameters, mean=1:1000,phi=1:100 (mean 0.1:1000000, phi 0.1:1000, beta[k] "
            "-10:10). Never read them off the table."
        ),
    ] = None,
    step: Annotated[
        list[str] | None, typer.Option(help="Strict: public step of the grid, 0.01 or mean=0.005,phi=0.02.")
    ] = None,
    prior: Annotated[str | None, typer.Option(help=listing(PRIORS))] = None,
    sampler: Annotated[str | None, typer.Option(autocompletion=lambda: list(SAMPLERS), help=listing(SAMPLERS))] = None,
    draws: Annotated[int | None, typer.Option(help="Posterior draws that decide the bound (1000).")] = None,
    thresh: Annotated[
        float | None, typer.Option(help="Drop the draws above this quantile of their bounds (1: none).")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of a synthetic table (as many as the table has).")] = None,
    tables_per_draw: Annotated[
        int | None, typer.Option(help="Tables from each draw; they cost nothing more (1).")
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
    csv_safe: Annotated[
        bool | None,
        typer.Option(
            "--csv-safe/--no-csv-safe",
            help="CSV, TSV: an apostrophe before text that a spreadsheet would run as a formula (unless told not to).",
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
        typer.Option("--report/--no-report", help="Render report.html into both folders (unless told not to)."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the data set in the ledger.")] = None,
    ledger: LedgerOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    as_json: Json = False,
) -> None:
    """Turn a confidential table into a run folder: release/ may be published, confidential/ must not."""
    given: dict[str, Any] = {name: value for name, value in locals().items() if value is not None}
    for name in ("config", "quiet", "as_json"):
        given.pop(name, None)
    for name in ("out", "ledger", "model"):
        given |= {name: str(given[name])} if name in given else {}
    given = as_settings(given)
    from alphasynth.runs.settings import Settings, check_types, read_config

    kept = read_config(config) if config is not None else {}
    check_types(kept)
    settings = Settings.of({**kept, **given})
    if "out" not in given:
        settings = settings.at(_free(Path(settings.out)))
    from alphasynth.cli.progress import shown_on

    with shown_on(sys.stderr, quiet, SIGNALS) as tell:
        from alphasynth.runs.run import run

        _use_cache()
        finished = run(settings, tell, SIGNALS)
    try:
        if as_json:
            typer.echo(json.dumps(_report(finished), indent=2))
        elif not quiet:
            _print_report(finished, settings)
        sys.stdout.flush()
    except OSError:  # no one listens, but the run stands
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app.command(
    epilog="Example: alphasynth audit salaries.csv --formula 'salary ~ 1' --family negative_binomial --mechanism LW "
    "--m 1 --canary 100000"
)(with_options(audit, synthesize, OPTIONS))


app.command(
    epilog="Example: alphasynth compare --twin mean=100,phi=12,rows=1000 --formula 'y ~ 1' --family negative_binomial "
    "--m 1 --epsilon 1,4 --out league"
)(with_options(compare, synthesize, COMPARED))


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
    typer.echo(f"{report.out}/release: {counted(tables, 'synthetic table')}, guarantee.json{page}")
    typer.echo(f"{report.out}/confidential: realised epsilon, weights, draws{page}; not for release")
    typer.echo(f"{report.ledger}: the ledger, which has this run")
    if settings.epsilon is None:
        typer.echo("No --epsilon was given: look at the realised one in confidential/summary.json before you publish.")
    if report.guarantee.read_off_the_table:
        names = ", ".join(repr(name) for name in report.guarantee.read_off_the_table)
        typer.echo(f"{names} hold facts read off the table, which guarantee.json lists: nobody has confirmed them.")
    typer.echo("\n" + textwrap.fill(str(report.guarantee), 100))


def _suggest(table: Any, path: Path, public: Sequence[str]) -> None:
    """Write a suggestion and say what to do with it; names of columns only."""
    from alphasynth.models.suggestion import suggest_model, write_suggestion

    suggestion = suggest_model(table, public)
    write_suggestion(suggestion, path)
    typer.echo(f"{path}: a model of {counted(len(suggestion.model.columns), 'column')} (confidential until checked)")
    for name, why in suggestion.left_out:
        typer.echo(f"left out: {name} ({why})")
    typer.echo(
        "Levels, limits, gaps, families and formulas were read off the table, and are listed so (read_off_the_table): "
        "check that they may be told, and take out of these lists what may, or confirm it on the command line. A "
        f"strict mechanism refuses the rest.\nalphasynth synthesize TABLE --model {path} --confirm-public NAME,... ..."
    )


@app.command(epilog="Example: alphasynth inspect visits.csv --suggest model.toml")
def inspect(
    table: Annotated[str, Table.__metadata__[0]],
    suggest: Annotated[
        Path | None,
        typer.Option(help="Write a model.toml of the whole table to this file, to be checked and edited by hand."),
    ] = None,
    public: Annotated[
        list[str] | None, typer.Option(help="With --suggest: columns, comma-separated, that are public.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Show a table's columns, types and distinct values, or suggest a model of all; for its holder's eyes only."""
    from alphasynth.tables.opening import open_table

    opened = open_table(table, delimiter=delimiter, encoding=encoding or "utf-8")
    if suggest is not None:
        _suggest(opened, suggest, as_settings({"public": public}).get("public", ()))
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
    typer.echo("Families of a column of counts by itself; --suggest FILE writes a model of every column.")
