"""Mechanisms and rules by name, with their options; for the front and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from alphasynth.catalogue import OF_COLUMNS, OPTIONS, PARTS, options_of
from alphasynth.errors import InputError, found
from alphasynth.inference.contribution import STRICT, Strict
from alphasynth.mechanisms.mechanism import Mechanism
from alphasynth.mechanisms.rule import Rule
from alphasynth.mechanisms.rules import BW, CW, LW, SW, Given, Reweight
from alphasynth.mechanisms.scored import Scored
from alphasynth.privacy.accounting import bound_of

NAMES = tuple(name for name in PARTS if name not in OF_COLUMNS)
RULES: dict[str, type[Rule]] = {"LW": LW, "CW": CW, "SW": SW, "BW": BW, "Given": Given, "Reweight": Reweight}
CONTRIBUTIONS: dict[str, type[Strict] | type[Scored]] = {**STRICT, "Scored": Scored}
HINTS = {
    "radius": "; a twentieth of the distance between a column's public limits is a start",
    "given": "; on the command line say --given FILE, a file with a column alpha",
}
MATCHED, EPSILON = ("LW", "CW"), "epsilon="


def named_rule(name: str, **options: Any) -> Rule:
    """A rule by name, with its options; raise `InputError` for those it does not have.

    >>> named_rule("Reweight", k=0.95)
    Reweight(k=0.95, keep_zeros=False)
    """
    if name not in RULES:
        raise InputError(f"rule must be one of {', '.join(RULES)}, found {found(name)}")
    _check_options(f"rule {name!r}", options_of(name), options)
    return _rule(name, options)


def named_mechanism(name: str, **options: Any) -> Mechanism:
    """A mechanism by name, with its options; raise `InputError` for those it does not have.

    >>> [type(rule).__name__ for rule in named_mechanism("CW_final", radius=0.3, relative=True).rules]
    ['CW', 'Reweight']
    """
    if name not in NAMES:
        raise InputError(f"mechanism must be one of {', '.join(NAMES)}, found {found(name)}")
    parts = [part for part in PARTS[name] if part in RULES or part in CONTRIBUTIONS]
    _check_options(f"mechanism {name!r}", options_of(*parts), options)
    own = {part: {option: options[option] for option in options_of(part) if option in options} for part in parts}
    contribution = next((CONTRIBUTIONS[part](**own[part]) for part in parts if part in CONTRIBUTIONS), None)
    return Mechanism(name, tuple(_rule(part, own[part]) for part in parts if part in RULES), contribution)


def _check_options(what: str, taken: Sequence[str], options: dict[str, Any]) -> None:
    surplus = [option for option in options if option not in taken]
    if surplus:
        raise InputError(f"{what} takes {', '.join(taken) or 'no options'}, found {', '.join(surplus)}")
    for option in taken:
        if OPTIONS[option].needed and option not in options:
            raise InputError(f"{what} needs a {option}, found none{HINTS.get(option, '')}")


def _rule(name: str, options: dict[str, Any]) -> Rule:
    if name == "SW" and options.get("alpha") is not None:
        beside = [option for option in ("match", "by") if options.get(option) is not None]
        if beside:
            raise InputError(f"{beside[0]} must be left out beside alpha, which leaves nothing to match, found both")
    if name == "SW" and isinstance(options.get("match"), str):
        options = {**options, "match": rule_in_words(options["match"])}
    if name == "Given" and "given" in options:
        return Given(options["given"])
    return RULES[name](**options)


def rule_in_words(words: str) -> Rule | float:
    """A rule as a command has it, with its numbers after a colon; or a Delta, or half of an epsilon.

    >>> rule_in_words("CW:radius=0.3,relative=yes"), rule_in_words("5.5"), rule_in_words("epsilon=8")
    (CW(radius=0.3, relative=True, within=(), scale=1.0, shift=0.0, distance=None), 5.5, 4.0)
    """
    name, _, rest = words.partition(":")
    with suppress(ValueError):
        return float(words)
    with suppress(ValueError):
        if words.startswith(EPSILON):
            return bound_of(float(words.removeprefix(EPSILON)))
    if name not in MATCHED:
        raise InputError(
            f"match must be a Delta, {EPSILON}8 of a draw, or {' or '.join(MATCHED)} with numbers, found {found(words)}"
        )
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    try:
        options = {key: _number(key, value) for key, _, value in pairs}
    except ValueError:
        raise InputError(f"match must have numbers, CW:radius=0.3 say, found {found(words)}") from None
    return named_rule(name, **options)


def _number(key: str, value: str) -> float | bool:
    return value in ("yes", "true", "1", "") if key == "relative" else float(value)
