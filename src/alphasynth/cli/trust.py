"""Trust on the command line: `alphasynth audit` and `alphasynth compare`."""

from __future__ import annotations

import inspect
import json
import math
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphasynth.catalogue import FAMILIES, listing
from alphasynth.cli.ledger import Json, print_table
from alphasynth.cli.report import numbers, split
from alphasynth.errors import InputError
from alphasynth.interruption import SIGNALS
from alphasynth.privacy.accounting import counted, round_up
from alphasynth.privacy.scopes import TARGET

if TYPE_CHECKING:
    from alphasynth.audits.finding import Finding
    from alphasynth.mechanisms.chain import AnyProblem
    from alphasynth.runs.settings import Settings

# Exit codes.
BROKEN, CANNOT_TELL = 3, 4
# Options of `synthesize` that say what is audited; the rest say where a run goes.
OPTIONS = (
    *("table", "config", "model", "formula", "family", "levels", "range", "whole", "missing", "weights"),
    "confirm_public",
    *("mechanism", "m", "epsilon", "public", "scale", "shift", "radius", "distance", "relative", "within", "k"),
    *("alpha", "cap", "cut", "share", "reach", "beta", "bound", "rounds", "clip", "limits", "step"),
    *("prior", "sampler", "draws", "thresh", "seed", "delimiter", "encoding"),
)


def with_options(function: Callable[..., Any], source: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """A command that takes these options of another command beside its own; they arrive as `options`."""

    def command(**given: Any) -> Any:
        return function(options={name: given.pop(name) for name in names}, **given)

    taken = [inspect.signature(source, eval_str=True).parameters[name] for name in names]
    own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.name != "options"]
    # By name, so that options without a default may stand anywhere.
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*taken, *own)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*taken, *own)}
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    return command


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
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    as_json: Json = False,
) -> int:
    """Put a mechanism's claim to the test on a table and its neighbours: exit code 3 when it is broken, 0 when kept.

    Where none is broken and one cannot tell, the exit code is 4.
    What is printed is confidential: it was computed from single records.
    """
    settings = settings_of(options)
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
        import numpy as np

        from alphasynth.audits import finding
        from alphasynth.audits.audit import AUDITS, MOST_ROWS
        from alphasynth.audits.audit import audit as run_audits
        from alphasynth.runs.run import Stage, open_settings, synthesizer_of

        unknown = [name for name in wanted or () if name not in AUDITS]
        if unknown:
            raise InputError(f"--audits must be among {', '.join(AUDITS)}, found {', '.join(unknown)}")
        synthesizer = synthesizer_of(settings)
        tell(Stage("fitting the mechanism", 0, 1))
        synthesizer.fit(open_settings(settings))
        subject = synthesizer.subject_
        usual = ["density"] if subject.paths else _usual(subject.bind(subject.records))
        findings = run_audits(
            np.random.SeedSequence(settings.seed),
            subject,
            wanted or usual,
            extra,
            MOST_ROWS if neighbours is None else neighbours,
            trials,
            lambda *stage: tell(Stage(*stage)),
        )
    verdicts = {one.verdict for one in findings}
    broken = finding.BROKEN in verdicts
    if as_json:
        lines = [finding.as_lines(one) for one in findings]
        typer.echo(json.dumps({"confidential": True, "broken": broken, "audits": lines}, indent=2))
    elif not quiet:
        _print(findings, settings)
    return BROKEN if broken else CANNOT_TELL if finding.CANNOT_TELL in verdicts else 0


def _usual(problem: AnyProblem) -> list[str]:
    """The audits that suit a problem."""
    from alphasynth.inference.public_grid import PublicGrid
    from alphasynth.mechanisms.chain import Chain

    if isinstance(problem, Chain):
        alone = len(problem.blocks) == 1 and isinstance(problem.blocks[0].sampler, PublicGrid)
        return ["density"] if alone else ["draw"]
    if problem.model.prior.size > 2:
        return ["draw"]
    return ["density"] if isinstance(problem.sampler, PublicGrid) else ["density", "draw"]


# Options of `synthesize` that mechanisms to be compared share.
COMPARED = (
    *("table", "m", "public", "radius", "relative", "within", "cap", "cut", "share", "reach", "beta", "bound"),
    *("limits", "step", "prior", "draws", "delimiter", "encoding"),
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
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
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


def settings_of(options: dict[str, Any]) -> Settings:
    """The settings of a run that is not written anywhere."""
    from alphasynth.runs.settings import Settings, check_types, read_config

    config = options.pop("config")
    kept = read_config(config) if config is not None else {}
    check_types(kept)
    return Settings.of({"out": str(Path.cwd()), **kept, **as_settings(options)})


def as_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Options that were given, as settings: lists cut at commas, numbers where words are allowed too."""
    given = {name: value for name, value in options.items() if value is not None}
    names = ("public", "within", "limits", "step", "radius", "range", "whole", "missing", "confirm_public")
    lists: dict[str, Any] = {name: split(given[name]) or [] for name in names if name in given}
    if isinstance(given.get("model"), Path):
        lists["model"] = str(given["model"])
    numbers_or_words: dict[str, Any] = {name: _number_or_word(given[name]) for name in ("k", "cap") if name in given}
    if len(lists.get("radius", ())) == 1 and "=" not in lists["radius"][0]:
        numbers_or_words["radius"] = _number_or_word(lists.pop("radius")[0])
    return given | lists | numbers_or_words


def _number_or_word(text: str) -> float | str:
    """A number if the text is one, else the text."""
    try:
        return float(text)
    except ValueError:
        return text


def _print(findings: Sequence[Finding], settings: Settings) -> None:
    typer.echo("Confidential: computed from single records. For one draw of parameters; losses are rounded up.\n")
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
    if settings.m > 1:
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
