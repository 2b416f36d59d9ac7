"""Rows made up from declarations, and how far tables are apart."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.planning.distances import COEFFICIENT, MARGIN, MEAN, PAIR, SHARE, Item, Reference
from alphasynth.planning.stand_in import GAPS, HEAPED, resampled, stand_in
from alphasynth.raking.columns import Columns
from alphasynth.raking.reading import read_codes
from alphasynth.synthesis.raked import RakedSynthesizer

SURVEY = {
    "sex": {"levels": ["f", "m"]},
    "married": {"levels": [0, 1]},
    "age": {"limits": [0, 95], "whole": True},
    "income": {"limits": [0, 400_000], "skewed": True, "missing": "model"},
    "hours": {"limits": [0, 80], "heaps": [40]},
    "day": {
        "limits": ["2020-01-01", "2020-12-31"],
    },
}


def survey(**beside):
    return Columns.of(SURVEY, **beside)


def test_rows_keep_declarations_and_constraints():
    columns = survey(constraints=["married => age >= 15"])
    table = stand_in(columns, np.random.default_rng(0), 4_000)
    read_codes(columns, table.select(columns.names).to_batches())  # refuses what was not declared or breaks one
    frame = table.to_pandas()
    assert frame["income"].isna().mean() == pytest.approx(GAPS, abs=4 * math.sqrt(GAPS / 4_000))
    assert (frame["hours"] == 40).mean() == pytest.approx(HEAPED, abs=4 * math.sqrt(0.25 / 4_000))
    assert set(frame["sex"]) == {"f", "m"}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=40, unique=True).map(
                lambda levels: {"levels": levels}
            ),
            st.tuples(st.integers(-1_000, 1_000), st.integers(1, 10_000), st.booleans(), st.booleans()).map(
                lambda n: {"limits": [n[0], n[0] + n[1]], "whole": n[2], "skewed": n[3], "missing": "model"}
            ),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 200),
)
def test_any_declarations_have_stand_ins(facts, rows):
    columns = Columns.of({f"c{number}": each for number, each in enumerate(facts)})
    table = stand_in(columns, np.random.default_rng(1), rows)
    assert table.num_rows == rows
    read_codes(columns, table.to_batches())
    reference = Reference.of(columns, table)
    assert all(off == 0 for off in reference.distances(table).values())


def test_a_weight_stands_in_too():
    columns = survey(weight={"column": "w", "largest": 50.0})
    table = stand_in(columns, np.random.default_rng(0), 2_000)
    weights = table["w"].to_numpy()
    assert weights.min() > 0
    assert weights.max() == 50.0
    # A stand-in's effective rows: (sum w)^2 / sum w^2.
    assert Reference.of(columns, table).rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    RakedSynthesizer(columns, m=1, epsilon=4, delta=1e-9, seed=1).fit(table)


def test_a_public_table_is_drawn_from():
    table = pa.table({"x": [1.0, 2.0]})
    drawn = resampled(table, np.random.default_rng(0), 500)
    assert drawn.num_rows == 500
    assert set(drawn["x"].to_pylist()) == {1.0, 2.0}


def plain(n=1_000):
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(50, 10, n)).clip(0, 100)
    columns = Columns.of({"x": {"limits": [0, 100]}, "y": {"limits": [0, 300]}, "s": {"levels": ["a", "b", "c"]}})
    y = np.clip(2 * x + rng.normal(0, 20, n), 0, 300)
    return columns.with_response(["y"], []), pa.table({"x": x, "y": y, "s": rng.choice(["a", "b", "c"], n)})


def test_distances_are_in_standard_errors():
    columns, table = plain()
    reference = Reference.of(columns, table)
    x, n = table["x"].to_numpy(), table.num_rows
    moved = table.set_column(0, "x", pa.array(x + 1))
    off = reference.distances(moved)
    assert reference.errors[Item(MEAN, "x")] == pytest.approx(x.std() / math.sqrt(n))
    assert off[Item(MEAN, "x")] == pytest.approx(math.sqrt(n) / x.std())
    assert off[Item(SHARE, "s")] == 0
    # A shift changes no correlation but for the cells' own rounding, and no slope.
    assert off[Item(PAIR, "x × y")] < 0.3
    assert off[Item(COEFFICIENT, "y ~ x")] < 1e-6


def test_shares_margins_and_pairs_by_hand():
    columns, table = plain()
    reference = Reference.of(columns, table)
    s, n = np.array(table["s"].to_pylist()), table.num_rows
    other = np.where(np.arange(n) < 100, "a", s)
    off = reference.distances(table.set_column(2, "s", pa.array(other)))
    own, made = (np.array([(each == level).mean() for level in "abc"]) for each in (s, other))
    error = math.sqrt(np.mean(own * (1 - own)) / n)
    assert off[Item(SHARE, "s")] == pytest.approx(math.sqrt(np.mean((own - made) ** 2)) / error)
    sample = np.sqrt(own * (1 - own) / n).sum() * math.sqrt(2 / math.pi) / 2
    assert off[Item(MARGIN, "s")] == pytest.approx(np.abs(own - made).sum() / 2 / sample)
    mixed = table.set_column(0, "x", pa.array(np.random.default_rng(0).permutation(table["x"].to_numpy())))
    r = np.corrcoef(table["x"].to_numpy(), table["y"].to_numpy())[0, 1]
    assert reference.distances(mixed)[Item(PAIR, "x × y")] == pytest.approx(r * math.sqrt(n), rel=0.1)


def test_weights_are_rows_that_count_more_often():
    columns, table = plain(400)
    weighted = Columns.of(
        {name: facts.plain() for name, facts in columns.declared.items()}, weight={"column": "w", "largest": 4.0}
    ).with_response(["y"], [])
    often = np.random.default_rng(5).integers(1, 5, 400)
    whole = table.take(pa.array(np.repeat(np.arange(400), often)))
    reference = Reference.of(weighted, table.append_column("w", pa.array(often.astype(float))))
    plainly = Reference.of(columns, whole)
    made = table.slice(0, 200)
    wider = math.sqrt(whole.num_rows / reference.rows)
    for item, off in plainly.distances(made).items():
        assert reference.distances(made)[item] == pytest.approx(off / wider), item
        assert reference.errors[item] == pytest.approx(plainly.errors[item] * wider), item
