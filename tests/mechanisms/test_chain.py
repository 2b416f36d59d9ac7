"""Chains: the joint bound against a double loop, keys by name, order that does not matter, a chain of one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphasynth.errors import InputError
from alphasynth.inference.laplace import Laplace
from alphasynth.mechanisms.chain import Chain, JointFit, block_keys, fit_chain, joint_largest
from alphasynth.mechanisms.fit import Fit, fit
from alphasynth.mechanisms.mechanism import run
from alphasynth.mechanisms.named import named_mechanism
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.families import FAMILIES
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.accounting import split
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records


def people(n=400, seed=0) -> pd.DataFrame:
    """A small table whose columns depend on each other."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    age = np.clip(np.rint(rng.normal(45 + 5 * (sex == "f"), 12)), 18, 90).astype(int)
    visits = rng.negative_binomial(2, 1 / (1 + np.exp(0.02 * (age - 45))), n)
    return pd.DataFrame({"sex": sex, "age": age, "visits": visits})


FORMULAS = ["sex ~ 1", "age ~ sex", "visits ~ age + sex"]
KINDS = ["bernoulli", "normal", "negative_binomial"]
DECLARED = {"sex": {"levels": ["f", "m"]}, "age": {"limits": [18, 90], "whole": True}}


def chain_of(mechanism, formulas=FORMULAS, kinds=KINDS, declared=DECLARED, **options):
    given = {"m": 1, "seed": 3, "num_draws": 200, "sampler": Laplace(), **options}
    return Synthesizer(formulas, family=kinds, declared=declared, mechanism=mechanism, **given)


@pytest.fixture(scope="module")
def fitted():
    return chain_of("LW").fit(people())


def test_the_joint_bound_is_that_of_a_double_loop(fitted):
    """Over every combination of the blocks' draws, one by one, from nothing but the log-likelihoods."""
    last, chain = fitted.trail_.fits[-1], fitted._outcome.bound.chain
    few = 6
    with jax.enable_x64(True):
        f = [
            np.stack(
                [
                    np.asarray(b.model.log_lik({k: v[s] for k, v in c.draws.theta.items()}, b.rows.distinct))[b.rows.of]
                    for s in range(few)
                ]
            )
            for b, c in zip(chain.blocks, last.columns, strict=True)
        ]
    alpha = last.alpha_distinct
    slow = np.zeros(chain.records.size)
    for one, two, three in product(range(few), repeat=3):
        slow = np.maximum(slow, alpha * np.abs(f[0][one] + f[1][two] + f[2][three]))
    columns = [
        replace(c, extremes=(part.max(axis=0), part.min(axis=0))) for c, part in zip(last.columns, f, strict=True)
    ]
    np.testing.assert_allclose(alpha * joint_largest(columns), slow, rtol=1e-12)
    # And over all draws the same formula makes the run's own bound.
    np.testing.assert_array_equal(last.lipschitz.by_distinct, alpha * last.largest_distinct)
    np.testing.assert_array_equal(last.largest_distinct, joint_largest(last.columns))
    assert fitted.guarantee_.delta == last.lipschitz.overall


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5))
def test_the_joint_bound_over_any_numbers(seed, blocks, draws):
    """max(sum of largest, minus sum of smallest) is the largest |sum| over all combinations, weighted by column too."""
    rng = np.random.default_rng(seed)
    records = Records("y", {"y": np.arange(3)}, np.ones(3, np.int64), None)
    f = [3 * rng.standard_normal((draws, 3)) for _ in range(blocks)]
    alpha = rng.random((3, blocks))
    columns = [Fit(records, None, np.ones(3), np.abs(p).max(axis=0), (p.max(axis=0), p.min(axis=0))) for p in f]
    for weights in (None, alpha):
        slow = np.zeros(3)
        for combination in product(range(draws), repeat=blocks):
            parts = [f[b][s] * (1 if weights is None else alpha[:, b]) for b, s in enumerate(combination)]
            slow = np.maximum(slow, np.abs(sum(parts)))
        np.testing.assert_allclose(joint_largest(columns, weights), slow, rtol=1e-12)


