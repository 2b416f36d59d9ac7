"""Lines of a text file with more fields than the header, of which the last are empty: the engine drops these."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import duckdb

from alphasynth.tables.compressed import opened
from alphasynth.tables.engine import connect

# With these a field that is not there is a missing value, and an empty one is not.
PADDED = ", null_padding=true, parallel=false, nullstr='\x01'"


class Longer(NamedTuple):
    """How many rows have more fields than the header, of how many, and which is the first of them, where one knows."""

    rows: int
    of: int
    first: int | None

    @property
    def where(self) -> str:
        """For a message."""
        return "" if self.first is None else f", row {self.first:,} after the header,"


@lru_cache(maxsize=64)
def ends_empty(path: Path, _version: tuple[int, int], mark: str, encoding: str) -> bool:
    """Whether a line may end in an empty field: a delimiter stands before a line's end, or at the file's."""
    sought = mark.encode("utf-16-le" if encoding == "utf-16" else encoding)
    kept, half = b"", len(sought) // 2
    with opened(path) as file:
        while part := file.read(1 << 20):
            if sought in (kept := kept + part):
                return True
            kept = kept[-len(sought) :]
    return kept.endswith(sought[:half])


@lru_cache(maxsize=64)
def longer_rows(scan: str, padded: str, width: int, _version: tuple[int, int]) -> Longer:
    """Rows with more fields than so many; where lines cannot be read at all, none: who reads them says why."""
    last, engine = f"c{width} IS NOT NULL", connect()
    numbered = f"SELECT *, row_number() OVER () AS n FROM {padded}"
    query = f"SELECT count(*) FILTER (WHERE {last}), count(*), min(n) FILTER (WHERE {last}) FROM ({numbered})"
    try:
        return Longer(*engine.execute(query).fetchall()[0])
    except duckdb.Error:
        several = 2  # empty fields more than the header in one line, or the file is broken
    try:
        engine.execute(f"SELECT count(c0) FROM {scan}").fetchall()
    except duckdb.Error:
        return Longer(0, 0, None)
    return Longer(1, several, None)
