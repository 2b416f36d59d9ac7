"""SAS, SPSS and Stata files, read and written with pyreadstat, with their labels and formats."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.errors import InputError
from alphasynth.tables.declared import Declared
from alphasynth.tables.limits import as_floats

READERS = {
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
}
SPSS = "read_sav"
ROWS_AT_A_TIME = 500_000
XPORT_RECORD = 80  # bytes; the format does not say how many rows there are


def read_names(path: Path) -> tuple[str, ...]:
    """Column names."""
    if path.suffix.lower() == ".xpt" and path.stat().st_size % XPORT_RECORD:
        raise InputError(f"{path.name} must be a whole XPORT file, found one that was cut off")
    _, meta = _read(path, metadataonly=True)
    return tuple(meta.column_names)


def read_columns(path: Path, names: Sequence[str]) -> pa.Table:
    """Columns as Arrow: numbers, text, dates and times."""
    parts: list[pa.Table] = []
    while True:
        options: dict[str, Any] = {"row_offset": len(parts) * ROWS_AT_A_TIME, "row_limit": ROWS_AT_A_TIME}
        frame, _ = _read(path, usecols=list(names), **options)
        parts.append(_to_arrow(path, frame, names))
        if len(frame) < ROWS_AT_A_TIME:
            break
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException:
        raise InputError(f"{path.name} must hold one type per column, found several") from None


def _read(path: Path, **options: Any) -> tuple[Any, Any]:
    import pyreadstat

    reader: Callable[..., tuple[Any, Any]] = getattr(pyreadstat, READERS[path.suffix.lower()])
    try:
        return reader(str(path), **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError, OSError, ValueError) as error:
        kind = type(error).__name__
        raise InputError(
            f"{path.name} must be a whole {path.suffix[1:]} file, found what cannot be read ({kind})"
        ) from None


def _to_arrow(path: Path, frame: Any, names: Sequence[str]) -> pa.Table:
    try:
        return pa.table({name: pa.array(frame[name], from_pandas=True) for name in names})
    except (pa.ArrowException, OverflowError):
        raise InputError(f"{path.name} must hold numbers, text or dates, found others") from None


@dataclass(frozen=True)
class Labels:
    """What a file says of its columns beside their values: the codebook's words, not the records'.

    `words` names a column, `values` names its codes, `formats` says how its numbers are shown; `gaps` are the ranges of
    codes that stand for a missing value.
    """

    family: str = ""
    words: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[Any, str]] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    gaps: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def codes(self, name: str) -> dict[Any, str]:
        """Words for the codes of a column that are values, and no missing ones."""
        ends = [(each["lo"], each["hi"]) for each in self.gaps.get(name, ())]
        named = self.values.get(name, {})
        return {code: word for code, word in named.items() if not any(_between(code, *pair) for pair in ends)}

    def of_declared(self, levels: Mapping[str, Sequence[Any]]) -> Labels:
        """With no more said of these columns than a strict release may: no formats, and words of declared codes alone.

        Which codes have words, and how wide a column is shown, may have been decided by what it holds.
        """
        named = {
            name: {code: word for code, word in codes.items() if code in levels[name]} if name in levels else codes
            for name, codes in self.values.items()
        }
        formats = {name: shown for name, shown in self.formats.items() if name not in levels}
        return replace(self, values=named, formats=formats)


def read_labels(path: Path) -> Labels:
    """The labels and formats of a file's columns."""
    family = FAMILIES[path.suffix.lower()]
    # SPSS's missing codes are told where they are asked for; other formats have none that are values.
    _, meta = _read(path, metadataonly=True, **({"user_missing": True} if READERS[path.suffix.lower()] == SPSS else {}))
    words = {name: text for name, text in meta.column_names_to_labels.items() if text}
    return Labels(family, words, meta.variable_value_labels, meta.original_variable_types, meta.missing_ranges)


def _between(code: Any, low: Any, high: Any) -> bool:
    return isinstance(code, str) == isinstance(low, str) and low <= code <= high


def of_codebook(codes: Mapping[Any, str], values: Sequence[Any], few: bool, most: int) -> Declared | None:
    """Levels of a column whose values have labels: all codes of the codebook, whether they occur or not.

    A value without a label is one more level where there are `few` values; else the column is no code. None, too, where
    there are more than `most` levels.

    >>> of_codebook({1.0: "yes", 2.0: "no", 3.0: "unsure"}, [1.0, 2.0], True, 10).labels
    ((1, 'yes'), (2, 'no'), (3, 'unsure'))
    """
    text = isinstance(values[0], str)
    known = {code: word for code, word in codes.items() if isinstance(code, str) == text and word}
    levels = sorted({*values, *known})
    if not known or len(levels) > most or not (few or set(values) <= set(known)):
        return None
    whole = not text and all(float(level).is_integer() for level in levels)
    plain = {level: int(level) if whole else level for level in levels}
    return Declared(levels=tuple(plain.values()), labels=tuple((plain[code], known[code]) for code in sorted(known)))


FAMILIES = {".sas7bdat": "sas", ".xpt": "sas", ".sav": "spss", ".zsav": "spss", ".por": "spss", ".dta": "stata"}
# What a format takes for a column name.
NAMES = {
    ".xpt": (r"[A-Za-z_][A-Za-z0-9_]{0,31}", "up to 32 letters, digits and underscores"),
    ".sav": (r"[A-Za-z@#$][A-Za-z0-9._$#@]{0,63}(?<!\.)", "up to 64 letters, digits and . _ $ # @"),
    ".dta": (r"[A-Za-z_][A-Za-z0-9_]{0,31}", "up to 32 letters, digits and underscores"),
}
LARGEST_WHOLE = 2**53  # these formats hold whole numbers as 64-bit floats