def test_a_record_that_one_column_cannot_hold_has_no_finite_bound():
    records = Records("y", {"y": np.arange(2)}, np.ones(2, np.int64), None)
    bad = (np.array([np.inf, 1.0]), np.array([-np.inf, -1.0]))
    good = (np.array([-1.0, -1.0]), np.array([-np.inf, -2.0]))
    columns = [Fit(records, None, np.ones(2), np.ones(2), extremes) for extremes in (bad, good)]
    assert joint_largest(columns).tolist() == [np.inf, 3.0]


@pytest.mark.parametrize(
    "mechanism", ["Unweighted", "LW_final", "SW", pytest.param("BW", marks=pytest.mark.slow), "Censored", "Recentred"]
)
def test_a_chain_of_one_is_the_single_column_path_to_the_last_digit(mixture, mechanism):
    options = {"m": 2, "seed": 11, "num_draws": 200} | (
        {} if mechanism in ("Unweighted", "LW_final", "SW") else {"epsilon": 12.0}
    )
    if mechanism in ("Censored", "Recentred"):
        options |= {"limits": None}
    single = Synthesizer("y ~ 1", family="negative_binomial", mechanism=mechanism, **options).fit(mixture)
    model = TableModel.of([ColumnModel.of("y ~ 1", "negative_binomial")])
    chain = Synthesizer(model, mechanism=mechanism, **options).fit(mixture)
    assert isinstance(chain._outcome.bound.chain, Chain)
    for one, other in zip(single.trail_.fits, chain.trail_.fits, strict=True):
        np.testing.assert_array_equal(one.columns[0].draws.u, other.columns[0].draws.u)
        np.testing.assert_array_equal(one.alpha_distinct, other.alpha_distinct)
        assert one.lipschitz.overall == other.lipschitz.overall
    for one, other in zip(single.sample(), chain.sample(), strict=True):
        pd.testing.assert_frame_equal(one, other)
    assert single.guarantee_.epsilon_total == chain.guarantee_.epsilon_total


@pytest.mark.slow
def test_a_chain_of_one_with_public_covariates_is_the_single_column_path(regression):
    names = ["age", "sex"]
    formula = "visits ~ age + sex"
    options = {"mechanism": "LW", "m": 1, "seed": 2, "public": names, "num_draws": 200, "rows": 50}
    single = Synthesizer(formula, family="negative_binomial", **options).fit(regression)
    chain = Synthesizer(TableModel.of([ColumnModel.of(formula, "negative_binomial")]), **options).fit(regression)
    np.testing.assert_array_equal(single.lipschitz_.by_distinct, chain.lipschitz_.by_distinct)
    pd.testing.assert_frame_equal(single.sample()[0], chain.sample()[0])


def test_the_order_of_independent_columns_does_not_matter():
    """To the bound, to the draws, to the synthetic columns: keys come from names."""
    table = people()
    formulas = ["visits ~ 1", "age ~ 1", "sex ~ 1"]
    kinds = ["negative_binomial", "normal", "bernoulli"]
    one = chain_of("LW", formulas, kinds).fit(table)
    other = chain_of("LW", formulas[::-1], kinds[::-1]).fit(table[["sex", "visits", "age"]])
    assert one.guarantee_.delta == pytest.approx(other.guarantee_.delta, rel=1e-12)
    np.testing.assert_allclose(one.alpha_, other.alpha_, rtol=1e-12)
    for name in table:
        assert one.sample()[0][name].tolist() == other.sample()[0][name].tolist()


def test_blocks_have_keys_of_their_own_by_name(key):
    one, two, three = (block_keys(key, names) for names in (["a", "b"], ["b", "a"], ["b", "c"]))
    states = lambda keys: [tuple(k.generate_state(4)) for k in keys]  # noqa: E731
    assert states(one) == states(two)[::-1]
    assert states(one)[1] == states(three)[0]
    assert len(set(states(one) + states(three))) == 3
    assert states(block_keys(key, ["a"])) == states([key])


