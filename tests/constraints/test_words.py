"""Constraints between columns, read from words, and judged by spans of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphasynth.constraints.comparisons import COMPARE, Comparison, Span
from alphasynth.constraints.words import names_in, parse_constraint
from alphasynth.errors import InputError
from alphasynth.tables.declared import Declared

FACTS = {
    "married": Declared(levels=(False, True)),
    "age": Declared(limits=(0.0, 110.0), whole=True),
    "part": Declared(limits=(0.0, 1000.0)),
    "whole": Declared(limits=(0.0, 1000.0), missing="model"),
    "sex": Declared(levels=("f", "m")),
    "day": Declared.of("day", {"limits": ["2001-01-01", "2002-12-31"]}, ("limits", "skewed")),
    "odd name": Declared(limits=(0.0, 1.0)),
    "place": Declared(levels=("north and south", "a => b", "x < 3")),
    "this and that": Declared(limits=(0.0, 9.0)),
    "a => b": Declared(limits=(0.0, 9.0)),
    "and": Declared(levels=(0, 1)),
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
        (
            "place == 'north and south' => sex == 'm'",
            [("place", "==", 0.0)],
            [("sex", "==", 1.0)],
        ),
        ('sex == "m" => place != "a => b"', [("sex", "==", 1.0)], [("place", "!=", 1.0)]),
        ("`this and that` < 3 and part>=`a => b`", [], [("this and that", "<", 3.0), ("part", ">=", "a => b")]),
        ("`and` and part == 0", [], [("and", "==", 1.0), ("part", "==", 0.0)]),
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
        ("age > 3 => age > 2 => age > 1", "must read like"),
        ("age > 3 and", "must read like"),
        ("age > 3 ; part < 1", "must read like"),
        ("age > 3 part < 1", "must read like"),
        ("sex == 'm", "must read like"),
        ("age > 3 =>", "must read like"),
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


def test_words_in_quotes_are_no_names():
    assert names_in("r == 'north and south' and `odd name` < 3 => x") == {"r", "odd name", "x"}
