"""Measures of whole tables against slow oracles, on tables with gaps, text, dates and heaps."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm

from alphasynth.evaluation.propensity import Propensity, propensities
from alphasynth.evaluation.values import conform, read_records
from alphasynth.league import measures
from alphasynth.league.bins import Bins, told
from alphasynth.league.entrants import column_of
from alphasynth.league.measures import Judge, values_of, variations
from alphasynth.league.regressions import MOST_LEVELS, Numbers, Regression
from alphasynth.raking.columns import Columns
from alphasynth.raking.reading import read_codes

COLUMNS = Columns.of(
    {
        "sex": {"levels": ["f", "m", "x"], "missing": "model"},
        "region": {"levels": ["north", "south", "east"]},
        "age": {"limits": [0, 110], "whole": True, "missing": "model"},
        "income": {"limits": [0, 1_000_000], "skewed": True, "heaps": [5000.0], "missing": "model"},
        "owner": {"levels": [False, True]},
        "admitted": {"limits": ["2019-01-01", "2024-12-31"]},
        "visits": {"limits": [0, 60], "whole": True, "skewed": True},
    }
)


def whole_table(seed, n=300):
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(18, 90, n), rng.choice(["f", "m", "x"], n, p=[0.5, 0.4, 0.1])
    income = np.where(rng.random(n) < 0.3, 5000.0, np.exp(rng.normal(9, 1, n)).clip(0, 1e6))
    gone = rng.random((3, n)) < 0.1
    return pa.table(
        {
            "sex": pa.array(sex.tolist(), mask=gone[0]),
            "region": pa.array(rng.choice(["north", "south", "east"], n).tolist()).dictionary_encode(),
            "age": pa.array(age, mask=gone[1]),
            "income": pa.array(np.where(gone[2], np.nan, np.where(rng.random(n) < 0.1, 0.0, income))),
            "owner": pa.array(rng.random(n) < 0.4),
            "admitted": pa.array(18_000 + rng.integers(0, 1_000, n), pa.int32()).cast(pa.date32()),
            "visits": pa.array(rng.poisson(np.exp(0.02 * age + 0.4 * (sex == "m"))).clip(0, 60)),
        }
    )


@pytest.fixture(scope="module")
def tables():
    return whole_table(1), whole_table(2, 250)


@pytest.fixture(scope="module")
def scored(tables):
    return Judge(COLUMNS, tables[0], ("visits",)).score(tables[1])


@pytest.fixture
def _no_propensities(monkeypatch):
    """They take longer than all the rest."""
    monkeypatch.setattr(measures, "propensities", lambda *given: [Propensity("", 1.0, 1.0, 1)] * 2)


def block_of(cells, facts, value):
    """The block of one value, found by looking at every cell."""
    if value is None or value != value:
        assert cells.gap
        return int(cells.block[-1])
    if cells.nominal:
        return int(cells.block[cells.levels.index(value)])
    number = (value - pd.Timestamp("1970-01-01").date()).days if facts.dates else float(value)
    return max(int(cells.block[i]) for i in range(len(cells.lower)) if cells.lower[i] <= number)


def rows_of(table):
    """Rows of blocks, one by one."""
    cells, facts = COLUMNS.cells(), COLUMNS.declared
    lines = zip(*(table[name].to_pylist() for name in COLUMNS.names), strict=True)
    return [tuple(block_of(c, facts[c.name], value) for c, value in zip(cells, line, strict=True)) for line in lines]


def test_total_variations_are_those_of_counted_rows(tables, scored):
    own, made = (rows_of(table) for table in tables)
    for k in (1, 2, 3):
        apart = []
        for chosen in itertools.combinations(range(len(COLUMNS.names)), k):
            counts = [Counter(tuple(row[c] for c in chosen) for row in rows) for rows in (own, made)]
            shares = [
                {cell: n / len(rows) for cell, n in c.items()} for c, rows in zip(counts, (own, made), strict=True)
            ]
            held = {*shares[0], *shares[1]}
            apart.append(sum(abs(shares[0].get(cell, 0) - shares[1].get(cell, 0)) for cell in held) / 2)
        assert scored[f"TV{k}"] == pytest.approx(np.mean(apart), rel=1e-12)


@pytest.mark.usefixtures("_no_propensities")
def test_a_table_is_nowhere_from_itself(tables):
    found = Judge(COLUMNS, tables[0], ("visits", "sex")).score(tables[0])
    assert [found[name] for name in ("TV1", "TV2", "TV3", "mean %", "sd %", "q99 %")] == [0.0] * 6
    assert found["coef"] == pytest.approx(0, abs=1e-9)


def test_cells_too_many_to_count_are_counted_where_they_are_held(monkeypatch, tables):
    own, made = (np.array(rows_of(table)).T for table in tables)
    sizes = [cells.blocks for cells in COLUMNS.cells()]
    dense = variations(sizes, own, made)
    monkeypatch.setattr(measures, "MOST_CELLS", 1)
    assert variations(sizes, own, made) == pytest.approx(dense, rel=1e-12)
    monkeypatch.setattr(measures, "MOST_SETS", 5)
    assert variations(sizes, own, made)["TV3"] == pytest.approx(dense["TV3"], rel=0.3)


def test_there_are_no_pairs_of_one_column():
    found = variations([2], [np.array([0, 1])], [np.array([1, 1])])
    assert found["TV1"] == 0.5
    assert math.isnan(found["TV2"])


def plain_frame(table):
    """Numbers, text, and days' numbers, with an indicator of gaps beside."""
    frame = table.to_pandas().astype({"sex": object, "region": str})
    frame["admitted"] = (pd.to_datetime(frame["admitted"]) - pd.Timestamp("1970-01-01")).dt.days.astype(float)
    frame["owner"] = frame["owner"].astype(float)
    return frame.astype({"age": float, "visits": float})


