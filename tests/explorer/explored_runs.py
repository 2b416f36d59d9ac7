"""Mechanisms to explore, for the tests: a synthesizer of each on counts, what is explored, its draws and tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from alphasynth.explorer.dial import Setting
from alphasynth.explorer.explored import Explored
from alphasynth.explorer.ladder import Ladder, climb
from alphasynth.explorer.opening import Start, open_explored
from alphasynth.explorer.page import Contents
from alphasynth.explorer.simulated import Simulated, simulate
from alphasynth.synthesis.outcome import carry_out
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

BASE = {"family": "negative_binomial", "m": 2, "seed": 1}
# By mechanism: its options, and three settings away from where it starts.
ASKED: dict[str, tuple[dict, list[Setting]]] = {
    "Unweighted": ({}, [{"alpha": 0.6}, {"alpha": 0.3}, {"alpha": 0.1}]),
    "LW": ({}, [{"scale": 0.6, "shift": 0.0}, {"scale": 0.3, "shift": 0.1}, {"scale": 1.4, "shift": 0.2}]),
    "CW": (
        {"radius": 0.2, "relative": True},
        [
            {"scale": 0.7, "shift": 0.0, "radius": 0.2},
            {"scale": 1.0, "shift": 0.1, "radius": 0.1},
            {"scale": 1.5, "shift": 0.0, "radius": 0.5},
        ],
    ),
    "SW": ({"alpha": 0.5}, [{"alpha": 0.7}, {"alpha": 0.2}, {"alpha": 1.0}]),
    "LW_final": (
        {"k": 0.9},
        [
            {"scale": 0.6, "shift": 0.0, "k": 0.9},
            {"scale": 0.4, "shift": 0.1, "k": 0.7},
            {"scale": 1.5, "shift": 0.0, "k": 1.0},
        ],
    ),
    "CW_final": (
        {"radius": 0.2, "relative": True, "k": 0.9},
        [
            {"scale": 0.7, "shift": 0.1, "radius": 0.2, "k": 0.9},
            {"scale": 1.0, "shift": 0.0, "radius": 0.4, "k": 0.8},
            {"scale": 1.5, "shift": 0.0, "radius": 0.1, "k": 1.0},
        ],
    ),
    "BW": (
        {"epsilon": 16, "cap": 0.5},
        [{"epsilon": 8.0, "cap": 0.5}, {"epsilon": 20.0, "cap": 0.3}, {"epsilon": 40.0, "cap": 1.0}],
    ),
    "Censored": (
        {"epsilon": 8},
        [{"epsilon": 4.0, "cut": 8.0}, {"epsilon": 16.0, "cut": 12.0}, {"epsilon": 8.0, "cut": 5.0}],
    ),
}


class Made(NamedTuple):
    """All that a page is made from."""

    synthesizer: Synthesizer
    records: Records
    start: Start
    explored: Explored
    ladder: Ladder
    simulated: Simulated

    @property
    def contents(self) -> Contents:
        return Contents(*self[:1], *self[3:], self.start.epsilon)


def make(mechanism: str, table: pd.DataFrame, formula: str = "y ~ 1", **options) -> Made:
    """What a page of a mechanism on a table is made from."""
    synthesizer = Synthesizer(formula, mechanism=mechanism, **{**BASE, **ASKED[mechanism][0], **options})
    records = Records.from_table(table, synthesizer.used)
    key = np.random.SeedSequence(7)
    trail = carry_out(key, synthesizer, synthesizer.model, records).trail
    start = Start.of_trail(trail, synthesizer.m, synthesizer.epsilon)
    explored = open_explored(np.random.SeedSequence(8), synthesizer, records, start)
    ladder = climb(np.random.SeedSequence(9), explored, lambda number: None)
    simulated = simulate(np.random.SeedSequence(10), explored, ladder.u)
    return Made(synthesizer, records, start, explored, ladder, simulated)
