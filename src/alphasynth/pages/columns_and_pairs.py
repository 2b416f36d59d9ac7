"""The confidential page's section on whole tables: how far every column and every pair of columns is off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alphasynth.evaluation.digits import WithError, short, told
from alphasynth.evaluation.pairs import Difference, Differences
from alphasynth.evaluation.row_cuts import differences_of_rows
from alphasynth.pages import page
from alphasynth.pages.marks import Figure, Panel
from alphasynth.pages.named_marks import Shares, Tiles
from alphasynth.pages.palette import CONFIDENTIAL, colours
from alphasynth.tables.records import Records

MOST_MAPPED, MOST_LISTED, MOST_DRAWN = 30, 30, 12
WORDS = (
    "TV, the total variation, is half the sum of all differences of shares of rows, cell by cell: the least part of "
    "the rows that would have to be in another cell for the two tables to agree; here its mean over the synthetic "
    "tables. By chance: about what two samples of as many rows from one population would have. A TV near that says "
    "that the synthetic table is off by no more than another sample would be. "
)
OF_BLOCKS = "pairs on at most ten groups of blocks for each column, cut so that groups have about equal shares."
OF_DECLARED = f"Columns are compared on blocks of their declared cells, {OF_BLOCKS}"
OF_ROWS = (
    "Columns are compared on blocks that the confidential rows make (levels, single values where there are few, parts "
    f"of about as many rows), {OF_BLOCKS}"
)
HEADS = ("TV", "TV by chance", "ratio", "cells", "largest difference in a cell")


def section(found: Differences, label: str, cells: str = OF_DECLARED) -> page.Section:
    """All columns and pairs at a glance, the worst in detail; `label` is what the synthetic tables are called.

    `cells` says in words which cells they are compared on.
    """
    blocks = [page.text(WORDS + cells)]
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


def sections_of_rows(
    records: Records, tables: Sequence[Records], label: str, public: Sequence[str] = ()
) -> list[page.Section]:
    """The section on tables of which nothing is declared, on cells of their rows; none of a single column."""
    found = differences_of_rows(records, tables, public)
    return [section(found, label, OF_ROWS)] if found.pairs else []


def _line(one: Difference) -> tuple[object, ...]:
    largest = float(np.abs(one.synthetic - one.confidential).max())
    ratio = WithError(one.variation / one.chance, one.error / one.chance) if one.chance > 0 else None
    share = WithError(largest, _cell_error(one))
    return (WithError(one.variation, one.error), WithError(one.chance, one.error), ratio, one.confidential.size, share)


def _cell_error(one: Difference) -> float:
    """About the standard error of the largest difference in a cell, from that of their sum over all."""
    return 2 * one.error / one.confidential.size**0.5


def _variation_words(one: Difference) -> str:
    return f"TV {told(one.variation, one.error)}, by chance {told(one.chance, one.error)}"


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
            tips[i][j] = tips[j][i] = f"{' with '.join(one.names)}: {_variation_words(one)}"
    largest = float(np.nanmax(values)) or 1.0
    few = f" The {len(worst)} columns with the worst pairs." if len(worst) < len(found.columns) else ""
    few += " Grey: public columns, which are not compared." if np.isnan(values).any() else ""
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
        title = f"{down} (down), {across} (across): {_variation_words(one)}"
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
        (names,), title = (
            one.labels,
            f"{one.names[0]}: {_variation_words(one)}",
        )
        marks = (Shares(CONFIDENTIAL, names, one.confidential), Shares(label, names, one.synthetic))
        largest = float(np.abs(one.synthetic - one.confidential).max())
        alt = f"{title}; the largest difference in a block is {largest:.2%} of rows."
        panels.append(Panel(title, "", marks, alt, "share of rows"))
    return Figure(
        "columns_by_block",
        "The worst columns, block by block",
        "Shares of rows in the blocks of a column: confidential, and the synthetic tables' mean.",
        tuple(panels),
        colours([CONFIDENTIAL, label]),
    )
