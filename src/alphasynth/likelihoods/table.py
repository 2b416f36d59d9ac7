"""Records one by one: each row of the table for itself, as the columns of a matrix of log-likelihoods have them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError
from alphasynth.tables.frames import column_names, require
from alphasynth.tables.opening import open_table
from alphasynth.tables.records import Records

RESPONSE = "response"


def identity_records(n: int) -> Records:
    """n records of which nothing is known."""
    return Records(RESPONSE, {}, np.ones(n, np.int64), np.arange(n))


def records_of(table: Any, response: str | None, within: Sequence[str]) -> Records:
    """The records of an array of the response, or of a frame or file in which `response` names it, row by row."""
    if isinstance(table, str | Path):
        distinct = _of_stored(str(table), response, within)
    elif hasattr(table, "columns"):
        distinct = Records.from_table(table, [_response(column_names(table), response), *within])
    else:
        values = np.asarray(table)
        if values.ndim != 1 or values.dtype.kind not in "fiub":
            raise InputError("records must be the response's numbers, or a table with `response`, found another thing")
        if within:
            raise InputError("records must be a table where `within` names columns, found the response alone")
        distinct = Records.from_table(pa.table({RESPONSE: values}), [RESPONSE])
    rows = distinct.rows_in_order
    columns = {name: column[rows] for name, column in distinct.columns.items()}
    return Records(distinct.response, columns, np.ones(len(rows), np.int64), np.arange(len(rows)))


def _of_stored(address: str, response: str | None, within: Sequence[str]) -> Records:
    stored = open_table(address, in_order=True)
    names = [_response(stored.column_names, response), *within]
    require(stored.column_names, names, "named as the response or in `within`", stored.names_are_public)
    return Records.from_grouped(stored.group(names, ()))


def _response(names: Sequence[str], response: str | None) -> str:
    """The column that is synthesized: the one named, or the only one."""
    if response is None and len(names) != 1:
        raise InputError(f"response must name one of the {len(names)} columns of records, found none")
    return names[0] if response is None else response
