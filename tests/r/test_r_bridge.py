"""What the R package calls in Python: columns there and back, matrices in parts, errors as one sentence."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import alphasynth as syn

HOME = Path(__file__).parents[2] / "r" / "inst" / "python"
MISSING = np.iinfo(np.int32).min
NA = 0x7FF00000000007A2  # R's, beside which any other NaN is NaN


@pytest.fixture(scope="module")
def bridge():
    sys.path.insert(0, str(HOME))
    try:
        return importlib.import_module("alphasynth_bridge")
    finally:
        sys.path.remove(str(HOME))


def column(kind, values, levels=()):
    kept = np.float64 if kind == "double" else np.int32
    return {
        "name": kind,
        "kind": kind,
        "bytes": bytearray(np.array(values, kept).tobytes()),
        "levels": list(levels),
        "ordered": False,
    }


COLUMNS = [
    column("double", [1.5, np.nan, -2.0]),
    column("integer", [1, MISSING, 3]),
    column("logical", [1, 0, MISSING]),
    column("factor", [2, MISSING, 1], ["a", "ü"]),
    column("character", [1, 1, MISSING], ["word"]),
    column("Date", [0, 19_000, MISSING]),
]


def test_columns_arrive_as_they_are(bridge):
    table = bridge.arrow(COLUMNS).to_pydict()
    assert table["double"] == [1.5, None, -2.0]
    assert table["integer"] == [1, None, 3]
    assert table["logical"] == [True, False, None]
    assert table["factor"] == ["ü", None, "a"]
    assert table["character"] == ["word", "word", None]
    assert [str(day) for day in table["Date"]] == ["1970-01-01", "2022-01-08", "None"]


def test_columns_come_back_as_they_were(bridge):
    for before, after in zip(COLUMNS, bridge.plain(bridge.arrow(COLUMNS)), strict=True):
        assert (after["name"], after["kind"]) == (before["name"], before["kind"])
        assert (after["levels"] or []) == before["levels"]
        kept = np.float64 if after["kind"] == "double" else np.int32
        np.testing.assert_array_equal(np.frombuffer(after["bytes"], kept), np.frombuffer(before["bytes"], kept))


def test_whole_numbers_beyond_32_bits_are_doubles(bridge):
    (made,) = bridge.plain(pa.table({"x": pa.array([2**40, None], pa.int64())}))
    assert made["kind"] == "double"
    np.testing.assert_array_equal(np.frombuffer(made["bytes"]), [2.0**40, np.nan])
    assert np.frombuffer(made["bytes"], np.uint64)[1] == NA


def test_missing_numbers_are_na_to_the_bit(bridge):
    (made,) = bridge.plain(pa.table({"x": pa.array([1.5, None])}))
    assert np.frombuffer(made["bytes"], np.uint64).tolist() == [np.float64(1.5).view(np.uint64), NA]


def test_a_matrix_comes_in_parts(bridge):
    whole = np.arange(12.0).reshape(3, 4)
    parts = [bytearray(whole[:, :3].tobytes(order="F")), bytearray(whole[:, 3:].tobytes(order="F"))]
    np.testing.assert_array_equal(bridge.matrix(3, 4, parts), whole)
    assert bridge.numbers(whole) == bytearray(whole.tobytes(order="F"))


def test_whole_numbers_of_r_are_whole(bridge):
    assert bridge.said({"m": 2.0, "k": 0.95, "levels": [1.0, 2.0], "yes": True}) == {
        "m": 2,
        "k": 0.95,
        "levels": [1, 2],
        "yes": True,
    }
    assert isinstance(bridge.said(2.0), int)
    assert isinstance(bridge.said(1e300), float)


def test_rules_by_their_names(bridge):
    told = {"name": "CW", "options": {"radius": 5.0, "within": "sex"}}
    assert bridge.rule(told) == syn.CW(5, within=("sex",))
    assert bridge.rule({"name": "SW", "options": {"match": told}}) == syn.SW(match=syn.CW(5, within=("sex",)))


def test_an_error_is_one_sentence(bridge):
    answer = bridge.call("synthesize", "y ~ 1", [column("integer", [1, 2])], "LX", {"m": 1.0, "family": "poisson"})
    assert answer["kind"] == "InputError"
    assert answer["error"].startswith("mechanism must be one of")
    assert answer["warnings"] == []


def test_everything_that_is_wrong_is_said_at_once(bridge):
    answer = bridge.call("synthesize", "y ~ 1", [column("integer", [1, 2])], "LX", {"m": 0.0, "family": "poisson"})
    assert answer["kind"] == "InputError"
    assert [line[:20] for line in answer["error"].split("\n- ")] == [
        "2 things are wrong:",
        "mechanism must be on",
        "m must be a whole nu",
    ]


def test_an_error_that_nobody_expected_tells_nothing_of_the_data(bridge):
    answer = bridge.call("bounds_from", {"rows": 2, "columns": 2, "parts": [bytearray(b"secret")]}, {})
    assert answer["kind"] == "ValueError"
    assert answer["error"].startswith("this should not have happened: ValueError in alphasynth_columns.py, line")
    assert "secret" not in answer["error"]


def test_an_interrupt_that_r_noticed_is_one(bridge, monkeypatch):
    """reticulate asks R whether one is pending; where R jumps out of that question, the answer is an error."""
    names = {}
    exec(compile("def ask(): raise RuntimeError('of R')", "/lib/R/reticulate/python/rpytools/call.py", "exec"), names)
    monkeypatch.setitem(bridge.VERBS, "about", names["ask"])
    with pytest.raises(KeyboardInterrupt):
        bridge.call("about")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
def test_an_interrupt_that_python_or_duckdb_noticed_is_one(bridge, monkeypatch, error):
    def stopped():
        raise error

    monkeypatch.setitem(bridge.VERBS, "about", stopped)
    with pytest.raises(KeyboardInterrupt):
        bridge.call("about")


def test_another_runtime_error_is_none(bridge, monkeypatch):
    def broken():
        raise RuntimeError("secret")

    monkeypatch.setitem(bridge.VERBS, "about", broken)
    assert bridge.call("about")["error"].startswith("this should not have happened: RuntimeError in test_r_bridge.py")


def test_columns_in_a_formula(bridge):
    assert bridge.call("columns_in", "y ~ C(sex) + `my age`:log(b)")["value"] == ["y", "b", "my age", "sex"]
    assert bridge.call("columns_in", "y ~ foo(a)")["error"].startswith("'foo' is none of the functions")
    assert bridge.call("columns_in", "y")["kind"] == "InputError"
