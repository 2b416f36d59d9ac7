"""`RakedSynthesizer`: whole tables from declared columns, by noisy sums and raking; `Synthesizer` gives it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from copy import copy
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, Unpack

import numpy as np

from alphasynth.catalogue import TAKES, MechanismOptions, options_of
from alphasynth.errors import InputError, found, gathering, require_whole
from alphasynth.mechanisms.mechanism import Step, Watch
from alphasynth.mechanisms.watching import watched
from alphasynth.notebook.declarations import declared_table
from alphasynth.privacy.accounting import written
from alphasynth.privacy.approximate import rho_of_row
from alphasynth.privacy.guarantee import Guarantee
from alphasynth.privacy.guarantee_card import budget_words
from alphasynth.privacy.randomness import Key, Stream, child, key_of, without_hidden
from alphasynth.privacy.scopes import STRICT
from alphasynth.privacy.spending import Spending
from alphasynth.privacy.strict_terms import NoisySums, StrictTerms
from alphasynth.raking.columns import INTERACTIONS, RESPONSE, Columns
from alphasynth.raking.exact import Held, exact_of
from alphasynth.raking.fitted import Fitted
from alphasynth.raking.measured import stated, warn_of_noise
from alphasynth.raking.raked import fit
from alphasynth.raking.reading import HEAVIEST
from alphasynth.raking.settings import Raked
from alphasynth.raking.sums import Confidential, Exact, Weights
from alphasynth.synthesis.cards import asked_card, measured_part
from alphasynth.synthesis.checks import check_rows, epsilon_of_sums, names_of, part_of_all, small_delta
from alphasynth.synthesis.confirmation import confirm, refuse
from alphasynth.synthesis.one_thread import one_thread
from alphasynth.synthesis.parameters import as_given, asked_again, in_words, spelled_out
from alphasynth.synthesis.pool_maker import PoolMaker
from alphasynth.synthesis.public_types import declared_type, empty_column
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.simulation import Layout, Simulation, synthesize
from alphasynth.tables.declared import READ_OFF, Declared
from alphasynth.tables.frames import DECLARED, Frame, column_names, kind_of, require, to_arrow
from alphasynth.tables.grouping import ROWS_AT_A_TIME, Streamed, Unit
from alphasynth.tables.opening import as_declared

MECHANISM = "Raked"
# The part of the budget that tells what survey weights and their squares sum to.
FOR_WEIGHTS = Fraction(1, 100)
# Options that a columns file may say too.
KEPT = (RESPONSE, INTERACTIONS)


class _Outcome(NamedTuple):
    """What a fit leaves: noisy sums and what was made from them, nothing else of the table."""

    key: Key
    fitted: Fitted
    layout: Layout
    guarantee: Guarantee


class RakedSynthesizer:
    """Whole tables from declared columns: noisy counts and moments, then raking. `Synthesizer` makes it for `Raked`.

    `columns` says what is public of each column and nothing else is needed. With a `delta` the promise is (epsilon,
    delta), by Gaussian noise; without one it is pure, by Laplace noise, which costs accuracy. `m` tables come from
    draws of what the noisy sums may have been, which costs nothing; a single one is as near to the sums as can be.
    """

    __signature__: ClassVar[inspect.Signature]
    _outcome: _Outcome | None = None
    _held: int | None = None

    def __init__(
        self,
        columns: Columns | Mapping[str, Declared | Mapping[str, Any]],
        *,
        m: int = 1,
        epsilon: float | None = None,
        delta: float | None = None,
        confirm_public: str | Sequence[str] = (),
        rows: int | None = None,
        tables_per_draw: int = 1,
        seed: int | None = None,
        **options: Unpack[MechanismOptions],
    ) -> None:
        """Check everything that can be checked without the table; raise `InputError`."""
        self._given = as_given(self.__signature__, locals())  # before any other name is there
        given = {name: value for name, value in options.items() if value not in (None, (), {})}
        if not isinstance(columns, Columns | Mapping):
            raise InputError(f"Raked must have declared columns (Columns), not formulas, found {found(columns)}")
        with gathering() as problems:
            for name in [name for name in given if name not in TAKES[MECHANISM]]:
                problems.say(f"{name} must be left out with Raked, which needs declared columns, found it")
            with problems:
                self.epsilon = epsilon_of_sums(epsilon)
            with problems:
                self.delta = None if delta is None else small_delta(delta)
            with problems:
                self.m = require_whole("m", m)
            with problems:
                share = part_of_all("response_share", given.get("response_share", Raked.response_share))
            with problems:
                self.rows = None if rows is None else require_whole("rows", rows)
            with problems:
                self.tables_per_draw = require_whole("tables_per_draw", tables_per_draw)
            with problems:
                self.seed = None if seed is None else require_whole("seed", seed, 0)
            self.columns = columns if isinstance(columns, Columns) else Columns.of(columns)
            with problems:  # what is asked for goes before what the columns file says
                asked = [names_of(name, given.get(name, ())) or getattr(self.columns, name) for name in KEPT]
                self.columns = self.columns.with_response(*asked)
            with problems:
                confirmed = names_of("confirm_public", confirm_public)
                self.confirmed_public, self.read_off = confirm(self.columns, confirmed)
                refuse(self.read_off)
        responses, crossed = self.columns.response, self.columns.crossed
        self.settings = Raked(response=responses, response_share=share, interactions=crossed)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What was asked, by name, as scikit-learn has it; nothing is nested, so that `deep` changes nothing."""
        return dict(self._given)

    def set_params(self, **params: Any) -> Self:
        """Ask for something else and forget what was fitted; raise `InputError`, and change nothing, if that fails."""
        if params:
            self.__dict__ = asked_again(self, self._given, params).__dict__
        return self

    def __repr__(self) -> str:
        return in_words(type(self).__name__, self.__signature__, self._given)

    def _repr_html_(self) -> str:
        """For notebooks: what was asked, what is declared and, of a fitted one, what was measured."""
        asked: dict[str, Any] = {"mechanism": MECHANISM, **budget_words(self.epsilon, self.delta), "tables": self.m}
        asked |= {"response": self.columns.response, "interactions": self.columns.interactions, "seed": self.seed}
        declared = declared_table({n: facts.plain() for n, facts in self.columns.declared.items()}, READ_OFF)
        found = None if self._outcome is None else [measured_part(self._outcome.guarantee.public())]
        return asked_card("RakedSynthesizer", asked, self.scope, found, declared)

    @property
    def responses(self) -> tuple[str, ...]:
        """The columns to synthesize: all that are declared."""
        return self.columns.names

    @property
    def strict(self) -> bool:
        """It is: all that leaves the table are noisy sums."""
        return True

    @property
    def scope(self) -> str:
        """Which kind of promise is made."""
        return STRICT

    def check_columns(self, names: Sequence[Any], listed: bool) -> None:
        """Refuse a table that lacks a declared column, or holds it twice."""
        require(names, self.used, DECLARED, listed)

    @property
    def used(self) -> tuple[str, ...]:
        """Columns that are read, the weight last."""
        weight = self.columns.weight
        return self.columns.names if weight is None else (*self.columns.names, weight.column)

    def holding(self, n: int) -> RakedSynthesizer:
        """The same, to be fitted to tables of n rows of which some are not counted, and not there: for audits."""
        other = copy(self)
        other._held = n
        return other

    def fit(self, table: Frame | Streamed, watch: Watch | None = None) -> RakedSynthesizer:
        """Measure a table with noise and rake a pool to it; raise `InputError` for values that were not declared.

        `watch` is told when the table was added up; unless told, a notebook shows it.
        """
        with watched(watch, None) as told:
            return self._fit(table, told)

    @one_thread()
    def _fit(self, table: Frame | Streamed, watch: Watch) -> RakedSynthesizer:
        key = key_of(self.seed)
        unit = table.unit if isinstance(table, Streamed) else None
        exact = self._sums_of(table)
        n = exact.n if self._held is None else self._held
        check_rows(self.delta, n)
        watch(Step(1, 1, 1))
        max_rows = 1 if unit is None else unit.max_rows
        row = written(self.epsilon) if self.delta is None else Fraction(rho_of_row(self.epsilon, self.delta, max_rows))
        spending = Spending(row * (max_rows if self.delta is None else max_rows**2), pure=self.delta is None)
        stream, rng = Stream(child(key, 0)), np.random.default_rng(child(key, 1))
        confidential = Confidential(exact, stream, spending, n, max_rows)
        if self.columns.weight is not None:
            confidential = confidential.weighed(Weights(HEAVIEST, FOR_WEIGHTS))
        fitted = fit(rng, confidential, self.columns.cells(), self.settings, self.columns.constraints)
        spending.check_spent()
        sums = stated(spending.measured, n, confidential.most, fitted.each)
        warn_of_noise(sums, spending, self.epsilon, max_rows, len(self.columns.names))
        guarantee = self._guarantee(n, unit, sums, None if self.delta is None else float(row))
        self._outcome = _Outcome(without_hidden(key), fitted, self._layout(table), guarantee)
        return self

    def _sums_of(self, table: Frame | Streamed) -> Exact:
        """Exact sums of a table (confidential), for `Confidential` alone."""
        names = self.used
        if isinstance(table, Streamed):
            self.check_columns(list(table.column_names), table.names_are_public)
            return exact_of(self.columns, as_declared(table, self.columns.read_as), names)
        self.check_columns(column_names(table), True)
        rows = to_arrow(table, names).to_batches(max_chunksize=ROWS_AT_A_TIME)
        held = Held.gathered(self.columns, rows, math.inf)
        assert held is not None, "a frame is in memory, and its cells take less"
        return held

    def _layout(self, table: Frame | Streamed) -> Layout:
        """The table's columns in its order, in the types that declarations make."""
        stored = isinstance(table, Streamed)
        kind, order = ("pyarrow", table.column_names) if stored else (kind_of(table), column_names(table))
        empty = {
            name: empty_column(kind, declared_type(facts, facts.whole), facts.missing is not None)
            for name, facts in self.columns.declared.items()
        }
        names = tuple(name for name in order if name in empty)
        return Layout(kind, names, {}, empty, None, by_declaration=True)

    def _guarantee(self, n: int, unit: Unit | None, sums: tuple[NoisySums, ...], rho: float | None) -> Guarantee:
        declared = {name: facts.plain() for name, facts in self.columns.declared.items()}
        terms = StrictTerms(
            epsilon_per_draw=self.epsilon,
            contribution=(),
            scored=True,
            pure_only=True,
            rho=rho,
            constraints=tuple(each.text for each in self.columns.constraints),
            weighted_by=None if self.columns.weight is None else str(self.columns.weight),
            response=self.columns.response,
            interactions=self.columns.interactions,
            measured=sums,
        )
        return Guarantee(
            mechanism=MECHANISM,
            rules=(),
            delta=self.epsilon,
            m=self.m,
            n=n,
            num_draws=self.m,
            sampler=MECHANISM,
            policy_epsilon=self.epsilon,
            policy_delta=self.delta,
            tables_per_draw=self.tables_per_draw,
            releasable=self.seed is None,
            strict=terms,
            unit_column=None if unit is None else unit.column,
            max_rows=1 if unit is None else unit.max_rows,
            columns=tuple({"column": name} for name in self.columns.names),
            declared_public={name: {k: v for k, v in f.items() if k != READ_OFF} for name, f in declared.items()},
            confirmed_public=self.confirmed_public,
        )

    @property
    def guarantee_(self) -> Guarantee:
        """The guarantee of the fit."""
        return self._fitted.guarantee

    @property
    def _fitted(self) -> _Outcome:
        if self._outcome is None:
            raise InputError("fit(table) must come first")
        return self._outcome

    def to_arviz(self, label: str | None = None, log_likelihood: bool = True) -> NoReturn:
        """Refused: there are no draws of parameters here."""
        raise InputError("to_arviz must have draws of parameters, found Raked, which has none: its noise is on sums")

    def simulations(self) -> list[Simulation]:
        """The tables of `sample`, not made yet: each can be had in chunks."""
        fitted = self._fitted
        key = child(fitted.key, 2) if self.seed is not None else key_of(None)
        rows = self.rows or fitted.guarantee.n
        makers = [
            PoolMaker(child(key, self.m, number), fitted.fitted, self.columns, fitted.guarantee.n, rows, self.m > 1)
            for number in range(self.m)
        ]
        return synthesize(key, makers, fitted.layout, self.rows, self.tables_per_draw)

    def sample(self) -> list[Frame]:
        """`tables_per_draw` tables for each of the m draws: frames of the input's kind."""
        return [simulation.table() for simulation in self.simulations()]

    def release(self) -> Release:
        """Tables and the public part of the guarantee: the only thing that may leave."""
        return Release(tuple(self.sample()), self._fitted.guarantee.public())


RakedSynthesizer.__signature__ = spelled_out(inspect.signature(RakedSynthesizer.__init__), options_of(MECHANISM))
