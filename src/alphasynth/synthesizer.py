"""The friendly front: `Synthesizer(...).fit(table).sample()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from alphasynth.audits.audit import MOST_ROWS, audit
from alphasynth.audits.finding import Finding
from alphasynth.audits.subject import Subject
from alphasynth.errors import InputError, found
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.likelihoods.tree import tree_of
from alphasynth.mechanisms import scored_fit, strict_warnings
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.mechanisms.lipschitz import Lipschitz
from alphasynth.mechanisms.mechanism import Trail, Watch
from alphasynth.mechanisms.rounds import weightings
from alphasynth.mechanisms.watching import watched
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.guarantee import Guarantee
from alphasynth.privacy.randomness import Key, child, key_of
from alphasynth.raking.columns import Columns
from alphasynth.synthesis.cards import MOST_ROWS as MOST_SHOWN
from alphasynth.synthesis.cards import asked_card, fitted_parts
from alphasynth.synthesis.generation import TableMaker
from alphasynth.synthesis.outcome import carry_out, guarantee_of, new_rows
from alphasynth.synthesis.preparation import bind, mechanism_of, read
from alphasynth.synthesis.raked import MECHANISM, RakedSynthesizer
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.request import Request
from alphasynth.synthesis.simulation import Layout, Simulation, pick, synthesize, thetas
from alphasynth.tables.frames import Frame
from alphasynth.tables.grouping import Stored
from alphasynth.tables.records import Records

if TYPE_CHECKING:
    import xarray as xr


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
            if mechanism == MECHANISM or (mechanism is None and isinstance(formula, Columns | Mapping)):
                return RakedSynthesizer(formula, *arguments, **{k: v for k, v in options.items() if k != "mechanism"})
            if isinstance(formula, Columns):
                raise InputError(f"declared columns must have the mechanism {MECHANISM}, found {found(mechanism)}")
            return super().__new__(cls)

    def fit(self, table: Frame | Stored, watch: Watch | None = None) -> Synthesizer:
        """Run the mechanism on a table and pick the m draws that synthetic tables will come from.

        The table is a pandas, polars or pyarrow frame, or a stored one (`open_table`). `watch` is told of every fit;
        unless told, a notebook shows them.
        Raises `InputError` for a table that cannot be fitted, `DiagnosticsError` for draws that cannot be used and
        `CalibrationError` for an epsilon that cannot be met; the synthesizer is then as it was before.
        """
        with watched(watch, None if self.scored else self.num_draws) as told:
            self._outcome = self._carried_out(table, told)
        fitted = self._outcome
        if fitted.paths:
            scored_fit.warn(fitted.bound.model.names, fitted.paths)
        elif self.strict:
            for block, column in zip(fitted.bound.chain.blocks, fitted.trail.fits[-1].columns, strict=True):
                strict_warnings.warn(block, column.draws.take(fitted.picked))
        return self

    @in_64_bit
    def _carried_out(self, table: Frame | Stored, watch: Watch) -> _Outcome:
        records, layout, grouped, model = read(self, table)
        key = key_of(self.seed)
        unit = None if grouped is None else grouped.unit
        max_rows = 1 if unit is None else unit.max_rows
        carried = carry_out(child(key, 0), self, model, records, watch, max_rows)
        bound, trail, paths = carried
        fewest = min((column.draws for column in trail.fits[-1].columns), key=lambda draws: draws.num_draws)
        picked = pick(child(key, 1), fewest, self.m)
        guarantee = guarantee_of(self, carried, picked, unit)
        row_numbers = None if grouped is None else grouped.rows
        return _Outcome(key, bound, model, trail, picked, layout, guarantee, row_numbers, paths)

    def read(self, table: Frame | Stored) -> Records:
        """The records of a table on every column in use; confidential."""
        return read(self, table).records

    def bind(self, records: Records) -> Chain:
        """Records bound to the model as it was fitted, if it was, and to the sampler."""
        return bind(self, self._settled, records, self._max_rows).chain

    def _repr_html_(self) -> str:
        """For notebooks: what was asked, and of a fitted one what it found; confidential then."""
        if self._outcome is None:
            return asked_card("Synthesizer", self.asked, self.scope, None)
        few = self._outcome.guarantee.n <= MOST_SHOWN and (self.rows or 0) <= MOST_SHOWN
        synthetic = self.simulations()[0].table() if few else None
        return asked_card("Synthesizer", self.asked, self.scope, fitted_parts(self.trail_, synthetic, self.strict))

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
    def terms_(self) -> tuple[tuple[str | None, ...], ...]:
        """Names of the terms of each column's coefficients; None where a name is not public."""
        return self._fitted.bound.public_terms(self.public)

    @property
    def row_numbers_(self) -> np.ndarray | None:
        """Numbers, from 0, of the rows that a cap on each unit's rows kept; None where all take part; confidential."""
        return self._fitted.row_numbers

    @property
    def _fitted(self) -> _Outcome:
        if self._outcome is None:
            raise InputError("fit(table) must come first")
        return self._outcome

    def to_arviz(self, label: str | None = None, log_likelihood: bool = True) -> xr.DataTree:
        """Draws of the last round, or of the one called `label`, as ArviZ's tree; confidential.

        Beside the posterior it has the records' values, their weights and, unless told not to, the log-likelihood of
        every record in every draw, as `weights_from` and leave-one-out take it. Raises `InputError`.
        """
        fitted = self._fitted
        return tree_of(fitted.trail, fitted.bound, label, fitted.picked, log_likelihood)

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
