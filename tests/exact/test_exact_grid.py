"""The fast exact grid: one cost of a row at a point, bounds that hold everywhere, the plain grid's distribution."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from alphasynth.errors import PrivacyFault
from alphasynth.exact import binned_sums, public_grid
from alphasynth.exact.axes import size_of
from alphasynth.exact.clipped_sums import FAR, bounds, can_bound
from alphasynth.exact.public_grid import QUANTA, Counted, PublicGrid, cost_of_row, prior_weights, total_cost
from alphasynth.exact.quanta import Costs
from alphasynth.inference.contribution import BetaDivergence, Censored, Recentred
from alphasynth.inference.density import Target
from alphasynth.mechanisms.strict import _largest_on
from alphasynth.models.coefficient_priors import NormalPrior
from alphasynth.models.families import FAMILIES
from alphasynth.models.model import PEAK, TAKES_PART, Rows
from alphasynth.privacy import exponential
from alphasynth.tables.declared import Declared

LIMITS = Declared(limits=(1.0, 100.0))
CONTINUOUS = ("normal", "log_normal", "gamma")
COUNTS = ("poisson", "negative_binomial", "zero_truncated_poisson", "zero_truncated_negative_binomial")
# Coarse, which the bounds do not mind; dispersions far beyond the defaults.
STEPS = {"mean": 0.4, "phi": 1.0, "beta[0]": 0.15, "log_sd": 0.8, "log_shape": 1.0}


@pytest.fixture(autouse=True)
def _in_64_bit():
    with jax.enable_x64(True):
        yield


def problem(family, values, cut=8.0, epsilon=1.0, contribution=None):
    """A bounded model, a small grid, columns and counts of values."""
    model = FAMILIES[family].model("y", LIMITS if family in CONTINUOUS else Declared(), NormalPrior(), 1)
    y, counts = np.unique(np.asarray(values, float), return_counts=True)
    columns = model.read("y", y, LIMITS, True)
    columns[PEAK] = model.peak(columns)
    names = model.coordinates(False)
    limits = {"phi": (0.02, 5_000.0)} if "phi" in names else {}
    axes = PublicGrid(limits, {name: STEPS[name] for name in names}).axes(model, columns)
    return (contribution or Censored(cut)).bounded(model, epsilon), axes, columns, counts.astype(float)


def second_stage(bounded, axes, columns, epsilon, place):
    """The model and columns of draws that are centred at a first one, somewhere on the grid."""
    first = np.array([axis.u[0] + place * (axis.u[-1] - axis.u[0]) for axis in axes])
    model = bounded.model
    log_lik = np.asarray(model.log_lik(model.prior.constrain(first), columns))
    return Recentred().second(model, epsilon), {**columns, PEAK: Recentred().centre(log_lik, epsilon)}, first


def values_of(family):
    if family in CONTINUOUS:
        return st.one_of(st.floats(1, 100), st.sampled_from([1.0, 5.0, 95.0, 100.0, 50.0, 50.00000001]))
    least = int("truncated" in family)
    far = st.sampled_from([least, least + 1, 63, 64, 65, 1_000, 100_000_000])
    return st.one_of(st.integers(least, 40), st.integers(least, 90_000), far)


@pytest.mark.slow
@pytest.mark.parametrize("family", [*CONTINUOUS, *COUNTS])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_costs_lie_between_their_bounds_at_every_point(family, data):
    """Of either stage, any heaps and ties: a ceiling below an exact weight would make a wrong distribution."""
    values = data.draw(st.lists(values_of(family), min_size=1, max_size=25))
    heap = data.draw(st.sampled_from([1, 1, 7, 1_000_000]))
    epsilon = data.draw(st.sampled_from([0.05, 1.0, 12.0]))
    bounded, axes, columns, counts = problem(family, values, data.draw(st.sampled_from([2.0, 8.0])), epsilon)
    counts[data.draw(st.integers(0, len(counts) - 1))] *= heap
    stages = [(bounded, columns, None), second_stage(bounded, axes, columns, epsilon, data.draw(st.floats(0, 1)))]
    for model, read, centre in stages:
        cost = total_cost(model, axes, read, counts)
        low, high = bounds(model, axes, read, counts, centre)
        assert (low <= cost).all()
        assert (cost <= high).all()


def divergence(family, values, epsilon=1.0, beta=0.5):
    """As `problem`, with a beta-divergence loss whose bound is the grid's; and what all rows share."""
    bounded, axes, columns, counts = problem(family, values, epsilon=epsilon, contribution=BetaDivergence(beta))
    if family in ("poisson", "negative_binomial"):
        bound = _largest_on(bounded.model, axes)
        bounded = BetaDivergence(beta, bound).bounded(bounded.model, epsilon)
    return bounded, axes, columns, counts, public_grid.prepare(bounded, axes, columns)


