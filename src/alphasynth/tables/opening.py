"""`open_table`: a stored table by its address, a file, `FILE::table` or `URL::table`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from alphasynth.errors import InputError, found, require_whole
from alphasynth.tables.compressed import COMPRESSIONS, inner_suffix
from alphasynth.tables.csv_files import AS_IT_IS, Csv, TextFormat
from alphasynth.tables.databases import DatabaseTable
from alphasynth.tables.declared import Declared
from alphasynth.tables.engine import FileTable, Source, connect
from alphasynth.tables.files import PARQUET, Arrow, DuckDb, Parquet, Statistical
from alphasynth.tables.frames import require
from alphasynth.tables.grouping import Unit
from alphasynth.tables.statistical_files import READERS, Labels
from alphasynth.tables.text_cells import DATES, NUMBERS, TRUTHS, WHOLE, Kind
from alphasynth.tables.workbooks import WORKBOOKS, Sheet

TEXT, ARROW = (".csv", ".tsv", ".txt"), (".arrow", ".feather", ".ipc")
# A table at rest, whatever holds it.
Stored = TypeVar("Stored")
SUFFIXES = (*TEXT, *(f".csv{kind}" for kind in COMPRESSIONS), *PARQUET, *ARROW, *READERS, *WORKBOOKS)
DATABASES = (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")  # files that are named like a table's, FILE::table
HIVE = "keys in folders' names (--hive) must be of a folder of Parquet files"
SQLITE = b"SQLite format 3\x00"


def is_database(address: str) -> bool:
    """Whether an address names a table of a database.

    >>> is_database("postgres://host/db::visits"), is_database("visits.duckdb::visits"), is_database("visits.csv")
    (True, True, False)
    """
    return "://" in address or _database_file(address) is not None


def _database_file(address: str) -> Path | None:
    """The file of an address FILE::table; None where it is another kind of address."""
    file, mark, _ = address.rpartition("::")
    return Path(file) if mark and "://" not in address and Path(file).suffix.lower() in DATABASES else None


def file_of(address: str | Path) -> tuple[Path, str | None]:
    """The file of an address, and the sheet that it names in a workbook.

    >>> [str(part) for part in file_of("visits.xlsx::people")], file_of("visits.csv")[1]
    (['visits.xlsx', 'people'], None)
    """
    file, mark, sheet = str(address).rpartition("::")
    named = mark and Path(file).suffix.lower() in WORKBOOKS
    return (Path(file), sheet) if named else (Path(address), None)


def _as_url(address: str) -> str:
    """An address by URL; of a file that holds a database, told by its first bytes."""
    file = _database_file(address)
    if file is None:
        return address
    path = _existing(file)
    with path.open("rb") as opened_file:
        scheme = "sqlite" if opened_file.read(len(SQLITE)) == SQLITE else "duckdb"
    return f"{scheme}://{path}::{address.rpartition('::')[2]}"


def split_address(address: str) -> tuple[str, str]:
    """URL and table of a database's address; a message never shows it, since it may hold a password."""
    url, _, table = _as_url(address).rpartition("::")
    if not table or "@" in table or not url.partition("://")[0].isidentifier():
        raise InputError("a table in a database must be addressed as URL::table, found no table or no kind of database")
    return url, table