def test_columns_are_generated_from_synthetic_ones():
    """The relation holds in the synthetic table, though no synthetic row is a real one's."""
    table = people(3_000)
    made = chain_of("Unweighted", rows=20_000).fit(table).sample()[0]
    own, new = (t.groupby("sex")["age"].mean().diff().iloc[-1] for t in (table, made))
    error = np.hypot(*[2 * 12 / np.sqrt(n) for n in (3_000, 20_000)])  # of a difference of two halves' means
    assert new == pytest.approx(own, abs=5 * error)
    assert np.corrcoef(made["age"], made["visits"])[0, 1] > 0.1


@pytest.mark.parametrize(
    "mechanism", ["LW", "LW_final", "CW", "CW_final", "SW", pytest.param("BW", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("weights", ["record", "column"])
def test_every_mechanism_with_weights_takes_a_chain(mechanism, weights):
    options = {"radius": {"age": 5.0, "visits": 2.0}} if mechanism.startswith("CW") else {}
    made = chain_of(mechanism, epsilon=15.0, weights=weights, **options).fit(people())
    assert made.guarantee_.epsilon_total <= 15.0
    assert made.guarantee_.epsilon_total > 12.0 or mechanism.startswith("CW")
    last = made.trail_.fits[-1]
    assert last.alpha_distinct.ndim == (1 if weights == "record" else 2)
    assert made.guarantee_.public().weights == weights
    assert "whole row" in made.guarantee_.promise
    assert list(made.sample()[0]) == ["sex", "age", "visits"]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["Censored", "Recentred", "BetaDivergence"])
def test_strict_mechanisms_split_epsilon_over_the_blocks(mechanism):
    columns = chain_of(mechanism, epsilon=4.0).model.columns
    model = TableModel.of([replace(c, budget=budget) for c, budget in zip(columns, (1, 2, 5), strict=True)])
    made = Synthesizer(model, mechanism=mechanism, epsilon=4.0, m=2, seed=1, num_draws=200).fit(people())
    public = made.guarantee_.public()
    assert public.scope == "target", "columns with covariates are drawn by Markov chains"
    assert public.epsilon == 4.0
    costs = [entry["epsilon_per_draw"] for entry in public.columns]
    assert 2 * sum(costs) <= 4.0
    np.testing.assert_allclose(costs, [0.25, 0.5, 1.25], rtol=1e-12)
    assert made.guarantee_.epsilon_total == pytest.approx(4.0)
    assert "no privacy is promised" in public.promise
    if mechanism != "Recentred":  # each record's part is clipped block by block, never in the sum
        for block, cost in zip(made._outcome.bound.chain.blocks, costs, strict=True):
            assert block.model.epsilon == cost
        for column, cost in zip(made.trail_.fits[-1].columns, costs, strict=True):
            assert column.largest_distinct.max() <= cost


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=12), st.floats(0.01, 50.0), st.integers(1, 7))
@settings(max_examples=80, deadline=None)
def test_parts_of_epsilon_never_sum_to_more(weights, epsilon, m):
    from fractions import Fraction

    shares = [weight / sum(weights) for weight in weights]
    parts = split(epsilon, m, shares)
    assert m * sum(map(Fraction, parts)) <= Fraction(epsilon)
    np.testing.assert_allclose(parts, [epsilon / m * share for share in shares], rtol=1e-9)


def test_weights_per_column_bound_the_sum_over_columns():
    made = chain_of("LW", weights="column").fit(people())
    last = made.trail_.fits[-1]
    assert isinstance(last, JointFit)
    np.testing.assert_array_equal(last.lipschitz.by_distinct, joint_largest(last.columns, last.alpha_distinct))
    for number, column in enumerate(last.columns):  # each column's weights are the rule's, by its own F
        first = made.trail_.fits[0].columns[number]
        alone = named_mechanism("LW").rules[0](last.records, first)
        np.testing.assert_array_equal(last.alpha_distinct[:, number], alone)
        assert column.alpha_distinct.max() == pytest.approx(1.0)


def test_one_weight_per_record_is_shared_by_its_columns(fitted):
    last = fitted.trail_.fits[-1]
    for column in last.columns:
        np.testing.assert_array_equal(column.alpha_distinct, last.alpha_distinct)


