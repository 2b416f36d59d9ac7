"""The built-in families by name, and a column of records bound to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from alphasynth.errors import InputError
from alphasynth.models.categories import Bernoulli, Categorical, Ordinal
from alphasynth.models.coefficient_priors import CoefficientPrior, ScaleMixturePrior
from alphasynth.models.continuous import Gamma, Normal, log_normal
from alphasynth.models.counts import NegativeBinomial, Poisson
from alphasynth.models.formula import Formula
from alphasynth.models.model import ColumnFamily, Rows
from alphasynth.models.own_model import OwnModel
from alphasynth.models.stan_model import StanModel
from alphasynth.models.two_part import Hurdle, ZeroInflated, ZeroTruncated
from alphasynth.tables.declared import Declared
from alphasynth.tables.records import Records


class Family(NamedTuple):
    """How a family's model is made: from a column's name, what is declared of it, coefficients' prior and K.

    `levels` says that it holds categories, `whole` that it holds counts, and `cut` how far below its largest
    log-likelihood a record of a table model is cut unless told: little where that is a probability, more where a zero
    and a value are weighed together. `above` is the family of the values that are not 0, where zeros have a part of
    their own.
    """

    make: Callable[[str, Declared, CoefficientPrior, int], Any]
    around: Callable[[Any, CoefficientPrior, int], ColumnFamily] | None = None
    levels: bool = False
    whole: bool = False
    cut: float = 8.0
    above: str | None = None

    def model(self, name: str, declared: Declared, coefficients: CoefficientPrior, K: int) -> ColumnFamily:
        """The model of a column with K terms."""
        inner = self.make(name, declared, coefficients, K)
        return inner if self.around is None else self.around(inner, coefficients, K)


FAMILIES = {
    "bernoulli": Family(Bernoulli.of, levels=True, cut=5.0),
    "categorical": Family(Categorical.of, levels=True, cut=5.0),
    "ordinal": Family(Ordinal.of, levels=True, cut=5.0),
    "normal": Family(Normal.of),
    "log_normal": Family(log_normal),
    "gamma": Family(Gamma.of),
    "poisson": Family(Poisson.of, whole=True),
    "negative_binomial": Family(NegativeBinomial.of, whole=True),
    "zero_truncated_poisson": Family(Poisson.of, ZeroTruncated.around, whole=True),
    "zero_truncated_negative_binomial": Family(NegativeBinomial.of, ZeroTruncated.around, whole=True),
    "zero_inflated_poisson": Family(Poisson.of, ZeroInflated.around, above="zero_truncated_poisson", whole=True),
    "zero_inflated_negative_binomial": Family(
        NegativeBinomial.of, ZeroInflated.around, above="zero_truncated_negative_binomial", whole=True
    ),
    "hurdle_poisson": Family(Poisson.of, Hurdle.around, above="zero_truncated_poisson", whole=True),
    "hurdle_negative_binomial": Family(
        NegativeBinomial.of, Hurdle.around, above="zero_truncated_negative_binomial", whole=True
    ),
    "two_part_normal": Family(Normal.of, Hurdle.around, cut=12.0, above="normal"),
    "two_part_log_normal": Family(log_normal, Hurdle.around, cut=12.0, above="log_normal"),
    "two_part_gamma": Family(Gamma.of, Hurdle.around, cut=12.0, above="gamma"),
}

# What a model of the user's own is called, which is made by itself and has nothing particular.
Own = OwnModel | StanModel  # a model of the user's own, in place of a family
OWN, OWN_TRAITS = "a model of the user's own", Family(lambda *_: None)


def holds_whole(family: str, declared: Declared) -> bool:
    """Whether a column of numbers holds whole ones: counts, or what was declared so."""
    return declared.whole or FAMILIES[family].whole


def has_own_zeros(family: str) -> bool:
    """Whether zeros stand beside the values that limits are of."""
    return FAMILIES[family].above is not None


def check_intercept(formula: Formula, family: str) -> None:
    """Refuse an ordinal column without an intercept."""
    if family == "ordinal" and not formula.has_intercept:
        raise InputError(f"formula of {formula.response!r}, which is ordinal, must have an intercept, found none")


def bind_design(
    formula: Formula,
    family: str,
    records: Records,
    X: np.ndarray,
    coefficients: CoefficientPrior | None = None,
    strict: bool = False,
    declared: Declared | None = None,
    apart: tuple[str, ...] = (),
) -> tuple[ColumnFamily, Rows]:
    """Model of the formula's response, and what it reads of the records; `InputError` for what it cannot be.

    `X` is the design matrix (distinct rows of the records, K); `apart` tells more lines apart. `strict`: for
    contributions that read nothing off the table.
    """
    declared = declared or Declared()
    check_intercept(formula, family)
    of = records.group((formula.response, *formula.covariates, *apart))
    _, first = np.unique(of, return_index=True)
    counts = np.bincount(of, records.counts).astype(np.int64)
    model = FAMILIES[family].model(formula.response, declared, coefficients or ScaleMixturePrior(), X.shape[1])
    values = records.columns[formula.response][first]
    columns = model.read(formula.response, values, declared, strict)
    if declared.limits is not None and "log_factorial" in columns:
        beyond = declared.outside(columns["y"]) & ~((columns["y"] == 0) & has_own_zeros(family))
        if beyond.any():
            raise InputError(f"column {formula.response!r} must lie within its declared limits, found values beyond")
    start = model.public_starts() if strict else model.start(columns, X[first], counts)
    if not formula.intercept_only:
        columns["X"] = X[first]
    rows = Rows.pad(columns, of, start)
    return model, rows.for_strict(model.peak(columns)) if strict else rows
