"""The reference as Markdown: public names by their signatures and docstrings, commands by their options."""

from __future__ import annotations

import importlib
import inspect
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

# Folders of the package in the order of a reader's need, and what their names are for; others follow by their own name.
TITLES = {
    "synthesizer": "The front",
    "synthesis": "What may leave",
    "privacy": "What is promised",
    "tables": "Tables and what is public of them",
    "datasets": "Tables to try things on",
    "raking": "Whole tables",
    "models": "Models",
    "mechanisms": "Mechanisms and their rules",
    "inference": "Contributions and samplers",
    "likelihoods": "Fits made elsewhere",
    "evaluation": "Utility and risk",
    "audits": "Audits",
    "pages": "Pages",
    "errors": "Errors and warnings",
}
WIDE = 88  # a signature that is longer has a line for each parameter
EMPTY = inspect.Parameter.empty
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def names_page() -> str:
    """Every public name, by the folder that it lives in."""
    package = importlib.import_module("alphasynth")
    homes: dict[str, list[str]] = {}
    for name in package.__all__:
        if not name.startswith("_"):
            homes.setdefault(home_of(getattr(package, name)), []).append(name)
    parts = []
    for home in sorted(homes, key=_place):
        parts.append(f"## {TITLES.get(home, home.capitalize())}")
        parts += [part for name in homes[home] for part in entry(name, getattr(package, name))]
    return "\n\n".join(parts)


def home_of(value: Any) -> str:
    """The folder of the package that a name lives in, or the module of its root."""
    return (value.__name__ if inspect.ismodule(value) else value.__module__).split(".")[1]


def _place(home: str) -> tuple[int, str]:
    """Where a folder's names stand."""
    return (list(TITLES).index(home) if home in TITLES else len(TITLES)), home


def entry(name: str, value: Any) -> Iterator[str]:
    """A name: its heading, its signature, what it says of itself, and its public members."""
    yield f"### {name}"
    error = inspect.isclass(value) and issubclass(value, Exception)
    if callable(value) and not error:
        yield f"```python\n{signature(name, value)}\n```"
    yield from docstring(value)
    if error or inspect.isroutine(value):
        return
    if "__init__" in defined(value) and value.__init__.__doc__:
        yield from docstring(value.__init__)
    for member, found in members(value):
        yield f"#### {name}.{member}"
        if callable(found):
            yield f"```python\n{signature(member, found)}\n```"
        yield from docstring(found)


def defined(value: Any) -> dict[str, Any]:
    """What a module defines, or a class or one of ours that it is made from."""
    if inspect.ismodule(value):
        return {
            name: found for name, found in vars(value).items() if getattr(found, "__module__", "") == value.__name__
        }
    ours = [base for base in value.__mro__ if base.__module__.split(".")[0] == "alphasynth"]
    return {name: found for base in reversed(ours) for name, found in vars(base).items()}


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """Public functions, methods and properties that say what they are."""
    for name, found in defined(value).items():
        bound = getattr(value, name) if isinstance(found, classmethod | staticmethod) else found
        told = inspect.isroutine(bound) or isinstance(bound, property)
        if not name.startswith("_") and told and inspect.getdoc(bound):
            yield name, bound


def signature(name: str, value: Any) -> str:
    """How it is called; long ones with a line for each parameter.

    >>> signature("half", lambda x, *, y=1: x)
    'half(x, *, y=1)'
    """
    found = inspect.signature(value)
    taken = list(parameters([one for one in found.parameters.values() if one.name != "self"]))
    back = found.return_annotation
    gives = "" if back is EMPTY or inspect.isclass(value) else f" -> {annotation(back)}"
    line = f"{name}({', '.join(taken)}){gives}"
    return line if len(line) <= WIDE else "\n".join([f"{name}(", *(f"    {one}," for one in taken), f"){gives}"])


