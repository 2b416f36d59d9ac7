"""Empirical risk: by hand, and against double loops over the rows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.evaluation.nearest import nearest_distances
from alphasynth.evaluation.risk import (
    Aligned,
    MatchRates,
    identification_risk,
    match_rates,
    mean_rates,
    paired_rates,
)
from alphasynth.mechanisms.rules import CW
from alphasynth.tables.records import Records

VALUES = st.lists(st.integers(0, 40), min_size=2, max_size=25)


def records(frame):
    return Records.from_table(frame, list(frame.columns))


def of(values, **more):
    return records(pd.DataFrame({"y": values, **more}))


def test_identification_risk_by_hand():
    # Within 10 % of 100 lie 95 and 105 of four rows: risk 1/2. Within 10 % of 50 none: the table says nothing of it.
    found = identification_risk(of([50, 100, 100]), [of([95, 105, 80, 200])], column="y", radius=0.1)
    assert found.by_distinct.tolist() == [0, 0.5]
    assert found.by_record.tolist() == [0, 0.5, 0.5]
    assert found.mean == pytest.approx(1 / 3)
    assert found.alone == 1
    # On the confidential table itself: 50 is alone but for itself, 1 of 3; 100 has 2 of 3.
    assert found.before == pytest.approx([2 / 3, 1 / 3])
    assert found.mean_before == pytest.approx((2 / 3 + 1 / 3 + 1 / 3) / 3)


@given(own=VALUES, tables=st.lists(VALUES, min_size=1, max_size=3), radius=st.floats(0.01, 20), relative=st.booleans())
@settings(deadline=None, max_examples=50)  # grouping starts an engine
def test_identification_risk_equals_a_double_loop(own, tables, radius, relative):
    records = of(own)
    found = identification_risk(records, [of(table) for table in tables], column="y", radius=radius, relative=relative)
    for value, risk in zip(records.columns["y"], found.by_distinct, strict=True):
        reach = radius * abs(float(value)) if relative else radius
        outside = [np.mean([abs(float(other) - float(value)) > reach for other in table]) for table in tables]
        assert risk == pytest.approx(np.mean([share if share < 1 else 0 for share in outside]))


@given(own=VALUES, radius=st.floats(0.05, 1))
@settings(deadline=None, max_examples=50)  # grouping starts an engine
def test_before_is_the_risk_that_cw_weighs_by(own, radius, make_fit):
    records = of(own)
    alpha = CW(radius, relative=True)(records, make_fit(records))
    assert 1 - alpha == pytest.approx(identification_risk(records, [records], column="y", radius=radius).before)


@pytest.fixture(scope="module")
def make_fit():
    class Fit:
        def __init__(self, records):
            self.names, self.largest_distinct = (records.response,), np.ones(records.size)

    return Fit


def test_risk_within_known_columns():
    # The intruder knows sex: of the three synthetic women one is near.
    records = of([10, 10], sex=["f", "m"])
    table = of([10, 30, 99], sex=["f", "f", "f"])
    found = identification_risk(records, [table], column="y", radius=0.1, known=["sex"])
    assert found.by_distinct == pytest.approx([2 / 3, 0])  # no synthetic man at all
    assert found.alone == 1


def test_a_copy_is_riskier_than_noise():
    rng = np.random.default_rng(3)
    own = of(rng.poisson(50, 300))
    copy, noise = (identification_risk(own, [t], column="y", radius=0.1) for t in (own, of(np.full(300, 900))))
    assert copy.mean == copy.mean_before > 0.5
    assert noise.mean == 0
    assert noise.alone == 300


def test_risk_of_frames_and_of_what_has_none():
    table, synthetic = pd.DataFrame({"y": [50, 100], "g": ["a", "b"]}), pd.DataFrame({"g": ["a", "b"], "y": [95, 105]})
    assert identification_risk(table, [synthetic], column="y", radius=0.1).by_record.tolist() == [0, 0]
    for column, tables in (("g", [synthetic]), ("y", [])):
        with pytest.raises(InputError, match="must hold numbers"):
            identification_risk(table, tables, column=column, radius=0.1)


@pytest.mark.parametrize("radius", [0, -1, float("inf"), float("nan"), True])
def test_a_radius_must_be_positive(radius):
    with pytest.raises(InputError, match="radius must be positive"):
        identification_risk(of([1, 2]), [of([1, 2])], column="y", radius=radius)


def slow_rates(own, others, group, radius, relative):
    expected, true, false, single = 0.0, 0, 0, 0
    for i, value in enumerate(own):
        reach = radius * abs(value) if relative else radius
        matches = [j for j in range(len(own)) if group[j] == group[i] and abs(others[j] - value) <= reach]
        expected += (i in matches) / len(matches) if matches else 0
        if len(matches) == 1:
            single += 1
            true += i in matches
            false += i not in matches
    n = len(own)
    return MatchRates(expected / n, true / n, false / single if single else None, single / n)


@given(
    rows=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 2)), min_size=1, max_size=20),
    radius=st.floats(0.01, 5),
    relative=st.booleans(),
)
def test_match_rates_equal_a_double_loop(rows, radius, relative):
    own, others, group = (np.array(column, float) for column in zip(*rows, strict=True))
    group = group.astype(int)
    found = match_rates(Aligned(own, others, group), radius, relative)
    expected = slow_rates(own, others, group, radius, relative)
    for name in vars(expected):
        value = getattr(expected, name)
        assert getattr(found, name) == (None if value is None else pytest.approx(value))


def test_match_rates_by_hand():
    # Record 1: rows 1 and 2 match (own among them): 1/2. Record 2: row 3 alone, another's. Record 3: none.
    rows = Aligned(np.array([10.0, 50.0, 90.0]), np.array([10.0, 11.0, 52.0]), np.zeros(3, int))
    assert match_rates(rows, 0.1) == MatchRates(0.5 / 3, 0.0, 1.0, 1 / 3)


def test_rates_of_several_tables():
    found = mean_rates([MatchRates(0.2, 0.1, None, 0.0), MatchRates(0.4, 0.3, 0.5, 0.2)])
    assert (found.expected, found.true_rate, found.false_rate, found.unique) == pytest.approx((0.3, 0.2, 0.5, 0.1))
    assert mean_rates([MatchRates(0.2, 0.1, None, 0.0)]).false_rate is None


def test_aligned_tables_have_as_many_rows():
    with pytest.raises(InputError, match="as many rows, found 2 and 3"):
        Aligned(np.zeros(2), np.zeros(3), np.zeros(2, int))


def test_paired_rates_are_means_over_all_orders_of_exchangeable_rows():
    """Each way to pair rows within their groups, one by one."""
    age, own, others = [30, 40, 40, 50, 50, 50], [9, 20, 21, 30, 33, 90], [10, 21, 60, 31, 31, 88]
    found = paired_rates(of(own, age=age), of(others, age=age), ["age"], 0.1)
    slow = []
    for two in permutations(others[1:3]):
        for three in permutations(others[3:]):
            rows = Aligned(np.array(own, float), np.array([others[0], *two, *three], float), np.array(age))
            slow.append(match_rates(rows, 0.1))
    assert found.expected == pytest.approx(np.mean([rate.expected for rate in slow]))
    assert found.true_rate == pytest.approx(np.mean([rate.true_rate for rate in slow]))
    assert found.unique == pytest.approx(slow[0].unique)
    assert found.false_rate == pytest.approx(1 - found.true_rate / found.unique)


def test_paired_rates_need_the_same_rows():
    records = of([1, 2, 3, 4], age=[30, 40, 50, 50])
    assert paired_rates(records, of([1, 2, 3, 4], age=[30, 40, 50, 60]), ["age"], 0.1) is None
    assert paired_rates(records, of([1, 2], age=[30, 40]), ["age"], 0.1) is None
    assert paired_rates(records, of([900, 900, 900, 900], age=[30, 40, 50, 50]), ["age"], 0.1).false_rate is None


def test_paired_rates_equal_those_of_the_rows_in_order():
    """Where no two rows share the known columns, pairing by them is pairing by rows."""
    rng = np.random.default_rng(4)
    own, others = rng.poisson(20, 60), rng.poisson(20, 60)
    age = rng.permutation(60)
    rows = match_rates(Aligned(own.astype(float), others.astype(float), age), 0.1)
    paired = paired_rates(of(own, age=age), of(others, age=age), ["age"], 0.1)
    assert list(vars(paired).values()) == pytest.approx(list(vars(rows).values()))


def test_nearest_distances_equal_a_double_loop():
    rng = np.random.default_rng(5)

    def table(n):
        return pd.DataFrame({"x": rng.normal(size=n), "y": rng.poisson(5, n), "g": rng.choice(["a", "b"], n)})

    own, holdout, synthetic = table(40), table(40), table(30)
    found = nearest_distances(rng, records(own), [records(synthetic)], records(holdout))
    scale = own[["x", "y"]].std()

    def nearest(row, reference):
        square = ((reference[["x", "y"]] - row[["x", "y"]]) / scale).astype(float) ** 2
        return float(np.sqrt(square.sum(axis=1) + (reference["g"] != row["g"])).min())

    near = np.array([nearest(row, own) for _, row in synthetic.iterrows()])
    far = np.array([nearest(row, holdout) for _, row in synthetic.iterrows()])
    assert found.median == pytest.approx(np.median(near))
    assert found.median_holdout == pytest.approx(np.median(far))
    assert found.smallest == pytest.approx(np.quantile(near, 0.05))
    assert found.nearer == pytest.approx(np.mean(near < far))
    assert found.size == 40


def test_copies_of_many_columns_are_copies():
    """Above 15 columns scikit-learn would take a way that loses small distances."""
    rng = np.random.default_rng(8)
    own, holdout = (
        records(pd.DataFrame(1e8 + rng.normal(size=(200, 18)), columns=list("abcdefghijklmnopqr"))) for _ in "12"
    )
    found = nearest_distances(rng, own, [own], holdout)
    assert (found.copies, found.copies_holdout, found.nearer, found.median) == (1, 0, 1, 0)
    assert found.median_holdout > 1


def test_records_that_are_unique_in_what_is_known():
    records = of([1, 2, 3], age=[30, 40, 40])
    found = identification_risk(records, [records], column="y", radius=0.1, known=["age"])
    assert found.unique == 1
    assert identification_risk(records, [records], column="y", radius=0.1).unique == 0


def test_copies_are_nearer_to_their_records_and_new_rows_are_not():
    """500 rows: the share's standard error is at most 0.022; four of them."""
    rng = np.random.default_rng(6)
    own, holdout, new = (records(pd.DataFrame({"x": rng.normal(size=500)})) for _ in range(3))
    copies = nearest_distances(rng, own, [own], holdout)
    assert (copies.nearer, copies.copies, copies.copies_holdout, copies.ties) == (1, 1, 0, 0)
    assert nearest_distances(rng, own, [new], holdout).nearer == pytest.approx(0.5, abs=0.09)
    # A larger holdout is cut to size: more records would always be nearer.
    large = records(pd.DataFrame({"x": rng.normal(size=5_000)}))
    assert nearest_distances(rng, own, [new], large).nearer == pytest.approx(0.5, abs=0.09)


def test_ties_are_told():
    whole = of([1, 2, 3])
    found = nearest_distances(np.random.default_rng(0), whole, [whole], whole)
    assert (found.nearer, found.ties, found.copies, found.copies_holdout) == (0, 1, 1, 1)
