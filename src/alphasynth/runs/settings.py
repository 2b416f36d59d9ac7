"""`Settings`: all that decides a run, as the command line or a `run.toml` gives it."""

from __future__ import annotations

import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from alphasynth.catalogue import FAMILIES, FORMATS, MECHANISMS, OF_COLUMNS, OPTIONS, PRIORS, SAMPLERS
from alphasynth.errors import InputError, found, gathering, require_whole
from alphasynth.synthesis.choice import with_choice

# Settings that say what a model file says.
OF_MODELS = ("formula", "family", "levels", "range", "whole", "decimals", "missing")


@dataclass(frozen=True)
class Settings:
    """A run's settings; names are those of the command line's options, with underscores.

    `options` are those given of the mechanism's (`catalogue.OPTIONS`); in a `run.toml` they stand among the others.
    """

    table: str
    mechanism: str
    m: int
    out: str
    formula: str | tuple[str, ...] | None = None
    family: str | tuple[str, ...] | None = None
    model: str | None = None
    columns: str | None = None
    levels: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    decimals: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    confirm_public: tuple[str, ...] = ()
    weights: str = "record"
    survey_weights: str | None = None
    survey_likelihood: bool = False
    epsilon: float | None = None
    delta: float | None = None
    public: tuple[str, ...] = ()
    prior: str | None = None
    sampler: str = "automatic"
    draws: int = 1_000
    thresh: float = 1.0
    rows: int | None = None
    tables_per_draw: int = 1
    seed: int | None = None
    unit: str | None = None
    max_rows: int | None = None
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal_comma: bool = False
    thousands: str | None = None
    header: bool = False
    hive: bool = False
    csv_safe: bool = True
    by_row: bool = False
    sort_rows: bool = False
    dataset: str | None = None
    ledger: str | None = None
    report: bool = True
    parameters: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Settings from those given; raise `InputError` for what is missing, unknown or of the wrong type."""
        check_types(given)
        lacks = given.get("columns") is None and given.get("model") is None and given.get("formula") is None
        given = given if lacks else with_choice(given)
        needed = [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]
        missing = [name for name in needed if name not in given and name not in ("mechanism", "m")]
        if given.get("model") is None and given.get("columns") is None:
            missing += [name for name in ("formula", "family") if given.get(name) is None]
        if missing:
            order = ("table", "formula", "family", "out")
            words = ", ".join(option(name) for name in sorted(missing, key=order.index))
            beside = " (or --model, or --columns for a whole table)" if "formula" in missing else ""
            start = "; alphasynth inspect TABLE --suggest columns.toml writes a start" if "formula" in missing else ""
            _check_whole_table(given)
            raise InputError(f"a run needs {words}{beside}, found none{start}")
        values: dict[str, Any] = {
            name: _several(name, value) if isinstance(value, list | tuple) else value for name, value in given.items()
        }
        options = {name: values.pop(name) for name in OPTIONS if name in values}
        settings = cls(**values, options={name: value for name, value in options.items() if value not in (None, ())})
        with gathering() as problems:
            with problems:
                _check_whole_table(given)
            with problems:
                _check_choices(settings)
            if problems:
                check_numbers(settings)
        return settings

    @property
    def given(self) -> dict[str, Any]:
        """Those that are not left empty, by name; the mechanism's options among the others."""
        every = asdict(self)
        every |= every.pop("options")
        return {name: value for name, value in every.items() if value not in (None, ())}

    def toml(self) -> str:
        """As a `run.toml`."""
        import tomli_w

        return "# Repeat this run: alphasynth synthesize --config run.toml\n" + tomli_w.dumps(self.given)

    def at(self, out: Path) -> Settings:
        """With another run folder."""
        return replace(self, out=str(out))


def _several(name: str, value: list[Any] | tuple[Any, ...]) -> Any:
    """A tuple; of the settings that are mostly one word, that word where there is one."""
    return value[0] if name in ("formula", "family") and len(value) == 1 else tuple(value)


def kinds() -> dict[str, Any]:
    """The type of each setting, by name; those of the mechanism's options among them."""
    own = typing.get_type_hints(Settings)
    del own["options"]
    return own | {name: one.kept | None for name, one in OPTIONS.items()}


def check_types(given: Mapping[str, Any]) -> None:
    """Refuse names that are no settings, and values of the wrong type."""
    hints = kinds()
    for name, value in given.items():
        if name not in hints:
            near = get_close_matches(name, hints, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"a setting must have the name of an option, found {name!r}{hint}")
        if not fits(value, hints[name]):
            raise InputError(f"{name} must be {_words(hints[name])}, found {found(value)}")


def option(name: str) -> str:
    """What a setting is called on the command line.

    >>> option("max_rows"), option("table")
    ('--max-rows', 'TABLE')
    """
    return "TABLE" if name == "table" else "--" + name.replace("_", "-")


