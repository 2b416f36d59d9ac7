"""Marks that stand by names instead of on a plane: maps, shares of named groups, named estimates with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Tiles:
    """A map: a number for every two names, NaN where there is none; of a square the names `across` are those down.

    Numbers from -`full` to `full` have colours; `tips` (rows, columns) say what a tile is where more than its number
    is to be said.
    """

    names: tuple[str, ...]
    values: np.ndarray
    series: str = ""
    across: tuple[str, ...] = ()
    full: float = 1.0
    tips: tuple[tuple[str, ...], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        return self.across or self.names

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Lines of the CSV file: of a square each pair once."""
        for i, one in enumerate(self.names):
            for j, other in enumerate(self.across or self.names[:i]):
                pair = f"{one} with {other}" if self.across else f"{other} with {one}"
                yield {"series": self.series, "mark": pair, "x": self.values[i, j]}


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of records in named groups (groups,), which stand beside those of other series."""

    series: str
    names: tuple[str, ...]
    shares: np.ndarray

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Lines of the CSV file."""
        for name, share in zip(self.names, self.shares, strict=True):
            yield {"series": self.series, "mark": name, "y": share}


@dataclass(frozen=True, eq=False)
class Intervals:
    """Named estimates (names,) with the `low` and `high` end of each one's interval, and what to say of each."""

    series: str
    names: tuple[str, ...]
    estimates: np.ndarray
    low: np.ndarray
    high: np.ndarray
    tips: tuple[str, ...]

    def numbers(self) -> Iterator[dict[str, Any]]:
        """Lines of the CSV file."""
        for name, middle, low, high in zip(self.names, self.estimates, self.low, self.high, strict=True):
            yield {"series": self.series, "mark": name, "x": middle}
            if np.isfinite(low):
                yield {"series": self.series, "mark": f"{name}, 95 % interval", "x": low, "x_to": high}
