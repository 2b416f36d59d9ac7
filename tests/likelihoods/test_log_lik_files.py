"""One matrix in every format that it may come in, and files that are not what they should be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import xarray as xr

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.likelihoods import columnar, matrix, text
from alphasynth.likelihoods.opening import open_log_lik

S, N = 24, 7
VALUES = -np.random.default_rng(5).gamma(2.0, 1.0, N) - 0.01 * np.random.default_rng(6).random((S, N))


def frame(names):
    return pd.DataFrame(VALUES, columns=names)


def stan_csv(path):
    """As CmdStan writes it: comments, its own columns, the parameters, then the log-likelihoods."""
    names = ["lp__", "accept_stat__", "mu", *(f"log_lik.{i + 1}" for i in range(N))]
    lines = ["# stan_version_major = 2", ",".join(names), "# Adaptation terminated"]
    lines += [",".join(map(repr, [-9.0, 0.9, 3.0, *map(float, row)])) for row in VALUES]
    path.write_text("\n".join([*lines, "# Elapsed Time: 0.1 seconds"]) + "\n")


def write_group(path, values=VALUES, group="log_likelihood"):
    data = xr.Dataset({"y": (("chain", "draw", "y_dim"), values.reshape(2, S // 2, N))})
    xr.DataTree.from_dict({group: data}).to_netcdf(path, engine="h5netcdf")


def lists(values=VALUES):
    return pa.table({"log_lik": pa.array(values.tolist(), pa.list_(pa.float64()))})


WRITERS = {
    "a.npy": lambda path: np.save(path, VALUES),
    "chains.npy": lambda path: np.save(path, VALUES.reshape(2, S // 2, N)),
    "fortran.npy": lambda path: np.save(path, np.asfortranarray(VALUES)),
    "numbers.csv": lambda path: frame(range(N)).to_csv(path, index=False),
    "r_table.txt": lambda path: path.write_text(
        " ".join(f'"V{i}"' for i in range(N)) + "\n" + frame(range(N)).to_csv(sep=" ", header=False, quoting=2)
    ),
    "out_of_order.parquet": lambda path: frame([f"V{i + 5}" for i in range(N)])[
        [f"V{i + 5}" for i in np.random.default_rng(0).permutation(N)]
    ].to_parquet(path),
    "index.parquet": lambda path: frame([f"log_{c}" for c in "abcdefg"]).set_index(np.arange(S) * 2).to_parquet(path),
    "r.csv": lambda path: frame([f"V{i}" for i in range(N)]).to_csv(path, quoting=2, index_label=""),
    "plain.csv": lambda path: np.savetxt(path, VALUES, delimiter=",", fmt="%.17g"),
    "semicolons.txt": lambda path: np.savetxt(path, VALUES, delimiter=";", fmt="%.17g"),
    "spaces.txt": lambda path: np.savetxt(path, VALUES, delimiter=" ", fmt="%.17g"),
    "tabs.tsv": lambda path: frame([f"log_lik[{i}]" for i in range(N)]).to_csv(path, sep="\t", index=False),
    "stan.csv": stan_csv,
    "wide.parquet": lambda path: frame([f"log_lik.{i + 1}" for i in range(N)]).to_parquet(path, row_group_size=5),
    "shuffled.parquet": lambda path: frame([f"log_lik.{i + 1}" for i in range(N)])[
        [f"log_lik.{i + 1}" for i in np.random.default_rng(0).permutation(N)]
    ].to_parquet(path),
    "lists.parquet": lambda path: pq.write_table(lists(), path, row_group_size=4),
    "a.arrow": lambda path: feather.write_feather(
        pa.Table.from_pandas(frame(list("abcdefg"))), path, compression="uncompressed", chunksize=5
    ),
    "a.feather": lambda path: feather.write_feather(pa.Table.from_pandas(frame(list("abcdefg"))), path),
    "arviz.nc": write_group,
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """So that a small matrix is read in many parts."""
    for module in (matrix, columnar, text):
        monkeypatch.setattr(module, "AT_ONCE", 17)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_tells_the_same(tmp_path, name):
    WRITERS[name](tmp_path / name)
    made = syn.bounds_from(tmp_path / name)
    np.testing.assert_array_equal(made.largest, np.abs(VALUES).max(axis=0))
    assert made.num_draws == S
    thinned = syn.bounds_from(str(tmp_path / name), thresh=0.5)
    np.testing.assert_array_equal(thinned.largest, np.abs(VALUES[thinned.kept]).max(axis=0))


@pytest.mark.parametrize("name", ["plain.csv", "lists.parquet", "wide.parquet", "a.npy", "a.arrow"])
def test_parts_cover_the_matrix_once(tmp_path, name):
    WRITERS[name](tmp_path / name)
    opened = open_log_lik(tmp_path / name)
    seen, whole = np.zeros(opened.shape), np.zeros(opened.shape)
    blocks = list(opened.blocks())
    for block in blocks:
        place = np.s_[block.draw : block.draw + len(block.values), block.record : block.record + block.values.shape[1]]
        seen[place] += 1
        whole[place] = block.values
    assert len(blocks) > 3
    assert (seen == 1).all()
    np.testing.assert_array_equal(whole, VALUES)


def test_a_row_per_record_is_turned(tmp_path):
    path = tmp_path / "turned.parquet"
    pd.DataFrame(VALUES.T, columns=[f"draw_{i}" for i in range(S)]).to_parquet(path, row_group_size=3)
    with pytest.raises(InputError, match="transposed: say records_in='rows'"):
        syn.bounds_from(path)
    np.testing.assert_array_equal(syn.bounds_from(path, records_in="rows").largest, np.abs(VALUES).max(axis=0))


def test_frames_and_objects_tell_the_same(tmp_path):
    write_group(tmp_path / "arviz.nc")
    tree = xr.open_datatree(tmp_path / "arviz.nc", engine="h5netcdf")
    import polars as pl

    named = frame([f"log_lik.{i + 1}" for i in range(N)]).assign(lp__=-1.0)
    for source in (VALUES, VALUES.tolist(), named, pa.Table.from_pandas(named), pl.from_pandas(named), tree):
        np.testing.assert_array_equal(syn.bounds_from(source).largest, np.abs(VALUES).max(axis=0))


def test_chains_are_stacked(tmp_path):
    for chain, part in enumerate(np.split(VALUES, 2)):
        np.savetxt(tmp_path / f"{chain}.csv", part, delimiter=",", fmt="%.17g")
    paths = [tmp_path / "0.csv", tmp_path / "1.csv"]
    stacked = syn.bounds_from(paths, thresh=0.5)
    np.testing.assert_array_equal(stacked.kept, syn.bounds_from(VALUES, thresh=0.5).kept)
    np.save(tmp_path / "other.npy", VALUES[:, 1:])
    with pytest.raises(InputError, match="the same records, found 6 and 7 columns"):
        syn.bounds_from([paths[0], tmp_path / "other.npy"])


def break_line(path, old, new):
    np.savetxt(path, VALUES, delimiter=",", fmt="%.17g")
    lines = path.read_text().splitlines()
    lines[3] = new if old is None else lines[3].replace(lines[3].split(",")[old], new, 1)
    path.write_text("\n".join(lines))


def with_first(path, line):
    np.savetxt(path, VALUES, delimiter=",", fmt="%.17g")
    path.write_text(line + "\n" + path.read_text())


def write_stream(path):
    """Arrow's other format."""
    table = pa.table({"a": [-1.0, -2.0], "b": [-2.0, -3.0]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


BROKEN = {
    "na_first.csv": (lambda path: with_first(path, "-1,NA,-2,-3,-4,-5,-6"), "names or numbers, found some of both"),
    "warm_up.csv": (lambda path: with_first(path, "#     save_warmup = 1"), "found warm-up among them"),
    "short.csv": (lambda path: break_line(path, None, "-1,-2"), "must hold 7 entries, found 2 in line 4"),
    "words.csv": (lambda path: break_line(path, 2, "NA"), "an entry that is none in line 4"),
    "empty_cell.csv": (lambda path: break_line(path, 2, ""), "an entry that is none in line 4"),
    "not_a_number.csv": (lambda path: break_line(path, 2, "nan"), "not a number"),
    "other.parquet": (lambda path: path.write_text("a,b"), "must be a Parquet file"),
    "other.npy": (lambda path: path.write_text("a,b"), "must be a .npy file"),
    "other.arrow": (lambda path: path.write_text("a,b"), "must be an Arrow file.*found another kind"),
    "stream.arrow": (lambda path: write_stream(path), "must be an Arrow file.*found a stream in 'stream.arrow'"),
    "other.nc": (lambda path: path.write_text("a,b"), "must be a NetCDF file"),
    "no_group.nc": (lambda path: write_group(path, group="posterior"), "must have a group 'log_likelihood'"),
    "words.parquet": (lambda path: frame(list("abcdefg")).assign(a="x").to_parquet(path), "column 'a' of .* values"),
    "gaps.parquet": (lambda path: frame(list("abcdefg")).mask(VALUES < -3).to_parquet(path), "missing|not a number"),
    "draws.parquet": (lambda path: pd.DataFrame({"lp__": [-1.0], "mu": [2.0]}).to_parquet(path), "found none of that"),
    "a_gap.parquet": (
        lambda path: frame([f"log_lik.{i + 1 + (i > 3)}" for i in range(N)]).to_parquet(path),
        "without a gap",
    ),
    "ragged.parquet": (
        lambda path: pq.write_table(pa.table({"f": [[-1.0, -2.0], [-1.0]]}), path),
        "must have 2 numbers, as the first has",
    ),
    "empty.csv": (lambda path: path.write_text(""), "at least two records"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_files_that_are_no_matrix_get_one_sentence(tmp_path, name):
    write, sentence = BROKEN[name]
    write(tmp_path / name)
    with pytest.raises(InputError, match=sentence):
        syn.bounds_from(tmp_path / name)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the most memory held is read from /proc")
@pytest.mark.parametrize("records_in", ["columns", "rows"])
def test_a_large_file_is_never_held(tmp_path, records_in):
    """320 MB in one row group take at most 100 MB more than 8 MB do."""
    peaks = []
    for draws in (5, 200):
        values = -1 - np.random.default_rng(1).random((draws, 200_000))
        table = pa.table({f"draw_{s}": values[s] for s in range(draws)})
        if records_in == "columns":
            table = pa.table({"log_lik": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 200_000)})
        pq.write_table(table, tmp_path / f"{draws}.parquet", use_dictionary=False, compression="none")
        peaks.append(peak_of(tmp_path / f"{draws}.parquet", records_in))
    assert peaks[1] - peaks[0] < 100


def peak_of(path, records_in):
    """The most memory (MB) that a process of its own held while it read the bounds of a file."""
    code = (
        f"import alphasynth as syn; syn.bounds_from({str(path)!r}, records_in={records_in!r}); "
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(ran.stdout) / 1024
