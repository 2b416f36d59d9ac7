"""Text files read as what was declared: no single value decides how others are read, nor who is a unit."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.suggestions.columns import suggest_columns
from alphasynth.tables.declared import Declared
from alphasynth.tables.opening import as_declared, open_table

SECRET = "31415926"
TEXT = Declared(levels=("1", "2", "x"))
DATED = Declared(limits=(18_000.0, 19_000.0), whole=True, dates=True)
TRUE = Declared(levels=(False, True))


def read(tmp_path, values, declared):
    """A column of a file that has another one beside it."""
    path = tmp_path / "t.csv"
    path.write_text("y,other\n" + "".join(f"{value},0\n" for value in values), encoding="utf-8")
    batches = as_declared(open_table(path), {"y": declared}).stream(["y"])
    return pa.Table.from_batches(list(batches)).column(0)


@pytest.mark.parametrize(
    ("declared", "values", "kind", "made"),
    [
        (TEXT, ["1", "2", ""], pa.string(), ["1", "2", None]),
        (TEXT, ["1", "x", "NA"], pa.string(), ["1", "x", None]),
        (Declared(levels=("NA", "b")), ["NA", "b", "."], pa.string(), ["NA", "b", None]),
        (Declared(limits=(0.0, 9.0)), ["NA", "", "."], pa.float64(), [None, None, None]),
        (Declared(limits=(0.0, 9.0)), ["1", "007", " 2.5 "], pa.float64(), [1.0, 7.0, 2.5]),
        (Declared(limits=(0.0, 9.0), whole=True), ["1", "2.0", "N/A"], pa.int64(), [1, 2, None]),
        (Declared(levels=(1, 2)), ["1", "2", "null"], pa.int64(), [1, 2, None]),
        (Declared(levels=(1, 2.5)), ["1", "2.5", "2.50"], pa.float64(), [1.0, 2.5, 2.5]),
        (DATED, ["2020-02-29", "2021-01-01 10:30:00", "NA"], pa.date32(), [date(2020, 2, 29), date(2021, 1, 1), None]),
        (TRUE, ["True", "false", "1", "NA"], pa.bool_(), [True, False, True, None]),
    ],
)
def test_a_column_has_the_type_that_was_declared(tmp_path, declared, values, kind, made):
    column = read(tmp_path, values, declared)
    assert column.type == kind
    assert column.to_pylist() == made
    assert read(tmp_path, values[:1], declared).type == kind


@pytest.mark.parametrize(
    ("declared", "value", "words"),
    [
        (Declared(limits=(0.0, 9.0)), f"a{SECRET}", "numbers"),
        (Declared(limits=(0.0, 9.0)), "1_000", "numbers"),
        (Declared(limits=(0.0, 9.0), whole=True), "2.5", "whole numbers"),
        (Declared(limits=(0.0, 9.0), whole=True), "9" * 30, "whole numbers"),
        (DATED, "2021-02-30", r"dates \(2024-12-31\)"),
        (DATED, SECRET, r"dates \(2024-12-31\)"),
        (TRUE, "yes", "true or false"),
    ],
)
def test_other_values_are_refused_in_one_sentence(tmp_path, declared, value, words):
    with pytest.raises(InputError, match=f"column 'y' must hold {words}, as declared, found others") as error:
        read(tmp_path, ["", value], declared)
    assert SECRET not in str(error.value)


IDS = st.sampled_from([str(2**53 + i) for i in range(4)] + ["7", "7.5", " 8", "x", "007", "1e3", "9" * 25])


@settings(max_examples=30, deadline=None)
@given(st.lists(IDS, min_size=1, max_size=12), st.sampled_from(["5", "5.5", "a", "1" * 30]))
@example([str(2**53), str(2**53 + 1)], "5.5")  # floats would be one number
def test_no_id_decides_how_others_are_told_apart(tmp_path_factory, ids, extra):
    """With one row for each unit: as many as there are ids, whoever else is in the file."""
    path = tmp_path_factory.mktemp("units") / "t.csv"
    for more in ([], [extra]):
        path.write_text("person,y\n" + "".join(f"{one},0\n" for one in [*ids, *more]))
        rows = sum(batch.num_rows for batch in open_table(path, unit="person", max_rows=1).stream(["y"]))
        assert rows == len({one.strip() for one in ids}) + len(more)


def test_ids_that_are_the_same_number_are_one_unit(tmp_path):
    (tmp_path / "t.csv").write_text("person,y\n7,0\n7.0,0\n+7,0\n 7 ,0\n07,0\n")
    rows = sum(b.num_rows for b in open_table(tmp_path / "t.csv", unit="person", max_rows=1).stream(["y"]))
    assert rows == 2, "07 is a code"


def test_a_suggestion_takes_dates_for_dates_and_words_for_gaps(tmp_path):
    lines = [f"2020-01-{1 + i % 28:02d},{'NA' if i == 3 else 'ab'[i % 2]},2021-02-{28 + (i == 5)}" for i in range(40)]
    (tmp_path / "t.csv").write_text("day,kind,odd\n" + "\n".join(lines) + "\n")
    declared = suggest_columns(open_table(tmp_path / "t.csv")).columns.declared
    assert declared["day"].dates
    assert declared["day"].plain()["limits"] == ["2020-01-01", "2020-12-31"]
    assert (declared["kind"].levels, declared["kind"].missing) == (("a", "b"), "model")
    assert declared["odd"].levels == ("2021-02-28", "2021-02-29"), "there was no such day"


def test_dates_of_a_text_file_come_out_as_dates(tmp_path):
    """Of 300 days in March, 285 came out there on average over 30 runs, give or take 9: a block has eleven days."""
    (tmp_path / "t.csv").write_text("day\n" + "".join(f"2020-03-{1 + i % 28:02d}\n" for i in range(300)))
    columns = {"day": {"limits": ["2020-01-01", "2020-12-31"]}}
    found = []
    for seed in range(8):
        front = syn.Synthesizer(columns, mechanism="Raked", epsilon=9, m=1, seed=seed)
        (table,) = front.fit(open_table(tmp_path / "t.csv")).sample()
        assert table.schema.field("day").type == pa.date32()
        days = table.column("day").to_pylist()
        found.append(sum(date(2020, 3, 1) <= day <= date(2020, 3, 31) for day in days))
    assert sum(found) / 8 > 285 - 3 * 9 / 8**0.5
