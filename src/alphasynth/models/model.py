"""What a model is: a prior, a log-likelihood by record and a simulator. It never sees alpha."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from alphasynth.tables.declared import Declared

Array = Any  # a NumPy or JAX array: the same formulas run on both
Theta = dict[str, Array]
Columns = dict[str, Array]
TAKES_PART = "takes part"  # column that is 1 in lines that take part and 0 in others
PEAK = "peak"  # column of f*: the largest log-likelihood that a record can have under any parameters


def linear(beta: Array, columns: Columns) -> Array:
    """X beta by row; one number where there are no covariates, so no X."""
    return columns["X"] @ beta if "X" in columns else beta[0]


class Prior(Protocol):
    """Distribution of the parameters, in coordinates u without limits."""

    @property
    def size(self) -> int:
        """Number of coordinates."""
        ...

    def log_density(self, u: Array) -> Array:
        """Log prior density at u (size,), the Jacobian included."""
        ...

    def constrain(self, u: Array) -> Theta:
        """Parameters theta, by name, at u (size,)."""
        ...

    def smoothed(self) -> Prior:
        """A prior without spikes, under which the climb to the mode ends; only the shape of proposals depends on it."""
        ...


class Model(Protocol):
    """A distribution of one column given others. Hashable, holding no data: one compilation serves every table."""

    @property
    def prior(self) -> Prior:
        """Distribution of the parameters."""
        ...

    def log_lik(self, theta: Theta, columns: Columns) -> Array:
        """f = log p(x_i | theta), (rows,); each entry reads its own row of `columns` only."""
        ...

    def simulate(self, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int) -> np.ndarray:
        """Response values of new records (rows,); `columns` holds the covariates' rows."""
        ...


@runtime_checkable
class Outside(Protocol):
    """A model that another program computes, all draws at once: nothing of it is compiled with ours."""

    def log_liks(self, u: np.ndarray, columns: Columns) -> np.ndarray:
        """f (S, rows) at coordinates (S, D)."""
        ...

    def constrain_all(self, u: np.ndarray) -> Theta:
        """Parameters by name (S, ...) at coordinates (S, D)."""
        ...

    def log_priors(self, u: np.ndarray) -> np.ndarray:
        """Log prior density (S,) at coordinates (S, D), the Jacobian included; -inf where there is none."""
        ...

    def known_log_liks(self, u: np.ndarray, columns: Columns) -> np.ndarray:
        """f (S, rows) at coordinates (S, D); not a number where a row's own cannot be computed."""
        ...


class Wrapping(Protocol):
    """A model around another one, whose prior and whose simulated values are its own."""

    @property
    def model(self) -> Model:
        """The model inside."""
        ...


def prior_inside(wrapping: Wrapping) -> Prior:
    """The prior of the model inside."""
    return wrapping.model.prior


def simulate_inside(
    wrapping: Wrapping, rng: np.random.Generator, theta: Theta, columns: Columns, rows: int
) -> np.ndarray:
    """Response values of new records, by the model inside."""
    return wrapping.model.simulate(rng, theta, columns, rows)


@runtime_checkable
class Peaked(Model, Protocol):
    """A model that strict contributions can bound, which takes nothing of the table but a record's own row."""

    def peak(self, columns: Columns) -> np.ndarray:
        """f*, the largest log-likelihood that each row can have under any parameters (rows,)."""
        ...

    def public_starts(self) -> np.ndarray:
        """Where climbs begin that must know nothing of the table (..., D)."""
        ...


