"""What may stand in a term of a formula: columns, constants, operators, and the functions listed here; no others.

An expression is a value like any other: nothing of it is Python's, and nothing runs but what `terms.py` has for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from alphasynth.errors import InputError


@dataclass(frozen=True)
class Constant:
    """A number, or text to compare with."""

    value: float | str


@dataclass(frozen=True)
class Column:
    """A column's values."""

    name: str


@dataclass(frozen=True)
class Operation:
    """Arithmetic or a comparison of two expressions; a sign before one has 0 on its left."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call:
    """A function of expressions; the options are constants."""

    function: str
    inputs: tuple[Expression, ...]
    options: tuple[tuple[str, Any], ...] = ()


Expression = Constant | Column | Operation | Call

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
# Functions of each value by itself, by how many inputs they take; those of NumPy are written np.log(x).
ONE_INPUT = (
    *("log", "log1p", "log2", "log10", "exp", "expm1", "exp2", "sqrt", "cbrt", "square", "reciprocal"),
    *("abs", "sign", "floor", "ceil", "rint", "trunc", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
)
SHORT = ("log", "log2", "log10", "exp", "exp2", "exp10")  # may also stand without np.
ELEMENTWISE: Mapping[str, int] = {
    "I": 1,
    **dict.fromkeys(SHORT, 1),
    **{f"np.{name}": 1 for name in ONE_INPUT},
    **dict.fromkeys(("np.minimum", "np.maximum", "np.power", "np.hypot"), 2),
    **dict.fromkeys(("np.clip", "np.where"), 3),
}
# Functions that make several columns, and are a term by themselves.
SPLINES = ("bs", "cr", "cs", "cc")
WIDE = ("C", "poly", *SPLINES)
MOST_COLUMNS = 100  # that a polynomial or a spline makes


@dataclass(frozen=True)
class Kind:
    """What an option may be, in words and as a check."""

    words: str
    accepts: Callable[[Any], bool]


def is_number(value: object) -> bool:
    """Whether a constant is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_COLUMNS


def _listed(value: object, check: Callable[[Any], bool]) -> bool:
    return isinstance(value, tuple) and all(check(item) for item in value)


FLAG = Kind("True or False", lambda value: isinstance(value, bool))
WHOLE = Kind(f"a whole number from 0 to {MOST_COLUMNS}", _is_whole)
DEGREE = Kind(f"a whole number from 1 to {MOST_COLUMNS}", lambda value: _is_whole(value) and value > 0)
NUMBER = Kind("a number", is_number)
CONSTANT = Kind("a number, True or False", lambda value: isinstance(value, bool) or is_number(value))
NUMBERS = Kind(f"a list of at most {MOST_COLUMNS} numbers", lambda v: _listed(v, is_number) and len(v) <= MOST_COLUMNS)
LEVELS = Kind("a list of text or of numbers", lambda value: isinstance(value, tuple) and value != ())
BEYOND = ("raise", "clip", "na", "zero", "extend")
EXTRAPOLATION = Kind(f"one of {', '.join(map(repr, BEYOND))}", lambda value: value in BEYOND)
CENTRED = Kind("'center'", lambda value: value == "center")

_BOUNDS = {"lower_bound": NUMBER, "upper_bound": NUMBER}
_CUBIC = {"df": WHOLE, "knots": NUMBERS, **_BOUNDS, "constraints": CENTRED, "extrapolation": EXTRAPOLATION}
# Options by function, in the order in which they may stand without their names; the levels of C have theirs always.
OPTIONS: Mapping[str, Mapping[str, Kind]] = {
    "center": {},
    "scale": {"center": CONSTANT, "scale": CONSTANT, "ddof": WHOLE},
    "standardize": {"center": CONSTANT, "rescale": CONSTANT, "ddof": WHOLE},
    "C": {"levels": LEVELS},
    "poly": {"degree": DEGREE, "raw": FLAG},
    "bs": {
        "df": WHOLE,
        "knots": NUMBERS,
        "degree": WHOLE,
        "include_intercept": FLAG,
        **_BOUNDS,
        "extrapolation": EXTRAPOLATION,
    },
    **dict.fromkeys(("cr", "cs", "cc"), _CUBIC),
}
FUNCTIONS = (*ELEMENTWISE, *OPTIONS)


