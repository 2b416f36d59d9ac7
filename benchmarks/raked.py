"""Whole tables: `Raked` beside MST, at equal epsilon and delta, on five tables; a benchmark, not a test.

    python benchmarks/raked.py --seeds 5 --tables rand,fair --epsilons 1,4 --methods bootstrap,raked,mst

RAND, `fair` and `anes96` ship with statsmodels; two more are simulated, with skew, heaps, gaps and interactions. All
methods have the same declared cells, and all are judged on their blocks: TV1, TV2 and TV3 are mean total variations
over all columns, pairs and triples; S2 is S_pMSE with all two-way products (1 is perfect), CART a tree's; coef the mean
over coefficients of a regression of the response's logarithm on all other columns of |synthetic - original| / standard
error; then per cent by which mean, sd and 99th percentile of the response are off.
MST needs mbi installed; `tables.py` has more peers, each in an interpreter of its own.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from alphasynth.league.bins import Bins, told
from alphasynth.league.measures import Judge
from alphasynth.league.peers import PEERS
from alphasynth.privacy.accounting import rho_within
from alphasynth.privacy.randomness import Stream
from alphasynth.privacy.spending import Spending
from alphasynth.raking.cells import Cells
from alphasynth.raking.columns import Columns
from alphasynth.raking.exact import Held
from alphasynth.raking.fitted import draw_rows
from alphasynth.raking.raked import fit
from alphasynth.raking.settings import Raked
from alphasynth.raking.sums import Confidential
from alphasynth.tables.declared import Declared
from alphasynth.tables.limits import outward

DELTA, SETTINGS = 1e-9, Raked()
# Values that at least this share of rows have are declared as heaps.
HEAPED = 0.05


class Subject(NamedTuple):
    """A table, its response, and which of its columns are skewed."""

    table: pd.DataFrame
    response: str
    skewed: tuple[str, ...]


def subjects() -> dict[str, Subject]:
    """The five tables."""
    from statsmodels.datasets import anes96, fair, randhie

    return {
        "rand": Subject(randhie.load_pandas().data, "mdvis", ("mdvis", "disea")),
        "fair": Subject(fair.load_pandas().data, "affairs", ("affairs",)),
        "anes96": Subject(anes96.load_pandas().data, "age", ("popul",)),
        "wages": Subject(wages(10_000), "visits", ("wage", "visits")),
        "health": Subject(health(5_000), "cost", ("cost",)),
    }


def wages(n: int) -> pd.DataFrame:
    """Heaped hours, skewed wages and visits, an interaction of sex and age."""
    rng = np.random.default_rng(0)
    region, sex = rng.choice(5, n, p=[0.35, 0.25, 0.2, 0.15, 0.05]), rng.integers(0, 2, n)
    age = np.clip(np.round(rng.normal(45, 15, n)), 18, 95)
    edu = np.clip(np.round(rng.normal(12 + 0.02 * (45 - age), 2.5)), 6, 20)
    hours = np.where(rng.random(n) < 0.55, 40, np.clip(np.round(rng.normal(38, 9, n)), 5, 80))
    log_wage = 1.2 + 0.08 * edu + 0.02 * age - 0.0002 * (age - 45) ** 2 + 0.2 * sex - 0.1 * sex * (age > 50)
    wage = np.clip(np.round(np.exp(log_wage + 0.3 * (region == 0) + rng.normal(0, 0.45, n)), 2), 1, 400)
    rate = np.exp(0.3 + 0.02 * age - 0.3 * sex + 0.5 * (region == 2) + rng.normal(0, 0.6, n))
    visits = np.clip(rng.poisson(rate), 0, 60)
    whole = {"age": age, "edu": edu, "hours": hours, "visits": visits}
    return pd.DataFrame({"region": region, "sex": sex, **{k: v.astype(int) for k, v in whole.items()}, "wage": wage})


def health(n: int) -> pd.DataFrame:
    """Blood pressure in fives, costs with zeros and a long tail, an interaction of smoking and weight; gaps in two."""
    rng = np.random.default_rng(1)
    group, weight = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.normal(size=n)
    bmi = np.round(np.clip(26 + 4 * weight + group, 14, 60), 1)
    smoke = (rng.random(n) < 1 / (1 + np.exp(1 - 0.5 * group))).astype(int)
    pressure = np.round(np.clip(120 + 8 * weight + rng.normal(0, 10, n) + 5 * smoke * weight, 70, 220) / 5) * 5
    cost = np.exp(5 + 0.05 * (bmi - 26) + 0.5 * smoke + rng.normal(size=n))
    cost = np.where(rng.random(n) < 0.3, 0, np.round(np.clip(cost, 0, 50_000))).astype(int)
    active = np.clip(np.round(3 - 0.1 * (bmi - 26) + rng.normal(size=n)), 0, 7).astype(int)
    table = pd.DataFrame(
        {"group": group, "bmi": bmi, "smoke": smoke, "pressure": pressure, "active": active, "cost": cost}
    )
    return with_gaps(table, {"bmi": np.full(n, 0.08), "pressure": np.where(smoke > 0, 0.15, 0.08)})


def with_gaps(table: pd.DataFrame, often: dict[str, np.ndarray]) -> pd.DataFrame:
    """With gaps, so often in each row (rows,)."""
    rng = np.random.default_rng(2)
    return table.assign(**{name: table[name].where(rng.random(len(table)) >= each) for name, each in often.items()})


def columns_of(subject: Subject) -> Columns:
    """What is declared of each column; these tables are public, and so is what is read off them."""
    found = {}
    for name, column in subject.table.items():
        values = np.unique(column.dropna().to_numpy(float))
        gaps = {"missing": "model"} if column.isna().any() else {}
        whole = bool((values == np.floor(values)).all())
        if len(values) <= 20 or (not whole and len(values) <= 64):
            found[str(name)] = Declared(levels=tuple(values.tolist()), **gaps)
            continue
        often = column.value_counts(normalize=True)
        heaps = tuple(sorted(float(v) for v, share in often.items() if share >= HEAPED and v != 0))
        limits = outward(float(values[0]), float(values[-1]))
        found[str(name)] = Declared(limits=limits, whole=whole, skewed=name in subject.skewed, heaps=heaps, **gaps)
    return Columns.of(found)


def declare(subject: Subject) -> dict[str, Cells]:
    """Cells of each column."""
    return {cells.name: cells for cells in columns_of(subject).cells()}


def codes_of(cells: dict[str, Cells], table: pd.DataFrame) -> tuple[np.ndarray, ...]:
    gone = {name: table[name].isna().to_numpy() for name in cells}
    return tuple(
        column.codes(table[name].fillna(column.lower[0]).to_numpy(float), gone[name]) for name, column in cells.items()
    )


def bootstrap(subject: Subject, cells: dict[str, Cells], epsilon: float, seed: int) -> pd.DataFrame:
    """The table's rows, drawn again: no privacy."""
    return subject.table.iloc[np.random.default_rng(seed).integers(len(subject.table), size=len(subject.table))]


