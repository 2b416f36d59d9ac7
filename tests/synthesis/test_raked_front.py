"""`Synthesizer(columns, mechanism="Raked", ...)`: frames in, frames out, what is promised, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.privacy.accounting import rho_within
from alphasynth.raking.columns import Columns
from alphasynth.tables.opening import open_table

COLUMNS = syn.Columns.of(
    {
        "age": {"limits": [0, 110], "whole": True},
        "married": {"levels": [False, True]},
        "part": {"limits": [0, 1000], "skewed": True},
        "whole": {"limits": [0, 1000]},
        "day": {"limits": ["2010-01-01", "2019-12-31"]},
        "income": {"limits": [0, 20000], "missing": "model", "skewed": True},
        "city": {"levels": [f"c{i}" for i in range(30)]},
        "rooms": {"levels": [1, 2, 3, 8]},
    },
    ["married => age >= 18", "part <= whole"],
)


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    whole = np.round(rng.gamma(2, 50, n).clip(0, 999), 2)
    return pd.DataFrame(
        {
            "age": age,
            "city": rng.choice([f"c{i}" for i in range(30)], n, p=np.arange(30, 0, -1) / 465),
            "married": (age >= 18) & (rng.random(n) < 0.6),
            "part": np.round(whole * rng.random(n), 2),
            "whole": whole,
            "day": pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D"),
            "rooms": rng.choice([1, 2, 3, 8], n),
            "income": np.where(rng.random(n) < 0.2, np.nan, whole * 10),
            "name": [f"person {i}" for i in range(n)],
        }
    )


def made(table, **options):
    settings = {"mechanism": "Raked", "epsilon": 3, "delta": 1e-6, "m": 2, "seed": 5, **options}
    return syn.Synthesizer(COLUMNS, **settings).fit(table)


KINDS = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_come_back_as_they_were_declared(kind):
    table = people()
    found = made(KINDS[kind](table)).sample()
    assert len(found) == 2
    for each in found:
        assert type(each) is type(KINDS[kind](table))
        frame = each if kind == "pandas" else each.to_pandas()
        assert list(frame) == [name for name in table if name != "name"]
        assert len(frame) == len(table)
        assert frame["age"].between(0, 110).all()
        assert (frame["age"] == frame["age"].round()).all()
        assert set(frame["city"]) <= set(COLUMNS.declared["city"].levels)
        assert set(frame["rooms"]) <= {1, 2, 3, 8}
        assert 0.05 < frame["income"].isna().mean() < 0.4
        assert not frame.drop(columns="income").isna().any().any()
        days = pd.to_datetime(frame["day"])
        assert days.between("2010-01-01", "2019-12-31").all()
        assert ((~frame["married"].astype(bool)) | (frame["age"] >= 18)).all()
        assert (frame["part"] <= frame["whole"]).all()


def test_types_are_those_of_declarations():
    types = made(people()).sample()[0].dtypes.astype(str).to_dict()
    assert types == {
        "age": "int64",
        "city": "str",
        "married": "bool",
        "part": "float64",
        "whole": "float64",
        "day": "datetime64[s]",
        "rooms": "int64",
        "income": "float64",
    }


def test_files_and_frames_say_the_same(tmp_path):
    table = people()
    table.to_parquet(tmp_path / "table.parquet")
    stored = made(open_table(tmp_path / "table.parquet")).sample()
    for frame, other in zip(made(table).sample(), stored, strict=True):
        read = other.to_pandas()
        for name in frame:
            if name == "day":
                assert (pd.to_datetime(read[name]) == frame[name]).all()
            else:
                pd.testing.assert_series_equal(frame[name], read[name], check_dtype=False)


def test_a_seed_repeats_and_none_does_not():
    table = people()
    one, two = made(table), made(table)
    pd.testing.assert_frame_equal(one.sample()[1], two.sample()[1])
    assert not one.guarantee_.releasable
    pd.testing.assert_frame_equal(one.sample()[0], one.sample()[0])
    free = made(table, seed=None)
    assert free.guarantee_.releasable
    assert not free.sample()[0].equals(free.sample()[0])


def test_a_response_of_the_file_is_one_of_a_call_and_both_are_stated():
    table = pd.DataFrame({"a": [0, 1] * 200, "b": [0, 0, 1, 1] * 100, "c": range(400)})
    columns = Columns.of({"a": {"levels": [0, 1]}, "b": {"levels": [0, 1]}, "c": {"limits": [0, 400]}})
    kinds = {"mechanism": "Raked", "epsilon": 2, "delta": 1e-6, "m": 1, "seed": 4}
    filed = syn.Synthesizer(columns.with_response(["c"], ["a:b"]), **kinds).fit(table)
    called = syn.Synthesizer(columns, **kinds, response="c", interactions="a:b").fit(table)
    pd.testing.assert_frame_equal(filed.sample()[0], called.sample()[0])
    stated = filed.guarantee_.public()
    assert stated == called.guarantee_.public()
    assert (stated.response, stated.interactions) == (("c",), ("a:b",))
    plain = syn.Synthesizer(columns, **kinds).fit(table)
    assert not plain.sample()[0].equals(filed.sample()[0])
    assert plain.guarantee_.public().response == ()
    # What is asked for goes before what the file says.
    other = syn.Synthesizer(columns.with_response(["a"], []), **kinds, response="c", interactions="a:b").fit(table)
    pd.testing.assert_frame_equal(other.sample()[0], called.sample()[0])


def test_the_guarantee_says_what_was_spent():
    stated = made(people()).guarantee_.public()
    assert (stated.scope, stated.epsilon, stated.policy_delta) == ("strict", 3.0, 1e-6)
    assert stated.rho == pytest.approx(rho_within(3.0, 1e-6), rel=1e-12)
    assert stated.rho <= rho_within(3.0, 1e-6)
    assert sum(each.cost for each in stated.measured) == pytest.approx(stated.rho, rel=1e-12)
    assert {each.what for each in stated.measured} >= {"counts of each column's blocks", "moments of all pairs"}
    assert stated.constraints == ("married => age >= 18", "part <= whole")
    assert stated.declared_public["day"] == {"limits": ["2010-01-01", "2019-12-31"]}
    assert "(epsilon, delta)-differential privacy when one row" in str(stated)
    assert "any number of tables" in str(stated)


def test_without_delta_epsilon_is_pure():
    stated = made(people(), delta=None).guarantee_.public()
    assert (stated.epsilon, stated.policy_delta, stated.rho, stated.epsilon_replace) == (3.0, None, None, 6.0)
    assert sum(each.cost for each in stated.measured) == pytest.approx(3.0, rel=1e-12)
    assert "(epsilon, delta)" not in str(stated)


def test_units_of_several_rows_have_more_noise(tmp_path):
    table = people()
    table["person"] = np.arange(len(table)) // 4
    table.to_parquet(tmp_path / "table.parquet")
    by_unit = made(open_table(tmp_path / "table.parquet", unit="person", max_rows=3, seed=1)).guarantee_.public()
    by_row = made(open_table(tmp_path / "table.parquet")).guarantee_.public()
    assert (by_unit.n, by_row.n) == (450, 600)
    assert (by_unit.epsilon, by_unit.max_rows, by_unit.unit_column) == (9.0, 3, "person")
    assert by_unit.rho <= rho_within(9.0, 1e-6)
    assert sum(each.cost for each in by_unit.measured) == pytest.approx(by_unit.rho, rel=1e-12)
    assert by_unit.measured[0].deviation > by_row.measured[0].deviation


def test_rows_and_tables_per_draw():
    found = made(people(), rows=100, tables_per_draw=2, m=1).sample()
    assert [len(each) for each in found] == [100, 100]
    assert not found[0].equals(found[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "needs an epsilon"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"delta": 0.1}, "delta must be from"),
        ({"m": 0}, "m must be a whole number"),
        ({"response": "salary"}, "response must be declared columns, found 'salary'"),
        ({"scale": 2.0}, "scale must be left out with Raked"),
        ({"delta": 9e-4, "rows": -1}, "rows must be a whole number"),
    ],
)
def test_options_are_refused_in_a_sentence(options, message):
    with pytest.raises(InputError) as error:
        made(people(), **options)
    assert message in str(error.value)


def test_formulas_and_columns_do_not_mix():
    with pytest.raises(InputError, match="Raked must have declared columns"):
        syn.Synthesizer("age ~ 1", mechanism="Raked", epsilon=1, m=1)
    with pytest.raises(InputError, match="declared columns must have the mechanism Raked, found 'LW'"):
        syn.Synthesizer(COLUMNS, mechanism="LW", m=1)
    with pytest.raises(InputError, match=r"fit\(table\) must come first"):
        syn.Synthesizer(COLUMNS, mechanism="Raked", epsilon=1, m=1).sample()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", 120, "'age' must lie within its declared limits, found values beyond"),
        ("age", 2.5, "'age' must hold whole numbers, as declared, found others"),
        ("age", np.nan, "'age' must have no gaps"),
        ("part", np.inf, "'part' must be finite, found infinite values"),
        ("city", "elsewhere", "'city' must hold its declared levels and no others, found others"),
        ("rooms", 7, "'rooms' must hold its declared levels and no others, found others"),
        ("day", pd.Timestamp("2025-01-01"), "'day' must lie within its declared limits, found values beyond"),
        ("part", 999.0, "constraints must hold in every row of the table, found rows that break one"),
    ],
)
def test_a_value_that_was_not_declared_is_refused_without_a_word_of_it(column, value, message):
    table = people()
    table[column] = table[column].astype(object)
    table.loc[3, column] = value
    table[column] = table[column].infer_objects()
    with pytest.raises(InputError) as error:
        made(table)
    assert message in str(error.value)
    assert "elsewhere" not in str(error.value)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", "old", "'age' must hold numbers, as declared, found"),
        ("city", 3, "'city' must hold text"),
        ("day", 3, "'day' must hold dates, as declared, found"),
    ],
)
def test_a_column_of_another_kind_is_refused(column, value, message):
    with pytest.raises(InputError) as error:
        made(people().assign(**{column: value}))
    assert message in str(error.value)


def test_missing_columns_and_rows_are_refused():
    with pytest.raises(InputError, match=r"column 'age' \(declared\) is not in the table"):
        made(people().drop(columns="age"))
    with pytest.raises(InputError, match="at least one row, found none"):
        made(people().iloc[:0])


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_tiny_tables_give_tables(n, epsilon):
    found = made(people(n), epsilon=epsilon, delta=1e-9).sample()
    assert [len(each) for each in found] == [n, n]


def test_one_column_identical_columns_and_a_column_of_gaps():
    table = pd.DataFrame({"a": [1, 2, 3] * 50, "b": [1, 2, 3] * 50, "c": np.full(150, np.nan)})
    facts = {"a": {"levels": [1, 2, 3]}, "b": {"levels": [1, 2, 3]}, "c": {"limits": [0, 1], "missing": "model"}}
    options = {"mechanism": "Raked", "epsilon": 20, "delta": 1e-6, "m": 1, "seed": 1}
    both = syn.Synthesizer(facts, **options).fit(table).sample()[0]
    assert (both["a"] == both["b"]).mean() > 0.9
    assert both["c"].isna().mean() > 0.9
    alone = syn.Synthesizer({"a": facts["a"]}, **options).fit(table).sample()[0]
    assert list(alone) == ["a"]
    assert alone["a"].value_counts().between(40, 60).all()


def test_survey_weights_make_tables_of_the_population():
    """Of 4,000 records the old are ten times as likely to be in the sample; at a large epsilon noise is no matter."""
    rng, n = np.random.default_rng(1), 4_000
    age = rng.integers(20, 80, n)
    table = pd.DataFrame(
        {"age": age, "income": 1_000 + 30 * age + rng.normal(0, 300, n), "w": np.where(age > 50, 5, 50)}
    )
    columns = syn.Columns.of(
        {"age": {"limits": [0, 100], "whole": True}, "income": {"limits": [0, 10_000]}},
        weight={"column": "w", "largest": 60},
    )
    s = syn.Synthesizer(columns, mechanism="Raked", epsilon=20, delta=1e-6, m=1, seed=1).fit(table)
    made = s.sample()[0]
    assert list(made) == ["age", "income"]
    for name in made:
        assert made[name].mean() == pytest.approx(np.average(table[name], weights=table["w"]), rel=0.01)
    stated = s.guarantee_.public()
    assert stated.weighted_by == "w, at most 60.0 each"
    assert stated.measured[0].what == "sums of weights and of their squares"
    assert sum(each.cost for each in stated.measured) == pytest.approx(stated.rho, rel=1e-12)
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="the weight, must hold numbers of at least 0"):
            syn.Synthesizer(columns, mechanism="Raked", epsilon=20, m=1).fit(table.assign(w=wrong))
