"""`Release`: the only thing that may leave."""

from __future__ import annotations

from dataclasses import dataclass, field

from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.tables.frames import Frame
from alphasynth.tables.grouping import Stored


@dataclass(frozen=True, eq=False)
class Release:
    """What may leave: synthetic tables, frames or stored ones, and the public part of the guarantee.

    `files` are the tables' file names, where they have any, and `guarded` whether text in them was guarded from
    spreadsheets. Tables stand draw by draw.
    """

    tables: tuple[Frame | Stored, ...] = field(repr=False)
    guarantee: PublicGuarantee
    files: tuple[str, ...] = ()
    guarded: bool = False

    @property
    def draws(self) -> list[int]:
        """The draw that each table came from, counted from 1."""
        return [i // self.guarantee.tables_per_draw + 1 for i in range(len(self.tables))]
