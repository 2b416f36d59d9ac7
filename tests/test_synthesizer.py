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
from alphasynth.guarantee import PublicGuarantee


@pytest.fixture(scope="module")
def fitted(mixture):
    return syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism="LW_final", m=20, seed=1).fit(mixture)


def test_what_a_fit_offers(fitted, mixture):
    assert fitted.alpha_.shape == fitted.lipschitz_.by_record.shape == (1000,)
    assert fitted.lipschitz_.overall == fitted.lipschitz_.by_record.max()
    assert fitted.guarantee_.epsilon_per_draw == 2 * fitted.lipschitz_.overall
    assert fitted.guarantee_.epsilon_total == pytest.approx(20 * fitted.guarantee_.epsilon_per_draw)
    assert "asymptotic" in fitted.guarantee_.scope
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
    picked = float(np.exp(one._fitted.picked.theta["beta"][0, 0]))
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"formula": "y ~ x"}, r"covariates must be declared public.*'x' not in public=\(\)"),
        ({"formula": "y ~ center(x)"}, "covariates must be declared public.*'x'"),
        ({"formula": "y"}, "formula must read 'response ~ terms'"),
        ({"family": "gamma"}, "family must be .*poisson, negative_binomial, found 'gamma'"),
        ({"mechanism": "XW"}, "mechanism must be one of"),
        ({"mechanism": 3}, "mechanism must be a name or a Mechanism, found int"),
        ({"mechanism": "CW"}, "needs a radius"),
        ({"mechanism": "CW", "radius": 0}, "radius must be positive and finite, found 0"),
        ({"mechanism": "CW", "radius": -1}, "radius must be positive"),
        ({"radius": 1.0}, "'LW' takes scale, shift, found radius"),
        ({"mechanism": "SW", "alpha": 1.2}, r"alpha must lie in \[0, 1\], found 1.2"),
        ({"m": 0}, "m must be a whole number of at least 1, found 0"),
        ({"m": 1.5}, "m must be a whole number"),
        ({"m": True}, "m must be a whole number"),
        ({"epsilon": 0}, "epsilon must be positive and finite, found 0"),
        ({"epsilon": -2.0}, "epsilon must be positive"),
        ({"epsilon": math.nan}, "epsilon must be positive"),
        ({"epsilon": 8, "scale": 0.5}, "scale must be left out when epsilon is given"),
        ({"epsilon": 8, "mechanism": "LW_final", "k": 0.9}, "k must be left out when epsilon is given"),
        ({"epsilon": 8, "mechanism": "Unweighted"}, "'Unweighted' has no weights to aim"),
        ({"public": ("y",)}, "'y' is to be synthesized and must not be declared public"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"rows": 0}, "rows must be a whole number of at least 1"),
        ({"tables_per_draw": 0}, "tables_per_draw must be a whole number"),
        ({"num_draws": 10}, "num_draws must be a whole number of at least 100"),
        ({"thresh": 0.0}, "thresh must be above 0"),
        ({"thresh": "all"}, "thresh must be above 0"),
        ({"sampler": "Nuts"}, "sampler must be a sampler such as .*, found 'Nuts'"),
        ({"sampler": syn.Nuts}, "sampler must be a sampler such as .*, found a type"),
        ({"prior": "normal"}, "prior must be a prior such as .*, found 'normal'"),
        ({"prior": syn.NormalPrior}, "prior must be a prior such as .*, found a type"),
        ({"public": None}, "public must name columns, found None"),
        ({"mechanism": "CW", "radius": 1, "within": 5}, "within must name columns, found 5"),
        ({"mechanism": "SW", "alpha": np.array([0.2, 0.3])}, "found a ndarray"),
        ({"seed": True}, "seed must be a whole number"),
        ({"formula": "y ~ 0"}, "right-hand side must be 1 or read columns"),
        ({"prior": syn.NormalPrior(), "family": syn.OwnModel(print, "y")}, "prior must be left out"),
        ({"mechanism": syn.Mechanism("x"), "scale": 1.0}, "scale must be set in the rules"),
    ],
)
def test_bad_settings_get_one_clear_sentence(mixture, change, message):
    with pytest.raises(syn.InputError, match=message) as error:
        syn.Synthesizer(**GOOD | change).fit(mixture)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "at least two records, found an empty table"),
        ([5], "at least two records, found one record"),
        ([1, None, 2], "'y' must have no missing values, found 1"),
        ([1, -2, 3], "'y' must hold counts of at least 0, found negative values"),
        ([1, 2.5, 3], "'y' must hold whole numbers, found fractions"),
        ([0, 0, 0], "'y' must hold a count above 0, found nothing but zeros"),
        ([1, math.inf], "'y' must be finite, found 1 infinite"),
        ([1, 2, 10**9], "'y' must hold counts of at most 100,000,000, found larger ones"),
        (["a", "b"], "'y' must hold counts, found a column that is not numeric"),
    ],
)
@pytest.mark.parametrize("kind", [pd.DataFrame, lambda c: pl.DataFrame(c, strict=False), pa.table])
def test_bad_tables_get_one_clear_sentence(values, message, kind):
    with pytest.raises(syn.InputError, match=message) as error:
        syn.Synthesizer(**GOOD).fit(kind({"y": values}))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        (np.full(999, 0.5), "one weight per record, found 999 for 1,000 records"),
        (np.full(1000, 1.5), r"one weight in \[0, 1\] per record"),
        (np.full(1000, -0.1), r"one weight in \[0, 1\] per record"),
    ],
)
def test_bad_weights_get_one_clear_sentence(mixture, alpha, message):
    mine = lambda: syn.Mechanism("mine", rules=(syn.Given(alpha),))  # noqa: E731
    with pytest.raises(syn.InputError, match=message):
        syn.Synthesizer(**GOOD | {"mechanism": mine()}).fit(mixture)