def read_config(path: Path) -> dict[str, Any]:
    """Settings in a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the config file must be readable, found {error.strerror} at {str(path)!r}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(f"the config file must be TOML, found what is not in {path.name}") from None


def fits(value: object, kind: Any) -> bool:
    """Whether a value read from a file is of the kind that a field's annotation says."""
    if isinstance(kind, types.UnionType):
        return any(fits(value, part) for part in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        inside = typing.get_args(kind)[0]
        return isinstance(value, list | tuple) and all(fits(item, inside) for item in value)
    if typing.get_origin(kind) is dict:
        return isinstance(value, dict)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _words(kind: Any) -> str:
    if isinstance(kind, types.UnionType):
        return " or ".join(_words(part) for part in typing.get_args(kind) if part is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        return "a list of names"
    return {str: "text", float: "a number", int: "a whole number", bool: "true or false"}[kind]


def _check_whole_table(given: Mapping[str, Any]) -> None:
    """Refuse a whole table without declared columns, and declared columns with what belongs to models."""
    raked = given.get("mechanism") in OF_COLUMNS
    if raked and given.get("columns") is None:
        raise InputError(
            f"--mechanism {given['mechanism']} must have its columns declared (--columns), since levels and limits "
            "read off the table are public only if someone says so, found none: alphasynth inspect TABLE --suggest "
            "columns.toml writes a start, to be checked by hand"
        )
    if given.get("columns") is None:
        return
    if given.get("mechanism") in MECHANISMS and not raked:
        raise InputError(f"--columns must have --mechanism {OF_COLUMNS[0]}, found {found(given['mechanism'])}")
    beside = [name for name in (*OF_MODELS, "model", "public", "survey_weights", "prior") if given.get(name)]
    if beside:
        raise InputError(f"--columns says all of a whole table, found {option(beside[0])} beside it")


def check_numbers(settings: Settings) -> None:
    """Refuse numbers that suit nothing, where what they are for cannot be made."""
    from alphasynth.inference.automatic import Automatic
    from alphasynth.mechanisms.fit import check_settings
    from alphasynth.synthesis.checks import positive_or_none, small_delta

    with gathering() as problems:
        for name, least in (("m", 1), ("rows", 1), ("tables_per_draw", 1), ("seed", 0)):
            with problems:
                value = getattr(settings, name)
                _ = value if value is None else require_whole(name, value, least)
        with problems:
            positive_or_none("epsilon", settings.epsilon)
        with problems:
            _ = settings.delta if settings.delta is None else small_delta(settings.delta)
        with problems:
            check_settings(Automatic(), settings.draws, settings.thresh)


def _check_model(settings: Settings) -> None:
    """Refuse a run without a model, or with two, and survey weights that are not public."""
    if settings.survey_weights is not None and settings.survey_weights not in settings.public:
        raise InputError(
            f"--survey-weights must be a column declared public (--public), found {settings.survey_weights!r}, which "
            "is not; without it the column can be synthesized like any other"
        )
    beside = [name for name in OF_MODELS if getattr(settings, name)]
    if settings.model is not None and beside:
        raise InputError(f"--model states the columns' models, found {option(beside[0])} beside it")


def _check_choices(settings: Settings) -> None:
    """Refuse what is none of the names that there are, whatever else is wrong."""
    families = settings.family if isinstance(settings.family, tuple) else (settings.family,)
    chosen: list[tuple[str, str | None, dict[str, str]]] = [("family", each, FAMILIES) for each in families]
    chosen += [("mechanism", settings.mechanism, MECHANISMS), ("sampler", settings.sampler, SAMPLERS)]
    chosen.append(("format", settings.format, FORMATS))
    with gathering() as problems:
        with problems:
            _check_model(settings)
        for name, value, names in chosen:
            if value is not None and value not in names:
                rule = f"{option(name)} must be one of {', '.join(names)}"
                problems.say(f"{rule}, found {found(value)}{_near(value, names)}")
        if settings.dataset is not None and not settings.dataset.strip():
            problems.say("--dataset must be a name, found nothing but spaces")
        for name, value in settings.options.items():
            if OPTIONS[name].kept == float | str and isinstance(value, str) and value != "auto":
                problems.say(f"{option(name)} must be auto or a number, found {found(value)}")
        if settings.prior is not None and settings.prior.split(":")[0] not in {name.split(":")[0] for name in PRIORS}:
            problems.say(f"--prior must be one of {', '.join(PRIORS)}, found {found(settings.prior)}")


def _near(value: str, names: Mapping[str, str]) -> str:
    """The name that somebody may have meant."""
    near = [name for name in names if name.casefold().replace("_", "") == value.casefold().replace("_", "")]
    near = near or get_close_matches(value, names, 1)
    return f"; did you mean {near[0]}?" if near else ""
