"""A model for a whole table, from its columns' types and ranges alone: a start, to be checked and edited by hand.

No column's values are set beside another's. All of it was read off the table and is marked so, column by column:
levels, limits and gaps, and the choice of families, formulas and budgets, which follow from them. Limits are rounded
outward to coarse numbers, which one row rarely moves; a far one still can, so somebody must say that they are public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError, gathering
from alphasynth.models.coefficient_priors import NormalPrior
from alphasynth.models.column_model import CHOSEN, ColumnModel
from alphasynth.models.families import FAMILIES
from alphasynth.models.table_model import TableModel
from alphasynth.suggestions.files import write_new
from alphasynth.suggestions.first_lines import check_header
from alphasynth.suggestions.identifiers import EVERY_DIFFERS, Identifier, identifier, reasons, unit_among
from alphasynth.suggestions.names import called_identifier
from alphasynth.suggestions.persons import persons
from alphasynth.suggestions.profile import POISSON
from alphasynth.tables.declared import Declared
from alphasynth.tables.gaps import missing
from alphasynth.tables.grouping import Stored
from alphasynth.tables.limits import as_floats, fewest_decimals, last_bit_of, outward, round_number
from alphasynth.tables.opening import codebook_of, is_text_file
from alphasynth.tables.statistical_files import of_codebook
from alphasynth.tables.text_cells import AS_DATES, COMMAS, have_commas, have_dates

# Numbers with at most this many values are levels; text with more is left out.
FEW_VALUES, MOST_LEVELS = 8, 100
# Coefficients that a column's formula may take, one for so many rows: more are noise at a common epsilon, take long to
# compile and to draw, and their draws fail. A covariate's levels, of text and of numbers, which are else taken as the
# number that they are; columns on a right-hand side.
FEWEST_COEFFICIENTS, MOST_COEFFICIENTS, ROWS_OF_ONE = 8, 40, 375
MOST_COVARIATE_LEVELS, MOST_DUMMIES, MOST_COVARIATES = 8, 8, 12
# Positive values whose largest is so many times their smallest are called skewed; so many are 0 where zeros stand out.
SKEWED, ZEROS = 20.0, 0.02
# Covariates whose limits are so far apart, or so near, are scaled by them.
WIDE, NARROW = 100.0, 0.4
# Columns with few levels come first, which cost those after them little; then those with many, which nothing is made
# to depend on; then numbers; then what is skewed or stands apart from its zeros, as outcomes are. Within each of these
# the table's own order counts.
NUMBERS = ("normal", "poisson")


@dataclass(frozen=True)
class Suggestion:
    """A model (confidential until its declarations were checked), and columns that it leaves out, with reasons.

    `unit` is one of these that seems to tell persons with several rows apart, and how many they have at most. `doubts`
    are what to look at first, by column.
    """

    model: TableModel
    left_out: tuple[tuple[str, str], ...] = ()
    unit: tuple[str, int] | None = None
    doubts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Column:
    """What a column is to be: its family and what would be declared of it."""

    name: str
    family: str
    declared: Declared


def suggest_model(table: Stored, public: Sequence[str] = (), response: Sequence[str] = ()) -> Suggestion:
    """A model of every column that can be modelled; those declared public come in on the right-hand side alone.

    Columns named as a `response` come last, with all others on their right-hand side that take few coefficients.

    >>> import pandas as pd
    >>> from tempfile import TemporaryDirectory
    >>> from alphasynth.tables.opening import open_table
    >>> with TemporaryDirectory() as folder:
    ...     pd.DataFrame({"visits": [0, 1, 2, 3] * 20}).to_csv(f"{folder}/people.csv", index=False)
    ...     suggest_model(open_table(f"{folder}/people.csv")).model.names
    ('visits',)
    """
    check_header(table)
    names, book = list(table.column_names), codebook_of(table)
    with gathering() as problems:
        for name in [name for name in public if name not in names]:
            problems.say(f"column {name!r} (declared public) is not in the table")
        for name in [name for name in response if name not in names or name in public]:
            problems.say(f"response must be columns of the table that are not public, found {name!r}")
    columns, unnamed, held_back, given = [], list[tuple[str, str]](), list[tuple[str, str]](), []
    units = dict[str, Identifier]()
    for name in names:
        if not name.strip() or "`" in name or names.count(name) > 1:
            twice = "its name occurs twice" if names.count(name) > 1 else "its name cannot stand in a formula"
            unnamed += [(name, twice)] if (name, twice) not in unnamed else []
            continue
        found = _look(table, name, book.codes(name))
        if name in public:
            given += [found] if isinstance(found, _Column) else []
        elif isinstance(found, Identifier):
            held_back.append((name, found.why))
            units[name] = found
        elif isinstance(found, str):
            held_back.append((name, found))
        else:
            columns.append(found)
    doubts = list[tuple[str, str]]()
    for name, person in persons(table, [c.name for c in columns if not book.codes(c.name)]).items():
        if person.sure:
            columns = [column for column in columns if column.name != name]
            held_back.append((name, person.why))
            units[name] = person
        else:
            doubts.append((name, person.why))
    why = dict([*unnamed, *held_back])
    if not columns:
        raise InputError(f"a table must have a column that can be modelled, found none{reasons(list(why.items()))}")
    with gathering() as problems:
        for name in [name for name in response if name in why]:
            problems.say(f"response must be columns that can be modelled, found {name!r}, which cannot: {why[name]}")
    columns.sort(key=lambda column: _place(column, response))
    most = most_coefficients(int(table.group([names[0]], ()).counts.sum()))
    made = [_model(c, [*given, *columns[:i]], most, c.name in response) for i, c in enumerate(columns)]
    # What a column is called is public; what it holds is not, nor that it was left out for it.
    model = TableModel.of(made, [name for name, _ in held_back])
    alone = [name for name, said in held_back if said == EVERY_DIFFERS and called_identifier(name)]
    return Suggestion(model, (*unnamed, *held_back), unit_among(units, alone), tuple(doubts))


def _place(column: _Column, response: Sequence[str]) -> tuple[int, int]:
    """Where a column comes: by its type and range alone, but for those that are named to come last."""
    if column.name in response:
        return 4, list(response).index(column.name)
    if column.declared.levels:
        return int(_width(column) > MOST_COVARIATE_LEVELS), 0
    return (2 if column.family in NUMBERS else 3), 0


def write_suggestion(suggestion: Suggestion, path: Path) -> None:
    """Write a new file, for its owner's eyes; raise `InputError` where there is one."""
    write_new(path, suggestion.model.toml(), suggestion.left_out, suggestion.doubts)


