"""A real Stan: its draws beside our own sampler's, every rule, audits, new rows, and programs that break promises."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

import alphasynth as syn
from alphasynth.errors import InputError
from alphasynth.stan.program import StanProgram
from engines import has_module, need, wait_for

pytestmark = pytest.mark.slow
NAMES = {"n": "rows", "y": "counts", "weights": "alpha", "log_lik": "f", "y_rep": "fresh"}
FAULTY = Path(__file__).with_name("poisson.stan")


@pytest.fixture(scope="module", autouse=True)
def _stan():
    need(has_module("stan", "httpstan"), "no Stan (pip install 'alphasynth[stan]')")
    need(shutil.which("g++"), "no g++")


def poisson_model(fault=0, **names):
    return syn.OwnModel.from_stan(FAULTY, {"fault": fault, "prior_sd": 5.0}, NAMES | names)


def test_a_program_stays_itself_when_another_one_is_sampled():
    """Compiled programs are modules of one name, and sampling imports a program's own once more."""
    of_counts = StanProgram.of("negative_binomial", None, None)
    of_faults = StanProgram.of(FAULTY, {"fault": 0, "prior_sd": 5.0}, NAMES)
    X, y, weights = np.ones((4, 1)), np.array([1.0, 2, 0, 5]), np.ones(4)
    u = np.array([[0.3], [0.4]])
    of_counts.ask("names", of_counts.data_for(y, X, weights))
    own = of_faults.data_for(y, X, weights)
    names, density = of_faults.ask("names", own), of_faults.ask("log_prob", own, u)
    of_counts.ask("sample", of_counts.data_for(y, X, weights), ["beta"], [1], 20, 20, 0.8)
    assert of_faults.ask("names", own) == names
    assert of_faults.ask("log_prob", own, u).tolist() == density.tolist()


@pytest.fixture(scope="module")
def fits(mixture):
    """The paper's steps on the reference table, by Stan and by our own sampler."""
    families = (syn.OwnModel.from_stan("negative_binomial"), "negative_binomial")
    made = [
        syn.Synthesizer("y ~ 1", family=family, mechanism="LW_final", k=0.95, m=2, num_draws=2_000, seed=3)
        for family in families
    ]
    return [synthesizer.fit(mixture) for synthesizer in made]


@pytest.fixture(scope="module")
def again(mixture):
    return ours_again(mixture)


def ours_again(mixture, **options):
    """The same steps by our own sampler under 12 seeds: rounds of each."""
    return [
        syn.Synthesizer(
            "y ~ 1", family="negative_binomial", mechanism="LW_final", k=0.95, m=1, num_draws=2_000, seed=s, **options
        )
        .fit(mixture)
        .trail_.fits
        for s in range(12)
    ]


def means_of(fit):
    """Posterior means and standard deviations of the mean and of log phi."""
    draws = (fit.draws.theta["beta"].reshape(-1), np.log(fit.draws.theta["phi"]))
    return np.array([[values.mean(), np.log(values.std())] for values in draws]).ravel()


def check_within_scatter(fit, others):
    """One run of Stan's beside 12 of ours, which scatter by their draws and by the weights that those decide.

    Of 12 values the next lies within 6 of their standard deviations but once in some 10^4 times (Student's t).
    """
    held = np.array([means_of(one) for one in others])
    assert (np.abs(means_of(fit) - held.mean(axis=0)) < 6 * held.std(axis=0, ddof=1)).all()


def test_stan_draws_what_our_own_sampler_draws(fits):
    """Unweighted: means within 4.5 standard errors, from both effective sizes (2 comparisons, 7 in 10^6)."""
    theirs, ours = (synthesizer.trail_.fits[0] for synthesizer in fits)
    for name, link in (("beta", lambda x: x.reshape(-1)), ("phi", np.log)):
        a, b = (link(fit.draws.theta[name]) for fit in (theirs, ours))
        sizes = [fit.columns[0].draws.diagnostics.ess_bulk for fit in (theirs, ours)]
        error = np.hypot(a.std() / np.sqrt(sizes[0]), b.std() / np.sqrt(sizes[1]))
        assert abs(a.mean() - b.mean()) < 4.5 * error
        # A standard deviation's relative error is about 1 / sqrt(2 ess).
        assert abs(np.log(a.std() / b.std())) < 4.5 * np.sqrt(0.5 / sizes[0] + 0.5 / sizes[1])


