"""From what a user has (an array, a frame, a file, an ArviZ object) to a `LogLik`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from alphasynth.errors import InputError, found
from alphasynth.likelihoods.arviz import is_arviz, of_arviz, open_netcdf
from alphasynth.likelihoods.columnar import of_table, open_arrow, open_parquet
from alphasynth.likelihoods.matrix import Held, LogLik, Mapped, Stacked, Turned, check_place
from alphasynth.likelihoods.names import chosen
from alphasynth.likelihoods.text import open_text

NAME = "log_lik"
SUFFIXES = {
    ".npy": lambda path, name: _open_npy(path),
    ".csv": open_text,
    ".tsv": open_text,
    ".txt": open_text,
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".arrow": open_arrow,
    ".feather": open_arrow,
    ".nc": open_netcdf,
    ".netcdf": open_netcdf,
}


def open_log_lik(source: Any, records_in: str | None = None, name: str = NAME) -> LogLik:
    """The matrix of log-likelihoods in an array, a frame, a file or an ArviZ object; of several files, stacked.

    `records_in` "rows" is for a matrix with a row per record; `name` is what the log-likelihoods are called where a
    file or an object holds other things as well.
    """
    check_place(records_in)
    if source is None:
        raise InputError("log_lik must be given, a matrix with a row per draw and a column per record, found none")
    if isinstance(source, LogLik):
        return source
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | Path) for one in source):
        return _stacked([open_log_lik(one, records_in, name) for one in source])
    if isinstance(source, str | Path):
        matrix = _open_file(Path(source), name)
        has_draws = Path(source).suffix.lower() in (".nc", ".netcdf")
    else:
        has_draws = is_arviz(source)
        matrix = of_arviz(source, name) if has_draws else _of_values(source, name)
    return Turned(matrix) if records_in == "rows" and not has_draws else matrix


def _stacked(parts: Sequence[LogLik]) -> LogLik:
    return parts[0] if len(parts) == 1 else Stacked(tuple(parts))


def _open_file(path: Path, name: str) -> LogLik:
    if not path.is_file():
        raise InputError(f"log_lik must be a file, found none at {str(path)!r}")
    opener = SUFFIXES.get(path.suffix.lower())
    if opener is None:
        raise InputError(f"log_lik must end in one of {', '.join(SUFFIXES)}, found {path.name!r}")
    opened: LogLik = opener(path, name)
    return opened


def _open_npy(path: Path) -> LogLik:
    try:
        return Mapped.open(path)
    except (ValueError, EOFError, OSError):
        raise InputError(f"log_lik must be a .npy file of numbers, found another kind in {path.name!r}") from None


def _of_values(source: Any, name: str) -> LogLik:
    """An array, or a pandas, polars or pyarrow frame."""
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "schema"):
        return of_table(source, name)
    columns = getattr(source, "columns", None)
    if columns is not None and hasattr(source, "to_numpy"):
        names = [str(column) for column in columns]
        values = source.to_numpy()
        return Held(np.asarray(values)[:, chosen(names, name)])
    if isinstance(source, np.ma.MaskedArray) and np.ma.is_masked(source):
        raise InputError("log_lik must hold numbers, found entries that are masked")
    try:
        values = np.asarray(source)
    except ValueError:
        raise InputError("log_lik must have rows of equal length, found rows of different lengths") from None
    if values.dtype.kind == "O" or values.dtype.kind in "SU":
        raise InputError(f"log_lik must be a matrix of numbers, found {found(source)}")
    return Held(values)