def test_unknown_columns_get_one_clear_sentence(mixture):
    with pytest.raises(syn.InputError, match=r"column 'z' .* is not in the table"):
        syn.Synthesizer(**GOOD | {"formula": "z ~ 1"}).fit(mixture)
    with pytest.raises(syn.InputError, match=r"column 'w' \(declared public\) is not in the table"):
        syn.Synthesizer(**GOOD | {"public": ("w",)}).fit(mixture)


@pytest.mark.parametrize(
    ("formula", "message"), [("y ~ a + b", "collinear"), ("y ~ c", "'c' must vary"), ("y ~ d", "'d' must vary")]
)
def test_covariates_without_an_answer_get_one_clear_sentence(formula, message):
    table = pd.DataFrame({"y": [1, 2, 3, 4], "a": [1, 2, 3, 5], "b": [2, 4, 6, 10], "c": 7, "d": 0})
    with pytest.raises(syn.InputError, match=message):
        syn.Synthesizer(**GOOD | {"formula": formula, "public": tuple("abcd")}).fit(table)


def test_identical_records_can_be_synthesized():
    table = pd.DataFrame({"y": [30] * 200})
    s = syn.Synthesizer(**GOOD | {"mechanism": "LW_final", "m": 3}).fit(table)
    assert np.isfinite(s.guarantee_.epsilon_total)
    assert all(20 < out["y"].mean() < 40 for out in s.sample())


@pytest.mark.parametrize("epsilon", [1e300, 1e15])
def test_a_huge_epsilon_is_met(mixture, epsilon):
    s = syn.Synthesizer(**GOOD | {"mechanism": "LW_final", "epsilon": epsilon}).fit(mixture)
    assert s.guarantee_.epsilon_total < 40


def test_a_tiny_epsilon_is_a_named_error_that_can_travel(mixture):
    with pytest.raises(syn.CalibrationError, match="must bring the bound down to the target") as error:
        syn.Synthesizer(**GOOD | {"shift": 0.5, "epsilon": 1e-300}).fit(mixture)
    copy = pickle.loads(pickle.dumps(error.value))
    assert str(copy) == str(error.value)
    assert len(copy.trail.fits) == len(error.value.trail.fits)


def test_searches_are_steady_where_draws_need_a_second_attempt():
    """Each trial is drawn by the same attempt: the answer comes near the target."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"y": rng.poisson(6, 100), "x": rng.normal(size=100).round(), "g": rng.choice(list("abc"), 100)}
    )
    for mechanism, epsilon in (("SW", 5), ("LW", 8), ("SW", 14)):
        settings = GOOD | {"formula": "y ~ x + C(g)", "public": ("x", "g"), "mechanism": mechanism, "epsilon": epsilon}
        search = syn.Synthesizer(**settings).fit(table).trail_.searches[-1]
        assert 0 <= search.gap < 0.02
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


def test_a_failed_fit_leaves_nothing_half_done(fitted, mixture):
    s = syn.Synthesizer(**GOOD)
    with pytest.raises(syn.InputError, match=r"fit\(table\) must come first"):
        s.sample()
    with pytest.raises(syn.InputError):
        s.fit(mixture.head(1))
    with pytest.raises(syn.InputError, match=r"fit\(table\) must come first"):
        _ = s.alpha_


def test_m_cannot_exceed_the_draws(mixture):
    with pytest.raises(syn.InputError, match="m must be at most the number of draws, 1,000, found 1,001"):
        syn.Synthesizer(**GOOD | {"m": 1001}).fit(mixture)


def test_representations_show_nothing_confidential(mixture):
    table = pd.DataFrame({"y": [*mixture["y"], 987_654]})
    alpha = np.append(np.linspace(0, 1, 1000), 0.123456789)
    mine = syn.Mechanism("mine", rules=(syn.Given(alpha), syn.Reweight(k=0.95)))
    s = syn.Synthesizer(**GOOD | {"mechanism": mine}).fit(table)
    shown = " ".join(
        repr(thing) for thing in (s, s.trail_, s.lipschitz_, mine, s.release(), s._fitted.problem, s._fitted)
    )
    assert "987654" not in shown
    assert "0.1234" not in shown
