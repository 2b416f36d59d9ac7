"""`PublicGuarantee`: what of a guarantee may be published, in numbers, names and words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from alphasynth.privacy import promises
from alphasynth.privacy.accounting import as_written, counted, round_up, written
from alphasynth.privacy.decimals import shown_small
from alphasynth.privacy.guarantee_card import BUDGET, guarantee_card, spending
from alphasynth.privacy.scopes import STRICT, TARGET
from alphasynth.privacy.strict_terms import ColumnGrid, Contribution, NoisySums

# How the tables' draws are spread: about what the records say, or by the noise that their middle is off by.
CENTRED, SPREAD = "centred", "spread"


@dataclass(frozen=True)
class PublicGuarantee:
    """What may be published: the policy's inputs; of the records, their number and nothing else.

    `policy_epsilon` is the policy's total budget for one row and `epsilon` what that comes to for one unit of privacy,
    `max_rows` times as much; None where no budget was set, since a realised epsilon depends on the data. n is treated
    as public; the rest are inputs that the user chose. `formulas` and `families` are those of the columns to
    synthesize, in order; `unit_column` is None where a unit of privacy is a row. A strict promise has the
    contributions and grids of its columns, the number `scalar` that tempers every record alike, and what it comes to
    when a row is replaced, in zero-concentrated privacy (rho), and as an epsilon at a small public `delta`. Of a
    promise of (epsilon, delta), `delta` is the policy's, `policy_delta`, which is None where epsilon is pure. Of a
    table model, `columns` lists each column's formula, family and part of epsilon, `declared_public` what is public of
    columns, and `weights` says whether records had one weight or one for each column. `combining` says how estimates
    from several tables are put together (`intervals`), `read_off_the_table` what was read off the table and declared
    by nobody, `confirmed_public` what was read off it and then confirmed.

    >>> from alphasynth.privacy.guarantee import Guarantee
    >>> guarantee = Guarantee("LW", ("LW",), 2.5, m=1, n=100, num_draws=1_000, sampler="Laplace", policy_epsilon=8.0)
    >>> guarantee.public().epsilon, guarantee.public().scope  # of the records, nothing but n
    (8.0, 'instance')
    """

    formulas: tuple[str, ...]
    families: tuple[str, ...]
    mechanism: str
    rules: tuple[str, ...]
    epsilon: float | None
    policy_epsilon: float | None
    m: int
    tables_per_draw: int
    scope: str
    unit_column: str | None
    max_rows: int
    n: int
    num_draws: int
    thresh: float
    public_columns: tuple[str, ...]
    sampler: str
    releasable: bool
    version: str
    exact: bool = False
    at_limit: bool = False
    contribution: tuple[Contribution, ...] = ()
    grid: tuple[ColumnGrid, ...] = ()
    scalar: float | None = None
    epsilon_replace: float | None = None
    rho: float | None = None
    delta: float | None = None
    epsilon_at_delta: float | None = None
    columns: tuple[dict[str, Any], ...] = ()
    declared_public: dict[str, Any] = field(default_factory=dict)
    weights: str = "record"
    combining: str = CENTRED
    confirmed_public: dict[str, list[str]] = field(default_factory=dict)
    read_off_the_table: dict[str, list[str]] = field(default_factory=dict)
    measured: tuple[NoisySums, ...] = ()
    constraints: tuple[str, ...] = ()
    policy_delta: float | None = None
    weighted_by: str | None = None
    response: tuple[str, ...] = ()
    interactions: tuple[str, ...] = ()

    @property
    def spread(self) -> float | str | None:
        """How the tables' draws are spread, as `intervals.combine` takes it."""
        return SPREAD if self.combining == SPREAD else self.scalar

    @property
    def smaller_at_delta(self) -> float | None:
        """The epsilon at the public delta, where it is below the pure one."""
        if self.epsilon_at_delta is None or self.epsilon is None or self.epsilon_at_delta >= self.epsilon:
            return None
        return self.epsilon_at_delta

    @property
    def clauses(self) -> tuple[str, ...]:
        """What is promised, in words, clause by clause."""
        several, capped, summed = len(self.columns) > 1, self.unit_column is not None, bool(self.measured)
        approximate, scored = self.policy_delta is not None, self.combining == SPREAD
        said = promises.clauses_of(self.scope, self.rules, scored, several, capped, approximate, summed)
        return (*said, promises.SURVEYED) if self.weighted_by is not None and not summed else said

    @property
    def promise(self) -> str:
        """What is promised, in words."""
        return promises.sentence(self.clauses)

    @property
    def neighbours(self) -> str:
        """Which databases the promise compares, in words."""
        return promises.neighbours_of(self.scope)

    @property
    def unit(self) -> str:
        """The unit of privacy, in words."""
        return promises.unit_of(self.unit_column, self.max_rows)

    def __str__(self) -> str:
        """One honest sentence."""
        unit = promises.for_unit(self.unit_column, self.max_rows)
        epsilon = None if self.epsilon is None else f"epsilon {self.budget}{unit}"
        over = "any number of tables" if self.measured else f"{counted(self.m, 'draw')} of parameters"
        records, end = f"over {counted(self.n, 'record')}", f"; {self.promise}{promises.seeded(self.releasable)}."
        if self.scope == STRICT:
            return f"{self.mechanism}: {epsilon} for {over} {records}{self._beside()}{end}"
        if self.scope == TARGET:
            return f"{self.mechanism}: a target of {epsilon} for {over} {records}{end}"
        budget = "no policy budget was set" if epsilon is None else f"a policy budget of {epsilon}"
        draws = f"from {self.num_draws:,} posterior draws{promises.dropped(self.thresh)}"
        return f"{self.mechanism}: {budget} for {over}, {draws} {records}{end}"

    def __repr__(self) -> str:
        return f"<PublicGuarantee: {self}>"

    def _repr_html_(self) -> str:
        """For notebooks: the numbers, what the budget went to, the promise."""
        what = "rho" if self.rho is not None and self.policy_delta is not None else "epsilon"
        parts = [(sums.what, sums.cost) for sums in self.measured]
        shares = [column for column in self.columns if "share_of_budget" in column]
        parts = parts or [(column["column"], column["share_of_budget"]) for column in shares]
        return guarantee_card("PublicGuarantee", self.numbers, self.clauses, self.releasable, spending(parts, what))

    @property
    def numbers(self) -> dict[str, str]:
        """The numbers that matter most, by name and in words."""
        over = "any number of tables" if self.measured else f"{counted(self.m, 'draw')} of parameters"
        return {
            "mechanism": self.mechanism,
            BUDGET[self.scope]: self.budget,
            "for": f"{over} over {counted(self.n, 'record')}",
            "unit of privacy": self.unit,
            "scope": promises.scope_words(self.scope, self.policy_delta is not None),
        }

    @property
    def budget(self) -> str:
        """The policy's epsilon for one unit of privacy as it was written, and its delta, if there is one."""
        if self.epsilon is None:
            return "none was set"
        at = "" if self.policy_delta is None else f" at delta {shown_small(written(self.policy_delta))}"
        return as_written(self.epsilon) + at

    @property
    def replaced(self) -> str:
        """Epsilon when a unit of privacy is replaced, in words; never rounded down."""
        epsilon = self.epsilon_replace or 0.0
        if self.policy_delta is None:
            return as_written(epsilon)
        return f"{round_up(epsilon)} at delta {shown_small(written(self.policy_delta))}"

    def _beside(self) -> str:
        """What is stated beside a pure epsilon, or what an approximate one rests on."""
        if self.rho is None:
            return ""
        if self.policy_delta is not None:
            what = "row" if self.unit_column is None else "unit"
            rho = f"rho {round_up(self.rho)} of zero-concentrated privacy"
            return f" ({rho}, and epsilon {self.replaced} when a {what} is replaced)"
        words, smaller = f"also rho {round_up(self.rho)} of zero-concentrated privacy", self.smaller_at_delta
        at_delta = "" if smaller is None else f", and epsilon {round_up(smaller)} at delta {self.delta:g}"
        return f" ({words}{at_delta})"
