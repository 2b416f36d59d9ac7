"""The friendly front: `Synthesizer(...).fit(table).sample()`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from alphasynth import strict
from alphasynth.accounting import per_draw, split
from alphasynth.audit import MOST_ROWS, Finding, Subject, audit
from alphasynth.automatic import Automatic
from alphasynth.binding import BoundTable, bind_table
from alphasynth.chain import AnyProblem, Chain, blocks_of, columns_of
from alphasynth.contribution import Censored, Recentred, Strict
from alphasynth.declared import Declared
from alphasynth.errors import InputError, found, require_positive, require_whole
from alphasynth.families import FAMILIES, bind_column
from alphasynth.fit import NUM_DRAWS, Problem, check_settings, in_64_bit
from alphasynth.formula import Formula
from alphasynth.frames import Frame, column_names, require
from alphasynth.gaps import frame_without_gaps, without_gaps
from alphasynth.generate import TableMaker
from alphasynth.grid import Grid
from alphasynth.grouping import Grouped, Stored
from alphasynth.guarantee import Guarantee, scope_of
from alphasynth.lipschitz import Lipschitz
from alphasynth.mechanism import Mechanism, Trail, Watch, ignore, named_mechanism, run
from alphasynth.model import Model, Rows
from alphasynth.own_model import OwnModel
from alphasynth.priors import CoefficientPrior, NormalPrior
from alphasynth.public_grid import PublicGrid
from alphasynth.records import Records
from alphasynth.release import Release
from alphasynth.rounds import weightings
from alphasynth.sampler import Draws, Key, Sampler, child
from alphasynth.statements import stated_columns, stated_declarations
from alphasynth.synthesize import ColumnMaker, Layout, Maker, Simulation, pick, synthesize, thetas
from alphasynth.table_model import ColumnModel, TableModel
from alphasynth.weighting import Weighting
from alphasynth.weights import BW, CW, Given, PerColumn, kind


class _Outcome(NamedTuple):
    """What a fit leaves (confidential); `bound` of a table model."""

    key: Key
    problem: AnyProblem
    bound: BoundTable | None
    settled: TableModel | None
    trail: Trail
    picked: np.ndarray
    layout: Layout
    guarantee: Guarantee
    row_numbers: np.ndarray | None


class _Read(NamedTuple):
    """A table as it was read (confidential): records, layout, what a store grouped it into, the model of its gaps."""

    records: Records
    layout: Layout
    grouped: Grouped | None
    model: TableModel | None


class Synthesizer:
    """Fit a mechanism to a confidential table and sample synthetic tables from it.

    `epsilon` is the total budget of the m draws released; without it epsilon falls out of the weights, as in the paper.
    A formula is of one column, a `TableModel` (or several formulas, with a family each) of several, which are
    generated one from another. Covariates that are not among them must be declared `public`: they are released as they
    are, row by row in the table's order, and the guarantee does not cover them. `declared` says what is public about
    columns: levels, limits, whole numbers, gaps; `survey_weights` names a public column that the report weights by.
    With `weights="column"` each column of a record has a weight of its
    own. With a `seed` a run can be repeated, and must not be released. Attributes that end in
    an underscore are confidential.

    `num_draws` posterior draws decide Delta; those above the `thresh` quantile of their largest alpha |f| go first.
    Each of the m draws released gives `tables_per_draw` tables of `rows` rows (unless told, as many as the table has).

    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": [4, 6, 5, 7, 3, 5, 6, 5] * 5})
    >>> synthesizer = Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=2, seed=1).fit(table)
    >>> [list(table.columns) for table in synthesizer.sample()]
    [['y'], ['y']]
    """

    def __init__(
        self,
        formula: str | Sequence[str] | TableModel,
        *,
        family: str | Sequence[str] | OwnModel | None = None,
        mechanism: str | Mechanism,
        m: int,
        epsilon: float | None = None,
        public: Sequence[str] = (),
        declared: Mapping[str, Mapping[str, Any]] | None = None,
        weights: Literal["record", "column"] = "record",
        survey_weights: str | None = None,
        radius: float | Mapping[str, float] | None = None,
        distance: str | None = None,
        relative: bool | None = None,
        within: Sequence[str] | None = None,
        scale: float | None = None,
        shift: float | None = None,
        k: float | Literal["auto"] | None = None,
        alpha: float | None = None,
        cap: float | Literal["auto"] | None = None,
        cut: float | None = None,
        share: float | None = None,
        reach: float | None = None,
        beta: float | None = None,
        bound: float | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
        step: float | Mapping[str, float] | None = None,
        prior: CoefficientPrior | None = None,
        sampler: Sampler | None = None,
        num_draws: int = NUM_DRAWS,
        thresh: float = 1.0,
        rows: int | None = None,
        tables_per_draw: int = 1,
        seed: int | None = None,
    ) -> None:
        """Check everything that can be checked without the table."""
        self.model = _table_model(formula, family, declared or {}, prior)
        self.formulas = _formulas(formula, self.model)
        self.family = _family(family, prior) if self.model is None else ", ".join(c.family for c in self.model.columns)
        self.prior = prior
        given: dict[str, Any] = {"radius": radius, "relative": relative, "within": within, "distance": distance}
        given |= {"scale": scale, "shift": shift}
        given |= {
            "k": k,
            "alpha": alpha,
            "cap": cap,
            "cut": cut,
            "share": share,
            "reach": reach,
            "beta": beta,
            "bound": bound,
        }
        self.mechanism = _mechanism(mechanism, {name: value for name, value in given.items() if value is not None})
        self.cut_is_given = cut is not None or isinstance(mechanism, Mechanism)
        self.m = require_whole("m", m)
        self.epsilon = _positive("epsilon", epsilon)
        _check_aim(self.mechanism, self.epsilon, given)
        if not self.strict and not (limits is None and step is None):
            raise InputError(f"limits and step are of a strict mechanism's public grid, found {self.mechanism.label!r}")
        if self.model is not None and not (limits is None and step is None):
            raise InputError("limits and step are of one column's public grid, found them with a table model")
        self.grid = PublicGrid(limits or {}, step)
        self.weights = _weights(weights, self.model, self.strict)
        _check_distance(self.mechanism, self.model)
        self.public = _names("public", public)
        self.survey_weights = survey_weights
        if survey_weights is not None and survey_weights not in self.public:
            raise InputError(
                f"survey_weights must be a column declared public, found {survey_weights!r}, which is not; without it "
                "the column can be synthesized like any other"
            )
        self._check_public()
        self.sampler = sampler
        check_settings(Automatic() if sampler is None else sampler, num_draws, thresh)
        if isinstance(sampler, PublicGrid) and not self.strict:
            raise InputError(f"PublicGrid must have a strict mechanism, found {self.mechanism.label!r}")
        if isinstance(sampler, PublicGrid) and not (limits is None and step is None):
            raise InputError("limits and step must be those of the PublicGrid given, found them beside it")
        if self.strict and isinstance(sampler, Grid):
            raise InputError(
                "a strict mechanism must not draw on Grid, whose points are placed by the table; leave sampler out for "
                "the public grid, found Grid"
            )
        if self.strict and thresh != 1:
            raise InputError(f"thresh must be 1 with a strict mechanism, which drops no draws, found {found(thresh)}")
        self.num_draws = num_draws
        if self.m > self.num_draws:
            raise InputError(f"m must be at most the number of draws, {self.num_draws:,}, found {self.m:,}")
        self.thresh = thresh
        self.rows = None if rows is None else require_whole("rows", rows)
        self.tables_per_draw = require_whole("tables_per_draw", tables_per_draw)
        self.seed = None if seed is None else require_whole("seed", seed, 0)
        self._outcome: _Outcome | None = None

    @property
    def strict(self) -> bool:
        """Whether the mechanism is a strict one."""
        return self.mechanism.contribution is not None

    @property
    def scope(self) -> str:
        """Which kind of promise the mechanism makes: strict, instance or none."""
        return scope_of([type(rule).__name__ for rule in self.mechanism.rules], self.strict)

    @property
    def target(self) -> float | None:
        """The Lipschitz bound that weights are aimed at; None without an epsilon, and where there are no weights."""
        return None if self.strict else _target(self.epsilon, self.m)

    @property
    def responses(self) -> tuple[str, ...]:
        """The columns to synthesize."""
        return tuple(formula.response for formula in self.formulas)

    def _check_public(self) -> None:
        for name in self.responses:
            if name in self.public:
                raise InputError(f"column {name!r} is to be synthesized and must not be declared public")
        held = {*self.public, *self.responses}
        hidden = list(dict.fromkeys(n for formula in self.formulas for n in formula.covariates if n not in held))
        if hidden:
            listed = ", ".join(repr(name) for name in hidden)
            raise InputError(
                f"covariates must be declared public (--public), since they are released as they are and the guarantee "
                f"does not cover them; found {listed}, not declared so"
            )

    @in_64_bit
    def fit(self, table: Frame | Stored, watch: Watch = ignore) -> Synthesizer:
        """Run the mechanism on a table and pick the m draws that synthetic tables will come from.

        The table is a pandas, polars or pyarrow frame, or a stored one (`open_table`). `watch` is told of every fit.
        Raises `InputError` for a table that cannot be fitted, `DiagnosticsError` for draws that cannot be used and
        `CalibrationError` for an epsilon that cannot be met; the synthesizer is then as it was before.
        """
        records, layout, grouped, model = self._read(table)
        bound = None if model is None else self._bind_table(model, records)
        problem = self.bind(records) if bound is None else bound.chain
        mechanism = self._mechanism_of(problem)
        key = np.random.SeedSequence(self.seed)  # without a seed, 128 bits of the operating system's entropy
        trail = run(child(key, 0), problem, mechanism, self.target, watch)
        last = trail.fits[-1]
        drawn = [column.draws for column in columns_of(last)]
        fewest = min(drawn, key=lambda draws: draws.num_draws)
        picked = pick(child(key, 1), fewest, self.m)
        released = [draws.take(picked) for draws in drawn]
        promised = strict.terms(problem, released)
        guarantee = Guarantee(
            formula="; ".join(formula.text for formula in self.formulas),
            family=self.family if isinstance(self.family, str) else "a model of the user's own",
            mechanism=mechanism.label,
            rules=tuple(type(kind(rule)).__name__ for rule in mechanism.rules),
            delta=last.lipschitz.overall,
            m=self.m,
            n=problem.records.n,
            num_draws=fewest.num_draws,
            sampler=_samplers(drawn),
            policy_epsilon=self.epsilon,
            tables_per_draw=self.tables_per_draw,
            draws_asked=self.num_draws,
            thresh=self.thresh,
            public_columns=self.public,
            releasable=self.seed is None,
            strict=promised,
            columns=() if bound is None else stated_columns(bound, promised, self.epsilon),
            declared_public={} if bound is None else stated_declarations(bound, self.model),
            weights=self.weights,
        )
        if grouped is not None and grouped.unit is not None:
            guarantee = replace(guarantee, unit=str(grouped.unit), max_rows=grouped.unit.max_rows)
        row_numbers = None if grouped is None else grouped.rows
        self._outcome = _Outcome(key, problem, bound, model, trail, picked, layout, guarantee, row_numbers)
        if self.strict:
            for block, draws in zip(blocks_of(problem), released, strict=True):
                strict.warn(block, draws)
        return self

    @property
    def _used(self) -> list[str]:
        """Columns that the formula and the rules read, the response first."""
        within = [name for rule in self.mechanism.rules if isinstance(rule, CW) for name in rule.within]
        within += [] if self.survey_weights is None else [self.survey_weights]
        covariates = [name for formula in self.formulas for name in formula.covariates]
        return list(dict.fromkeys((*self.responses, *covariates, *within)))

    def check_columns(self, held: Sequence[Any], listed: bool) -> None:
        """Refuse a table that lacks a column in use, or holds it twice."""
        require(held, self._used, "named in the formula or in `within`", listed)
        require(held, self.public, "declared public", listed)

    def read(self, table: Frame | Stored) -> Records:
        """The records of a table on every column in use; confidential."""
        return self._read(table).records

    def _read(self, table: Frame | Stored) -> _Read:
        """The records on every column in use, the layout of the release, and what a stored table was grouped into."""
        names = self._used
        held = list(table.column_names) if isinstance(table, Stored) else column_names(table)
        self.check_columns(held, listed=not isinstance(table, Stored) or table.names_are_public)
        if isinstance(table, Stored):
            grouped = table.group(names, self.public)
            model = None
            if self.model is not None:
                grouped, model = without_gaps(grouped, self.model, self.strict)
            return _Read(
                Records.from_grouped(grouped), Layout.of_grouped(grouped, self.responses, held), grouped, model
            )
        if self.model is None:
            records = Records.from_table(table, names)
            return _Read(records, Layout.of(table, self.responses, self.public), None, None)
        table, arrow, model = frame_without_gaps(table, names, self.model, self.strict)
        return _Read(Records.from_arrow(arrow), Layout.of(table, self.responses, self.public), None, model)

    def _mechanism_of(self, problem: AnyProblem) -> Mechanism:
        """The mechanism, its rules applied to every column of a chain where each has weights of its own."""
        if self.weights == "record" or not isinstance(problem, Chain):
            return self.mechanism
        return replace(self.mechanism, rules=tuple(PerColumn(rule, problem.shares) for rule in self.mechanism.rules))

    @in_64_bit
    def _bind_table(self, model: TableModel, records: Records) -> BoundTable:
        """A table model bound to records; each block has its own sampler and, if strict, its share of epsilon."""
        epsilons: tuple[float, ...] = ()
        whole = model.with_indicators()
        if self.strict:
            assert self.epsilon is not None, "checked at the door"
            epsilons = split(self.epsilon, self.m, whole.shares)

        def finish(number: int, column: Model, rows: Rows) -> Problem:
            sampler = self.sampler or Automatic()
            if isinstance(sampler, PublicGrid) and "X" in rows.columns:
                raise InputError("a public grid takes columns without covariates in a table model, found some with")
            if self.mechanism.contribution is not None:
                # Of a column with covariates there may be as many distinct rows as records: too many for a grid.
                chosen = sampler if "X" in rows.columns else self.sampler
                contribution = self._contribution(whole.columns[number])
                column, sampler, then = strict.bind(
                    contribution, column, rows, epsilons[number], self.m, self.grid, chosen
                )
                return Problem(records, column, rows, sampler, self.num_draws, self.thresh, then)
            return Problem(records, column, rows, sampler, self.num_draws, self.thresh)

        records = self._split(records)
        prior = self.prior
        if prior is None and len(whole.columns) > 1:
            prior = CHAIN_PRIOR
        return bind_table(whole, records, finish, prior, self.strict)

    def _contribution(self, column: ColumnModel) -> Strict:
        """The strict contribution of a column: cut where its family is, unless the user said where.

        Of more than two levels each is less likely, so the cut lies that much lower.
        """
        contribution = self.mechanism.contribution
        assert contribution is not None, "strict"
        if self.cut_is_given or not isinstance(contribution, Censored | Recentred):
            return contribution
        return replace(
            contribution, cut=FAMILIES[column.family].cut + math.log(max(len(column.declared.levels), 2) / 2)
        )

    def _split(self, records: Records) -> Records:
        """Records told apart by weights of the user's own."""
        for rule in self.mechanism.rules:
            if isinstance(rule, Given):
                if len(rule.alpha) != records.n:
                    raise InputError(
                        f"alpha must have one weight per record, found {len(rule.alpha):,} for {records.n:,} records"
                    )
                records = records.split(rule.alpha)
        return records

    @in_64_bit
    def bind(self, records: Records) -> AnyProblem:
        """Records bound to the model and the sampler; of a table model as it was fitted, if it was."""
        if self.model is not None:
            settled = None if self._outcome is None else self._outcome.settled
            return self._bind_table(settled or self.model, records).chain
        records = self._split(records)
        model: Model
        (formula,) = self.formulas
        if isinstance(self.family, OwnModel):
            model, rows = self.family.bind(formula, records, self.strict)
        else:
            model, rows = bind_column(formula, self.family, records, self.prior, self.strict)
        sampler = self.sampler or Automatic()
        if self.mechanism.contribution is not None:
            assert self.epsilon is not None, "checked at the door"
            share = per_draw(self.epsilon, self.m)
            model, sampler, then = strict.bind(
                self.mechanism.contribution, model, rows, share, self.m, self.grid, self.sampler
            )
            return Problem(records, model, rows, sampler, self.num_draws, self.thresh, then)
        return Problem(records, model, rows, sampler, self.num_draws, self.thresh)

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
            fitted.problem.records,
            self.bind,
            self._mechanism_of(fitted.problem),
            self.target,
            fitted.guarantee.scope,
        )

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
        return audit(np.random.SeedSequence(self.seed), self.subject_, named, canaries, most, trials)

    @property
    def weightings_(self) -> tuple[Weighting, ...]:
        """Weights, bounds and draws of mu of every round; confidential."""
        return weightings(self.trail_, self._fitted.problem)

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
        key = child(fitted.key, 2) if self.seed is not None else np.random.SeedSequence()
        columns = [thetas(column.draws.take(fitted.picked)) for column in columns_of(fitted.trail.fits[-1])]
        makers: list[Maker]
        if fitted.bound is None:
            assert isinstance(fitted.problem, Problem), "one column"
            makers = [ColumnMaker(fitted.problem, self.responses[0], theta) for theta in columns[0]]
        else:
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


