"""Inspection counts exactly what pandas counts, and suggests a family only where one suits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from alphasynth.suggestions.profile import Moments, inspect_table, suggest
from alphasynth.tables.opening import open_table


@pytest.mark.parametrize(
    ("values", "family"),
    [
        (Moments(1000, 30, 0.0, True, 100.0, 900.0), "negative_binomial"),
        (Moments(1000, 30, 0.0, True, 100.0, 105.0), "poisson"),
        (Moments(1000, 30, -1.0, True, 100.0, 900.0), None),
        (Moments(1000, 30, 0.0, False, 100.0, 900.0), None),
        (Moments(1000, 1, 5.0, True, 5.0, 0.0), None),
        (Moments(1000, 1000, 0.0, True, 500.0, 9e4), None),
        (Moments(1000, 3), None),
    ],
)
def test_a_family_is_suggested_where_one_suits(values, family):
    assert suggest(values)[0] == family


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_counts_are_those_of_pandas(tmp_path, suffix):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "y": rng.poisson(4, 500),
            "gaps": np.where(rng.random(500) < 0.2, np.nan, rng.integers(0, 9, 500)),
            "text": rng.choice(["a", "b", None], 500),
            "real": rng.normal(size=500).round(1),
        }
    )
    path = tmp_path / f"t{suffix}"
    {".csv": lambda: frame.to_csv(path, index=False), ".parquet": lambda: frame.to_parquet(path)}.get(
        suffix, lambda: frame.to_feather(path)
    )()
    profile = inspect_table(open_table(path))
    assert (profile.rows, profile.distinct_rows) == (500, len(frame.drop_duplicates()))
    for column in profile.columns:
        assert column.missing == frame[column.name].isna().sum()
        assert column.distinct == frame[column.name].nunique()
    assert [column.family for column in profile.columns] == ["poisson", "negative_binomial", None, None]


def test_wide_tables_and_doubled_names(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9, (40, 220)), columns=[f"v{i}" for i in range(220)])
    frame.to_csv(tmp_path / "wide.csv", index=False)
    profile = inspect_table(open_table(tmp_path / "wide.csv"))
    assert [column.distinct for column in profile.columns] == frame.nunique().tolist()
    assert profile.distinct_rows is None
    (tmp_path / "twice.csv").write_text("a,b,a\n1,2,3\n4,5,6\n")
    profile = inspect_table(open_table(tmp_path / "twice.csv"))
    assert profile.rows == 2
    assert [(column.name, column.distinct) for column in profile.columns] == [("b", 2), ("a", 0)]
