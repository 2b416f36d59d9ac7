"""Every door that a file can come through gives the records that a frame gives, row by row."""

from __future__ import annotations

import shutil
import subprocess

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.tables.opening import open_table
from alphasynth.tables.records import Records
from engines import need

N = 3_000
NAMES = ["visits", "sex", "age"]
VERBATIM = syn.TextFormat(verbatim=True)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "person": np.arange(N) // 3,
            "visits": rng.poisson(5, N),
            "sex": rng.choice(["f", "m", "x y"], N),
            "age": rng.integers(20, 70, N),
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 100, N), unit="D"),
        }
    )


def write_duckdb(frame, path):
    with duckdb.connect(str(path)) as engine:
        engine.execute("CREATE SCHEMA health; CREATE TABLE health.people AS SELECT * FROM frame")


def write_stream(frame, path):
    table = pa.Table.from_pandas(frame)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def write_sas(frame, path):
    need(shutil.which("readstat"), "no readstat to write a SAS file (Debian: apt-get install readstat)")
    pyreadstat.write_dta(frame, str(path.with_suffix(".dta")))
    subprocess.run(["readstat", path.with_suffix(".dta"), path], check=True, capture_output=True)


DOORS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "t.txt": lambda frame, path: frame.to_csv(path, index=False, sep="|"),
    "T.PARQUET": lambda frame, path: frame.to_parquet(path, index=False),
    "odd [1] 'name'*.parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "odd [1] 'name'*.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.feather": lambda frame, path: frame.to_feather(path),
    "t.arrow": write_stream,
    "t.sav": lambda frame, path: pyreadstat.write_sav(frame, str(path)),
    "t.zsav": lambda frame, path: pyreadstat.write_sav(frame, str(path), compress=True),
    "t.dta": lambda frame, path: pyreadstat.write_dta(frame, str(path)),
    "t.xpt": lambda frame, path: pyreadstat.write_xport(frame, str(path)),
    "t.por": lambda frame, path: pyreadstat.write_por(frame.rename(columns=str.upper), str(path)),
    "t.sas7bdat": write_sas,
    "t.duckdb": write_duckdb,
}


@pytest.fixture(params=DOORS)
def address(request, tmp_path):
    path = tmp_path / request.param
    DOORS[request.param](people(), path)
    return f"duckdb://{path}::health.people" if path.suffix == ".duckdb" else path


def test_every_door_gives_the_records_of_a_frame_in_row_order(address):
    table, frame = open_table(address), people()
    if str(address).endswith(".por"):  # the format knows capitals only
        frame = frame.rename(columns=str.upper)
    assert list(table.column_names) == list(frame.columns)
    names, day = list(frame.columns[1:4]), frame.columns[4]
    grouped = table.group(names, [*names[1:], day])
    records, oracle = Records.from_grouped(grouped), Records.from_table(frame, names)
    assert np.array_equal(records.counts, oracle.counts)
    for name in names:
        assert np.array_equal(np.asarray(records.columns[name]), np.asarray(oracle.columns[name]))
    released = grouped.public.take(grouped.index).to_pandas()
    if str(address).startswith("duckdb"):  # rows of a database have no order
        return
    assert np.array_equal(records.index, oracle.index)
    assert np.array_equal(released[names[1]], frame[names[1]])
    assert np.array_equal(released[names[2]], frame[names[2]])
    if not str(address).endswith((".por", ".sas7bdat")):  # these were written without a date format
        assert np.array_equal(pd.to_datetime(released[day]), frame[day])


