"""Values of expressions: each node of one has its own function here, and no other code runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.models.expressions import (
    SHORT,
    Call,
    Column,
    Constant,
    Expression,
    Operation,
    columns_of,
    is_text,
    parts_of,
    written,
)

OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMPY: tuple[Any, ...] = (
    *(np.log, np.log1p, np.log2, np.log10, np.exp, np.expm1, np.exp2, np.sqrt, np.cbrt, np.square, np.reciprocal),
    *(np.sign, np.floor, np.ceil, np.rint, np.trunc, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan),
    *(np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.minimum, np.maximum, np.power, np.hypot),
    *(np.clip, np.where),
)
ELEMENTWISE_VALUES: dict[str, Callable[..., Any]] = {
    "I": lambda x: x,
    **{f"np.{function.__name__}": function for function in _NUMPY},
    "np.abs": np.absolute,
    **{function.__name__: function for function in _NUMPY if function.__name__ in SHORT},
    "exp10": lambda x: 10.0**x,
}
State = dict[str, dict[str, Any]]  # what each call learnt, by the call as it is written


def factor_values(factor: Expression, rows: Any, state: State) -> Any:
    """Values of a factor in every row of a frame: a column as it is, else numbers, categories or several columns.

    `state` is filled with what calls learn, and used where they have learnt already. Raises `InputError`.
    """
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused afterwards
            return _wide(factor, rows, state)
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError):  # their messages may quote a value
        raise InputError(f"term {written(factor)[:80]!r} of the formula cannot be computed from its columns") from None


def _wide(factor: Expression, rows: Any, state: State) -> Any:
    if isinstance(factor, Column):
        return rows[factor.name]
    if isinstance(factor, Call) and factor.function == "C":
        from formulaic.transforms import C

        of = factor.inputs[0]
        values = rows[of.name] if isinstance(of, Column) else _values(of, rows, state)
        levels = dict(factor.options).get("levels")
        return C(values, levels=None if levels is None else list(levels))
    return _values(factor, rows, state)


def _values(expression: Expression, rows: Any, state: State) -> Any:
    """Values in float64, or true and false."""
    if isinstance(expression, Constant):
        return np.float64(expression.value)
    if isinstance(expression, Column):
        return _numbers(expression.name, rows)
    if isinstance(expression, Operation):
        return _computed(expression, rows, state)
    inputs = [1.0 * _values(part, rows, state) for part in expression.inputs]  # of true and false, numbers
    if expression.function in ELEMENTWISE_VALUES:
        return ELEMENTWISE_VALUES[expression.function](*inputs)
    return _learning(expression, inputs[0], state)


def _computed(operation: Operation, rows: Any, state: State) -> Any:
    sides = parts_of(operation)
    if any(is_text(side) for side in sides):
        left, right = (_texts(side, rows) for side in sides)
    else:
        left, right = (1.0 * _values(side, rows, state) for side in sides)
    return OPERATIONS[operation.sign](left, right)


def _texts(side: Expression, rows: Any) -> Any:
    """A column of text as it is, or the text that it is compared with."""
    if isinstance(side, Column):
        return np.asarray(rows[side.name], object)
    return side.value if isinstance(side, Constant) else None


def _numbers(name: str, rows: Any) -> np.ndarray:
    values = np.asarray(rows[name])
    if values.dtype.kind not in "iufb":
        raise InputError(f"column {name!r} must hold numbers to be computed with in a formula, found others")
    return values.astype(np.float64)


def _learning(expression: Call, values: Any, state: State) -> Any:
    """A function of formulaic's that may learn: what it learns goes into the state, and is used from there."""
    from formulaic import transforms

    functions = {
        "center": transforms.center,
        "scale": transforms.scale,
        "standardize": transforms.TRANSFORMS["standardize"],
        "poly": transforms.poly,
        "bs": transforms.basis_spline,
        "cr": transforms.natural_cubic_spline,
        "cs": transforms.natural_cubic_spline,
        "cc": transforms.cyclic_cubic_spline,
    }
    options = {name: list(v) if isinstance(v, tuple) else v for name, v in expression.options}
    learnt = state.setdefault(written(expression), {})
    return functions[expression.function](values, **options, _state=learnt)


def only_coded(factors: Iterable[Expression]) -> frozenset[str]:
    """Columns that stand in `C(column)` with levels to be learnt, and nowhere else.

    >>> only_coded([Call("C", (Column("region"),)), Call("C", (Column("age"),)), Column("age")])
    frozenset({'region'})
    """
    coded, other = set[str](), set[str]()
    for factor in factors:
        call = isinstance(factor, Call) and factor.function == "C" and not factor.options
        alone = call and isinstance(next(iter(parts_of(factor))), Column)
        (coded if alone else other).update(columns_of(factor))
    return frozenset(coded - other)
