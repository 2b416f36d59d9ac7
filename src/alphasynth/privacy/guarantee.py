"""`Guarantee`: what is promised, per draw and in all, in numbers and names; and the part that may be published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from alphasynth import __version__
from alphasynth.privacy import promises
from alphasynth.privacy.accounting import as_written, counted, epsilon_of, of_unit, round_up, times, written
from alphasynth.privacy.decimals import shown_small
from alphasynth.privacy.scopes import STRICT, TARGET, scope_of
from alphasynth.privacy.strict_numbers import epsilon_realised, strict_numbers
from alphasynth.privacy.strict_terms import ColumnGrid, Contribution, NoisySums, StrictTerms

# How the tables' draws are spread: about what the records say, or by the noise that their middle is off by.
CENTRED, SPREAD = "centred", "spread"
DRAWN_BY = {
    "Grid": "exact draws on a grid",
    "PublicGrid": "exact draws on a grid",
    "Scored": "noise added to sums, exactly sampled",
    "Raked": "noise added to sums, exactly sampled",
}


@dataclass(frozen=True)
class PublicGuarantee:
    """What may be published: the policy's inputs; of the records, their number and nothing else.

    `policy_epsilon` is the policy's total budget for one row and `epsilon` what that comes to for one unit of privacy,
    `max_rows` times as much; None where no budget was set, since a realised epsilon depends on the data. n is treated
    as public; the rest are inputs that the user chose. `formulas` and `families` are those of the columns to
    synthesize, in order; `unit_column` is None where a unit of privacy is a row. A strict promise has the
    contributions and grids of its columns, the number `scalar` that tempers every record alike, and what it comes to
    when a row is replaced, in zero-concentrated privacy (rho), and as an epsilon at a small public delta. One of
    (epsilon, delta) has the policy's delta, `policy_delta`, which is None where epsilon is pure. Of a table
    model, `columns` lists each column's formula, family and part of epsilon, `declared_public` what is public about
    columns, and `weights` says whether records had one weight or one for each column. `combining` says how estimates
    from several tables are put together (`intervals`), `read_off_the_table` what was read off the table and declared
    by nobody, `confirmed_public` what was read off it and then confirmed.
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
        epsilon = None if self.epsilon is None else f"epsilon {self.budget}{_for_unit(self)}"
        over = "any number of tables" if self.measured else f"{counted(self.m, 'draw')} of parameters"
        records, end = f"over {self.n:,} records", f"; {self.promise}{_seeded(self.releasable)}."
        if self.scope == STRICT:
            return f"{self.mechanism}: {epsilon} for {over} {records}{self._beside()}{end}"
        if self.scope == TARGET:
            return f"{self.mechanism}: a target of {epsilon} for {over} {records}{end}"
        budget = "no policy budget was set" if epsilon is None else f"a policy budget of {epsilon}"
        draws = f"from {self.num_draws:,} posterior draws{_dropped(self.thresh)}"
        return f"{self.mechanism}: {budget} for {over}, {draws} {records}{end}"

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


