"""The friendly front, used the way the README shows it."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import alphasynth as syn
from alphasynth.mechanisms.calibrate import NARROWEST
from alphasynth.privacy.guarantee import PublicGuarantee


@pytest.fixture(scope="module")
def fitted(mixture):
    return syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", m=20, seed=1).fit(mixture)


def test_what_a_fit_offers(fitted, mixture):
    assert fitted.alpha_.shape == fitted.lipschitz_.by_record.shape == (1000,)
    assert fitted.lipschitz_.overall == fitted.lipschitz_.by_record.max()
    assert fitted.guarantee_.epsilon_per_draw == 2 * fitted.lipschitz_.overall
    assert fitted.guarantee_.epsilon_total == pytest.approx(20 * fitted.guarantee_.epsilon_per_draw)
    assert "asymptotic" in fitted.guarantee_.promise
    theta = fitted.trail_.fits[-1].draws.theta
    assert theta["beta"].shape == (1000, 1)
    assert theta["phi"].shape == (1000,)
    assert len(fitted.trail_.fits) == 3
    # Equal records have equal weights and bounds, wherever they stand in the table.
    for values in (fitted.alpha_, fitted.lipschitz_.by_record):
        assert (pd.Series(values).groupby(mixture["y"].to_numpy()).nunique() == 1).all()


def test_sample_gives_m_tables_like_the_input(fitted, mixture):
    tables = fitted.sample()
    assert len(tables) == 20
    for table in tables:
        assert isinstance(table, pd.DataFrame)
        assert list(table.columns) == ["y"]
        assert len(table) == 1000
        assert table["y"].dtype == mixture["y"].dtype
        assert 90 < table["y"].mean() < 110
    assert not tables[0].equals(tables[1])


def test_a_seed_repeats_a_run_and_marks_it(fitted, mixture):
    again = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", m=20, seed=1).fit(mixture)
    assert np.array_equal(again.alpha_, fitted.alpha_)
    for one, other in zip(again.sample(), fitted.sample(), strict=True):
        pd.testing.assert_frame_equal(one, other)
    release = fitted.release()
    assert release.guarantee.releasable is False
    assert isinstance(release.guarantee, PublicGuarantee)


def test_without_a_seed_nothing_repeats_but_the_draws_stay_picked(mixture):
    make = lambda: syn.Synthesizer("y ~ 1", family="poisson", mechanism="SW", alpha=0.5, m=1).fit(mixture)  # noqa: E731
    one, other = make(), make()
    assert one.guarantee_.releasable
    assert not np.array_equal(one.trail_.fits[-1].draws.u, other.trail_.fits[-1].draws.u)
    first, second = one.sample()[0], one.sample()[0]
    assert not first.equals(second)
    # Both come from the one draw that was picked: their means differ by sampling noise only.
    picked = float(np.exp(one.trail_.fits[-1].draws.theta["beta"][one.picked_[0], 0]))
    for table in (first, second):
        assert abs(table["y"].mean() - picked) < 5 * math.sqrt(picked / 1000)


@pytest.mark.parametrize("mechanism", ["LW", "CW", "SW", "LW_final", "CW_final"])
def test_epsilon_is_the_total_and_is_kept(mixture, mechanism):
    radius = {"radius": 0.3, "relative": True} if mechanism.startswith("CW") else {}
    s = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism=mechanism, m=7, epsilon=40, seed=1, **radius)
    guarantee = s.fit(mixture).guarantee_
    assert 0.99 * 40 < guarantee.epsilon_total <= 40
    assert guarantee.public().epsilon == 40


FRAMES = {
    "pandas": (lambda table: table, pd.DataFrame),
    "polars": (lambda table: pl.from_pandas(table), pl.DataFrame),
    "pyarrow": (lambda table: pa.Table.from_pandas(table), pa.Table),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_covariates_and_every_kind_of_frame(regression, kind):
    convert, expected = FRAMES[kind]
    table = regression.assign(name="someone", visits=regression["visits"].astype("int32"))
    table = table[["name", "sex", "visits", "age"]].set_axis(np.arange(400) + 777)
    settings = {"family": "negative_binomial", "mechanism": "CW", "radius": 0.3, "relative": True, "m": 2, "seed": 1}
    s = syn.Synthesizer("visits ~ age + C(sex)", public=("age", "sex"), **settings).fit(convert(table))
    for out in s.sample():
        assert type(out) is expected
        names = out.column_names if kind == "pyarrow" else list(out.columns)
        assert names == ["sex", "visits", "age"]
        if kind == "pyarrow":
            assert out.schema.metadata is None
            assert out.schema.field("visits").type == pa.int32()
        back = out if kind == "pandas" else out.to_pandas()
        assert str(back["visits"].dtype) == "int32"
        assert back.index.equals(pd.RangeIndex(400))  # no trace of the table's own index
        assert back["age"].tolist() == table["age"].tolist()
        assert back["sex"].tolist() == table["sex"].tolist()
    assert s.trail_.fits[-1].draws.theta["beta"].shape == (1000, 4)


def test_covariates_reach_the_synthetic_rows(regression):
    s = syn.Synthesizer(
        "visits ~ age", family="negative_binomial", mechanism="Unweighted", m=5, tables_per_draw=4, seed=3, public="age"
    ).fit(regression)
    tables = s.sample()
    assert len(tables) == 20
    old = np.mean([table.loc[table["age"] > 60, "visits"].mean() for table in tables])
    young = np.mean([table.loc[table["age"] < 30, "visits"].mean() for table in tables])
    assert old > 1.5 * young  # exp(0.02 * 30) = 1.8 in the simulated table


def test_another_number_of_rows(regression):
    settings = {"family": "poisson", "mechanism": "Unweighted", "m": 1, "seed": 1}
    assert len(syn.Synthesizer("visits ~ 1", rows=37, **settings).fit(regression).sample()[0]) == 37
    out = syn.Synthesizer("visits ~ age", rows=1500, public=["age"], **settings).fit(regression).sample()[0]
    assert len(out) == 1500
    assert set(out["age"]) <= set(regression["age"])


def test_public_columns_outside_the_formula_come_along(regression):
    s = syn.Synthesizer("visits ~ 1", family="poisson", mechanism="LW", m=1, seed=1, public=("sex",)).fit(regression)
    assert list(s.sample()[0].columns) == ["visits", "sex"]


def test_synthetic_values_widen_a_type_they_do_not_fit():
    table = pd.DataFrame({"y": np.array([250, 251, 252, 253, 254, 255] * 20, np.uint8)})
    out = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Unweighted", m=1, seed=1).fit(table).sample()[0]
    assert out["y"].max() > 255
    assert out["y"].dtype == np.int64


@pytest.mark.parametrize("dtype", ["float64", "Int64", "float32", "int64[pyarrow]"])
def test_counts_of_any_numeric_type_keep_it(mixture, dtype):
    table = pd.DataFrame({"y": mixture["y"].astype(dtype)})
    out = syn.Synthesizer("y ~ 1", family="poisson", mechanism="Unweighted", m=1, seed=1).fit(table).sample()[0]
    assert out["y"].dtype == table["y"].dtype


def test_a_mechanism_of_ones_own(mixture):
    alpha = np.linspace(0.1, 1, 1000)
    mine = syn.Mechanism("mine", rules=(syn.Given(alpha), syn.Reweight(k=0.95)))
    s = syn.Synthesizer("y ~ 1", family="poisson", m=1, mechanism=mine, seed=1).fit(mixture)
    assert np.array_equal(s.trail_.fits[1].alpha, alpha)
    assert s.guarantee_.mechanism == "mine"
    assert s.guarantee_.public().rules == ("Given", "Reweight")


def test_within_compares_records_that_share_a_column(regression):
    s = syn.Synthesizer("visits ~ 1", family="poisson", mechanism="CW", radius=2, within="sex", m=1, seed=1)
    s.fit(regression)
    y, sex = regression["visits"].to_numpy(), regression["sex"].to_numpy()
    expected = [np.mean(np.abs(y[sex == sex[i]] - y[i]) <= 2) for i in range(400)]
    np.testing.assert_allclose(s.alpha_, expected)
    assert list(s.sample()[0].columns) == ["visits"]


GOOD = {"formula": "y ~ 1", "family": "negative_binomial", "mechanism": "LW", "m": 1, "seed": 1}


def test_searches_are_steady_where_draws_need_a_second_attempt():
    """Each trial is drawn by the same attempt: the answer comes near the target, or to a draw's coming in."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"y": rng.poisson(6, 100), "x": rng.normal(size=100).round(), "g": rng.choice(list("abc"), 100)}
    )
    for mechanism, epsilon in (("SW", 5), ("LW", 8), ("SW", 14)):
        settings = GOOD | {"formula": "y ~ x + C(g)", "public": ("x", "g"), "mechanism": mechanism, "epsilon": epsilon}
        search = syn.Synthesizer(**settings).fit(table).trail_.searches[-1]
        bounds = [bound for _, bound in sorted(search.trials)]
        assert bounds == sorted(bounds), "the bound rises with the dial"
        above = min(value for value, bound in search.trials if bound > search.target)
        at_a_jump = above <= search.value * (1 + NARROWEST)
        assert 0 <= search.gap < (0.1 if at_a_jump else 0.02)
        assert len(search.trials) < 25


