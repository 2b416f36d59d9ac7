"""`StanModel`: a user's own Stan program in place of a built-in family. Stan computes; we weigh, bound and release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from alphasynth.errors import InputError
from alphasynth.models.formula import Formula, design_of
from alphasynth.models.model import Array, Columns, Rows, Theta
from alphasynth.models.own_peaks import BOUNDED_RISE, UNBOUNDED
from alphasynth.stan.process import StanError
from alphasynth.stan.program import LOG_LIK, Y_REP, StanProgram
from alphasynth.stan.public_points import climbs_without_end, highest, prior_points
from alphasynth.stan.pystan import OTHER_NUMBER
from alphasynth.stan.stand_in import coordinates_of, spread_rows, stand_in_of
from alphasynth.tables.records import Records

ROWS_PER_SEED = 1_024  # new rows are simulated so many at a time, since Stan's seeds have 31 bits
POINTS = 25  # pairs of points that are tried for one at which all log-likelihoods are finite
CLOSE = 1e-6  # of sums of log-likelihoods that ought to be equal


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
        stand_in = stand_in_of(self.program, X.shape[1])
        model = BoundStan(self.program, X.shape[1], coordinates_of(self.program, columns), stand_in)
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
    "a Stan program must be drawn from by Stan, under LW, CW, SW, BW, Reweight or Given weights, and audited by draws "
    "or as a black box, found another use"
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
        """f where it is given, as models around this one read it; else refused: `log_liks` has it, of all draws."""
        if LOG_LIK not in theta:
            raise InputError(ONLY_STAN)
        return theta[LOG_LIK]

    def log_priors(self, u: np.ndarray) -> np.ndarray:
        """Log prior density (S,) at coordinates (S, D), the Jacobian included; -inf where it is not a number.

        So it is where nothing can be computed of rows that are no one's: where there are no draws is public.
        """
        data = self.data(self.no_rows(2), np.zeros(2))
        target = np.array(self.program.ask("log_prob", data, u, True))
        some = np.isfinite(target)
        entry = self.program.ask("entries", data, u[some], _place_of(self), 1, True)[:, 0]
        target[some] = np.where(np.isnan(entry), -np.inf, target[some])
        return np.where(some, target, -np.inf)

    def known_log_liks(self, u: np.ndarray, columns: Columns) -> np.ndarray:
        """f (S, rows) at coordinates (S, D); not a number where a row's own, by itself, cannot be computed."""
        rows = len(columns["y"])
        f = np.array(self._entries(self.data(columns, np.ones(rows)), u, self.program.called(LOG_LIK), rows, True))
        lost = np.isnan(f).all(axis=1)
        if rows > 1 and lost.any():
            halves = (slice(rows // 2), slice(rows // 2, None))
            apart = [{name: column[half] for name, column in columns.items()} for half in halves]
            f[lost] = np.concatenate([self.known_log_liks(u[lost], part) for part in apart], axis=1)
        return f

    def public_starts(self) -> np.ndarray:
        """Points (S, D) of the program's prior, the same for every table; refuses a prior without draws."""
        return _prior_points(self)

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, as high as each row's log-likelihood climbs from public points, by the row alone; 0 where it has none."""
        rows = ({name: column[i : i + 1] for name, column in columns.items()} for i in range(len(columns["y"])))
        found = np.array([highest(self._of_row(row), self.public_starts()) for row in rows])
        return np.where(np.isfinite(found), found, 0.0)

    def require_bounded(self, who: str) -> None:
        """Refuse a log-likelihood without an upper bound, tried on a row that is no one's; `who` needs one."""
        if self.program.counts:
            return
        if climbs_without_end(self._of_row(self.no_rows(1)), self.public_starts(), BOUNDED_RISE):
            raise InputError(UNBOUNDED.format(who=who))

    def _of_row(self, row: Columns) -> Callable[[np.ndarray], np.ndarray]:
        """f (S,) of one row at coordinates (S, D)."""
        data = self.data(row, np.ones(1))
        first = self._places(data, self.program.called(LOG_LIK), 1)
        return lambda u: np.asarray(self.program.ask("entries", data, u, first, 1, True))[:, 0]

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

    def _entries(self, data: dict[str, Any], u: np.ndarray, name: str, number: int, known: bool = False) -> np.ndarray:
        first = self._places(data, name, number)
        values: np.ndarray = self.program.ask("entries", data, np.asarray(u), first, number, known)
        return values

    def _places(self, data: dict[str, Any], name: str, number: int) -> int:
        """Where the entries of that name begin, which are so many."""
        _, _, entries = self.program.ask("names", data)
        places = [i for i, entry in enumerate(entries) if entry == name or entry.startswith(f"{name}.")]
        if len(places) != number:
            raise InputError(f"{name!r} must have one entry per record in the Stan program, found another number")
        return places[0] if places else 0

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
            made.append(self.program.ask("simulate", data, called, values, int(rng.integers(1, 2**31))))
        return np.concatenate(made)


@lru_cache(maxsize=16)
def _place_of(model: BoundStan) -> int:
    """Where the log-likelihoods of two rows begin among all entries."""
    return model._places(model.data(model.no_rows(2), np.zeros(2)), model.program.called(LOG_LIK), 2)


@lru_cache(maxsize=16)
def _prior_points(model: BoundStan) -> np.ndarray:
    found = prior_points(model.program, model.data(model.no_rows(2), np.zeros(2)), model.shapes())
    found.setflags(write=False)
    return found


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
