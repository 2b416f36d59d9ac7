"""`Release`: the only thing that may leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from alphasynth.privacy.accounting import counted
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.synthesis.cards import release_card
from alphasynth.tables.frames import Frame
from alphasynth.tables.grouping import Stored


@dataclass(frozen=True, eq=False)
class Release:
    """What may leave: synthetic tables, frames or stored ones, and the public part of the guarantee.

    `files` are the tables' file names, where they have any, and `guarded` whether text in them was guarded from
    spreadsheets; `delimiter` and `decimal` are what stands between cells and before decimals, where they are text.
    Tables stand draw by draw. `parameters` is what `guarantee.json` says of a file of the draws' parameters.

    >>> import pandas as pd
    >>> from alphasynth.synthesizer import Synthesizer
    >>> table = pd.DataFrame({"y": [4, 6, 5, 7, 3, 5, 6, 5] * 5})
    >>> columns = {"y": {"limits": [0, 20], "whole": True}}
    >>> release = Synthesizer(columns, mechanism="Raked", epsilon=4, m=2).fit(table).release()
    >>> len(release.tables), release.draws, release.guarantee.epsilon
    (2, [1, 2], 4.0)
    """

    tables: tuple[Frame | Stored, ...] = field(repr=False)
    guarantee: PublicGuarantee
    files: tuple[str, ...] = ()
    guarded: bool = False
    delimiter: str = ","
    decimal: str = "."
    parameters: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<Release: {counted(len(self.tables), 'table')}; {self.guarantee}>"

    def _repr_html_(self) -> str:
        """For notebooks: the promise, and a look at the first table."""
        return release_card(self.tables, self.guarantee, self.files)

    @property
    def draws(self) -> list[int]:
        """The draw that each table came from, counted from 1."""
        return [i // self.guarantee.tables_per_draw + 1 for i in range(len(self.tables))]
