"""Text files, well made or not: the right table or one clear sentence, and never a confidential value in it."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.tables.csv_files import TextFormat
from alphasynth.tables.opening import open_table
from alphasynth.tables.records import Records

SECRET = "90210777"  # stands for a confidential value: it must never be in a message


def read(path, names, public=(), **options):
    grouped = open_table(path, text=TextFormat(**options)).group(list(names), list(public))
    return Records.from_grouped(grouped), grouped


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        f"id,wage,note\n1,10,ok\n2,1,{SECRET},\n",  # one thousand and some, and no note
        f"id,wage,note\r\n1,1,{SECRET},\r\n2,10,ok\r\n",
        f"id,wage,note\n1,10,ok\n2,1,{SECRET},",
        f"id,wage,note,\n1,1,{SECRET},,\n2,2,{SECRET},,\n",  # the header has that field too
        f"id,wage,note\n1,10,ok\n2,1,{SECRET},,\n",
        f"id,wage,note\n1,10,ok\n\n2,1,{SECRET},\n",
        f'id,wage,note\n1,10,"o,\nk"\n2,1,{SECRET},\n',
        f"id,wage,note\n1,10,ok\n2,1,{SECRET},\n".encode("utf-16"),
        f"id;wage;note\n1;10;ok\n2;1;{SECRET};\n",
    ],
)
def test_a_line_with_an_empty_field_too_many_is_refused_like_others(tmp_path, content):
    """What stands before it has shifted."""
    encoding = "utf-16" if isinstance(content, bytes) else "utf-8"
    for name in ("id", "note"):
        with pytest.raises(InputError, match=r"must have [34] fields like the header, found more") as caught:
            read(write(tmp_path / "t.csv", content), [name], encoding=encoding)
        assert SECRET not in str(caught.value)


def test_lines_that_all_end_in_a_delimiter_are_read(tmp_path):
    for end in ("\n", "\r\n"):
        content = end.join(["id,wage", "1,10,", "2,20,", "2,20,"])
        records, _ = read(write(tmp_path / f"{len(end)}.csv", content), ["id", "wage"])
        assert records.columns["wage"].tolist() == [10, 20]
    grouped = open_table(write(tmp_path / "gaps.csv", "id,note\n1,\n2,x\n")).group(["id", "note"], [])
    assert grouped.columns.column(1).to_pylist() == [None, "x"]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("y,x\n1,a\n2,b\n2,b\n", {}),
        ("y;x\n1;a\n2;b\n2;b\n", {}),
        ("y\tx\n1\ta\n2\tb\n2\tb\n", {}),
        ("y|x\n1|a\n2|b\n2|b", {}),
        ("y#x\n1#a\n2#b\n2#b", {"delimiter": "#"}),
        ("y,x\r\n1,a\r\n2,b\r\n2,b\r\n", {}),
        ("y,x\r1,a\r2,b\r2,b\r", {}),
        ("\n\ny,x\n1,a\n\n2,b\n2,b\n\n\n", {}),
        ("\r\n\r\ny,x\r\n1,a\r\n2,b\r\n2,b\r\n", {}),
        ('"y","x"\n"1","a"\n"2","b"\n"2","b"\n', {}),
        ("y,x\n 1 ,a\n2 ,b\n 2,b\n", {}),
        (b"\xef\xbb\xbfy,x\n1,a\n2,b\n2,b\n", {}),
        ("y,x\n1,a\n2,b\n2,b\n".encode("utf-16"), {"encoding": "utf-16"}),
        ("y,x\n1,a\n2,b\n2,b\n".encode("latin-1"), {"encoding": "latin-1"}),
        ('"odd, name",y,x\n0,1,a\n0,2,b\n0,2,b\n', {}),
        ('"two\nlines",y,x\n0,1,a\n0,2,b\n0,2,b\n', {}),
        ("y,x,y2,y2\n1,a,0,0\n2,b,0,0\n2,b,0,0\n", {}),  # doubled, but not in use
        ("Y,y,x\n9,1,a\n9,2,b\n9,2,b\n", {}),  # names that differ in case alone
        ("y,x,\n1,a,\n2,b,\n2,b,\n", {}),
    ],
)
def test_dialects_are_told_from_the_header(tmp_path, content, options):
    records, _ = read(write(tmp_path / "t.csv", content), ["y", "x"], **options)
    assert records.columns["y"].tolist() == [1, 2]
    assert list(records.columns["x"]) == ["a", "b"]
    assert records.counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2", "-3", "0"], "int64"),
        (["1", "2.5", "3"], "double"),
        (["1", "2.0", "3", "+4", "1e3"], "int64"),  # whole, however one of them is written
        (["1e3", "0.5", "+2"], "double"),
        (["1_000", "2"], "string"),
        (["0x10", "2"], "string"),
        (["007", "12"], "string"),  # codes keep their zeros
        (["1", "x"], "string"),
        (["9223372036854775808", "1"], "string"),  # too long for 64 bits: a code
        (["2020-01-01", "2020-01-02"], "string"),
        (["true", "false"], "string"),
        (["1,5", "2,5"], "string"),
    ],
)
def test_a_column_has_the_type_that_all_its_values_have(tmp_path, values, kind):
    path = tmp_path / "t.csv"
    pd.DataFrame({"v": values, "w": "x"}).to_csv(path, index=False)
    _, grouped = read(path, ["v"], ["v"])
    assert str(grouped.types["v"]) == kind
    assert sorted(grouped.public.column("v").to_pylist(), key=str) == sorted(
        grouped.columns.column("v").to_pylist(), key=str
    )
    _, verbatim = read(path, ["v"], ["v"], verbatim=True)
    assert set(verbatim.public.column("v").to_pylist()) == set(values)


def test_blank_lines_are_no_records_in_a_file_of_one_column(tmp_path):
    records, _ = read(write(tmp_path / "t.csv", "y\n3\n\n3\n5\n\n"), ["y"])
    assert (records.columns["y"].tolist(), records.counts.tolist()) == ([3, 5], [2, 1])


@pytest.mark.parametrize("word", ["", "NA", "NaN", "null", ".", "N/A"])
def test_missing_values_are_counted_whatever_stands_for_them(tmp_path, word):
    path = write(tmp_path / "t.csv", f"y,x\n{SECRET},a\n{word},b\n{word},c\n7,d\n")
    with pytest.raises(InputError, match="column 'y' must have no missing values, found 2") as error:
        read(path, ["y"])
    assert SECRET not in str(error.value)
    assert "--missing NAME=model; alphasynth inspect TABLE --suggest columns.toml" in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must have a header line, found an empty file"),
        ("\n\n\n", "must have a header line, found an empty file"),
        ("y,x\n", "at least two records, found an empty table"),
        (f"y,x\n{SECRET},2\n", "at least two records, found one record"),
        (f"y,x\n1,2\n{SECRET}\n", "line 3, must have 2 fields like the header, found 1"),
        (f"y,x\n1,2\n{SECRET},3,4\n", "line 3, must have 2 fields like the header, found 3"),
        (f'y,x\n1,2\n3,"{SECRET}\n5,6\n', "line 3, must close its quotes"),
        (f'y,x\n1,2\n3,"{SECRET}"z\n', "line 3, must close its quotes"),
        (f"y,x\n1,2\r\n{SECRET},3\n4,5\r\n", "must end its lines in one way"),
        (
            f"y,x\n1,{SECRET}é\n".encode("latin-1"),
            r"must be utf-8, found bytes that are not; name the encoding .*latin-1",
        ),
        (b"y,\xe9\n1,2\n", "must be utf-8"),
        (f"y,x\n{SECRET},".encode() + b"a" * 3_000_000 + b"\n", "must be shorter than 2 MB"),
        ('"y,x\n1,2\n', "found quotes that do not close"),
        ("y,x\n1,2\n3,4\n".encode("utf-16-be"), "column 'y'|utf-8"),
        (b"\xfe\xff" + "y,x\n1,2\n3,4\n".encode("utf-16-be"), "found big-endian utf-16"),
        ("a,yy\n1,2\n3,4\n", "column 'y' .* is not in the table; its header has 2 names$"),
        (f"{SECRET},y{SECRET}\n1,2\n3,4\n", "column 'y' .* is not in the table; its header has 2 names$"),  # no header
        ('y\n1\n""\n2\n3\n', "column 'y' must have no missing values, found 1"),
        ("y,y\n1,2\n3,4\n", "column 'y' .* is in the table more than once"),
        (b"PK\x03\x04\x00\x00binary\x00\xff\xfe\n\x01\x02", "t.csv|column 'y'"),
    ],
)
def test_what_cannot_be_read_gets_one_sentence(tmp_path, content, message):
    import alphasynth as syn

    path = write(tmp_path / "t.csv", content)
    with pytest.raises(InputError, match=message) as error:
        syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW", m=1, seed=1).fit(open_table(path))
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)


def test_an_error_far_into_a_file_gives_its_line(tmp_path):
    path = write(tmp_path / "t.csv", "y,x\n" + "1,2\n" * 300_000 + "3\n" + "1,2\n" * 300_000)
    with pytest.raises(InputError, match="line 300,002, must have 2 fields"):
        read(path, ["y"])


@pytest.mark.parametrize(("option", "value"), [("delimiter", ",,"), ("delimiter", '"'), ("encoding", "klingon")])
def test_options_that_make_no_sense(tmp_path, option, value):
    with pytest.raises(InputError, match=f"{option} must be"):
        open_table(write(tmp_path / "t.csv", "y\n1\n2\n"), text=TextFormat(**{option: value}))


def test_a_name_with_wildcards_means_itself(tmp_path):
    write(tmp_path / "t1.csv", "y\n1\n2\n")
    records, _ = read(write(tmp_path / "t[0-9]*.csv", "y\n7\n8\n"), ["y"])
    assert records.columns["y"].tolist() == [7, 8]


def test_a_folder_named_like_a_column_changes_nothing(tmp_path):
    """DuckDB would take a folder called y=5 for a column."""
    frame = pd.DataFrame({"y": [1, 2, 2], "age": [30, 40, 50]})
    for folder in (tmp_path / "y=5", tmp_path / "c0=5"):
        folder.mkdir()
        frame.to_csv(folder / "t.csv", index=False)
        frame.to_parquet(folder / "t.parquet")
        for path in folder.iterdir():
            records, grouped = read(path, ["y"], ["age"])
            assert records.columns["y"].tolist() == [1, 2]
            assert [int(age) for age in grouped.public.column("age").take(grouped.index).to_pylist()] == [30, 40, 50]


def test_ten_thousand_columns(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9, (50, 10_000)), columns=[f"v{i}" for i in range(10_000)])
    frame.to_csv(tmp_path / "t.csv", index=False)
    records, _ = read(tmp_path / "t.csv", ["v9999"], ["v0"])
    assert records.counts.tolist() == frame["v9999"].value_counts().sort_index().tolist()


NAME = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00\ufeff", exclude_categories=("Cs",)), min_size=1, max_size=6
)
CELL = st.text(st.sampled_from(list("ab01 ,;|\t\"'\n\ré€")), max_size=5)


@pytest.mark.slow
@given(
    names=st.lists(NAME, min_size=2, max_size=4, unique=True),
    rows=st.lists(st.tuples(st.integers(-5, 5), CELL, CELL), min_size=2, max_size=12),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    ending=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@settings(deadline=None, max_examples=150)
def test_what_a_csv_writer_writes_is_read_back(tmp_path_factory, names, rows, delimiter, ending, quoting):
    names = names[:3]
    rows = [row[: len(names)] for row in rows]
    if "\r" in "".join([*names, *(cell for row in rows for cell in row[1:])]):
        quoting = csv.QUOTE_ALL  # the writer would leave it bare, and at the end of a line no one could tell
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=quoting)
    writer.writerows([names, *rows])
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    table = open_table(path, text=TextFormat(delimiter, verbatim=True))
    assert list(table.column_names) == names
    grouped = table.group(names[:1], names[1:])
    read_back = grouped.public.take(grouped.index).to_pydict()
    for i, name in enumerate(names[1:], start=1):
        assert [value or "" for value in read_back[name]] == [row[i] for row in rows]
    assert grouped.columns.column(0).take(grouped.index).to_pylist() == [row[0] for row in rows]


@given(noise=st.binary(max_size=200), cut=st.integers(0, 200), flip=st.lists(st.integers(0, 199), max_size=5))
@settings(deadline=None, max_examples=200)
def test_damaged_files_never_end_in_a_traceback(tmp_path_factory, noise, cut, flip):
    good = bytearray(b"y,x\n" + b"".join(b'%d,"a%d"\n' % (i % 7, i) for i in range(20)))
    for place in flip:
        if place < len(good):
            good[place] = noise[place % len(noise)] if noise else 34
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(bytes(good[:cut]) + noise + bytes(good[cut:]))
    sentence = "read"
    try:
        table = open_table(path)
        Records.from_grouped(table.group(list(table.column_names[:1]), list(table.column_names[1:2])))
    except InputError as error:
        sentence = str(error)
    assert "\n" not in sentence