def test_weighted_rounds_agree_too(fits, again):
    for number in (1, 2):
        check_within_scatter(fits[0].trail_.fits[number], [trail[number] for trail in again])


def test_re_weighting_agrees_with_zeros_kept(mixture):
    """The other reading of 0/0 in Algorithm 3: the riskiest record, which LW gives 0, keeps it."""
    model = syn.OwnModel.from_stan("negative_binomial")
    theirs = (
        syn.Synthesizer(
            "y ~ 1", family=model, mechanism="LW_final", k=0.95, keep_zeros=True, m=1, num_draws=2_000, seed=5
        )
        .fit(mixture)
        .trail_.fits[-1]
    )
    others = [trail[-1] for trail in ours_again(mixture, keep_zeros=True)]
    assert np.flatnonzero(theirs.alpha == 0).tolist() == np.flatnonzero(others[0].alpha == 0).tolist()
    assert (theirs.alpha == 0).sum() == 1
    check_within_scatter(theirs, others)


def test_bounds_agree_as_far_as_extremes_of_draws_can(fits, again):
    """Delta is the largest over 2,000 draws: over seeds our own varies, and Stan's must lie where that does."""
    for number, fit in enumerate(fits[0].trail_.fits):
        deltas = np.array([trail[number].lipschitz.overall for trail in again])
        # Of 12 values the next lies within 6 of their standard deviations but once in some 10^4 times (Student's t).
        assert abs(fit.lipschitz.overall - deltas.mean()) < 6 * deltas.std(ddof=1)


def test_log_likelihoods_are_the_unweighted_ones(fits, mixture):
    """F of the last, weighted round against SciPy's negative binomial at Stan's draws."""
    fit = fits[0].trail_.fits[-1]
    mu, phi = np.exp(fit.draws.theta["beta"]), fit.draws.theta["phi"][:, None]
    f = nbinom.logpmf(mixture["y"].to_numpy(), phi, phi / (phi + mu))
    np.testing.assert_allclose(fit.records.expand(fit.largest_distinct), np.abs(f).max(axis=0), rtol=1e-9)
    assert fit.alpha.min() < 1


def test_weights_are_those_of_the_matrix(fits, mixture):
    """The two doors agree: the run's weights, and those from the matrices of its draws."""
    matrices = []
    for fit in fits[0].trail_.fits:
        mu, phi = np.exp(fit.draws.theta["beta"]), fit.draws.theta["phi"][:, None]
        matrices.append(nbinom.logpmf(mixture["y"].to_numpy(), phi, phi / (phi + mu)))
    made = syn.weights_from(matrices[:2], (syn.LW(), syn.Reweight(k=0.95)))
    np.testing.assert_allclose(made.alpha, fits[0].alpha_, atol=1e-8)
    bounds = syn.bounds_from(matrices[2], alpha=fits[0].alpha_)
    assert bounds.epsilon_per_draw == pytest.approx(fits[0].guarantee_.epsilon_per_draw, rel=1e-9)


def test_new_rows_follow_the_draw(fits):
    """Mean and sd of 1,000 rows within 4.5 standard errors of the draw's own; two tables are not the same rows."""
    fitted = fits[0]
    tables = fitted.sample()
    assert not tables[0].equals(tables[1])
    draws = fitted.trail_.fits[-1].draws.take(fitted.picked_)
    for table, beta, phi in zip(tables, draws.theta["beta"][:, 0], draws.theta["phi"], strict=True):
        mean, n = np.exp(beta), len(table)
        sd = np.sqrt(mean + mean**2 / phi)
        assert abs(table["y"].mean() - mean) < 4.5 * sd / np.sqrt(n)
        kurtosis = float(nbinom.stats(phi, phi / (phi + mean), moments="k")) + 3
        assert abs(table["y"].var() / sd**2 - 1) < 4.5 * np.sqrt((kurtosis - 1) / n)


