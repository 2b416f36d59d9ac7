"""`Guarantee`: what is promised, per draw and in all, its scope in words; and the part of it that may be published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from alphasynth import __version__
from alphasynth.privacy.accounting import DELTA, as_written, concentrated, counted, epsilon_at, of_unit, round_up, times

# How the tables' draws are spread: about what the records say, or by the noise that their middle is off by.
CENTRED, SPREAD = "centred", "spread"
DRAWN_BY = {
    "Grid": "exact draws on a grid",
    "PublicGrid": "exact draws on a grid",
    "Scored": "noise added to sums, exactly sampled",
}
# Which kind of promise; sums of epsilon mean something within one kind only.
STRICT, TARGET, INSTANCE, NONE = "strict", "target", "instance", "none"
SCOPES = {
    STRICT: "epsilon-differential privacy for one row's contribution, added or removed (scope: strict)",
    TARGET: "for study: what the draws aim at is private, the draws are not proven to be (scope: target)",
    INSTANCE: "an estimate for this database (scope: instance); not epsilon-differential privacy",
    NONE: "nothing is promised (scope: none)",
}
ROW = "one row of the table"
REMOVED = "one unit of privacy removed"
ADDED_OR_REMOVED = "one unit of privacy's contribution added or removed, the number of rows held public"
INSTANCE_PROMISE = (
    "asymptotic and local to this database: estimated from the posterior draws at hand for one record removed while "
    "the weights of the others stay as they are; it is not epsilon-differential privacy, and where one record moves "
    "the weights of others (LW, CW, re-weighting, any number that was searched) the loss can be larger"
)
AUDITED = "; exact audits of LW and LW_final found databases where it is, the more often the more records there are"
CW_AUDITED = "; exact audits of CW and CW_final found it larger where one record lies far beyond a small table's others"
SW_AUDITED = "; exact audits of SW aimed at an epsilon found that one record added can take it far above"
BUDGET_PROMISE = (
    "an estimate for this database: each weight is what the policy's budget allows its own record, given one draw of "
    "parameters that was itself drawn with half of the budget, and what a record adds is clipped to the other half, so "
    "that no other record's weight moves when a record comes or goes; it is not epsilon-differential privacy, since "
    "the draws are those of Markov chains, checked by diagnostics and not proved to be right, and since the model may "
    "have read levels or terms off the table"
)
NO_PROMISE = (
    "nothing is promised: every record counts in full, and what one record can do to the posterior has no limit; the "
    "tables must be treated like the confidential one"
)
STRICT_PROMISE = (
    "epsilon-differential privacy when one row's contribution is added or removed while the number of rows is held "
    "public, and twice epsilon when a row is replaced; it holds for every table of valid values, since what a record "
    "adds depends on that record and on public numbers alone and has a range of at most its share of epsilon in each "
    "draw; "
    "it covers the parameters drawn and all that is made from them, and neither the number of rows nor columns "
    "declared public nor how long the run took nor that it was not refused"
)
EXACT = (
    "; the parameters were drawn exactly, on a finite public grid and in whole numbers, with random bits that "
    "SHAKE-256 makes from 128 bits of the operating system's entropy"
)
SCORED_PROMISE = (
    "epsilon-differential privacy when one row's contribution is added or removed while the number of rows is held "
    "public, and twice epsilon when a row is replaced; it holds for every table of valid values: all that the table "
    "gives away are sums of clipped whole numbers, to which noise was added, and an exact private draw that they start "
    "from, and their costs add up to epsilon; everything else, any number of draws and tables, was made from these; it "
    "covers neither the number of rows nor columns declared public nor how long the run took nor that it was not "
    "refused; the noise was sampled exactly, in whole numbers, with random bits that SHAKE-256 makes from 128 bits of "
    "the operating system's entropy"
)
TARGET_PROMISE = (
    "no privacy is promised of these tables: they were drawn by Markov chain Monte Carlo, for study; the distribution "
    "that the draws aim at keeps the epsilon stated when one row's contribution is added or removed, but a chain "
    "can miss part of it, and one record can decide which part: neighbours have been told apart so; a strict mechanism "
    "(Scored, or Censored without covariates) keeps its epsilon"
)
CAPPED = (
    "; for one unit of privacy, not for one of its rows: where a unit has more rows than take part, a row removed from "
    "the table can change which ones do, which costs as much as replacing one"
)


WHOLE_ROW_STRICT = (
    "; it covers the whole row: all synthesized columns together, each of which has its public part of epsilon"
)
WHOLE_ROW = (
    "; it covers the whole row: the log-likelihood of a record is the sum over its synthesized columns, and its bound "
    "is taken over all combinations of the columns' draws"
)


def promise_of(rules: Sequence[str]) -> str:
    """What is promised of a mechanism with these rules, and what is known to break it."""
    if not rules:
        return NO_PROMISE
    if list(rules) == ["BW"]:
        return BUDGET_PROMISE
    audited = {"LW": AUDITED, "CW": CW_AUDITED, "SW": SW_AUDITED}
    return INSTANCE_PROMISE + "".join(words for rule, words in audited.items() if rule in rules)


def scope_of(rules: Sequence[str], bounded: bool, exact: bool) -> str:
    """Which kind of promise a mechanism makes: strict where what a record adds is bounded and nothing is inexact."""
    if bounded:
        return STRICT if exact else TARGET
    return INSTANCE if rules else NONE


@dataclass(frozen=True)
class StrictTerms:
    """What a strict promise rests on, all public: epsilon per draw, the contribution and its numbers, the grid.

    `by_column` divides epsilon per draw over the columns of a chain; `pure_only` says that the parts of a draw were
    not of one range, so that nothing is stated beside the pure epsilon. `scored`: noise was added to sums, once for all
    draws, so that epsilon per draw is epsilon in all.
    """

    epsilon_per_draw: float
    contribution: tuple[str, ...]
    grid: tuple[str, ...] = ()
    scalar: float | None = None
    at_limit: bool = False
    by_column: tuple[float, ...] = ()
    pure_only: bool = False
    scored: bool = False

    @property
    def exact(self) -> bool:
        """Whether nothing rests on a Markov chain: draws on a public grid are exact, and so is noise added to sums."""
        return bool(self.grid) or self.scored

    @property
    def promise(self) -> str:
        """In words."""
        if self.scored:
            return SCORED_PROMISE
        return STRICT_PROMISE + EXACT if self.exact else TARGET_PROMISE


@dataclass(frozen=True)
class PublicGuarantee:
    """What may be published: the policy's inputs and words; of the records, their number and nothing else.

    `policy_epsilon` is the policy's total budget for one row and `epsilon` what that comes to for one unit of privacy,
    `max_rows` times as much; None where no budget was set, since a realised epsilon depends on the data. n is treated
    as public; the rest are inputs that the user chose. A strict promise names its contribution and grid, the number
    `scalar` that tempers every record alike, and what it comes to when a row is replaced, in zero-concentrated privacy
    (rho), and as an epsilon at a small public delta. Of a table model, `columns` lists each column's formula, family
    and part of epsilon, `declared_public` what is public about columns, and `weights` says whether records had one
    weight or one for each column. `combining` says how estimates from several tables are put together (`intervals`),
    `read_off_the_table` what was read off the table and declared by nobody, `confirmed_public` what was read off it and
    then confirmed.
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
    exact: bool = False
    at_limit: bool = False
    contribution: tuple[str, ...] = ()
    grid: tuple[str, ...] = ()
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

    @property
    def spread(self) -> float | str | None:
        """How the tables' draws are spread, as `intervals.combine` takes it."""
        return SPREAD if self.combining == SPREAD else self.scalar

    def __str__(self) -> str:
        """One honest sentence."""
        budget = (
            "no policy budget was set"
            if self.epsilon is None
            else f"a policy budget of epsilon {as_written(self.epsilon)}{_for_unit(self.unit)}"
        )
        if self.scope == STRICT:
            beside = "" if self.rho is None else f" (also rho {round_up(self.rho)} of zero-concentrated privacy)"
            if self.epsilon_at_delta is not None and self.epsilon_at_delta < (self.epsilon or 0):
                beside = f"{beside[:-1]}, and epsilon {round_up(self.epsilon_at_delta)} at delta {self.delta:g})"
            return (
                f"{self.mechanism}: epsilon {as_written(self.epsilon or 0)}{_for_unit(self.unit)} for "
                f"{counted(self.m, 'draw')} of parameters over {self.n:,} records{beside}; {self.promise}"
                f"{_seeded(self.releasable)}."
            )
        if self.scope == TARGET:
            return (
                f"{self.mechanism}: a target of epsilon {as_written(self.epsilon or 0)}{_for_unit(self.unit)} for "
                f"{counted(self.m, 'draw')} of parameters over {self.n:,} records; {self.promise}"
                f"{_seeded(self.releasable)}."
            )
        return (
            f"{self.mechanism}: {budget} for {counted(self.m, 'draw')} of parameters, from {self.num_draws:,} "
            f"posterior draws{_dropped(self.thresh)} over {self.n:,} records; {self.promise}{_seeded(self.releasable)}."
        )


