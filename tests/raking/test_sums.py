"""What passes from the confidential side: how far one unit moves it, what it costs, and that nothing else passes."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alphasynth.privacy.randomness import Stream
from alphasynth.privacy.spending import Sensitivity, Spending
from alphasynth.raking.cells import Cells
from alphasynth.raking.exact import Held
from alphasynth.raking.features import Features, Moments, features_of
from alphasynth.raking.moments import all_moments, exact_sums
from alphasynth.raking.reading import HEAVIEST
from alphasynth.raking.sums import Confidential, Margin, Noisy, Weights
from alphasynth.tables.declared import Declared


class Told(Spending):
    """A budget that adds no noise and notes what it was told of sums and of how far a unit moves them."""

    def noisy(self, stream, sums, sensitivity, name, part):
        self.take(name, part)
        self.told = (sums.copy(), sensitivity)
        return sums, 1.0

    def choose(self, stream, scores, rows, name, part):
        self.take(name, part)
        self.told = (scores.copy(), Sensitivity(rows**2, rows))
        return int(np.argmax(scores))


SIZES = (3, 5, 4)


@st.composite
def neighbours(draw):
    """A table of cells, and the rows of one unit to add."""
    rows = draw(st.integers(0, 12))
    unit = draw(st.integers(1, 3))
    codes = [draw(st.lists(st.integers(0, size - 1), min_size=rows + unit, max_size=rows + unit)) for size in SIZES]
    whole = tuple(np.array(column, np.int64) for column in codes)
    return whole, tuple(column[:rows] for column in whole), unit


def confidential(codes, unit, spending=None, weights=None):
    exact = Held.of(codes, weights)
    return Confidential(exact, Stream(np.random.SeedSequence(1)), spending or Told(Fraction(1), False), 10, unit)


def moved(one, two, ask):
    """By how much a unit moves what is asked of two neighbours, and what was said of it."""
    ask(one), ask(two)
    (first, moves), (second, again) = one._spending.told, two._spending.told
    assert moves == again
    apart = (first - second).astype(object)
    return int((apart**2).sum()), int(np.abs(apart).sum()), moves


def margins():
    return [
        Margin((0,), (np.array([0, 1, 1]),)),
        Margin((2,), (np.arange(4),)),
        Margin((0, 1), (np.arange(3), np.array([0, 0, 1, 1, 2]))),
    ]


def some_moments(rng, length) -> Moments:
    """Of features at random, one column a response, two of them with an interaction, mixed by a pool at random."""
    features = [Features(rng.integers(-128, 129, (3, size)), 1, 2) for size in SIZES]
    pool = [rng.integers(0, size, 50) for size in SIZES]
    return replace(all_moments(features, pool, (1,), [(0, 2)]), length=length)


def weighed(codes, unit, weights):
    """A table whose records count as these weights say, of which none is above 7."""
    table = confidential(codes, unit, Told(Fraction(2), False), np.array(weights[: len(codes[0])], np.int64))
    return replace(table.weighed(Weights(7, Fraction(1, 10))), each=3.0)


@given(neighbours(), st.lists(st.integers(0, 7), min_size=15, max_size=15), st.integers(0, 1_000_000))
def test_weighted_sums_move_by_no_more_than_is_said(pair, weights, seed):
    more, less, unit = pair
    one, two = weighed(more, unit, weights), weighed(less, unit, weights)
    square, absolute, moves = moved(one, two, lambda t: t.counts(margins(), "counts", Fraction(1, 2)))
    assert square <= moves.square == 3 * (7 * unit) ** 2
    assert absolute <= moves.absolute == 3 * 7 * unit
    rng = np.random.default_rng(seed)
    moments = some_moments(rng, 300)
    square, absolute, moves = moved(one, two, lambda t: t.moments(moments, "moments", Fraction(1, 4)))
    assert square <= moves.square == (7 * unit * 300) ** 2
    assert absolute <= moves.absolute
    fitted = [rng.uniform(0, 5, margin.size) for margin in margins()]
    one.worst(margins(), fitted, "choice", Fraction(1, 4)), two.worst(margins(), fitted, "choice", Fraction(1, 4))
    assert np.abs(one._spending.told[0] - two._spending.told[0]).max() <= 7 * unit
    assert one._spending.told[1].absolute == 7 * unit
    assert sum(cost for _, cost in one._spending.spent) == one._spending.total, "weights' part and all others"


@given(st.lists(st.integers(0, HEAVIEST), min_size=1, max_size=15), st.integers(1, 3))
def test_sums_of_weights_and_of_their_squares_move_by_no_more_than_is_said(weights, unit):
    size = len(weights)
    tables = [
        confidential((np.zeros(rows, np.int64),), unit, None, np.array(weights[:rows], np.int64))
        for rows in (size, max(size - unit, 0))
    ]
    for table in tables:
        table.weighed(Weights(HEAVIEST, Fraction(1, 10)))
    (first, moves), (second, _) = (table._spending.told for table in tables)
    assert first.tolist() == [sum(weights), sum(round(weight**2 / HEAVIEST + 1e-9) for weight in weights)]
    assert np.abs(first - second).sum() <= moves.absolute == 2 * HEAVIEST * unit
    assert ((first - second) ** 2).sum() <= moves.square == 2 * (HEAVIEST * unit) ** 2


def weighted(weights, rho) -> Confidential:
    codes, spending = (np.arange(len(weights)) % 2,), Spending(Fraction(rho), False)
    table = Confidential(Held.of(codes, weights), Stream(np.random.SeedSequence(1)), spending, len(weights))
    return table.weighed(Weights(HEAVIEST, Fraction(1, 2)))


def test_weights_tell_a_design_effect_between_one_and_what_they_can_have():
    rng = np.random.default_rng(4)
    weights = rng.integers(1, HEAVIEST, 5_000)
    true = len(weights) * (weights**2.0).sum() / weights.sum(dtype=float) ** 2
    np.testing.assert_allclose(weighted(weights, 100).design_effect, true, rtol=0.01)
    for rho in (Fraction(1, 10**9), Fraction(1, 10**7)):  # noise of any size
        table = weighted(weights[:20], rho)
        assert 1 <= table.design_effect <= max(HEAVIEST / table.each, 1)
    assert confidential((np.array([0, 1]),), 1).design_effect == 1


def test_columns_counts_say_what_a_row_weighs_by_how_well_they_know():
    """Two numbers of all rows: what weights said, 1,000 to a variance of `unsure`, and 1,300 to a third of that."""
    table = replace(weighted(np.full(1_000, 300), 1), each=300.0, unsure=90.0)
    found = table.told([Noisy(np.array([1_300.0]), 30.0)])
    np.testing.assert_allclose(found.each, 300 * (1_000 / 90 + 1_300 / 30) / (1 / 90 + 1 / 30) / 1_000)
    np.testing.assert_allclose(found.unsure, 22.5 / 1.225**2)
    plain = confidential((np.array([0, 1]),), 1)
    assert plain.told([Noisy(np.array([7.0]), 1.0)]) is plain, "where none are, the number of rows is known"


@given(neighbours(), st.integers(0, 1_000_000), st.integers(1, 40_000))
def test_sums_by_products_are_those_of_vectors(pair, seed, length):
    """The fast path against vectors one by one, in the last integer; weighted ones against repeated records."""
    codes, _, _ = pair
    rng = np.random.default_rng(seed)
    moments = some_moments(rng, length)
    weights = rng.integers(0, 4, len(codes[0]))
    assert (exact_sums(moments, codes) == moments.vectors(codes).sum(axis=0)).all()
    repeated = [np.repeat(column, weights) for column in codes]
    assert (exact_sums(moments, codes, weights) == moments.vectors(repeated).sum(axis=0)).all()


@given(neighbours())
def test_counts_move_by_no_more_than_is_said(pair):
    more, less, unit = pair
    square, absolute, moves = moved(
        confidential(more, unit), confidential(less, unit), lambda t: t.counts(margins(), "counts", Fraction(1))
    )
    assert square <= moves.square
    assert absolute <= moves.absolute


@given(neighbours(), st.integers(0, 1_000_000), st.integers(1, 400))
def test_moments_move_by_no_more_than_is_said(pair, seed, length):
    more, less, unit = pair
    rng = np.random.default_rng(seed)
    moments = some_moments(rng, length)
    square, absolute, moves = moved(
        confidential(more, unit), confidential(less, unit), lambda t: t.moments(moments, "moments", Fraction(1))
    )
    assert square <= moves.square == (unit * length) ** 2
    assert absolute <= moves.absolute


@given(neighbours(), st.integers(0, 1_000_000))
def test_scores_move_by_no_more_than_a_units_rows(pair, seed):
    more, less, unit = pair
    rng = np.random.default_rng(seed)
    fitted = [rng.uniform(0, 5, margin.size) for margin in margins()]
    one, two = confidential(more, unit), confidential(less, unit)
    one.worst(margins(), fitted, "choice", Fraction(1)), two.worst(margins(), fitted, "choice", Fraction(1))
    assert np.abs(one._spending.told[0] - two._spending.told[0]).max() <= unit


@given(neighbours(), st.sampled_from([0.0, -1e300, 1e9, 1e17, 2.0**61, 1e300, np.inf, np.nan]), st.floats(1e-9, 1e15))
def test_scores_move_by_no_more_beside_fits_that_no_float_holds(pair, fit, each):
    """Noise may make fits of any size: what is beyond 2^53 would be rounded, and move by more than a row."""
    more, less, unit = pair
    one, two = (replace(confidential(codes, unit), each=each) for codes in (more, less))
    fitted = [np.full(margin.size, fit) for margin in margins()]
    one.worst(margins(), fitted, "choice", Fraction(1)), two.worst(margins(), fitted, "choice", Fraction(1))
    assert np.abs(one._spending.told[0] - two._spending.told[0]).max() <= unit


# Numbers that are known of a table without spending: public ones, and what noisy sums have told.
PUBLIC = {"n", "rows_of_unit", "each", "most", "unsure", "squares", "design_effect"}


def test_nothing_else_passes():
    """All that a confidential table has for others to call returns noisy sums or the number of a choice."""
    public = [name for name in vars(Confidential) if not name.startswith("_")]
    assert set(public) - PUBLIC == {"counts", "worst", "moments", "deviation", "weighed", "told"}
    assert {field.name for field in dataclasses.fields(Noisy)} == {"sums", "variance"}
    assert "codes" not in repr(confidential((np.array([0, 1, 2]),), 1))
    assert "read" not in repr(confidential((np.array([0, 1, 2]),), 1))


class Untouched:
    """Exact sums that nobody may ask for."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked for")


