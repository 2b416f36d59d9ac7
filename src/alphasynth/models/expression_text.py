"""Expressions read from a formula's tokens: Python's precedence, the listed functions, and nothing else of Python."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from typing import Any

from alphasynth.errors import InputError
from alphasynth.models.expressions import (
    COMPARISONS,
    FUNCTIONS,
    OPTIONS,
    Column,
    Constant,
    Expression,
    call,
    number,
    operation,
)
from alphasynth.models.tokens import ESCAPE, SURROGATES, Reading

ESCAPED = {**{sign: sign for sign in "\\'\""}, **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))}


def read_factor(reading: Reading) -> Expression:
    """A column or a call, which is what the terms of a model are made of."""
    reading.begin_term()
    return _call(reading) if reading.opens_call() else _column(reading)


def _column(reading: Reading) -> Expression:
    if reading.ahead().kind not in ("word", "quoted"):
        raise InputError(f"expected a column before {reading.shown()}")
    return Column(reading.pop().name)


def _call(reading: Reading) -> Expression:
    function = reading.pop().text
    if function not in FUNCTIONS:
        near = ", ".join(get_close_matches(function[:40], FUNCTIONS))
        hint = f"; those nearest to it are {near}" if near else ""
        raise InputError(f"{function[:40]!r} is none of the functions that a formula may use (see the guide){hint}")
    reading.need("(")
    with reading.nested():
        inputs, options = [_comparison(reading)], dict[str, Any]()
        while reading.take(","):
            if function in OPTIONS:
                _option(reading, function, options)
            else:
                inputs.append(_comparison(reading))
    reading.need(")")
    return call(function, tuple(inputs), options)


def _option(reading: Reading, function: str, options: dict[str, Any]) -> None:
    """One more constant, with its name or, in their order, without."""
    if reading.ahead().kind == "word" and reading.ahead(1).is_sign("="):
        name = reading.pop().text
        reading.pop()
    else:
        order = [] if function == "C" else list(OPTIONS[function])[len(options) :]
        name = order[0] if order else ""
    if not name or name in options:
        raise InputError(f"options of {function} must be named, once each")
    options[name] = _constants(reading)


def _constants(reading: Reading) -> Any:
    """One constant, or a list of them."""
    close = {"[": "]", "(": ")"}.get(reading.take("[", "("))
    if close is None:
        return _constant(reading)
    found = list[Any]()
    while not reading.take(close):
        found.append(_constant(reading))
        if not reading.take(","):
            reading.need(close)
            break
    return tuple(found)


def _constant(reading: Reading) -> Any:
    sign, kind = reading.take("-", "+"), reading.ahead().kind
    if kind == "number":
        value = number(reading.pop().text)
        return -value if sign == "-" else value
    if not sign and kind == "text":
        return _text(reading.pop().text)
    if not sign and kind == "word" and reading.ahead().text in ("True", "False"):
        return reading.pop().text == "True"
    raise InputError(f"expected a number or text before {reading.shown()}, since options are constants")


def _comparison(reading: Reading) -> Expression:
    left = _sum(reading)
    sign = reading.take(*COMPARISONS)
    return _operation(reading, sign, left, _sum(reading)) if sign else left


def _sum(reading: Reading) -> Expression:
    left = _product(reading)
    while sign := reading.take("+", "-"):
        left = _operation(reading, sign, left, _product(reading))
    return left


def _product(reading: Reading) -> Expression:
    left = _signed(reading)
    while sign := reading.take("*", "/", "//", "%"):
        left = _operation(reading, sign, left, _signed(reading))
    return left


def _signed(reading: Reading) -> Expression:
    minus = False
    while sign := reading.take("+", "-"):
        minus ^= sign == "-"
    power = _power(reading)
    return _operation(reading, "-", Constant(0), power) if minus else power


def _power(reading: Reading) -> Expression:
    base = _part(reading)
    if not reading.take("**"):
        return base
    with reading.nested():  # 2 ** 3 ** 4 begins at the right
        return _operation(reading, "**", base, _signed(reading))


def _part(reading: Reading) -> Expression:
    if reading.take("("):
        with reading.nested():
            inside = _comparison(reading)
        reading.need(")")
        return inside
    if reading.ahead().kind == "number":
        return Constant(number(reading.pop().text))
    if reading.ahead().kind == "text":
        return Constant(_text(reading.pop().text))
    return _call(reading) if reading.opens_call() else _column(reading)


def _operation(reading: Reading, sign: str, left: Expression, right: Expression) -> Expression:
    reading.count_operation()
    return operation(sign, left, right)


def _text(token: str) -> str:
    """Text without its quotes and with its escapes resolved."""
    return re.sub(ESCAPE, _unescaped, token[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    code = found[0][1:]
    if code in ESCAPED:
        return ESCAPED[code]
    number = int(code[1:], 16)
    if number > sys.maxunicode or SURROGATES[0] <= number <= SURROGATES[1]:
        raise InputError("text must be of characters that exist")
    return chr(number)
