"""What was measured of a whole table, as public numbers: noise, cost, and noise beside sampling error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from alphasynth.privacy.accounting import at_least
from alphasynth.privacy.spending import Measured
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
