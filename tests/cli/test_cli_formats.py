"""What a release holds, in every format: the columns it should, as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import alphasynth as syn
from alphasynth import catalogue
from command_line import read, synthesize, visits

pytestmark = pytest.mark.usefixtures("alone")


def test_public_columns_keep_their_names_types_order_and_rows(table):
    more = ["--formula", "visits ~ age + C(sex)", "--public", "sex,age"]
    assert synthesize(table, *more) == 0
    synthetic = pd.read_csv("run/release/synthetic_01.csv")
    assert list(synthetic.columns) == ["visits", "age", "sex"]
    pd.testing.assert_frame_equal(synthetic[["age", "sex"]], visits()[["age", "sex"]])
    assert read("run/release/guarantee.json")["public_columns"] == ["sex", "age"]


def test_public_text_is_released_as_it_stands(tmp_path):
    (tmp_path / "t.csv").write_text('code,y,"note, ""odd"""\n007,3,"a, b"\n1.50,4,\n+2,3," x"\nNA,5,é\n')
    more = ["--formula", "y ~ 1", "--family", "poisson", "--mechanism", "SW", "--alpha", 0.5]
    assert synthesize("t.csv", *more, "--public", 'code,"note, ""odd"""') == 0
    released = pd.read_csv("run/release/synthetic_01.csv", dtype=str, keep_default_na=False)
    original = pd.read_csv("t.csv", dtype=str, keep_default_na=False)
    assert list(released.columns) == list(original.columns)
    pd.testing.assert_frame_equal(released.drop(columns="y"), original.drop(columns="y"))


FORMATS = {
    "csv": pd.read_csv,
    "tsv": lambda path: pd.read_csv(path, sep="\t"),
    "parquet": pd.read_parquet,
    "arrow": pd.read_feather,
    "feather": pd.read_feather,
    "xport": lambda path: pyreadstat.read_xport(path)[0],
    "spss": lambda path: pyreadstat.read_sav(path)[0],
    "stata": lambda path: pyreadstat.read_dta(path)[0],
}


def test_every_format_is_written_and_read_here():
    assert FORMATS.keys() == catalogue.FORMATS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_formats_hold_the_same_table(table, name):
    more = ["--public", "age,sex", "--seed", 3, "--format", name]
    assert synthesize(table, *more) == 0
    path = next(Path("run/release").glob("synthetic_01.*"))
    assert path.suffix == catalogue.FORMATS[name]
    written = FORMATS[name](str(path))
    expected = syn.Synthesizer(
        "visits ~ 1", family="negative_binomial", mechanism="LW_final", m=1, public=("age", "sex"), seed=3
    )
    frame = expected.fit(visits()).sample()[0]
    assert list(written.columns) == list(frame.columns)
    for column in frame:
        assert written[column].tolist() == frame[column].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".sav", ".dta", ".xpt", ".tsv"])
def test_the_input_s_format_is_the_default(tmp_path, suffix):
    frame, path = visits()[["visits"]], tmp_path / f"t{suffix}"
    writers = {
        ".parquet": lambda: frame.to_parquet(path),
        ".feather": lambda: frame.to_feather(path),
        ".sav": lambda: pyreadstat.write_sav(frame, str(path)),
        ".dta": lambda: pyreadstat.write_dta(frame, str(path)),
        ".xpt": lambda: pyreadstat.write_xport(frame, str(path)),
        ".tsv": lambda: frame.to_csv(path, sep="\t", index=False),
    }
    writers[suffix]()
    assert synthesize(path) == 0
    assert Path(f"run/release/synthetic_01{suffix}").exists()


@pytest.mark.slow
def test_counts_that_outgrow_their_type_take_64_bits(tmp_path, monkeypatch):
    """In any chunk, not only in the first; all chunks then have one type."""
    monkeypatch.setattr("alphasynth.synthesis.simulation.ROWS_AT_A_TIME", 50)
    rng = np.random.default_rng(0)
    counts = np.minimum(rng.negative_binomial(1.5, 0.05, 400), 127).astype(np.int8)
    pq.write_table(pa.table({"y": counts}), tmp_path / "t.parquet")
    kinds = set()
    for seed in range(6):
        arguments = ["--formula", "y ~ 1", "--seed", seed, "--rows", 100]
        assert synthesize(tmp_path / "t.parquet", *arguments, out=f"run{seed}") == 0
        written = pq.read_table(f"run{seed}/release/synthetic_01.parquet")
        oracle = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", m=1, seed=seed, rows=100)
        expected = oracle.fit(pa.table({"y": counts})).sample()[0]
        assert written.column("y").to_pylist() == expected.column("y").to_pylist()
        assert written.schema == expected.schema
        kinds.add(str(written.schema.field("y").type))
    assert kinds == {"int8", "int64"}