def test_grouping_is_by_block(fitted):
    """A block has one line per distinct row of the columns that it uses."""
    table, blocks = people(), fitted._outcome.bound.chain.blocks
    assert [b.rows.size for b in blocks] == [
        len(table[names].drop_duplicates()) for names in (["sex"], ["sex", "age"], ["sex", "age", "visits"])
    ]


def test_fits_of_a_chain_are_those_of_its_blocks(fitted, key):
    """Run in threads, a block's draws are the same as alone."""
    chain = fitted._outcome.bound.chain
    ones = np.ones(chain.records.size)
    together = fit_chain(key, chain, ones)
    for name, block, column in zip(chain.names, chain.blocks, together.columns, strict=True):
        alone = fit(block_keys(key, chain.names)[chain.names.index(name)], block, ones)
        np.testing.assert_array_equal(alone.draws.u, column.draws.u)


@pytest.mark.slow
def test_a_run_of_a_chain_can_be_repeated():
    one, two = (chain_of("BW", epsilon=12.0).fit(people()).sample()[0] for _ in range(2))
    pd.testing.assert_frame_equal(one, two)


def test_count_weights_of_a_chain_are_those_of_a_double_loop():
    table = people(60)
    made = chain_of("CW", radius={"age": 4.0, "visits": 1.0}, epsilon=None).fit(table)
    inside = np.array(
        [
            [(a.sex == b.sex) and abs(a.age - b.age) <= 4 and abs(a.visits - b.visits) <= 1 for b in table.itertuples()]
            for a in table.itertuples()
        ]
    )
    np.testing.assert_allclose(made.alpha_, inside.mean(axis=1), rtol=1e-12)


def test_gower_distance_is_the_mean_over_columns():
    table = people(50)
    made = chain_of("CW", radius=0.2, distance="gower", epsilon=None).fit(table)
    spread = {name: np.ptp(table[name]) for name in ("age", "visits")}
    inside = np.array(
        [
            [
                ((a.sex != b.sex) + abs(a.age - b.age) / spread["age"] + abs(a.visits - b.visits) / spread["visits"])
                / 3
                <= 0.2
                for b in table.itertuples()
            ]
            for a in table.itertuples()
        ]
    )
    np.testing.assert_allclose(made.alpha_, inside.mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mechanism": "CW", "radius": 3.0}, "one by column, relative, or of a named distance"),
        ({"mechanism": "CW", "radius": 3.0, "distance": "far"}, "one of gower"),
        ({"mechanism": "LW", "weights": "both"}, "'record' or 'column'"),
        ({"mechanism": "Censored", "epsilon": 1.0, "weights": "column"}, "strict mechanism, which has none"),
        ({"mechanism": "Censored", "epsilon": 1.0, "limits": {"mean": (1.0, 2.0)}}, "one column's public grid"),
        ({"mechanism": "LW", "kinds": ["bernoulli"]}, "one for all formulas or one for each, found 1 for 3"),
        ({"mechanism": "LW", "kinds": ["bernoulli", "normal", "poison"]}, "did you mean poisson"),
        ({"mechanism": "LW", "formulas": ["sex ~ age", "age ~ sex", "visits ~ 1"]}, "in a circle"),
        (
            {"mechanism": "LW", "formulas": ["sex ~ 1", "sex ~ 1", "age ~ 1"], "declared": {"age": DECLARED["age"]}},
            "one formula, found 2 for 'sex'",
        ),
        ({"mechanism": "LW", "formulas": ["sex ~ 1", "age ~ town", "visits ~ 1"]}, "declared public .*'town'"),
        ({"mechanism": "LW", "declared": {"town": {"levels": ["a", "b"]}}}, "columns to synthesize, found 'town'"),
        ({"mechanism": "LW", "public": ["sex"]}, "is to be synthesized and must not be declared public"),
    ],
)
def test_what_a_chain_cannot_be_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        chain_of(**options)


