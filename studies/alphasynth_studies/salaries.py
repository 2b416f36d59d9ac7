"""Salaries of section 4: samples of the 2017 Survey of Doctorate Recipients, or stand-ins with their figures."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from alphasynth.errors import InputError
from alphasynth_studies.study import SEED

COLUMN = "SALARYP"
SKIP = 9_999_998  # the survey's code for a question that does not apply
N = 1_000
THOUSAND = 1_000
# The paper's sample, in dollars.
MEAN, MEDIAN, HIGHEST, SD = 107_609, 95_000, 509_000, 69_718
STAND_IN = "simulated stand-in"
HOW_IT_WAS_MADE = (
    "The stand-in has 1,000 salaries in whole thousands. Ten are 0 and at least five stand at the top code of "
    "509,000. The rest are log-normal around 95,000 (standard deviation 0.6 of the logarithm), three in five rounded"
    " to 5,000 as people report them. The ten in the middle are set to 95,000; the distances of the upper half from "
    "the median are stretched by a power and a factor such that mean and standard deviation come out; then single "
    "salaries are moved by 1,000 until mean, median, range and standard deviation are the paper's to the dollar. "
    "Nothing else about the real sample is known to it: its tails, heaps and zeros are ours."
)


def survey_table(number: int, path: str) -> pd.DataFrame:
    """Sample `number` of 1,000 salaries of the survey's public-use file, in dollars."""
    salaries = _survey(path)
    rng = np.random.default_rng([SEED, number])
    return pd.DataFrame({"salary": rng.choice(salaries, N, replace=False)})


@lru_cache
def _survey(path: str) -> np.ndarray:
    """All salaries of the file but skips, ascending; raise `InputError` for a file that is another."""
    from alphasynth.evaluation.values import is_numeric, read_records
    from alphasynth.tables.opening import open_table

    table = open_table(path)
    names = [name for name in table.column_names if name.upper() == COLUMN]
    if len(names) != 1:
        raise InputError(f"the survey's file must have one column {COLUMN}, found {len(names)}")
    records = read_records(table, names)
    values = records.columns[names[0]]
    if not is_numeric(values):
        raise InputError(f"column {COLUMN} must hold numbers, found a column that is not numeric")
    held = values != SKIP
    if (values[held] > HIGHEST).any() or (values[held] != np.floor(values[held])).any():
        raise InputError(
            f"column {COLUMN} must hold whole dollars up to {HIGHEST:,}, the top code, or {SKIP}, found something else"
        )
    salaries = np.sort(np.repeat(values[held].astype(np.int64), records.counts[held]))
    if len(salaries) < N:
        raise InputError(f"the survey's file must hold at least {N:,} salaries, found {len(salaries):,}")
    return salaries


def stand_in_table(number: int) -> pd.DataFrame:
    """Stand-in `number`, in dollars."""
    rng = np.random.default_rng([SEED, number])
    return pd.DataFrame({"salary": rng.permutation(_stand_in(rng)) * THOUSAND})


def _stand_in(rng: np.random.Generator) -> np.ndarray:
    """1,000 whole thousands, ascending, with the published mean, median, range and sd."""
    median, top = MEDIAN // THOUSAND, HIGHEST // THOUSAND
    drawn = np.sort(median * np.exp(0.6 * rng.standard_normal(N - 15)))
    low = np.clip(drawn[drawn < median], 5, median)
    low = np.concatenate([np.zeros(10), np.quantile(low, np.linspace(0, 1, N // 2 - 10))])
    high = np.quantile(drawn[drawn > median], np.linspace(0, 1, N // 2 - 5))
    high = _stretch(low, high - median, median, top)
    salaries = np.concatenate([low, high, np.full(5, top)])
    heaped = rng.random(N) < 0.6
    salaries = np.where(heaped, 5 * np.round(salaries / 5), np.round(salaries)).astype(np.int64)
    salaries = np.sort(np.clip(salaries, 0, top))
    salaries[N // 2 - 5 : N // 2 + 5] = median
    return _settle(rng, salaries)


def _stretch(low: np.ndarray, above: np.ndarray, median: float, top: float) -> np.ndarray:
    """The upper half, median + factor * distance^power, such that mean and sd are as published."""
    from scipy.optimize import least_squares

    def upper(parameters: np.ndarray) -> np.ndarray:
        factor, power = np.exp(parameters)
        return np.asarray(np.minimum(median + factor * above**power, top - 1))

    def misses(parameters: np.ndarray) -> list[float]:
        whole = np.concatenate([low, upper(parameters), np.full(5, top)])
        return [whole.mean() - MEAN / THOUSAND, whole.std(ddof=1) - SD / THOUSAND]

    return upper(least_squares(misses, [0.0, 0.0]).x)


def _settle(rng: np.random.Generator, salaries: np.ndarray) -> np.ndarray:
    """Move salaries of the upper half by a thousand until sum and sum of squares are as published."""
    free = np.flatnonzero((salaries > MEDIAN // THOUSAND + 2) & (salaries < HIGHEST // THOUSAND - 2))
    short = MEAN * N // THOUSAND - int(salaries.sum())
    np.add.at(salaries, rng.choice(free, abs(short)), np.sign(short))
    mean, sd = MEAN / THOUSAND, SD / THOUSAND
    wanted = (N - 1) * sd**2 + N * mean**2
    while abs(missing := wanted - float((salaries**2).sum())) > 50:  # an sd to half a dollar is 70
        one, other = sorted(rng.choice(free, 2, replace=False), key=lambda at: int(salaries[at]))
        step = 1 if missing > 0 else -1
        gain = 2 * step * int(salaries[other] - salaries[one]) + 2
        inside = salaries[one] - step > MEDIAN // THOUSAND and salaries[other] + step < HIGHEST // THOUSAND
        if inside and abs(missing - gain) < abs(missing):
            salaries[other] += step
            salaries[one] -= step
    return salaries
