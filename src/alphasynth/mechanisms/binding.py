"""A table model bound to records: one block per column, and what its terms learnt, to generate new rows by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from alphasynth.errors import InputError, gathering
from alphasynth.inference.wrapping import PartlyHeld
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import Problem
from alphasynth.models.categories import MOST_COEFFICIENTS
from alphasynth.models.coefficient_priors import CoefficientPrior, NormalPrior
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.families import bind_design, check_intercept, holds_whole
from alphasynth.models.formula import Formula, check_rank, compute_terms, learn_terms, require_declared, widen
from alphasynth.models.model import Model, Rows
from alphasynth.models.table_model import TableModel, above_zero_of
from alphasynth.tables.declared import Declared, as_levels
from alphasynth.tables.gaps import stand_in
from alphasynth.tables.records import Records

# Makes the problem of a block: its place, model and rows.
Finish = Callable[[int, Model, Rows], Problem]


@dataclass(frozen=True, eq=False)
class BoundTable:
    """A chain (confidential), the model with everything that was left to the table settled, and the terms' specs."""

    chain: Chain
    model: TableModel
    specs: tuple[Any, ...] = field(repr=False)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Public columns that rows are generated from."""
        needed = dict.fromkeys((*self.model.inputs, *sorted(self.model.helpers)))
        return tuple(name for name in needed if name not in self.model.names)

    def public_terms(self, public: Collection[str]) -> tuple[tuple[str | None, ...], ...]:
        """Names of each column's terms, in the order of its coefficients.

        Those with levels of columns that are not public are None: such levels may have been read off the table.
        """
        return tuple(
            ("Intercept",)
            if spec is None
            else tuple(
                None if "[" in str(term) and not set(column.formula.covariates) <= set(public) else str(term)
                for term in spec.column_names
            )
            for column, spec in zip(self.model.columns, self.specs, strict=True)
        )


def observed(model: TableModel, records: Records, strict: bool) -> TableModel:
    """The model with levels and limits that were not declared taken from the table; refused of a strict mechanism."""
    found = {}
    for column in model.columns:
        declared, values = column.declared, records.columns[column.name]
        if column.traits.levels and not declared.levels and not strict:
            found[column.name] = replace(declared, levels=_observed_levels(values))
    return model.with_declared(found)


def check_declared(model: TableModel, strict: bool) -> None:
    """Refuse columns of which too little is declared for their family, all of them at once; no table is read."""
    with gathering() as problems:
        for column in model.columns:
            with problems:
                _check_declared(column, strict)


def _check_declared(column: ColumnModel, strict: bool) -> None:
    family, levels = column.traits, column.declared.levels
    if column.own is not None or (family.levels and not levels and not strict):
        return
    if family.levels and not levels:
        raise InputError(
            f"a strict mechanism must not learn the levels of {column.name!r} from the table: declare them public "
            "(declared_public in model.toml), found none"
        )
    check_intercept(column.formula, column.family)
    if len(levels) <= MOST_COEFFICIENTS:  # with more it is the terms that decide, when they are known
        family.model(column.name, column.declared, NormalPrior(), 1)


def _observed_levels(values: Any) -> tuple[Any, ...]:
    """The levels that occur: in their own order where a column has one, else sorted."""
    if hasattr(values, "categories"):
        occurring = values.remove_unused_categories()
        return tuple(occurring.categories.tolist())
    return tuple(np.unique(as_levels(values)).tolist())


def bind_table(
    model: TableModel, records: Records, finish: Finish, prior: CoefficientPrior | None = None, strict: bool = False
) -> BoundTable:
    """Every column's block over the same records; `finish` makes a problem of a model and its rows."""
    check_declared(model, strict)
    blocks, specs, broken = [], [], set[str]()
    with gathering() as problems:
        records = with_helpers(model, records)
        model = observed(model, records, strict)
        for number, column in enumerate(model.columns):
            if broken & set(column.formula.covariates):  # looked at by itself, for what else is wrong
                column = replace(column, formula=Formula.parse(f"`{column.name}` ~ 1"))
            with problems:
                spec, bound, rows = _bind(column, model, records, prior, strict)
                blocks.append(finish(number, bound, rows))
                specs.append(spec)
            if len(blocks) + len(broken) <= number:
                broken.add(column.name)
    return BoundTable(Chain(model.names, tuple(blocks), model.shares), model, tuple(specs))