def test_a_fit_from_a_file_equals_one_from_a_frame(tmp_path):
    frame = people()
    frame.to_parquet(tmp_path / "t.parquet")
    synthesizer = syn.Synthesizer(
        "visits ~ age + C(sex)", family="poisson", mechanism="LW_final", m=2, public=("age", "sex"), seed=4
    )
    from_frame = synthesizer.fit(frame).sample()
    bounds = synthesizer.lipschitz_.by_record
    from_file = synthesizer.fit(syn.open_table(tmp_path / "t.parquet")).sample()
    for one, other in zip(from_frame, from_file, strict=True):
        pd.testing.assert_frame_equal(one, other.to_pandas())
    assert np.array_equal(bounds, synthesizer.lipschitz_.by_record)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_row_order_is_kept_over_millions_of_rows(tmp_path, suffix):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"y": rng.integers(0, 50, 2_500_000), "note": rng.choice(["a", 'two\n"lines"', "é"], 2_500_000)}
    )
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=100_000)
    grouped = open_table(path).group(["y"], ["note"])
    records = Records.from_grouped(grouped)
    assert np.array_equal(records.expand(records.columns["y"]), frame["y"])
    released = grouped.public.column("note").take(pa.array(grouped.index)).to_pandas()
    assert (released.to_numpy() == frame["note"].to_numpy()).all()


def test_without_public_columns_only_distinct_rows_come_out(tmp_path):
    people().to_parquet(tmp_path / "t.parquet")
    grouped = open_table(tmp_path / "t.parquet").group(["visits"], [])
    assert grouped.index is None
    records = Records.from_grouped(grouped)
    assert records.n == N
    with pytest.raises(InputError, match="need the order of the rows"):
        records.expand(records.counts)


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=40),
    most=st.integers(1, 5),
    key=st.integers(0, 2**63 - 1),
)
@settings(deadline=None, max_examples=40)
def test_a_unit_keeps_at_most_so_many_of_its_own_rows(tmp_path_factory, rows, most, key):
    frame = pd.DataFrame(rows, columns=["person", "y"])
    path = tmp_path_factory.mktemp("unit") / "t.parquet"
    frame.to_parquet(path)
    grouped = open_table(path, unit="person", max_rows=most, in_order=True, seed=key).group(["y"], [])
    kept = frame.iloc[grouped.rows]
    assert kept["person"].value_counts().to_dict() == frame["person"].value_counts().clip(upper=most).to_dict()
    assert grouped.columns.column("y").take(pa.array(grouped.index)).to_pylist() == kept["y"].tolist()
    again = open_table(path, unit="person", max_rows=most, in_order=True, seed=key).group(["y"], [])
    assert np.array_equal(np.sort(kept["y"]), np.sort(frame["y"].iloc[again.rows]))


def test_which_rows_of_a_unit_stay_does_not_depend_on_other_units(tmp_path):
    """Otherwise a unit could reach the result through others' rows."""
    frame = pd.DataFrame({"person": np.repeat(np.arange(200), 5), "y": np.arange(1000) * 7 % 503})
    frame.to_parquet(tmp_path / "all.parquet")
    frame[frame["person"] != 17].to_parquet(tmp_path / "fewer.parquet")
    kept = {}
    for name in ("all", "fewer"):
        table = open_table(tmp_path / f"{name}.parquet", unit="person", max_rows=2, seed=5)
        kept[name] = set(zip(*table.group(["y", "person"], []).columns.to_pydict().values(), strict=True))
    assert {row for row in kept["all"] if row[1] != 17} == kept["fewer"]


@pytest.mark.parametrize("values", [[0, 1], [1, 2, 3], [10, 20, 30, 40], [1] * 9 + [50]])
def test_rows_of_a_unit_are_chosen_without_regard_to_their_values(tmp_path, values):
    """A value that stands in nine of ten rows is kept nine times in ten."""
    frame = pd.DataFrame({"person": np.repeat(np.arange(10_000), len(values)), "y": np.tile(values, 10_000)})
    frame.to_parquet(tmp_path / "t.parquet")
    grouped = open_table(tmp_path / "t.parquet", unit="person", max_rows=1).group(["y"], [])
    records = Records.from_grouped(grouped)
    for value, count in zip(records.columns["y"], records.counts, strict=True):
        share = values.count(value) / len(values)
        # Binomial(10,000, share): five standard deviations.
        assert abs(count - 10_000 * share) < 5 * np.sqrt(10_000 * share * (1 - share))


