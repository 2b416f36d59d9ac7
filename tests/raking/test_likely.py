"""What columns' counts may be: modes against a general minimiser, draws against weighted draws of the prior."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from alphasynth.raking.cells import Cells
from alphasynth.raking.likely import MANY, Cut, Likely, likely_counts
from alphasynth.raking.margins import estimated, nearest_counts
from alphasynth.raking.sums import Noisy
from alphasynth.raking.wide import OF_A_MEAN, Wide
from alphasynth.synthesis.one_thread import one_thread
from alphasynth.tables.declared import Declared

NOTHING = Noisy(np.zeros(0), 1.0)
AGES = Cells.of("age", Declared(limits=(0, 99), whole=True))
TEXT = Cells.of("region", Declared(levels=("n", "e", "s")))
SCORES = Cells.of("score", Declared(levels=tuple(range(10))))
GAPS = Cells.of("income", Declared(limits=(0, 90_000), skewed=True, missing="model"))


def of_counts(cells, sums, deviation, n, before=None):
    """What counts may be, given these sums of that noise and nothing else."""
    known = estimated(Noisy(sums, deviation**2), np.arange(cells.blocks), [], n)
    features = np.zeros((0, cells.blocks))
    return likely_counts(cells, known, features, NOTHING, n, nearest_counts(known.counts, n), before)


def of_ages(ages):
    return np.bincount(AGES.block[ages], minlength=AGES.blocks).astype(float)


def bell(n=5_000):
    """Ages of adults, in a column whose limits are wider."""
    return of_ages(np.clip(np.random.default_rng(0).normal(45, 14, n).astype(int), 18, 99))


@pytest.mark.parametrize(("cells", "n"), [(TEXT, 300), (SCORES, 900), (AGES, 2_000)])
def test_modes_are_the_likeliest_vectors(cells, n):
    rng = np.random.default_rng(1)
    true = n * rng.dirichlet(np.full(cells.blocks, 2.0))
    found = of_counts(cells, true + rng.normal(0, 12, cells.blocks), 12.0, n)
    for of in range(len(found.modes)):

        def far(at, of=of):
            counts = found.posterior.counts(np.array([of]), at[None])
            return float(found.posterior.far(at[None], counts)[0])

        best = optimize.minimize(far, found.modes[of], method="BFGS", options={"maxiter": 300})
        assert far(found.modes[of]) < best.fun + 0.01


def test_what_was_found_before_is_where_to_begin_and_changes_nothing():
    rng = np.random.default_rng(2)
    sums = bell() + rng.normal(0, 15, AGES.blocks)
    other = of_counts(AGES, bell() + rng.normal(0, 15, AGES.blocks), 15.0, 5_000)
    cold, warm = of_counts(AGES, sums, 15.0, 5_000), of_counts(AGES, sums, 15.0, 5_000, other)
    mean = [each.draw(np.random.default_rng(3), 400).mean(axis=0) for each in (cold, warm)]
    np.testing.assert_allclose(*mean, atol=4 * 15 * np.sqrt(2 / 400))


@pytest.mark.parametrize("sums", [[30.0, 60.0, 10.0], [4.0, 99.0, -9.0]])
@pytest.mark.parametrize("of", [0, 2])
def test_draws_are_of_the_posterior(sums, of):
    """Under one setting; weights are the density of the noise at draws of the prior."""
    n, deviation, rng = 100, 8.0, np.random.default_rng(4)
    found = of_counts(TEXT, np.array(sums), deviation, n)
    place = np.flatnonzero(found.kept == of)
    one = Likely(found.posterior, found.kept[place], found.modes, found.spread[place], np.ones(1))
    drawn = one.draw(rng, 4_000)
    prior = found.posterior.counts(np.full(400_000, of), rng.normal(size=(400_000, 3)))
    log_weight = -0.5 * ((prior - sums) ** 2).sum(axis=1) / deviation**2
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = weight @ prior
    spread = np.sqrt(weight @ (prior - mean) ** 2)
    size = 1 / (1 / 4_000 + (weight**2).sum())  # of both samples together, as effective numbers
    np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - mean), 4 * spread / np.sqrt(size))
    np.testing.assert_allclose(
        drawn.std(axis=0), spread, rtol=4 * np.sqrt(3 / size)
    )  # tails are heavier than a normal's


def test_evidence_is_how_often_draws_of_the_prior_make_the_sums():
    sums, deviation, n, rng = np.array([55.0, 40.0, 5.0]), 6.0, 100, np.random.default_rng(5)
    found = of_counts(TEXT, sums, deviation, n)
    exact = np.zeros(len(found.modes))
    for of in range(len(exact)):
        prior = found.posterior.counts(np.full(400_000, of), rng.normal(size=(400_000, 3)))
        exact[of] = np.exp(-0.5 * ((prior - sums) ** 2).sum(axis=1) / deviation**2).mean()
    exact = exact[found.kept] / exact[found.kept].sum()
    assert np.abs(found.often - exact).max() < 0.1


cells_of_any_kind = st.sampled_from([TEXT, SCORES, AGES, GAPS])


@settings(max_examples=60, deadline=None)
@given(cells_of_any_kind, st.integers(1, 100_000), st.floats(0.01, 3_000), st.integers(0, 2**32 - 1), st.booleans())
def test_counts_are_never_negative_and_add_up(cells, n, deviation, seed, one):
    """Whatever the noise, and where all rows are in one block."""
    rng = np.random.default_rng(seed)
    true = (
        n * (np.arange(cells.blocks) == rng.integers(cells.blocks))
        if one
        else rng.multinomial(n, [1 / cells.blocks] * cells.blocks)
    )
    found = of_counts(cells, true + rng.normal(0, deviation, cells.blocks), deviation, n)
    for counts in (*found.draw(rng, 3), found.mean(rng)):
        assert (counts >= 0).all()
        np.testing.assert_allclose(counts.sum(), n, rtol=1e-9)


def test_quiet_counts_are_as_they_were_measured():
    sums = np.random.default_rng(6).multinomial(4_000, [0.1] * 10).astype(float)
    found = of_counts(SCORES, sums, 0.01, 4_000).draw(np.random.default_rng(7), 5)
    np.testing.assert_allclose(found, np.tile(sums, (5, 1)), atol=0.1)


def test_they_are_nearer_than_noisy_ones():
    """Of smooth columns, and of one with an age that many have."""
    rng, heaped = np.random.default_rng(8), bell()
    heaped[12] += 600
    for true in (bell(), heaped):
        far = np.zeros(2)
        for _ in range(10):
            noisy = true + rng.normal(0, 15, len(true))
            near = of_counts(AGES, noisy, 15.0, int(true.sum())).mean(rng), nearest_counts(noisy, true.sum())
            far += [np.abs(each - true).sum() for each in near]
        assert far[0] < 0.92 * far[1]


def test_a_column_may_end_where_a_curve_would_go_on(monkeypatch):
    """Adults, where limits begin at 0: fewer children than noise that is cut at 0 makes, and than a curve says."""
    rng, true = np.random.default_rng(9), bell()
    assert (true[:5] == 0).all()
    noisy = true + rng.normal(0, 18, (20, len(true)))

    def children(made):
        return float(np.mean([each[1:5].sum() for each in made]))

    cut = children([nearest_counts(each, 5_000) for each in noisy])
    found = children([of_counts(AGES, each, 18.0, 5_000).mean(rng) for each in noisy])
    monkeypatch.setattr("alphasynth.raking.likely.RARELY", 1e-12)
    of_curves = children([of_counts(AGES, each, 18.0, 5_000).mean(rng) for each in noisy])
    assert found < cut
    assert found < 0.7 * of_curves


def test_intervals_cover_the_shares_of_tails():
    """Older than 65, of one table's people: 8 % of them, and noise of a quarter of that in all."""
    rng, true = np.random.default_rng(10), bell(3_000)
    old = np.bincount(AGES.block, np.arange(100) > 65) / np.bincount(AGES.block)
    covered = np.zeros(2)
    for _ in range(150):
        found = of_counts(AGES, true + rng.normal(0, 18, len(true)), 18.0, 3_000).draw(rng, 100) @ old
        low, high = np.quantile(found, [0.025, 0.975])
        covered += [true @ old < low, true @ old > high]
    # Binomial with 150 and 0.025, of each side: 3.75, with a deviation of 1.9; a hundred draws' quantiles are as good.
    assert (covered < 3.75 + 3.5 * 1.9).all()