def _table_model(
    formula: object, family: object, declared: Mapping[str, Mapping[str, Any]], prior: CoefficientPrior | None
) -> TableModel | None:
    """The table model that was given, or that formulas, families and declarations make; None for one plain count."""
    if isinstance(formula, TableModel):
        if family is not None or declared:
            raise InputError("family and declared must be left out with a TableModel, which states its own, found one")
        return formula
    if isinstance(formula, str):
        if isinstance(family, OwnModel) or (family in PLAIN and not declared) or not isinstance(family, str):
            return None
        if family not in FAMILIES:
            return None  # refused where families are
        formula, family = [formula], [family]
    if not isinstance(formula, tuple | list) or not all(isinstance(text, str) for text in formula):
        raise InputError(f"formula must be text, several texts or a TableModel, found {found(formula)}")
    families = [family] * len(formula) if isinstance(family, str) else family
    if not isinstance(families, tuple | list) or len(families) != len(formula):
        given = len(families) if isinstance(families, tuple | list) else 0
        raise InputError(f"family must be one for all formulas or one for each, found {given} for {len(formula)}")
    parsed = [Formula.parse(text) for text in formula]
    unknown = sorted(set(declared) - {each.response for each in parsed})
    if unknown:
        raise InputError(f"declared must be of columns to synthesize, found {unknown[0]!r}")
    columns = [
        ColumnModel.of(each.text, name, declared=Declared.of(each.response, declared.get(each.response, {})))
        for each, name in zip(parsed, families, strict=True)
    ]
    return TableModel.of(columns)


