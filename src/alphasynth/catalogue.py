"""Names and options that the command line takes, each with one line that says what it is; imports nothing heavy.

The options of mechanisms are listed here and nowhere else: the front, the command line, `run.toml` and the documents
make theirs from `MechanismOptions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, get_type_hints


@dataclass(frozen=True)
class Option:
    """What an option of mechanisms does, which of their parts take it, and what it is unless told.

    A part is a rule, a contribution or the public grid, and has a field of the option's name. `kept` is the type that
    the option has in a run.toml; `flag` is what it is called on the command line where its name alone will not do.
    """

    line: str
    of: tuple[str, ...]
    default: float | str | None = None
    needed: bool = False
    kept: Any = float
    flag: str = ""


Names = tuple[str, ...]
CENSORED, GRID = ("Censored", "Recentred"), ("PublicGrid",)


class MechanismOptions(TypedDict, total=False):
    """Options of mechanisms, with their types in Python; None is as good as not given."""

    scale: Annotated[float | None, Option("alpha = scale (1 - risk) + shift", ("LW", "CW"), 1.0)]
    shift: Annotated[float | None, Option("see scale", ("LW", "CW"), 0.0)]
    radius: Annotated[
        float | Mapping[str, float] | None,
        Option(
            "how near another record must be to hide one; of a chain one by column, age=5,income=1000",
            ("CW",),
            needed=True,
            kept=float | Names,
        ),
    ]
    distance: Annotated[
        str | None,
        Option("of a chain: gower (the radius is of it), in place of a radius by column", ("CW",), kept=str),
    ]
    relative: Annotated[
        bool | None,
        Option("the radius is a share of the value, or not", ("CW",), False, kept=bool, flag="--relative/--absolute"),
    ]
    within: Annotated[
        Sequence[str] | None,
        Option("compare records only with those that share these columns' values", ("CW",), kept=Names),
    ]
    k: Annotated[
        float | Literal["auto"] | None,
        Option(
            "re-weighting factor, or auto: the largest that keeps the bound", ("Reweight",), "auto", kept=float | str
        ),
    ]
    keep_zeros: Annotated[
        bool | None,
        Option(
            "re-weighting leaves a weight of 0 at 0, or lifts it to what the bound allows",
            ("Reweight",),
            False,
            kept=bool,
            flag="--keep-zeros/--lift-zeros",
        ),
    ]
    alpha: Annotated[float | None, Option("the weight; what epsilon or LW's bound allows unless told", ("SW",))]
    match: Annotated[
        Any,
        Option(
            "whose bound it matches without --epsilon: LW, CW:radius=0.3, epsilon=8 of a draw or a Delta; LW unless "
            "told",
            ("SW",),
            kept=str,
        ),
    ]
    by: Annotated[
        str | None,
        Option(
            "search, or formula: the paper's Delta_alpha / Delta, which may miss the bound", ("SW",), "search", kept=str
        ),
    ]
    given: Annotated[Any, Option("weights by row: a file with a column alpha", ("Given",), needed=True, kept=str)]
    cap: Annotated[
        float | Literal["auto"] | None,
        Option("the largest weight, up to 1, or auto: what suits epsilon and rows", ("BW",), 1.0, kept=float | str),
    ]
    cut: Annotated[
        float | None,
        Option(
            "how far below its largest log-likelihood a record is cut; 5 + log(levels / 2) of categories", CENSORED, 8.0
        ),
    ]
    share: Annotated[float | None, Option("part of epsilon that the first draw has", ("Recentred",), 0.3)]
    reach: Annotated[
        float | None,
        Option("how far from the first draw's a record's log-likelihood may count", ("Recentred",), 1.25),
    ]
    beta: Annotated[float | None, Option("larger is more robust", ("BetaDivergence",), 0.5)]
    bound: Annotated[
        float | None, Option("largest probability of one value; from the grid unless told", ("BetaDivergence",))
    ]
    rounds: Annotated[
        int | None,
        Option("rounds of noisy scores, 1 to 3; from epsilon and rows unless told", ("Scored",), kept=int),
    ]
    clip: Annotated[
        float | None,
        Option("how many times its mean size a record's score counts; from public numbers unless told", ("Scored",)),
    ]
    limits: Annotated[
        Mapping[str, tuple[float, float]] | None,
        Option(
            "public limits of parameters, mean=1:1000,phi=1:100; of counts mean=0.1:1000000,phi=0.1:1000 unless told. "
            "Never read them off the table",
            GRID,
            kept=Names,
        ),
    ]
    step: Annotated[
        float | Mapping[str, float] | None,
        Option("public step of the grid, 0.01 or mean=0.005,phi=0.02; by the family unless told", GRID, kept=Names),
    ]
    response: Annotated[
        str | Sequence[str] | None,
        Option(
            "columns that matter most: what they have to do with the others is measured better", ("Raked",), kept=Names
        ),
    ]
    response_share: Annotated[float | None, Option("part of the moments' budget that responses have", ("Raked",), 0.5)]
    interactions: Annotated[
        str | Sequence[str] | None,
        Option(
            "pairs of columns, age:sex, whose joint effect on the responses, or on all others, is kept",
            ("Raked",),
            kept=Names,
        ),
    ]


OPTIONS: dict[str, Option] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(MechanismOptions, include_extras=True).items()
}
# What each mechanism is made of: its rules in their order, or its contribution and where that is drawn.
PARTS: dict[str, tuple[str, ...]] = {
    "Unweighted": (),
    "LW": ("LW",),
    "CW": ("CW",),
    "SW": ("SW",),
    "Given": ("Given",),
    "LW_final": ("LW", "Reweight"),
    "CW_final": ("CW", "Reweight"),
    "BW": ("BW",),
    "Censored": ("Censored", *GRID),
    "Recentred": ("Recentred", *GRID),
    "BetaDivergence": ("BetaDivergence", *GRID),
    "Scored": ("Scored",),
    "Raked": ("Raked",),
}
# Mechanisms of whole tables, which take declared columns and no formulas.
OF_COLUMNS = ("Raked",)


def options_of(*parts: str) -> tuple[str, ...]:
    """Names of the options that some of these parts take.

    >>> options_of("LW", "Reweight"), options_of("PublicGrid")
    (('scale', 'shift', 'k', 'keep_zeros'), ('limits', 'step'))
    """
    return tuple(name for name, option in OPTIONS.items() if set(option.of) & set(parts))


# The options of each mechanism.
TAKES = {name: options_of(*parts) for name, parts in PARTS.items()}
_LINES = {
    "Unweighted": "the posterior itself, every weight 1; has no weights to aim at --epsilon",
    "LW": "likelihood weights: small where a record's largest absolute log-likelihood is large",
    "CW": "count weights: small where few records lie near the record's value",
    "SW": "one weight for all records; without --epsilon or --alpha, the one that matches LW's bound",
    "Given": "weights of one's own, by row, from a file; with --epsilon times what that allows",
    "LW_final": "LW, then re-weighting: each weight set to what one common bound allows",
    "CW_final": "CW, then re-weighting: each weight set to what one common bound allows",
    "BW": "budget weights: each weight set to what --epsilon allows its own record",
    "Censored": "strict without covariates: what a record adds is centred and cut to a range of epsilon",
    "Recentred": "strict without covariates: a first draw as Censored, then draws centred at it",
    "BetaDivergence": "strict without covariates: robust to outliers",
    "Scored": "strict: regressions from noisy sums of clipped scores, any number of draws",
    "Raked": "strict, whole tables: noisy counts and moments of declared columns (--columns), then raking",
}
MECHANISMS = {
    name: line + (f"; takes --{', --'.join(TAKES[name])}" if TAKES[name] else "") for name, line in _LINES.items()
}
FAMILIES = {
    "bernoulli": "two levels",
    "categorical": "several levels without an order (multinomial logit)",
    "ordinal": "three or more levels in order (proportional odds)",
    "normal": "values within declared limits, spread evenly about their mean; takes --range",
    "log_normal": "positive values within declared limits, skewed to the right; takes --range",
    "gamma": "positive values within declared limits, with an sd in proportion to the mean; takes --range",
    "poisson": "counts with variance equal to their mean",
    "negative_binomial": "counts with variance above their mean",
    "zero_truncated_poisson": "poisson counts above 0",
    "zero_truncated_negative_binomial": "negative binomial counts above 0",
    "zero_inflated_poisson": "poisson counts, some of them turned to 0",
    "zero_inflated_negative_binomial": "negative binomial counts, some of them turned to 0",
    "hurdle_poisson": "0, or a poisson count above 0",
    "hurdle_negative_binomial": "0, or a negative binomial count above 0",
    "two_part_normal": "0, or a normal value within declared limits; takes --range",
    "two_part_log_normal": "0, or a log-normal value within declared limits; takes --range",
    "two_part_gamma": "0, or a gamma value within declared limits; takes --range",
}
SAMPLERS = {
    "automatic": "laplace, and nuts where its diagnostics fail",
    "laplace": "independence sampling around the mode; milliseconds",
    "nuts": "the no-U-turn sampler; seconds to minutes",
    "grid": "independent draws on a fine grid; for one or two parameters",
}
PRIORS = {
    "scale_mixture": "normal coefficients, half-t scales integrated out",
    "normal:SCALE": "normal coefficients with this scale",
    "lkj": "the paper's prior whole, with correlated coefficients; best with --sampler nuts",
}
STUDIES = {
    "nb-mixture": "section 3 and Supp 3: the six synthesizers on counts from a negative binomial mixture",
    "salary": "section 4 and Supp 4: the six on salaries, the survey's with --table, else of a simulated stand-in",
    "contraction": "Supp 5: bounds over many databases; runs on a GPU where JAX has one",
    "headline": "the abstract: utility of the six against epsilon, claimed and audited",
}
# Format -> suffix. SAS is read in two formats and written in one, XPORT.
FORMATS = {
    "csv": ".csv",
    "tsv": ".tsv",
    "parquet": ".parquet",
    "arrow": ".arrow",
    "feather": ".feather",
    "xport": ".xpt",
    "spss": ".sav",
    "stata": ".dta",
}


def listing(names: dict[str, str]) -> str:
    r"""Names and their lines, each a paragraph, for a help text.

    >>> listing({"a": "one", "b": "two"})
    'a: one\n\nb: two'
    """
    return "\n\n".join(f"{name}: {line}" for name, line in names.items())


def takers(name: str) -> tuple[str, ...]:
    """Mechanisms that take an option.

    >>> takers("k")
    ('LW_final', 'CW_final')
    """
    return tuple(mechanism for mechanism, taken in TAKES.items() if name in taken)


def shown(name: str) -> str:
    """An option's default as it is written on the command line; nothing where its line says what is done unless told.

    >>> shown("cut"), shown("relative"), shown("bound")
    ('8', 'absolute', '')
    """
    option = OPTIONS[name]
    if isinstance(option.default, bool):
        return option.flag.split("/")[not option.default].lstrip("-")
    return f"{option.default:g}" if isinstance(option.default, float) else option.default or ""


def described(name: str) -> str:
    """Who takes an option, what it does and what it is unless told, in one line.

    >>> described("share")
    'Recentred: part of epsilon that the first draw has (0.3).'
    """
    option = OPTIONS[name]
    own = [part for part in option.of if part in PARTS]
    default = f" ({shown(name)})" if shown(name) else ""
    return f"{', '.join(own or takers(name))}: {option.line}{default}."


def options_table() -> str:
    """The options of mechanisms as a table in Markdown."""
    lines = ["| option | mechanisms | what it does | unless told |", "| --- | --- | --- | --- |"]
    for name, option in OPTIONS.items():
        flag = option.flag or f"--{name}"
        unless = shown(name) or ("must be given" if option.needed else "")
        lines.append(f"| `{flag}` | {', '.join(takers(name))} | {option.line} | {unless} |")
    return "\n".join(lines) + "\n"
