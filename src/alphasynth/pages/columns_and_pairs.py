"""The confidential page's section on whole tables: how far every column and every pair of columns is off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alphasynth.evaluation.pairs import Difference, Differences
from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Panel, short
from alphasynth.pages.named_marks import Shares, Tiles
from alphasynth.pages.palette import CONFIDENTIAL, colours

MOST_MAPPED, MOST_LISTED, MOST_DRAWN = 30, 30, 12
WORDS = (
    "TV, the total variation, is half the sum of all differences of shares of rows, cell by cell: the least part of "
    "the rows that would have to be in another cell for the two tables to agree; here its mean over the synthetic "
    "tables. By chance: about what two samples of as many rows from one population would have. A TV near that says "
    "that the synthetic table is off by no more than another sample would be. Columns are compared on blocks of their "
    "declared cells, pairs on at most ten groups of blocks for each column, cut so that groups have about equal shares."
)
HEADS = ("TV", "TV by chance", "ratio", "cells", "largest difference in a cell")


def section(found: Differences, label: str) -> page.Section:
    """All columns and pairs at a glance, the worst in detail; `label` is what the synthetic tables are called."""
    blocks = [page.text(WORDS)]
    if found.pairs:
        blocks.append(page.figure_block(variation_map(found)))
    if found.columns:
        lines = [(*one.names, *_line(one)) for one in found.columns]
        blocks.append(page.table("Columns, the largest TV first", ("column", *HEADS), lines))
    if found.pairs:
        lines = [(*one.names, *_line(one)) for one in found.pairs[:MOST_LISTED]]
        kept = f"The {len(lines)} pairs with the largest TV" if len(found.pairs) > len(lines) else "Pairs by TV"
        blocks.append(page.table(kept, ("one column", "and", *HEADS), lines))
        blocks.append(page.figure_block(pair_maps(found.pairs[:MOST_DRAWN])))
    if found.columns:
        blocks.append(page.figure_block(column_shares(found.columns[:MOST_DRAWN], label)))
    return page.Section("columns_and_pairs", "Columns and pairs", tuple(blocks))


def _line(one: Difference) -> tuple[object, ...]:
    largest = float(np.abs(one.synthetic - one.confidential).max())
    ratio = round(one.variation / one.chance, 2) if one.chance > 0 else None
    return (one.variation, one.chance, ratio, one.confidential.size, largest)


def variation_map(found: Differences) -> Figure:
    """TV of every pair, and of every column on the diagonal; of a wide table, of the columns with the worst pairs."""
    worst = list(dict.fromkeys(name for pair in found.pairs for name in pair.names))[:MOST_MAPPED]
    place = {name: i for i, name in enumerate(worst)}
    values = np.full((len(worst), len(worst)), np.nan)
    tips = [[""] * len(worst) for _ in worst]
    for one in (*found.pairs, *found.columns):
        if all(name in place for name in one.names):
            i, j = place[one.names[0]], place[one.names[-1]]
            values[i, j] = values[j, i] = one.variation
            told = f"TV {short(one.variation)}, by chance {short(one.chance)}"
            tips[i][j] = tips[j][i] = f"{' with '.join(one.names)}: {told}"
    largest = float(np.nanmax(values)) or 1.0
    few = f" The {len(worst)} columns with the worst pairs." if len(worst) < len(found.columns) else ""
    alt = f"The largest TV is {short(largest)}, of {' with '.join(found.pairs[0].names)}."
    tiles = Tiles(tuple(worst), values, across=tuple(worst), full=largest, tips=tuple(map(tuple, tips)))
    return Figure(
        "pairs",
        "Total variation of columns and pairs",
        f"White is 0, the darkest blue {short(largest)}. On the diagonal, columns by themselves; the worst pairs come "
        f"first.{few}",
        (Panel("", "", (tiles,), alt),),
        {},
    )


def pair_maps(worst: Sequence[Difference]) -> Figure:
    """The worst pairs, cell by cell: synthetic less confidential share of rows, in one scale of colours."""
    apart = [one.synthetic - one.confidential for one in worst]
    largest = max(float(np.abs(each).max()) for each in apart) or 1.0
    panels = []
    for one, each in zip(worst, apart, strict=True):
        tips = tuple(tuple(_cell_tip(one, i, j) for j in range(len(one.labels[1]))) for i in range(len(one.labels[0])))
        down, across = one.names
        title = f"{down} (down), {across} (across): TV {short(one.variation)}, by chance {short(one.chance)}"
        alt = f"The largest difference in a cell is {float(np.abs(each).max()):.2%} of rows."
        panels.append(Panel(title, "", (Tiles(one.labels[0], each, "", one.labels[1], largest, tips),), alt))
    return Figure(
        "pairs_by_cell",
        "The worst pairs, cell by cell",
        "Synthetic less confidential share of rows: blue where there are too many synthetic rows, red where there are "
        f"too few, white where there are as many; the darkest is {largest:.2%} of rows in all maps.",
        tuple(panels),
        {},
    )


def _cell_tip(one: Difference, i: int, j: int) -> str:
    place = f"{one.names[0]} {one.labels[0][i]}, {one.names[1]} {one.labels[1][j]}"
    own, synthetic = one.confidential[i, j], one.synthetic[i, j]
    return f"{place}: synthetic {synthetic:.2%}, confidential {own:.2%}, difference {synthetic - own:+.2%} of rows"


def column_shares(worst: Sequence[Difference], label: str) -> Figure:
    """The worst columns: shares of rows by block, confidential and synthetic side by side."""
    panels = []
    for one in worst:
        (names,), title = one.labels, f"{one.names[0]}: TV {short(one.variation)}, by chance {short(one.chance)}"
        marks = (Shares(CONFIDENTIAL, names, one.confidential), Shares(label, names, one.synthetic))
        largest = float(np.abs(one.synthetic - one.confidential).max())
        alt = f"{title}; the largest difference in a block is {largest:.2%} of rows."
        panels.append(Panel(title, "", marks, alt, "share of rows"))
    return Figure(
        "columns_by_block",
        "The worst columns, block by block",
        "Shares of rows in the blocks of a column's declared cells: confidential, and the synthetic tables' mean.",
        tuple(panels),
        colours([CONFIDENTIAL, label]),
    )