def test_units_are_told_apart_by_what_they_mean(tmp_path):
    (tmp_path / "t.csv").write_text('u,v,y\n1,a,5\n1.0, a,6\n" 1",a ,7\n2,b,8\n')
    for unit in "uv":
        grouped = open_table(tmp_path / "t.csv", unit=unit, max_rows=1, text=VERBATIM).group(["y"], [])
        assert grouped.counts.sum() == 2
    (tmp_path / "gaps.csv").write_text("u,v,y\n1,a,5\nNA,NA,6\n,,7\n2,b,8\n")
    pd.DataFrame({"u": [1.0, np.nan, np.nan, 2.0], "v": ["a", "", " ", "b"], "y": [5, 6, 7, 8]}).to_feather(
        tmp_path / "t.arrow"
    )
    for name in ("gaps.csv", "t.arrow"):
        for unit in "uv":
            with pytest.raises(InputError, match="must have no missing values, found some"):
                open_table(tmp_path / name, unit=unit, max_rows=1, text=VERBATIM).group(["y"], [])


@pytest.mark.parametrize("kind", ["string", "dictionary"])
def test_units_of_text_are_the_same_in_any_storage(tmp_path, kind):
    ids = pa.array([f"p{i % 9}" + " " * (i % 2) for i in range(90)])
    table = pa.table({"y": np.arange(90) % 7, "p": ids if kind == "string" else ids.dictionary_encode()})
    pq.write_table(table, tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.parquet", unit="p", max_rows=2).group(["y"], []).counts.sum() == 18


def test_units_of_many_digits_stay_apart(tmp_path):
    (tmp_path / "t.csv").write_text("id,y\n" + "".join(f"{12345678901234567801 + i},{i % 5}\n" for i in range(40)))
    assert open_table(tmp_path / "t.csv", unit="id", max_rows=1).group(["y"], []).counts.sum() == 40


def test_levels_are_sorted_where_the_order_of_rows_is_hidden(tmp_path):
    cats = pa.array(np.repeat(["z", "m", "a"], 30)).dictionary_encode()
    pq.write_table(pa.table({"y": np.repeat([1, 2, 3], 30), "g": cats}), tmp_path / "t.parquet")
    public = open_table(tmp_path / "t.parquet", sort_rows=True).group(["y"], ["g"]).public.column("g")
    assert public.chunk(0).dictionary.to_pylist() == ["a", "m", "z"]


@pytest.mark.parametrize("rows", [[], [0]])
def test_categories_in_empty_files_are_no_fault(tmp_path, rows):
    table = pa.table({"y": pa.array(rows, pa.int64()), "g": pa.array(["a"] * len(rows)).dictionary_encode()})
    pq.write_table(table, tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.parquet").group(["y"], ["g"]).counts.sum() == len(rows)


@pytest.mark.parametrize("kind", [pa.decimal256(50, 2), pa.duration("s")])
def test_types_that_would_not_be_read_exactly_are_refused_by_name(tmp_path, kind):
    pq.write_table(pa.table({"y": [1, 2, 3], "odd": pa.array([1, 2, 3]).cast(kind)}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column 'odd' must be of a type that is read exactly"):
        open_table(tmp_path / "t.parquet").group(["y"], ["odd"])


def test_rows_that_are_nearly_sorted_are_refused_too(tmp_path):
    frame = people().sort_values("visits").reset_index(drop=True)
    frame.iloc[[5, 2500]] = frame.iloc[[2500, 5]].to_numpy()
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="sorted, or nearly so"):
        open_table(tmp_path / "t.parquet").group(["visits"], ["age"])


def test_categories_keep_their_type_and_only_the_levels_that_occur(tmp_path):
    levels = pd.Categorical(["a", "b", "a", "b"], categories=["c", "b", "a", "never"])
    frame = pd.DataFrame({"y": [1, 2, 3, 4], "group": levels})
    for path in (tmp_path / "t.parquet", tmp_path / "t.feather"):
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_feather(path)
        public = open_table(path).group(["y"], ["group"]).public.column("group")
        assert pa.types.is_dictionary(public.type)
        assert public.chunk(0).dictionary.to_pylist() == ["b", "a"]  # in the file's order


def test_the_order_of_levels_tells_nothing_of_other_columns(tmp_path):
    rng = np.random.default_rng(0)
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    cats = pa.array(rng.choice(list("edcba"), 300)).dictionary_encode().cast(kind)
    levels = set()
    for shift in range(6):
        y = rng.integers(0, 9, 300)
        y[17] += 37 * shift
        pq.write_table(pa.table({"y": y, "cat": cats}), tmp_path / "t.parquet")
        public = open_table(tmp_path / "t.parquet").group(["y"], ["cat"]).public.column("cat")
        assert public.type == kind
        levels.add(tuple(public.chunk(0).dictionary.to_pylist()))
    assert len(levels) == 1


@pytest.mark.parametrize("down", [True, False])
def test_rows_sorted_by_the_response_are_not_released_in_that_order(tmp_path, down):
    frame = people().sort_values("visits", ascending=not down)
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        InputError, match="the rows are sorted, or nearly so, by 'visits', and their order would be released"
    ):
        open_table(tmp_path / "t.parquet").group(["visits"], ["age"])
    grouped = open_table(tmp_path / "t.parquet", sort_rows=True).group(["visits"], ["age", "sex"])
    released = grouped.public.take(grouped.index).to_pandas()
    expected = frame[["age", "sex"]].sort_values(["age", "sex"]).reset_index(drop=True)
    assert (released.to_numpy() == expected.to_numpy()).all()
    open_table(tmp_path / "t.parquet").group(["visits"], [])  # no row is released


def test_rows_of_a_duckdb_table_are_released_sorted(tmp_path):
    write_duckdb(people().sort_values("visits"), tmp_path / "t.duckdb")
    grouped = open_table(f"duckdb://{tmp_path / 't.duckdb'}::health.people").group(["visits"], ["age", "sex"])
    released = grouped.public.take(grouped.index).to_pandas()
    expected = people()[["age", "sex"]].sort_values(["age", "sex"])
    assert (released.to_numpy() == expected.to_numpy()).all()


def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    people().to_csv(path, index=False)
    from alphasynth.tables.engine import FileTable

    group = FileTable._group

    def changing(self, *args):
        lines = group(self, *args)
        people().head(100).to_csv(path, index=False)
        return lines

    monkeypatch.setattr(FileTable, "_group", changing)
    with pytest.raises(InputError, match="must not change while it is read"):
        open_table(path).group(["visits"], ["age"])


def test_a_truncated_xport_file_is_refused(tmp_path):
    pyreadstat.write_xport(people(), str(tmp_path / "t.xpt"))
    whole = (tmp_path / "t.xpt").read_bytes()
    (tmp_path / "t.xpt").write_bytes(whole[: len(whole) // 2 + 7])
    with pytest.raises(InputError, match="cut off"):
        open_table(tmp_path / "t.xpt")


def test_duckdb_names_may_have_dots(tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as engine:
        engine.execute('CREATE TABLE "a.b" AS SELECT range AS y FROM range(5)')
    assert open_table(f"duckdb://{tmp_path / 't.duckdb'}::a.b").column_names == ("y",)


def test_public_columns_may_have_gaps_and_any_type(tmp_path):
    table = pa.table(
        {
            "y": [1, 2, 2, 1],
            "gap": pa.array(["a", None, None, "a"]),
            "when": pa.array([1, 2, None, 4], pa.timestamp("ms", tz="UTC")),
            "money": pa.array([1, 2, None, 4], pa.decimal128(8, 2)),
            "real": pa.array([0.5, float("nan"), None, -0.0], pa.float32()),
            "flag": pa.array([True, None, False, True]),
            "raw": pa.array([b"a", b"\x00", None, b"c"]),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    names = table.column_names[1:]
    grouped = open_table(tmp_path / "t.parquet").group(["y"], names)
    released = grouped.public.take(grouped.index)
    assert released.schema.equals(table.select(names).schema)
    assert str(released.to_pylist()) == str(table.select(names).to_pylist())


@pytest.mark.parametrize(
    "suffix", [".csv", ".parquet", ".feather", ".sav", ".dta", ".xpt", ".sas7bdat", ".por", ".arrow"]
)
def test_a_file_of_the_wrong_kind_gets_one_sentence(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(b"\x00\x01not what it says it is\xff" * 50)
    with pytest.raises(InputError, match=r"t\.|column") as error:
        open_table(path).group(["y"], []) if suffix != ".csv" else open_table(path)
    assert "\n" not in str(error.value)


def test_a_truncated_parquet_file_gets_one_sentence(tmp_path):
    people().to_parquet(tmp_path / "t.parquet", row_group_size=500)
    whole = (tmp_path / "t.parquet").read_bytes()
    damaged = bytearray(whole)
    footer = int.from_bytes(whole[-8:-4], "little") + 8  # the schema stays, the rows go
    damaged[4:-footer] = b"\xff" * (len(whole) - footer - 4)
    (tmp_path / "t.parquet").write_bytes(bytes(damaged))
    with pytest.raises(InputError, match="must be a whole Parquet file"):
        open_table(tmp_path / "t.parquet").group(["visits", "age", "sex"], ["day"])


@pytest.mark.parametrize(
    ("address", "options", "message"),
    [
        ("nowhere.csv", {}, "must be a file or URL::table, found none at 'nowhere.csv'"),
        (".", {}, "a folder must hold Parquet files, found none"),
        ("t.docx", {}, "must end in one of .csv"),
        ("t.csv", {"unit": "person"}, "must be given together"),
        ("t.csv", {"max_rows": 2}, "must be given together"),
        ("t.csv", {"in_order": True, "sort_rows": True}, "found both asked for"),
        ("t.csv", {"unit": "person", "max_rows": 0}, "max_rows must be a whole number of at least 1"),
        ("t.csv", {"unit": "nobody", "max_rows": 1}, "column 'nobody' .the unit of privacy. is not in the table"),
        ("duckdb://t.csv::t", {}, "must be a DuckDB database"),
        ("duckdb://t.duckdb::nowhere", {}, "table 'nowhere' is not in the database"),
        ("duckdb://none.duckdb::t", {}, "found none at 'none.duckdb'"),
    ],
)
def test_what_cannot_be_opened_gets_one_sentence(tmp_path, monkeypatch, address, options, message):
    monkeypatch.chdir(tmp_path)
    people().to_csv("t.csv", index=False)
    (tmp_path / "t.docx").write_bytes(b"")
    write_duckdb(people(), tmp_path / "t.duckdb")
    with pytest.raises(InputError, match=message):
        open_table(address, **options)


def test_a_missing_unit_is_refused(tmp_path):
    pd.DataFrame({"y": [1, 2, 3], "person": ["a", None, None]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="the unit of privacy, must have no missing values, found some"):
        open_table(tmp_path / "t.parquet", unit="person", max_rows=1).group(["y"], [])


def test_the_engine_spills_where_it_is_told_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pd.DataFrame({"y": rng.permutation(3_000_000), "z": rng.random(3_000_000)}).to_parquet("t.parquet")
    spill = tmp_path / "spill"
    tight = open_table("t.parquet")
    tight.engine.execute("SET memory_limit = '40MB'; SET threads = 1")
    with pytest.raises(InputError, match="must fit in memory"):
        tight.group(["y", "z"], [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet"]
    roomy = open_table("t.parquet", spill=spill)
    roomy.engine.execute("SET memory_limit = '60MB'; SET threads = 1")
    roomy._group("SELECT y AS k0, z AS k1 FROM read_parquet('t.parquet')", 2)
    files = [path for (path,) in roomy.engine.execute("SELECT path FROM duckdb_temporary_files()").fetchall()]
    assert files
    assert all(str(path).startswith(str(spill)) for path in files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spill", "t.parquet"]
