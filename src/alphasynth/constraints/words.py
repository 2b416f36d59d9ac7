"""Constraints in words, `married => age >= 15` or `part <= whole`: cut into tokens, then read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from alphasynth.constraints.comparisons import Comparison, Constraint
from alphasynth.errors import InputError
from alphasynth.tables.declared import FIRST_DAY, Declared

ARROW, HOW, TEXT, NAME, NUMBER, AND, ELSE = "arrow", "how", "text", "name", "number", "and", "else"
# Text and odd names come first: what is within quotes is no operator, and no `and`.
_TOKEN = re.compile(
    rf"\s+|(?P<{TEXT}>'[^']*'|\"[^\"]*\")|(?P<{NAME}>`[^`]+`|[^\W\d][\w.]*)|(?P<{ARROW}>=>)|"
    rf"(?P<{HOW}><=|>=|==|!=|<|>)|(?P<{NUMBER}>-?\.?\d[\d.eE+-]*)|(?P<{ELSE}>.)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A part of a constraint, and which kind of part."""

    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    """The parts of a constraint.

    >>> [token.text for token in tokens("r == 'north and south' => `a => b` < 3")]
    ['r', '==', "'north and south'", '=>', '`a => b`', '<', '3']
    """
    found = [Token(match.lastgroup, match[0]) for match in _TOKEN.finditer(text) if match.lastgroup]
    return [Token(AND, each.text) if each == (NAME, "and") else each for each in found]


def names_in(text: str) -> set[str]:
    """Words of a constraint that may be columns.

    >>> sorted(names_in("`my age` >= 15"))
    ['my age']
    """
    return {token.text.strip("`") for token in tokens(text) if token.kind == NAME}


def parse_constraint(text: str, declared: Mapping[str, Declared]) -> Constraint:
    """A constraint in words; raise `InputError`.

    >>> parse_constraint("age >= 15", {"age": Declared(limits=(0.0, 110.0))}).then
    (Comparison(left='age', how='>=', right=15.0),)
    """
    parts = _parted(tokens(text), ARROW)
    if len(parts) > 2:
        raise _strange(text)
    *given, then = (_all(part, text, declared) for part in parts)
    return Constraint(text, given[0] if given else (), then)


def check_words(text: str, names: Iterable[str]) -> None:
    """Refuse a constraint that cannot be read or names other columns, whatever is declared of these.

    >>> check_words("age >= year", ["age", "year"])
    """
    known = {name: Declared() for name in names}
    for part in _parted(tokens(text), ARROW):
        for each in _parted(part, AND):
            kinds = [token.kind for token in each]
            if kinds != [NAME] and (len(kinds) != 3 or kinds[1] != HOW):
                raise _strange(text)
            for token in each[::2]:
                _side(token, text, known)


def _parted(found: Sequence[Token], kind: str) -> list[list[Token]]:
    """What stands before, between and after all tokens of a kind."""
    parts: list[list[Token]] = [[]]
    for token in found:
        if token.kind == kind:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _all(found: Sequence[Token], text: str, declared: Mapping[str, Declared]) -> tuple[Comparison, ...]:
    return tuple(_comparison(part, text, declared) for part in _parted(found, AND))


def _comparison(found: Sequence[Token], text: str, declared: Mapping[str, Declared]) -> Comparison:
    kinds = [token.kind for token in found]
    if kinds == [NAME]:
        name = _name(found[0].text, text, declared)
        levels = {float(level) for level in declared[name].levels if not isinstance(level, str)}
        if levels != {0.0, 1.0}:
            raise InputError(f"constraint {text!r} must compare {name!r} with something, since it is not true or false")
        return Comparison(name, "==", 1.0)
    if len(found) != 3 or kinds[1] != HOW or not {kinds[0], kinds[2]} <= {NAME, NUMBER, TEXT}:
        raise _strange(text)
    how = found[1].text
    left, right = (_side(side, text, declared) for side in (found[0], found[2]))
    names = [side for side in (left, right) if isinstance(side, str) and not isinstance(side, _Word)]
    if not names:
        raise InputError(f"constraint {text!r} must name a column on one of its sides, found none")
    of_text = any(levels and isinstance(levels[0], str) for levels in (declared[name].levels for name in names))
    quoted = isinstance(left, _Word) or isinstance(right, _Word)
    if of_text and (how not in ("==", "!=") or not quoted):
        raise InputError(f"constraint {text!r} must set text equal to one of its levels or not, found otherwise")
    if quoted and not (of_text or declared[names[0]].dates):
        raise InputError(f"constraint {text!r} must compare numbers with numbers, found text")
    sides = [_number(side, names[0], declared, text) for side in (left, right)]
    return Comparison(sides[0], how, sides[1])


def _strange(text: str) -> InputError:
    return InputError(
        f'constraint {text!r} must read like "married => age >= 15" or "part <= whole" (comparisons with <, <=, >, '
        ">=, ==, !=, joined by `and`), found otherwise"
    )


def _name(word: str, text: str, declared: Mapping[str, Declared]) -> str:
    name = word.strip("`")
    if name not in declared:
        raise InputError(f"constraint {text!r} must name declared columns, found {name!r}")
    return name


class _Word(str):
    """Text in quotes: a level or a date."""

    __slots__ = ()


def _side(token: Token, text: str, declared: Mapping[str, Declared]) -> str | float:
    if token.kind == TEXT:
        return _Word(token.text[1:-1])
    if token.kind == NAME:
        return _name(token.text, text, declared)
    try:
        return float(token.text)
    except ValueError:
        raise _strange(text) from None


def _number(side: str | float, name: str, declared: Mapping[str, Declared], text: str) -> str | float:
    """A side as a column's name or a number: a level's place, a date's day."""
    if not isinstance(side, _Word):
        return side
    facts = declared[name]
    if facts.dates:
        try:
            return float(date.fromisoformat(side).toordinal() - FIRST_DAY)
        except ValueError:
            raise InputError(
                f"constraint {text!r} must have a date such as '2001-12-31', found {str(side)!r}"
            ) from None
    if side not in facts.levels:
        raise InputError(f"constraint {text!r} must name a declared level of {name!r}, found {str(side)!r}")
    return float(facts.levels.index(side))
