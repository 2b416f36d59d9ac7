"""Tables and neighbours that have broken promises, or could: two groups, heaps, ties, far records, tiny tables.

Each pair is a table and the same table with one record more. They are read by every test that puts a promise to the
test; a table that breaks one belongs here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Pair(NamedTuple):
    """A table, its neighbour with one record more, and how it is modelled: family (or families), formulas, facts."""

    name: str
    table: pd.DataFrame
    other: pd.DataFrame
    formulas: tuple[str, ...]
    families: tuple[str, ...]
    declared: dict[str, dict[str, Any]]
    public: tuple[str, ...] = ()


def column(name: str, values: Any, added: Any, family: str, **facts: Any) -> Pair:
    """One column, and one value more."""
    table = pd.DataFrame({"y": np.asarray(values)})
    other = pd.DataFrame({"y": np.append(np.asarray(values), added)})
    return Pair(name, table, other, ("y ~ 1",), (family,), {"y": facts} if facts else {})


def regression(name: str, table: pd.DataFrame, added: dict[str, Any], family: str, **facts: Any) -> Pair:
    """y on x and z, both public, and one row more."""
    other = pd.concat([table, pd.DataFrame([added])], ignore_index=True)
    formula = "y ~ x + z" if "z" in table else "y ~ x"
    public = tuple(n for n in table.columns if n != "y")
    return Pair(name, table, other, (formula,), (family,), {"y": facts} if facts else {}, public)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


SCORES = {"limits": [0, 100]}
COUNTS = [
    column("Poisson of mean 8, n = 20", rng(1).poisson(8, 20), 100_000_000, "poisson"),
    column("Poisson of mean 8, n = 30, a zero more", rng(2).poisson(8, 30), 0, "poisson"),
    column("two groups of counts, even", [5] * 60 + [95] * 60, 95, "poisson"),
    column("two groups of counts, negative binomial", [5] * 1_000 + [95] * 1_222, 95, "negative_binomial"),
    column("a constant", [7] * 40, 7, "negative_binomial"),
    column("a constant and one far record", [7] * 40, 1_000_000, "negative_binomial"),
    column("zeros alone, and one count", [0] * 25, 3, "poisson"),
    column("heaps of tens", 10 * rng(3).poisson(1.2, 200), 10, "negative_binomial"),
    column("ties", rng(4).choice([3, 7], 150), 100, "negative_binomial"),
    column("two records", [0, 1], 50, "poisson"),
    column("three records far apart", [0, 1_000, 100_000_000], 0, "negative_binomial"),
    column("skewed, ten times the largest more", rng(5).negative_binomial(1, 0.05, 300), 1_000, "negative_binomial"),
    column("a hurdle, and a far count", [0] * 80 + [4] * 20, 5_000, "hurdle_poisson"),
    column("zero-inflated, and the first count above", [0] * 50, 9, "zero_inflated_negative_binomial"),
]
CONTINUOUS = [
    column("10,921 at 95 and 9,080 at 5", [95.0] * 10_921 + [5.0] * 9_080, 95.0, "normal", **SCORES),
    column("1,222 at 95 and 1,000 at 5", [95.0] * 1_222 + [5.0] * 1_000, 95.0, "normal", **SCORES),
    column("at the limits", [0.0] * 20 + [100.0] * 20, 100.0, "normal", **SCORES),
    column("two groups, log-normal", [0.5] * 500 + [900.0] * 600, 900.0, "log_normal", limits=[0.1, 1000]),
    column("two groups, gamma", [0.5] * 500 + [900.0] * 600, 0.5, "gamma", limits=[0.1, 1000]),
    column("zero or money", [0.0] * 60 + [20.0] * 30, 999.0, "two_part_log_normal", limits=[1.0, 1000]),
    column("two values", [10.0, 90.0], 50.0, "normal", **SCORES),
]
LEVELS = [
    column("one level alone", [0] * 30, 1, "bernoulli", levels=[0, 1]),
    column("a rare level", [0] * 500 + [2], 2, "categorical", levels=[0, 1, 2]),
    column("ordered, its ends alone", [0] * 40 + [2] * 41, 1, "ordinal", levels=[0, 1, 2]),
    column("two rows", [0, 1], 1, "bernoulli", levels=[0, 1]),
]


def _design(n: int, seed: int) -> pd.DataFrame:
    x, z = rng(seed).normal(size=(2, n)).round(1)
    return pd.DataFrame({"y": rng(seed + 1).poisson(np.exp(0.5 + 0.3 * x)), "x": x, "z": z})


def _line(n: int, gap: float) -> pd.DataFrame:
    x = np.arange(n) % 2
    return pd.DataFrame({"y": (x * gap).astype(float), "x": x})


REGRESSIONS = [
    regression("leverage", _design(1_000, 7), {"y": 0, "x": 0.0, "z": 100.0}, "poisson"),
    regression("a far count with leverage", _design(60, 8), {"y": 100_000_000, "x": 9.0, "z": -9.0}, "poisson"),
    regression("few rows", _design(8, 9), {"y": 30, "x": 1.0, "z": 1.0}, "negative_binomial"),
    regression(
        "parted by x",
        pd.DataFrame({"y": np.arange(40) // 20, "x": np.arange(40) // 20 * 1.0}),
        {"y": 0, "x": 1.0},
        "bernoulli",
        levels=[0, 1],
    ),
    regression("two lines of points", _line(400, 90.0), {"y": 90.0, "x": 0}, "normal", **SCORES),
]


def _survey(more: dict[str, Any] | None = None) -> pd.DataFrame:
    sex = np.array(["f", "m"] * 60)
    table = pd.DataFrame({"sex": sex, "score": np.where(sex == "m", 95.0, 5.0), "visits": np.arange(120) % 3})
    return table if more is None else pd.concat([table, pd.DataFrame([more])], ignore_index=True)


WHOLE = [
    Pair(
        "a table of two groups, a far count more",
        _survey(),
        _survey({"sex": "f", "score": 95.0, "visits": 100_000_000}),
        ("sex ~ 1", "score ~ sex", "visits ~ sex + score"),
        ("bernoulli", "normal", "poisson"),
        {"sex": {"levels": ["f", "m"]}, "score": SCORES},
    ),
]
ALONE = [*COUNTS, *CONTINUOUS, *LEVELS]
ALL = [*ALONE, *REGRESSIONS, *WHOLE]
