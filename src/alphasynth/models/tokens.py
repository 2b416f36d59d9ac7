"""The pieces of a formula's text, from left to right.

Formulas come from files and from the command line: reading them runs nothing, comes to an end, and takes no more memory
and stack than is meant for it, whatever is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from alphasynth.errors import InputError

MOST_CHARACTERS = 1_000_000
# Parentheses within each other, and operations in one term: far below what the stack holds.
MOST_NESTED, MOST_OPERATIONS = 30, 100
MOST_PRODUCTS = 1_000_000  # of terms with terms, in all
SURROGATES = 0xD800, 0xDFFF  # halves of characters, which cannot be written anywhere
ESCAPE = r"\\(?:[\\'\"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
TOKEN = re.compile(
    rf"""(?P<space>\s+)
    | (?P<quoted>`[^`]+`)
    | (?P<text>'(?:[^'\\\n]|{ESCAPE})*' | "(?:[^"\\\n]|{ESCAPE})*")
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<word>[\w.]*[^\W\d][\w.]*)
    | (?P<sign>\*\*|//|[<>=!]=|[-+*/%:^~()\[\],=<>])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A piece of a formula and where it stands; a word or what is in backticks is the name of a column."""

    kind: str
    text: str
    start: int = -1
    end: int = -1

    @property
    def name(self) -> str:
        """Without the backticks."""
        return self.text.strip("`")

    def is_sign(self, *signs: str) -> bool:
        """Whether it is one of these signs."""
        return self.kind == "sign" and self.text in signs


END = Token("end", "the end")


def tokens_of(text: str) -> list[Token]:
    """The pieces of a formula without the spaces; raise `InputError` at what is none.

    >>> [token.text for token in tokens_of("y ~ `my age` + 2")]
    ['y', '~', '`my age`', '+', '2']
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"a formula must have at most {MOST_CHARACTERS:,} characters, found {len(text):,}")
    if any(SURROGATES[0] <= ord(character) <= SURROGATES[1] for character in set(text)):
        raise InputError("text must be of characters that exist")
    found, place = list[Token](), 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise InputError(f"unexpected {text[place]!r}")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], *match.span()))
        place = match.end()
    return found


class Reading:
    """A place among tokens, and how much was nested and computed so far."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = self._depth = self._operations = self._products = 0

    def ahead(self, steps: int = 0) -> Token:
        """A token that is still to come."""
        place = self._place + steps
        return self._tokens[place] if place < len(self._tokens) else END

    def pop(self) -> Token:
        """The next token, which is then behind."""
        self._place += 1
        return self._tokens[self._place - 1]

    def take(self, *signs: str) -> str:
        """The next token if it is one of these signs, which is then behind; else nothing."""
        return self.pop().text if self.ahead().is_sign(*signs) else ""

    def need(self, sign: str) -> None:
        """Take a sign that must come; raise `InputError`."""
        if not self.take(sign):
            raise InputError(f"expected {sign!r} before {self.shown()}")

    def opens_call(self) -> bool:
        """Whether a word with a parenthesis right behind it comes next."""
        word, beside = self.ahead(), self.ahead(1)
        return word.kind == "word" and beside.is_sign("(") and beside.start == word.end

    def shown(self) -> str:
        """The next token, for a message."""
        token = self.ahead()
        return token.text if token is END else repr(token.text[:40])

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Within parentheses."""
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise InputError(f"at most {MOST_NESTED} parentheses may be within each other")
        yield
        self._depth -= 1

    def begin_term(self) -> None:
        """Count operations from here."""
        self._operations = 0

    def count_operation(self) -> None:
        """One more operation of this term."""
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise InputError(f"a term may have at most {MOST_OPERATIONS} operations")

    def count_products(self, more: int) -> None:
        """More terms made of two."""
        self._products += more
        if self._products > MOST_PRODUCTS:
            raise InputError(f"the terms must be made by at most {MOST_PRODUCTS:,} products, found more")