# Chains have columns that others determine, such as indicators that exclude each other: under the paper's prior, whose
# tails are heavy, their coefficients would wander off.
CHAIN_PRIOR = NormalPrior(2.5)
# Families of one column that need nothing declared.
PLAIN = ("poisson", "negative_binomial")


def _formulas(formula: object, model: TableModel | None) -> tuple[Formula, ...]:
    return (Formula.parse(str(formula)),) if model is None else tuple(column.formula for column in model.columns)


def _weights(weights: object, model: TableModel | None, strict_mechanism: bool) -> str:
    if weights not in ("record", "column"):
        raise InputError(f"weights must be 'record' or 'column', found {found(weights)}")
    if weights == "column" and (model is None or strict_mechanism):
        where = "a strict mechanism, which has none" if strict_mechanism else "one column"
        raise InputError(f"weights per column need a table model and a mechanism with weights, found {where}")
    return str(weights)


def _check_distance(mechanism: Mechanism, model: TableModel | None) -> None:
    """Refuse a radius in one column's unit for a chain of several, and a distance for one column."""
    for rule in mechanism.rules:
        if not isinstance(rule, CW):
            continue
        several = model is not None and len(model.columns) > 1
        if not several and rule.distance is not None:
            raise InputError("distance must be left out with one column, found one")
        if several and not (rule.relative or rule.distance or isinstance(rule.radius, tuple)):
            raise InputError(
                "radius must be one by column, relative, or of a named distance where several columns are "
                "synthesized, found one number for all of them"
            )


