"""The command line: each command parses, calls one function, writes; heavy libraries are imported where needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from alphasynth import __version__
from alphasynth.cli.audit import AUDITED, audit
from alphasynth.cli.choose import choose
from alphasynth.cli.compare import COMPARED, compare
from alphasynth.cli.explore import explore
from alphasynth.cli.inspection import inspect
from alphasynth.cli.ledger import ledger_app
from alphasynth.cli.options import mechanism_options, options_of, with_options
from alphasynth.cli.plan import plan
from alphasynth.cli.report import evaluate, report
from alphasynth.cli.short_help import SHOWN, ShortHelp
from alphasynth.cli.study import study
from alphasynth.cli.synthesize import synthesize
from alphasynth.cli.tune import TUNED, tune
from alphasynth.cli.weights import TAKEN, WORDS, bound, weights

app = typer.Typer(
    help="Synthetic tables from confidential microdata under a privacy budget.",
    epilog="Example: alphasynth synthesize salaries.csv --formula 'salary ~ 1' --family negative_binomial "
    "--epsilon 4 --out run",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


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


run = with_options(synthesize, mechanism_options())
COMMANDS: dict[Callable[..., Any], str] = {
    choose: "choose visits.csv --who anyone --what table --promise every-table",
    evaluate: "evaluate visits.csv run/release/synthetic_01.csv",
    report: "report run",
    explore: "explore run",
    study: "study contraction --size paper --out contraction",
    run: "synthesize visits.parquet --columns columns.toml --confirm-public all --epsilon 4 --delta 1e-9 --m 5 "
    "--out run",
    with_options(audit, options_of(run, AUDITED)): "audit salaries.csv --formula 'salary ~ 1' --family "
    "negative_binomial --mechanism LW --canary 100000",
    with_options(compare, options_of(run, COMPARED)): "compare --twin mean=100,phi=12,rows=1000 --formula 'y ~ 1' "
    "--family negative_binomial --m 1 --epsilon 1,4 --out league",
    with_options(tune, options_of(run, TUNED)): "tune --twin mean=100,phi=12,rows=1000 --formula 'y ~ 1' --family "
    "negative_binomial --mechanism CW --sweep radius=5,10,20,40 --out tuned",
    plan: "plan --columns columns.toml --rows 20000",
    inspect: "inspect visits.csv --suggest columns.toml",
    with_options(
        weights, mechanism_options(TAKEN, WORDS)
    ): "weights log_lik.parquet --rule LW --scale 1 --shift 0 --out weights.csv",
    bound: "bound log_lik_weighted.parquet --weights weights.csv",
}
app.add_typer(ledger_app, name="ledger")
for command, example in COMMANDS.items():
    short = ShortHelp if command.__name__ in SHOWN else None
    app.command(epilog=f"Example: alphasynth {example}", cls=short)(command)