@pytest.mark.slow
@pytest.mark.parametrize("family", [*CONTINUOUS, *COUNTS])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_divergences_lie_between_their_bounds_at_every_point(family, data):
    """Whatever is binned: heaps, ties, one value far off, and dispersions at which a log-density is convex."""
    values = data.draw(st.lists(values_of(family), min_size=1, max_size=25))
    start, length = data.draw(st.sampled_from([(1, 0), (1, 90), (30, 60), (2, 80)]))  # enough that some are binned
    values += [float(start + place) for place in range(length) if start + place <= 100]
    heap = data.draw(st.sampled_from([1, 1, 7, 1_000_000]))
    beta, epsilon = data.draw(st.sampled_from([0.1, 0.5, 2.0])), data.draw(st.sampled_from([0.05, 1.0, 12.0]))
    bounded, axes, columns, counts, shared = divergence(family, values, epsilon, beta)
    counts[data.draw(st.integers(0, len(counts) - 1))] *= heap
    cost = total_cost(bounded, axes, columns, counts)
    low, high = binned_sums.bounds(bounded, axes, shared, columns, counts)
    assert (low <= cost).all()
    assert (cost <= high).all()


@pytest.mark.parametrize("family", ["normal", "gamma", "negative_binomial"])
def test_few_of_many_values_tell_a_divergence_where_weight_is(family):
    """Within a quarter of a nat, of 3,000 values and more, where nearly all weight lies."""
    rng = np.random.default_rng(1)
    values = rng.gamma(9, 6, 4_000).clip(1, 100) if family in CONTINUOUS else rng.negative_binomial(4, 4 / 9_004, 6_000)
    bounded, axes, columns, counts, shared = divergence(family, values)
    assert len(counts) > 3_000
    low, high = binned_sums.bounds(bounded, axes, shared, columns, counts)
    log_weight = np.log(prior_weights(bounded, axes)) - low / QUANTA
    weight = np.exp(log_weight - log_weight.max())
    assert weight @ ((high - low) / QUANTA < 0.25) > 0.95 * weight.sum()


def test_bins_of_lines_that_take_no_part():
    bounded, axes, columns, counts, shared = divergence("normal", [2.0, 50.0, 51.0, 99.0])
    taking_part = np.array([1.0, 0.0, 1.0, 0.0])
    part = {name: column[taking_part > 0] for name, column in columns.items()}
    found = binned_sums.bounds(bounded, axes, shared, {**columns, TAKES_PART: taking_part}, counts)
    np.testing.assert_array_equal(found, binned_sums.bounds(bounded, axes, shared, part, counts[taking_part > 0]))
    nobody = binned_sums.bounds(bounded, axes, shared, {**columns, TAKES_PART: 0 * taking_part}, counts)
    assert (nobody.high == 0).all()


@pytest.mark.parametrize("family", [*CONTINUOUS, "poisson", "negative_binomial"])
def test_bounds_are_half_a_quantum_for_each_record_and_little_more(family):
    rng = np.random.default_rng(1)
    values = rng.uniform(1, 100, 3_000) if family in CONTINUOUS else rng.negative_binomial(2, 2 / 5_002, 3_000)
    bounded, axes, columns, counts = problem(family, values)
    low, high = bounds(bounded, axes, columns, counts, None)
    near = (low - high.min()) * bounded.epsilon / QUANTA < FAR  # beyond, nothing is drawn and no sum is made
    assert near.any()
    assert (high - low)[near].max() <= 2 * 3_000 * 0.6


def test_lines_that_take_no_part_cost_nothing():
    bounded, axes, columns, counts = problem("normal", [2.0, 50.0, 51.0, 99.0])
    taking_part = np.array([1.0, 0.0, 1.0, 0.0])
    part = {name: column[taking_part > 0] for name, column in columns.items()}
    found = bounds(bounded, axes, {**columns, TAKES_PART: taking_part}, counts, None)
    np.testing.assert_array_equal(found, bounds(bounded, axes, part, counts[taking_part > 0], None))
    assert (bounds(bounded, axes, {**columns, TAKES_PART: 0 * taking_part}, counts, None).high == 0).all()


