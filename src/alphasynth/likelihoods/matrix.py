"""`LogLik`: an S x n matrix of log-likelihoods, draws by records, that is read block by block and never held whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from alphasynth.errors import InputError, found

AT_ONCE = 1 << 21  # numbers of a block: 16 MB
SAY_SO = "say records_in='columns' (--records-in columns) if a column is a record indeed"


class Block(NamedTuple):
    """A part of the matrix: values (draws, records) from draw `draw` and record `record` on."""

    draw: int
    record: int
    values: np.ndarray


@runtime_checkable
class LogLik(Protocol):
    """A matrix of log p(x_i | theta_s), one row per draw s and one column per record i (confidential)."""

    @property
    def shape(self) -> tuple[int, int]:
        """S and n."""
        ...

    def blocks(self) -> Iterator[Block]:
        """All parts, each once; may be asked for again."""
        ...


@dataclass(frozen=True, eq=False)
class Held:
    """A matrix in memory, or mapped into it; axes before the last are all of draws (chains, say)."""

    values: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no matrix of numbers."""
        if self.values.ndim < 2:
            raise InputError(f"log_lik must have a row per draw and a column per record, found {self.values.ndim} axes")
        if self.values.dtype.kind not in "fiu":
            raise InputError(f"log_lik must hold numbers, found {self.values.dtype} values")

    @property
    def shape(self) -> tuple[int, int]:
        """S and n."""
        return int(np.prod(self.values.shape[:-1])), self.values.shape[-1]

    def blocks(self) -> Iterator[Block]:
        """Some draws at a time."""
        matrix = self.values.reshape(self.shape)
        for draw, record in _corners(*self.shape):
            draws, records = _extent(self.shape)
            part = matrix[draw : draw + draws, record : record + records]
            yield Block(draw, record, np.asarray(part, np.float64))


@dataclass(frozen=True, eq=False)
class Mapped:
    """A matrix in a .npy file, mapped anew for each part, so that what was read does not stay in memory."""

    path: Path
    shape: tuple[int, int]

    @classmethod
    def open(cls, path: Path) -> Mapped:
        """A file's matrix; raise what NumPy raises of other files, and `InputError` of what is no matrix."""
        return cls(path, Held(np.load(path, mmap_mode="r")).shape)

    def blocks(self) -> Iterator[Block]:
        """Some draws at a time; of a file that holds record after record (Fortran's order), some records."""
        turned = np.load(self.path, mmap_mode="r").flags.f_contiguous
        shape = self.shape[::-1] if turned else self.shape
        extent = _extent(shape)
        draws, records = extent[::-1] if turned else extent
        for corner in _corners(*shape):
            draw, record = corner[::-1] if turned else corner
            matrix = np.load(self.path, mmap_mode="r").reshape(self.shape)
            part = np.array(matrix[draw : draw + draws, record : record + records], np.float64)
            del matrix
            yield Block(draw, record, part)


