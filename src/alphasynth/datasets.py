"""Simulated tables for examples and tutorials: nobody's data, the same rows for the same seed.

Beside each table stands what may be declared of its columns, in capitals: limits and levels that the simulation itself
has, as a data dictionary would say, and nothing that was read off a table.

>>> from alphasynth import datasets
>>> datasets.salaries(n=3, seed=1)["salary"].tolist()
[27100, 52700, 45900]
>>> datasets.SALARIES
{'salary': {'limits': [10000, 500000], 'whole': True}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from alphasynth.errors import require_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "HEALTH_SURVEY",
    "PANEL",
    "SALARIES",
    "VISITS",
    "health_survey",
    "nb_mixture",
    "panel",
    "salaries",
    "visits",
]
Facts = dict[str, dict[str, Any]]
HEALTH = ["bad", "fair", "good", "very good"]

SALARIES: Facts = {"salary": {"limits": [10_000, 500_000], "whole": True}}
VISITS: Facts = {
    "sex": {"levels": ["f", "m"]},
    "age": {"limits": [18, 95], "whole": True},
    "income": {"limits": [0, 200_000], "whole": True, "skewed": True, "missing": "model"},
    "visits": {"limits": [0, 60], "whole": True, "skewed": True},
}
HEALTH_SURVEY: Facts = {
    "region": {"levels": ["north", "east", "south", "west"]},
    "sex": {"levels": ["f", "m"]},
    "age": {"limits": [18, 95], "whole": True},
    "smoker": {"levels": [False, True]},
    "cigarettes": {"limits": [0, 80], "whole": True, "skewed": True, "heaps": [5, 10, 15, 20, 30, 40]},
    "weight": {"limits": [35, 200], "whole": True, "missing": "model"},
    "health": {"levels": HEALTH, "missing": "model"},
    "costs": {"limits": [0, 100_000], "skewed": True},
}
PANEL: Facts = {
    "year": {"levels": [2021, 2022, 2023, 2024]},
    "sex": {"levels": ["f", "m"]},
    "age": {"limits": [18, 80], "whole": True},
    "employed": {"levels": [False, True]},
    "hours": {"limits": [0, 70], "whole": True, "heaps": [20, 40]},
    "visits": {"limits": [0, 60], "whole": True, "skewed": True},
}


def nb_mixture(n: int = 1_000, seed: int = 1) -> pd.DataFrame:
    """The paper's counts y (section 3): 0.2 NB(100, 5) + 0.8 NB(100, 20), by mean and dispersion.

    >>> nb_mixture(n=4, seed=1)["y"].tolist()
    [114, 81, 96, 89]
    """
    rng = _rng(n, seed)
    phi = np.where(rng.random(n) < 0.2, 5.0, 20.0)
    return _frame({"y": rng.poisson(rng.gamma(phi, 100 / phi))})


def salaries(n: int = 2_000, seed: int = 1) -> pd.DataFrame:
    """Yearly salaries in whole hundreds: most between 20,000 and 80,000, a few far above. `SALARIES` has the limits.

    >>> salaries(n=1_000).columns.tolist()
    ['salary']
    """
    rng = _rng(n, seed)
    high = rng.random(n) < 0.02
    salary = np.exp(rng.normal(10.6, 0.3, n) + np.where(high, rng.normal(1.0, 0.3, n), 0.0))
    return _frame({"salary": _within(salary.round(-2), SALARIES["salary"]).astype(np.int64)})


def visits(n: int = 5_000, seed: int = 7) -> pd.DataFrame:
    """People whose income and visits to a doctor depend on age and sex; 6 of 100 incomes are missing.

    `VISITS` has limits and levels.

    >>> visits(n=2, seed=7)["sex"].tolist()
    ['m', 'm']
    """
    rng = _rng(n, seed)
    sex, age = rng.choice(["f", "m"], n), np.clip(np.round(rng.normal(46, 17, n)), 18, 95).astype(int)
    income = np.exp(9.4 + 0.012 * age + 0.25 * (sex == "m") + rng.normal(0, 0.55, n)).round(-2).clip(0, 200_000)
    number = rng.poisson(np.exp(-0.3 + 0.02 * age + 0.3 * (sex == "f")) * rng.gamma(2, 0.5, n)).clip(0, 60)
    return _frame({"sex": sex, "age": age, "income": np.where(rng.random(n) < 0.06, np.nan, income), "visits": number})


def health_survey(n: int = 4_000, seed: int = 1) -> pd.DataFrame:
    """A health survey with what surveys have: gaps, heaps and skew. `HEALTH_SURVEY` has limits and levels.

    Weights are missing more often of older people, and three of four are told in whole fives, as are most cigarettes;
    costs are 0 for 35 of 100 and have a long tail.

    >>> health_survey(n=100).isna().sum().gt(0).to_dict()["weight"]
    True
    """
    rng = _rng(n, seed)
    region, sex = rng.choice(HEALTH_SURVEY["region"]["levels"], n, p=[0.2, 0.3, 0.35, 0.15]), rng.choice(["f", "m"], n)
    age = np.clip(np.round(rng.normal(48, 18, n)), 18, 95).astype(np.int64)
    smoker = rng.random(n) < np.where(age < 65, 0.28, 0.12)
    smoked = rng.negative_binomial(3, 3 / 15, n)
    cigarettes = np.where(smoker, np.where(rng.random(n) < 0.7, (smoked / 5).round() * 5, smoked), 0)
    weight = rng.normal(68 + 14 * (sex == "m") + 0.12 * (age - 48), 13, n)
    weight = np.where(rng.random(n) < 0.75, (weight / 5).round() * 5, weight.round())
    gone = rng.random(n) < 0.04 + 0.002 * (age - 18)
    worse = 0.025 * (age - 48) + 0.5 * smoker + rng.logistic(0, 1, n)
    health = np.array(HEALTH, object)[3 - np.digitize(worse, [-0.8, 1.2, 2.8])]
    health[rng.random(n) < 0.03] = None
    costs = np.exp(5.5 + 0.012 * age + 0.6 * (worse > 1.2) + rng.normal(0, 1.1, n)).round(2)
    return _frame(
        {
            "region": region,
            "sex": sex,
            "age": age,
            "smoker": smoker,
            "cigarettes": np.clip(cigarettes, 0, 80).astype(np.int64),
            "weight": np.where(gone, np.nan, _within(weight, HEALTH_SURVEY["weight"])),
            "health": health,
            "costs": np.where(rng.random(n) < 0.35, 0.0, _within(costs, HEALTH_SURVEY["costs"])),
        }
    )


def panel(persons: int = 1_500, seed: int = 1) -> pd.DataFrame:
    """A panel of persons over four years, one to four rows each: those of a person are alike. `PANEL` has the facts.

    `person` is a number that says which rows belong together; it is no column to synthesize.

    >>> panel(persons=500).groupby("person").size().max()
    np.int64(4)
    """
    rng = _rng(persons, seed)
    stays = rng.choice([1, 2, 3, 4], persons, p=[0.1, 0.15, 0.25, 0.5])
    person = np.repeat(np.arange(persons), stays)
    wave = np.arange(len(person)) - np.repeat(np.cumsum(stays) - stays, stays)
    sex, born = rng.choice(["f", "m"], persons)[person], rng.integers(18, 75, persons)[person]
    own, n = rng.normal(0, 1, persons)[person], len(person)
    age = born + wave
    employed = (age < 67) & (rng.normal(0, 1, n) + own < 1.3)
    hours = np.where(
        rng.random(n) < 0.6, np.where(sex == "f", rng.choice([20, 40], n), 40), rng.normal(34, 9, n).round()
    )
    return _frame(
        {
            "person": person,
            "year": 2021 + wave,
            "sex": sex,
            "age": age.astype(np.int64),
            "employed": employed,
            "hours": np.where(employed, np.clip(hours, 1, 70), 0).astype(np.int64),
            "visits": rng.poisson(np.exp(0.2 + 0.012 * age + 0.35 * own)).clip(0, 60),
        }
    )


def _rng(n: object, seed: object) -> np.random.Generator:
    require_whole("the number of rows", n)
    return np.random.default_rng(require_whole("seed", seed, 0))


def _within(values: np.ndarray, facts: dict[str, Any]) -> np.ndarray:
    return np.clip(values, *facts["limits"])


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)