def _look(table: Stored, name: str, codes: Mapping[Any, str]) -> _Column | Identifier | str:
    """What a column is to be, or why it is left out."""
    grouped = table.group([name], ())
    values, counts = grouped.columns.column(0), grouped.counts
    gone = np.asarray(missing(values))
    gaps = bool(gone.any())
    present, counts = values.filter(pa.array(~gone)), counts[~gone]
    if len(present) == 0:
        return "it has no values"
    kind = present.type.value_type if pa.types.is_dictionary(present.type) else present.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if len(present) == 1:
        return "it has one value beside its gaps" if gaps else "it has one value"
    plain = as_floats(present) if is_number else present.cast(kind)
    whole = is_number and bool((np.asarray(plain) == np.floor(np.asarray(plain))).all())
    if is_text_file(table) and pa.types.is_string(kind) and have_commas(plain):
        return COMMAS
    if len(present) == counts.sum() > 20 and (not is_number or whole):
        return EVERY_DIFFERS
    if pa.types.is_string(kind) and have_dates(plain) and not codes and len(present) > FEW_VALUES:
        return AS_DATES
    known = identifier(name, counts, not is_number) if not codes and (whole or not is_number) else None
    if known is not None and known.sure:
        return known
    found = _number(name, np.asarray(plain), counts, whole) if is_number else _label(name, plain)
    found = _of_codes(found, name, plain, codes)
    if isinstance(found, str):
        return found
    marks = ["whole"] if whole else ["whole", "decimals"]
    if found.declared.levels:
        marks = ["levels", "labels"] if found.declared.labels else ["levels"]
    if found.declared.limits is not None and not whole:
        decimals = fewest_decimals(np.asarray(plain), last_bit_of(kind)) or None
        found = replace(found, declared=replace(found.declared, decimals=decimals))
    marks = ["limits", *marks] if found.declared.limits is not None else marks
    return replace(
        found, declared=replace(found.declared, missing="model" if gaps else None, read_off=(*marks, "missing"))
    )


def _of_codes(found: _Column | str, name: str, values: Any, codes: Mapping[Any, str]) -> _Column | str:
    """With the codebook's levels and labels, where it names what the column holds."""
    few = isinstance(found, _Column) and bool(found.declared.levels)
    declared = of_codebook(codes, values.to_pylist(), few, MOST_LEVELS) if codes else None
    return found if declared is None else _Column(name, _family_of(declared.levels), declared)