def _extent(shape: tuple[int, int]) -> tuple[int, int]:
    """Draws and records of a block of a matrix of this shape."""
    records = max(1, min(shape[1], AT_ONCE))
    return max(1, AT_ONCE // records), records


def _corners(num_draws: int, n: int) -> Iterator[tuple[int, int]]:
    draws, records = _extent((num_draws, n))
    for draw in range(0, num_draws, draws):
        for record in range(0, n, records):
            yield draw, record


@dataclass(frozen=True, eq=False)
class Turned:
    """A matrix whose file has a row per record and a column per draw."""

    other: LogLik

    @property
    def shape(self) -> tuple[int, int]:
        """S and n."""
        rows, columns = self.other.shape
        return columns, rows

    def blocks(self) -> Iterator[Block]:
        """The other's, turned."""
        for block in self.other.blocks():
            yield Block(block.record, block.draw, block.values.T)


@dataclass(frozen=True, eq=False)
class Stacked:
    """Matrices of the same records, one after another: the files of several chains."""

    parts: tuple[LogLik, ...]

    def __post_init__(self) -> None:
        """Refuse parts of different records."""
        sizes = sorted({part.shape[1] for part in self.parts})
        if len(sizes) > 1:
            raise InputError(f"matrices of several chains must have the same records, found {_listed(sizes)} columns")

    @property
    def shape(self) -> tuple[int, int]:
        """S of all and n."""
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    def blocks(self) -> Iterator[Block]:
        """The parts' in turn."""
        first = 0
        for part in self.parts:
            for block in part.blocks():
                yield Block(first + block.draw, block.record, block.values)
            first += part.shape[0]


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(f"{number:,}" for number in numbers)


@dataclass(frozen=True, eq=False)
class Checked:
    """A matrix whose every entry was looked at (confidential): extremes by record, and whether some are -inf.

    `highest` and `lowest` are the largest and the smallest f over draws by record (n,).
    """

    log_lik: LogLik
    highest: np.ndarray = field(repr=False)
    lowest: np.ndarray = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """S and n."""
        return self.log_lik.shape


def check(log_lik: LogLik, densities: bool, looks_turned: bool) -> Checked:
    """Look at every entry once; raise `InputError` for what no log-likelihood can be.

    Probabilities are at most 1, so a log-likelihood above 0 is one of `densities`, which must be said. With
    `looks_turned` a matrix whose rows differ more than its columns is refused: records differ, draws hardly do.
    """
    num_draws, n = log_lik.shape
    if num_draws < 1 or n < 2:
        raise InputError(f"log_lik must have draws and at least two records, found {num_draws:,} x {n:,}")
    highest, lowest = np.full(n, -np.inf), np.full(n, np.inf)
    by_draw, by_record = np.zeros(num_draws), np.zeros(n)
    for block in log_lik.blocks():
        values = block.values
        rows = slice(block.draw, block.draw + values.shape[0])
        columns = slice(block.record, block.record + values.shape[1])
        if np.isnan(values).any():
            raise InputError("log_lik must hold numbers, found entries that are not a number (NaN)")
        top, bottom = values.max(axis=0), values.min(axis=0)
        highest[columns] = np.maximum(highest[columns], top)
        lowest[columns] = np.minimum(lowest[columns], bottom)
        finite = values if np.isfinite(bottom).all() else np.where(np.isfinite(values), values, 0.0)
        by_draw[rows] += finite.sum(axis=1) / n
        by_record[columns] += finite.sum(axis=0) / num_draws
    if (highest == np.inf).any():
        raise InputError("log_lik must be below infinity, found entries that are +inf")
    if not densities and (highest > 0).any():
        raise InputError(
            "log_lik must be logarithms of probabilities, at most 0, found entries above 0: say densities=True "
            "(--densities) if the response is continuous; its bounds then hang on the unit of measurement"
        )
    if looks_turned and num_draws > 1 and by_draw.var() > by_record.var():
        raise InputError(
            "log_lik must have one row per draw and one column per record, found rows that differ more than columns "
            f"do, as in a matrix that is transposed: say records_in='rows' (--records-in rows), or {SAY_SO}"
        )
    return Checked(log_lik, highest, lowest)


def largest_by_draw(log_lik: LogLik, alpha: np.ndarray) -> np.ndarray:
    """Largest alpha_i |f_i| of each draw (S,), as Supplement 1 has it."""
    from alphasynth.inference.contribution import weighted

    largest = np.zeros(log_lik.shape[0])
    for block in log_lik.blocks():
        draws, records = block.values.shape
        some = alpha[block.record : block.record + records]
        part = weighted(some, np.abs(block.values)).max(axis=1)
        rows = slice(block.draw, block.draw + draws)
        largest[rows] = np.maximum(largest[rows], part)
    return largest


def extremes(log_lik: LogLik, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest and smallest f by record (n,) over the draws that a mask keeps."""
    n = log_lik.shape[1]
    highest, lowest = np.full(n, -np.inf), np.full(n, np.inf)
    for block in log_lik.blocks():
        draws, records = block.values.shape
        values = block.values[keep[block.draw : block.draw + draws]]
        columns = slice(block.record, block.record + records)
        highest[columns] = np.maximum(highest[columns], values.max(axis=0, initial=-np.inf))
        lowest[columns] = np.minimum(lowest[columns], values.min(axis=0, initial=np.inf))
    return highest, lowest


def require_n(name: str, number: int, log_lik: LogLik) -> None:
    """Refuse what has another number of records than the matrix."""
    if number != log_lik.shape[1]:
        raise InputError(f"{name} must have one entry per column of log_lik, {log_lik.shape[1]:,}, found {number:,}")


def check_place(records_in: object) -> None:
    """Refuse what is no place of records."""
    if records_in not in (None, "columns", "rows"):
        raise InputError(f"records_in must be 'columns' or 'rows', found {found(records_in)}")
