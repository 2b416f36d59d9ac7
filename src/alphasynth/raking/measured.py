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

WORDS = {
    "blocks": "counts of each column's blocks",
    "cells": "counts of each column's fine cells",
    "choice": "choices of pairs",
    "tree": "counts of the pairs of a tree",
    "moments": "moments of all pairs",
    "more": "counts of further pairs",
}


def stated(measured: Sequence[Measured], n: int, rows_of_unit: int) -> tuple[NoisySums, ...]:
    """What was measured, kind by kind, in the order in which it was."""
    ordered = sorted(measured, key=lambda each: [*WORDS].index(each.name))
    kinds = [list(group) for _, group in groupby(ordered, key=lambda each: each.name)]
    return tuple(_stated(kind, n, rows_of_unit) for kind in kinds)


def _stated(kind: Sequence[Measured], n: int, rows_of_unit: int) -> NoisySums:
    first, sums = kind[0], sum(each.sums for each in kind)
    cost, words = at_least(sum((each.cost for each in kind), Fraction(0))), WORDS[first.name]
    if first.variance is None or first.sensitivity is None:
        return NoisySums(words, sums, len(kind), cost)
    deviation = math.sqrt(first.variance)
    if first.name == "moments":
        usual = 2.0 * SCALE**2
    else:
        tables = sum(each.sensitivity.absolute // rows_of_unit for each in kind if each.sensitivity is not None)
        cells = max(sums / tables, 2.0)
        usual = math.sqrt(cells - 1) / cells
    return NoisySums(words, sums, len(kind), cost, deviation, deviation / (usual * math.sqrt(n)))
