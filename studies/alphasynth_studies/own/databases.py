"""Databases of the user's own generator, and their local bounds under the user's own model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from alphasynth.catalogue import FAMILIES
from alphasynth.errors import InputError, found
from alphasynth.models.formula import Formula
from alphasynth.models.own_model import OwnModel
from alphasynth.runs.python_file import described, named_in_file
from alphasynth.synthesizer import Synthesizer
from alphasynth_studies.study import SEED
from alphasynth_studies.synthesizers import K
from alphasynth_studies.tables import mixture_table

FEWEST = 10  # records of a database
FAMILY = "negative_binomial"
RESPONSE = "y"  # where neither a formula nor a table names it


class Own(NamedTuple):
    """What is the user's own: records of a database; FILE.py:NAME of a generator and a model; and what the paper has.

    Without a generator databases come from the paper's mixture, and without a model it is the negative binomial.
    `above` is the bound of which the share of databases above is told; unless given, LW's of the first database.
    """

    n: int = 1_000
    generator: str | None = None
    model: str | None = None
    formula: str | None = None
    above: float | None = None

    def check(self) -> None:
        """Refuse what can be refused before a database is made; raise `InputError`."""
        if self.n < FEWEST:
            raise InputError(f"--n must be at least {FEWEST}, found {self.n}")
        if self.above is not None and not 0 < self.above < np.inf:
            raise InputError(f"--above must be positive and finite, found {self.above:g}")
        first, second = (self.table(number) for number in (0, 1))
        if first.equals(second):
            raise InputError("--generator must draw from its rng, found the same table twice")
        self.family(self.parsed(first).response)

    def table(self, number: int) -> pd.DataFrame:
        """Database `number`; raise `InputError` for what is none."""
        if self.generator is None:
            return mixture_table(number, self.n)
        generate = named_in_file("--generator", self.generator)
        if not callable(generate):
            raise InputError(f"--generator must be a function of rng and n, found {found(generate)}")
        name = RESPONSE if self.formula is None else Formula.parse(self.formula).response
        return _checked(generate, np.random.default_rng([SEED, number]), self.n, name)

    def parsed(self, table: pd.DataFrame) -> Formula:
        """The formula; unless given, the first column without covariates."""
        return Formula.parse(self.formula if self.formula is not None else f"`{table.columns[0]}` ~ 1")

    def family(self, response: str) -> str | OwnModel:
        """A built-in family by name, or what the user's file holds: an `OwnModel`, or a NumPyro function.

        A function observes the site that is called like the response.
        """
        if self.model is None or self.model in FAMILIES:
            return self.model or FAMILY
        if not self.model.rpartition(":")[0]:
            raise InputError(f"--model must be FILE.py:NAME or one of {', '.join(FAMILIES)}, found {found(self.model)}")
        model = named_in_file("--model", self.model)
        if isinstance(model, OwnModel):
            return model
        if not callable(model):
            raise InputError(f"--model must be an OwnModel or a function of X and y, found {found(model)}")
        return OwnModel(model, observed=response)


def _checked(generate: Callable[..., Any], rng: np.random.Generator, n: int, name: str) -> pd.DataFrame:
    """What a generator made, as a table; raise `InputError` for another length, gaps and what is not numeric.

    `name` is that of a column that comes without one.
    """
    try:
        made = generate(rng, n)
    except Exception as error:  # the user's own program, which may raise anything
        raise InputError(f"--generator must make a table from rng and n, found {described(error)}") from error
    table = made if isinstance(made, pd.DataFrame) else None
    if table is None:
        column = np.asarray(made)
        if column.ndim != 1 or column.dtype.kind not in "iufb":
            raise InputError(
                "--generator must return a DataFrame or one column of numbers, found "
                f"{found(made)}{f' of {column.ndim} dimensions' if column.ndim > 1 else ''}"
            )
        table = pd.DataFrame({name: column})
    if len(table) != n:
        raise InputError(f"--generator must return n = {n:,} records, found {len(table):,}")
    if table.isna().any(axis=None):
        raise InputError("--generator must return no missing values (NaN), found some")
    if not np.isfinite(table.select_dtypes("number").to_numpy(np.float64)).all():
        raise InputError("--generator must return finite numbers, found an infinite one")
    return table


@dataclass(frozen=True)
class OwnPlan:
    """What is done to each database; it can be sent to other processes, which read the user's files themselves."""

    own: Own

    def measure(self, number: int) -> list[float]:
        """Delta of database `number` in the rounds of LW_final: Unweighted, LW and LW_final."""
        table = self.own.table(number)
        formula = self.own.parsed(table)
        made = Synthesizer(
            formula.text,
            family=self.own.family(formula.response),
            mechanism="LW_final",
            m=1,
            public=formula.covariates,
            seed=SEED + number,
            scale=1.0,
            shift=0.0,
            k=K,
        ).fit(table)
        return [fit.lipschitz.overall for fit in made.trail_.fits]