@pytest.mark.parametrize("family", ["negative_binomial", "normal", "poisson"])
def test_a_row_costs_the_same_wherever_it_stands_and_whatever_is_asked_for(family):
    """Bit for bit: alone and everywhere, among 1,500 others, in any order, and a tile at a time."""
    rng = np.random.default_rng(2)
    values = rng.uniform(1, 100, 1_500).round(1) if family == "normal" else rng.integers(0, 4_000, 1_500)
    bounded, axes, columns, counts = problem(family, values)
    whole = total_cost(bounded, axes, columns, counts)
    order = rng.permutation(len(counts))
    moved = {name: column[order] for name, column in columns.items()}
    np.testing.assert_array_equal(total_cost(bounded, axes, moved, counts[order]), whole)
    rows = ({name: column[i : i + 1] for name, column in columns.items()} for i in range(len(counts)))
    alone = sum(int(times) * cost_of_row(bounded, axes, {}, row) for times, row in zip(counts, rows, strict=True))
    np.testing.assert_array_equal(alone, whole)
    counted = Counted(Costs(bounded, axes), columns, counts)
    some = rng.choice(size_of(axes), 200)
    np.testing.assert_array_equal(counted.at(some), whole[some])


def test_tiles_cover_grids_of_one_two_and_three_axes():
    for family, levels in (("bernoulli", 2), ("categorical", 3), ("categorical", 4), ("ordinal", 4)):
        declared = Declared(levels=tuple("abcd"[:levels]))
        model = FAMILIES[family].model("y", declared, NormalPrior(), 1)
        names = model.coordinates(False)
        axes = PublicGrid({}, dict.fromkeys(names, 1.3)).axes(model, {})
        columns = {"y": np.arange(float(levels)), PEAK: np.zeros(levels)}
        bounded = Censored(5.0).bounded(model, 1.0)
        cost = total_cost(bounded, axes, columns, np.ones(levels))
        added = jax.vmap(lambda u, b=bounded, c=columns: b.log_lik(b.prior.constrain(u), c))(public_grid.points(axes))
        expected = np.rint(-np.asarray(added) * QUANTA).sum(axis=1)
        assert np.abs(cost - expected).max() <= levels


TABLES = {
    "two groups": ("normal", np.r_[np.full(700, 95.0), np.full(620, 5.0)]),
    "two groups of counts": ("negative_binomial", np.r_[np.full(60, 300), np.full(60, 450)]),
    "a heap at 0": ("negative_binomial", np.r_[np.zeros(400), np.arange(1, 60)]),
    "a far record": ("negative_binomial", np.r_[np.arange(40, 160), 10**8]),
    "a far record of poisson counts": ("poisson", np.r_[np.full(30, 12), np.full(25, 18), 10**8]),
    "constant": ("gamma", np.full(300, 40.0)),
    "one record": ("normal", np.array([33.0])),
    "two records": ("log_normal", np.array([2.0, 90.0])),
    "ties": ("zero_truncated_negative_binomial", np.repeat([1, 2, 64, 65, 200], [50, 40, 3, 9, 7])),
}


def draws_and_probabilities(family, values, number, work=None, monkeypatch=None, contribution=None):
    bounded, axes, columns, counts = problem(family, values, epsilon=1.0, contribution=contribution)
    if work is not None:
        monkeypatch.setattr(public_grid, "NEAR_ENOUGH", 0.0)
        monkeypatch.setattr(public_grid, "MOST_WORK", work)
    assert (can_bound if contribution is None else binned_sums.can_bin)(bounded, columns)
    rows = Rows.pad(columns, np.arange(len(counts)), bounded.model.public_starts())
    target = Target.of(bounded, rows.for_strict(columns[PEAK]), rows.total(counts))
    names = bounded.model.coordinates(False)
    limits = {"phi": (0.02, 5_000.0)} if "phi" in names else {}
    grid = PublicGrid(limits, {name: STEPS[name] for name in names})
    u = grid.draw(np.random.SeedSequence(4), target, number).u
    places = [np.abs(axis.u[:, None] - u[:, d]).argmin(axis=0) for d, axis in enumerate(axes)]
    drawn = np.ravel_multi_index(places, [axis.points for axis in axes])
    cost = total_cost(bounded, axes, columns, counts)
    log_weight = np.log(prior_weights(bounded, axes)) - (cost - cost.min()) / QUANTA
    weight = np.exp(log_weight - log_weight.max())
    return drawn, weight / weight.sum()


