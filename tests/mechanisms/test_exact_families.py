"""Every family without covariates is drawn exactly under a strict mechanism: exact losses, two groups, two parts."""

from __future__ import annotations

import json
import warnings

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from alphasynth.cli.entry import run_command
from alphasynth.errors import InputError, StrictWarning
from alphasynth.exact.axes import default_of
from alphasynth.exact.public_grid import QUANTA, PublicGrid, points, prior_weights, total_cost
from alphasynth.inference.contribution import STRICT, Censored, bare
from alphasynth.inference.diagnostics import Diagnostics
from alphasynth.inference.sampler import Draws
from alphasynth.mechanisms.binding import with_helpers
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.fit import in_64_bit
from alphasynth.mechanisms.strict import at_limit, is_exact
from alphasynth.models.column_model import ColumnModel
from alphasynth.models.families import FAMILIES
from alphasynth.models.model import TAKES_PART
from alphasynth.models.table_model import TableModel
from alphasynth.privacy.divergence import pure_loss
from alphasynth.synthesis.gaps import frame_without_gaps
from alphasynth.synthesizer import Synthesizer
from alphasynth.tables.records import Records

RANGE = {"limits": [1.0, 100.0]}
DECLARED = {
    **dict.fromkeys(["normal", "log_normal", "gamma"], RANGE),
    **dict.fromkeys(["two_part_normal", "two_part_log_normal", "two_part_gamma"], RANGE),
    "bernoulli": {"levels": [0, 1]},
    "categorical": {"levels": [0, 1, 2]},
    "ordinal": {"levels": [0, 1, 2, 3]},
}
# Coarse, which no loss minds.
STEPS = {"mean": 0.4, "phi": 1.0, "beta": 0.4, "log_sd": 0.8, "log_shape": 1.0, "cut": 0.8}


def values_of(family):
    if family in ("bernoulli", "categorical", "ordinal"):
        return st.sampled_from(DECLARED[family]["levels"])
    if family in ("normal", "log_normal", "gamma"):
        return st.one_of(st.floats(1, 100), st.sampled_from([1.0, 5.0, 95.0, 100.0]))
    if family.startswith("two_part"):
        return st.one_of(st.just(0.0), st.floats(1, 100), st.sampled_from([1.0, 100.0]))
    least = int("truncated" in family)
    return st.one_of(st.integers(least, 30), st.sampled_from([least, 1, 400, 100_000_000]))


def made_for(family, mechanism, epsilon, declared=None):
    facts = {"y": DECLARED.get(family, {}) | (declared or {})}
    return Synthesizer(["y ~ 1"], family=[family], declared=facts, mechanism=mechanism, m=1, epsilon=epsilon, seed=1)


def coarse(block):
    """A coarse public grid for a block, by the names of its parameters."""
    names = bare(block.model).coordinates(False)
    return PublicGrid({}, {name: STEPS[name.partition("[")[0]] for name in names}).axes(block.model, {})


def log_output(block):
    """Log probabilities, up to a constant, of a block's points, from the whole numbers drawn from; and its epsilon."""
    assert isinstance(block.sampler, PublicGrid)
    axes = coarse(block)
    counts = block.rows.total(block.records.counts)[: block.rows.size]
    cost = total_cost(block.model, axes, block.rows.distinct, counts)
    log_prior = np.log(prior_weights(block.model, axes))
    return log_prior - (cost - cost.min()) * (block.model.epsilon / QUANTA), block.model.epsilon


@in_64_bit
def log_outputs(synthesizer, table, place=0.5):
    """Those of each block, and of what follows a first draw, at the point of the grid so far along it."""
    found = []
    for block in synthesizer.bind(synthesizer.read(table)).blocks:
        found.append(log_output(block))
        if block.second is not None:
            at = points(coarse(block))
            first = Draws.of(block.model, at[[int(place * (len(at) - 1))]], Diagnostics("PublicGrid", 1))
            found.append(log_output(block.after(first)))
    return found


