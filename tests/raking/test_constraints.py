"""Constraints between columns: read from words, kept in every row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.raking.cells import Cells
from alphasynth.raking.constraints import COMPARE, Comparison, Span, parse_constraint
from alphasynth.raking.values import draw_values, keeping, possible
from alphasynth.tables.declared import Declared

FACTS = {
    "married": Declared(levels=(False, True)),
    "age": Declared(limits=(0.0, 110.0), whole=True),
    "part": Declared(limits=(0.0, 1000.0)),
    "whole": Declared(limits=(0.0, 1000.0), missing="model"),
    "sex": Declared(levels=("f", "m")),
    "day": Declared.of("day", {"limits": ["2001-01-01", "2002-12-31"]}, ("limits", "skewed")),
    "odd name": Declared(limits=(0.0, 1.0)),
}


@pytest.mark.parametrize(
    ("text", "given_part", "then"),
    [
        ("married => age >= 15", [("married", "==", 1.0)], [("age", ">=", 15.0)]),
        ("part <= whole", [], [("part", "<=", "whole")]),
        (
            "sex == 'm' and age < 3 => `odd name` != 0.5",
            [("sex", "==", 1.0), ("age", "<", 3.0)],
            [("odd name", "!=", 0.5)],
        ),
        ("day >= '2001-02-01'", [], [("day", ">=", 11_354.0)]),
        ("-1 < part and part < 2e2", [], [(-1.0, "<", "part"), ("part", "<", 200.0)]),
    ],
)
def test_words_are_read(text, given_part, then):
    constraint = parse_constraint(text, FACTS)
    assert constraint.given == tuple(Comparison(*each) for each in given_part)
    assert constraint.then == tuple(Comparison(*each) for each in then)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "must compare 'age' with something"),
        ("height < 3", "must name declared columns, found 'height'"),
        ("=> age > 3", "must read like"),
        ("age > 3 or age < 1", "must read like"),
        ("1 < 2", "must name a column on one of its sides"),
        ("sex < 'm'", "must set text equal"),
        ("sex == 1", "must set text equal"),
        ("sex == 'x'", "must name a declared level of 'sex', found 'x'"),
        ("age == 'old'", "must compare numbers with numbers"),
        ("day > 'soon'", "must have a date such as"),
        ("age > 1.2.3", "must read like"),
    ],
)
def test_other_words_are_refused(text, message):
    with pytest.raises(InputError) as error:
        parse_constraint(text, FACTS)
    assert message in str(error.value)


@given(
    st.sampled_from([*COMPARE]),
    *(st.tuples(st.integers(0, 4), st.integers(0, 3)) for _ in range(2)),
)
def test_spans_say_what_all_and_some_values_do(how, one, other):
    """Against every pair of values within the spans."""
    spans = {
        name: Span(np.array([low]), np.array([low + width]), np.array([False]))
        for name, (low, width) in {"a": one, "b": other}.items()
    }
    every = [COMPARE[how](a, b) for a in range(one[0], sum(one) + 1) for b in range(other[0], sum(other) + 1)]
    comparison = Comparison("a", how, "b")
    assert comparison.holds(spans, surely=False)[0] == any(every)
    assert comparison.holds(spans, surely=True)[0] == all(every)


def test_gaps_break_nothing():
    constraint = parse_constraint("part <= whole", FACTS)
    values = {"part": Span(np.array([5.0, 5.0]), np.array([5.0, 5.0]), np.array([False, False]))}
    values["whole"] = Span(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([True, False]))
    assert constraint.broken(values).tolist() == [False, True]


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
