"""The ledger on the command line: `alphasynth ledger`, `ledger set`, `ledger clear`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alphasynth.errors import InputError

if TYPE_CHECKING:
    from alphasynth.runs.ledger import Ledger

ledger_app = typer.Typer(
    help="Releases and their epsilon, by data set; caps.",
    epilog="Example: alphasynth ledger set salaries --cap 10",
)

LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", help="Ledger file; by default the one next to the run or in this folder.")
]
STATES = {"lost": "begun, folder lost"}
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_table(lines: Sequence[tuple[str, ...]], right: tuple[int, ...]) -> None:
    """Print lines of cells in columns, those numbered in `right` flush right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        typer.echo("  ".join(cells).rstrip())


def _open_ledger(path: Path | None) -> Ledger:
    from alphasynth.runs.ledger import NAME, Ledger

    return Ledger.open(path or Path(NAME))


def _open_existing(path: Path | None) -> Ledger:
    from alphasynth.runs.ledger import NAME, Ledger

    path = path or Path(NAME)
    if not path.exists():
        raise InputError(f"the ledger must exist, found none at {str(path)!r}")
    return Ledger.open(path)


@ledger_app.callback(invoke_without_command=True)
def ledger_main(context: typer.Context, ledger: LedgerOption = None, as_json: Json = False) -> None:
    """Show every data set's releases and reservations. Confidential: epsilons without a budget depend on the data."""
    context.obj = ledger  # for the commands below, which may have one of their own
    if context.invoked_subcommand is not None:
        return
    from alphasynth.privacy.accounting import as_written, at_least, covering, round_up, written
    from alphasynth.privacy.decimals import shown, shown_left, shown_small, shown_small_left
    from alphasynth.runs.budget import balance, key
    from alphasynth.runs.folder import reconcile

    opened = _open_existing(ledger)
    with opened.transaction() as connection:
        reconcile(opened, connection, opened.path.parent, Path.cwd())
        entries, caps = opened.entries(connection), opened.caps(connection)
    pairs = sorted({(entry.dataset, entry.scope) for entry in entries})
    ran = {key(name) for name, _ in pairs}
    pairs += [(cap.dataset, "") for name, cap in caps.items() if name not in ran]
    balances = [balance(name, scope, entries, caps) for name, scope in pairs]
    if as_json:
        sums = [
            {
                "dataset": b.dataset,
                "scope": b.scope or None,
                "released": covering(b.released),
                "lost": covering(b.lost),
                "reserved": covering(b.reserved),
                "cap": None if b.cap is None else float(b.cap),
                "left": None if b.cap is None else float(shown_left(b.cap, b.spent)),
                "delta": covering(b.delta),
                "cap_delta": None if b.cap_delta is None else float(b.cap_delta),
                "left_delta": None if b.cap_delta is None else float(shown_small_left(b.cap_delta, b.delta)),
                "rho": None if b.rho is None else at_least(b.rho),
                "epsilon_concentrated": b.concentrated,
                "units": list(b.units),
            }
            for b in balances
        ]
        runs = [
            {**asdict(e), "epsilon": None if e.epsilon is None else float(e.epsilon), "delta": covering(e.delta)}
            for e in entries
        ]
        typer.echo(json.dumps({"datasets": sums, "runs": runs}, indent=2))
        return
    typer.echo(f"{opened.path} (confidential: an epsilon without a budget depends on the data)\n")
    # Deltas are shown where there are any.
    some = any(b.delta or b.cap_delta for b in balances) or any(e.delta for e in entries)
    heads = ("delta", "its cap", "left of it", "by rho") if some else ()
    lines: list[tuple[str, ...]] = [("data set", "scope", "released", "lost", "reserved", "cap", "left", *heads)]
    for b in balances:
        cap = "none" if b.cap is None else as_written(float(b.cap))
        left = "" if b.cap is None else shown_left(b.cap, b.spent)
        more: tuple[str, ...] = ()
        if some:
            limit = "none" if b.cap_delta is None else shown_small(b.cap_delta)
            rest = "" if b.cap_delta is None else shown_small_left(b.cap_delta, b.delta)
            more = (shown_small(b.delta), limit, rest, "" if b.concentrated is None else round_up(b.concentrated))
        lines.append((b.dataset, b.scope or "any", *map(shown, (b.released, b.lost, b.reserved)), cap, left, *more))
    print_table(lines, right=tuple(range(2, len(lines[0]))))
    if some:
        typer.echo("\nby rho: epsilon of all runs at their summed delta, from the sum of their rho, where that is less")
        typer.echo("(of runs whose budgets were not chosen by what earlier ones gave; caps go by plain sums)")
    for b in balances:
        if len(b.units) > 1:
            typer.echo(f"\n{b.dataset}: runs have several units of privacy ({', '.join(b.units)}), so that no sum is")
            typer.echo("what they cost together: a run by rows costs a person as many times as it has rows")
    typer.echo("")
    lines = [("run", "data set", "epsilon", *heads[:1], "state", "at", "folder")]
    for e in entries:
        epsilon = "not known yet" if e.epsilon is None else shown(written(e.epsilon))
        delta = (shown_small(e.delta),) if some else ()
        state = STATES.get(e.state, e.state)
        lines.append((e.run, e.dataset, epsilon, *delta, state, e.at, e.detail.get("out", "")))
    print_table(lines, right=(2, 3) if some else (2,))


