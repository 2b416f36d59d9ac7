"""Tables of database servers and Spark, reached through Ibis: they are grouped there, and only the groups come out."""

from __future__ import annotations

import importlib.util
import re
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError
from alphasynth.tables.driver_errors import translated
from alphasynth.tables.engine import MISSING
from alphasynth.tables.grouping import Adding, Grouped, Unit
from alphasynth.tables.public_columns import as_type, sorted_by_public

# Rows that come out of a server at a time: its driver makes an object of every value.
FETCHED = 50_000
# What pip installs for each kind of database, and the module that tells whether it is there.
EXTRAS = {"postgres": ("postgres", "psycopg"), "pyspark": ("spark", "pyspark")}
# A part of the name of a Spark table: a word, or anything in backticks.
SPARK_PART = r"(?:\w+|`(?:[^`]|``)+`)"
# Settings in an address that are secrets go by such names.
SECRET = re.compile(r"pass|pwd|secret|token|key|credential|auth", re.IGNORECASE)


def without_password(url: str) -> str:
    """The address as it may be written down: no password, no setting that might be a secret.

    >>> without_password("postgres://me:secret@host:5432/db?password=secret&sslmode=require")
    'postgres://me@host:5432/db?sslmode=require'
    """
    scheme, _, rest = url.partition("://")
    user, at, place = rest.rpartition("@")  # a password may hold slashes, colons and question marks
    host, _, query = place.partition("?")
    kept = [part for part in query.split("&") if part and not SECRET.search(part.partition("=")[0])]
    return f"{scheme}://{user.partition(':')[0]}{at}{host}" + ("?" + "&".join(kept) if kept else "")


def host_of(url: str) -> str:
    """The kind of database and where it is: all of an address that a message may show.

    >>> host_of("postgres://me:secret@host:5432/db?password=secret")
    'postgres://host:5432/db'
    """
    scheme, _, rest = url.partition("://")
    place = rest.rpartition("@")[2].partition("?")[0]
    plain = re.match(r"[\w.-]*(:\d+)?(/|$)", place)  # and not a user and a password whose host was forgotten
    return f"{scheme}://{place if plain else '...'}"


def canonical(url: str, table: str) -> str:
    """An address that is the same for most ways to write it: it tells tables apart in the ledger.

    >>> canonical("postgresql://me:secret@localhost/db", "visits")
    'postgres://127.0.0.1:5432/db::public.visits'
    """
    if url.startswith("duckdb://"):
        name = table if "." in table else f"main.{table}"
        return f"duckdb://{Path(url.removeprefix('duckdb://')).resolve()}::{name.casefold()}"
    scheme = url.partition("://")[0].replace("postgresql", "postgres")
    if scheme != "postgres":
        return f"{without_password(url)}::{table}"
    place = host_of(url).partition("://")[2]
    host, slash, database = place.partition("/")
    host = host.replace("localhost", "127.0.0.1")
    name = table if "." in table else f"public.{table}"
    return f"postgres://{host if ':' in host else f'{host}:5432'}{slash}{database}::{name}"


def spark_name(table: str) -> str:
    """A name with backticks as Spark's SQL has it, every part quoted; raise `InputError` for anything but a name.

    >>> spark_name("parquet.`/data/visits`")
    '`parquet`.`/data/visits`'
    """
    if not re.fullmatch(rf"{SPARK_PART}(\.{SPARK_PART})*", table):
        raise InputError(
            f"table {table!r} must be names with dots between them, odd ones in backticks (a backtick in one is two), "
            "found something else"
        )
    # What stands in backticks has its own doubled already.
    return ".".join(part if part[0] == "`" else f"`{part}`" for part in re.findall(SPARK_PART, table))


