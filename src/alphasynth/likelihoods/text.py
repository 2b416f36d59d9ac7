"""Matrices in text files, line by line: Stan's CSV, R's write.csv, numbers alone."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from alphasynth.errors import InputError
from alphasynth.likelihoods.matrix import AT_ONCE, Block
from alphasynth.likelihoods.names import chosen

DELIMITERS = ",;\t "
WARM_UP = re.compile(r"#\s*save_warmup\s*=\s*(1|true)\b", re.IGNORECASE)  # CmdStan's word on what the file holds


@dataclass(frozen=True, eq=False)
class TextMatrix:
    """A text file with one line per row of the matrix; lines that begin with # are comments, as Stan writes them.

    `width` are the numbers of a line, `columns` the places of those that are taken; `header`: whether the first line
    has names.
    """

    path: Path
    delimiter: str
    header: bool
    width: int
    columns: np.ndarray = field(repr=False)
    lines: int

    @property
    def shape(self) -> tuple[int, int]:
        """Lines and columns taken."""
        return self.lines, len(self.columns)

    def blocks(self) -> Iterator[Block]:
        """Some lines at a time."""
        first, rows = 0, []
        for number, line in _lines(self.path, self.header):
            rows.append(self._numbers(number, line))
            if len(rows) * self.width >= AT_ONCE:
                yield Block(first, 0, np.stack(rows))
                first, rows = first + len(rows), []
        if rows:
            yield Block(first, 0, np.stack(rows))

    def _numbers(self, number: int, line: str) -> np.ndarray:
        """A line's numbers; quotes are of row names, which come first."""
        parts = line.count(self.delimiter) + 1
        if parts != self.width:
            raise InputError(
                f"each line of log_lik must hold {self.width:,} entries, found {parts:,} in line {number:,}"
            )
        if line.startswith('"'):
            line = "0" + line[line.index('"', 1) + 1 :]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                row = np.fromstring(line, np.float64, sep=self.delimiter)
            except (DeprecationWarning, ValueError):
                row = np.empty(0)
        if len(row) != self.width:
            raise InputError(f"log_lik must hold numbers, found an entry that is none in line {number:,}")
        return row[self.columns]


def open_text(path: Path, name: str) -> TextMatrix:
    """A text file's matrix; names and delimiter are read off its first line."""
    try:
        _, start = next(_lines(path, False), (0, ""))
        delimiter = next((mark for mark in DELIMITERS if mark in start), ",")
        names = next(csv.reader([start], delimiter=delimiter), [])
        header = _is_header(names)
        names = _with_row_names(path, delimiter, names) if header else names
        columns = chosen(names, name) if header else list(range(len(names)))
        lines = sum(1 for _ in _lines(path, header))
    except UnicodeDecodeError:
        raise InputError(f"log_lik must be a text file, found other bytes in {path.name!r}") from None
    return TextMatrix(path, delimiter, header, len(names), np.array(columns, np.int64), lines)


def _is_header(names: list[str]) -> bool:
    """Whether the first line holds names: no numbers, but for one before them, or the numbers of the columns.

    >>> _is_header(["a", "b"]), _is_header(["0", "1", "2"]), _is_header(["-1.5", "-2"]), _is_header(["", "V1", "V2"])
    (True, True, False, True)
    """
    numbers = [_is_number(name) for name in names]
    if all(numbers):
        counted = [str(i) for i in range(len(names) + 1)]
        return len(names) > 1 and names in (counted[:-1], counted[1:])
    if any(numbers[1:]):
        raise InputError("the first line of log_lik must hold names or numbers, found some of both")
    return True


def _with_row_names(path: Path, delimiter: str, names: list[str]) -> list[str]:
    """Names of all columns: R's write.table leaves out that of the row names."""
    _, second = next(_lines(path, True), (0, ""))
    return ["", *names] if second.count(delimiter) == len(names) else names


def _lines(path: Path, skip_names: bool) -> Iterator[tuple[int, str]]:
    """Lines that hold something, with their numbers from 1."""
    with path.open(encoding="utf-8-sig") as file:
        for number, raw in enumerate(file, start=1):
            line = raw.strip("\r\n ")
            if WARM_UP.match(line):
                raise InputError("log_lik must be of draws alone, found warm-up among them (save_warmup)")
            if not line or line.startswith("#"):
                continue
            if skip_names:
                skip_names = False
                continue
            yield number, line


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
