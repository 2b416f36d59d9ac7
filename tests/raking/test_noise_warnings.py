"""Warnings of loud noise, and of what a pure epsilon costs: from public numbers alone."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphasynth.cli.entry import run_command
from alphasynth.errors import StrictWarning
from alphasynth.privacy.approximate import rho_of_row, rho_of_unit
from alphasynth.privacy.randomness import Stream
from alphasynth.privacy.spending import Sensitivity, Spending
from alphasynth.raking.measured import USUAL_DELTA, stated, warn_of_noise
from alphasynth.synthesizer import Synthesizer

COLUMNS = {
    "s": {"levels": ["f", "m"]},
    "age": {"limits": [0, 110], "whole": True},
    "y": {"limits": [0, 50], "whole": True},
}


def table(n=300):
    rng = np.random.default_rng(2)
    return pd.DataFrame({"s": rng.choice(["f", "m"], n), "age": rng.integers(0, 110, n), "y": rng.poisson(4, n)})


def said(n, **asked):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Synthesizer(COLUMNS, mechanism="Raked", m=1, **asked).fit(table(n))
    return [str(each.message) for each in found if issubclass(each.category, StrictWarning)]


def test_noise_of_many_standard_errors_is_said_and_little_noise_is_not():
    (loud,) = said(300, epsilon=0.01, delta=1e-9)
    assert loud.startswith("the noise of counts of each column's blocks is ")
    assert loud.endswith("tables are mostly noise; the guarantee does not suffer")
    assert said(3_000, epsilon=4, delta=1e-9) == []


@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_pure_epsilon_is_set_beside_the_noise_of_a_delta(max_rows):
    """The ratio is that of what the two kinds of `Spending` buy."""
    pure = Spending(Fraction(4 * max_rows), pure=True)
    rho = rho_of_unit(rho_of_row(4.0, USUAL_DELTA, max_rows), max_rows)
    gaussian, ratios = Spending(Fraction(rho), pure=False), []
    for name, tables, part in (("blocks", 1, Fraction(1, 4)), ("tree", 9, Fraction(1, 2))):
        moves = Sensitivity.of_counts(tables, max_rows)
        pure.noisy(Stream(np.random.SeedSequence(1)), np.zeros(8, np.int64), moves, name, part)
        ratios.append(math.sqrt(pure.variance(moves, part) / gaussian.variance(moves, part)))
    with pytest.warns(StrictWarning, match="without a delta the noise is Laplace's") as caught:
        warn_of_noise(stated(pure.measured, 10**6, max_rows), pure, 4.0, max_rows, 10)
    assert f"{ratios[0]:.2g} to {ratios[1]:.2g} times as large" in str(caught[0].message)
    assert ratios[1] > 2 * ratios[0]  # noise grows with the number of sums, and not with its root
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_noise(stated(pure.measured, 10**6, max_rows), pure, 4.0, max_rows, 1)  # one column costs little


@pytest.mark.usefixtures("alone")
def test_the_command_line_says_both(capsys):
    table().to_csv("t.csv", index=False)
    Path("c.toml").write_text(
        '[column.s]\nlevels = ["f", "m"]\n[column.age]\nlimits = [0, 110]\nwhole = true\n'
        "[column.y]\nlimits = [0, 50]\nwhole = true\n"
    )
    options = ["--columns", "c.toml", "--mechanism", "Raked", "--epsilon", "0.01", "--m", "1", "--quiet"]
    assert run_command(["synthesize", "t.csv", *options, "--out", "run"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" is ")[0] for line in lines] == [
        "alphasynth: the noise of counts of each column's blocks",
        "alphasynth: without a delta the noise",
    ]
