"""What can be refused of a request before a table is seen: formulas, families, weights, aims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alphasynth.errors import InputError, found, gathering, require_positive
from alphasynth.exact.public_grid import PublicGrid
from alphasynth.inference.grid import Grid
from alphasynth.mechanisms.mechanism import Mechanism
from alphasynth.mechanisms.named import named_mechanism
from alphasynth.mechanisms.rules import BW, CW
from alphasynth.mechanisms.scored import Scored
from alphasynth.models.coefficient_priors import CoefficientPrior
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.families import FAMILIES, OWN, Own
from alphasynth.models.formula import Formula
from alphasynth.models.formula_text import response_in
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.accounting import bound_of, per_draw, within
from alphasynth.privacy.approximate import LARGEST_DELTA, SMALLEST_DELTA

# With less, noisy sums are nothing but noise, and of too much of it for whole numbers of 64 bits.
SMALLEST_EPSILON = 1e-9


def table_model_of(
    formula: object, family: object, declared: Mapping[str, Mapping[str, Any]], prior: CoefficientPrior | None
) -> TableModel:
    """The table model that was given, or that formulas, families and declarations make."""
    if isinstance(formula, TableModel):
        if family is not None or declared:
            raise InputError("family and declared must be left out with a TableModel, which states its own, found one")
        return formula
    if isinstance(formula, str):
        alone = Formula.parse(formula)
        if not isinstance(checked := family_of(family, prior), str):
            if declared:
                raise InputError("declared must be left out with an OwnModel, which is all there is to say, found some")
            return TableModel.of([ColumnModel(alone, OWN, own=checked)])
        formula, family = [formula], [checked]
    if not isinstance(formula, tuple | list) or not all(isinstance(text, str) for text in formula):
        raise InputError(f"formula must be text, several texts or a TableModel, found {found(formula)}")
    families = [family] * len(formula) if isinstance(family, str) else family
    if not isinstance(families, tuple | list) or len(families) != len(formula):
        given = len(families) if isinstance(families, tuple | list) else 0
        raise InputError(f"family must be one for all formulas or one for each, found {given} for {len(formula)}")
    named = [response_in(text) for text in formula]
    columns = []
    with gathering() as problems:
        for text, name, of in zip(formula, families, named, strict=True):
            with problems:
                columns.append(ColumnModel.of(text, name, declared=declared.get(of or "", {})))
        for unknown in [] if None in named else sorted(set(declared) - set(named)):
            problems.say(f"declared must be of columns to synthesize, found {unknown!r}")
        if columns:
            model = TableModel.of(columns)
    return model


def weights_of(weights: object, undeclared: bool, strict_mechanism: bool) -> str:
    """What has a weight, a record or each of its columns; refuse the latter where there are none."""
    if weights not in ("record", "column"):
        raise InputError(f"weights must be 'record' or 'column', found {found(weights)}")
    if weights == "column" and (undeclared or strict_mechanism):
        where = "a strict mechanism, which has none" if strict_mechanism else "one column"
        raise InputError(f"weights per column need a table model and a mechanism with weights, found {where}")
    return str(weights)


def check_distance(mechanism: Mechanism, model: TableModel, weights: str) -> None:
    """Refuse a radius in one column's unit for a chain of several, and a distance for one column."""
    for rule in mechanism.rules:
        if not isinstance(rule, CW):
            continue
        several = len(model.columns) > 1
        if isinstance(rule.radius, tuple):
            for name, _ in rule.radius:
                if name not in model.names or model.column(name).traits.levels:
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


def family_of(family: object, prior: CoefficientPrior | None) -> str | Own:
    """The family of one plain column; refuse what is none, and a prior that it cannot have."""
    if isinstance(family, Own):
        if prior is not None:
            raise InputError("prior must be left out with an OwnModel, which states its own, found one")
        return family
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(f"family must be an OwnModel or one of {', '.join(FAMILIES)}, found {found(family)}")
    if prior is not None and (isinstance(prior, type) or not isinstance(prior, CoefficientPrior)):
        raise InputError(f"prior must be a prior such as NormalPrior(2.5), found {found(prior)}")
    return family


def as_mechanism(mechanism: str | Mechanism, given: dict[str, Any]) -> Mechanism:
    """The mechanism named, with the options given, or the one given whole, which has its own."""
    if isinstance(mechanism, str):
        return named_mechanism(mechanism, **given)
    if not isinstance(mechanism, Mechanism):
        raise InputError(f"mechanism must be a name or a Mechanism, found {type(mechanism).__name__}")
    if given:
        raise InputError(f"{', '.join(given)} must be set in the rules of a Mechanism given whole, found beside it")
    return mechanism


def check_aim(mechanism: Mechanism, epsilon: float | None, given: dict[str, Any]) -> None:
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
    if given.get("match") is not None:
        raise InputError("match must be left out when epsilon is given, which is what is matched, found both")


def target_of(epsilon: float | None, m: int) -> float | None:
    """Lipschitz bound at which m draws cost at most epsilon, in floating point too."""
    if epsilon is None:
        return None
    return bound_of(per_draw(within(epsilon), m))


