"""`Request`: what is asked of a table, checked as far as it can be without one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, Unpack, cast

from alphasynth.catalogue import GRID, OPTIONS, MechanismOptions, options_of
from alphasynth.errors import gathering, require_whole
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.sampler import Sampler
from alphasynth.mechanisms.binding import check_declared
from alphasynth.mechanisms.fit import NUM_DRAWS, check_settings
from alphasynth.mechanisms.mechanism import Mechanism
from alphasynth.mechanisms.rules import CW
from alphasynth.mechanisms.scored import Scored
from alphasynth.mechanisms.strict import column_is_exact
from alphasynth.models.coefficient_priors import CoefficientPrior
from alphasynth.models.families import Own
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.guarantee_card import budget_words
from alphasynth.privacy.scopes import scope_of
from alphasynth.raking.columns import Columns
from alphasynth.synthesis.checks import (
    as_mechanism,
    check_aim,
    check_distance,
    check_draws,
    check_scored,
    check_survey_weights,
    delta_of,
    grid_of,
    names_of,
    positive_or_none,
    survey_likelihood_of,
    table_model_of,
    target_of,
    weights_of,
)
from alphasynth.synthesis.choice import choice_for
from alphasynth.synthesis.confirmation import confirm, refuse
from alphasynth.synthesis.parameters import as_given, asked_again, in_words, spelled_out
from alphasynth.tables.frames import IN_USE, require, shown


class Request:
    """What is asked of a table: model, mechanism, budget, what is public, and how to draw."""

    m, epsilon, public = 1, cast(float | None, 1.0), cast(tuple[str, ...], ())  # in place of what is wrong
    __signature__: ClassVar[inspect.Signature]

    def __init__(
        self,
        formula: str | Sequence[str] | TableModel | Columns,
        *,
        family: str | Sequence[str] | Own | None = None,
        mechanism: str | Mechanism | None = None,
        m: int = 1,
        epsilon: float | None = None,
        delta: float | None = None,
        public: Sequence[str] = (),
        declared: Mapping[str, Mapping[str, Any]] | None = None,
        confirm_public: str | Sequence[str] = (),
        weights: Literal["record", "column"] = "record",
        survey_weights: str | None = None,
        survey_likelihood: bool = False,
        prior: CoefficientPrior | None = None,
        sampler: Sampler | None = None,
        num_draws: int = NUM_DRAWS,
        thresh: float = 1.0,
        rows: int | None = None,
        tables_per_draw: int = 1,
        seed: int | None = None,
        **options: Unpack[MechanismOptions],
    ) -> None:
        """Check everything that can be checked without the table; raise `InputError`.

        Args:
            formula: "response ~ terms" of one column; several, or a `TableModel`, of a chain of columns; `Columns` of
                a whole table by `Raked`.
            family: The response's family by name, one for each formula, or an `OwnModel`; a `TableModel` has its own.
            mechanism: By name, or one's own, whose rules then hold its options; a strict one that suits unless told.
            m: Draws of parameters to release; epsilon adds up over them.
            epsilon: The total budget of the m draws; without it epsilon falls out of the weights, as in the paper.
            delta: Of a strict mechanism: promise (epsilon, delta), which allows each of many parts more.
            public: Columns that are released as they are; covariates that are not synthesized must be among them.
            declared: What is public about columns, by name: levels, limits, whole numbers, gaps.
            confirm_public: Columns (or "all") of which what a suggested model read off the table may be told.
            weights: One weight per "record", or of a chain one for each "column" of it.
            survey_weights: Public column of survey weights, by which the report weights.
            survey_likelihood: Survey weights, scaled to sum to n, multiply the log-likelihoods too.
            prior: Of the coefficients; the family's own unless told.
            sampler: What draws; `Automatic`, or of a strict mechanism the public grid where it has one, unless told.
            num_draws: Posterior draws, which decide Delta.
            thresh: Draws above this quantile of their largest alpha |f| go first.
            rows: Rows of a synthetic table; as many as the table has unless told.
            tables_per_draw: Tables from each of the m draws; they cost nothing more.
            seed: Makes a run repeatable, and so not releasable.
            **options: Those of the mechanism; each is refused where the mechanism does not take it.
                scale: LW, CW: alpha = scale (1 - risk) + shift (1).
                shift: LW, CW: see scale (0).
                radius: CW: how near another record must be to hide one; of a chain one by column, age=5,income=1000.
                distance: CW: of a chain: gower (the radius is of it), in place of a radius by column.
                relative: CW: the radius is a share of the value, or not (absolute).
                within: CW: compare records only with those that share these columns' values.
                k: LW_final, CW_final: re-weighting factor, or auto: the largest that keeps the bound (auto).
                keep_zeros: LW_final, CW_final: re-weighting leaves a weight of 0 at 0, or lifts it to what the bound
                    allows (lift-zeros).
                alpha: SW: the weight; what epsilon or LW's bound allows unless told.
                match: SW: whose bound it matches without --epsilon: LW, CW:radius=0.3, epsilon=8 of a draw or a Delta;
                    LW unless told.
                by: SW: search, or formula: the paper's Delta_alpha / Delta, which may miss the bound (search).
                given: Given: weights by row: a file with a column alpha.
                cap: BW: the largest weight, up to 1, or auto: what suits epsilon and rows (1).
                cut: Censored, Recentred: how far below its largest log-likelihood a record is cut; 5 + log(levels / 2)
                    of categories (8).
                share: Recentred: part of epsilon that the first draw has (0.3).
                reach: Recentred: how far from the first draw's a record's log-likelihood may count (1.25).
                beta: BetaDivergence: larger is more robust (0.5).
                bound: BetaDivergence: largest probability of one value; from the grid unless told.
                rounds: Scored: rounds of noisy scores, 1 to 3; from epsilon and rows unless told.
                clip: Scored: how many times its mean size a record's score counts; from public numbers unless told.
                limits: Censored, Recentred, BetaDivergence: public limits of parameters, mean=1:1000,phi=1:100; of
                    counts mean=0.1:1000000,phi=0.1:1000 unless told. Never read them off the table.
                step: Censored, Recentred, BetaDivergence: public step of the grid, 0.01 or mean=0.005,phi=0.02; by the
                    family unless told.
                response: Raked: columns that matter most: what they have to do with the others is measured better.
                response_share: Raked: part of the moments' budget that responses have (0.5).
                interactions: Raked: pairs of columns, age:sex, whose joint effect on the responses, or on all others,
                    is kept.
        """
        self._given = as_given(self.__signature__, locals())  # before any other name is there
        strange = [name for name in options if name not in OPTIONS]
        if strange:
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {strange[0]!r}")
        given = {name: value for name, value in options.items() if value is not None}
        with gathering() as problems:
            with problems:
                self.model = table_model_of(formula, family, declared or {}, prior)
            with problems:
                own = {name: given[name] for name in given if name not in options_of(*GRID)}
                self.mechanism = as_mechanism(mechanism or choice_for(formula, family, declared or {}, epsilon), own)
            unmade = bool(problems)
            with problems:
                self.m = require_whole("m", m)
            with problems:
                self.epsilon = positive_or_none("epsilon", epsilon)
            with problems:
                self.public = names_of("public", public)
            with problems:
                check_settings(Automatic() if sampler is None else sampler, num_draws, thresh)
            with problems:
                self.rows = None if rows is None else require_whole("rows", rows)
            with problems:
                self.tables_per_draw = require_whole("tables_per_draw", tables_per_draw)
            with problems:
                self.seed = None if seed is None else require_whole("seed", seed, 0)
            if unmade:
                problems.refuse()
            # Of one formula with nothing declared gaps are refused, nothing is to confirm, and weights are by record.
            self.undeclared = isinstance(formula, str) and not declared
            self.formulas = tuple(column.formula for column in self.model.columns)
            self.prior, self.sampler, self.num_draws, self.thresh = prior, sampler, num_draws, thresh
            self.cut_is_given = "cut" in given or isinstance(mechanism, Mechanism)
            self.survey_weights = survey_weights
            with problems:
                check_aim(self.mechanism, self.epsilon, given)
            with problems:
                self.delta = delta_of(self.mechanism, delta)
            with problems:
                self._confirm(confirm_public)
            with problems:
                check_declared(self.model, self.strict)
            with problems:
                limits, step = options.get("limits"), options.get("step")
                if self.scored:
                    check_scored(family, sampler, prior, limits, step)
                self.grid = grid_of(self.mechanism, self.model, sampler, limits, step)
            with problems:
                self.weights = weights_of(weights, self.undeclared, self.strict)
                check_distance(self.mechanism, self.model, self.weights)
            with problems:
                check_survey_weights(survey_weights, self.public)
                self.survey_likelihood = survey_likelihood_of(survey_likelihood, survey_weights, self.mechanism)
            with problems:
                self._check_public()
            with problems:
                check_draws(self.mechanism, sampler, thresh, self.m, num_draws)

    def _confirm(self, names: str | Sequence[str]) -> None:
        """What somebody confirmed of what was read off the table; of a strict mechanism that must be all."""
        model = None if self.undeclared else self.model
        self.confirmed_public, self.read_off = confirm(model, names_of("confirm_public", names))
        if self.strict:
            refuse(self.read_off)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What was asked, by name, as scikit-learn has it; nothing is nested, so that `deep` changes nothing."""
        return dict(self._given)

    def set_params(self, **params: Any) -> Self:
        """Ask for something else; raise `InputError`, and change nothing, for what is unknown or does not go together.

        What was fitted is forgotten: it was not fitted so.
        """
        if params:
            self.__dict__ = asked_again(self, self._given, params).__dict__
        return self

    @property
    def asked(self) -> dict[str, Any]:
        """What matters most of what was asked, by name, for who looks at it."""
        formulas = [formula.text for formula in self.formulas]
        models = [f"{text}, {family}" for text, family in zip(formulas, self.families, strict=True)]
        return {
            "model": models,
            "mechanism": self.mechanism.label,
            **budget_words(self.epsilon, self.delta),
            "draws to release": self.m,
            "tables per draw": self.tables_per_draw,
            "public columns": self.public,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        return in_words(type(self).__name__, self.__signature__, self._given)

    @property
    def strict(self) -> bool:
        """Whether the mechanism is a strict one."""
        return self.mechanism.contribution is not None

    @property
    def scored(self) -> bool:
        """Whether noise is added to sums, once for all draws."""
        return isinstance(self.mechanism.contribution, Scored)

    @property
    def exact(self) -> bool:
        """Whether a strict mechanism rests on no Markov chain here; decided by public facts alone."""
        contribution = self.mechanism.contribution
        if contribution is None or isinstance(contribution, Scored):
            return contribution is not None
        if self.sampler is not None:
            return isinstance(self.sampler, PublicGrid)
        columns = self.model.with_indicators().with_parts().columns
        return all(column_is_exact(contribution, column, self.grid) for column in columns)

    @property
    def scope(self) -> str:
        """Which kind of promise the mechanism makes: strict, target, instance or none."""
        return scope_of([type(rule).__name__ for rule in self.mechanism.rules], self.strict, self.exact)

    @property
    def target(self) -> float | None:
        """The Lipschitz bound that weights are aimed at; None without an epsilon, and where there are no weights."""
        return None if self.strict else target_of(self.epsilon, self.m)

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the families of the columns to synthesize; of a model of the user's own, that of its kind."""
        return tuple(column.family for column in self.model.columns)

    @property
    def responses(self) -> tuple[str, ...]:
        """The columns to synthesize."""
        return tuple(formula.response for formula in self.formulas)

    def _check_public(self) -> None:
        held = {*self.public, *self.responses}
        hidden = list(dict.fromkeys(n for formula in self.formulas for n in formula.covariates if n not in held))
        with gathering() as problems:
            for name in [name for name in self.responses if name in self.public]:
                problems.say(f"column {name!r} is to be synthesized and must not be declared public")
            if hidden:
                rule = "covariates must be declared public (--public), since they are released as they are and the "
                rule += "guarantee does not cover them"
                problems.say(f"{rule}; found {shown(hidden)}, not declared so and not a column to synthesize")

    @property
    def used(self) -> list[str]:
        """Columns that the formula and the rules read, the response first."""
        within = [name for rule in self.mechanism.rules if isinstance(rule, CW) for name in rule.within]
        within += [] if self.survey_weights is None else [self.survey_weights]
        covariates = [name for formula in self.formulas for name in formula.covariates]
        return list(dict.fromkeys((*self.responses, *covariates, *within)))

    def check_columns(self, names: Sequence[Any], listed: bool) -> None:
        """Refuse a table that lacks a column in use, or holds it twice."""
        with gathering() as problems:
            with problems:
                require(names, self.used, IN_USE, listed)
            with problems:
                require(names, [n for n in self.public if n not in self.used], "declared public", listed)


Request.__signature__ = spelled_out(inspect.signature(Request.__init__), tuple(OPTIONS))
