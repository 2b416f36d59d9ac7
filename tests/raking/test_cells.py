"""Cells of declared columns, and features of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.raking.cells import BLOCKS, Cells
from alphasynth.raking.features import FARTHEST, SCALE, features_of
from alphasynth.tables.declared import Declared

DECLARED = {
    "levels of text": (Declared(levels=("a", "b", "c")), False),
    "levels of numbers": (Declared(levels=(0.5, 2, 10), missing="model"), False),
    "numbers": (Declared(limits=(-3.0, 7.5)), False),
    "skewed numbers": (Declared(limits=(0.0, 50_000.0), missing="model"), True),
    "whole numbers": (Declared(limits=(0.0, 110.0), whole=True), False),
    "skewed whole numbers": (Declared(limits=(0.0, 77.0), whole=True), True),
    "many whole numbers": (Declared(limits=(0.0, 9_000.0), whole=True, missing="model"), True),
}


def cells(name: str) -> Cells:
    return Cells.of(name, *DECLARED[name])


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_drawn_in_a_cell_lies_in_it(name):
    column, rng = cells(name), np.random.default_rng(1)
    codes = np.repeat(np.arange(column.size), 5)
    values, gone = column.draw(rng, codes)
    np.testing.assert_array_equal(gone, column.gap & (codes == column.size - 1))
    np.testing.assert_array_equal(column.codes(values, gone), codes)
    if column.whole:
        assert (values == np.floor(values)).all()


@pytest.mark.parametrize("name", DECLARED)
def test_blocks_are_neighbouring_cells_and_few(name):
    column = cells(name)
    assert set(np.diff(column.block)) <= {0, 1}
    assert column.block[0] == 0
    assert column.blocks <= BLOCKS + 2 + column.gap
    if not column.nominal:
        assert len(column.value) == column.size - column.gap
        assert (np.diff(column.value) > 0).all()


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.booleans(), st.booleans(), st.lists(st.floats(0, 1), min_size=1))
def test_every_value_within_the_limits_has_a_cell(low, width, whole, skewed, shares):
    if whole and np.floor(low + width) - np.ceil(low) < 1:
        return
    column = Cells.of("x", Declared(limits=(low, low + width), whole=whole), skewed)
    values = low + np.array(shares) * width
    values = (
        np.clip(np.round(values), np.ceil(low), np.floor(low + width)) if whole else np.clip(values, low, low + width)
    )
    codes = column.codes(values, np.zeros(len(values), bool))
    assert (column.lower[codes] <= values).all()
    assert (values <= column.upper[codes]).all()


@pytest.mark.parametrize(
    ("limits", "whole", "skewed"),
    [
        *(((0, 5), False, False), ((0, 5e4), False, True), ((-3, 7.5), False, False), ((-5, 0), False, False)),
        *(((0, 110), True, False), ((-9_000, 400), True, False), ((0, 9_000), True, True)),
        ((-1e-3, 1e-3), False, False),
    ],
)
def test_zero_has_a_cell_and_a_block_of_its_own(limits, whole, skewed):
    column = Cells.of("x", Declared(limits=limits, whole=whole), skewed)
    (place,) = column.codes(np.zeros(1), np.zeros(1, bool))
    assert column.lower[place] == column.upper[place] == 0
    assert (column.block == column.block[place]).sum() == 1
    near = np.array([x for x in (-1.0, -1e-9, 1e-9, 1.0) if limits[0] <= x <= limits[1] and (not whole or x == int(x))])
    assert (column.codes(near, np.zeros(len(near), bool)) != place).all()
    assert column.apart.tolist() == [column.block[place]]
    assert len(Cells.of("x", Declared(limits=(1.0, 5.0)), skewed).apart) == 0


@given(st.lists(st.floats(-10, 10), max_size=6), st.booleans(), st.booleans())
def test_heaps_have_cells_and_blocks_of_their_own(heaps, whole, skewed):
    heaps = sorted({float(round(heap)) if whole else heap for heap in heaps})
    column = Cells.of("x", Declared(limits=(-10.0, 10.0), whole=whole, heaps=tuple(heaps), missing="model"), skewed)
    assert set(np.diff(column.block)) <= {0, 1}
    assert (np.diff(column.lower) > 0).all()
    assert (column.lower[1:] >= column.upper[:-1]).all()
    for heap in {0.0, *heaps}:
        (place,) = column.codes(np.array([heap]), np.array([False]))
        assert column.lower[place] == column.upper[place] == heap
        assert (column.block == column.block[place]).sum() == 1
        assert column.block[place] in column.apart


def test_what_was_not_declared_is_refused():
    none = np.zeros(2, bool)
    with pytest.raises(InputError, match="must lie within its declared limits, found values beyond"):
        cells("numbers").codes(np.array([0.0, 8.0]), none)
    with pytest.raises(InputError, match="must have no gaps"):
        cells("numbers").codes(np.array([0.0, 1.0]), np.array([True, False]))
    with pytest.raises(InputError, match="must have levels or limits declared"):
        Cells.of("x", Declared(whole=True))
    with pytest.raises(InputError, match="must hold its declared levels and no others"):
        cells("levels of numbers").codes(np.array([0.5, 3.0]), none)


@pytest.mark.parametrize("name", DECLARED)
def test_features_are_orthonormal_but_for_rounding(name):
    column, rng = cells(name), np.random.default_rng(2)
    share = rng.dirichlet(np.full(column.size, 5.0))
    features = features_of(column, share, 2).table
    assert features.dtype == np.int64
    assert np.abs(features).max() <= FARTHEST * SCALE
    moments = features / SCALE
    np.testing.assert_allclose(moments @ share, 0, atol=0.05)
    cut = (np.abs(features) == FARTHEST * SCALE).any(axis=1)  # a rare level's feature is scaled down by the cut
    np.testing.assert_allclose(((moments * share) @ moments.T)[~cut][:, ~cut], np.eye((~cut).sum()), atol=0.05)


def test_a_constant_column_has_no_features():
    column = cells("levels of text")
    assert features_of(column, np.array([1.0, 0.0, 0.0]), 2).table.shape == (0, 3)


def test_being_zero_is_a_feature_where_more_than_hardly_any_rows_are():
    """A count of zeros that is noise would be a feature that no weights can follow."""
    column = Cells.of("income", Declared(limits=(0.0, 400_000.0)), skewed=True)
    assert column.lower[0] == column.upper[0] == 0.0
    numbers = []
    for zeros in (0.0, 1.2e-3, 1.5e-2, 2e-2):
        share = np.exp(-0.5 * (np.arange(column.size) / column.size - 0.7) ** 2 / 0.1**2)
        share[0] = 0.0
        share *= (1 - zeros) / share.sum()
        share[0] = zeros
        numbers.append(features_of(column, share, 1).in_pairs)
    assert numbers == [2, 2, 2, 3]


def test_gaps_that_hardly_any_rows_have_are_in_no_pair():
    column = cells("skewed numbers")
    there = np.random.default_rng(3).dirichlet(np.full(column.size - 1, 5.0))
    rare, often = (features_of(column, np.append(there * (1 - part), part), 1) for part in (1e-3, 0.1))
    assert (rare.in_pairs, often.in_pairs) == (2, 3)
    assert len(rare.table) == len(often.table)
    # A gap has none of the number's features, and one of its own, whether in pairs or not.
    np.testing.assert_array_equal(rare.table[: rare.in_pairs, -1], 0)
    np.testing.assert_array_equal(often.table[1:, -1], 0)
    assert (np.abs(rare.table[:, -1]) == FARTHEST * SCALE).any()
    assert features_of(column, np.append(there * (1 - 1e-3), 1e-3), 1, rare=1e-4).in_pairs == 4  # and zeros, as rare


@pytest.mark.parametrize("name", DECLARED)
def test_widths_are_those_of_blocks(name):
    cells = Cells.of("x", *DECLARED[name])
    if not cells.nominal:
        assert len(cells.widths) == cells.blocks - cells.gap
        assert (np.delete(cells.widths, cells.apart) > 0).all()
