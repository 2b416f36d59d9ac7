"""Tables of a real PostgreSQL server and of real Spark give the records that DuckDB and pandas give."""

from __future__ import annotations

import datetime
import gc
import json
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import alphasynth as syn
from alphasynth.cli.entry import run_command
from alphasynth.errors import InputError
from alphasynth.suggestions.profile import inspect_table
from alphasynth.tables.databases import canonical, host_of, spark_name, without_password
from alphasynth.tables.opening import open_table
from alphasynth.tables.records import Records
from engines import has_module, need, need_spark, postgres, wait_for

N = 4_000
NAMES = ["visits", "age", "sex"]
# Drivers and Spark speak of their own future.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


def people() -> pa.Table:
    rng = np.random.default_rng(5)
    days = [datetime.date(2020, 1, 1 + int(day)) for day in rng.integers(0, 28, N)]
    names = np.array(["é, à", "O'Hara", 'q"uote', "Z", "a"])
    columns = {
        "person": np.arange(N) // 4,
        "visits": rng.negative_binomial(2, 0.2, N).astype(np.int32),
        "age": rng.integers(18, 80, N).astype(np.int16),
        "sex": names[rng.integers(0, 5, N)],
        "fee": [Decimal(int(cents)) / 4 for cents in rng.integers(0, 5, N)],
        "weight": np.round(rng.random(N), 1),
        "day": days,
    }
    types = {"fee": pa.decimal128(10, 2), "day": pa.date32()}
    return pa.table({name: pa.array(column, types.get(name)) for name, column in columns.items()})


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(people(), path)
    return path


@pytest.fixture(scope="module")
def postgres_url(tmp_path_factory):
    with postgres(tmp_path_factory.mktemp("postgres")) as url:
        import psycopg

        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(
                "CREATE SCHEMA health; CREATE TABLE health.people (person bigint, visits int, age smallint, sex text, "
                "fee numeric(10, 2), weight double precision, day date)"
            )
            with cursor.copy("COPY health.people FROM STDIN") as copy:
                for row in zip(*people().to_pydict().values(), strict=True):
                    copy.write_row(row)
            cursor.execute("CREATE TABLE gaps AS SELECT 1 AS y, NULL::text AS person FROM generate_series(1, 5)")
        yield url


@pytest.fixture(scope="module")
def spark_url(parquet):
    need_spark()
    url = "pyspark://?spark.master=local[2]&spark.ui.enabled=false&spark.sql.shuffle.partitions=2"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield f"{url}::parquet.`{parquet}`"
        from pyspark.sql import SparkSession

        SparkSession.builder.getOrCreate().stop()


@pytest.fixture(scope="module", params=["postgres", "spark"])
def address(request):
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}::health.people"
    return request.getfixturevalue("spark_url")


def same(one: Records, other: Records) -> None:
    assert np.array_equal(one.counts, other.counts)
    for name in other.columns:
        assert np.array_equal(np.asarray(one.columns[name]), np.asarray(other.columns[name]))


@pytest.mark.parametrize("names", [["visits"], NAMES, ["visits", "weight", "fee"]])
def test_records_equal_those_of_duckdb_and_of_a_frame(address, parquet, names):
    grouped = open_table(address).group(names, [])
    assert grouped.index is None
    assert grouped.columns.num_rows < N
    same(Records.from_grouped(grouped), Records.from_table(people(), names))
    same(Records.from_grouped(grouped), Records.from_grouped(open_table(parquet).group(names, [])))


def test_public_columns_come_out_sorted_with_their_types(address):
    public = ["age", "sex", "day"]
    grouped = open_table(address).group(["visits", "age"], public)
    rows = grouped.public.take(grouped.index).to_pandas()
    expected = people().select(public).to_pandas().sort_values(public).reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, expected, check_dtype=False)
    assert [str(grouped.public.schema.field(name).type) for name in public] == ["int16", "string", "date32[day]"]
    records = Records.from_grouped(grouped)
    assert np.array_equal(records.expand(records.columns["age"]), rows["age"].to_numpy())


def test_a_unit_keeps_so_many_rows_and_no_more(address):
    grouped = open_table(address, unit="person", max_rows=3).group(["visits", "person"], [])
    records = Records.from_grouped(grouped)
    by_person = np.bincount(records.columns["person"], records.counts)
    assert (by_person == 3).all()
    whole = Records.from_table(people(), ["visits", "person"])
    most = dict(zip(zip(*whole.columns.values(), strict=True), whole.counts, strict=True))
    kept = zip(zip(*records.columns.values(), strict=True), records.counts, strict=True)
    assert all(count <= most[row] for row, count in kept)
    other = open_table(address, unit="person", max_rows=3).group(["visits"], [])
    again = open_table(address, unit="person", max_rows=3).group(["visits"], [])
    assert not np.array_equal(Records.from_grouped(other).counts, Records.from_grouped(again).counts)