@ledger_app.command("set", epilog="Example: alphasynth ledger set salaries --cap 10 --delta 1e-6")
def ledger_set(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the data set.")],
    cap: Annotated[float, typer.Option(help="Largest sum of epsilon, in each scope.")],
    delta: Annotated[float, typer.Option(help="Largest sum of delta, in each scope; without it pure runs only.")] = 0.0,
    ledger: LedgerOption = None,
) -> None:
    """Cap a data set: runs that would exceed the cap are refused, and every run must then name its data set."""
    from alphasynth.privacy.accounting import as_written, written
    from alphasynth.privacy.decimals import shown_small
    from alphasynth.runs.budget import key

    opened = _open_ledger(ledger or context.obj)
    opened.set_cap(name, cap, delta)
    with opened.transaction() as connection:
        known = any(key(entry.dataset) == key(name) for entry in opened.entries(connection))
    typer.echo(
        f"{opened.path}: {name!r} is capped at epsilon {as_written(cap)}"
        f"{f' and delta {shown_small(written(delta))}' if delta else ''}{'' if known else '; no run has that name yet'}"
    )


@ledger_app.command("clear", epilog="Example: alphasynth ledger clear 4f2a60c1b7d93e58")
def ledger_clear(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="Run, as `alphasynth ledger` shows it.")],
    ledger: LedgerOption = None,
) -> None:
    """Clear a reservation whose run is gone (on another machine, say), or a seeded run, which is not for release.

    A run that has drawn noise or begun to write counts for good: its tables may be in someone's hands.
    """
    from alphasynth.runs.folder import UNSETTLED, is_alive, reconcile

    opened = _open_existing(ledger or context.obj)
    with opened.transaction() as connection:
        reconcile(opened, connection, opened.path.parent, Path.cwd())
        entry = next((entry for entry in opened.entries(connection) if entry.run == run), None)
        if entry is None:
            raise InputError(f"run must be one that the ledger holds, found {run!r}")
        if entry.state == "released" and entry.detail.get("releasable", True):
            raise InputError(f"run {run!r} has been released, and what is out stays spent")
        if entry.state in UNSETTLED and is_alive(entry):
            raise InputError(f"run {run!r} is under way; stop it first")
        opened.note(connection, "clear", run, reason="by hand")
    typer.echo(f"{opened.path}: {run} is cleared")
