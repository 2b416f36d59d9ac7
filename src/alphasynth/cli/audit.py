"""Audits on the command line: `alphasynth audit`."""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphasynth.catalogue import OPTIONS
from alphasynth.cli.ledger import Json, print_table
from alphasynth.cli.options import READING, Quiet, settings_of
from alphasynth.cli.report import numbers, split
from alphasynth.errors import InputError
from alphasynth.privacy.accounting import counted, round_up
from alphasynth.privacy.scopes import TARGET
from alphasynth.runs.interruption import SIGNALS

if TYPE_CHECKING:
    from alphasynth.audits.finding import Finding
    from alphasynth.mechanisms.chain import Chain
    from alphasynth.runs.settings import Settings

# Exit codes.
BROKEN, CANNOT_TELL = 3, 4
# Options of `synthesize` that say what is audited; the rest say where a run goes.
AUDITED = (
    *("table", "config", "model", "columns", "formula", "family", "levels", "range", "whole", "decimals"),
    *("missing", "weights"),
    *("confirm_public", "mechanism", "m", "epsilon", "delta", "public", "survey_weights", "survey_likelihood"),
    *OPTIONS,
    *("prior", "sampler", "draws", "thresh", "seed", *READING),
)


def audit(
    options: dict[str, Any],
    audits: Annotated[
        list[str] | None,
        typer.Option(
            help="density (one or two parameters: exact), draw (any: an estimate), black-box (any: a lower bound); "
            "density where it can be, and draw, unless told."
        ),
    ] = None,
    canary: Annotated[
        list[str] | None,
        typer.Option(help="Responses to add, beside 0 and twice and ten times the largest; comma-separated."),
    ] = None,
    neighbours: Annotated[
        int | None, typer.Option(help="Distinct rows to remove, one record of each at a time (400; extremes first).")
    ] = None,
    trials: Annotated[int, typer.Option(help="black-box: runs on each of two databases.")] = 400,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Put a mechanism's claim to the test on a table and its neighbours: exit code 3 when it is broken, 0 when kept.

    Where none is broken and one cannot tell, the exit code is 4.
    What is printed is confidential: it was computed from single records.
    """
    settings = settings_of(options, out=str(Path.cwd()), m=1)  # of one draw, unless told
    wanted, extra = split(audits), numbers("--canary", canary) or []
    for value in extra:
        if not 0 <= value <= 100_000_000 or value != int(value):
            raise InputError(f"--canary must be counts, whole numbers from 0 to 100,000,000, found {value:g}")
    if neighbours is not None and neighbours < 1:
        raise InputError(f"--neighbours must be at least 1, found {neighbours}")
    if trials < 40:
        raise InputError(f"--trials must be at least 40, found {trials}")
    from alphasynth.cli.progress import shown_on

    with shown_on(sys.stderr, quiet or as_json, SIGNALS) as tell:
        from alphasynth.audits import finding
        from alphasynth.audits.audit import AUDITS, MOST_ROWS
        from alphasynth.audits.audit import audit as run_audits
        from alphasynth.audits.whole_tables import audit_whole_table
        from alphasynth.privacy.randomness import key_of
        from alphasynth.runs.clock import Stage
        from alphasynth.runs.from_settings import open_settings, raked_of, synthesizer_of

        unknown = [name for name in wanted or () if name not in AUDITS]
        if unknown:
            raise InputError(f"--audits must be among {', '.join(AUDITS)}, found {', '.join(unknown)}")
        key, told = key_of(settings.seed), lambda *stage: tell(Stage(*stage))
        if settings.columns is not None:
            _refuse_others(wanted, extra, neighbours)
            findings = [audit_whole_table(key, raked_of(settings), open_settings(settings), trials, told)]
        else:
            synthesizer = synthesizer_of(settings)
            tell(Stage("fitting the mechanism", 0, 1))
            synthesizer.fit(open_settings(settings))
            subject = synthesizer.subject_
            usual = ["density"] if subject.paths else _usual(subject.chain)
            most = MOST_ROWS if neighbours is None else neighbours
            findings = run_audits(key, subject, wanted or usual, extra, most, trials, told)
    verdicts = {one.verdict for one in findings}
    broken = finding.BROKEN in verdicts
    if as_json:
        lines = [finding.as_lines(one) for one in findings]
        typer.echo(json.dumps({"confidential": True, "broken": broken, "audits": lines}, indent=2))
    elif not quiet:
        _print(findings, settings)
    return BROKEN if broken else CANNOT_TELL if finding.CANNOT_TELL in verdicts else 0


def _refuse_others(wanted: Sequence[str] | None, extra: Sequence[float], neighbours: int | None) -> None:
    """Refuse what the audit of a whole table has no use for."""
    other = [name for name in wanted or () if name != "black-box"]
    if other:
        raise InputError(f"whole tables have the black-box audit alone, found --audits {other[0]}")
    if extra or neighbours is not None:
        option = "--canary" if extra else "--neighbours"
        raise InputError(f"{option} must be left out with --columns, whose rarest row is the one removed, found it")


def _usual(chain: Chain) -> list[str]:
    """The audits that suit a chain."""
    from alphasynth.exact.public_grid import PublicGrid

    first, *others = chain.blocks
    if not others and isinstance(first.sampler, PublicGrid):
        return ["density"]
    return ["draw"] if others or first.model.prior.size > 2 else ["density", "draw"]


def _print(findings: Sequence[Finding], settings: Settings) -> None:
    what = "one draw of parameters" if settings.columns is None else "any number of tables"
    typer.echo(f"Confidential: computed from single records. For {what}; losses are rounded up.\n")
    heads = ("audit", "claim", "audited loss", "margin", "verdict", "worst neighbour")
    lines = [
        (
            one.audit,
            "none" if one.scope == "none" else round_up(one.claim),
            ("at least " if one.ceiling is not None else "") + round_up(one.loss),
            "" if one.scope == "none" else _down(one.margin),
            "no claim" if one.scope == "none" else one.verdict.replace("broken", "BROKEN"),
            one.worst,
        )
        for one in findings
    ]
    print_table([heads, *lines], right=(1, 2, 3))
    typer.echo("")
    for one in findings:
        typer.echo(textwrap.fill(_note(one), 110))
    if settings.m > 1 and settings.columns is None:
        typer.echo(f"The run draws {settings.m:,} times: claims and losses add up over draws.")


def _note(one: Finding) -> str:
    number = counted(one.neighbours, "neighbour")
    if one.scope == TARGET and one.audit != "black-box":
        return (
            f"{one.audit}: of the distribution that draws aim at, towards {number}; what a Markov chain misses is "
            "not seen, so that this cannot tell. A black-box audit (--audits black-box) may."
        )
    if one.audit == "density":
        exact = "in whole numbers, as drawn" if one.delta == 0 else f"by quadrature, at delta {one.delta:g}"
        return f"density: the exact loss towards {number}, {exact}."
    if one.audit == "draw":
        if not one.certain:
            from alphasynth.audits.finding import UNCERTAIN

            return f"draw: {UNCERTAIN}, so that this cannot tell."
        return f"draw: an estimate from the draws, towards {number}, at delta {one.delta:g}; no certificate."
    ceiling = math.floor((one.ceiling or 0) * 100) / 100
    return (
        f"black-box: a lower bound, right with probability 0.95, at delta {one.delta:g}; so many trials cannot show "
        f"more than {ceiling:.2f}, whatever the mechanism does."
    )


def _down(value: float) -> str:
    """Four significant digits, never above the value."""
    return f"-{round_up(-value)}" if value < 0 else f"{math.floor(value * 1e3) / 1e3:g}"
