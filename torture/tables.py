"""The confidential table of all parts, full of values that must not be told, and the runs that are made of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

# Text that every name begins with, and a range that every income lies in: each cell of them is a canary.
NAME, INCOMES, ROWS = "cnry", (7_000_000, 9_999_999), 80
NUMBER = re.compile(r"(?<![0-9A-Za-z.])[0-9][0-9,]{6,}(?![0-9A-Za-z])")
COLUMNS = """\
[column.sex]
levels = ["f", "m"]

[column.age]
limits = [0, 110]
whole = true

[column.visits]
limits = [0, 200]
whole = true
skewed = true

[column.income]
limits = [0, 12_000_000]
whole = true
"""
MODEL = """\
[[column]]
formula = "visits ~ 1"
family = "negative_binomial"
"""
RAKED = ("--columns", "columns.toml", "--delta", "1e-6")
EXACT = ("--formula", "visits ~ 1", "--family", "negative_binomial")
SCORED = ("--formula", "visits ~ age", "--family", "negative_binomial", "--public", "age")
# Strict mechanisms, which may be published: whole tables, one column by an exact draw, a column with a covariate.
RUNS = {"Raked": RAKED, "exact draw": EXACT, "Scored": SCORED}


def people(rows: int = ROWS) -> pd.DataFrame:
    """The table; always the same."""
    rng = np.random.default_rng(20261118)
    return pd.DataFrame(
        {
            "person": [f"{NAME}{i:03}" for i in range(rows)],
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(20, 90, rows),
            "visits": rng.negative_binomial(3, 0.3, rows),
            "income": rng.integers(*INCOMES, rows),
        }
    )


PLANTED = frozenset(people()["income"].astype(str))


def told(text: str) -> list[str]:
    """Confidential values in what was said.

    >>> told("found 'CNRY007'"), told("7 rows")
    (['cnry'], [])
    """
    named = [NAME] if NAME in text.casefold() else []
    return named + [found for found in NUMBER.findall(text) if found.replace(",", "") in PLANTED]


def lay(folder: Path) -> None:
    """The table and what is declared of it, in a folder."""
    people().to_csv(folder / "people.csv", index=False)
    (folder / "columns.toml").write_text(COLUMNS)
    (folder / "model.toml").write_text(MODEL)


def command(run: str, out: str, *more: object) -> list[object]:
    """A run's command."""
    return ["synthesize", "people.csv", *RUNS[run], "--epsilon", 2, "--m", 1, "--out", out, "--quiet", *more]
