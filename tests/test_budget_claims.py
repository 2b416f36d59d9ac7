"""Budget weights keep their claim where they once broke it: few records, far ones, and those with leverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from alphasynth.audit import audit
from alphasynth.divergence import Trials, black_box_bound
from alphasynth.synthesizer import Synthesizer

KEY = np.random.SeedSequence(9)


def fitted(table, epsilon, formula="y ~ 1", seed=1, **options):
    given = {"family": "poisson", "mechanism": "BW", "epsilon": epsilon, "m": 1, "seed": seed, **options}
    return Synthesizer(formula, **given).fit(table)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("n", [20, 30])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_few_records_keep_the_claim(n, epsilon, seed):
    """Losses were up to 4.5: weights iterated to a fixed point amplified what one record does."""
    table = pd.DataFrame({"y": np.random.default_rng([n, seed]).poisson(8, n)})
    (found,) = audit(KEY, fitted(table, epsilon).subject_, ["density"])
    assert found.kept
    assert found.claim == pytest.approx(epsilon)


@pytest.mark.parametrize("n", [30, 150])
def test_a_record_of_a_hundred_million_keeps_the_claim(n):
    """Losses were 136,703 and 11,383: the one record took the weights of all others down."""
    table = pd.DataFrame({"y": np.random.default_rng(n).poisson(8, n)})
    (found,) = audit(KEY, fitted(table, 4.0).subject_, ["density"], canaries=[1e8], most=2)
    assert found.kept


def leverage_tables(n=1_000):
    """A table, and the same with a record whose z is 20 times as large as any other."""
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, n))
    own = pd.DataFrame({"x": x, "z": z, "y": rng.poisson(np.exp(1 + 0.3 * x + 0.2 * z))})
    return own, pd.concat([own, pd.DataFrame({"x": [0.0], "z": [100.0], "y": [0]})], ignore_index=True)


def test_a_record_with_leverage_cannot_be_told_from_its_absence():
    """A common factor fell from 0.95 to 0.04 for everybody, and the draws spread out by as much.

    One draw of each of many runs; what lies far from the middle is told by a threshold learnt on half of them.
    """
    trials, epsilon = 200, 1.0
    tables = leverage_tables()
    options = {"formula": "y ~ x + z", "public": ["x", "z"], "num_draws": 100}
    drawn = [
        np.stack([fitted(table, epsilon, seed=seed, **options).trail_.fits[-1].draws.u[0] for seed in range(trials)])
        for table in tables
    ]
    middle, spread = np.median(drawn[0], axis=0), drawn[0].std(axis=0)
    far = [np.linalg.norm((part - middle) / spread, axis=1) for part in drawn]
    learnt, judged = zip(*(np.split(part, 2) for part in far), strict=True)
    threshold = np.quantile(learnt[0], 0.99)
    hits, alarms = (int((part > threshold).sum()) for part in reversed(judged))
    assert black_box_bound(Trials(hits, alarms, trials // 2)) <= epsilon
