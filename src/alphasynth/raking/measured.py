"""What was measured of a whole table, as public numbers: noise, cost, and beside sampling error; when to warn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from alphasynth.errors import StrictWarning
from alphasynth.privacy.accounting import at_least
from alphasynth.privacy.approximate import rho_of_row, rho_of_unit
from alphasynth.privacy.spending import Measured, Spending
from alphasynth.privacy.strict_terms import NoisySums
from alphasynth.raking.features import SCALE
from alphasynth.raking.moments import USUAL

WORDS = {
    "weights": "sums of weights and of their squares",
    "blocks": "counts of each column's blocks",
    "cells": "counts of each column's fine cells",
    "choice": "choices of pairs",
    "tree": "counts of the pairs of a tree",
    "moments": "moments of all pairs",
    "more": "counts of further pairs",
}

# Noise of so many standard errors is said aloud, of these sums. The delta that a pure promise is set beside.
LOUD, HEARD = 10.0, ("blocks", "moments")
USUAL_DELTA = 1e-9


def warn_of_noise(sums: Sequence[NoisySums], spending: Spending, epsilon: float, max_rows: int, columns: int) -> None:
    """Warn of noise so loud that tables tell little, and of what a pure epsilon costs a table of several columns.

    From public numbers alone, so that a warning tells nothing of a record.
    """
    loud = [one for one in sums if one.what in [WORDS[name] for name in HEARD] and (one.share or 0.0) > LOUD]
    if loud:
        found = " and that of ".join(f"{one.what} is {one.share:.2g} times" for one in loud)
        _say(f"the noise of {found} what sampling makes: with so few rows for this epsilon tables are mostly noise")
    if spending.pure and columns > 1:
        ratios = _beside_gaussian(spending, rho_of_unit(rho_of_row(epsilon, USUAL_DELTA, max_rows), max_rows))
        low, high = f"{min(ratios):.2g}", f"{max(ratios):.2g}"
        _say(
            f"without a delta the noise is Laplace's, {low if low == high else f'{low} to {high}'} times as large as "
            f"Gaussian noise of this epsilon at delta {USUAL_DELTA:g} would be; whoever may state a delta should"
        )


def _beside_gaussian(spending: Spending, rho: float) -> list[float]:
    """How many times as large the noise of each measurement is as with so much rho: the root of 2 rho V / L2^2."""
    return [
        math.sqrt(2 * rho * float(one.variance * one.cost / spending.total) / one.sensitivity.square)
        for one in spending.measured
        if one.variance is not None and one.sensitivity is not None
    ]


def _say(words: str) -> None:
    warnings.warn(f"{words}; the guarantee does not suffer", StrictWarning, stacklevel=5)


def stated(measured: Sequence[Measured], n: int, most: int, each: float = 1.0) -> tuple[NoisySums, ...]:
    """What was measured, kind by kind: noise per row, of which a unit counts as `most` and one on average as `each`."""
    ordered = sorted(measured, key=lambda each: [*WORDS].index(each.name))
    kinds = [list(group) for _, group in groupby(ordered, key=lambda each: each.name)]
    return tuple(_stated(kind, n, most, each) for kind in kinds)


def _stated(kind: Sequence[Measured], n: int, most: int, each: float) -> NoisySums:
    first, sums = kind[0], sum(one.sums for one in kind)
    cost, words = at_least(sum((one.cost for one in kind), Fraction(0))), WORDS[first.name]
    if first.variance is None or first.sensitivity is None:
        return NoisySums(words, sums, len(kind), cost)
    # Columns of many blocks have less noise than others: the root of the mean square over all sums.
    square = sum(one.sums * float(one.variance or 0) for one in kind) / sums
    deviation = math.sqrt(square) / each
    if first.name == "weights":
        return NoisySums(words, sums, len(kind), cost, deviation)
    if first.name == "moments":
        usual = float(USUAL * SCALE**2)  # of an ordinary one; responses' have less noise, those of powers more
    else:
        tables = sum(one.sensitivity.absolute // most for one in kind if one.sensitivity is not None)
        cells = max(sums / tables, 2.0)
        usual = math.sqrt(cells - 1) / cells
    return NoisySums(words, sums, len(kind), cost, deviation, deviation / (usual * math.sqrt(n)))
