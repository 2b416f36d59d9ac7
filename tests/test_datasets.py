"""Simulated tables: the same for the same seed, within what is declared of them, and fit for what they show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alphasynth as syn
from alphasynth import datasets
from alphasynth.raking.columns import Columns

TABLES = {
    "salaries": (datasets.salaries, datasets.SALARIES),
    "visits": (datasets.visits, datasets.VISITS),
    "health_survey": (datasets.health_survey, datasets.HEALTH_SURVEY),
    "panel": (datasets.panel, datasets.PANEL),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("n", [1, 2, 3_000])
def test_values_are_what_is_declared(name, n):
    simulate, facts = TABLES[name]
    table, declared = simulate(n, seed=5), Columns.of(facts).declared
    assert set(facts) == set(table.columns) - {"person"}
    for column, said in declared.items():
        values = table[column].dropna()
        assert said.missing is not None or not table[column].isna().any()
        if said.levels:
            assert set(values) <= set(said.levels)
        else:
            low, high = said.limits
            assert values.between(low, high).all()
            assert not said.whole or (values == values.round()).all()


@pytest.mark.parametrize("simulate", [datasets.nb_mixture, *(made for made, _ in TABLES.values())])
def test_a_seed_decides_the_rows(simulate):
    pd.testing.assert_frame_equal(simulate(50, seed=3), simulate(50, seed=3))
    assert not simulate(50, seed=3).equals(simulate(50, seed=4))
    for n, seed in ((0, 1), (-1, 1), (1.5, 1), (10, -1), (10, None)):
        with pytest.raises(syn.InputError, match="must be a whole number of at least"):
            simulate(n, seed=seed)


def test_the_mixture_has_the_papers_moments():
    """Mean 100; variance 100 + 100^2 (0.2 / 5 + 0.8 / 20) = 900, whose standard error at n = 200,000 is below 5."""
    y = datasets.nb_mixture(200_000, seed=2)["y"]
    assert abs(y.mean() - 100) < 4 * 30 / np.sqrt(200_000)
    assert abs(y.var() - 900) < 20


def test_the_survey_has_gaps_heaps_and_skew():
    table = datasets.health_survey(20_000)
    gone = table["weight"].isna()
    assert gone[table["age"] >= 65].mean() > gone[table["age"] < 40].mean() + 0.03
    assert table["health"].isna().mean() == pytest.approx(0.03, abs=0.005)
    assert (table["weight"].dropna() % 5 == 0).mean() > 0.7
    assert (table["costs"] == 0).mean() == pytest.approx(0.35, abs=0.015)
    assert table["costs"].skew() > 4
    assert (table.loc[~table["smoker"], "cigarettes"] == 0).all()


def test_rows_of_a_person_belong_together():
    table = datasets.panel(2_000)
    sizes = table.groupby("person").size()
    assert sizes.between(1, 4).all()
    assert (table.groupby("person")["sex"].nunique() == 1).all()
    assert not table.duplicated(["person", "year"]).any()
    both = table.groupby("person")["visits"].agg(["first", "last"])[sizes > 1]
    assert both.corr().iloc[0, 1] > 0.1  # of 1,800 persons: without a person's own level below 0.07 at three errors


def test_declared_facts_suffice_for_a_release():
    for simulate, facts in (TABLES["health_survey"], TABLES["panel"], TABLES["visits"]):
        made = syn.Synthesizer(facts, mechanism="Raked", epsilon=4, m=1).fit(simulate(300)).release()
        assert set(made.tables[0].columns) == set(facts)
