"""Frames of any kind a user may hold (pandas, polars, pyarrow): read columns out, build one of the same kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError

Frame = Any  # pandas.DataFrame, polars.DataFrame or pyarrow.Table; none of them is imported here


def kind_of(table: Frame) -> str:
    """Name the library a frame comes from: 'pandas', 'polars' or 'pyarrow'."""
    kinds = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}
    for base in type(table).__mro__:
        found = (base.__module__.split(".")[0], base.__name__)
        if found in kinds:
            return found[0]
    raise InputError(
        f"table must be a pandas.DataFrame, polars.DataFrame or pyarrow.Table, found {type(table).__name__}"
    )


def column_names(table: Frame) -> list[Any]:
    """Names of a frame's columns, in its order."""
    return list(table.column_names if kind_of(table) == "pyarrow" else table.columns)


def require(table: Frame, names: Sequence[str], role: str) -> None:
    """Refuse names that the frame lacks or holds twice."""
    held = column_names(table)
    for name in names:
        if held.count(name) != 1:
            problem = "is not in the table" if name not in held else "is in the table more than once"
            raise InputError(f"column {name!r} ({role}) {problem}; its columns are {shown(held)}")


def shown(names: Sequence[Any], most: int = 12) -> str:
    """List names for a message, the first few where there are many."""
    head = ", ".join(repr(name) for name in names[:most])
    return head + (f" and {len(names) - most} more" if len(names) > most else "")


def to_arrow(table: Frame, names: Sequence[str]) -> pa.Table:
    """Chosen columns as Arrow, without a copy where the frame's own storage allows it."""
    kind = kind_of(table)
    if kind == "pyarrow":
        columns = [table.column(name) for name in names]
    elif kind == "polars":
        columns = [table.get_column(name).to_arrow() for name in names]
    else:
        columns = [_from_pandas(table, name) for name in names]
    return pa.table(dict(zip(names, columns, strict=True)))


def _from_pandas(table: Frame, name: str) -> pa.Array:
    try:
        return pa.array(table[name], from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # Arrow's own message quotes the offending value, which may be confidential.
        raise InputError(f"column {name!r} mixes types that no single column type holds") from None


def select(table: Frame, names: Sequence[str]) -> dict[str, Any]:
    """Chosen columns in the frame's own storage: no index, no metadata, nothing else of the frame."""
    kind = kind_of(table)
    if kind == "pandas":
        return {name: table[name].array.copy() for name in names}
    return {name: table.column(name) if kind == "pyarrow" else table.get_column(name) for name in names}


def like(original: Any, values: np.ndarray) -> Any:
    """Numbers as a column of the original's type, or as 64-bit numbers where they do not fit it."""
    limits = _integer_limits(original)
    if limits is not None and values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    whole = values.dtype.kind in "iu"
    fits = limits is None or (whole and (values.size == 0 or limits[0] <= values.min() <= values.max() <= limits[1]))
    if type(original).__module__.startswith("polars"):
        import polars as pl

        return pl.Series(values, dtype=original.dtype if fits else None)
    if isinstance(original, pa.Array | pa.ChunkedArray):
        return pa.array(values).cast(original.type) if fits else pa.array(values)
    import pandas as pd

    return pd.array(values, dtype=original.dtype if fits else values.dtype)


def _integer_limits(original: Any) -> tuple[int, int] | None:
    """Smallest and largest value of an integer column type; None for any other type."""
    dtype = original.type if isinstance(original, pa.Array | pa.ChunkedArray) else original.dtype
    name = str(dtype).lower().removesuffix("[pyarrow]")
    if name.rstrip("0123456789") not in ("int", "uint"):
        return None
    info = np.iinfo(name)
    return int(info.min), int(info.max)


def build(kind: str, columns: Mapping[str, Any]) -> Frame:
    """Build a frame of the given kind from columns in that kind's storage."""
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(dict(columns))
    if kind == "polars":
        import polars as pl

        return pl.DataFrame({name: column.rename(name) for name, column in columns.items()})
    return pa.table(dict(columns))


def take(column: Any, rows: np.ndarray) -> Any:
    """Rows of a column, by number, in the column's own storage."""
    return column.gather(rows) if type(column).__module__.startswith("polars") else column.take(rows)
