"""A declared level that nobody has: its noisy count is no reason to miss all others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from alphasynth.privacy.randomness import Stream
from alphasynth.privacy.spending import Spending
from alphasynth.raking.columns import Columns
from alphasynth.raking.exact import Held
from alphasynth.raking.fitted import redraw
from alphasynth.raking.raked import fit
from alphasynth.raking.settings import Raked
from alphasynth.raking.sums import Confidential

LEVELS = {"levels": [1, 2, 3, 4, 5, 6, 7]}
COLUMNS = Columns.of({"q1": LEVELS, "q2": LEVELS, "q3": LEVELS}).cells()


def scores(n=4_000):
    """Two scores that go together, and one whose lowest level nobody has."""
    rng = np.random.default_rng(11)
    liking = rng.normal(size=n)
    alike = [np.clip(np.round(4 + 1.2 * liking + rng.normal(0, 1.2, n)), 1, 7) for _ in range(2)]
    return tuple(each.astype(np.int64) - 1 for each in (*alike, np.clip(np.round(rng.normal(5, 1, n)), 2, 7)))


def fitted_to(codes, seed):
    spending, stream = Spending(Fraction(1, 100), pure=False), Stream(np.random.SeedSequence(seed))
    confidential = Confidential(Held.of(codes), stream, spending, len(codes[0]))
    return fit(np.random.default_rng(seed), confidential, COLUMNS, Raked())


@pytest.mark.parametrize("seed", range(12))
def test_weights_make_the_columns_counts(seed):
    """Also of the level that nobody has."""
    fitted = fitted_to(scores(), seed)
    for each in (fitted, redraw(np.random.default_rng(seed), fitted)):
        assert each.weights.sum() == pytest.approx(4_000, abs=0.5)
        for term in each.of_columns:
            assert term.noisy.sum() == pytest.approx(4_000)
            assert np.abs(term.sums(each.weights) - term.noisy).max() < 2.0  # 0.05 % of the rows


def test_pools_have_the_level_as_somebody_may():
    """What is likely of a count is never nothing: cut at 0, it was missing from some pools and not from all draws."""
    for seed in range(12):
        fitted = fitted_to(scores(), seed)
        in_pool = np.count_nonzero(fitted.codes[2] == 0)
        assert 0 < in_pool < 0.003 * len(fitted.codes[2])


def test_steps_do_not_follow_a_contradiction():
    """No rows have both columns' noisy counts where one is never above the other: the later one's are met anyway."""
    rng, n = np.random.default_rng(0), 4_000
    part = np.clip(np.round(rng.normal(4, 1.5, n)), 1, 7).astype(np.int64) - 1
    whole = np.where(rng.random(n) < 0.05, 6, part)
    other = np.clip(np.round(rng.normal(5, 1, n)), 1, 7).astype(np.int64) - 1
    columns = Columns.of({"part": LEVELS, "whole": LEVELS, "other": LEVELS}, constraints=["part <= whole"])
    off = []
    for seed in range(30):
        spending, stream = Spending(Fraction(1, 400), pure=False), Stream(np.random.SeedSequence(seed))
        table = Confidential(Held.of((part, whole, other)), stream, spending, n)
        fitted = fit(np.random.default_rng(seed), table, columns.cells(), Raked(), columns.constraints)
        off.append([np.abs(term.sums(fitted.weights) - term.noisy).max() for term in fitted.of_columns])
    assert np.max(off, axis=0)[1] < 2.0
