"""Which moments are measured, how features are mixed, and what a response and interactions have of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from alphasynth.errors import PrivacyFault
from alphasynth.raking.cells import Cells
from alphasynth.raking.features import IN_PAIRS, MIXED, SCALE, Features, features_of, mixing
from alphasynth.raking.moments import OF_ONE, OF_POWERS, USUAL, all_moments
from alphasynth.tables.declared import Declared

COLUMNS = (
    Cells.of("sex", Declared(levels=("f", "m"))),
    Cells.of("age", Declared(limits=(0.0, 100.0), whole=True)),
    Cells.of("visits", Declared(limits=(0.0, 60.0), whole=True), skewed=True),
    Cells.of("cost", Declared(limits=(0.0, 50_000.0), whole=True, missing="model"), skewed=True),
)


def pool(rng, rows=20_000):
    """Cells of rows: visits rise with age, of men less, and costs with visits; half cost nothing."""
    sex = rng.integers(0, 2, rows)
    age = np.clip(np.round(rng.normal(50, 15, rows)), 0, 100)
    visits = np.clip(rng.poisson(np.exp(0.02 * age - 0.3 * sex)), 0, 60)
    cost = np.where(
        rng.random(rows) < 0.5, 0, np.clip(np.round(np.exp(5 + 0.1 * visits + rng.normal(size=rows))), 0, 5e4)
    )
    gone = rng.random(rows) < 0.1
    values = (sex, age, visits, cost)
    none = np.zeros(rows, bool)
    return [c.codes(v.astype(float), gone if c.gap else none) for c, v in zip(COLUMNS, values, strict=True)]


def features(codes, degree=1):
    return [
        features_of(c, np.bincount(each, minlength=c.size) / len(each), degree)
        for c, each in zip(COLUMNS, codes, strict=True)
    ]


def test_mixed_features_are_uncorrelated():
    codes = pool(np.random.default_rng(1))
    moments = all_moments(features(codes), codes)
    features_alone = moments.features(codes)[len(moments.mix) : -1]
    mixed = moments.mix @ features_alone / MIXED / SCALE
    found = np.corrcoef(mixed)
    # NEVER leaves some: 5 % of what there was.
    raw = np.corrcoef(features_alone)
    assert np.abs(raw - np.eye(len(raw))).max() > 0.3
    assert np.abs(found - np.eye(len(found))).max() < 0.1
    # They are multiplied as whole numbers, and end at three deviations.
    whole = moments.features(codes)[: len(moments.mix)]
    np.testing.assert_allclose(whole, np.clip(mixed, -IN_PAIRS, IN_PAIRS) * SCALE, atol=0.5 + 1e-9)
    assert np.abs(mixed).max() > IN_PAIRS


def test_what_comes_last_leaves_the_others_alone():
    correlation = np.array([[1.0, 0.6, 0.5], [0.6, 1.0, 0.2], [0.5, 0.2, 1.0]])
    last = np.array([False, False, True])
    mix = mixing(correlation, last) / MIXED
    np.testing.assert_array_equal(mix[:2, 2], 0)
    np.testing.assert_allclose(mix[:2, :2], mixing(correlation[:2, :2], last[:2]) / MIXED)
    left = mix @ correlation @ mix.T
    np.testing.assert_allclose(left, np.eye(3), atol=0.12)  # NEVER takes a twentieth off all correlations


def test_all_pairs_of_columns_and_each_column_alone():
    some = [Features(np.ones((number, 3), np.int64), 1, 1) for number in (2, 1, 1)]
    moments = all_moments(some, [np.array([0, 1, 2])] * 3)
    # Three mixed features, of one column each, then four features and a one.
    assert list(zip(moments.left.tolist(), moments.right.tolist(), strict=True)) == [
        *((0, 1), (0, 2), (1, 2)),
        *((3, 7), (4, 7), (5, 7), (6, 7)),
    ]
    assert moments.alone.tolist() == [False] * 3 + [True] * 4
    assert moments.scale.tolist() == [USUAL] * 3 + [OF_ONE] * 4


@pytest.mark.parametrize("share", [0.5, 0.7])
def test_a_response_has_its_share(share):
    codes = pool(np.random.default_rng(2))
    moments = all_moments(features(codes), codes, [2], share=share)
    owner = [int(np.argmax(np.abs(row))) for row in moments.mix]
    tables = [len(each.table) for each in features(codes)]
    of_visits = range(sum(tables[:2]), sum(tables[:3]))
    numbers = np.concatenate([owner, np.arange(sum(tables)), [-1]])
    heavy = np.isin(numbers[moments.left], of_visits) | np.isin(numbers[moments.right], of_visits)
    squares = moments.scale.astype(float) ** 2
    assert abs(squares[heavy].sum() / squares.sum() - share) < 0.1  # weights are whole numbers
    # Weighed up alike, products and what is of visits alone.
    pairs = heavy & ~moments.alone
    assert len(set(moments.scale[pairs].tolist())) == len(set(moments.scale[heavy & moments.alone].tolist())) == 1


def test_an_interaction_is_multiplied_by_the_response():
    codes = pool(np.random.default_rng(3))
    plain, crossed = (all_moments(features(codes), codes, [2], pairs) for pairs in ([], [(0, 1)]))
    assert len(crossed.interactions) == 1
    # The interaction of sex and age with each of the visits' features.
    assert crossed.size == plain.size + features(codes)[2].in_pairs
    everywhere = all_moments(features(codes), codes, [], [(0, 1)])
    assert everywhere.size > crossed.size
    products = crossed.features(codes)
    number = len(crossed.mix) + sum(len(table) for table in crossed.tables)
    first = len(crossed.mix) + crossed.interactions[0].left, len(crossed.mix) + crossed.interactions[0].right
    by_hand = products[first[0]] * products[first[1]] / SCALE - crossed.interactions[0].less
    assert np.abs(products[number] - by_hand).max() <= 0.5
    assert abs(products[number].mean()) < 1


def test_being_zero_is_a_feature_where_a_logarithm_does_not_tell_it():
    codes = pool(np.random.default_rng(4))
    _, age, visits, cost = features(codes)
    assert (age.low, visits.low) == (1, 2)  # itself; a count's logarithm and itself
    assert cost.low == 4  # gaps, its logarithm, being zero, itself
    assert features(codes, 2)[1].in_pairs == 2
    assert features(codes, 2)[1].low == 1


def test_products_with_powers_weigh_less():
    codes = pool(np.random.default_rng(5))
    scales = all_moments(features(codes, 2), codes).scale
    assert set(scales.tolist()) == {OF_POWERS, OF_ONE, USUAL}
    assert OF_POWERS < USUAL


def test_a_vector_that_stays_too_long_is_an_error(monkeypatch):
    """Cutting that fails, here as rounding that goes away from zero, is an error and no longer vector."""
    codes = pool(np.random.default_rng(6), 50)
    moments = replace(all_moments(features(codes), codes), length=5)
    assert (moments.vectors(codes) ** 2).sum(axis=1).max() <= 25
    monkeypatch.setattr(np, "trunc", lambda values: np.sign(values) * np.ceil(np.abs(values)))
    with pytest.raises(PrivacyFault, match="must be longer than the public length"):
        moments.vectors(codes)


def test_all_levels_that_some_rows_have_are_multiplied_by_a_response_and_by_nothing_else():
    """Ten levels have six contrasts with other columns, and nine with what matters most; rare levels have none."""
    rng = np.random.default_rng(7)
    state = Cells.of("state", Declared(levels=(*(f"s{number}" for number in range(10)), "t")))
    columns = (state, COLUMNS[0], COLUMNS[1])
    codes = [rng.integers(0, 10, 5_000), rng.integers(0, 2, 5_000), rng.integers(0, 101, 5_000)]
    shares = [np.bincount(each, minlength=c.size) / len(each) for c, each in zip(columns, codes, strict=True)]
    with_response = [features_of(c, share, 1, response=True) for c, share in zip(columns, shares, strict=True)]
    assert [(each.in_pairs, each.with_response) for each in with_response] == [(6, 9), (1, 1), (1, 1)]
    moments = all_moments(with_response, codes, important=[2])
    pairs = int((~moments.alone).sum())
    assert pairs == 6 + 9 + 1  # state by sex, state by age, sex by age
    # Contrasts beside leave what the others are mixed to alone.
    plain = [features_of(c, share, 1) for c, share in zip(columns, shares, strict=True)]
    without = all_moments(plain[:2], codes[:2])
    first = [*range(6), 9]
    assert (moments.mix[first, 6:9] == 0).all()
    np.testing.assert_array_equal(moments.mix[first, :6], without.mix[:, :6])
    assert features_of(state, shares[0], 1).with_response == 6


def test_numbers_that_are_codes_have_contrasts():
    codes = Cells.of("region", Declared(levels=(1, 2, 3, 4), nominal=True))
    amounts = Cells.of("region", Declared(levels=(1, 2, 3, 4)))
    share = np.array([0.4, 0.3, 0.2, 0.1])
    assert (codes.nominal, codes.text, amounts.nominal) == (True, False, False)
    assert features_of(codes, share, 1).in_pairs == 3
    assert features_of(amounts, share, 1).in_pairs == 1
    drawn, _ = codes.draw(np.random.default_rng(8), np.array([0, 3, 1]))
    assert drawn.tolist() == [1.0, 4.0, 2.0]