def test_propensities_see_gaps_text_and_days(tables, scored):
    frames = [pa.Table.from_pandas(plain_frame(table), preserve_index=False) for table in tables]
    own, made = (read_records(frame, list(COLUMNS.names), COLUMNS.declared) for frame in frames)
    logistic, tree = propensities(np.random.default_rng(0), own, [conform(own, made)])
    assert scored["S2"] == pytest.approx(logistic.standardised, rel=1e-9)
    assert scored["CART"] == pytest.approx(tree.standardised, rel=1e-9)


def design_of(frame, scales, means=None):
    """The design written out column by column: the most frequent level of text is left out."""
    made = {"const": np.ones(len(frame))}
    for name, base in (("sex", "f"), ("region", scales["region"])):
        for level in [each for each in COLUMNS.declared[name].levels if each != base]:
            made[f"{name} {level}"] = (frame[name] == level).astype(float)
    made["sex gone"] = frame["sex"].isna().astype(float)
    for name in ("age", "income", "owner", "admitted"):
        made[name] = frame[name].fillna(frame[name].mean()) / scales[name]
        if frame[name].isna().any():
            made[f"{name} gone"] = frame[name].isna().astype(float)
    return pd.DataFrame(made)


def test_coefficients_are_those_of_least_squares(tables, scored):
    own, made = (plain_frame(table) for table in tables)
    scales = {name: own[name].std() for name in ("age", "income", "owner", "admitted")}
    scales["region"] = own["region"].value_counts().index[0]
    fits = [sm.OLS(np.log1p(frame["visits"]), design_of(frame, scales)).fit() for frame in (own, made)]
    apart = (np.abs(fits[1].params - fits[0].params) / fits[0].bse).drop("const")
    assert scored["coef"] == pytest.approx(apart.mean(), rel=1e-8)


@pytest.mark.usefixtures("_no_propensities")
def test_statistics_are_of_the_values_that_are_there(tables):
    own, made = (plain_frame(table)["income"].dropna().to_numpy() for table in tables)
    found = Judge(COLUMNS, tables[0], ("income",)).score(tables[1])
    for name, of in (("mean %", np.mean), ("sd %", np.std), ("q99 %", lambda v: np.quantile(v, 0.99))):
        assert found[name] == pytest.approx(100 * abs(of(made) / of(own) - 1), rel=1e-12)


