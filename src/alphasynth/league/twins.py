"""Twins: a table simulated from public parameters of one column's family, beside public columns where it has some."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.league.standings import Table
from alphasynth.mechanisms.binding import covariates
from alphasynth.mechanisms.growth import new_values
from alphasynth.models.coefficient_priors import ScaleMixturePrior
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.continuous import scale_of
from alphasynth.models.families import has_own_zeros
from alphasynth.models.formula import design_matrix
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

MEAN, SD, PHI, ZEROS, ROWS = "mean", "sd", "phi", "zeros", "rows"
# What is said of a family's column; a family in two parts has the parameters of its second, and a share of zeros.
PARAMETERS = {
    "poisson": (MEAN,),
    "negative_binomial": (MEAN, PHI),
    "log_normal": (MEAN, SD),
    "normal": (MEAN, SD),
    "gamma": (MEAN, SD),
    "bernoulli": (MEAN,),
}
CONTINUOUS = ("log_normal", "normal", "gamma")
# Stand-ins where nobody says more: a quarter of the way between limits, a tenth of it the sd; on the scale of
# logarithms half of the way, and an eighth.
COUNTED, USUAL_PHI, QUARTER, TENTH, HALF_WAY, EIGHTH = 100.0, 12.0, 0.25, 0.1, 0.5, 0.125
# What public columns together do to the response: an sd of the linear predictor, in sds of a (log-)normal one.
EFFECT = 0.3


def base_of(family: str) -> str:
    """The family that parameters are of; raise `InputError` for levels of which there is no mean.

    >>> base_of("two_part_log_normal"), base_of("zero_truncated_poisson")
    ('log_normal', 'poisson')
    """
    for base in PARAMETERS:
        if family == base or family.endswith(f"_{base}"):
            return base
    raise InputError(f"a twin must be of counts, numbers or two levels, which have a mean, found {family!r}")


def parameters_of(family: str) -> tuple[str, ...]:
    """Names of a twin's parameters.

    >>> parameters_of("hurdle_negative_binomial")
    ('mean', 'phi', 'zeros')
    """
    return (*PARAMETERS[base_of(family)], *((ZEROS,) if has_own_zeros(family) else ()))


def stand_ins(column: ColumnModel) -> dict[str, float]:
    """What a twin's parameters are where nobody says: by declared limits where there are some."""
    base, limits = base_of(column.family), column.declared.limits
    usual = {PHI: USUAL_PHI, ZEROS: QUARTER, MEAN: QUARTER if base == "bernoulli" else COUNTED}
    if limits is not None and base == "log_normal":
        low, high = (math.log(limit) for limit in limits)
        spread = EIGHTH * (high - low)
        usual[MEAN] = math.exp(low + HALF_WAY * (high - low) + spread**2 / 2)
        usual[SD] = usual[MEAN] * math.sqrt(math.expm1(spread**2))
    elif limits is not None:
        usual[MEAN] = limits[0] + QUARTER * (limits[1] - limits[0])
        usual[SD] = usual[MEAN] / 2 if base == "gamma" else TENTH * (limits[1] - limits[0])
    return {name: usual[name] for name in parameters_of(column.family)}


def simulate_twin(seed: int, synthesizer: Synthesizer, twin: Mapping[str, float], beside: Any = None) -> Table:
    """A table of one column from parameters declared public, and of nothing else; raise `InputError`.

    `beside` is a frame of the formula's public columns, drawn from with replacement where `twin` has other rows.
    """
    column, rows = synthesizer.model.columns[0], int(twin[ROWS])
    given = {name: value for name, value in twin.items() if name != ROWS}
    _check(column, given)
    rng = np.random.default_rng(np.random.SeedSequence([seed, rows]))
    if beside is not None and len(beside) != rows:
        beside = beside.take(rng.integers(len(beside), size=rows)).reset_index(drop=True)
    theta, unit = _theta(column, given)
    ones = np.ones(rows)
    effects = np.zeros(rows) if beside is None else EFFECT * unit * _moved(column, synthesizer, beside)
    model = column.traits.model(column.name, column.declared, ScaleMixturePrior(), 2)
    values = new_values(rng, column, model, theta, {"X": np.stack([ones, effects], axis=1)}, rows)
    frame = _frame(column.name, values, beside)
    return Table.of(Records.from_table(frame, list(frame.columns)), _words(column, given, rows, beside))


