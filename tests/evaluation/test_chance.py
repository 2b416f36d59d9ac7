"""Differences in standard errors: what two samples of one population have, simulated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from alphasynth.evaluation.associations import CRAMER, ETA, SPEARMAN, Pair, all_associations, regress
from alphasynth.evaluation.chance import (
    chi_square_in_errors,
    in_errors,
    quantile_gap,
    resampled_error,
    share_error,
)
from alphasynth.evaluation.intervals import resample
from alphasynth.evaluation.pair_errors import difference_error, expected, samplings
from alphasynth.evaluation.values import Values, statistics
from alphasynth.tables.records import Records

TIMES, ROWS = 300, 400


def rng(seed=0):
    return np.random.default_rng(seed)


def records(frame):
    columns = {name: frame[name].to_numpy() for name in frame}
    text = {name: column.astype(str) for name, column in columns.items() if column.dtype.kind == "O"}
    return Records(next(iter(columns)), columns | text, np.ones(len(frame), np.int64), None)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1e3))
def test_a_difference_in_errors(one, other, error):
    found = in_errors(one, other, error)
    assert found >= 0
    assert found == in_errors(other, one, error)
    if error > 0 and found > 0:
        assert found == pytest.approx(abs(one - other) / error)


def test_what_is_not_a_number_has_no_difference():
    assert np.isnan(in_errors(float("nan"), 1.0, 1.0))
    assert np.isnan(in_errors(1.0, 2.0, float("nan")))
    assert np.isnan(share_error(0.5, 0, 0.5, 10))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.floats(0.05, 0.95))
def test_a_table_does_not_miss_its_own_quantile(values, share):
    """But for what lies between two of its rows."""
    own = Values.of(values)
    assert quantile_gap(share, own.quantile(share), [own]) <= 1 / own.n + 1e-12


def apart_of_statistics(draw, times=TIMES):
    """Every statistic's distance in many pairs of samples."""
    found = []
    generator = rng(5)
    for _ in range(times):
        one, other = (Values.of(draw(generator, rows)) for rows in (ROWS, ROWS // 2))
        resamples = [resample(generator, values, statistics(), 200) for values in (one, other)]
        line = []
        for i, statistic in enumerate(statistics()):
            if statistic.share is not None:
                gap = quantile_gap(statistic.share, statistic.of(one), [other])
                line.append(in_errors(0.0, gap, share_error(statistic.share, one.n, statistic.share, other.n)))
                continue
            error = resampled_error(resamples[0][i], one.n, resamples[1][i : i + 1], [other.n])
            line.append(in_errors(statistic.of(one), statistic.of(other), error))
        found.append(line)
    return np.array(found)


@pytest.mark.parametrize(
    ("name", "draw"),
    [("normal", lambda g, n: g.normal(size=n)), ("counts", lambda g, n: g.negative_binomial(3, 0.3, n))],
)
def test_statistics_of_two_samples_scatter_as_normal_deviates(name, draw):
    """The root of 300 mean squares has an error of 4 %, bootstrap errors one of 5 %. Counts jump, and may be nearer."""
    found = np.sqrt((apart_of_statistics(draw) ** 2).mean(axis=0))
    assert (found < 1.15).all()
    smooth = [0, -1] if name == "counts" else slice(None)
    assert (found[smooth] > 0.85).all()


def test_shares_of_two_samples():
    """Of 2,000 pairs; the error of the root is 1.6 %."""
    counts = rng(1).binomial([[ROWS], [ROWS // 2]], 0.2, (2, 2_000)) / [[ROWS], [ROWS // 2]]
    found = [in_errors(one, other, share_error(one, ROWS, other, ROWS // 2)) for one, other in counts.T]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(1, abs=0.06)


def people(generator, n):
    x = generator.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "y": x + 1.5 * generator.normal(size=n) * (1 + np.abs(x)),
            "g": np.where(x + generator.normal(size=n) > 0.5, "a", "b"),
            "h": generator.choice(["u", "v", "w"], n),
            "rare": (generator.random(n) < 0.01) * 1.0,
        }
    )


PAIRS = [
    *(Pair("x", "y", SPEARMAN), Pair("x", "rare", SPEARMAN), Pair("x", "g", ETA), Pair("x", "h", ETA)),
    *(Pair("g", "h", CRAMER), Pair("y", "g", ETA)),
]


def apart_of_pairs(one, other):
    own, synthetic = (records(frame) for frame in (one, other))
    values = [all_associations(table, PAIRS) for table in (own, synthetic)]
    scatter = [samplings(table, PAIRS, found) for table, found in zip((own, synthetic), values, strict=True)]
    found = []
    for i in range(len(PAIRS)):
        error = difference_error(scatter[0][i], [scatter[1][i]])
        low, high = expected(values[0][i], scatter[0][i], [scatter[1][i]])
        found.append(in_errors(float(np.clip(values[1][i], low, high)), values[1][i], error))
    return found


@pytest.mark.parametrize("rows", [ROWS, 100])
def test_associations_of_two_samples_are_within_chance(rows):
    """Never much above that of normal deviates (300 of them: 4 %); those that chance adds to may be well below."""
    generator = rng(2)
    found = np.array([apart_of_pairs(people(generator, ROWS), people(generator, rows)) for _ in range(TIMES)])
    root = np.sqrt(np.nanmean(found**2, axis=0))  # a sample without rare values has no pairs of them
    assert (root < 1.2).all()
    assert (root[[0, 2]] > 0.8).all()  # the strong ones
    assert np.nanmax(found) < 5  # of 1,800 deviates the largest is 3.5


def test_associations_of_bootstraps_are_within_chance_even_of_rare_values():
    generator = rng(3)
    frame = people(generator, ROWS)
    found = np.array([apart_of_pairs(frame, frame.sample(ROWS, replace=True, random_state=i)) for i in range(100)])
    assert np.nanmax(found) < 4


def test_rank_errors_are_those_of_a_bootstrap():
    """1,000 resamples: an error of 2 % in the standard deviation, and what ranks add to it."""
    frame = people(rng(4), 1_000)
    table = records(frame)
    (value,) = all_associations(table, PAIRS[:1])
    (found,) = samplings(table, PAIRS[:1], [value])
    resampled = [
        stats.spearmanr(*frame.sample(1_000, replace=True, random_state=i)[["x", "y"]].to_numpy().T).statistic
        for i in range(1_000)
    ]
    assert found.variance**0.5 == pytest.approx(np.std(resampled), rel=0.1)


def test_pairs_of_what_does_not_vary_are_not_known():
    table = records(pd.DataFrame({"x": [1.0, 1.0, 1.0], "y": [1.0, 2.0, 3.0]}))
    (found,) = samplings(table, [Pair("x", "y", SPEARMAN)], [float("nan")])
    assert np.isnan(found.variance)
    assert np.isnan(difference_error(found, [found]))


def test_robust_variances_are_those_of_statsmodels():
    import statsmodels.api as sm

    frame = people(rng(6), 300)
    found = regress("y ~ x", records(frame), [records(frame)])
    fitted = sm.OLS(frame["y"], sm.add_constant(frame["x"])).fit(cov_type="HC0")
    assert found.robust[0] == pytest.approx(fitted.bse.to_numpy() ** 2, rel=1e-6)
    counts = frame.assign(k=rng(7).poisson(np.exp(frame["x"])))
    found = regress("k ~ x", records(counts), [records(counts)])
    fitted = sm.GLM(counts["k"], sm.add_constant(counts["x"]), family=sm.families.Poisson()).fit(cov_type="HC0")
    assert found.robust[0] == pytest.approx(fitted.bse.to_numpy() ** 2, rel=1e-4)


@pytest.mark.parametrize("freedom", [1, 4, 60])
def test_chi_squares_as_normal_deviates(freedom):
    for deviate in (1.0, 2.5, 4.0):
        ratio = stats.chi2.isf(stats.norm.sf(deviate), freedom) / freedom
        assert chi_square_in_errors(ratio, freedom) == pytest.approx(deviate, abs=0.2)