def test_counts_and_moments_are_put_together_by_how_well_each_is_known():
    rng, values, true = np.random.default_rng(11), np.arange(10.0)[None], np.full(10, 100.0)
    errors = []
    for _ in range(200):
        known = estimated(Noisy(true + rng.normal(0, 10, 10), 100.0), np.arange(10), [], 1_000)
        sums = Noisy(values @ true + rng.normal(0, 50, 1), 2_500.0)
        found = likely_counts(SCORES, known, values, sums, 1_000, nearest_counts(known.counts, 1_000))
        errors.append(float((values @ (found.draw(rng, OF_A_MEAN).mean(axis=0) - true))[0]))
    # Counts that add up to n know the sum to 10 sqrt(82.5) = 91, with a deviation of 50 to 44; smooth ones better.
    assert np.std(errors) < 44 * 1.15  # three standard errors of 200 deviations' deviation
    assert abs(np.mean(errors)) < 3 * 44 / np.sqrt(200)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("declared", [Declared(levels=("only",)), Declared(levels=(7,)), Declared(limits=(3, 3))])
def test_one_block_has_all_rows(declared):
    only = Cells.of("only", declared)
    found = of_counts(only, np.array([90.0]), 5.0, 100)
    assert found.mean(np.random.default_rng(1)).tolist() == [100]
    assert found.draw(np.random.default_rng(1), 2).tolist() == [[100], [100]]


