"""The friendly front: `Synthesizer(...).fit(table).sample()`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from alphasynth.audits.audit import MOST_ROWS, audit
from alphasynth.audits.finding import Finding
from alphasynth.audits.subject import Subject
from alphasynth.errors import InputError, found
from alphasynth.inference.public_grid import PublicGrid
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms import scored_fit, strict, strict_warnings
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.mechanisms.lipschitz import Lipschitz
from alphasynth.mechanisms.mechanism import Trail, Watch, ignore
from alphasynth.mechanisms.rounds import weightings
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.guarantee import Guarantee
from alphasynth.privacy.randomness import Key, child, key_of
from alphasynth.raking.columns import Columns
from alphasynth.synthesis.generation import TableMaker
from alphasynth.synthesis.outcome import carry_out, new_rows, scored_terms
from alphasynth.synthesis.preparation import bind, budgets_of, mechanism_of, read
from alphasynth.synthesis.raked import MECHANISM, RakedSynthesizer
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.request import Request
from alphasynth.synthesis.simulation import Layout, Simulation, pick, synthesize, thetas
from alphasynth.synthesis.statements import stated_columns, stated_declarations, stated_marks
from alphasynth.tables.frames import Frame
from alphasynth.tables.grouping import Stored
from alphasynth.tables.records import Records


class _Outcome(NamedTuple):
    """What a fit leaves (confidential); `settled` is the model with what its gaps are."""

    key: Key
    bound: BoundTable
    settled: TableModel
    trail: Trail
    picked: np.ndarray
    layout: Layout
    guarantee: Guarantee
    row_numbers: np.ndarray | None
    paths: tuple[scored_fit.Path, ...] = ()


class Synthesizer(Request):
    """Fit a mechanism to a confidential table and sample synthetic tables from it.

    `epsilon` is the total budget of the m draws released; without it epsilon falls out of the weights, as in the paper.
    With a `delta` beside it a strict mechanism promises (epsilon, delta), where that gives its parts more.
    A formula is of one column, a `TableModel` (or several formulas, with a family each) of several, which are
    generated one from another. Covariates that are not among them must be declared `public`: they are released as they
    are, row by row in the table's order, and the guarantee does not cover them. `declared` says what is public about
    columns: levels, limits, whole numbers, gaps; `confirm_public` names columns (or "all") of which a suggested model's
    facts, read off the table, may be told: a strict mechanism refuses the others. `survey_weights` names a public
    column that the report weights by.
    With `weights="column"` each column of a record has a weight of its own. With a `seed` a run can be repeated, and
    must not be released. Attributes that end in an underscore are confidential.

    `num_draws` posterior draws decide Delta; those above the `thresh` quantile of their largest alpha |f| go first.
    Each of the m draws released gives `tables_per_draw` tables of `rows` rows (unless told, as many as the table has).

    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": [4, 6, 5, 7, 3, 5, 6, 5] * 5})
    >>> synthesizer = Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=2, seed=1).fit(table)
    >>> [list(table.columns) for table in synthesizer.sample()]
    [['y'], ['y']]
    """

    _outcome: _Outcome | None = None

    if not TYPE_CHECKING:  # to a type checker all are one

        def __new__(cls, formula: Any = None, *arguments: Any, **options: Any) -> Any:
            """A synthesizer of whole tables where columns are declared, or `Raked` is asked for."""
            mechanism = options.get("mechanism")
            if mechanism == MECHANISM:
                return RakedSynthesizer(formula, *arguments, **{k: v for k, v in options.items() if k != "mechanism"})
            if isinstance(formula, Columns):
                raise InputError(f"declared columns must have the mechanism {MECHANISM}, found {found(mechanism)}")
            return super().__new__(cls)

    @in_64_bit
    def fit(self, table: Frame | Stored, watch: Watch = ignore) -> Synthesizer:
        """Run the mechanism on a table and pick the m draws that synthetic tables will come from.

        The table is a pandas, polars or pyarrow frame, or a stored one (`open_table`). `watch` is told of every fit.
        Raises `InputError` for a table that cannot be fitted, `DiagnosticsError` for draws that cannot be used and
        `CalibrationError` for an epsilon that cannot be met; the synthesizer is then as it was before.
        """
        records, layout, grouped, model = read(self, table)
        key = key_of(self.seed)
        unit = None if grouped is None else grouped.unit
        max_rows = 1 if unit is None else unit.max_rows
        carried = carry_out(child(key, 0), self, model, records, watch, max_rows)
        bound, trail, paths = carried
        drawn = [column.draws for column in trail.fits[-1].columns]
        fewest = min(drawn, key=lambda draws: draws.num_draws)
        picked = pick(child(key, 1), fewest, self.m)
        released = [draws.take(picked) for draws in drawn]
        concentrated = self.delta is not None and budgets_of(self, bound.model, max_rows).concentrated
        promised = scored_terms(self, carried) if paths else strict.terms(bound.chain, released, concentrated)
        marks = stated_marks(bound, self.model, self.read_off)
        guarantee = Guarantee(
            formulas=tuple(formula.text for formula in self.formulas),
            families=self.families,
            mechanism=self.mechanism.label,
            rules=tuple(type(rule).__name__ for rule in self.mechanism.rules),
            delta=trail.delta,
            m=self.m,
            n=bound.chain.records.n,
            num_draws=fewest.num_draws,
            sampler=_samplers(drawn),
            policy_epsilon=self.epsilon,
            policy_delta=self.delta,
            tables_per_draw=self.tables_per_draw,
            draws_asked=self.num_draws,
            thresh=self.thresh,
            public_columns=self.public,
            releasable=self.seed is None,
            strict=promised,
            columns=stated_columns(bound, promised),
            declared_public=stated_declarations(bound, marks),
            confirmed_public=self.confirmed_public,
            read_off_the_table=marks,
            weights=self.weights,
            unit_column=None if unit is None else unit.column,
            max_rows=max_rows,
            weighted_by=self.survey_weights if self.survey_likelihood else None,
        )
        row_numbers = None if grouped is None else grouped.rows
        self._outcome = _Outcome(key, bound, model, trail, picked, layout, guarantee, row_numbers, paths)
        if paths:
            scored_fit.warn(bound.model.names, paths)
        elif self.strict:
            for block, draws in zip(bound.chain.blocks, released, strict=True):
                strict_warnings.warn(block, draws)
        return self

    def read(self, table: Frame | Stored) -> Records:
        """The records of a table on every column in use; confidential."""
        return read(self, table).records

    def bind(self, records: Records) -> Chain:
        """Records bound to the model as it was fitted, if it was, and to the sampler."""
        return bind(self, self._settled, records, self._max_rows).chain

    @property
    def _settled(self) -> TableModel:
        """The model as it was fitted, if it was."""
        return self.model if self._outcome is None else self._outcome.settled

    @property
    def _max_rows(self) -> int:
        """Rows of a unit of privacy in the table that was fitted, if one was."""
        return 1 if self._outcome is None else self._outcome.guarantee.max_rows

    @property
    def trail_(self) -> Trail:
        """The first fit and one per rule; confidential."""
        return self._fitted.trail

    @property
    def alpha_(self) -> np.ndarray:
        """Final weights (n,) in the table's row order; confidential."""
        return self.trail_.fits[-1].alpha

    @property
    def lipschitz_(self) -> Lipschitz:
        """Final Lipschitz bounds, by record and overall; confidential."""
        return self.trail_.fits[-1].lipschitz

    @property
    def guarantee_(self) -> Guarantee:
        """The realised guarantee; confidential."""
        return self._fitted.guarantee

    @property
    def subject_(self) -> Subject:
        """The run as `audit` takes it; confidential."""
        fitted = self._fitted
        return Subject(
            fitted.trail,
            fitted.bound.chain,
            self.bind,
            mechanism_of(self, fitted.bound.chain),
            self.target,
            fitted.guarantee.scope,
            self.sampled,
            fitted.paths,
        )

    def sampled(self, key: Key, records: Records, number: int) -> list[dict[str, Any]]:
        """Synthesized columns from runs on these records, as `audit` takes them; confidential.

        Where draws on a public grid are independent one fit makes all of them, else each has a run of its own.
        """
        first, *others = self.bind(records).blocks
        if not others and isinstance(first.sampler, PublicGrid) and first.second is None and not self.scored:
            many = copy(self)
            many.num_draws = max(number, self.num_draws)
            carried = carry_out(child(key, 0), many, self._settled, records, max_rows=self._max_rows)
            return [new_rows(child(key, 1, i), carried, i) for i in range(number)]
        runs = (
            carry_out(child(key, 0, i), self, self._settled, records, max_rows=self._max_rows) for i in range(number)
        )
        return [new_rows(child(key, 1, i), carried, 0) for i, carried in enumerate(runs)]

    def audit_(
        self,
        audits: Sequence[str] = ("draw",),
        canaries: Sequence[float] = (),
        most: int = MOST_ROWS,
        trials: int = 400,
    ) -> list[Finding]:
        """Put the claim to the test on neighbouring tables by "density", "draw" or "black-box" audits; confidential.

        `canaries` are responses to add beside 0 and far outliers, `most` the distinct rows to remove, `trials` the runs
        of a black-box audit on each side. Raises `InputError`.
        """
        named = (audits,) if isinstance(audits, str) else audits
        return audit(key_of(self.seed), self.subject_, named, canaries, most, trials)

    @property
    def weightings_(self) -> tuple[Weighting, ...]:
        """Weights, bounds and draws of mu of every round; confidential."""
        return weightings(self.trail_, self._fitted.bound.chain)

    @property
    def picked_(self) -> np.ndarray:
        """Numbers of the m draws released, among those of the last fit; confidential."""
        return self._fitted.picked

    @property
    def row_numbers_(self) -> np.ndarray | None:
        """Numbers, from 0, of the rows that a cap on each unit's rows kept; None where all take part; confidential."""
        return self._fitted.row_numbers

    @property
    def _fitted(self) -> _Outcome:
        if self._outcome is None:
            raise InputError("fit(table) must come first")
        return self._outcome

    def simulations(self) -> list[Simulation]:
        """The tables of `sample`, not simulated yet: each can be had in chunks, where it would not fit in memory."""
        fitted = self._fitted
        # With a seed the same rows come again; without one, new entropy decides them each time.
        key = child(fitted.key, 2) if self.seed is not None else key_of(None)
        columns = [thetas(column.draws.take(fitted.picked)) for column in fitted.trail.fits[-1].columns]
        makers = [TableMaker(fitted.bound, drawn) for drawn in zip(*columns, strict=True)]
        return synthesize(key, makers, fitted.layout, self.rows, self.tables_per_draw)

    def sample(self) -> list[Frame]:
        """`tables_per_draw` tables for each of the m draws picked by `fit`: frames of the input's kind.

        They hold the synthesized and the public columns and nothing else. Sampling again uses the same m draws, so it
        costs nothing more.
        """
        return [simulation.table() for simulation in self.simulations()]

    def release(self) -> Release:
        """Tables and the public part of the guarantee: the only thing that may leave."""
        return Release(tuple(self.sample()), self._fitted.guarantee.public())


def _samplers(drawn: Sequence[Draws]) -> str:
    """The sampler of the draws, or the one of most caution where there are several."""
    names = {draws.diagnostics.sampler for draws in drawn}
    exact = {"Grid", "PublicGrid"}
    return ", ".join(sorted(names - exact if names - exact else names))
