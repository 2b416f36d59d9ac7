"""What a chain will take is said before it starts, and while it runs; by public facts alone."""

from __future__ import annotations

import io
import time
from types import SimpleNamespace

import numpy as np
import pytest

from alphasynth.cli import progress
from alphasynth.errors import DiagnosticsError
from alphasynth.mechanisms.chain import under_way, working_on
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.table_model import TableModel
from alphasynth.planning.waits import coefficients, expected
from alphasynth.runs.clock import Stage
from alphasynth.runs.interruption import SIGNALS
from alphasynth.suggestions.model import most_coefficients

LEVELS = [f"l{i}" for i in range(8)]


def chain_of(terms: str) -> TableModel:
    return TableModel.of(
        [
            ColumnModel.of("a ~ 1", "categorical", declared={"levels": LEVELS}),
            ColumnModel.of("b ~ 1", "categorical", declared={"levels": LEVELS}),
            ColumnModel.of(f"slow ~ {terms}", "categorical", declared={"levels": LEVELS}),
        ]
    )


def test_a_harmless_model_is_silent_and_an_expensive_one_is_named_with_its_column():
    assert expected(chain_of("1"), "BW").words == ""
    said = expected(chain_of("a + b"), "BW").words
    assert "column 'slow' with 105 coefficients" in said
    assert "drop terms from its formula or merge levels" in said


def test_coefficients_are_counted_from_what_is_declared():
    declared = {"a": ColumnModel.of("a ~ 1", "categorical", declared={"levels": LEVELS}).declared}
    assert coefficients(ColumnModel.of("y ~ a + x", "normal"), declared) == 1 + 7 + 1
    assert coefficients(ColumnModel.of("y ~ a:x", "normal"), declared) == 1 + 7
    assert coefficients(ColumnModel.of("y ~ C(z) + x", "normal"), {}) == 3


def test_suggested_formulas_grow_with_the_table():
    assert [most_coefficients(n) for n in (50, 2_000, 3_000, 1_000_000)] == [8, 8, 8, 40]


def block_of(size: int) -> SimpleNamespace:
    return SimpleNamespace(model=SimpleNamespace(prior=SimpleNamespace(size=size)))


def test_a_column_is_under_way_while_it_is_worked_on():
    with working_on("wage", block_of(22)):
        assert [(one.column, one.size) for one in under_way()] == [("wage", 22)]
    assert under_way() == []


def test_draws_that_fail_name_their_column():
    said = r"column 'wage' \(22 coefficients\): draws failed.*drop terms"
    with pytest.raises(DiagnosticsError, match=said) as error, working_on("wage", block_of(22)):
        raise DiagnosticsError("draws failed", np.ones(1))
    assert error.value.draws is not None
    assert under_way() == []


def test_a_long_step_says_what_makes_it_slow(monkeypatch):
    stage = Stage("round 1 of 2", 0, 3)
    with working_on("wage", block_of(22)):
        assert progress.words(stage) == "round 1 of 2; column 'wage'"
        monkeypatch.setattr(progress, "SLOW", -1.0)
        assert "compiled for its 22 coefficients" in progress.words(stage)
        assert "fewer terms are faster" in progress.words(stage)


@pytest.mark.parametrize(("quiet", "lines"), [(False, 1), (True, 0)])
def test_in_a_pipe_a_run_that_lasts_says_where_it_is(monkeypatch, quiet, lines):
    monkeypatch.setattr(progress, "FIRST", 0.1)
    stream = io.StringIO()
    with progress.shown_on(stream, quiet, SIGNALS) as tell, working_on("wage", block_of(22)):
        tell(Stage("round 1 of 2", 0, 3))
        time.sleep(1.5)
    assert stream.getvalue() == "alphasynth: round 1 of 2; column 'wage'\n" * lines


def test_a_short_run_is_silent_in_a_pipe():
    stream = io.StringIO()
    with progress.shown_on(stream, quiet=False, interruption=SIGNALS) as tell:
        tell(Stage("round 1 of 2", 0, 3))
    assert stream.getvalue() == ""
