"""From settings to what a run is made with: the synthesizer, and the table opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from alphasynth.catalogue import MechanismOptions
from alphasynth.errors import InputError, gathering
from alphasynth.inference.automatic import Automatic
from alphasynth.inference.grid import Grid
from alphasynth.inference.laplace import Laplace
from alphasynth.inference.nuts import Nuts
from alphasynth.inference.sampler import Sampler
from alphasynth.likelihoods.files import read_weights
from alphasynth.mechanisms.named import CONTRIBUTIONS
from alphasynth.models.coefficient_priors import CoefficientPrior, LkjPrior, NormalPrior, ScaleMixturePrior
from alphasynth.models.table_model import Legible, TableModel
from alphasynth.raking.columns import Columns
from alphasynth.raking.exact import exact_of
from alphasynth.runs.settings import Settings, check_numbers
from alphasynth.suggestions.first_lines import check_header
from alphasynth.synthesis.confirmation import check_rest
from alphasynth.synthesis.raked import RakedSynthesizer
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.csv_files import TextFormat
from alphasynth.tables.databases import DatabaseTable
from alphasynth.tables.engine import FileTable
from alphasynth.tables.frames import DECLARED, IN_USE, require
from alphasynth.tables.opening import as_declared, is_database, open_table

Front = Synthesizer | RakedSynthesizer
SAMPLERS: dict[str, Callable[[], Sampler]] = {"automatic": Automatic, "laplace": Laplace, "nuts": Nuts, "grid": Grid}


def front_of(settings: Settings) -> Front:
    """What makes the tables: of declared columns, or of models."""
    return raked_of(settings) if settings.columns is not None else synthesizer_of(settings)


def front_and_table(settings: Settings) -> tuple[Front, FileTable | DatabaseTable]:
    """What makes the tables, and the table opened; what is wrong with both is said at once."""
    with gathering() as problems:
        with problems:
            front = front_of(settings)
        table = _opened(settings)
        with problems:
            check_header(table, () if problems else {*front.used, *settings.public})
        if problems:
            with problems:
                _check_names(problems.rest, table)
            with problems:
                _check_values(problems.rest, table)
            problems.refuse()
        _check_unit(settings, front)
        front.check_columns(table.column_names, table.names_are_public)
    return front, table


def _check_names(rest: Legible | Columns | None, table: FileTable | DatabaseTable) -> None:
    """Refuse columns that are not in a table, of those that could be read of a file."""
    if rest is not None:
        what = DECLARED if isinstance(rest, Columns) else IN_USE
        require(table.column_names, rest.names, what, table.names_are_public)


def _check_values(rest: Legible | Columns | None, table: FileTable | DatabaseTable) -> None:
    """Refuse values other than are declared, of columns of which that can be read; the others' are not looked at."""
    if isinstance(rest, Columns):
        sound = rest.only([name for name in rest.names if list(table.column_names).count(name) == 1])
        if sound.declared:
            exact_of(sound, as_declared(table, sound.declared), sound.names)


def raked_of(settings: Settings) -> RakedSynthesizer:
    """The front of whole tables with these settings; it refuses what cannot go together."""
    assert settings.columns is not None
    with gathering() as problems:
        with problems:
            columns = problems.rest = Columns.read(Path(settings.columns))
        if problems:
            with problems:
                check_numbers(settings)
            check_rest(problems.rest, settings.confirm_public, strict=True)
            problems.refuse()
        return RakedSynthesizer(
            columns,
            m=settings.m,
            epsilon=settings.epsilon,
            delta=settings.delta,
            confirm_public=settings.confirm_public,
            rows=settings.rows,
            tables_per_draw=settings.tables_per_draw,
            seed=settings.seed,
            **mechanism_options(settings),
        )


def synthesizer_of(settings: Settings) -> Synthesizer:
    """The friendly front with these settings; it refuses what cannot go together."""
    with gathering() as problems:
        with problems:
            declared = declarations(settings)
        with problems:
            options, prior = mechanism_options(settings), _prior(settings.prior)
        formula: TableModel | str | Sequence[str] = settings.formula or ""
        if settings.model is not None:
            with problems:
                formula = made = TableModel.read(Path(settings.model))
                problems.rest = Legible(made, (*made.names, *made.inputs))
        if problems:
            with problems:
                check_numbers(settings)
            sound = None if problems.rest is None else problems.rest.model
            check_rest(sound, settings.confirm_public, settings.mechanism in CONTRIBUTIONS)
            problems.refuse()
        return Synthesizer(
            formula,
            family=settings.family,
            declared=declared,
            confirm_public=settings.confirm_public,
            weights=settings.weights,  # type: ignore[arg-type]
            survey_weights=settings.survey_weights,
            survey_likelihood=settings.survey_likelihood,
            mechanism=settings.mechanism,
            m=settings.m,
            epsilon=settings.epsilon,
            delta=settings.delta,
            public=settings.public,
            prior=prior,
            sampler=None if settings.sampler == "automatic" else SAMPLERS[settings.sampler](),
            num_draws=settings.draws,
            thresh=settings.thresh,
            rows=settings.rows,
            tables_per_draw=settings.tables_per_draw,
            seed=settings.seed,
            **options,
        )