def test_what_is_public_of_a_table_has_no_exact_sum():
    """Whatever can be read off it without spending is the same for any table; all else spends, or is refused."""
    spending = Spending(Fraction(1), False)
    table = Confidential(Untouched(), Stream(np.random.SeedSequence(1)), spending, 10, 2)
    public = [name for name in dir(table) if not name.startswith("_")]
    values = {name: getattr(table, name) for name in public if not callable(getattr(table, name))}
    assert values == dict(zip(sorted(PUBLIC), (1.0, 1.0, 2, 10, 2, 0.0, 0.0), strict=True))
    assert table.told([Noisy(np.array([12.0]), 1.0)]) is table
    assert table.deviation(100, 5, Fraction(1, 2)) > 0
    assert spending.spent == []
    asked = {
        "counts": lambda t: t.counts(margins(), "counts", Fraction(1, 8)),
        "worst": lambda t: t.worst(margins(), [np.zeros(margin.size) for margin in margins()], "c", Fraction(1, 8)),
        "moments": lambda t: t.moments(own_moments(), "m", EIGHTH),
        "weighed": lambda t: t.weighed(Weights(7, Fraction(1, 8))),
    }
    assert {name for name in public if callable(getattr(table, name))} == {*asked, "deviation", "told"}
    codes = tuple(np.zeros(10, np.int64) for _ in SIZES)
    for number, ask in enumerate(asked.values(), start=1):
        ask(Confidential(Held.of(codes), Stream(np.random.SeedSequence(1)), spending, 10))
        assert len(spending.spent) == number, "it spends"


EIGHTH = Fraction(1, 8)


def own_moments():
    cells = [Cells.of("a", Declared(levels=tuple(range(size)))) for size in SIZES]
    features = [features_of(each, np.full(each.size, 1 / each.size), 1) for each in cells]
    return replace(all_moments(features, [np.arange(60) % size for size in SIZES]), length=1_000)
