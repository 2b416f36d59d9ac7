"""Statistics, bootstrap intervals and the combining rule, against numpy, scipy, closed forms and hand computations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from alphasynth.errors import InputError
from alphasynth.evaluation.intervals import Combined, Interval, average, combine, overlap, percentile_interval, resample
from alphasynth.evaluation.values import Values, statistics, together

COLUMNS = st.lists(st.integers(-50, 50), min_size=2, max_size=60)


@given(column=COLUMNS, share=st.floats(0.001, 0.999))
def test_statistics_equal_numpys_on_the_rows(column, share):
    values = Values.of(column)
    assert values.n == len(column)
    assert values.mean == pytest.approx(np.mean(column), abs=1e-9)
    assert values.sd == pytest.approx(np.std(column, ddof=1), abs=1e-9)
    assert values.quantile(share) == pytest.approx(np.quantile(column, share), abs=1e-9)
    points = np.linspace(-60, 60, 41)
    assert values.share_up_to(points) == pytest.approx([np.mean(np.array(column) <= p) for p in points])


@given(one=COLUMNS, other=COLUMNS)
def test_tables_together_are_their_rows_together(one, other):
    both, whole = together([Values.of(one), Values.of(other)]), Values.of(one + other)
    assert np.array_equal(both.values, whole.values)
    assert np.array_equal(both.counts, whole.counts)


def test_counts_stand_for_rows():
    counted, listed = Values.of([5, 2], [3, 1]), Values.of([5, 5, 5, 2])
    assert counted.counts.tolist() == listed.counts.tolist() == [1, 3]
    assert [s.of(counted) for s in statistics()] == [s.of(listed) for s in statistics()]


def test_which_statistics_there_are():
    names = [s.name for s in statistics((0.9, 0.5, 0.025, 0.9))]
    assert names == ["mean", "median", "q2.5", "q90", "sd"]
    assert [s.in_the_tails for s in statistics()] == [False, False, True, True, True]
    for bad in (0, 1, 1.5, True, "0.5"):
        with pytest.raises(InputError, match="quantiles must lie between 0 and 1"):
            statistics((bad,))
    with pytest.raises(InputError, match="must have values"):
        Values.of([])


@pytest.mark.parametrize("most_rows", [0, 4_096], ids=["by value", "row by row"])
def test_bootstrap_agrees_with_scipys(most_rows, monkeypatch):
    """Same percentile interval as scipy's own bootstrap, whose resamples have rows.

    The share of B = 20,000 resamples below an end point has a standard error of sqrt(0.025 * 0.975 / B) = 0.0011; the
    difference of two 0.0016, and five of those 0.0078. Shares and not values are compared, since medians of counts
    move in halves.
    """
    monkeypatch.setattr("alphasynth.evaluation.intervals.MOST_ROWS", most_rows)
    rng = np.random.default_rng(3)
    column = rng.negative_binomial(5, 0.05, 400)
    values = Values.of(column)
    wanted = {"mean": np.mean, "sd": lambda x, axis: np.std(x, ddof=1, axis=axis), "median": np.median}
    ours = dict(zip([s.name for s in statistics()], resample(rng, values, statistics(), 20_000), strict=True))
    for name, function in wanted.items():
        theirs = stats.bootstrap((column,), function, n_resamples=20_000, method="percentile", rng=rng)
        scale, ends = theirs.standard_error, theirs.confidence_interval
        for level, end in ((0.025, ends.low), (0.975, ends.high)):
            below, above = np.quantile(ours[name], [level - 0.0078, level + 0.0078])
            assert below <= end <= above
        assert ours[name].std() == pytest.approx(scale, rel=0.05)  # s.e. of a sd from 20,000: 0.5 % and more if skew


def test_resampled_order_statistics_have_their_exact_distribution():
    """P(k-th smallest of a resample <= j-th value) = P(Bin(n, j/n) >= k); chi-square at 1 in a million."""
    column = np.arange(21)  # the median is the 11th: no interpolation
    draws = resample(np.random.default_rng(5), Values.of(column), [statistics()[1]], 40_000)[0]
    below = np.array([stats.binom.sf(10, 21, j / 21) for j in range(22)])
    expected = np.diff(below) * len(draws)
    found = np.bincount(draws.astype(int), minlength=21)
    kept = expected > 5
    assert stats.chisquare(found[kept], expected[kept] * found[kept].sum() / expected[kept].sum()).pvalue > 1e-6
    assert found[~kept].sum() < 40


def test_interpolated_quantiles_resample_like_rows():
    """Two neighbouring order statistics of one resample, not of two: against resamples with rows."""
    rng = np.random.default_rng(8)
    column = rng.normal(size=30)
    q90 = statistics()[3]
    ours = resample(rng, Values.of(column), [q90], 20_000)[0]
    rows = np.quantile(rng.choice(column, (20_000, 30)), 0.9, axis=1)
    assert stats.ks_2samp(ours, rows).pvalue > 1e-6


def test_many_distinct_values_are_resampled_by_bins():
    """The moments of a column of 50,000 distinct, heavy-tailed values, against their closed forms."""
    column = np.random.default_rng(9).lognormal(0, 1, 50_000)
    mean, sd = resample(np.random.default_rng(10), Values.of(column), [statistics()[0], statistics()[-1]], 4_000)
    n, centred = len(column), column - column.mean()
    # s.e. of an estimated sd from 4,000 resamples is 1.1 %, of a mean 1.6 % of its sd; five of each.
    assert mean.std() == pytest.approx(column.std() / np.sqrt(n), rel=0.056)
    assert mean.mean() == pytest.approx(column.mean(), abs=0.08 * column.std() / np.sqrt(n))
    variance = np.mean(centred**2)
    delta_method = np.sqrt((np.mean(centred**4) - variance**2) / n) / (2 * np.sqrt(variance))
    assert sd.std() == pytest.approx(delta_method, rel=0.1)  # the bootstrap of a heavy tail is skew


def test_the_papers_interval_has_the_published_width(mixture):
    """Supp 3: the confidential mean's interval is 3.5 wide, on another draw from the same mixture.

    The width is 2 * 1.96 * sd / sqrt(1000), and the sd of 1,000 draws has a standard error of about 0.8 of 30: 3 %.
    """
    values = Values.of(mixture["y"])
    interval = percentile_interval(resample(np.random.default_rng(1), values, [statistics()[0]], 1_000)[0])
    assert interval.high - interval.low == pytest.approx(3.5, rel=0.12)
    assert average([Interval(0, 2), Interval(1, 5)]) == (0.5, 3.5)


def test_a_column_of_one_value_has_an_interval_of_one_point():
    values = Values.of([7] * 40)
    for line in resample(np.random.default_rng(0), values, statistics()):
        assert np.ptp(line) == 0
    assert Values.of([3]).sd == 0


def test_the_combining_rule_by_hand():
    # W = 2, rows/n = 1/2, B = var(10, 12, 14) = 4, m = 3: T = 1 + 4/3; freedom 2 (T / (4/3))^2 = 6.125.
    found = combine([10, 12, 14], [1, 2, 3], rows=500, n=1_000)
    assert found.estimate == 12
    assert found.variance == pytest.approx(7 / 3)
    assert found.freedom == pytest.approx(2 * (7 / 4) ** 2)
    reach = stats.t.ppf(0.975, 6.125) * (7 / 3) ** 0.5
    assert found.interval == pytest.approx((12 - reach, 12 + reach))


def test_tables_of_one_draw_are_averaged_first():
    # Draws' means are 11 and 15: B = 8, m = 2.
    found = combine([10, 12, 14, 16], [1, 1, 1, 1], rows=100, n=100, draws=[1, 1, 2, 2])
    assert found.estimate == 13
    assert found.variance == pytest.approx(1 + 8 / 2)


def test_one_draw_has_no_interval_unless_its_scalar_is_public():
    assert combine([10], [4], rows=100, n=200) == Combined(10.0, None, None, None)
    # T = W rows/n + (W rows/n / a + W) = 2 + (2 / 0.5 + 4).
    found = combine([10], [4], rows=100, n=200, scalar=0.5)
    assert found.variance == pytest.approx(10)
    assert found.interval == pytest.approx((10 - 1.959964 * 10**0.5, 10 + 1.959964 * 10**0.5))
    # Two tables of the one draw halve the noise that the tables add.
    assert combine([9, 11], [4, 4], rows=100, n=200, draws=[1, 1], scalar=0.5).variance == pytest.approx(8)


def test_equal_estimates_leave_the_sampling_variance():
    found = combine([5, 5], [2, 2], rows=10, n=10)
    assert found.variance == 2
    assert found.freedom == np.inf


def test_the_combining_rule_is_right_under_a_scalar_weight():
    """Draws as theory has them: theta ~ N(q, V / a), estimates ~ N(theta, W); 95 % of intervals hold 0.

    4,000 trials: the standard error of a coverage of 0.95 is 0.0034; three of them, and 0.005 for t's approximation.
    """
    rng = np.random.default_rng(2)
    m, a, V, W, covered = 5, 0.4, 2.0, 2.0, 0
    for _ in range(4_000):
        q = rng.normal(0, V**0.5)
        estimates = rng.normal(rng.normal(q, (V / a) ** 0.5, m), W**0.5)
        low, high = combine(estimates, [W] * m, rows=100, n=100).interval
        covered += low <= 0 <= high
    assert covered / 4_000 == pytest.approx(0.95, abs=0.0153)


@pytest.mark.parametrize("noise", [0.1, 1.0, 10.0])
def test_intervals_of_spread_draws_cover(noise):
    """The middle is off by noise and sampling, and tables are off the middle by as much: 95 %, whichever is larger."""
    rng, m, times, held = np.random.default_rng(5), 20, 4_000, 0
    for _ in range(times):
        middle = rng.normal(0, np.sqrt(noise + 1))
        estimates = middle + rng.normal(0, np.sqrt(noise + 1), m)
        low, high = combine(estimates, [1.0] * m, rows=100, n=100, scalar="spread").interval
        held += low <= 0 <= high
    assert abs(held / times - 0.95) < 4 * np.sqrt(0.95 * 0.05 / times)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"variances": [1]}, "must be as many"),
        ({"draws": [1]}, "must be as many"),
        ({"estimates": [], "variances": []}, "at least one"),
        ({"scalar": 0}, "scalar must be above 0"),
        ({"scalar": 1.5}, "scalar must be above 0"),
    ],
)
def test_what_cannot_be_combined(changed, sentence):
    with pytest.raises(InputError, match=sentence):
        combine(**{"estimates": [1, 2], "variances": [1, 1], "rows": 1, "n": 1, **changed})


def test_interval_overlap_by_hand():
    # The paper's Supp 3, mean under LW_final: (98.7, 102.0) against (98.8, 102.3): 3.2 shared of 3.3 and of 3.5.
    assert overlap(Interval(98.8, 102.3), Interval(98.7, 102.0)) == pytest.approx((3.2 / 3.5 + 3.2 / 3.3) / 2)
    assert overlap(Interval(0, 4), Interval(1, 3)) == 0.75
    assert overlap(Interval(0, 1), Interval(3, 5)) == (-2 - 1) / 2
    assert overlap(Interval(2, 2), Interval(2, 2)) == 1
    assert overlap(Interval(2, 2), Interval(1, 3)) == 0.5
    assert overlap(Interval(2, 2), Interval(3, 3)) == 0


@given(ends=st.lists(st.floats(-100, 100), min_size=4, max_size=4, unique=True))
def test_overlap_is_symmetric_and_at_most_one(ends):
    one, other = Interval(*sorted(ends[:2])), Interval(*sorted(ends[2:]))
    assert overlap(one, other) == pytest.approx(overlap(other, one))
    assert overlap(one, other) <= 1 + 1e-12
    assert overlap(one, one) == pytest.approx(1)


def test_the_scatter_within_bins_counts(monkeypatch):
    """With a bin for each extreme and one for the rest, nearly all of the variance lies within it."""
    monkeypatch.setattr("alphasynth.evaluation.intervals.MOST_ROWS", 0)
    monkeypatch.setattr("alphasynth.evaluation.intervals.MOST_BINS", 4)
    monkeypatch.setattr("alphasynth.evaluation.intervals.SINGLE_AT_EACH_END", 1)
    column = np.random.default_rng(12).normal(size=2_000)
    mean, sd = resample(np.random.default_rng(13), Values.of(column), [statistics()[0], statistics()[-1]], 4_000)
    # s.e. of an estimated sd from 4,000 resamples: 1.1 %; five of them.
    assert mean.std() == pytest.approx(column.std() / 2_000**0.5, rel=0.056)
    assert sd.std() == pytest.approx(column.std() / (2 * 2_000) ** 0.5, rel=0.1)  # the column is not quite normal
