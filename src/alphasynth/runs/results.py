"""What a run left, release and what stayed inside: of the run itself, or of its folder read back.

A folder is refused where a file of it is missing or another's.
"""

from __future__ import annotations

import json
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from alphasynth.errors import InputError
from alphasynth.evaluation.values import conform, is_numeric, read_records, values_of
from alphasynth.mechanisms.weighting import Weighting
from alphasynth.privacy.guarantee import PublicGuarantee
from alphasynth.runs.files import Kept
from alphasynth.runs.folder import CONFIDENTIAL, RELEASE, SUMMARY
from alphasynth.runs.settings import fits
from alphasynth.runs.whole_table import MOST_VALUES
from alphasynth.synthesis.release import Release
from alphasynth.synthesis.statements import declared_facts, declared_gaps, shown_alone
from alphasynth.tables.csv_files import Csv, TextFormat
from alphasynth.tables.engine import FileTable
from alphasynth.tables.gaps import indicator_of
from alphasynth.tables.grouping import Grouped, Stored, Streamed
from alphasynth.tables.opening import as_declared, open_table
from alphasynth.tables.records import Records
from alphasynth.tables.text_cells import CSV_CELLS, CSV_DECIMAL

GUARANTEE = "guarantee.json"
# With more distinct rows than this the m tables would not fit beside each other.
MOST_ROWS = 1_000_000


@dataclass(frozen=True, eq=False)
class RunResults:
    """What a run left (confidential, all but `release`).

    `records` are the confidential ones, and `tables` the synthetic ones, on the columns that both have; on the response
    alone, `left_out`, where there are too many distinct rows. Of a large whole table all are samples, `sampled`.
    """

    release: Release
    summary: Mapping[str, Any] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)
    records: Records = field(repr=False)
    tables: tuple[Records, ...] = field(repr=False)
    rounds: tuple[Weighting, ...] = field(repr=False)
    left_out: bool = False

    @property
    def sampled(self) -> bool:
        """Whether not all rows are compared."""
        return is_sample(self.release.guarantee, self.records)


def read_run(run: Path) -> RunResults:
    """Read a run folder; raise `InputError` where a file of it is missing."""
    release = read_release(run / RELEASE)
    return results_of(release, read_kept(run, release))


def read_kept(run: Path, release: Release) -> Kept:
    """What stayed inside of a run whose release is this; raise `InputError`."""
    folder = run / CONFIDENTIAL
    summary, settings = _json(folder / SUMMARY), _toml(folder / "run.toml")
    _check_same_run(run, release, summary, settings)
    records = _records(folder / "records.parquet")
    rounds = () if release.guarantee.measured else _rounds(folder, records.counts)  # a whole table's have no weights
    return Kept(summary, settings, records, rounds)


def results_of(release: Release, kept: Kept) -> RunResults:
    """A run's release beside what it keeps; its tables, which are never at hand whole, are grouped where they lie."""
    dates = frozenset(name for name, facts in declared_facts(release.guarantee).items() if facts.dates)
    records = replace(kept.records, dates=dates)
    records = replace(records, response=shown_response(release.guarantee, records))
    left_out = records.size > MOST_ROWS and len(records.columns) > 1
    gaps = declared_gaps(release.guarantee)
    there = [*release.tables[0].column_names, *map(indicator_of, gaps)]
    records = _alone(records) if left_out else _released(records, there)
    names = [name for name in records.columns if name in release.tables[0].column_names]
    public = read_for_public(release)
    compared: Sequence[Any] = public.tables
    if is_sample(release.guarantee, records):
        compared = [table.sample(names, records.n) for table in release.tables if isinstance(table, Streamed)]
    elif not set(names) <= set(public.tables[0].column_names):
        compared = [_Read.of(table, names) for table in release.tables]
    tables = tuple(conform(records, read_records(table, names, gaps)) for table in compared)
    return RunResults(public, kept.summary, kept.settings, records, tables, kept.rounds, left_out)


def read_for_public(release: Release) -> Release:
    """The release with its tables' distinct rows at hand for the public page: of large tables on one of the columns.

    Public facts alone decide on which, never how many distinct rows or which gaps the records have.
    """
    guarantee, names = release.guarantee, list(release.tables[0].column_names)
    large = guarantee.n * len(names) > MOST_VALUES if guarantee.measured else guarantee.n > MOST_ROWS
    names = [_one_number(guarantee, names)] if large else names
    return replace(release, tables=tuple(_Read.of(table, names) for table in release.tables))


