"""Budget weights keep their claim where they once broke it: few records, far ones, and those with leverage."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logsumexp

from alphasynth.audits.audit import audit, audit_run
from alphasynth.audits.densities import loss_between, output
from alphasynth.errors import InputError
from alphasynth.inference.density import Target
from alphasynth.inference.grid import scores
from alphasynth.mechanisms.chain import Chain
from alphasynth.mechanisms.mechanism import budget_weights, run, settled
from alphasynth.models.own_model import OwnModel
from alphasynth.privacy.divergence import epsilon_between
from alphasynth.synthesizer import Synthesizer

KEY = np.random.SeedSequence(9)


def fitted(table, epsilon, formula="y ~ 1", seed=1, **options):
    given = {"family": "poisson", "mechanism": "BW", "epsilon": epsilon, "m": 1, "seed": seed, **options}
    return Synthesizer(formula, **given).fit(table)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("n", [20, 30])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_few_records_keep_the_claim(n, epsilon, seed):
    """Losses were up to 4.5: weights iterated to a fixed point amplified what one record does."""
    table = pd.DataFrame({"y": np.random.default_rng([n, seed]).poisson(8, n)})
    (found,) = audit(KEY, fitted(table, epsilon).subject_, ["density"])
    assert found.kept
    assert found.claim == pytest.approx(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 150])
def test_a_record_of_a_hundred_million_keeps_the_claim(n):
    """Losses were 136,703 and 11,383: the one record took the weights of all others down."""
    table = pd.DataFrame({"y": np.random.default_rng(n).poisson(8, n)})
    (found,) = audit(KEY, fitted(table, 4.0).subject_, ["density"], canaries=[1e8], most=2)
    assert found.kept


def leverage_tables(n=1_000):
    """A table, and the same with a record whose z is 20 times as large as any other."""
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, n))
    own = pd.DataFrame({"x": x, "z": z, "y": rng.poisson(np.exp(1 + 0.3 * x + 0.2 * z))})
    return own, pd.concat([own, pd.DataFrame({"x": [0.0], "z": [100.0], "y": [0]})], ignore_index=True)


@pytest.mark.slow
def test_a_record_with_leverage_leaves_other_weights_alone():
    """A common factor fell from 0.95 to 0.04 for everybody; now only the draw that weights are made from can differ."""
    options = {"formula": "y ~ x + z", "public": ["x", "z"]}
    own, other = (fitted(table, 4.0, **options).alpha_[:1_000] for table in leverage_tables())
    assert np.abs(np.log(own / other)).max() < 0.5
    assert abs(np.log(own / other).mean()) < 0.05


@pytest.mark.slow
def test_records_with_leverage_keep_the_claim():
    """Two coefficients, so that losses are by quadrature; rows far beyond the covariates are among the neighbours."""
    table = leverage_tables(100)[0]
    made = fitted(table, 4.0, "y ~ 0 + x + z", public=["x", "z"])
    (found,) = audit(KEY, made.subject_, ["density"], most=2)
    assert found.kept
    assert found.neighbours > 10


def bound_to(table, **options):
    """A chain of one, and its budget weights' rule."""
    made = Synthesizer("y ~ 1", **{"family": "poisson", "mechanism": "BW", "m": 1, **options})
    chain = made.bind(made.read(table))
    return chain, settled(made.mechanism.rules[-1], made.target, chain)


@pytest.mark.parametrize("family", ["poisson", "negative_binomial"])
@pytest.mark.parametrize("cap", [0.2, 1.0])
def test_what_a_record_adds_ranges_over_half_of_the_budget_in_each_part(family, cap):
    """Whatever the record and the first draw are, at parameters near and absurd; no other record's part moves."""
    rng = np.random.default_rng(4)
    y = rng.poisson(8, 40)
    around = [np.delete(y, 3), *(np.append(y, value) for value in (0, 200, 10**8))]
    wide = rng.standard_t(2, size=(400, 2 if family == "negative_binomial" else 1)) * 4
    with jax.enable_x64(True):
        problems = [bound_to(pd.DataFrame({"y": part}), family=family, epsilon=3.0, cap=cap) for part in (y, *around)]
        for u in wide[:5]:
            values = [_both_densities(problem, rule, u, wide) for problem, rule in problems]
            for first, second in values[1:]:
                assert np.ptp(first - values[0][0]) <= 1.5 * (1 + 1e-9)
                assert np.ptp(second - values[0][1]) <= 1.5 * (1 + 1e-9)


def _both_densities(chain, rule, u, at):
    """Log densities of the first draw and of one released, given the first, at points."""
    given, alpha = budget_weights(chain, rule, [u])
    weights = (chain.one.guide, np.ones(chain.records.size)), (given.one, alpha)
    targets = [Target.of(p.model, p.rows, p.rows.total(w * p.records.counts)) for p, w in weights]
    return [np.asarray(scores(target.model, at, target.data)) for target in targets]


