"""Public columns as they are released: in the types that the table has, and in an order that tells nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alphasynth.errors import InputError
from alphasynth.tables.grouping import Grouped

# What a model file says of its marks.
MARKED = """\
# read_off_the_table lists what was read off the confidential table, and is public only once somebody says so: check it,
# then take its name out of the list. Missing, listed without a line of its own: no gaps were seen. At the top stand
# columns that were left out for what they hold. A strict mechanism refuses what is still listed, unless told
# --confirm-public NAME,... or all.
"""


def as_type(
    column: pa.ChunkedArray, kind: pa.DataType, levels: pa.Array | None = None, known_order: bool = True
) -> pa.ChunkedArray:
    """Column in the type that the stored table has; categories hold the levels that occur and no others.

    Levels keep the given order, and those that are not in it come after, sorted: no other column has a say in it.
    """
    try:
        if not pa.types.is_dictionary(kind):
            return column.cast(kind) if column.type != kind else column
        plain = column.cast(kind.value_type).combine_chunks()
        occurring = plain.unique().drop_null()
        occurring = occurring.take(pc.sort_indices(occurring))
        # Levels in the order in which they first appear tell the order of rows; where that is hidden, they are sorted.
        known = pa.array([], kind.value_type)
        if levels is not None and (known_order or kind.ordered):
            known = levels.cast(kind.value_type)
        new = occurring.filter(pc.invert(pc.is_in(occurring, known)))
        if kind.ordered and len(new):
            raise InputError("ordered categories must have one list of levels throughout a file, found several")
        order = pa.concat_arrays([known.filter(pc.is_in(known, occurring)), new])
        codes = pc.index_in(plain, order).cast(kind.index_type)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, order, ordered=kind.ordered)])
    except pa.ArrowException:
        raise InputError(f"public columns must have types that can be released, found {kind}") from None


def sorted_by_public(grouped: Grouped) -> Grouped:
    """With rows in the order of their public columns, which alone decides it; lines as often as they have rows."""
    names = [f"k{i}" for i in range(grouped.public.num_columns)]
    numbered = pa.table([_plain(column) for column in grouped.public.columns], names)
    try:
        order = pc.sort_indices(numbered, sort_keys=[(name, "ascending") for name in names]).to_numpy()
    except pa.ArrowException:
        raise InputError("public columns must be numbers, text, dates or times to be sorted, found others") from None
    return replace(grouped, index=np.repeat(order.astype(np.int32), grouped.counts[order]))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


# Fewer rows may well be in order by chance.
ROWS_FOR_ORDER = 20
# Correlation of the response's rank with the row's number; without an order it is below 5 / sqrt(n).
NEARLY_SORTED = 0.95


def refuse_sorted(grouped: Grouped) -> None:
    """Refuse rows in the order of a confidential column: with public columns released row by row, it would be told."""
    public = set(grouped.public.column_names)
    for place, name in enumerate(grouped.columns.column_names):
        if name not in public:
            _refuse_sorted_by(grouped, place)


def _refuse_sorted_by(grouped: Grouped, place: int) -> None:
    response = grouped.columns.column(place)
    if grouped.index is None or len(grouped.index) < ROWS_FOR_ORDER or len(response.unique()) < 2:
        return
    try:
        ranks = pc.rank(response.combine_chunks(), tiebreaker="dense").to_numpy()[grouped.index].astype(np.int64)
    except pa.ArrowException:
        return  # no numbers or text: the model will say so
    steps = np.diff(ranks)
    alike = abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
    if (steps >= 0).all() or (steps <= 0).all() or alike > NEARLY_SORTED:
        name = grouped.columns.column_names[place]
        raise InputError(
            f"the rows are sorted, or nearly so, by {name!r}, and their order would be released with the public columns"
            f"; shuffle the table, or have it released in the order of its public columns (sort_rows, --sort-rows)"
        )
