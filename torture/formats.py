"""The table in every kind of file that is read, as bytes, sound and to be spoilt; and frames of odd types."""

from __future__ import annotations

import gzip
import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pyreadstat

from torture.processes import ROOT
from torture.tables import NAME, people

sys.path.append(str(ROOT / "tests"))
from workbook import write_workbook

# How often each kind comes, of a hundred files.
SHARES = {
    ".csv": 38,
    ".tsv": 4,
    ".csv.gz": 5,
    ".csv.zst": 5,
    ".parquet": 10,
    ".feather": 5,
    ".arrow": 3,
    ".xlsx": 8,
    ".sav": 5,
    ".zsav": 2,
    ".por": 2,
    ".dta": 5,
    ".xpt": 4,
    ".duckdb": 2,
    ".sqlite": 2,
}
TEXT = (".csv", ".tsv", ".csv.gz", ".csv.zst")
TABLE = {".duckdb": "::people", ".sqlite": "::people"}  # what the address says after the file's name


def text(source: random.Random, suffix: str) -> bytes:
    """A text file in one of the ways in which such files are written."""
    way = source.choice(["plain", "plain", "quoted", "semicolon", "crlf", "bom", "latin", "utf16", "accents"])
    separator = "\t" if suffix == ".tsv" else ";" if way == "semicolon" else ","
    frame = people()
    if way in ("accents", "latin"):
        frame["person"] = frame["person"] + "ü"
    written = frame.to_csv(index=False, sep=separator, quoting=1 if way == "quoted" else 0)
    if way == "crlf":
        written = written.replace("\n", "\r\n")
    encoding = {"bom": "utf-8-sig", "latin": "latin-1", "utf16": "utf-16"}.get(way, "utf-8")
    return written.encode(encoding)


def compressed(content: bytes, suffix: str) -> bytes:
    """A text file's bytes as they stand in a file of this suffix."""
    if suffix.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    return pa.compress(content, "zstd", asbytes=True) if suffix.endswith(".zst") else content


def binary(source: random.Random, suffix: str, odd: bool) -> bytes:
    """The table in a file that is no text; with columns of odd types where asked."""
    frame = odd_frame(source) if odd else people()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        WRITERS[suffix](frame, path, source)
        return path.read_bytes()


def _parquet(frame: pd.DataFrame, path: Path, source: random.Random) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    rows = source.choice([7, 80])
    pq.write_table(table, path, compression=source.choice(["none", "snappy", "zstd"]), row_group_size=rows)


def _arrow(frame: pd.DataFrame, path: Path, source: random.Random) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if source.random() < 0.5:
        with pa.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)
    else:
        pf.write_feather(table, path, compression=source.choice(["uncompressed", "zstd"]))


def _workbook(frame: pd.DataFrame, path: Path, source: random.Random) -> None:
    cells = [list(frame.columns), *frame.astype(object).to_numpy().tolist()]
    write_workbook(path, {"people": cells} | ({"other": [["a"], [1]]} if source.random() < 0.1 else {}))


def _duckdb(frame: pd.DataFrame, path: Path, source: random.Random) -> None:
    with duckdb.connect(str(path)) as engine:
        engine.register("given", frame)
        engine.execute("CREATE TABLE people AS SELECT * FROM given")


def _sqlite(frame: pd.DataFrame, path: Path, source: random.Random) -> None:
    with closing(sqlite3.connect(path)) as connection:
        frame.to_sql("people", connection, index=False)
        connection.commit()


WRITERS: dict[str, Callable[[pd.DataFrame, Path, random.Random], None]] = {
    ".parquet": _parquet,
    ".feather": _arrow,
    ".arrow": _arrow,
    ".xlsx": _workbook,
    ".sav": lambda frame, path, source: pyreadstat.write_sav(frame, path),
    ".zsav": lambda frame, path, source: pyreadstat.write_sav(frame, path, compress=True),
    ".por": lambda frame, path, source: pyreadstat.write_por(frame, path),
    ".dta": lambda frame, path, source: pyreadstat.write_dta(frame, path),
    ".xpt": lambda frame, path, source: pyreadstat.write_xport(frame, path),
    ".duckdb": _duckdb,
    ".sqlite": _sqlite,
}
# Only these have types enough for odd columns.
TYPED = (".parquet", ".feather", ".arrow")


