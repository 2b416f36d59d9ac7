"""Trees whose values lie in a file, or are computed when asked for, are read in parts and never whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.likelihoods import arviz
from alphasynth.likelihoods.opening import open_log_lik

CHAINS, DRAWS, N = 2, 12, 7
VALUES = -np.random.default_rng(5).gamma(2.0, 1.0, N) - 0.01 * np.random.default_rng(6).random((CHAINS, DRAWS, N))
FLAT = VALUES.reshape(-1, N)


class Watched(BackendArray):
    """Values that can only be had by asking, and how many were asked for each time."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.asked = []

    def __getitem__(self, key):
        def read(where):
            self.asked.append(self.values[where].size)
            return self.values[where]

        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, read)


class Chunked:
    """What is used of a variable in dask's chunks: a slice that cuts a chunk would compute it more than once."""

    def __init__(self, values, chunks):
        self.held, self.chunks = values, chunks
        self.shape, self.dtype, self.dims = values.shape, values.dtype, ("chain", "draw", *"ab"[: values.ndim - 2])
        self.asked = []

    def __getitem__(self, key):
        self.asked.append(key)
        return xr.DataArray(self.held[key])


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(arviz, "AT_ONCE", 17)


def lazy(values):
    watched = Watched(values)
    variable = xr.Variable(("chain", "draw", *"ab"[: values.ndim - 2]), indexing.LazilyIndexedArray(watched))
    return watched, xr.DataTree.from_dict({"log_likelihood": xr.Dataset({"y": variable})})


@pytest.mark.parametrize("values", [VALUES, np.stack([VALUES, VALUES - 1], axis=-1)], ids=["records", "two axes"])
def test_a_lazy_tree_is_asked_for_some_draws_at_a_time(values):
    watched, tree = lazy(values)
    flat = values.reshape(CHAINS * DRAWS, -1)
    np.testing.assert_array_equal(syn.bounds_from(tree).largest, np.abs(flat).max(axis=0))
    assert max(watched.asked) <= 17
    assert sum(watched.asked) == values.size  # each entry once
    thinned = syn.bounds_from(tree, thresh=0.5)
    np.testing.assert_array_equal(thinned.largest, np.abs(flat[thinned.kept]).max(axis=0))
    assert max(watched.asked) <= 17


@pytest.mark.parametrize(
    "chunks",
    [((1, 1), (5, 5, 2), (7,)), ((2,), (12,), (3, 3, 1)), ((1, 1), (1,) * 12, (4, 3))],
    ids=["draws", "records", "both"],
)
def test_no_chunk_is_asked_for_twice_of_one_chain(chunks):
    variable = Chunked(VALUES, chunks)
    opened = arviz.Sliced.of(variable)
    whole = np.full(opened.shape, np.nan)
    for block in opened.blocks():
        place = np.s_[block.draw : block.draw + len(block.values), block.record : block.record + block.values.shape[1]]
        assert np.isnan(whole[place]).all()
        whole[place] = block.values
    np.testing.assert_array_equal(whole, FLAT)
    edges = [set(np.cumsum((0, *sizes))) for sizes in chunks[1:]]
    for _, *slices in variable.asked:
        for part, edge in zip(slices, edges, strict=True):
            assert {part.start, part.stop} <= edge


@pytest.mark.parametrize(
    ("dims", "values", "sentence"),
    [
        (("chain", "draw"), VALUES[:, :, 0], "a dimension of records after"),
        (("chain", "draw", "a"), VALUES.astype(str), "must hold numbers, found <U"),
        (("draw", "chain", "a"), VALUES, "must have the dimensions"),
    ],
)
def test_what_is_no_matrix_gets_one_sentence(dims, values, sentence):
    with pytest.raises(InputError, match=sentence):
        open_log_lik(xr.Dataset({"y": (dims, values)}))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the most memory held is read from /proc")
def test_a_tree_opened_from_a_file_is_never_held(tmp_path):
    """320 MB take at most 100 MB more than 8 MB do."""
    peaks = []
    for draws in (5, 200):
        values = -1 - np.random.default_rng(1).random((1, draws, 200_000))
        data = xr.Dataset({"y": (("chain", "draw", "record"), values)})
        path = tmp_path / f"{draws}.nc"
        xr.DataTree.from_dict({"log_likelihood": data}).to_netcdf(path, engine="h5netcdf")
        code = (
            f"import xarray as xr, alphasynth as syn; tree = xr.open_datatree({str(path)!r}, engine='h5netcdf'); "
            "syn.bounds_from(tree, records_in='columns'); "
            "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        peaks.append(int(ran.stdout) / 1024)
    assert peaks[1] - peaks[0] < 100
