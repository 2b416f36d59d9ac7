"""Types of a strict release: made of declarations and families alone, whatever the confidential table stores.

A stored type tells of records: pandas writes whole numbers as fractions where one is missing, writers pick widths by
the largest value, categories list what occurs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from alphasynth.models.families import holds_whole
from alphasynth.models.table_model import TableModel
from alphasynth.synthesis.simulation import Layout
from alphasynth.tables.declared import Declared


def type_of(family: str, declared: Declared) -> pa.DataType:
    """Text, truth values, whole numbers or numbers: what the levels are, else what the family makes.

    >>> type_of("bernoulli", Declared(levels=("f", "m"))), type_of("poisson", Declared())
    (DataType(string), DataType(int64))
    """
    return declared_type(declared, holds_whole(family, declared))


def declared_type(declared: Declared, whole: bool) -> pa.DataType:
    """Dates, text, truth values, whole numbers or numbers: what was declared, and whether numbers are whole."""
    levels = declared.levels
    if declared.dates:
        return pa.date32()
    if not levels:
        return pa.int64() if whole else pa.float64()
    if isinstance(levels[0], str):
        return pa.string()
    if all(isinstance(level, bool) for level in levels):
        return pa.bool_()
    return pa.int64() if all(isinstance(level, int) for level in levels) else pa.float64()


def with_public_types(layout: Layout, model: TableModel) -> Layout:
    """A layout whose synthesized columns have the types that declarations make."""
    made = {}
    for name in layout.empty:
        column = model.column(name)
        kind = type_of(column.family, column.declared) if column.own is None else None
        made[name] = empty_column(layout.kind, kind, column.declared.missing in ("model", "public"))
    return replace(layout, empty=made, by_declaration=True)


def empty_column(frame: str, kind: pa.DataType | None, gaps: bool) -> Any:
    """A column without rows; without a `kind`, of a type that no values have, so that a model's own decide it."""
    if frame == "pyarrow":
        return pa.array([], kind or pa.null())
    if frame == "polars":
        import polars as pl

        return pl.Series([], dtype=pl.Null) if kind is None else pl.Series(pl.from_arrow(pa.array([], kind)))
    import pandas as pd

    names = {
        None: "object",
        pa.int64(): "Int64" if gaps else "int64",
        pa.float64(): "float64",
        pa.bool_(): "boolean" if gaps else "bool",
        pa.string(): "str",
        pa.date32(): "datetime64[s]",
    }
    return pd.Series([], dtype=names[kind]).array