def test_a_missing_radius_is_refused():
    with pytest.raises(InputError, match="every numeric column, found none for 'visits'"):
        chain_of("CW", radius={"age": 5.0}, epsilon=None).fit(people())


def test_strict_chains_learn_nothing_from_the_table():
    with pytest.raises(InputError, match="must not learn the levels of 'sex' from the table"):
        chain_of("Censored", epsilon=4.0, declared={"age": DECLARED["age"]}).fit(people())
    with pytest.raises(InputError, match="must learn nothing from the table"):
        chain_of("Censored", ["sex ~ 1", "age ~ 1", "visits ~ center(age)"], epsilon=4.0).fit(people())


def test_levels_read_off_the_table_are_named_in_the_guarantee():
    made = chain_of("LW", declared={"age": DECLARED["age"]}).fit(people())
    stated = made.guarantee_.public().declared_public
    assert stated["sex"] == {"levels": ["f", "m"], "read_off_the_table": ["levels"]}
    assert "read_off_the_table" not in stated["age"]


@pytest.mark.slow
def test_a_chain_has_a_draw_audit():
    made = chain_of("BW", epsilon=12.0).fit(people())
    (finding,) = made.audit_(["draw"], most=20)
    assert finding.claim <= 12.0
    assert finding.neighbours > 12  # rows removed, and canaries in visits
    assert 0 < finding.loss < 12.0
    strict = chain_of("Censored", epsilon=3.0).fit(people())
    (finding,) = strict.audit_(["draw"], most=20)
    assert finding.claim == pytest.approx(3.0)
    assert finding.verdict == "cannot tell", "draws of a Markov chain do not show what they miss"
    with pytest.raises(InputError, match="has the draw and the black-box audit"):
        made.audit_(["density"])
    with pytest.raises(InputError, match="weights per column"):
        chain_of("LW", weights="column").fit(people()).audit_(["draw"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Laplace draws failed")
@pytest.mark.filterwarnings("ignore:a released draw lies at a limit")  # counts brought to 1 have no phi of their own
def test_every_family_fits_and_generates():
    """Each family as a column of one chain."""
    rng = np.random.default_rng(5)
    n = 2_000
    positive = np.clip(rng.lognormal(1, 0.5, n), 0.5, 40)
    columns, declared = {}, {}
    for name in FAMILIES:
        if name in ("bernoulli", "categorical", "ordinal"):
            levels = ["a", "b", "c"] if name != "bernoulli" else ["a", "b"]
            columns[name], declared[name] = rng.choice(levels, n), {"levels": levels}
        elif "poisson" in name or "negative" in name:
            wide = rng.gamma(1.5, 2, n) if "negative" in name else np.full(n, 3.0)
            columns[name] = rng.poisson(wide) * (rng.random(n) < (0.6 if "_" in name.replace("negative_", "") else 1))
            if name.startswith("zero_truncated"):
                columns[name] = np.maximum(columns[name], 1)
        else:
            columns[name] = np.where(rng.random(n) < 0.3, 0.0, positive) if "two_part" in name else positive
            declared[name] = {"limits": [0.5, 40.0]}
    table = pd.DataFrame(columns)
    formulas = [f"{name} ~ 1" for name in FAMILIES]
    for mechanism, epsilon in [("Censored", 90.0)]:
        made = Synthesizer(
            formulas, family=list(FAMILIES), declared=declared, mechanism=mechanism, m=1, epsilon=epsilon, seed=1
        ).fit(table)
        (synthetic,) = made.sample()
        for name in FAMILIES:
            values = synthetic[name]
            if "levels" in declared.get(name, {}):
                assert set(values) <= set(declared[name]["levels"])
            elif name in declared:
                inside = values.between(0.5, 40.0) | ((values == 0) if "two_part" in name else False)
                assert inside.all()
            else:
                assert (values >= 0).all()
                assert values.dtype.kind == "i"


def test_run_takes_a_chain_like_one_column(fitted, key):
    trail = run(key, fitted._outcome.bound.chain, named_mechanism("LW_final"))
    assert trail.fits[-1].lipschitz.overall <= trail.fits[1].lipschitz.overall
