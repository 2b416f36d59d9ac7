"""Files that are damaged, and what is refused of them in a sentence."""

from __future__ import annotations

import struct

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pytest

from alphasynth.errors import InputError
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.tables.engine import translated
from alphasynth.tables.opening import open_table


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow"])
def test_names_that_are_no_text_are_refused(suffix, tmp_path):
    """Arrow meets them as it reads them, with an error of Python's."""
    path, frame = tmp_path / f"t.{suffix}", pd.DataFrame({"visits": [1, 2, 3]})
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "feather":
        pf.write_feather(frame, path)
    else:
        table = pa.table({"visits": [1, 2, 3]})
        with pa.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)
    assert open_table(path).column_names == ("visits",)
    path.write_bytes(path.read_bytes().replace(b"visits", b"\x84isits"))
    with pytest.raises(InputError, match=rf"t\.{suffix} must be an? \w+"):
        open_table(path)


def arrow_of(text, path, stream):
    """A file with one column of text, beside one of numbers."""
    table = pa.table({"visits": [1, 2, 3], "sex": text})
    writer = pa.ipc.new_stream if stream else pa.ipc.new_file
    with writer(str(path), table.schema) as file:
        file.write_table(table)


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_text_of_a_length_out_of_place_is_refused_before_it_is_read(stream, tmp_path):
    """Who copies as many bytes as such a file says may need all the memory there is."""
    path = tmp_path / "t.arrow"
    arrow_of(["aa", "bb", "cc"], path, stream)
    assert open_table(path).group(["sex"], []).counts.sum() == 3
    ends, damaged = struct.pack("<4i", 0, 2, 4, 6), struct.pack("<4i", 0, 2, 4, 60)
    assert path.read_bytes().count(ends) == 1
    path.write_bytes(path.read_bytes().replace(ends, damaged))
    with pytest.raises(InputError, match=r"t\.arrow must be a whole Arrow file, found one that is damaged"):
        open_table(path).group(["sex"], [])
    assert open_table(path).group(["visits"], []).counts.sum() == 3, "other columns are not looked at"


class Speaking:
    """A source that says what went wrong."""

    def explain(self, error):
        return f"t must be whole ({type(error).__name__})"


@pytest.mark.parametrize("kind", [duckdb.InvalidInputException, pa.ArrowInvalid, OSError])
def test_what_an_engine_says_as_chunks_come_out_is_told_in_our_words(kind):
    """Arrow hands on its message, which quotes values, in an error of its own."""
    with pytest.raises(InputError, match="t must be whole") as told, translated(Speaking()):
        raise kind("Invalid Error: cannot convert 7654321")
    assert "7654321" not in str(told.value)
    with pytest.raises(InputError, match="must fit in memory"), translated(Speaking()):
        raise kind("Out of Memory Error: failed to allocate 7654321")


def test_what_the_machine_says_is_not_a_files_fault():
    with pytest.raises(OSError, match="No space left"), translated(Speaking()):
        raise OSError(28, "No space left on device")


def test_days_that_no_calendar_has_are_left_out(tmp_path):
    far = pa.array([-(10**15), 0, 10**9] * 20, pa.timestamp("ms"))
    table = pa.table({"born": far, "visits": [1, 2, 3] * 20})
    arrow = tmp_path / "t.arrow"
    with pa.ipc.new_file(str(arrow), table.schema) as file:
        file.write_table(table)
    suggestion = suggest_columns(open_table(arrow))
    assert suggestion.columns.names == ("visits",)
    assert suggestion.left_out == (("born", "it holds dates beyond the years 1 to 9999"),)
