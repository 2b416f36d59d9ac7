"""Comparisons on the command line: `alphasynth compare`."""

from __future__ import annotations

import math
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from alphasynth.catalogue import FAMILIES, OF_COLUMNS, OPTIONS, listing, options_of
from alphasynth.cli.ledger import Json, print_table
from alphasynth.cli.options import Quiet, as_settings
from alphasynth.cli.report import numbers, split
from alphasynth.errors import InputError
from alphasynth.runs.interruption import SIGNALS

# Options of mechanisms that cannot be given: of chains, what epsilon decides, and those of whole tables.
DECIDED = ("distance", "k", "alpha", *options_of(*OF_COLUMNS))
# Options of `synthesize` that mechanisms to be compared share; those of mechanisms go to whichever takes them.
COMPARED = (
    *("table", "m", "public", *(name for name in OPTIONS if name not in DECIDED)),
    *("prior", "draws", "delimiter", "encoding"),
)
# Families that need nothing declared.
COUNTS = {name: words for name, words in FAMILIES.items() if "poisson" in name or "negative_binomial" in name}


def compare(
    options: dict[str, Any],
    out: Annotated[Path, typer.Option(help="Folder to make, with results.json, report.html and the figure.")],
    formula: Annotated[
        list[str] | None, typer.Option(help="'response ~ terms' of one column; odd names go in `backticks`.")
    ] = None,
    family: Annotated[list[str] | None, typer.Option(autocompletion=lambda: list(COUNTS), help=listing(COUNTS))] = None,
    epsilon: Annotated[str, typer.Option(help="Total budgets to compare at, comma-separated.")] = "1,2,4,8",
    mechanisms: Annotated[
        list[str] | None,
        typer.Option(
            help="Which to compare, comma-separated: those of synthesize, Histogram (perturbed, ours) and OpenDP (with "
            "the extra opendp). All but OpenDP unless told; CW and CW_final with --radius."
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each mechanism at each epsilon.")] = 20,
    twin: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare on a table simulated from public parameters, mean=100,phi=12,rows=1000, in place of TABLE: "
            "comparing on confidential data spends privacy."
        ),
    ] = None,
    largest: Annotated[int, typer.Option(help="Histogram: public largest count; larger ones count as that.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the repeats; a comparison is a study and never a release.")] = 1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare mechanisms at equal epsilon: utility, audited loss and time. On a confidential table, confidential."""
    for name, given in (("--formula", formula), ("--family", family)):
        if given is not None and len(given) > 1:
            raise InputError(f"mechanisms are compared on one column: {name} must be given once, found {len(given)}")
    options = {**options, "formula": formula, "family": family}
    options |= as_settings(options)
    budgets = numbers("--epsilon", [epsilon]) or []
    for value in budgets:
        if not 0 < value < math.inf:
            raise InputError(f"--epsilon must be positive and finite, found {value!r}")
    if repeats < 2:
        raise InputError(f"--repeats must be at least 2, found {repeats}")
    parameters = _twin(twin)
    if (options["table"] is None) == (parameters is None):
        raise InputError("a comparison needs a TABLE or --twin, one of them, found " + ("both" if twin else "none"))
    from alphasynth.cli.progress import shown_on

    with shown_on(sys.stderr, quiet or as_json, SIGNALS) as tell:
        from alphasynth.runs.compare import Comparison, carry_out

        done = carry_out(
            Comparison(options, tuple(budgets), tuple(split(mechanisms) or ()), repeats, parameters, largest, seed),
            out,
            SIGNALS,
            tell,
        )
    if as_json:
        typer.echo((out / "results.json").read_text(encoding="utf-8"))
    elif not quiet:
        typer.echo(textwrap.fill(done.opening, 110) + "\n")
        print_table([done.heads, *done.cells], right=tuple(range(2, len(done.heads))))
        typer.echo("")
        for words in done.notes:
            typer.echo(textwrap.fill(words, 110))
        typer.echo(f"{out}/report.html: the same, with utility against epsilon")


def _twin(given: list[str] | None) -> dict[str, float] | None:
    """A twin's public parameters from words such as mean=100."""
    if given is None:
        return None
    parameters = {}
    for word in split(given) or []:
        name, _, value = word.partition("=")
        try:
            parameters[name.strip()] = float(value)
        except ValueError:
            raise InputError(f"--twin must be NAME=NUMBER, such as mean=100, found {word!r}") from None
    strange = sorted(set(parameters) - {"mean", "phi", "rows"})
    if strange or not {"mean", "rows"} <= set(parameters):
        raise InputError(f"--twin needs mean and rows, and phi for negative_binomial, found {', '.join(parameters)}")
    if not all(0 < value < math.inf for value in parameters.values()) or parameters["rows"] != int(parameters["rows"]):
        raise InputError("--twin must have positive numbers, and a whole number of rows, found others")
    return parameters
