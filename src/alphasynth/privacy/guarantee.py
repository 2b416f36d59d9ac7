"""`Guarantee`: what is promised, per draw and in all, in numbers and names; and the part that may be published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from alphasynth import __version__
from alphasynth.notebook.markup import CONFIDENTIAL
from alphasynth.privacy import promises
from alphasynth.privacy.accounting import counted, epsilon_of, of_unit, round_up, times
from alphasynth.privacy.guarantee_card import guarantee_card, reached
from alphasynth.privacy.public_guarantee import CENTRED, SPREAD, PublicGuarantee
from alphasynth.privacy.scopes import scope_of
from alphasynth.privacy.strict_numbers import epsilon_realised, strict_numbers
from alphasynth.privacy.strict_terms import StrictTerms

__all__ = ["SPREAD", "Guarantee", "PublicGuarantee"]
DRAWN_BY = {
    "Grid": "exact draws on a grid",
    "PublicGrid": "exact draws on a grid",
    "Scored": "noise added to sums, exactly sampled",
    "Raked": "noise added to sums, exactly sampled",
}


@dataclass(frozen=True)
class Guarantee:
    """The realised guarantee of a fit (confidential: it was computed from the records).

    Each draw of parameters costs epsilon_per_draw = 2 Delta, or what a strict mechanism bounds it by; m draws cost m
    times as much (sequential composition), and several tables from one draw cost nothing more. Where a unit of privacy
    has up to `max_rows` rows, all that times as much. `policy_delta` is what was asked for; it is spent where the
    strict terms have a rho, which epsilon in all then follows from.

    >>> Guarantee("LW", ("LW",), delta=2.5, m=3, n=1_000, num_draws=1_000, sampler="Laplace").epsilon_total
    15.0
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
        whom = promises.for_unit(self.unit_column, self.max_rows)
        unit = f" ({round_up(self.epsilon_unit)}{whom})" if whom else ""
        taken = "clipped to in each of" if list(self.rules) == ["BW"] else "from the largest of"
        return (
            f"{self.mechanism}: epsilon {round_up(self.epsilon_per_draw)} per draw, {round_up(self.epsilon_total)} for "
            f"{counted(self.m, 'draw')} of parameters{unit}, {taken} {self.num_draws:,} posterior draws"
            f"{promises.dropped(self.thresh)} over {counted(self.n, 'record')} ({self.sampler}); "
            f"{self.promise}{promises.seeded(self.releasable)}."
        )

    def __repr__(self) -> str:
        return f"<Guarantee: {self}>"

    def _repr_html_(self) -> str:
        """For notebooks: as the public part, with what was realised; confidential."""
        public = self.public()
        if self.strict is not None:
            return guarantee_card("Guarantee", public.numbers, public.clauses, self.releasable, mark=CONFIDENTIAL)
        per_draw, total = round_up(self.epsilon_per_draw), round_up(self.epsilon_unit)
        numbers = public.numbers | {
            "epsilon realised": f"{per_draw} per draw, {total} in all",
            "Delta": round_up(self.delta),
        }
        figure = reached(public.epsilon, self.epsilon_unit)
        return guarantee_card("Guarantee", numbers, public.clauses, self.releasable, figure, CONFIDENTIAL)
