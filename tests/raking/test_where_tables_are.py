"""Sums where the table is: Spark's and PostgreSQL's equal DuckDB's and a frame's to the last integer."""

from __future__ import annotations

import datetime
import itertools
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.raking.columns import Columns
from alphasynth.raking.exact import Held, Passes, exact_of
from alphasynth.raking.features import features_of
from alphasynth.raking.moments import all_moments
from alphasynth.raking.sums import Margin
from alphasynth.tables.opening import open_table
from engines import need_spark, postgres

N = 3_000
DAY = datetime.date(2020, 1, 1)
DECLARED = {
    "sex": {"levels": ["f", "m", "x"], "missing": "model"},
    "age": {"limits": [0, 110], "whole": True},
    "fee": {"limits": [0, 1_000_000], "skewed": True, "missing": "model"},
    "day": {"limits": [DAY, datetime.date(2020, 12, 31)]},
}
PLAIN = Columns.of(DECLARED)
WEIGHED = Columns.of(DECLARED, weight={"column": "weight", "largest": 2.0})
UNIT = {"unit": "person", "max_rows": 2}
# Drivers and Spark speak of their own future.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


def people() -> pa.Table:
    rng = np.random.default_rng(5)
    columns = {
        "person": pa.array(np.arange(N) // 4),
        "sex": pa.array(rng.choice(["f", "m", "x"], N), mask=rng.random(N) < 0.1),
        "age": pa.array(rng.integers(0, 111, N)),
        "fee": pa.array(np.minimum(np.exp(rng.normal(8, 2, N)), 1e6), mask=rng.random(N) < 0.2),
        "day": pa.array([DAY + datetime.timedelta(int(day)) for day in rng.integers(0, 366, N)]),
        "weight": pa.array(rng.exponential(1.0, N)),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(people(), path, row_group_size=500)
    return path


@pytest.fixture(scope="module")
def postgres_address(tmp_path_factory):
    with postgres(tmp_path_factory.mktemp("postgres")) as url:
        import psycopg

        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE people (person bigint, sex text, age int, fee double precision, day date, "
                "weight double precision)"
            )
            with cursor.copy("COPY people FROM STDIN") as copy:
                for row in zip(*people().to_pydict().values(), strict=True):
                    copy.write_row(row)
        yield f"{url}::people"


@pytest.fixture(scope="module")
def spark_address(parquet):
    need_spark()
    settings = "spark.ui.enabled=false&spark.sql.shuffle.partitions=2&spark.sql.files.maxPartitionBytes=20000"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield f"pyspark://?spark.master=local[2]&{settings}::parquet.`{parquet}`"
        from pyspark.sql import SparkSession

        SparkSession.builder.getOrCreate().stop()


@pytest.fixture(scope="module", params=["postgres", "spark"])
def address(request):
    return request.getfixturevalue(f"{request.param}_address")


def names(columns: Columns) -> list[str]:
    return [*columns.names, *(["weight"] if columns.weight else [])]


def sums(exact, columns: Columns) -> list[np.ndarray]:
    """All there is to ask: counts of columns and pairs, moments, how many rows and what they weigh."""
    cells = columns.cells()
    margins = [Margin((j,), (np.arange(each.size),)) for j, each in enumerate(cells)]
    margins += [Margin((a, b), (cells[a].block, cells[b].block)) for a, b in itertools.combinations(range(4), 2)]
    features = [features_of(each, np.full(each.size, 1 / each.size), 2) for each in cells]
    rng = np.random.default_rng(3)
    moments = replace(all_moments(features, [rng.integers(0, c.size, 99) for c in cells]), length=5_000)
    return [np.array([exact.n, *exact.weights]), *exact.counts(margins), exact.moments(moments)]


@pytest.mark.parametrize("columns", [PLAIN, WEIGHED], ids=["plain", "weighed"])
@pytest.mark.parametrize("unit", [{}, UNIT], ids=["rows", "units"])
def test_sums_are_those_of_duckdb_to_the_last_integer(address, parquet, columns, unit):
    here = sums(exact_of(columns, open_table(parquet, seed=1, **unit), names(columns)), columns)
    there = sums(exact_of(columns, open_table(address, seed=1, **unit), names(columns)), columns)
    for one, other in zip(here, there, strict=True):
        assert one.dtype == other.dtype == np.int64
        assert np.array_equal(one, other)
    if not unit:
        frame = Held.gathered(columns, people().select(names(columns)).to_batches())
        assert all(np.array_equal(one, other) for one, other in zip(here, sums(frame, columns), strict=True))


def test_spark_adds_up_on_its_executors(spark_address, monkeypatch):
    """No row comes out: what would stream them is not called."""
    monkeypatch.setattr("alphasynth.tables.databases.DatabaseTable.stream", None)
    monkeypatch.setattr("alphasynth.tables.spark.SLICE", 1_000)  # sums travel in many pieces
    exact = exact_of(PLAIN, open_table(spark_address), names(PLAIN))
    assert isinstance(exact, Passes)
    assert exact.n == N
    assert exact.counts([Margin((0,), (np.arange(4),))])[0].sum() == N


@pytest.mark.parametrize("unit", [{}, UNIT], ids=["rows", "units"])
def test_tables_are_the_same_from_anywhere(postgres_address, spark_address, parquet, unit):
    asked = {"mechanism": "Raked", "epsilon": 4.0, "delta": 1e-9, "m": 1, "seed": 7}
    places = [open_table(where, seed=3, **unit) for where in (parquet, postgres_address, spark_address)]
    places += [] if unit else [people()]
    made = [syn.Synthesizer(WEIGHED, **asked).fit(place).sample()[0] for place in places]
    assert made[0].num_rows == (N // 2 if unit else N)
    assert all(one.equals(made[0]) for one in made[1:])


@pytest.mark.parametrize("name", ["age", "fee"])
def test_refusals_are_one_sentence_without_a_value(address, parquet, name, capfd):
    narrow = Columns.of(DECLARED | {name: DECLARED[name] | {"limits": [0, 50]}})
    said = []
    for where in (parquet, address):
        with pytest.raises(InputError) as refused:
            exact_of(narrow, open_table(where), names(narrow))
        said.append(str(refused.value))
    assert said[0] == said[1] == f"column {name!r} must lie within its declared limits, found values beyond"
    assert "Traceback" not in "".join(capfd.readouterr())


def test_samples_are_rows_of_the_table(address, parquet):
    whole = set(zip(*people().select(["person", "age"]).to_pydict().values(), strict=True))
    for where in (parquet, address):
        few = open_table(where).sample(["person", "age"], 100)
        assert few.num_rows == 100
        assert set(zip(*few.to_pydict().values(), strict=True)) <= whole
        assert open_table(where).sample(["age"], 2 * N).num_rows == N