def _samplers(drawn: Sequence[Draws]) -> str:
    """The sampler of the draws, or the one of most caution where there are several."""
    names = {draws.diagnostics.sampler for draws in drawn}
    exact = {"Grid", "PublicGrid"}
    return ", ".join(sorted(names - exact if names - exact else names))


def _family(family: object, prior: CoefficientPrior | None) -> str | OwnModel:
    if isinstance(family, OwnModel):
        if prior is not None:
            raise InputError("prior must be left out with an OwnModel, which states its own, found one")
        return family
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(f"family must be an OwnModel or one of {', '.join(FAMILIES)}, found {found(family)}")
    if prior is not None and (isinstance(prior, type) or not hasattr(prior, "log_density")):
        raise InputError(f"prior must be a prior such as NormalPrior(2.5), found {found(prior)}")
    return family


def _mechanism(mechanism: str | Mechanism, given: dict[str, Any]) -> Mechanism:
    if isinstance(mechanism, str):
        return named_mechanism(mechanism, **given)
    if not isinstance(mechanism, Mechanism):
        raise InputError(f"mechanism must be a name or a Mechanism, found {type(mechanism).__name__}")
    if given:
        raise InputError(f"{', '.join(given)} must be set in the rules of a Mechanism given whole, found beside it")
    return mechanism