def response(subject: Subject, cells: dict[str, Cells], epsilon: float, seed: int) -> pd.DataFrame:
    """One table by `Raked`, told which column is the response."""
    return raked(subject, cells, epsilon, seed, replace(SETTINGS, response=(subject.response,)))


def raked(
    subject: Subject, cells: dict[str, Cells], epsilon: float, seed: int, settings: Raked = SETTINGS
) -> pd.DataFrame:
    """One table by `Raked`."""
    codes, columns = codes_of(cells, subject.table), list(cells.values())
    spending = Spending(Fraction(rho_within(epsilon, DELTA)), pure=False)
    stream, rng = Stream(np.random.SeedSequence(seed)), np.random.default_rng(seed)
    fitted = fit(rng, Confidential(Held.of(codes), stream, spending, len(subject.table)), columns, settings)
    assert sum(cost for _, cost in spending.spent) == spending.total
    drawn = draw_rows(rng, fitted, len(subject.table))
    made = {column.name: told_gaps(*column.draw(rng, each)) for column, each in zip(columns, drawn, strict=True)}
    return pd.DataFrame(made).astype(subject.table.dtypes.to_dict())


def told_gaps(values: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Numbers with gaps in their places."""
    return np.where(gone, np.nan, values)


def mst(subject: Subject, cells: dict[str, Cells], epsilon: float, seed: int) -> pd.DataFrame:
    """One table by MST, with our blocks for its bins."""
    bins, rng = bins_of(cells), np.random.default_rng(seed)
    sizes = [each.size for each in grids_of(bins).values()]
    return decode(subject, bins, PEERS["mst"].make(encode(subject, bins), sizes, epsilon, DELTA, rng), rng)


def bins_of(
    cells: dict[str, Cells], singles: Callable[[str], list[float]] = lambda name: []
) -> dict[str, dict[str, object]]:
    """Our blocks, as peers see them, and values of a column's that are to have bins of their own."""
    return {name: told(each, singles(name)) for name, each in cells.items()}


def grids_of(bins: dict[str, dict[str, object]]) -> dict[str, Bins]:
    return {name: Bins.of(each) for name, each in bins.items()}


def encode(subject: Subject, bins: dict[str, dict[str, object]]) -> list[np.ndarray]:
    """What a peer is handed: the bin of every value."""
    found = []
    for name, each in grids_of(bins).items():
        column = subject.table[name]
        codes = each.encode(column.fillna(each.lower[0]).to_numpy(float))
        found.append(np.where(column.isna(), each.size - 1, codes))
    return found


def decode(
    subject: Subject, bins: dict[str, dict[str, object]], drawn: list[np.ndarray], rng: np.random.Generator
) -> pd.DataFrame:
    """A peer's rows as a table of the subject's types."""
    made = {
        name: told_gaps(*each.decode(column, rng))
        for (name, each), column in zip(grids_of(bins).items(), drawn, strict=True)
    }
    return pd.DataFrame(made).astype(subject.table.dtypes.to_dict())


def score(subject: Subject, made: pd.DataFrame) -> dict[str, float]:
    """All measures of one synthetic table."""
    table, frame = (pa.Table.from_pandas(each, preserve_index=False) for each in (subject.table, made))
    return Judge(columns_of(subject), table, (subject.response,)).score(frame)


METHODS = {"bootstrap": bootstrap, "raked": raked, "response": response, "mst": mst}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tables", default="rand,fair,anes96,wages,health")
    parser.add_argument("--epsilons", default="1,4")
    parser.add_argument("--methods", default="bootstrap,raked,mst")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.tables.split(","):
        subject = subjects()[name]
        cells = declare(subject)
        for method, epsilon in itertools.product(asked.methods.split(","), map(float, asked.epsilons.split(","))):
            lines, seconds = [], []
            for seed in range(asked.seeds):
                begin = time.process_time()
                made = METHODS[method](subject, cells, epsilon, seed)
                seconds.append(time.process_time() - begin)
                lines.append(score(subject, made))
            found = pd.DataFrame(lines)
            errors = found.std() / np.sqrt(len(found))
            shown = ", ".join(f"{k} {found[k].mean():.3g} ({errors[k]:.1g})" for k in found)
            print(f"{name}, epsilon {epsilon:g}, {method}: {shown}; {np.mean(seconds):.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