def _family_of(levels: Sequence[Any]) -> str:
    return "bernoulli" if len(levels) == 2 else "categorical"


def _label(name: str, values: Any) -> _Column | str:
    """Levels in sorted order: whether they have another one, and so are ordinal, is for the user to say."""
    levels = sorted(values.to_pylist())
    if len(levels) > MOST_LEVELS:
        return f"it has more than {MOST_LEVELS} levels: merge them"
    return _Column(name, _family_of(levels), Declared(levels=tuple(levels)))


def _number(name: str, values: np.ndarray, counts: np.ndarray, whole: bool) -> _Column | str:
    """Levels of numbers with few values; counts; continuous values, with zeros apart where they stand out."""
    if not np.isfinite(values).all():
        return "it has infinite values"
    if len(values) <= FEW_VALUES:
        levels = tuple(int(v) if whole else v for v in sorted(values.tolist()))
        return _Column(name, _family_of(levels), Declared(levels=levels))
    low, high = float(values.min()), float(values.max())
    if whole and low == 0:
        mean = np.average(values, weights=counts)
        variance = np.average((values - mean) ** 2, weights=counts)
        return _Column(name, "poisson" if variance <= POISSON * mean else "negative_binomial", Declared(whole=True))
    zeros = counts[values == 0].sum() / counts.sum()
    if low == 0 and zeros >= ZEROS:
        positive = float(values[values > 0].min())
        skewed = high / positive > SKEWED
        family = "two_part_log_normal" if skewed else "two_part_normal"
        limits = (round_number(positive, True), round_number(high, False) if skewed else outward(0.0, high)[1])
        return _Column(name, family, Declared(limits=limits, whole=whole))
    if low > 0 and high / low > SKEWED:
        limits = (round_number(low, True), round_number(high, False))
        return _Column(name, "log_normal", Declared(limits=limits, whole=whole))
    return _Column(name, "normal", Declared(limits=outward(low, high), whole=whole))


def most_coefficients(rows: int) -> int:
    """Coefficients that the formula of a column may take in a table of so many rows.

    >>> [most_coefficients(rows) for rows in (100, 3_000, 100_000)]
    [8, 8, 40]
    """
    return min(max(rows // ROWS_OF_ONE, FEWEST_COEFFICIENTS), MOST_COEFFICIENTS)


def _model(column: _Column, before: Sequence[_Column], most: int, response: bool) -> ColumnModel:
    """A column on those before it, as many as its coefficients allow, with a part of the budget that suits them."""
    most = MOST_COEFFICIENTS if response else most
    room = most // max(len(column.declared.levels) - 1, 1) if column.family == "categorical" else most
    terms, used = [], 1
    narrow = [other for other in before if _width(other) <= MOST_COVARIATE_LEVELS]
    for other in narrow if response else narrow[-MOST_COVARIATES:]:
        if used + _width(other) <= room:
            terms.append(_term(other))
            used += _width(other)
    name = f"`{column.name}`" if not column.name.isidentifier() else column.name
    formula = f"{name} ~ {' + '.join(terms) if terms else '1'}"
    size = FAMILIES[column.family].model(column.name, column.declared, NormalPrior(), used).prior.size
    return ColumnModel.of(formula, column.family, round(math.sqrt(size), 1), column.declared, CHOSEN)


def _width(column: _Column) -> int:
    """Terms that a column makes on a right-hand side."""
    levels = column.declared.levels
    return len(levels) - 1 if levels and isinstance(levels[0], str) else len(levels) - 1 if _as_dummies(column) else 1


def _as_dummies(column: _Column) -> bool:
    """Whether a column of numbers takes a coefficient for each of its few levels: nothing says that it is linear."""
    levels = column.declared.levels
    return 2 < len(levels) <= MOST_DUMMIES and not isinstance(levels[0], str)


def _term(column: _Column) -> str:
    name = f"`{column.name}`" if not column.name.isidentifier() else column.name
    if _as_dummies(column):
        return f"C({name})"
    if column.family in ("poisson", "negative_binomial") or "log_normal" in column.family:
        return f"np.log1p({name})"
    limits = column.declared.limits
    if limits is not None and not NARROW <= limits[1] - limits[0] <= WIDE:
        centre, half = (limits[0] + limits[1]) / 2, (limits[1] - limits[0]) / 2
        return f"scale({name}, center={float(centre)!r}, scale={float(half)!r})"
    return name