@runtime_checkable
class ColumnFamily(Peaked, Protocol):
    """A built-in family, bound to K terms: beside a model, how a column of a table is read and where climbs begin."""

    def coordinates(self, covariates: bool) -> list[str]:
        """Names of the sampler's coordinates, with covariates or without."""
        ...

    def read(self, name: str, values: Any, declared: Declared, strict: bool) -> Columns:
        """What the model reads of a column's values; raise `InputError` for what it cannot."""
        ...

    def start(self, columns: Columns, X: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Where the climb to the mode begins (D,): rough moments of these rows."""
        ...


@runtime_checkable
class Decoding(Protocol):
    """A family whose values are not on the column's own scale."""

    def decode(self, name: str, y: np.ndarray, declared: Declared) -> np.ndarray:
        """Simulated values in the column's own terms."""
        ...


@runtime_checkable
class PowerSums(Protocol):
    """A model whose probabilities of single values, or densities, can be raised to a power and summed."""

    def power_sum(self, theta: Theta, columns: Columns, power: float) -> Array:
        """Sum over all values y of p(y | theta)^power, by row, or one number where all rows share it."""
        ...


@runtime_checkable
class Densities(Protocol):
    """A model of densities, which are integrated on a scale of their own."""

    @property
    def largest_density(self) -> float:
        """How large a density can be on that scale."""
        ...

    def log_scaled(self, theta: Theta, columns: Columns) -> Array:
        """Log density by row on that scale."""
        ...


# Capacities grow by this factor, so that tables of about the same size share one compiled program.
SMALLEST_CAPACITY, CAPACITY_FACTOR = 1_024, 4


@dataclass(frozen=True, eq=False)
class Rows:
    """What a model reads of the records (confidential): one line per distinct row of the formula's columns.

    `columns` are padded to a shared capacity by repeating the last row; only the first `size` lines count. `of` gives
    the line of each distinct row of the records, which may be finer. `start` is where the climb to the mode begins
    (D,), or of strict contributions public points (starts, D) where climbs may begin; `finite` says which lines have a
    finite log-likelihood there.
    """

    columns: Columns = field(repr=False)
    size: int
    of: np.ndarray = field(repr=False)
    start: np.ndarray = field(repr=False)
    finite: np.ndarray = field(repr=False)

    @classmethod
    def pad(cls, columns: Columns, of: np.ndarray, start: np.ndarray) -> Rows:
        """Pad columns of equal length to their capacity."""
        size = len(next(iter(columns.values())))
        padded = {name: extend(np.ascontiguousarray(column), size) for name, column in columns.items()}
        return cls(padded, size, of, start, np.ones(size, bool))

    @property
    def distinct(self) -> Columns:
        """The columns without their padding."""
        return {name: column[: self.size] for name, column in self.columns.items()}

    def for_strict(self, peak: np.ndarray) -> Rows:
        """With f* by line, the largest log-likelihood a line can have; every line takes part."""
        return replace(self, columns={**self.columns, PEAK: extend(peak, self.size)}, finite=np.ones(self.size, bool))

    def where(self, taking_part: np.ndarray) -> Rows:
        """With a mark of the lines (size,) that take part; f* of the others is 0, and so is what they add."""
        columns = {**self.columns, TAKES_PART: extend(taking_part.astype(np.float64), self.size)}
        if PEAK in columns:
            columns[PEAK] = np.where(columns[TAKES_PART] > 0, columns[PEAK], 0.0)
        return replace(self, columns=columns)

    def with_column(self, name: str, values: np.ndarray) -> Rows:
        """Finer lines, which differ in these values by distinct row of the records as well."""
        pairs = np.stack([self.of.astype(np.float64), values], axis=1)
        _, first, of = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        lines = self.of[first]
        columns = {column: found[lines] for column, found in self.columns.items()}
        finer = Rows.pad({**columns, name: values[first]}, of.reshape(-1), self.start)
        return replace(finer, finite=self.finite[lines])

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sum by line (capacity,) of values by distinct row of the records; 0 in the padding."""
        return np.bincount(self.of, values, minlength=capacity(self.size))

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Maximum by line (capacity,) of values >= 0 by distinct row of the records; 0 in the padding."""
        top = np.zeros(capacity(self.size))
        np.maximum.at(top, self.of, values)
        return top


def capacity(size: int) -> int:
    """Padded length for a number of lines."""
    padded = SMALLEST_CAPACITY
    while padded < size:
        padded *= CAPACITY_FACTOR
    return padded


def extend(column: np.ndarray, size: int) -> np.ndarray:
    """Column (size, ...) with its last row repeated up to the capacity."""
    return np.concatenate([column, np.repeat(column[-1:], capacity(size) - size, axis=0)])
