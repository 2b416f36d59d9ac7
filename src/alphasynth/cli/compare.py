"""Comparisons on the command line: `alphasynth compare`."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphasynth.catalogue import FAMILIES, OPTIONS, listing
from alphasynth.cli.ledger import Json, print_table
from alphasynth.cli.options import READING, Quiet, as_settings
from alphasynth.cli.report import numbers, split
from alphasynth.errors import InputError, require_whole
from alphasynth.runs.interruption import SIGNALS
from alphasynth.runs.settings import option

if TYPE_CHECKING:
    from alphasynth.runs.clock import Stage
    from alphasynth.runs.compare import Done

    Tell = Callable[[Stage], None]
    Carry = Callable[[Path, Tell], Done]

# Options of mechanisms that cannot be given: of chains, and what epsilon decides.
DECIDED = ("distance", "k", "alpha", "match", "by", "given")
# Options of `synthesize` that mechanisms to be compared share; those of mechanisms go to whichever takes them.
COMPARED = (
    *("table", "columns", "delta", "confirm_public"),
    *("m", "public", *(name for name in OPTIONS if name not in DECIDED)),
    *("prior", "draws", *READING),
)
# Those of whole tables alone, and those of both kinds; all others are of one column.
OF_TABLES, OF_BOTH = ("columns", "delta", "confirm_public", "response"), ("table", *READING)
TWIN = ("mean", "phi", "sd", "zeros", "rows")  # public parameters of a simulated table
FEWEST_ROWS, MOST_ROWS = 2, 10_000_000  # of a twin, which is simulated in memory
# Families that need nothing declared.
COUNTS = {name: words for name, words in FAMILIES.items() if "poisson" in name or "negative_binomial" in name}


def compare(
    options: dict[str, Any],
    out: Annotated[Path, typer.Option(help="Folder to make, with results.json, report.html and the figure.")],
    formula: Annotated[
        list[str] | None, typer.Option(help="'response ~ terms' of one column; odd names go in `backticks`.")
    ] = None,
    family: Annotated[list[str] | None, typer.Option(autocompletion=lambda: list(COUNTS), help=listing(COUNTS))] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="Total budgets to compare at, comma-separated; 1,2,4,8 unless told, 1,4 of whole tables."),
    ] = None,
    mechanisms: Annotated[
        list[str] | None,
        typer.Option(
            help="Which to compare, comma-separated: those of synthesize, Histogram (perturbed, ours) and OpenDP (with "
            "the extra opendp). All but OpenDP unless told; CW and CW_final with --radius."
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(help="Runs of each mechanism at each epsilon; 20 unless told, 3 of whole tables."),
    ] = None,
    twin: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare on a table simulated from public parameters, mean=100,phi=12,rows=1000, in place of TABLE: "
            "comparing on confidential data spends privacy."
        ),
    ] = None,
    largest: Annotated[
        int | None,
        typer.Option(help="Histogram: public largest count, 10000 unless told; larger ones count as that."),
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(
            help="Whole tables: NAME=PYTHON, a peer and an interpreter that has it; mst (mbi), aim and aim2 (OpenDP), "
            "dpmm, dpmm-aim and dpmm-bayes. May be repeated; what this interpreter has takes part anyway."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Whole tables: CPU seconds that a peer may take for one table, 600 unless told."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the repeats; a comparison is a study and never a release.")] = 1,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare mechanisms at equal epsilon: utility, audited loss and time. On a confidential table, confidential.

    With --columns whole tables are compared: Raked beside MST, AIM and dpmm, at equal epsilon and delta.
    """
    own = {"formula": formula, "family": family, "mechanisms": mechanisms, "twin": twin, "largest": largest}
    whole = {"peer": peer, "limit": limit}
    budgets = _budgets(epsilon or ("1,2,4,8" if options["columns"] is None else "1,4"))
    times = repeats if repeats is not None else 20 if options["columns"] is None else 3
    if times < 2:
        raise InputError(f"--repeats must be at least 2, found {times}")
    given = {name: value for name, value in (options | own | whole).items() if value is not None}
    run = _of_one_column if options["columns"] is None else _of_tables
    asked = run(given, budgets, times, seed)
    from alphasynth.cli.progress import shown_on

    with shown_on(sys.stderr, quiet or as_json, SIGNALS) as tell:
        done = asked(out, tell)
    if as_json:
        typer.echo((out / "results.json").read_text(encoding="utf-8"))
    elif not quiet:
        typer.echo(textwrap.fill(done.opening, 110) + "\n")
        print_table([done.heads, *done.cells], right=tuple(range(2, len(done.heads))))
        typer.echo("")
        for words in done.notes:
            typer.echo(textwrap.fill(words, 110))
        typer.echo(f"{out}/report.html: the same, with {done.beside}")