def operation(sign: str, left: Expression, right: Expression) -> Operation:
    """An operation on numbers, or a comparison of a column with text; raise `InputError` for other uses of text."""
    kinds = {type(left), type(right)}
    if (is_text(left) or is_text(right)) and not (kinds == {Column, Constant} and sign in ("==", "!=")):
        raise InputError("text must be compared with a column, by == or !=, found another use")
    _refuse_wide(sign, (left, right))
    return Operation(sign, left, right)


def _refuse_wide(within: str, parts: tuple[Expression, ...]) -> None:
    if any(isinstance(part, Call) and part.function in WIDE for part in parts):
        raise InputError(f"C, poly and splines must be terms by themselves, found one inside {within}")


def is_text(expression: Expression) -> bool:
    """Whether it is a text."""
    return isinstance(expression, Constant) and isinstance(expression.value, str)


def call(function: str, inputs: tuple[Expression, ...], options: Mapping[str, Any]) -> Call:
    """A call of a listed function with inputs and options that it takes; raise `InputError` for any other."""
    takes = ELEMENTWISE.get(function, 1)
    if len(inputs) != takes:
        raise InputError(f"{function} must have {takes} input{'s'[: takes > 1]}, found {len(inputs)}")
    if any(is_text(each) for each in inputs):
        raise InputError(f"inputs of {function} must be numbers or columns, found text")
    _refuse_wide(function, inputs)
    known = OPTIONS.get(function, {})
    for name, value in options.items():
        if name not in known:
            takes_words = ", ".join(known) or "none"
            raise InputError(f"options of {function} must be of these: {takes_words}; found {name!r}")
        if not known[name].accepts(value):
            raise InputError(f"{name} of {function} must be {known[name].words}, found another")
    return Call(function, inputs, tuple((name, options[name]) for name in known if name in options))


def number(text: str) -> float:
    """A number as it is written, whole where it is; raise `InputError` where it has no end."""
    value = float(text)
    if not math.isfinite(value):
        raise InputError("numbers must be finite, found a larger one")
    return int(text) if text.isdigit() else value


def columns_of(expression: Expression) -> Iterator[str]:
    """Names of the columns that an expression reads."""
    if isinstance(expression, Column):
        yield expression.name
    for part in parts_of(expression):
        yield from columns_of(part)


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that one is made of."""
    if isinstance(expression, Operation):
        return expression.left, expression.right
    return expression.inputs if isinstance(expression, Call) else ()


def written(expression: Expression) -> str:
    """An expression as it could stand in a formula, the same for all ways to write it.

    >>> written(Call("I", (Operation("**", Column("my age"), Constant(2)),)))
    'I(`my age` ** 2)'
    """
    if isinstance(expression, Constant):
        return repr(expression.value)
    if isinstance(expression, Column):
        return expression.name if re.fullmatch(r"[^\W\d]\w*", expression.name) else f"`{expression.name}`"
    if isinstance(expression, Operation):
        sides = [f"({written(p)})" if isinstance(p, Operation) else written(p) for p in parts_of(expression)]
        if expression.sign == "-" and expression.left == Constant(0):
            return f"-{sides[1]}"
        return f"{sides[0]} {expression.sign} {sides[1]}"
    options = [f"{name}={_constant(value)}" for name, value in expression.options]
    return f"{expression.function}({', '.join([*map(written, expression.inputs), *options])})"


def _constant(value: object) -> str:
    return f"[{', '.join(map(repr, value))}]" if isinstance(value, tuple) else repr(value)


def label(factor: Expression) -> str:
    """What a factor is called in a design: a column by its name, quoted where that could be something else's."""
    if isinstance(factor, Column):
        clear = re.fullmatch(r"[^:(\[]*[^\W\d][^:(\[]*", factor.name) and factor.name != "Intercept"
        return factor.name if clear else f"`{factor.name}`"
    return written(factor)