@pytest.mark.usefixtures("_no_propensities")
@pytest.mark.parametrize("response", ["sex", "admitted", "owner"])
def test_any_column_may_be_the_response(response, tables):
    found = Judge(COLUMNS, tables[0], (response,)).score(tables[1])
    # Standard errors of a difference of two samples: about sqrt(2 / pi) sqrt(1 + 300 / 250) on average, 1.18.
    assert 0.5 < found["coef"] < 2.5
    assert math.isfinite(found["mean %"]) == (response == "owner")


def test_levels_are_regressed_but_the_most_frequent():
    rng = np.random.default_rng(0)
    cells = Columns.of({"a": {"levels": [f"l{i}" for i in range(50)]}, "y": {"limits": [-5, 5]}}).cells()
    seen = {"a": Numbers(rng.integers(0, 50, 2_000).astype(float), np.zeros(2_000, bool))}
    seen["y"] = Numbers(rng.normal(size=2_000).clip(-5, 5), np.zeros(2_000, bool))
    assert len(Regression.of(cells, seen, "y", False).terms) == MOST_LEVELS


def test_what_says_nothing_has_no_coefficient():
    """A constant, a copy of another column, and gaps that two columns share."""
    rng, n = np.random.default_rng(0), 200
    none, gone = np.zeros(n, bool), rng.random(n) < 0.2
    cells = Columns.of({name: {"limits": [-9, 9], "missing": "model"} for name in "abcdy"}).cells()
    x = rng.normal(size=n).clip(-9, 9)
    seen = {"a": Numbers(np.ones(n), none), "b": Numbers(x, none), "c": Numbers(x, none)}
    seen |= {"d": Numbers(np.where(gone, 0, x), gone), "y": Numbers((x + rng.normal(size=n)).clip(-9, 9), none)}
    made = Regression.of(cells, seen, "y", False)
    assert {term.column for term in made.terms} <= {"b", "c", "d"}
    assert len(made.terms) == 3
    assert made.apart(seen) == pytest.approx(0, abs=1e-9)
    assert math.isnan(made.apart(seen | {"y": Numbers(x, ~none)}))


def test_bins_are_the_blocks_and_values_stay_in_them():
    table, rng = whole_table(3), np.random.default_rng(0)
    fine = read_codes(COLUMNS, table.to_batches()).codes
    for cells, codes in zip(COLUMNS.cells(), fine, strict=True):
        facts, blocks = COLUMNS.declared[cells.name], cells.block[codes]
        bins = Bins.of(told(cells))
        assert bins.size == cells.blocks
        numbers = values_of(cells, facts, table[cells.name])
        present = ~numbers.gone
        np.testing.assert_array_equal(bins.encode(numbers.present), blocks[present])
        made = column_of(cells, facts, Numbers(*bins.decode(blocks, rng)))
        again = values_of(cells, facts, pa.chunked_array([made]))
        np.testing.assert_array_equal(again.gone, numbers.gone)
        values = again.values.astype(np.int64) if cells.nominal else again.values
        np.testing.assert_array_equal(cells.block[cells.codes(values, again.gone)], blocks)
    heaped = np.isin(np.asarray(table["income"]), (0.0, 5000.0))
    cells = COLUMNS.cells()[3]
    made = Bins.of(told(cells)).decode(cells.block[fine[3]], rng)[0]
    np.testing.assert_array_equal(made[heaped], np.asarray(table["income"])[heaped])


def test_singles_are_bins_of_their_own():
    bins = Bins.of({"edges": [0.0, 10.0, 20.0], "whole": True, "singles": [5.0, 19.0]})
    assert bins.lower.tolist() == [0, 5, 6, 10, 19]
    assert bins.upper.tolist() == [4, 5, 9, 18, 19]
    drawn, gone = bins.decode(np.array([1, 4, 0]), np.random.default_rng(0))
    assert drawn[:2].tolist() == [5, 19]
    assert not gone.any()
