"""What a synthesizer was asked, by name, as scikit-learn's estimators tell it: `get_params`, `set_params`, `repr`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_type_hints

from alphasynth.catalogue import OF_COLUMNS, MechanismOptions
from alphasynth.errors import InputError, found

T = TypeVar("T")
LONGEST = 60  # characters of a value; of a longer one its kind is told


def spelled_out(signature: inspect.Signature, options: Sequence[str]) -> inspect.Signature:
    """A signature with options of mechanisms one by one, as completion and `help` show them."""
    own = [p for p in signature.parameters.values() if p.name != "self" and p.kind is not p.VAR_KEYWORD]
    kinds = get_type_hints(MechanismOptions)
    more = [inspect.Parameter(o, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kinds[o]) for o in options]
    return signature.replace(parameters=[*own, *more])


def as_given(signature: inspect.Signature, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter and what it was given, from the local names that `__init__` begins with."""
    flat = {**asked, **asked["options"]}
    return {name: flat.get(name) for name in signature.parameters}


def asked_again(synthesizer: T, given: Mapping[str, Any], changed: Mapping[str, Any]) -> T:
    """Another synthesizer of the same kind, asked the same but for what is changed; raise `InputError`."""
    strange = [name for name in changed if name not in given]
    if strange:
        kind = type(synthesizer).__name__
        raise InputError(f"a parameter must be one of {kind}'s, which get_params() lists, found {found(strange[0])}")
    mechanism = changed.get("mechanism")
    if isinstance(mechanism, str) and mechanism in OF_COLUMNS:
        raise InputError(f"mechanism must not become one of whole tables: make a new Synthesizer, found {mechanism!r}")
    return type(synthesizer)(**{**given, **changed})


def in_words(name: str, signature: inspect.Signature, given: Mapping[str, Any]) -> str:
    """The call that asks for the same, without what is as it is unless told; weights and tables by their kind alone."""
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    told = [key for key, value in given.items() if value is not defaults[key] and not _same(value, defaults[key])]
    first, *_ = given
    said = [_brief(given[key]) if key == first else f"{key}={_brief(given[key])}" for key in told]
    return f"{name}({', '.join(said)})"


def _same(value: Any, default: Any) -> bool:
    """Whether a plain value is the default; what holds many values is not."""
    return isinstance(value, bool | int | float | str | tuple) and type(value) is type(default) and value == default


def _brief(value: Any) -> str:
    """A value of a setting as it is written; of what is long, or may hold records, the kind."""
    plain = isinstance(value, bool | int | float | str | list | tuple | dict)
    return repr(value) if plain and len(repr(value)) <= LONGEST else f"<{type(value).__name__}>"
