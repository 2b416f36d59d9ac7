"""`StanModel`: a user's own Stan program in place of a built-in family. Stan computes; we weigh, bound and release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.models.formula import Formula, design_of
from alphasynth.models.model import Array, Columns, Rows, Theta
from alphasynth.stan.process import StanError
from alphasynth.stan.program import LOG_LIK, Y_REP, StanProgram
from alphasynth.tables.records import Records

ROWS_PER_SEED = 1_024  # new rows are simulated so many at a time, since Stan's seeds have 31 bits
MOST_CHECKED = 4_000  # rows that the program's promises are tried on: of more, these spread over all values
POINTS = 25  # pairs of points that are tried for one at which all log-likelihoods are finite
STAND_INS = (1.0, 0.0, 2.0, 0.5, 20.0, 100.0, 1_000.0, 1e5, -1.0)  # responses that are no one's, one of which must do
OTHER_NUMBER = "number of parameters does not match"  # what Stan says of too few or too many coordinates
LIMIT = "but must be"  # what it says of a value outside its declaration
CLOSE = 1e-6  # of sums of log-likelihoods that ought to be equal
MOST_COORDINATES = 10_000


@dataclass(frozen=True)
class StanModel:
    """A Stan program of rows that are independent given its parameters; made by `OwnModel.from_stan`.

    Its data are n, K, y, X (the formula's design matrix) and weights; the target is its prior plus the sum over rows of
    weights times log_lik, and reads the rows in no other way. Rows that are equal come once, with their weights' sum.
    """

    program: StanProgram

    def bind(self, formula: Formula, records: Records, strict: bool = False) -> tuple[BoundStan, Rows]:
        """The program at the formula's K, and what it reads of the records; `InputError` where it breaks its promises.

        A strict mechanism bounds what every record adds, which is not the program's to do.
        """
        if strict:
            raise InputError("a strict mechanism must have a model that it can bound, found a Stan program")
        of = records.group((formula.response, *formula.covariates))
        _, first = np.unique(of, return_index=True)
        response = records.columns[formula.response][first]
        if not isinstance(response, np.ndarray) or response.dtype.kind not in "iufb":
            raise InputError(f"column {formula.response!r} must be numeric, found a column that is not")
        X = design_of(formula, records)[first]
        columns = {"y": response.astype(np.float64), "X": X}
        stand_in = _stand_in_of(self.program, X.shape[1])
        model = BoundStan(self.program, X.shape[1], _coordinates(self.program, columns), stand_in)
        check_promises(model, columns)
        return model, Rows.pad(columns, of, np.zeros(model.coordinates))


@dataclass(frozen=True)
class StanPrior:
    """The prior of a Stan program, which Stan alone computes."""

    size: int

    def log_density(self, u: Array) -> Array:
        """Refused: only Stan draws from a Stan program."""
        raise InputError(ONLY_STAN)

    def constrain(self, u: Array) -> Theta:
        """Refused likewise."""
        raise InputError(ONLY_STAN)

    def smoothed(self) -> StanPrior:
        """The prior itself."""
        return self


ONLY_STAN = (
    "a Stan program must be drawn from by Stan, under LW, CW, SW, Reweight or Given weights, and audited by draws or "
    "as a black box, found another use"
)


@dataclass(frozen=True)
class BoundStan:
    """A Stan program for a design matrix of K columns; `coordinates` is the number of its free ones. Holds no data.

    `stand_in` is a response that its data block allows, and that is read off no table.
    """

    program: StanProgram
    K: int
    coordinates: int
    stand_in: float

    @property
    def prior(self) -> StanPrior:
        """What says how many coordinates there are."""
        return StanPrior(self.coordinates)

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """Refused: `log_liks` has it, of all draws at once."""
        raise InputError(ONLY_STAN)

    def log_liks(self, u: np.ndarray, columns: Columns) -> np.ndarray:
        """f (S, rows) at coordinates (S, D); with all weights 1, so that a `log_lik` that is weighted is f too."""
        data = self.data(columns, np.ones(len(columns["y"])))
        return self._entries(data, u, self.program.called(LOG_LIK), len(columns["y"]))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of what the program has beside its data, but for what grows with the table."""
        names, dims, _ = self.program.ask("names", self.data(self.no_rows(2), np.ones(2)))
        _, longer, _ = self.program.ask("names", self.data(self.no_rows(3), np.ones(3)))
        return {name: tuple(dim) for name, dim, other in zip(names, dims, longer, strict=True) if dim == other}

    def no_rows(self, rows: int) -> Columns:
        """Rows that are no one's: a stand-in for the response, covariates of 1."""
        return {"y": np.full(rows, self.stand_in), "X": np.ones((rows, self.K))}

    def constrain_all(self, u: np.ndarray) -> Theta:
        """Parameters by name (S, ...): those, of the program's, that do not grow with the table."""
        data = self.data(self.no_rows(2), np.ones(2))
        theta = {}
        for name, shape in self.shapes().items():
            number = int(np.prod(shape))
            # Stan counts the first index fastest.
            theta[name] = self._entries(data, u, name, number).reshape(len(u), *shape, order="F")
        return {name: value for name, value in theta.items() if value.size}

    def _entries(self, data: dict[str, Any], u: np.ndarray, name: str, number: int) -> np.ndarray:
        _, _, entries = self.program.ask("names", data)
        places = [i for i, entry in enumerate(entries) if entry == name or entry.startswith(f"{name}.")]
        if len(places) != number:
            raise InputError(f"{name!r} must have one entry per record in the Stan program, found another number")
        values: np.ndarray = self.program.ask("entries", data, np.asarray(u), places[0] if places else 0, number)
        return values

    def data(self, columns: Columns, weights: np.ndarray) -> dict[str, Any]:
        """The program's data for rows with weights."""
        return self.program.data_for(np.asarray(columns["y"]), np.asarray(columns["X"]), np.asarray(weights))

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """`y_rep` for new rows, each block of them with a seed of its own."""
        X = np.resize(np.asarray(columns["X"]), (rows, self.K))
        values = {name: np.asarray(value).tolist() for name, value in theta.items()}
        called, made = self.program.called(Y_REP), []
        for first in range(0, rows, ROWS_PER_SEED):
            part = X[first : first + ROWS_PER_SEED]
            data = self.data({**self.no_rows(len(part)), "X": part}, np.ones(len(part)))
            seen = self.program.ask("simulate", data, values, int(rng.integers(1, 2**31)))
            made += [seen[f"{called}.{i + 1}"][0] for i in range(len(part))]
        return np.array(made)


def _stand_in_of(program: StanProgram, K: int) -> float:
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


def _coordinates(program: StanProgram, columns: Columns) -> int:
    """How many coordinates without limits the program has: the number that Stan does not refuse.

    A point at which the density is not defined has the right number all the same.
    """
    few = {name: column[:2] for name, column in columns.items()}
    data = program.data_for(few["y"], few["X"], np.ones(len(few["y"])))

    def refused(number: int) -> str:
        try:
            program.ask("log_prob", data, np.zeros((1, number)))
        except StanError as error:
            return str(error)
        return ""

    if OTHER_NUMBER not in (said := refused(MOST_COORDINATES + 1)):
        raise StanError(said or f"a Stan program must have at most {MOST_COORDINATES:,} free coordinates, found more")
    for number in range(1, MOST_COORDINATES + 1):
        if OTHER_NUMBER not in refused(number):
            return number
    raise InputError(f"a Stan program must have from 1 to {MOST_COORDINATES:,} free coordinates, found another number")


def spread_rows(columns: Columns) -> Columns:
    """All rows, or of many some that are spread evenly over the values of the response and of each covariate."""
    values = np.column_stack([columns["y"], columns["X"]])
    if len(values) <= MOST_CHECKED:
        return dict(columns)
    each = MOST_CHECKED // values.shape[1]
    ranks = np.linspace(0, len(values) - 1, max(each, 2)).astype(int)
    picked = np.unique(np.argsort(values, axis=0, kind="stable")[ranks])
    return {name: column[picked] for name, column in columns.items()}


def check_promises(model: BoundStan, columns: Columns) -> None:
    """Refuse a program whose target is not its prior plus weights times log_lik, row by row.

    Tried at two points and with weights at random: differences between points, so that constants do not matter.
    """
    rng = np.random.default_rng(0)
    some = spread_rows(columns)
    rows = len(some["y"])
    weights = rng.uniform(0.2, 1.0, rows)
    model.program.ask("names", model.data(some, weights))  # what the data block refuses is said by Stan
    u, f = _finite_points(model, some, rng)

    def rise(of: Columns, weights: np.ndarray) -> float:
        at = model.program.ask("log_prob", model.data(of, weights), u)
        return float(at[0] - at[1])

    prior, target = rise(some, np.zeros(rows)), rise(some, weights)
    added = float((f[0] - f[1]) @ weights)
    _same(target - prior, added, f"{'weights'!r} times {LOG_LIK!r}, and nothing else of the rows")
    for row in (int(some["y"].argmin()), int(some["y"].argmax())):  # whose share in a sum of many would be small
        alone = np.zeros(rows)
        alone[row] = 1.0
        _same(rise(some, alone) - prior, float(f[0, row] - f[1, row]), f"{'weights'!r} times {LOG_LIK!r} of each row")
    one = {name: np.repeat(column[:1], 2, axis=0) for name, column in some.items()}
    _same(rise(one, np.zeros(2)), prior, "the weighted rows, a prior that reads none of them")
    twice = {name: np.concatenate([column, column]) for name, column in some.items()}
    _same(rise(twice, np.concatenate([weights, weights]) / 2), target, "the weighted rows, however they are counted")
    backwards = {name: column[::-1][: (rows + 1) // 2] for name, column in some.items()}
    apart = model.log_liks(u, backwards)
    if not np.allclose(apart, f[:, ::-1][:, : apart.shape[1]], rtol=1e-8, atol=1e-8):
        raise InputError(
            f"each record's {LOG_LIK!r} must read its own row only, found a Stan program that reads others"
        )


def _finite_points(model: BoundStan, columns: Columns, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two points (2, D) at which target and log-likelihoods f (2, rows) are finite; refuse a program without any."""
    rows = len(columns["y"])
    for _ in range(POINTS):
        u = 0.3 * rng.standard_normal((2, model.coordinates))
        try:
            f = model.log_liks(u, columns)
            target = model.program.ask("log_prob", model.data(columns, np.ones(rows)), u)
        except StanError as error:
            if OTHER_NUMBER in str(error):
                raise InputError(
                    "a Stan program must have as many parameters whatever the number of rows, found some that grow "
                    "with the table"
                ) from None
            continue
        if np.isnan(f).any():
            raise InputError(f"a Stan program's {LOG_LIK!r} must hold numbers, found entries that are not a number")
        if model.program.counts and (f > 0).any():
            raise InputError(
                f"a Stan program's {LOG_LIK!r} of whole numbers must be logarithms of probabilities, at most 0, found "
                "entries above: use the functions that end in _lpmf, which drop no constant"
            )
        if np.isfinite(f).all() and np.isfinite(target).all():
            return u, f
    raise InputError(
        f"a Stan program must have finite log-likelihoods of all rows near its start, found none at {POINTS} places"
    )


def _same(one: float, other: float, what: str) -> None:
    if abs(one - other) > CLOSE * max(1.0, abs(one), abs(other)):
        raise InputError(f"a Stan program's target must be its prior plus {what}, found that it is not")
