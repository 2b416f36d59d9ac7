"""What a program is tried on: a response that it allows and that is no one's, its coordinates, rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from alphasynth.errors import InputError
from alphasynth.stan.process import StanError
from alphasynth.stan.program import StanProgram
from alphasynth.stan.pystan import MOST_COORDINATES

STAND_INS = (1.0, 0.0, 2.0, 0.5, 20.0, 100.0, 1_000.0, 1e5, -1.0)  # responses that are no one's, one of which must do
MOST_CHECKED = 4_000  # rows that the program's promises are tried on: of more, these spread over all values
LIMIT = "but must be"  # what it says of a value outside its declaration


def stand_in_of(program: StanProgram, K: int) -> float:
    """A response that the program's data block allows; nothing of the table is tried."""
    error = None
    for value in STAND_INS:
        if program.counts and value != int(value):
            continue
        try:
            program.ask("names", program.data_for(np.full(2, value), np.ones((2, K)), np.ones(2)))
        except StanError as found:
            error = found
            continue
        return value
    assert error is not None
    if LIMIT not in str(error):
        raise error
    raise InputError(
        f"a Stan program must allow a response of {', '.join(f'{v:g}' for v in STAND_INS)}, which stand for no one's "
        "where rows are simulated, found that its data block allows none"
    )


def coordinates_of(program: StanProgram, columns: Mapping[str, np.ndarray]) -> int:
    """How many coordinates without limits the program has."""
    few = {name: column[:2] for name, column in columns.items()}
    number: int = program.ask("coordinates", program.data_for(few["y"], few["X"], np.ones(len(few["y"]))))
    if not 1 <= number <= MOST_COORDINATES:
        raise InputError(
            f"a Stan program must have from 1 to {MOST_COORDINATES:,} free coordinates, found another number"
        )
    return number


def spread_rows(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All rows, or of many some that are spread evenly over the values of the response and of each covariate."""
    values = np.column_stack([columns["y"], columns["X"]])
    if len(values) <= MOST_CHECKED:
        return dict(columns)
    each = MOST_CHECKED // values.shape[1]
    ranks = np.linspace(0, len(values) - 1, max(each, 2)).astype(int)
    picked = np.unique(np.argsort(values, axis=0, kind="stable")[ranks])
    return {name: column[picked] for name, column in columns.items()}