def mechanism_options(settings: Settings) -> MechanismOptions:
    """The mechanism's options as the front takes them: words such as age=5 become mappings."""
    read: dict[str, Callable[[Any], Any]] = {
        "radius": _radius,
        "limits": _limits,
        "step": _step,
        "given": lambda path: read_weights(Path(path), "--given"),
    }
    return cast(
        MechanismOptions,
        {name: read[name](value) if name in read else value for name, value in settings.options.items()},
    )


def declarations(settings: Settings) -> dict[str, dict[str, Any]]:
    """What --levels, --range, --whole, --decimals and --missing declare, by column."""
    found: dict[str, dict[str, Any]] = {}
    for word in settings.levels:
        name, _, levels = word.partition("=")
        found.setdefault(name.strip(), {})["levels"] = [_level(level) for level in levels.split("|")]
    for word in settings.range:
        name, low, high = _pair(word, "--range must be NAME=LOW:HIGH, such as age=0:110")
        found.setdefault(name, {})["limits"] = [low, high]
    for name in settings.whole:
        found.setdefault(name, {})["whole"] = True
    for word in settings.decimals:
        name, _, number = word.partition("=")
        if not number.strip().isdecimal():
            raise InputError(f"--decimals must be NAME=NUMBER, such as income=2, found {word!r}")
        found.setdefault(name.strip(), {})["decimals"] = int(number)
    for word in settings.missing:
        name, _, what = word.partition("=")
        found.setdefault(name.strip(), {})["missing"] = what.strip()
    return found


def _level(text: str) -> Any:
    """A level as a number where it reads like one."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number == int(number) and "." not in text else number


def _radius(given: float | Sequence[str]) -> float | dict[str, float]:
    """One radius, or radii by column from words such as age=5."""
    if isinstance(given, float | int):
        return given
    return _one_or_by_name(given, "--radius must be a number, or NAME=RADIUS for every column")


def _limits(given: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Limits by parameter from words such as mean=1:1000."""
    pairs = (_pair(word, "--limits must be NAME=LOW:HIGH, such as mean=1:1000") for word in given)
    return {name: (low, high) for name, low, high in pairs}


def _step(given: Sequence[str]) -> float | dict[str, float]:
    """One step for all parameters, 0.01, or steps by parameter from words such as mean=0.005."""
    return _one_or_by_name(given, "--step must be a number or NAME=STEP, such as mean=0.005")


def _pair(word: str, rule: str) -> tuple[str, float, float]:
    """Name, low and high of a word such as age=0:110; raise `InputError` with the rule."""
    name, _, pair = word.partition("=")
    low, _, high = pair.partition(":")
    try:
        return name.strip(), float(low), float(high)
    except ValueError:
        raise InputError(f"{rule}, found {word!r}") from None


def _one_or_by_name(given: Sequence[str], rule: str) -> float | dict[str, float]:
    """One number, or numbers by name from words such as age=5; raise `InputError` with the rule."""
    try:
        if len(given) == 1 and "=" not in given[0]:
            return float(given[0])
        return {name.strip(): float(number) for name, _, number in (word.partition("=") for word in given)}
    except ValueError:
        raise InputError(f"{rule}, found something else") from None


def _prior(text: str | None) -> CoefficientPrior | None:
    name, _, scale = (text or "").partition(":")
    if name == "normal":
        try:
            return NormalPrior(float(scale)) if scale else NormalPrior()
        except ValueError:
            raise InputError(f"--prior normal:SCALE must have a number for its scale, found {scale!r}") from None
    return {"": None, "lkj": LkjPrior(), "scale_mixture": ScaleMixturePrior()}[name]


def open_settings(settings: Settings) -> FileTable | DatabaseTable:
    """The table that settings name, opened as they say."""
    if settings.unit is not None:
        _check_unit(settings, front_of(settings))
    return _opened(settings)


def _check_unit(settings: Settings, front: Front) -> None:
    """Refuse a unit of privacy that is to be synthesized."""
    if settings.unit is not None and settings.unit in front.responses:
        raise InputError("--unit must be another column than a synthesized one, found the same")


def _opened(settings: Settings) -> FileTable | DatabaseTable:
    if settings.mechanism == "Given" and (is_database(settings.table) or settings.unit is not None):
        raise InputError(
            "Given weights are by row, in a file's order, found a database or rows of which a cap drops some"
        )
    if settings.by_row and is_database(settings.table):
        raise InputError("--by-row needs a file, whose rows have numbers, found a table of a database")
    return open_table(
        settings.table,
        unit=settings.unit,
        max_rows=settings.max_rows,
        in_order=settings.by_row or settings.mechanism == "Given",
        sort_rows=settings.sort_rows,
        text=TextFormat(
            settings.delimiter,
            settings.encoding,
            verbatim=settings.format in (None, "csv", "tsv"),
            decimal_comma=settings.decimal_comma,
            thousands=settings.thousands,
            header=settings.header,
        ),
        seed=settings.seed,
        hive=settings.hive,
    )
