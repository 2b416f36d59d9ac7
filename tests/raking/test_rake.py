"""Raking against a slow oracle; margins, tables of pairs and rows against what they must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.stats import norm

from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns
from alphasynth.raking.margins import OneWay, estimated, expected_where_alike, joined, nearest_counts, within_blocks
from alphasynth.raking.pool import Side, draw_tree, pair_table, spaced
from alphasynth.raking.rake import curvature, rake, rake_together, step
from alphasynth.raking.rows import Wanted, choose_rows
from alphasynth.raking.sums import Noisy
from alphasynth.raking.terms import RIDGE, MomentTerm, TableTerm, solving
from alphasynth.tables.declared import Declared


@pytest.mark.parametrize("together", [False, True])
def test_raking_finds_the_minimum(together):
    """Of sum w log(w / q) - w + sum (y - A w)^2 / (2 s), by a general minimiser in log w."""
    rng = np.random.default_rng(1)
    rows, n = 40, 100.0
    q = np.full(rows, n / rows)
    place = [rng.integers(0, 4, rows), rng.integers(0, 3, rows)]
    vectors = rng.normal(size=(rows, 3))
    noisy = [np.array([40.0, 10.0, 30.0, 20.0]), np.array([20.0, 70.0, 10.0]), np.array([30.0, -20.0, 10.0])]
    variance = [4.0, 2.0, 9.0]

    def far(log_weights):
        w = np.exp(log_weights)
        sums = [np.bincount(place[0], w, 4), np.bincount(place[1], w, 3), w @ vectors]
        misfit = sum(((y - s) ** 2).sum() / (2 * v) for y, s, v in zip(noisy, sums, variance, strict=True))
        return (w * (log_weights - np.log(q)) - w).sum() + misfit

    found = optimize.minimize(far, np.log(q), method="BFGS", options={"gtol": 1e-9, "maxiter": 5_000})
    log_weights = np.log(q)
    terms = [TableTerm.of(p, y, v) for p, y, v in zip(place, noisy, variance, strict=False)]
    moments = MomentTerm.of(vectors, noisy[2], variance[2])
    if together:
        assert rake_together(log_weights, terms, moments, 400, tolerance=1e-10) < 20
    else:
        rake(log_weights, [*terms, moments], 400, tolerance=1e-10)
    assert far(log_weights) <= found.fun + 1e-6
    np.testing.assert_allclose(np.exp(log_weights), np.exp(found.x), atol=1e-3)


@pytest.mark.parametrize("many", [False, True])
def test_steps_of_all_together_hold_what_turns_find_slowly(many, monkeypatch):
    """Moments that are all but told by a table's cells: turns go on and on, steps of both together do not."""
    monkeypatch.setattr("alphasynth.raking.terms.MANY", 0 if many else 700)
    rng = np.random.default_rng(3)
    place = rng.integers(0, 8, 3_000)
    vectors = place[:, None] + rng.normal(0, 0.2, (3_000, 2))
    true = rng.dirichlet(np.full(3_000, 0.5)) * 3_000
    table, sums = np.bincount(place, true), true @ vectors

    def left(turns, by):
        log_weights = np.zeros(3_000)
        moments = MomentTerm.of(vectors, sums, 1e-3)
        moments.square = (vectors**2).sum(axis=0)
        by(log_weights, [TableTerm.of(place, table, 1e-6)], moments, turns)
        weights = np.exp(log_weights)
        return max(np.abs(sums - weights @ vectors).max(), np.abs(table - np.bincount(place, weights)).max())

    assert left(8, rake_together) < 0.1
    assert left(8, lambda log_weights, tables, moments, turns: rake(log_weights, [*tables, moments], turns)) > 1.0


def test_loosened_terms_follow_what_is_far_from_the_pool():
    place, noisy = np.repeat([0, 1], 50), np.array([90.0, 10.0])
    weights = np.ones(100)
    near, far = TableTerm.of(place, np.array([52.0, 48.0]), 25.0), TableTerm.of(place, noisy, 25.0)
    near.loosened(weights), far.loosened(weights)
    assert near.variance == 25.0
    assert far.variance == 25.0 / ((2 * 40.0**2 - 50.0) / 100.0)


@given(st.lists(st.floats(-50, 500), min_size=1, max_size=40), st.floats(1, 10_000))
def test_nearest_counts_add_up(noisy, n):
    found = nearest_counts(np.array(noisy), n)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(), n, rtol=1e-9)


