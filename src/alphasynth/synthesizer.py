"""The friendly front: `Synthesizer(...).fit(table).sample()`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from alphasynth import strict
from alphasynth.accounting import per_draw
from alphasynth.audit import MOST_ROWS, Finding, Subject, audit
from alphasynth.automatic import Automatic
from alphasynth.errors import InputError, found, require_positive, require_whole
from alphasynth.families import FAMILIES, bind_column
from alphasynth.fit import NUM_DRAWS, Problem, check_settings, in_64_bit
from alphasynth.formula import Formula
from alphasynth.frames import Frame, column_names, require
from alphasynth.grid import Grid
from alphasynth.grouping import Grouped, Stored
from alphasynth.guarantee import Guarantee, scope_of
from alphasynth.lipschitz import Lipschitz
from alphasynth.mechanism import Mechanism, Trail, Watch, ignore, named_mechanism, run
from alphasynth.model import Model
from alphasynth.own_model import OwnModel
from alphasynth.priors import CoefficientPrior
from alphasynth.public_grid import PublicGrid
from alphasynth.records import Records
from alphasynth.release import Release
from alphasynth.rounds import weightings
from alphasynth.sampler import Key, Sampler, child
from alphasynth.synthesize import Layout, Simulation, pick, synthesize
from alphasynth.weighting import Weighting
from alphasynth.weights import BW, CW, Given


class _Outcome(NamedTuple):
    """What a fit leaves (confidential)."""

    key: Key
    problem: Problem
    trail: Trail
    picked: np.ndarray
    layout: Layout
    guarantee: Guarantee
    row_numbers: np.ndarray | None


class Synthesizer:
    """Fit a mechanism to a confidential table and sample synthetic tables from it.

    `epsilon` is the total budget of the m draws released; without it epsilon falls out of the weights, as in the paper.
    Covariates must be declared `public`: they are released as they are, row by row in the table's order, and the
    guarantee does not cover them. With a `seed` a run can be repeated, and must not be released. Attributes that end in
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
        formula: str,
        *,
        family: str | OwnModel,
        mechanism: str | Mechanism,
        m: int,
        epsilon: float | None = None,
        public: Sequence[str] = (),
        radius: float | None = None,
        relative: bool | None = None,
        within: Sequence[str] | None = None,
        scale: float | None = None,
        shift: float | None = None,
        k: float | Literal["auto"] | None = None,
        alpha: float | None = None,
        cap: float | Literal["auto"] | None = None,
        cut: float | None = None,
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
        self.formula = Formula.parse(formula)
        self.family = _family(family, prior)
        self.prior = prior
        given = {"radius": radius, "relative": relative, "within": within, "scale": scale, "shift": shift}
        given |= {"k": k, "alpha": alpha, "cap": cap, "cut": cut, "beta": beta, "bound": bound}
        self.mechanism = _mechanism(mechanism, {name: value for name, value in given.items() if value is not None})
        self.m = require_whole("m", m)
        self.epsilon = _positive("epsilon", epsilon)
        _check_aim(self.mechanism, self.epsilon, given)
        if not self.strict and not (limits is None and step is None):
            raise InputError(f"limits and step are of a strict mechanism's public grid, found {self.mechanism.label!r}")
        self.grid = PublicGrid(limits or {}, step)
        self.public = _names("public", public)
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

    def _check_public(self) -> None:
        if self.formula.response in self.public:
            raise InputError(f"column {self.formula.response!r} is to be synthesized and must not be declared public")
        hidden = [name for name in self.formula.covariates if name not in self.public]
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
        records, layout, grouped = self._read(table)
        problem, mechanism = self.bind(records), self.mechanism
        key = np.random.SeedSequence(self.seed)  # without a seed, 128 bits of the operating system's entropy
        trail = run(child(key, 0), problem, mechanism, self.target, watch)
        last = trail.fits[-1]
        picked = pick(child(key, 1), last.draws, self.m)
        guarantee = Guarantee(
            formula=self.formula.text,
            family=self.family if isinstance(self.family, str) else "a model of the user's own",
            mechanism=mechanism.label,
            rules=tuple(type(rule).__name__ for rule in mechanism.rules),
            delta=last.lipschitz.overall,
            m=self.m,
            n=problem.records.n,
            num_draws=last.draws.num_draws,
            sampler=last.draws.diagnostics.sampler,
            policy_epsilon=self.epsilon,
            tables_per_draw=self.tables_per_draw,
            draws_asked=self.num_draws,
            thresh=self.thresh,
            public_columns=self.public,
            releasable=self.seed is None,
            strict=strict.terms(problem, last.draws.take(picked)),
        )
        if grouped is not None and grouped.unit is not None:
            guarantee = replace(guarantee, unit=str(grouped.unit), max_rows=grouped.unit.max_rows)
        row_numbers = None if grouped is None else grouped.rows
        self._outcome = _Outcome(key, problem, trail, picked, layout, guarantee, row_numbers)
        if self.strict:
            strict.warn(problem, last.draws.take(picked))
        return self

    @property
    def _used(self) -> list[str]:
        """Columns that the formula and the rules read, the response first."""
        within = [name for rule in self.mechanism.rules if isinstance(rule, CW) for name in rule.within]
        return list(dict.fromkeys((self.formula.response, *self.formula.covariates, *within)))

    def check_columns(self, held: Sequence[Any], listed: bool) -> None:
        """Refuse a table that lacks a column in use, or holds it twice."""
        require(held, self._used, "named in the formula or in `within`", listed)
        require(held, self.public, "declared public", listed)

    def read(self, table: Frame | Stored) -> Records:
        """The records of a table on every column in use; confidential."""
        return self._read(table)[0]

    def _read(self, table: Frame | Stored) -> tuple[Records, Layout, Grouped | None]:
        """The records on every column in use, the layout of the release, and what a stored table was grouped into."""
        names = self._used
        held = list(table.column_names) if isinstance(table, Stored) else column_names(table)
        self.check_columns(held, listed=not isinstance(table, Stored) or table.names_are_public)
        if isinstance(table, Stored):
            grouped = table.group(names, self.public)
            layout = Layout.of_grouped(grouped, self.formula.response, held)
            return Records.from_grouped(grouped), layout, grouped
        records = Records.from_table(table, names)
        return records, Layout.of(table, self.formula.response, self.public), None

    @in_64_bit
    def bind(self, records: Records) -> Problem:
        """Records bound to the model and the sampler."""
        for rule in self.mechanism.rules:
            if isinstance(rule, Given):
                if len(rule.alpha) != records.n:
                    raise InputError(
                        f"alpha must have one weight per record, found {len(rule.alpha):,} for {records.n:,} records"
                    )
                records = records.split(rule.alpha)
        model: Model
        if isinstance(self.family, OwnModel):
            model, rows = self.family.bind(self.formula, records, self.strict)
        else:
            model, rows = bind_column(self.formula, self.family, records, self.prior, self.strict)
        sampler = self.sampler or Automatic()
        if self.mechanism.contribution is not None:
            assert self.epsilon is not None, "checked at the door"
            share = per_draw(self.epsilon, self.m)
            model, sampler = strict.bind(self.mechanism.contribution, model, rows, share, self.grid, self.sampler)
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
            fitted.trail, fitted.problem.records, self.bind, self.mechanism, self.target, fitted.guarantee.scope
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
        picked = fitted.trail.fits[-1].draws.take(fitted.picked)
        return synthesize(key, fitted.problem, picked, fitted.layout, self.rows, self.tables_per_draw)

    def sample(self) -> list[Frame]:
        """`tables_per_draw` tables for each of the m draws picked by `fit`: frames of the input's kind.

        They hold the synthesized and the public columns and nothing else. Sampling again uses the same m draws, so it
        costs nothing more.
        """
        return [simulation.table() for simulation in self.simulations()]

    def release(self) -> Release:
        """Tables and the public part of the guarantee: the only thing that may leave."""
        return Release(tuple(self.sample()), self._fitted.guarantee.public())


def _family(family: str | OwnModel, prior: CoefficientPrior | None) -> str | OwnModel:
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
