"""What a strict promise rests on, as data that may be published: what a record adds, and the public grid."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

# What a part of a fit is, and what its contributions are centred at.
DRAW, FIRST_DRAW, LATER_DRAWS, START, ROUND = "draw", "first draw", "later draws", "start", "round"
AT_PEAK, AT_FIRST_DRAW = "peak", "first draw"


@dataclass(frozen=True)
class Part:
    """One part of a column's fit: which, what it costs, its public numbers by name.

    In a draw what a record adds is clipped to a range of `epsilon`, and `centre` says around what. A `round` adds noise
    to sums of clipped scores, a `start` is an exact draw or noisy counts.
    """

    part: str
    epsilon: float
    numbers: dict[str, float] = field(default_factory=dict)
    centre: str | None = None


@dataclass(frozen=True)
class Contribution:
    """What a record adds in one column: the contribution's name, its parts, and the prior, None of an own model."""

    column: str
    name: str
    parts: tuple[Part, ...]
    prior: dict[str, Any] | None = None


@dataclass(frozen=True)
class GridAxis:
    """One parameter's values on a public grid; the step is in the sampler's coordinates, which may be logarithms."""

    name: str
    low: float
    high: float
    step: float
    points: int
    logarithmic: bool


@dataclass(frozen=True)
class ColumnGrid:
    """The public grid of one column, and the number of quanta that its epsilon per draw is divided into."""

    column: str
    axes: tuple[GridAxis, ...]
    quanta: int


@dataclass(frozen=True)
class NoisySums:
    """Sums measured together with noise: what of, how many, how often, their cost in all, the noise's deviation.

    `share` is that deviation as a part of the sums' own standard error, for typical ones. Choices have no noise.
    """

    what: str
    sums: int
    times: int
    cost: float
    deviation: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class StrictTerms:
    """What a strict promise rests on, all public: epsilon per draw, the contributions and their numbers, the grids.

    `by_column` divides epsilon per draw over the columns of a chain; `pure_only` says that the parts of a draw were
    not of one range, so that nothing is stated beside the pure epsilon. `scored`: noise was added to sums, once for all
    draws, so that epsilon per draw is epsilon in all; of a whole table `measured` are
    these sums, with what was declared beside columns. `rho`: what one row
    costs in all draws, where the promise is (epsilon, delta) and it is rho that adds up, not epsilon.
    """

    epsilon_per_draw: float
    contribution: tuple[Contribution, ...]
    grid: tuple[ColumnGrid, ...] = ()
    scalar: float | None = None
    at_limit: bool = False
    by_column: tuple[float, ...] = ()
    pure_only: bool = False
    scored: bool = False
    measured: tuple[NoisySums, ...] = ()
    constraints: tuple[str, ...] = ()
    weighted_by: str | None = None
    response: tuple[str, ...] = ()
    interactions: tuple[str, ...] = ()
    rho: float | None = None

    @property
    def exact(self) -> bool:
        """Whether nothing rests on a Markov chain: draws on a public grid are exact, and so is noise added to sums."""
        return bool(self.grid) or self.scored


def named(setting: object) -> dict[str, Any]:
    """A public setting, such as a prior, as data: its kind, and by name what it is made of.

    >>> named(Part("draw", 0.5))
    {'kind': 'Part', 'part': 'draw', 'epsilon': 0.5, 'numbers': {'kind': 'dict'}, 'centre': None}
    """
    inside = {each.name: getattr(setting, each.name) for each in fields(setting)} if is_dataclass(setting) else {}
    return {"kind": type(setting).__name__, **{name: _plain(value) for name, value in inside.items()}}


def _plain(value: object) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else named(value)