def test_names_that_differ_in_case_alone_stay_as_they_are(tmp_path):
    table = pa.table({"y": visits()["visits"].to_numpy(), "Y": ['a "b"', None, "c,d"] * 100})
    pq.write_table(table, tmp_path / "t.parquet")
    assert synthesize("t.parquet", "--formula", "y ~ 1", "--public", "Y", "--format", "csv") == 0
    released = pd.read_csv("run/release/synthetic_01.csv", keep_default_na=False)
    assert list(released.columns) == ["y", "Y"]
    assert released["Y"].tolist() == ['a "b"', "", "c,d"] * 100


@pytest.mark.parametrize(
    ("kind", "name"), [("stata", "Visits.GP"), ("spss", "größe"), ("xport", "a b"), ("stata", "2017")]
)
def test_a_name_that_a_format_cannot_hold_is_refused_before_anything_is_done(tmp_path, capsys, kind, name):
    visits().rename(columns={"age": name}).to_csv("t.csv", index=False)
    assert synthesize("t.csv", "--header", "--public", f'"{name}"', "--format", kind) == 2
    assert f"column '{name}' must have a name that a" in capsys.readouterr().err
    assert not Path("alphasynth-ledger.sqlite").exists()


@pytest.mark.parametrize("kind", ["stata", "spss", "xport"])
def test_whole_numbers_beyond_2_to_the_53_are_not_rounded(tmp_path, capsys, kind):
    pq.write_table(pa.table({"y": visits()["visits"].to_numpy(), "id": np.arange(300) + 2**53 + 1}), "t.parquet")
    assert synthesize("t.parquet", "--formula", "y ~ 1", "--public", "id", "--format", kind) == 2
    assert "must hold whole numbers of up to 2^53" in capsys.readouterr().err
    assert not Path("run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt"])
def test_labels_and_formats_of_released_columns_are_kept(tmp_path, suffix):
    frame = visits()[["visits", "age"]].astype("int32").assign(sex=np.tile([1, 2], 150).astype("int32"))
    frame["secret"] = 1
    writer = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}[suffix]
    labels = {"visits": "Visits to a doctor", "sex": "Sex", "secret": "canary label"}
    more = (
        {}
        if suffix == ".xpt"
        else {"variable_value_labels": {"sex": {1: "male", 2: "female"}, "secret": {1: "canary"}}}
    )
    writer(frame, str(tmp_path / f"t{suffix}"), column_labels=labels, **more)
    assert synthesize(tmp_path / f"t{suffix}", "--public", "age,sex") == 0
    reader = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}[suffix]
    path = tmp_path / f"run/release/synthetic_01{suffix}"
    released, meta = reader(str(path))
    assert list(released.columns) == ["visits", "age", "sex"]
    assert meta.column_names_to_labels["visits"] == "Visits to a doctor"
    if suffix != ".xpt":
        assert meta.variable_value_labels == {"sex": {1: "male", 2: "female"}}
    if suffix == ".dta":
        assert released.dtypes.astype(str).tolist() == ["int64", "int64", "int64"]  # whole, as in the input
    if suffix == ".xpt":
        assert b"LIBRARY HEADER" in path.read_bytes()[:80]  # version 5, which every SAS and R reads
    assert b"canary" not in path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stata", "spss", "xport"])
def test_times_come_out_right_and_odd_types_are_refused(tmp_path, capsys, kind):
    times = pa.array([1_577_836_800 + 86_400 * i for i in range(300)], pa.timestamp("s"))
    fees = pa.array([i / 4 for i in range(300)]).cast(pa.decimal128(10, 2))
    table = pa.table({"y": visits()["visits"].to_numpy(), "t": times, "fee": fees, "raw": [b"x"] * 300})
    pq.write_table(table, "t.parquet")
    more = ["--formula", "y ~ 1", "--format", kind]
    assert synthesize("t.parquet", *more, "--public", "t,fee") == 0
    released = FORMATS[kind](str(next(Path("run/release").glob("synthetic_01.*"))))
    assert pd.to_datetime(released["t"]).tolist() == pd.to_datetime(times.to_pandas()).tolist()
    assert released["fee"].tolist() == [i / 4 for i in range(300)]
    assert synthesize("t.parquet", *more, "--public", "raw", out="other") == 2
    assert "column 'raw' must be of a type that a" in capsys.readouterr().err


def test_times_with_a_zone_keep_it_whatever_zone_this_machine_is_in(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    times = pa.array([1_577_836_800] * 300, pa.timestamp("s", tz="America/New_York"))
    pq.write_table(pa.table({"y": visits()["visits"].to_numpy(), "t": times}), "t.parquet")
    assert synthesize("t.parquet", "--formula", "y ~ 1", "--public", "t", "--format", "csv") == 0
    assert set(pd.read_csv("run/release/synthetic_01.csv")["t"]) == {"2019-12-31 19:00:00.000-0500"}