@pytest.mark.parametrize("kind", ["slice", "dictionary", "category", "polars"])
def test_a_release_holds_nothing_of_the_table_it_was_cut_from(kind):
    names = [f"person{i:05}" for i in range(600)]
    y = np.random.default_rng(1).poisson(6, 600)
    if kind == "category":
        part = pd.DataFrame({"y": y, "id": pd.Categorical(names)}).iloc[:30]
    elif kind == "polars":
        part = pl.DataFrame({"y": y, "id": pl.Series(names, dtype=pl.Categorical)}).head(30)
    else:
        ids = pa.array(names).dictionary_encode() if kind == "dictionary" else pa.array(names)
        part = pa.table({"y": y, "id": ids}).slice(0, 30)
    release = syn.Synthesizer(**GOOD | {"public": ("id",), "family": "poisson"}).fit(part).release()
    stored = pickle.dumps(release)
    assert b"person00029" in stored
    assert b"person00030" not in stored


@pytest.mark.parametrize("kind", [pa.decimal128(5, 2), pa.float16()])
def test_responses_of_types_that_cannot_hold_counts_come_back_in_64_bits(kind):
    table = pa.table({"y": pa.array([3.0, 4.0, 5.0, 6.0] * 10).cast(kind)})
    out = syn.Synthesizer(**GOOD | {"family": "poisson"}).fit(table).sample()[0]
    assert out.schema.field("y").type == pa.int64()


def test_representations_show_nothing_confidential(mixture):
    table = pd.DataFrame({"y": [*mixture["y"], 987_654]})
    alpha = np.append(np.linspace(0, 1, 1000), 0.123456789)
    mine = syn.Mechanism("mine", rules=(syn.Given(alpha), syn.Reweight(k=0.95)))
    s = syn.Synthesizer(**GOOD | {"mechanism": mine}).fit(table)
    shown = " ".join(
        repr(thing) for thing in (s, s.trail_, s.lipschitz_, mine, s.release(), s._fitted.bound, s._fitted)
    )
    assert "987654" not in shown
    assert "0.1234" not in shown