def _one_number(guarantee: PublicGuarantee, names: Sequence[str]) -> str:
    """The response, or else the last synthetic column, of those that are not declared to hold text or dates."""
    facts, made = declared_facts(guarantee), {entry["column"] for entry in guarantee.columns}
    columns = [name for name in names if name in made] or list(names)
    other = [name for name, fact in facts.items() if fact.dates or isinstance((*fact.levels, 0)[0], str | bool)]
    return shown_alone(guarantee, [name for name in columns if name not in other] or columns)


def is_sample(guarantee: PublicGuarantee, records: Records) -> bool:
    """Whether a run keeps a sample of a large whole table for its pages."""
    return bool(guarantee.measured) and records.n < guarantee.n


def shown_response(guarantee: PublicGuarantee, records: Records) -> str:
    """The column that figures of one column show: a response, or else the last one of numbers that has a value.

    Dates are shown so only where there are no other numbers.
    """
    made = [entry["column"] for entry in guarantee.columns if entry["column"] in records.columns]
    made = [name for name in made if not _of_gaps(records, name)] or made
    numeric = [name for name in made if is_numeric(records.columns[name])]
    numeric = [name for name in numeric if name not in records.dates] or numeric
    return shown_alone(guarantee, numeric or made or [records.response])


def _of_gaps(records: Records, name: str) -> bool:
    """Whether a column has gaps alone."""
    gaps = records.columns.get(indicator_of(name))
    return gaps is not None and bool(np.asarray(gaps, bool)[records.counts > 0].all())


def read_release(folder: Path) -> Release:
    """The release in a folder: its guarantee, and its tables where they are stored; raise `InputError`."""
    statement = _json(folder / GUARANTEE)
    entries = statement.get("tables")
    files = [entry.get("file") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    named = tuple(name for name in files if isinstance(name, str) and Path(name).name == name)
    guarantee = _guarantee(statement)
    if not named or len(named) < len(files) or guarantee is None:
        raise InputError(f"{folder.name}/{GUARANTEE} must be one that alphasynth wrote, found another")
    if any((folder / name).is_symlink() for name in named):
        raise InputError(f"{folder.name} must hold its tables, found a link to another place")
    drawn = statement.get("parameters")
    parameters = drawn if isinstance(drawn, dict) and isinstance(drawn.get("file"), str) else None
    return release_in(folder, guarantee, named, CSV_CELLS in statement, statement.get(CSV_DECIMAL, "."), parameters)


def release_in(
    folder: Path,
    guarantee: PublicGuarantee,
    files: Sequence[str],
    guarded: bool,
    decimal: str = ".",
    parameters: Mapping[str, Any] | None = None,
) -> Release:
    """A release whose tables are these files of a folder; `guarded` where text in them is."""
    facts = declared_facts(guarantee) if guarantee.measured else {}  # of a whole table all of it is declared
    text = TextFormat(guarded=guarded, decimal_comma=decimal == ",")
    tables = tuple(as_declared(open_table(folder / name, text=text), facts) for name in files)
    first = tables[0].source if isinstance(tables[0], FileTable) else None
    delimiter = first.delimiter if isinstance(first, Csv) else Release.delimiter
    return Release(tables, guarantee, tuple(files), guarded, delimiter, decimal, parameters)


def _guarantee(statement: Mapping[str, Any]) -> PublicGuarantee | None:
    """The guarantee that a file states; None where that is none."""
    kinds = typing.get_type_hints(PublicGuarantee)
    try:
        return PublicGuarantee(**{name: _read(statement[name], kinds[name]) for name in kinds if name in statement})
    except TypeError:
        return None


def _read(value: Any, kind: Any) -> Any:
    """A value read from JSON as the kind that a field's annotation says; raise `TypeError` where it is another."""
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_read(item, typing.get_args(kind)[0]) for item in value)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _read(item, hints.get(name, type(None))) for name, item in value.items()})
    if not fits(value, kind):
        raise TypeError(kind)
    return value