def check_names(suffix: str, names: Sequence[str]) -> None:
    """Refuse column names that a format cannot hold."""
    if suffix not in NAMES:
        return
    pattern, rule = NAMES[suffix]
    for name in names:
        if not re.fullmatch(pattern, name):
            raise InputError(
                f"column {name!r} must have a name that a {suffix} file can hold ({rule}); rename it or choose another "
                f"--format"
            )


def prepared(table: pa.Table, path: Path, labels: Labels | None = None, settled: bool = False) -> Callable[[], None]:
    """What writes a table in the format that the suffix names; raise `InputError` for what the format cannot hold.

    Whole numbers take 32 bits where they all fit, or are 64-bit floats whatever they are where types are `settled`.
    """
    labels = labels or Labels()
    names = table.column_names
    arguments: dict[str, Any] = {"column_labels": {name: labels.words[name] for name in names if name in labels.words}}
    whole = [name for name in names if pa.types.is_integer(table.schema.field(name).type)]
    shown = dict.fromkeys(whole, "F8.0") if path.suffix == ".sav" else {}
    if FAMILIES[path.suffix] == labels.family:
        plain = [name for name in names if not pa.types.is_temporal(table.schema.field(name).type)]
        shown |= {name: labels.formats[name] for name in plain if name in labels.formats}
    arguments["variable_format"] = shown
    if path.suffix != ".xpt":
        arguments["variable_value_labels"] = _codes(table, labels)
    columns = {name: _writable(name, table.column(name), path.suffix) for name in names}
    if settled:
        columns |= {name: columns[name].cast(pa.float64()) for name in whole}
    frame = pa.table(columns).to_pandas()
    if path.suffix == ".xpt":
        arguments["file_format_version"] = 5 if _fits_version_5(table) else 8
    return partial(_write, frame, path, arguments)


def _write(frame: Any, path: Path, arguments: dict[str, Any]) -> None:
    import pyreadstat

    writer = {".xpt": "write_xport", ".sav": "write_sav", ".dta": "write_dta"}[path.suffix]
    try:
        getattr(pyreadstat, writer)(frame, str(path), **arguments)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        if "write" in str(error).lower():
            raise OSError(errno.EIO, f"{path.name} cannot be written; is the disk full?") from None
        raise InputError(
            f"{path.name} cannot hold these columns ({type(error).__name__}); choose another --format"
        ) from None


def _codes(table: pa.Table, labels: Labels) -> dict[str, dict[Any, str]]:
    """Labels of the codes of columns; those of a number column's special missing values go with them."""
    codes: dict[str, dict[Any, str]] = {}
    for name in table.column_names:
        text = any(test(table.schema.field(name).type) for test in TEXT)
        kept = {code: word for code, word in labels.values.get(name, {}).items() if text or not isinstance(code, str)}
        codes |= {name: kept} if kept else {}
    return codes


TEXT = (pa.types.is_string, pa.types.is_large_string)


def _writable(name: str, column: pa.ChunkedArray, suffix: str) -> pa.ChunkedArray:
    """A column in a type that these formats hold exactly; refuse what would come out as something else."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _writable(name, column.cast(kind.value_type), suffix)
    if pa.types.is_integer(kind):
        return _whole(name, column)
    if pa.types.is_decimal(kind):
        real = as_floats(column)
        if pc.all(pc.equal(real.cast(kind, safe=False), column), min_count=0).as_py() is not False:
            return real
    if pa.types.is_floating(kind) and not (suffix == ".xpt" and _beyond_xport(column)):
        return column
    if pa.types.is_date(kind) or pa.types.is_boolean(kind) or any(test(kind) for test in TEXT):
        return column
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return column.cast(pa.timestamp("us"), safe=False)
    if pa.types.is_time(kind):
        return column.cast(pa.time64("us"), safe=False)
    raise InputError(
        f"column {name!r} must be of a type that a {suffix} file holds, found {kind}; choose another --format"
    )


def _whole(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers in 32 bits where they fit, which Stata then keeps as such; refuse those a float cannot hold."""
    limits = pc.min_max(column).as_py()
    low, high = limits["min"] or 0, limits["max"] or 0
    if low < -LARGEST_WHOLE or high > LARGEST_WHOLE:
        raise InputError(
            f"column {name!r} must hold whole numbers of up to 2^53 for this format, found larger ones; choose another "
            f"--format"
        )
    # Stata keeps its largest values for missing ones.
    fits = low > -(2**31) and high < 2**31 - 100 and not column.null_count
    return column.cast(pa.int32()) if fits else column


def _beyond_xport(column: pa.ChunkedArray) -> bool:
    """Whether a number is too large or too near to 0 for the exponents of XPORT."""
    size = np.abs(column.to_numpy())
    return bool((size > 7e75).any() or ((size > 0) & (size < 6e-79)).any())


def _fits_version_5(table: pa.Table) -> bool:
    """XPORT version 5, which every SAS and R reads: names of 8 characters, text of 200 bytes."""
    if any(len(name) > 8 for name in table.column_names):
        return False
    texts = [
        column for column in table.columns if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ]
    return all((pc.max(pc.binary_length(text)).as_py() or 0) <= 200 for text in texts)
