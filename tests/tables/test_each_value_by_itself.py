"""What a value is read as does not depend on the others of its column: else one record would move others' cells."""

from __future__ import annotations

import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.raking.columns import Columns
from alphasynth.raking.reading import read_codes
from alphasynth.tables.frames import to_arrow
from alphasynth.tables.limits import as_floats, day_numbers
from alphasynth.tables.opening import open_table
from alphasynth.tables.records import Records

ODD = Decimal("0.12345678901234567890123")


@given(st.lists(st.integers(-(10**17), 10**17), min_size=1), st.integers(0, 18))
def test_decimals_are_the_floats_that_their_digits_say(steps, scale):
    values = [Decimal(step).scaleb(-scale) for step in steps]
    column = pa.array(values, pa.decimal128(38, scale))
    assert as_floats(column).to_pylist() == [float(value) for value in values]


def test_gaps_and_other_numbers_stay():
    assert as_floats(pa.array([None, Decimal("0.3")])).to_pylist() == [None, 0.3]
    assert as_floats(pa.chunked_array([[1, None], [2**60 + 1]])).to_pylist() == [1.0, None, float(2**60)]


FRAMES = {
    "pandas": lambda values: pd.DataFrame({"x": pd.Series(values, dtype=object)}),
    "polars": lambda values: pl.DataFrame({"x": values}),
    "pyarrow": lambda values: pa.table({"x": pa.array(values)}),
}


def cells_of(declared, frame):
    columns = Columns.of(declared)
    return read_codes(columns, to_arrow(frame, ["x"]).to_batches()).codes[0]


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("facts", "values"),
    [
        ({"limits": [0, 1], "heaps": [0.3]}, [Decimal(step).scaleb(-2) for step in range(100)]),
        ({"limits": [0, 25.6]}, [Decimal(step).scaleb(-1) for step in range(256)]),
    ],
)
def test_a_long_decimal_moves_no_other(kind, facts, values):
    without, among = (cells_of({"x": facts}, FRAMES[kind](each)) for each in (values, [*values, ODD]))
    np.testing.assert_array_equal(among[:-1], without)


@pytest.mark.parametrize("kind", FRAMES)
def test_the_zone_of_the_first_time_moves_no_other(kind):
    zones = ("Pacific/Kiritimati", "UTC", "America/Los_Angeles")
    times = [datetime.datetime(2020, 1, 1 + i % 28, i % 24, tzinfo=datetime.UTC) for i in range(200)]
    facts = {"x": {"limits": [datetime.date(2019, 1, 1), datetime.date(2021, 1, 1)]}}
    found = []
    for zone in zones:
        first = datetime.datetime(2020, 6, 1, 12, tzinfo=ZoneInfo(zone))
        values = [first.astimezone(datetime.UTC) if kind == "polars" else first, *times]
        found.append(cells_of(facts, FRAMES[kind](values))[1:])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    assert day_numbers(pa.array(times[:1])).to_pylist() == [18_262]


def test_neither_a_zone_of_the_file_nor_of_the_machine_moves_a_day(tmp_path, monkeypatch):
    import time

    at = [datetime.datetime(2020, 1, 1, 20, tzinfo=datetime.UTC)] * 30
    columns = Columns.of({"x": {"limits": [datetime.date(2019, 12, 1), datetime.date(2020, 2, 1)]}})
    for zone in ("UTC", "Asia/Tokyo"):
        pq.write_table(pa.table({"x": pa.array(at, pa.timestamp("us", zone))}), tmp_path / "t.parquet")
        for machine in ("UTC", "Asia/Tokyo"):
            monkeypatch.setenv("TZ", machine)
            time.tzset()
            (codes,) = read_codes(columns, open_table(tmp_path / "t.parquet").stream(["x"])).codes
            assert set(columns.cells()[0].value[codes]) == {18_262.0}
    monkeypatch.delenv("TZ")
    time.tzset()


def test_decimals_of_a_file_are_their_declared_levels(tmp_path):
    """0.3 and 0.7 of a DECIMAL(2, 1), which Arrow takes for numbers beside these."""
    tenths = [round(0.1 * step, 1) for step in range(10)]
    stored = pa.table({"x": pa.array([Decimal(step).scaleb(-1) for step in range(10)] * 20, pa.decimal128(2, 1))})
    pq.write_table(stored, tmp_path / "t.parquet")
    for facts in ({"levels": tenths}, {"limits": [0, 0.9], "decimals": 1}, {"limits": [0.0, 0.9], "heaps": [0.3, 0.7]}):
        made = syn.Synthesizer({"x": facts}, mechanism="Raked", epsilon=50, delta=1e-6, m=1, seed=1)
        (table,) = made.fit(open_table(tmp_path / "t.parquet")).sample()
        if "heaps" not in facts:
            assert set(table.column("x").to_pylist()) <= set(tenths)
        assert {0.3, 0.7} <= set(table.column("x").to_pylist())
    assert sorted(Records.from_table(stored, ["x"]).columns["x"].tolist()) == tenths
