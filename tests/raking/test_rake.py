"""Raking against a slow oracle; margins, tables of pairs and rows against what they must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from alphasynth.raking.cells import Cells
from alphasynth.raking.margins import (
    CUTS,
    FIRST_GUESS,
    PASSES,
    SIZES,
    even_where_alike,
    joined,
    nearest_counts,
    shrunk,
    with_tails,
)
from alphasynth.raking.one_way import estimated, settled, tilted
from alphasynth.raking.pool import draw_tree, pair_table, spaced
from alphasynth.raking.rake import MomentTerm, TableTerm, rake, rake_together
from alphasynth.raking.rows import Wanted, choose_rows
from alphasynth.raking.sums import Noisy
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
    monkeypatch.setattr("alphasynth.raking.rake.MANY", 0 if many else 700)
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
    found = even_where_alike(np.array(noisy), deviation, n)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(), n, rtol=1e-9, atol=1e-9)


def test_a_heap_stays_a_heap_and_noise_does_not():
    rng = np.random.default_rng(2)
    noisy = rng.normal(0, 5, 64) + np.where(np.arange(64) == 37, 400.0, 10.0)
    found = even_where_alike(noisy, 5.0, 400 + 630)
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
    found = pair_table(true + rng.normal(0, 5, true.shape), 25.0, left, right)
    np.testing.assert_allclose(found.sum(axis=1), left, rtol=1e-3)
    np.testing.assert_allclose(found.sum(axis=0), right, rtol=1e-3)
    assert np.abs(found - true).max() < 20


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


@given(st.lists(st.floats(-50, 500), min_size=1, max_size=40), st.floats(0.1, 30), st.floats(0, 10_000))
def test_shrunk_counts_add_up(noisy, deviation, n):
    found = shrunk(np.array(noisy), deviation, n)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(), n, rtol=1e-6, atol=1e-6)


def shrunk_by_hand(noisy, deviation, n, cut):
    """One way to cut, stretch by stretch."""
    sums, likely = np.concatenate([[0.0], np.cumsum(noisy)]), FIRST_GUESS / FIRST_GUESS.sum()
    found = np.zeros(len(noisy))
    for _ in range(PASSES):
        seen, waiting = FIRST_GUESS.copy(), [(0, len(noisy), n / len(noisy))]
        while waiting:
            first, end, mean = waiting.pop()
            if end - first == 1:
                found[first] = mean
                continue
            middle = first + min(max(round((end - first) * cut), 1), end - first - 1)
            left, right = middle - first, end - middle
            apart = (sums[middle] - sums[first]) / left - (sums[end] - sums[middle]) / right
            noise, usual = deviation**2 * (1 / left + 1 / right), (2 * mean * SIZES) ** 2
            speaks_for = likely * np.exp(-0.5 * apart**2 / (noise + usual)) / np.sqrt(noise + usual) + 1e-300
            speaks_for /= speaks_for.sum()
            seen += speaks_for
            apart *= float((speaks_for * usual / (noise + usual)).sum())
            apart = min(max(apart, -mean * (left + right) / right), mean * (left + right) / left)
            waiting.append((first, middle, max(mean + apart * right / (left + right), 0.0)))
            waiting.append((middle, end, max(mean - apart * left / (left + right), 0.0)))
        likely = seen / seen.sum()
    return found


@given(st.lists(st.floats(-50, 500), min_size=1, max_size=40), st.floats(0.1, 100), st.floats(1, 10_000))
def test_all_ways_to_cut_at_once_are_each_by_hand(noisy, deviation, n):
    by_hand = np.mean([shrunk_by_hand(np.array(noisy), deviation, n, cut) for cut in CUTS], axis=0)
    np.testing.assert_allclose(shrunk(np.array(noisy), deviation, n), by_hand, rtol=1e-9, atol=1e-9 * n)


def test_shrunk_counts_are_nearer_than_noisy_ones():
    """Of a smooth column and of a heaped one, on average over noise."""
    rng, at = np.random.default_rng(6), np.arange(32)
    smooth = 2_000 * np.exp(-0.5 * ((at - 14) / 6) ** 2) / 15
    heaped = np.where(at % 5 == 0, 250.0, 20.0)
    for true in (smooth, heaped):
        far = np.zeros(2)
        for _ in range(20):
            noisy = true + rng.normal(0, 15, 32)
            for i, found in enumerate((nearest_counts(noisy, true.sum()), shrunk(noisy, 15.0, true.sum()))):
                far[i] += np.abs(found - true).sum()
        assert far[1] < far[0]


def test_a_tail_has_hardly_any_rows_where_there_are_none():
    rng = np.random.default_rng(7)
    true = np.where(np.arange(32) < 14, 4_000 * 0.6 ** np.arange(32), 0.0)
    beyond = []
    for _ in range(20):
        noisy = true + rng.normal(0, 12, 32)
        found = with_tails(shrunk(noisy, 12.0, true.sum()), noisy, 12.0, np.ones(32))
        assert (found >= 0).all()
        np.testing.assert_allclose(found.sum(), true.sum(), rtol=1e-6)
        beyond.append(found[18:].sum())
    assert np.mean(beyond) < 12  # 14 noisy blocks, of which half are above 0, by 10 rows on average


def test_counts_and_moments_are_put_together_by_how_well_each_is_known():
    """Over repeated noise the mean of a column's values is off by as much as the best linear estimate's, or less."""
    rng, values = np.random.default_rng(9), np.arange(10.0)[None]
    true = np.full(10, 100.0)
    cells = Cells.of("x", Declared(levels=tuple(range(10))))
    errors = []
    for _ in range(300):
        noisy = Noisy(true + rng.normal(0, 10, 10), 100.0)
        sums = Noisy(values @ true + rng.normal(0, 50, 1), 2_500.0)
        known = estimated(noisy, np.arange(10), (), 1_000)
        found = settled(cells, known, values, sums, 1_000, unbiased=True)
        np.testing.assert_allclose(found.sum(), 1_000)
        errors.append(float((values @ (found - true))[0]))
    # Counts that add up to n know the sum to 10 sqrt(82.5) = 91, together with a deviation of 50 to 44.
    assert 44 * 0.87 < np.std(errors) < 44 * 1.13  # three standard errors of 300 deviations' deviation
    assert abs(np.mean(errors)) < 3 * 44 / np.sqrt(300)


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


def test_tilted_counts_have_the_sums_that_are_asked_for():
    counts, values = np.array([50.0, 30.0, 0.0, 15.0, 5.0]), np.arange(5.0)[None]
    made = tilted(counts, values, np.array([120.0]), np.zeros((1, 1)))
    np.testing.assert_allclose(values @ made, [120.0], rtol=1e-6)
    np.testing.assert_allclose(made.sum(), 100.0)
    assert made[2] == 0


def test_many_moments_are_fitted_as_few_are(monkeypatch):
    rng = np.random.default_rng(10)
    vectors, weights = rng.normal(size=(2_000, 40)), np.full(2_000, 0.5)
    noisy, found = weights @ vectors + rng.normal(0, 20, 40), []
    for most in (700, 0):
        monkeypatch.setattr("alphasynth.raking.rake.MANY", most)
        term = MomentTerm.of(vectors, noisy, 25.0)
        term.loosened(weights)
        term.step(np.log(weights))
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