def test_audits_by_draws_run_and_name_their_scope(fits):
    (finding,) = fits[0].audit_("draw")
    assert finding.scope == "instance"
    assert finding.neighbours > 100
    assert np.isfinite(finding.loss)
    with pytest.raises(InputError, match="audit"):
        fits[0].audit_("density")


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        ("Unweighted", {}),
        ("CW_final", {"radius": 3.0, "k": 0.95}),
        ("SW", {"epsilon": 5.0}),
        ("LW", {"epsilon": 6.0}),
        ("BW", {"epsilon": 6.0}),
    ],
)
def test_every_rule_runs_on_a_program_with_names_of_its_own(mechanism, options):
    """Its `f` is weighted already, as the paper's is; bounds are of f all the same."""
    import pandas as pd

    y = np.random.default_rng(1).poisson(6, 200)
    table = pd.DataFrame({"visits": y})
    fitted = syn.Synthesizer(
        "visits ~ 1", family=poisson_model(), mechanism=mechanism, m=1, num_draws=400, seed=1, **options
    ).fit(table)
    last = fitted.trail_.fits[-1]
    f = poisson.logpmf(y, np.exp(last.draws.theta["log_mean"])[:, None])
    if mechanism == "BW":  # which clips f at what its draw says: tests/stan/test_stan_budget_weights.py
        assert fitted.lipschitz_.overall <= 3.0 * (1 + 1e-12)
    else:
        np.testing.assert_allclose(fitted.lipschitz_.by_record, last.alpha * np.abs(f).max(axis=0), rtol=1e-9)
    if "epsilon" in options:
        assert fitted.guarantee_.epsilon_total <= options["epsilon"]
    assert len(fitted.sample()[0]) == 200


def test_weights_of_0_leave_the_prior():
    """log_mean ~ normal(0, 5): sd of 400 draws within 4.5 relative errors of at most 1 / sqrt(2 x 100)."""
    import pandas as pd

    table = pd.DataFrame({"y": np.random.default_rng(1).poisson(6, 50)})
    fitted = syn.Synthesizer("y ~ 1", family=poisson_model(), mechanism="SW", alpha=0.0, m=1, num_draws=400, seed=1)
    draws = fitted.fit(table).trail_.fits[-1].draws.theta["log_mean"]
    assert abs(np.log(draws.std() / 5)) < 4.5 / np.sqrt(200)


FAULTS = {
    1: "a prior that reads none of them",
    2: "prior plus 'weights' times 'log_lik'",
    3: "must read its own row only",
    4: "must hold numbers, found entries that are not a number",
    5: "prior plus 'weights' times 'log_lik'",
    6: "must be logarithms of probabilities, at most 0",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_program_that_breaks_its_promise_is_refused(fault):
    import pandas as pd

    # Of these counts the riskiest alone are at least 12.
    table = pd.DataFrame({"y": np.append(np.random.default_rng(2).poisson(6, 600), [12, 15])})
    with pytest.raises(InputError, match=FAULTS[fault]):
        syn.Synthesizer("y ~ 1", family=poisson_model(fault), mechanism="LW", m=1, seed=1).fit(table)


def test_what_stan_refuses_is_one_sentence_without_values():
    import pandas as pd

    table = pd.DataFrame({"y": [1, 2, 3, 123_457]})
    with pytest.raises(InputError, match="the Stan program must run, found") as refused:
        syn.Synthesizer("y ~ 1", family=poisson_model(), mechanism="LW", m=1, seed=1).fit(table)
    assert "123457" not in str(refused.value)
    assert "\n" not in str(refused.value)
    broken = FAULTY.read_text().replace("real log_mean;", "real log_mean")
    with pytest.raises(InputError, match="the Stan program must run"):
        syn.Synthesizer(
            "y ~ 1",
            family=syn.OwnModel.from_stan(broken, {"fault": 0, "prior_sd": 5.0}, NAMES),
            mechanism="LW",
            m=1,
            seed=1,
        ).fit(pd.DataFrame({"y": [1, 2, 3]}))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mechanism": "Censored", "epsilon": 4}, "found a Stan program"),
        ({"mechanism": "Scored", "epsilon": 4}, "Scored must have a built-in family"),
    ],
)
def test_mechanisms_that_change_what_records_add_are_refused(options, sentence, mixture):
    with pytest.raises(InputError, match=sentence):
        syn.Synthesizer("y ~ 1", family=syn.OwnModel.from_stan("negative_binomial"), m=1, **options).fit(mixture)


