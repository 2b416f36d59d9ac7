"""SAS, SPSS and Stata files, read and written with pyreadstat; labels and formats other than dates are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from alphasynth.errors import InputError

READERS = {
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
}
ROWS_AT_A_TIME = 500_000


def read_names(path: Path) -> tuple[str, ...]:
    """Column names."""
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


def write(table: pa.Table, path: Path) -> None:
    """Write a table in the format that the suffix names; raise `InputError` for what the format cannot hold."""
    import pyreadstat

    frame = table.to_pandas(date_as_object=True)
    writer = {".xpt": "write_xport", ".sav": "write_sav", ".dta": "write_dta"}[path.suffix]
    options = {"file_format_version": 8} if path.suffix == ".xpt" else {}
    try:
        getattr(pyreadstat, writer)(frame, str(path), **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        raise InputError(
            f"{path.name} cannot hold these columns ({type(error).__name__}); choose another format"
        ) from None
