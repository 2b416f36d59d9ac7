"""`plan`: what errors to expect of a whole table, for any epsilon and delta, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from alphasynth.errors import InputError, require_positive, require_whole
from alphasynth.planning.distances import Item
from alphasynth.planning.ladder import Climbed, Curve, Rung, climb_all, smoothed
from alphasynth.privacy.accounting import rho_within
from alphasynth.privacy.strict_terms import NoisySums
from alphasynth.raking.columns import Columns
from alphasynth.synthesis.checks import check_rows, names_of, small_delta
from alphasynth.synthesis.confirmation import confirm, refuse
from alphasynth.tables.frames import Frame, column_names, require, to_arrow
from alphasynth.tables.grouping import Streamed
from alphasynth.tables.opening import as_declared

if TYPE_CHECKING:
    import pandas as pd

# Epsilons and deltas that a plan is for, and rungs of its ladders: for each factor of three of rho, and of epsilon.
EPSILONS, DELTAS = (0.1, 20.0), (1e-12, 1e-4)
STEP = math.log(3.0)
# Rows of a public table that are enough.
MOST_PUBLIC = 100_000
# Noise of less than this, in standard errors, is not told apart from none.
NEXT_TO_NOTHING = 0.05
NOTHING = NEXT_TO_NOTHING**2 / 100


@dataclass(frozen=True, eq=False)
class Plan:
    """Errors to expect of one synthetic table of n rows; `errors` (items,) are standard errors in the items' units.

    `gaussian` and `pure` are curves of noise with and without a delta; `parts` what is measured at each rung of the
    first one.

    >>> from alphasynth import Columns, plan
    >>> made = plan(Columns.of({"sex": {"levels": ["f", "m"]}}), rows=1_000)
    >>> list(made.table(epsilon=4, delta=1e-9)["item"])
    ['sex', 'sex']
    """

    columns: Columns
    n: int
    public_table: bool
    items: tuple[Item, ...]
    errors: np.ndarray = field(repr=False)
    gaussian: Curve = field(repr=False)
    pure: Curve = field(repr=False)
    parts: tuple[tuple[NoisySums, ...], ...] = field(repr=False)

    def noise(self, epsilon: float, delta: float | None = None) -> np.ndarray:
        """Noise (items,) in standard errors."""
        return self._curve(delta).at(self.height(epsilon, delta))

    def height(self, epsilon: float, delta: float | None) -> float:
        """Where a budget is on its ladder."""
        epsilon = require_positive("epsilon", epsilon)
        budget = epsilon if delta is None else rho_within(epsilon, small_delta(delta))
        return Rung(budget, self.n, delta is None).height

    def _curve(self, delta: float | None) -> Curve:
        return self.pure if delta is None else self.gaussian

    def enough(self, delta: float | None = None) -> np.ndarray:
        """From which epsilon (items,) on noise is below sampling error; nan where none of the plan's is enough."""
        epsilons = np.geomspace(*EPSILONS, 200)
        noise = np.array([self.noise(each, delta) for each in epsilons])
        loud = noise >= 1
        last = np.where(loud.any(axis=0), len(epsilons) - np.argmax(loud[::-1], axis=0), 0)
        return np.where(last < len(epsilons), epsilons[np.minimum(last, len(epsilons) - 1)], math.nan)

    def table(self, epsilon: float, delta: float | None = None) -> pd.DataFrame:
        """Items with their noise in standard errors and in units, and from which epsilon on it is below sampling error.

        `wider` is by how much an interval must be wider than one without noise.
        """
        import pandas as pd

        noise = self.noise(epsilon, delta)
        found = pd.DataFrame(self.items, columns=["kind", "item"])
        found = found.assign(standard_errors=noise, error=noise * self.errors, standard_error=self.errors)
        return found.assign(wider=np.sqrt(1 + noise**2) - 1, enough_epsilon=self.enough(delta))


def plan(
    columns: Columns,
    *,
    rows: int,
    response: str | Sequence[str] = (),
    interactions: str | Sequence[str] = (),
    like: Frame | Streamed | None = None,
    confirm_public: str | Sequence[str] = (),
    processes: int = 1,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> Plan:
    """What `Raked` will do with a table of so many rows, by runs on stand-ins made from what is declared.

    With `like`, a public table, stand-ins are drawn from its rows. Raise `InputError`, also for facts that were read
    off a table and that nobody confirmed as public. Some 200 small runs are made; several
    `processes` need a main module that may be imported again.

    >>> from alphasynth import Columns, plan
    >>> made = plan(Columns.of({"sex": {"levels": ["f", "m"]}}), rows=1_000)
    >>> [item.kind for item in made.items]
    ['margin', 'share']
    >>> bool((made.noise(8, 1e-9) < made.noise(1, 1e-9)).all())
    True
    """
    rows = require_whole("rows", rows)
    kept = [names_of(name, given) for name, given in (("response", response), ("interactions", interactions))]
    columns = columns.with_response(kept[0] or columns.response, kept[1] or columns.interactions)
    refuse(confirm(columns, names_of("confirm_public", confirm_public))[1])
    check_rows(DELTAS[0], rows)
    public = None if like is None else _public(columns, like)
    rungs = [*ladder(rows, False), *ladder(rows, True)]
    climbed = climb_all(columns, public, rungs, require_whole("processes", processes), tell)
    return _made(columns, rows, public is not None, rungs, climbed)


def ladder(rows: int, pure: bool) -> list[Rung]:
    """Budgets from the least to the most that a plan is for."""
    least, most = EPSILONS if pure else (rho_within(*each) for each in zip(EPSILONS, DELTAS, strict=True))
    steps = math.ceil(math.log(most / least) / STEP) + 1
    return [Rung(float(budget), rows, pure) for budget in np.geomspace(least, most, steps)]


def _public(columns: Columns, like: Frame | Streamed) -> pa.Table:
    """Rows of a public table; of very many, some at random."""
    names = [*columns.read_as]
    if isinstance(like, Streamed):
        require(list(like.column_names), names, "declared", like.names_are_public)
        table = as_declared(like, columns.read_as).sample(names, MOST_PUBLIC)
    else:
        require(column_names(like), names, "declared", True)
        table = to_arrow(like, names)
    if not table.num_rows:
        raise InputError("like must be a public table with rows, found none")
    return table


def _made(
    columns: Columns, rows: int, public: bool, rungs: Sequence[Rung], climbed: Sequence[Sequence[Climbed]]
) -> Plan:
    # What not every run has, a rare level's coefficient, no plan can tell.
    items = [
        item
        for item in climbed[0][0].distances
        if all(item in run.distances and math.isfinite(run.distances[item]) for runs in climbed for run in runs)
    ]
    heights = np.array([rung.height for rung in rungs])
    squares = np.array([[np.mean([run.distances[item] ** 2 for run in runs]) for runs in climbed] for item in items])
    pure = np.array([rung.pure for rung in rungs])
    gaussian, laplace = (
        Curve(heights[of], smoothed(items, heights[of], np.maximum(squares[:, of], NOTHING))) for of in (~pure, pure)
    )
    every = [run for runs in climbed for run in runs]
    # Standard errors of a table of so many rows: stand-ins have fewer.
    errors = [math.sqrt(float(np.mean([run.errors[item] ** 2 * run.rows / rows for run in every]))) for item in items]
    parts = tuple(runs[0].measured for runs, rung in zip(climbed, rungs, strict=True) if not rung.pure)
    return Plan(columns, rows, public, tuple(items), np.array(errors), gaussian, laplace, parts)