@dataclass(frozen=True, eq=False)
class DatabaseTable:
    """A stored table of a database. Its rows have no order, so those released are sorted by their public columns.

    With a `unit`, at most `max_rows` rows of each unit take part, chosen at random by the `key`.
    """

    expression: Any = field(repr=False)  # an ibis.Table
    unit: Unit | None = None
    key: str = field(default="", repr=False)

    @classmethod
    def open(cls, url: str, table: str, unit: Unit | None = None, key: str = "") -> DatabaseTable:
        """Connect and look the table up; raise `InputError`, never with a password in it."""
        scheme = url.partition("://")[0].replace("postgresql", "postgres")
        _require_driver(scheme)
        with translated(f"the database at {host_of(url)} must be reachable"):
            connection = _spark(url) if scheme == "pyspark" else _connect(url)
        if scheme == "pyspark" and "`" in table:  # a path in place of a name: parquet.`/data/visits`
            with translated(f"table {table!r} must be readable"):
                return cls(connection.sql(f"SELECT * FROM {spark_name(table)}"), unit, key)
        place, _, name = table.rpartition(".")
        with translated(f"table {table!r} must be in the database"):
            return cls(connection.table(name, database=place or None), unit, key)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns, in the table's order."""
        return tuple(self.expression.columns)

    @property
    def names_are_public(self) -> bool:
        """They are the database's schema."""
        return True

    def group(self, names: Sequence[str], public: Sequence[str]) -> Grouped:
        """Group the columns that the model reads and those to be released, in the database; raise `InputError`."""
        used = list(dict.fromkeys((*names, *public)))
        keys = [f"k{i}" for i in range(len(used))]
        with translated("the table must be readable"):
            rows = self._rows(used, keys)
            lines = rows.group_by(keys).aggregate(size=rows.count()).to_pyarrow()
            schema = rows.schema()
            types = {name: schema[key].to_pyarrow() for name, key in zip(used, keys, strict=True)}
        columns = dict(zip(used, (lines.column(key) for key in keys), strict=True))
        grouped = Grouped(
            columns=pa.table({name: columns[name] for name in names}),
            public=pa.table({name: as_type(columns[name], types[name]) for name in public}),
            counts=lines.column("size").cast(pa.int64()).to_numpy(),
            index=None,
            types={name: types[name] for name in names},
            unit=self.unit,
        )
        return sorted_by_public(grouped) if public else grouped

    def stream(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows that take part, on these columns, so many at a time; raise `InputError`."""
        with translated("the table must be readable"):
            yield from self._chosen(names).to_pyarrow_batches(chunk_size=FETCHED)

    def count(self, name: str) -> int:
        """How many rows take part; raise `InputError`."""
        with translated("the table must be readable"):
            return int(self._chosen([name]).count().to_pyarrow().as_py())

    def sample(self, names: Sequence[str], rows: int) -> pa.Table:
        """So many of the rows that take part, at random, or all there are, on these columns; raise `InputError`."""
        import ibis

        with translated("the table must be readable"):
            found = self._chosen(names).order_by(ibis.random()).limit(rows).to_pyarrow()
        return found.rename_columns(list(names))

    @property
    def adds_up_itself(self) -> bool:
        """Spark does; a server's rows are added up here."""
        return bool(self.expression.get_backend().name == "pyspark")

    def add_up(self, names: Sequence[str], adding: Adding) -> np.ndarray:
        """Sums over the rows that take part: on Spark's executors, or as rows come out; raise `InputError`."""
        if not self.adds_up_itself:
            return adding(self.stream(names))
        from alphasynth.tables.spark import add_up_on_executors

        with translated("the table must be readable"):
            rows = self._chosen(names)
            return add_up_on_executors(rows.get_backend().raw_sql(rows.compile()), adding)

    def _chosen(self, names: Sequence[str]) -> Any:
        keys = [f"k{i}" for i in range(len(names))]
        return self._rows(names, keys).select(*keys)

    def _rows(self, used: Sequence[str], keys: Sequence[str]) -> Any:
        """The rows that take part, their columns named k0, k1, ..."""
        import ibis

        table = self.expression
        chosen = {key: _readable(table[name]) for key, name in zip(keys, used, strict=True)}
        if self.unit is None:
            return table.select(**chosen)
        unit = table[self.unit.column]
        if unit.type().is_floating():
            unit = unit.isnan().ifelse(None, unit)
        elif unit.type().is_string():
            unit = unit.strip()
            unit = unit.isin(["", *MISSING]).ifelse(None, unit)
        if table.aggregate(missing=unit.isnull().sum()).to_pyarrow().column(0)[0].as_py():
            raise InputError(
                f"column {self.unit.column!r}, the unit of privacy, must have no missing values, found some"
            )
        # As in files: a unit's rows are numbered in the order of their values, random numbers are drawn by that number.
        rows = table.select(**chosen, unit=unit)
        by_value = [ibis.asc(rows[key], nulls_first=False) for key in keys]
        rows = rows.mutate(number=ibis.row_number().over(group_by=rows.unit, order_by=by_value) + 1)
        words = [ibis.literal(self.key), rows.number.cast("string"), rows.unit.cast("string")]
        drawn = _md5()(ibis.literal(":").join(words))
        place = ibis.row_number().over(group_by=rows.unit, order_by=drawn)
        return rows.mutate(place=place).filter(lambda rows: rows.place < self.unit.max_rows)  # counted from 0


def _md5() -> Any:
    """The engine's own md5, which Ibis does not know of all of them."""
    import ibis

    @ibis.udf.scalar.builtin(name="md5", signature=(("string",), "string"))
    def md5(text):  # type: ignore[no-untyped-def]
        ...

    return md5


def _readable(column: Any) -> Any:
    """A column in a type that comes out exactly, or as near as a number can; refuse what does not."""
    kind = column.type()
    if kind.is_decimal() and kind.precision is None:
        return column.cast("float64")
    if kind.is_uuid() or kind.is_inet() or kind.is_macaddr() or kind.is_json():
        return column.cast("string")
    if kind.is_interval():
        raise InputError(f"column {column.get_name()!r} must be a number, text, a date or a time, found an interval")
    return column


def _require_driver(scheme: str) -> None:
    extra, driver = EXTRAS.get(scheme, (None, None))
    if driver is not None and importlib.util.find_spec(driver) is None:
        raise InputError(
            f"{scheme}:// needs its driver, found none; install it with: pip install 'alphasynth[{extra}]'"
        )
    if importlib.util.find_spec("ibis") is None:
        raise InputError(f"{scheme}:// needs Ibis, found none; install it with: pip install 'ibis-framework[{scheme}]'")


def _connect(url: str) -> Any:
    import ibis

    connection = ibis.connect(url)
    if url.startswith(("postgres://", "postgresql://")):
        # Closed with the last table that reads through it: a server's places are few, and psycopg warns of open ones.
        weakref.finalize(connection, connection.con.close)
    return connection


def _spark(url: str) -> Any:
    """Spark's session with the settings in the address, `pyspark:///warehouse?spark.master=local[2]`.

    Ibis would set them a second time on the running session, which refuses some.
    """
    import ibis
    from pyspark.sql import SparkSession

    _, _, rest = url.partition("://")
    path, _, query = rest.partition("?")
    settings = dict(parse_qsl(query, strict_parsing=True)) if query else {}
    builder = SparkSession.builder.appName("alphasynth").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "ERROR")
    if path.strip("/"):
        builder = builder.config("spark.sql.warehouse.dir", path)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    return ibis.pyspark.connect(session)
