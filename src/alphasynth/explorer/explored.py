"""What is explored: a mechanism on records, whose fit at any setting can be made, or be stood for by stored draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from alphasynth.explorer.dial import Dial, Setting
from alphasynth.explorer.pool import Pool, Standing, Terms
from alphasynth.mechanisms.binding import BoundTable
from alphasynth.privacy.randomness import Key


@dataclass(frozen=True, eq=False)
class Bounds:
    """What a setting comes to (confidential): weight and bound by row, the largest bound, epsilon of all draws."""

    weights: np.ndarray = field(repr=False)
    by_row: np.ndarray = field(repr=False)
    overall: float
    epsilon: float


class Explored(Protocol):
    """A mechanism whose numbers can be turned (confidential)."""

    @property
    def bound(self) -> BoundTable:
        """Model and records."""
        ...

    @property
    def dials(self) -> tuple[Dial, ...]:
        """The numbers that decide what rows add."""
        ...

    @property
    def driven(self) -> str | None:
        """The dial that is turned where an epsilon is asked for; None where epsilon is a dial itself."""
        ...

    @property
    def first_dials(self) -> tuple[Dial, ...]:
        """Those that decide what rows add in the first round, which needs no draws."""
        ...

    def rounds(self, setting: Setting, pool: Pool | None) -> tuple[Terms, ...]:
        """What rows add in each round of weights at a setting, as far as a pool of draws can tell."""
        ...

    def draw(self, key: Key, terms: Terms, setting: Setting) -> np.ndarray:
        """Draws u (S, D) of a fit in which rows add this; raises `DiagnosticsError`."""
        ...

    def bounds(self, setting: Setting, pool: Pool, terms: Terms, standing: Standing) -> Bounds:
        """Weights and bounds of the last round, and epsilon."""
        ...

    def facts(self) -> dict[str, Any]:
        """What the page must know beside the draws to do the same."""
        ...