def parameters(taken: list[inspect.Parameter]) -> Iterator[str]:
    """Parameters as they are written, the star before those that go by name alone among them."""
    starred = any(one.kind is one.VAR_POSITIONAL for one in taken)
    for one in taken:
        if one.kind is one.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        stars = STARS.get(one.kind, "")
        typed = "" if one.annotation is EMPTY else f": {annotation(one.annotation)}"
        equals = " = " if typed else "="
        yield f"{stars}{one.name}{typed}{'' if one.default is EMPTY else equals + default(one.default)}"


def annotation(value: Any) -> str:
    """A type as its author would write it.

    >>> annotation(float | typing.Literal["auto"] | None), annotation("Frame | None")
    ("float | Literal['auto'] | None", 'Frame | None')
    """
    if isinstance(value, str):
        return value
    if typing.get_origin(value) in (typing.Union, types.UnionType):
        return " | ".join(annotation(one) for one in typing.get_args(value))
    return re.sub(r"\b(collections\.abc|typing)\.", "", inspect.formatannotation(value)).replace("NoneType", "None")


def default(value: Any) -> str:
    """A default, by its name where writing it out would tell where in memory it lies.

    >>> default(len), default(1.5), default("a")
    ('len', '1.5', "'a'")
    """
    written = repr(value)
    return getattr(value, "__name__", type(value).__name__) if written.startswith("<") else written


def docstring(value: Any) -> Iterator[str]:
    """A docstring as Markdown: prose, examples as code, and parameters as a list."""
    for part in re.split(r"\n\s*\n", inspect.getdoc(value) or ""):
        if ">>>" in part:
            before, found, after = part.partition(">>>")
            if before.strip():
                yield escaped(before.strip())
            yield f"```pycon\n{found}{after}\n```"
        elif part.startswith("Args:\n"):
            yield "\n".join(f"- {one}" for one in arguments(part))
        elif part.startswith("    "):
            yield f"```text\n{inspect.cleandoc(part)}\n```"
        elif part:
            yield escaped(part)


def arguments(part: str) -> Iterator[str]:
    r"""Parameters of an `Args:` section, a line each, the name as code.

    >>> list(arguments("Args:\n    y: counts,\n        all of them\n    m: how many"))
    ['`y`: counts, all of them', '`m`: how many']
    """
    told = inspect.cleandoc(part.partition("\n")[2])
    for one in re.split(r"\n(?=\S)", told):
        name, _, rest = " ".join(one.split()).partition(":")
        yield f"`{name}`:{escaped(rest)}"


def escaped(text: str) -> str:
    r"""Prose whose signs are signs: outside of code, nothing of it is Markdown.

    >>> print(escaped("a * b_i, `c*d` and x < y"))
    a \* b\_i, `c*d` and x \< y
    """
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]|#~{}$])", r"\\\1", part) for part in parts)


def commands_page() -> str:
    """Every command with all of its options."""
    import typer

    from alphasynth.cli.app import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return "\n\n".join(part for name in sorted(commands) for part in command_entry("alphasynth", commands[name]))


def command_entry(before: str, command: Any, level: str = "##") -> Iterator[str]:
    """A command: its heading, what it does, its example, its options; then those below it."""
    name = f"{before} {command.name}"
    yield f"{level} {name}"
    yield from (escaped(part) for part in (command.help or "").split("\n\n"))
    if command.epilog:
        yield f"```console\n{command.epilog.removeprefix('Example: ')}\n```"
    if command.params:
        yield "\n".join(["| | what it is | unless told |", "| --- | --- | --- |", *map(option_line, command.params)])
    for below in getattr(command, "commands", {}).values():
        yield from command_entry(name, below, f"{level}#")


def option_line(option: Any) -> str:
    """A line of a command's table."""
    named = option.opts[0].startswith("-")
    spelled = ", ".join([*option.opts, *option.secondary_opts]) if named else option.opts[0].upper()
    unless = "" if option.default in (None, False, ()) else f"`{option.default}`"
    said = "<br>".join(escaped(" ".join(line.split())) for line in (option.help or "").splitlines() if line.strip())
    said = re.sub(r"(?<!\\)\|", r"\\|", said)  # in a table a bar ends a cell, within code too
    return f"| `{spelled}` | {said} | {'must be given' if option.required else unless} |"