def _budgets(epsilon: str) -> tuple[float, ...]:
    budgets = numbers("--epsilon", [epsilon]) or []
    for value in budgets:
        if not 0 < value < math.inf:
            raise InputError(f"--epsilon must be positive and finite, found {value!r}")
    return tuple(budgets)


def _of_one_column(given: dict[str, Any], budgets: tuple[float, ...], repeats: int, seed: int) -> Carry:
    """A comparison of mechanisms on one column."""
    beside = [name for name in (*OF_TABLES, "peer", "limit") if name in given and name != "response"]
    if beside:
        raise InputError(f"{option(beside[0])} is of whole tables and must have --columns, found none")
    for name in ("formula", "family"):
        if len(given.get(name, [])) > 1:
            raise InputError(
                f"mechanisms are compared on one column: --{name} must be given once, found {len(given[name])}"
            )
    parameters = twin_of(given.pop("twin", None))
    if ("table" in given) == (parameters is not None):
        raise InputError(
            "a comparison needs a TABLE or --twin, one of them, found " + ("both" if parameters else "none")
        )
    mechanisms, largest = tuple(split(given.pop("mechanisms", None)) or ()), given.pop("largest", 10_000)
    options = as_settings(given)

    def carry(out: Path, tell: Tell) -> Done:
        from alphasynth.runs.compare import Comparison, carry_out

        return carry_out(
            Comparison(options, budgets, mechanisms, repeats, parameters, largest, seed), out, SIGNALS, tell
        )

    return carry


def _of_tables(given: dict[str, Any], budgets: tuple[float, ...], repeats: int, seed: int) -> Carry:
    """A comparison of whole tables."""
    beside = [name for name in given if name not in (*OF_TABLES, *OF_BOTH, "peer", "limit")]
    if beside:
        raise InputError(
            f"--columns compares whole tables, found {option(beside[0])} beside it, which is of one column"
        )
    if "table" not in given:
        raise InputError("a comparison of whole tables needs a TABLE, found none")
    limit = require_whole("--limit", given.get("limit", 600))
    names = as_settings(given)

    def carry(out: Path, tell: Tell) -> Done:
        from alphasynth.league.run_peer import parse_peers
        from alphasynth.runs.compare_tables import TableComparison, carry_out
        from alphasynth.tables.csv_files import TextFormat

        text = {name: names[name] for name in READING if name in names and name != "hive"}
        asked = TableComparison(
            table=names["table"],
            columns=Path(names["columns"]),
            epsilons=budgets,
            delta=names.get("delta"),
            response=tuple(names.get("response", ())),
            confirm_public=tuple(names.get("confirm_public", ())),
            peers=parse_peers(names.get("peer", ())),
            limit=limit,
            repeats=repeats,
            seed=seed,
            text=TextFormat(**text),
            hive=names.get("hive", False),
        )
        return carry_out(asked, out, SIGNALS, tell)

    return carry


def twin_of(given: list[str] | None, needed: tuple[str, ...] = ("mean", "rows")) -> dict[str, float] | None:
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
    strange = sorted(set(parameters) - {*TWIN})
    if strange or not {*needed} <= set(parameters):
        raise InputError(
            "--twin needs mean and rows, phi for negative_binomial, sd for numbers and zeros for families that have a "
            f"share of them, found {', '.join(parameters)}"
        )
    if not all(math.isfinite(value) and (value > 0 or name == "mean") for name, value in parameters.items()):
        raise InputError("--twin must have positive numbers, found others")
    rows = parameters.get("rows", FEWEST_ROWS)
    if rows != int(rows) or not FEWEST_ROWS <= rows <= MOST_ROWS:
        raise InputError(
            f"--twin must have a whole number of rows from {FEWEST_ROWS} to {MOST_ROWS:,}, found {rows:,.10g}"
        )
    return parameters
