"""Frames of any kind a user may hold (pandas, polars, pyarrow): read columns out, build one of the same kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError, gathering

Frame = Any  # pandas.DataFrame, polars.DataFrame or pyarrow.Table; pandas and polars are imported where needed


# What columns of a table are to be, for messages.
DECLARED, IN_USE = "declared", "named in the formula, in `within` or as weights"


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


def require(names_there: Sequence[Any], names: Sequence[str], role: str, listed: bool = True) -> None:
    """Refuse names that are not among a table's column names, or there twice.

    The names of a text file are not to be listed: the first line of one without a header is a record.
    """
    hint = f"its columns are {shown(names_there)}" if listed else f"its header has {len(names_there):,} names"
    with gathering() as problems:
        for name in names:
            if names_there.count(name) != 1:
                problem = "is not in the table" if name not in names_there else "is in the table more than once"
                problems.say(f"column {name!r} ({role}) {problem}; {hint}")


def shown(names: Sequence[Any], most: int = 12) -> str:
    """List names for a message, the first few where there are many."""
    head = ", ".join(repr(name) for name in names[:most])
    return head + (f" and {len(names) - most} more" if len(names) > most else "")


def to_arrow(table: Frame, names: Sequence[str]) -> pa.Table:
    """Chosen columns as Arrow, without a copy where the frame's own storage allows it."""
    kind = kind_of(table)
    columns: list[Any] = []
    with gathering() as problems:
        for name in names:
            with problems:
                columns.append(table.column(name) if kind == "pyarrow" else _convert(table, name, kind))
    return pa.table(dict(zip(names, columns, strict=True)))


def _convert(table: Frame, name: str, kind: str) -> pa.Array:
    try:
        if kind == "polars":
            return pa.array(table.get_column(name).to_arrow())
        return pa.array(table[name], from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):
        # These messages quote the offending value, which may be confidential.
        raise InputError(f"column {name!r} must hold one type of number, text or category, found others") from None


def select(table: Frame, names: Sequence[str]) -> dict[str, Any]:
    """Chosen columns in the frame's own storage, copied: no index, no metadata, no rows or levels of a larger table."""
    kind = kind_of(table)
    if kind == "pandas":
        return {name: _without_unused(table[name].array.copy()) for name in names}
    if kind == "polars":
        return {name: _recoded(table.get_column(name)) for name in names}
    return {name: _compact(table.column(name)) for name in names}


def _without_unused(column: Any) -> Any:
    return column.remove_unused_categories() if hasattr(column, "remove_unused_categories") else column


def _recoded(column: Any) -> Any:
    import polars as pl

    return column.cast(pl.String).cast(pl.Categorical) if column.dtype == pl.Categorical else column.clone()


def _compact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Arrow column in buffers of its own: a slice keeps those of the table it was cut from."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type).dictionary_encode()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column.take(np.arange(len(column)))


def like(original: Any, values: np.ndarray, missing: np.ndarray | None = None, levels: Sequence[Any] = ()) -> Any:
    """Values as a column of the original's type: numbers in 64 bits where they do not fit it; gaps where `missing`.

    A column of categories has these `levels` and no others.
    """
    if values.dtype.kind not in "iuf" or (missing is not None and missing.any()) or _is_categorical(original):
        return _like_labels(original, values, missing, levels)
    limits = _integer_limits(original)
    if limits is not None and values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    whole = values.dtype.kind in "iu"
    fits = _is_float(original)
    if limits is not None and whole:
        fits = values.size == 0 or limits[0] <= values.min() <= values.max() <= limits[1]
    if type(original).__module__.startswith("polars"):
        import polars as pl

        return pl.Series(values, dtype=original.dtype if fits else None)
    if isinstance(original, pa.Array | pa.ChunkedArray):
        return pa.array(values).cast(original.type) if fits else pa.array(values)
    import pandas as pd

    return pd.array(values, dtype=original.dtype if fits else values.dtype)


def _is_categorical(original: Any) -> bool:
    if isinstance(original, pa.Array | pa.ChunkedArray):
        return bool(pa.types.is_dictionary(original.type))
    return str(original.dtype).lower().startswith(("category", "categorical", "enum"))


def _like_labels(original: Any, values: np.ndarray, missing: np.ndarray | None, levels: Sequence[Any]) -> Any:
    """Labels, truth values, or numbers with gaps as a column of the original's type where they fit it."""
    plain = values if values.dtype.kind in "biuf" else values.tolist()
    arrow = pa.array(plain, mask=missing)
    if isinstance(original, pa.Array | pa.ChunkedArray):
        if pa.types.is_dictionary(original.type):
            kind = original.type.value_type
            order = pa.array(list(levels), kind) if levels else arrow.unique().drop_null().cast(kind)
            codes = pa.array(_places(values, order.to_pylist()), pa.int32(), mask=missing)
            return pa.DictionaryArray.from_arrays(codes, order, ordered=original.type.ordered)
        return _cast(arrow, original.type)
    if type(original).__module__.startswith("polars"):
        import polars as pl

        series = pl.Series(values.tolist()) if missing is None else pl.from_arrow(arrow)
        if _is_categorical(original):
            return series.cast(pl.String).cast(original.dtype)
        try:
            return series.cast(original.dtype)
        except pl.exceptions.InvalidOperationError:
            return series
    import pandas as pd

    if _is_categorical(original):
        order = list(levels) or original.categories.tolist()
        filled = [None if gone else value for value, gone in zip(values.tolist(), _mask(values, missing), strict=True)]
        return pd.Categorical(filled, categories=order, ordered=original.ordered)
    try:
        return pd.array(arrow.to_pandas(), dtype=original.dtype)
    except (TypeError, ValueError):
        return pd.array(arrow.to_pandas())


def _places(values: np.ndarray, order: list[Any]) -> list[int]:
    place = {level: i for i, level in enumerate(order)}
    return [place.get(value, 0) for value in values.tolist()]


def _mask(values: np.ndarray, missing: np.ndarray | None) -> np.ndarray:
    return np.zeros(len(values), bool) if missing is None else missing


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return column.cast(kind)
    except pa.ArrowException:
        return column


def _integer_limits(original: Any) -> tuple[int, int] | None:
    """Smallest and largest value of an integer column type; None for any other type."""
    name = _type_name(original)
    if name.rstrip("0123456789") not in ("int", "uint"):
        return None
    info = np.iinfo(name)
    return int(info.min), int(info.max)


def _is_float(original: Any) -> bool:
    return _type_name(original) in ("float", "float32", "float64", "double")


def _type_name(original: Any) -> str:
    dtype = original.type if isinstance(original, pa.Array | pa.ChunkedArray) else original.dtype
    return str(dtype).lower().removesuffix("[pyarrow]")


def build(kind: str, columns: Mapping[str, Any]) -> Frame:
    """Build a frame of the given kind from columns in that kind's storage."""
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(dict(columns))
    if kind == "polars":
        import polars as pl

        return pl.DataFrame({name: column.rename(name) for name, column in columns.items()})
    return pa.table(dict(columns))


def take_rows(table: Frame, rows: np.ndarray) -> Frame:
    """Rows of a frame, by number."""
    kind = kind_of(table)
    if kind == "pandas":
        return table.iloc[rows]
    return table[rows] if kind == "polars" else table.take(rows)


def take(column: Any, rows: np.ndarray) -> Any:
    """Rows of a column, by number, in the column's own storage."""
    return column.gather(rows) if type(column).__module__.startswith("polars") else column.take(rows)
