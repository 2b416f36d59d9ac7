"""A plan whose noise is known, for tests of what is made of it."""

from __future__ import annotations

import math

import numpy as np

from alphasynth.planning.distances import MEAN, PAIR, SHARE, Item
from alphasynth.planning.ladder import Curve
from alphasynth.planning.plan import Plan, ladder
from alphasynth.privacy.strict_terms import NoisySums
from alphasynth.raking.columns import Columns

COLUMNS = Columns.of({"<b>x</b>": {"limits": [0, 100]}, "sex": {"levels": ["f", "m"]}})


def by_hand(n=10_000):
    """A plan whose noise is known: 2 / sqrt(rho n) and 5 / (epsilon sqrt(n)), times 1, 2, 3 for its items."""
    items = (Item(MEAN, "<b>x</b>"), Item(SHARE, "sex"), Item(PAIR, "<b>x</b> × sex"))
    curves = []
    for pure in (False, True):
        heights = np.array([rung.height for rung in ladder(n, pure)])
        line = math.log(5) - heights if pure else math.log(2) - heights / 2
        curves.append(Curve(heights, np.array([line + math.log(k) for k in (1, 2, 3)])))
    parts = tuple((NoisySums("counts", 3, 1, 0.25), NoisySums("moments", 2, 1, 0.75)) for _ in curves[0].heights)
    return Plan(COLUMNS, n, False, items, np.array([0.1, 0.02, 0.01]), *curves, parts)
