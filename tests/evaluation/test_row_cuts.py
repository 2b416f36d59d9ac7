"""Cells of columns of which nothing is declared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from alphasynth.evaluation.pairs import MISSING, MOST_GROUPS, OTHERS
from alphasynth.evaluation.row_cuts import BLOCKS, VALUES, cut_rows, differences_of_rows
from alphasynth.evaluation.values import shared


def rng(seed=0):
    return np.random.default_rng(seed)


def records(*frames):
    on = shared(frames, list(frames[0]))
    return [on.read(frame) for frame in frames]


def test_parts_have_about_as_many_rows():
    own = pd.DataFrame({"x": rng(1).normal(size=3_200)})
    (table,) = records(own)
    found = cut_rows("x", [table])
    counts = np.bincount(found.codes[0], table.counts)
    assert len(counts) == BLOCKS == len(found.labels)
    assert counts.tolist() == [100] * BLOCKS
    x = np.asarray(table.columns["x"])
    assert ((x >= found.ends[found.codes[0], 0]) & (x <= found.ends[found.codes[0], 1])).all()


def test_a_heap_has_a_part_for_itself():
    x = np.concatenate([np.zeros(900), rng(2).random(100) + 0.5])
    (table,) = records(pd.DataFrame({"x": x}))
    found = cut_rows("x", [table])
    assert found.labels[0] == "0"
    assert np.bincount(found.codes[0], table.counts)[0] == 900


def test_values_beyond_lie_in_the_outer_parts_and_few_values_are_told_one_by_one():
    own, other = records(pd.DataFrame({"x": range(100)}), pd.DataFrame({"x": [-50, 500]}))
    found = cut_rows("x", [own, other])
    assert found.codes[1].tolist() == [0, len(found.labels) - 1]
    own, other = records(pd.DataFrame({"x": [1, 2, 7]}), pd.DataFrame({"x": [2.2, 9]}))
    found = cut_rows("x", [own, other])
    assert found.labels == ("1", "2", "7")
    assert found.codes[1].tolist() == [1, 2]


def test_gaps_and_columns_of_gaps_alone():
    own, other = records(
        pd.DataFrame({"x": [1.0, None, 3.0], "g": ["a", None, "b"], "none": [None, None, None]}),
        pd.DataFrame({"x": [1.0, 3.0, None], "g": ["c", "b", "a"], "none": [4.0, 5.0, None]}),
    )
    found = cut_rows("x", [own, other])
    assert found.labels == ("1", "3", MISSING)
    assert cut_rows("g", [own, other]).labels == ("a", "b", "c", MISSING)
    # The confidential column has no value, so it has no type of its own; all its rows are gaps.
    alone = cut_rows("none", [own, own])
    assert alone.labels[-1] == MISSING
    assert set(alone.codes[0].tolist()) == {len(alone.labels) - 1}


def test_a_numeric_column_without_values_has_one_cell_for_those_of_others():
    own, other = records(
        pd.DataFrame({"x": [np.nan] * 5, "y": range(5)}), pd.DataFrame({"x": [1.5] * 5, "y": range(5)})
    )
    found = cut_rows("x", [own, other])
    assert found.labels == (VALUES, MISSING)
    assert found.codes[0].tolist() == [1] * 5
    assert found.codes[1].tolist() == [0] * 5


def test_rare_levels_are_joined():
    levels = rng(3).choice([f"t{i:03d}" for i in range(200)], 2_000)
    (table,) = records(pd.DataFrame({"t": levels}))
    found = cut_rows("t", [table])
    assert len(found.labels) == BLOCKS
    assert found.labels[-1] == OTHERS


def test_differences_leave_out_indicators_and_pairs_of_public_columns():
    frame = pd.DataFrame(
        {"x": rng(4).normal(size=200), "a": rng(5).choice(["u", "v"], 200), "b": rng(6).poisson(3, 200)}
    )
    frame.loc[:9, "x"] = np.nan
    own, other = records(frame, frame.sample(200, replace=True, random_state=1))
    found = differences_of_rows(own, [other], public=["a", "b"])
    assert {one.names for one in found.pairs} == {("x", "a"), ("x", "b")}
    assert {one.names for one in found.columns} == {("x",)}
    assert all(max(one.confidential.shape) <= MOST_GROUPS for one in found.pairs)
    for one in found.pairs:
        assert one.confidential.sum() == pytest.approx(1)
        assert one.synthetic.sum() == pytest.approx(1)


def test_a_permuted_column_shows_in_its_pairs_and_not_in_itself():
    x = rng(7).normal(size=1_000)
    frame = pd.DataFrame({"x": x, "y": x + rng(8).normal(size=1_000) / 4})
    own, other = records(frame, frame.assign(y=rng(9).permutation(frame["y"])))
    found = differences_of_rows(own, [other])
    assert all(one.variation == 0 for one in found.columns)
    (pair,) = found.pairs
    assert pair.variation > pair.chance + 20 * pair.error


def test_the_error_of_a_variation_is_that_of_two_samples():
    """Simulated 4,000 times: the standard deviation's own error is a ninetieth; cells are not quite independent."""
    shares, n = np.full(20, 0.05), 1_000
    samples = rng(10).multinomial(n, shares, (2, 4_000)) / n
    simulated = np.abs(samples[0] - samples[1]).sum(axis=1) / 2
    frame = pd.DataFrame({"x": np.repeat(np.arange(20), n // 20)})
    own, other = records(frame, frame)
    (found,) = differences_of_rows(own, [other]).columns
    assert found.error == pytest.approx(simulated.std(), rel=0.1)