# Of which Recentred's two parts each get some, even where a column is modelled in two.
EPSILONS = {"Censored": 1.0, "Recentred": 3.0, "BetaDivergence": 1.0}


def test_every_strict_mechanism_is_here():
    """But for `Scored`, which draws on no grid: tests/mechanisms/test_scored.py."""
    assert {*EPSILONS} == {*STRICT}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", EPSILONS)
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_the_loss_never_exceeds_epsilon(mechanism, family, data):
    """Of each part its own share, and so of all together: every strict mechanism with every family."""
    rows = data.draw(st.lists(values_of(family), min_size=2, max_size=9)) * data.draw(st.sampled_from([1, 40]))
    added, place = data.draw(values_of(family)), data.draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))
    synthesizer = made_for(family, mechanism, EPSILONS[mechanism])
    one, other = (log_outputs(synthesizer, pd.DataFrame({"y": part}), place) for part in (rows, [*rows, added]))
    parts = (1 + (FAMILIES[family].above is not None)) * (1 + (mechanism == "Recentred"))
    assert len(one) == len(other) == parts
    assert sum(epsilon for _, epsilon in one) <= EPSILONS[mechanism]
    for (left, epsilon), (right, _) in zip(one, other, strict=True):
        assert pure_loss(left, right) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("family", ["normal", "log_normal", "gamma", "two_part_normal"])
@pytest.mark.parametrize("number", [1_221, 1_222, 1_223])
def test_two_groups_lose_no_more_than_epsilon_either(family, number):
    """One record decided which of two modes a Markov chain saw."""
    synthesizer = made_for(family, "Censored", 0.25)
    tables = [pd.DataFrame({"y": np.r_[np.full(number + more, 95.0), np.full(1_000, 5.0)]}) for more in (0, 1)]
    for (one, share), (other, _) in zip(*(log_outputs(synthesizer, table) for table in tables), strict=True):
        assert pure_loss(one, other) <= share * (1 + 1e-9)


def test_two_groups_give_the_same_tables_with_one_record_more():
    """10,921 records at 95 and 9,080 at 5, epsilon 1, default grid: which group sd the draws have is as the target's.

    A chain saw 26.5 in all runs, and with one record more 2.4 in all. 1,000 independent draws: a share is sure to five
    standard errors.
    """
    found = []
    for number in (10_921, 10_922):
        table = pd.DataFrame({"score": np.r_[np.full(number, 95.0), np.full(9_080, 5.0)]})
        made = Synthesizer(
            "score ~ 1",
            family="normal",
            declared={"score": {"limits": [0, 100]}},
            mechanism="Censored",
            epsilon=1.0,
            m=1,
            seed=3,
        )
        with warnings.catch_warnings(action="ignore"):
            made.fit(table)
        assert made.guarantee_.public().exact
        found.append(50 * made.trail_.fits[-1].columns[0].draws.theta["sd"])
    narrow = [(sd < 15).mean() for sd in found]
    # The log odds of the two modes differ by at most epsilon.
    low, high = (np.clip(share, 1e-3, 1 - 1e-3) for share in sorted(narrow))
    error = np.sqrt(1 / (low * (1 - low)) + 1 / (high * (1 - high))) / np.sqrt(1_000)
    assert np.log(high / (1 - high)) - np.log(low / (1 - low)) <= 1 + 5 * error


