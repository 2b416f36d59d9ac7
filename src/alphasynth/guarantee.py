"""`Guarantee`: what is promised, per draw and in all, its scope in words; and the part of it that may be published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from alphasynth import __version__

# Which kind of promise; sums of epsilon mean something within one kind only.
INSTANCE = "instance"
SCOPES = {INSTANCE: "an estimate for this database (scope: instance); not epsilon-differential privacy"}
ROW = "one row of the table"
PROMISE = (
    "asymptotic and local to this database: estimated from the posterior draws at hand for one record removed while "
    "the weights of the others stay as they are; it is not epsilon-differential privacy, and where one record moves "
    "the weights of others (LW, CW, re-weighting, any number that was searched) the loss can be larger"
)


AUDITED = "; exact audits of LW and LW_final found databases where it is, the more often the more records there are"


def promise_of(rules: Sequence[str]) -> str:
    """What is promised of a mechanism with these rules, and what is known to break it."""
    return PROMISE + (AUDITED if "LW" in rules else "")


@dataclass(frozen=True)
class PublicGuarantee:
    """What may be published: the policy's inputs and words; of the records, their number and nothing else.

    `policy_epsilon` is the policy's total budget for one row and `epsilon` what that comes to for one unit of privacy,
    `max_rows` times as much; None where no budget was set, since a realised epsilon depends on the data. n is treated
    as public; the rest are inputs that the user chose.
    """

    formula: str
    family: str
    mechanism: str
    rules: tuple[str, ...]
    epsilon: float | None
    policy_epsilon: float | None
    m: int
    tables_per_draw: int
    scope: str
    promise: str
    neighbours: str
    unit: str
    max_rows: int
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
            else f"a policy budget of epsilon {as_written(self.epsilon)}{_for_unit(self.unit)}"
        )
        return (
            f"{self.mechanism}: {budget} for {counted(self.m, 'draw')} of parameters, from {self.num_draws:,} "
            f"posterior draws{_dropped(self.thresh)} over {self.n:,} records; {self.promise}{_seeded(self.releasable)}."
        )


@dataclass(frozen=True)
class Guarantee:
    """The realised guarantee of a fit (confidential: it was computed from the records).

    Each draw of parameters costs epsilon_per_draw = 2 Delta, m draws cost m times as much (sequential composition), and
    several tables from one draw cost nothing more. Where a unit of privacy has up to `max_rows` rows, all that times as
    much.
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
    scope: str = INSTANCE
    promise: str = PROMISE
    neighbours: str = "one unit of privacy removed"
    unit: str = ROW
    max_rows: int = 1
    formula: str = ""
    family: str = ""

    @property
    def epsilon_per_draw(self) -> float:
        """Twice the Lipschitz bound."""
        return 2 * self.delta

    @property
    def epsilon_total(self) -> float:
        """Epsilon of all m draws together, for one row."""
        return self.m * self.epsilon_per_draw

    @property
    def epsilon_unit(self) -> float:
        """Epsilon of all m draws together, for one unit of privacy: `max_rows` times that of a row."""
        return times(self.max_rows, self.epsilon_total)

    def public(self) -> PublicGuarantee:
        """What of this may leave."""
        return PublicGuarantee(
            formula=self.formula,
            family=self.family,
            mechanism=self.mechanism,
            rules=self.rules,
            epsilon=None if self.policy_epsilon is None else of_unit(self.policy_epsilon, self.max_rows),
            policy_epsilon=self.policy_epsilon,
            m=self.m,
            tables_per_draw=self.tables_per_draw,
            scope=self.scope,
            promise=self.promise,
            neighbours=self.neighbours,
            unit=self.unit,
            max_rows=self.max_rows,
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
        unit = f" ({round_up(self.epsilon_unit)}{_for_unit(self.unit)})" if self.unit != ROW else ""
        return (
            f"{self.mechanism}: epsilon {round_up(self.epsilon_per_draw)} per draw, {round_up(self.epsilon_total)} for "
            f"{counted(self.m, 'draw')} of parameters{unit}, from the largest of {self.num_draws:,} posterior draws"
            f"{_dropped(self.thresh)} over {self.n:,} records ({self.sampler}); "
            f"{self.promise}{_seeded(self.releasable)}."
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


def times(number: int, value: float) -> float:
    """The product, never below the exact one.

    >>> times(3, 0.1), times(1, 0.1)
    (0.30000000000000004, 0.1)
    """
    product = number * value
    if math.isfinite(product) and Fraction(product) < number * Fraction(value):
        product = math.nextafter(product, math.inf)
    return product


def of_unit(policy_epsilon: float, max_rows: int) -> float:
    """A policy's epsilon times the rows of a unit, in decimals: the policy's number is the one that was written down.

    >>> of_unit(0.1, 3)
    0.3
    """
    return float(max_rows * Decimal(repr(policy_epsilon)))


def as_written(policy_epsilon: float) -> str:
    """A policy's number as it was written down, in plain decimals.

    >>> as_written(0.1), as_written(8.0), as_written(1e-05)
    ('0.1', '8', '0.00001')
    """
    text = f"{Decimal(repr(policy_epsilon)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _for_unit(unit: str) -> str:
    return "" if unit == ROW else f" for {unit}"


def _dropped(thresh: float) -> str:
    return "" if thresh == 1 else f" (those above the {thresh:g} quantile of their bounds dropped)"


def _seeded(releasable: bool) -> str:
    return "" if releasable else "; not for release, since the random seed was fixed"


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "draw"), counted(1_000, "draw")
    ('1 draw', '1,000 draws')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
