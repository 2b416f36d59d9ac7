"""Weights and bounds from another program's log-likelihoods: `alphasynth weights` and `alphasynth bound`."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphasynth.cli.ledger import Json
from alphasynth.cli.options import as_settings
from alphasynth.errors import InputError, found
from alphasynth.privacy.accounting import counted

if TYPE_CHECKING:
    from alphasynth.likelihoods.bounds import Bounds

CLAIM = "An estimate for this table, asymptotic (the paper's claim); not differential privacy for all tables."
RULES = ("LW", "CW", "SW", "Reweight")
TAKEN = ("scale", "shift", "radius", "relative", "within", "k", "keep_zeros", "alpha", "match", "by")
# What options of mechanisms are to one rule alone, without a run that could search or match another's bound.
WORDS = {
    "radius": "CW: how near another record must be to hide one.",
    "k": "Reweight: the factor, at most 1 (the paper's is 0.95); must be given.",
    "keep_zeros": "Reweight: leave a weight of 0 at 0, or lift it to what the bound allows (lift-zeros).",
    "alpha": "SW: the weight of every record.",
    "match": "SW: a Delta, or epsilon=8 of a draw, which the weight is to bring the bound to, with --by formula.",
    "by": "SW: formula, the paper's Delta_alpha / Delta; a search is not to be had here.",
}
Matrix = Annotated[
    list[Path] | None,
    typer.Argument(
        help="log p(x_i | theta_s): a row per draw, a column per record; .csv, .parquet, .arrow, .npy, .nc. Several "
        "files are chains of one fit."
    ),
]
AlphaFile = Annotated[
    Path | None,
    typer.Option(
        "--weights", help="Weights that the fit had: a CSV or Parquet file with a column alpha; all 1 unless told."
    ),
]
Weighted = Annotated[
    bool,
    typer.Option("--weighted", help="Entries are multiplied by the weights already, as the paper's script has it."),
]
Thresh = Annotated[
    float,
    typer.Option(help="Drop the draws above this quantile of their largest weighted |f|; they must not be released."),
]
Densities = Annotated[
    bool, typer.Option("--densities", help="The response is continuous: entries above 0 are densities above 1.")
]
RecordsIn = Annotated[
    str | None, typer.Option(help="rows: a row per record and a column per draw; columns unless told.")
]
Name = Annotated[str, typer.Option(help="What the log-likelihoods are called where a file holds other things too.")]


def weights(
    *,
    log_lik: Matrix = None,
    rule: Annotated[
        str, typer.Option(help=f"{', '.join(RULES)}; SW takes --alpha, or --match DELTA --by formula.")
    ] = "LW",
    out: Annotated[Path, typer.Option(help="File to write, .csv or .parquet; confidential.")],
    options: dict[str, Any],
    weights: AlphaFile = None,
    weighted: Weighted = False,
    table: Annotated[str | None, typer.Option(help="CW: the table, a row per record in the matrix's order.")] = None,
    response: Annotated[str | None, typer.Option(help="CW: the table's column that is synthesized.")] = None,
    thresh: Thresh = 1.0,
    densities: Densities = False,
    records_in: RecordsIn = None,
    name: Name = "log_lik",
    as_json: Json = False,
) -> None:
    """Weights alpha from log-likelihoods that another program computed; what is written and printed is confidential."""
    if rule not in RULES:
        raise InputError(f"--rule must be one of {', '.join(RULES)}, found {found(rule)}")
    _check_weighted(weighted, weights)
    from alphasynth.likelihoods.files import check_out, read_kept, write_weights
    from alphasynth.likelihoods.weights import weights_from
    from alphasynth.mechanisms.named import named_rule

    check_out(out)
    made = weights_from(
        log_lik,
        named_rule(rule, **as_settings(options)),
        None if weights is None else read_kept(weights),
        table,
        response,
        weighted=weighted,
        thresh=thresh,
        densities=densities,
        records_in=records_in,
        name=name,
    )
    write_weights(made, out)
    _say(made.before, as_json, made.n, out)
    if not as_json:
        typer.echo(
            f"{out}: {rule} weights of {counted(made.n, 'record')} (confidential). Fit again with them, then bound."
        )


def bound(
    log_lik: Matrix = None,
    weights: AlphaFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write bounds by record, .csv or .parquet; confidential.")
    ] = None,
    weighted: Weighted = False,
    thresh: Thresh = 1.0,
    densities: Densities = False,
    records_in: RecordsIn = None,
    name: Name = "log_lik",
    as_json: Json = False,
) -> None:
    """The Lipschitz bound, and epsilon, of a fit from its log-likelihoods and its weights; confidential."""
    _check_weighted(weighted, weights)
    from alphasynth.likelihoods.files import check_out, read_kept, write_bounds
    from alphasynth.likelihoods.weights import bounds_from

    if out is not None:
        check_out(out)
    told = bounds_from(
        log_lik,
        None if weights is None else read_kept(weights),
        weighted,
        thresh,
        densities,
        records_in,
        name,
    )
    if not isfinite(told.lipschitz.overall):
        raise InputError(
            "log_lik must be finite for records with a weight above 0, found -inf: no epsilon can be told (`weights` "
            "makes such a record's weight 0)"
        )
    if out is not None:
        write_bounds(told, out)
    _say(told, as_json, told.n, out)


def _check_weighted(weighted: bool, weights: Path | None) -> None:
    if weighted and weights is None:
        raise InputError("--weighted must have --weights, by which entries were multiplied, found none")


def _say(bounds: Bounds | None, as_json: bool, n: int, out: Path | None) -> None:
    """The fit's bound and epsilon, in words or as JSON."""
    file = {} if out is None else {"file": str(out)}
    if as_json:
        facts: dict[str, Any] = {"n": n}
        if bounds is not None:
            delta, epsilon = bounds.lipschitz.overall, bounds.epsilon_per_draw
            told = isfinite(delta)
            facts |= {"draws": bounds.num_draws, "delta": delta if told else None}
            facts |= {"epsilon_per_draw": epsilon if told else None}
            facts |= {"draws_dropped": int((~bounds.kept).sum()), "thresh_quantile": bounds.thresh_quantile}
            facts |= {"scope": "instance", "if_the_fit_had": "these weights" if bounds.weighted_fit else "no weights"}
            facts |= {"weights_compared": bounds.compared if bounds.weighted_fit else None}
        typer.echo(json.dumps(facts | file, indent=2))
        return
    if bounds is None:
        return
    from alphasynth.likelihoods.bounds import in_words

    for sentence in in_words(bounds):
        typer.echo(sentence)
    if isfinite(bounds.lipschitz.overall):
        typer.echo(CLAIM)
