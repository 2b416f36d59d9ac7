"""Formulas: `response ~ terms`, which are data and run nothing, and the design matrix of distinct rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.models.expressions import ELEMENTWISE, SPLINES, Call, Column, Constant, Expression, is_number, parts_of
from alphasynth.models.formula_text import Term, bare_categories, read_formula
from alphasynth.models.terms import State, factor_values
from alphasynth.tables.records import Records

# Design columns are scaled to length 1; below this pivot a column is a combination of the others to 10 digits.
COLLINEAR = 1e-10
# The first this many rows are computed a second time, apart from the rest, to see that terms read their own row only.
ROWS_COMPARED = 1_000
MOST_SHOWN = 200  # characters of a formula in a message


@dataclass(frozen=True)
class Formula:
    """A column model's formula: one response, and terms over covariates.

    `terms` are names of factors, that of the intercept none; `factors` says what each of them is.

    >>> formula = Formula.parse("visits ~ age + C(sex)")
    >>> formula.response, formula.covariates, formula.terms
    ('visits', ('age', 'sex'), ((), ('age',), ('C(sex)',)))
    """

    text: str
    response: str
    covariates: tuple[str, ...]
    terms: tuple[Term, ...]
    factors: Mapping[str, Expression] = field(repr=False, compare=False)
    right: str = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula; raise `InputError` unless it is `one column ~ terms` of what may stand in one."""
        if not isinstance(text, str):
            raise InputError(f"formula must be text, found {found(text)}")
        shown = repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")
        try:
            parsed = read_formula(text)
        except InputError as error:
            raise InputError(
                f"formula {shown} cannot be read: {error}; names that are not plain words go in backticks"
            ) from None
        if parsed is None:
            raise InputError(
                f"formula must read 'response ~ terms' with one response column as it stands, found {shown}"
            )
        if parsed.response in parsed.covariates:
            raise InputError(f"column {parsed.response!r} must not stand on both sides of the formula, found {shown}")
        if not parsed.covariates and parsed.terms != ((),):
            raise InputError(f"the right-hand side must be 1 or read columns, found {shown}")
        right = text[parsed.begins :].strip()
        return cls(text, parsed.response, parsed.covariates, parsed.terms, parsed.factors, right)

    @property
    def intercept_only(self) -> bool:
        """Whether the right-hand side is 1."""
        return self.terms == ((),)

    @property
    def has_intercept(self) -> bool:
        """Whether the right-hand side has an intercept, as it has unless told."""
        return () in self.terms

    def with_levels(self, levels: Mapping[str, Sequence[float]]) -> Formula:
        """The formula with the levels of `C(column)` written out, for columns of numbers whose levels are declared.

        >>> Formula.parse("y ~ C(size) + age").with_levels({"size": [1, 2, 4]}).text
        'y ~ C(size, levels=[1, 2, 4]) + age'
        """
        text = self.text
        for column, place in reversed(bare_categories(text)):
            if column.name in levels:
                text = f"{text[:place]}, levels={list(levels[column.name])!r}{text[place:]}"
        return self if text == self.text else Formula.parse(text)


