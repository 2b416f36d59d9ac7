"""`Request`: what is asked of a table, checked as far as it can be without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from alphasynth.errors import InputError, found, require_positive, require_whole
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.grid import Grid
from alphasynth.inference.public_grid import PublicGrid
from alphasynth.inference.sampler import Sampler
from alphasynth.mechanisms.fit import NUM_DRAWS, check_settings
from alphasynth.mechanisms.mechanism import Mechanism, named_mechanism
from alphasynth.mechanisms.rules import BW, CW
from alphasynth.mechanisms.scored import Scored
from alphasynth.mechanisms.strict import family_is_exact
from alphasynth.models.confirmation import confirm, refuse
from alphasynth.models.families import FAMILIES
from alphasynth.models.formula import Formula
from alphasynth.models.own_model import OwnModel
from alphasynth.models.priors import CoefficientPrior
from alphasynth.models.table_model import ColumnModel, TableModel
from alphasynth.privacy.accounting import bound_of, per_draw, within
from alphasynth.privacy.scopes import scope_of
from alphasynth.tables.declared import Declared
from alphasynth.tables.frames import require

PLAIN = ("poisson", "negative_binomial")  # families of one column that need nothing declared


class Request:
    """What is asked of a table: model, mechanism, budget, what is public, and how to draw."""

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
        confirm_public: str | Sequence[str] = (),
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
        rounds: int | None = None,
        clip: float | None = None,
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
        self.family = _family(family, prior) if self.model is None else None  # of one column without a table model
        self.prior = prior
        given: dict[str, Any] = {"radius": radius, "relative": relative, "within": within, "distance": distance}
        given |= {"scale": scale, "shift": shift, "k": k, "alpha": alpha, "cap": cap, "cut": cut}
        given |= {"share": share, "reach": reach, "beta": beta, "bound": bound, "rounds": rounds, "clip": clip}
        self.mechanism = _mechanism(mechanism, {name: value for name, value in given.items() if value is not None})
        self.cut_is_given = cut is not None or isinstance(mechanism, Mechanism)
        self.m = require_whole("m", m)
        self.epsilon = _positive("epsilon", epsilon)
        _check_aim(self.mechanism, self.epsilon, given)
        self.confirmed_public, self.read_off = confirm(self.model, _names("confirm_public", confirm_public))
        if self.strict:
            refuse(self.read_off)
        if not self.strict and not (limits is None and step is None):
            raise InputError(f"limits and step are of a strict mechanism's public grid, found {self.mechanism.label!r}")
        several = self.model is not None and len(self.model.columns) > 1
        if several and not (limits is None and step is None):
            raise InputError("limits and step are of one column's public grid, found them with several columns")
        if self.scored:
            _check_scored(family, sampler, prior, limits, step)
        self.grid = PublicGrid(limits or {}, step)
        self.weights = _weights(weights, self.model, self.strict)
        _check_distance(self.mechanism, self.model, self.weights)
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
        if self.model is None:
            (formula,) = self.formulas
            return family_is_exact(contribution, self.family, Declared(), not formula.intercept_only, self.grid)
        return all(
            family_is_exact(contribution, c.family, c.declared, not c.formula.intercept_only, self.grid)
            for c in self.model.with_indicators().with_parts().columns
        )

    @property
    def scope(self) -> str:
        """Which kind of promise the mechanism makes: strict, target, instance or none."""
        return scope_of([type(rule).__name__ for rule in self.mechanism.rules], self.strict, self.exact)

    @property
    def target(self) -> float | None:
        """The Lipschitz bound that weights are aimed at; None without an epsilon, and where there are no weights."""
        return None if self.strict else _target(self.epsilon, self.m)

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the families of the columns to synthesize; of a model of the user's own, that of its kind."""
        if self.model is not None:
            return tuple(column.family for column in self.model.columns)
        return (self.family if isinstance(self.family, str) else OwnModel.__name__,)

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
                f"does not cover them; found {listed}, not declared so and not a column to synthesize"
            )

    @property
    def used(self) -> list[str]:
        """Columns that the formula and the rules read, the response first."""
        within = [name for rule in self.mechanism.rules if isinstance(rule, CW) for name in rule.within]
        within += [] if self.survey_weights is None else [self.survey_weights]
        covariates = [name for formula in self.formulas for name in formula.covariates]
        return list(dict.fromkeys((*self.responses, *covariates, *within)))

    def check_columns(self, held: Sequence[Any], listed: bool) -> None:
        """Refuse a table that lacks a column in use, or holds it twice."""
        require(held, self.used, "named in the formula or in `within`", listed)
        require(held, self.public, "declared public", listed)


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


def _formulas(formula: object, model: TableModel | None) -> tuple[Formula, ...]:
    return (Formula.parse(str(formula)),) if model is None else tuple(column.formula for column in model.columns)


def _weights(weights: object, model: TableModel | None, strict_mechanism: bool) -> str:
    if weights not in ("record", "column"):
        raise InputError(f"weights must be 'record' or 'column', found {found(weights)}")
    if weights == "column" and (model is None or strict_mechanism):
        where = "a strict mechanism, which has none" if strict_mechanism else "one column"
        raise InputError(f"weights per column need a table model and a mechanism with weights, found {where}")
    return str(weights)


def _check_distance(mechanism: Mechanism, model: TableModel | None, weights: str) -> None:
    """Refuse a radius in one column's unit for a chain of several, and a distance for one column."""
    for rule in mechanism.rules:
        if not isinstance(rule, CW):
            continue
        several = model is not None and len(model.columns) > 1
        if isinstance(rule.radius, tuple):
            by_column = {} if model is None else {column.name: column.family for column in model.columns}
            for name, _ in rule.radius:
                if FAMILIES[by_column[name]].levels if name in by_column else True:
                    raise InputError(
                        f"radius must be of columns to synthesize that hold numbers, found one for {name!r}, which is "
                        "none"
                    )
        if rule.distance is not None and weights == "column":
            raise InputError("distance must be left out with weights per column, which compare column by column")
        if not several and rule.distance is not None:
            raise InputError("distance must be left out with one column, found one")
        if several and not (rule.relative or rule.distance or isinstance(rule.radius, tuple)):
            raise InputError(
                "radius must be one by column, relative, or of a named distance where several columns are "
                "synthesized, found one number for all of them"
            )


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
    return bound_of(per_draw(within(epsilon), m))


def _check_scored(family: object, sampler: object, prior: object, limits: object, step: object) -> None:
    """Refuse what `Scored` has no use for: it draws no posterior."""
    if isinstance(family, OwnModel):
        raise InputError("Scored must have a built-in family, found an OwnModel")
    given = {"sampler": sampler, "prior": prior, "limits": limits, "step": step}
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} must be left out with Scored, which draws from no posterior, found one")


def _names(name: str, value: object) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, tuple | list):
        raise InputError(f"{name} must name columns, found {found(value)}")
    return tuple(value)


def _positive(name: str, value: object) -> float | None:
    return None if value is None else require_positive(name, value)