def _check_aim(mechanism: Mechanism, epsilon: float | None, given: dict[str, Any]) -> None:
    """Refuse a target for weights that have no dial, and a dial set by hand beside a target."""
    if epsilon is None:
        if mechanism.contribution is not None or any(isinstance(rule, BW) for rule in mechanism.rules):
            raise InputError(
                f"mechanism {mechanism.label!r} needs an epsilon, which decides what a record may do, found none"
            )
        return
    if mechanism.contribution is not None:
        return
    if not mechanism.rules:
        raise InputError(f"mechanism {mechanism.label!r} has no weights to aim at epsilon; leave epsilon out")
    dial = mechanism.rules[-1].dial
    if not (given.get(dial) is None or isinstance(given[dial], str)):
        raise InputError(f"{dial} must be left out when epsilon is given, which decides it, found {found(given[dial])}")


def _target(epsilon: float | None, m: int) -> float | None:
    """Lipschitz bound at which m draws cost at most epsilon, in floating point too."""
    if epsilon is None:
        return None
    target = epsilon / m / 2
    while m * (2 * target) > epsilon:
        target = math.nextafter(target, 0)
    return target


def _names(name: str, value: object) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, tuple | list):
        raise InputError(f"{name} must name columns, found {found(value)}")
    return tuple(value)


def _positive(name: str, value: object) -> float | None:
    return None if value is None else require_positive(name, value)