def test_normal_draws_agree_with_quadrature():
    """Two groups and a default grid: means and sds of 1,000 exact draws beside sums over all points."""
    table = pd.DataFrame({"y": np.r_[np.full(40, 95.0), np.full(35, 5.0), np.linspace(20, 80, 30)]})
    made = made_for("normal", "Censored", 2.0)
    with warnings.catch_warnings(action="ignore"):
        made.fit(table)
    draws = made.trail_.fits[-1].columns[0].draws
    (block,) = made.bind(made.read(table)).blocks
    with jax.enable_x64(True):
        axes = block.sampler.axes(block.model, {})
        counts = block.rows.total(block.records.counts)[: block.rows.size]
        cost = total_cost(block.model, axes, block.rows.distinct, counts)
        log_weight = np.log(prior_weights(block.model, axes)) - (cost - cost.min()) * (block.model.epsilon / QUANTA)
    weight = np.exp(log_weight - log_weight.max()).reshape([axis.points for axis in axes])
    for place, axis in enumerate(axes):
        cumulated = np.cumsum(weight.sum(axis=1 - place)) / weight.sum()
        at = np.searchsorted(axis.u, draws.u[:, place] + axis.step / 2) - 1
        # Uniform within the step that each point of the cumulated distribution takes.
        below = np.concatenate([[0.0], cumulated])[at]
        uniform = below + np.random.default_rng(1).random(len(at)) * (cumulated[at] - below)
        assert stats.kstest(uniform, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mechanism", STRICT)
def test_every_family_without_covariates_is_exact(family, mechanism):
    rng = np.random.default_rng(0)
    y = rng.choice(DECLARED[family]["levels"], 60) if "levels" in DECLARED.get(family, {}) else rng.integers(1, 9, 60)
    problem = made_for(family, mechanism, 9.0).bind(Records.from_table(pd.DataFrame({"y": y}), ["y"]))
    assert isinstance(problem, Chain)
    assert all(isinstance(block.sampler, PublicGrid) for block in problem.blocks)
    assert len(problem.blocks) == 1 + (FAMILIES[family].above is not None)


def test_whether_draws_are_exact_is_said_from_public_facts():
    from alphasynth.models.coefficient_priors import LkjPrior, NormalPrior
    from alphasynth.tables.declared import Declared

    def model(family, levels=(), K=1, prior=None):
        declared = Declared(levels=levels, limits=(1.0, 9.0))
        return FAMILIES[family].model("y", declared, prior or NormalPrior(), K)

    grid = PublicGrid()
    assert is_exact(Censored(), model("ordinal", tuple("abcd")), covariates=False, grid=grid)
    assert not is_exact(Censored(), model("categorical", tuple("abcde")), covariates=False, grid=grid)
    assert not is_exact(Censored(), model("normal", K=2), covariates=True, grid=grid)
    assert not is_exact(Censored(), model("negative_binomial", K=2), covariates=True, grid=grid)
    assert not is_exact(Censored(), model("normal", prior=LkjPrior()), covariates=False, grid=grid)
    assert is_exact(Censored(), model("normal", K=2), covariates=True, grid=PublicGrid({"beta[0]": (0.0, 1.0)}))
    assert default_of(model("normal"), "log_sd", 2).points > 400


@pytest.mark.parametrize(
    ("family", "limits", "step"),
    [("normal", {"beta[0]": (-0.5, 0.5), "log_sd": (-4.0, 0.0)}, 0.02), ("gamma", {"log_shape": (-1.0, 4.0)}, None)],
)
def test_limits_and_steps_of_one_column_go_by_its_parameters(family, limits, step):
    table = pd.DataFrame({"y": np.random.default_rng(0).uniform(20, 60, 300)})
    made = Synthesizer(
        "y ~ 1", family=family, declared={"y": RANGE}, mechanism="Censored", m=1, epsilon=4.0, limits=limits, step=step
    )
    axes = made.bind(made.read(table)).blocks[0].sampler.axes(made.bind(made.read(table)).blocks[0].model, {})
    ends = {axis.name: (axis.low, axis.high) for axis in axes}
    assert limits.items() <= ends.items()
    options = {"declared": {"y": RANGE}, "mechanism": "Censored", "m": 1, "epsilon": 4.0}
    with pytest.raises(InputError, match="must be of the parameters beta"):
        Synthesizer("y ~ 1", family=family, limits={"mean": (1, 2)}, **options).fit(table)
    with pytest.raises(InputError, match="found them with several columns"):
        Synthesizer(["y ~ 1", "x ~ 1"], family="poisson", mechanism="Censored", m=1, epsilon=4.0, step=0.1)


@pytest.mark.slow
def test_coarse_grids_of_continuous_columns_warn():
    table = pd.DataFrame({"y": np.random.default_rng(0).normal(50, 12, 4_000).clip(1, 100)})
    options = {"family": "normal", "declared": {"y": RANGE}, "mechanism": "Censored", "m": 1, "epsilon": 4.0, "seed": 1}
    with pytest.warns(StrictWarning, match=r"coarse beside what 4,000 records tell of beta\[0\]"):
        Synthesizer("y ~ 1", **options, step={"beta[0]": 0.2}).fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Synthesizer("y ~ 1", **options).fit(table)


def test_where_a_family_ends_is_no_limit():
    model = FAMILIES["normal"].model("y", ColumnModel.of("y ~ 1", "normal", declared=RANGE).declared, None, 1)
    axes = tuple(PublicGrid()._axis(name, default_of(model, name, 2)) for name in ("beta[0]", "log_sd"))
    lowest = Draws(np.array([[0.0, axes[1].low]]), {}, Diagnostics("PublicGrid", 1))
    highest = Draws(np.array([[0.0, axes[1].high]]), {}, Diagnostics("PublicGrid", 1))
    assert at_limit(axes, lowest) == []
    assert at_limit(axes, highest) == [axes[1]]


def test_columns_in_two_parts_become_two_columns():
    model = TableModel.of(
        [
            ColumnModel.of("income ~ age", "two_part_gamma", 3.0, {"limits": [1, 9], "missing": "model"}),
            ColumnModel.of("age ~ 1", "zero_inflated_poisson"),
            ColumnModel.of("sex ~ income", "bernoulli", declared={"levels": ["f", "m"]}),
        ]
    ).with_indicators()
    parts = model.with_parts()
    assert parts.names == ("age is not 0", "age", "income is missing", "income is not 0", "income", "sex")
    assert parts.helpers == {"age is not 0", "income is missing", "income is not 0"}
    income = parts.column("income")
    assert income.family == "gamma"
    assert income.where == (("income is missing", False), ("income is not 0", True))
    assert income.gap == "income is missing"
    assert parts.column("income is not 0").where == (("income is missing", False),)
    assert parts.column("income is not 0").formula.text == "`income is not 0` ~ age"
    assert parts.column("age").family == "zero_truncated_poisson"
    budgets = {column.name: column.budget for column in parts.columns}
    assert [budgets[name] for name in parts.names] == [0.5, 0.5, 1.5, 0.75, 0.75, 1.0]
    assert parts.with_parts() == parts


def test_records_of_parts_add_where_they_belong_and_nowhere_else():
    table = pd.DataFrame({"y": [0.0, 0.0, 3.0, 4.0, np.nan, 4.0]})
    model = TableModel.of([ColumnModel.of("y ~ 1", "hurdle_poisson", declared={"missing": "model"})])
    _, arrow, _ = frame_without_gaps(table, ["y"], model, strict=True)
    records = with_helpers(model.with_indicators().with_parts(), Records.from_arrow(arrow))
    assert records.size == Records.from_arrow(arrow).size
    made = made_for("hurdle_poisson", "Censored", 3.0, {"missing": "model"})
    gap, above, value = made.bind(made.read(table)).blocks
    with jax.enable_x64(True):
        for block, taking_part in ((gap, 6), (above, 5), (value, 3)):
            counts = block.rows.total(block.records.counts)[: block.rows.size]
            takes_part = np.asarray(block.rows.distinct.get(TAKES_PART, np.ones(block.rows.size)))
            assert (counts * takes_part).sum() == taking_part
            cost = total_cost(block.model, coarse(block), block.rows.distinct, counts * (1 - takes_part))
            assert (cost == 0).all()


def half_empty(n=1_500, seed=0):
    rng = np.random.default_rng(seed)
    above = rng.random(n) < 0.6
    table = pd.DataFrame({"x": np.where(above, rng.lognormal(3, 0.5, n).clip(1, 400).round(2), 0.0)})
    table["y"] = np.where(rng.random(n) < 0.3, 0, 1 + rng.poisson(4, n)).astype(float)
    table.loc[rng.random(n) < 0.2, "y"] = np.nan
    return table


@pytest.mark.slow
def test_zeros_and_gaps_together_come_back():
    """Shares of zeros and of gaps, and the mean above 0, within five standard errors of both."""
    table = half_empty()
    made = Synthesizer(
        ["x ~ 1", "y ~ 1"],
        family=["two_part_log_normal", "zero_inflated_negative_binomial"],
        declared={"x": {"limits": [0.5, 500.0]}, "y": {"missing": "model"}},
        mechanism="Censored",
        epsilon=40.0,
        m=1,
        seed=2,
    ).fit(table)
    (synthetic,) = made.sample()
    assert list(synthetic) == ["x", "y"]
    public = made.guarantee_.public()
    assert public.exact
    assert [entry["column"] for entry in public.columns] == ["x is not 0", "x", "y is missing", "y is not 0", "y"]
    assert sum(entry["epsilon_per_draw"] for entry in public.columns) <= 40
    assert set(public.declared_public) == {"x", "y"}
    for name, share in (("x", 0.4), ("y", 0.3)):
        own, new = ((part[name].dropna() == 0).mean() for part in (table, synthetic))
        assert new == pytest.approx(own, abs=5 * np.sqrt(2 * share * (1 - share) / 1_200))
    assert synthetic["y"].isna().mean() == pytest.approx(0.2, abs=5 * np.sqrt(3 * 0.16 / 1_500))
    own, new = (part.loc[part["y"] > 0, "y"] for part in (table, synthetic))
    assert new.mean() == pytest.approx(own.mean(), abs=5 * np.sqrt(3) * own.std() / np.sqrt(len(own)))
    assert synthetic.loc[synthetic["x"] != 0, "x"].between(0.5, 500).all()


def test_a_run_of_parts_by_the_command_line(tmp_path, capsys):
    half_empty().to_csv(tmp_path / "t.csv", index=False)
    words = ["--formula", "x ~ 1", "--family", "two_part_log_normal", "--range", "x=0.5:500", "--mechanism", "Censored"]
    more = ["--epsilon", "4", "--m", "1", "--draws", "200", "--out", str(tmp_path / "run"), "--quiet"]
    assert run_command(["synthesize", str(tmp_path / "t.csv"), *words, *more]) == 0, capsys.readouterr().err
    stated = json.loads((tmp_path / "run" / "release" / "guarantee.json").read_text())
    assert stated["exact"]
    assert [entry["column"] for entry in stated["columns"]] == ["x is not 0", "x"]
    assert list(pd.read_csv(tmp_path / "run" / "release" / "synthetic_01.csv")) == ["x"]


@pytest.mark.filterwarnings("ignore::alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("mechanism", ["Censored", "Recentred"])
def test_exact_columns_of_a_table_have_the_exact_audit(mechanism):
    """Of a column in two parts, of either stage: losses of all parts added up, at most epsilon."""
    table = pd.DataFrame({"y": np.r_[np.zeros(15), np.full(20, 95.0), np.full(17, 5.0), 100.0]})
    made = made_for("two_part_normal", mechanism, 3.0)
    made.grid = PublicGrid({}, {"beta[0]": 0.05, "log_sd": 0.1})
    made.fit(table)
    (finding,) = made.audit_(["density"])
    assert finding.delta == 0
    assert 0.1 < finding.loss <= finding.claim * (1 + 1e-9)
    assert finding.claim <= 3.0