def open_table(
    address: str | Path,
    *,
    unit: str | None = None,
    max_rows: int | None = None,
    in_order: bool = False,
    sort_rows: bool = False,
    spill: Path | None = None,
    text: TextFormat = AS_IT_IS,
    seed: int | None = None,
    hive: bool = False,
) -> FileTable | DatabaseTable:
    """Open a stored table; only its column names and types are read, but for a workbook's sheet, which is read whole.

    `unit` and `max_rows` make all rows that share a value of a column the unit of privacy and keep at most so many of
    them, chosen at random. Public columns are released in the order of a file's rows, or sorted with `sort_rows`;
    tables of databases always sorted. `in_order` keeps the order even where nothing is released row by row, for values
    by record. DuckDB spills to the folder `spill`, or fails where none is given. `text` says how a text
    file is to be read. With `hive` the keys in the names of a folder's folders (year=2024) are columns, which they are
    not unless asked for. Raises `InputError`.

    >>> import pandas as pd
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     pd.DataFrame({"person": [1, 1, 2], "visits": [3, 0, 2]}).to_parquet(f"{folder}/panel.parquet")
    ...     open_table(f"{folder}/panel.parquet", unit="person", max_rows=1).column_names
    ('person', 'visits')
    """
    privacy = _unit(unit, max_rows)
    if in_order and sort_rows:
        raise InputError("rows must be in the table's order or sorted (--by-row or --sort-rows), found both asked for")
    if is_database(str(address)):
        if hive:
            raise InputError(f"{HIVE}, found a table of a database")
        url, name = split_address(str(address))
        if url.startswith("duckdb://"):
            engine = connect()
            source: Source = DuckDb.open(engine, _existing(Path(url.removeprefix("duckdb://"))), name)
            table: FileTable | DatabaseTable = FileTable(source, engine, privacy, False, True, _key(seed))
        else:
            table = DatabaseTable.open(url, name, privacy, _key(seed))
    else:
        file, sheet = file_of(address)
        source = _source(_existing(file, folders=True), text, sheet, hive)
        table = FileTable(source, connect(), privacy, in_order, sort_rows, _key(seed))
    if privacy is not None:
        require(table.column_names, [privacy.column], "the unit of privacy", table.names_are_public)
    if spill is not None and isinstance(table, FileTable):
        table.spill_to(spill)
    return table


def is_text_file(table: object) -> bool:
    """Whether a stored table is a text file, which has no types of its own."""
    return isinstance(table, FileTable) and isinstance(table.source, Csv)


def codebook_of(table: object) -> Labels:
    """What a stored table says of its columns beside their values; nothing where it is no SAS, SPSS or Stata file."""
    source = table.source if isinstance(table, FileTable) else None
    return source.labels if isinstance(source, Statistical) else Labels()


def as_declared(table: Stored, declared: Mapping[str, Declared]) -> Stored:
    """A stored table whose text, where it is a text file, is read as what is declared of its columns.

    Else a column's type would be the one that all of its values have, which a single one can decide.
    """
    if not isinstance(table, FileTable) or not isinstance(table.source, Csv):
        return table
    kinds = {name: _kind(facts) for name, facts in declared.items() if name in table.column_names}
    return replace(table, source=replace(table.source, kinds=kinds))


def _kind(facts: Declared) -> Kind:
    """What a column holds."""
    if facts.dates:
        return DATES
    if not facts.levels:
        return WHOLE if facts.whole else NUMBERS
    if all(isinstance(level, bool) for level in facts.levels):
        return TRUTHS
    if isinstance(facts.levels[0], str):
        return Kind("text", pa.string(), levels=tuple(facts.levels))
    return WHOLE if all(isinstance(level, int) for level in facts.levels) else NUMBERS


def _key(seed: int | None) -> str:
    """What decides which rows of a unit take part: 128 bits of the operating system's entropy, or the seed."""
    return secrets.token_hex(16) if seed is None else str(seed)


def _unit(column: str | None, max_rows: int | None) -> Unit | None:
    if (column is None) != (max_rows is None):
        raise InputError("unit and max_rows (--unit and --max-rows) must be given together, found one of them")
    if column is None:
        return None
    return Unit(column, require_whole("max_rows", max_rows))


def _existing(path: Path, folders: bool = False) -> Path:
    if not path.is_file() and not (folders and path.is_dir()):
        problem = "a folder" if path.is_dir() else "none"
        shown = repr(str(path)) if "@" not in str(path) else "that address"  # a mistyped URL may hold a password
        raise InputError(f"table must be a file or URL::table, found {problem} at {shown}")
    return path.absolute()


def _source(path: Path, text: TextFormat, sheet: str | None, hive: bool) -> Source:
    suffix = path.suffix.lower()
    if hive and not path.is_dir():
        raise InputError(f"{HIVE}, found a file")
    if inner_suffix(path) in TEXT and not path.is_dir():
        return Csv.open(path, text)
    if suffix in PARQUET or path.is_dir():
        return Parquet.open(path, hive)
    if suffix in ARROW:
        return Arrow.open(path)
    if suffix in READERS:
        return Statistical.open(path)
    if suffix in WORKBOOKS:
        return Sheet.open(path, sheet, text.header)
    if suffix in DATABASES:
        raise InputError(f"a table in a database file must be addressed as {path.name}::TABLE, found no table")
    raise InputError(f"a file must end in one of {', '.join(SUFFIXES)}, found {found(path.suffix)}")
