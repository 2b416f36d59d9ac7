"""Files of weights and bounds by record (confidential): CSV or Parquet, a line per record in the matrix's order."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from alphasynth.errors import InputError
from alphasynth.likelihoods.bounds import Bounds, Kept, Weights

ALPHA, LARGEST, LIPSCHITZ = "alpha", "largest", "lipschitz"
SUFFIXES = (".csv", ".parquet")


def check_out(out: Path) -> None:
    """Refuse a file that is there already, has nowhere to go, or is of another kind."""
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"--out must end in {' or '.join(SUFFIXES)}, found {out.name!r}")
    if out.exists() or out.is_symlink():
        raise InputError(f"--out must not exist yet, found {str(out)!r}")
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out must go into a folder that exists, found no {str(out.absolute().parent)!r}")


def read_weights(path: Path, option: str = "--weights") -> np.ndarray:
    """Column alpha of a file, or its only column; checked to be weights where they are used."""
    return _alpha_in(_read(path, option), option)


def read_kept(path: Path, option: str = "--weights") -> Kept:
    """The same, and the F that they were made from: the column largest, in a file that `weights` wrote.

    In one that `bound` wrote it is F of the fit that had the weights, and the bounds are its product with alpha.
    """
    table = _read(path, option)
    alpha = _alpha_in(table, option)
    if not {LARGEST, LIPSCHITZ} <= set(table.column_names):
        return Kept(alpha, None, option)
    largest, bounds = table.column(LARGEST), table.column(LIPSCHITZ)
    if not all(pa.types.is_floating(each.type) and not each.null_count for each in (largest, bounds)):
        return Kept(alpha, None, option)
    made_from = largest.to_numpy()
    known = np.isfinite(made_from)
    is_of_the_fit = np.allclose((alpha * made_from)[known], bounds.to_numpy()[known], rtol=1e-12, atol=0)
    return Kept(alpha, None if is_of_the_fit else made_from, option)


def _read(path: Path, option: str) -> pa.Table:
    if not path.is_file():
        raise InputError(f"{option} must be a file, found none at {str(path)!r}")
    try:
        return pq.read_table(path) if path.suffix.lower() == ".parquet" else pcsv.read_csv(path)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise InputError(f"{option} must be a CSV or Parquet file, found another kind in {path.name!r}") from None


def _alpha_in(table: pa.Table, option: str) -> np.ndarray:
    names = table.column_names
    if ALPHA not in names and len(names) != 1:
        raise InputError(f"{option} must have a column {ALPHA!r}, found {len(names)} others")
    column = table.column(ALPHA if ALPHA in names else 0)
    if column.null_count:
        raise InputError(f"{option} must be numbers in [0, 1], found gaps")
    return column.to_numpy()


def write_weights(made: Weights, out: Path) -> None:
    """The weights, and of the fit before F and the bound of each record."""
    columns: dict[str, Any] = {ALPHA: made.alpha}
    if made.before is not None:
        columns |= {LARGEST: made.largest, LIPSCHITZ: made.lipschitz.by_record}
    _write(pa.table(columns), out)


def write_bounds(bounds: Bounds, out: Path) -> None:
    """The weights that the fit had, F and the bound of each record."""
    _write(pa.table({ALPHA: bounds.alpha, LARGEST: bounds.largest, LIPSCHITZ: bounds.lipschitz.by_record}), out)


def _write(table: pa.Table, out: Path) -> None:
    """A file that appears whole or not at all, for its owner's eyes."""
    beside = out.with_name(f".{out.name}-{secrets.token_hex(4)}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            if out.suffix.lower() == ".parquet":
                pq.write_table(table, stream)
            else:
                pcsv.write_csv(table, stream)
        os.link(beside, out)  # fails where someone else has made it meanwhile
    except FileExistsError:
        raise InputError(f"--out must not exist yet, found {str(out)!r}") from None
    finally:
        beside.unlink(missing_ok=True)
