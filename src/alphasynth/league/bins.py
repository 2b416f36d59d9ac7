"""How peers see a column: the blocks of its declared cells as bins, and values drawn evenly within them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alphasynth.raking.cells import Cells


def told(cells: Cells, singles: Sequence[float] | None = None) -> dict[str, Any]:
    """A column's bins in numbers: its `levels`, or `edges` and `singles`, values with bins of their own.

    These are what the cells have apart unless told: zero, and what is declared to be heaped. A bin of whole numbers
    holds those from its edge to below the next.
    """
    gap = {"gap": True} if cells.gap else {}
    if cells.levels:
        return {"levels": list(cells.levels)} | gap
    numbers = cells.block[: len(cells.lower)]
    first = np.unique(numbers, return_index=True)[1]
    edges = [*cells.lower[first].tolist(), float(cells.upper[-1] + cells.whole)]
    own = cells.lower[first][cells.apart].tolist() if singles is None else list(singles)
    return {"edges": edges, "whole": cells.whole, "singles": own} | gap


@dataclass(frozen=True, eq=False)
class Bins:
    """Bin k holds numbers from `lower[k]` to `upper[k]`, a single one where equal, or is a level; the last, gaps.

    >>> Bins.of({"edges": [0.0, 2.0, 10.0], "whole": True, "singles": [0.0]}).upper.tolist()
    [0.0, 1.0, 9.0]
    """

    lower: np.ndarray = field(repr=False)
    upper: np.ndarray = field(repr=False)
    whole: bool = False
    gap: bool = False

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Bins:
        """Bins from what is told of them; those of text are numbered."""
        gap = bool(told.get("gap", False))
        if "levels" in told:
            text = isinstance(told["levels"][0], str)
            levels = np.arange(len(told["levels"]), dtype=float) if text else np.array(told["levels"], float)
            return cls(levels, levels, False, gap)
        edges, singles, whole = told["edges"], told["singles"], told["whole"]
        after = [value + 1 if whole else float(np.nextafter(value, np.inf)) for value in singles]
        starts = np.unique([*edges[:-1], *singles, *(start for start in after if start < edges[-1])])
        ends = np.append(starts[1:], edges[-1]) - whole
        return cls(starts, np.where(np.isin(starts, singles), starts, ends), whole, gap)

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.lower) + self.gap

    def encode(self, values: np.ndarray) -> np.ndarray:
        """The bin (n,) of each number, none of them a gap."""
        return np.clip(np.searchsorted(self.lower, values, side="right") - 1, 0, len(self.lower) - 1)

    def decode(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A value (n,) drawn evenly within each bin, of text the level's number; and which are gaps."""
        gone = (codes == self.size - 1) & self.gap
        inside = np.where(gone, 0, codes)
        low, high, share = self.lower[inside], self.upper[inside], rng.random(len(codes))
        if self.whole:
            return np.floor(low + share * (high - low + 1)), gone
        return low + share * (high - low), gone