@dataclass(frozen=True, eq=False)
class Learnt:
    """A formula's terms with what they learnt from a table (confidential): of calls, and the levels of categories."""

    formula: Formula
    state: State = field(repr=False)
    spec: Any = field(repr=False)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the design."""
        return tuple(self.spec.column_names)


def design_matrix(formula: Formula, columns: Mapping[str, Any], counts: np.ndarray) -> np.ndarray:
    """Design matrix X (distinct rows, K) in float64, each row computed from its own values alone.

    What a transform learns from the table (the mean in `center(x)`) it learns from all records, not from the distinct
    rows. Raises `InputError` for terms that read other rows and for constant or collinear columns.
    """
    import pandas as pd

    if formula.intercept_only:
        return np.ones((len(counts), 1))
    rows = pd.DataFrame({name: widen(columns[name]) for name in formula.covariates})
    learnt, values = learn_terms(formula, rows, counts)
    check_rank(learnt, values)
    return values


def design_of(formula: Formula, records: Records) -> np.ndarray:
    """Design matrix by distinct row of the records, computed from the covariates' own distinct rows.

    So the response has no way into it, not even through the number of distinct rows.
    """
    group = records.group(formula.covariates)
    _, first = np.unique(group, return_index=True)
    counts = np.bincount(group, records.counts).astype(np.int64)
    columns = {name: records.columns[name][first] for name in formula.covariates}
    return design_matrix(formula, columns, counts)[group]


def learn_terms(formula: Formula, rows: Any, counts: np.ndarray) -> tuple[Learnt, np.ndarray]:
    """What the terms learn from the records (a frame of distinct rows, and counts), and their values there.

    Raises `InputError` for terms that read other rows or are not finite.
    """
    state: State = {}
    if _learns(formula):
        records = rows.loc[rows.index.repeat(counts)]
        for factor in formula.factors.values():
            factor_values(factor, records, state)
    matrix = _matrix(formula, _coded(formula), rows, state)
    learnt, values = Learnt(formula, state, matrix.model_spec), _finite(matrix)
    _check_own_row(learnt, rows, values)
    return learnt, values


def widen(column: Any) -> Any:
    """Numbers in 64 bits: the square of a small integer type would wrap around."""
    kind = getattr(column.dtype, "kind", "O")
    if kind == "f" or column.dtype == np.uint64:
        return column.astype(np.float64)
    return column.astype(np.int64) if kind in "iu" else column


def compute_terms(learnt: Learnt, rows: Any) -> np.ndarray:
    """Values of terms in every row of a frame (rows, K), by what they learnt before."""
    return _finite(_matrix(learnt.formula, learnt.spec, rows, learnt.state))


def _finite(matrix: Any) -> np.ndarray:
    values = np.asarray(matrix, np.float64)
    if not np.isfinite(values).all():
        raise InputError("the formula's terms must be finite in every record, found infinite or missing values")
    return values


def _learns(formula: Formula) -> bool:
    """Whether a term learns more than levels, which are those of the distinct rows."""
    expressions = list(formula.factors.values())
    for expression in expressions:
        expressions += parts_of(expression)
    return any(isinstance(e, Call) and e.function not in ELEMENTWISE and e.function != "C" for e in expressions)


def _coded(formula: Formula) -> Any:
    """The terms for formulaic, which codes categories and multiplies: it looks factors up and reads no text."""
    from formulaic import SimpleFormula
    from formulaic.parser.types import Factor
    from formulaic.parser.types import Term as Product

    one = Factor("1", eval_method="literal")
    terms = ([Factor(name, eval_method="lookup") for name in term] or [one] for term in formula.terms)
    return SimpleFormula([Product(factors) for factors in terms], _ordering="none")


def _matrix(formula: Formula, terms: Any, rows: Any, state: State) -> Any:
    from formulaic import errors

    values = {name: factor_values(factor, rows, state) for name, factor in formula.factors.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", errors.DataMismatchWarning)
            return terms.get_model_matrix(rows[[]], context=values, output="pandas", na_action="ignore")
    except errors.DataMismatchWarning:
        raise InputError("a categorical term must list every level that occurs, found levels it leaves out") from None
    except errors.FormulaicError as error:
        reason = str(error).split("\n")[0].split(" [")[0].rstrip(".")  # what follows may quote a value
        raise InputError(f"the formula's terms cannot be computed: {reason}") from None


def _check_own_row(learnt: Learnt, rows: Any, values: np.ndarray) -> None:
    """Compute the first rows again, apart and in reverse: a term that reads other rows comes out differently."""
    part = np.arange(min(ROWS_COMPARED, (len(rows) + 1) // 2))[::-1]
    again = compute_terms(learnt, rows.iloc[part].reset_index(drop=True))
    if again.shape[1:] != values.shape[1:] or not np.allclose(again, values[part], rtol=1e-9, atol=1e-12):
        raise InputError("each term of the formula must read its own record only, found one that reads other records")


def check_rank(learnt: Learnt, values: np.ndarray) -> None:
    """Refuse terms that are the same in every record or combinations of others; raise `InputError`."""
    from scipy.linalg import qr

    names = learnt.column_names
    for name, column in zip(names, values.T, strict=True):
        if name != "Intercept" and np.ptp(column) == 0:
            raise InputError(f"covariate {name!r} must vary, found the same value in every record")
    scaled = values / np.abs(values).max(axis=0)  # first, so that no square over- or underflows
    scaled /= np.linalg.norm(scaled, axis=0)
    _, triangle, order = qr(scaled, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    dependent = [names[i] for i in order[len(pivots) :]] + [names[order[i]] for i in np.flatnonzero(pivots < COLLINEAR)]
    if dependent:
        terms = dict.fromkeys(re.sub(r"\[[^]]*\]", "", name) for name in dependent)  # without the levels
        listed = ", ".join(repr(name) for name in terms)
        raise InputError(f"covariates must not be collinear, found {listed} to be combinations of the others")


def require_declared(formula: Formula, columns: Mapping[str, Any], levels: Collection[str] = ()) -> None:
    """Refuse terms that learn anything from the table: each must be a function of its own record and of constants.

    Allowed are numeric columns, arithmetic, elementwise functions, and, with their constants written out,
    `C(x, levels=[...])`, `scale(x, center=2.0, scale=3.0)`, `poly(x, 2, raw=True)` and splines with `knots`,
    `lower_bound` and `upper_bound`. Columns named in `levels` have theirs declared elsewhere.
    """
    for name, factor in formula.factors.items():
        if isinstance(factor, Column) and (factor.name in levels or _is_numeric(columns[factor.name])):
            continue
        column = _without_levels(factor)
        if column is not None:
            raise InputError(
                f"a strict mechanism must not learn category levels from the table: write C({column}, levels=[...]), "
                f"found {name!r}"
            )
        if not _is_declared(factor, columns):
            raise InputError(
                "a strict mechanism must learn nothing from the table: terms must be elementwise or state their "
                f"constants, found {name!r}"
            )


def _without_levels(factor: Expression) -> str | None:
    """The column of a category whose levels are left to be learnt."""
    if isinstance(factor, Column):
        return factor.name
    alone = isinstance(factor, Call) and factor.function == "C" and "levels" not in dict(factor.options)
    inside = factor.inputs[0] if alone and isinstance(factor, Call) else None
    return inside.name if isinstance(inside, Column) else None


def _is_numeric(column: Any) -> bool:
    return getattr(getattr(column, "dtype", None), "kind", "O") in "iufb"


def _is_declared(expression: Expression, columns: Mapping[str, Any]) -> bool:
    """Whether an expression is a function of its own record and of constants."""
    if isinstance(expression, Constant):
        return True
    if isinstance(expression, Column):
        return _is_numeric(columns.get(expression.name))
    options = dict(expression.options) if isinstance(expression, Call) else {}
    if isinstance(expression, Call) and expression.function == "C":
        return isinstance(expression.inputs[0], Column) and "levels" in options
    if not all(_is_declared(part, columns) for part in parts_of(expression)):
        return False
    return not isinstance(expression, Call) or _states_constants(expression.function, options)


def _states_constants(function: str, options: Mapping[str, Any]) -> bool:
    """Whether nothing is left for a function to learn."""
    if function in ELEMENTWISE:
        return True
    if function == "scale":
        given = [options.get(option) for option in ("center", "scale")]
        return all(value is False or type(value) is float for value in given)
    if function == "poly":
        return options.get("raw") is True
    if function not in SPLINES or "constraints" in options or "df" in options:
        return False
    return "knots" in options and all(is_number(options.get(bound)) for bound in ("lower_bound", "upper_bound"))