@pytest.mark.slow
def test_the_loss_of_both_parts_covers_that_of_what_is_released():
    """The oracle: the distribution of a draw released, all first draws summed over, on few records with a far one."""
    y = np.random.default_rng(5).poisson(8, 20)
    tables = [pd.DataFrame({"y": part}) for part in (y, np.append(y, 80), np.append(y, 0), np.delete(y, 0))]
    with jax.enable_x64(True):
        bound = [bound_to(table, epsilon=2.0) for table in tables]
        u = np.concatenate([np.linspace(-60, -4, 57)[:-1], np.linspace(-4, 8, 1_201), np.linspace(8, 60, 53)[1:]])[
            :, None
        ]
        cell = np.log(np.gradient(u[:, 0]))
        few = np.arange(0, len(u), 12)
        released = [_released(problem, rule, u, cell, few) for problem, rule in bound]
        made = Synthesizer("y ~ 1", family="poisson", mechanism="BW", m=1, epsilon=2.0)
        outputs = [output(problem, made.mechanism, made.target) for problem, _ in bound]
        for log_q, other in zip(released[1:], outputs[1:], strict=True):
            loss = released[0] - log_q
            exact = max(epsilon_between(loss, released[0]), epsilon_between(-loss, log_q))
            both = loss_between(outputs[0], other)
            assert exact <= both <= 2.0
            assert exact > 0.1 * both


def _released(problem, rule, u, cell, few):
    """Log probabilities of what is released at points u, first draws on few of them."""
    first, _ = _both_densities(problem, rule, u[0], u)
    weight = (first + cell)[few]
    parts = []
    for place, log_w in zip(few, weight - logsumexp(weight), strict=True):
        then = _both_densities(problem, rule, u[place], u)[1] + cell
        parts.append(log_w + then - logsumexp(then))
    return logsumexp(parts, axis=0)


def test_both_parts_cost_no_more_than_the_policys_epsilon():
    for m, epsilon in ((1, 0.7), (3, 0.1), (20, 20.0)):
        problem, rule = bound_to(pd.DataFrame({"y": [3, 4, 5] * 10}), epsilon=epsilon, m=m)
        assert problem.one.guide.model.epsilon + m * rule.bound <= epsilon * (1 + 1e-12)


@pytest.mark.slow
def test_a_replay_that_does_not_give_the_runs_weights_cannot_tell(mixture):
    made = fitted(mixture, 10.0, family="negative_binomial")
    assert audit_run(made.subject_).verdict == "kept"
    subject = made.subject_
    last = subject.trail.fits[-1]
    tampered = replace(last, alpha_distinct=0.9 * last.alpha_distinct)
    trail = replace(subject.trail, fits=(*subject.trail.fits[:-1], tampered))
    found = audit_run(replace(subject, trail=trail))
    assert (found.verdict, found.kept) == ("cannot tell", False)
    assert replace(found, scope="none").kept
    assert replace(found, certain=True, loss=11.0).verdict == "broken"


@pytest.mark.slow
def test_weights_given_a_first_draw_are_the_rules(mixture):
    """By hand: F is |f| at the draw and a quarter of the cut, 8, more."""
    made = fitted(mixture, 10.0, family="negative_binomial", cap=0.9)
    trail = made.trail_
    (u,) = trail.guide.u
    y = np.asarray(trail.fits[-1].records.columns["y"], float)
    mean, phi = (
        np.exp(u[0]),
        np.asarray(trail.guide.draws[0].theta["phi"])[np.argmax((trail.guide.draws[0].u == u).all(1))],
    )
    f = stats.nbinom.logpmf(y, phi, phi / (phi + mean))
    np.testing.assert_allclose(trail.fits[-1].alpha_distinct, np.minimum(0.9, 5 / (np.abs(f) + 2)), rtol=1e-6)


def test_budget_weights_need_a_guide():
    made = Synthesizer("y ~ 1", family="poisson", mechanism="BW", m=1, epsilon=2.0)
    problem = Chain.of_one(replace(made.bind(made.read(pd.DataFrame({"y": [3, 4, 5] * 10}))).one, guide=None))
    with pytest.raises(InputError, match="a problem with a guide"):
        run(KEY, problem, made.mechanism, made.target)


def free_normal(X, y=None):
    """A normal whose sd can be as small as one likes: the log-likelihood of a value has no upper bound."""
    mean, sd = numpyro.sample("mean", dist.Normal(0, 10)), numpyro.sample("sd", dist.HalfNormal(5))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal(mean, sd), obs=y)


def bounded_normal(X, y=None):
    mean = numpyro.sample("mean", dist.Normal(0, 10))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal(mean, 2.0), obs=y)


@pytest.mark.slow
def test_models_of_ones_own_take_budget_weights_where_they_are_bounded():
    table = pd.DataFrame({"y": np.random.default_rng(6).normal(3, 2, 60).round(1)})
    with pytest.raises(InputError, match="budget weights need a model whose log-likelihood is bounded"):
        fitted(table, 6.0, family=OwnModel(free_normal, "y"))
    made = fitted(table, 6.0, family=OwnModel(bounded_normal, "y"))
    assert 2 * made.lipschitz_.overall <= 6.0 * (1 + 1e-12)
    assert made.trail_.fits[-1].draws.theta["mean"].mean() == pytest.approx(table["y"].mean(), abs=1.5)