@given(st.lists(st.floats(-50, 500), min_size=1, max_size=40), st.floats(0.1, 30), st.floats(0, 10_000))
def test_even_stretches_add_up(noisy, deviation, n):
    found = expected_where_alike(np.array(noisy), deviation, np.full(len(noisy), n / len(noisy)))
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(), n, rtol=1e-9, atol=1e-9)


def test_a_heap_stays_a_heap_and_noise_does_not():
    rng = np.random.default_rng(2)
    noisy = rng.normal(0, 5, 64) + np.where(np.arange(64) == 37, 400.0, 10.0)
    found = expected_where_alike(noisy, 5.0, np.full(len(noisy), 1030 / len(noisy)))
    assert found[37] > 350
    assert np.ptp(np.delete(found, np.arange(32, 40))) < 3


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.floats(0.1, 60), st.booleans())
def test_joined_cells_are_numbered_without_holes(counts, least, ordered):
    cells = joined(np.array(counts), least, ordered)
    assert sorted(set(cells.tolist())) == list(range(int(cells.max()) + 1))
    if ordered:
        assert (np.diff(cells) >= 0).all()


def test_a_pairs_table_keeps_its_margins_and_follows_its_counts():
    rng = np.random.default_rng(3)
    true = np.array([[400.0, 20.0, 5.0], [30.0, 300.0, 45.0]])
    left, right = true.sum(axis=1), true.sum(axis=0)
    sides = (Side(each, np.zeros((0, len(each)))) for each in (left, right))
    found = pair_table(true + rng.normal(0, 5, true.shape), 25.0, *sides)
    np.testing.assert_allclose(found.sum(axis=1), left, rtol=1e-3)
    np.testing.assert_allclose(found.sum(axis=0), right, rtol=1e-3)
    assert np.abs(found - true).max() < 20


