"""The one reader of formulas, `response ~ terms`: terms are sets of factors, which `a * b` and its like combine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from alphasynth.errors import InputError
from alphasynth.models.expression_text import read_factor
from alphasynth.models.expressions import Expression, columns_of, label
from alphasynth.models.tokens import END, Reading, Token, tokens_of

MOST_TERMS, MOST_POWER = 10_000, 10
Term = tuple[str, ...]  # names of factors
Terms = dict[frozenset[str], Term]  # by their factors in any order; the intercept has none
INTERCEPT: Terms = {frozenset(): ()}
Factors = dict[str, Expression]


@dataclass(frozen=True)
class Parsed:
    """A formula's response; its terms as names of factors, and what each is; where the right-hand side begins."""

    response: str
    terms: tuple[Term, ...]
    factors: Factors
    begins: int

    @property
    def covariates(self) -> tuple[str, ...]:
        """The columns that the terms read."""
        return tuple(sorted({name for factor in self.factors.values() for name in columns_of(factor)}))


def read_formula(text: str) -> Parsed | None:
    """Read a formula; None where it is not one column, `~`, and terms; raise `InputError` for what is no term."""
    tokens = tokens_of(text)
    signs = [place for place, token in enumerate(tokens) if token.is_sign("~")]
    if signs != [1] or len(tokens) == 2 or tokens[0].kind not in ("word", "quoted"):
        return None
    reading, factors = Reading(tokens[2:]), Factors()
    terms = _sum(reading, factors, INTERCEPT)
    if reading.ahead() is not END:
        raise InputError(f"unexpected {reading.shown()}")
    ordered = tuple(sorted(terms.values(), key=len))  # stable: terms of one degree stay as they were written
    used = {name: factors[name] for term in ordered for name in term}
    for name, factor in used.items():
        if not any(columns_of(factor)):
            raise InputError(f"terms must read columns, found {name[:80]!r}")
    return Parsed(tokens[0].name, ordered, used, tokens[1].end)


def response_in(formula: object) -> str | None:
    """The column that a formula is of, as far as it can be read; None where there is none.

    >>> response_in("`odd name` ~ age +"), response_in(3)
    ('odd name', None)
    """
    if not isinstance(formula, str):
        return None
    try:
        tokens = tokens_of(formula)
    except InputError:
        return formula.partition("~")[0].strip().strip("`") or None
    return tokens[0].name if tokens and tokens[0].kind in ("word", "quoted") else None


def bare_categories(text: str) -> list[tuple[Token, int]]:
    """Where `C(column)` stands without options: the column's token, and the place of the parenthesis after it."""
    tokens = [*tokens_of(text), END, END, END]
    return [
        (name, close.start)
        for word, opened, name, close in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
        if word[:2] == ("word", "C") and opened.is_sign("(") and opened.start == word.end
        if name.kind in ("word", "quoted") and close.is_sign(")")
    ]


def _sum(reading: Reading, factors: Factors, terms: Terms) -> Terms:
    found, sign = dict(terms), reading.take("+", "-") or "+"
    while sign:
        if reading.ahead()[:2] == ("number", "0"):  # 0 takes the intercept away
            reading.pop()
            part, sign = INTERCEPT, "-" if sign == "+" else "+"
        else:
            part = _product(reading, factors)
        if sign == "+":
            found |= {key: term for key, term in part.items() if key not in found}
        else:
            found = {key: term for key, term in found.items() if key not in part}
        sign = reading.take("+", "-")
    return _unique(found.values())


def _product(reading: Reading, factors: Factors) -> Terms:
    terms = _interaction(reading, factors)
    while sign := reading.take("*", "/"):
        right = _interaction(reading, factors)
        if sign == "*":
            terms = _unique([*terms.values(), *right.values(), *_crossed(reading, terms, right).values()])
        else:
            terms = _unique([*terms.values(), *_crossed(reading, _all_of(terms), right).values()])
    return terms


def _interaction(reading: Reading, factors: Factors) -> Terms:
    terms = _power(reading, factors)
    while reading.take(":"):
        terms = _crossed(reading, terms, _power(reading, factors))
    return terms


def _power(reading: Reading, factors: Factors) -> Terms:
    terms = _part(reading, factors)
    if not reading.take("**", "^"):
        return terms
    times = reading.pop().text if reading.ahead().kind == "number" else ""
    if times not in [str(power) for power in range(1, MOST_POWER + 1)]:
        raise InputError(f"a power of terms must be a whole number from 1 to {MOST_POWER}")
    raised = terms
    for _ in range(int(times) - 1):
        raised = _crossed(reading, raised, terms)
    return raised


def _part(reading: Reading, factors: Factors) -> Terms:
    if reading.take("("):
        with reading.nested():
            terms = _sum(reading, factors, {})
        reading.need(")")
        return terms
    if reading.ahead().kind == "number":
        if reading.pop().text != "1":
            raise InputError("numbers among the terms must be 0, 1 or a power; others go into I(...)")
        return INTERCEPT
    factor = read_factor(reading)
    name = label(factor)
    factors[name] = factor
    return {frozenset((name,)): (name,)}


def _crossed(reading: Reading, left: Terms, right: Terms) -> Terms:
    """Every term of one with every term of the other; a factor that is in both counts once."""
    reading.count_products(len(left) * len(right))
    return _unique(tuple(dict.fromkeys((*a, *b))) for a in left.values() for b in right.values())


def _all_of(terms: Terms) -> Terms:
    """The product of all terms, within which `a / b` nests."""
    return _unique([tuple(dict.fromkeys(name for term in terms.values() for name in term))])


def _unique(terms: Iterable[Term]) -> Terms:
    """Terms that differ, in the order in which they come first; raise `InputError` where they are too many."""
    found: Terms = {}
    for term in terms:
        found.setdefault(frozenset(term), term)
        if len(found) > MOST_TERMS:
            raise InputError(f"the terms must be at most {MOST_TERMS:,}, found more")
    return found
