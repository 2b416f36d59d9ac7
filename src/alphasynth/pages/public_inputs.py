"""The public inputs of a run in words: models, what a record adds, priors, grids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alphasynth.catalogue import FAMILIES
from alphasynth.models.own_model import OwnModel
from alphasynth.pages import page
from alphasynth.privacy.accounting import round_up
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.privacy.strict_terms import (
    AT_FIRST_DRAW,
    AT_PEAK,
    DRAW,
    FIRST_DRAW,
    LATER_DRAWS,
    ROUND,
    START,
    ColumnGrid,
    Contribution,
    GridAxis,
    Part,
)

CENTRES = {
    AT_PEAK: "centred at f*, the largest log-likelihood of the own record",
    AT_FIRST_DRAW: "centred at the log-likelihood of the own record at the first draw",
}
PARTS = {
    DRAW: "",
    FIRST_DRAW: "first draw, one for all draws released: ",
    LATER_DRAWS: "then: ",
    START: "start, an exact draw or noisy counts of the column by itself: ",
    ROUND: "round of noisy sums of whitened scores: ",
}
LONGEST = 8  # characters of a public number that is shown as it is; guarantee.json has all digits of all
OWN_PRIOR = "prior of the user's own model"


def model_words(guarantee: PublicGuarantee, explained: bool = False) -> str:
    """The model of one column: its formula, and its family, which may be explained."""
    (formula,), (family,) = guarantee.formulas, guarantee.families
    if family == OwnModel.__name__:
        return f"{formula}, a model of the user's own"
    more = f" ({FAMILIES[family]})" if explained and family in FAMILIES else ""
    return f"{formula}, {family}{more}"


def contribution_words(one: Contribution) -> tuple[str, ...]:
    """What a record adds in one column, clause by clause: the contribution, its parts, the prior."""
    parts = tuple(_part(part) for part in one.parts)
    if one.name == "Scored":
        return (one.name, *parts)
    return (one.name, *parts, OWN_PRIOR if one.prior is None else f"prior {setting_words(one.prior)}")


def _part(part: Part) -> str:
    cost = "epsilon" if part.part in (START, ROUND) else "clipped to a range of"
    numbers = [f"{name} {number_words(value)}" for name, value in part.numbers.items()]
    centre = [] if part.centre is None else [CENTRES[part.centre]]
    return PARTS[part.part] + ", ".join([*numbers, *centre, f"{cost} {_epsilon_words(part.epsilon)}"])


def number_words(value: float) -> str:
    """A public number as it is, or where that has many digits to four of them, which is said.

    >>> number_words(0.25), number_words(1048576), number_words(18.143568075216074)
    ('0.25', '1048576', 'about 18.14')
    """
    return repr(value) if len(repr(value)) <= LONGEST else f"about {value:.4g}"


def _epsilon_words(epsilon: float) -> str:
    """As `number_words`, but never rounded down."""
    return repr(epsilon) if len(repr(epsilon)) <= LONGEST else f"at most {round_up(epsilon)}"


def setting_words(setting: Mapping[str, Any]) -> str:
    """A public setting, such as a prior, with what it is made of.

    >>> setting_words({"kind": "LinearPrior", "coefficients": {"kind": "NormalPrior", "scale": 2.5}, "K": 1})
    'LinearPrior (coefficients NormalPrior (scale 2.5), K 1)'
    """
    inside = {name: value for name, value in setting.items() if name != "kind" and value is not None}
    words = [f"{n} {setting_words(v) if isinstance(v, Mapping) else repr(v)}" for n, v in inside.items()]
    return f"{setting['kind']} ({', '.join(words)})" if words else str(setting["kind"])


def grid_words(grid: ColumnGrid) -> tuple[str, ...]:
    """A column's public grid, clause by clause, as a reader needs it to make the grid again."""
    return (*map(_axis, grid.axes), f"quantum: epsilon per draw / {grid.quanta}")


def _axis(axis: GridAxis) -> str:
    scale = "logarithmic" if axis.logarithmic else "linear"
    return f"{axis.name} from {axis.low!r} to {axis.high!r}, {axis.points} points, {scale}"


def contribution_facts(guarantee: PublicGuarantee) -> list[tuple[str, str]]:
    """What a record adds, and the public grid, where one column is synthesized; else where to look."""
    if len(guarantee.contribution) != 1:
        return [("what a record adds", "by column, see below")]
    added = [("what a record adds", "; ".join(contribution_words(guarantee.contribution[0])))]
    return [*added, *(("public grid", "; ".join(grid_words(grid))) for grid in guarantee.grid)]


def contribution_tables(guarantee: PublicGuarantee) -> list[page.Block]:
    """What a record adds in each column of a strict chain, and the columns' public grids."""
    if len(guarantee.contribution) < 2:
        return []
    added = [(one.column, "; ".join(contribution_words(one))) for one in guarantee.contribution]
    grids = [(grid.column, "; ".join(grid_words(grid))) for grid in guarantee.grid]
    return [
        page.table("What a record adds, by column", ("column", "contribution"), added),
        *([page.table("Public grids, by column", ("column", "grid"), grids)] if grids else []),
    ]
