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
    from fractions import Fraction

    from alphasynth.ledger import Ledger

ledger_app = typer.Typer(
    help="Releases and their epsilon, by data set; caps.",
    epilog="Example: alphasynth ledger set salaries --cap 10",
)

LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", help="Ledger file; by default the one next to the run or in this folder.")
]
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
    from alphasynth.ledger import NAME, Ledger

    return Ledger.open(path or Path(NAME))


@ledger_app.callback(invoke_without_command=True)
def ledger_main(context: typer.Context, ledger: LedgerOption = None, as_json: Json = False) -> None:
    """Show every data set's releases and reservations. Confidential: epsilons without a budget depend on the data."""
    if context.invoked_subcommand is not None:
        return
    from alphasynth.ledger import NAME, balance, shown
    from alphasynth.run_folder import reconcile

    path = ledger or Path(NAME)
    if not path.exists():
        raise InputError(f"the ledger must exist, found none at {str(path)!r}")
    held = _open_ledger(path)
    with held.transaction() as connection:
        reconcile(held, connection)
        entries, caps = held.entries(connection), held.caps(connection)
    pairs = sorted({(entry.dataset, entry.scope) for entry in entries} | {(name, "") for name in caps})
    pairs = [(name, scope) for name, scope in pairs if scope or not any(e.dataset == name for e in entries)]
    balances = [balance(name, scope, entries, caps) for name, scope in pairs]
    if as_json:
        sums = [
            {
                "dataset": b.dataset,
                "scope": b.scope or None,
                "released": float(b.released),
                "reserved": float(b.reserved),
                "cap": None if b.cap is None else float(b.cap),
            }
            for b in balances
        ]
        typer.echo(json.dumps({"datasets": sums, "runs": [asdict(entry) for entry in entries]}, indent=2))
        return
    lines = [("data set", "scope", "released", "reserved", "cap", "left")]
    for b in balances:
        cap = "none" if b.cap is None else shown(b.cap)
        left = "" if b.cap is None else _left(b.cap - b.spent)
        lines.append((b.dataset, b.scope or "any", shown(b.released), shown(b.reserved), cap, left))
    print_table(lines, right=(2, 3, 4, 5))
    typer.echo("")
    runs = [("run", "data set", "epsilon", "state", "at", "folder")]
    runs += [(e.run, e.dataset, e.epsilon or "not known yet", e.state, e.at, e.detail.get("out", "")) for e in entries]
    print_table(runs, right=(2,))


def _left(left: Fraction) -> str:
    """What is left under a cap, never more than it is."""
    return f"{max(left * 10_000 // 1, 0) / 10_000:g}"


@ledger_app.command("set", epilog="Example: alphasynth ledger set salaries --cap 10")
def ledger_set(
    name: Annotated[str, typer.Argument(help="Name of the data set.")],
    cap: Annotated[float, typer.Option(help="Largest sum of epsilon, in each scope.")],
    ledger: LedgerOption = None,
) -> None:
    """Cap a data set: runs that would exceed the cap are refused, and every run must then name its data set."""
    held = _open_ledger(ledger)
    held.set_cap(name, cap)
    typer.echo(f"{held.path}: {name!r} is capped at epsilon {cap:g}")


@ledger_app.command("clear", epilog="Example: alphasynth ledger clear 4f2a60c1b7d93e58")
def ledger_clear(
    run: Annotated[str, typer.Argument(help="Run, as `alphasynth ledger` shows it.")],
    ledger: LedgerOption = None,
) -> None:
    """Clear a reservation whose run is gone (on another machine, say), or a seeded run, which is not for release."""
    held = _open_ledger(ledger)
    with held.transaction() as connection:
        entry = next((entry for entry in held.entries(connection) if entry.run == run), None)
        if entry is None:
            raise InputError(f"run must be one that the ledger holds, found {run!r}")
        if entry.state == "released" and entry.detail.get("releasable", True):
            raise InputError(f"run {run!r} has been released, and what is out stays spent")
        held.note(connection, "clear", run, reason="by hand")
    typer.echo(f"{held.path}: {run} is cleared")
