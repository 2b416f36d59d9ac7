"""Exact sums: every source against rows one by one, two passes and no more, and what a change in between does."""

from __future__ import annotations

import datetime
import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.raking.columns import Columns
from alphasynth.raking.exact import CHANGED, Held, Passes, exact_of
from alphasynth.raking.features import Moments, features_of
from alphasynth.raking.moments import all_moments
from alphasynth.raking.reading import HEAVIEST
from alphasynth.raking.sums import Margin
from alphasynth.tables.engine import FileTable
from alphasynth.tables.opening import open_table

DAYS = (datetime.date(2020, 1, 1), datetime.date(2020, 12, 31))
DECLARED = {
    "sex": {"levels": ["f", "m", "x"], "missing": "model"},
    "age": {"limits": [0, 110], "whole": True},
    "fee": {"limits": [0, 1_000], "skewed": True, "missing": "model"},
    "day": {"limits": list(DAYS)},
    "owner": {"levels": [False, True]},
}
PLAIN = Columns.of(DECLARED)
WEIGHED = Columns.of(DECLARED, weight={"column": "weight", "largest": 5.0})
TYPES = {
    "sex": pa.string(),
    "age": pa.int64(),
    "fee": pa.float64(),
    "day": pa.date32(),
    "owner": pa.bool_(),
    "weight": pa.float64(),
    "person": pa.int64(),
}
rows_of_all = st.fixed_dictionaries(
    {
        "sex": st.sampled_from(["f", "m", "x", None]),
        "age": st.integers(0, 110),
        "fee": st.none() | st.sampled_from([0.0, 1_000.0]) | st.floats(0, 1_000),
        "day": st.dates(*DAYS),
        "owner": st.booleans(),
        "weight": st.floats(0, 9),
        "person": st.integers(0, 3),
    }
)
tables = st.lists(rows_of_all, min_size=1, max_size=25)


def arrow(rows: list[dict]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})


def batches(columns: Columns, rows: list[dict], size: int = 7) -> list[pa.RecordBatch]:
    return arrow(rows).select(names(columns)).to_batches(max_chunksize=size)


def names(columns: Columns) -> list[str]:
    return [*columns.names, *(["weight"] if columns.weight else [])]


