"""Whole tables: `Raked` beside MST, at equal epsilon and delta, on five tables; a benchmark, not a test.

    python benchmarks/raked.py --seeds 5 --tables rand,fair --epsilons 1,4 --methods bootstrap,raked,mst

RAND, `fair` and `anes96` ship with statsmodels; two more are simulated, with skew, heaps, gaps' worth of zeros and
interactions. All methods have the same declared cells, and all are judged on their blocks: TV1, TV2 and TV3 are mean
total variations over all columns, pairs and triples; S2 is S_pMSE with all two-way products (1 is perfect), CART a
tree's; coef the mean over coefficients of a regression of the response's logarithm on all other columns of
|synthetic - original| / standard error; then per cent by which mean, sd and 99th percentile of the response are off.
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
import peers

from alphasynth.evaluation.propensity import propensities
from alphasynth.evaluation.values import conform, read_records
from alphasynth.privacy.accounting import rho_within
from alphasynth.privacy.randomness import Stream
from alphasynth.privacy.spending import Spending
from alphasynth.raking.cells import Cells
from alphasynth.raking.exact import Held
from alphasynth.raking.raked import draw_rows, fit
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
    """Blood pressure in fives, costs with zeros and a long tail, an interaction of smoking and weight."""
    rng = np.random.default_rng(1)
    group, weight = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.normal(size=n)
    bmi = np.round(np.clip(26 + 4 * weight + group, 14, 60), 1)
    smoke = (rng.random(n) < 1 / (1 + np.exp(1 - 0.5 * group))).astype(int)
    pressure = np.round(np.clip(120 + 8 * weight + rng.normal(0, 10, n) + 5 * smoke * weight, 70, 220) / 5) * 5
    cost = np.exp(5 + 0.05 * (bmi - 26) + 0.5 * smoke + rng.normal(size=n))
    cost = np.where(rng.random(n) < 0.3, 0, np.round(np.clip(cost, 0, 50_000))).astype(int)
    active = np.clip(np.round(3 - 0.1 * (bmi - 26) + rng.normal(size=n)), 0, 7).astype(int)
    return pd.DataFrame(
        {"group": group, "bmi": bmi, "smoke": smoke, "pressure": pressure, "active": active, "cost": cost}
    )


def declare(subject: Subject) -> dict[str, Cells]:
    """Cells of each column; these tables are public, and so is what is read off them."""
    found = {}
    for name, column in subject.table.items():
        values = np.unique(column.to_numpy(float))
        whole = bool((values == np.floor(values)).all())
        if len(values) <= 20 or (not whole and len(values) <= 64):
            facts = Declared(levels=tuple(values.tolist()))
        else:
            often = column.value_counts(normalize=True)
            heaps = tuple(float(v) for v, share in often.items() if share >= HEAPED and v != 0)
            facts = Declared(
                limits=outward(float(values[0]), float(values[-1])), whole=whole, heaps=tuple(sorted(heaps))
            )
        found[str(name)] = Cells.of(str(name), facts, name in subject.skewed)
    return found


def codes_of(cells: dict[str, Cells], table: pd.DataFrame) -> tuple[np.ndarray, ...]:
    none = np.zeros(len(table), bool)
    return tuple(column.codes(table[name].to_numpy(float), none) for name, column in cells.items())


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
    made = {column.name: column.draw(rng, each)[0] for column, each in zip(columns, drawn, strict=True)}
    return pd.DataFrame(made).astype(subject.table.dtypes.to_dict())


def mst(subject: Subject, cells: dict[str, Cells], epsilon: float, seed: int) -> pd.DataFrame:
    """One table by MST, with our blocks for its bins."""
    return peers.synthesize("mst", subject.table, bins_of(cells), epsilon, DELTA, seed)


def bins_of(
    cells: dict[str, Cells], singles: Callable[[str], list[float]] = lambda name: []
) -> dict[str, dict[str, object]]:
    """Our blocks, as `peers` reads them, and values of a column's that are to have bins of their own."""

    def bins(each: Cells) -> dict[str, object]:
        if each.levels:
            return {"levels": list(each.levels)}
        starts = each.lower[np.unique(each.block, return_index=True)[1]]
        edges = [*starts.tolist(), float(each.upper[-1] + each.whole)]
        return {"edges": edges, "whole": each.whole, "singles": singles(each.name)}

    return {name: bins(each) for name, each in cells.items()}


def variations(cells: dict[str, Cells], table: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """Mean total variation over all columns, pairs and triples."""
    blocks = [
        [column.block[each] for column, each in zip(cells.values(), codes_of(cells, frame), strict=True)]
        for frame in (table, made)
    ]
    sizes = [column.blocks for column in cells.values()]

    def variation(columns: tuple[int, ...]) -> float:
        shape = [sizes[c] for c in columns]
        shares = []
        for frame in blocks:
            place = np.ravel_multi_index([frame[c] for c in columns], shape)
            shares.append(np.bincount(place, minlength=int(np.prod(shape))) / len(place))
        return float(np.abs(shares[0] - shares[1]).sum() / 2)

    every = {k: itertools.combinations(range(len(sizes)), k) for k in (1, 2, 3)}
    return {f"TV{k}": float(np.mean([variation(each) for each in columns])) for k, columns in every.items()}


def regression(table: pd.DataFrame, response: str, scale: pd.Series) -> object:
    import statsmodels.api as sm

    design = table.drop(columns=response).astype(float) / scale
    return sm.OLS(np.log1p(table[response].astype(float)), sm.add_constant(design)).fit()


def score(subject: Subject, cells: dict[str, Cells], made: pd.DataFrame) -> dict[str, float]:
    """All measures of one synthetic table."""
    table, response = subject.table, subject.response
    scale = table.drop(columns=response).astype(float).std()
    own, new = regression(table, response, scale), regression(made[list(table)], response, scale)
    apart = (np.abs(new.params - own.params) / own.bse).drop("const")
    records = read_records(table, list(table))
    scores = propensities(np.random.default_rng(0), records, [conform(records, read_records(made, list(table)))])
    statistics = {"mean %": np.mean, "sd %": np.std, "q99 %": lambda v: np.quantile(v, 0.99)}
    errors = {name: 100 * abs(of(made[response]) / of(table[response]) - 1) for name, of in statistics.items()}
    return {
        **variations(cells, table, made),
        "S2": scores[0].standardised,
        "CART": scores[1].standardised,
        "coef": float(apart.mean()),
        **{name: float(error) for name, error in errors.items()},
    }


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
                lines.append(score(subject, cells, made))
            found = pd.DataFrame(lines)
            errors = found.std() / np.sqrt(len(found))
            shown = ", ".join(f"{k} {found[k].mean():.3g} ({errors[k]:.1g})" for k in found)
            print(f"{name}, epsilon {epsilon:g}, {method}: {shown}; {np.mean(seconds):.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
