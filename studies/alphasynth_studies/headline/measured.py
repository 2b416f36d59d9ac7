"""One database: each synthesizer brought to each epsilon per draw, how far its synthetic tables err, what it loses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from alphasynth.errors import CalibrationError
from alphasynth.evaluation.distances import mean_distances
from alphasynth.evaluation.intervals import percentile_interval, resample
from alphasynth.evaluation.values import Values, statistics
from alphasynth.privacy.accounting import epsilon_of, times
from alphasynth.synthesizer import Synthesizer
from alphasynth_studies.headline.removals import worst_removal
from alphasynth_studies.repeats import TableOf
from alphasynth_studies.study import SEED
from alphasynth_studies.synthesizers import CW, STATISTICS

UNWEIGHTED = "Unweighted"
BALL: dict[str, Any] = {**CW.ball, "shift": CW.shift}
# What is set; the number named last in each (scale, k, alpha) is searched.
OPTIONS: dict[str, dict[str, Any]] = {
    "LW": {"shift": 0.0},
    "LW_final": {"scale": 1.0, "shift": 0.0},
    "CW": BALL,
    "CW_final": {"scale": CW.scale, **BALL},
    "SW": {},
}
LABELS = (UNWEIGHTED, *OPTIONS)
REACHED = 0.95  # share of the epsilon asked for that a dial at its end must come to
MEASURES = ("one_table", "all_tables", "sd", "ecdf")


@dataclass(frozen=True)
class Point:
    """A synthesizer at an epsilon on one database: what it claims per draw, what it loses, and how far it errs.

    `one_table` is the mean absolute error of the four statistics of one synthetic table, in half widths of the data's
    own 95 % intervals; `all_tables` that of their means over all tables; `sd` one table's error of the standard
    deviation in the same unit; `ecdf` the largest distance of the distribution functions. `dial` is the number that
    was searched: c, k or the scalar weight. Without an audit the loss is not a number.
    """

    claimed: float
    audited: float
    one_table: float
    all_tables: float
    sd: float
    ecdf: float
    dial: float | None = None


@dataclass(frozen=True)
class Database:
    """What came of one database, by synthesizer and epsilon; those that could not be brought there are left out.

    Unweighted has one point, whatever the epsilon. `first_whole` is twice the smallest F: below about that epsilon no
    re-weighted weight reaches 1. `lighter` is the share of records to which weights in proportion to 1 / F give less
    than LW's, both against the largest weight: those with F below M - m, its largest value less its smallest.
    """

    unweighted: Point
    points: Mapping[str, Mapping[float, Point]]
    first_whole: float
    lighter: float


@dataclass(frozen=True)
class Plan:
    """What is done to each database: `table_of` must be a function that other processes can import.

    Without removals there is no audit, and those who cannot be brought to an epsilon without a record stay in.
    """

    table_of: TableOf
    epsilons: tuple[float, ...]
    m: int
    removals: int
    labels: tuple[str, ...] = tuple(OPTIONS)

    def measure(self, number: int) -> Database:
        """All synthesizers at all epsilons on database `number`."""
        table = self.table_of(number)
        column = str(table.columns[0])
        data = _Data.of(Values.of(table[column]), SEED + number)

        def run(label: str, **options: Any) -> Synthesizer:
            return Synthesizer(
                f"`{column}` ~ 1", family="negative_binomial", mechanism=label, m=self.m, seed=SEED + number, **options
            ).fit(table)

        def point(made: Synthesizer) -> Point:
            tables = [Values.of(frame[column]) for frame in made.sample()]
            loss = worst_removal(made.subject_, self.removals) if self.removals else math.nan
            searches = made.trail_.searches
            dial = searches[-1].value if searches else None
            return Point(epsilon_of(made.trail_.delta), loss, *data.errors(tables), dial)

        points: dict[str, dict[float, Point]] = {label: {} for label in self.labels}
        for label in self.labels:
            for epsilon in self.epsilons:
                try:
                    made = run(label, epsilon=times(self.m, epsilon), **OPTIONS[label])
                    if not _at_its_end(made):
                        points[label][epsilon] = point(made)
                except CalibrationError:  # no value of the dial goes so low, here or without one of the records
                    continue
        unweighted = run(UNWEIGHTED)
        largest = unweighted.trail_.fits[0].largest_distinct
        counts = unweighted.trail_.fits[0].records.counts
        lighter = float(np.average(largest < largest.max() - largest.min(), weights=counts))
        return Database(point(unweighted), points, epsilon_of(float(largest.min())), lighter)


def _at_its_end(made: Synthesizer) -> bool:
    """Whether the dial's last value was reached, with all weights that can be 1 at 1, before the epsilon was.

    Where the bound jumps over the epsilon a search ends below it, too; but then a trial was above.
    """
    search = made.trail_.searches[-1]
    highest = max(bound for _, bound in search.trials)
    return highest <= search.target and search.reached < REACHED * search.target


@dataclass(frozen=True, eq=False)
class _Data:
    """A confidential column, its statistics and half widths of their intervals."""

    values: Values
    own: np.ndarray
    half: np.ndarray

    @classmethod
    def of(cls, values: Values, seed: int) -> _Data:
        wanted = statistics()
        resampled = resample(np.random.default_rng([seed, values.n]), values, wanted)
        ends = [percentile_interval(line) for line in resampled]
        half = np.array([(end.high - end.low) / 2 or 1.0 for end in ends])
        return cls(values, np.array([one.of(values) for one in wanted]), half)

    def errors(self, tables: list[Values]) -> tuple[float, float, float, float]:
        """As `Point` has them: `one_table`, `all_tables`, `sd`, `ecdf`."""
        wanted = statistics()
        made = np.array([[one.of(table) for one in wanted] for table in tables])
        scaled = (made - self.own) / self.half
        four = [place for place, one in enumerate(wanted) if one.name in STATISTICS]
        sd = next(place for place, one in enumerate(wanted) if one.name == "sd")
        return (
            float(np.abs(scaled[:, four]).mean()),
            float(np.abs(scaled[:, four].mean(axis=0)).mean()),
            float(np.abs(scaled[:, sd]).mean()),
            mean_distances(self.values, tables).largest,
        )
