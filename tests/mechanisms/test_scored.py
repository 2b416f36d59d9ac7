"""`Scored`: what a record adds is bounded in whole numbers, parts of epsilon add up, and right models are found."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alphasynth as syn
from alphasynth.errors import InputError, StrictWarning
from alphasynth.evaluation.intervals import combine
from alphasynth.inference.contribution import bare
from alphasynth.inference.matching import Step, clipped
from alphasynth.inference.scores import NEGATIVE_BINOMIAL, Parameters
from alphasynth.mechanisms import scored, scored_fit
from alphasynth.mechanisms.scored import QUANTA, Scorable, Scored, contributions, plan
from alphasynth.mechanisms.scored_fit import scorable
from alphasynth.models import families
from bound_families import bound
from command_line import read, run

N = 2_000


def table(family, n=N, seed=0):
    """A response that depends on two public covariates, and the parameters it was simulated with."""
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n).round(1), rng.integers(0, 2, n)
    eta = 0.5 + 0.7 * x - 0.8 * g
    if family == "poisson":
        y, w = rng.poisson(np.exp(1 + eta)), [1.5, 0.7, -0.8]
    elif family == "negative_binomial":
        y, w = rng.poisson(rng.gamma(2, np.exp(1 + eta) / 2)), [1.5, 0.7, -0.8, math.log(2)]
    elif family == "bernoulli":
        y, w = (rng.random(n) < 1 / (1 + np.exp(-1.5 * eta))).astype(int), [0.75, 1.05, -1.2]
    elif family == "categorical":
        p = np.exp(np.column_stack([np.zeros(n), eta - 0.5, -eta - 1]))
        p /= p.sum(axis=1, keepdims=True)
        y, w = (rng.random(n)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1), [0, 0.7, -0.8, -1.5, -0.7, 0.8]
    elif family == "ordinal":
        cuts = np.array([-1, 0.5, 2.0])
        y, w = ((rng.logistic(size=n) + 0.7 * x - 0.8 * g)[:, None] > cuts).sum(axis=1), [0.7, -0.8, *cuts]
    elif family == "normal":
        y, w = 40 + 10 * (0.5 * x - 0.8 * g) + 4 * rng.normal(size=n), [-0.2, 0.1, -0.16, math.log(4 / 50)]
    elif family == "log_normal":
        half, middle = math.log(1e4) / 2, math.log(10)  # of the limits' logarithms
        y = np.exp(3 + 0.5 * x - 0.5 * g + 0.4 * rng.normal(size=n))
        w = [(3 - middle) / half, 0.5 / half, -0.5 / half, math.log(0.4 / half)]
    else:
        y, w = rng.gamma(3, np.exp(2 + 0.5 * x - 0.5 * g) / 3), [2 - math.log(1000), 0.5, -0.5, math.log(3)]
    return pd.DataFrame({"y": y, "x": x, "g": g}), np.array(w, float)


DECLARED = {
    "bernoulli": {"levels": [0, 1]},
    "categorical": {"levels": [0, 1, 2]},
    "ordinal": {"levels": [0, 1, 2, 3]},
    "normal": {"limits": [0, 100]},
    "log_normal": {"limits": [0.1, 1000]},
    "gamma": {"limits": [0.001, 1000]},
}
FAMILIES = ("poisson", "negative_binomial", *DECLARED)


def fitted(family, epsilon, data=None, formula="y ~ x + g", **more):
    data = table(family)[0] if data is None else data
    declared = {"y": DECLARED[family]} if family in DECLARED else None
    public = [name for name in ("x", "g") if name in formula]
    options = {"m": 5, "seed": 1, **more}
    return syn.Synthesizer(
        formula, family=family, mechanism="Scored", epsilon=epsilon, public=public, declared=declared, **options
    ).fit(data)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_right_model_is_found(family, epsilon):
    data, w = table(family)
    match = fitted(family, epsilon, data)._outcome.paths[0].match
    z = (match.w - w) / np.sqrt(np.diag(match.covariance))
    # Normal by then: 4.5 standard deviations in one of 66 entries happen once in 2,000 right programs.
    assert np.abs(z).max() < 4.5
    assert np.sqrt(np.diag(match.covariance)).max() < 0.5


@pytest.mark.slow
def test_intervals_cover_noise_and_sampling():
    """95 % intervals from the stated covariance, 60 tables of 400 counts, three coefficients each."""
    inside = []
    for seed in range(60):
        data, w = table("poisson", 400, seed)
        match = fitted("poisson", 1.0, data, seed=seed)._outcome.paths[0].match
        inside += (np.abs(match.w - w) < 1.96 * np.sqrt(np.diag(match.covariance))).tolist()
    # 180 entries, in threes that go together: a standard error of at most sqrt(.05 * .95 / 60) = 0.028.
    assert np.mean(inside) == pytest.approx(0.95, abs=3 * 0.028)


def any_scorable(draw):
    lines = draw(st.integers(1, 12))
    y = np.array(draw(st.lists(st.sampled_from([0, 1, 5, 300, 10**8]), min_size=lines, max_size=lines)), float)
    x = draw(st.lists(st.floats(-1e6, 1e6), min_size=lines, max_size=lines))
    X = np.stack([np.ones(lines), np.array(x)])
    return Scorable({"y": y}, X, np.ones(lines))


PARAMETERS = Parameters(NEGATIVE_BINOMIAL, 2)
ANY = st.composite(any_scorable)()
NUMBERS = st.lists(st.floats(-5, 5), min_size=3, max_size=3)
WHITE = st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=3, max_size=3)


@given(ANY, NUMBERS, WHITE, st.floats(1e-3, 1e3))
@settings(max_examples=200, deadline=None)
def test_what_a_record_adds_is_never_above_its_quanta(records, w, white, clip):
    step = Step(np.array(w), np.array(white), 1.0, clip, np.zeros(3))
    whole = contributions(PARAMETERS, step, records)
    assert whole.dtype == np.int64
    assert np.abs(whole).sum(axis=0).max() <= QUANTA


@given(ANY, NUMBERS, WHITE, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_what_a_record_adds_depends_on_its_own_row_alone(records, w, white, random):
    step = Step(np.array(w), np.array(white), 1.0, 3.0, np.zeros(3))
    whole = contributions(PARAMETERS, step, records)
    lines = records.X.shape[1]
    part = np.array(random.sample(range(lines), random.randint(1, lines)))
    other = Scorable({"y": records.columns["y"][part]}, np.ascontiguousarray(records.X[:, part]), np.ones(len(part)))
    np.testing.assert_array_equal(contributions(PARAMETERS, step, other), whole[:, part])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rows_place_in_the_table_does_not_matter(family):
    made = fitted(family, 1.0)
    (path,) = made._outcome.paths
    block = made._outcome.bound.chain.one
    records, step = scorable(block, bare(block.model)), path.match.steps[-1]
    whole = contributions(path.parameters, step, records)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        part = rng.permutation(records.X.shape[1])[: rng.integers(1, records.X.shape[1])]
        columns = {name: column[part] for name, column in records.columns.items()}
        other = Scorable(columns, np.ascontiguousarray(records.X[:, part]), records.counts[part])
        np.testing.assert_array_equal(contributions(path.parameters, step, other), whole[:, part])


def test_records_are_clipped_as_simulated_ones_are():
    made = fitted("negative_binomial", 1.0)
    (path,), problem = made._outcome.paths, made._outcome.bound.chain.one
    records, step = scorable(problem, bare(problem.model)), path.match.steps[-1]
    scores = np.stack(path.parameters.scores(step.w, records.columns, records.X), axis=1)
    fast = contributions(path.parameters, step, records) * (step.clip / QUANTA)
    np.testing.assert_allclose(fast, clipped(step, scores).T, atol=2 * step.clip / QUANTA)


@given(st.floats(1e-6, 1e3), st.integers(2, 10**9), st.integers(1, 200))
@settings(max_examples=200, deadline=None)
def test_parts_of_epsilon_add_up_to_no_more_than_it(epsilon, n, size):
    steps = plan(Scored(), epsilon, n, size)
    assert Fraction(steps.start) + sum(Fraction(one.epsilon) for one in steps.rounds) <= Fraction(epsilon)
    assert all(one.epsilon > 0 and one.clip > 0 for one in steps.rounds)


def test_there_are_fewer_rounds_where_little_is_to_be_had():
    assert [len(plan(Scored(), epsilon, 1_000, 10).rounds) for epsilon in (0.01, 0.5, 4.0)] == [1, 1, 2]
    assert len(plan(Scored(rounds=3), 0.01, 1_000, 10).rounds) == 3
    assert plan(Scored(clip=4.0), 1.0, 1_000, 10).rounds[-1].clip == 40.0


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_it_does_not_diverge_at_a_tiny_epsilon(family):
    data = table(family, 60)[0]
    with pytest.warns(StrictWarning, match="nearly as unknown as before"):
        made = fitted(family, 0.001, data)
    for each in made.sample():
        assert np.isfinite(each["y"].to_numpy(float)).all()


NASTY = {
    "two groups": np.r_[np.full(60, 5), np.full(50, 95)],
    "a constant": np.full(40, 7),
    "one far record": np.r_[np.full(40, 3), 99],
    "ties at the limits": np.r_[np.zeros(20, int), np.full(20, 100)],
    "three records": np.array([2, 90, 90]),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::alphasynth.errors.StrictWarning")  # three records tell little
@pytest.mark.parametrize("case", NASTY)
@pytest.mark.parametrize("family", ["poisson", "negative_binomial", "normal", "log_normal", "gamma"])
def test_the_exact_loss_is_at_most_epsilon(case, family):
    y = np.maximum(NASTY[case], 1) if family in ("log_normal", "gamma") else NASTY[case]
    declared = {"y": {"limits": [0.5, 200.0]}} if family in ("log_normal", "gamma") else None
    declared = {"y": {"limits": [0, 100]}} if family == "normal" else declared
    made = syn.Synthesizer("y ~ 1", family=family, mechanism="Scored", epsilon=0.8, m=1, seed=3, declared=declared)
    made.fit(pd.DataFrame({"y": y.astype(float) if declared else y}))
    subject = made.subject_
    (finding,) = made.audit_(["density"])
    assert finding.scope == "strict"
    assert finding.kept
    assert 0 < finding.loss <= finding.claim <= 0.8
    assert subject.paths


@pytest.mark.filterwarnings("ignore::alphasynth.errors.StrictWarning")
@pytest.mark.parametrize("family", families.FAMILIES)
def test_the_exact_loss_of_every_family_is_at_most_epsilon(family):
    """Two groups and a far value, and zeros where a family has a part for them; two parts have two paths."""
    _, declared = bound(family)
    above = families.FAMILIES[family].above
    if declared.levels:
        y, facts = np.repeat(declared.levels[:2], [30, 25]), {"levels": list(declared.levels)}
    else:
        y, facts = np.r_[np.full(30, 5), np.full(25, 45), 50], {"limits": [1, 50]} if declared.limits else {}
    y = y if above is None else np.r_[y, np.zeros(12, int)]
    made = syn.Synthesizer(
        ["y ~ 1"], family=[family], declared={"y": facts}, mechanism="Scored", epsilon=0.8, m=1, seed=3
    )
    (finding,) = made.fit(pd.DataFrame({"y": y})).audit_(["density"])
    assert len(made.subject_.paths) == 1 + (above is not None)
    assert finding.kept
    assert 0 < finding.loss <= finding.claim <= 0.8


def test_draws_and_tables_cost_nothing_more():
    one, many = fitted("poisson", 1.0, m=1), fitted("poisson", 1.0, m=20)
    assert one.guarantee_.epsilon_total == many.guarantee_.epsilon_total == 1.0
    assert one.guarantee_.public().epsilon == many.guarantee_.public().epsilon == 1.0
    np.testing.assert_array_equal(one._outcome.paths[0].match.w, many._outcome.paths[0].match.w)
    assert many.guarantee_.public().combining == "spread"
    assert len(many.sample()) == 20


def test_a_chain_is_strict_and_its_columns_share_epsilon():
    data = table("negative_binomial", 800)[0].assign(g=lambda t: np.where(t.g == 1, "m", "f"))
    columns = [
        syn.ColumnModel.of("g ~ 1", "bernoulli", declared={"levels": ["f", "m"]}),
        syn.ColumnModel.of("x ~ g", "normal", 2.0, {"limits": [-6, 6]}),
        syn.ColumnModel.of("y ~ x + g", "negative_binomial", 3.0),
    ]
    made = syn.Synthesizer(syn.TableModel.of(columns), mechanism="Scored", epsilon=3.0, m=3, seed=2).fit(data)
    assert made.scope == made.guarantee_.scope == "strict"
    public = made.guarantee_.public()
    assert [entry["epsilon_per_draw"] for entry in public.columns] == pytest.approx([0.5, 1.0, 1.5])
    spent = [path.plan.start + sum(one.epsilon for one in path.plan.rounds) for path in made._outcome.paths]
    assert sum(map(Fraction, spent)) <= 3
    assert public.exact
    assert public.rho is None
    (finding,) = made.audit_(["density"])
    assert finding.kept
    means = [each.groupby("g")["y"].mean() for each in made.sample()]
    assert np.mean([m["m"] / m["f"] for m in means]) == pytest.approx(math.exp(-0.8), abs=0.25)


def test_what_it_has_no_use_for_is_refused():
    for options, words in (
        ({"sampler": syn.Nuts()}, "sampler must be left out with Scored"),
        ({"prior": syn.NormalPrior()}, "prior must be left out with Scored"),
        ({"limits": {"mean": (1, 10)}}, "limits must be left out with Scored"),
        ({"rounds": 4}, "rounds must be 1, 2 or 3"),
        ({"clip": 0}, "clip must be positive"),
    ):
        with pytest.raises(InputError, match=words):
            syn.Synthesizer("y ~ 1", family="poisson", mechanism="Scored", epsilon=1.0, m=1, **options)
    with pytest.raises(InputError, match="needs an epsilon"):
        syn.Synthesizer("y ~ 1", family="poisson", mechanism="Scored", m=1)


def test_the_command_states_and_books_epsilon_once(alone, tmp_path, capsys):
    table("poisson", 300)[0].to_csv("visits.csv", index=False)
    words = ["--formula", "y ~ x + g", "--public", "x,g", "--family", "poisson", "--mechanism", "Scored"]
    assert run("synthesize", "visits.csv", *words, "--epsilon", "0.5", "--m", "7", "--out", "run", "--quiet") == 0
    stated = read("run/release/guarantee.json")
    assert (stated["scope"], stated["epsilon"], stated["exact"], stated["combining"]) == ("strict", 0.5, True, "spread")
    assert len(stated["tables"]) == 7
    summary = read("run/confidential/summary.json")
    assert summary["epsilon_total"] == summary["epsilon_unit"] == 0.5
    page = (tmp_path / "run/release/report.html").read_text()
    assert "estimates scatter between tables as they do about the truth" in page
    assert "draws of parameters to pick from" in page
    assert "posterior draws" not in page
    assert "clip 7.5, quanta 1048576" in page
    assert run("report", "run") == 0
    assert (tmp_path / "run/release/report.html").read_text() == page
    capsys.readouterr()
    files = [f"run/release/synthetic_{number:02}.csv" for number in range(1, 8)]
    assert run("evaluate", "visits.csv", *files, "--columns", "y", "--json") == 0
    lines = json.loads(capsys.readouterr().out)["statistics"]
    shown = next(line["95 % interval (combined)"] for line in lines if line["statistic"] == "mean")
    columns = [pd.read_csv(name)["y"] for name in files]
    means, within = [y.mean() for y in columns], [y.var() / 300 for y in columns]
    right = combine(means, within, 300, 300, scalar="spread").interval
    # W, of which 1,000 resamples show an estimate, counts for nothing where tables have as many rows as the records.
    np.testing.assert_allclose(shown, (max(right.low, 0.0), right.high), rtol=1e-9)  # no mean of counts is below 0


def test_records_go_into_noisy_sums_and_the_start_and_nowhere_else(monkeypatch):
    """Given what was released of one table, a run on another comes out the same: nothing else reads the records."""
    data, began = table("poisson", 300)[0], []
    true_start = scored_fit.start
    monkeypatch.setattr(scored_fit, "start", lambda *given: began.append(true_start(*given)) or began[0])
    one = fitted("poisson", 1.0, data)._outcome.paths[0].match
    told = iter([step.noisy for step in one.steps])
    monkeypatch.setattr(scored, "noisy_sum", lambda *_: next(told))
    two = fitted("poisson", 1.0, data.assign(y=data["y"] * 3 + 1))._outcome.paths[0].match
    np.testing.assert_array_equal(two.w, one.w)
    np.testing.assert_array_equal(two.covariance, one.covariance)


def test_scored_is_frozen():
    with pytest.raises(AttributeError):
        Scored().rounds = 2  # type: ignore[misc]
    assert replace(Scored(), rounds=1).rounds == 1