def delta_of(mechanism: Mechanism, delta: object) -> float | None:
    """The policy's delta, or none; refuse one that is no small number, or that the mechanism cannot promise."""
    if delta is None:
        return None
    if mechanism.contribution is None:
        raise InputError(f"delta must have a strict mechanism, since others promise none, found {mechanism.label!r}")
    if isinstance(mechanism.contribution, Scored):
        raise InputError("delta must be left out with Scored, whose promise is of a pure epsilon, found one")
    return small_delta(delta)


def small_delta(delta: object) -> float:
    """The policy's delta; refuse one that is no small number."""
    if not SMALLEST_DELTA <= (value := require_positive("delta", delta)) <= LARGEST_DELTA:
        raise InputError(f"delta must be from {SMALLEST_DELTA:g} to {LARGEST_DELTA:g}, found {value!r}")
    return value


def check_rows(delta: float | None, n: int) -> None:
    """Refuse a delta that would allow to publish one of n rows as it is; n is public."""
    if delta is not None and delta * n >= 1:
        raise InputError(
            f"delta must be below one in the number of rows, which is public and {n:,} here, found {delta!r}; one in "
            "its square is usual"
        )


def epsilon_of_sums(given: float | None) -> float:
    """The budget of noisy sums, which there must be."""
    if given is None:
        raise InputError("mechanism 'Raked' needs an epsilon, which decides its noise, found none")
    epsilon = require_positive("epsilon", given)
    if epsilon < SMALLEST_EPSILON:
        raise InputError(f"epsilon must be at least {SMALLEST_EPSILON:g} with Raked, found {epsilon!r}")
    return epsilon


def survey_likelihood_of(asked: object, column: str | None, mechanism: Mechanism) -> bool:
    """Whether survey weights enter the likelihood; refuse it without any, and of mechanisms that bound records."""
    if not isinstance(asked, bool):
        raise InputError(f"survey_likelihood must be True or False, found {found(asked)}")
    if asked and column is None:
        raise InputError("survey_likelihood must have survey_weights, which it multiplies by, found none")
    if asked and (mechanism.contribution is not None or any(isinstance(rule, BW) for rule in mechanism.rules)):
        raise InputError(
            "survey_likelihood is of the paper's mechanisms, whose bounds follow from the product, found "
            f"{mechanism.label!r}, which bounds each record by itself (Raked has survey weights of its own)"
        )
    return asked


def check_survey_weights(column: str | None, public: Sequence[str]) -> None:
    """Refuse survey weights that are not declared public."""
    if column is not None and column not in public:
        raise InputError(
            f"survey_weights must be a column declared public, found {column!r}, which is not; without it the column "
            "can be synthesized like any other"
        )


def grid_of(mechanism: Mechanism, model: TableModel, sampler: object, limits: Any, step: Any) -> PublicGrid:
    """The public grid of a strict mechanism; refuse limits and a step where there is none to have them."""
    if limits is None and step is None:
        return PublicGrid()
    if mechanism.contribution is None:
        raise InputError(f"limits and step are of a strict mechanism's public grid, found {mechanism.label!r}")
    if len(model.columns) > 1:
        raise InputError("limits and step are of one column's public grid, found them with several columns")
    if isinstance(sampler, PublicGrid):
        raise InputError("limits and step must be those of the PublicGrid given, found them beside it")
    return PublicGrid(limits or {}, step)


def check_draws(mechanism: Mechanism, sampler: object, thresh: float, m: int, num_draws: int) -> None:
    """Refuse draws that the mechanism must not have, and fewer than are asked for."""
    strict = mechanism.contribution is not None
    with gathering() as problems:
        if isinstance(sampler, PublicGrid) and not strict:
            problems.say(f"PublicGrid must have a strict mechanism, found {mechanism.label!r}")
        if strict and isinstance(sampler, Grid):
            problems.say(
                "a strict mechanism must not draw on Grid, whose points are placed by the table; leave sampler out for "
                "the public grid, found Grid"
            )
        if strict and thresh != 1:
            problems.say(f"thresh must be 1 with a strict mechanism, which drops no draws, found {found(thresh)}")
        if m > num_draws:
            problems.say(f"m must be at most the number of draws, {num_draws:,}, found {m:,}")


def check_scored(family: object, sampler: object, prior: object, limits: object, step: object) -> None:
    """Refuse what `Scored` has no use for: it draws no posterior."""
    if isinstance(family, Own):
        raise InputError("Scored must have a built-in family, found an OwnModel")
    given = {"sampler": sampler, "prior": prior, "limits": limits, "step": step}
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} must be left out with Scored, which draws from no posterior, found one")


def names_of(name: str, value: object) -> tuple[Any, ...]:
    """Names of columns, of which one may stand alone."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, tuple | list):
        raise InputError(f"{name} must name columns, found {found(value)}")
    return tuple(value)


def positive_or_none(name: str, value: object) -> float | None:
    """The value, if it is positive and finite, or nothing."""
    return None if value is None else require_positive(name, value)


def part_of_all(name: str, given: Any) -> float:
    """A number between 0 and 1; raise `InputError`.

    >>> part_of_all("response_share", 0.5)
    0.5
    """
    part = require_positive(name, given)
    if part >= 1:
        raise InputError(f"{name} must be below 1, found {part!r}")
    return part