@dataclass(frozen=True)
class Guarantee:
    """The realised guarantee of a fit (confidential: it was computed from the records).

    Each draw of parameters costs epsilon_per_draw = 2 Delta, or what a strict mechanism bounds it by; m draws cost m
    times as much (sequential composition), and several tables from one draw cost nothing more. Where a unit of privacy
    has up to `max_rows` rows, all that times as much.
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
    unit: str = ROW
    max_rows: int = 1
    formula: str = ""
    family: str = ""
    columns: tuple[dict[str, Any], ...] = ()
    declared_public: dict[str, Any] = field(default_factory=dict)
    weights: str = "record"
    confirmed_public: dict[str, list[str]] = field(default_factory=dict)
    read_off_the_table: dict[str, list[str]] = field(default_factory=dict)

    @property
    def scope(self) -> str:
        """Which kind of promise: strict, target, instance or none."""
        return scope_of(self.rules, self.strict is not None, self.strict is not None and self.strict.exact)

    @property
    def promise(self) -> str:
        """What is promised, in words."""
        words = promise_of(self.rules) if self.strict is None else self.strict.promise
        if len(self.columns) > 1 and self.scope in (STRICT, INSTANCE):
            words += WHOLE_ROW_STRICT if self.strict is not None else WHOLE_ROW
        return words + (CAPPED if self.strict is not None and self.unit != ROW else "")

    @property
    def neighbours(self) -> str:
        """Which databases the promise compares."""
        return REMOVED if self.strict is None else ADDED_OR_REMOVED

    @property
    def epsilon_per_draw(self) -> float:
        """Twice the Lipschitz bound, or the range of a strict contribution."""
        return 2 * self.delta if self.strict is None else self.strict.epsilon_per_draw

    @property
    def epsilon_total(self) -> float:
        """Epsilon of all m draws together, for one row; of noise that was added once, whatever m is."""
        if self.strict is not None and self.strict.scored:
            return self.strict.epsilon_per_draw
        return times(self.m, self.epsilon_per_draw)

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
            sampler=DRAWN_BY.get(self.sampler, "Markov chain Monte Carlo"),
            releasable=self.releasable,
            version=__version__,
            columns=self.columns,
            declared_public=self.declared_public,
            weights=self.weights,
            combining=SPREAD if self.strict is not None and self.strict.scored else CENTRED,
            confirmed_public=self.confirmed_public,
            read_off_the_table=self.read_off_the_table,
            **self._strict_numbers(),
        )

    def _strict_numbers(self) -> dict[str, Any]:
        """What a strict promise comes to for one unit of privacy, in other currencies too."""
        if self.strict is None or self.policy_epsilon is None:
            return {}
        stated = {
            "exact": self.strict.exact,
            "at_limit": self.strict.at_limit,
            "contribution": self.strict.contribution,
            "grid": self.strict.grid,
            "scalar": self.strict.scalar,
            "epsilon_replace": of_unit(self.policy_epsilon, 2 * self.max_rows),
        }
        # Concentrated privacy does not survive a chain that is slightly off.
        if not self.strict.exact or self.strict.pure_only:
            return stated
        rho = concentrated(self.strict.epsilon_per_draw, self.m, self.max_rows)
        pure = of_unit(self.policy_epsilon, self.max_rows)
        return {**stated, "rho": rho, "delta": DELTA, "epsilon_at_delta": min(pure, epsilon_at(rho))}

    def __str__(self) -> str:
        """One honest sentence; numbers are rounded up."""
        if self.strict is not None:
            return str(self.public())
        unit = f" ({round_up(self.epsilon_unit)}{_for_unit(self.unit)})" if self.unit != ROW else ""
        taken = "clipped to in each of" if list(self.rules) == ["BW"] else "from the largest of"
        return (
            f"{self.mechanism}: epsilon {round_up(self.epsilon_per_draw)} per draw, {round_up(self.epsilon_total)} for "
            f"{counted(self.m, 'draw')} of parameters{unit}, {taken} {self.num_draws:,} posterior draws"
            f"{_dropped(self.thresh)} over {self.n:,} records ({self.sampler}); "
            f"{self.promise}{_seeded(self.releasable)}."
        )


def formulas_of(guarantee: PublicGuarantee) -> list[str]:
    """The formula of each column that was modelled."""
    return [str(entry["formula"]) for entry in guarantee.columns] or [guarantee.formula]


def _for_unit(unit: str) -> str:
    return "" if unit == ROW else f" for {unit}"


def _dropped(thresh: float) -> str:
    return "" if thresh == 1 else f" (those above the {thresh:g} quantile of their bounds dropped)"


def _seeded(releasable: bool) -> str:
    return "" if releasable else "; not for release, since the random seed was fixed"
