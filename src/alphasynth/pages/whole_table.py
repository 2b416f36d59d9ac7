"""What pages say of a table made whole, from noisy sums: what was measured, at which noise."""

from __future__ import annotations

from alphasynth.pages import page
from alphasynth.privacy.accounting import counted
from alphasynth.privacy.guarantee import PublicGuarantee

MADE = (
    "rows were drawn from a pool that was weighted until its counts and moments came near to noisy ones of {n:,} "
    "confidential records; nothing but these noisy sums, and choices of what to sum, was taken from the records"
)
NO_MODEL = "none; noisy counts of columns and of pairs, and moments of all pairs, raked"
DRAWS = "of what the noisy sums may have been without their noise, and of rows"
ONE_TABLE = "one table, as near to the noisy sums as rows can be"


def is_whole(guarantee: PublicGuarantee) -> bool:
    """Whether a table was made whole, from noisy sums of its columns and pairs."""
    return bool(guarantee.measured)


def measured_table(guarantee: PublicGuarantee) -> page.Block:
    """What was measured: how many sums, at which cost and noise."""
    currency = "rho" if guarantee.rho is not None else "epsilon"
    heads = ("what was measured", "sums", "times", f"cost ({currency})", "noise (sd)", "noise / standard error")
    lines = [(m.what, m.sums or None, m.times, page.bound(m.cost), m.deviation, m.share) for m in guarantee.measured]
    return page.table("What was measured of the confidential table", heads, lines)


def measured_note() -> page.Block:
    """What to know about it."""
    return page.note(
        "Sums are of whole numbers, to which noise of the standard deviation shown was added. The last column sets it "
        "beside the standard error that such a sum has by sampling alone, for a typical one: a count of as many equal "
        "cells, or a moment of standardised features (which are in units of 1/512 of a standard deviation). Below 1, "
        "noise matters less than which records happen to be in the table. Choices of pairs have no noise."
    )


def draws_words(guarantee: PublicGuarantee) -> str:
    """What the draws are."""
    return ONE_TABLE if guarantee.m == 1 else f"{counted(guarantee.m, 'draw')} {DRAWS}"