def _frame(name: str, values: np.ndarray, beside: Any) -> Any:
    import pandas as pd

    alone = pd.DataFrame({name: values})
    return alone if beside is None else pd.concat([alone, beside], axis=1)


def in_a_row(words: Sequence[str]) -> str:
    """Words with commas, and an "and" before the last.

    >>> in_a_row(["a", "b", "c"]), in_a_row(["a"])
    ('a, b and c', 'a')
    """
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _words(column: ColumnModel, given: Mapping[str, float], rows: int, beside: Any) -> str:
    listed = in_a_row([f"{name} {given[name]:g}" for name in parameters_of(column.family)])
    listed += " (the share of the second level)" if base_of(column.family) == "bernoulli" else ""
    moved = "" if beside is None else f", beside rows of {', '.join(beside.columns)}"
    moved += "" if column.formula.intercept_only else f", which move it by {EFFECT:g} (sd of the linear predictor)"
    return f"{rows:,} rows of {column.family} with {listed}{moved}"


def _check(column: ColumnModel, given: Mapping[str, float]) -> None:
    """Refuse parameters that the family does not have, lacks, or cannot have."""
    family, wanted = column.family, parameters_of(column.family)
    base, limits = base_of(family), column.declared.limits
    for name in (PHI, SD, ZEROS):
        if (name in given) != (name in wanted):
            needs = "needs" if name in wanted else "must have no"
            raise InputError(f"--twin {needs} {name} for {family}, found otherwise")
    mean, zeros = given[MEAN], given.get(ZEROS, QUARTER)
    if not 0 < zeros < 1 or (base == "bernoulli" and not 0 < mean < 1):
        raise InputError("--twin must have shares between 0 and 1, of zeros and of a second level, found others")
    if base != "normal" and mean <= 0:
        raise InputError(f"--twin must have a positive mean for {family}, found {mean:g}")
    if limits is not None and not limits[0] <= mean <= limits[1]:
        raise InputError(f"--twin must have its mean within the limits of {column.name!r}, found {mean:g}")


def _theta(column: ColumnModel, given: Mapping[str, float]) -> tuple[dict[str, Any], float]:
    """Parameters of the family's own, of an intercept and a column of effects, and the unit of these."""
    base, mean, declared = base_of(column.family), given[MEAN], column.declared
    more: dict[str, float] = {}
    unit = 1.0
    if base == "bernoulli":
        start = math.log(mean / (1 - mean))
    elif base == "gamma":
        assert declared.limits is not None, "a continuous family has limits"
        start, more = math.log(mean / declared.limits[1]), {"shape": (mean / given[SD]) ** 2}
    elif base in CONTINUOUS:
        logarithmic = base == "log_normal"
        centre, half = scale_of(column.name, declared, logarithmic)
        sd = math.sqrt(math.log1p((given[SD] / mean) ** 2)) if logarithmic else given[SD]
        start = ((math.log(mean) - sd**2 / 2 if logarithmic else mean) - centre) / half
        unit = sd / half
        more = {"sd": unit}
    else:
        start, more = math.log(mean), {PHI: given[PHI]} if PHI in given else {}
    theta: dict[str, Any] = {"beta": np.array([start, 1.0]), **more}
    if ZEROS in given:  # a hurdle's gamma is of what is above 0, an inflation's of what is turned to 0
        share = given[ZEROS] if column.family.startswith("zero_inflated") else 1 - given[ZEROS]
        theta["gamma"] = np.array([math.log(share / (1 - share)), 0.0])
    return theta, unit


def _moved(column: ColumnModel, synthesizer: Synthesizer, beside: Any) -> np.ndarray:
    """A sum of the formula's terms, each in its own sds, with mean 0 and an sd of about 1 (rows,)."""
    columns = covariates(column.formula, beside, synthesizer.model.declared)
    X = design_matrix(column.formula, columns, np.ones(len(beside), np.int64))
    varying = X[:, np.ptp(X, axis=0) > 0]
    scaled = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    return np.asarray(scaled.sum(axis=1) / math.sqrt(max(1, scaled.shape[1])))
