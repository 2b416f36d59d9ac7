"""`Raked`: what is public about how a table is made, and the parts of its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from alphasynth.raking.cells import Cells

# Rows of a pool: at least, and what is enough for any table.
SMALL, LARGE = 10_000, 100_000
# Numbers that moments of all the pool's rows may be, about, where each pair has one; rows of any pool at least.
MOST_NUMBERS, FEWEST = 30_000_000, 10_000


@dataclass(frozen=True)
class Parts:
    """Parts of the budget, and how many pairs are measured beyond the tree's."""

    blocks: Fraction
    cells: Fraction
    choices: Fraction
    tree: Fraction
    moments: Fraction
    more: Fraction
    pairs_more: int


@dataclass(frozen=True)
class Raked:
    """How much of the budget goes where, in proportion, and what else is public about how a table is made.

    `blocks`, `cells`, `choices`, `tree`, `moments` and `more` are for one-way counts of blocks and of fine cells, for
    choosing pairs, for the counts of the tree's pairs, for moments and for the pairs after them. `whole` is the part of
    rows whose moments are not cut, less where noise is loud: a larger one costs noise, a smaller one bias. `response`
    names columns whose moments with others have `response_share` of the moments' part; `interactions` are pairs of
    columns whose products are kept with responses, or with all others where there is none.
    """

    blocks: int = 54
    cells: int = 4
    choices: int = 4
    tree: int = 18
    moments: int = 44
    more: int = 12
    degree: int = 2
    pairs_more: int = 6
    pool: int = 4
    whole: float = 0.95
    whole_if_loud: float = 0.9
    response: tuple[str, ...] = ()
    response_share: float = 0.5
    interactions: tuple[tuple[str, str], ...] = ()

    def parts(self, columns: Sequence[Cells], scarce: bool = False) -> Parts:
        """Parts of the budget that add up to all of it; what there is nothing of has none.

        A `scarce` budget buys few counts of pairs, which noise would cover, and more of moments.
        """
        if scarce:
            tables = self.tree + self.more
            tree, more = max(tables // 4, 1), max(tables // 15, 1)
            moments = self.moments + tables - tree - more
            return replace(self, tree=tree, more=more, moments=moments, pairs_more=1).parts(columns)
        pairs = len(columns) * (len(columns) - 1) // 2
        more = min(self.pairs_more, pairs - (len(columns) - 1)) if pairs else 0
        several = len(columns) > 1
        asked = {
            "blocks": self.blocks,
            "cells": self.cells * any(cells.size > cells.blocks for cells in columns),
            "choices": self.choices * several,
            "tree": self.tree * several,
            "moments": self.moments,
            "more": self.more * (more > 0),
        }
        whole = sum(asked.values())
        return Parts(**{name: Fraction(part, whole) for name, part in asked.items()}, pairs_more=more)

    def pool_rows(self, n: int, columns: int) -> int:
        """Rows of the pool: several times the table's, but no more than a large table needs; fewer of a wide one."""
        rows = min(max(self.pool * n, SMALL), LARGE)
        return min(rows, max(MOST_NUMBERS // max(columns * (columns - 1) // 2, 1), FEWEST))