def cell(cells, row) -> int:
    """The fine cell of a value, by looking at one after another."""
    value = row[cells.name]
    if value is None:
        return cells.size - 1
    if cells.levels:
        return list(cells.levels).index(value)
    number = (value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value
    return max(i for i, low in enumerate(cells.lower) if low <= number)


def weight(columns: Columns, row) -> int:
    return round(min(row["weight"] / 5.0, 1.0) * HEAVIEST) if columns.weight else 1


def slowly(columns: Columns, rows: list[dict], margin: Margin) -> list[int]:
    """Counts of a table, row by row."""
    found = np.zeros(margin.shape, object)
    for row in rows:
        codes = [cell(columns.cells()[j], row) for j in margin.columns]
        found[tuple(int(to[code]) for to, code in zip(margin.cells, codes, strict=True))] += weight(columns, row)
    return [int(number) for number in found.ravel()]


def margins(columns: Columns) -> list[Margin]:
    """Of fine cells, of blocks, of unions of blocks, of three columns, and of cells across blocks."""
    cells = columns.cells()
    found = [Margin((j,), (np.arange(each.size),)) for j, each in enumerate(cells)]
    found += [Margin((j,), (each.block,)) for j, each in enumerate(cells)]
    halves = [(each.block >= each.blocks // 2).astype(int) for each in cells]
    found += [Margin((a, b), (cells[a].block, halves[b])) for a, b in itertools.combinations(range(len(cells)), 2)]
    odd = np.arange(cells[2].size) % 2
    return [*found, Margin((0, 2), (cells[0].block, odd)), Margin((2, 0), (odd, halves[0]))]


def moments_of(columns: Columns, length: int) -> Moments:
    features = [features_of(cells, np.full(cells.size, 1 / cells.size), 2) for cells in columns.cells()]
    rng = np.random.default_rng(3)
    return replace(all_moments(features, [rng.integers(0, c.size, 99) for c in columns.cells()]), length=length)


def passes(columns: Columns, rows: list[dict], **settings) -> tuple[Passes, list]:
    """In passes over batches, each of them a part by itself; and what each pass was."""
    done = []

    def add(adding):
        done.append(adding)
        return np.sum([adding([batch]) for batch in batches(columns, rows)] + [adding([])], axis=0)

    return Passes.begin(columns, add, **settings), done


@pytest.mark.parametrize("columns", [PLAIN, WEIGHED], ids=["plain", "weighed"])
@settings(max_examples=25, deadline=None)
@given(rows=tables, length=st.integers(1, 60_000), most=st.sampled_from([0, 1 << 40]))
def test_every_source_sums_as_rows_one_by_one(columns, rows, length, most):
    held = Held.gathered(columns, batches(columns, rows))
    passed, _ = passes(columns, rows, most=most)
    asked, moments = margins(columns), moments_of(columns, length)
    vectors = [
        moments.vectors([np.array([cell(cells, row)]) for cells in columns.cells()])[0].astype(object) for row in rows
    ]
    weights = [weight(columns, row) for row in rows]
    squares = len(rows) if columns.weight is None else sum((w**2 + HEAVIEST // 2) // HEAVIEST for w in weights)
    sums = sum(vector * times for vector, times in zip(vectors, weights, strict=True))
    for source in (held, passed):
        assert (source.n, *source.weights) == (len(rows), sum(weights), squares)
        for margin, counts in zip(asked, source.counts(asked), strict=True):
            assert counts.dtype == np.int64
            assert counts.tolist() == slowly(columns, rows, margin)
        assert source.moments(moments).tolist() == list(sums)


ROWS = [
    {
        "sex": "fmx"[i % 3],
        "age": (i * 7) % 100,
        "fee": None if i % 5 == 0 else float(i),
        "day": DAYS[0] + datetime.timedelta(i),
        "owner": i % 2 == 0,
        "weight": i % 6,
        "person": i // 4,
    }
    for i in range(60)
]


def of_blocks(columns: Columns) -> list[Margin]:
    return margins(columns)[:-2]


def test_two_passes_are_enough():
    """For fine cells of a column, unions of blocks of two and moments; another one for all that is neither."""
    source, done = passes(PLAIN, ROWS)
    source.counts(of_blocks(PLAIN)), source.counts(of_blocks(PLAIN))
    assert len(done) == 1
    source.moments(moments_of(PLAIN, 500))
    assert len(done) == 2
    asked = margins(PLAIN)
    source.counts(asked), source.counts(asked[-2:])
    assert len(done) == 3
    many, done = passes(PLAIN, ROWS, most=100)
    pairs = [margin for margin in of_blocks(PLAIN) if len(margin.columns) == 2]
    many.counts(pairs), many.counts(pairs[:1])
    assert len(done) == 2, "pairs with very many blocks have a pass of their own"


@pytest.mark.filterwarnings("ignore:the mean weight must be:alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("columns", [PLAIN, WEIGHED], ids=["plain", "weighed"])
@pytest.mark.parametrize("unit", [{}, {"unit": "person", "max_rows": 3}], ids=["rows", "units"])
def test_a_fit_takes_two_passes(columns, unit, tmp_path, monkeypatch):
    """And comes to the same tables as one of cells in memory, whatever the rows that pass at a time."""
    path = tmp_path / "rows.parquet"
    pq.write_table(arrow(ROWS * 20), path)
    asked = {"mechanism": "Raked", "epsilon": 4.0, "delta": 1e-9, "m": 1, "seed": 5}
    held = syn.Synthesizer(columns, **asked).fit(open_table(path, seed=1, **unit)).sample()
    monkeypatch.setattr("alphasynth.raking.exact.Held.gathered", lambda *_: None)
    monkeypatch.setattr("alphasynth.tables.engine.ROWS_AT_A_TIME", 100)
    done, add_up = [], FileTable.add_up
    monkeypatch.setattr(FileTable, "add_up", lambda *given: done.append(1) or add_up(*given))
    passed = syn.Synthesizer(columns, **asked).fit(open_table(path, seed=1, **unit)).sample()
    assert passed[0].equals(held[0])
    assert len(done) == 2


def test_a_large_table_is_not_held(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    pq.write_table(arrow(ROWS), path)
    assert isinstance(exact_of(PLAIN, open_table(path), names(PLAIN)), Held)
    bytes_of_a_row = sum(np.min_scalar_type(cells.size).itemsize for cells in PLAIN.cells())
    assert Held.gathered(PLAIN, batches(PLAIN, ROWS), bytes_of_a_row * len(ROWS)) is not None
    assert Held.gathered(PLAIN, batches(PLAIN, ROWS), bytes_of_a_row * len(ROWS) - 1) is None
    monkeypatch.setattr(Held.gathered.__func__, "__defaults__", (100,))
    assert isinstance(exact_of(PLAIN, open_table(path), names(PLAIN)), Passes)


def test_a_table_that_changes_between_passes_is_refused():
    rows = list(ROWS)
    source, _ = passes(PLAIN, rows)
    rows.append(ROWS[0])
    with pytest.raises(InputError, match=CHANGED):
        source.moments(moments_of(PLAIN, 500))


@pytest.mark.parametrize("of", [Held.gathered, lambda columns, _: passes(columns, [])])
def test_a_table_without_rows_is_refused(of):
    with pytest.raises(InputError, match="at least one row"):
        of(PLAIN, batches(PLAIN, []))


@pytest.mark.parametrize(("name", "value"), [("age", 111), ("sex", "y"), ("fee", 2_000.5), ("fee", -1.25)])
def test_what_was_not_declared_is_refused_in_any_pass(name, value):
    rows = [*ROWS, ROWS[0] | {name: value}]
    for of in (lambda: passes(PLAIN, rows), lambda: Held.gathered(PLAIN, batches(PLAIN, rows))):
        with pytest.raises(InputError, match=f"column '{name}' must") as refused:
            of()
        assert str(value) not in str(refused.value)