def with_helpers(model: TableModel, records: Records) -> Records:
    """Records with a column beside each that is modelled in two parts, which says where it is not 0.

    What is made from a column tells no rows apart that it does not.
    """
    made = {}
    for column in model.columns:
        name = above_zero_of(column.name)
        if (name, True) in column.where:
            values = records.columns[column.name]
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
                raise InputError(f"column {column.name!r} must hold numbers, found a column that is not numeric")
            made[name] = values != 0
    return replace(records, columns={**records.columns, **made}) if made else records


def _bind(
    column: ColumnModel, table: TableModel, records: Records, prior: CoefficientPrior | None, strict: bool
) -> tuple[Any, Model, Rows]:
    """What a column's terms learnt, its model and rows; lines that do not meet its conditions take no part."""
    if column.own is not None:
        return (None, *column.own.bind(column.formula, records, strict))
    spec, X = _design(column.formula, table, records, strict)
    apart = tuple(name for name, _ in column.where)
    taking_part = np.ones(records.size, bool)
    for name, wanted in column.where:
        taking_part &= np.asarray(records.columns[name]).astype(bool) == wanted
    if (above_zero_of(column.name), True) in column.where:
        records = _filled(column, records, taking_part)
    model, rows = bind_design(column.formula, column.family, records, X, prior, strict, column.declared, apart)
    if not column.where:
        return spec, model, rows
    by_line = np.ones(rows.size, bool)
    by_line[rows.of] = taking_part
    return spec, PartlyHeld(model), rows.where(by_line)


def _filled(column: ColumnModel, records: Records, taking_part: np.ndarray) -> Records:
    """Records in which a public value stands in for what takes no part: one that the family can read."""
    public = stand_in(column.declared)
    value = max(public, 1) if holds_whole(column.family, Declared()) else public
    values = np.where(taking_part, records.columns[column.name], value)
    return replace(records, columns={**records.columns, column.name: values})


def _design(formula: Formula, model: TableModel, records: Records, strict: bool) -> tuple[Any, np.ndarray]:
    """What a formula's terms learnt, and the design matrix by distinct row of the records."""
    if formula.intercept_only:
        return None, np.ones((records.size, 1))
    declared = model.declared
    numbers = {n: facts.levels for n, facts in declared.items() if facts.levels and type(facts.levels[0]) is not str}
    formula = formula.with_levels(numbers)
    if strict:
        require_declared(formula, records.columns, [name for name, facts in declared.items() if facts.levels])
    group = records.group(formula.covariates)
    _, first = np.unique(group, return_index=True)
    counts = np.bincount(group, records.counts).astype(np.int64)
    frame = covariates(formula, {name: records.columns[name][first] for name in formula.covariates}, declared)
    spec, values = learn_terms(formula, frame, counts)
    if len(model.columns) == 1:  # a chain's prior copes with columns that others determine, the paper's does not
        check_rank(spec, values)
    _check_corners(formula, spec, frame, declared)
    return spec, values[group]


def _check_corners(formula: Formula, spec: Any, frame: Any, declared: Mapping[str, Declared]) -> None:
    """Refuse terms that have no value where synthetic covariates may lie: at either limit of each."""
    for place in (0, 1):
        corner = frame.iloc[:1].copy()
        for name in formula.covariates:
            facts = declared.get(name, Declared())
            if facts.limits is not None and getattr(corner[name].dtype, "kind", "O") in "iuf":
                corner[name] = np.asarray([facts.limits[place]], np.float64)
        with np.errstate(all="ignore"):
            try:
                compute_terms(spec, corner)
            except InputError:
                raise InputError(
                    f"terms of {formula.text!r} must be finite wherever their columns' declared limits allow values, "
                    "found a limit at which they are not"
                ) from None


def covariates(formula: Formula, columns: Mapping[str, Any], declared: Mapping[str, Declared]) -> Any:
    """A frame of a formula's covariates: numbers in 64 bits, declared levels of text as categories in their order."""
    import pandas as pd

    return pd.DataFrame({name: _covariate(columns[name], declared.get(name)) for name in formula.covariates})


def _covariate(column: Any, declared: Declared | None) -> Any:
    import pandas as pd

    if declared is not None and declared.levels:
        # As they were declared, whatever the table's own storage has: nothing of which levels occur.
        if isinstance(declared.levels[0], str):
            return pd.Categorical(as_levels(column), categories=list(declared.levels))
        column = as_levels(column)
    values = widen(column)
    if declared is not None and getattr(values.dtype, "kind", "O") == "b":
        return values.astype(np.int64)
    return values
