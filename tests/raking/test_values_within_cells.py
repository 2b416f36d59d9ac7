"""Values within cells that keep declared constraints, in every row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth.constraints.words import parse_constraint
from alphasynth.errors import InputError, StrictWarning
from alphasynth.raking.cells import Cells
from alphasynth.raking.values import draw_values, keeping, kept_rows, possible
from alphasynth.tables.declared import OF_WHOLE_TABLES, Declared

FACTS = {
    "married": Declared(levels=(False, True)),
    "age": Declared(limits=(0.0, 110.0), whole=True),
    "part": Declared(limits=(0.0, 1000.0)),
    "whole": Declared(limits=(0.0, 1000.0), missing="model"),
    "sex": Declared(levels=("f", "m")),
}


@pytest.mark.parametrize(
    "texts", [["part <= whole"], ["part <= whole", "married => age >= 50", "sex == 'm' => part == 0"]]
)
def test_values_within_cells_keep_constraints(texts):
    rng, rows = np.random.default_rng(1), 2_000
    columns = [Cells.of(name, facts) for name, facts in FACTS.items()]
    constraints = [parse_constraint(text, FACTS) for text in texts]
    codes = [rng.integers(0, cells.size, rows) for cells in columns]
    codes = [column[possible(constraints, columns, codes)] for column in codes]
    drawn, kept = draw_values(rng, constraints, columns, codes)
    assert keeping(constraints, columns, drawn).all()
    assert (kept == np.arange(len(kept))).mean() > 0.5, "most rows are their own"
    for cells, each, (values, gone) in zip(columns, codes, drawn, strict=True):
        np.testing.assert_array_equal(cells.codes(values, gone), each[kept])


def test_what_no_row_can_keep_is_refused():
    columns = [Cells.of("age", FACTS["age"])]
    with pytest.raises(InputError, match="must leave rows that keep them all"):
        draw_values(np.random.default_rng(1), [parse_constraint("age > 100", FACTS)], columns, [np.zeros(5, np.int64)])


def cells_of(**declared: dict) -> tuple[list[Cells], dict[str, Declared]]:
    facts = {name: Declared.of(name, given, OF_WHOLE_TABLES) for name, given in declared.items()}
    return [Cells.of(name, fact, fact.skewed) for name, fact in facts.items()], facts


NUMBERS, WHOLE, CENTS = (
    {"limits": [0, 1000]},
    {"limits": [1, 100_000], "whole": True},
    {"limits": [0, 90], "decimals": 2},
)
DAYS, CODES = {"limits": ["2020-01-01", "2022-12-31"]}, {"levels": [2, 5, 10, 50, 200]}
SHAPES = {
    "numbers": ([NUMBERS, NUMBERS], ["a == b"]),
    "skewed": ([NUMBERS | {"skewed": True}] * 2, ["b == a"]),
    "whole": ([WHOLE, WHOLE], ["a == b"]),
    "dates": ([DAYS, DAYS], ["a == b"]),
    "decimals": ([CENTS, CENTS], ["a == b"]),
    "narrow decimals": ([{"limits": [0, 1], "decimals": 1}] * 2, ["a == b"]),
    "other limits": ([NUMBERS, {"limits": [-7, 1300]}], ["a == b"]),
    "other kinds": (
        [NUMBERS, {"limits": [0, 1400], "whole": True}, {"limits": [0, 1400], "decimals": 3}],
        ["a == b", "c == b"],
    ),
    "levels": ([NUMBERS, CODES], ["a == b"]),
    "a chain": ([NUMBERS, NUMBERS, NUMBERS], ["a == b", "b == c"]),
    "gaps": ([NUMBERS | {"missing": "model"}, NUMBERS], ["a == b"]),
    "an inequality beside": ([NUMBERS, NUMBERS, NUMBERS], ["a == b", "b <= c"]),
    "an implication": ([NUMBERS, NUMBERS, {"levels": [0, 1]}], ["c == 1 => a == b"]),
    "of numbers": ([NUMBERS, NUMBERS, WHOLE], ["c > 50000 => a == b and b >= 300"]),
    "a number": ([NUMBERS, {"levels": ["x", "y"]}], ["b == 'x' => a == 450.5"]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_equalities_are_solved(shape, recwarn):
    """In every row, by values of their own in the cells' places; hardly any row is another one's copy."""
    rng, rows, (given, texts) = np.random.default_rng(5), 4_000, SHAPES[shape]
    columns, facts = cells_of(**dict(zip("abc", given, strict=False)))
    constraints = [parse_constraint(text, facts) for text in texts]
    codes = kept_rows(rng, constraints, columns, [rng.integers(0, cells.size, rows) for cells in columns])
    drawn, kept = draw_values(rng, constraints, columns, codes)
    assert keeping(constraints, columns, drawn).all()
    assert (kept == np.arange(len(kept))).mean() > 0.95
    assert not recwarn
    for cells, fact, each, (values, gone) in zip(columns, facts.values(), codes, drawn, strict=True):
        assert (each[kept] == cells.size - 1)[gone].all()
        if not cells.nominal:
            np.testing.assert_array_equal(fact.rounded(values[~gone]), values[~gone])
        if cells.levels:
            np.testing.assert_array_equal(cells.codes(values, gone), each[kept])
    least = 0.2 if shape in ("a number", "an inequality beside") else 0.45
    assert len(kept) > least * rows or columns[-1].levels == (2, 5, 10, 50, 200)


@pytest.mark.parametrize("shape", ["numbers", "whole", "dates", "decimals", "skewed", "a chain", "other limits"])
def test_columns_that_are_equal_have_the_distribution_of_each(shape):
    """Cells at random, evenly: so are the values that all have in common, on the scale of cells."""
    rng, rows, (given, texts) = np.random.default_rng(6), 8_000, SHAPES[shape]
    columns, facts = cells_of(**dict(zip("abc", given, strict=False)))
    constraints = [parse_constraint(text, facts) for text in texts]
    codes = kept_rows(rng, constraints, columns, [rng.integers(1, columns[0].size, rows) for _ in columns])
    drawn, _ = draw_values(rng, constraints, columns, codes)
    values, none = drawn[0][0], np.zeros(len(codes[0]), bool)
    found = np.bincount(columns[0].codes(values, none) * 8 // columns[0].size, minlength=8) / len(values)
    # Eighths of 8,000 rows have a standard error of 0.0037.
    assert np.abs(found - 1 / 8).max() < (0.03 if shape == "other limits" else 0.018)
    assert len(np.unique(values)) > 0.1 * min(len(values), np.ptp(values))


def test_rows_that_fail_are_replaced_by_those_of_the_same_cells(monkeypatch):
    """a < b in one cell, of which one draw alone must do, fails for half of the rows; their cells stay."""
    monkeypatch.setattr("alphasynth.raking.values.TIMES", 0)
    rng = np.random.default_rng(7)
    columns, facts = cells_of(a=NUMBERS, b=NUMBERS)
    code = np.repeat(np.arange(1, 101), 40)
    drawn, rows = draw_values(rng, [parse_constraint("a < b", facts)], columns, [code, code])
    assert (drawn[0][0] < drawn[1][0]).all()
    assert 0.4 < (rows == np.arange(4_000)).mean() < 0.6
    np.testing.assert_array_equal(code[rows], code)


def test_many_copies_of_other_rows_are_told_of(monkeypatch):
    monkeypatch.setattr("alphasynth.raking.values.TIMES", 0)
    columns, facts = cells_of(a=NUMBERS, b=NUMBERS)
    code = np.arange(1, 201)
    with pytest.warns(StrictWarning, match="found more than 5% of rows"):
        draw_values(np.random.default_rng(8), [parse_constraint("a < b", facts)], columns, [code, code])


@pytest.mark.parametrize("other", [NUMBERS, {"limits": [-100, 1700]}])
def test_tables_of_equal_columns_are_worth_something(other):
    """At epsilon 1 once all rows of two tables of three were u = v = 0."""
    rng, rows = np.random.default_rng(1), 2_000
    u = rng.beta(2, 3, rows) * 1_000
    table = pd.DataFrame({"u": u, "v": u, "g": np.where(u < 500, "x", "y")})
    columns = syn.Columns.of({"u": NUMBERS, "v": other, "g": {"levels": ["x", "y"]}}, ["u == v"])
    made = syn.Synthesizer(columns, mechanism="Raked", epsilon=1, delta=1e-6, m=1, seed=1).fit(table).sample()[0]
    assert (made.u == made.v).all()
    assert made.u.nunique() > 0.9 * rows
    # Standard errors are 4.5 (mean) and 11 (quartiles), noise of about as much.
    assert abs(made.u.mean() - u.mean()) < 25
    np.testing.assert_allclose(np.quantile(made.u, [0.25, 0.5, 0.75]), np.quantile(u, [0.25, 0.5, 0.75]), atol=45)
    assert (made.u[made.g == "x"] < 500).mean() > 0.9
