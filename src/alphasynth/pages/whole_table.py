"""What pages say of a table made whole, from noisy sums: what was measured, at which noise."""

from __future__ import annotations

from alphasynth.pages import page
from alphasynth.privacy.accounting import counted
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.raking.features import SCALE
from alphasynth.raking.moments import USUAL
from alphasynth.synthesis.release import Release
from alphasynth.tables.frames import column_names
from alphasynth.tables.grouping import Stored

MADE = (
    "rows were drawn from a pool that was weighted until its counts and moments came near to noisy ones of {n:,} "
    "confidential records; nothing but these noisy sums, and choices of what to sum, was taken from the records"
)
NO_MODEL = "none; noisy counts of columns and of pairs, and moments of all pairs, raked"
DRAWS = "of what the noisy sums may have been without their noise"
NEAREST = "as near to the noisy sums as rows can be"
FILES = "Tables, and the draw of what the noisy sums may have been that each came from"
USE_SPREAD = f"The tables come from draws {DRAWS}: they are spread by as much noise as their middle is off by,"
USE_ONE = "One draw gives estimates, and no honest interval. More draws (a larger m) would have cost nothing more."
WORDS = (
    ("draw, m", f"m draws {DRAWS}; each gives one or more synthetic tables"),
    ("cell, block", "declared columns are cut into fine cells; a block is several neighbours, or one level"),
    ("moment", "a mean product of two columns' standardised features, which carries their correlation"),
    ("raking", "weighting rows until their counts and moments are those that were measured, as nearly as noise lets"),
    ("pMSE, TV", "measures of how far two tables differ: by a model that tells them apart, and cell by cell"),
    ("q15, q90", "the 15th and 90th percentile"),
)


def is_whole(guarantee: PublicGuarantee) -> bool:
    """Whether a table was made whole, from noisy sums of its columns and pairs."""
    return bool(guarantee.measured)


def at_hand(release: Release) -> bool:
    """Whether all columns are at hand: of a large table it is one."""
    table = release.tables[0]
    names = table.column_names if isinstance(table, Stored) else column_names(table)
    return len(names) >= len(release.guarantee.columns)


def measured_table(guarantee: PublicGuarantee) -> page.Block:
    """What was measured: how many sums, at which cost and noise."""
    currency = "rho" if guarantee.rho is not None else "epsilon"
    heads = ("what was measured", "sums", "times", f"cost ({currency})", "of the budget", "noise (sd)")
    total = sum(m.cost for m in guarantee.measured)
    lines = [
        (
            m.what,
            m.sums or None,
            m.times,
            page.bound(m.cost),
            page.Cell(f"{m.cost / total:.0%}", m.cost / total),
            m.deviation,
            None if m.share is None else page.Cell(f"{m.share:.2g}", m.share),
        )
        for m in guarantee.measured
    ]
    return page.table("What was measured of the confidential table", (*heads, "noise / sampling error"), lines)


def measured_note() -> page.Block:
    """What to know about it."""
    return page.note(
        "But for its number of rows, nothing else was taken from the table. Sums are of whole numbers, to each of "
        "which noise of the standard deviation shown was added. The last column sets it beside the standard error that "
        "such a sum has by sampling alone, for a typical one: a count of as many equal cells, or a moment of "
        f"standardised features (which are in units of 1/{USUAL * SCALE**2:,} of a standard deviation, so that their "
        "noise is a large number; of those with a response it is smaller). Below 1, noise matters less than which "
        "records happen to be in the table. Choices of pairs are drawn, and have no noise."
    )


def draws_words(guarantee: PublicGuarantee) -> str:
    """What the tables are draws of."""
    if guarantee.m == 1:
        return f"{counted(guarantee.tables_per_draw, 'table')}, {NEAREST}"
    each = "each from its own draw" if guarantee.tables_per_draw == 1 else f"from {counted(guarantee.m, 'draw')}"
    return f"{counted(guarantee.m * guarantee.tables_per_draw, 'table')}, {each} {DRAWS}"
