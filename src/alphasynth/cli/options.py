"""Options that commands share: those of mechanisms, made from the catalogue's list, and how they become settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_args

import typer

from alphasynth.catalogue import OPTIONS, Option, described
from alphasynth.cli.report import split
from alphasynth.runs.settings import Settings, check_types, read_config

TABLE = typer.Argument(
    help="CSV, TSV, Parquet, Arrow, Feather, SAS, SPSS or Stata file, FILE::sheet of a workbook, or URL::table "
    "(duckdb://, postgres://, pyspark://, ...)."
)
Delimiter = Annotated[str | None, typer.Option(help="Of a text file, where it is not plain from the header.")]
Encoding = Annotated[str | None, typer.Option(help=f"Of a text file: utf-8, latin-1 or utf-16 ({Settings.encoding}).")]
DecimalComma = Annotated[
    bool | None,
    typer.Option("--decimal-comma", help="Of a text file: numbers have a comma before their decimals, 3,14."),
]
Thousands = Annotated[
    str | None, typer.Option(help="Of a text file: what stands between thousands: a point, a comma, a space or '.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header", help="Of a text file or sheet: its first line holds names, though it looks like a record."
    ),
]
Hive = Annotated[
    bool | None,
    typer.Option("--hive", help="Of a folder of Parquet files: keys in folders' names (year=2024) are columns."),
]
# How a table is read: options of all commands that take one.
READING = ("delimiter", "encoding", "decimal_comma", "thousands", "header", "hive")
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
# Options of commands that hold several words with commas between.
LISTS = ("public", "range", "whole", "decimals", "missing", "confirm_public")


def mechanism_options(
    names: Sequence[str] = tuple(OPTIONS), words: Mapping[str, str] = MappingProxyType({})
) -> list[inspect.Parameter]:
    """Options of mechanisms, as parameters of a command; in words of its own where they mean something else there."""
    return [_parameter(name, OPTIONS[name], words.get(name) or described(name)) for name in names]


def _parameter(name: str, option: Option, line: str) -> inspect.Parameter:
    words = typer.Option(*([option.flag] if option.flag else []), help=line)
    kind: Any = list[str] if _holds_words(option) else str if _may_be_word(option) else option.kept
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, words]
    )


def _holds_words(option: Option) -> bool:
    """Whether it holds several words, such as age=5."""
    return tuple[str, ...] in (option.kept, *get_args(option.kept))


def _may_be_word(option: Option) -> bool:
    """Whether it holds a number or a word, such as auto."""
    return bool(option.kept == float | str)


def options_of(command: Callable[..., Any], names: Sequence[str]) -> list[inspect.Parameter]:
    """Options of another command."""
    return [inspect.signature(command, eval_str=True).parameters[name] for name in names]


def with_options(function: Callable[..., Any], taken: Sequence[inspect.Parameter]) -> Callable[..., Any]:
    """A command that takes these options too, in the place of its parameter `options`, where they arrive."""

    def command(**given: Any) -> Any:
        return function(options={parameter.name: given.pop(parameter.name) for parameter in taken}, **given)

    own = inspect.signature(function, eval_str=True).parameters.values()
    listed = [one for parameter in own for one in (taken if parameter.name == "options" else [parameter])]
    # By name, so that options without a default may stand anywhere.
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in listed]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    return command


def settings_of(options: dict[str, Any], **unless_told: Any) -> Settings:
    """Settings of a config file, if one is given, and of options, which count first."""
    config = options.pop("config")
    kept = read_config(config) if config is not None else {}
    check_types(kept)
    return Settings.of({**unless_told, **kept, **as_settings(options)})


def as_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Options that were given, as settings: lists cut at commas, numbers where words are allowed too, paths as text."""
    given = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    return {name: _as_setting(name, value) for name, value in given.items() if value is not None}


def _as_setting(name: str, value: Any) -> Any:
    if name in LISTS:
        return split(value) or []
    if name not in OPTIONS:
        return value
    if _may_be_word(OPTIONS[name]):
        return _number_or_word(value)
    if not _holds_words(OPTIONS[name]):
        return value
    words = split(value) or []
    alone = float in get_args(OPTIONS[name].kept) and len(words) == 1 and "=" not in words[0]
    return _number_or_word(words[0]) if alone else words


def _number_or_word(text: str) -> float | str:
    """A number if the text is one, else the text."""
    try:
        return float(text)
    except ValueError:
        return text