def test_very_many_blocks_are_cut_at_zero():
    cells = Cells.of("code", Declared(levels=tuple(f"{i:04d}" for i in range(MANY + 1))))
    found = of_counts(cells, np.random.default_rng(12).normal(10, 5, cells.blocks), 5.0, 5_000)
    assert isinstance(found, Cut)
    drawn = found.draw(np.random.default_rng(13), 2)
    assert (drawn >= 0).all()
    np.testing.assert_allclose(drawn.sum(axis=1), 5_000)
    assert np.abs(drawn[0] - drawn[1]).max() > 5


SMOOTH = Cells.of("year", Declared(levels=tuple(range(90)), missing="model"))


@pytest.mark.parametrize("cells", [AGES, TEXT, SMOOTH, GAPS], ids=lambda cells: cells.name)
def test_steps_of_very_many_blocks_lead_where_those_of_few_do(monkeypatch, cells):
    """The same posterior: modes, evidence of settings, draws; each against the one that is tested above."""
    rng = np.random.default_rng(14)
    true = 3_000 * rng.dirichlet(np.full(cells.blocks, 2.0))
    sums = true + rng.normal(0, 12, cells.blocks)
    slow = of_counts(cells, sums, 12.0, 3_000)
    monkeypatch.setattr("alphasynth.raking.likely.VERY_WIDE", 0)
    fast = of_counts(cells, sums, 12.0, 3_000)
    assert isinstance(slow, Likely)
    assert isinstance(fast, Wide)
    far = slow.posterior.far(slow.modes, slow.posterior.counts(np.arange(len(slow.modes)), slow.modes))
    found = [setting.far(at, setting.counts(at)) for setting, at in zip(fast.settings, fast.modes, strict=True)]
    np.testing.assert_allclose(found, far, atol=0.05)
    often = np.zeros((2, len(far)))
    often[0, fast.kept], often[1, slow.kept] = fast.often, slow.often
    np.testing.assert_allclose(*often, atol=0.05)
    means = [each.draw(np.random.default_rng(15), 600).mean(axis=0) for each in (fast, slow)]
    # Of 600 draws each, with a deviation of at most 12; the few slices of many blocks leave them alike a little.
    np.testing.assert_allclose(*means, atol=4 * 12 * np.sqrt(2 / 600))
    spreads = [each.draw(np.random.default_rng(16), 600).std(axis=0) for each in (fast, slow)]
    assert 0.8 < np.mean(spreads[0]) / np.mean(spreads[1]) < 1.1


@pytest.mark.slow
@one_thread()
def test_very_many_numbers_take_seconds_and_what_was_found_before_is_where_to_begin():
    cells, rng = Cells.of("code", Declared(levels=tuple(range(1_000)))), np.random.default_rng(17)
    falling = np.exp(-np.arange(1_000) / 200)
    true = rng.multinomial(5_000, falling / falling.sum())
    noisy = [true + rng.normal(0, 6, 1_000) for _ in range(2)]
    began = time.process_time()
    first = of_counts(cells, noisy[0], 6.0, 5_000)
    assert isinstance(first, Wide)
    again = of_counts(cells, noisy[1], 6.0, 5_000, first)
    far = [np.abs(each - true).sum() for each in (again.mean(rng), nearest_counts(noisy[1], 5_000))]
    assert time.process_time() - began < 30, "with room for a slow machine: cubes of a thousand took a minute"
    assert far[0] < 0.8 * far[1]
    cold = of_counts(cells, noisy[1], 6.0, 5_000)
    np.testing.assert_allclose(
        again.settings[0].counts(again.modes[0]), cold.settings[0].counts(cold.modes[0]), atol=0.1
    )