@dataclass(frozen=True, eq=False)
class _Read:
    """A stored table whose distinct rows are at hand: both pages group them, and the file is read once."""

    column_names: tuple[str, ...]
    names_are_public: bool
    lines: Grouped

    @classmethod
    def of(cls, table: Stored, names: Sequence[str]) -> _Read:
        """Group a table on the columns that the pages compare."""
        return cls(tuple(names), table.names_are_public, table.group(names, ()))

    def group(self, names: Sequence[str], public: Sequence[str]) -> Grouped:
        """Group on some of the columns; none are to be released."""
        columns, counts = self.lines.columns.select(list(names)), self.lines.counts
        if tuple(names) != self.column_names:
            numbered = columns.rename_columns([f"c{i}" for i in range(len(names))]).append_column("n", pa.array(counts))
            grouped = numbered.group_by(numbered.column_names[:-1]).aggregate([("n", "sum")])
            columns = grouped.select(numbered.column_names[:-1]).rename_columns(list(names))
            counts = grouped.column("n_sum").to_numpy()
        return replace(self.lines, columns=columns, counts=counts, index=None)


def _json(path: Path) -> dict[str, Any]:
    with _explained(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError(path.name)
        return content


def _parquet(path: Path) -> pa.Table:
    with _explained(path):
        return pq.read_table(path)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """One sentence for a file that is missing or is not what it should be."""
    try:
        yield
    except (OSError, ValueError, RecursionError) as error:
        name = f"{path.parent.name}/{path.name}"
        if isinstance(error, FileNotFoundError):
            raise InputError(f"a run folder must hold {name}, found none") from None
        raise InputError(f"{name} must be as alphasynth wrote it, found what cannot be read") from None


def _toml(path: Path) -> dict[str, Any]:
    with _explained(path):
        return tomllib.loads(path.read_text(encoding="utf-8"))


def _check_same_run(run: Path, release: Release, summary: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse a release that is not of this run, or was edited: nothing is computed on its word alone."""
    guarantee = release.guarantee
    if "released" not in summary:
        raise InputError(f"{CONFIDENTIAL}/{SUMMARY} must hold what was released, found nothing: make the run again")
    inside = (summary["released"], settings.get("mechanism"), settings.get("m"), summary.get("n"))
    if inside != (_json(run / RELEASE / GUARANTEE), guarantee.mechanism, guarantee.m, guarantee.n):
        raise InputError("release and confidential folder must be of one run, found two")
    if len(release.files) != guarantee.m * guarantee.tables_per_draw:
        raise InputError(f"{RELEASE}/{GUARANTEE} must name every table of the run, found fewer or more")


def _records(path: Path) -> Records:
    """The confidential records of a run, from its own file."""
    lines = _parquet(path)
    weighted = lines.column_names[-1] != "count"  # of whole tables there is nothing after the count
    names = lines.column_names[:-3] if weighted else lines.column_names[:-1]  # then come count, alpha, Lipschitz bound
    counts = lines.column(len(names)).to_numpy()
    columns = {name: np.asarray(lines.column(name).to_numpy()) for name in names}
    return Records(names[0], columns, counts, None)


def _alone(records: Records) -> Records:
    """The response without the other columns."""
    values = values_of(records, records.response)
    return Records(records.response, {records.response: values.values}, values.counts, None, records.dates)


def _released(records: Records, names: Sequence[str]) -> Records:
    """The columns that the synthetic tables have too; a rule may read others."""
    columns = {name: column for name, column in records.columns.items() if name in names}
    return replace(records, columns=columns)


def _rounds(folder: Path, counts: np.ndarray) -> tuple[Weighting, ...]:
    """Weights, bounds and draws of mu of every round."""
    lines = _parquet(folder / "rounds.parquet")
    draws = _parquet(folder / "draws.parquet")
    alpha, bounds = (lines.column(name).to_numpy().reshape(-1, len(counts)) for name in ("alpha", "lipschitz"))
    labels = list(dict.fromkeys(lines.column("round").to_pylist()[:: len(counts)]))
    of = np.asarray(draws.column("round").to_pylist())
    mu = draws.column("mu").to_numpy() if "mu" in draws.column_names else None
    return tuple(
        Weighting(label, counts, alpha[i], bounds[i], None if mu is None else mu[of == label])
        for i, label in enumerate(labels)
    )