def odd_frame(source: random.Random) -> pd.DataFrame:
    """The table with one of its columns of a type or with values that nobody expects there."""
    frame = people()
    name = source.choice(["visits", "income", "age", "sex", "person"])
    kind = source.choice(list(ODD))
    frame[name] = ODD[kind](len(frame))
    if source.random() < 0.15:
        frame = frame.iloc[: source.choice([0, 1, 2])]
    if source.random() < 0.1:
        frame = frame.rename(columns={name: source.choice(["", "count", "k0", "id", "a x", "`a`", "a\nb"])})
    return frame


def _arrow_column(values: list, kind: pa.DataType) -> pd.arrays.ArrowExtensionArray:
    return pd.array(values, dtype=pd.ArrowDtype(kind))


ODD: dict[str, Callable[[int], object]] = {
    "missing": lambda n: [None] * n,
    "infinite": lambda n: [np.inf, -np.inf] + [1.0] * (n - 2),
    "nan": lambda n: [np.nan] + [7_654_321.0] * (n - 1),
    "huge": lambda n: [1.7e308, -1.7e308] + [5e-324] * (n - 2),
    "unsigned": lambda n: np.full(n, 2**64 - 1, np.uint64),
    "least": lambda n: np.full(n, -(2**63), np.int64),
    "truths": lambda n: [True, False] * (n // 2),
    "days": lambda n: pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D"),
    "zones": lambda n: pd.Timestamp("2024-01-01", tz="Europe/Berlin") + pd.to_timedelta(np.arange(n), "D"),
    "far days": lambda n: _arrow_column([-(10**15)] * n, pa.timestamp("ms")),
    "spans": lambda n: pd.to_timedelta(np.arange(n), "D"),
    "decimals": lambda n: _arrow_column([Decimal("7654321.25")] * n, pa.decimal128(30, 2)),
    "wide decimals": lambda n: _arrow_column([Decimal("7654321.25")] * n, pa.decimal256(60, 2)),
    "halves": lambda n: np.arange(n).astype(np.float16),
    "bytes": lambda n: [b"\x00\xff" + NAME.encode()] * n,
    "lists": lambda n: _arrow_column([[1, 2]] * n, pa.list_(pa.int64())),
    "structs": lambda n: _arrow_column([{"a": NAME}] * n, pa.struct({"a": pa.string()})),
    "categories": lambda n: pd.Categorical([f"{NAME}{i % 7}" for i in range(n)]),
    "number categories": lambda n: pd.Categorical([i % 7 for i in range(n)]),
    "long text": lambda n: [NAME * 20_000] + ["x"] * (n - 1),
    "control": lambda n: [f"{NAME}\x00\x1b[31m\u202e"] * n,
    "markup": lambda n: ["[red]{x}%s%n" + NAME] * n,
}


def toml(source: random.Random, content: str) -> bytes:
    """A declaration, spoilt: as text, or one of its values."""
    if source.random() < 0.3:
        return content.encode()
    lines = content.splitlines()
    place = source.randrange(len(lines))
    if "=" in lines[place]:
        lines[place] = f"{lines[place].partition('=')[0]}= {source.choice(VALUES)}"
    elif lines[place].startswith("["):
        lines[place] = source.choice(HEADS)
    return "\n".join(lines).encode()


VALUES = (
    *("nan", "inf", "-inf", "true", '""', '"x"', "[]", "{}", "[[]]", "[nan, nan]", "[0, inf]", "[1, 0]", "[0, 0]"),
    *("9" * 400, "-1", "1e308", "[-1e308, 1e308]", "[0, 1e-320]", "[1970-01-01, 9999-12-31]", "1970-01-01"),
    *('["f"]', '["f", "f"]', '["f", 1]', "[1, 1.0, true]", '[["f"]]', "[{}]", '["\\u0000"]', '"' + "x" * 5_000 + '"'),
    *("0x7fffffffffffffff", "07:32:00", "1979-05-27T07:32:00Z", '["m", "f", "g"]', "[0, 1]", "[0, 5]", "[0.5, 1.5]"),
    *('"visits ~ "', '"~ 1"', '"visits ~ age + visits"', '"visits ~ __import__(1)"', '"nothing ~ 1"', '"visits ~ 1 +"'),
    *('"poisson"', '"nothing"', '"categorical"', '"normal"', '"visits ~ person"', '"visits ~ np.log(age)"', "9e999"),
)
HEADS = (
    *("[column]", "[[column]]", "[column.nothing]", '[column.""]', "[x]", "[column.sex.levels]", "[", "[[column.sex]]"),
    *("[declared_public.visits]", "constraints = ['age <']", "weight = 1", "response = ['x']", "interactions = ['a']"),
    *('weight = {column = "age", largest = 0}', "constraints = ['age < 0']", "read_off_the_table = 1"),
)