def chi_square(drawn, probability):
    """Points of fewer than five expected draws are taken together."""
    expected, seen = len(drawn) * probability, np.bincount(drawn, minlength=len(probability))
    rare = expected < 5
    parts = [np.append(part[~rare], part[rare].sum()) for part in (seen, expected)]
    enough = parts[1] > 1e-9
    assert parts[0][~enough].sum() == 0
    return stats.chisquare(parts[0][enough], parts[1][enough]).pvalue if enough.sum() > 1 else 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("refined", [False, True])
def test_draws_have_the_plain_grids_distribution(name, refined, monkeypatch):
    family, values = TABLES[name]
    work = 10**9 if refined else None
    drawn, probability = draws_and_probabilities(family, values, 4_000, work, monkeypatch)
    assert chi_square(drawn, probability) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_draws_of_divergences_have_the_plain_grids_distribution(name, monkeypatch):
    """From bins of eight knots alone, so that proposals are judged where bounds are wide."""
    monkeypatch.setattr(binned_sums, "LADDER", (8,))
    family, values = TABLES[name]
    drawn, probability = draws_and_probabilities(family, values, 4_000, contribution=BetaDivergence())
    assert chi_square(drawn, probability) > 1e-4


@pytest.mark.slow
def test_wide_bounds_change_nothing_but_the_work(monkeypatch):
    """Costs known to a nat and a half alone: nearly all proposals are judged by the whole numbers, and rightly."""
    rng = np.random.default_rng(5)
    prior, cost = rng.integers(1, 1 << 40, 60), rng.integers(0, 9_000_000, 60)
    quantum = exponential.Fraction(4) / 2**20
    wide = 1.5 / float(quantum) * rng.random((2, 60))
    asked = []

    def exact(numbers):
        asked.append(len(numbers))
        return cost[numbers]

    stream = exponential.Stream(np.random.SeedSequence(6))
    drawn = exponential.draw_between(stream, prior, cost - wide[0], cost + wide[1], exact, quantum, 6_000)
    log_weight = np.log(prior) - cost * float(quantum)
    weight = np.exp(log_weight - log_weight.max())
    assert chi_square(drawn, weight / weight.sum()) > 1e-4
    assert sum(asked) > 600
    monkeypatch.setattr(exponential, "accept_exp", lambda *_: True)
    wrong = exponential.draw_between(stream, prior, cost - wide[0], cost + wide[1], exact, quantum, 6_000)
    assert chi_square(wrong, weight / weight.sum()) < 1e-6


def test_a_bound_that_does_not_hold_is_a_fault():
    prior, cost = np.ones(2, np.int64), np.array([0.0, 0.0])
    stream = exponential.Stream(np.random.SeedSequence(1))
    with pytest.raises(PrivacyFault, match="between its bounds"):
        exponential.draw_between(
            stream, prior, cost + 5, cost + 1e9, lambda numbers: np.zeros(len(numbers), int), exponential.Fraction(1), 9
        )


@settings(max_examples=25, deadline=None)
@given(values=st.lists(st.floats(1, 100), min_size=1, max_size=15), epsilon=st.sampled_from([0.3, 2.0]))
@example(values=[100.0] * 15, epsilon=2.0)
def test_beta_divergences_of_continuous_values_stay_within_epsilon(values, epsilon):
    bounded, axes, columns, _ = problem("normal", values, epsilon=epsilon, contribution=BetaDivergence())
    row = {name: column[:1] for name, column in columns.items()}
    cost = cost_of_row(bounded, axes, public_grid.prepare(bounded, axes, columns), row)
    assert cost.min() >= 0
    assert cost.max() <= QUANTA
    direct = jax.vmap(lambda u: bounded.log_lik(bounded.prior.constrain(u), row)[0])(public_grid.points(axes))
    np.testing.assert_allclose(cost * (epsilon / QUANTA), -np.asarray(direct), atol=1e-4)