def test_two_columns_of_numbers_go_together_as_much_as_their_noisy_counts_say():
    """Noise of a cell is as large as its count, and that of the sum of all products a tenth of the sum."""
    rng = np.random.default_rng(6)
    cells = Cells.of("x", Declared(limits=(1.0, 2.0)))
    one = OneWay(Noisy(np.zeros(32), 1.0), np.full(256, 3_000 / 256), cells.block // 2)
    side, size = Side.of(cells, one), 16
    x = rng.normal(size=3_000)
    both = [stats.rankdata(each) for each in (x, 0.8 * x + 0.6 * rng.normal(size=3_000))]
    at = [((rank - 1) * size // 3_000).astype(int) for rank in both]
    true = np.bincount(at[0] * size + at[1], minlength=size**2).reshape(size, size)
    place = side.scores[0] / np.sqrt((side.scores[0] ** 2).mean())

    def correlation(table):
        return float(place @ table @ place / table.sum())

    noisy = true + rng.normal(0, 8, true.shape)
    found = pair_table(noisy, 64.0, side, side)
    none = Side(side.margin, np.zeros((0, size)))
    # 8 sqrt(sum place^2 sum place^2) is 8 * 16, of 3,000.
    assert correlation(found) == pytest.approx(correlation(true), abs=3 * 8 * size / 3_000)
    assert correlation(pair_table(noisy, 64.0, none, none)) < correlation(true) - 3 * 8 * size / 3_000
    np.testing.assert_allclose(found.sum(axis=1), side.margin, rtol=1e-2)


def test_scores_have_no_mean_and_gaps_and_levels_their_own():
    numbers = Cells.of("x", Declared(limits=(1.0, 2.0), missing="model"))
    fine = np.append(np.repeat(np.arange(1.0, 33.0), 8), 40.0)
    found = Side.of(numbers, OneWay(Noisy(np.zeros(33), 1.0), fine, numbers.block))
    np.testing.assert_allclose(found.scores @ found.margin, 0.0, atol=1e-9)
    assert found.scores.shape == (3, 33)  # gaps, the number, its square
    assert np.ptp(found.scores[0][:-1]) == 0
    assert (np.diff(found.scores[1][:-1]) > 0).all()
    levels = Cells.of("region", Declared(levels=(1, 2, 3), nominal=True))
    found = Side.of(levels, OneWay(Noisy(np.zeros(3), 1.0), np.array([5.0, 3.0, 2.0]), levels.block))
    assert found.scores.shape == (2, 3)


def test_rows_along_a_tree_have_its_pairs():
    rng = np.random.default_rng(4)
    tables = {(0, 1): np.array([[30.0, 10.0], [5.0, 55.0]]), (2, 1): np.array([[35.0, 0.0], [0.0, 65.0]])}
    codes = draw_tree(
        rng, tables, [np.array([40.0, 60.0]), np.array([35.0, 65.0]), np.array([35.0, 65.0]), np.ones(4)], 1_000
    )
    found = np.bincount(codes[0] * 2 + codes[1], minlength=4)
    assert np.abs(found - [300, 100, 50, 550]).max() <= 2
    np.testing.assert_array_equal(codes[1], codes[2])
    assert np.abs(np.bincount(codes[3]) - 250).max() <= 1


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=30), st.integers(1, 500), st.integers(0, 99))
def test_spaced_cells_come_as_often_as_expected(expected, rows, seed):
    drawn = spaced(np.random.default_rng(seed), np.array(expected), rows)
    wanted = np.array(expected) / sum(expected) * rows
    assert len(drawn) == rows
    assert np.abs(np.bincount(drawn, minlength=len(wanted)) - wanted).max() < 1 + 1e-9 * rows


def test_exchanged_rows_are_nearer_to_the_weights():
    rng = np.random.default_rng(5)
    places = [rng.integers(0, 10, 8_000), rng.integers(0, 12, 8_000), rng.integers(0, 100, 8_000)]
    weights = rng.gamma(2.0, size=8_000)
    rows = 2_000

    vectors = rng.normal(size=(8_000, 3))
    wanted = Wanted(places, [3.0, 3.0, 1.0], vectors)
    aim = wanted.sums(weights * rows / weights.sum())

    def far(chosen):
        counts, sums = wanted.of_rows(chosen, aim)
        cells = sum(np.abs(want - found).sum() for want, found in zip(aim[0], counts, strict=True))
        return cells, np.abs(aim[1] - sums).sum()

    drawn = far(rng.choice(8_000, rows, p=weights / weights.sum()))
    chosen = choose_rows(rng, weights, rows, wanted)
    assert len(chosen) == rows
    assert far(chosen)[0] < drawn[0] / 2
    assert far(chosen)[1] < drawn[1] / 2


@given(st.lists(st.integers(0, 3), min_size=2, max_size=7), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_counts_of_pairs_say_what_generalised_least_squares_says(cells, pairs, seed):
    """By hand: all that was measured in one design, and the sum that is known as a constraint (Lagrange)."""
    rng, to = np.random.default_rng(seed), np.unique(cells, return_inverse=True)[1]
    noisy = Noisy(rng.normal(100, 30, len(to)), float(rng.uniform(1, 50)))
    of_pairs = [Noisy(rng.normal(100, 30, to.max() + 1), float(rng.uniform(1, 200))) for _ in range(pairs)]
    found = estimated(noisy, to, of_pairs, 500)
    inside = (np.arange(to.max() + 1)[:, None] == to).astype(float)
    design = np.concatenate([np.eye(len(to)), *([inside] * pairs)])
    told = np.concatenate([each.sums for each in (noisy, *of_pairs)])
    sure = np.concatenate([np.full(len(each.sums), 1 / each.variance) for each in (noisy, *of_pairs)])
    one = np.ones((len(to), 1))
    inverse = np.linalg.inv(np.block([[design.T * sure @ design, one], [one.T, np.zeros((1, 1))]]))
    np.testing.assert_allclose(found.counts, (inverse @ np.append(design.T * sure @ told, 500.0))[:-1], rtol=1e-9)
    np.testing.assert_allclose(found.covariance, inverse[:-1, :-1], atol=1e-9)


def test_many_moments_are_fitted_as_few_are(monkeypatch):
    rng = np.random.default_rng(10)
    vectors, weights = rng.normal(size=(2_000, 40)), np.full(2_000, 0.5)
    noisy, found = weights @ vectors + rng.normal(0, 20, 40), []
    for most in (700, 0):
        monkeypatch.setattr("alphasynth.raking.terms.MANY", most)
        term = MomentTerm.of(vectors, noisy, 25.0)
        term.loosened(weights)
        step(np.log(weights), term)
        found.append(term.tilt)
    few, many = found
    assert np.abs(few - many).max() < 0.1 * np.abs(few).max()  # what NEARLY leaves


def test_under_loud_noise_only_moments_far_from_the_pool_are_held():
    rng = np.random.default_rng(8)
    vectors, weights = rng.normal(size=(500, 6)), np.ones(500)
    own = weights @ vectors
    term = MomentTerm.of(vectors, own + np.array([2_000.0, 10, -10, 20, -20, 10]), 100.0**2)
    term.loosened(weights)
    assert term.variance[0] < 0.01 * term.variance[1:].min()
    quiet = MomentTerm.of(vectors, own + np.array([2_000.0, 10, -10, 20, -20, 10]), 1.0)
    quiet.loosened(weights)
    assert (quiet.variance <= 1.0).all()


def test_density_goes_on_within_blocks():
    """A normal in blocks as wide as half a deviation: even ones have a variance that is 2 % too large."""
    cells = Columns.of({"x": {"limits": [-8, 8]}}).cells()[0]
    edges = np.append(cells.lower, cells.upper[-1])
    true = 3_000 * np.diff(norm.cdf(edges, 0.3, 1.0))
    counts, middle = np.bincount(cells.block, true), (cells.lower + cells.upper) / 2

    def variance(fine):
        return np.cov(middle, aweights=fine, ddof=0)

    found = within_blocks(cells, counts)
    even = (counts / np.bincount(cells.block))[cells.block]
    assert variance(even) / variance(true) - 1 > 0.018
    assert abs(variance(found) / variance(true) - 1) < 0.004
    assert np.abs(found - true).sum() < 0.2 * np.abs(even - true).sum()


def test_a_cliff_beside_a_block_leaves_it_even():
    """Limits begin at 0 and people at 50, or one block has most of them."""
    cells = Columns.of({"x": {"limits": [1, 321]}}).cells()[0]
    for counts in (np.where(np.arange(32) < 5, 0.0, 100.0), np.where(np.arange(32) == 7, 4_000.0, 10.0)):
        np.testing.assert_allclose(within_blocks(cells, counts), counts[cells.block] / 8, rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e6)), min_size=40, max_size=40),
    st.sampled_from(
        [
            {"limits": [-8, 8]},
            {"limits": [0, 1e5], "skewed": True},
            {"limits": [0, 60], "whole": True, "skewed": True, "missing": "model"},
            {"limits": [18, 95], "whole": True, "heaps": [20, 40]},
            {"limits": [0, 1_000], "whole": True, "heaps": [500]},
            {"limits": [3, 4], "whole": True},
            {"levels": ["a", "b", "c"], "missing": "model"},
            {"levels": [0.5, 1, 7]},
        ]
    ),
)
def test_counts_within_blocks_add_up(numbers, facts):
    cells = Columns.of({"x": facts}).cells()[0]
    counts = np.resize(numbers, cells.blocks)
    found = within_blocks(cells, counts)
    assert (found >= 0).all()
    np.testing.assert_allclose(np.bincount(cells.block, found), counts, rtol=1e-9, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_curvature_of_all_terms_is_that_of_dense_matrices(seed):
    """Two tables and moments, one of a table's cells without rows; slow: one matrix of all that is counted."""
    rng = np.random.default_rng(seed)
    weights, places = rng.gamma(1.0, size=200), [rng.integers(0, 3, 200), rng.integers(0, 5, 200)]
    vectors = rng.normal(size=(200, 4)) * [1, 10, 100, 1e4]
    tables = [TableTerm.of(place, np.zeros(6), 0.5) for place in places]
    moments = MomentTerm.of(vectors, np.zeros(4), 2.0)
    counted = np.concatenate([*(np.eye(6)[place] for place in places), vectors], axis=1)
    whole = counted.T @ (weights[:, None] * counted) + np.diag([0.5] * 12 + [2.0] * 4)
    slope = rng.normal(size=16) * np.sqrt(np.diag(whole))
    move = curvature([*tables, moments], weights)(slope)
    left = (whole @ move - slope) / np.sqrt(np.diag(whole))
    assert np.abs(left).max() < 1e-2 * np.abs(slope / np.sqrt(np.diag(whole))).max()


@pytest.mark.parametrize("nearly", [0.0, 1e-7, 1e-4])
def test_curvature_of_sums_that_are_nearly_the_same(nearly):
    """In numbers of 32 bits it need not be positive, by rounding."""
    rng = np.random.default_rng(5)
    one = rng.normal(size=(20_000, 1)) * 3e4
    vectors = (one + nearly * rng.normal(size=(20_000, 300)) * 3e4).astype(np.float32)
    weights, moments = rng.gamma(0.01, size=20_000), MomentTerm.of(vectors, np.zeros(300), 1e-6)
    move = curvature([moments], weights)(vectors.sum(axis=0).astype(float))
    assert np.isfinite(move).all()
    assert move @ vectors.sum(axis=0) > 0


def test_a_curvature_that_few_digits_spoil_is_solved_all_the_same():
    """Two moments that are one but for what single precision loses: no matrix of them has to be positive definite."""
    made = np.array([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]])
    move = solving(made.copy(), (0.0, *RIDGE))(np.array([1.0, 1.0]))
    np.testing.assert_allclose(move, 0.5, rtol=1e-4)
    never = np.array([[1.0, 5.0], [5.0, 1.0]])
    np.testing.assert_allclose(solving(never)(np.ones(2)), 1.0)