def test_inspection_is_the_same_in_every_engine(address, parquet):
    there, here = inspect_table(open_table(address)), inspect_table(open_table(parquet))
    assert (there.rows, there.distinct_rows) == (here.rows, here.distinct_rows)
    for one, other in zip(there.columns, here.columns, strict=True):
        assert (one.name, one.missing, one.distinct, one.family) == (
            other.name,
            other.missing,
            other.distinct,
            other.family,
        )


def test_a_release_from_a_database_equals_one_from_a_file_for_the_same_seed(address, parquet):
    settings = {"family": "negative_binomial", "mechanism": "LW_final", "m": 2, "seed": 7}
    here = syn.Synthesizer("visits ~ 1", **settings).fit(open_table(parquet))
    there = syn.Synthesizer("visits ~ 1", **settings).fit(open_table(address))
    assert here.guarantee_ == there.guarantee_
    for one, other in zip(here.sample(), there.sample(), strict=True):
        assert one.equals(other)


def test_the_command_line_goes_from_a_database_to_a_run_folder(address, tmp_path, capsys):
    options = [
        "--family",
        "negative_binomial",
        "--mechanism",
        "CW",
        "--radius",
        "2",
        "--m",
        "1",
        "--seed",
        "1",
        "--json",
    ]
    code = run_command(
        [
            "synthesize",
            address,
            "--formula",
            "visits ~ age",
            "--public",
            "age,sex",
            *options,
            "--out",
            str(tmp_path / "run"),
        ]
    )
    assert code == 0
    assert json.loads(capsys.readouterr().out)["guarantee"]["n"] == N
    table = pq.read_table(tmp_path / "run" / "release" / "synthetic_01.parquet")
    assert table.column_names == ["visits", "age", "sex"]
    assert [str(kind) for kind in table.schema.types] == ["int32", "int16", "string"]


def test_a_server_s_connection_ends_with_its_table(postgres_url):
    import psycopg

    def open_ones():
        with psycopg.connect(postgres_url) as connection:
            asked = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            return connection.execute(asked).fetchone()[0]

    gc.collect()  # those of other tests
    wait_for(lambda: open_ones() == 1)  # a server takes a moment to see that one is gone
    table = open_table(f"{postgres_url}::health.people")
    table.group(["visits"], [])
    assert open_ones() == 2
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        del table
        gc.collect()
    assert not [each for each in said if each.category is ResourceWarning]
    wait_for(lambda: open_ones() == 1)


def test_types_of_a_server_s_own_come_out_or_are_refused_by_name(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE TABLE odd AS SELECT i AS y, (i / 4.0)::numeric AS free, gen_random_uuid() AS id, "
            "'1 month'::interval AS span FROM generate_series(1, 30) i"
        )
    grouped = open_table(f"{postgres_url}::odd").group(["free"], ["id", "free"])
    assert grouped.public.schema.types == [pa.string(), pa.float64()]
    assert sorted(grouped.columns.column("free").to_pylist()) == [i / 4 for i in range(1, 31)]
    with pytest.raises(InputError, match="column 'span' must be a number, text, a date or a time, found an interval"):
        open_table(f"{postgres_url}::odd").group(["y"], ["span"])


def test_a_table_has_one_address_in_the_ledger(tmp_path):
    same = {
        canonical(url, table)
        for url in ("postgres://me@host/db", "postgresql://host:5432/db", "postgres://a:b@host/db?sslmode=require")
        for table in ("t", "public.t")
    }
    assert len(same) == 1
    (tmp_path / "link").symlink_to(tmp_path / "t.duckdb")
    paths = [tmp_path / "t.duckdb", tmp_path / "link", tmp_path / "." / "t.duckdb"]
    assert len({canonical(f"duckdb://{path}", table) for path in paths for table in ("t", "T", "main.t")}) == 1


def test_a_unit_must_not_be_missing(postgres_url):
    with pytest.raises(InputError, match="'person', the unit of privacy, must have no missing values, found some"):
        open_table(f"{postgres_url}::gaps", unit="person", max_rows=1).group(["y"], [])


def test_errors_hide_the_password(postgres_url):
    with pytest.raises(InputError, match="table 'nowhere' must be in the database") as missing:
        open_table(f"{postgres_url}::nowhere")
    closed = "postgres://me:hunter2@127.0.0.1:1/db?password=hunter3::t"
    with pytest.raises(InputError, match="must be reachable, found OperationalError") as refused:
        open_table(closed)
    assert "hunter" not in str(missing.value) + str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgres://me:hunter2@host:5432/db",
        "postgres://me:hunt/er2@host/db",
        "postgres://me:hunter2@host/db?password=hunter2",
        "postgres://me:hunter?er2@host/db",
        "postgres:/me:hunter2@host/db",
        "postgres://host?user=me&password=hunter2",
        "mssql://me@host/db?pwd=hunter2",
        "pyspark://?spark.hadoop.fs.s3a.secret.key=hunter2&spark.master=local[2]",
        "pyspark:///warehouse?spark.ssl.keyPassword=hunter2",
    ],
)
def test_no_part_of_a_password_is_shown_or_kept(url, capsys):
    for text in (without_password(url), host_of(url)) if "://" in url else ():
        assert "hunt" not in text
        assert "er2" not in text
    assert "hunter" not in host_of("postgres://me:hunter2")  # the host was forgotten
    for address in (url, f"{url}::", f"{url}::t"):  # the first is what one types when one forgets the table
        assert run_command(["inspect", address.replace("postgres", "nosuch").replace("pyspark", "nosuch")]) == 2
        shown = capsys.readouterr().err
        assert "hunt" not in shown
        assert "er2" not in shown


