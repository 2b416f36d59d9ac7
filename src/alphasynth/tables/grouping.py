"""`Grouped`: distinct rows and their counts, as the engine that holds a table delivers them; `Stored`, such a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Unit:
    """The unit of privacy where it is not one row: all rows with one value of `column`, of which `max_rows` stay."""

    column: str
    max_rows: int


@dataclass(frozen=True, eq=False)
class Grouped:
    """Distinct rows of the columns in use (confidential), one line each.

    `columns` holds those that the model reads, the response first; `public` those to be released, as they are to be
    released. `counts` is the number of table rows on each line; `index` the line of each table row in the order of the
    release, or None where nothing is released row by row and the order was not asked for. `types` are those in
    which the table stores the columns that the model reads, and `rows` the numbers of the rows that take part where
    not all do.
    """

    columns: pa.Table = field(repr=False)
    public: pa.Table = field(repr=False)
    counts: np.ndarray = field(repr=False)
    index: np.ndarray | None = field(repr=False)
    types: Mapping[str, pa.DataType]
    rows: np.ndarray | None = field(default=None, repr=False)
    unit: Unit | None = None


# Whole-number sums over the rows of some batches: those of all parts of a table add up to the table's.
Adding = Callable[[Iterable[pa.RecordBatch]], np.ndarray]
# Rows that come out of an engine at a time.
ROWS_AT_A_TIME = 1_000_000


@runtime_checkable
class Stored(Protocol):
    """A table at rest, in a file or a database, which its engine groups: only distinct rows and counts come out."""

    @property
    def column_names(self) -> Sequence[str]:
        """Names of all columns, in the table's order."""
        ...

    @property
    def names_are_public(self) -> bool:
        """Whether messages may list them."""
        ...

    def group(self, names: Sequence[str], public: Sequence[str]) -> Grouped:
        """Group the columns that the model reads (`names`, the response first) and those to be released (`public`)."""
        ...


@runtime_checkable
class Streamed(Protocol):
    """A table at rest whose rows come out of its engine so many at a time."""

    @property
    def column_names(self) -> Sequence[str]:
        """Names of all columns, in the table's order."""
        ...

    @property
    def names_are_public(self) -> bool:
        """Whether messages may list them."""
        ...

    @property
    def unit(self) -> Unit | None:
        """The unit of privacy, where it is not one row."""
        ...

    def stream(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows that take part, on these columns and in no order that matters, so many at a time."""
        ...

    def sample(self, names: Sequence[str], rows: int) -> pa.Table:
        """So many of the rows that take part, at random, or all there are, on these columns."""
        ...

    @property
    def adds_up_itself(self) -> bool:
        """Whether its engine adds up sums where the rows are, on as many machines as it has."""
        ...

    def add_up(self, names: Sequence[str], adding: Adding) -> np.ndarray:
        """Sums over the rows that take part, on these columns; they are the same rows each time."""
        ...