@dataclass(frozen=True)
class Guarantee:
    """The realised guarantee of a fit (confidential: it was computed from the records).

    Each draw of parameters costs epsilon_per_draw = 2 Delta, or what a strict mechanism bounds it by; m draws cost m
    times as much (sequential composition), and several tables from one draw cost nothing more. Where a unit of privacy
    has up to `max_rows` rows, all that times as much. `policy_delta` is what was asked for; it is spent where the
    strict terms have a rho, which epsilon in all then follows from.
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
    strict: StrictTerms | None = None
    unit_column: str | None = None
    max_rows: int = 1
    formulas: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    columns: tuple[dict[str, Any], ...] = ()
    declared_public: dict[str, Any] = field(default_factory=dict)
    weights: str = "record"
    confirmed_public: dict[str, list[str]] = field(default_factory=dict)
    read_off_the_table: dict[str, list[str]] = field(default_factory=dict)
    policy_delta: float | None = None
    weighted_by: str | None = None

    @property
    def _rho_at_delta(self) -> tuple[float, float] | None:
        """A row's rho and the policy's delta where the promise is (epsilon, delta); None where epsilon is pure."""
        if self.strict is None or self.strict.rho is None or self.policy_delta is None:
            return None
        return self.strict.rho, self.policy_delta

    @property
    def delta_spent(self) -> float | None:
        """The policy's delta where the promise is (epsilon, delta); None where epsilon is pure."""
        return None if self._rho_at_delta is None else self._rho_at_delta[1]

    @property
    def scope(self) -> str:
        """Which kind of promise: strict, target, instance or none."""
        return scope_of(self.rules, self.strict is not None, self.strict is not None and self.strict.exact)

    @property
    def promise(self) -> str:
        """What is promised, in words."""
        return self.public().promise

    @property
    def epsilon_per_draw(self) -> float:
        """Twice the Lipschitz bound, or the range of a strict contribution."""
        return epsilon_of(self.delta) if self.strict is None else self.strict.epsilon_per_draw

    @property
    def epsilon_total(self) -> float:
        """Epsilon of all m draws together, for one row; of noise that was added once, whatever m is.

        Where the promise is (epsilon, delta), the epsilon that rho comes to at that delta.
        """
        if self._rho_at_delta is not None:
            return epsilon_realised(*self._rho_at_delta, 1)
        if self.strict is not None and self.strict.scored:
            return self.strict.epsilon_per_draw
        return times(self.m, self.epsilon_per_draw)

    @property
    def epsilon_unit(self) -> float:
        """Epsilon of all m draws together, for one unit of privacy: `max_rows` times that of a row."""
        if self._rho_at_delta is not None:
            return epsilon_realised(*self._rho_at_delta, self.max_rows)
        return times(self.max_rows, self.epsilon_total)

    def public(self) -> PublicGuarantee:
        """What of this may leave."""
        numbers: dict[str, Any] = {"weighted_by": self.weighted_by}
        if self.strict is not None and self.policy_epsilon is not None:
            numbers = strict_numbers(self.strict, self.policy_epsilon, self.delta_spent, self.m, self.max_rows)
        return PublicGuarantee(
            formulas=self.formulas,
            families=self.families,
            mechanism=self.mechanism,
            rules=self.rules,
            epsilon=None if self.policy_epsilon is None else of_unit(self.policy_epsilon, self.max_rows),
            policy_epsilon=self.policy_epsilon,
            m=self.m,
            tables_per_draw=self.tables_per_draw,
            scope=self.scope,
            unit_column=self.unit_column,
            max_rows=self.max_rows,
            n=self.n,
            num_draws=self.draws_asked or self.num_draws,
            thresh=self.thresh,
            public_columns=self.public_columns,
            sampler=DRAWN_BY.get(self.sampler, "Markov chain Monte Carlo"),
            releasable=self.releasable,
            version=__version__,
            columns=self.columns,
            declared_public=self.declared_public,
            weights=self.weights,
            combining=SPREAD if self.strict is not None and self.strict.scored else CENTRED,
            confirmed_public=self.confirmed_public,
            read_off_the_table=self.read_off_the_table,
            policy_delta=self.delta_spent,
            **numbers,
        )

    def __str__(self) -> str:
        """One honest sentence; numbers are rounded up."""
        if self.strict is not None:
            return str(self.public())
        unit = "" if self.unit_column is None else f" ({round_up(self.epsilon_unit)}{_for_unit(self)})"
        taken = "clipped to in each of" if list(self.rules) == ["BW"] else "from the largest of"
        return (
            f"{self.mechanism}: epsilon {round_up(self.epsilon_per_draw)} per draw, {round_up(self.epsilon_total)} for "
            f"{counted(self.m, 'draw')} of parameters{unit}, {taken} {self.num_draws:,} posterior draws"
            f"{_dropped(self.thresh)} over {self.n:,} records ({self.sampler}); "
            f"{self.promise}{_seeded(self.releasable)}."
        )


def _for_unit(guarantee: Guarantee | PublicGuarantee) -> str:
    column = guarantee.unit_column
    return "" if column is None else f" for {promises.unit_of(column, guarantee.max_rows)}"


def _dropped(thresh: float) -> str:
    return "" if thresh == 1 else f" (those above the {thresh:g} quantile of their bounds dropped)"


def _seeded(releasable: bool) -> str:
    return "" if releasable else "; not for release, since the random seed was fixed"