def test_a_password_with_colons_is_not_taken_for_a_table(capsys):
    assert run_command(["inspect", "nosuch://me:a::hunter2@host/db"]) == 2
    assert "hunter2" not in capsys.readouterr().err


def test_a_run_leaves_no_password_behind(postgres_url, tmp_path):
    url = postgres_url.replace("tester@", "tester:hunter2@")
    options = ["--family", "poisson", "--mechanism", "SW", "--m", "1", "--seed", "1", "--quiet"]
    run = ["synthesize", f"{url}::health.people", "--formula", "visits ~ 1", *options, "--out", str(tmp_path / "run")]
    assert run_command(run) == 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"hunter2" not in path.read_bytes(), path.name


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("parquet.`/data/visits`", "`parquet`.`/data/visits`"),
        ("`health`.`visits`", "`health`.`visits`"),
        ("catalogue.`a.b`.visits", "`catalogue`.`a.b`.`visits`"),
        ("parquet.`/data/a``b`", "`parquet`.`/data/a``b`"),
        ("`a b; DROP TABLE c`", "`a b; DROP TABLE c`"),
    ],
)
def test_names_of_spark_tables_are_quoted_part_by_part(table, name):
    assert spark_name(table) == name


@pytest.mark.parametrize(
    "table",
    [
        "parquet.`/data/a` WHERE visits > 3",
        "`a` JOIN `b`",
        "`a`; DROP TABLE b",
        "parquet.`/data/a`b`",
        "`a",
        "a`",
        "``",
        "`a`.",
        ".`a`",
        "a b.`c`",
        "a--`b`",
        "(SELECT 1 AS `y`)",
    ],
)
def test_what_is_no_name_of_a_spark_table_is_refused(table):
    with pytest.raises(InputError, match="names with dots between them, odd ones in backticks"):
        spark_name(table)


def test_a_spark_address_runs_no_sql_of_its_own(spark_url):
    for more in (" WHERE visits > 3", "; DROP TABLE a", "`"):
        with pytest.raises(InputError, match="names with dots between them"):
            open_table(spark_url + more)


def test_a_spark_path_may_have_a_backtick(spark_url, tmp_path):
    pq.write_table(pa.table({"y": [1, 1, 2]}), tmp_path / "a`b.parquet")
    url = spark_url.partition("::")[0]
    grouped = open_table(f"{url}::parquet.`{tmp_path}/a``b.parquet`").group(["y"], [])
    assert sorted(zip(grouped.columns["y"].to_pylist(), grouped.counts.tolist(), strict=True)) == [(1, 2), (2, 1)]


def test_a_postgres_table_may_have_quotes_in_its_name(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute('CREATE TABLE "a""b; x" AS SELECT 7 AS y')
    assert open_table(f'{postgres_url}::a"b; x').group(["y"], []).columns["y"].to_pylist() == [7]
    for odd in ('people" WHERE 1=1 --', "people; DROP TABLE gaps", '(SELECT 1 AS y) "t"'):
        with pytest.raises(InputError, match="must be in the database"):
            open_table(f"{postgres_url}::{odd}")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("://::t", "must be addressed as URL::table"),
        ("postgres://host::", "must be addressed as URL::table"),
    ],
)
def test_addresses_that_make_no_sense(address, message):
    with pytest.raises(InputError, match=message):
        open_table(address)


def test_an_unknown_kind_of_database():
    need(has_module("ibis"), "no Ibis (pip install 'alphasynth[postgres]')")
    with pytest.raises(InputError, match="the database at nosuch://host must be reachable"):
        open_table("nosuch://host::t")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgres://host/db::t", r"pip install 'alphasynth\[postgres\]'"),
        ("postgresql://host/db::t", r"pip install 'alphasynth\[postgres\]'"),
        ("pyspark://::t", r"pip install 'alphasynth\[spark\]'"),
        ("mysql://host/db::t", r"pip install 'ibis-framework\[mysql\]'"),
    ],
)
def test_a_missing_driver_is_named_with_the_way_to_get_it(monkeypatch, address, message):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=message):
        open_table(address)
