"""`Guarantee`: what is promised, per draw and in all, its scope in words; and the part of it that may be published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from alphasynth import __version__

SCOPE = (
    "asymptotic and local to this database: estimated from the posterior draws at hand for one record removed while "
    "the weights of the others stay as they are; it is not epsilon-differential privacy, and where one record moves "
    "the weights of others (LW, CW, re-weighting, any number that was searched) the loss can be larger"
)


@dataclass(frozen=True)
class PublicGuarantee:
    """What may be published: the policy's inputs and words; of the records, their number and nothing else.

    `epsilon` is the policy's total budget, or None where none was set: a realised epsilon depends on the data. n is
    treated as public; `num_draws` and `thresh` are settings.
    """

    mechanism: str
    rules: tuple[str, ...]
    epsilon: float | None
    m: int
    tables_per_draw: int
    scope: str
    neighbours: str
    unit: str
    n: int
    num_draws: int
    thresh: float
    public_columns: tuple[str, ...]
    sampler: str
    releasable: bool
    version: str

    def __str__(self) -> str:
        """One honest sentence."""
        budget = (
            "no policy budget was set"
            if self.epsilon is None
            else f"a policy budget of epsilon {round_up(self.epsilon)}"
        )
        return (
            f"{self.mechanism}: {budget} for {_count(self.m, 'draw')} of parameters, from {self.num_draws:,} posterior "
            f"draws{_dropped(self.thresh)} over {self.n:,} records; {self.scope}{_seeded(self.releasable)}."
        )


@dataclass(frozen=True)
class Guarantee:
    """The realised guarantee of a fit (confidential: it was computed from the records).

    Each draw of parameters costs epsilon_per_draw = 2 Delta, m draws cost m times as much (sequential composition), and
    several tables from one draw cost nothing more.
    """

    mechanism: str
    rules: tuple[str, ...]
    delta: float
    m: int
    n: int
    num_draws: int
    sampler: str
    policy_epsilon: float | None = None
    tables_per_draw: int = 1
    draws_asked: int = 0
    thresh: float = 1.0
    public_columns: tuple[str, ...] = ()
    releasable: bool = False
    scope: str = SCOPE
    neighbours: str = "one record removed"
    unit: str = "one row of the table"

    @property
    def epsilon_per_draw(self) -> float:
        """Twice the Lipschitz bound."""
        return 2 * self.delta

    @property
    def epsilon_total(self) -> float:
        """Epsilon of all m draws together."""
        return self.m * self.epsilon_per_draw

    def public(self) -> PublicGuarantee:
        """What of this may leave."""
        return PublicGuarantee(
            mechanism=self.mechanism,
            rules=self.rules,
            epsilon=self.policy_epsilon,
            m=self.m,
            tables_per_draw=self.tables_per_draw,
            scope=self.scope,
            neighbours=self.neighbours,
            unit=self.unit,
            n=self.n,
            num_draws=self.draws_asked or self.num_draws,
            thresh=self.thresh,
            public_columns=self.public_columns,
            sampler="exact draws on a grid" if self.sampler == "Grid" else "Markov chain Monte Carlo",
            releasable=self.releasable,
            version=__version__,
        )

    def __str__(self) -> str:
        """One honest sentence; numbers are rounded up."""
        return (
            f"{self.mechanism}: epsilon {round_up(self.epsilon_per_draw)} per draw, {round_up(self.epsilon_total)} for "
            f"{_count(self.m, 'draw')} of parameters, from the largest of {self.num_draws:,} posterior draws"
            f"{_dropped(self.thresh)} over {self.n:,} records ({self.sampler}); {self.scope}{_seeded(self.releasable)}."
        )


def round_up(value: float, digits: int = 4) -> str:
    """Decimal with at least `digits` significant digits that is never below the value.

    >>> round_up(11.10001), round_up(0.5), round_up(219.99991)
    ('11.11', '0.5', '220')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(value)
    places = max(digits - 1 - exact.adjusted(), 0)
    text = f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_CEILING):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _dropped(thresh: float) -> str:
    return "" if thresh == 1 else f" (those above the {thresh:g} quantile of their bounds dropped)"


def _seeded(releasable: bool) -> str:
    return "" if releasable else "; not for release, since the random seed was fixed"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