def test_what_is_unusual_is_allowed():
    """Two distinct rows, so that `extra` is as long as the table; the response begins at 18."""
    import pandas as pd

    table = pd.DataFrame({"y": [20] * 30 + [24] * 30})
    model = syn.OwnModel.from_stan(FAULTY.with_name("awkward.stan"), names={"weights": "alpha"})
    fitted = syn.Synthesizer("y ~ 1", family=model, mechanism="LW", m=1, num_draws=400, seed=1).fit(table)
    theta = fitted.trail_.fits[0].draws.theta
    assert theta["extra"].shape == theta["weights"].shape == (400, 2)
    np.testing.assert_allclose(theta["weights"].sum(axis=1), 1.0, rtol=1e-9)
    # A posterior of 60 counts with mean 22: sd of log_mean is about 1 / sqrt(60 x 22), and a chain's error less.
    assert abs(theta["log_mean"].mean() - np.log(22)) < 4.5 / np.sqrt(60 * 22)
    assert len(fitted.sample()[0]) == 60


def test_fractions_are_not_cut_off():
    import pandas as pd

    with pytest.raises(InputError, match="'counts' is of whole numbers in the Stan program"):
        syn.Synthesizer("y ~ 1", family=poisson_model(), mechanism="LW", m=1, seed=1).fit(
            pd.DataFrame({"y": [0.5, 1.5, 2.5]})
        )


def test_an_end_by_force_leaves_no_draws(tmp_path):
    """A long fit, ended while it samples: by Ctrl-C, and by SIGKILL, which nobody can answer."""
    code = (
        "import sys, pandas as pd, alphasynth as syn\n"
        f"model = syn.OwnModel.from_stan({str(FAULTY)!r}, {{'fault': 0, 'prior_sd': 5.0}}, {NAMES!r})\n"
        "table = pd.DataFrame({'y': [1, 2, 3, 4, 5] * 40})\n"
        "s = syn.Synthesizer('y ~ 1', family=model, mechanism='Unweighted', m=1, num_draws=400_000, seed=1)\n"
        "print('started', flush=True)\n"
        "s.fit(table)\n"
    )
    for ending in (signal.SIGINT, signal.SIGKILL):
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout.readline() == b"started\n"
            wait_for(lambda: any(tmp_path.glob("alphasynth-stan-*")))
            time.sleep(3)
            (folder,) = tmp_path.glob("alphasynth-stan-*")
            assert folder.stat().st_mode & 0o077 == 0
            process.send_signal(ending)
        wait_for(lambda: not any(tmp_path.glob("alphasynth-stan-*")))
        wait_for(lambda: not workers_in(tmp_path))


def workers_in(folder):
    """Processes whose command names a folder in this one."""
    commands = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    return [command for command in commands if str(folder).encode() in command]


def test_no_draw_stays_on_disk(fits):
    """httpstan keeps fits where a later process would find them: confidential ones must not stay."""
    import httpstan.cache

    assert fits[0].trail_.fits
    stored = list(httpstan.cache.cache_directory().rglob("*.jsonlines.gz"))
    assert [path for path in stored if path.stat().st_uid == os.getuid()] == []
