"""Gaps in the columns of a table model: declared, dropped, or turned into indicators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.errors import Gathering, InputError
from alphasynth.models.table_model import TableModel
from alphasynth.tables.frames import Frame, take_rows, to_arrow
from alphasynth.tables.gaps import gap_counts, missing, split_gaps
from alphasynth.tables.grouping import Grouped


def settle_gaps(model: TableModel, gaps: Mapping[str, int], strict: bool, problems: Gathering | None) -> TableModel:
    """The model with its columns' gaps declared: modelled unless told.

    A strict mechanism must not learn from the table that there are any; where there are `problems` that is one of them.
    """
    settled, wrong = {}, Gathering() if problems is None else problems
    for column in model.columns:
        if strict and column.declared.missing == "drop":
            wrong.say(
                f"a strict mechanism must not drop rows with gaps in {column.name!r}: how many were left out would be "
                'told; declare missing = "model" or "public", or take them out beforehand, found "drop"'
            )
        if column.declared.missing is None and column.name in gaps:
            if strict:
                wrong.say(
                    f"column {column.name!r} has gaps, and a strict mechanism must be told so beforehand: declare "
                    'missing = "model" or "public", found nothing declared'
                )
            settled[column.name] = replace(column.declared, missing="model")
    if problems is None:
        wrong.refuse()
    return model.with_declared(settled)


def settle_levels(columns: pa.Table, model: TableModel) -> TableModel:
    """The model with the levels of columns with gaps that were not declared: a gap's stand-in must be one of them."""
    found = {}
    for column in model.columns:
        declared = column.declared
        if declared.missing in ("model", "public") and column.traits.levels and not declared.levels:
            column_values = columns.column(column.name)
            values = column_values.filter(pc.invert(missing(column_values)))
            kind = column_values.type.value_type if pa.types.is_dictionary(column_values.type) else column_values.type
            found[column.name] = replace(declared, levels=tuple(sorted(values.cast(kind).unique().to_pylist())))
    return model.with_declared(found)


def keep_whole(columns: pa.Table, model: TableModel) -> np.ndarray | None:
    """Which rows stay where gaps are to be dropped; None where all do."""
    dropped = [c.name for c in model.columns if c.declared.missing == "drop" and c.name in columns.column_names]
    if not dropped:
        return None
    keep = np.ones(columns.num_rows, bool)
    for name in dropped:
        keep &= ~np.asarray(missing(columns.column(name)))
    return None if keep.all() else keep


def without_gaps(grouped: Grouped, model: TableModel, strict: bool, problems: Gathering) -> tuple[Grouped, TableModel]:
    """A grouped table whose columns have no gaps but in their indicators, and the model with its gaps settled.

    Gaps that a strict mechanism was not told of are `problems`, and taken as modelled.
    """
    model = settle_gaps(model, gap_counts(grouped.columns, grouped.counts), strict, problems)
    told = next((c.name for c in model.columns if c.declared.missing == "public"), None)
    if told is not None and grouped.index is None:
        raise InputError(
            f"gaps of {told!r} are public row by row, which needs the rows in their order: declare a column public, or "
            "use --by-row with a file, found neither"
        )
    keep = keep_whole(grouped.columns, model)
    if keep is not None:
        place = np.cumsum(keep) - 1
        index = None if grouped.index is None else place[grouped.index[keep[grouped.index]]].astype(np.int32)
        rows = None
        if grouped.index is not None:
            numbers = np.arange(len(grouped.index)) if grouped.rows is None else grouped.rows
            rows = numbers[keep[grouped.index]]
        columns, public = grouped.columns.filter(pa.array(keep)), grouped.public
        public = public.filter(pa.array(keep)) if public.num_columns else public  # without columns it has no lines
        grouped = replace(grouped, columns=columns, public=public, counts=grouped.counts[keep], index=index, rows=rows)
    if not strict:
        model = settle_levels(grouped.columns, model)
    return replace(grouped, columns=split_gaps(grouped.columns, model.declared)), model


def frame_without_gaps(
    table: Frame, names: Sequence[str], model: TableModel, strict: bool, problems: Gathering | None = None
) -> tuple[Frame, pa.Table, TableModel]:
    """A frame without the rows to be dropped, its columns without gaps, and the model with its gaps settled.

    Gaps that a strict mechanism was not told of are `problems`, and taken as modelled.
    """
    columns = to_arrow(table, names)
    model = settle_gaps(model, gap_counts(columns, None), strict, problems)
    keep = keep_whole(columns, model)
    if keep is not None:
        table = take_rows(table, np.flatnonzero(keep))
        columns = columns.filter(pa.array(keep))
    if not strict:
        model = settle_levels(columns, model)
    return table, split_gaps(columns, model.declared), model
